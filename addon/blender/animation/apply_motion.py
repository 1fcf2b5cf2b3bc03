"""Application of a motion to a mechanism: its trajectories as keyframes of an Action, new or existing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import bpy
import numpy as np

from ...core.model import Array, Motion, Trajectory
from ...core.motion.keyframes import concatenate_keyframes, simplified_key_indices
from ...core.motion.root_motion import map_root_trajectories, report_unmatched_roots
from ...core.motion.servo_matching import match_servos
from ...core.report import FormatError, Message, Report
from ..compat import action_curves, assign_strip_slot, new_curve, use_action
from ..data.access import action_record
from ..data.channels import Channel, root_channels, servo_channels, servo_names_by_joint
from ..data.queries import require_rig
from .actions import active_action, fit_strips, require_no_tweak_mode
from .fcurves import cycles_modifier, read_block, read_keys, write_keys
from .frame_time import Clock, Units
from .keying import (
    LINEAR,
    MIN_KEY_SPACING,
    CurveTrack,
    Tracks,
    channel_blocks,
    curve_tracks,
    fill_curve,
    fits_float32,
    key_channels,
)
from .renamed_bones import listed_servos
from .retiming import repeat_endlessly
from .source_motion import record_channels, record_source, sources_with_records, trajectory_keys

#: Frames per second of a motion that is not scaled to the scene's frame rate: one frame per 32 ms step of XMDI and
#: Webots.
STEP_RATE = Fraction(125, 4)
#: Range of steps (ms) that become one frame each, and the longest part into which longer steps are divided.
_SHORTEST_STEP, _LONGEST_STEP, _DEFAULT_STEP = 4, 100, 40
#: The last frame that a scene can have in Blender.
_LAST_FRAME = 1048574


def apply(
    motion: Motion,
    model: bpy.types.Collection | bpy.types.Object,
    scene: bpy.types.Scene | None = None,
    start: float | None = None,
    extend: bool = True,
    *,
    scale_to_scene: bool = True,
    onto: bpy.types.Action | None = None,
    cyclic: bool = False,
    units: Units | None = None,
    mapping: Mapping[str, str] | None = None,
) -> tuple[bpy.types.Action, Report]:
    """Key a motion on a mechanism: a new Action with the motion's name becomes the mechanism's Action.

    Servos are matched by name: exactly, then ignoring case and separators; ``mapping`` has precedence over both. The
    report lists servos without a joint; they stay in the document and are exported again with the motion. The previous
    Action stays in the .blend.

    Args:
        motion: The motion.
        model: Collection or armature of the mechanism.
        scene: Its frame rate and range apply; default: the context's.
        start: Frame of time 0; default: the scene's first frame.
        extend: Lengthen the scene's range to hold the motion; it is never shortened.
        scale_to_scene: Keep times at the scene's frame rate; if False each step of 32 ms becomes one frame.
        onto: Write the keyframes into this Action of the mechanism, replacing its keyframes of the same servos within
            the motion's time.
        cyclic: Repeat endlessly, by a Cycles modifier.
        units: Units of the values; default: radians and length units.
        mapping: Name in the motion to name of the servo; default: the mechanism's own list.

    Returns:
        The Action and the report.

    Raises:
        FormatError: No servo of the motion belongs to the mechanism; raised before anything is created.
        ValueError: An NLA strip is in tweak mode, ``onto`` is linked, or a curve has no room for the Cycles modifier.

    >>> from addon import formats
    >>> from addon.blender.build import build
    >>> collection = build(formats.load("sample_models/humanoid/humanoid.skel"))
    >>> action, report = apply(formats.load_motion("sample_models/humanoid/squat.xmdi"), collection)
    >>> action.name
    'squat'
    """
    scene = scene or bpy.context.scene
    rig = require_rig(model)
    report = Report()
    clock, units = Clock.of(scene, start), units or Units()
    if not scale_to_scene:
        clock = Clock(clock.start, STEP_RATE.numerator, STEP_RATE.denominator, clock.old, clock.new)
    placed = match_channels(motion, rig, mapping, report)
    tracks: Tracks = {
        channel: trajectory_keys(motion.trajectories[place], clock, units, channel) for place, channel in placed.items()
    }
    _report_unsupported(motion, placed, tracks, report)
    require_no_tweak_mode(rig)
    if onto is not None and not onto.is_editable:
        raise ValueError(
            Message("Action {}: linked from another file. Make it local to add keyframes", repr(onto.name))
        )
    if cyclic and onto is not None:
        _require_modifier_room(_track_curves(rig, onto, tracks))
    before = rig.animation_data.action if rig.animation_data is not None else None
    if onto is None:
        action = key_channels(rig, motion.name, tracks)
        _write_action_record(action, motion)
    else:
        action = onto
        merge_tracks(rig, action, tracks, (float(clock.keys(0.0)), float(clock.keys(motion.duration))))
    if before is not None and before != action:
        before.use_fake_user = True  # the user did not ask to delete it
    record_source(action, motion, clock, units, placed)
    if cyclic and tracks:
        repeat_endlessly(rig, gap=0.0, bones={channel.bone for channel in tracks if not channel.is_root})
    if extend:
        _extend_frame_range(scene, float(clock.frames(motion.duration)), report)
    keyed = sum(not channel.is_root for channel in tracks)
    every = sum(not each.root for each in motion.trajectories)
    report.info("servos-keyed", Message("Servos keyframed: {} of {}, in Action {}", keyed, every, repr(action.name)))
    return action, report


def _extend_frame_range(scene: bpy.types.Scene, last: float, report: Report) -> None:
    """Extend the scene's range to a frame, up to Blender's last frame."""
    if last > _LAST_FRAME:
        report.warn(
            "scene-too-short",
            Message("Frame range: the motion ends at frame {}, Blender's maximum is {}", f"{last:g}", _LAST_FRAME),
        )
    scene.frame_end = max(scene.frame_end, int(np.ceil(min(last, _LAST_FRAME) - 1e-6)))


def key_unmatched_servos(rig: bpy.types.Object, action: bpy.types.Action) -> tuple[list[str], Report]:
    """Key servos of an Action's source motions that matched nothing before and match now.

    Used after a change of the list of servo names.

    Returns:
        Names of the keyed servos, as the motion files have them, and the report.
    """
    require_no_tweak_mode(rig)
    report, keyed = Report(), []
    taken = {(servo.joint, servo.dof_index) for kept in action_record(action).origins for servo in kept.servos}
    for origin, kept in sources_with_records(action, report):
        found = match_channels(origin.motion, rig, report=report)
        fresh = {
            place: channel
            for place, channel in found.items()
            if place in origin.idle and (channel.joint, channel.dof_index) not in taken
        }
        tracks: Tracks = {
            channel: trajectory_keys(origin.motion.trajectories[place], origin.clock, origin.units, channel)
            for place, channel in fresh.items()
        }
        span = float(origin.clock.keys(0.0)), float(origin.clock.keys(origin.motion.duration))
        merge_tracks(rig, action, tracks, span)
        record_channels(kept, fresh)
        taken |= {(channel.joint, channel.dof_index) for channel in fresh.values()}
        keyed += [origin.motion.trajectories[place].name for place in fresh]
    return keyed, report


def unmatched_servos(action: bpy.types.Action) -> list[str]:
    """Return the names of the servos of an Action's source motions that have keys and match no joint."""
    every = [each for origin, _kept in sources_with_records(action, Report()) for each in origin.left_over()]
    return [each.name for each in every if len(each.times)]


