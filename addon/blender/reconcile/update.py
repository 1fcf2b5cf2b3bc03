"""Update of a mechanism's objects to an edited mechanism.

Only objects and records of parts that differ are written; all else keeps what the user attached to it. The armature is
then updated to the edited bodies and joints (``rig_update``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import bpy
import numpy as np

from ...core.editing.edits import Edit, JointEdit
from ...core.kinematics import OPENING_TOLERANCE, joint_child_frame_world, joint_frame_world
from ...core.model import Array, Body, Dof, Joint, Mechanism, body_by_id, dof_slices, joint_by_id
from ...core.record_utils import copy_mechanism
from ...core.report import Report
from ...core.transforms import inverse
from ..animation.loops.live_solver import joints_sharing_loops
from ..data.access import armature_of, record_of, settings
from ..data.baseline import record_baseline, record_baseline_name, record_mirror_state, write_name
from ..data.conversion import (
    assembled_values,
    dof_records,
    flatten_pose,
    notify_dof_values,
    set_fields,
    store_mirrored_restraints,
    with_mirrored_restraints,
    write_assembled_values,
    write_dofs,
    write_shape,
)
from ..data.copied_mechanisms import copy_into_same_collections, copy_part
from ..data.documents import read_document
from ..data.facts import BODY_PROPERTIES, DOF_PROPERTIES, JOINT_PROPERTIES, differing_values, push
from ..data.properties.joint import KnuckleJoint
from ..data.properties.model import KnuckleObject
from ..data.queries import file_name, parts, parts_by_id, record_deletion
from ..data.rigid_bodies import collision_children, collision_children_by_index
from ..events.signals import Signal, emit, writing_records
from ..rig.joint_frames import constraint_rotation, lost_ends
from ..scene.attachments import store_restraints
from ..scene.bodies import com_pose
from ..scene.collections import show_active_parts
from ..scene.parts import PartObjects, create_missing, missing_shapes
from ..scene.placement import make_plan
from ..scene.read.mechanism import extract
from .bone_references import report_lost_references
from .channel_transfer import remove_bone_animation, remove_empty_actions
from .foreign_objects import (
    AdoptedMesh,
    BoneSlot,
    adopt_mesh_object,
    armature_slots,
    attached_objects,
    preserve_world_poses,
)
from .motion_change import KeyConversion, KeyframePoses, dof_kinds
from .rig_state import RigState, set_design_pose
from .rig_update import assign_shape_ids, physics_suspended, update_armature

_Objects = Mapping[str, bpy.types.Object]


@dataclass(frozen=True)
class EditObjects:
    """Objects that an edit deletes, adopts or changes in appearance, which no mechanism has.

    Attributes:
        lost: Objects to delete of joints that the mechanism lacks, because they lost a body.
        adopted: The user's meshes that become new bodies, by the ids of these.
        joined: Objects of another mechanism that become new bodies and joints, by role and id.
        dress: Gives a mirror image, its second argument, the appearance of the body that is mirrored.
        document: Mechanism of the document, where the edit restores deleted parts: those without objects are created as
            an import creates them, those that Blender kept keep their records, and joints place them. The armature is
            updated in any case.
    """

    lost: Collection[bpy.types.Object] = ()
    adopted: Mapping[str, AdoptedMesh] = field(default_factory=dict)
    joined: Mapping[str, _Objects] = field(default_factory=dict)
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
    motion = motion_before(rig, edit, present, restores=also.document is not None)
    report = write_parts(rig, edit, present, also, motion)
    deletes = bool(edit.deleted_joints or edit.deleted_bodies)
    report.extend(motion.change(keeps_emptied=not deletes))
    if deletes:
        report.extend(remove_empty_actions(present.actions))
    return report


def motion_before(
    rig: bpy.types.Object, edit: Edit, present: RigState, compares: bool = True, restores: bool = False
) -> KeyframePoses:
    """Return the motion, before an edit, of the joints that move otherwise after it, and of those in their loops.

    Args:
        rig: The armature.
        edit: The edit.
        present: State of the mechanism before the edit.
        compares: The poses of bodies are compared (``KeyframePoses.change``).
        restores: New joints are deleted ones that are restored. Others change motions too: they close loops, or place
            bodies that others placed.
    """
    before = joint_by_id(edit.before)
    redefined = edit.deleted_joints
    if not restores:
        redefined |= {joint.id for joint in edit.after.joints} - before.keys()
    redefined |= {
        each.id for each in edit.after.joints if each.id in before and _moves_otherwise(each, before[each.id])
    }
    joints = {*redefined, *joints_sharing_loops(rig, redefined)} if redefined else ()
    return KeyframePoses(rig, present, joints, compares)


def write_parts(
    rig: bpy.types.Object,
    edit: Edit,
    present: RigState,
    also: EditObjects = _NOTHING_ELSE,
    motion: KeyframePoses | None = None,
) -> Report:
    """Do what ``update`` does, except the comparison of bodies in the motion before the edit (``motion_before``)."""
    before, known = joint_by_id(edit.before), body_by_id(edit.before)
    joints = [joint for joint in edit.after.joints if joint is not before.get(joint.id)]
    bodies = [body for body in edit.after.bodies if body is not known.get(body.id)]
    switched = edit.after.assemblies is not edit.before.assemblies
    restores = also.document is not None
    deleted = edit.deleted_joints or edit.deleted_bodies or also.lost
    report = Report()
    if not (joints or bodies or deleted or switched or restores):
        with physics_suspended(rig, report) if edit.restraints else nullcontext():
            _write_restraints(rig, edit)
        return report
    for role, every in (("BODY", edit.after.bodies), ("JOINT", edit.after.joints)):
        joined = also.joined.get(role, {})
        for part in every:
            if part.id in joined:
                _write_identity(joined[part.id], rig, role, part)
    slots, lost = armature_slots(rig), {record_of(obj).source_id for obj in also.lost}
    keys = KeyConversion(rig, present, edit, motion)
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
    foreign = attached_objects(turned, rig)[1] if turned else []  # empties have the axes of their constraints
    with physics_suspended(rig, report), writing_records(), preserve_world_poses(foreign):
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
        placed = [*made["JOINT"].values(), *(obj for some in copies.values() for obj in some.values())]
        placed += [holders[body.id] for body in bodies if body.active and not known.get(body.id, body).active]
        if restores:
            designed = None
            placed = [holders[body.id] for body in bodies if body.id not in known]
            bpy.context.view_layer.update()
            moved, present = present.moved, RigState(rig)  # the bones of deleted joints may be there
            present.moved = moved
        report.extend(update_armature(rig, present, edit.joints, placed, designed))
        report.extend(keys.write())
        report.extend(_clear_deleted_bones(rig, edit, present, slots, lost))
        _write_restraints(rig, edit, again=restores and any(made.values()))
    return report


def _clear_deleted_bones(
    rig: bpy.types.Object, edit: Edit, present: RigState, slots: Mapping[str, BoneSlot], lost: Collection[str]
) -> Report:
    """Remove what moved the bones that an edit deleted, and report what refers to them.

    Bones of parts that an assembly switches off will be there again. So will those of joints that lost a body by hand,
    which the mechanism lacks; ``lost`` (ids) are those of them that the edit deletes.

    Args:
        rig: The armature.
        edit: The edit.
        present: State of the mechanism before the edit.
        slots: Slots of its bones before the edit, by name.
        lost: Ids of deleted joints that the mechanism lacked.
    """
    edited = {*lost, *body_by_id(edit.before), *joint_by_id(edit.before)}
    edited -= {body.id for body in edit.after.bodies if not body.active}
    edited -= {joint.id for joint in edit.after.joints if not joint.active}
    now = armature_slots(rig)
    deleted = {name for name, slot in slots.items() if slot[0] in edited and now.get(name) != slot}
    report = remove_bone_animation(rig, present, deleted.difference(armature_of(rig).bones.keys()))
    report.extend(report_lost_references(rig, deleted))
    return report


def _write_bodies(edit: Edit, bodies: Iterable[Body], objects: _Objects, also: EditObjects) -> None:
    """Write changed and new bodies to their objects, which are given by id; an object's scale stays."""
    known, joined = body_by_id(edit.before), also.joined.get("BODY", {})
    for body in bodies:
        obj, before = objects[body.id], known.get(edit.copies.get(body.id, body.id))
        if body.id in joined:
            push(record_of(obj), BODY_PROPERTIES, body)
            _write_inertia(record_of(obj), body)
        elif before is not None or body.id in also.adopted:
            source = objects.get(edit.images.get(body.id, ""))
            write_body_record(obj, body, before, edit, source)
            if before is None or body.pose is not before.pose or body.com is not before.com:
                set_design_pose(obj, com_pose(body) @ np.diag([*obj.matrix_basis.to_scale(), 1.0]))
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
            write_joint_record(empty, joint, before, edit, bodies)
            set_joint_frame(empty, joint_frame_world(joint, after), joint_child_frame_world(joint, after))
        elif joint.id not in created:
            for end, own in lost_ends(empty, (joint.parent, joint.child), bodies.values()).items():
                setattr(record_of(empty).joint, end, bodies.get(own))


