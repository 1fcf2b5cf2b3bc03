"""Conventions of Juice: yaw, pitch and roll in degrees, and the joint axes that it passes to ODE.

A pose is ``Rz(yaw) @ Rx(pitch) @ Ry(roll)`` at a position. A joint is drawn along that frame's z; this design axis is
authoritative. The program passes another vector to ODE, whose sign decides which way a joint value counts.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ...core.model import Array, identity
from ...core.transforms import bitwise_equal, nearest_euler_angles

Angles = tuple[float, float, float]  # yaw, pitch, roll in degrees

POSE_ROUNDING = 1e-12
ANGLE_TOLERANCE = 1e-9  # degrees
LINE_TOLERANCE = 1e-6


def rotations_from_angles(angles: Array) -> Array:
    """Return rotation matrices (n, 3, 3) of yaw, pitch and roll (n, 3) in degrees."""
    (cy, cp, cr), (sy, sp, sr) = _cos(angles).T, _sin(angles).T
    result = np.empty((len(angles), 3, 3))
    result[:, 0] = np.stack([cy * cr - sy * sp * sr, -sy * cp, cy * sr + sy * sp * cr], axis=1)
    result[:, 1] = np.stack([sy * cr + cy * sp * sr, cy * cp, sy * sr - cy * sp * cr], axis=1)
    result[:, 2] = np.stack([-cp * sr, sp, cp * cr], axis=1)
    return result


def poses_from_angles(positions: Array, angles: Array) -> Array:
    """Return poses (n, 4, 4) of positions (n, 3) and angles (n, 3) in degrees."""
    result = np.tile(identity(), (len(positions), 1, 1))
    result[:, :3, :3] = rotations_from_angles(angles)
    result[:, :3, 3] = positions
    return result


def inverse_poses(transforms: Array) -> Array:
    """Return the inverses of rigid transforms (n, 4, 4)."""
    result = np.tile(identity(), (len(transforms), 1, 1))
    turned = np.swapaxes(transforms[:, :3, :3], 1, 2)
    result[:, :3, :3] = turned
    result[:, :3, 3] = -np.einsum("nij,nj->ni", turned, transforms[:, :3, 3])
    return result


def joint_signs(angles: Array, kind: Literal["revolute", "prismatic"]) -> tuple[Array, Array]:
    """Return the signs of joint values in the file, and whether ODE's axis is parallel to the design axis.

    Args:
        angles: (n, 3) yaw, pitch and roll in degrees.
        kind: the type of all of the joints.

    Returns:
        The factors (n,) from our joint value (motion of the second body about or along the design axis) to the file's,
        and the booleans (n,).
    """
    yaw, pitch, roll = angles.T
    # ODE counts the first body's motion along the given axis, so the second body moves in the opposite direction.
    second_moves = -_axes(yaw, pitch, -roll) if kind == "revolute" else _axes(-yaw, pitch, roll)
    along = np.einsum("ni,ni->n", second_moves, _axes(yaw, pitch, roll))
    return np.where(along > LINE_TOLERANCE, 1.0, -1.0), np.abs(np.abs(along) - 1.0) < LINE_TOLERANCE


def angles_from_rotation(rotation: Array, near: Angles = (0.0, 0.0, 0.0)) -> Angles:
    """Return yaw, pitch and roll in degrees of a rotation matrix, of all solutions the one nearest to ``near``.

    Angles within ``ANGLE_TOLERANCE`` of ``near``'s are exactly those.
    """
    flat = math.hypot(rotation[2, 0], rotation[2, 2])
    upright = flat < 1e-12  # gimbal lock: yaw and roll rotate about one line, so roll is kept
    roll = math.radians(near[2]) if upright else math.atan2(-rotation[2, 0], rotation[2, 2])
    # with the roll removed, yaw and pitch remain: all three are exact also where the roll is ill-conditioned
    sine, cosine = math.sin(roll), math.cos(roll)
    yaw = math.atan2(rotation[1, 0] * cosine + rotation[1, 2] * sine, rotation[0, 0] * cosine + rotation[0, 2] * sine)
    pitch = math.atan2(rotation[2, 1], rotation[2, 2] * cosine - rotation[2, 0] * sine)
    best = nearest_euler_angles((yaw, pitch, roll), near, upright)
    yaw, pitch, roll = (b if abs(a - b) < ANGLE_TOLERANCE else a for a, b in zip(best, near, strict=True))
    return yaw, pitch, roll


def hinge_angles(axis: Array) -> Angles:
    """Return angles of a hinge, without roll, whose z is an axis that Juice passes to ODE as the same line."""
    flat = math.hypot(axis[0], axis[1])
    yaw = math.atan2(axis[0], -axis[1]) if flat > POSE_ROUNDING else 0.0
    return _round_degrees(math.degrees(yaw)), _round_degrees(math.degrees(math.atan2(flat, axis[2]))), 0.0


def slider_angles(axis: Array) -> Angles:
    """Return angles of a slider, without yaw, whose z is an axis that Juice passes to ODE as the same line."""
    pitch = math.atan2(-axis[1], axis[2]) if math.hypot(axis[1], axis[2]) > POSE_ROUNDING else 0.0
    return (
        0.0,
        _round_degrees(math.degrees(pitch)),
        _round_degrees(math.degrees(math.atan2(axis[0], math.hypot(axis[1], axis[2])))),
    )


def same_pose(a: Array, b: Array) -> bool:
    """Return whether two poses are equal up to rounding."""
    return bitwise_equal(a, b) or bool((np.abs(a - b) <= POSE_ROUNDING * (1.0 + np.abs(b))).all())


def _axes(yaw: Array, pitch: Array, roll: Array) -> Array:
    """Return the z axes (n, 3) of ``rotations_from_angles``."""
    (cy, cp, cr), (sy, sp, sr) = map(_cos, (yaw, pitch, roll)), map(_sin, (yaw, pitch, roll))
    return np.array([cy * sr + sy * sp * cr, sy * sr - cy * sp * cr, cp * cr]).T


def _cos(degrees: Array) -> Array:
    return np.cos(np.radians(degrees))


def _sin(degrees: Array) -> Array:
    return np.sin(np.radians(degrees))


def _round_degrees(degrees: float) -> float:
    return round(degrees, 10)
