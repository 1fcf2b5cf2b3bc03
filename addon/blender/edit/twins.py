"""Twins of bodies and joints in Blender: made, linked, found, and one half made the mirror image of the other."""

from __future__ import annotations

from collections.abc import Iterable

import bpy
import numpy as np

from ...model.kinematics import joint_frame_world, joint_side_world
from ...model.mirror import joint_parts
from ...model.records import DOF_SIZE, Array, Body, Dof, Joint, Mechanism
from ...model.report import Report
from ...model.rotations import inverse
from ...model.sides import Plane, Sides, sides_of
from ...model.symmetry import Difference, Pair, asymmetries, find_twins
from ...model.twins import flip_between, image_of, mirror_dofs, mirrored_joint
from ..access import record_of
from ..extract import extract
from ..joint_properties import KnuckleDof, KnuckleJoint
from ..listeners import quiet
from ..model_parts import file_name, parts
from ..records import read_dofs, write_dof
from .joints import joint_frame, opening_of, put_frame, put_opening
from .places import put_design, rigid
from .refit import give_ids, refit

Objects = dict[str, bpy.types.Object]


def plane_of(rig: bpy.types.Object) -> Plane:
    """The plane between a model's halves, in its own axes: as its settings say, else between the twins that it has,
    else X = 0."""
    return sides_now(rig).plane


def plane_between(rig: bpy.types.Object) -> Plane:
    """The same as its objects stand in the design, without a look at its document: as exact as 32 bits are."""

    def place(obj: bpy.types.Object) -> Array:
        return np.array(obj.matrix_basis, dtype=np.float64)

    bodies = [
        Body(key, file_name(obj), place(obj), twin=record_of(obj).twin or None)
        for key, obj in by_id(rig, "BODY").items()
    ]
    joints = [
        Joint(
            key,
            file_name(obj),
            "",
            None,
            None,
            np.array(obj.matrix_basis, dtype=np.float64),
            twin=record_of(obj).twin or None,
        )
        for key, obj in by_id(rig, "JOINT").items()
    ]
    return sides_of(Mechanism("", bodies=bodies, joints=joints)).plane


def plane_along(axis: int) -> Plane:
    """The plane through a model's origin that one of its own axes (0 to 2) is square to."""
    return Plane(np.eye(3)[axis])


def sides_now(rig: bpy.types.Object) -> Sides:
    """Who mirrors whom in a model as it stands, by id, and the plane between them."""
    give_ids(rig)
    return sides_of(extract(rig))


def by_id(rig: bpy.types.Object, role: str) -> Objects:
    """A model's bodies or joints by their ids; of several with one id, which are copies, the one that still has the
    name that it was built with, else the first."""
    every = parts(rig, role)
    out = {record_of(obj).source_id: obj for obj in reversed(every)}
    if len(out) < len(every):
        renamed = [obj for obj in every if obj.name == record_of(obj).built_name]
        out.update((record_of(obj).source_id, obj) for obj in reversed(renamed))
    return out


def twin_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The twin of a body or joint, if the two name each other. A copy is nobody's. (Of many: ``mates``.)"""
    record = record_of(obj)
    if not record.twin or record.model is None:
        return None
    known = by_id(record.model, record.role)
    other = known.get(record.twin)
    is_own = known.get(record.source_id) == obj
    return other if is_own and other is not None and record_of(other).twin == record.source_id else None


def mates(rig: bpy.types.Object) -> dict[bpy.types.Object, bpy.types.Object]:
    """The twins of all bodies and joints of a model that have one."""
    out = {}
    for known in (by_id(rig, role) for role in ("BODY", "JOINT")):
        for key, obj in known.items():
            other = known.get(record_of(obj).twin)
            if other is not None and record_of(other).twin == key:
                out[obj] = other
    return out


def mates_among(objects: Iterable[bpy.types.Object]) -> dict[bpy.types.Object, bpy.types.Object]:
    """The twins of those of some parts that have one."""
    chosen = list(objects)
    rigs = dict.fromkeys(record_of(obj).model for obj in chosen if record_of(obj).model is not None)
    known = {obj: mate for rig in rigs for obj, mate in mates(rig).items()}
    return {obj: known[obj] for obj in chosen if obj in known}


