"""Servo motion as a CSV table, as of spreadsheets and scripts: a column of times and one for every servo.

    time [s],Hip [rad],Lift [m]
    0,0.1,
    0.5,-0.7,0.02

Cells are separated by commas, semicolons or tabs; with the latter two a number may have a decimal comma. The unit of a
heading (``[s] [ms] [rad] [deg] [m] [mm]``, or in round brackets) is optional: without one, times are in seconds and
values in rad or m. An empty cell is no keyframe. Blank lines, and lines that begin with ``#``, are skipped.
Interpolation is linear. A held value is repeated in a row with the time of the next keyframe, before that keyframe's
own row: a step.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...core.model import Motion, Source
from ...core.motion.root_motion import detect_root_motion
from ...core.report import FormatError, Message, Report
from ..document.cache import attach_document, attached_document
from ..text import csv_table as tables
from ..text.detection import OpenedFile
from ..text.file_io import decode
from ..webots.writer import single_motion
from .reader import Document, document_trajectories, parse
from .writer import new_document, patch_document

__all__ = ["detect", "dump", "load", "reject_other_tables"]

FORMAT = "csv"


def detect(opened: OpenedFile) -> bool:
    """Return whether a document is a table of motion."""
    return opened.plain == FORMAT


def load(opened: OpenedFile) -> tuple[list[Motion], Report]:
    """Load the one motion of a table, named after the file.

    Raises:
        FormatError: with line and column, where it is no motion.
    """
    source = Source(FORMAT, "", opened.path, opened.text, opened.encoding)
    document = parse(opened.text, opened.path, opened.report)
    trajectories = document_trajectories(document, opened.path)
    detect_root_motion(trajectories)
    attach_document(source, document)
    for trajectory in trajectories:
        if not len(trajectory.times):
            opened.report.warn(
                "empty-servo", Message("servo {} has no keyframes", repr(trajectory.name)), document.header.number
            )
    name = os.path.splitext(os.path.basename(opened.path))[0] or "motion"
    return [Motion(name, trajectories, source=source, index=0)], opened.report


def dump(motions: Sequence[Motion], report: Report) -> str:
    """Return the text of a table: the document from which the motion was read with its edits, else a new one.

    Raises:
        FormatError: there are several motions, or keyframes that are no finite numbers.
    """
    motion = single_motion(motions, "A CSV file")
    source = motion.source
    if source is None or source.format != FORMAT or not source.text:
        return new_document(motion, report)
    try:
        document: Document = attached_document(source) or parse(source.text, source.path, Report())
        document_trajectories(document)
    except FormatError as error:
        report.warn("document-lost", Message("Document: no longer readable ({}). A new one is written", error))
        return new_document(motion, report)
    return patch_document(document, motion, report)


def reject_other_tables(data: bytes, path: str) -> None:
    """Raise a FormatError where a file is a table of something other than motion."""
    text, _ = decode(data, Report())
    if (
        "\0" not in text
        and (tables.is_table(text) or tables.is_single_column(text))
        and not tables.is_motion_table(text)
    ):
        parse(text, path, Report())
