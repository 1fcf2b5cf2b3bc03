"""XMDI, the XML Motion Data Interchange Format: motions of servos as positions at numbered frames.

A document holds motions, a motion servos, and a servo two lists of equally many numbers: positions (rad, or length for
a slider) and the frames at which they apply, a frame being one step of 32 ms. The specification does not state the
interpolation between keyframes, so it is linear. Its requirements, and how they are met, are in ``REQUIREMENTS.md``;
``xmdi.xsd`` describes the output.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.model import Motion, Source
from ...core.report import FormatError, Report
from ..text import file_io as files
from ..text import xml_reader as xml
from ..text.detection import OpenedFile
from .reader import FRAME_SECONDS, Reader, document_motions
from .writer import DEFAULT_TAGS, FORMAT, dump

__all__ = ["FORMAT", "FRAME_SECONDS", "DEFAULT_TAGS", "detect", "dump", "dumps", "load", "loads"]


def detect(opened: OpenedFile) -> bool:
    """Return whether a document holds motions of servos, or has the root element that we write."""
    if opened.root.tag == DEFAULT_TAGS[0]:
        return True
    return next((True for motion in opened.root.iter("motion") if motion.find("servo") is not None), False)


def load(opened: OpenedFile) -> tuple[list[Motion], Report]:
    """Load the motions of an XMDI document."""
    text = opened.as_read  # an unedited document is saved as it was read
    document = Reader(text, opened.text, opened.root, opened.path, opened.report).document()
    source = Source(FORMAT, "", opened.path, text, opened.encoding)
    return document_motions(document, source), opened.report


def loads(data: bytes, path: str = "") -> tuple[list[Motion], Report]:
    """Read a document from bytes; times are in seconds, in ascending order for each servo.

    Raises:
        FormatError: with line and element, where it is not XMDI, a motion or servo has no name, a servo not exactly one
            ``position`` and one ``frames``, lists are of unequal length, or a number is invalid.
    """
    report = Report()
    if not data.lstrip():
        raise FormatError("the file is empty", path=path, remedy="Save the motion again in the program that wrote it.")
    text, encoding = files.decode(data, report)
    root, sound = xml.parse(text, path, report)
    return load(OpenedFile(path, data, sound, encoding, root, report, as_read=text))


def dumps(motions: Sequence[Motion]) -> str:
    """Return the text of motions; see ``dump``."""
    return dump(motions, Report())
