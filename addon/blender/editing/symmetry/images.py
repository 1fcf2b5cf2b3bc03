"""Mirror images of what bodies have in Blender alone or attached: meshes, collision shapes, frames, lights, restraints.

Bodies and joints themselves are mirrored by ``core.editing.symmetry`` and written by ``reconcile.update``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ....core.editing.sides import counterpart_names
from ....core.editing.twins import (
    flip_between,
    frame_flip,
    mirror_local_pose,
    mirror_restraint_records,
)
from ....core.model import Array, Body, Mechanism, Plane
from ....core.report import Message, Report
from ...data.access import record_of, settings
from ...data.conversion import (
    flatten_pose,
    mesh_fingerprint,
    mesh_reference_points,
    store_mirrored_restraints,
    unflatten_pose,
    with_mirrored_restraints,
)
from ...data.copied_mechanisms import copy_into_same_collections
from ...data.documents import read_document
from ...data.queries import file_name
from ...reconcile.rig_state import rigid_design_pose, rigid_matrix, set_design_pose
from ...rig.joint_frames import read_body
from ...scene.attachments import store_restraints
from ...scene.read.mechanism import extract
from .appearance import MeshMirror

# ---------------------------------------------------------------- bodies


def dress_image(obj: bpy.types.Object, twin: bpy.types.Object, plane: Plane, looks: MeshMirror, is_new: bool) -> None:
    """Give the image of a body, whose record is written, the mirrored mesh, and what is attached to the body.

    Physics has to be cleared before. ``is_new``: the image is a new copy.
    """
    own, image = (read_body(each, rigid_design_pose) for each in (obj, twin))
    flip = flip_between(own.pose, image.pose, plane)
    scale = np.abs(flip).T @ np.array(obj.matrix_basis.to_scale())
    set_design_pose(twin, rigid_matrix(twin.matrix_basis) @ np.diag([*scale, 1.0]))
    kept = looks.kept.get(record_of(obj).source_id, ())
    _mirror_mesh(obj, twin, flip, kept, is_new, looks)
    _mirror_shape_children(obj, twin, own, image, flip, kept, looks)
    _mirror_attachments(obj, twin, flip)


def _mirror_mesh(
    obj: bpy.types.Object, twin: bpy.types.Object, flip: Array, kept: Collection[int], is_new: bool, looks: MeshMirror
) -> None:
    """Mirror a body's mesh to its twin, and the mesh data in its record by which edited meshes are recognized."""
    own, its = record_of(obj), record_of(twin)
    if looks.put(obj, twin, flip):
        corners = np.array(own.corners, dtype=np.float64).reshape(4, 4)
        if twin.data != obj.data:  # a shared mesh is its own mirror image
            corners[:, 1:] = corners[:, 1:] @ flip
        its.corners = corners.ravel().tolist()
        its.surface = [own.surface[0], *(np.abs(flip).T @ np.array(own.surface[1:])).tolist()]
    elif not is_new and any(
        shape.visual and shape.type == "mesh" and number not in kept for number, shape in enumerate(its.shapes)
    ):
        mesh = cast(bpy.types.Mesh, twin.data)
        its.corners, its.surface = mesh_reference_points(mesh), mesh_fingerprint(mesh)


def unchanged_meshes(obj: bpy.types.Object, twin: bpy.types.Object, plane: Plane, looks: MeshMirror) -> set[int]:
    """Return the indices of shapes whose meshes are separate files that are mirror images already."""
    own, its = (read_body(each, rigid_design_pose) for each in (obj, twin))
    flip = flip_between(own.pose, its.pose, plane)
    mine, theirs = shape_children(obj), shape_children(twin)
    out = set()
    for number, (shape, other) in enumerate(zip(own.shapes, its.shapes, strict=False)):
        if not (shape.type == other.type == "mesh") or not (shape.mesh and other.mesh):
            continue
        seen = [(obj, twin, (_translation(own.com), _translation(its.com)))] if shape.visual else []
        if number in mine and number in theirs:
            seen.append((mine[number], theirs[number], (shape.pose, other.pose)))
        if any(looks.are_mirror_images(one, two, flip, poses) for one, two, poses in seen):
            out.add(number)
    return out


def _translation(place: Array) -> Array:
    out = np.eye(4)
    out[:3, 3] = place
    return out


def shape_children(obj: bpy.types.Object) -> dict[int, bpy.types.Object]:
    """Return the child objects of a body that represent its collision shapes, by shape index."""
    return {record_of(child).shape: child for child in obj.children if is_shape_child(child)}


def is_shape_child(child: bpy.types.Object) -> bool:
    """Return whether a child of a body represents one of its shapes."""
    return record_of(child).role == "SHAPE" and record_of(child).shape >= 0


def _mirror_shape_children(
    obj: bpy.types.Object,
    twin: bpy.types.Object,
    own: Body,
    image: Body,
    flip: Array,
    kept: Collection[int],
    looks: MeshMirror,
) -> None:
    """Make the child collision shapes of a twin mirror images of the body's."""
    mine, theirs = shape_children(obj), shape_children(twin)
    bpy.data.batch_remove([child for number, child in theirs.items() if number not in mine])
    for number, child in mine.items():
        if number in kept or number >= len(image.shapes):
            continue
        part = theirs.get(number) or _copy_to(child, twin)
        record_of(part).source_id, record_of(part).shape = f"{record_of(twin).source_id}/{number}", number
        at = mirror_local_pose(own.shapes[number].pose, flip, np.eye(3))
        turn: Array = (at[:3, :3].T @ image.shapes[number].pose[:3, :3]).round()
        _place_child(child, part, flip, turn)
        record_of(part).built = flatten_pose(mirror_local_pose(unflatten_pose(record_of(child).built), flip, turn))
        looks.put(child, part, turn)