def note(obj: bpy.types.Object, mate: bpy.types.Object) -> None:
    """Twins are alike, as far as they are to be, as they stand now: what is edited from here on symmetrical editing
    does to both."""
    count = max(record_of(obj).seen_count, record_of(mate).seen_count) + 1
    for one, other in ((obj, mate), (mate, obj)):
        record = record_of(one)
        record.seen, record.seen_name = one.matrix_basis, one.name
        record.seen_twin, record.seen_twin_name = other.matrix_basis, other.name
        record.seen_count = count


def link_twins(first: bpy.types.Object, second: bpy.types.Object) -> None:
    """Have two parts be each other's twins; those that they had before have none. ValueError for parts of two kinds."""
    one, other = record_of(first), record_of(second)
    if first == second or one.role != other.role or one.model != other.model:
        raise ValueError("Twins are two bodies, or two joints, of one mechanism")
    unlink_twins([obj for obj in (first, second) if record_of(obj).twin])
    one.twin, other.twin = other.source_id, one.source_id
    note(first, second)


def unlink_twins(objects: Iterable[bpy.types.Object]) -> None:
    """Parts and their twins are twins no more."""
    chosen = list(objects)
    for obj in (*mates_among(chosen).values(), *chosen):
        if record_of(obj).twin:
            record_of(obj).twin = ""


def unlink_twin(obj: bpy.types.Object) -> None:
    """A part and its twin are twins no more."""
    unlink_twins([obj])


def candidates(rig: bpy.types.Object, plane: Plane | None = None) -> list[Pair]:
    """Parts without twins that could be twins, by name, by place or both."""
    give_ids(rig)
    mechanism = extract(rig)
    return find_twins(mechanism, plane or sides_of(mechanism).plane)


def differences(rig: bpy.types.Object) -> list[Difference]:
    """What differs between the twins of a model."""
    give_ids(rig)
    mechanism = extract(rig)
    return asymmetries(mechanism, sides_of(mechanism))


# ---------------------------------------------------------------- one half like the other


def mirror_to_twins(objects: Iterable[bpy.types.Object], plane: Plane | None = None) -> tuple[int, Report]:
    """Make the twins of bodies and joints their mirror images: pose, size and mass; bodies, stops, springs and motors
    of joints. Returns how many there were. ValueError where none has a twin."""
    report = Report()
    chosen = mates_among(objects)
    rig = next((record_of(obj).model for obj in chosen), None)
    if rig is None:
        raise ValueError("None of the selected parts has a twin: Find Twins looks for them, Create Twin makes one")
    between = plane or plane_of(rig)
    with quiet():
        for obj, mate in chosen.items():
            if record_of(obj).role == "BODY":
                mirror_body(obj, mate, between)
        around = Surroundings(rig)
        for obj, mate in chosen.items():
            if record_of(obj).role == "JOINT":
                report.extend(mirror_joint(obj, mate, between, around))
    report.extend(refit(rig))
    return len(chosen), report


def mirror_body(obj: bpy.types.Object, mate: bpy.types.Object, plane: Plane) -> None:
    """Make a body's object the mirror image of its twin's."""
    own, other = rigid(obj.matrix_basis), rigid(mate.matrix_basis)
    flip = flip_between(own, other, plane)
    size = _size_for(obj, mate, flip)
    put_design(mate, image_of(own, plane, flip) @ np.diag([*size, 1.0]))
    record, theirs = record_of(obj), record_of(mate)
    theirs.mass, theirs.immobile = record.mass, record.immobile


def _size_for(obj: bpy.types.Object, mate: bpy.types.Object, flip: Array) -> Array:
    """The scale (3,) with which the twin's mesh is as large as the body's, axis by axis."""
    mine, its = (np.ptp(np.array(each.bound_box), axis=0) for each in (obj, mate))
    wanted = np.abs(flip).T @ (mine * np.abs(np.array(obj.matrix_basis.to_scale())))
    return np.where(its > 0.0, wanted / np.where(its > 0.0, its, 1.0), 1.0)


class Surroundings:
    """What mirroring joints asks of their model, gathered once: its bodies' objects and records, by id."""

    def __init__(self, rig: bpy.types.Object) -> None:
        self.objects = by_id(rig, "BODY")
        self.bodies = body_records(rig)
        self.mates = {key: body.twin for key, body in self.bodies.items() if body.twin}


