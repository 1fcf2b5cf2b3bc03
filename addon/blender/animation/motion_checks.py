"""Checks of a mechanism's motions: lost joints, frame rate, stops and finite values, as a list of servos per Action.

Results for the panels are cached until an Action, a stop or a pose that they depend on changes: reading 30 servos of
10,000 keys takes a considerable part of a second, the check whether anything changed some microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ...core.model import Array, Motion, Trajectory
from ...core.motion.checks import ServoCheck, check_motion, sort_by_severity
from ...core.motion.keyframes import BEZIER_KEY
from ...core.report import FormatError, Message, Report, abbreviate_names, count_with_noun, join_messages
from ...core.stops import StopPair, clamp_values_to_stops
from ...core.stops import joint_stops as stops_of_dofs
from ...core.stops import stop_excess as beyond_stops
from ..data.access import armature_of, record_of
from ..data.channels import Channel, block_rotation, servo_channels
from ..data.conversion import read_dofs
from ..data.queries import RigParts, collection_object_names
from ..events.handlers import Handlers, connect, disconnect
from ..events.runtime_state import Lifetime, RuntimeState, end_state, state_of
from ..events.signals import Signal
from ..rig.ball_channels import coordinates_from_keys, subdivision_positions
from .actions import active_action, may_belong_to
from .fcurves import CurveId, channel_curve_id, has_active_cycles, posing_curves, read_keys, servo_curve_ids
from .frame_time import Clock
from .source_motion import keyed_frame_rate


def require_joints(found: RigParts, report: Report) -> None:
    """Report bones that have lost the objects of their joints.

    Raises:
        FormatError: All have, so that there are no servos.
    """
    there = {record_of(empty).source_id for empty in found.joints}
    lost = [chain[-1] for joint, chain in found.chains.items() if joint not in there]
    if lost and not there:
        raise FormatError(
            Message(
                "{}: joints are missing ({}), so it has no servos", repr(found.rig.name), abbreviate_names(lost, 5)
            ),
            remedy="Copy the collection of the whole mechanism, or press Rebuild Missing Parts.",
        )
    if lost:
        report.warn(
            "joints-missing",
            Message(
                "Bones without a joint are not in the motion: {}. Press Rebuild Missing Parts",
                abbreviate_names(lost, 5),
            ),
        )


def report_frame_rate(action: bpy.types.Action | None, clock: Clock, report: Report) -> None:
    """Report a motion that plays at another speed than its file has, because the scene has another frame rate."""
    own, now = keyed_frame_rate(action), clock.rate
    if own is not None and not is_same_rate(own, now):
        report.warn(
            "rate-changed",
            Message(
                "Frame rate: the motion has {} fps, the scene {} fps, so it plays and is written at {} times the "
                "speed of its file. Set the scene to {} fps, or use Speed with factor {}",
                f"{own:g}",
                f"{now:g}",
                f"{now / own:.3g}",
                f"{own:g}",
                f"{own / now:.4g}",
            ),
        )


def is_same_rate(one: float, other: float) -> bool:
    """Return whether two frame rates are equal within a relative tolerance of 1e-6."""
    return abs(one / other - 1.0) < 1e-6


def apply_stop_policy(
    found: RigParts,
    tracks: dict[Channel, Trajectory],
    stops: Literal["KEEP", "CLAMP", "REFUSE"],
    report: Report,
) -> None:
    """Report values beyond stops, and clamp them if ``stops`` is CLAMP.

    Raises:
        FormatError: There are such values, and ``stops`` is REFUSE.
    """
    beyond: list[str] = []
    ends = dof_stops(found.joints)
    for channel, track in tracks.items():
        limits = ends.get((channel.joint, channel.dof_index), (None, None))
        out = beyond_stops(track.values, limits) != 0.0
        if not out.any():
            continue
        count, first = int(out.sum()), float(track.times[np.argmax(out)])
        counted = repr(channel.name), count, count_with_noun(len(out), "keyframe"), f"{first:g}"
        beyond.append(Message("{}: {} of {}, first at {} s", *counted))
        if stops == "CLAMP":
            track.values = clamp_values_to_stops(track.values, limits)
    if not beyond:
        return
    more = [Message("and {} more", count_with_noun(len(beyond) - 5, "servo"))] if len(beyond) > 5 else []
    listed = join_messages("; ", (*beyond[:5], *more))
    if stops == "REFUSE":
        raise FormatError(
            Message("Values outside the stops: {}", listed),
            remedy="Correct them, or choose to clamp them or to write them unchanged.",
        )
    done = "were clamped" if stops == "CLAMP" else "are written unchanged"
    report.warn("values-beyond-stops", Message("Values outside the stops {}: {}", done, listed))


def require_finite(track: Trajectory) -> None:
    """Raise FormatError if a trajectory has a value that is not finite."""
    wrong = ~np.isfinite(track.values)
    if wrong.any():
        raise FormatError(
            Message(
                "Servo {}: its value is not finite, first at {} s",
                repr(track.name),
                f"{track.times[np.argmax(wrong)]:g}",
            ),
            remedy="Check its drivers and constraints.",
        )


def dof_stops(joints: Iterable[bpy.types.Object]) -> dict[tuple[str, int], StopPair]:
    """Return lower and upper stop of every joint value by (joint id, index), from the records of joints' empties.

    Of joints with one id the first that moves counts.
    """
    out: dict[tuple[str, int], StopPair] = {}
    for empty in joints:
        record = record_of(empty)
        if (record.source_id, 0) not in out:
            own = [
                (_rounded_stop(lower), _rounded_stop(upper)) for lower, upper in stops_of_dofs(read_dofs(record.joint))
            ]
            out |= {(record.source_id, number): limits for number, limits in enumerate(own)}
    return out


def _rounded_stop(stop: float | None) -> float | None:
    """Return the shortest decimal number that is the same in float32: 2.2, not 2.200000047683716."""
    return None if stop is None else float(str(np.float32(stop)))


#: Step (frames) of samples where curves are not linear.
_SAMPLE_STEP = 0.25
#: Rotation (rad) of a ball joint from key to key beyond which it is sampled in between.
_MAX_ROTATION_STEP = 0.05
_MAX_SUBSAMPLES = 64

KeyTrack = tuple[Array, Array, np.ndarray]  # frames, values, held: (n,)


@dataclass(frozen=True)
class MotionOverview:
    """Summary of an Action that keys a mechanism's servos.

    Attributes:
        name: Name of the Action.
        first: First frame of the scene with a key on servos.
        last: Last one.
        duration: Time between them (s).
        servos: Number of keyed servos.
        cycles: Whether some repeat by a Cycles modifier.
    """

    name: str
    first: float
    last: float
    duration: float
    servos: int
    cycles: bool


@dataclass(frozen=True)
class ServoRow:
    """Check result of one servo of an Action, its bone, and whether its values are angles."""

    found: ServoCheck
    bone: str
    turns: bool


def action_motion(rig: bpy.types.Object, action: bpy.types.Action, scene: bpy.types.Scene) -> Motion:
    """Return the motion of a mechanism's servos in an Action, in seconds from the scene's first frame.

    Muted curves are ignored. Linear and constant keys are taken as they are. Bezier segments are sampled at least four
    times a frame, with their extrema; curves with other easing or modifiers are evaluated as finely. Cycles, and what
    lies beyond the outer keys, are left out. A value of a ball joint without keyframes is taken from the pose.
    """
    curves = posing_curves(rig, action)
    clock = Clock.of(scene)
    tracks = []
    for own in servo_channels(rig).values():
        for channel, (places, values, held) in _keyed_tracks(rig, own, curves):
            tracks.append(Trajectory(channel.name, clock.key_times(places), values, held=held))
    return Motion(action.name, tracks)


def servo_stops(rig: bpy.types.Object) -> dict[str, StopPair]:
    """Return lower and upper stop by servo name, None where there is none."""
    found = RigParts(rig)
    stops, every = dof_stops(found.joints), servo_channels(rig, found).values()
    return {channel.name: stops[channel.joint, channel.dof_index] for own in every for channel in own}


def check_action(rig: bpy.types.Object, action: bpy.types.Action, scene: bpy.types.Scene) -> list[ServoRow]:
    """Check every servo of an Action, the worst first: see ``core.motion.checks.check_motion``.

    Times are seconds from the scene's first frame.
    """
    channel_of = {channel.name: channel for own in servo_channels(rig).values() for channel in own}
    rows = []
    for found in sort_by_severity(check_motion(action_motion(rig, action, scene), servo_stops(rig))):
        channel = channel_of[found.name]
        rows.append(ServoRow(found, channel.bone, channel.is_angle))
    return rows


def motion_overviews(rig: bpy.types.Object, scene: bpy.types.Scene) -> list[MotionOverview]:
    """Return summaries of the Actions that key a mechanism's servos, in the order of the .blend."""
    channels = [channel for own in servo_channels(rig).values() for channel in own]
    places, clock = servo_curve_ids(rig), Clock.of(scene)
    own = (action for action in bpy.data.actions if may_belong_to(rig, action))
    found = (_overview(action.name, posing_curves(rig, action, places), channels, clock) for action in own)
    return [each for each in found if each is not None]


