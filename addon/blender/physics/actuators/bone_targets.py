"""Targets from bones that strips or drivers move: extrapolated from their last two values.

Their F-curves alone do not determine them, and a step is commanded before its frame is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy

from ...data.access import record_of
from ...data.channels import is_screw_driver_curve
from ..world.anchor import is_static

_ChannelKey = tuple[str, int]


class BoneTargets:
    """Channels (data path, index) of an armature that are moved by more than the F-curves of its Action."""

    def __init__(self, rig: bpy.types.Object, channels: Iterable[_ChannelKey]) -> None:
        data = rig.animation_data
        drivers = [] if data is None else [curve for curve in data.drivers if not is_screw_driver_curve(curve)]
        driven = {(curve.data_path, curve.array_index) for curve in drivers if not curve.mute}
        everything = data is not None and has_nla_strips(data)
        self.keys = {key for key in channels if everything or key in driven}
        self._rig, self._frame = rig, 0.0
        self._now: dict[_ChannelKey, float] = {}
        self._before: dict[_ChannelKey, float] = {}

    def look(self, frame: float) -> None:
        """Read the channels at ``frame``, the last one evaluated. Called once for each frame."""
        self._frame, self._before = frame, self._now
        self._now = {key: self._read(key) for key in self.keys}

    def at(self, key: _ChannelKey, frame: float) -> float:
        """Return the value of a channel at a frame, extrapolated linearly from its last two values."""
        if key not in self._now:  # the simulation has not begun
            return self._read(key)
        now = self._now[key]
        return now + (frame - self._frame) * (now - self._before.get(key, now))

    def _read(self, key: _ChannelKey) -> float:
        path, index = key
        return float(self._rig.path_resolve(path)[index])


def has_other_animation(scene: bpy.types.Scene, rig: bpy.types.Object) -> bool:
    """Return whether anything but the mechanism's own Action and settings animates the scene's physics.

    That is: strips and drivers of the mechanism, the scene's gravity, bodies that follow keyframes, animated force
    fields.
    """
    if has_mixed_animation(rig) or _is_animated(scene):
        return True
    world = scene.rigidbody_world
    held = world.collection if world is not None else None
    for obj in held.objects if held is not None else ():
        if record_of(obj).model == rig or is_static(obj) or obj.rigid_body is None:
            continue
        if obj.rigid_body.kinematic or _is_animated(obj):
            return True
    return any(obj.field is not None and obj.field.type != "NONE" and _is_object_animated(obj) for obj in scene.objects)


def has_mixed_animation(rig: bpy.types.Object) -> bool:
    """Return whether strips, or drivers of the user's, move the bones of a mechanism besides its Action."""
    data = rig.animation_data
    if data is None:
        return False
    return has_nla_strips(data) or any(not is_screw_driver_curve(curve) for curve in data.drivers)


def has_nla_strips(data: bpy.types.AnimData) -> bool:
    """Return whether NLA strips are evaluated besides an Action."""
    return data.use_nla and any(not track.mute and len(track.strips) for track in data.nla_tracks)


def _is_object_animated(obj: bpy.types.Object) -> bool:
    """Return whether an object, or one of its parents, is animated or constrained."""
    holder: bpy.types.Object | None = obj
    while holder is not None:
        if _is_animated(holder) or len(holder.constraints):
            return True
        holder = holder.parent
    return False


def _is_animated(block: Any) -> bool:
    data = block.animation_data
    if data is None:
        return False
    return data.action is not None or has_nla_strips(data) or bool(len(data.drivers))
