"""Body objects: one mesh object each, with its origin at the center of mass, parented to the bone that moves it.

Bodies whose visible mesh is not what they collide with get collision shapes as hidden wire children.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...core.bounds import scenery_bodies
from ...core.mass_properties import body_center, min_principal_moments
from ...core.model import Array, Body, Shape, identity
from ..data.access import record_of
from ..data.baseline import baseline_values, mesh_fingerprint, mesh_reference_points, record_baseline
from ..data.conversion import changed_shape_properties
from ..data.datablocks import CreationTask, PropertyValues, bulk_objects, changed_properties, write_properties
from ..data.facts import BODY_PROPERTIES, stored_values
from ..data.properties.joint import KnuckleShape
from ..data.properties.model import KnuckleObject
from ..data.rigid_bodies import collides, own_mesh_collides
from .armature import BoneParenting
from .collections import ModelCollections
from .meshes import MeshCache, mesh_file_name
from .placement import BuildPlan


def create_bodies(
    plan: BuildPlan,
    parenting: BoneParenting,
    folders: ModelCollections,
    mesh_cache: MeshCache,
    bodies: dict[str, bpy.types.Object],
    only: Container[str] | None = None,
) -> CreationTask[dict[str, bpy.types.Object]]:
    """Create the objects of all bodies, or of those in ``only``, and add them to ``bodies`` by id.

    A missing mesh is replaced by a box, with a label beside it.

    Returns:
        The created objects by id.
    """
    scenery, tensors = scenery_bodies(plan.mechanism), unit_tensors(plan.mechanism.bodies)
    seen: dict[str, tuple[Body, list[Shape]]] = {}
    for body in plan.mechanism.bodies:
        if body.id in seen or (only is not None and body.id not in only):
            continue
        visible = [shape for shape in body.shapes if shape.visual]
        if any(body.com.tolist()):
            visible = [_transform_shape(shape, -body.com) for shape in visible]
        seen[body.id] = body, visible
    made = yield [
        (body.name or key, mesh_cache.mesh(shapes, plan.colors[key], body)) for key, (body, shapes) in seen.items()
    ]
    into = [folders.folder("Bodies", body.assembly, body.active) for body, _ in seen.values()]
    with bulk_objects(made, into) as new:
        built = parenting.parent_all(new, list(seen), [com_pose(body) for body, _ in seen.values()])
    corners: dict[bpy.types.ID, list[float]] = {}
    for (body, visible), obj, at_home in zip(seen.values(), made, built, strict=True):
        _write_record(obj, body, parenting.rig, body.id in scenery, tensors.get(id(body)), at_home, corners)
        for shape in visible:
            if mesh_cache.is_missing(shape, body):
                folders["Frames"].objects.link(_create_label(obj, shape, mesh_cache.proxy))
    new_bodies = dict(zip(seen, made, strict=True))
    bodies |= new_bodies
    return new_bodies


def _create_label(body: bpy.types.Object, shape: Shape, edge: float) -> bpy.types.Object:
    """Create the label of a missing mesh at the box that replaces it. It is an empty, and so not rendered."""
    label = bpy.data.objects.new(f"Missing {mesh_file_name(shape)}", None)
    label.parent = body
    label.rotation_mode = "QUATERNION"
    label.matrix_basis = Matrix(shape.pose.tolist())
    label.empty_display_type, label.empty_display_size = "CUBE", edge / 2.0
    label.show_name = True
    record_of(label).role, record_of(label).model = "LABEL", record_of(body).model
    record_of(label).source_name = shape.mesh or ""
    return label


def com_pose(body: Body) -> Array:
    """Return the design pose (4, 4) of a body's center of mass, with the body's axes."""
    if not any(body.com.tolist()):
        return body.pose
    pose = body.pose.copy()
    pose[:3, 3] = body_center(body)
    return pose


def _transform_shape(shape: Shape, by: Array) -> Shape:
    pose = shape.pose.copy()
    pose[:3, 3] += by
    return replace(shape, pose=pose)


def unit_tensors(bodies: Sequence[Body]) -> dict[int, list[float]]:
    """Return the inertia tensors, for a mass of 1, of bodies for which the file has valid ones.

    Returns:
        9 numbers by rows, by the ``id()`` of the body.
    """
    stated = [body for body in bodies if body.inertia is not None and body.mass > 0.0]
    if not stated:
        return {}
    tensors = np.array([body.inertia for body in stated], dtype=np.float64).reshape(-1, 3, 3)
    with np.errstate(all="ignore"):
        rows = (tensors.reshape(-1, 9) / np.array([body.mass for body in stated])[:, None]).tolist()
    each = zip(stated, rows, min_principal_moments(tensors), strict=True)
    return {id(body): row for body, row, least in each if least > 0.0}


def _write_record(
    obj: bpy.types.Object,
    body: Body,
    rig: bpy.types.Object,
    scenery: bool,
    tensor: list[float] | None,
    built: list[float],
    corners: dict[bpy.types.ID, list[float]],
) -> None:
    """Write a body's record to its object. ``corners`` caches the reference points of meshes that bodies share."""
    values: dict[str, Any] = {
        "role": "BODY",
        "source_name": body.name,
        "source_id": body.id,
        "model": rig,
        **baseline_values(obj.name, built),
        "scenery": scenery,
        **stored_values(BODY_PROPERTIES, body),
    }
    if tensor is not None:
        values |= {"has_tensor": True, "tensor": tensor}
    elif body.inertia is not None and body.mass > 0.0:
        values["tensor"] = (np.asarray(body.inertia) / body.mass).ravel().tolist()
    if any(shape.visual and shape.type == "mesh" for shape in body.shapes):
        values["baseline_mesh"] = mesh_fingerprint(cast(bpy.types.Mesh, obj.data))
    if obj.data is not None and len(obj.data.vertices):  # type: ignore[union-attr]
        if obj.data not in corners:
            corners[obj.data] = mesh_reference_points(cast(bpy.types.Mesh, obj.data))
        values["baseline_corners"] = corners[obj.data]
    group = changed_properties(KnuckleObject, values)
    if body.shapes:
        group["shapes"] = [_shape_properties(shape, body) for shape in body.shapes]
    write_properties(obj, group)


