"""Posing and keying of servos together, and named poses as Blender's pose assets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import bpy
import numpy as np

from ...core.editing.mirroring import motion_mirror
from ...core.model import Array
from ...core.report import Message
from ...core.stops import clamp_values_to_stops
from ..compat import action_curves, new_curve
from ..data.access import action_record, model_uid, record_of
from ..data.channels import Channel, servo_channels
from ..data.queries import parts
from ..rig.ball_channels import nearest_rotation_vectors
from ..rig.pose_channels import read_pose, reset_unused_channels, write_pose
from ..scene.read.mechanism import extract
from .actions import stored_poses
from .fcurves import joints_of_bones
from .keying import CONSTANT, Tracks, curve_tracks, fill_curve
from .loops.bone_loops import RigidLoop
from .loops.live_solver import invalidate_loops, live_loops
from .motion_checks import action_motion, dof_stops
from .pose_reader import PoseReader

ChannelsByJoint = dict[str, list[Channel]]
#: Frame of the single key of a pose.
_POSE_FRAME = 1.0


def posable_channels(rig: bpy.types.Object, bones: Collection[str] | None = None) -> ChannelsByJoint:
    """Return the channels of the joints that the user can pose, by joint id: not those that follow a closed loop.

    Args:
        rig: Armature of the mechanism.
        bones: Names of bones whose joints are considered; None: all.

    Raises:
        ValueError: There is none.
    """
    meant = None if bones is None else joints_of_bones(rig, bones)
    out = {joint: own for joint, own in _independent_channels(rig).items() if meant is None or joint in meant}
    if not out:
        raise ValueError(
            Message("{}: no such servo can be posed, dependent joints follow their input joints", repr(rig.name))
        )
    return out


def _independent_channels(rig: bpy.types.Object) -> ChannelsByJoint:
    """Return the channels of the joints that follow no closed loop, by joint id."""
    follows = {record_of(e).source_id for e in parts(rig, "JOINT") if record_of(e).joint.is_dependent}
    return {joint: own for joint, own in servo_channels(rig).items() if joint not in follows}


def reset_unkeyed(rig: bpy.types.Object, action: bpy.types.Action) -> None:
    """Set servos that an Action does not key to their initial values, without keyframes."""
    curves = action_curves(rig, action, create=False)
    keyed = {(curve.data_path, curve.array_index) for curve in curves or ()}
    unkeyed: ChannelsByJoint = {}
    for joint, own in _independent_channels(rig).items():
        if kept := [channel for channel in own if keyed.isdisjoint(channel.curves())]:
            unkeyed[joint] = kept
            write_pose(rig, kept, np.array([channel.start for channel in kept]))
    reset_unused_channels(rig, unkeyed)


def zero_servos(
    rig: bpy.types.Object,
    scene: bpy.types.Scene,
    bones: Collection[str] | None = None,
    to: Literal["zero", "start"] = "zero",
) -> int:
    """Pose servos at 0, or at the nearest stop, or at their initial values.

    Returns:
        Number of servos.
    """
    stops, channels = dof_stops(parts(rig, "JOINT")), posable_channels(rig, bones)
    for joint, own in channels.items():
        values = np.array([channel.start for channel in own])
        if to == "zero":
            each = [clamp_values_to_stops(np.zeros(1), stops[joint, channel.dof_index])[0] for channel in own]
            values = np.array(each)
        write_pose(rig, own, values)
    reset_unused_channels(rig, channels)
    auto_key(rig, scene, channels)
    return sum(map(len, channels.values()))


def key_servos_at_frame(rig: bpy.types.Object, scene: bpy.types.Scene, bones: Collection[str] | None = None) -> int:
    """Key servos as they are posed, at the present frame.

    Returns:
        Number of servos.
    """
    channels = posable_channels(rig, bones)
    key_pose(rig, channels, scene.frame_current)
    return sum(map(len, channels.values()))


def toggle_key(rig: bpy.types.Object, name: str, frame: int) -> bool:
    """Key a servo as it is posed, or remove its key at the frame if it has one.

    Returns:
        Whether the servo is keyed at the frame now.

    Raises:
        ValueError: The servo does not exist or follows a closed loop.
    """
    found = next(((joint, c) for joint, own in posable_channels(rig).items() for c in own if c.name == name), None)
    if found is None:
        raise ValueError(Message("{}: no servo {} that can be keyframed", repr(rig.name), repr(name)))
    joint, channel = found
    if key_state(rig, channel, frame) != "here":
        key_pose(rig, {joint: [channel]}, frame)
        return True
    for prop, index in _keyed_properties(channel):
        rig.pose.bones[channel.bone].keyframe_delete(prop, index=index, frame=frame)
    return False


def key_state(rig: bpy.types.Object, channel: Channel, frame: int) -> Literal["none", "elsewhere", "here"]:
    """Return whether a mechanism's Action keys a servo: not at all, at other frames, or at this frame.

    Cheap enough for every redraw, however many keys there are.
    """
    data = rig.animation_data
    curves = action_curves(rig, data.action, create=False) if data is not None and data.action is not None else None
    path, index = channel.curves()[0]
    curve = curves.find(path, index=index) if curves is not None else None
    if curve is None or not len(curve.keyframe_points):
        return "none"
    points = curve.keyframe_points
    at = bisect_left(points, frame - 0.5, key=lambda point: point.co[0])
    return "here" if at < len(points) and points[at].co[0] < frame + 0.5 else "elsewhere"


def key_pose(rig: bpy.types.Object, channels: Mapping[str, Sequence[Channel]], frame: float) -> None:
    """Key the channels of joints at a frame, as they are."""
    for place in dict.fromkeys((c.bone, *at) for own in channels.values() for c in own for at in _keyed_properties(c)):
        bone, prop, index = place
        rig.pose.bones[bone].keyframe_insert(prop, index=index, frame=frame, group=bone)


def _keyed_properties(channel: Channel) -> list[tuple[str, int]]:
    """Return property and index (-1: all) of a bone that pose a channel."""
    if channel.is_single:
        return [(channel.prop, channel.index)]
    return [("rotation_quaternion", -1), *([("location", -1)] if channel.kind == "free" else [])]


def auto_key(rig: bpy.types.Object, scene: bpy.types.Scene, channels: Mapping[str, Sequence[Channel]]) -> None:
    """Key the channels if Blender's auto keying is on, as its own tools do."""
    if scene.tool_settings.use_keyframe_insert_auto:
        key_pose(rig, channels, scene.frame_current)