def update_records(rig: bpy.types.Object, edit: Edit) -> int:
    """Write what an edit of values changes in the records of a mechanism (``update_part_records``)."""
    return update_part_records(parts_by_id(rig, "BODY"), parts_by_id(rig, "JOINT"), edit)


def update_part_records(bodies: _Objects, joints: _Objects, edit: Edit) -> int:
    """Write what an edit of values changes in the records of parts; nothing moves.

    These are names, twins, the values, shapes and inertia of bodies, and the stops, springs and motors of joints. A
    joint emits one signal.

    Args:
        bodies: Bodies of the edited mechanism, by id.
        joints: Joints of the edited mechanism, by id.
        edit: The edit; it may be one of these parts alone.

    Returns:
        The number of changed parts.
    """
    known, before, count = body_by_id(edit.before), joint_by_id(edit.before), 0
    for body in edit.after.bodies:
        count += body is not known[body.id] and write_body_record(bodies[body.id], body, known[body.id], edit)
    for joint in edit.after.joints:
        count += joint is not before[joint.id] and _update_joint(joints[joint.id], joint, before[joint.id], edit)
    _record_new_twins(edit.after.bodies, known, bodies)
    _record_new_twins(edit.after.joints, before, joints)
    return count


def _update_joint(empty: bpy.types.Object, joint: Joint, before: Joint, edit: Edit) -> bool:
    """Write a joint with other values to its record, and emit its signals once; return whether anything changed."""
    with writing_records():
        changed = write_joint_record(empty, joint, before, edit, {})
    if record_of(empty).path_from_id("twin") in changed:
        emit(Signal.TWIN, empty)
    own = record_of(empty).joint
    values = {
        path for path in changed if path.startswith(tuple(f"{own.path_from_id(each)}[" for each in ("dofs", "parts")))
    }
    if values:
        notify_dof_values(empty, values)
    return bool(changed)


