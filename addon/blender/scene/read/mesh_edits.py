"""Meshes of bodies that were edited by hand."""

from __future__ import annotations

from typing import cast

import bpy
import numpy as np

from ....core.bounds import half_extent
from ....core.model import Array, Shape
from ....core.surfaces import is_measured, is_surface_of
from ...data.access import record_of
from ...data.conversion import read_shape, surface_figures

#: Shares of a mesh's spread by which it may seem another in 32 bits.
_SAME_SURFACE = 1e-5


def is_own_mesh(obj: bpy.types.Object) -> bool:
    """Return whether files get a body's mesh as it is seen, modifiers and all: it came from none."""
    return any(shape.visual and shape.type == "mesh" and not shape.mesh for shape in record_of(obj).shapes)


def may_be_judged(obj: bpy.types.Object) -> bool:
    """Return whether ``mesh_was_edited`` can tell: of some shapes neither the surface nor the figures are known."""
    shapes = [shape for shape in record_of(obj).shapes if shape.visual]
    return any(record_of(obj).surface) or all(is_measured(read_shape(shape)) for shape in shapes)


#: What is known of meshes already: bodies that are alike share theirs.
Judged = dict[tuple[object, ...], bool]


def mesh_was_edited(obj: bpy.types.Object, judged: Judged | None = None) -> bool:
    """Return whether the mesh no longer is the surface of the shapes that it was made for. ``judged`` keeps the
    answers."""
    shapes = [read_shape(shape) for shape in record_of(obj).shapes if shape.visual]
    if not shapes or is_own_mesh(obj):
        return False
    if not all(map(is_measured, shapes)):
        return _is_other_mesh(obj)
    if not len(obj.data.polygons):  # type: ignore[union-attr]
        return True
    com = np.array(record_of(obj).com)
    for shape in shapes:
        shape.pose[:3, 3] -= com
    judged = {} if judged is None else judged
    alike = tuple((shape.type, *shape.size.items(), *shape.spheres, shape.pose.tobytes()) for shape in shapes)
    box = obj.bound_box  # its corners come in the order of the axes: the first and the seventh are the ends
    key = (obj.data.session_uid, *box[0], *box[6], *alike)
    if key not in judged:
        judged[key] = _was_edited(obj, shapes)
    return judged[key]


def _was_edited(obj: bpy.types.Object, shapes: list[Shape]) -> bool:
    """Return whether a mesh is no longer the surface of shapes in its own axes."""
    halves = [(shape.pose[:3, 3], half_extent(shape, shape.pose[:3, :3])) for shape in shapes]
    low = np.min([at - half for at, half in halves], axis=0)
    high = np.max([at + half for at, half in halves], axis=0)
    corners = np.array(obj.bound_box)
    size = float(np.linalg.norm(high - low)) or 1.0
    if np.abs(np.ptp(corners, axis=0) - (high - low)).max() > 0.02 * size:
        return True
    return not is_surface_of(shapes, *_corners_and_middles(cast(bpy.types.Mesh, obj.data)))


def _is_other_mesh(obj: bpy.types.Object) -> bool:
    """Return whether a mesh that was read from a file is not as it was read. (Models of earlier releases do not
    know.)"""
    before = np.array(record_of(obj).surface)
    now = np.array(surface_figures(cast(bpy.types.Mesh, obj.data)))
    spread = max(float(before[1:].sum()), 1e-30)
    return bool(before.any()) and float(np.abs(now - before).max()) > _SAME_SURFACE * spread


def _corners_and_middles(mesh: bpy.types.Mesh) -> tuple[Array, Array]:
    """The points (n, 3) of a mesh, and the middles (m, 3) of its polygons."""
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)  # type: ignore[arg-type]
    middles = np.empty(3 * len(mesh.polygons), dtype=np.float32)
    mesh.polygons.foreach_get("center", middles)  # type: ignore[arg-type]
    return points.reshape(-1, 3).astype(np.float64), middles.reshape(-1, 3).astype(np.float64)
