"""A body's shape and its mesh, made alike again after the mesh was edited by hand: the one or the other is right."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix

from ...core.model import Array, Body, Shape
from ...core.report import Report
from ...core.transforms import affine_inverse
from ..build import PLANE, PROXY
from ..build.mesh_files import MeshFiles
from ..build.meshes import MeshShelf
from ..build.plan import plan
from ..data.access import record_of, settings
from ..data.conversion import read_shape, write_shape
from ..data.properties.model import KnuckleObject
from ..extract import document_ids, extract
from .authoring import put_mesh, solid_of
from .refit import give_ids, refit


def take_mesh(rig: bpy.types.Object, obj: bpy.types.Object) -> tuple[str, Report]:
    """Have what a body looks like be what its mesh is now: the primitive that it is, else the mesh. Returns the kind of
    shape. Shapes of its own that it collides with stay.

    A body that no file tells the frame of has its origin moved to where its centre of mass is then."""
    give_ids(rig)
    record = record_of(obj)
    if obj.data.users > 1:
        obj.data = obj.data.copy()
    solid = solid_of(cast(bpy.types.Mesh, obj.data), np.ones(3))
    if settings(rig).format in {"", "juice"} or record.source_id not in document_ids(rig):
        frame = solid.frame if np.ptp(np.array(obj.matrix_basis.to_scale())) < 1e-6 else _without_turn(solid.frame)
        _move_origin(obj, frame)
        place = affine_inverse(frame) @ solid.frame
        is_mesh = solid.shape.type == "mesh" and solid.volume > 0.0
        record.has_tensor = is_mesh
        if is_mesh:
            turn = place[:3, :3]
            record.tensor = (turn @ (solid.tensor / solid.volume) @ turn.T).ravel().tolist()
    else:
        place = solid.frame
    pose = place @ solid.shape.pose
    pose[:3, 3] += np.array(record.com)
    if solid.shape.type == "mesh":  # which lies in its body's axes, as it is written
        pose = np.eye(4)
    _put_shape(obj, record, replace(solid.shape, pose=pose))
    return solid.shape.type, refit(rig)


def _without_turn(frame: Array) -> Array:
    out = np.eye(4)
    out[:3, 3] = frame[:3, 3]
    return out


def _move_origin(obj: bpy.types.Object, frame: Array) -> None:
    """Move a body's origin to a frame (4, 4) of its own axes; its mesh and what hangs on it stay where they stand."""
    back = Matrix(affine_inverse(frame).tolist())
    cast(bpy.types.Mesh, obj.data).transform(back)
    obj.matrix_basis = obj.matrix_basis @ Matrix(frame.tolist())
    for child in obj.children:
        if record_of(child).role == "SHAPE":
            child.matrix_basis = back @ child.matrix_basis
        else:
            child.matrix_parent_inverse = back @ child.matrix_parent_inverse


def _put_shape(obj: bpy.types.Object, record: KnuckleObject, made: Shape) -> None:
    """Have a body look like a shape, in place of what it looked like. Where it collides with shapes of its own, these
    stay what they are."""
    children = {record_of(child).shape: child for child in obj.children if record_of(child).role == "SHAPE"}
    kept = [
        (read_shape(shape), shape.collidable, shape.has_child, number) for number, shape in enumerate(record.shapes)
    ]
    apart = any(has_child for _shape, _collidable, has_child, _number in kept)
    seen = [shape for shape, *_more in kept if shape.visual]
    made.color = next((shape.color for shape in seen), None)
    made.collision = not apart and any(shape.collision for shape in seen)
    collidable = all(collidable for shape, collidable, *_more in kept if shape.visual)
    stay = [row for row in kept if (row[0].collision if apart else not row[0].visual)]
    record.shapes.clear()
    for shape, can, has_child, old in [(made, collidable, False, -1), *stay]:
        row = record.shapes.add()
        write_shape(row, replace(shape, visual=old < 0))
        row.collidable, row.has_child = can, has_child
        if has_child and old in children:
            number = len(record.shapes) - 1
            record_of(children[old]).shape = number
            record_of(children[old]).source_id = f"{record.source_id}/{number}"


def take_shape(rig: bpy.types.Object, obj: bpy.types.Object) -> Report:
    """Give a body the mesh of its shape back, in the material that it has."""
    give_ids(rig)
    mechanism = extract(rig)
    body = next(body for body in mechanism.bodies if body.id == record_of(obj).source_id)
    report, old = Report(), cast(bpy.types.Mesh, obj.data)
    size = plan(mechanism, closed=False).size
    with MeshFiles(mechanism, report) as files:
        shelf = MeshShelf(mechanism.name, files.mesh, PROXY * size, PLANE * size)
        mesh = shelf.mesh(_seen(obj, body), (0.7, 0.7, 0.7, 1.0), body)
        if len(old.materials) and all(shape.color is None for shape in body.shapes):
            mesh.materials.clear()
            mesh.materials.append(old.materials[0])
        put_mesh(obj, mesh)
    report.extend(refit(rig))
    return report


def _seen(obj: bpy.types.Object, body: Body) -> list[Shape]:
    """The shapes that a body shows, about its origin; its object may be scaled."""
    out = []
    for kept, shape in zip(record_of(obj).shapes, body.shapes, strict=False):
        if shape.visual:
            mine = replace(read_shape(kept), spheres=shape.spheres, extra=shape.extra, color=shape.color)
            mine.pose[:3, 3] -= np.array(record_of(obj).com)
            out.append(mine)
    return out
