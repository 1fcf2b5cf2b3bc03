"""Servo motion as a table: CSV with a column of times and one for every servo, as spreadsheets and scripts have it.

    time [s],Hip [rad],Lift [m]
    0,0.1,
    0.5,-0.7,0.02

Cells are parted by commas, semicolons or tabs; with the latter two a number may have a decimal comma. A heading's unit
(``[s] [ms] [rad] [deg] [m] [mm]``, or in round brackets) is optional: without one, times are seconds and values rad or
m. An empty cell is no key. Blank lines, and lines that begin with ``#``, are passed over. Between keys values go
straight. A value that is held stands again in a row with the time of the next key, before that key's own: a step.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...core.model import Motion, Source
from ...core.motion.root_motion import detect_root_motion
from ...core.report import FormatError, Report
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
    """The one motion of a table, called as the file is. FormatError with line and column for what is no motion."""
    source = Source(FORMAT, "", opened.path, opened.text, opened.encoding)
    document = parse(opened.text, opened.path, opened.report)
    trajectories = document_trajectories(document, opened.path)
    detect_root_motion(trajectories)
    attach_document(source, document)
    for trajectory in trajectories:
        if not len(trajectory.times):
            opened.report.warn("empty-servo", f"servo {trajectory.name!r} has no key frames", document.header.number)
    name = os.path.splitext(os.path.basename(opened.path))[0] or "motion"
    return [Motion(name, trajectories, source=source, index=0)], opened.report


def dump(motions: Sequence[Motion], report: Report) -> str:
    """The text of a table: the document that the motion was read from with its edits, where it has one, else a new one.

    FormatError for several motions, and for what is no number.
    """
    motion = single_motion(motions, "A CSV file")
    source = motion.source
    if source is None or source.format != FORMAT or not source.text:
        return new_document(motion, report)
    try:
        document: Document = attached_document(source) or parse(source.text, source.path, Report())
        document_trajectories(document)
    except FormatError as error:
        report.warn("document-lost", f"the kept document cannot be read any more ({error}); a new one is written")
        return new_document(motion, report)
    return patch_document(document, motion, report)


def reject_other_tables(data: bytes, path: str) -> None:
    """FormatError where a file is a table, but of something else than motion."""
    text, _ = decode(data, Report())
    if (
        "\0" not in text
        and (tables.is_table(text) or tables.is_single_column(text))
        and not tables.is_motion_table(text)
    ):
        parse(text, path, Report())
