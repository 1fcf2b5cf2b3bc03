"""Retiming of the mechanism's Action: repeating, moving and speeding up the curves of its servos.

Keys, handles and interpolation follow. ``bones`` are the names of the bones to change, None: all; other curves of the
Action, and muted ones, stay as they are. Functions work on whole curves and need no window. They raise ValueError,
before anything is changed, if nothing can be done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import bpy
import numpy as np

from ...core.motion.keyframes import (
    Keyframes,
    MotionSpan,
    blend_to_first_value,
    repeat_keyframes,
    shift_keyframes_cyclic,
)
from ...core.motion.retiming import SeamMode, keyframe_span, speed_factor_for
from ...core.report import Message
from .actions import fit_strips
from .fcurves import (
    CurveId,
    add_cycles,
    editable_action,
    posing_curves,
    read_keys,
    remove_cycles,
    require_cycles_room,
    require_key_spacing,
    servo_curve_ids,
    write_keys,
)
from .root_motion import RepeatedPaths, repeated_paths, span_with_gap

CurvesById = dict[CurveId, bpy.types.FCurve]

_GAP_REMEDY = "choose a longer gap"


def repeat_keys(
    rig: bpy.types.Object,
    rounds: int,
    seam: SeamMode = "repeat",
    blend: float = 0.0,
    gap: float = 1.0,
    bones: Collection[str] | None = None,
) -> MotionSpan:
    """Repeat the motion by keyframes.

    Quaternions of ball joints never accumulate: each cycle starts again. With all bones, root motion repeats too, each
    cycle from the end of the previous one, except as ``path_warnings`` lists.

    Args:
        rig: Armature of the mechanism.
        rounds: Number of cycles in all.
        seam: Transition between cycles, see ``core.motion.retiming``.
        blend: Frames at the end that are blended to the first values.
        gap: Frames between the last key and the next cycle if the motion does not end as it begins.
        bones: Names of bones; None: all.

    Returns:
        The span of the repeated cycle, in frames.
    """
    if rounds < 1:
        raise ValueError(Message("Repeats: {} is below 1. Enter 1 or more", rounds))
    curves, keys, span, on = _repeated_range(rig, bones, gap if seam == "repeat" else 0.0)
    if seam == "blend":
        keys = {place: own if place in on else blend_to_first_value(own, span, blend) for place, own in keys.items()}
    made = {}
    for place, own in keys.items():
        if place in on:
            path = repeat_keyframes(own, span_with_gap(span), rounds, climbs=True)
            made[place] = path.taken(slice(0, -1)) if span.gap > 0.0 and len(path) > 1 else path
        else:
            made[place] = repeat_keyframes(own, span, rounds, climbs=seam == "climb" and _is_additive(place))
    _write_all_keys(rig, curves, made, "choose a longer gap or fewer rounds")
    return span


def repeat_endlessly(
    rig: bpy.types.Object,
    seam: SeamMode = "repeat",
    blend: float = 0.0,
    gap: float = 1.0,
    bones: Collection[str] | None = None,
) -> MotionSpan:
    """Repeat the motion endlessly, before and after, by a Cycles modifier on every curve with more than one key.

    All curves get a key at the start and the end of the cycle, so that they repeat together. Arguments and return value
    are those of ``repeat_keys``.
    """
    curves, keys, span, on = _repeated_range(rig, bones, gap if seam == "repeat" else 0.0)
    made = {}
    for place, own in keys.items():
        if place in on and len(own) > 1:
            made[place] = span_with_gap(span).closed(own)
        elif len(own) > 1:
            made[place] = blend_to_first_value(own, span, blend) if seam == "blend" else span.closed(own)
    for place in made:
        require_cycles_room(curves[place])
    require_key_spacing(made.values(), _GAP_REMEDY)
    for place in keys:
        remove_cycles(curves[place])
    _write_all_keys(rig, curves, made, _GAP_REMEDY)
    for place in made:
        cycles = add_cycles(curves[place])
        climbs = place in on or (seam == "climb" and _is_additive(place))
        cycles.mode_before = cycles.mode_after = "REPEAT_OFFSET" if climbs else "REPEAT"
    return span


def stop_repeating(rig: bpy.types.Object, bones: Collection[str] | None = None) -> int:
    """Remove the Cycles modifiers.

    Returns:
        Number of curves that had one.
    """
    action = editable_action(rig)
    places = servo_curve_ids(rig, bones, roots=bones is None)
    count = sum(remove_cycles(curve) for curve in posing_curves(rig, action, places).values())
    _tag_changed(rig)
    return count


def offset_keys(
    rig: bpy.types.Object,
    frames: float,
    wrap: bool = False,
    gap: float = 1.0,
    bones: Collection[str] | None = None,
) -> None:
    """Move the motion later by some frames, or earlier.

    With all bones, root motion moves too; with ``wrap`` each cycle continues from the end of the previous one, except
    as ``path_warnings`` lists.

    Args:
        rig: Armature of the mechanism.
        frames: Frames by which it comes later.
        wrap: What leaves the range at one end enters at the other.
        gap: Frames in which a wrapped motion returns if it does not end as it begins.
        bones: Names of bones; None: all.
    """
    if not wrap:
        _change_keys(rig, bones, lambda keys: keys.moved(frames), "move it less far")
        return
    curves, keys, span, on = _repeated_range(rig, bones, gap)
    made = {
        place: shift_keyframes_cyclic(own, span_with_gap(span) if place in on else span, frames, climbs=place in on)
        for place, own in keys.items()
    }
    _write_all_keys(rig, curves, made, _GAP_REMEDY)


def scale_action_speed(
    rig: bpy.types.Object, factor: float, about: float, bones: Collection[str] | None = None
) -> None:
    """Play the motion ``factor`` times as fast; frame ``about`` stays.

    With all bones, root motion is scaled too.
    """
    if not (factor > 0.0 and np.isfinite(factor)):
        raise ValueError(Message("Speed: {} is not above 0. Enter a larger factor", f"{factor:g}"))
    _change_keys(rig, bones, lambda keys: keys.faster(factor, about), "let it play less fast, or last longer")


def action_speed_for_duration(rig: bpy.types.Object, frames: float, bones: Collection[str] | None = None) -> float:
    """Return the speed factor at which the motion lasts a number of frames."""
    return speed_factor_for(*motion_range(rig, bones), frames)


def motion_range(rig: bpy.types.Object, bones: Collection[str] | None = None) -> tuple[float, float]:
    """Return the first and the last frame at which the mechanism's Action has keys on servos.

    Raises:
        ValueError: It has none.
    """
    times = _end_frames(_keyed_curves(rig, bones).values())
    return float(times.min()), float(times.max())


def _keyed_curves(rig: bpy.types.Object, bones: Collection[str] | None, roots: bool = False) -> CurvesById:
    """Return the curves to change.

    Raises:
        ValueError: There are none.
    """
    action = editable_action(rig)
    curves = posing_curves(rig, action, servo_curve_ids(rig, bones, roots))
    if not curves:
        if bones is None:
            raise ValueError(Message("Action {}: no keyframes of servos of {}", repr(action.name), repr(rig.name)))
        raise ValueError(
            Message("Action {}: no keyframes of the selected servos of {}", repr(action.name), repr(rig.name))
        )
    return curves


def _change_keys(
    rig: bpy.types.Object, bones: Collection[str] | None, change: Callable[[Keyframes], Keyframes], remedy: str
) -> None:
    """Apply a change of time to keys."""
    curves = _keyed_curves(rig, bones, roots=bones is None)
    _write_all_keys(rig, curves, {place: change(read_keys(curve)) for place, curve in curves.items()}, remedy)


def _write_all_keys(rig: bpy.types.Object, curves: CurvesById, keys: Mapping[CurveId, Keyframes], remedy: str) -> None:
    """Write new keys of curves, all or none.

    Raises:
        ValueError: Keys would be too near to each other; the message has the ``remedy``.
    """
    require_key_spacing(keys.values(), remedy)
    for place, own in keys.items():
        write_keys(curves[place], own)
    _tag_changed(rig)


def _tag_changed(rig: bpy.types.Object) -> None:
    action = editable_action(rig)
    fit_strips(rig, action)
    action.update_tag()


def path_warnings(rig: bpy.types.Object, bones: Collection[str] | None = None) -> list[str]:
    """Return warnings about root paths that would not repeat with the servos; none unless all bones are meant."""
    return [] if bones is not None else list(repeated_paths(rig, *motion_range(rig)).left.values())


def _repeated_range(
    rig: bpy.types.Object, bones: Collection[str] | None, gap: float
) -> tuple[CurvesById, dict[CurveId, Keyframes], MotionSpan, Collection[CurveId]]:
    """Return the curves to repeat, their keys, the span of a cycle of all servos, and the continuing curves.

    With all bones these include root motion, whose locations continue from cycle to cycle.
    """
    meant = _keyed_curves(rig, bones)
    first, last = motion_range(rig)
    paths = RepeatedPaths() if bones is not None else repeated_paths(rig, first, last)
    keys = {place: read_keys(curve) for place, curve in (meant | paths.curves).items()}
    judged = [own for place, own in keys.items() if place not in paths.on]
    return meant | paths.curves, keys, keyframe_span(np.array([first, last]), judged, gap), paths.on


def _end_frames(curves: Iterable[bpy.types.FCurve]) -> np.ndarray:
    """Return the frames of the first and last keys of curves, (2n,)."""
    ends = [(curve.keyframe_points[0].co[0], curve.keyframe_points[-1].co[0]) for curve in curves]
    return np.array(ends, dtype=np.float64).ravel()


def _is_additive(place: CurveId) -> bool:
    """Return whether a curve can continue from its last value: the components of a quaternion cannot."""
    return not place[0].endswith("rotation_quaternion")
