"""Writer of Webots .motion files: minimal edits of the document from which a motion was read, or a new document."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.model import Array, Motion, Trajectory
from ...core.motion.keyframes import finite_keyframes
from ...core.report import FormatError, Message, Report
from ..text import numbers
from ..text.numbers import apply_changes, format_shortest
from ..xmdi.reader import INTERPOLATION
from .reader import HEADER, MAX_LINE_LENGTH, MAX_TIME_MS, UNDEFINED, VERSION, Document, PoseRow


def patch_document(document: Document, motion: Motion, report: Report) -> str:
    """Return the document's text with a motion's edits; the exact text where there are none."""
    return _Patch(document, motion, report).text()


class _Patch:
    """Edits of a .motion document; ``columns`` is the document's column of every servo, None where it has none yet."""

    def __init__(self, document: Document, motion: Motion, report: Report) -> None:
        self.document, self.motion = document, motion
        self.tracks = servo_tracks(motion, report)
        names = [name.text for name in document.names]
        self.columns = numbers.match_servo_names(names, [track.name for track in self.tracks])
        self.same_columns = self.columns == list(range(len(names)))

    def text(self) -> str:
        """Return the document's text with all edits."""
        text, rows = self.document.text, self.document.rows
        times = self._times()
        check_poses(times, self.motion)
        table = np.stack([track.at(times) for track in self.tracks], axis=1)
        places = self._rows(times, table)
        same = self._same(times, table, places)
        lines = [f"{line}\n" for line in self._header().split("\n")[:-1]]  # one line, or two if the names are below
        for number, line in enumerate(lines, 1):
            check_length(line, number, self.motion)
        head = len(lines)
        stays = self._unchanged_rows(times, places, same)
        for first, behind in _kept_runs(stays, places):
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

    # -------------------------------------------------------------- selection of rows

    def _unchanged_rows(self, times: np.ndarray, places: numbers.IndexArray, same: np.ndarray) -> np.ndarray:
        """Return which rows keep their exact text, (rows,); a last row without a line end does not."""
        rows = self.document.rows
        stays = (places >= 0) & (times == rows.milliseconds[places]) & same.all(axis=1) & self.same_columns
        if not self.document.text.endswith("\n", 0, rows[-1].end):
            stays &= places != len(rows) - 1
        return stays

    def _times(self) -> np.ndarray:
        """Return the times of the poses (ms).

        They are those of all keyframes, those of the document's poses that command no servo, and those that held values
        need in addition.
        """
        keys = key_times(self.tracks, self.motion)
        idle = self.document.rows.milliseconds
        idle = idle[np.isnan(self.document.table).all(axis=1)]
        if len(idle):
            silent = [np.isnan(track.at(idle)) | _is_outside(track, idle) for track in self.tracks]
            idle = idle[np.all(silent, axis=0)]
        times = np.union1d(keys, idle)
        return np.union1d(times, times_inside_holds(self.tracks, times))

    def _rows(self, times: np.ndarray, table: Array) -> numbers.IndexArray:
        """Return for every time the index of the document's row that it takes, -1 for a new one."""
        old_times = self.document.rows.milliseconds.astype(np.float64)
        shared = [(place, column) for place, column in enumerate(self.columns) if column is not None]
        new, old = ([each[side] for each in shared] for side in (0, 1))
        signs = [_row_signatures(each) for each in (self.document.table[:, old], table[:, new])]
        return numbers.match_key_times(old_times, signs[0], times.astype(np.float64), signs[1])

    def _same(self, times: np.ndarray, table: Array, places: numbers.IndexArray) -> np.ndarray:
        """Return which fields still have the wanted meaning, (rows, servos).

        Outside of a servo's keyframes, a ``*`` is as good as a value.
        """
        found = np.zeros(table.shape, bool)
        for servo, column in enumerate(self.columns):
            if column is not None:
                old, new = self.document.table[places, column], table[:, servo]
                idle = np.isnan(new) | _is_outside(self.tracks[servo], times)
                found[:, servo] = (places >= 0) & np.where(np.isnan(old), idle, old == new)
        return found

    # -------------------------------------------------------------- text of rows

    def _header(self) -> str:
        """Return the text before the first pose."""
        text, names = self.document.text, self.document.names
        end = self.document.rows[0].start
        wanted = [track.name for track in self.tracks]
        if self.same_columns:
            changes = [
                (field.start, field.end, name) for field, name in zip(names, wanted, strict=True) if field.text != name
            ]
            return apply_changes(text, changes, 0, end)
        return text[: names[0].start] + ",".join(wanted) + text[names[-1].end : end]

    def _kept(self, row: PoseRow, time: int, values: Sequence[float], same: Sequence[bool]) -> str:
        when, name, *fields = self.document.fields(row)
        words = [
            fields[column].text if column is not None and stays else format_pose_value(value)
            for column, value, stays in zip(self.columns, values, same, strict=True)
        ]
        moment = when.text if time == row.milliseconds else _format_time_like(when.text, time)
        text = self.document.text
        if not self.same_columns:
            return ",".join((moment, name.text, *words)) + text[fields[-1].end : row.end]
        pairs = zip((when, *fields), (moment, *words), strict=True)
        changes = [(field.start, field.end, word) for field, word in pairs if word != field.text]
        return apply_changes(text, changes, row.start, row.end)

    def _new(self, number: int, time: int, values: Sequence[float]) -> str:
        when = _format_time_like(self.document.fields(self.document.rows[-1])[0].text, time)
        return ",".join((when, f"Pose{number + 1}", *map(format_pose_value, values))) + self.document.newline


