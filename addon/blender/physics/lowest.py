"""How low a body reaches, measured on what it collides with in Blender, wherever the user has moved that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import bpy
import numpy as np

from ...model.records import Array

#: The points (n, 3) of meshes that were measured already: many bodies share theirs.
Measured = dict[bpy.types.ID, Array]


def lowest_point(obj: bpy.types.Object, children: Sequence[bpy.types.Object], pose: Array, measured: Measured) -> float:
    """Height of the lowest point that a body at a world pose (4, 4) collides with; infinity where it touches nothing.
    ``children`` are the parts of a compound."""
    body = obj.rigid_body
    if body is None or body.type == "PASSIVE" or not any(body.collision_collections):
        return math.inf  # what does not move is not shot out of the ground
    if body.collision_shape != "COMPOUND":
        return _lowest(obj, pose, measured)
    solid = (child for child in children if child.rigid_body is not None)
    return min((_lowest(child, pose @ _on_parent(child), measured) for child in solid), default=math.inf)


def _on_parent(child: bpy.types.Object) -> Array:
    """Where a child stands on its parent. Its world matrix may be old: it is hidden."""
    return np.array(child.matrix_parent_inverse @ child.matrix_basis, dtype=np.float64)


def _lowest(obj: bpy.types.Object, pose: Array, measured: Measured) -> float:
    points = _points(cast(bpy.types.Mesh, obj.data), measured)
    if not len(points):
        return math.inf
    scale = np.linalg.norm(pose[:3, :3], axis=0)
    x, y, z = np.ptp(points, axis=0) / 2.0 * scale  # Blender has its primitives about the object's origin
    up = pose[2, :3] / np.where(scale > 0.0, scale, 1.0)
    across = math.sqrt(max(1.0 - up[2] ** 2, 0.0))
    kind, radius = obj.rigid_body.collision_shape, max(x, y)
    if kind == "BOX":
        reach = float(np.abs(up) @ (x, y, z))
    elif kind == "SPHERE":
        reach = max(radius, z)
    elif kind == "CAPSULE":
        reach = abs(up[2]) * max(z - radius, 0.0) + radius
    elif kind == "CYLINDER":
        reach = abs(up[2]) * z + radius * across
    elif kind == "CONE":
        reach = max(up[2] * z + radius * across, -up[2] * z)
    else:
        reach = -float((points @ pose[2, :3]).min())
    return float(pose[2, 3]) - reach


def _points(mesh: bpy.types.Mesh, measured: Measured) -> Array:
    if mesh not in measured:
        numbers = np.empty(3 * len(mesh.vertices), dtype=np.float32)
        mesh.vertices.foreach_get("co", numbers)
        measured[mesh] = numbers.reshape(-1, 3).astype(np.float64)
    return measured[mesh]
