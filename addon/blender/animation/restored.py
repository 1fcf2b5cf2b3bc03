"""Keys of an Action as a motion's again: those that came from a file and were not edited with its own numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.model import Array, MotionUnit, Trajectory
from ...core.motion.keyframes import kept_keys
from ..data.channels import Channel
from .block_curves import block_curves, coordinates
from .clock import Clock
from .curve_keys import CurveKeys
from .keys import Tracks, block_keys, group_starts, key_pairs
from .origins import Origin, track_of, whole_track

#: Times, values and whether they are held (n,), of keys of a file that one key of Blender's stands for.
Several = tuple[Array, Array, NDArray[np.bool_]]
#: Places that are nearer, in last digits of 32 bits, are one that was reckoned on the way; but never as far as this.
_DIGITS, _NEVER = 4.0, 0.004
#: What a ball's keys may differ by, having been reckoned from its three numbers and back.
_SAME = 2e-6
#: Keys of a ball that lie on a line within this only lead from one to the next.
_STRAIGHT = 1e-5
#: A number of a ball that is further (rad or length units) from where it was left was moved: keys have seven digits.
_MOVED = 1e-5


class Restored(NamedTuple):
    """The keys of a servo; how many of them stand off the grid and in no file; whether all stand where some of a file's
    were put."""

    track: Trajectory
    off_grid: int
    in_time: bool


def single_track(
    keys: CurveKeys, channel: Channel, origins: Sequence[Origin], clock: Clock, grid: float | None
) -> Restored:
    """The keys of a one-number servo, and how they stand to the ``grid`` (s).

    A key that stands where one of a file was put has that one's time, and its value if it still has it. Where a key
    stands for several of a file, which Blender could not hold apart, it is all of them again."""
    times, values = np.full((2, len(keys.values)), np.nan)
    several: dict[int, Several] = {}
    unit: MotionUnit = ""
    known = np.zeros(len(keys.values), dtype=bool)
    for origin in origins:
        own = origin.trajectory(channel)
        unit = own.unit
        places, numbers, _how = whole_track(own, origin.clock, origin.units, channel)
        starts = group_starts(places)
        ends = np.append(starts[1:], len(places)) - 1
        pairs = key_pairs(places[starts], numbers[ends])
        at = _matches(keys.places, pairs[:, 0])
        there = at >= 0
        same = there & (pairs[at, 1] == keys.values)
        values[same] = numbers[ends][at[same]]
        known |= there
        if origin.clock != clock:
            continue
        times[there] = own.times[starts][at[there]]
        for key in np.flatnonzero(same & (ends > starts)[at]):
            group = slice(starts[at[key]], ends[at[key]] + 1)
            several[int(key)] = own.times[group], numbers[group], own.holds()[group]
    new, free = np.isnan(values), np.isnan(times)
    values[new] = shortest(keys.values[new])
    times[free], off_grid = snapped(keys.places[free], clock, grid)
    return Restored(
        _track(channel.name, times, values, keys.held, several, unit),
        int(off_grid.sum()),
        bool(known.all()) or not origins,
    )


def shortest(numbers: NDArray[np.float32]) -> Array:
    """The shortest decimal numbers that are these in 32 bits: 1.7, and not the 1.7000000476837158 that it is."""
    return numbers.astype("U32").astype(np.float64) if len(numbers) else np.zeros(0)


def _track(
    name: str, times: Array, values: Array, held: NDArray[np.bool_], several: dict[int, Several], unit: MotionUnit
) -> Trajectory:
    """The keys (n,) of a servo, each of ``several`` taken for those that it stands for."""
    if several:
        rows = [several.get(k, (times[k : k + 1], values[k : k + 1], held[k : k + 1])) for k in range(len(times))]
        times, values, held = (np.concatenate(column) for column in zip(*rows, strict=True))
    order = np.argsort(times, kind="stable")
    if (np.diff(times[order]) <= 0).any():  # an edited key within the grid's reach of another
        order = order[np.concatenate([np.diff(times[order]) > 0, [True]])]
    held = held[order]
    how: Literal["linear", "constant"] = "constant" if len(held) and held.all() else "linear"
    return Trajectory(name, times[order], values[order], how, held, unit)


def snapped(places: NDArray[np.float32], clock: Clock, grid: float | None) -> tuple[Array, NDArray[np.bool_]]:
    """Times (n,) of places in an Action, and which are off the grid (s). A place that 32 bits cannot tell from the
    grid's is on it."""
    times = clock.key_times(shortest(places))
    if grid is None:
        return times, np.zeros(len(times), dtype=bool)
    nearest = np.round(times / grid) * grid
    on = np.abs(clock.keys(nearest) - places) <= _reach(places)
    return np.where(on, nearest, times), ~on


def _reach(places: NDArray[np.float32]) -> Array:
    """Return how far from places (n,) others are the same."""
    return np.minimum(_DIGITS * np.spacing(np.maximum(np.abs(places), np.float32(1.0))), _NEVER).astype(np.float64)


