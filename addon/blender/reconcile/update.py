"""Update of a mechanism's objects to an edited mechanism.

Only objects and records of parts that differ are written; all else keeps what the user attached to it. The armature is
then updated to the edited bodies and joints (``rig_update``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np

from ...core.editing.edits import Edit, JointEdit
from ...core.kinematics import OPENING_TOLERANCE, joint_child_frame_world, joint_frame_world
from ...core.model import DOF_SIZE, Array, Body, Dof, Joint, Mechanism, body_by_id, joint_by_id
from ...core.record_utils import copy_mechanism
from ...core.report import Report
from ...core.transforms import inverse
from ..animation.actions import active_action
from ..data.access import record_of
from ..data.baseline import record_baseline, record_baseline_name, record_mirror_state, write_name
from ..data.conversion import dof_records, flatten_pose, set_dof_fields, write_dofs, write_shape
from ..data.copied_mechanisms import collision_children_by_body, copy_into_same_collections, copy_part
from ..data.facts import BODY_PROPERTIES, DOF_PROPERTIES, differing_values, push
from ..data.properties.joint import KnuckleDof, KnuckleJoint
from ..data.queries import parts, parts_by_id, record_deletion
from ..events.signals import writing_records
from ..rig.joint_frames import constraint_rotation, lost_ends
from ..scene.bodies import com_pose
from ..scene.collections import show_active_parts
from ..scene.parts import PartObjects, create_missing, missing_shapes
from ..scene.placement import make_plan
from .foreign_objects import AdoptedMesh, adopt_mesh_object, attached_objects, preserve_world_poses
from .motion_change import KeyConversion, KeyframePoses, dof_kinds, joints_sharing_loops
from .rig_state import RigState, set_design_pose
from .rig_update import physics_suspended, update_armature

_Objects = Mapping[str, bpy.types.Object]


@dataclass(frozen=True)
class EditObjects:
    """Objects that an edit deletes, adopts or changes in appearance, which no mechanism has.

    Attributes:
        lost: Objects to delete of joints that the mechanism lacks, because they lost a body.
        adopted: The user's meshes that become new bodies, by the ids of these.
        dress: Gives a mirror image, its second argument, the appearance of the body that is mirrored.
        document: Mechanism of the document, where the edit restores deleted parts: those without objects are created as
            an import creates them, those that Blender kept keep their records, and joints place them. The armature is
            updated in any case.
    """

    lost: Collection[bpy.types.Object] = ()
    adopted: Mapping[str, AdoptedMesh] = field(default_factory=dict)
    dress: Callable[[bpy.types.Object, bpy.types.Object], None] | None = None
    document: Mechanism | None = None


_NOTHING_ELSE = EditObjects()


def update(rig: bpy.types.Object, edit: Edit, present: RigState, also: EditObjects = _NOTHING_ELSE) -> Report:
    """Change a mechanism's objects to an edited mechanism; bodies stay where they are seen.

    Args:
        rig: The armature.
        edit: The edit of the mechanism that ``rig`` was read as.
        present: State of the mechanism before the edit (``rig_update.begin_edit``).
        also: Objects that it deletes, adopts or changes in appearance.

    Returns:
        The report.
    """
    before = joint_by_id(edit.before)
    redefined = edit.deleted_joints
    redefined |= {
        each.id for each in edit.after.joints if each.id in before and _moves_otherwise(each, before[each.id])
    }
    motion = KeyframePoses(rig, present, {*redefined, *joints_sharing_loops(rig, redefined)} if redefined else ())
    playing = active_action(rig)
    report = write_parts(rig, edit, present, also, compared=() if playing is None else (playing,))
    report.extend(motion.change())
    return report


def write_parts(
    rig: bpy.types.Object,
    edit: Edit,
    present: RigState,
    also: EditObjects = _NOTHING_ELSE,
    compared: Collection[bpy.types.Action] = (),
) -> Report:
    """Do what ``update`` does, without a comparison of where the bodies are at keyframes before and after.

    ``compared`` are Actions for which the caller does that.
    """
    before, known = joint_by_id(edit.before), body_by_id(edit.before)
    joints = [joint for joint in edit.after.joints if joint is not before.get(joint.id)]
    bodies = [body for body in edit.after.bodies if body is not known.get(body.id)]
    switched = edit.after.assemblies is not edit.before.assemblies
    restores = also.document is not None
    if not (joints or bodies or edit.deleted_joints or edit.deleted_bodies or also.lost or switched or restores):
        return Report()
    report = Report()
    keys = KeyConversion(rig, present, edit, compared)
    report.extend(keys.report)
    objects = {"BODY": parts_by_id(rig, "BODY"), "JOINT": parts_by_id(rig, "JOINT")}
    changed = [objects[role].get(part.id) for role, some in (("BODY", bodies), ("JOINT", joints)) for part in some]
    designed: Mechanism | None = None if edit.images else copy_mechanism(edit.after)  # the update shifts designs in it
    if not restores and any(obj is not None and obj.parent != rig for obj in changed):
        designed = None  # parts are designed elsewhere after this
        report.extend(update_armature(rig))  # the local matrix of a part that is parented elsewhere is in other axes
        present = RigState(rig)
    retyped = [joint for joint in joints if joint.id in before and dof_kinds(joint) != dof_kinds(before[joint.id])]
    turned = [empty for joint in retyped if (empty := objects["JOINT"].get(joint.id)) is not None]
    strangers = attached_objects(turned, rig)[1] if turned else []  # empties have the axes of their constraints
    with physics_suspended(rig, report), writing_records(), preserve_world_poses(strangers):
        _delete_parts(rig, edit, also.lost)
        copies = _copy_parts(rig, edit, objects)
        made = _create_parts(rig, edit, objects, bodies, joints, also, report)
        holders, empties = ({**objects[role], **copies[role], **made[role]} for role in ("BODY", "JOINT"))
        _write_bodies(edit, bodies, holders, also)
        _write_joints(edit, joints, empties, holders, made["JOINT"])
        if not restores:
            _record_new_twins(bodies, known, holders)
            _record_new_twins(joints, before, empties)
        show_active_parts(rig, edit, holders, empties)
        placed = [obj for some in copies.values() for obj in some.values()]
        placed += [holders[body.id] for body in bodies if body.active and not known.get(body.id, body).active]
        if restores:
            designed = None
            placed = [holders[body.id] for body in bodies if body.id not in known]
            bpy.context.view_layer.update()
            present = RigState(rig)  # the bones of deleted joints may be there
        report.extend(update_armature(rig, present, edit.joints, placed, designed))
        keys.write()
    return report


def _write_bodies(edit: Edit, bodies: Iterable[Body], objects: _Objects, also: EditObjects) -> None:
    """Write changed bodies, copies and adopted meshes to their objects, which are given by id."""
    known = body_by_id(edit.before)
    for body in bodies:
        obj, before = objects[body.id], known.get(edit.copies.get(body.id, body.id))
        if before is not None or body.id in also.adopted:
            source = objects.get(edit.images.get(body.id, ""))
            write_body(obj, body, before, source)
            record_of(obj).twin = body.twin or ""
            if source is not None and also.dress is not None:
                also.dress(source, obj)
        if body.id in also.adopted:
            record_baseline(obj)


def _write_joints(
    edit: Edit, joints: Iterable[Joint], empties: _Objects, bodies: _Objects, created: Collection[str]
) -> None:
    """Write changed joints and copies to their empties; restored ones that were not created get their bodies back."""
    known, after = joint_by_id(edit.before), body_by_id(edit.after)
    for joint in joints:
        empty, before = empties[joint.id], known.get(edit.copies.get(joint.id, joint.id))
        if before is not None:
            write_joint(empty, joint, before, after, bodies, edit.joints.get(joint.id))
            _write_assembled_values(record_of(empty).joint, joint.dofs, edit.assembled.get(joint.id))
            record_of(empty).twin = joint.twin or ""
        elif joint.id not in created:
            for end, own in lost_ends(empty, (joint.parent, joint.child), bodies.values()).items():
                setattr(record_of(empty).joint, end, bodies.get(own))


def update_records(rig: bpy.types.Object, edit: Edit) -> int:
    """Write what an edit of values changes in the records of a mechanism (``update_part_records``)."""
    return update_part_records(parts_by_id(rig, "BODY"), parts_by_id(rig, "JOINT"), edit)


def update_part_records(bodies: _Objects, joints: _Objects, edit: Edit) -> int:
    """Write what an edit of values changes in the records of parts; nothing moves, and nothing else is compared.

    These are names, twins, the values of bodies, and the stops, springs and motors of joints. A joint emits one signal.
    A stop that is removed keeps its value in the record, for when it is switched on again.

    Args:
        bodies: Bodies of the edited mechanism, by id.
        joints: Joints of the edited mechanism, by id.
        edit: The edit; it may be one of these parts alone.

    Returns:
        The number of changed parts.
    """
    known, before, count = body_by_id(edit.before), joint_by_id(edit.before), 0
    for body in edit.after.bodies:
        count += body is not known[body.id] and _update_body(bodies[body.id], body, known[body.id])
    for joint in edit.after.joints:
        count += joint is not before[joint.id] and _update_joint(joints[joint.id], joint, before[joint.id], edit)
    _record_new_twins(edit.after.bodies, known, bodies)
    _record_new_twins(edit.after.joints, before, joints)
    return count


def _update_body(obj: bpy.types.Object, body: Body, before: Body) -> bool:
    """Write the changed name and values of a body to its record; return whether there were any."""
    changed = differing_values(BODY_PROPERTIES, body, before)
    push(record_of(obj), BODY_PROPERTIES, body, before)
    return _update_name(obj, body, before) or bool(changed)


def _update_name(obj: bpy.types.Object, part: Body | Joint, before: Body | Joint) -> bool:
    if part.name == before.name:
        return False
    write_name(obj, part.name)
    return True


def _update_joint(empty: bpy.types.Object, joint: Joint, before: Joint, edit: Edit) -> bool:
    """Write the changed name, twin and values of a joint to its record; return whether there were any."""
    dofs, known = ([*each.dofs, *(part for dof in each.dofs for part in dof.parts)] for each in (joint, before))
    every = zip(dof_records(empty), dofs, known, strict=True)
    changed = set_dof_fields((empty, kept, differing_values(DOF_PROPERTIES, dof, was)) for kept, dof, was in every) > 0
    _write_assembled_values(record_of(empty).joint, joint.dofs, edit.assembled.get(joint.id))
    if joint.twin != before.twin:
        record_of(empty).twin, changed = joint.twin or "", True
    return _update_name(empty, joint, before) or changed


def _moves_otherwise(joint: Joint, before: Joint) -> bool:
    """Return whether a joint's bodies may move otherwise than before at the same keyframes."""
    is_placed = joint.frame_parent is before.frame_parent and joint.frame_child is before.frame_child
    return not is_placed or dof_kinds(joint) != dof_kinds(before)


