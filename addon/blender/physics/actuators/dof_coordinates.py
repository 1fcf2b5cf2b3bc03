"""Joint values of joints with several degrees of freedom in closed form, for those that are measured every frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ....core.model import Array, Dof

#: Axes that deviate from a right angle by this cosine have no closed form here.
_ORTHOGONAL_TOLERANCE = 1e-7


def closed_form_coordinates(dofs: Sequence[Dof]) -> Callable[[Array], Array] | None:
    """Return a function from a joint's motion (4, 4) to its joint values (size,); None without a closed form.

    There is one for perpendicular rotations, and translations that no rotation before them turns. The middle angle of
    three rotations is within a quarter turn.
    """
    if not dofs or not {dof.kind for dof in dofs} <= {"rotation", "translation"}:
        return None
    axes = np.array([np.asarray(dof.axis, dtype=np.float64) / np.linalg.norm(dof.axis) for dof in dofs])
    turns = [k for k, dof in enumerate(dofs) if dof.kind == "rotation"]
    slides = [k for k, dof in enumerate(dofs) if dof.kind == "translation"]
    if any(
        turn < slide and abs(axes[turn] @ axes[slide]) < 1.0 - _ORTHOGONAL_TOLERANCE
        for turn in turns
        for slide in slides
    ):
        return None
    lines = axes[turns]
    if len(turns) > 3 or any(
        abs(a @ b) > _ORTHOGONAL_TOLERANCE for number, a in enumerate(lines) for b in lines[number + 1 :]
    ):
        return None
    basis, sense = _rotation_basis(lines)
    along = np.linalg.pinv(axes[slides].T) if slides else np.zeros((0, 3))

    def read(motion: Array) -> Array:
        out = np.empty(len(dofs))
        out[slides] = along @ motion[:3, 3]
        out[turns] = _euler_angles(basis.T @ motion[:3, :3] @ basis, len(turns), sense)
        return out

    return read


def _rotation_basis(lines: Array) -> tuple[Array, float]:
    """Return axes (3, 3) as columns in which the rotations are about X, Y and Z, and the sign of the one about Z."""
    if not len(lines):
        return np.eye(3), 1.0
    first = lines[0]
    helper = lines[1] if len(lines) > 1 else np.eye(3)[int(np.argmin(np.abs(first)))]
    second = helper - (helper @ first) * first
    second /= np.linalg.norm(second)
    third = np.cross(first, second)
    return np.stack([first, second, third], axis=1), math.copysign(1.0, third @ lines[2]) if len(lines) > 2 else 1.0


def _euler_angles(turn: Array, count: int, sense: float) -> list[float]:
    """Return the first ``count`` angles (rad) of a rotation (3, 3) about X, then Y, then Z."""
    if count < 2:
        return [math.atan2(turn[2, 1] - turn[1, 2], turn[1, 1] + turn[2, 2])][:count]
    if count == 2:
        return [math.atan2(turn[2, 1], turn[1, 1]), math.atan2(turn[0, 2], turn[0, 0])]
    middle = math.asin(min(max(turn[0, 2], -1.0), 1.0))
    return [math.atan2(-turn[1, 2], turn[2, 2]), middle, sense * math.atan2(-turn[0, 1], turn[0, 0])]
