"""Joint values in the channels of bones: read, written and reset; display of dependent joints as locked, gray bones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import bpy
import numpy as np

from ...core.model import Array
from ..compat import action_curves
from ..data.access import record_of
from ..data.channels import Channel, block_rotation, bone_path
from ..data.conversion import PosedDofs, dofs_of_bones
from ..data.queries import joint_bones
from .ball_channels import block_bone_channels, coordinates_from_keys


def read_pose(rig: bpy.types.Object, channels: Sequence[Channel], turn: Array | None = None) -> Array:
    """Return the joint values (size,) of a joint from its bones' channels.

    Args:
        rig: The armature object, evaluated or not.
        channels: The joint's channels.
        turn: Rotation (3, 3) from the bone's axes to the joint's, where known.
    """
    out = np.zeros(len(channels))
    for number, channel in enumerate(channels):
        pose = rig.pose.bones[channel.bone]
        if channel.is_single:
            out[number] = getattr(pose, channel.prop)[channel.index]
        elif channel.index == 0:
            places = np.array(pose.location, dtype=np.float64)[None]
            quaternion = np.array(pose.rotation_quaternion, dtype=np.float64)[None]
            turned = block_rotation(rig, channel.bone) if turn is None else turn
            block = coordinates_from_keys(places, quaternion, turned, channel.is_reversed, channel.kind == "free")[0]
            out[number : number + len(block)] = block
    return out


def write_pose(rig: bpy.types.Object, channels: Sequence[Channel], values: Array, turn: Array | None = None) -> None:
    """Pose a joint's bones at joint values (size,).

    Single-value channels that have the value already are not written.
    """
    bones = rig.pose.bones
    for channel, value in zip(channels, values.astype(np.float32).tolist(), strict=True):
        pose = bones[channel.bone]
        if channel.is_single:
            target = getattr(pose, channel.prop)
            if target[channel.index] != value:
                target[channel.index] = value
        elif channel.index == 0:
            size = 6 if channel.kind == "free" else 3
            turned = block_rotation(rig, channel.bone) if turn is None else turn
            block = values[None, channel.dof_index : channel.dof_index + size]
            places, turns = block_bone_channels(block, turned, channel.is_reversed)
            pose.rotation_quaternion = turns[0]
            if size == 6:
                pose.location = places[0]


def bone_channel_values(channels: Sequence[Channel], values: Array, turn: Array | None = None) -> Array:
    """Return the values of the bones' channels that pose a joint at joint values.

    Args:
        channels: The joint's channels.
        values: Joint values (n, size).
        turn: Rotation (3, 3) from the bone's axes to the joint's; needed for balls and free joints.

    Returns:
        Channel values (n, count) in the order of the channels and of the ``numbers`` of each (for a ball or free joint
        those of its first channel).
    """
    out = []
    for channel in channels:
        if channel.is_single:
            out.append(values[:, channel.dof_index, None])
        elif channel.index == 0:
            assert turn is not None
            size = 6 if channel.kind == "free" else 3
            places, turns = block_bone_channels(
                values[:, channel.dof_index : channel.dof_index + size], turn, channel.is_reversed
            )
            out += [turns, places] if size == 6 else [turns]
    return np.concatenate(out, axis=1)


def read_joint_values(rig: bpy.types.Object, channels: Mapping[str, Sequence[Channel]]) -> dict[str, Array]:
    """Return the joint values (size,) of joints, by joint id."""
    return {joint: read_pose(rig, own) for joint, own in channels.items()}


#: Channels of a bone, with their values at rest.
_REST_VALUES = {
    "location": (0.0, 0.0, 0.0),
    "rotation_euler": (0.0, 0.0, 0.0),
    "rotation_quaternion": (1.0, 0.0, 0.0, 0.0),
}


def reset_unused_channels(rig: bpy.types.Object, channels: Mapping[str, Sequence[Channel]]) -> list[str]:
    """Reset channels of joints' bones that pose none of their degrees of freedom, such as that of one since removed.

    Keyed and driven channels are left.

    Returns:
        Names of the bones of which a channel was reset.
    """
    data = rig.animation_data
    curves = [] if data is None else [*data.drivers]
    if data is not None and data.action is not None:
        curves += action_curves(rig, data.action, create=False) or ()
    taken = {(curve.data_path, curve.array_index) for curve in curves}
    taken |= {place for own in channels.values() for channel in own for place in channel.curves()}
    chains, out = joint_bones(rig), []
    for name in (name for joint in channels for name in chains.get(joint, ())):
        pose, was_posed = rig.pose.bones[name], False
        for prop, usual in _REST_VALUES.items():
            values, path = getattr(pose, prop), bone_path(name, prop)
            for index, value in enumerate(usual):
                if values[index] != value and (path, index) not in taken:
                    values[index], was_posed = value, True
        if was_posed:
            out.append(name)
    return out


#: Gray, and lighter while selected and active.
_DEPENDENT_COLORS = {"normal": (0.35, 0.35, 0.38), "select": (0.6, 0.6, 0.63), "active": (0.8, 0.8, 0.83)}


def channel_locks(dofs: PosedDofs, is_root: bool = False) -> dict[str, Any]:
    """Return the locks of a bone, for posing by hand and for IK: of every channel but those of its dofs.

    A root's bone is free. One without degrees of freedom, such as that of a dependent joint, has all channels locked.
    """
    kinds = {"free"} if is_root else {dof.kind for dof, _, _ in dofs}
    block, free = not kinds.isdisjoint(("ball", "free")), "free" in kinds
    slides, turns = ({index for _, own, index in dofs if own == prop} for prop in ("location", "rotation_euler"))
    held = [axis not in turns and not block for axis in range(3)]
    return {
        "lock_location": [axis not in slides and not free for axis in range(3)],
        "lock_rotation": held,
        "lock_rotation_w": not block,
        "lock_ik_x": held[0],
        "lock_ik_y": held[1],
        "lock_ik_z": held[2],
    }


def color_dependent_bone(pose: bpy.types.PoseBone) -> None:
    """Color the bone of a dependent joint gray."""
    pose.color.palette = "CUSTOM"
    for name, color in _DEPENDENT_COLORS.items():
        setattr(pose.color.custom, name, color)


def set_dependent(empty: bpy.types.Object, follows: bool) -> None:
    """Make a joint the dependent or an independent joint of its closed loop, and update the display of its bones."""
    record = record_of(empty)
    if record.joint.is_dependent == follows:
        return
    record.joint.is_dependent = follows
    rig = record.model
    for name, dofs in dofs_of_bones(empty, joint_bones(rig).get(record.source_id, [])).items():
        pose = rig.pose.bones[name]
        for prop, value in channel_locks(() if follows else dofs).items():
            setattr(pose, prop, value)
        if follows:
            color_dependent_bone(pose)
        else:
            pose.color.palette = "DEFAULT"