def _record_new_twins(parts_: Iterable[Body | Joint], before: Mapping[str, Body | Joint], objects: _Objects) -> None:
    """Record the state of twins that an edit linked as symmetric."""
    for part in parts_:
        twin = objects.get(part.twin or "")
        if twin is not None and (part.id not in before or part.twin != before[part.id].twin):
            record_mirror_state(objects[part.id], twin)


# ---------------------------------------------------------------- parts


def _delete_parts(rig: bpy.types.Object, edit: Edit, lost: Collection[bpy.types.Object]) -> None:
    """Delete the objects of parts that the edited mechanism lacks; the user's objects on them stay where they are."""
    gone = {"JOINT": edit.deleted_joints, "BODY": edit.deleted_bodies}  # a body and a joint may have the same id
    objects = [obj for role, ids in gone.items() for obj in parts(rig, role) if record_of(obj).source_id in ids]
    objects += lost
    if not objects:
        return
    hung, strangers = attached_objects(objects, rig)
    shapes = [obj for obj in hung if record_of(obj).role not in {"BODY", "JOINT"}]
    with preserve_world_poses(strangers):
        for role, ids in gone.items():
            for obj in parts(rig, role):
                if record_of(obj).twin in ids:
                    record_of(obj).twin = ""
        for obj in strangers:
            obj.parent = None
        record_deletion(rig, [record_of(obj).source_id for obj in objects])
        bpy.data.batch_remove([*objects, *shapes])


