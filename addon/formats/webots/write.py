"""A motion written as a new .motion: poses at all keys of all servos.

A servo gets in every pose what it has at that time: its key, the straight line between two, its first value before
its first key and its last behind the last; or ``*`` where a value is held. A held value with no pose before the next
key gets one, because the ``*`` has to stand somewhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.model import Array, Motion, Trajectory
from ...core.report import FormatError, Report
from ..numbers import shortest
from ..xmdi.read import INTERPOLATION
from .read import HEADER, LATEST, LONGEST_LINE, UNDEFINED, VERSION

NEAR = 1e-6  # seconds: a time is a whole millisecond if it is as near as this

_IN_A_FIELD = re.compile(r"[^,\r\n\0]+")


@dataclass
class Track:
    """A servo's keys: whole milliseconds, values, and whether each is held, all (n,)."""

    name: str
    times: np.ndarray
    values: Array
    held: np.ndarray

    def at(self, times: np.ndarray) -> Array:
        """Return what stands in poses at these times, NaN for ``*``."""
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
    """A motion as a new document. FormatError for times and names that it cannot hold."""
    tracks = tracks_of(motion, report)
    keys = key_times(tracks, motion)
    times = np.union1d(keys, inside_held(tracks, keys))
    check_poses(times, motion)
    table = np.stack([track.at(times) for track in tracks], axis=1)
    lines = [",".join((HEADER, VERSION, *(track.name for track in tracks)))]
    for number, (time, values) in enumerate(zip(times.tolist(), table.tolist(), strict=True), 1):
        lines.append(",".join((clock(time), f"Pose{number}", *map(spelt, values))))
    for number, line in enumerate(lines, 1):
        check_length(line + "\n", number, motion)
    return "\n".join(lines) + "\n"


def check_poses(times: np.ndarray, motion: Motion) -> None:
    """FormatError where there would be no pose at all."""
    if not len(times):
        raise FormatError(
            "the motion has no keys", where=f"motion {motion.name!r}", remedy="Choose servos that have keys."
        )


def check_length(line: str, number: int, motion: Motion) -> None:
    """FormatError where a line, with its end, is longer than Webots reads."""
    if len(line) * 4 > LONGEST_LINE and len(line.encode("utf-8", "replace")) > LONGEST_LINE:
        raise FormatError(
            f"line {number} would be longer than {LONGEST_LINE} bytes, which Webots reads as two",
            where=f"motion {motion.name!r}", remedy="Save fewer servos, or save as XMDI.",
        )  # fmt: skip


def tell_of_attributes(motion: Motion, what: str, report: Report) -> None:
    """Report the attributes that a format without any leaves out; whether values are held stands in the keys."""
    names = ", ".join(sorted(motion.attributes.keys() - {INTERPOLATION}))
    if names:
        report.info("attributes", f"{what} has no attributes; left out: {names}", where=f"motion {motion.name!r}")


def only(motions: Sequence[Motion], what: str) -> Motion:
    """The one motion. FormatError where there are more or none."""
    if len(motions) != 1:
        raise FormatError(
            f"{what} holds one motion, and these are {len(motions)}",
            remedy="Save each in a file of its own, or all of them as XMDI.",
        )
    return motions[0]


def spelt(value: float) -> str:
    """A value of a pose, ``*`` for NaN."""
    return "*" if math.isnan(value) else shortest(value)


def clock(milliseconds: int) -> str:
    """``minutes:seconds:milliseconds``."""
    return f"{milliseconds // 60000:02d}:{milliseconds // 1000 % 60:02d}:{milliseconds % 1000:03d}"


