"""Webots .motion: poses of servos, one per line.

    #WEBOTS_MOTION,V1.0,joint,joint,...
    time,pose name,value or *,value or *,...

The grammar is that of the program's own reader (``wbu_motion_new`` of its controller library): a field ends at a comma,
a carriage return or the line's end, and empty fields are skipped; nothing is trimmed. Times are
``[[minutes:]seconds:]milliseconds``, strictly increasing. Values are in rad or m. Reading stops at the first empty
line. Interpolation between poses is linear. A ``*`` commands nothing until the neighboring poses, so that the motor
keeps its last target: here the keyframe before it is held.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from ...core.model import Motion, Source
from ...core.report import FormatError, Message, Report
from ..document.cache import attach_document, attached_document
from ..text.detection import OpenedFile
from ..text.file_io import BOM_BY_ENCODING
from .reader import Document, document_trajectories, parse
from .writer import new_document, patch_document, single_motion

__all__ = ["detect", "dump", "load", "report_pose_names"]

FORMAT = "webots"
#: Name of a pose in its line.
_POSE_NAME = re.compile(r"^[\d:]+,([^,\r\n]*)", re.MULTILINE)


def detect(opened: OpenedFile) -> bool:
    """Return whether a document is a .motion file."""
    return opened.plain == FORMAT


def load(opened: OpenedFile) -> tuple[list[Motion], Report]:
    """Load the one motion of a .motion file, named after the file.

    Raises:
        FormatError: with its line, where Webots would reject the file.
    """
    document = parse(opened.text, opened.path, opened.report)
    if opened.encoding in BOM_BY_ENCODING:
        opened.report.warn("byte-order-mark", "the file begins with a byte order mark, which Webots rejects", 1)
    source = Source(FORMAT, "", opened.path, opened.text, opened.encoding)
    attach_document(source, document)
    name = os.path.splitext(os.path.basename(opened.path))[0] or "motion"
    motion = Motion(name, document_trajectories(document), source=source, index=0)
    _report_uncommanded(document, motion, opened.report)
    return [motion], opened.report


def dump(motions: Sequence[Motion], report: Report) -> str:
    """Return the text of a .motion: the document from which the motion was read with its edits, else a new one.

    Raises:
        FormatError: there are several motions, or times and names that the format cannot hold.
    """
    motion = single_motion(motions, "A .motion file")
    source = motion.source
    if source is None or source.format != FORMAT or not source.text:
        return new_document(motion, report)
    try:
        document = attached_document(source) or parse(source.text, source.path, Report())
    except FormatError as error:
        report.warn("document-lost", Message("Document: no longer readable ({}). A new one is written", error))
        return new_document(motion, report)
    return patch_document(document, motion, report)


def report_pose_names(motions: Sequence[Motion], report: Report) -> None:
    """Report names of poses in .motion files, which no other format has, except those that only count the poses."""
    for motion in motions:
        if motion.source is None or motion.source.format != FORMAT:
            continue
        names = _POSE_NAME.findall(motion.source.text)
        own = [name for number, name in enumerate(names, 1) if name and name != f"Pose{number}"]
        if own:
            more = f" and {len(own) - 1} more" if len(own) > 1 else ""
            message = f"Pose names: not written ({own[0]!r}{more})"
            report.warn("pose-names", message, where=f"motion {motion.name!r}")


def _report_uncommanded(document: Document, motion: Motion, report: Report) -> None:
    first = document.rows[0].milliseconds / 1000.0
    for trajectory in motion.trajectories:
        if not len(trajectory.times):
            report.warn("empty-servo", Message("servo {} has no values: all are *", repr(trajectory.name)), 1)
        elif trajectory.times[0] > first:
            at = float(trajectory.times[0])
            report.info(
                "not-commanded", Message("servo {} has no value before {} s", repr(trajectory.name), f"{at:g}"), 1
            )
