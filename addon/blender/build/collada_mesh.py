"""Surfaces of Collada files to meshes of Blender, with their normals and materials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np

from ...formats.meshes.collada import Surface
from ..scene.materials import plain_material

#: Where a mesh keeps the file's normals until it is sound.
_GIVEN = "knuckle normal"
#: A normal that is off by more than this is not that of its polygon.
_FLAT = 1e-2


def collada_mesh(name: str, surfaces: Sequence[Surface]) -> bpy.types.Mesh:
    """A mesh of the surfaces of a Collada file, with a material for each that they name. Where the file's normals are
    those of its polygons it is flat, else smooth with the file's normals. Polygons that are none, and those that are
    there twice, are left out."""
    counts = np.concatenate([surface.counts for surface in surfaces])
    sizes = [len(surface.points) for surface in surfaces]
    starts = np.cumsum(sizes) - sizes
    loops = np.concatenate([surface.corners + start for surface, start in zip(surfaces, starts, strict=True)])
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(sum(sizes))
    mesh.vertices.foreach_set("co", np.concatenate([surface.points for surface in surfaces]).astype(np.float32).ravel())
    mesh.loops.add(len(loops))
    mesh.loops.foreach_set("vertex_index", loops.astype(np.int32))
    mesh.polygons.add(len(counts))
    mesh.polygons.foreach_set("loop_start", (np.cumsum(counts) - counts).astype(np.int32))
    _put_materials(mesh, surfaces)
    _keep_normals(mesh, surfaces)
    mesh.update(calc_edges=True)
    mesh.validate()
    _put_normals(mesh)
    return mesh


def _put_materials(mesh: bpy.types.Mesh, surfaces: Sequence[Surface]) -> None:
    looks = list(dict.fromkeys((surface.material, surface.color) for surface in surfaces))
    if all(color is None for _, color in looks):
        return
    for name, color in looks:
        mesh.materials.append(plain_material(name or mesh.name, color) if color is not None else None)
    slot_of = {look: slot for slot, look in enumerate(looks)}
    slots = [slot_of[surface.material, surface.color] for surface in surfaces]
    each = np.repeat(slots, [len(surface.counts) for surface in surfaces]).astype(np.int32)
    mesh.polygons.foreach_set("material_index", each)


def _keep_normals(mesh: bpy.types.Mesh, surfaces: Sequence[Surface]) -> None:
    """Have each corner carry its normal, or zeros, through what becomes of the polygons."""
    if all(surface.normals is None for surface in surfaces):
        return
    given = [
        surface.normals if surface.normals is not None else np.zeros((len(surface.corners), 3)) for surface in surfaces
    ]
    kept: Any = mesh.attributes.new(_GIVEN, "FLOAT_VECTOR", "CORNER")
    kept.data.foreach_set("vector", np.concatenate(given).astype(np.float32).ravel())


def _put_normals(mesh: bpy.types.Mesh) -> None:
    """Of a sound mesh only: Blender dies of normals for polygons that are none."""
    kept: Any = mesh.attributes.get(_GIVEN)
    given = np.zeros((len(mesh.loops), 3), dtype=np.float32)
    if kept is not None:
        kept.data.foreach_get("vector", given.ravel())
        mesh.attributes.remove(kept)
    flat = np.empty((len(mesh.polygons), 3), dtype=np.float32)
    mesh.polygons.foreach_get("normal", flat.ravel())
    starts = np.empty(len(mesh.polygons), dtype=np.int32)
    mesh.polygons.foreach_get("loop_start", starts)
    counts = np.empty(len(mesh.polygons), dtype=np.int32)
    mesh.polygons.foreach_get("loop_total", counts)
    flat = np.repeat(flat, counts, axis=0)
    silent = np.linalg.norm(given, axis=1) < 0.5  # a normal of 0 says nothing
    wanted = np.where(silent[:, None], flat, given)
    off = np.linalg.norm(wanted - flat, axis=1) > _FLAT
    smooth = np.logical_or.reduceat(off, starts) if len(starts) else off
    mesh.polygons.foreach_set("use_smooth", smooth)
    if smooth.any():
        mesh.normals_split_custom_set(wanted)
