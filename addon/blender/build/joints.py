"""Joints: one empty each at the joint frame, with the joint's record. Physics puts the constraint on it."""

from __future__ import annotations

import bpy
from mathutils import Matrix

from ...model.records import Joint
from ..access import record_of
from ..joint_axes import constraint_turn
from ..records import flat, write_dofs
from .degrees import Place
from .plan import Plan
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
    part.at_world = (joint.parent is None) != (joint.child is None)
    part.parent, part.child = bodies.get(joint.parent or ""), bodies.get(joint.child or "")
    write_dofs(part, joint.dofs)
    for number, place in places.items():
        dof = part.dofs[number]
        dof.step, dof.channel, dof.channel_index = place.step, place.prop, place.index
