"""What a model's Actions ask of its servos, worked out once and kept until something changes.

A panel may ask at every redraw: reading 30 servos of 10,000 keys takes a good part of a second, telling that nothing
changed some microseconds. What changes an Action or an armature, Blender tells; what changes a stop, its record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ...model.check import ServoCheck, by_need, check
from ...model.keys import BEZIER
from ...model.records import Array, Motion, Trajectory
from ...model.stops import Limits
from .. import properties
from ..blocks import coordinates_of
from ..channels import Channel, block_turn, servo_channels
from ..compat import action_curves
from .actions import may_be_of
from .curves import Place, cycles_of, read_keys
from .stops import stops_of

#: How fine curves are sampled where they are not straight (frames).
_FINE = 0.25
#: Balls that turn further (rad) from key to key are looked at in between.
_SHORT = 0.05
_MOST_BETWEEN = 64

Track = tuple[Array, Array, np.ndarray]  # frames, values, held: (n,)


@dataclass(frozen=True)
class Overview:
    """An Action that keys a model's servos: its name, the range of their keys in frames, how many servos, and whether
    some of them repeat by a Cycles modifier."""

    name: str
    first: float
    last: float
    servos: int
    cycles: bool


@dataclass(frozen=True)
class Row:
    """What one servo of an Action does, its bone, and whether its numbers are angles."""

    found: ServoCheck
    bone: str
    turns: bool


def motion_of(rig: bpy.types.Object, action: bpy.types.Action, scene: bpy.types.Scene) -> Motion:
    """What an Action has a model's servos do, in seconds from the scene's first frame.

    Straight and held keys are taken as they are. Bezier parts are sampled four times a frame at least, with their
    lowest and highest values; curves that ease in other ways or have modifiers are evaluated as finely. Cycles and what
    lies beyond the outer keys are left out."""
    curves = {(c.data_path, c.array_index): c for c in action_curves(rig, action, create=False) or ()}
    rate = scene.render.fps / scene.render.fps_base
    tracks = []
    for own in servo_channels(rig).values():
        for channel, (frames, values, held) in _tracks(rig, own, curves):
            times = (frames - scene.frame_start) / rate
            tracks.append(Trajectory(channel.name, times, values, held=held))
    return Motion(action.name, tracks)


def limits_of(rig: bpy.types.Object) -> dict[str, Limits]:
    """Lower and upper stop by servo name, None where there is none."""
    stops = stops_of(rig)
    return {
        channel.name: stops[channel.joint, channel.number] for own in servo_channels(rig).values() for channel in own
    }


def check_action(rig: bpy.types.Object, action: bpy.types.Action, scene: bpy.types.Scene) -> list[Row]:
    """What every servo does in an Action, the worst first: see ``model.check.check``. Times are seconds from the
    scene's first frame."""
    channel_of = {channel.name: channel for own in servo_channels(rig).values() for channel in own}
    rows = []
    for found in by_need(check(motion_of(rig, action, scene), limits_of(rig))):
        channel = channel_of[found.name]
        turns = channel.kind in {"rotation", "screw", "ball"} or (channel.kind == "free" and channel.index < 3)
        rows.append(Row(found, channel.bone, turns))
    return rows


def overviews(rig: bpy.types.Object) -> list[Overview]:
    """The Actions that key a model's servos, in the order of the file."""
    channels = [channel for own in servo_channels(rig).values() for channel in own]
    own = (action for action in bpy.data.actions if may_be_of(rig, action))
    return [found for action in own if (found := _overview(rig, action, channels)) is not None]


def _overview(rig: bpy.types.Object, action: bpy.types.Action, channels: list[Channel]) -> Overview | None:
    curves = {(c.data_path, c.array_index): c for c in action_curves(rig, action, create=False) or ()}
    curves = {place: curve for place, curve in curves.items() if len(curve.keyframe_points)}
    servos = [channel for channel in channels if not curves.keys().isdisjoint(channel.curves())]
    if not servos:
        return None
    own = [curves[place] for channel in servos for place in channel.curves() if place in curves]
    first = min(curve.keyframe_points[0].co[0] for curve in own)
    last = max(curve.keyframe_points[-1].co[0] for curve in own)
    return Overview(action.name, first, last, len(servos), any(cycles_of(curve) is not None for curve in own))


# ---------------------------------------------------------------- reading curves


def _tracks(
    rig: bpy.types.Object, own: list[Channel], curves: dict[Place, bpy.types.FCurve]
) -> Iterator[tuple[Channel, Track]]:
    """The keyed channels of a joint and their courses in frames."""
    blocks: dict[str, list[Channel]] = {}
    for channel in own:
        if not channel.is_single:
            blocks.setdefault(channel.bone, []).append(channel)
        elif (curve := curves.get((channel.path, channel.index))) is not None and len(curve.keyframe_points):
            yield channel, _track(curve)
    for bone, block in blocks.items():
        places = [place for place in block[0].curves() if place in curves and len(curves[place].keyframe_points)]
        if places:
            yield from _block(rig, bone, block, {place: _track(curves[place]) for place in places})