def _overview(
    name: str, curves: Mapping[CurveId, bpy.types.FCurve], channels: Sequence[Channel], clock: Clock
) -> MotionOverview | None:
    if not curves:
        return None
    servos = sum(not curves.keys().isdisjoint(channel.curves()) for channel in channels)
    ends = [[curve.keyframe_points[end].co[0] for curve in curves.values()] for end in (0, -1)]
    times = clock.key_times([min(ends[0]), max(ends[1])])
    first, last = clock.frames(times).tolist()
    cycles = any(has_active_cycles(curve) for curve in curves.values())
    return MotionOverview(name, first, last, float(times[1] - times[0]), servos, cycles)


# ---------------------------------------------------------------- reading curves


def _keyed_tracks(
    rig: bpy.types.Object, own: list[Channel], curves: Mapping[CurveId, bpy.types.FCurve]
) -> Iterator[tuple[Channel, KeyTrack]]:
    """Yield the keyed channels of a joint and their tracks in frames."""
    blocks: dict[str, list[Channel]] = {}
    for channel in own:
        if not channel.is_single:
            blocks.setdefault(channel.bone, []).append(channel)
        elif (curve := curves.get(channel_curve_id(channel))) is not None:
            yield channel, _curve_track(curve)
    for bone, block in blocks.items():
        places = [place for place in block[0].curves() if place in curves]
        if places:
            yield from _block_tracks(rig, bone, block, {place: _curve_track(curves[place]) for place in places})


