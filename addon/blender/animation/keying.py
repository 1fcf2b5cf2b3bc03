"""Servo trajectories as ordinary keys on bones, and back.

A servo is a channel of a bone, Z for a joint of one degree: ``rotation_euler[2]`` for a hinge, ``location[2]`` for a
slide. The three numbers of a ball, a rotation vector, become its bone's quaternion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.model import Array
from ..compat import action_curves, new_curve, use_action
from ..data.access import action_record, model_uid
from ..data.channels import Channel, block_rotation, bone_path, root_channels, servo_channels
from ..rig.ball_channels import block_bone_channels, subdivide_rotations

CONSTANT, LINEAR = 0, 1  # Blender's numbers for the interpolation of a key
#: The largest number that a key can have.
_MAX_FLOAT32 = float(np.finfo(np.float32).max)

#: Whenever a curve is brought up to date, Blender makes one key of those that are nearer than 0.01 frames.
MIN_KEY_SPACING = 0.0101

#: Interpolation of all keys of a track or of each.
KeyInterpolation = int | NDArray[np.int32]
#: Keys of channels: frames (n,), values (n,), interpolation.
Tracks = dict[Channel, tuple[Array, Array, KeyInterpolation]]


def key_servos(
    rig: bpy.types.Object,
    name: str,
    tracks: Mapping[str, tuple[Array, Array, KeyInterpolation]],
    use: bool = True,
    between: bool = True,
) -> bpy.types.Action:
    """A new Action with the tracks of joints: id -> (frames (n,), values (n,) or (n, coordinates), interpolation).

    Makes it the rig's Action when ``use``. Joints without a bone are passed over. ``between``: as ``key_channels``.
    """
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
    """A new Action with the tracks of channels: (frames (n,), values (n,), interpolation).

    The numbers of a ball or free block that have no track stay where the file begins.

    Makes it the rig's Action when ``use``. ``between``: a ball that turns far from key to key gets keys between them,
    so that its coordinates go straight; else the keys are those of the tracks.
    """
    action = bpy.data.actions.new(name)
    action.use_fake_user = True
    action_record(action).model = model_uid(rig)
    before = rig.animation_data.action if rig.animation_data is not None else None
    use_action(rig, action)
    curves = action_curves(rig, action)
    for track in curve_tracks(rig, tracks, between):
        fill_curve(new_curve(curves, track.path, track.array_index, track.bone), track.frames, track.values, track.how)
    if not use:
        use_action(rig, before)
    return action


class CurveTrack(NamedTuple):
    """The keys of one curve: frames (n,), values (n,), interpolation."""

    path: str
    array_index: int
    bone: str
    frames: Array
    values: Array
    how: KeyInterpolation


def curve_tracks(rig: bpy.types.Object, tracks: Tracks, between: bool = True) -> list[CurveTrack]:
    """Return what the tracks of channels are on the curves of their bones. ``between``: as ``key_channels``."""
    out = [CurveTrack(c.path, c.index, c.bone, *track) for c, track in tracks.items() if c.is_single]
    for block in channel_blocks(rig, {channel: track for channel, track in tracks.items() if len(track[0])}):
        out += block_keys(rig, block, tracks, between).curves(block)
    return out


def channel_blocks(rig: bpy.types.Object, channels: Mapping[Channel, Any]) -> list[list[Channel]]:
    """The balls and free blocks that some of the channels belong to: all channels of each."""
    bones = {channel.bone: channel.joint for channel in channels if not channel.is_single}
    every = servo_channels(rig) if bones else {}
    if any(channel.is_root for channel in channels):
        every |= root_channels(rig)
    return [[c for c in every[joint] if c.bone == bone and not c.is_single] for bone, joint in bones.items()]


class BlockKeys(NamedTuple):
    """The keys of a ball's or free block's bone: frames (n,), locations (n, 3), quaternions (n, 4), interpolation (n,),
    and which of them the tracks have; the others lie between."""

    frames: Array
    places: Array
    turns: Array
    how: NDArray[np.int32]
    given: NDArray[np.bool_]

    def curves(self, block: Sequence[Channel]) -> list[CurveTrack]:
        """The curves of the block's bone."""
        bone = block[0].bone
        columns = [("rotation_quaternion", index, self.turns[:, index]) for index in range(4)]
        if block[0].kind == "free":
            columns = [("location", index, self.places[:, index]) for index in range(3)] + columns
        return [
            CurveTrack(bone_path(bone, prop), index, bone, self.frames, column, self.how)
            for prop, index, column in columns
        ]


