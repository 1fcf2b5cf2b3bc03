"""Keys into an Action that has some already."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ..compat import action_curves, new_curve, use_action
from .keys import CurveTrack, key_pairs, put_keys

_SINGLES = (("interpolation", np.int32), ("easing", np.int32), ("handle_left_type", np.int32),
            ("handle_right_type", np.int32), ("type", np.int32))  # fmt: skip
_PAIRS = ("co", "handle_left", "handle_right")


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
    points = curve.keyframe_points
    pairs = key_pairs(track.frames, track.values)
    kept: dict[str, NDArray] = {}
    for name in _PAIRS:
        kept[name] = np.empty(2 * len(points), dtype=np.float32)
        points.foreach_get(name, kept[name])
        kept[name] = kept[name].reshape(-1, 2)
    for name, kind in _SINGLES:
        kept[name] = np.empty(len(points), dtype=kind)
        points.foreach_get(name, kept[name])
    stays = (kept["co"][:, 0] < pairs[0, 0]) | (kept["co"][:, 0] > pairs[-1, 0])
    before = int((kept["co"][:, 0] < pairs[0, 0]).sum())
    points.clear()
    points.add(len(pairs))
    fresh = {name: np.empty(len(pairs), dtype=kind) for name, kind in _SINGLES}
    for name, values in fresh.items():
        points.foreach_get(name, values)
    fresh["interpolation"] = np.array(np.broadcast_to(track.how, len(pairs)), dtype=np.int32)
    points.add(int(stays.sum()))
    for name in _PAIRS:
        points.foreach_set(name, _spliced(kept[name][stays], pairs, before).ravel())
    for name, _kind in _SINGLES:
        points.foreach_set(name, _spliced(kept[name][stays], fresh[name], before))
    curve.update()


def _spliced(old: NDArray, new: NDArray, at: int) -> NDArray:
    return np.concatenate([old[:at], new, old[at:]])