def _curve_track(curve: bpy.types.FCurve) -> KeyTrack:
    keys = read_keys(curve)
    modified = any(each.type != "CYCLES" and not each.mute for each in curve.modifiers)
    if not modified and keys.kinds.max() <= BEZIER_KEY:
        return keys.to_polyline(_SAMPLE_STEP)
    frames = np.unique(np.concatenate([keys.keyframe_times, np.arange(keys.first, keys.last, _SAMPLE_STEP)]))
    return frames, np.array([curve.evaluate(frame) for frame in frames]), np.zeros(len(frames), dtype=bool)


def _block_tracks(
    rig: bpy.types.Object, bone: str, block: list[Channel], tracks: dict[CurveId, KeyTrack]
) -> Iterator[tuple[Channel, KeyTrack]]:
    """Yield the values of a ball joint or free block, from its bone's quaternion and location."""
    pose = rig.pose.bones[bone]
    frames = np.unique(np.concatenate([track[0] for track in tracks.values()]))
    turn, is_reversed = block_rotation(rig, bone), block[0].is_reversed
    vectors = coordinates_from_keys(
        None, _block_pose(pose, block, tracks, frames)[:, :4], turn, is_reversed, free=False
    )
    frames = _refine_frames(frames, vectors)
    numbers = _block_pose(pose, block, tracks, frames)
    values = coordinates_from_keys(numbers[:, 4:], numbers[:, :4], turn, is_reversed, block[0].kind == "free")
    before = [np.searchsorted(track[0], frames, side="right") - 1 for track in tracks.values()]
    held = np.all([t[2][np.clip(b, 0, None)] for t, b in zip(tracks.values(), before, strict=True)], axis=0)
    for channel in block:
        yield channel, (frames, values[:, channel.index], held)


def _block_pose(
    pose: bpy.types.PoseBone, block: list[Channel], tracks: dict[CurveId, KeyTrack], frames: Array
) -> Array:
    """Return a bone's quaternion, and location for a free block, at frames: (n, 4) or (n, 7)."""
    out = np.empty((len(frames), len(block[0].curves())))
    for column, place in enumerate(block[0].curves()):
        if place in tracks:
            out[:, column] = Trajectory("", tracks[place][0], tracks[place][1], held=tracks[place][2]).at(frames)
        else:
            out[:, column] = _pose_value(pose, place)
    return out


def _pose_value(pose: bpy.types.PoseBone, place: CurveId) -> float:
    return getattr(pose, place[0].rpartition(".")[2])[place[1]]


