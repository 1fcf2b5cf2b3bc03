"""Conventions of single values of a Shift file: axes, displacements, rates, springs, read and written.

A value that still has the wanted meaning is written as it was; ``keep_if_equal`` decides that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.model import Array, identity
from ...core.transforms import bitwise_equal, rotation_matrix, rotation_vector

#: Deviation from an orthonormal matrix that is reported: the files have five digits and more.
ROTATION_TOLERANCE = 1e-4
POSE_ROUNDING = 1e-10


def keep_if_equal(raw: Any, meaning: Callable[[Any], Any], wanted: Any, fresh: Any) -> Any:
    """Return ``raw`` if its meaning equals ``wanted``, else ``fresh``."""
    if raw is not None and np.allclose(meaning(raw), wanted, rtol=1e-12, atol=1e-15):
        return raw
    return fresh


def pose_from_rt(turn: Any, shift: Any) -> Array:
    """Return the pose (4, 4) of ``R`` and ``T``, each None if absent, with the rotation nearest to ``R``."""
    pose = identity()
    if turn is not None:
        pose[:3, :3] = nearest_rotation(np.array(turn, dtype=np.float64))
    if shift is not None:
        pose[:3, 3] = shift
    return pose


def nearest_rotation(matrix: Array) -> Array:
    """Return the rotation nearest to a matrix (3, 3); the matrix itself if it is a rotation to the last digits."""
    if np.abs(matrix.T @ matrix - np.eye(3)).max() < 1e-15 and np.linalg.det(matrix) > 0:
        return matrix
    left, _, right = np.linalg.svd(matrix)
    flip = np.diag([1.0, 1.0, math.copysign(1.0, np.linalg.det(left @ right))])
    return np.asarray(left @ flip @ right)


def rotation_error(matrix: Any) -> float:
    """Return the largest difference of a written rotation's elements from those of the nearest rotation."""
    matrix = np.array(matrix, dtype=np.float64)
    return float(np.abs(matrix - nearest_rotation(matrix)).max())


def rt_from_pose(pose: Array) -> tuple[list[list[float]], list[float]]:
    """Return ``R`` and ``T`` of a pose as written; rotations with fifteen decimals, so that a sine of pi is 0."""
    return (np.round(pose[:3, :3], 15) + 0.0).tolist(), to_nested_lists(pose[:3, 3])


def to_nested_lists(values: Array) -> Any:
    """Return numbers as nested lists, without negative zeros."""
    return (np.asarray(values, dtype=np.float64) + 0.0).tolist()


def same_pose(one: Array, other: Array) -> bool:
    """Return whether two poses are equal up to rounding."""
    return bitwise_equal(one, other) or bool(
        np.abs(one - other).max() <= POSE_ROUNDING * (1.0 + np.abs(one[:3, 3]).max())
    )


def read_axis(written: Any) -> Array | None:
    """Return the unit vector of ``"x"``, ``"-z"`` or ``[x, y, z]``; None for the zero vector."""
    if isinstance(written, str):
        vector = np.array([float(written[-1] == letter) for letter in "xyz"])
        return -vector if written.startswith("-") else vector
    vector = np.array(written, dtype=np.float64)
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-12 else None


def displacement_pose(written: Any) -> Array:
    """Return the pose (4, 4) of a displacement ``{"R", "T"}``; the identity for a number or None."""
    return pose_from_rt(written.get("R"), written.get("T")) if isinstance(written, dict) else identity()


def ball_displacement(written: Any) -> Array:
    """Return the rotation vector (3,) of a displacement."""
    return rotation_vector(displacement_pose(written)[:3, :3])


def free_displacement(written: Any) -> Array:
    """Return rotation vector and translation (6,) of a displacement."""
    pose = displacement_pose(written)
    return np.concatenate([rotation_vector(pose[:3, :3]), pose[:3, 3]])


def free_velocity(written: Any) -> Array:
    """Return angular and linear velocity (6,) of six numbers; zero for anything else.

    The file has the linear ones first, as the screws of its author's mathematics library do.
    """
    if isinstance(written, list) and len(written) == 6:
        return np.array([*written[3:], *written[:3]], dtype=np.float64)
    return np.zeros(6)


def format_displacement(pose: Array) -> dict[str, Any]:
    """Return a pose as a displacement."""
    turn, shift = rt_from_pose(pose)
    return {"R": turn, "T": shift}


def pose_from_coordinates(start: Array) -> Array:
    """Return the pose (4, 4) of a rotation vector and, if there are six numbers, a translation."""
    pose = identity()
    pose[:3, :3] = rotation_matrix(np.asarray(start[:3], dtype=np.float64))
    if len(start) == 6:
        pose[:3, 3] = start[3:]
    return pose


def spring_from_terms(terms: list[float]) -> tuple[float, float]:
    """Return stiffness and rest position of the force ``-(c0 + c1 q)``; rest 0 without c1."""
    stiffness = float(terms[1]) if len(terms) > 1 else 0.0
    return stiffness, (-float(terms[0]) / stiffness + 0.0 if stiffness else 0.0)


def damping_from_terms(terms: list[float]) -> float:
    """Return the damping of the force ``-(c0 + c1 v)``."""
    return float(terms[1]) if len(terms) > 1 else 0.0