def tracks_of(motion: Motion, report: Report) -> list[Track]:
    """The servos with their times in milliseconds; what is rounded is reported."""
    where = f"motion {motion.name!r}"
    if not motion.trajectories:
        raise FormatError("the motion has no servos", where=where, remedy="Choose servos to save.")
    for trajectory in motion.trajectories:
        _check(trajectory, where)
    tell_of_attributes(motion, "a .motion file", report)
    tracks, off = [], np.empty(0)
    for trajectory in motion.trajectories:
        exact = np.asarray(trajectory.times, np.float64) * 1000.0
        times = np.rint(exact).astype(np.int64)
        off = np.concatenate((off, np.abs(exact - times) / 1000.0))
        if (np.diff(times) <= 0).any():
            raise _too_close(trajectory.name, where)
        values = np.asarray(trajectory.values, np.float64)
        tracks.append(Track(trajectory.name, times, values, np.asarray(trajectory.holds(), bool)))
    worst = off.max(initial=0.0)
    if worst > NEAR:
        count = int((off > NEAR).sum())
        report.warn(
            "rounded-times",
            f"{count} keys were moved to whole milliseconds, by up to {worst * 1000:.3g} ms",
            where=where,
        )
    return tracks


def _check(trajectory: Trajectory, where: str) -> None:
    times, values = np.asarray(trajectory.times, np.float64), np.asarray(trajectory.values, np.float64)
    name = trajectory.name
    if times.shape != values.shape or not (np.isfinite(times).all() and np.isfinite(values).all()):
        raise FormatError(
            f"the keys of servo {name!r} are not pairs of finite numbers", where=where,
            remedy="Remove or repair those keys.",
        )  # fmt: skip
    if _IN_A_FIELD.fullmatch(name) is None:
        raise FormatError(
            f"a .motion file cannot hold the name {name!r}", where=where,
            remedy="Take out commas and line ends, and give it at least one letter.",
        )  # fmt: skip
    if len(times) and (times.min() < -NEAR or float(times.max()) * 1000 > LATEST):
        raise FormatError(
            f"servo {name!r} has a key at {times.min() if times.min() < 0 else times.max():g} s", where=where,
            remedy=f"Times of a .motion file are from 0 to {LATEST // 1000} s; move the keys.",
        )  # fmt: skip
    if (values == UNDEFINED).any():
        raise FormatError(
            f"servo {name!r} has the value {UNDEFINED}, by which Webots itself means none", where=where,
            remedy="Change that key a little.",
        )  # fmt: skip


def key_times(tracks: Sequence[Track], motion: Motion) -> np.ndarray:
    """The times of all keys (ms), ascending. FormatError where two different ones become one."""
    times = np.unique(np.concatenate([track.times for track in tracks]))
    exact = np.sort(np.concatenate([np.asarray(each.times, np.float64) for each in motion.trajectories]))
    merged = (np.diff(np.rint(exact * 1000.0)) == 0) & (np.diff(exact) > NEAR)
    if merged.any():
        raise _too_close("", f"motion {motion.name!r}", float(exact[int(np.flatnonzero(merged)[0])]))
    return times


def inside_held(tracks: Sequence[Track], times: np.ndarray) -> np.ndarray:
    """As few times as put one strictly inside of every held stretch that has none of ``times``."""
    stretches: list[tuple[int, int]] = []
    for track in tracks:
        starts, ends = track.times[:-1][track.held[:-1]], track.times[1:][track.held[:-1]]
        lacking = np.searchsorted(times, ends) - np.searchsorted(times, starts, side="right") < 1
        lacking &= ends - starts > 1  # nothing plays between two neighbouring milliseconds
        stretches += zip(starts[lacking].tolist(), ends[lacking].tolist(), strict=True)
    found: list[int] = []
    for start, end in sorted(stretches, key=lambda stretch: stretch[1]):
        if not found or found[-1] <= start:
            found.append(end - 1)
    return np.array(found, np.int64)


def _too_close(name: str, where: str, time: float | None = None) -> FormatError:
    what = f"servo {name!r} has" if name else "there are"
    at = "" if time is None else f" at {time:g} s"
    return FormatError(
        f"{what} two keys{at} on one millisecond", where=where,
        remedy="Sample the motion on a grid of whole milliseconds, 32 ms for one, and save that.",
    )  # fmt: skip
