"""Checks of a motion's demands on its servos: stops exceeded, velocity, acceleration and jumps.

Everything is computed exactly from the keys, without sampling: between keys a value is linear, or holds and jumps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..model import Array, Motion, Trajectory
from ..stops import NO_STOPS, StopPair, stop_tolerance

#: Largest change of value that is no jump.
_MIN_JUMP = 1e-9


@dataclass(frozen=True)
class StopViolation:
    """Interval (s) in which a servo is beyond a stop, with the largest excess (rad or length units) and its time."""

    side: Literal["lower", "upper"]
    start: float
    end: float
    by: float
    worst: float


@dataclass(frozen=True)
class ServoCheck:
    """Figures of one servo in a motion.

    ``first``, ``last``: times (s) of its outer keys; ``low``, ``high``: its range, ``lower``, ``upper`` its stops, None
    where it has none. ``velocity`` and ``acceleration`` are the largest absolute values (per s, per s²), at the times
    ``velocity_at`` and ``acceleration_at``; None where there are not two or three keys to have one. ``jump`` is the
    largest sudden change, at a held key's end or between two keys at one time, at ``jump_at``; it is not in the
    velocity.
    """

    name: str
    keys: int
    first: float
    last: float
    low: float
    high: float
    lower: float | None
    upper: float | None
    outside: tuple[StopViolation, ...]
    velocity: float | None
    velocity_at: float
    acceleration: float | None
    acceleration_at: float
    jump: float
    jump_at: float

    @property
    def duration(self) -> float:
        """Return the time from its first key to its last (s)."""
        return self.last - self.first

    @property
    def worst(self) -> StopViolation | None:
        """Return the interval with the largest excess; None where it stays within its stops."""
        return max(self.outside, key=lambda each: each.by, default=None)


def check_motion(motion: Motion, limits: Mapping[str, StopPair]) -> list[ServoCheck]:
    """Check every servo of a motion, in the motion's order; those without keys are left out.

    Excesses are exact, from where the value crosses the stop, also between keys, to where it comes back; those within
    the tolerance of ``core.stops`` are ignored. Velocity is that between two keys. Acceleration is taken at keys: the
    change of velocity over the mean of the times to the key before and to the key after. Jumps count as neither.

    Args:
        motion: The motion.
        limits: Lower and upper stop by servo, None where there is none, as for servos not in it.
    """
    return [check_servo(each, limits.get(each.name, NO_STOPS)) for each in motion.trajectories if len(each.times)]


def check_servo(trajectory: Trajectory, limits: StopPair) -> ServoCheck:
    """Check one trajectory, which has keys, against its lower and upper stop."""
    times, values = (np.asarray(x, dtype=np.float64) for x in (trajectory.times, trajectory.values))
    lower, upper = limits
    held = trajectory.holds()[:-1]
    outside: list[StopViolation] = []
    if upper is not None:
        outside += _stop_violations(times, values - upper, held, "upper", stop_tolerance(upper))
    if lower is not None:
        outside += _stop_violations(times, lower - values, held, "lower", stop_tolerance(lower))
    outside.sort(key=lambda each: each.start)
    apart, rise = np.diff(times), np.diff(values)
    sudden = held | (apart <= 0.0)
    jumps = np.where(sudden, np.abs(rise), 0.0)
    jumps[jumps <= _MIN_JUMP] = 0.0
    with np.errstate(over="ignore"):  # infinite for tiny time differences
        speeds = np.where(sudden, 0.0, rise / np.where(sudden, 1.0, apart))
    velocity, velocity_at = _peak(speeds, times[:-1], apart > 0.0)
    acceleration, acceleration_at = _peak_acceleration(times, speeds, apart, jumps)
    place = int(jumps.argmax()) if len(jumps) else 0
    jump = float(jumps[place]) if len(jumps) else 0.0
    return ServoCheck(
        trajectory.name, len(times), float(times[0]), float(times[-1]), float(values.min()), float(values.max()),
        lower, upper, tuple(outside), velocity, velocity_at, acceleration, acceleration_at,
        jump, float(times[place + 1]) if jump else float(times[0]),
    )  # fmt: skip


def sort_by_severity(checks: Sequence[ServoCheck]) -> list[ServoCheck]:
    """Sort servos by severity: those farthest beyond their stops first, then those that jump, then by velocity."""

    def badness(each: ServoCheck) -> tuple[float, float, float]:
        return each.worst.by if each.worst is not None else 0.0, each.jump, each.velocity or 0.0

    return sorted(checks, key=badness, reverse=True)


def _peak(amounts: Array, times: Array, counts: NDArray[np.bool_]) -> tuple[float | None, float]:
    """Return the largest absolute value where ``counts`` is True, and its time; None and the first time without any."""
    if not counts.any():
        return None, float(times[0]) if len(times) else 0.0
    place = int(np.where(counts, np.abs(amounts), -1.0).argmax())
    return float(abs(amounts[place])), float(times[place])


def _peak_acceleration(times: Array, speeds: Array, apart: Array, jumps: Array) -> tuple[float | None, float]:
    """Return the largest change of velocity at a key over the mean of the times to its neighbors, and its time."""
    before, after = apart[:-1], apart[1:]
    # a held value jumps at the end of its interval: the key there has no acceleration
    counts = (before > 0.0) & (after > 0.0) & (jumps[:-1] == 0.0)
    mean = np.where(counts, 0.5 * (before + after), 1.0)
    return _peak(np.diff(speeds) / mean, times[1:-1], counts)


def _stop_violations(
    times: Array, over: Array, held: NDArray[np.bool_], side: Literal["lower", "upper"], tolerance: float
) -> list[StopViolation]:
    """Find the intervals in which ``over`` (n,), the values beyond a stop, is above zero."""
    if over.max() <= tolerance:
        return []
    beyond = over > 0.0
    # an interval begins at the first key of a run of keys that are beyond, or on the line to it
    edges = np.flatnonzero(np.diff(np.concatenate([[False], beyond, [False]]).astype(np.int8)))
    out = []
    for first, past in zip(edges[::2], edges[1::2], strict=True):
        start = times[first] if first == 0 or held[first - 1] else _crossing_time(times, over, first - 1)
        if past == len(times):
            end = times[past - 1]
        else:
            end = times[past] if held[past - 1] else _crossing_time(times, over, past - 1)
        place = int(first + over[first:past].argmax())
        if over[place] > tolerance:
            out.append(StopViolation(side, float(start), float(end), float(over[place]), float(times[place])))
    return out


def _crossing_time(times: Array, over: Array, before: int) -> float:
    """Return the time at which the straight line from a key to the next is zero."""
    share = over[before] / (over[before] - over[before + 1])
    return float(times[before] + share * (times[before + 1] - times[before]))