def _create_parts(
    rig: bpy.types.Object,
    edit: Edit,
    present: Mapping[str, _Objects],
    bodies: Iterable[Body],
    joints: Iterable[Joint],
    also: EditObjects,
    report: Report,
) -> PartObjects:
    """Create the objects of parts that have none and are no copies; return bodies and joints by role and id."""
    document, adopted = also.document, also.adopted
    new = {
        role: {part.id for part in some} - present[role].keys() - edit.copies.keys() - adopted.keys()
        for role, some in (("BODY", bodies), ("JOINT", joints))
    }
    if document is not None or new["BODY"]:
        new["SHAPE"] = missing_shapes(rig, [body for body in bodies if body.id not in {*edit.copies, *adopted}])
    if document is not None:
        attached = {id(part) for part in (*edit.after.frames, *edit.after.lights)}
        for role, every in (("FRAME", document.frames), ("LIGHT", document.lights)):
            new[role] = {str(number) for number, part in enumerate(every) if id(part) in attached}
    taken = {own: _adopt_body(rig, adopted[own], body_by_id(edit.after)[own]) for own in adopted}
    if not any(new.values()):
        return {"BODY": taken, "JOINT": {}}
    plan = make_plan(edit.after, closed=False) if document is None else make_plan(document)
    made = create_missing(rig, plan, new, report)
    for empty in made["JOINT"].values() if document is None else ():
        record_of(empty).joint.loop = False  # ``update_armature`` finds the input joints of a new loop
    return made | {"BODY": made["BODY"] | taken}


