"""x_xy: the XML of imt-ring (formerly x_xy), a program that simulates and learns from chains of rigid bodies."""

from __future__ import annotations

from ...core.model import Mechanism
from ...core.report import Report
from ..document.cache import source_document
from ..text.detection import OpenedFile
from .from_model_parts import report_world_name
from .reader import Document, read
from .schema import ROOT
from .writer import new_document, patch_document

__all__ = ["detect", "dump", "load", "read_opened"]


def detect(opened: OpenedFile) -> bool:
    """Return whether a document is an x_xy model."""
    return bool(opened.root.tag == ROOT)


def read_opened(opened: OpenedFile) -> Document:
    """Read the document in a file.

    Raises:
        FormatError: it cannot be read.
    """
    return read(opened.as_read, opened.path, opened.report, (opened.root, opened.text))


def load(opened: OpenedFile) -> Mechanism:
    """Load the mechanism of a document.

    Raises:
        FormatError: it cannot be read.
    """
    return read_opened(opened).mechanism


def dump(mechanism: Mechanism, suffix: str, report: Report) -> str:
    """Return the text of an x_xy file: the mechanism's own document with its edits, if it has one, else a new one."""
    report_world_name(mechanism, report)
    document = source_document(mechanism, ROOT, read, report)
    return new_document(mechanism, report) if document is None else patch_document(document, mechanism, report)
