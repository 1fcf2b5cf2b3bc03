"""A motion written into the .motion that it was read from: what was edited changes there, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.model import Array, Motion
from ...core.report import Report
from .. import alignment
from ..tokens import changed
from .read import Document, Row
from .write import Track, check_length, check_poses, clock, inside_held, key_times, spelt, tracks_of


def patched(document: Document, motion: Motion, report: Report) -> str:
    """The text of the document with a motion's edits; the very text where there are none."""
    return _Patch(document, motion, report).text()


class _Patch:
    """``columns`` has for every servo its column in the document, None where it has none yet."""

    def __init__(self, document: Document, motion: Motion, report: Report) -> None:
        self.document, self.motion = document, motion
        self.tracks = tracks_of(motion, report)
        names = [name.text for name in document.names]
        self.columns = alignment.servos(names, [track.name for track in self.tracks])
        self.same_columns = self.columns == list(range(len(names)))

    def text(self) -> str:
        """The document's text with every edit made."""
        text, rows = self.document.text, self.document.rows
        times = self._times()
        check_poses(times, self.motion)
        table = np.stack([track.at(times) for track in self.tracks], axis=1)
        places = self._rows(times, table)
        same = self._same(times, table, places)
        lines = [f"{line}\n" for line in self._header().split("\n")[:-1]]  # one, or two with the names below
        for number, line in enumerate(lines, 1):
            check_length(line, number, self.motion)
        head = len(lines)
        stays = self._stays(times, places, same)
        for first, behind in _runs(stays, places):
            place, time = int(places[first]), int(times[first])
            if stays[first]:
                lines.append(text[rows[place].start : rows[int(places[behind - 1])].end])
                continue
            if place < 0:
                line = self._new(first, time, table[first].tolist())
            else:
                line = self._kept(rows[place], time, table[first].tolist(), same[first].tolist())
            if not line.endswith("\n") and behind < len(places):
                line += self.document.newline
            check_length(line, head + behind, self.motion)
            lines.append(line)
        return "".join((*lines, text[rows[-1].end :]))

    # -------------------------------------------------------------- which rows

    def _stays(self, times: np.ndarray, places: alignment.Places, same: np.ndarray) -> np.ndarray:
        """Return which rows stay to the letter, (rows,). One without a line's end may have to get one."""
        rows = self.document.rows
        stays = (places >= 0) & (times == rows.milliseconds[places]) & same.all(axis=1) & self.same_columns
        if not self.document.text.endswith("\n", 0, rows[-1].end):
            stays &= places != len(rows) - 1
        return stays

    def _times(self) -> np.ndarray:
        """The times of the poses (ms): all keys, those poses of the document in which nobody is commanded, and what
        held values need besides."""
        keys = key_times(self.tracks, self.motion)
        idle = self.document.rows.milliseconds
        idle = idle[np.isnan(self.document.table).all(axis=1)]
        if len(idle):
            silent = [np.isnan(track.at(idle)) | _outside(track, idle) for track in self.tracks]
            idle = idle[np.all(silent, axis=0)]
        times = np.union1d(keys, idle)
        return np.union1d(times, inside_held(self.tracks, times))

    def _rows(self, times: np.ndarray, table: Array) -> alignment.Places:
        """For every time the document's row that it takes, -1 for a new one."""
        old_times = self.document.rows.milliseconds.astype(np.float64)
        shared = [(place, column) for place, column in enumerate(self.columns) if column is not None]
        new, old = ([each[side] for each in shared] for side in (0, 1))
        signs = [_signatures(each) for each in (self.document.table[:, old], table[:, new])]
        return alignment.keys(old_times, signs[0], times.astype(np.float64), signs[1])

    def _same(self, times: np.ndarray, table: Array, places: alignment.Places) -> np.ndarray:
        """Return which fields still mean what is wanted, (rows, servos). Where a servo has no keys yet or any more, a
        ``*`` says as much as a value."""
        found = np.zeros(table.shape, bool)
        for servo, column in enumerate(self.columns):
            if column is not None:
                old, new = self.document.table[places, column], table[:, servo]
                idle = np.isnan(new) | _outside(self.tracks[servo], times)
                found[:, servo] = (places >= 0) & np.where(np.isnan(old), idle, old == new)
        return found

    # -------------------------------------------------------------- their text

    def _header(self) -> str:
        """All before the first pose."""
        text, names = self.document.text, self.document.names
        end = self.document.rows[0].start
        wanted = [track.name for track in self.tracks]
        if self.same_columns:
            changes = [
                (field.start, field.end, name) for field, name in zip(names, wanted, strict=True) if field.text != name
            ]
            return changed(text, changes, 0, end)
        return text[: names[0].start] + ",".join(wanted) + text[names[-1].end : end]

    def _kept(self, row: Row, time: int, values: Sequence[float], same: Sequence[bool]) -> str:
        when, name, *fields = self.document.fields(row)
        words = [
            fields[column].text if column is not None and stays else spelt(value)
            for column, value, stays in zip(self.columns, values, same, strict=True)
        ]
        moment = when.text if time == row.milliseconds else _like(when.text, time)
        text = self.document.text
        if not self.same_columns:
            return ",".join((moment, name.text, *words)) + text[fields[-1].end : row.end]
        pairs = zip((when, *fields), (moment, *words), strict=True)
        changes = [(field.start, field.end, word) for field, word in pairs if word != field.text]
        return changed(text, changes, row.start, row.end)

    def _new(self, number: int, time: int, values: Sequence[float]) -> str:
        when = _like(self.document.fields(self.document.rows[-1])[0].text, time)
        return ",".join((when, f"Pose{number + 1}", *map(spelt, values))) + self.document.newline


def _runs(stays: np.ndarray, places: alignment.Places) -> list[tuple[int, int]]:
    """Rows that stay and follow each other in the document, from the first to behind the last; and every other row by
    itself."""
    if not len(places):
        return []
    goes_on = stays[1:] & stays[:-1] & (np.diff(places) == 1)
    starts = [0, *(np.flatnonzero(~goes_on) + 1).tolist()]
    return list(zip(starts, [*starts[1:], len(places)], strict=True))


def _outside(track: Track, times: np.ndarray) -> np.ndarray:
    """Return whether times are before a servo's first key or behind its last."""
    if not len(track.times):
        return np.ones(len(times), bool)
    return (times < track.times[0]) | (times > track.times[-1])


def _signatures(table: Array) -> Array:
    """A number for every row by which to know it again, (n,)."""
    weights = np.random.default_rng(0).uniform(1.0, 2.0, table.shape[1])
    return np.nan_to_num(table) @ weights


def _like(text: str, time: int) -> str:
    """A time spelled with as many parts as another."""
    parts = text.count(":")
    if parts == 2:
        return clock(time)
    return f"{time // 1000:02d}:{time % 1000:03d}" if parts else str(time)
