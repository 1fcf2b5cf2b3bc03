"""XMDI, the XML Motion Data Interchange Format: motions of servos as positions at numbered frames.

A document holds motions, a motion servos, and a servo two lists of equally many numbers: positions (rad, or length for
a slider) and the frames at which they hold, a frame being one step of 32 ms. Between key frames positions are
interpolated; nothing says how, so it is linear. What the specification asks for, and how it is met, is in
``REQUIREMENTS.md``; ``xmdi.xsd`` is what is written.
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
    """Return whether a document holds motions of servos, or is called XMDI as those are that we write."""
    if opened.root.tag == DEFAULT_TAGS[0]:
        return True
    return next((True for motion in opened.root.iter("motion") if motion.find("servo") is not None), False)


def load(opened: OpenedFile) -> tuple[list[Motion], Report]:
    """The motions of a document that is XMDI."""
    text = opened.as_read  # an unedited save gives it back
    document = Reader(text, opened.text, opened.root, opened.path, opened.report).document()
    source = Source(FORMAT, "", opened.path, text, opened.encoding)
    return document_motions(document, source), opened.report


def loads(data: bytes, path: str = "") -> tuple[list[Motion], Report]:
    """Read a document. Times come out in seconds, each servo's in ascending order.

    Raises FormatError with line and element for what is not XMDI, a motion or servo without a name, a servo
    without exactly one ``position`` and one ``frames``, lists of unequal length, and what is not a number.
    """
    report = Report()
    if not data.lstrip():
        raise FormatError("the file is empty", path=path, remedy="Save the motion again in the program it came from.")
    text, encoding = files.decode(data, report)
    root, sound = xml.parse(text, path, report)
    return load(OpenedFile(path, data, sound, encoding, root, report, as_read=text))


def dumps(motions: Sequence[Motion]) -> str:
    """The text of motions; see ``dump``."""
    return dump(motions, Report())