def servo_name_mapping(rig: bpy.types.Object) -> dict[str, str]:
    """Return the user's mapping of names in motions to a mechanism's servos; "" leaves the motion's servo out."""
    rows = [(row, servo) for row, servo in listed_servos(rig) if row.name and (servo or row.leave_out)]
    return {row.name: "" if row.leave_out else servo for row, servo in rows}


def stack_in_nla(rig: bpy.types.Object, actions: Iterable[bpy.types.Action]) -> None:
    """Put each Action into an NLA track of its own, the first at the bottom, at the frames of its keyframes.

    All tracks but the first are muted.
    """
    use_action(rig, None)
    data = rig.animation_data
    assert data is not None
    for number, action in enumerate(actions):
        track = data.nla_tracks.new()
        track.name = action.name
        strip = track.strips.new(action.name, 0, action)
        strip.frame_start = strip.action_frame_start
        fit_strips(rig, action)
        strip.extrapolation = "HOLD" if number == 0 else "NOTHING"
        track.mute = number > 0
        assign_strip_slot(rig, strip, action)


def match_channels(
    motion: Motion, rig: bpy.types.Object, mapping: Mapping[str, str] | None = None, report: Report | None = None
) -> dict[int, Channel]:
    """Match the trajectories of a motion to the channels of a mechanism.

    Args:
        motion: The motion.
        rig: Armature of the mechanism.
        mapping: Name in the motion to name of the servo; default: the mechanism's own list.
        report: Gets entries about servos that are unmatched, empty or repeated.

    Returns:
        Channels by index of the trajectory.

    Raises:
        FormatError: The motion has servos and none of them belongs to the mechanism.
    """
    mapping = servo_name_mapping(rig) if mapping is None else mapping
    report = Report() if report is None else report
    known = [name for names in servo_names_by_joint(rig).values() for name in names]
    channels = servo_channels(rig)
    roots = {each.name for each in motion.trajectories if each.root}
    if roots:
        of_roots = root_channels(rig)
        known += [channel.name for own in of_roots.values() for channel in own]
        channels |= of_roots
        known_roots = [[channel.name for channel in own] for own in of_roots.values()]
        mapping = {**map_root_trajectories(motion, known_roots, mapping, report), **mapping}
    channel_of = {channel.name: channel for own in reversed(channels.values()) for channel in own}
    names = [trajectory.name for trajectory in motion.trajectories]
    match = match_servos(names, known, mapping)
    match.report({name: why for name, why in match.unmatched.items() if name not in roots}, report)
    report_unmatched_roots((name for name in match.unmatched if name in roots), report)
    last = {name: place for place, name in enumerate(names)}
    placed: dict[int, Channel] = {}
    for name, servo in match.pairs.items():
        trajectory = motion.trajectories[last[name]]
        if not len(trajectory.times):
            report.info("servo-empty", Message("Servo {} has no keyframes", repr(name)), where=name)
        elif servo in channel_of:
            placed[last[name]] = channel_of[servo]
            _report_unit_mismatch(trajectory, channel_of[servo], report)
        else:
            report.warn(
                "servo-unmatched",
                Message("Servo {} has no effect: {}", repr(name), "its joint has no bone"),
                where=name,
            )
    if names and not match.pairs:
        examples = ", ".join(map(repr, names[:3]))
        raise FormatError(
            Message("Motion {}: none of its servos ({}) is in {}", repr(motion.name), examples, repr(rig.name)),
            remedy="Choose the mechanism of this motion, or assign servos under Servo Names.",
        )
    return placed