def _moves_otherwise(joint: Joint, before: Joint) -> bool:
    """Return whether a joint's bodies may move otherwise than before at the same keyframes."""
    is_placed = joint.frame_parent is before.frame_parent and joint.frame_child is before.frame_child
    return not is_placed or joint.active != before.active or dof_kinds(joint) != dof_kinds(before)


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
    attached, foreign = attached_objects(objects, rig)
    shapes = [obj for obj in attached if record_of(obj).role not in {"BODY", "JOINT"}]
    with preserve_world_poses(foreign):
        for role, ids in gone.items():
            for obj in parts(rig, role):
                if record_of(obj).twin in ids:
                    record_of(obj).twin = ""
        for obj in foreign:
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
    _write_identity(obj, rig, "BODY", body)
    return obj


def _write_identity(obj: bpy.types.Object, rig: bpy.types.Object, role: str, part: Body | Joint) -> None:
    """Make an object, where it is, that of a new body or joint."""
    record, before = record_of(obj), record_of(obj).source_id
    if record.role == role and part.name != file_name(obj):
        obj.name = part.name
    record.role, record.model, record.source_id = role, rig, part.id
    record.copy_of = record.moment_of = ""
    record.source_name, record.twin = part.name, part.twin or ""
    assign_shape_ids(obj, before)
    record_baseline(obj)