def _unkeyed_curves(rig: bpy.types.Object, action: bpy.types.Action) -> dict[CurveId, str]:
    """Return the bones of the values that rows take from the pose: of partly keyed ball joints and free blocks."""
    curves = posing_curves(rig, action)
    blocks = {c.bone: c.curves() for own in servo_channels(rig).values() for c in own if not c.is_single}
    return {
        place: bone
        for bone, places in blocks.items()
        if not curves.keys().isdisjoint(places)
        for place in places
        if place not in curves
    }


def _refine_frames(frames: Array, vectors: Array) -> Array:
    """Return frames with additional ones where a rotation vector changes much."""
    gone = np.linalg.norm(np.diff(vectors, axis=0), axis=1)
    counts = np.clip(np.ceil(gone / _MAX_ROTATION_STEP), 1, _MAX_SUBSAMPLES).astype(int)
    return np.interp(subdivision_positions(counts)[0], np.arange(len(frames)), frames)


# ---------------------------------------------------------------- cache


@dataclass
class _CachedChecks:
    """Cached results for a mechanism, the state for which they are valid, and the pose values that rows depend on."""

    state: tuple[Any, ...] = ()
    motions: list[MotionOverview] = field(default_factory=list)
    rows: list[ServoRow] | None = None
    posed: dict[CurveId, tuple[str, float]] = field(default_factory=dict)

    def has_rows(self, rig: bpy.types.Object) -> bool:
        """Return whether the rows are computed and the pose values that they depend on are unchanged."""
        bones = rig.pose.bones
        return self.rows is not None and all(
            _pose_value(bones[bone], place) == value for place, (bone, value) in self.posed.items()
        )


@dataclass
class _KnownChecks(RuntimeState):
    """Cached results for a mechanism."""

    checks: _CachedChecks | None = None


@dataclass
class _MotionChanges(RuntimeState):
    """Number of changes of Actions and of joints' stops."""

    lifetime: ClassVar = Lifetime.PROGRAM
    number: int = 0


def cached_overviews(rig: bpy.types.Object, scene: bpy.types.Scene) -> list[MotionOverview]:
    """Return ``motion_overviews``, cached while nothing changes."""
    return _current_cache(rig, scene).motions


def cached_rows(rig: bpy.types.Object, scene: bpy.types.Scene) -> list[ServoRow]:
    """Return ``check_action`` of the mechanism's Action, cached while nothing changes; empty if it has none."""
    kept = _current_cache(rig, scene)
    action = active_action(rig)
    if action is None:
        return []
    if not kept.has_rows(rig):
        kept.rows = check_action(rig, action, scene)
        bones = rig.pose.bones
        kept.posed = {
            place: (bone, _pose_value(bones[bone], place)) for place, bone in _unkeyed_curves(rig, action).items()
        }
    return kept.rows or []


def _current_cache(rig: bpy.types.Object, scene: bpy.types.Scene) -> _CachedChecks:
    action = active_action(rig)
    state = (
        change_count(),
        tuple(action.session_uid for action in bpy.data.actions),
        action.session_uid if action is not None else 0,
        Clock.of(scene),
        # servos are named after joints and bones, which are compared here: Blender reports a rename late
        collection_object_names(rig),
        tuple(armature_of(rig).bones.keys()),
    )
    known = state_of(_KnownChecks, rig)
    if known.checks is None or known.checks.state != state:
        known.checks = _CachedChecks(state, motion_overviews(rig, scene))
    return known.checks


def change_count() -> int:
    """Return the change counter: it grows whenever an Action or a joint's stops may have changed."""
    return state_of(_MotionChanges).number


@persistent
def invalidate_motion_checks(*_: Any) -> None:
    """Invalidate all cached results."""
    state_of(_MotionChanges).number += 1
    end_state(_KnownChecks)


@persistent
def _on_depsgraph_update(_scene: bpy.types.Scene, graph: bpy.types.Depsgraph) -> None:
    if graph.id_type_updated("ACTION"):
        invalidate_motion_checks()


_HANDLERS: Handlers = (
    ("depsgraph_update_post", _on_depsgraph_update),
    ("undo_post", invalidate_motion_checks),
    ("redo_post", invalidate_motion_checks),
    ("load_post", invalidate_motion_checks),
    ("load_factory_startup_post", invalidate_motion_checks),
    (Signal.JOINT, invalidate_motion_checks),
)


def register() -> None:
    """Add the handlers for changes of Actions and stops."""
    connect(_HANDLERS)


def unregister() -> None:
    """Remove the handlers."""
    disconnect(_HANDLERS)
