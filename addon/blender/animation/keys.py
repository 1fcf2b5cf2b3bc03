"""Servo trajectories as ordinary keys on bones, and back.

A servo is a channel of a bone, Z for a joint of one degree: ``rotation_euler[2]`` for a hinge, ``location[2]`` for a
slide. The three numbers of a ball, a rotation vector, become its bone's quaternion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import bpy
import numpy as np

from ...model.records import Array, Motion, Trajectory
from ...model.report import FormatError, Report
from ..access import action_record
from ..blocks import block_pose, in_short_turns
from ..channels import Channel, block_turn, bone_path, servo_channels, servo_names
from ..compat import action_curves, new_curve, use_action
from ..model_parts import rig_in
from .pose import PoseReader

CONSTANT, LINEAR = 0, 1  # Blender's numbers for the interpolation of a key

#: Keys of channels: frames (n,), values (n,), interpolation.
Tracks = dict[Channel, tuple[Array, Array, int]]


def frame_of(scene: bpy.types.Scene, seconds: Array | float, start: float | None = None) -> Array:
    """Scene frames of times in seconds, time 0 at ``start`` (default: the scene's first frame)."""
    rate = scene.render.fps / scene.render.fps_base
    return (scene.frame_start if start is None else start) + np.asarray(seconds, dtype=np.float64) * rate


def key_servos(
    rig: bpy.types.Object,
    name: str,
    tracks: Mapping[str, tuple[Array, Array, int]],
    use: bool = True,
    between: bool = True,
) -> bpy.types.Action:
    """A new Action with the tracks of joints: id -> (frames (n,), values (n,) or (n, coordinates), interpolation).

    Makes it the rig's Action when ``use``. Joints without a bone are passed over. ``between``: as ``key_channels``."""
    channels = servo_channels(rig)
    singles: Tracks = {}
    for joint, (frames, values, interpolation) in tracks.items():
        columns = np.asarray(values).reshape(len(frames), -1)
        for channel, column in zip(channels.get(joint, ()), columns.T, strict=False):
            singles[channel] = frames, column, interpolation
    return key_channels(rig, name, singles, use, between)


def key_channels(
    rig: bpy.types.Object, name: str, tracks: Tracks, use: bool = True, between: bool = True
) -> bpy.types.Action:
    """A new Action with the tracks of channels: (frames (n,), values (n,), interpolation). The numbers of a ball or
    free block that have no track stay where the file begins.

    Makes it the rig's Action when ``use``. ``between``: a ball that turns far from key to key gets keys between them,
    so that its coordinates go straight; else the keys are those of the tracks."""
    action = bpy.data.actions.new(name)
    action.use_fake_user = True
    before = rig.animation_data.action if rig.animation_data is not None else None
    use_action(rig, action)
    curves = action_curves(rig, action)
    blocks: dict[str, Tracks] = {}
    for channel, track in tracks.items():
        if channel.is_single:
            put_keys(new_curve(curves, channel.path, channel.index, channel.bone), *track)
        elif len(track[0]):
            blocks.setdefault(channel.bone, {})[channel] = track
    every = servo_channels(rig) if blocks else {}
    for bone, own in blocks.items():
        joint = next(iter(own)).joint
        _key_block(rig, curves, [c for c in every[joint] if c.bone == bone and not c.is_single], own, between)
    if not use:
        use_action(rig, before)
    return action


def _key_block(rig: bpy.types.Object, curves: Any, block: Sequence[Channel], tracks: Tracks, between: bool) -> None:
    """Key the location and quaternion of a ball's or free block's bone."""
    frames = np.unique(np.concatenate([np.asarray(track[0], dtype=np.float64) for track in tracks.values()]))
    values = np.empty((len(frames), len(block)))
    for k, channel in enumerate(block):
        values[:, k] = _at(frames, *tracks[channel]) if channel in tracks else channel.start
    constant = all(interpolation == CONSTANT for _, _, interpolation in tracks.values())
    if between and not constant:
        frames, values = in_short_turns(frames, values)
    bone = block[0].bone
    places, turns = block_pose(values, block_turn(rig, bone), block[0].against)
    how = CONSTANT if constant else LINEAR
    for index in range(3 if block[0].kind == "free" else 0):
        put_keys(new_curve(curves, bone_path(bone, "location"), index, bone), frames, places[:, index], how)
    for index in range(4):
        put_keys(new_curve(curves, bone_path(bone, "rotation_quaternion"), index, bone), frames, turns[:, index], how)


def _at(frames: Array, keys: Array, values: Array, interpolation: int) -> Array:
    """A track's values at other frames."""
    if interpolation == CONSTANT:
        return np.asarray(values)[np.maximum(np.searchsorted(keys, frames, side="right") - 1, 0)]
    return np.interp(frames, keys, values)


def put_keys(curve: bpy.types.FCurve, frames: Array, values: Array, interpolation: int = LINEAR) -> None:
    """Fill an empty curve with keys; frames and values of shape (n,)."""
    count = len(frames)
    points = curve.keyframe_points
    points.add(count)
    pairs = np.empty((count, 2), dtype=np.float32)
    pairs[:, 0], pairs[:, 1] = frames, values
    points.foreach_set("co", pairs.ravel())
    points.foreach_set("interpolation", np.full(count, interpolation, dtype=np.int32))
    curve.update()


def key_bone_paths(
    rig: bpy.types.Object,
    action: bpy.types.Action,
    frames: Array,
    paths: Mapping[str, tuple[Array | None, Array]],
) -> None:
    """Add location (n, 3) and quaternion (n, 4) keys to bones of an Action that the rig uses: bone name -> path."""
    curves = action_curves(rig, action)
    for bone, (places, turns) in paths.items():
        for index in range(3 if places is not None else 0):
            put_keys(new_curve(curves, bone_path(bone, "location"), index, bone), frames, places[:, index])
        for index in range(4):
            put_keys(new_curve(curves, bone_path(bone, "rotation_quaternion"), index, bone), frames, turns[:, index])


def apply(
    motion: Motion,
    collection: bpy.types.Collection,
    scene: bpy.types.Scene | None = None,
    start: float | None = None,
    extend: bool = True,
) -> tuple[bpy.types.Action, Report]:
    """Key a motion on a model: a new Action of the motion's name becomes the model's Action.

    Time 0 comes at frame ``start`` (default: the scene's first). ``extend`` lengthens the scene's range
    to hold the motion and never shortens it. Servos are matched by name; the report lists those that no
    joint answers to. FormatError, before anything is made, where there is no other. The Action that was there
    stays in the file."""
    scene = scene or bpy.context.scene
    rig = require_rig(collection)
    report = Report()
    channel_of = {channel.name: channel for own in servo_channels(rig).values() for channel in own}
    known = {name for names in servo_names(rig).values() for name in names}
    tracks: Tracks = {}
    for trajectory in motion.trajectories:
        channel = channel_of.get(trajectory.name)
        if channel is None:
            why = _why_unmatched(trajectory.name, known)
            report.warn("servo-unmatched", f"Servo {trajectory.name!r} was left out: {why}", where=trajectory.name)
            continue
        step = CONSTANT if trajectory.interpolation == "constant" else LINEAR
        tracks[channel] = (frame_of(scene, trajectory.times, start), trajectory.values, step)
    if motion.trajectories and not tracks:
        examples = ", ".join(repr(trajectory.name) for trajectory in motion.trajectories[:3])
        raise FormatError(
            f"{rig.name!r} has none of the servos of motion {motion.name!r} ({examples})",
            remedy="Choose the mechanism that it was made for.",
        )
    action = key_channels(rig, motion.name, tracks)
    action_record(action).kind = "MOTION"
    action_record(action).motion = motion.name
    if extend:
        scene.frame_end = max(scene.frame_end, int(np.ceil(frame_of(scene, motion.duration, start) - 1e-6)))
    report.info("servos-keyed", f"{len(tracks)} of {len(motion.trajectories)} servos keyed in Action {action.name!r}")
    return action, report


def _why_unmatched(name: str, known: set[str]) -> str:
    """Why no channel answers to a servo's name, of the names of all servos."""
    if name in known:
        return "its joint has no bone"
    several = sorted(each for each in known if each.rpartition("/")[0] == name)
    if several:
        return f"its joint has several coordinates, each with a servo of its own: {', '.join(map(repr, several))}"
    return "no joint has this name"


def require_rig(collection: bpy.types.Collection) -> bpy.types.Object:
    """The armature of a model's collection; ValueError where it has none."""
    rig = rig_in(collection)
    if rig is None:
        raise ValueError(f"Collection {collection.name!r} holds no mechanism: its armature is missing")
    return rig


def keyed_servos(rig: bpy.types.Object) -> list[Channel]:
    """The channels that the rig's Action keys, in the order of its joints."""
    data = rig.animation_data
    if data is None or data.action is None:
        return []
    keyed = {(curve.data_path, curve.array_index) for curve in action_curves(rig, data.action, create=False) or ()}
    return [channel for own in servo_channels(rig).values() for channel in own if keyed.intersection(channel.curves())]


def sample(
    collection: bpy.types.Collection,
    scene: bpy.types.Scene | None = None,
    frames: Sequence[float] | None = None,
    joints: Iterable[str] | None = None,
    name: str | None = None,
) -> Motion:
    """The servo values of the evaluated pose at scene frames, as a Motion with times from the first frame.

    ``frames`` default to the scene's range, every frame; they may be fractional. ``joints`` (ids) default
    to what the Action keys, or all. IK, drivers and limits are in the values. The scene's frame is put back."""
    scene = scene or bpy.context.scene
    rig = require_rig(collection)
    frames = list(range(scene.frame_start, scene.frame_end + 1)) if frames is None else list(frames)
    wanted = _wanted_channels(rig, joints)
    reader = PoseReader(rig, wanted)
    values = np.empty((len(frames), len(wanted)))
    before = scene.frame_current, scene.frame_subframe
    try:
        for number, frame in enumerate(frames):
            whole = int(np.floor(frame))
            scene.frame_set(whole, subframe=float(frame - whole))
            values[number] = reader.read()
    finally:
        scene.frame_set(before[0], subframe=before[1])
    rate = scene.render.fps / scene.render.fps_base
    times = (np.asarray(frames, dtype=np.float64) - (frames[0] if frames else 0)) / rate
    tracks = [Trajectory(channel.name, times.copy(), values[:, k].copy()) for k, channel in enumerate(wanted)]
    action = rig.animation_data.action if rig.animation_data is not None else None
    return Motion(name or (action.name if action is not None else rig.name), tracks)


def _wanted_channels(rig: bpy.types.Object, joints: Iterable[str] | None) -> list[Channel]:
    """The channels of joints; None: those that are keyed, or all."""
    every = servo_channels(rig)
    if joints is None:
        return keyed_servos(rig) or [channel for own in every.values() for channel in own]
    return [channel for joint in joints for channel in every.get(joint, ())]