def _kept_runs(stays: np.ndarray, places: numbers.IndexArray) -> list[tuple[int, int]]:
    """Return index ranges of rows: runs of unchanged rows adjacent in the document, and every other row by itself."""
    if not len(places):
        return []
    goes_on = stays[1:] & stays[:-1] & (np.diff(places) == 1)
    starts = [0, *(np.flatnonzero(~goes_on) + 1).tolist()]
    return list(zip(starts, [*starts[1:], len(places)], strict=True))


def _is_outside(track: ServoTrack, times: np.ndarray) -> np.ndarray:
    """Return whether times are before a servo's first keyframe or after its last."""
    if not len(track.times):
        return np.ones(len(times), bool)
    return (times < track.times[0]) | (times > track.times[-1])


def _row_signatures(table: Array) -> Array:
    """Return a number for every row that identifies its values, (n,)."""
    weights = np.random.default_rng(0).uniform(1.0, 2.0, table.shape[1])
    return np.nan_to_num(table) @ weights


def _format_time_like(text: str, time: int) -> str:
    """Format a time with as many parts as another."""
    parts = text.count(":")
    if parts == 2:
        return format_time(time)
    return f"{time // 1000:02d}:{time % 1000:03d}" if parts else str(time)


FRAME_TIME_TOLERANCE = 1e-6  # s: times this close to a whole millisecond count as exact

_FIELD_TEXT = re.compile(r"[^,\r\n\0]+")


@dataclass
class ServoTrack:
    """Keyframes of a servo: whole milliseconds, values, and whether each is held, all (n,)."""

    name: str
    times: np.ndarray
    values: Array
    held: np.ndarray

    def at(self, times: np.ndarray) -> Array:
        """Return the values of poses at these times, nan for ``*``."""
        if not len(self.times):
            return np.full(len(times), np.nan)
        before = np.searchsorted(self.times, times, side="right") - 1
        here = np.clip(before, 0, None)
        following = np.minimum(here + 1, len(self.times) - 1)
        span = np.maximum(self.times[following] - self.times[here], 1)
        elapsed = np.where(before < 0, 0, times - self.times[here])
        straight = self.values[here] + elapsed * (self.values[following] - self.values[here]) / span
        keyed = (before >= 0) & (elapsed == 0)
        return np.where(keyed | (before < 0) | ~self.held[here], np.where(keyed, self.values[here], straight), np.nan)


def new_document(motion: Motion, report: Report) -> str:
    """Return a motion as a new document.

    Raises:
        FormatError: there are times or names that the format cannot hold.
    """
    tracks = servo_tracks(motion, report)
    keys = key_times(tracks, motion)
    times = np.union1d(keys, times_inside_holds(tracks, keys))
    check_poses(times, motion)
    table = np.stack([track.at(times) for track in tracks], axis=1)
    lines = [",".join((HEADER, VERSION, *(track.name for track in tracks)))]
    for number, (time, values) in enumerate(zip(times.tolist(), table.tolist(), strict=True), 1):
        lines.append(",".join((format_time(time), f"Pose{number}", *map(format_pose_value, values))))
    for number, line in enumerate(lines, 1):
        check_length(line + "\n", number, motion)
    return "\n".join(lines) + "\n"


def check_poses(times: np.ndarray, motion: Motion) -> None:
    """Raise a FormatError where there would be no pose at all."""
    if not len(times):
        raise FormatError(
            "the motion has no keyframes", where=f"motion {motion.name!r}", remedy="Choose servos with keyframes."
        )


def check_length(line: str, number: int, motion: Motion) -> None:
    """Raise a FormatError where a line, including its end, is longer than Webots reads."""
    if len(line) * 4 > MAX_LINE_LENGTH and len(line.encode("utf-8", "replace")) > MAX_LINE_LENGTH:
        raise FormatError(
            f"line {number} would exceed {MAX_LINE_LENGTH} bytes, and Webots would split it",
            where=f"motion {motion.name!r}", remedy="Save fewer servos, or save as XMDI.",
        )  # fmt: skip


def report_attributes(motion: Motion, what: str, report: Report) -> None:
    """Report the attributes that a format without attributes leaves out; interpolation is kept in the keyframes."""
    names = ", ".join(sorted(motion.attributes.keys() - {INTERPOLATION}))
    if names:
        report.info(
            "attributes",
            Message("Attributes: not written, {} has none: {}", what, names),
            where=f"motion {motion.name!r}",
        )


