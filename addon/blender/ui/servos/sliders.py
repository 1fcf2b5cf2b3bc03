"""Sliders of servos: bone properties with the servos' stops as limits, which read and set the channels.

The limits of a slider belong to its property definition, so each pair of stops on display has a property of its own,
created on demand. It stores nothing and cannot be keyed; the channel is keyed instead. The list cannot show
the channel itself, which Insert Keyframe over it would key: its property has no limits, and a ball's quaternion no
angles. Properties cannot be defined while Blender draws: missing ones are created right after, and the views drawn
again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import bpy
import numpy as np
from bpy.props import FloatProperty

from ....core.stops import StopPair, clamp_values_to_stops, stop_excess
from ...animation.motion_checks import change_count
from ...animation.pose_library import auto_key
from ...data.change_counter import joint_and_bone_names
from ...data.channels import Channel, block_rotation
from ...data.queries import parts
from ...editing.joint_settings import is_angular, joint_dofs
from ...events.runtime_state import Lifetime, RuntimeState, end_state, state_of
from ...rig.ball_channels import block_bone_channels
from ...rig.pose_channels import read_pose

#: Number of properties from which new ones have no limits: dragging a stop creates many that are shown for a moment.
_MAX_PROPERTIES = 2000
_PREFIX = "knuckle_servo_"
#: Values below it are shown as 0, as a rounding error would be shown with all its digits.
_ZERO_TOLERANCE = 1e-6


class Slider(NamedTuple):
    """Row of a servo.

    Attributes:
        channel: Channel of the servo.
        prop: Name of the bone's property; empty until it is created.
        stops: Lower and upper stop.
        is_slider: Whether the property has two limits.
        follows: Whether the servo is of a dependent joint.
    """

    channel: Channel
    prop: str
    stops: StopPair
    is_slider: bool
    follows: bool

    def is_outside_stops(self, pose: bpy.types.PoseBone) -> bool:
        """Return whether the servo's value exceeds its stops."""
        return bool(self.prop) and bool(stop_excess(np.array([getattr(pose, self.prop)]), self.stops)[0])


@dataclass(frozen=True)
class _PropertyKey:
    prop: str
    index: int
    angle: bool
    block: str  # kind of the ball or free block that the coordinate belongs to, or empty
    is_reversed: bool
    limits: StopPair


@dataclass
class _BoneProperties(RuntimeState):
    """Properties of pose bones: names of the defined ones, and those that were missing while Blender drew."""

    lifetime: ClassVar = Lifetime.PROGRAM
    names: dict[_PropertyKey, str] = field(default_factory=dict)
    pending: set[_PropertyKey] = field(default_factory=set)


@dataclass
class _KnownSliders(RuntimeState):
    """Sliders of a mechanism by bone, and the state for which they are valid."""

    state: tuple[Any, ...] = ()
    sliders: dict[str, list[Slider]] = field(default_factory=dict)


def servo_sliders(rig: bpy.types.Object) -> dict[str, list[Slider]]:
    """Return the sliders of a mechanism's servos by bone; cached while its joints, stops and names stay."""
    state = change_count(), joint_and_bone_names(rig)
    kept = state_of(_KnownSliders, rig)
    if kept.state != state:
        rows: dict[str, list[Slider]] = {}
        for each in joint_dofs(rig, parts(rig, "JOINT")):
            if each.channel is not None:
                angle = is_angular(each)
                prop = _property(each.channel, angle, each.stops)
                ends = angle or None not in each.stops
                rows.setdefault(each.channel.bone, []).append(
                    Slider(each.channel, prop, each.stops, ends, not each.is_posed)
                )
        if any(not row.prop for own in rows.values() for row in own):
            return rows
        kept.state, kept.sliders = state, rows
    return kept.sliders


