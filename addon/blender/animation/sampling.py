"""The evaluated pose at chosen frames, whatever makes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import bpy
import numpy as np

from ...core.model import Array, Motion, Trajectory
from ..compat import action_curves
from ..data.access import armature_of
from ..data.channels import Channel, servo_channels
from ..data.queries import require_rig
from .clock import Clock
from .pose import PoseReader


def sample(
    model: bpy.types.Collection | bpy.types.Object,
    scene: bpy.types.Scene | None = None,
    frames: Sequence[float] | None = None,
    joints: Iterable[str] | None = None,
    name: str | None = None,
) -> Motion:
    """The servo values of the evaluated pose at scene frames, as a Motion with times from the first frame.

    ``frames`` default to the scene's range, every frame; they may be fractional. ``joints`` (ids) default
    to what the Action keys, or all. IK, drivers and limits are in the values. The scene's frame is put back.

    >>> from addon import formats
    >>> from addon.blender.build import build
    >>> collection = build(formats.load("sample_models/desk_lamp/desk_lamp.skel"))
    >>> rig = next(obj for obj in collection.all_objects if obj.type == "ARMATURE")
    >>> rig.pose.bones["elbow"].rotation_euler.z = 0.5  # beyond its stop
    >>> posed = sample(collection, frames=[1])
    >>> {track.name: round(float(track.values[0]), 3) for track in posed.trajectories}
    {'shoulder': 0.5, 'elbow': 0.2, 'neck/neck_1': -1.4, 'neck/neck_2': 0.0}
    """
    scene = scene or bpy.context.scene
    rig = require_rig(model)
    frames = list(range(scene.frame_start, scene.frame_end + 1)) if frames is None else list(frames)
    every = servo_channels(rig)
    wanted = [channel for joint in joints for channel in every.get(joint, ())] if joints is not None else []
    if joints is None:
        wanted = keyed_servos(rig) or [channel for own in every.values() for channel in own]
    values = pose_values(rig, scene, wanted, frames)
    times = Clock.of(scene, frames[0] if frames else None).times(frames)
    tracks = [Trajectory(channel.name, times.copy(), values[:, k].copy()) for k, channel in enumerate(wanted)]
    action = rig.animation_data.action if rig.animation_data is not None else None
    return Motion(name or (action.name if action is not None else rig.name), tracks)


def keyed_servos(rig: bpy.types.Object) -> list[Channel]:
    """The channels that the rig's Action keys, in the order of its joints."""
    data = rig.animation_data
    if data is None or data.action is None:
        return []
    keyed = {(curve.data_path, curve.array_index) for curve in action_curves(rig, data.action, create=False) or ()}
    return [channel for own in servo_channels(rig).values() for channel in own if keyed.intersection(channel.curves())]


def pose_values(
    rig: bpy.types.Object,
    scene: bpy.types.Scene,
    channels: Sequence[Channel],
    frames: Sequence[float],
    look: Callable[[float], None] | None = None,
) -> Array:
    """Coordinates (frames, channels) of the evaluated pose at scene frames. The scene's frame is put back. ``look`` is
    called with each frame while it is shown."""
    values = np.empty((len(frames), len(channels)))
    before = scene.frame_current, scene.frame_subframe
    with _posed(rig):
        reader = PoseReader(rig, channels)
        try:
            for first in range(0, len(frames), reader.most):
                part = frames[first : first + reader.most]
                for frame in part:
                    whole = int(np.floor(frame))
                    scene.frame_set(whole, subframe=float(frame - whole))
                    reader.look()
                    if look is not None:
                        look(frame)
                values[first : first + len(part)] = reader.taken()
        finally:
            scene.frame_set(before[0], subframe=before[1])
    return values


@contextmanager
def _posed(rig: bpy.types.Object) -> Iterator[None]:
    """Have the bones of a rig stand as they are posed, which they do not in edit mode nor where the armature is shown
    at rest."""
    armature = armature_of(rig)
    shown, editing = armature.pose_position, armature.is_editmode
    if editing:
        bpy.ops.object.mode_set(mode="OBJECT")
    if shown != "POSE":
        armature.pose_position = "POSE"
    try:
        yield
    finally:
        if shown != "POSE":
            armature.pose_position = shown
        if editing:
            bpy.ops.object.mode_set(mode="EDIT")