def _report_unit_mismatch(trajectory: Trajectory, channel: Channel, report: Report) -> None:
    if trajectory.unit and (trajectory.unit in {"rad", "deg"}) != channel.is_angle:
        name = channel.name
        what = (
            Message("a length, but {} rotates", repr(name))
            if channel.is_angle
            else Message("an angle, but {} translates", repr(name))
        )
        report.warn(
            "unit-mismatch",
            Message("Servo {}: its unit in the file is that of {}. Check it", repr(trajectory.name), what),
            where=trajectory.name,
        )


def _report_unsupported(motion: Motion, placed: Mapping[int, Channel], tracks: Tracks, report: Report) -> None:
    """Report values and keys of a motion that Blender's keyframes cannot represent; export restores them."""
    for place, channel in placed.items():
        keys, values, _how = tracks[channel]
        if not fits_float32(values):
            clipped = int((np.abs(values) > np.finfo(np.float32).max).sum())
            report.warn(
                "values-clipped",
                Message(
                    "Servo {}: keyframes outside Blender's range, clamped: {} of {}",
                    repr(channel.name),
                    clipped,
                    len(keys),
                ),
            )
        merged = len(motion.trajectories[place].times) - len(keys)
        if merged:
            report.warn(
                "keys-merged",
                Message("Servo {}: keyframes within 0.01 frames of others, merged: {}", repr(channel.name), merged),
            )


def _require_modifier_room(curves: Iterable[bpy.types.FCurve]) -> None:
    """Raise ValueError if a curve has modifiers but no Cycles: the Cycles modifier has to be the first."""
    for curve in curves:
        if len(curve.modifiers) and cycles_modifier(curve) is None:
            raise ValueError(
                Message("F-Curve {}: it has modifiers, and Cycles must be the first. Remove them", curve.data_path)
            )


def _write_action_record(action: bpy.types.Action, motion: Motion) -> None:
    record = action_record(action)
    record.kind, record.motion, record.title = "MOTION", motion.name, action.name
    for name, value in motion.attributes.items():
        row = record.attributes.add()
        row.name, row.value = name, value


def _track_curves(rig: bpy.types.Object, action: bpy.types.Action, tracks: Tracks) -> list[bpy.types.FCurve]:
    keyed = {place for channel in tracks for place in channel.curves()}
    curves = action_curves(rig, action, create=False) or ()
    return [curve for curve in curves if (curve.data_path, curve.array_index) in keyed]


