"""Joints that follow the drivers of their loop, and how their bones show it: locked channels, a colour of their own."""

from __future__ import annotations

import bpy

from ..data.access import record_of
from ..data.properties.joint import KnuckleJoint
from ..data.queries import joint_bones

#: Grey, and paler while selected and active.
_COLORS = {"normal": (0.35, 0.35, 0.38), "select": (0.6, 0.6, 0.63), "active": (0.8, 0.8, 0.83)}


def lock_follower(pose: bpy.types.PoseBone) -> None:
    """Lock every channel of a bone, for hand and for IK, and paint it: it follows its loop."""
    pose.lock_location = pose.lock_rotation = (True, True, True)
    pose.lock_rotation_w = True
    pose.lock_ik_x = pose.lock_ik_y = pose.lock_ik_z = True
    pose.color.palette = "CUSTOM"
    for name, color in _COLORS.items():
        setattr(pose.color.custom, name, color)


def set_follows(empty: bpy.types.Object, follows: bool) -> None:
    """Have a joint follow its loop, or drive it, and its bones show that."""
    record = record_of(empty)
    if record.joint.follows == follows:
        return
    record.joint.follows = follows
    rig = record.model
    for step, name in enumerate(joint_bones(rig).get(record.source_id, [])):
        pose = rig.pose.bones[name]
        if follows:
            lock_follower(pose)
        else:
            pose.color.palette = "DEFAULT"
            _free_channels(pose, record.joint, step)


def _free_channels(pose: bpy.types.PoseBone, joint: KnuckleJoint, step: int) -> None:
    """Open the channels of a bone that its joint's degrees of freedom are posed by."""
    for dof in (dof for dof in joint.dofs if dof.step == step):
        block = dof.kind in {"ball", "free"}
        numbers = range(3) if block else [dof.channel_index]
        if dof.channel == "location" or dof.kind == "free":
            for index in numbers:
                pose.lock_location[index] = False
        if dof.channel != "location":
            pose.lock_rotation_w = not block
            for index in numbers:
                pose.lock_rotation[index] = False
                setattr(pose, f"lock_ik_{'xyz'[index]}", False)
