"""How fast things turn and move for unit rates of coordinates."""

from __future__ import annotations

import numpy as np

from .one_pose import cross_of_one
from .records import Array, Dof
from .rotations import rotation_vector


def dof_screws(dof: Dof, pose: Array, value: Array) -> Array:
    """What unit rates of a degree of freedom's coordinates, at ``value`` (size,), give what is behind it: (6, size),
    angular velocity above the velocity of what is at the origin. ``pose`` (4, 4) is where it stands."""
    turn, place = pose[:3, :3], pose[:3, 3]
    nothing = np.zeros(3)
    if dof.kind in {"translation", "rotation", "screw"}:
        axis = turn @ dof.axis
        if dof.kind == "translation":
            return np.concatenate([nothing, axis])[:, None]
        slide = axis * dof.pitch if dof.kind == "screw" else nothing
        return np.concatenate([axis, cross_of_one(place, axis) + slide])[:, None]
    spins = turn @ _spin_rate(value[:3])
    if dof.kind == "ball":
        return np.concatenate([spins, np.cross(place, spins.T).T])
    place = place + turn @ value[3:]
    slides = np.concatenate([np.zeros((3, 3)), turn])
    return np.concatenate([np.concatenate([spins, np.cross(place, spins.T).T]), slides], axis=1)


def _spin_rate(vector: Array) -> Array:
    """Angular velocity, in the outer axes, for unit rates of a rotation vector (3,): (3, 3)."""
    angle = float(np.linalg.norm(vector))
    cross = _cross(vector)
    if angle < 1e-4:
        return np.eye(3) + 0.5 * cross + cross @ cross / 6.0
    return np.eye(3) + (1.0 - np.cos(angle)) / angle**2 * cross + (angle - np.sin(angle)) / angle**3 * (cross @ cross)


def vector_rates(vectors: Array) -> Array:
    """Rates of rotation vectors (n, 3), of half a turn and less, for unit angular velocities in the outer axes:
    (n, 3, 3)."""
    angle = np.sqrt((vectors * vectors).sum(axis=1))[:, None, None]
    some = np.where(angle < 1e-2, 1.0, angle)
    rest = np.where(angle < 1e-2, (1.0 + angle**2 / 60.0) / 12.0, (1.0 - 0.5 * some / np.tan(0.5 * some)) / some**2)
    cross = crosses(vectors)
    return np.eye(3) - 0.5 * cross + rest * (cross @ cross)


def vectors_of(motions: Array) -> Array:
    """The rotation vectors (n, 3) of motions (n, 4, 4), of which there are few."""
    return np.array([rotation_vector(motion[:3, :3]) for motion in motions]).reshape(-1, 3)


def crosses(vectors: Array) -> Array:
    """What multiplies to the cross products of vectors (n, 3) with others: (n, 3, 3)."""
    out = np.zeros((len(vectors), 3, 3))
    out[:, 2, 1], out[:, 0, 2], out[:, 1, 0] = vectors.T
    out[:, 1, 2], out[:, 2, 0], out[:, 0, 1] = -vectors.T
    return out


def _cross(vector: Array) -> Array:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
