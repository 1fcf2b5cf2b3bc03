"""Conversion between the joint values of balls and free joints and their bones' location and quaternion. Only numpy.

Joint values are a rotation vector (rad), of a free joint followed by a translation, in the joint's axes; a bone's
channels are in the bone's axes. ``turn`` (3, 3) maps from the bone's axes to the joint's. ``is_reversed``: the joint
points towards the root, and its bone has the inverse of its motion.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.model import Array
from ...core.transforms import rotation_matrix, rotation_vector

#: Largest rotation (rad) between two keyframes of a quaternion: Blender interpolates its four numbers, which deviates
#: from linear interpolation of rotation vectors by the square of this (measured: 2e-5 rad).
MAX_ROTATION_STEP = 0.05

#: Shortest distance (frames) between such keyframes: Blender would merge nearer ones.
_MIN_FRAME_STEP = 0.02

#: Smallest rotation (rad) whose axis Blender's 32-bit matrices determine.
_ZERO_ROTATION = 2e-5


def block_bone_channels(values: Array, turn: Array, is_reversed: bool) -> tuple[Array, Array]:
    """Return locations (n, 3) and quaternions (n, 4; w first) of the bone for joint values (n, 3) or (n, 6).

    Quaternions follow rotation vectors without jumps, also beyond half a turn.
    """
    vectors, moved = values[:, :3], np.zeros((len(values), 3))
    if values.shape[1] > 3:
        moved = values[:, 3:]
        if is_reversed:
            moved = -np.einsum("nji,nj->ni", rotation_matrix(vectors), moved)
        moved = moved @ turn
    vectors = (-vectors if is_reversed else vectors) @ turn
    half = 0.5 * np.sqrt((vectors * vectors).sum(axis=1))
    some = np.where(half > 0.0, half, 1.0)
    quaternions = np.empty((len(values), 4))
    quaternions[:, 0] = np.cos(half)
    quaternions[:, 1:] = vectors * np.where(half > 0.0, 0.5 * np.sin(some) / some, 0.5)[:, None]
    return moved, quaternions


def block_coordinates(local: Array, turn: Array, is_reversed: bool, free: bool) -> Array:
    """Return joint values (n, 3) or (n, 6) of bones' own motions.

    Args:
        local: Motions (n, 4, 4) relative to the bones' rest poses.
        turn: Rotations (n, 3, 3) from the bones' axes to the joints', or one (3, 3) for all.
        is_reversed: Whether the joint points towards the root.
        free: Whether it is a free joint.

    Returns:
        Rotation vectors of half a turn at most, of a free joint followed by translations.
    """
    vectors = _rotate_vectors(turn, rotation_vector(local[:, :3, :3])) * (-1.0 if is_reversed else 1.0)
    return _append_translations(vectors, _rotate_vectors(turn, local[:, :3, 3]), is_reversed) if free else vectors


def coordinates_from_keys(
    places: Array | None, quaternions: Array, turn: Array, is_reversed: bool, free: bool
) -> Array:
    """Return joint values (n, 3) or (n, 6) of a bone's keyframes.

    Args:
        places: Locations (n, 3); None unless ``free``.
        quaternions: Rotations (n, 4; w first).
        turn: Rotation (3, 3) from the bone's axes to the joint's.
        is_reversed: Whether the joint points towards the root.
        free: Whether it is a free joint.

    Returns:
        Rotation vectors, of a free joint followed by translations. The first is as written, up to a whole turn; the
        others follow without jumps.
    """
    vectors = unwrap_rotation_vectors(rotation_vectors_as_written(quaternions, turn, is_reversed))
    return (
        _append_translations(vectors, _rotate_vectors(turn, places), is_reversed)
        if free and places is not None
        else vectors
    )


def _append_translations(vectors: Array, moved: Array, is_reversed: bool) -> Array:
    """Return joint values (n, 6) of rotation vectors (n, 3) and translations (n, 3), both in the joint's axes."""
    if is_reversed:
        moved = -np.einsum("nij,nj->ni", rotation_matrix(vectors), moved)
    return np.concatenate([vectors, moved], axis=1)


def rotation_vectors_as_written(quaternions: Array, turn: Array, is_reversed: bool | NDArray[np.bool_]) -> Array:
    """Return rotation vectors in the axes of joints of quaternions as written: up to a whole turn.

    Args:
        quaternions: Rotations (..., n, 4; w first).
        turn: Rotation (3, 3) from the bone's axes to the joint's, or those (n, 3, 3) of several.
        is_reversed: Whether the joint points towards the root, or whether each (n,) does.

    Returns:
        Rotation vectors (..., n, 3).
    """
    length = np.linalg.norm(quaternions[..., 1:], axis=-1)
    angle = 2.0 * np.arctan2(length, quaternions[..., 0])
    vectors = quaternions[..., 1:] * (angle / np.where(length > 0.0, length, 1.0))[..., None]
    return _rotate_vectors(turn, vectors) * np.where(is_reversed, -1.0, 1.0)[..., None]


