"""Keyframes of servo trajectories on the channels of bones.

A servo is a channel of a bone: ``rotation_euler[2]`` for a revolute joint, ``location[2]`` for a prismatic one. The
three values of a ball joint, a rotation vector, become its bone's quaternion.
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

CONSTANT, LINEAR = 0, 1  # Blender's enum values for the interpolation of a key
#: Largest value that a key can have.
_MAX_FLOAT32 = float(np.finfo(np.float32).max)

#: ``FCurve.update`` merges keys that are nearer to each other than 0.01 frames.
MIN_KEY_SPACING = 0.0101

#: Interpolation of all keys of a track, or of each (n,).
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
    """Create an Action with tracks of joints.

    Args:
        rig: Armature of the mechanism.
        name: Name of the Action.
        tracks: Frames (n,), values (n,) or (n, size) and interpolation by joint id. Joints without a bone are skipped.
        use: Make it the rig's Action.
        between: As for ``key_channels``.

    Returns:
        The Action.
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
    """Create an Action with tracks of channels. Values of a ball joint or free block without a track stay initial.

    Args:
        rig: Armature of the mechanism.
        name: Name of the Action.
        tracks: Frames (n,), values (n,) and interpolation by channel.
        use: Make it the rig's Action.
        between: Insert keys between those of a ball joint that rotates far, so that its joint values interpolate
            linearly; if False only the keys of the tracks are written.

    Returns:
        The Action.
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
    """Keys of one curve: frames (n,), values (n,), interpolation."""

    path: str
    array_index: int
    bone: str
    frames: Array
    values: Array
    how: KeyInterpolation


def curve_tracks(rig: bpy.types.Object, tracks: Tracks, between: bool = True) -> list[CurveTrack]:
    """Convert tracks of channels to tracks of the curves of their bones. ``between``: as for ``key_channels``."""
    out = [CurveTrack(c.path, c.index, c.bone, *track) for c, track in tracks.items() if c.is_single]
    for block in channel_blocks(rig, {channel: track for channel, track in tracks.items() if len(track[0])}):
        out += block_keys(rig, block, tracks, between).curves(block)
    return out


def channel_blocks(rig: bpy.types.Object, channels: Mapping[Channel, Any]) -> list[list[Channel]]:
    """Return the ball joints and free blocks that contain some of ``channels``, each as the list of its channels."""
    bones = {channel.bone: channel.joint for channel in channels if not channel.is_single}
    every = servo_channels(rig) if bones else {}
    if any(channel.is_root for channel in channels):
        every |= root_channels(rig)
    return [[c for c in every[joint] if c.bone == bone and not c.is_single] for bone, joint in bones.items()]


class BlockKeys(NamedTuple):
    """Keys of the bone of a ball joint or free block.

    Attributes:
        frames: (n,).
        places: Locations (n, 3).
        turns: Quaternions (n, 4), w x y z.
        how: Interpolation (n,).
        given: Mask (n,) of the keys that come from the tracks; the others were inserted between them.
    """

    frames: Array
    places: Array
    turns: Array
    how: NDArray[np.int32]
    given: NDArray[np.bool_]

    def curves(self, block: Sequence[Channel]) -> list[CurveTrack]:
        """Return the tracks of the curves of the block's bone."""
        bone = block[0].bone
        columns = [("rotation_quaternion", index, self.turns[:, index]) for index in range(4)]
        if block[0].kind == "free":
            columns = [("location", index, self.places[:, index]) for index in range(3)] + columns
        return [
            CurveTrack(bone_path(bone, prop), index, bone, self.frames, column, self.how)
            for prop, index, column in columns
        ]


