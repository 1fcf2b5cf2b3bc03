"""How far collision shapes reach in any direction, which is all that is to know of a convex one: Blender's primitives,
and the hulls of meshes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import bpy
import numpy as np

from ....core.model import Array

#: The points (n, 3) of meshes that were measured already: many bodies share theirs.
Measured = dict[bpy.types.ID, Array]


@dataclass(frozen=True)
class Solid:
    """What an object collides with: Blender's collision shape, the points (n, 3) of the mesh that it is measured on,
    and half their extent (3,). Blender has its primitives about the object's origin."""

    kind: str
    points: Array
    half: Array

    def reach(self, ways: Array, scale: Array) -> Array:
        """Return how far (...) it reaches from its origin along unit vectors (..., 3) in its own axes, scaled by (...,
        3)."""
        x, y, z = np.moveaxis(self.half * scale, -1, 0)
        radius, along = np.maximum(x, y), ways[..., 2]
        across = np.sqrt(np.maximum(1.0 - along**2, 0.0))
        if self.kind == "BOX":
            return np.asarray(np.abs(ways[..., 0]) * x + np.abs(ways[..., 1]) * y + np.abs(along) * z)
        if self.kind == "SPHERE":
            return np.asarray(np.maximum(radius, z) * np.ones_like(along))
        if self.kind == "CAPSULE":
            return np.asarray(np.abs(along) * np.maximum(z - radius, 0.0) + radius)
        if self.kind == "CYLINDER":
            return np.asarray(np.abs(along) * z + radius * across)
        if self.kind == "CONE":
            return np.asarray(np.maximum(radius * across - along * z, along * z))
        return np.asarray(((ways * scale) @ self.points.T).max(axis=-1))


def solid_of(obj: bpy.types.Object, measured: Measured) -> Solid | None:
    """Return what an object with a rigid body collides with; None where its mesh has no points."""
    points = _points(cast(bpy.types.Mesh, obj.data), measured)
    if not len(points):
        return None
    return Solid(obj.rigid_body.collision_shape, points, np.ptp(points, axis=0) / 2.0)


def place_on_parent(child: bpy.types.Object) -> Array:
    """Return where a child stands on its parent (4, 4). Its world matrix may be old: it is hidden."""
    return np.array(child.matrix_parent_inverse @ child.matrix_basis, dtype=np.float64)


def turn_and_scale(poses: Array) -> tuple[Array, Array]:
    """The rotations (n, 3, 3) and the scales (n, 3) of poses (n, 4, 4)."""
    scale = np.linalg.norm(poses[:, :3, :3], axis=1)
    return poses[:, :3, :3] / np.where(scale > 0.0, scale, 1.0)[:, None, :], scale


def _points(mesh: bpy.types.Mesh, measured: Measured) -> Array:
    if mesh not in measured:
        numbers = np.empty(3 * len(mesh.vertices), dtype=np.float32)
        mesh.vertices.foreach_get("co", numbers)
        measured[mesh] = numbers.reshape(-1, 3).astype(np.float64)
    return measured[mesh]


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