def _copy_parts(rig: bpy.types.Object, edit: Edit, objects: Mapping[str, _Objects]) -> PartObjects:
    """Copy the objects that new parts are copies of, with all that the user gave these; return them by role and id."""
    made = PartObjects(BODY={}, JOINT={})
    shapes = collision_children(rig) if edit.copies else {}
    for role, every in (("BODY", edit.after.bodies), ("JOINT", edit.after.joints)) if edit.copies else ():
        for part in every:
            if part.id in edit.copies:
                original = objects[role][edit.copies[part.id]]
                made[role][part.id] = copy_part(original, part.name, part.id)
                for number, child in collision_children_by_index(shapes.get(original, ())).items():
                    shape = copy_into_same_collections(child)
                    shape.parent = made[role][part.id]
                    record_of(shape).source_id = f"{part.id}/{number}"
                    record_baseline_name(shape)
    return made


# ---------------------------------------------------------------- records


def write_body_record(
    obj: bpy.types.Object, body: Body, before: Body | None, edit: Edit, source: bpy.types.Object | None = None
) -> bool:
    """Write a body to its record, as far as it differs from how it was.

    Args:
        obj: The body's object.
        body: The body. Shapes and inertia tensor of one that is not new are those of a record (``read_parts``).
        before: The body as it was; None: it is new.
        edit: The edit.
        source: Object of the body that it became the mirror image of.

    Returns:
        Whether anything differed.
    """
    record = record_of(obj)
    changed = bool(differing_values(BODY_PROPERTIES, body, before))
    changed |= before is None or body.name != before.name or body.shapes is not before.shapes
    push(record, BODY_PROPERTIES, body, before)
    _write_name(obj, body, before)
    if before is None or body.shapes is not before.shapes:
        _write_shapes(obj, body, source or obj, edit.shapes.get(body.id))
    if before is None:
        _write_inertia(record, body)
    elif source is not None or body.inertia is not before.inertia:
        record.has_tensor = body.inertia is not None
        record.tensor = [0.0] * 9 if body.inertia is None else body.inertia.ravel().tolist()
        if source is not None:
            own = record_of(source)
            record.has_tensor, record.moment_of = own.has_tensor, own.moment_of or own.copy_of or own.source_id
    return changed


def _write_shapes(
    obj: bpy.types.Object, body: Body, source: bpy.types.Object, previous: Sequence[int | None] | None
) -> None:
    """Write the shapes of a body to its record; the objects of collision shapes follow theirs.

    Args:
        obj: The body's object.
        body: The body.
        source: Object of the body that tells which shapes have objects.
        previous: Previous index of each shape (``Edit.shapes``); None: unchanged.
    """
    record, indices = record_of(obj), previous if previous is not None else range(len(body.shapes))
    has_child = {number for number, row in enumerate(record_of(source).shapes) if row.has_child}
    record.shapes.clear()
    for shape, index in zip(body.shapes, indices, strict=True):
        row = record.shapes.add()
        write_shape(row, shape)
        row.has_child = index in has_child
    for child in obj.children if previous is not None else ():
        if record_of(child).role == "SHAPE" and record_of(child).shape in indices:
            record_of(child).shape = indices.index(record_of(child).shape)
            record_of(child).source_id = f"{body.id}/{record_of(child).shape}"


def _write_inertia(record: KnuckleObject, body: Body) -> None:
    """Write the inertia tensor of a body that has one."""
    if body.inertia is not None and body.mass > 0.0:
        record.has_tensor, record.tensor = True, (np.asarray(body.inertia) / body.mass).ravel().tolist()


def _write_name(obj: bpy.types.Object, part: Body | Joint, before: Body | Joint | None) -> None:
    """Write a changed name of a part; a copy has its own already."""
    if before is not None and part.id == before.id and part.name != before.name:
        write_name(obj, part.name)


