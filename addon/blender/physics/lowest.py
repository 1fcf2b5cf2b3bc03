"""How low a body reaches, measured on what it collides with in Blender, wherever the user has moved that."""

from __future__ import annotations

import math
from collections.abc import Sequence

import bpy
import numpy as np

from ...core.model import Array
from .reach import Measured, place_on_parent, solid_of, turn_and_scale


def lowest_point(obj: bpy.types.Object, children: Sequence[bpy.types.Object], pose: Array, measured: Measured) -> float:
    """Height of the lowest point that a body at a world pose (4, 4) collides with; infinity where it touches nothing.
    ``children`` are the parts of a compound."""
    return float(lowest_points(obj, children, pose[None], measured)[0])


def lowest_points(
    obj: bpy.types.Object, children: Sequence[bpy.types.Object], poses: Array, measured: Measured
) -> Array:
    """Return the heights (n,) of the lowest points that a body at world poses (n, 4, 4) collides with; infinity where
    it touches nothing. ``children`` are the parts of a compound."""
    body, nowhere = obj.rigid_body, np.full(len(poses), math.inf)
    if body is None or body.type == "PASSIVE" or not any(body.collision_collections):
        return nowhere  # what does not move is not shot out of the ground
    if body.collision_shape != "COMPOUND":
        return _lowest(obj, poses, measured)
    solid = [child for child in children if child.rigid_body is not None]
    return np.min([nowhere, *(_lowest(child, poses @ place_on_parent(child), measured) for child in solid)], axis=0)


def _lowest(obj: bpy.types.Object, poses: Array, measured: Measured) -> Array:
    solid = solid_of(obj, measured)
    if solid is None:
        return np.full(len(poses), math.inf)
    turns, scale = turn_and_scale(poses)
    return np.asarray(poses[:, 2, 3] - solid.reach(-turns[:, 2], scale))