def natural_frame_rate(motion: Motion) -> Fraction:
    """Return the frame rate (1/s) at which the keys of a motion are on whole frames.

    One frame per largest step of which all times are multiples, if that is a whole number of milliseconds; steps longer
    than 100 ms are divided into equal parts of at most 40 ms. 31.25 for XMDI, for steps shorter than 4 ms and where
    there is no such step.
    """
    if motion.source is not None and motion.source.format == "xmdi":
        return STEP_RATE
    times = np.unique(np.concatenate([np.zeros(0), *(each.times for each in motion.trajectories)])) * 1000.0
    whole = np.round(times)
    if not len(times) or np.abs(times - whole).max() > 1e-6 or whole.max() == 0.0:
        return STEP_RATE
    step = int(np.gcd.reduce(whole.astype(np.int64)))
    if step < _SHORTEST_STEP:
        return STEP_RATE
    return Fraction(1000 * (1 if step <= _LONGEST_STEP else -(-step // _DEFAULT_STEP)), step)


#: Keys of a ball joint that lie on a line within this (rad) only interpolate: float32 values have seven digits.
_LINEARITY_TOLERANCE = 1e-5
_Curves = dict[tuple[str, int], bpy.types.FCurve]


def merge_tracks(rig: bpy.types.Object, action: bpy.types.Action, tracks: Tracks, span: tuple[float, float]) -> None:
    """Merge keyframes into an Action, replacing those of the same servos within ``span``.

    Values of a ball joint or free block without a track keep their motion.

    Args:
        rig: Armature of the mechanism.
        action: The Action; it becomes the rig's.
        tracks: The new keyframes.
        span: First and last frame of the replaced range, in the Action's frames.
    """
    if active_action(rig) != action:
        use_action(rig, action)
    curves = action_curves(rig, action)
    there: _Curves = {(curve.data_path, curve.array_index): curve for curve in curves}
    for track in curve_tracks(rig, _complete_blocks(rig, there, tracks, span)):
        curve = there.get((track.path, track.array_index))
        if curve is None:
            curve = new_curve(curves, track.path, track.array_index, track.bone)
            fill_curve(curve, track.frames, track.values, track.how)
        elif len(track.frames):
            _merge_track(curve, track, span)
    fit_strips(rig, action)


def _merge_track(curve: bpy.types.FCurve, track: CurveTrack, span: tuple[float, float]) -> None:
    kept = read_keys(curve)
    curve.keyframe_points.clear()
    fill_curve(curve, track.frames, track.values, track.how)
    fresh = read_keys(curve)
    earlier = kept.taken(kept.keyframe_times < min(fresh.first, span[0]) - MIN_KEY_SPACING)
    later = kept.taken(kept.keyframe_times > max(fresh.last, span[1]) + MIN_KEY_SPACING)
    write_keys(curve, concatenate_keyframes([earlier, fresh, later]))


def _complete_blocks(rig: bpy.types.Object, there: _Curves, tracks: Tracks, span: tuple[float, float]) -> Tracks:
    """Return the tracks, completed by the existing tracks of the other values of ball joints and free blocks.

    The keys of a block extend from the last that stays before the range to the first that stays after it, so that its
    values interpolate between them.
    """
    out = dict(tracks)
    for block in channel_blocks(rig, {channel: track for channel, track in tracks.items() if len(track[0])}):
        block_keys = read_block(rig, block, there)
        if block_keys is None:
            continue
        places, values = block_keys
        first, last = span[0] - MIN_KEY_SPACING, span[1] + MIN_KEY_SPACING
        before, after = places[places < first][-1:], places[places > last][:1]
        for k, channel in enumerate(block):
            own = tracks.get(channel)
            more = np.concatenate([before, after])
            if own is None:
                inside = (places >= first) & (places <= last)
                corners = simplified_key_indices(places[inside], values[inside, k], _LINEARITY_TOLERANCE)
                more = np.concatenate([before, places[inside][corners], after])
            out[channel] = _insert_keys(own, more, places, values[:, k])
    return out


def _insert_keys(own: Any, more: Array, places: Array, values: Array) -> tuple[Array, Array, Any]:
    """Return a track with additional linear keys at frames ``more``, their values interpolated from the block's."""
    sampled = np.interp(more, places, values)
    if own is None:
        return more, sampled, LINEAR
    frames, numbers, how = own
    order = np.argsort(np.concatenate([more, frames]), kind="stable")
    every = np.concatenate([np.full(len(more), LINEAR), np.broadcast_to(how, len(frames))]).astype(np.int32)
    return np.concatenate([more, frames])[order], np.concatenate([sampled, numbers])[order], every[order]
