"""Stops of joint values: where they are, when a value is beyond them, and Euler angles under Blender's limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .model import DOF_SIZE, Array, Dof, HasKind
from .transforms import wrap_angle

#: Lower and upper stop of a joint value (rad or length units), None where there is none.
StopPair = tuple[float | None, float | None]

NO_STOPS: StopPair = (None, None)

_AnyDof = TypeVar("_AnyDof", bound=HasKind)

#: Absolute tolerance (rad, length units) up to which a value is on its stop: files round to four digits.
STOP_TOLERANCE = 1e-4
#: Relative tolerance, as a share of the stop: Blender stores stops and keyframes in 32 bits, files in more.
_FLOAT32_EPSILON = 2.0**-22


def stop_holders(dofs: Iterable[tuple[_AnyDof, Sequence[_AnyDof]]]) -> list[_AnyDof | None]:
    """Return what has the stops of each value of a joint: a degree of freedom, or a part of a ball or free block.

    It is None for a block without parts, or without one for each number of the rotation vector and the translation.

    Args:
        dofs: The joint's degrees of freedom, each with its parts.
    """
    out: list[_AnyDof | None] = []
    for dof, parts in dofs:
        size = DOF_SIZE[dof.kind]
        out += [dof] if size == 1 else parts if len(parts) == size else [None] * size
    return out


def value_dofs(dofs: Iterable[Dof]) -> list[Dof | None]:
    """Return what has the stops of each value of a joint (see ``stop_holders``)."""
    return stop_holders((dof, dof.parts) for dof in dofs)


def joint_stops(dofs: Iterable[Dof]) -> list[StopPair]:
    """Return the stops of every value of a joint, in their order."""
    return [NO_STOPS if dof is None else (dof.lower, dof.upper) for dof in value_dofs(dofs)]


def stop_tolerance(stop: float) -> float:
    """Return the distance beyond a stop up to which a value still counts as on it."""
    return STOP_TOLERANCE + _FLOAT32_EPSILON * abs(stop)


def stop_excess(values: Array, stops: StopPair) -> Array:
    """Measure how far values (n,) are below the lower stop (negative) or above the upper stop, else 0: (n,)."""
    lower, upper = stops
    over = np.zeros(len(values))
    if lower is not None:
        over = np.where(values < lower - stop_tolerance(lower), values - lower, over)
    if upper is not None:
        over = np.where(values > upper + stop_tolerance(upper), values - upper, over)
    return over


def clamp_values_to_stops(values: Array, stops: StopPair) -> Array:
    """Clip values (n,) that are beyond a stop to it; all others, also within the tolerance, stay as they are."""
    low, high = (-math.inf if stops[0] is None else stops[0]), (math.inf if stops[1] is None else stops[1])
    return np.where(stop_excess(values, stops) != 0.0, np.clip(values, low, high), values)


def wanted_value(seen: float, channel: float, stops: StopPair) -> float:
    """Return a joint value as seen, or that of its channel if only a stop keeps the joint from it."""
    lower, upper = stops
    below = lower is not None and channel < lower and seen <= lower + stop_tolerance(lower)
    above = upper is not None and channel > upper and seen >= upper - stop_tolerance(upper)
    return channel if below or above else seen


def starts_outside_stops(dof: Dof) -> bool:
    """Return whether the initial position of a degree of freedom is beyond one of its stops."""
    low, high = (-math.inf if dof.lower is None else dof.lower), (math.inf if dof.upper is None else dof.upper)
    return not low <= dof.position <= high


#: Angles this near (rad) to half a turn may be decomposed from a matrix with the opposite sign.
_HALF_TURN_TOLERANCE = 1e-4
#: Two decompositions of a rotation whose sums of angles differ by less than this (rad): Blender may choose either.
_TIE_TOLERANCE = 1e-3
#: Cosine of the middle angle below which the outer two are not unique (gimbal lock).
_GIMBAL_LOCK_COSINE = 1e-3
#: Angles that differ by less than this (rad, relative) are equal in 32 bits.
_ANGLE_TOLERANCE = 1e-6


def clamp_angles(angles: Array, lower: Array | float, upper: Array | float) -> Array:
    """Clamp angles to their stops; where the lower stop is above the upper one, the upper one wins."""
    return np.minimum(np.maximum(angles, lower), upper)


def is_limit_exact(angles: Array, lower: Array, upper: Array, middle: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return whether clamping the Euler angles of the rotation matrix keeps bones where ``clamp_angles`` has them.

    Note:
        Blender's *Limit Rotation* with *Legacy Behavior* decomposes the matrix (``mat3_to_eulO``: of the two sets of
        angles that mean a rotation, the one with the smaller sum of absolute values, each within half a turn) and
        clamps every angle. Whole turns are lost in the matrix, and so is which of the two sets the channels have.

    Args:
        angles: Euler angles (n, 3) of the channels, in rad.
        lower: Lower stops (n, 3), -inf where there is none.
        upper: Upper stops (n, 3), inf where there is none.
        middle: The axis (n,) that is the middle one in each bone's order of rotations.

    Returns:
        (n,), True where the matrix is sufficient; False where that is not certain.
    """
    rows = np.arange(len(angles))
    first = wrap_angle(angles)
    second = wrap_angle(first + np.pi)
    second[rows, middle] = wrap_angle(np.pi - first[rows, middle])
    more = np.abs(second).sum(axis=1) - np.abs(first).sum(axis=1)
    held = clamp_angles(angles, lower, upper)
    close = _ANGLE_TOLERANCE * (1.0 + np.abs(held))
    kept = np.abs(wrap_angle(clamp_angles(first, lower, upper) - held)) <= close
    free = np.isneginf(lower) & np.isposinf(upper)
    seam = (np.pi - np.abs(first) < _HALF_TURN_TOLERANCE) & ~free
    straight = (more > _TIE_TOLERANCE) & kept.all(axis=1) & ~seam.any(axis=1)
    inside = (
        (held == angles)
        & (clamp_angles(second, lower, upper) == second)
        & ~((np.pi - np.abs(second) < _HALF_TURN_TOLERANCE) & ~free)
    )
    turned = (more < -_TIE_TOLERANCE) & inside.all(axis=1)
    locked = np.abs(np.cos(first[rows, middle])) < _GIMBAL_LOCK_COSINE
    result: NDArray[np.bool_] = (straight | turned) & ~locked
    return result