def _shape_properties(shape: Shape, body: Body) -> PropertyValues:
    values = changed_shape_properties(shape)
    values["collidable"] = values["collidable"] and body.collidable
    return changed_properties(KnuckleShape, values)


def create_collision_children(
    plan: BuildPlan,
    bodies: dict[str, bpy.types.Object],
    mesh_cache: MeshCache,
    folders: ModelCollections,
    only: Container[str] | None = None,
) -> bool:
    """Create the collision shapes of all bodies, or of those whose ids are in ``only``; return whether there are any.

    Each child is where its shape is, so that Blender's primitive collision shapes count from its own origin and axes. A
    shape whose mesh is missing has none and does not collide: a meaningless box in its place would push things about.
    """
    made = False
    for body in plan.bodies.values():
        if own_mesh_collides(body.shapes) or not body.collidable:
            continue
        for number, shape in enumerate(body.shapes):
            if not collides(shape) or (only is not None and f"{body.id}/{number}" not in only):
                continue
            record = record_of(bodies[body.id]).shapes[number]
            record.collidable = not mesh_cache.is_missing(replace(shape, visual=False), body)  # as a collision shape
            if record.collidable:
                folder = folders.beside("Collision", body.assembly, body.active)
                folder.objects.link(_create_child(bodies[body.id], body, number, mesh_cache, plan))
                record.has_child = made = True
    return made


def _create_child(
    parent: bpy.types.Object, body: Body, number: int, mesh_cache: MeshCache, plan: BuildPlan
) -> bpy.types.Object:
    shape = body.shapes[number]
    mesh = mesh_cache.mesh([_shape_at_origin(shape)], plan.colors[body.id], body)
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
    record_baseline(child)
    return child


def _shape_at_origin(shape: Shape) -> Shape:
    """Return a shape at its own origin, without a color of its own; a plane as the block beneath it."""
    return replace(shape, pose=identity(), color=None, visual=shape.visual and shape.type != "plane")