# ---------------------------------------------------------------- named poses


def store_pose(rig: bpy.types.Object, name: str, bones: Collection[str] | None = None) -> bpy.types.Action:
    """Store the evaluated pose of servos under a name; a pose of the mechanism with this name is replaced.

    It is an Action with one key, marked as an asset, so that Blender's pose library shows it too.

    Raises:
        ValueError: The name is empty.
    """
    if not name.strip():
        raise ValueError("Pose: the name is empty. Enter a name")
    channels = [channel for own in posable_channels(rig, bones).values() for channel in own]
    values = PoseReader(rig, channels).read()
    tracks: Tracks = {
        c: (np.array([_POSE_FRAME]), np.array([v]), CONSTANT) for c, v in zip(channels, values, strict=True)
    }
    action = next((each for each in stored_poses(rig) if each.name == name), None)
    if action is None:
        action = bpy.data.actions.new(name)
        action.use_fake_user = True
    _replace_keys(rig, action, tracks)
    record = action_record(action)
    record.kind, record.model = "POSE", model_uid(rig)
    action.asset_mark()
    return action


def _replace_keys(rig: bpy.types.Object, action: bpy.types.Action, tracks: Tracks) -> None:
    """Replace the keys of an Action.

    Note:
        The rig must not play it, not even temporarily: that would pose the rig by the keys of its own Action again.
    """
    curves = action_curves(rig, action)
    curves.clear()
    for each in curve_tracks(rig, tracks, between=False):
        fill_curve(new_curve(curves, each.path, each.array_index, each.bone), each.frames, each.values, each.how)


