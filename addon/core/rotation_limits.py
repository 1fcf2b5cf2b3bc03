"""Euler angles between their stops, and which of them a limit keeps there that only sees the rotation matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .model import Array

#: Angles this near (rad) to half a turn may be read off a matrix as half a turn the other way.
_SEAM = 1e-4
#: Two decompositions of a rotation whose sums of angles differ by less than this (rad) may be told apart either way.
_TIE = 1e-3
#: Cosine of the middle angle below which the outer two cannot be told apart.
_LOCKED = 1e-3
#: Angles that differ by less than this (rad, as a share of them) are the same in 32 bits.
_SAME = 1e-6


def folded(angles: Array) -> Array:
    """The angles within half a turn that mean the same, in [-pi, pi)."""
    return (angles + np.pi) % (2.0 * np.pi) - np.pi


def clamp(angles: Array, lower: Array | float, upper: Array | float) -> Array:
    """Angles put on the stop that they are beyond; where the lower one is above the upper one, this one counts."""
    return np.minimum(np.maximum(angles, lower), upper)


def is_limited_exactly(angles: Array, lower: Array, upper: Array, middle: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return whether a plain limit of the angles of a rotation matrix keeps bones where ``clamp`` has them.

    Blender's *Limit Rotation* with *Legacy Behavior* decomposes the matrix (``mat3_to_eulO``: of the two sets of
    angles that mean a rotation, the one with the smaller sum of absolute values, each within half a turn) and clamps
    every angle. Turns are lost in the matrix, and so is which of the two sets the channels have.

    Args:
        angles: Euler angles (n, 3) as the channels have them, in rad.
        lower: Lower stops (n, 3), -inf where there is none.
        upper: Upper stops (n, 3), inf where there is none.
        middle: The axis (n,) that is the middle one in each bone's order of rotations.

    Returns:
        (n,), True where the matrix tells enough. Where that is not certain, it is False.
    """
    rows = np.arange(len(angles))
    first = folded(angles)
    second = folded(first + np.pi)
    second[rows, middle] = folded(np.pi - first[rows, middle])
    more = np.abs(second).sum(axis=1) - np.abs(first).sum(axis=1)
    held = clamp(angles, lower, upper)
    close = _SAME * (1.0 + np.abs(held))
    kept = np.abs(folded(clamp(first, lower, upper) - held)) <= close
    free = np.isneginf(lower) & np.isposinf(upper)
    seam = (np.pi - np.abs(first) < _SEAM) & ~free
    straight = (more > _TIE) & kept.all(axis=1) & ~seam.any(axis=1)
    inside = (held == angles) & (clamp(second, lower, upper) == second) & ~((np.pi - np.abs(second) < _SEAM) & ~free)
    turned = (more < -_TIE) & inside.all(axis=1)
    locked = np.abs(np.cos(first[rows, middle])) < _LOCKED
    result: NDArray[np.bool_] = (straight | turned) & ~locked
    return result
