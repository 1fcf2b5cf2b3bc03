"""How fast things turn and move for unit rates of coordinates."""

from __future__ import annotations

import numpy as np

from .loop_chains import spin_rates
from .one_pose import cross_of_one
from .records import Array, Dof


def dof_screws(dof: Dof, pose: Array, value: Array) -> Array:
    """Return what unit rates of a degree of freedom's coordinates, at ``value`` (size,), give what is behind it: (6,
    size), angular velocity above the velocity of what is at the origin. ``pose`` (4, 4) is where it stands."""
    turn, place = pose[:3, :3], pose[:3, 3]
    nothing = np.zeros(3)
    if dof.kind in {"translation", "rotation", "screw"}:
        axis = turn @ dof.axis
        if dof.kind == "translation":
            return np.concatenate([nothing, axis])[:, None]
        slide = axis * dof.pitch if dof.kind == "screw" else nothing
        return np.concatenate([axis, cross_of_one(place, axis) + slide])[:, None]
    spins = turn @ spin_rates(value[:3])
    if dof.kind == "ball":
        return np.concatenate([spins, np.cross(place, spins.T).T])
    place = place + turn @ value[3:]
    slides = np.concatenate([np.zeros((3, 3)), turn])
    return np.concatenate([np.concatenate([spins, np.cross(place, spins.T).T]), slides], axis=1)
