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
from .keyframes import Keys, Span, led_back, repeated, turned_round

#: Largest difference (rad or length units) between a motion's end and its beginning that count as equal.
SAME_VALUE = 1e-6

#: Transition between cycles. ``repeat``: the last key is the next cycle's first where all servos end as they begin;
#: else they return to their first values in a gap. ``climb``: each cycle continues where the previous one ended, as
#: for wheels. ``blend``: the end of the cycle is blended to its first values.
Seam = Literal["repeat", "climb", "blend"]


def looped(
    motion: Motion,
    rounds: int,
    seam: Seam = "repeat",
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
        raise ValueError(f"A motion can be played once or more often, not {rounds} times")
    keys = keys_of(motion, only)
    span = span_of(motion, keys.values(), gap if seam == "repeat" else 0.0)
    if seam == "blend":
        keys = {name: led_back(own, span, blend) for name, own in keys.items()}
    return with_keys(motion, keys, lambda own: repeated(own, span, rounds, climbs=seam == "climb"))


def shifted(
    motion: Motion,
    seconds: float,
    wrap: bool = False,
    gap: float | None = None,
    only: Collection[str] | None = None,
) -> Motion:
    """Delay a motion by some seconds, or advance it where they are negative.

    ``wrap``: what leaves the motion's range at one end enters at the other, as in a repeated cycle, with ``gap`` (see
    ``looped``) where it does not end as it begins.
    """
    keys = keys_of(motion, only)
    if not wrap:
        return with_keys(motion, keys, lambda own: own.moved(seconds))
    span = span_of(motion, keys.values(), gap)
    return with_keys(motion, keys, lambda own: turned_round(own, span, seconds))


def faster(motion: Motion, factor: float, about: float = 0.0, only: Collection[str] | None = None) -> Motion:
    """Speed up a motion by ``factor``; the time ``about`` (s) is fixed.

    Raises:
        ValueError: The factor is not above zero.
    """
    if not (factor > 0.0 and np.isfinite(factor)):
        raise ValueError(f"A speed has to be above 0: {factor:g} is not")
    return with_keys(motion, keys_of(motion, only), lambda own: own.faster(factor, about))


def speed_for(first: float, last: float, wanted: float) -> float:
    """Return the speed factor that gives a range from one time to another the ``wanted`` duration (s).

    Raises:
        ValueError: No factor does.
    """
    if not wanted > 0.0:
        raise ValueError(f"A duration has to be above 0: {wanted:g} is not")
    if not last > first:
        raise ValueError("The motion lasts no time: it has no two keys apart, and no speed can give it a duration")
    return (last - first) / wanted


def keys_of(motion: Motion, only: Collection[str] | None = None) -> dict[str, Keys]:
    """Return the keyframes of the selected servos that have any, by name."""
    meant = (each for each in motion.trajectories if only is None or each.name in only)
    return {each.name: Keys.of(each) for each in meant if len(each.times)}


def with_keys(motion: Motion, keys: dict[str, Keys], change: Callable[[Keys], Keys]) -> Motion:
    """Return the motion with changed keyframes of some of its servos."""
    tracks = [
        change(keys[each.name]).put_into(each) if each.name in keys else replace(each) for each in motion.trajectories
    ]
    return replace(motion, trajectories=tracks, attributes=dict(motion.attributes))


def span_of(motion: Motion, meant: Iterable[Keys], gap: float | None) -> Span:
    """Return the range from the first key of a motion to its last, and the gap before it can repeat.

    There is no gap where all of ``meant`` end as they begin.
    """
    times = np.concatenate([np.zeros(0), *(each.times for each in motion.trajectories)])
    return span_between(times, meant, gap)


def span_between(times: np.ndarray, meant: Iterable[Keys], gap: float | None) -> Span:
    """Return the span of a motion whose keys are at ``times`` (n,); see ``span_of``."""
    if not len(times):
        return Span(0.0, 0.0)
    first, last = float(times.min()), float(times.max())
    if all(abs(keys.rise) <= SAME_VALUE for keys in meant):
        return Span(first, last)
    return Span(first, last, usual_step(times) if gap is None else gap)


def usual_step(times: np.ndarray) -> float:
    """Return the median time between the distinct times of keys; 0 where there is only one."""
    apart = np.diff(np.unique(times))
    apart = apart[apart > 0.0]
    return float(np.median(apart)) if len(apart) else 0.0