def recall_pose(
    rig: bpy.types.Object,
    action: bpy.types.Action,
    scene: bpy.types.Scene,
    weight: float = 1.0,
    mirrored: bool = False,
    bones: Collection[str] | None = None,
) -> int:
    """Pose servos by a named pose.

    Args:
        rig: Armature of the mechanism.
        action: The pose.
        scene: Its settings of auto keying apply.
        weight: Share of the way from the present values to the pose's.
        mirrored: Give each servo the mirrored value of its counterpart on the other side.
        bones: Names of bones whose joints are posed; None: all.

    Returns:
        Number of joints that were posed.
    """
    every = servo_channels(rig)
    now = {joint: read_pose(rig, own) for joint, own in every.items()}
    aims = _target_coordinates(rig, action, scene, every, now)
    looped = _solve_keyed_followers(rig, aims, now)
    if mirrored:
        image = motion_mirror(extract(rig)).values({key: aim[None] for key, aim in aims.items()})
        aims = {key: values[0] for key, values in image.items()}
    meant = posable_channels(rig, bones).keys() & aims.keys()
    for joint in meant:
        aim = _nearest_coordinates(every[joint], aims[joint], now[joint])
        write_pose(rig, every[joint], now[joint] + weight * (aim - now[joint]))
    if looped and not mirrored and bones is None and weight == 1.0:
        for joint in looped:
            write_pose(rig, every[joint], aims[joint])
        invalidate_loops(rig)  # gathered again, they continue from this pose
    auto_key(rig, scene, {joint: every[joint] for joint in meant})
    return len(meant)


def _solve_keyed_followers(rig: bpy.types.Object, aims: dict[str, Array], now: Mapping[str, Array]) -> set[str]:
    """Add the values of the input joints of loops of which a pose keys joints that follow now.

    An edit may have made other joints the inputs since the pose was stored.

    Args:
        rig: Armature of the mechanism.
        aims: Values (size,) of the pose by joint id, to which those of all joints of these loops are added.
        now: Present values of all joints.

    Returns:
        The ids of the joints of these loops.
    """
    out = set[str]()
    for loop in live_loops(rig):
        keyed = loop.channels.keys() & aims.keys()
        if isinstance(loop, RigidLoop) or keyed <= {*loop.drivers}:
            continue
        given = keyed if len(keyed) >= len(loop.drivers) else keyed.union(loop.drivers)
        with loop.follower.trial():
            (state,) = loop.states_for({joint: aims.get(joint, now[joint])[None] for joint in given})
        solved = {} if state.found is None else state.found.positions
        aims.update({joint: solved[joint] for joint in loop.channels if joint in solved})
        out |= loop.channels.keys() & aims.keys()
    return out


def _target_coordinates(
    rig: bpy.types.Object,
    action: bpy.types.Action,
    scene: bpy.types.Scene,
    every: ChannelsByJoint,
    now: Mapping[str, Array],
) -> dict[str, Array]:
    """Return the joint values of the joints that a pose has keys of, by id."""
    values = {track.name: float(track.values[0]) for track in action_motion(rig, action, scene).trajectories}
    out = {}
    for joint, own in every.items():
        if any(channel.name in values for channel in own):
            here = now[joint].tolist()
            out[joint] = np.array([values.get(channel.name, here[channel.dof_index]) for channel in own])
    return out


def _nearest_coordinates(own: Sequence[Channel], aim: Array, here: Array) -> Array:
    """Return target values with each rotation vector replaced by the equivalent one nearest to ``here``."""
    out = aim.copy()
    for channel in own:
        if not channel.is_single and channel.index == 0:
            three = slice(channel.dof_index, channel.dof_index + 3)
            out[three] = nearest_rotation_vectors(aim[None, three], here[None, three])[0]
    return out
