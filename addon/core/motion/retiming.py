"""Retiming of motions: repeat, shift, change speed. Each function returns a new motion and leaves the old unchanged.

``only`` names the servos to change, None all. A motion that was read from a document remains that document's, so that
saving it changes there only what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Literal

import numpy as np

from ..model import Motion
from ..report import Message
from .keyframes import Keyframes, MotionSpan, blend_to_first_value, repeat_keyframes, shift_keyframes_cyclic

#: Largest difference (rad or length units) between a motion's end and its beginning that count as equal.
VALUE_TOLERANCE = 1e-6

#: Transition between cycles. ``repeat``: the last key is the next cycle's first where all servos end as they begin;
#: else they return to their first values in a gap. ``climb``: each cycle continues where the previous one ended, as
#: for wheels. ``blend``: the end of the cycle is blended to its first values.
SeamMode = Literal["repeat", "climb", "blend"]


def repeat_motion(
    motion: Motion,
    rounds: int,
    seam: SeamMode = "repeat",
    blend: float = 0.0,
    gap: float | None = None,
    only: Collection[str] | None = None,
) -> Motion:
    """Repeat a motion ``rounds`` times, by keys.

    A servo whose keys begin late or end early holds its outer values to the ends of the cycle; one with a single key
    keeps it.

    Args:
        motion: The motion.
        rounds: Number of cycles.
        seam: Transition between cycles.
        blend: Time (s) at the end that is blended.
        gap: Time (s) from the last key to the next cycle's first where values differ; None: the usual time between the
            motion's keys.
        only: Servos to change; None: all.

    Raises:
        ValueError: There is less than one cycle.
    """
    if rounds < 1:
        raise ValueError(Message("Repeats: {} is below 1. Enter 1 or more", rounds))
    keys = keyframes_by_servo(motion, only)
    span = motion_span(motion, keys.values(), gap if seam == "repeat" else 0.0)
    if seam == "blend":
        keys = {name: blend_to_first_value(own, span, blend) for name, own in keys.items()}
    return replace_keyframes(motion, keys, lambda own: repeat_keyframes(own, span, rounds, climbs=seam == "climb"))


def shift_motion(
    motion: Motion,
    seconds: float,
    wrap: bool = False,
    gap: float | None = None,
    only: Collection[str] | None = None,
) -> Motion:
    """Delay a motion by some seconds, or advance it where they are negative.

    ``wrap``: what leaves the motion's range at one end enters at the other, as in a repeated cycle, with ``gap`` (see
    ``repeat_motion``) where it does not end as it begins.
    """
    keys = keyframes_by_servo(motion, only)
    if not wrap:
        return replace_keyframes(motion, keys, lambda own: own.moved(seconds))
    span = motion_span(motion, keys.values(), gap)
    return replace_keyframes(motion, keys, lambda own: shift_keyframes_cyclic(own, span, seconds))


def scale_motion_speed(
    motion: Motion, factor: float, about: float = 0.0, only: Collection[str] | None = None
) -> Motion:
    """Speed up a motion by ``factor``; the time ``about`` (s) is fixed.

    Raises:
        ValueError: The factor is not above zero.
    """
    if not (factor > 0.0 and np.isfinite(factor)):
        raise ValueError(Message("Speed: {} is not above 0. Enter a larger factor", f"{factor:g}"))
    return replace_keyframes(motion, keyframes_by_servo(motion, only), lambda own: own.faster(factor, about))


def speed_factor_for(first: float, last: float, wanted: float) -> float:
    """Return the speed factor that gives a range from one time to another the ``wanted`` duration (s).

    Raises:
        ValueError: No factor does.
    """
    if not wanted > 0.0:
        raise ValueError(Message("Duration: {} s is not above 0. Enter a longer duration", f"{wanted:g}"))
    if not last > first:
        raise ValueError("Duration: the motion has no two keyframes at different times, so it cannot be stretched")
    return (last - first) / wanted


def keyframes_by_servo(motion: Motion, only: Collection[str] | None = None) -> dict[str, Keyframes]:
    """Return the keyframes of the selected servos that have any, by name."""
    meant = (each for each in motion.trajectories if only is None or each.name in only)
    return {each.name: Keyframes.of(each) for each in meant if len(each.times)}


def replace_keyframes(motion: Motion, keys: dict[str, Keyframes], change: Callable[[Keyframes], Keyframes]) -> Motion:
    """Return the motion with changed keyframes of some of its servos."""
    tracks = [
        change(keys[each.name]).to_trajectory(each) if each.name in keys else replace(each)
        for each in motion.trajectories
    ]
    return replace(motion, trajectories=tracks, attributes=dict(motion.attributes))


def motion_span(motion: Motion, meant: Iterable[Keyframes], gap: float | None) -> MotionSpan:
    """Return the range from the first key of a motion to its last, and the gap before it can repeat.

    There is no gap where all of ``meant`` end as they begin.
    """
    times = np.concatenate([np.zeros(0), *(each.times for each in motion.trajectories)])
    return keyframe_span(times, meant, gap)


def keyframe_span(times: np.ndarray, meant: Iterable[Keyframes], gap: float | None) -> MotionSpan:
    """Return the span of a motion whose keys are at ``times`` (n,); see ``motion_span``."""
    if not len(times):
        return MotionSpan(0.0, 0.0)
    first, last = float(times.min()), float(times.max())
    if all(abs(keys.rise) <= VALUE_TOLERANCE for keys in meant):
        return MotionSpan(first, last)
    return MotionSpan(first, last, median_key_interval(times) if gap is None else gap)


def median_key_interval(times: np.ndarray) -> float:
    """Return the median time between the distinct times of keys; 0 where there is only one."""
    apart = np.diff(np.unique(times))
    apart = apart[apart > 0.0]
    return float(np.median(apart)) if len(apart) else 0.0
