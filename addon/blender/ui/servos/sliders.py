"""Sliders for servos whose ends are the servos' own stops: properties of bones that read and set the channels.

The ends of a slider belong to its property, so there is one for every pair of stops that is shown, made when it is
needed. It stores nothing and cannot be keyed itself: what is keyed is the channel. While Blender draws, nothing can be
made: what is missing then is made right after, and drawn again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import bpy
import numpy as np
from bpy.props import FloatProperty

from ....core.stops import Limits, beyond, put_within
from ...animation.motion_checks import changes
from ...animation.pose_library import key_if_wanted
from ...data.change_counter import names_of
from ...data.channels import Channel, block_turn
from ...data.queries import parts
from ...editing.joint_settings import coordinates, counts_angles
from ...rig.ball_channels import block_pose
from ...rig.pose_channels import read_pose

#: More pairs of stops than this get sliders without ends: dragging a stop shows many for a moment each.
_MOST = 2000
_PREFIX = "knuckle_servo_"
#: What rounding leaves of zero would be shown with all its digits.
_NOTHING = 1e-6


class Slider(NamedTuple):
    """What a servo's row shows: its channel, the bone's property for it (empty while it is to be made), its stops,
    whether the property has two ends, and whether the servo follows a loop."""

    channel: Channel
    prop: str
    stops: Limits
    is_slider: bool
    follows: bool

    def is_beyond(self, pose: bpy.types.PoseBone) -> bool:
        """Return whether the channel says more than the stops let it be."""
        return bool(self.prop) and bool(beyond(np.array([getattr(pose, self.prop)]), self.stops)[0])


@dataclass(frozen=True)
class _Key:
    prop: str
    index: int
    angle: bool
    block: str  # the kind of a ball or free block that the number is of, or empty
    against: bool
    limits: Limits


_made: dict[_Key, str] = {}
_missing: set[_Key] = set()
#: Rows by bone, and the state of things that they are for, by the rig's ``session_uid``.
_kept: dict[int, tuple[tuple[Any, ...], dict[str, list[Slider]]]] = {}


def sliders_of(rig: bpy.types.Object) -> dict[str, list[Slider]]:
    """The sliders of a model's servos by bone, kept while its joints, stops and names stay."""
    state = changes(), names_of(rig)
    kept = _kept.get(rig.session_uid)
    if kept is None or kept[0] != state:
        rows: dict[str, list[Slider]] = {}
        for each in coordinates(rig, parts(rig, "JOINT")):
            if each.channel is not None:
                angle = counts_angles(each)
                prop = _property(each.channel, angle, each.stops)
                ends = angle or None not in each.stops
                rows.setdefault(each.channel.bone, []).append(
                    Slider(each.channel, prop, each.stops, ends, not each.is_posed)
                )
        if any(not row.prop for own in rows.values() for row in own):
            return rows
        _kept[rig.session_uid] = kept = state, rows
    return kept[1]


def _property(channel: Channel, angle: bool, stops: Limits) -> str:
    """The name of the bone's property for a channel with these stops; empty while it is to be made."""
    limits = tuple(None if stop is None else round(stop, 6) for stop in stops)
    if len(_made) >= _MOST:
        limits = (None, None)
    block = "" if channel.is_single else channel.kind
    key = _Key(channel.prop, channel.index, angle, block, bool(block) and channel.against, (limits[0], limits[1]))
    if key in _made:
        return _made[key]
    try:
        return _put(key)
    except AttributeError:  # Blender draws
        _missing.add(key)
        if not bpy.app.timers.is_registered(_make_missing):
            bpy.app.timers.register(_make_missing, first_interval=0.0)
        return ""


def _put(key: _Key) -> str:
    """Give bones the property, and return its name."""
    name = f"{_PREFIX}{len(_made)}"
    setattr(bpy.types.PoseBone, name, _make(key))
    _made[key] = name
    return name


def _make_missing() -> None:
    """Make the properties that were missed while Blender drew, and have it draw again."""
    for key in _missing - _made.keys():
        _put(key)
    _missing.clear()
    for window in bpy.context.window_manager.windows:
        for area in (each for each in window.screen.areas if each.type == "VIEW_3D"):
            area.tag_redraw()


def _make(key: _Key) -> Any:
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
        return value if abs(value) > _NOTHING else 0.0

    def put(self: Any, value: float) -> None:
        _write(self, key, float(put_within(np.array([value]), key.limits)[0]))

    description = "Where the servo is, between its stops"
    return FloatProperty(name="Servo", description=description, options=set(), get=get, set=put, **more)


def _read(pose: Any, key: _Key) -> float:
    if not key.block:
        return getattr(pose, key.prop)[key.index]
    return float(read_pose(pose.id_data, _block(pose, key))[key.index])


def _write(pose: Any, key: _Key, value: float) -> None:
    rig = pose.id_data
    if not key.block:
        getattr(pose, key.prop)[key.index] = value
    else:
        own = _block(pose, key)
        values = read_pose(rig, own)
        values[key.index] = value
        places, turns = block_pose(values[None], block_turn(rig, pose.name), key.against)
        pose.rotation_quaternion = turns[0]
        if key.block == "free":
            pose.location = places[0]
    every = (row.channel for row in sliders_of(rig).get(pose.name, ()))
    moved = [channel for channel in every if (channel.prop, channel.index) == (key.prop, key.index)]
    key_if_wanted(rig, bpy.context.scene, {"": moved})


def _block(pose: Any, key: _Key) -> list[Channel]:
    """The channels of a ball's or free block's bone, as if it were alone in its joint."""
    size = 6 if key.block == "free" else 3
    kind: Any = key.block
    return [Channel("", k, "", kind, pose.name, key.prop, k, key.against, 0.0) for k in range(size)]


def unregister() -> None:
    """Take all properties away again."""
    if bpy.app.timers.is_registered(_make_missing):
        bpy.app.timers.unregister(_make_missing)
    _missing.clear()
    for name in _made.values():
        delattr(bpy.types.PoseBone, name)
    _made.clear()
    _kept.clear()
