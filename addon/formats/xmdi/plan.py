"""What is to stand in an XMDI document for motions: names, attributes and key lists, the same whether the document is
new or the one that they were read from.

XMDI keys are interpolated, and nothing but our own attribute ``interpolation="constant"`` says how. It stands for a
whole motion. Where only some values of it are held, each of them is written again at the last step before the next key:
a servo that takes a position at every step is then where it should be at each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from lxml import etree

from ...core.model import Array, Motion, Trajectory
from ...core.report import FormatError, Report
from ..numbers import shortest, spelled
from .read import FRAME_SECONDS, INTERPOLATION, in_order, is_holding

WHOLE_FRAME = 1e-6  # frames this close to a whole number are written as it


@dataclass
class ServoPlan:
    """A servo to be written: times (s) strictly ascending, and values."""

    name: str
    times: Array
    values: Array

    def position_words(self) -> list[str]:
        """The values as words."""
        return [shortest(value) for value in self.values.tolist()]

    def frame_words(self) -> list[str]:
        """The times as words."""
        return frame_words(self.times)


@dataclass
class MotionPlan:
    """A motion to be written."""

    name: str
    attributes: dict[str, str]
    servos: list[ServoPlan]


def planned(motion: Motion, report: Report) -> MotionPlan:
    """Return what to write for a motion. FormatError for numbers that are not finite, and for names and attributes that
    XML cannot hold."""
    where = f"motion {motion.name!r}"
    attributes = {key: value for key, value in motion.attributes.items() if key != "name"}
    for key, value in (*attributes.items(), ("name", motion.name)):
        _check(key, value, where)
    keys = [_keys(trajectory, where, report) for trajectory in motion.trajectories]
    constant = _is_constant(motion, keys)
    if constant and not is_holding(attributes):
        attributes[INTERPOLATION] = "constant"
    elif not constant and is_holding(attributes) and any(len(times) > 1 for times, _, _ in keys):
        del attributes[INTERPOLATION]
        report.info("interpolation", "the motion is not constant any more; that attribute was taken away", where=where)
    if not constant:
        keys = [_with_steps(*each) for each in keys]
        added = sum(len(now[0]) - len(each.times) for now, each in zip(keys, motion.trajectories, strict=True))
        if added > 0:
            report.info("held-keys", f"{added} held values stand twice, to be held until the last step", where=where)
    names = [trajectory.name for trajectory in motion.trajectories]
    return MotionPlan(
        motion.name, attributes, [ServoPlan(name, *each[:2]) for name, each in zip(names, keys, strict=True)]
    )


def frame_words(times: Array) -> list[str]:
    """The frame numbers of times in seconds, spelled so that they read back as those times; whole ones where they are
    within 1e-6 of a whole frame and no two become one."""
    with np.errstate(over="ignore"):
        frames = times / FRAME_SECONDS
    if not np.isfinite(frames).all():
        raise FormatError("a time is too large to be counted in frames", remedy="Move the motion's keys nearer to 0 s.")
    whole = np.rint(frames)
    near = (np.abs(frames - whole) <= WHOLE_FRAME) & (np.abs(whole) < 2**53)
    written = np.where(near, whole, frames)
    if (np.diff(written) <= 0).any():
        near &= whole * FRAME_SECONDS == times
    return [
        str(int(nearest)) if is_near else spelled(time, frame, lambda number: number * FRAME_SECONDS)
        for nearest, is_near, time, frame in zip(
            whole.tolist(), near.tolist(), times.tolist(), frames.tolist(), strict=True
        )
    ]


def _keys(trajectory: Trajectory, where: str, report: Report) -> tuple[Array, Array, np.ndarray]:
    """Times, values, and which are held; in order."""
    _check("name", trajectory.name, where)
    times, values = np.asarray(trajectory.times, np.float64), np.asarray(trajectory.values, np.float64)
    if times.shape != values.shape or not (np.isfinite(times).all() and np.isfinite(values).all()):
        raise FormatError(
            f"the keys of servo {trajectory.name!r} are not pairs of finite numbers",
            where=where,
            remedy="Remove or repair those keys.",
        )
    held, order = trajectory.holds(), in_order(times)
    if order is None:
        return times, values, held
    report.warn(
        "sorted-frames",
        f"keys of servo {trajectory.name!r} were put in order; of equal ones the last holds",
        None,
        where,
    )
    return times[order], values[order], held[order]


def _is_constant(motion: Motion, keys: Sequence[tuple[Array, Array, np.ndarray]]) -> bool:
    """Return whether values are held throughout. A servo of a single key may be either."""
    if any(not held[:-1].all() for _, _, held in keys):
        return False
    if any(len(held) > 1 for _, _, held in keys):
        return True
    return bool(keys) and all(trajectory.interpolation == "constant" for trajectory in motion.trajectories)


def _with_steps(times: Array, values: Array, held: np.ndarray) -> tuple[Array, Array, np.ndarray]:
    """Every held value once more, at the last step before the next key, where there is one."""
    if not held[:-1].any():
        return times, values, held
    steps = np.ceil(np.round(times[1:] / FRAME_SECONDS, 6)) - 1
    again = steps * FRAME_SECONDS
    wanted = np.flatnonzero(held[:-1] & (again > times[:-1]))
    return (
        np.insert(times, wanted + 1, again[wanted]),
        np.insert(values, wanted + 1, values[wanted]),
        np.insert(held, wanted + 1, False),
    )


def _check(key: str, value: str, where: str) -> None:
    try:
        etree.Element("motion").set(key, value)
    except (ValueError, TypeError, UnicodeEncodeError) as error:
        raise FormatError(
            f"XML cannot hold the attribute {key!r} with the value {value!r}",
            where=where,
            remedy="Take out spaces in the attribute's name, and control characters.",
        ) from error