def _track(curve: bpy.types.FCurve) -> Track:
    keys = read_keys(curve)
    modified = any(each.type != "CYCLES" and not each.mute for each in curve.modifiers)
    if not modified and keys.kinds.max() <= BEZIER:
        return keys.straightened(_FINE)
    frames = np.unique(np.concatenate([keys.at_keys, np.arange(keys.first, keys.last, _FINE)]))
    return frames, np.array([curve.evaluate(frame) for frame in frames]), np.zeros(len(frames), dtype=bool)


def _block(
    rig: bpy.types.Object, bone: str, block: list[Channel], tracks: dict[Place, Track]
) -> Iterator[tuple[Channel, Track]]:
    """The coordinates of a ball or free block, from its bone's quaternion and location."""
    pose = rig.pose.bones[bone]
    frames = np.unique(np.concatenate([track[0] for track in tracks.values()]))
    turn, against = block_turn(rig, bone), block[0].against
    vectors = coordinates_of(None, _numbers(pose, block, tracks, frames)[:, :4], turn, against, free=False)
    frames = _finer(frames, vectors)
    numbers = _numbers(pose, block, tracks, frames)
    values = coordinates_of(numbers[:, 4:], numbers[:, :4], turn, against, block[0].kind == "free")
    before = [np.searchsorted(track[0], frames, side="right") - 1 for track in tracks.values()]
    held = np.all([t[2][np.clip(b, 0, None)] for t, b in zip(tracks.values(), before, strict=True)], axis=0)
    for channel in block:
        yield channel, (frames, values[:, channel.index], held)


def _numbers(pose: bpy.types.PoseBone, block: list[Channel], tracks: dict[Place, Track], frames: Array) -> Array:
    """A bone's quaternion, and location where the block has one, at frames: (n, 4) or (n, 7)."""
    out = np.empty((len(frames), len(block[0].curves())))
    for column, place in enumerate(block[0].curves()):
        if place in tracks:
            out[:, column] = Trajectory("", tracks[place][0], tracks[place][1], held=tracks[place][2]).at(frames)
        else:
            out[:, column] = getattr(pose, place[0].rpartition(".")[2])[place[1]]
    return out


def _finer(frames: Array, vectors: Array) -> Array:
    """Frames with more of them where a rotation vector goes far."""
    gone = np.linalg.norm(np.diff(vectors, axis=0), axis=1)
    counts = np.clip(np.ceil(gone / _SHORT), 1, _MOST_BETWEEN).astype(int)
    if not len(counts) or counts.max() == 1:
        return frames
    parts_of = [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(frames, frames[1:], counts, strict=False)]
    return np.concatenate([*parts_of, frames[-1:]])


# ---------------------------------------------------------------- kept until something changes


@dataclass
class _Kept:
    """Results for a model, and the state of things that they are for."""

    state: tuple[Any, ...] = ()
    motions: list[Overview] = field(default_factory=list)
    rows: list[Row] | None = None


_kept: dict[int, _Kept] = {}
_changes = {"number": 0}


def seen_motions(rig: bpy.types.Object, scene: bpy.types.Scene) -> list[Overview]:
    """``overviews``, kept while nothing changes."""
    return _up_to_date(rig, scene).motions


def seen_rows(rig: bpy.types.Object, scene: bpy.types.Scene) -> list[Row]:
    """``check_action`` of the model's Action, kept while nothing changes; nothing where it has none."""
    kept = _up_to_date(rig, scene)
    if kept.rows is None:
        action = rig.animation_data.action if rig.animation_data is not None else None
        kept.rows = [] if action is None else check_action(rig, action, scene)
    return kept.rows


def _up_to_date(rig: bpy.types.Object, scene: bpy.types.Scene) -> _Kept:
    data = rig.animation_data
    state = (
        _changes["number"],
        tuple(action.session_uid for action in bpy.data.actions),
        data.action.session_uid if data is not None and data.action is not None else 0,
        (scene.frame_start, scene.render.fps, scene.render.fps_base),
    )
    kept = _kept.get(rig.session_uid)
    if kept is None or kept.state != state:
        kept = _kept[rig.session_uid] = _Kept(state, overviews(rig))
    return kept


@persistent
def forget(*_: Any) -> None:
    """Let everything be worked out again when it is asked for."""
    _changes["number"] += 1
    _kept.clear()


@persistent
def _updated(_scene: bpy.types.Scene, graph: bpy.types.Depsgraph) -> None:
    if graph.id_type_updated("ACTION") or (graph.id_type_updated("ARMATURE") and _was_renamed(graph)):
        forget()


def _was_renamed(graph: bpy.types.Depsgraph) -> bool:
    """Whether an armature changed otherwise than by a pose: a bone may have another name, and its servo with it."""
    return any(isinstance(each.id, bpy.types.Armature) and not each.is_updated_geometry for each in graph.updates)


_HANDLERS = (
    ("depsgraph_update_post", _updated),
    ("undo_post", forget),
    ("redo_post", forget),
    ("load_post", forget),
    ("load_factory_startup_post", forget),
)


def register() -> None:
    """Listen to what changes Actions and stops; nothing is heard twice."""
    unregister()
    for name, act in _HANDLERS:
        getattr(bpy.app.handlers, name).append(act)
    properties.on_joint_change.append(forget)


def unregister() -> None:
    """Listen no more."""
    for name, act in _HANDLERS:
        calls = getattr(bpy.app.handlers, name)
        if act in calls:
            calls.remove(act)
    if forget in properties.on_joint_change:
        properties.on_joint_change.remove(forget)
    forget()
