"""A motion written as a table: a row for every time at which a servo has a key, other servos' cells empty."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np

from ..model.records import Array, Motion, Trajectory
from ..model.report import FormatError, Report
from .numbers import shortest
from .webots_write import only

#: A cell's place: its time, and whether it is the value that is held until then (0) or the key itself (1).
Place = tuple[float, int]


def dumps(motions: Sequence[Motion], report: Report) -> str:
    """The text of a table. FormatError for several motions, and for what is no number."""
    motion = only(motions, "A CSV file")
    columns = [cells_of(trajectory, motion, report) for trajectory in motion.trajectories]
    if not columns:
        raise FormatError("the motion has no servos", where=f"motion {motion.name!r}", remedy="Choose servos to save.")
    if motion.attributes:
        names = ", ".join(sorted(motion.attributes))
        report.warn("attributes", f"a table has no attributes; left out: {names}", where=f"motion {motion.name!r}")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["time [s]", *(heading(trajectory) for trajectory in motion.trajectories)])
    for place in sorted(set().union(*columns)):
        cells = (column.get(place) for column in columns)
        writer.writerow([shortest(place[0]), *("" if value is None else shortest(value) for value in cells)])
    return out.getvalue()


def heading(trajectory: Trajectory) -> str:
    """A servo's name with its unit; ``[]`` says that what looks like one belongs to the name."""
    if trajectory.unit:
        return f"{trajectory.name} [{trajectory.unit}]"
    return f"{trajectory.name} []" if trajectory.name[-1:] in ("", "]", ")") else trajectory.name


def cells_of(trajectory: Trajectory, motion: Motion, report: Report) -> dict[Place, float]:
    """What stands in a servo's column."""
    times, values = np.asarray(trajectory.times, np.float64), np.asarray(trajectory.values, np.float64)
    _check(trajectory, times, values, f"motion {motion.name!r}")
    cells = {(time, 1): value for time, value in zip(times.tolist(), values.tolist(), strict=True)}
    held = np.flatnonzero(trajectory.holds()[:-1])
    cells |= {(float(times[key + 1]), 0): float(values[key]) for key in held}
    if len(held):
        report.info("held-keys", f"servo {trajectory.name!r}: {len(held)} held values stand twice, as steps")
    return cells


def _check(trajectory: Trajectory, times: Array, values: Array, where: str) -> None:
    if times.shape != values.shape or not (np.isfinite(times).all() and np.isfinite(values).all()):
        raise FormatError(
            f"the keys of servo {trajectory.name!r} are not pairs of finite numbers", where=where,
            remedy="Remove or repair those keys.",
        )  # fmt: skip
    if (np.diff(times) <= 0).any():
        raise FormatError(
            f"the keys of servo {trajectory.name!r} are not in the order of their times", where=where,
            remedy="Sort them, each time once.",
        )  # fmt: skip
    if "\0" in trajectory.name:
        raise FormatError(f"a table cannot hold the name {trajectory.name!r}", where=where, remedy="Rename the servo.")
