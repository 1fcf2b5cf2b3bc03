"""Keys into an Action that has some already."""

from __future__ import annotations

import bpy

from ...model.keys import joined
from ..compat import action_curves, new_curve, use_action
from .curves import read_keys, write_keys
from .keys import NEAREST, CurveTrack, put_keys


def lay_over(rig: bpy.types.Object, action: bpy.types.Action, tracks: list[CurveTrack]) -> None:
    """Put keys into an Action, in place of those within their time; all others stay as they are."""
    use_action(rig, action)
    curves = action_curves(rig, action)
    there = {(curve.data_path, curve.array_index): curve for curve in curves}
    for track in tracks:
        curve = there.get((track.path, track.array_index))
        if curve is None:
            put_keys(
                new_curve(curves, track.path, track.array_index, track.bone), track.frames, track.values, track.how
            )
        elif len(track.frames):
            _merge(curve, track)


def _merge(curve: bpy.types.FCurve, track: CurveTrack) -> None:
    kept = read_keys(curve)
    curve.keyframe_points.clear()
    put_keys(curve, track.frames, track.values, track.how)
    fresh = read_keys(curve)
    earlier = kept.taken(kept.at_keys < fresh.first - NEAREST)
    later = kept.taken(kept.at_keys > fresh.last + NEAREST)
    write_keys(curve, joined([earlier, fresh, later]))