def _copy_to(child: bpy.types.Object, holder: bpy.types.Object) -> bpy.types.Object:
    made = copy_into_same_collections(child)
    made.parent = holder
    record_of(made).built_name = made.name
    return made


def _place_child(child: bpy.types.Object, part: bpy.types.Object, flip: Array, turn: Array) -> None:
    """Place a child of a twin at the mirror image of the body's child, whose own axes are reflected by ``turn``."""
    hung = np.array(child.matrix_parent_inverse, dtype=np.float64)
    part.matrix_parent_inverse = Matrix(mirror_local_pose(hung, flip, flip).tolist())
    scale = np.abs(turn).T @ np.array(child.matrix_basis.to_scale())
    set_design_pose(part, mirror_local_pose(rigid_matrix(child.matrix_basis), flip, turn) @ np.diag([*scale, 1.0]))


def _mirror_attachments(holder: bpy.types.Object, twin: bpy.types.Object, flip: Array) -> None:
    """Make the reference frames and lights on a twin mirror images of the body's; missing ones are created.

    ``flip`` (3, 3) is the reflection of the twin's axes.
    """
    free = [child for child in twin.children if record_of(child).role in {"FRAME", "LIGHT"}]
    mine = [child for child in holder.children if record_of(child).role in {"FRAME", "LIGHT"}]
    for child, found in _match_attachments(mine, free):
        part = found or _copy_to(child, twin)
        if found is None:
            name = next(iter(counterpart_names(file_name(child))), file_name(child))
            record_of(part).source_name, record_of(part).copy_of = name, record_of(child).source_id
            part.name = name
            record_of(part).built_name = part.name
            if child.type == "LIGHT":
                part.data = cast(bpy.types.Light, child.data).copy()
        pose = rigid_matrix(child.matrix_basis)
        turn = frame_flip(pose, flip, rigid_matrix(part.matrix_basis), upright=child.type == "LIGHT")
        _place_child(child, part, flip, turn)
        if child.type == part.type == "LIGHT":
            _copy_light(child.data, part.data)
        _mirror_attachments(child, part, turn)


def _match_attachments(
    mine: list[bpy.types.Object], theirs: list[bpy.types.Object]
) -> list[tuple[bpy.types.Object, bpy.types.Object | None]]:
    """Return the frame or light of a twin for each of the body, or None.

    They match by the name of the other side or the same name, else as the only remaining pair.
    """
    out: list[tuple[bpy.types.Object, bpy.types.Object | None]] = []
    left = list(theirs)
    for child in mine:
        names = [*counterpart_names(file_name(child)), file_name(child)]
        alike = [part for part in left if record_of(part).role == record_of(child).role]
        found = next((part for name in names for part in alike if file_name(part) == name), None)
        if found is not None:
            left.remove(found)
        out.append((child, found))
    for role in ("FRAME", "LIGHT"):
        lone = [child for child, part in out if part is None and record_of(child).role == role]
        rest = [part for part in left if record_of(part).role == role]
        if len(lone) == len(rest) == 1:
            out[out.index((lone[0], None))] = lone[0], rest[0]
    return out


def _copy_light(lamp: Any, other: Any) -> None:
    if lamp == other:
        return
    if lamp.type != other.type:
        other.type = lamp.type
        other = other.type_recast()
    other.color, other.energy = lamp.color, lamp.energy


_Objects = Mapping[str, bpy.types.Object]


def mirror_part_restraints(
    rig: bpy.types.Object,
    led: Iterable[bpy.types.Object],
    plane: Plane,
    bodies: _Objects,
    joints: _Objects,
    report: Report,
) -> None:
    """Mirror the restraints of parts to their twins, which are mirror images already. Physics has to be cleared before.

    Args:
        rig: The armature.
        led: The bodies and joints that are mirrored.
        plane: The mirror plane.
        bodies: All bodies of the mechanism, by id.
        joints: All joints, by id.
        report: Gets the restraints that are left out.
    """
    base = read_document(rig) if settings(rig).format == "shift" else None  # other formats have none
    if base is None or not base.restraints:
        return
    mechanism = replace(extract(rig), restraints=with_mirrored_restraints(rig, base.restraints))
    ids = {role: {record_of(obj).source_id for obj in led if record_of(obj).role == role} for role in ("BODY", "JOINT")}
    images, left_out = mirror_restraint_records(mechanism, plane, ids["BODY"], ids["JOINT"])
    for name in left_out:
        report.warn(
            "restraint-not-mirrored",
            Message("Restraint {}: not mirrored, the twin of its joint does not support it", repr(name)),
            where=name,
        )
    if images:
        store_mirrored_restraints(rig, images)
        refresh_restraints(rig, base, bodies, joints)


def refresh_restraints(rig: bpy.types.Object, base: Mechanism, bodies: _Objects, joints: _Objects) -> None:
    """Store the restraints of a mechanism's document again for physics, with those that mirroring created or changed.

    Args:
        rig: The armature.
        base: Mechanism of the document.
        bodies: All bodies, by id; restraints on others are left out.
        joints: All joints, by id.
    """
    if settings(rig).mirrored_restraints:
        now, known = extract(rig), {joint.id for joint in base.joints}
        made = [replace(joint, extra={}) for joint in now.joints if joint.id not in known]
        every = with_mirrored_restraints(rig, base.restraints)
        base = replace(base, bodies=now.bodies, joints=[*base.joints, *made], restraints=every)
    there = [item for item in base.restraints if {*(item.bodies or ())} <= {None, *bodies}]
    settings(rig).restraints.clear()
    store_restraints(rig, replace(base, restraints=there), bodies, joints)
