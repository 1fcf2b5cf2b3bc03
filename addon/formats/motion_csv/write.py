"""A motion written as a table: a row for every time at which a servo has a key, other servos' cells empty."""

from __future__ import annotations

import numpy as np

from ...core.model import Array, Motion, Trajectory
from ...core.report import FormatError, Report
from ..numbers import shortest
from ..tables import quoted
from ..webots.write import tell_of_attributes

#: A cell's place: its time, and whether it is the key itself or, before that, the value that was held until then.
Place = tuple[float, bool]


def new_document(motion: Motion, report: Report) -> str:
    """A motion as a new table."""
    columns = columns_of(motion, report)
    check_keys(motion)
    lines = [["time [s]", *(quoted(heading(trajectory)) for trajectory in motion.trajectories)]]
    for place in sorted(set().union(*columns)):
        cells = (column.get(place) for column in columns)
        lines.append([shortest(place[0]), *("" if value is None else shortest(value) for value in cells)])
    return "".join(",".join(line) + "\n" for line in lines)


def heading(trajectory: Trajectory) -> str:
    """A servo's name with its unit; ``[]`` says that what looks like one belongs to the name."""
    if trajectory.unit:
        return f"{trajectory.name} [{trajectory.unit}]"
    return f"{trajectory.name} []" if trajectory.name[-1:] in ("", "]", ")") else trajectory.name


def check_keys(motion: Motion) -> None:
    """FormatError where a table would have no rows."""
    if not any(len(trajectory.times) for trajectory in motion.trajectories):
        raise FormatError(
            "the motion has no keys", where=f"motion {motion.name!r}", remedy="Choose servos that have keys."
        )


def columns_of(motion: Motion, report: Report) -> list[dict[Place, float]]:
    """Return what stands in every servo's column. FormatError where there are no servos, or their keys are none."""
    check_servos(motion, report)
    return [cells_of(trajectory) for trajectory in motion.trajectories]


def check_servos(motion: Motion, report: Report) -> None:
    """Check that a motion has servos with keys, and report what is to be told of their columns. FormatError where there
    are no servos, or their keys are none."""
    where = f"motion {motion.name!r}"
    if not motion.trajectories:
        raise FormatError("the motion has no servos", where=where, remedy="Choose servos to save.")
    tell_of_attributes(motion, "a table", report)
    for trajectory in motion.trajectories:
        _check(trajectory, np.asarray(trajectory.times, np.float64), np.asarray(trajectory.values, np.float64), where)
    steps = sum(int(np.count_nonzero(trajectory.holds()[:-1])) for trajectory in motion.trajectories)
    if steps:
        report.info("held-keys", f"{steps} held values stand twice, as steps", where=where)


def cells_of(trajectory: Trajectory) -> dict[Place, float]:
    """Return what stands in a servo's column."""
    times, values = np.asarray(trajectory.times, np.float64), np.asarray(trajectory.values, np.float64)
    cells = {(time, True): value for time, value in zip(times.tolist(), values.tolist(), strict=True)}
    for key in np.flatnonzero(trajectory.holds()[:-1]):
        cells[float(times[key + 1]), False] = float(values[key])
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