def mirror_joint(empty: bpy.types.Object, mate: bpy.types.Object, plane: Plane, around: Surroundings) -> Report:
    """Make a joint's empty and record the mirror image of its twin's: place, bodies, stops, springs, motors."""
    report = Report()
    joint, twin = joint_record(empty), joint_record(mate)
    try:
        image = mirrored_joint(joint, plane, around.mates, around.bodies, twin)
    except ValueError as error:
        report.warn("twin-differs", str(error), where=mate.name)
        return report
    put_image(empty, mate, image, around)
    return report


def put_image(empty: bpy.types.Object, mate: bpy.types.Object, image: Joint, around: Surroundings) -> None:
    """Make a joint's twin what its mirror image says."""
    record, theirs = record_of(empty).joint, record_of(mate).joint
    theirs.parent, theirs.child = (around.objects.get(end or "") for end in (image.parent, image.child))
    theirs.active = record.active
    write_values(theirs, image.dofs)
    frame = joint_frame_world(image, around.bodies)
    put_frame(mate, frame)
    put_opening(theirs, inverse(frame) @ joint_side_world(image, around.bodies) if record.is_open else None)


def mirror_values(
    empty: bpy.types.Object, mate: bpy.types.Object, plane: Plane, bodies: dict[str, Body] | None = None
) -> None:
    """Give a joint's twin its stops, springs, motors and start, as far as their axes are mirror images, and leave the
    twin where it is. ``bodies`` are the ``body_records`` of the model, if they are at hand."""
    if bodies is None:
        records = (record_of(empty).joint, record_of(mate).joint)
        ends = {end for record in records for end in (record.parent, record.child) if end is not None}
        bodies = {record_of(end).source_id: _body_record(end) for end in ends}
    joint, twin = joint_record(empty), joint_record(mate)
    image = [None if end is None else bodies[end].twin or end for end in (joint.parent, joint.child)]
    swapped = image == [twin.child, twin.parent] and image != [twin.parent, twin.child]
    reflected = inverse(joint_frame_world(twin, bodies)) @ plane.reflection @ joint_frame_world(joint, bodies)
    parts_, _nearest = joint_parts(joint, twin, reflected, swapped)
    mirror_dofs(joint, twin, parts_)
    record, theirs = record_of(empty).joint, record_of(mate).joint
    write_values(theirs, twin.dofs)
    own, its = (_by_coordinate(each) for each in (record, theirs))
    for part in parts_:
        for name in ("servo_stiffness", "servo_damping"):
            setattr(its[part.to[0]], name, getattr(own[part.of[0]], name))


def _by_coordinate(record: KnuckleJoint) -> dict[int, KnuckleDof]:
    """The degrees of freedom of a joint by the number of their first coordinate."""
    firsts = np.cumsum([0, *(DOF_SIZE[dof.kind] for dof in record.dofs)])
    return dict(zip(firsts.tolist(), record.dofs, strict=False))


def write_values(record: KnuckleJoint, dofs: Iterable[Dof]) -> None:
    """Put values of a joint's degrees of freedom into its record, and leave where they are posed."""
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
    return {key: _body_record(obj) for key, obj in by_id(rig, "BODY").items()}


def _body_record(obj: bpy.types.Object) -> Body:
    record = record_of(obj)
    return Body(record.source_id, obj.name, rigid(obj.matrix_basis), twin=record.twin or None)


def joint_record(empty: bpy.types.Object) -> Joint:
    """A joint's record with frames on its bodies' objects."""
    record = record_of(empty).joint
    frame = joint_frame(empty)
    opening = opening_of(record)
    other = frame if opening is None else frame @ opening
    ends = record.parent, record.child
    names = [None if end is None else record_of(end).source_id for end in ends]
    sides = [
        side if end is None else inverse(rigid(end.matrix_basis)) @ side
        for end, side in zip(ends, (frame, other), strict=True)
    ]
    made = Joint(record_of(empty).source_id, file_name(empty), record.type, names[0], names[1], sides[0], sides[1])
    made.dofs, made.active = read_dofs(record), record.active
    return made