def block_keys(rig: bpy.types.Object, block: Sequence[Channel], tracks: Tracks, between: bool) -> BlockKeys:
    """Return the keys of a block's bone, at all frames at which one of its channels has a key.

    Interpolation is constant where all of the channels hold their values.
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
    places, turns = block_bone_channels(values, block_rotation(rig, block[0].bone), block[0].is_reversed)
    return BlockKeys(frames, places, turns, np.where(held, CONSTANT, LINEAR).astype(np.int32), given)


def _sample_track(frames: Array, keys: Array, values: Array, how: KeyInterpolation) -> tuple[Array, NDArray[np.bool_]]:
    """Return a track's values at other frames, and the mask of those from which it is constant."""
    before = np.maximum(np.searchsorted(keys, frames, side="right") - 1, 0)
    held = np.broadcast_to(np.equal(how, CONSTANT), len(keys))[before]
    return np.where(held, np.asarray(values)[before], np.interp(frames, keys, values)), held


def group_starts(places: Array) -> NDArray[np.intp]:
    """Return the indices of the first key of each group at ascending frames (n,) that Blender would merge."""
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
    """Add keys to an empty curve; frames and values of shape (n,)."""
    count = len(frames)
    points = curve.keyframe_points
    points.add(count)
    points.foreach_set("co", key_pairs(frames, values).ravel())
    points.foreach_set("interpolation", np.array(np.broadcast_to(how, count), dtype=np.int32))
    curve.update()


def key_pairs(frames: Array, values: Array) -> NDArray[np.float32]:
    """Return keys as Blender stores them, float32 (n, 2); values beyond the float32 range are clipped."""
    pairs = np.empty((len(frames), 2), dtype=np.float32)
    pairs[:, 0] = frames
    pairs[:, 1] = values if fits_float32(values) else np.clip(values, -_MAX_FLOAT32, _MAX_FLOAT32)
    return pairs


def fits_float32(values: Array) -> bool:
    """Return whether all values are within the float32 range."""
    return not len(values) or bool(max(-np.min(values), np.max(values)) <= _MAX_FLOAT32)


def key_bone_paths(
    rig: bpy.types.Object,
    action: bpy.types.Action,
    frames: Array,
    paths: Mapping[str, tuple[Array | None, Array]],
) -> None:
    """Add location (n, 3) and quaternion (n, 4) keys of bones to the rig's Action.

    Args:
        rig: The armature.
        action: Its Action.
        frames: Frames (n,).
        paths: Locations (None: not keyed) and quaternions by bone name.
    """
    curves = action_curves(rig, action)
    for bone, (places, turns) in paths.items():
        if places is not None:
            for index in range(3):
                fill_curve(new_curve(curves, bone_path(bone, "location"), index, bone), frames, places[:, index])
        for index in range(4):
            fill_curve(new_curve(curves, bone_path(bone, "rotation_quaternion"), index, bone), frames, turns[:, index])


def with_scene_range(given: Array, held: NDArray[np.bool_]) -> tuple[Array, NDArray[np.bool_]]:
    """Return frames (n,) with the scene's first and last one, and the mask of those from which a value is held.

    A curve moves before its first and after its last keyframe.
    """
    scene = bpy.context.scene
    frames = np.union1d(given, [scene.frame_start, scene.frame_end])
    mask = np.zeros(len(frames), dtype=bool)
    mask[np.searchsorted(frames, given)] = held & (given < given[-1])
    return frames, mask


def with_frames_between(given: Array, held: NDArray[np.bool_]) -> Array:
    """Return frames (n,) with all whole frames between them, except after those that are ``held`` (n,)."""
    spans = zip(given[:-1].tolist(), given[1:].tolist(), held[:-1].tolist(), strict=True)
    between = [np.arange(np.floor(first) + 1.0, last) for first, last, holds in spans if not holds]
    frames = np.unique(np.concatenate([given, *between]))
    near = np.diff(frames, prepend=-np.inf) < MIN_KEY_SPACING
    return frames[~near | np.isin(frames, given)]


def is_held_at(given: Array, held: NDArray[np.bool_], frames: Array) -> NDArray[np.bool_]:
    """Return the mask (n,) of ``frames`` that follow a frame of ``given`` which is ``held``, before the next one."""
    return held[np.searchsorted(given, frames, side="right") - 1]