def _property(channel: Channel, angle: bool, stops: StopPair) -> str:
    """Return the name of the bone property for a channel with these stops; empty until it is created."""
    limits = tuple(None if stop is None else round(stop, 6) for stop in stops)
    own = state_of(_BoneProperties)
    if len(own.names) >= _MAX_PROPERTIES:
        limits = (None, None)
    block = "" if channel.is_single else channel.kind
    key = _PropertyKey(
        channel.prop, channel.index, angle, block, bool(block) and channel.is_reversed, (limits[0], limits[1])
    )
    if key in own.names:
        return own.names[key]
    try:
        return _create_property(key)
    except AttributeError:  # Blender draws
        own.pending.add(key)
        if not bpy.app.timers.is_registered(_create_pending):
            bpy.app.timers.register(_create_pending, first_interval=0.0)
        return ""


def _create_property(key: _PropertyKey) -> str:
    """Define the property on pose bones, and return its name."""
    names = state_of(_BoneProperties).names
    name = f"{_PREFIX}{len(names)}"
    setattr(bpy.types.PoseBone, name, _build_property(key))
    names[key] = name
    return name


def _create_pending() -> None:
    """Define the properties that were missing while Blender drew, and redraw the 3D views."""
    own = state_of(_BoneProperties)
    for key in own.pending - own.names.keys():
        _create_property(key)
    own.pending.clear()
    for window in bpy.context.window_manager.windows:
        for area in (each for each in window.screen.areas if each.type == "VIEW_3D"):
            area.tag_redraw()


def _build_property(key: _PropertyKey) -> Any:
    lower, upper = key.limits
    more: dict[str, Any] = {"subtype": "ANGLE", "step": 100, "precision": 1} if key.angle else {"unit": "LENGTH"}
    if lower is not None:
        more["min"] = lower
    if upper is not None:
        more["max"] = upper
    if key.angle:
        more["soft_min"] = min(-math.pi, (upper or 0.0) - math.pi) if lower is None else lower
        more["soft_max"] = max(math.pi, (lower or 0.0) + math.pi) if upper is None else upper

    def get(self: Any) -> float:
        value = _read(self, key)
        return value if abs(value) > _ZERO_TOLERANCE else 0.0

    def put(self: Any, value: float) -> None:
        _write(self, key, float(clamp_values_to_stops(np.array([value]), key.limits)[0]))

    return FloatProperty(
        name="Servo",
        description="Value of the servo between its stops; the button beside it inserts a keyframe",
        options=set(),
        get=get,
        set=put,
        **more,
    )


def _read(pose: Any, key: _PropertyKey) -> float:
    if not key.block:
        return getattr(pose, key.prop)[key.index]
    return float(read_pose(pose.id_data, _block_channels(pose, key))[key.index])


def _write(pose: Any, key: _PropertyKey, value: float) -> None:
    rig = pose.id_data
    if not key.block:
        getattr(pose, key.prop)[key.index] = value
    else:
        own = _block_channels(pose, key)
        values = read_pose(rig, own)
        values[key.index] = value
        places, turns = block_bone_channels(values[None], block_rotation(rig, pose.name), key.is_reversed)
        pose.rotation_quaternion = turns[0]
        if key.block == "free":
            pose.location = places[0]
    every = (row.channel for row in servo_sliders(rig).get(pose.name, ()))
    moved = [channel for channel in every if (channel.prop, channel.index) == (key.prop, key.index)]
    auto_key(rig, bpy.context.scene, {"": moved})


def _block_channels(pose: Any, key: _PropertyKey) -> list[Channel]:
    """Return the channels of a ball's or free block's bone, as if it were alone in its joint."""
    size = 6 if key.block == "free" else 3
    kind: Any = key.block
    return [Channel("", k, "", kind, pose.name, key.prop, k, key.is_reversed, 0.0) for k in range(size)]


def unregister() -> None:
    """Remove all properties."""
    if bpy.app.timers.is_registered(_create_pending):
        bpy.app.timers.unregister(_create_pending)
    for name in state_of(_BoneProperties).names.values():
        delattr(bpy.types.PoseBone, name)
    end_state(_BoneProperties)
