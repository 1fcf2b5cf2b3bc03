"""Keys into an Action that has some already."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from ...core.model import Array
from ...core.motion.keyframes import joined, kept_keys
from ..compat import action_curves, new_curve, use_action
from .actions import active_action, fit_strips
from .block_curves import told_block
from .curves import read_keys, write_keys
from .keys import LINEAR, NEAREST, CurveTrack, Tracks, blocks_of, curve_tracks, put_keys

#: Keys of a ball that lie on a line within this (rad) only lead from one to the next: its keys have seven digits.
_STRAIGHT = 1e-5
_Curves = dict[tuple[str, int], bpy.types.FCurve]


def lay_over(rig: bpy.types.Object, action: bpy.types.Action, tracks: Tracks, span: tuple[float, float]) -> None:
    """Put keys into an Action, in place of those that it has of the same servos within ``span`` (places of keys); all
    others stay as they are. The numbers of a ball that have no track keep theirs."""
    if active_action(rig) != action:
        use_action(rig, action)
    curves = action_curves(rig, action)
    there: _Curves = {(curve.data_path, curve.array_index): curve for curve in curves}
    for track in curve_tracks(rig, _with_whole_blocks(rig, there, tracks, span)):
        curve = there.get((track.path, track.array_index))
        if curve is None:
            curve = new_curve(curves, track.path, track.array_index, track.bone)
            put_keys(curve, track.frames, track.values, track.how)
        elif len(track.frames):
            _merge(curve, track, span)
    fit_strips(rig, action)


def _merge(curve: bpy.types.FCurve, track: CurveTrack, span: tuple[float, float]) -> None:
    kept = read_keys(curve)
    curve.keyframe_points.clear()
    put_keys(curve, track.frames, track.values, track.how)
    fresh = read_keys(curve)
    earlier = kept.taken(kept.at_keys < min(fresh.first, span[0]) - NEAREST)
    later = kept.taken(kept.at_keys > max(fresh.last, span[1]) + NEAREST)
    write_keys(curve, joined([earlier, fresh, later]))


def _with_whole_blocks(rig: bpy.types.Object, there: _Curves, tracks: Tracks, span: tuple[float, float]) -> Tracks:
    """The tracks, and those that balls and free blocks have already for their other numbers. A block's keys lead from
    the last that stays before and to the first that stays after, so that it turns between them as its numbers go."""
    out = dict(tracks)
    for block in blocks_of(rig, {channel: track for channel, track in tracks.items() if len(track[0])}):
        told = told_block(rig, block, there)
        if told is None:
            continue
        places, values = told
        first, last = span[0] - NEAREST, span[1] + NEAREST
        before, after = places[places < first][-1:], places[places > last][:1]
        for k, channel in enumerate(block):
            own = tracks.get(channel)
            more = np.concatenate([before, after])
            if own is None:
                inside = (places >= first) & (places <= last)
                corners = kept_keys(places[inside], values[inside, k], _STRAIGHT)
                more = np.concatenate([before, places[inside][corners], after])
            out[channel] = _led(own, more, places, values[:, k])
    return out


def _led(own: Any, more: Array, places: Array, values: Array) -> tuple[Array, Array, Any]:
    """A track with more keys, at places where the block has values already."""
    told = np.interp(more, places, values)
    if own is None:
        return more, told, LINEAR
    frames, numbers, how = own
    order = np.argsort(np.concatenate([more, frames]), kind="stable")
    every = np.concatenate([np.full(len(more), LINEAR), np.broadcast_to(how, len(frames))]).astype(np.int32)
    return np.concatenate([more, frames])[order], np.concatenate([told, numbers])[order], every[order]
