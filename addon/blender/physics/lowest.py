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
    return float(lowest_points(obj, children, pose[None], measured)[0])


def lowest_points(
    obj: bpy.types.Object, children: Sequence[bpy.types.Object], poses: Array, measured: Measured
) -> Array:
    """The same for poses (n, 4, 4): (n,)."""
    body, nowhere = obj.rigid_body, np.full(len(poses), math.inf)
    if body is None or body.type == "PASSIVE" or not any(body.collision_collections):
        return nowhere  # what does not move is not shot out of the ground
    if body.collision_shape != "COMPOUND":
        return _lowest(obj, poses, measured)
    solid = [child for child in children if child.rigid_body is not None]
    return np.min([nowhere, *(_lowest(child, poses @ _on_parent(child), measured) for child in solid)], axis=0)


def _on_parent(child: bpy.types.Object) -> Array:
    """Where a child stands on its parent. Its world matrix may be old: it is hidden."""
    return np.array(child.matrix_parent_inverse @ child.matrix_basis, dtype=np.float64)


def _lowest(obj: bpy.types.Object, poses: Array, measured: Measured) -> Array:
    points = _points(cast(bpy.types.Mesh, obj.data), measured)
    if not len(points):
        return np.full(len(poses), math.inf)
    scale = np.linalg.norm(poses[:, :3, :3], axis=1)
    x, y, z = (np.ptp(points, axis=0) / 2.0 * scale).T  # Blender has its primitives about the object's origin
    up = poses[:, 2, :3] / np.where(scale > 0.0, scale, 1.0)
    across = np.sqrt(np.maximum(1.0 - up[:, 2] ** 2, 0.0))
    kind, radius = obj.rigid_body.collision_shape, np.maximum(x, y)
    if kind == "BOX":
        reach = np.abs(up[:, 0]) * x + np.abs(up[:, 1]) * y + np.abs(up[:, 2]) * z
    elif kind == "SPHERE":
        reach = np.maximum(radius, z)
    elif kind == "CAPSULE":
        reach = np.abs(up[:, 2]) * np.maximum(z - radius, 0.0) + radius
    elif kind == "CYLINDER":
        reach = np.abs(up[:, 2]) * z + radius * across
    elif kind == "CONE":
        reach = np.maximum(up[:, 2] * z + radius * across, -up[:, 2] * z)
    else:
        reach = -(points @ poses[:, 2, :3].T).min(axis=0)
    return poses[:, 2, 3] - reach


def _points(mesh: bpy.types.Mesh, measured: Measured) -> Array:
    if mesh not in measured:
        numbers = np.empty(3 * len(mesh.vertices), dtype=np.float32)
        mesh.vertices.foreach_get("co", numbers)
        measured[mesh] = numbers.reshape(-1, 3).astype(np.float64)
    return measured[mesh]
