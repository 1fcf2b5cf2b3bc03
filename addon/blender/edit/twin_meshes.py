"""Twins whose meshes are no mirror images of each other: what an edit of one alone makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import bpy
import numpy as np
from mathutils.kdtree import KDTree

from ...model.one_sided import all_asymmetries
from ...model.records import Array
from ...model.sides import Plane, sides_of
from ...model.symmetry import Difference
from ...model.twins import flip_between
from ..access import record_of, settings
from ..extract import extract
from .places import rigid
from .refit import give_ids
from .twins import mates

#: Meshes that are nearer to mirror images of each other than this share of their size are.
_SAME = 5e-3


def all_differences(rig: bpy.types.Object) -> list[Difference]:
    """Everything that makes the halves of a model differ, its meshes among it."""
    give_ids(rig)
    mechanism = extract(settings(rig).collection)
    sides = sides_of(mechanism)
    return [*all_asymmetries(mechanism, sides), *mesh_differences(rig, sides.plane)]


def mesh_differences(rig: bpy.types.Object, plane: Plane) -> Iterator[Difference]:
    """Of the twins among a model's bodies, those whose meshes differ, and by how much (length units)."""
    done: set[bpy.types.Object] = set()
    for obj, mate in mates(rig).items():
        if record_of(obj).role != "BODY" or obj in done or not (obj.type == mate.type == "MESH"):
            continue
        done.add(mate)
        flip = flip_between(rigid(obj.matrix_basis), rigid(mate.matrix_basis), plane)
        mine, its = _points(obj), _points(mate)
        if not (len(mine) and len(its)):
            continue
        size = float(np.ptp(its, axis=0).max())
        gap = _gap(mine @ flip, its, _SAME * size)  # an axis' own reflection is its inverse
        if gap > _SAME * size:
            yield Difference("body", record_of(obj).source_id, record_of(mate).source_id, "mesh", gap, "m")


def _points(obj: bpy.types.Object) -> Array:
    """The points (n, 3) of an object's mesh, as large as the object shows them, in its axes."""
    mesh = cast(bpy.types.Mesh, obj.data)
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)  # type: ignore[arg-type]
    return points.reshape(-1, 3).astype(np.float64) * np.array(obj.matrix_basis.to_scale())


def _gap(one: Array, other: Array, enough: float) -> float:
    """How far the furthest of some points (n, 3) is from the nearest of others (m, 3), either way round. Points that
    stand in the same order are quickly told."""
    if one.shape == other.shape and np.abs(one - other).max() <= enough:
        return 0.0
    return max(_furthest(one, other), _furthest(other, one))


def _furthest(points: Array, others: Array) -> float:
    tree = KDTree(len(others))
    for number, point in enumerate(others.tolist()):
        tree.insert(point, number)
    tree.balance()
    return max(tree.find(point)[2] for point in points.tolist())
