"""Twins of bodies and joints in Blender: made, linked, found, and one half made the mirror image of the other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix

from ...model.kinematics import joint_frame_world
from ...model.mirror import joint_parts
from ...model.records import DOF_SIZE, Array, Body, Dof, Joint
from ...model.report import Report
from ...model.rotations import inverse
from ...model.sides import Plane, Sides, counterpart_names, sides_of
from ...model.symmetry import Difference, Pair, asymmetries, find_twins
from ...model.twins import flip_between, image_of, mirror_dofs, mirrored_joint, usual_flip
from ..access import record_of, settings
from ..extract import extract
from ..joint_axes import constraint_turn
from ..joint_properties import KnuckleDof, KnuckleJoint
from ..listeners import quiet
from ..model_parts import file_name, parts
from ..records import flat, read_dofs, unflat, write_dof
from .copies import copy_part, copy_shapes, ids_in
from .joints import joint_frame, put_frame
from .places import rigid
from .refit import give_ids, refit

Objects = dict[str, bpy.types.Object]


def plane_of(rig: bpy.types.Object) -> Plane:
    """The plane between a model's halves, in its own axes: as its settings say, else between the twins that it has,
    else X = 0."""
    return sides_now(rig).plane


def plane_along(axis: int) -> Plane:
    """The plane through a model's origin that one of its own axes (0 to 2) is square to."""
    return Plane(np.eye(3)[axis])


def sides_now(rig: bpy.types.Object) -> Sides:
    """Who mirrors whom in a model as it stands, by id, and the plane between them."""
    give_ids(rig)
    return sides_of(extract(settings(rig).collection))


def by_id(rig: bpy.types.Object, role: str) -> Objects:
    """A model's bodies or joints by their ids; of several with one id the first."""
    return {record_of(obj).source_id: obj for obj in reversed(parts(rig, role))}


def twin_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The twin of a body or joint, if the two name each other."""
    record = record_of(obj)
    if not record.twin or record.model is None:
        return None
    other = by_id(record.model, record.role).get(record.twin)
    return other if other is not None and record_of(other).twin == record.source_id else None


def link_twins(first: bpy.types.Object, second: bpy.types.Object) -> None:
    """Have two parts be each other's twins; those that they had before have none. ValueError for parts of two kinds."""
    one, other = record_of(first), record_of(second)
    if first == second or one.role != other.role or one.model != other.model:
        raise ValueError("Twins are two bodies, or two joints, of one mechanism")
    for obj in (first, second):
        unlink_twin(obj)
    one.twin, other.twin = other.source_id, one.source_id


def unlink_twin(obj: bpy.types.Object) -> None:
    """A part and its twin are twins no more."""
    mate = twin_of(obj)
    if mate is not None:
        record_of(mate).twin = ""
    record_of(obj).twin = ""


def candidates(rig: bpy.types.Object, plane: Plane | None = None) -> list[Pair]:
    """Parts without twins that could be twins, by name, by place or both."""
    give_ids(rig)
    mechanism = extract(settings(rig).collection)
    return find_twins(mechanism, plane or sides_of(mechanism).plane)


def differences(rig: bpy.types.Object) -> list[Difference]:
    """What differs between the halves of a model."""
    give_ids(rig)
    mechanism = extract(settings(rig).collection)
    return asymmetries(mechanism, sides_of(mechanism))


# ---------------------------------------------------------------- one half like the other


def mirror_to_twins(objects: Iterable[bpy.types.Object], plane: Plane | None = None) -> tuple[int, Report]:
    """Make the twins of bodies and joints their mirror images: pose, size and mass; bodies, stops, springs and motors
    of joints. Returns how many there were. ValueError where none has a twin."""
    report = Report()
    chosen = {obj: mate for obj in objects if (mate := twin_of(obj)) is not None}
    rig = next((record_of(obj).model for obj in chosen), None)
    if rig is None:
        raise ValueError("None of the selected parts has a twin: Find Twins looks for them, Create Twin makes one")
    between = plane or plane_of(rig)
    with quiet():
        for obj, mate in chosen.items():
            if record_of(obj).role == "BODY":
                mirror_body(obj, mate, between)
        for obj, mate in chosen.items():
            if record_of(obj).role == "JOINT":
                report.extend(mirror_joint(obj, mate, between))
    report.extend(refit(rig))
    return len(chosen), report


def mirror_body(obj: bpy.types.Object, mate: bpy.types.Object, plane: Plane) -> None:
    """Make a body's object the mirror image of its twin's."""
    own, other = rigid(obj.matrix_basis), rigid(mate.matrix_basis)
    flip = flip_between(own, other, plane)
    size = _size_for(obj, mate, flip)
    mate.matrix_basis = Matrix(image_of(own, plane, flip).tolist()) @ Matrix.Diagonal((*size.tolist(), 1.0))
    record, theirs = record_of(obj), record_of(mate)
    theirs.mass, theirs.immobile = record.mass, record.immobile