def _matches(places: NDArray[np.float32], own: NDArray[np.float32]) -> NDArray[np.intp]:
    """For each place (n,) the number of the one of ``own`` (m,), ascending, that is the same; -1 for none."""
    if len(places) == len(own) and (places == own).all():
        return np.arange(len(places))
    if not len(own):
        return np.full(len(places), -1, dtype=np.intp)
    after = np.clip(np.searchsorted(own, places), 0, len(own) - 1)
    before = np.maximum(after - 1, 0)
    wide = places.astype(np.float64)
    nearer = np.where(np.abs(own[before] - wide) < np.abs(own[after] - wide), before, after)
    return np.where((own[nearer] == places) | (np.abs(own[nearer] - wide) <= _reach(places)), nearer, -1)


def block_tracks(
    rig: bpy.types.Object,
    block: Sequence[Channel],
    curves: Mapping[tuple[str, int], bpy.types.FCurve],
    origin: Origin,
    clock: Clock,
) -> dict[Channel, Trajectory]:
    """The keys of a ball's or free block's servos that came from a file; nothing where the curves' keys do not stand
    together or are not straight. Keys that only lead from one of the file's to the next are left out while they do. A
    servo that the file does not have is there if it was moved."""
    parts = block_curves(block, curves)
    own = {channel: each for channel in block if (each := origin.trajectory(channel)) is not None}
    if parts is None or not own:
        return {}
    keys = [CurveKeys.of(curve) for part in parts for curve in part]
    places = keys[0].places
    if not all(len(k.places) == len(places) and (k.places == places).all() and k.is_straight for k in keys):
        return {}
    tracks: Tracks = {channel: track_of(each, origin.clock, origin.units, channel) for channel, each in own.items()}
    put = block_keys(rig, block, tracks, between=True)
    expected = np.stack([key_pairs(put.frames, track.values)[:, 1] for track in put.curves(block)])
    at = _matches(places, key_pairs(put.frames, put.frames)[:, 0])
    found = np.stack([k.values for k in keys])
    stray = np.abs(found - expected[:, at])
    same = (at >= 0) & (stray <= _SAME * np.maximum(1.0, np.abs(found))).all(axis=0)
    if same.all() and len(places) == len(put.frames):
        return {
            channel: Trajectory(
                channel.name,
                _on_clock(each.times, origin, clock),
                whole_track(each, origin.clock, origin.units, channel)[1],
                each.interpolation,
                each.held,
                each.unit,
            )
            for channel, each in own.items()
        }
    columns = found.T.astype(np.float64)
    told = coordinates(rig, block, columns[:, :3] if len(parts[0]) else np.zeros((len(places), 3)), columns[:, -4:])
    leads = (at >= 0) & ~put.given[np.maximum(at, 0)] & same
    leads |= ~same & ~_corners(places, told, same)
    own = {c: replace(each, times=_on_clock(each.times, origin, clock)) for c, each in own.items()}
    return _edited_block(block, own, tracks, places, told, leads, same, clock)


def _on_clock(times: Array, origin: Origin, clock: Clock) -> Array:
    """Return when the keys of a file's times are by now."""
    return times if origin.clock == clock else clock.key_times(origin.clock.keys(times))


def _corners(places: NDArray[np.float32], told: Array, firm: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which keys (n,) of a block are not just on the way from one to the next, those beside the ``firm`` ones
    among them."""
    at = places.astype(np.float64)
    corner = np.zeros(len(at), dtype=bool)
    for column in told.T:
        corner[kept_keys(at, column, _STRAIGHT)] = True
    return corner | firm


def _edited_block(
    block: Sequence[Channel],
    own: Mapping[Channel, Trajectory],
    tracks: Tracks,
    places: NDArray[np.float32],
    told: Array,
    leads: NDArray[np.bool_],
    same: NDArray[np.bool_],
    clock: Clock,
) -> dict[Channel, Trajectory]:
    """Restore a block of which some keys were edited: these have what their curves say, the others the file's
    numbers."""
    times = clock.key_times(shortest(places))
    out: dict[Channel, Trajectory] = {}
    for k, channel in enumerate(block):
        if channel not in own:
            if np.abs(told[:, k] - channel.start).max() > _MOVED:
                out[channel] = Trajectory(channel.name, times[~leads], told[~leads, k])
            continue
        each, (frames, numbers, _how) = own[channel], tracks[channel]
        mine = _matches(places, key_pairs(frames, frames)[:, 0])
        there = mine >= 0
        kept = np.where(same, there, ~leads)
        values = np.where(same & there, numbers[np.maximum(mine, 0)], told[:, k])
        when = np.where(there, each.times[np.maximum(mine, 0)], times)
        holds = each.holds()[np.clip(np.searchsorted(each.times, when, side="right") - 1, 0, None)]
        out[channel] = Trajectory(channel.name, when[kept], values[kept], each.interpolation, holds[kept], each.unit)
    return out
