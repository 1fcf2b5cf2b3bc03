"""Bodies: one mesh object each, origin at the centre of mass, hung on the bone that moves it."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...core.bounds import scenery
from ...core.mass_properties import least_moments
from ...core.model import Array, Body, Shape, identity
from ..data.access import record_of
from ..data.bulk_write import Group, Making, many, new_group, put_new
from ..data.conversion import flat, surface_corners, surface_figures, told_shape
from ..data.properties.joint import KnuckleShape
from ..data.properties.model import KnuckleObject
from ..data.rigid_bodies import collides, own_mesh_collides
from .armature import Hook
from .collections import Folders
from .meshes import MeshShelf, file_of
from .placement import Plan, center


def make_bodies(
    plan: Plan,
    hook: Hook,
    folders: Folders,
    shelf: MeshShelf,
    bodies: dict[str, bpy.types.Object],
    only: Container[str] | None = None,
) -> Making[None]:
    """Put body objects by id into ``bodies``, of all bodies or ``only`` of some.

    A mesh that cannot be had is a box, with a label beside it.
    """
    aside, tensors = scenery(plan.mechanism), unit_tensors(plan.mechanism.bodies)
    seen: dict[str, tuple[Body, list[Shape]]] = {}
    for body in plan.mechanism.bodies:
        if body.id in seen or (only is not None and body.id not in only):
            continue
        visible = [shape for shape in body.shapes if shape.visual]
        if any(body.com.tolist()):
            visible = [_moved(shape, -body.com) for shape in visible]
        seen[body.id] = body, visible
    made = yield [
        (body.name or key, shelf.mesh(shapes, plan.colors[key], body)) for key, (body, shapes) in seen.items()
    ]
    into = [folders.folder("Bodies", body.assembly, body.active) for body, _ in seen.values()]
    with many(made, into) as new:
        built = hook.hang_all(new, list(seen), [com_pose(body) for body, _ in seen.values()])
    corners: dict[bpy.types.ID, list[float]] = {}
    for (body, visible), obj, at_home in zip(seen.values(), made, built, strict=True):
        _record(obj, body, hook.rig, body.id in aside, tensors.get(id(body)), at_home, corners)
        for shape in visible:
            if shelf.is_missing(shape, body):
                folders["Frames"].objects.link(_label(obj, shape, shelf.proxy))
    bodies.update(zip(seen, made, strict=True))


def _label(body: bpy.types.Object, shape: Shape, edge: float) -> bpy.types.Object:
    """The name of a missing mesh, shown at the box that stands for it. Not filmed: it is an empty."""
    label = bpy.data.objects.new(f"Missing {file_of(shape)}", None)
    label.parent = body
    label.rotation_mode = "QUATERNION"
    label.matrix_basis = Matrix(shape.pose.tolist())
    label.empty_display_type, label.empty_display_size = "CUBE", edge / 2.0
    label.show_name = True
    record_of(label).role, record_of(label).model = "LABEL", record_of(body).model
    record_of(label).source_name = shape.mesh or ""
    return label


def com_pose(body: Body) -> Array:
    """Design pose of a body's centre of mass, with the body's axes."""
    if not any(body.com.tolist()):
        return body.pose
    pose = body.pose.copy()
    pose[:3, 3] = center(body)
    return pose


def _moved(shape: Shape, by: Array) -> Shape:
    pose = shape.pose.copy()
    pose[:3, 3] += by
    return replace(shape, pose=pose)


def unit_tensors(bodies: Sequence[Body]) -> dict[int, list[float]]:
    """The moments of inertia of bodies that the file has any for, of mass 1, by the ``id`` of their records."""
    told = [body for body in bodies if body.inertia is not None and body.mass > 0.0]
    if not told:
        return {}
    tensors = np.array([body.inertia for body in told], dtype=np.float64).reshape(-1, 3, 3)
    with np.errstate(all="ignore"):
        rows = (tensors.reshape(-1, 9) / np.array([body.mass for body in told])[:, None]).tolist()
    each = zip(told, rows, least_moments(tensors), strict=True)
    return {id(body): row for body, row, least in each if least > 0.0}


def _record(
    obj: bpy.types.Object,
    body: Body,
    rig: bpy.types.Object,
    scenery: bool,
    tensor: list[float] | None,
    built: list[float],
    corners: dict[bpy.types.ID, list[float]],
) -> None:
    """Keep with a body's object what its file says of it. ``corners`` are those of meshes that bodies share."""
    values: dict[str, Any] = {
        "role": "BODY",
        "source_name": body.name,
        "source_id": body.id,
        "twin": body.twin or "",
        "model": rig,
        "mass": body.mass,
        "immobile": body.immobile,
        "gravity": body.gravity,
        "collidable": body.collidable,
        "com": body.com.tolist(),
        "active": body.active,
        "built": built,
        "built_name": obj.name,
        "scenery": scenery,
    }
    if tensor is not None:
        values |= {"has_tensor": True, "tensor": tensor}
    elif body.inertia is not None and body.mass > 0.0:
        values["tensor"] = (np.asarray(body.inertia) / body.mass).ravel().tolist()
    if any(shape.visual and shape.type == "mesh" for shape in body.shapes):
        values["surface"] = surface_figures(cast(bpy.types.Mesh, obj.data))
    if obj.data is not None and len(obj.data.vertices):  # type: ignore[union-attr]
        if obj.data not in corners:
            corners[obj.data] = surface_corners(cast(bpy.types.Mesh, obj.data))
        values["corners"] = corners[obj.data]
    group = new_group(KnuckleObject, values)
    if body.shapes:
        group["shapes"] = [_shape(shape, body) for shape in body.shapes]
    put_new(obj, group)


def _shape(shape: Shape, body: Body) -> Group:
    values = told_shape(shape)
    values["collidable"] = values["collidable"] and body.collidable
    return new_group(KnuckleShape, values)


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
