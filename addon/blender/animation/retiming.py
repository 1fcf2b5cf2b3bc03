"""Retiming what a model does now: its Action's servo curves repeated, moved, sped up.

Keys, their handles and their interpolation all follow. ``bones`` names those that are meant, None all; other curves
of the Action stay as they are, and so do those that are muted. Each function works on the whole curve at a time and
needs no window. ValueError, before anything is changed, says why nothing can be done.
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
    """Repeat the motion by keys, ``rounds`` times in all. The round that was repeated, in frames.

    ``blend`` (frames) is how much of the end is led to the first values, ``gap`` (frames) the time between the last key
    and the next round where it does not end as it begins; see ``model.motions.looped``. The quaternions of balls never
    climb: they begin anew. Where all bones are meant, the paths of the roots come along, each round from where the one
    before ended, but for those that ``path_warnings`` tells.
    """
    if rounds < 1:
        raise ValueError(f"A motion can be played once or more often, not {rounds} times")
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
    """Repeat the motion without end, before and after, by Blender's Cycles modifier on every curve with more than one
    key. All get a key where the round begins and where it ends, so that they repeat together. Otherwise as
    ``repeat_keys``."""
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
    """Take the Cycles modifiers away again: from how many curves."""
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

    ``wrap``: what leaves its range at one end comes in at the other; where it does not end as it begins, it goes back
    within ``gap`` frames. Where all bones are meant, the paths of the roots come along; with ``wrap`` each round goes
    on from where the one before ended, but for those that ``path_warnings`` tells.
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
    """Play the motion ``factor`` times as fast; what is at the frame ``about`` stays there.

    Where all bones are meant, the paths of the roots come along.
    """
    if not (factor > 0.0 and np.isfinite(factor)):
        raise ValueError(f"A speed has to be above 0: {factor:g} is not")
    _change_keys(rig, bones, lambda keys: keys.faster(factor, about), "let it play less fast, or last longer")


def action_speed_for_duration(rig: bpy.types.Object, frames: float, bones: Collection[str] | None = None) -> float:
    """The speed at which the motion lasts as many frames as are wanted."""
    return speed_factor_for(*motion_range(rig, bones), frames)


def motion_range(rig: bpy.types.Object, bones: Collection[str] | None = None) -> tuple[float, float]:
    """The first and the last frame at which the model's Action has keys on servos. ValueError where it has none."""
    times = _end_frames(_keyed_curves(rig, bones).values())
    return float(times.min()), float(times.max())


def _keyed_curves(rig: bpy.types.Object, bones: Collection[str] | None, roots: bool = False) -> CurvesById:
    """The curves that are meant. ValueError where there are none."""
    action = editable_action(rig)
    curves = posing_curves(rig, action, servo_curve_ids(rig, bones, roots))
    if not curves:
        meant = "none of the servos" if bones is None else "none of the selected servos"
        raise ValueError(f"Action {action.name!r} keys {meant} of {rig.name!r}")
    return curves


def _change_keys(
    rig: bpy.types.Object, bones: Collection[str] | None, change: Callable[[Keyframes], Keyframes], remedy: str
) -> None:
    """Change the time of keys."""
    curves = _keyed_curves(rig, bones, roots=bones is None)
    _write_all_keys(rig, curves, {place: change(read_keys(curve)) for place, curve in curves.items()}, remedy)


def _write_all_keys(rig: bpy.types.Object, curves: CurvesById, keys: Mapping[CurveId, Keyframes], remedy: str) -> None:
    """Give curves their new keys, all or none: ValueError, with the remedy, where some would be too near."""
    require_key_spacing(keys.values(), remedy)
    for place, own in keys.items():
        write_keys(curves[place], own)
    _tag_changed(rig)


def _tag_changed(rig: bpy.types.Object) -> None:
    action = editable_action(rig)
    fit_strips(rig, action)
    action.update_tag()


def path_warnings(rig: bpy.types.Object, bones: Collection[str] | None = None) -> list[str]:
    """Return what there is to say of the paths of roots that would not come along in rounds, before they are made."""
    return [] if bones is not None else list(repeated_paths(rig, *motion_range(rig)).left.values())


def _repeated_range(
    rig: bpy.types.Object, bones: Collection[str] | None, gap: float
) -> tuple[CurvesById, dict[CurveId, Keyframes], MotionSpan, Collection[CurveId]]:
    """The curves that are meant, their keys, and the range of what all servos do as a round.

    Where all bones are meant those of paths are with them, and where those are by which roots go on and on.
    """
    meant = _keyed_curves(rig, bones)
    first, last = motion_range(rig)
    paths = RepeatedPaths() if bones is not None else repeated_paths(rig, first, last)
    keys = {place: read_keys(curve) for place, curve in (meant | paths.curves).items()}
    judged = [own for place, own in keys.items() if place not in paths.on]
    return meant | paths.curves, keys, keyframe_span(np.array([first, last]), judged, gap), paths.on


def _end_frames(curves: Iterable[bpy.types.FCurve]) -> np.ndarray:
    """The frames (n,) of the outer keys of curves."""
    ends = [(curve.keyframe_points[0].co[0], curve.keyframe_points[-1].co[0]) for curve in curves]
    return np.array(ends, dtype=np.float64).ravel()


def _is_additive(place: CurveId) -> bool:
    """Return whether a curve's value can go on where it ended: the numbers of a quaternion cannot."""
    return not place[0].endswith("rotation_quaternion")
