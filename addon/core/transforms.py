"""Rotations and rigid poses as matrices and rotation vectors: conversions, inverses and rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .model import Array

#: The identity pose, read-only.
IDENTITY_POSE = np.eye(4)
IDENTITY_POSE.flags.writeable = False

#: Squared length of an axis up to which it counts as scaled to zero.
_ZERO_LENGTH_SQUARED = 1e-20


_Angle = TypeVar("_Angle", float, Array)


def wrap_angle(angle: _Angle) -> _Angle:
    """Wrap an angle, or each of an array of angles, to [-pi, pi) (rad)."""
    return (angle + math.pi) % math.tau - math.pi


def nearest_angle(angle: float, near: float, revolution: float = math.tau) -> float:
    """Return the angle plus the full revolutions that bring it nearest to another one; in rad, or by the revolution."""
    return angle + revolution * round((near - angle) / revolution)


def nearest_euler_angles(angles: Sequence[float], near: Sequence[float], is_locked: bool) -> tuple[float, float, float]:
    """Return Euler angles in degrees, of all sets that mean the same rotation the one nearest to another set.

    Args:
        angles: Euler angles (3,) about three perpendicular axes, in rad.
        near: The other set (3,), in degrees.
        is_locked: Whether the rotation is in gimbal lock, where only full revolutions are added.
    """
    first, middle, last = angles
    choices = [(first, middle, last), (first + math.pi, math.pi - middle, last + math.pi)][: 1 if is_locked else 2]
    sets = [[nearest_angle(math.degrees(a), b, 360.0) for a, b in zip(choice, near, strict=True)] for choice in choices]
    first, middle, last = min(sets, key=lambda each: math.dist(each, near))
    return first, middle, last


def make_pose(rotation: ArrayLike | None = None, position: ArrayLike | None = None) -> Array:
    """Return the pose (4, 4) of a rotation (3, 3) and a position (3,); None: the identity, the origin."""
    out = np.eye(4)
    if rotation is not None:
        out[:3, :3] = rotation
    if position is not None:
        out[:3, 3] = position
    return out


def rotation_and_scale(poses: Array) -> tuple[Array, Array]:
    """Split affine poses (n, 4, 4) without shear into rotations (n, 3, 3) and scales (n, 3)."""
    scale = np.linalg.norm(poses[:, :3, :3], axis=1)
    return poses[:, :3, :3] / np.where(scale > 0.0, scale, 1.0)[:, None, :], scale


def bitwise_equal(a: Array, b: Array) -> bool:
    """Return whether two arrays are equal to the last bit.

    It is far quicker than comparing number by number, and enough to skip what nobody changed.
    """
    return a is b or (a.shape == b.shape and a.tobytes() == b.tobytes())


def inverse(pose: Array) -> Array:
    """Invert rigid poses (..., 4, 4)."""
    if pose.ndim == 2:
        return _inverse_single(pose)
    out = np.zeros(pose.shape)
    turn = pose[..., :3, :3].swapaxes(-1, -2)
    out[..., :3, :3] = turn
    out[..., :3, 3] = -np.einsum("...ij,...j->...i", turn, pose[..., :3, 3])
    out[..., 3, 3] = 1.0
    return out


def _inverse_single(pose: Array) -> Array:
    """Invert a single pose (4, 4), in a third of the time: file readers invert many, one by one."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), _ = pose.tolist()
    return np.array(
        [
            [a, d, g, -(a * x + d * y + g * z)],
            [b, e, h, -(b * x + e * y + h * z)],
            [c, f, i, -(c * x + f * y + i * z)],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def affine_inverse(poses: Array) -> Array:
    """Invert affine poses (..., 4, 4), which may be scaled and sheared; non-finite values where one is singular.

    numpy's ``inv`` takes ten times as long for many small matrices, since its library uses threads for each of them;
    where the cores are busy the threads wait for each other, and a thousand matrices take a second.
    """
    x, y, z, origin = (poses[..., :3, column] for column in range(4))
    rows = np.stack([np.cross(y, z), np.cross(z, x), np.cross(x, y)], axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows /= np.einsum("...i,...i", x, rows[..., 0, :])[..., None, None]
    out = np.zeros(poses.shape)
    out[..., :3, :3], out[..., 3, 3] = rows, 1.0
    out[..., :3, 3] = -np.einsum("...ij,...j", rows, origin)
    return out


def rotation_with_z(axis: Array) -> Array:
    """Return a rotation matrix (3, 3) whose Z column is ``axis`` (normalized); the identity for +Z."""
    z = np.asarray(axis, dtype=np.float64)
    z = z / np.linalg.norm(z)
    if z[2] > 0.0 and abs(z[0]) + abs(z[1]) < 1e-12:
        return np.eye(3)
    z0, z1, z2 = z.tolist()  # plain numbers: numpy's cross product of two vectors takes ten times as long
    least = min((abs(z0), 0), (abs(z1), 1), (abs(z2), 2))[1]
    x0, x1, x2 = ((0.0, -z2, z1), (z2, 0.0, -z0), (-z1, z0, 0.0))[least]
    long = math.sqrt(x0 * x0 + x1 * x1 + x2 * x2)
    x0, x1, x2 = x0 / long, x1 / long, x2 / long
    return np.array([[x0, z1 * x2 - z2 * x1, z0], [x1, z2 * x0 - z0 * x2, z1], [x2, z0 * x1 - z1 * x0, z2]])


def orthonormalized(matrix: Array) -> Array:
    """Return the nearest orthogonal matrix (3, 3) to one that is orthogonal but for rounding.

    It is one step of the Newton-Schulz iteration for the polar decomposition.
    """
    out: Array = matrix @ (1.5 * np.eye(3) - 0.5 * matrix.T @ matrix)
    return out


#: Deviation from an orthogonal matrix up to which a rotation counts as exact, and beyond which as none.
_EXACT_ROTATION, _INEXACT_ROTATION = 1e-12, 1e-4


def without_rotation_rounding(poses: Array) -> Array:
    """Return poses (n, 4, 4) with exact rotations, where those are rotations but for rounding to 32 bits.

    All others are returned as they are: exact ones to the last bit.
    """
    turns = poses[:, :3, :3]
    with np.errstate(over="ignore", invalid="ignore"):  # they may be infinite
        off = np.abs(np.swapaxes(turns, 1, 2) @ turns - np.eye(3)).max(axis=(1, 2))
    out = poses.copy()
    for number in np.flatnonzero((off > _EXACT_ROTATION) & (off < _INEXACT_ROTATION)):
        # the second time removes what the rounding of the first leaves
        out[number, :3, :3] = orthonormalized(orthonormalized(turns[number]))
    return out


#: Angle (rad) beyond which whole turns are subtracted first.
_MAX_PLAIN_ANGLE = 1e12


def rotation_matrix(vector: Array) -> Array:
    """Convert rotation vectors (..., 3) in radians to rotation matrices (..., 3, 3) (Rodrigues' formula)."""
    vector = np.asarray(vector, dtype=np.float64)
    if vector.size == 3:
        return _rotation_matrix_single(*vector.ravel().tolist()).reshape(*vector.shape, 3)
    angle = np.linalg.norm(vector, axis=-1)[..., None, None]
    cross = np.zeros((*vector.shape[:-1], 3, 3))
    cross[..., 0, 1], cross[..., 0, 2], cross[..., 1, 2] = -vector[..., 2], vector[..., 1], -vector[..., 0]
    cross -= np.swapaxes(cross, -1, -2).copy()
    half = np.sinc(angle / (2.0 * np.pi))  # sin(a/2) / (a/2), well defined at zero
    return np.eye(3) + np.sinc(angle / np.pi) * cross + 0.5 * half**2 * (cross @ cross)


def _rotation_matrix_single(x: float, y: float, z: float) -> Array:
    """Convert a single rotation vector to a matrix (3, 3), in a tenth of the time."""
    angle = math.sqrt(x * x + y * y + z * z)
    if angle > _MAX_PLAIN_ANGLE:  # so that squares of the remainder do not overflow
        angle = math.hypot(x, y, z)
        less = math.fmod(angle, math.tau) / angle if math.isfinite(angle) else 0.0
        x, y, z = x * less, y * less, z * less
        angle = math.sqrt(x * x + y * y + z * z)
    sine = math.sin(angle) / angle if angle else 1.0
    rest = 0.5 * (math.sin(0.5 * angle) / (0.5 * angle)) ** 2 if angle else 0.5
    xx, yy, zz, xy, xz, yz = (rest * part for part in (x * x, y * y, z * z, x * y, x * z, y * z))
    x, y, z = sine * x, sine * y, sine * z
    return np.array([[1.0 - yy - zz, xy - z, xz + y], [xy + z, 1.0 - xx - zz, yz - x], [xz - y, yz + x, 1.0 - xx - yy]])


def _rotation_vector_single(matrix: Array) -> Array:
    """Convert a single rotation matrix (3, 3) to a rotation vector (3,); like ``rotation_vector`` for one matrix."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = matrix.tolist()
    sines = zy - yz, xz - zx, yx - xy
    length, trace = math.hypot(*sines), xx + yy + zz
    angle = math.atan2(length, trace - 1.0)
    if trace >= 0.0 or math.isnan(trace):
        return np.array(sines) * (0.5 if length < 1e-6 else angle / length)
    low, rest = 0.5 * (1.0 - trace), (0.5 * (xy + yx), 0.5 * (xz + zx), 0.5 * (yz + zy))
    columns = (xx + low, rest[0], rest[1]), (rest[0], yy + low, rest[2]), (rest[1], rest[2], zz + low)
    axis = max(enumerate(columns), key=lambda each: each[1][each[0]])[1]
    along = sum(a * b for a, b in zip(axis, sines, strict=True))
    return np.array(axis) * (math.copysign(angle, -1.0 if along < 0.0 else 1.0) / math.hypot(*axis))


def rotation_vector(matrix: Array) -> Array:
    """Convert rotation matrices (..., 3, 3) to rotation vectors (..., 3) of length in [0, pi]."""
    matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.size == 9:
        return _rotation_vector_single(matrix.reshape(3, 3)).reshape(matrix.shape[:-1])
    twice_sine = np.stack(
        [
            matrix[..., 2, 1] - matrix[..., 1, 2],
            matrix[..., 0, 2] - matrix[..., 2, 0],
            matrix[..., 1, 0] - matrix[..., 0, 1],
        ],
        axis=-1,
    )
    length = np.linalg.norm(twice_sine, axis=-1)
    trace = np.trace(matrix, axis1=-2, axis2=-1)
    angle = np.arctan2(length, trace - 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        usual = twice_sine * (angle / length)[..., None]
    # towards half a turn the sine part vanishes, and with 32-bit numbers leaves only noise: there the axis is the
    # largest column of the symmetric remainder of R, (1 - cos) a a'
    symmetric = 0.5 * (matrix + np.swapaxes(matrix, -1, -2)) + np.eye(3) * (1.0 - trace[..., None, None]) / 2.0
    column = np.argmax(np.diagonal(symmetric, axis1=-2, axis2=-1), axis=-1)
    axis = np.take_along_axis(symmetric, column[..., None, None], axis=-1)[..., 0]
    norm = np.linalg.norm(axis, axis=-1, keepdims=True)
    axis = axis / np.where(norm > 0, norm, 1.0)
    sign = np.where(np.einsum("...i,...i->...", axis, twice_sine) < 0, -1.0, 1.0)[..., None]
    small = np.where((length < 1e-6)[..., None], 0.5 * twice_sine, usual)
    return np.where((trace < 0)[..., None], axis * sign * angle[..., None], small)


def restore_zero_axes(poses: Array) -> Array:
    """Replace axes that are scaled to zero in poses (n, 4, 4), so that every axis has a length.

    Such an axis becomes that of a rotation with the remaining axes. Returns the array itself where none is scaled to
    zero; poses with non-finite numbers stay as they are.
    """
    squares: Array = (poses[:, :3, :3] ** 2).sum(axis=1)
    if squares.min(initial=1.0) > _ZERO_LENGTH_SQUARED:
        return poses
    flat = (squares <= _ZERO_LENGTH_SQUARED) & np.isfinite(squares).all(axis=1)[:, None]
    out = poses.copy()
    for number in np.flatnonzero(flat.any(axis=1)).tolist():
        lengths, pose = ~flat[number], out[number]
        turn, _sizes, other = np.linalg.svd(pose[:3, :3] * lengths)
        axes = (turn * [1.0, 1.0, np.linalg.det(turn) * np.linalg.det(other)]) @ other
        pose[:3, :3] = np.where(lengths, pose[:3, :3], axes)
    return out


def rotation_vector_jacobian(vectors: Array) -> Array:
    """Return the angular velocity Jacobian (..., 3, 3) of rotation vectors (..., 3): the left Jacobian of SO(3).

    Columns are angular velocities in the outer axes for unit rates of the vector's components.
    """
    angle = np.sqrt((vectors * vectors).sum(axis=-1))[..., None, None]
    some = np.where(angle < 1e-4, 1.0, angle)
    first = np.where(angle < 1e-4, 0.5, (1.0 - np.cos(some)) / some**2)
    second = np.where(angle < 1e-4, 1.0 / 6.0, (some - np.sin(some)) / some**3)
    cross = np.zeros((*vectors.shape, 3))
    following, last = [1, 2, 0], [2, 0, 1]  # the cross product matrix has v_k at (k - 1, k + 1)
    cross[..., last, following], cross[..., following, last] = vectors, -vectors
    return np.eye(3) + first * cross + second * (cross @ cross)
