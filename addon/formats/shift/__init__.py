"""Shift: multibody models in JSON, with assemblies of bodies and joints that may close loops."""

from __future__ import annotations

from ...core.model import Mechanism
from ...core.report import Report
from ..document.cache import source_document
from ..text.detection import OpenedFile
from .reader import Document, is_shift
from .schema import ENDS, PAIRS
from .to_model import read
from .writer import new_document, patch_document

__all__ = ["detect", "dump", "load", "read_opened"]


def detect(opened: OpenedFile) -> bool:
    """Return whether a document is a Shift model."""
    return opened.json is not None and is_shift(opened.json)


def read_opened(opened: OpenedFile) -> Document:
    """Read the document in a file.

    Raises:
        FormatError: it cannot be read.
    """
    return read(opened.text, opened.path, opened.report, opened.json)


def load(opened: OpenedFile) -> Mechanism:
    """Load the mechanism of a document.

    Raises:
        FormatError: it cannot be read.
    """
    return read_opened(opened).mechanism


def dump(mechanism: Mechanism, suffix: str, report: Report) -> str:
    """Return the text of a Shift file: the mechanism's own document with its edits, if it has one, else a new one."""
    document = source_document(mechanism, "shift", read, report)
    if document is None:
        return new_document(mechanism, report, ENDS if mechanism.source.dialect == ENDS else PAIRS)
    return patch_document(document, mechanism, report)