def _adopt_body(rig: bpy.types.Object, adopted: AdoptedMesh, body: Body) -> bpy.types.Object:
    """Make a mesh of the user the object of a new body."""
    obj = adopt_mesh_object(rig, adopted)
    record = record_of(obj)
    record.role, record.model = "BODY", rig
    record.source_name, record.source_id = body.name, body.id
    return obj


def _copy_parts(rig: bpy.types.Object, edit: Edit, objects: Mapping[str, _Objects]) -> PartObjects:
    """Copy the objects that new parts are copies of, with all that the user gave these; return them by role and id."""
    made = PartObjects(BODY={}, JOINT={})
    shapes = collision_children_by_body(rig) if edit.copies else {}
    for role, every in (("BODY", edit.after.bodies), ("JOINT", edit.after.joints)) if edit.copies else ():
        for part in every:
            if part.id in edit.copies:
                original = objects[role][edit.copies[part.id]]
                made[role][part.id] = copy_part(original, part.name, part.id)
                for number, child in shapes.get(original, {}).items():
                    shape = copy_into_same_collections(child)
                    shape.parent = made[role][part.id]
                    record_of(shape).source_id = f"{part.id}/{number}"
                    record_baseline_name(shape)
    return made


# ---------------------------------------------------------------- bodies


def write_body(obj: bpy.types.Object, body: Body, before: Body | None, source: bpy.types.Object | None = None) -> None:
    """Write a body to its object and record, as far as it differs from how it was; the object's scale stays.

    Args:
        obj: The object.
        body: The body. Shapes and inertia tensor of one that is not new are those of a record (``read_parts``).
        before: The body as it was; None: it is new.
        source: Object of the body that it became the mirror image of.
    """
    record = record_of(obj)
    push(record, BODY_PROPERTIES, body, before)
    if before is None or body.shapes is not before.shapes:
        children = {number for number, row in enumerate(record_of(source or obj).shapes) if row.has_child}
        record.shapes.clear()
        for number, shape in enumerate(body.shapes):
            row = record.shapes.add()
            write_shape(row, shape)
            row.has_child = number in children
    if before is None and body.inertia is not None:
        record.has_tensor, record.tensor = True, (body.inertia / body.mass).ravel().tolist()
    elif source is not None:
        own = record_of(source)
        record.has_tensor, record.moment_of = own.has_tensor, own.moment_of or own.copy_of or own.source_id
        record.tensor = [0.0] * 9 if body.inertia is None else body.inertia.ravel().tolist()
    if before is None or body.pose is not before.pose or body.com is not before.com:
        set_design_pose(obj, com_pose(body) @ np.diag([*obj.matrix_basis.to_scale(), 1.0]))


# ---------------------------------------------------------------- joints


def write_joint(
    empty: bpy.types.Object,
    joint: Joint,
    before: Joint,
    known: Mapping[str, Body],
    bodies: _Objects,
    edit: JointEdit | None = None,
) -> None:
    """Write a joint to its empty and record.

    Args:
        empty: The empty.
        joint: The joint.
        before: The joint as it was.
        known: The bodies of the mechanism by id.
        bodies: Their objects by id.
        edit: The change of its values.
    """
    record = record_of(empty).joint
    record.type, record.active = joint.type, joint.active
    if (joint.parent, joint.child) != (before.parent, before.child):
        record.parent, record.child = (bodies.get(end or "") for end in (joint.parent, joint.child))
        record.at_world = joint.parent is None or joint.child is None
    if joint.dofs is not before.dofs:
        _write_dofs(record, joint, before, edit)
    set_joint_frame(empty, joint_frame_world(joint, known), joint_child_frame_world(joint, known))


