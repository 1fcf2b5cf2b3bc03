"""Balls and free blocks: between their coordinates and the location and quaternion of the bone that poses them.

Coordinates are a rotation vector, of a free block followed by a translation, in the joint's axes; a bone's channels
count in the bone's. ``turn`` (3, 3) leads from the bone's axes to the joint's. A bone whose joint points against the
tree carries the inverse of its motion. Only numpy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.model import Array
from ...core.transforms import rotation_matrix, rotation_vector

#: The longest turn (rad) between two keys of a quaternion: Blender interpolates its four numbers, which strays from the
#: straight line between rotation vectors by the square of this (measured: 2e-5 rad).
LONGEST_TURN = 0.05

#: The shortest distance (frames) between such keys: nearer ones Blender would make one of.
_SHORTEST_STEP = 0.02

#: A rotation by less (rad) has no axis that could be told from Blender's 32-bit matrices.
_NO_TURN = 2e-5


def block_pose(values: Array, turn: Array, against: bool) -> tuple[Array, Array]:
    """Locations (n, 3) and quaternions (n, 4; w first) of the bone for coordinates (n, 3) or (n, 6).

    Quaternions follow rotation vectors without a jump, past half a turn and more."""
    vectors, moved = values[:, :3], np.zeros((len(values), 3))
    if values.shape[1] > 3:
        moved = values[:, 3:]
        if against:
            moved = -np.einsum("nji,nj->ni", rotation_matrix(vectors), moved)
        moved = moved @ turn
    vectors = (-vectors if against else vectors) @ turn
    half = 0.5 * np.sqrt((vectors * vectors).sum(axis=1))
    some = np.where(half > 0.0, half, 1.0)
    quaternions = np.empty((len(values), 4))
    quaternions[:, 0] = np.cos(half)
    quaternions[:, 1:] = vectors * np.where(half > 0.0, 0.5 * np.sin(some) / some, 0.5)[:, None]
    return moved, quaternions


def block_coordinates(local: Array, turn: Array, against: bool, free: bool) -> Array:
    """Coordinates (n, 3) or (n, 6) of bones' own motions (n, 4, 4), each with its ``turn`` (n, 3, 3) or all with one;
    rotation vectors of half a turn at most."""
    vectors = _through(turn, rotation_vector(local[:, :3, :3])) * (-1.0 if against else 1.0)
    return _with_places(vectors, _through(turn, local[:, :3, 3]), against) if free else vectors


def coordinates_of(places: Array | None, quaternions: Array, turn: Array, against: bool, free: bool) -> Array:
    """Coordinates (n, 3) or (n, 6) of the keys of a bone, its locations (n, 3; None unless ``free``) and quaternions
    (n, 4; w first), with one ``turn`` (3, 3). The first rotation vector is as it is written, up to a whole turn; those
    after it follow without jumps, see ``unbroken``."""
    vectors = unbroken(told_vectors(quaternions, turn, against))
    return _with_places(vectors, _through(turn, places), against) if free and places is not None else vectors


def _with_places(vectors: Array, moved: Array, against: bool) -> Array:
    """Coordinates (n, 6) of rotation vectors and translations (n, 3), both in the joint's axes."""
    if against:
        moved = -np.einsum("nij,nj->ni", rotation_matrix(vectors), moved)
    return np.concatenate([vectors, moved], axis=1)


def told_vectors(quaternions: Array, turn: Array, against: bool) -> Array:
    """The rotation vectors (n, 3) in the joint's axes of quaternions (n, 4; w first) as they are written: up to a whole
    turn."""
    length = np.linalg.norm(quaternions[:, 1:], axis=1)
    angle = 2.0 * np.arctan2(length, quaternions[:, 0])
    vectors = quaternions[:, 1:] * (angle / np.where(length > 0.0, length, 1.0))[:, None]
    return _through(turn, vectors) * (-1.0 if against else 1.0)


def _through(turn: Array, vectors: Array) -> Array:
    return np.einsum("...ij,...j->...i", turn, vectors)


def nearest_vectors(vectors: Array, others: Array) -> Array:
    """Of the rotation vectors (n, 3) that mean the same rotations as ``vectors``, the nearest to ``others``."""
    length = np.linalg.norm(vectors, axis=1)
    far = np.linalg.norm(others, axis=1)
    axis = vectors / np.where(length > 0.0, length, 1.0)[:, None]
    along = np.einsum("ni,ni->n", axis, others)
    usual = axis * (length + _whole_turns(along - length))[:, None]
    whole = others * (_whole_turns(far) / np.where(far > 0.0, far, 1.0))[:, None]
    none = np.where((_whole_turns(far) > 0.0)[:, None], whole, vectors)
    return np.where((length < _NO_TURN)[:, None], none, usual)


def unbroken(vectors: Array) -> Array:
    """Rotation vectors (n, 3) that mean the same rotations one after the other without leaps of whole turns: the first
    as it is, each of the others the nearest to the one before. Where only whole turns are left, no rotation tells their
    axis: it is that of the one before, and of the one after where there is none before."""
    length = np.linalg.norm(vectors, axis=1)
    if len(vectors) < 2 or length.max() <= 0.5 * np.pi:
        return vectors.copy()
    axis = vectors / np.where(length > 0.0, length, 1.0)[:, None]
    whole = _whole_turns(length)
    none = np.abs(length - whole) < _NO_TURN
    rest = np.where(none[:, None], axis * (length - whole)[:, None], vectors)
    told = np.maximum.accumulate(np.where(none, int(np.argmin(none)), np.arange(len(vectors))))
    axis = axis[told]
    shares = np.where(none, 0.0, length) / (2.0 * np.pi)
    along = np.einsum("ni,ni->n", axis[1:], axis[:-1])
    # each count of turns follows from the one before, so they are counted in turn, as plain numbers
    counts = [int(np.round(whole[0] / (2.0 * np.pi))) if none[0] else 0]
    for near, before, share in zip(along.tolist(), shares[:-1].tolist(), shares[1:].tolist(), strict=True):
        counts.append(round(near * (before + counts[-1]) - share))
    return rest + axis * (2.0 * np.pi * np.array(counts))[:, None]


def _whole_turns(angle: Array) -> Array:
    return 2.0 * np.pi * np.round(angle / (2.0 * np.pi))


def in_short_turns(
    frames: Array, values: Array, held: NDArray[np.bool_] | None = None
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Keys (n,) and (n, size) with more of them put in where a rotation vector goes further than the longest turn, and
    which of them (m,) were given. Values that are ``held`` (n,) until the next key go nowhere."""
    gone = np.linalg.norm(np.diff(values[:, :3], axis=0), axis=1)
    room = np.floor(np.diff(frames) / _SHORTEST_STEP)
    counts = np.maximum(np.minimum(np.ceil(gone / LONGEST_TURN), room), 1.0).astype(int)
    if held is not None:
        counts[held[:-1]] = 1
    at, shares = parted(counts)
    keys = np.arange(len(frames))
    columns = [np.interp(at, keys, column) for column in values.T]
    return np.interp(at, keys, frames), np.stack(columns, axis=1), shares == 0.0


def parted(counts: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return where keys are, counted in keys (m,), when the way from each to the next is made of so many equal parts (n
    - 1,), and what share of that way lies before them (m,)."""
    first = np.repeat(np.cumsum(counts) - counts, counts)
    shares = np.append((np.arange(counts.sum()) - first) / np.repeat(counts, counts), 0.0)
    return np.append(np.repeat(np.arange(len(counts)), counts), len(counts)) + shares, shares
