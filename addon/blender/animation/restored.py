"""Keys of an Action as a motion's again: those that came from a file and were not edited with its own numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ...model.records import Array, Trajectory
from ...model.rotations import rotation_matrix
from ..blocks import nearest_vectors, told_vectors
from ..channels import Channel, block_turn
from .clock import Clock
from .curve_keys import CurveKeys
from .keys import block_keys, group_starts, key_pairs
from .origins import Origin, track_of, whole_track

Unit = Literal["", "rad", "m"]
#: Times, values and whether they are held (n,), of keys of a file that one key of Blender's stands for.
Several = tuple[Array, Array, NDArray[np.bool_]]
#: A number of a ball that is further (rad or length units) from where it was left was moved: keys have seven digits.
_MOVED = 1e-5


def single_track(
    keys: CurveKeys, channel: Channel, origins: Sequence[Origin], clock: Clock, grid: float | None
) -> tuple[Trajectory, int]:
    """The keys of a one-number servo, and how many of them stand off the ``grid`` (s) and in no file.

    A key that stands where one of a file was put has that one's time, and its value if it still has it. Where a key
    stands for several of a file, which Blender could not hold apart, it is all of them again."""
    times, off = snapped(keys.places, clock, grid)
    values, unit = keys.values.astype(np.float64), cast(Unit, "")
    several: dict[int, Several] = {}
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
        if origin.clock != clock:
            continue
        times[there] = own.times[starts][at[there]]
        off &= ~there
        for key in np.flatnonzero(same & (ends > starts)[at]):
            group = slice(starts[at[key]], ends[at[key]] + 1)
            several[int(key)] = own.times[group], numbers[group], own.holds()[group]
    return _track(channel.name, times, values, keys.held, several, unit), int(off.sum())


def _track(
    name: str, times: Array, values: Array, held: NDArray[np.bool_], several: dict[int, Several], unit: Unit
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
    """Times (n,) of places in an Action, and which are off the grid. A place that 32 bits cannot tell from
    the grid's is on it."""
    times = clock.key_times(places)
    if grid is None:
        return times, np.zeros(len(times), dtype=bool)
    nearest = np.round(times / grid) * grid
    on = key_pairs(clock.keys(nearest), nearest)[:, 0] == places
    return np.where(on, nearest, times), ~on


def _matches(places: NDArray[np.float32], own: NDArray[np.float32]) -> NDArray[np.intp]:
    """For each place (n,) the number of the one of ``own`` (m,), ascending, that is the same; -1 for none. Of equal
    ones the first is the first's, the next the next's."""
    if len(places) == len(own) and (places == own).all():
        return np.arange(len(places))
    if not len(own):
        return np.full(len(places), -1, dtype=np.intp)
    at = np.searchsorted(own, places, side="left")
    repeat = np.arange(len(places)) - np.searchsorted(places, places, side="left")
    at = np.minimum(at + repeat, len(own) - 1)
    return np.where(own[at] == places, at, -1)


def block_tracks(
    rig: bpy.types.Object, block: Sequence[Channel], curves: Sequence[bpy.types.FCurve], origin: Origin, clock: Clock
) -> dict[Channel, Trajectory]:
    """The keys of a ball's or free block's servos that came from a file; nothing where the curves' keys do not stand
    together or were not straight. Keys that only lead from one of the file's to the next are left out while they do.
    A servo that the file does not have is there if it was moved."""
    keys = [CurveKeys.of(curve) for curve in curves]
    places = keys[0].places
    if not all(len(k.places) == len(places) and (k.places == places).all() and k.is_straight for k in keys):
        return {}
    own = {channel: origin.trajectory(channel) for channel in block}
    own = {channel: each for channel, each in own.items() if each is not None}
    if not own or origin.clock != clock:
        return {}
    tracks = {channel: track_of(each, origin.clock, origin.units, channel) for channel, each in own.items()}
    put = block_keys(rig, block, tracks, between=True)
    expected = np.stack([key_pairs(put.frames, track.values)[:, 1] for track in put.curves(block)])
    at = _matches(places, key_pairs(put.frames, put.frames)[:, 0])
    found = np.stack([k.values for k in keys])
    same = (at >= 0) & (found == expected[:, at]).all(axis=0)
    if same.all() and len(places) == len(put.frames):
        return {
            channel: Trajectory(
                channel.name,
                each.times,
                whole_track(each, origin.clock, origin.units, channel)[1],
                each.interpolation,
                each.held,
                each.unit,
            )
            for channel, each in own.items()
        }
    return _edited_block(rig, block, own, put.given, (places, found, at, same), clock, tracks)


def _edited_block(
    rig: bpy.types.Object,
    block: Sequence[Channel],
    own: dict[Channel, Trajectory],
    given: NDArray[np.bool_],
    keys: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.intp], NDArray[np.bool_]],
    clock: Clock,
    tracks: dict,
) -> dict[Channel, Trajectory]:
    """The same where some keys were edited: these have what their quaternions say, the others the file's numbers."""
    places, found, at, same = keys
    told = _told(rig, block, found)
    times = clock.key_times(places)
    out: dict[Channel, Trajectory] = {}
    for k, channel in enumerate(block):
        if channel not in own:
            if np.abs(told[:, k] - channel.start).max() > _MOVED:
                rows = (at < 0) | given[np.maximum(at, 0)]
                out[channel] = Trajectory(channel.name, times[rows], told[rows, k])
            continue
        each, (frames, numbers, _how) = own[channel], tracks[channel]
        mine = _matches(places, key_pairs(frames, frames)[:, 0])
        kept = np.where(same, mine >= 0, (at < 0) | given[np.maximum(at, 0)])
        values = np.where(same & (mine >= 0), numbers[np.maximum(mine, 0)], told[:, k])
        when = np.where(mine >= 0, each.times[np.maximum(mine, 0)], times)
        holds = each.holds()[np.clip(np.searchsorted(each.times, when, side="right") - 1, 0, None)]
        out[channel] = Trajectory(channel.name, when[kept], values[kept], each.interpolation, holds[kept], each.unit)
    return out


def _told(rig: bpy.types.Object, block: Sequence[Channel], found: NDArray[np.float32]) -> Array:
    """The coordinates (n, size) that keys of locations and quaternions say, without jumps."""
    free = block[0].kind == "free"
    turns = found[-4:].T.astype(np.float64)
    turn, against = block_turn(rig, block[0].bone), block[0].against
    vectors = told_vectors(turns, turn, against)
    for k in range(1, len(vectors)):
        vectors[k : k + 1] = nearest_vectors(vectors[k : k + 1], vectors[k - 1 : k])
    if not free:
        return vectors
    moved = found[:3].T.astype(np.float64) @ turn.T
    if against:
        moved = -np.einsum("nij,nj->ni", rotation_matrix(vectors), moved)
    return np.concatenate([vectors, moved], axis=1)