def block_keys(rig: bpy.types.Object, block: Sequence[Channel], tracks: Tracks, between: bool) -> BlockKeys:
    """The keys of a block's bone, at all frames at which one of its channels has a key.

    A value is held there where all of the channels hold theirs.
    """
    own = {channel: tracks[channel] for channel in block if channel in tracks and len(tracks[channel][0])}
    frames = np.unique(np.concatenate([np.zeros(0), *(np.asarray(track[0], dtype=float) for track in own.values())]))
    frames = frames[group_starts(frames)]
    values = np.empty((len(frames), len(block)))
    held = np.ones(len(frames), dtype=bool)
    for k, channel in enumerate(block):
        values[:, k], holds = _sample_track(frames, *own[channel]) if channel in own else (channel.start, True)
        held &= holds
    given = np.ones(len(frames), dtype=bool)
    if between and len(frames):
        firm = held
        frames, values, given = subdivide_rotations(frames, values, firm)
        held = np.zeros(len(frames), dtype=bool)
        held[given] = firm
    places, turns = block_bone_channels(values, block_rotation(rig, block[0].bone), block[0].against)
    return BlockKeys(frames, places, turns, np.where(held, CONSTANT, LINEAR).astype(np.int32), given)


def _sample_track(frames: Array, keys: Array, values: Array, how: KeyInterpolation) -> tuple[Array, NDArray[np.bool_]]:
    """A track's values at other frames, and whether they are held from there."""
    before = np.maximum(np.searchsorted(keys, frames, side="right") - 1, 0)
    held = np.broadcast_to(np.equal(how, CONSTANT), len(keys))[before]
    return np.where(held, np.asarray(values)[before], np.interp(frames, keys, values)), held


def group_starts(places: Array) -> NDArray[np.intp]:
    """Of keys at ascending places (n,), the first of each group that Blender would make one of."""
    as_kept = np.asarray(places, dtype=np.float32)
    if len(as_kept) < 2 or np.diff(as_kept).min() >= MIN_KEY_SPACING:
        return np.arange(len(as_kept))
    starts, begin = [0], float(as_kept[0])
    for number, place in enumerate(as_kept.tolist()):
        if place - begin >= MIN_KEY_SPACING:
            starts.append(number)
            begin = place
    return np.array(starts, dtype=np.intp)


def fill_curve(curve: bpy.types.FCurve, frames: Array, values: Array, how: KeyInterpolation = LINEAR) -> None:
    """Fill an empty curve with keys; frames and values of shape (n,)."""
    count = len(frames)
    points = curve.keyframe_points
    points.add(count)
    points.foreach_set("co", key_pairs(frames, values).ravel())
    points.foreach_set("interpolation", np.array(np.broadcast_to(how, count), dtype=np.int32))
    curve.update()


def key_pairs(frames: Array, values: Array) -> NDArray[np.float32]:
    """Keys as Blender has them, (n, 2): what is larger than a 32-bit number can be is the largest."""
    pairs = np.empty((len(frames), 2), dtype=np.float32)
    pairs[:, 0] = frames
    pairs[:, 1] = values if fits_float32(values) else np.clip(values, -_MAX_FLOAT32, _MAX_FLOAT32)
    return pairs


def fits_float32(values: Array) -> bool:
    """Return whether no value is larger than a key's can be."""
    return not len(values) or bool(max(-np.min(values), np.max(values)) <= _MAX_FLOAT32)


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
            fill_curve(new_curve(curves, bone_path(bone, "location"), index, bone), frames, places[:, index])
        for index in range(4):
            fill_curve(new_curve(curves, bone_path(bone, "rotation_quaternion"), index, bone), frames, turns[:, index])
