"""Bodies: one mesh object each, origin at the centre of mass, hung on the bone that moves it."""

from __future__ import annotations

from dataclasses import replace

import bpy

from ...model.records import Array, Body, Shape
from ..access import record_of
from ..records import flat, write_shape
from .meshes import MeshShelf
from .plan import Plan, center
from .rig import hang, tail_inverse


def make_bodies(
    plan: Plan, rig: bpy.types.Object, bone_names: list[str], collection: bpy.types.Collection
) -> dict[str, bpy.types.Object]:
    """Body objects by id, linked into ``collection`` (which is best not in the scene yet)."""
    shelf = MeshShelf(plan.mechanism.name)
    tails = [tail_inverse(rig, name) for name in bone_names]
    made: dict[str, bpy.types.Object] = {}
    for body in plan.mechanism.bodies:
        if body.id in made:
            continue
        visible = [_moved(shape, -body.com) for shape in body.shapes if shape.visual]
        obj = bpy.data.objects.new(body.name or body.id, shelf.mesh(visible, plan.colors[body.id]))
        number = plan.bone_of_body[body.id]
        hang(obj, rig, bone_names[number], tails[number], com_pose(body))
        obj.rotation_mode = "QUATERNION"
        _record(obj, body, rig)
        collection.objects.link(obj)
        made[body.id] = obj
    return made


def com_pose(body: Body) -> Array:
    """Design pose of a body's centre of mass, with the body's axes."""
    if not body.com.any():
        return body.pose
    pose = body.pose.copy()
    pose[:3, 3] = center(body)
    return pose


def _moved(shape: Shape, by: Array) -> Shape:
    if not by.any():
        return shape
    pose = shape.pose.copy()
    pose[:3, 3] += by
    return replace(shape, pose=pose)


def _record(obj: bpy.types.Object, body: Body, rig: bpy.types.Object) -> None:
    record = record_of(obj)
    record.role = "BODY"
    record.source_name, record.source_id = body.name, body.id
    record.twin = body.twin or ""
    record.model = rig
    record.mass = body.mass
    record.immobile, record.com = body.immobile, body.com.tolist()
    record.built, record.built_name = flat(obj.matrix_basis), obj.name
    for shape in body.shapes:
        write_shape(record.shapes.add(), shape)