def _write_dofs(record: KnuckleJoint, joint: Joint, before: Joint, edit: JointEdit | None) -> None:
    """Write a joint's degrees of freedom; those that continue keep what exists only in Blender."""
    goes = None if edit is None else edit.numbers
    if goes is None and _is_same_layout(record, joint.dofs):
        for own, dof, was in zip(record.dofs, joint.dofs, before.dofs, strict=True):
            own.assembled = own.assembled and np.array_equal(dof.initial, was.initial)
        write_dof_values(record, joint.dofs)
        return
    marked = _renumbered({k: float(dof.is_marked) for k, dof in dofs_by_number(record).items()}, goes)
    assembled = _renumbered(_assembled_values(record), goes)
    begun = _renumbered(dict(enumerate(_initial_values(before.dofs))), goes)
    record.dofs.clear()
    record.parts.clear()
    write_dofs(record, joint.dofs)
    begins = _initial_values(joint.dofs)
    for first, kept in dofs_by_number(record).items():
        own = range(first, first + DOF_SIZE[kept.kind])
        kept.is_marked = bool(marked.get(first))
        if all(number in assembled and begun.get(number) == begins[number] for number in own):
            kept.assembled = True
            kept.assembled_start = [*(assembled[number] for number in own), *[0.0] * (6 - len(own))]


def _write_assembled_values(record: KnuckleJoint, dofs: Sequence[Dof], values: Array | None) -> None:
    """Write the initial values (size,) at which a joint's closed loops are assembled; None: unchanged."""
    if values is None:
        return
    for (first, kept), dof in zip(dofs_by_number(record).items(), dofs, strict=True):
        own = values[first : first + DOF_SIZE[kept.kind]]
        kept.assembled = not np.array_equal(own, dof.initial)
        kept.assembled_start = [*own.tolist(), *[0.0] * (6 - len(own))]


def _is_same_layout(record: KnuckleJoint, dofs: Sequence[Dof]) -> bool:
    """Return whether a record has the same kinds of degrees of freedom with the same single axes."""
    return [(kept.kind, kept.parts) for kept in record.dofs] == [(dof.kind, len(dof.parts)) for dof in dofs]


def write_dof_values(record: KnuckleJoint, dofs: Iterable[Dof]) -> None:
    """Write the values of degrees of freedom to a record that has the same kinds; channels are unchanged."""
    single = iter(record.parts)
    for kept, dof in zip(record.dofs, dofs, strict=True):
        push(kept, DOF_PROPERTIES, dof)
        for part in dof.parts:
            push(next(single), DOF_PROPERTIES, part)


def dofs_by_number(record: KnuckleJoint) -> dict[int, KnuckleDof]:
    """Return the degrees of freedom of a joint by the index of their first value."""
    firsts = np.cumsum([0, *(DOF_SIZE[dof.kind] for dof in record.dofs)])
    return dict(zip(firsts.tolist(), record.dofs, strict=False))


def _assembled_values(record: KnuckleJoint) -> dict[int, float]:
    """Return the values at which closed loops were assembled, by index."""
    every = dofs_by_number(record).items()
    return {
        first + k: dof.assembled_start[k] for first, dof in every if dof.assembled for k in range(DOF_SIZE[dof.kind])
    }


def _initial_values(dofs: Iterable[Dof]) -> list[float]:
    return [float(value) for dof in dofs for value in dof.initial]


def _renumbered(values: Mapping[int, float], goes: Mapping[int, tuple[int, float]] | None) -> dict[int, float]:
    """Return joint values by their new index, with their new sign; none where ``goes`` is None."""
    return {goes[old][0]: goes[old][1] * value + 0.0 for old, value in values.items() if old in goes} if goes else {}


def set_joint_frame(empty: bpy.types.Object, frame: Array, child_frame: Array) -> None:
    """Place a joint's empty at a frame (4, 4) in the design, rotated as its degrees of freedom require.

    ``child_frame`` is the frame (4, 4) on its child's side.
    """
    record = record_of(empty).joint
    turn = constraint_rotation(record)
    set_design_pose(empty, frame if turn is None else frame @ turn)
    opening = inverse(frame) @ child_frame
    record.is_open = bool(np.abs(opening - np.eye(4)).max() > OPENING_TOLERANCE)
    if record.is_open or any(record.opening):
        record.opening = flatten_pose(opening if turn is None else inverse(turn) @ opening @ turn)
