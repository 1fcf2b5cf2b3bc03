"""The coordinates of joints as the channels of their bones have them: read and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import bpy
import numpy as np

from ...core.model import Array
from ..compat import action_curves
from ..data.channels import Channel, block_turn, bone_path
from ..data.queries import joint_bones
from .ball_channels import block_pose, coordinates_of


def read_pose(rig: bpy.types.Object, channels: Sequence[Channel], turn: Array | None = None) -> Array:
    """The coordinates (size,) that the channels of a joint's bones say. ``rig`` may be an evaluated one; ``turn`` is
    the ``block_turn`` of the joint's bone where that is known."""
    out = np.zeros(len(channels))
    for number, channel in enumerate(channels):
        pose = rig.pose.bones[channel.bone]
        if channel.is_single:
            out[number] = getattr(pose, channel.prop)[channel.index]
        elif channel.index == 0:
            places = np.array(pose.location, dtype=np.float64)[None]
            told = np.array(pose.rotation_quaternion, dtype=np.float64)[None]
            turned = block_turn(rig, channel.bone) if turn is None else turn
            block = coordinates_of(places, told, turned, channel.against, channel.kind == "free")[0]
            out[number : number + len(block)] = block
    return out


def write_pose(rig: bpy.types.Object, channels: Sequence[Channel], values: Array, turn: Array | None = None) -> None:
    """Pose a joint at coordinates (size,); channels that have them already are not touched."""
    bones = rig.pose.bones
    for channel, value in zip(channels, values.astype(np.float32).tolist(), strict=True):
        pose = bones[channel.bone]
        if channel.is_single:
            told = getattr(pose, channel.prop)
            if told[channel.index] != value:
                told[channel.index] = value
        elif channel.index == 0:
            size = 6 if channel.kind == "free" else 3
            turned = block_turn(rig, channel.bone) if turn is None else turn
            block = values[None, channel.number : channel.number + size]
            places, turns = block_pose(block, turned, channel.against)
            pose.rotation_quaternion = turns[0]
            if size == 6:
                pose.location = places[0]


def pose_numbers(channels: Sequence[Channel], values: Array, turn: Array | None = None) -> Array:
    """The numbers that pose a joint's bones at coordinates (n, size), in the order of the channels and of the
    ``numbers`` of each (of a ball or free block of its first): (n, numbers)."""
    out = []
    for channel in channels:
        if channel.is_single:
            out.append(values[:, channel.number, None])
        elif channel.index == 0:
            assert turn is not None
            size = 6 if channel.kind == "free" else 3
            places, turns = block_pose(values[:, channel.number : channel.number + size], turn, channel.against)
            out += [turns, places] if size == 6 else [turns]
    return np.concatenate(out, axis=1)


def pose_of(rig: bpy.types.Object, channels: Mapping[str, Sequence[Channel]]) -> dict[str, Array]:
    """The coordinates of joints by id, (size,) each."""
    return {joint: read_pose(rig, own) for joint, own in channels.items()}


#: What poses a bone, and what that is of a bone that nobody posed.
_UNPOSED = {"location": (0.0, 0.0, 0.0), "rotation_euler": (0.0, 0.0, 0.0), "rotation_quaternion": (1.0, 0.0, 0.0, 0.0)}


def reset_residue(rig: bpy.types.Object, channels: Mapping[str, Sequence[Channel]]) -> list[str]:
    """Reset what bones of joints say beside their joints' degrees of freedom, such as the channel of one that a joint
    no longer has. What is keyed or driven is left.

    Returns:
        Names of the bones of which something was reset.
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
        for prop, usual in _UNPOSED.items():
            values, path = getattr(pose, prop), bone_path(name, prop)
            for index, value in enumerate(usual):
                if values[index] != value and (path, index) not in taken:
                    values[index], was_posed = value, True
        if was_posed:
            out.append(name)
    return out
