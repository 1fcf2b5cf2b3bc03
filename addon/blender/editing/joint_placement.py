"""Where a new joint goes: the 3D cursor, a face, the axis of a ring of edges, or between the nearest points of two
bodies. All give a frame in the world (4, 4) whose Z is a hinge's axis."""

from __future__ import annotations

from typing import Literal, cast

import bmesh
import bpy
import numpy as np
from mathutils import Matrix, Vector
from mathutils.bvhtree import BVHTree

from ...core.model import Array
from ...core.transforms import frame_with_z

Where = Literal["CURSOR", "FACE", "RING", "NEAREST", "CHILD"]


def place_for(
    context: bpy.types.Context, where: Where, parent: bpy.types.Object | None, child: bpy.types.Object
) -> Matrix:
    """The place that ``where`` names. ValueError, saying what to select, where the selection does not tell it."""
    if where == "CURSOR":
        return context.scene.cursor.matrix.copy()
    if where == "CHILD":
        return child.matrix_world.normalized()
    if where == "NEAREST":
        if parent is None:
            raise ValueError("The nearest points are between two bodies: select both")
        return nearest_points(parent, child)
    bodies = [obj for obj in (context.view_layer.objects.active, child, parent) if obj is not None]
    find = _face if where == "FACE" else _ring
    for obj in dict.fromkeys(bodies):
        found = find(obj) if obj.type == "MESH" else None
        if found is not None:
            return found
    if where == "FACE":
        raise ValueError("No face is active: select one in edit mode, on either body, and come back")
    raise ValueError("No ring is selected: select an edge loop, or the points of a circle, in edit mode on either body")


def _points(obj: bpy.types.Object) -> Array:
    mesh = cast(bpy.types.Mesh, obj.data)
    numbers = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", numbers)  # type: ignore[arg-type]
    world = np.array(obj.matrix_world, dtype=np.float64)
    return numbers.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]


def _at(place: Array, axis: Array) -> Matrix:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = frame_with_z(axis / np.linalg.norm(axis)), place
    return Matrix(pose.tolist())


def _face(obj: bpy.types.Object) -> Matrix | None:
    """The middle of a mesh's active face, Z along its normal."""
    mesh = cast(bpy.types.Mesh, obj.data)
    if obj.mode == "EDIT":
        active = bmesh.from_edit_mesh(mesh).faces.active
        corners = [vertex.co for vertex in active.verts] if active is not None else []
    else:
        number = mesh.polygons.active
        chosen = 0 <= number < len(mesh.polygons) and mesh.polygons[number].select
        corners = [mesh.vertices[index].co for index in mesh.polygons[number].vertices] if chosen else []
    if not corners:
        return None
    points = np.array([obj.matrix_world @ corner for corner in corners])
    middle = points.mean(axis=0)
    normal = np.zeros(3)
    for here, there in zip(points - middle, np.roll(points, -1, axis=0) - middle, strict=True):
        normal += np.cross(here, there)
    return _at(middle, normal) if np.linalg.norm(normal) > 0.0 else None


def _ring(obj: bpy.types.Object) -> Matrix | None:
    """The middle of the selected points of a mesh, Z square to the plane in which they lie: a wheel's axle."""
    mesh = cast(bpy.types.Mesh, obj.data)
    if obj.mode == "EDIT":
        chosen = [vertex.co[:] for vertex in bmesh.from_edit_mesh(mesh).verts if vertex.select]
    else:
        chosen = [vertex.co[:] for vertex in mesh.vertices if vertex.select]
    if len(chosen) < 3 or len(chosen) == len(mesh.vertices):
        return None
    points = np.array([obj.matrix_world @ Vector(place) for place in chosen])
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    _u, sizes, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    if sizes[1] < 1e-6 * sizes[0]:
        return None  # they lie on a line
    return _at(middle, axes[2])


def nearest_points(parent: bpy.types.Object, child: bpy.types.Object) -> Matrix:
    """Between the nearest points of two meshes' surfaces, Z along the child's own. Points of either mesh are looked up
    on the other's faces."""
    best: tuple[float, Vector] | None = None
    for one, other in ((parent, child), (child, parent)):
        tree = _tree(other)
        points = _points(one)
        for point in points[:: max(1, len(points) // 2000)]:
            place, _normal, _face_number, distance = tree.find_nearest(Vector(point.tolist()))
            if place is not None and (best is None or distance < best[0]):
                best = distance, (place + Vector(point.tolist())) / 2.0
    if best is None:
        raise ValueError(f"{parent.name!r} or {child.name!r} has no faces")
    turn = child.matrix_world.to_quaternion().to_matrix().to_4x4()
    return Matrix.Translation(best[1]) @ turn


def _tree(obj: bpy.types.Object) -> BVHTree:
    mesh = cast(bpy.types.Mesh, obj.data)
    points: list[list[float]] = _points(obj).tolist()
    return BVHTree.FromPolygons(points, [list(polygon.vertices) for polygon in mesh.polygons])