def _rotate_vectors(turn: Array, vectors: Array) -> Array:
    return np.einsum("...ij,...j->...i", turn, vectors)


def nearest_rotation_vectors(vectors: Array, others: Array) -> Array:
    """Return those equivalents of rotation vectors (n, 3) that are nearest to ``others`` (n, 3)."""
    length = np.linalg.norm(vectors, axis=1)
    far = np.linalg.norm(others, axis=1)
    axis = vectors / np.where(length > 0.0, length, 1.0)[:, None]
    along = np.einsum("ni,ni->n", axis, others)
    usual = axis * (length + _full_revolutions(along - length))[:, None]
    whole = others * (_full_revolutions(far) / np.where(far > 0.0, far, 1.0))[:, None]
    none = np.where((_full_revolutions(far) > 0.0)[:, None], whole, vectors)
    return np.where((length < _ZERO_ROTATION)[:, None], none, usual)


def unwrap_rotation_vectors(vectors: Array) -> Array:
    """Return equivalents of successive rotation vectors (n, 3) without jumps by whole turns.

    The first stays; each of the others is the nearest to the one before. A rotation by whole turns has no axis: it gets
    that of the one before, or of the one after where there is none before.
    """
    length = np.linalg.norm(vectors, axis=1)
    if len(vectors) < 2 or length.max() <= 0.5 * np.pi:
        return vectors.copy()
    axis = vectors / np.where(length > 0.0, length, 1.0)[:, None]
    whole = _full_revolutions(length)
    none = np.abs(length - whole) < _ZERO_ROTATION
    rest = np.where(none[:, None], axis * (length - whole)[:, None], vectors)
    sources = np.maximum.accumulate(np.where(none, int(np.argmin(none)), np.arange(len(vectors))))
    axis = axis[sources]
    shares = np.where(none, 0.0, length) / (2.0 * np.pi)
    along = np.einsum("ni,ni->n", axis[1:], axis[:-1])
    # each count of turns depends on the previous one, so this is a loop over plain numbers
    counts = [int(np.round(whole[0] / (2.0 * np.pi))) if none[0] else 0]
    for near, before, share in zip(along.tolist(), shares[:-1].tolist(), shares[1:].tolist(), strict=True):
        counts.append(round(near * (before + counts[-1]) - share))
    return rest + axis * (2.0 * np.pi * np.array(counts))[:, None]


def _full_revolutions(angle: Array) -> Array:
    return 2.0 * np.pi * np.round(angle / (2.0 * np.pi))


def subdivide_rotations(
    frames: Array, values: Array, held: NDArray[np.bool_] | None = None
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Insert keyframes where a rotation vector moves by more than ``MAX_ROTATION_STEP``.

    Args:
        frames: Times (n,) of the keyframes.
        values: Joint values (n, size).
        held: Mask (n,) of values that stay constant until the next keyframe; none are inserted there.

    Returns:
        Times (m,), values (m, size) and the mask (m,) of the keyframes that were given.
    """
    gone = np.linalg.norm(np.diff(values[:, :3], axis=0), axis=1)
    room = np.floor(np.diff(frames) / _MIN_FRAME_STEP)
    counts = np.maximum(np.minimum(np.ceil(gone / MAX_ROTATION_STEP), room), 1.0).astype(int)
    if held is not None:
        counts[held[:-1]] = 1
    at, shares = subdivision_positions(counts)
    keys = np.arange(len(frames))
    columns = [np.interp(at, keys, column) for column in values.T]
    return np.interp(at, keys, frames), np.stack(columns, axis=1), shares == 0.0


def subdivision_positions(counts: NDArray[np.intp]) -> tuple[Array, Array]:
    """Subdivide the intervals between keyframes.

    Args:
        counts: Count of equal parts (n - 1,) of each interval.

    Returns:
        Fractional keyframe indices (m,), and the share (m,) of its interval before each.
    """
    first = np.repeat(np.cumsum(counts) - counts, counts)
    shares = np.append((np.arange(counts.sum()) - first) / np.repeat(counts, counts), 0.0)
    return np.append(np.repeat(np.arange(len(counts)), counts), len(counts)) + shares, shares