def _size_for(obj: bpy.types.Object, mate: bpy.types.Object, flip: Array) -> Array:
    """The scale (3,) with which the twin's mesh is as large as the body's, axis by axis."""
    mine, its = (np.ptp(np.array(each.bound_box), axis=0) for each in (obj, mate))
    wanted = np.abs(flip).T @ (mine * np.abs(np.array(obj.matrix_basis.to_scale())))
    return np.where(its > 0.0, wanted / np.where(its > 0.0, its, 1.0), 1.0)


def mirror_joint(empty: bpy.types.Object, mate: bpy.types.Object, plane: Plane) -> Report:
    """Make a joint's empty and record the mirror image of its twin's: place, bodies, stops, springs, motors."""
    report = Report()
    record, theirs = record_of(empty).joint, record_of(mate).joint
    bodies = body_records(record_of(empty).model)
    mates = {key: body.twin for key, body in bodies.items() if body.twin}
    joint, twin = _joint_record(empty), _joint_record(mate)
    try:
        image = mirrored_joint(joint, plane, mates, bodies, twin)
    except ValueError as error:
        report.warn("twin-differs", str(error), where=mate.name)
        return report
    put_frame(mate, joint_frame_world(image, bodies))
    objects = by_id(record_of(empty).model, "BODY")
    theirs.parent, theirs.child = objects.get(image.parent or ""), objects.get(image.child or "")
    theirs.active = record.active
    _write_values(theirs, image.dofs)
    return report


def mirror_values(
    empty: bpy.types.Object, mate: bpy.types.Object, plane: Plane, bodies: dict[str, Body] | None = None
) -> None:
    """Give a joint's twin its stops, springs, motors and start, as far as their axes are mirror images, and leave the
    twin where it is. ``bodies`` are the ``body_records`` of the model, if they are at hand."""
    bodies = body_records(record_of(empty).model) if bodies is None else bodies
    joint, twin = _joint_record(empty), _joint_record(mate)
    image = [None if end is None else bodies[end].twin or end for end in (joint.parent, joint.child)]
    swapped = image == [twin.child, twin.parent] and image != [twin.parent, twin.child]
    reflected = inverse(joint_frame_world(twin, bodies)) @ plane.reflection @ joint_frame_world(joint, bodies)
    parts_, _nearest = joint_parts(joint, twin, reflected, swapped)
    mirror_dofs(joint, twin, parts_)
    record, theirs = record_of(empty).joint, record_of(mate).joint
    _write_values(theirs, twin.dofs)
    own, its = (_by_coordinate(each) for each in (record, theirs))
    for part in parts_:
        for name in ("servo_stiffness", "servo_damping"):
            setattr(its[part.to[0]], name, getattr(own[part.of[0]], name))


def _by_coordinate(record: KnuckleJoint) -> dict[int, KnuckleDof]:
    """The degrees of freedom of a joint by the number of their first coordinate."""
    firsts = np.cumsum([0, *(DOF_SIZE[dof.kind] for dof in record.dofs)])
    return dict(zip(firsts.tolist(), record.dofs, strict=False))


def _write_values(record: KnuckleJoint, dofs: Iterable[Dof]) -> None:
    single = iter(record.parts)
    for kept, dof in zip(record.dofs, dofs, strict=True):
        _rewrite(kept, dof)
        for part in dof.parts:
            _rewrite(next(single), part)


def _rewrite(kept: KnuckleDof, dof: Dof) -> None:
    step, channel, index = kept.step, kept.channel, kept.channel_index
    write_dof(kept, dof)
    kept.step, kept.channel, kept.channel_index = step, channel, index


def body_records(rig: bpy.types.Object) -> dict[str, Body]:
    """The bodies of a model with what mirroring a joint asks of them: where they are designed, and their twins."""
    return {
        record_of(obj).source_id: Body(
            record_of(obj).source_id, obj.name, rigid(obj.matrix_basis), twin=record_of(obj).twin or None
        )
        for obj in parts(rig, "BODY")
    }


def _joint_record(empty: bpy.types.Object) -> Joint:
    """A joint's record with frames on its bodies' objects."""
    record = record_of(empty).joint
    frame = joint_frame(empty)
    turn = constraint_turn(record)
    opening = unflat(record.opening) if record.is_open else np.eye(4)
    other = frame @ (opening if turn is None else turn @ opening @ inverse(turn))
    ends = record.parent, record.child
    names = [None if end is None else record_of(end).source_id for end in ends]
    sides = [
        side if end is None else inverse(rigid(end.matrix_basis)) @ side
        for end, side in zip(ends, (frame, other), strict=True)
    ]
    made = Joint(record_of(empty).source_id, file_name(empty), record.type, names[0], names[1], sides[0], sides[1])
    made.dofs, made.active = read_dofs(record), record.active
    return made