def write_joint_record(empty: bpy.types.Object, joint: Joint, before: Joint, edit: Edit, bodies: _Objects) -> set[str]:
    """Write a joint to its record, as far as it differs from how it was.

    Args:
        empty: The joint's empty.
        joint: The joint.
        before: The joint as it was.
        edit: The edit.
        bodies: Objects of the mechanism's bodies, by id.

    Returns:
        RNA paths, from the empty, of the properties that changed.
    """
    record = record_of(empty).joint
    changed = {record.path_from_id(name) for name in differing_values(JOINT_PROPERTIES, joint, before)}
    push(record, JOINT_PROPERTIES, joint, before)
    if (joint.parent, joint.child) != (before.parent, before.child):
        record.parent, record.child = (bodies.get(end or "") for end in (joint.parent, joint.child))
        record.at_world = joint.parent is None or joint.child is None
        changed |= {record.path_from_id("parent"), record.path_from_id("child")}
    if joint.dofs is not before.dofs:
        changed |= _write_dofs(empty, joint, before, edit.joints.get(joint.id))
    if joint.id in edit.assembled:
        write_assembled_values(record, edit.assembled[joint.id])
    if joint.twin != before.twin:
        record_of(empty).twin = joint.twin or ""
        changed.add(record_of(empty).path_from_id("twin"))
    if joint.name != before.name:
        _write_name(empty, joint, before)
        changed.add("name")
    return changed


def _write_dofs(empty: bpy.types.Object, joint: Joint, before: Joint, edit: JointEdit | None) -> set[str]:
    """Write a joint's degrees of freedom; those that continue keep what exists only in Blender.

    A stop that is removed keeps its value in the record, for when it is switched on again.

    Returns:
        RNA paths, from the empty, of the properties that changed.
    """
    record, numbers = record_of(empty).joint, None if edit is None else edit.numbers
    if numbers is None and _is_same_layout(record, joint.dofs):
        for own, dof, was in zip(record.dofs, joint.dofs, before.dofs, strict=True):
            own.assembled = own.assembled and np.array_equal(dof.initial, was.initial)
        now, old = ([*each.dofs, *(part for dof in each.dofs for part in dof.parts)] for each in (joint, before))
        every = zip(dof_records(empty), now, old, strict=True)
        return {
            kept.path_from_id(field)
            for kept, dof, was in every
            for field in set_fields(kept, differing_values(DOF_PROPERTIES, dof, was))
        }
    indices = {at.start for dof, at in dof_slices(record.dofs) if dof.is_marked}
    marked = {new for old, (new, _factor) in (numbers or {}).items() if old in indices}
    assembled = assembled_values({joint.id: empty}).get(joint.id)
    record.dofs.clear()
    record.parts.clear()
    write_dofs(record, joint.dofs)
    for kept, at in dof_slices(record.dofs):
        kept.is_marked = at.start in marked
    if assembled is not None and edit is not None:
        write_assembled_values(record, edit.converted(assembled[None])[0])
    return {record.path_from_id("dofs")}


def _is_same_layout(record: KnuckleJoint, dofs: Sequence[Dof]) -> bool:
    """Return whether a record has the same kinds of degrees of freedom with the same single axes."""
    return [(kept.kind, kept.parts) for kept in record.dofs] == [(dof.kind, len(dof.parts)) for dof in dofs]


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


# ---------------------------------------------------------------- restraints


def _write_restraints(rig: bpy.types.Object, edit: Edit, again: bool = False) -> None:
    """Store the restraints that an edit changed, and all of them again for physics, which has to be cleared.

    Args:
        rig: The armature.
        edit: The edit.
        again: Store them for physics even if none was changed.
    """
    if edit.restraints:
        store_mirrored_restraints(rig, edit.restraints)
    base = read_document(rig) if edit.restraints or again else None
    if base is None:
        return
    bodies, joints = parts_by_id(rig, "BODY"), parts_by_id(rig, "JOINT")
    if settings(rig).mirrored_restraints:
        now, known = extract(rig), {joint.id for joint in base.joints}
        made = [replace(joint, extra={}) for joint in now.joints if joint.id not in known]
        every = with_mirrored_restraints(rig, base.restraints)
        base = replace(base, bodies=now.bodies, joints=[*base.joints, *made], restraints=every)
    there = [item for item in base.restraints if {*(item.bodies or ())} <= {None, *bodies}]
    settings(rig).restraints.clear()
    store_restraints(rig, replace(base, restraints=there), bodies, joints)
