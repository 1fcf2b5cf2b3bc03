"""The one rule of stops: which a coordinate has, and when a value is beyond them."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from .model import DOF_SIZE, Array, Dof

#: Lower and upper stop of a coordinate (rad or length units), None where there is none.
Limits = tuple[float | None, float | None]

NO_STOPS: Limits = (None, None)

#: How far (rad, length units) a value may lie beyond a stop and still be on it: files round to four digits.
ON_THE_STOP = 1e-4
#: And how far as a share of the stop: Blender keeps stops and keys in 32 bits, a file more.
_TOLD_BY_32_BITS = 2.0**-22


def stops_of(dofs: Iterable[Dof]) -> list[Limits]:
    """The stops of every coordinate of a joint, in their order.

    Balls and free blocks have theirs on their parts, one part for each number of the rotation vector and of the
    translation; where parts are missing, it cannot be told whose stops the others are, and there are none."""
    out: list[Limits] = []
    for dof in dofs:
        size = DOF_SIZE[dof.kind]
        own = [dof] if size == 1 else dof.parts
        out += [(each.lower, each.upper) for each in own] if len(own) == size else [NO_STOPS] * size
    return out


def slack(stop: float) -> float:
    """Return how far beyond a stop a value still counts as on it."""
    return ON_THE_STOP + _TOLD_BY_32_BITS * abs(stop)


def beyond(values: Array, stops: Limits) -> Array:
    """By how much each of the values (n,) lies below its lower stop (negative) or above its upper one, else 0: (n,)."""
    lower, upper = stops
    over = np.zeros(len(values))
    if lower is not None:
        over = np.where(values < lower - slack(lower), values - lower, over)
    if upper is not None:
        over = np.where(values > upper + slack(upper), values - upper, over)
    return over


def put_within(values: Array, stops: Limits) -> Array:
    """The values (n,), those beyond a stop put on it; all others are what they were."""
    low, high = (-math.inf if stops[0] is None else stops[0]), (math.inf if stops[1] is None else stops[1])
    return np.where(beyond(values, stops) != 0.0, np.clip(values, low, high), values)


def is_beyond(dof: Dof) -> bool:
    """Return whether a degree of freedom begins beyond a stop of its own."""
    low, high = (-math.inf if dof.lower is None else dof.lower), (math.inf if dof.upper is None else dof.upper)
    return not low <= dof.position <= high