def single_motion(motions: Sequence[Motion], what: str) -> Motion:
    """Return the one motion of a sequence.

    Raises:
        FormatError: there are more or none.
    """
    if len(motions) != 1:
        raise FormatError(
            f"{what} holds one motion, not {len(motions)}",
            remedy="Save each in a file of its own, or all of them as XMDI.",
        )
    return motions[0]


def format_pose_value(value: float) -> str:
    """Format a value of a pose, ``*`` for nan."""
    return "*" if math.isnan(value) else format_shortest(value)


def format_time(milliseconds: int) -> str:
    """Format a time as ``minutes:seconds:milliseconds``."""
    return f"{milliseconds // 60000:02d}:{milliseconds // 1000 % 60:02d}:{milliseconds % 1000:03d}"


def servo_tracks(motion: Motion, report: Report) -> list[ServoTrack]:
    """Convert the servos' times to whole milliseconds; rounding is reported.

    Raises:
        FormatError: there are no servos, invalid keyframes or names, or two keyframes on one millisecond.
    """
    where = f"motion {motion.name!r}"
    if not motion.trajectories:
        raise FormatError("the motion has no servos", where=where, remedy="Choose servos to save.")
    for trajectory in motion.trajectories:
        _check(trajectory, where)
    report_attributes(motion, "a .motion file", report)
    tracks, off = [], np.empty(0)
    for trajectory in motion.trajectories:
        exact = np.asarray(trajectory.times, np.float64) * 1000.0
        times = np.rint(exact).astype(np.int64)
        off = np.concatenate((off, np.abs(exact - times) / 1000.0))
        if (np.diff(times) <= 0).any():
            raise _time_collision_error(trajectory.name, where)
        values = np.asarray(trajectory.values, np.float64)
        tracks.append(ServoTrack(trajectory.name, times, values, np.asarray(trajectory.holds(), bool)))
    worst = off.max(initial=0.0)
    if worst > FRAME_TIME_TOLERANCE:
        count = int((off > FRAME_TIME_TOLERANCE).sum())
        report.warn(
            "rounded-times",
            Message(
                "Times of keyframes: {} rounded to whole milliseconds, by up to {} ms", count, f"{worst * 1000:.3g}"
            ),
            where=where,
        )
    return tracks


def _check(trajectory: Trajectory, where: str) -> None:
    times, values = finite_keyframes(trajectory, where)
    name = trajectory.name
    if _FIELD_TEXT.fullmatch(name) is None:
        raise FormatError(
            f"a .motion file cannot hold the name {name!r}", where=where,
            remedy="Remove commas and line breaks, and use at least one letter.",
        )  # fmt: skip
    if len(times) and (times.min() < -FRAME_TIME_TOLERANCE or float(times.max()) * 1000 > MAX_TIME_MS):
        raise FormatError(
            f"servo {name!r} has a keyframe at {times.min() if times.min() < 0 else times.max():g} s",
            where=where,
            remedy=Message("Move it: times of a .motion file are from 0 to {} s.", MAX_TIME_MS // 1000),
        )
    if (values == UNDEFINED).any():
        raise FormatError(
            f"servo {name!r} has the value {UNDEFINED}, which means no value in Webots", where=where,
            remedy="Change that keyframe slightly.",
        )  # fmt: skip


def key_times(tracks: Sequence[ServoTrack], motion: Motion) -> np.ndarray:
    """Return the times of all keyframes (ms), ascending.

    Raises:
        FormatError: two different times round to one millisecond.
    """
    times = np.unique(np.concatenate([track.times for track in tracks]))
    exact = np.sort(np.concatenate([np.asarray(each.times, np.float64) for each in motion.trajectories]))
    merged = (np.diff(np.rint(exact * 1000.0)) == 0) & (np.diff(exact) > FRAME_TIME_TOLERANCE)
    if merged.any():
        raise _time_collision_error("", f"motion {motion.name!r}", float(exact[int(np.flatnonzero(merged)[0])]))
    return times


def times_inside_holds(tracks: Sequence[ServoTrack], times: np.ndarray) -> np.ndarray:
    """Return the minimum set of times with one strictly inside every held interval that contains none of ``times``."""
    stretches: list[tuple[int, int]] = []
    for track in tracks:
        starts, ends = track.times[:-1][track.held[:-1]], track.times[1:][track.held[:-1]]
        lacking = np.searchsorted(times, ends) - np.searchsorted(times, starts, side="right") < 1
        lacking &= ends - starts > 1  # nothing is between two neighboring milliseconds
        stretches += zip(starts[lacking].tolist(), ends[lacking].tolist(), strict=True)
    found: list[int] = []
    for start, end in sorted(stretches, key=lambda stretch: stretch[1]):
        if not found or found[-1] <= start:
            found.append(end - 1)
    return np.array(found, np.int64)


def _time_collision_error(name: str, where: str, time: float | None = None) -> FormatError:
    what = f"servo {name!r} has" if name else "there are"
    at = "" if time is None else f" at {time:g} s"
    return FormatError(
        f"{what} two keyframes{at} within one millisecond", where=where,
        remedy="Sample the motion in steps of whole milliseconds, such as 32 ms.",
    )  # fmt: skip
