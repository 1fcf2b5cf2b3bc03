"""Balls and free blocks: between their coordinates and the location and quaternion of the bone that poses them.

Coordinates are a rotation vector, of a free block followed by a translation, in the joint's axes; a bone's channels
count in the bone's. ``turn`` (3, 3) leads from the bone's axes to the joint's. A bone whose joint points against the
tree carries the inverse of its motion. Only numpy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model.kinematics import rotation_matrix, rotation_vector
from ..model.records import Array

#: The longest turn (rad) between two keys of a quaternion: Blender interpolates its four numbers, which strays from the
#: straight line between rotation vectors by the cube of this.
LONGEST_TURN = 0.1


def block_pose(values: Array, turn: Array, against: bool) -> tuple[Array, Array]:
    """Locations (n, 3) and quaternions (n, 4; w first) of the bone for coordinates (n, 3) or (n, 6).

    Quaternions follow rotation vectors without a jump, past half a turn and more."""
    vectors = values[:, :3]
    moved = values[:, 3:] if values.shape[1] > 3 else np.zeros((len(values), 3))
    if against:
        moved = -np.einsum("nji,nj->ni", rotation_matrix(vectors), moved)
        vectors = -vectors
    vectors, moved = vectors @ turn, moved @ turn
    angle = np.linalg.norm(vectors, axis=1)
    quaternions = np.empty((len(values), 4))
    quaternions[:, 0] = np.cos(angle / 2.0)
    quaternions[:, 1:] = vectors * (0.5 * np.sinc(angle / (2.0 * np.pi)))[:, None]
    return moved, quaternions


def block_coordinates(local: Array, turn: Array, against: bool, free: bool) -> Array:
    """Coordinates (n, 3) or (n, 6) of a bone's own motions (n, 4, 4); rotation vectors of half a turn at most."""
    vectors = rotation_vector(local[:, :3, :3]) @ turn.T
    if against:
        vectors = -vectors
    if not free:
        return vectors
    moved = local[:, :3, 3] @ turn.T
    if against:
        moved = -np.einsum("nij,nj->ni", rotation_matrix(vectors), moved)
    return np.concatenate([vectors, moved], axis=1)


def vector_of_quaternion(quaternion: Array) -> Array:
    """The rotation vector (3,) of a quaternion (4,; w first) on its own side: up to a whole turn, as it is written."""
    length = float(np.linalg.norm(quaternion[1:]))
    if length == 0.0:
        return np.zeros(3)
    return quaternion[1:] * (2.0 * np.arctan2(length, quaternion[0]) / length)


def nearest_vector(vector: Array, other: Array) -> Array:
    """Of the rotation vectors (3,) that mean the same rotation as ``vector``, the nearest to ``other``."""
    length = float(np.linalg.norm(vector))
    if length < 1e-9:
        whole = 2.0 * np.pi * round(float(np.linalg.norm(other)) / (2.0 * np.pi))
        return vector if whole == 0.0 else other * (whole / float(np.linalg.norm(other)))
    axis = vector / length
    return axis * (length + 2.0 * np.pi * round((float(axis @ other) - length) / (2.0 * np.pi)))


def in_short_turns(frames: Array, values: Array) -> tuple[Array, Array]:
    """Keys (n,) and (n, size) with more of them put in where a rotation vector goes further than the longest turn."""
    gone = np.linalg.norm(np.diff(values[:, :3], axis=0), axis=1)
    counts = np.maximum(np.ceil(gone / LONGEST_TURN), 1.0).astype(int)
    at = np.concatenate([np.repeat(np.arange(len(counts)), counts) + _shares(counts), [float(len(counts))]])
    keys = np.arange(len(frames))
    return np.interp(at, keys, frames), np.stack([np.interp(at, keys, column) for column in values.T], axis=1)


def _shares(counts: NDArray[np.intp]) -> Array:
    """0, 1/n, 2/n … for every n of counts, one after the other."""
    first = np.repeat(np.cumsum(counts) - counts, counts)
    return (np.arange(counts.sum()) - first) / np.repeat(counts, counts)
