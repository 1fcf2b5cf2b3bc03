"""SKEL: characters, robots and their world for DART, an XML format that DART 7 no longer reads."""

from __future__ import annotations

from ...core.model import Mechanism
from ...core.report import Message, Report
from ..document.cache import source_document
from ..text.detection import OpenedFile
from .document import Document, is_skel, read
from .to_model_shapes import complete_moments
from .writer import PatchError, new_document, patch_document

__all__ = ["complete_moments", "detect", "dump", "load", "read_opened"]


def detect(opened: OpenedFile) -> bool:
    """Return whether a document is a SKEL file."""
    return is_skel(opened.root)


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
    """Return the text of a SKEL file: the mechanism's own document with its edits, if it has one, else a new one."""
    document = source_document(mechanism, "skel", read, report)
    if document is None:
        return new_document(mechanism, report)
    try:
        return patch_document(document, mechanism, report)
    except PatchError as error:
        report.warn(
            "document-lost",
            Message(
                "Document: cannot hold the edits ({}). A new one is written, without comments and unknown elements",
                error,
            ),
        )
    return new_document(mechanism, report)
