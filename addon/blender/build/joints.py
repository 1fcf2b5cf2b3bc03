"""Joints: one empty each at the joint frame, with the joint's record. Physics puts the constraint on it."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

from ...model.kinematics import frame_with_z
from ...model.records import Array, Joint
from ..access import record_of
from ..properties import KnuckleJoint
from ..records import flat, write_dofs
from .degrees import Place, axes_in_joint
from .plan import Plan, joint_axis
from .rig import hang, tail_inverse


def make_joints(
    plan: Plan,
    rig: bpy.types.Object,
    bone_names: list[str],
    bodies: dict[str, bpy.types.Object],
    collection: bpy.types.Collection,
) -> dict[str, bpy.types.Object]:
    """Joint empties by id. Each hangs on the bone of its parent body, so that it goes where the joint goes."""
    made: dict[str, bpy.types.Object] = {}
    places = plan.places()
    against = {bone.link.joint.id: bone.link.against for bone in plan.bones if bone.link is not None}
    tails: dict[int, Matrix] = {}
    for joint in plan.mechanism.joints:
        if joint.id in made:
            continue
        empty = bpy.data.objects.new(joint.name or joint.id, None)
        empty.empty_display_type = "ARROWS" if joint.active else "SPHERE"
        empty.empty_display_size = 0.02 * plan.size
        empty.rotation_mode = "QUATERNION"
        anchor = joint.parent if joint.parent in bodies else joint.child
        number = plan.bone_of_body.get(anchor or "")
        if number is not None and number not in tails:
            tails[number] = tail_inverse(rig, bone_names[number])
        turn = constraint_turn(joint)
        pose = plan.frames[joint.id] if turn is None else plan.frames[joint.id] @ turn
        hang(
            empty,
            rig,
            bone_names[number] if number is not None else None,
            tails.get(number) if number is not None else None,
            pose,
        )
        _record(empty, joint, rig, bodies, places.get(joint.id, {}))
        record = record_of(empty).joint
        record.loop = joint.id in plan.tree.loop_joints
        record.against = against.get(joint.id, False)
        collection.objects.link(empty)
        made[joint.id] = empty
    return made


def constraint_turn(joint: Joint | KnuckleJoint) -> Array | None:
    """From the joint's frame to its empty: Z on the axis, or X on it for slides, where Blender wants it; each axis on
    one of the empty's where several stand at right angles. None where the two frames are the same."""
    several = axes_in_joint(joint.dofs)
    if several is not None:
        turn = np.eye(4)
        turn[:3, :3] = several
        return None if np.array_equal(several, np.eye(3)) else turn
    x, y, z = axis = joint_axis(joint) if isinstance(joint, Joint) else _record_axis(joint)
    slides = len(joint.dofs) == 1 and joint.dofs[0].kind == "translation"
    if (x, y, z) == (0.0, 0.0, 1.0) and not slides:
        return None
    turn = np.eye(4)
    turn[:3, :3] = frame_with_z(axis)
    if slides:
        turn[:3, :3] = turn[:3, :3] @ np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    return turn


def _record_axis(record: KnuckleJoint) -> Array:
    for dof in record.dofs:
        if dof.kind in {"rotation", "translation", "screw"}:
            return np.array(dof.axis, dtype=np.float64)
    return np.array([0.0, 0.0, 1.0])


def _record(
    empty: bpy.types.Object,
    joint: Joint,
    rig: bpy.types.Object,
    bodies: dict[str, bpy.types.Object],
    places: dict[int, Place],
) -> None:
    record = record_of(empty)
    record.role = "JOINT"
    record.source_name, record.source_id = joint.name, joint.id
    record.twin = joint.twin or ""
    record.model = rig
    record.built, record.built_name = flat(empty.matrix_basis), empty.name
    part = record.joint
    part.type, part.active = joint.type, joint.active
    part.parent, part.child = bodies.get(joint.parent or ""), bodies.get(joint.child or "")
    write_dofs(part, joint.dofs)
    for number, place in places.items():
        dof = part.dofs[number]
        dof.step, dof.channel, dof.channel_index = place.step, place.prop, place.index