# ---------------------------------------------------------------- making twins


def create_twins(
    objects: Iterable[bpy.types.Object], plane: Plane | None = None
) -> tuple[list[bpy.types.Object], Report]:
    """Make the missing twins of bodies and joints, mirrored, with names of the other side. The joints among the chosen
    bodies, and those that carry them, come along. Returns what was made. ValueError where nothing lacks a twin."""
    chosen = [obj for obj in objects if record_of(obj).role in {"BODY", "JOINT"}]
    rig = next((record_of(obj).model for obj in chosen), None)
    if rig is None:
        raise ValueError("Select bodies or joints of the mechanism to make their twins")
    give_ids(rig)
    between = plane or plane_of(rig)
    bodies = [obj for obj in chosen if record_of(obj).role == "BODY" and twin_of(obj) is None]
    joints = {obj for obj in chosen if record_of(obj).role == "JOINT" and twin_of(obj) is None}
    joints |= {
        empty for empty in parts(rig, "JOINT") if record_of(empty).joint.child in bodies and twin_of(empty) is None
    }
    if not (bodies or joints):
        raise ValueError("Everything that is selected has a twin already: Mirror to Twin makes them alike")
    made: list[bpy.types.Object] = []
    with quiet():
        for obj in bodies:
            made.append(_twin_body(rig, obj, between))
        for empty in (each for each in parts(rig, "JOINT") if each in joints):
            made.append(_twin_joint(rig, empty, between))
    return made, refit(rig)


def twin_name(name: str, taken: Collection[str]) -> str:
    """What a twin is called: ``Left Hip`` -> ``Right Hip``, ``FL`` -> ``FR``; where the name has no side, with a number
    behind it."""
    for other in counterpart_names(name):
        if other not in taken:
            return other
    stem = re.sub(r" twin( \d+)?$", "", name)
    number, out = 1, f"{stem} twin"
    while out in taken:
        number += 1
        out = f"{stem} twin {number}"
    return out


def _copy(rig: bpy.types.Object, obj: bpy.types.Object) -> bpy.types.Object:
    """A copy of a part with an id of its own, the original's twin."""
    ids = ids_in(rig)
    name = twin_name(file_name(obj), {file_name(other) for other in parts(rig, record_of(obj).role)})
    made = copy_part(obj, name, twin_name(record_of(obj).source_id, ids) if name in ids else name)
    record_of(made).twin, record_of(obj).twin = record_of(obj).source_id, record_of(made).source_id
    return made


def _twin_body(rig: bpy.types.Object, obj: bpy.types.Object, plane: Plane) -> bpy.types.Object:
    made = _copy(rig, obj)
    flip = usual_flip(plane)
    local = np.eye(4)
    local[:3, :3] = flip
    scale = Matrix.Diagonal((*obj.matrix_basis.to_scale(), 1.0))
    made.matrix_basis = Matrix(image_of(rigid(obj.matrix_basis), plane, flip).tolist()) @ scale
    record = record_of(made)
    record.com = flip @ np.array(record.com)
    record.tensor = (flip @ np.array(record.tensor).reshape(3, 3) @ flip).ravel().tolist()
    uneven = False
    for shape in record.shapes:
        pose = unflat(shape.pose)
        shape.pose = flat(local @ pose @ local)
        uneven |= shape.type == "mesh" or bool(np.abs(local @ pose @ local - pose).max() > 1e-6)
        if shape.type == "mesh":
            shape.size[int(np.argmin(np.diag(flip)))] *= -1.0
    if uneven:
        mesh = cast(bpy.types.Mesh, obj.data).copy()
        mesh.transform(Matrix(local.tolist()))
        mesh.flip_normals()
        made.data = mesh
    copy_shapes(obj, made, local)
    return made


def _twin_joint(rig: bpy.types.Object, empty: bpy.types.Object, plane: Plane) -> bpy.types.Object:
    bodies = body_records(rig)
    mates = {key: body.twin for key, body in bodies.items() if body.twin}
    image = mirrored_joint(_joint_record(empty), plane, mates, bodies)
    made = _copy(rig, empty)
    joint = record_of(made).joint
    objects = by_id(rig, "BODY")
    joint.parent, joint.child = objects.get(image.parent or ""), objects.get(image.child or "")
    _write_values(joint, image.dofs)
    put_frame(made, joint_frame_world(image, bodies))
    return made
