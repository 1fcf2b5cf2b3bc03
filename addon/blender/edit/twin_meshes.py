"""Twins whose meshes are no mirror images of each other: what an edit of one alone makes of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np
from mathutils.bvhtree import BVHTree
from mathutils.kdtree import KDTree

from ...model.one_sided import all_asymmetries
from ...model.records import Array
from ...model.sides import Plane, sides_of
from ...model.symmetry import Difference
from ...model.twins import flip_between
from ..access import record_of
from ..extract import extract
from .places import rigid
from .refit import give_ids
from .twins import mates

#: Meshes that are nearer to mirror images of each other than this share of their size are.
_SAME = 5e-3


def all_differences(rig: bpy.types.Object) -> list[Difference]:
    """Everything that makes the halves of a model differ, its meshes among it."""
    give_ids(rig)
    mechanism = extract(rig)
    sides = sides_of(mechanism)
    return [*all_asymmetries(mechanism, sides), *mesh_differences(rig, sides.plane)]


def mesh_differences(rig: bpy.types.Object, plane: Plane, without: Collection[str] = ()) -> Iterator[Difference]:
    """Of the twins among a model's bodies, those whose surfaces differ, and by how much (length units); how these are
    cut into polygons is no difference. Pairs with a body ``without`` (ids) are left out."""
    done: set[bpy.types.Object] = set()
    gaps: dict[tuple[object, ...], float] = {}
    for obj, mate in mates(rig).items():
        if record_of(obj).role != "BODY" or obj in done or not (obj.type == mate.type == "MESH"):
            continue
        done.add(mate)
        ids = record_of(obj).source_id, record_of(mate).source_id
        if not {*ids}.isdisjoint(without):
            continue
        flip = flip_between(rigid(obj.matrix_basis), rigid(mate.matrix_basis), plane)
        scales = [np.array(each.matrix_basis.to_scale()) for each in (obj, mate)]
        key = obj.data.name_full, mate.data.name_full, np.array([*flip, *scales]).round(6).tobytes()
        if key not in gaps:  # equal shapes share their meshes
            gaps[key] = _gap(cast(bpy.types.Mesh, obj.data), cast(bpy.types.Mesh, mate.data), scales, flip)
        if gaps[key] > 0.0:
            yield Difference("body", ids[0], ids[1], "mesh", gaps[key], "m")


def _gap(one: bpy.types.Mesh, other: bpy.types.Mesh, scales: list[Array], flip: Array) -> float:
    """How far two scaled meshes, the one seen in a mirror, are apart where they are furthest; 0 where they are as good
    as the same, or where one is empty."""
    mine, its = _points(one, scales[0]) @ flip, _points(other, scales[1])  # an axis' own reflection is its inverse
    if not (len(mine) and len(its)):
        return 0.0
    enough = _SAME * float(np.ptp(its, axis=0).max())
    if mine.shape == its.shape and np.abs(mine - its).max() <= enough:
        return 0.0
    first, second = _Surface.of(mine, one), _Surface.of(its, other)
    gap = max(_furthest(first, second), _furthest(second, first))
    return gap if gap > enough else 0.0


def _points(mesh: bpy.types.Mesh, scale: Array) -> Array:
    """The points (n, 3) of a mesh, as large as its object shows them, in its axes."""
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)  # type: ignore[arg-type]
    return points.reshape(-1, 3).astype(np.float64) * scale


@dataclass
class _Surface:
    """What a mesh looks like: its points (n, 3), its polygons (m), their middles (m, 3), and how far (m,) their corners
    are from a plane: by that much at most their middles are off it, whichever way they are cut into triangles."""

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
    """How far the furthest corner, or middle of a polygon, of a surface is from another."""
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
