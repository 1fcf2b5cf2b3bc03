"""Collision shapes: hidden wire children of the bodies whose visible mesh does not say what they collide with."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

import bpy
from mathutils import Matrix

from ...core.model import Body, Shape, identity
from ..data.access import record_of
from ..data.collision_shapes import collides, own_mesh_collides
from ..data.conversion import flat
from .collections import Folders
from .meshes import MeshShelf
from .placement import Plan


def make_collision(
    plan: Plan,
    bodies: dict[str, bpy.types.Object],
    shelf: MeshShelf,
    folders: Folders,
    only: Container[str] | None = None,
    lost: Container[str] | None = None,
) -> bool:
    """Make the children, of all bodies or ``only`` of some, or those that were ``lost``, by their ids (the body's, a
    slash and the shape's number); whether there are any. Each stands where its shape does, so that its own origin and
    axes are what Blender's primitive collision shapes count from. A mesh that cannot be had has none and does not
    collide: a box of no meaning in its place would push things about."""
    made = False
    for body in plan.bodies.values():
        if own_mesh_collides(body.shapes) or not body.collidable or (only is not None and body.id not in only):
            continue
        for number, shape in enumerate(body.shapes):
            if not collides(shape) or (lost is not None and f"{body.id}/{number}" not in lost):
                continue
            record = record_of(bodies[body.id]).shapes[number]
            record.collidable = not shelf.is_missing(replace(shape, visual=False), body)  # as what it collides with
            if record.collidable:
                folder = folders.beside("Collision", body.assembly, body.active)
                folder.objects.link(_child(bodies[body.id], body, number, shelf, plan))
                record.has_child = made = True
    return made


def _child(parent: bpy.types.Object, body: Body, number: int, shelf: MeshShelf, plan: Plan) -> bpy.types.Object:
    shape = body.shapes[number]
    mesh = shelf.mesh([_alone(shape)], plan.colors[body.id], body)
    child = bpy.data.objects.new(f"{body.name or body.id} collision", mesh)
    pose = shape.pose.copy()
    pose[:3, 3] -= body.com
    child.parent = parent
    child.rotation_mode = "QUATERNION"
    child.matrix_basis = Matrix(pose.tolist())
    child.display_type = "WIRE"
    child.hide_render = child.hide_viewport = True
    record = record_of(child)
    record.role, record.model = "SHAPE", record_of(parent).model
    record.source_name, record.source_id = shape.name, f"{body.id}/{number}"
    record.shape = number
    record.built, record.built_name = flat(child.matrix_basis), child.name
    return child


def _alone(shape: Shape) -> Shape:
    """The shape at its own origin, drawn like all its kind; a plane as the block beneath it."""
    return replace(shape, pose=identity(), color=None, visual=shape.visual and shape.type != "plane")
