"""How far the surfaces of two meshes are apart, whichever way they are cut into polygons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils.bvhtree import BVHTree
from mathutils.kdtree import KDTree

from ...core.model import Array

#: Surfaces that are nearer to each other than this share of their size are the same.
_SAME = 5e-3


def mesh_points(mesh: bpy.types.Mesh, scale: Array) -> Array:
    """The points (n, 3) of a mesh, as large as its object shows them, in its axes."""
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)  # type: ignore[arg-type]
    return points.reshape(-1, 3).astype(np.float64) * scale


def surface_gap(mine: Array, one: bpy.types.Mesh, its: Array, other: bpy.types.Mesh) -> float:
    """Return how far two surfaces are apart where they are furthest, of meshes whose points (n, 3) are where these are;
    0 where they are as good as the same, or where one is empty."""
    if not (len(mine) and len(its)):
        return 0.0
    enough = _SAME * float(np.ptp(its, axis=0).max())
    if mine.shape == its.shape and np.abs(mine - its).max() <= enough:
        return 0.0
    first, second = _Surface.of(mine, one), _Surface.of(its, other)
    gap = max(_furthest(first, second), _furthest(second, first))
    return gap if gap > enough else 0.0


@dataclass
class _Surface:
    """Surface of a mesh: its points (n, 3), its polygons (m), their middles (m, 3), and how far (m,) their corners are
    from a plane: by that much at most their middles are off it, whichever way they are cut into triangles."""

    points: Array
    polygons: list[tuple[int, ...]]
    middles: Array
    bends: Array

    @classmethod
    def of(cls, points: Array, mesh: bpy.types.Mesh) -> _Surface:
        """Of a mesh whose points are where these are."""
        polygons = [tuple(polygon.vertices) for polygon in mesh.polygons]
        if not polygons:
            return cls(points, [], np.empty((0, 3)), np.empty(0))
        counts = np.array([len(polygon) for polygon in polygons])
        starts, whose = np.cumsum(counts) - counts, np.repeat(np.arange(len(counts)), counts)
        numbers = np.concatenate(polygons)
        following = np.concatenate([polygon[1:] + polygon[:1] for polygon in polygons])
        middles = np.add.reduceat(points[numbers], starts) / counts[:, None]
        arms, ahead = points[numbers] - middles[whose], points[following] - middles[whose]
        normals = np.add.reduceat(np.cross(arms, ahead), starts)
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-30)[:, None]
        bends = np.maximum.reduceat(np.abs((arms * normals[whose]).sum(axis=1)), starts)
        return cls(points, polygons, middles, bends)


def _furthest(surface: _Surface, other: _Surface) -> float:
    """Return how far the furthest corner, or middle of a polygon, of a surface is from another."""
    if other.polygons:
        tree: Any = BVHTree.FromPolygons(other.points.tolist(), other.polygons)
        corners = max(tree.find_nearest(point)[3] for point in surface.points.tolist())
        gaps = np.array([tree.find_nearest(middle)[3] for middle in surface.middles.tolist()])
        return float(max(corners, (gaps - surface.bends).max(initial=0.0)))
    nearest = KDTree(len(other.points))  # points, or a wire
    for number, point in enumerate(other.points.tolist()):
        nearest.insert(point, number)
    nearest.balance()
    return max(nearest.find(point)[2] for point in (*surface.points.tolist(), *surface.middles.tolist()))
