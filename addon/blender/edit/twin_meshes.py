"""Twins whose meshes are no mirror images of each other: what an edit of one alone makes of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import cast

import bpy
import numpy as np

from ...core.editing.sides import sides_of
from ...core.editing.symmetry import Difference, all_asymmetries
from ...core.editing.twins import flip_between
from ...core.model import Array, Plane
from ..data.access import record_of
from ..extract import extract
from .places import rigid
from .refit import give_ids
from .surface_gaps import mesh_points, surface_gap
from .twins import mates


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
    """Return how far two scaled meshes, the one seen in a mirror, are apart where they are furthest; 0 where they are
    as good as the same, or where one is empty."""
    return surface_gap(mesh_points(one, scales[0]) @ flip, one, mesh_points(other, scales[1]), other)
