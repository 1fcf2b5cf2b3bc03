"""Juice: walkers and vehicles for ODE, an XML format with bodies, joints and the gait that moves them."""

from __future__ import annotations

from ...core.model import Mechanism
from ...core.report import Message, Report
from ..document.cache import source_document
from ..text.detection import OpenedFile
from .document import Document, is_juice, read
from .servo_gains import restore_source_gains
from .writer import new_document, patch_document

__all__ = ["restore_source_gains", "detect", "dump", "load", "read_opened"]


def detect(opened: OpenedFile) -> bool:
    """Return whether a document is a Juice model."""
    return is_juice(opened.root)


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
    """Return the text of a Juice file.

    That is the mechanism's own document with its edits, if it has one in the dialect of the extension, else a new one.
    """
    source = mechanism.source
    if source.format == "juice" and source.text and suffix == ".jm" and source.dialect != "jm":
        report.warn(
            "new-dialect",
            Message("Dialect: .{} is rewritten as .jm. Comments and unknown elements are not written", source.dialect),
        )
        return new_document(mechanism, report)
    document = source_document(mechanism, "juice", read, report)
    return new_document(mechanism, report) if document is None else patch_document(document, mechanism, report)
