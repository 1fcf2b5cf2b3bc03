"""Documents of motions that were read lately.

An Action keeps its document as bytes, and whoever takes the motion off a model wants the numbers in it: reading a
million of them takes a second, looking whether the bytes are the same some hundredths. They are known by what they are,
so that what is found is never out of date.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.model import Array, Motion, MotionUnit, Trajectory
from ...core.motion.keyframes import simplified_key_indices
from ...core.report import FormatError, Report
from ...formats import loads_motions
from ...formats.document.cache import ContentLRU
from ...formats.text.file_io import encode
from ..data.access import action_record
from ..data.channels import Channel
from ..data.properties.action import KnuckleOrigin
from .fcurves import CurveKeys, block_curves, pose_block_coordinates
from .frame_time import Clock, Units
from .keying import CONSTANT, LINEAR, KeyInterpolation, Tracks, block_keys, group_starts, key_pairs

#: Bytes of documents that are kept; numbers take a few times as much.
MAX_CACHED_MOTION_BYTES = 100_000_000

_document_cache: ContentLRU[list[Motion]] = ContentLRU(MAX_CACHED_MOTION_BYTES)


def cached_motions(data: bytes, path: str) -> list[Motion] | None:
    """The motions of a document from ``path``, which are not to be changed; None where it was not read lately."""
    return _document_cache.get(data, path)


def cache_motions(data: bytes, path: str, motions: Sequence[Motion]) -> None:
    """Keep what a document says, as long as there is room."""
    _document_cache.keep(data, path, list(motions))


def cache_motion(data: bytes, motion: Motion) -> None:
    """Keep what a document of one motion says. The motion may change later on: what was read is copied."""
    own = [replace(each, times=each.times.copy(), values=each.values.copy()) for each in motion.as_read]
    assert motion.source is not None
    cache_motions(data, motion.source.path, [replace(motion, trajectories=own, as_read=tuple(own))])


_DOCUMENT_KEY = "knuckle_document"


@dataclass
class MotionSource:
    """A motion that was keyed in an Action: which of its trajectories keys which coordinate, (joint, number), and which
    moved nothing."""

    motion: Motion
    clock: Clock
    units: Units
    placed: dict[tuple[str, int], int]
    idle: list[int]

    def trajectory(self, channel: Channel) -> Trajectory | None:
        """Return what the file says of a channel."""
        place = self.placed.get((channel.joint, channel.number))
        return None if place is None else self.motion.trajectories[place]

    def left_over(self) -> list[Trajectory]:
        """The trajectories that key nothing."""
        return [self.motion.trajectories[place] for place in self.idle]


def trajectory_keys(
    trajectory: Trajectory, clock: Clock, units: Units, channel: Channel
) -> tuple[Array, Array, KeyInterpolation]:
    """A trajectory as keys of a channel: where in an Action, values (rad or length units), interpolation.

    Of keys that Blender cannot hold apart there is one, where the first is and with the last one's value.
    """
    places, values, how = all_trajectory_keys(trajectory, clock, units, channel)
    starts = group_starts(places)
    if len(starts) == len(places):
        return places, values, how
    ends = np.append(starts[1:], len(places)) - 1
    return places[starts], values[ends], how if isinstance(how, int) else how[ends]


def all_trajectory_keys(
    trajectory: Trajectory, clock: Clock, units: Units, channel: Channel
) -> tuple[Array, Array, KeyInterpolation]:
    """Return a trajectory as keys of a channel, all of them: frames, values (rad or length units), interpolation."""
    size = units.size(channel, trajectory.unit)
    values = trajectory.values if size == 1.0 else trajectory.values * size
    how = np.where(trajectory.holds(), CONSTANT, LINEAR).astype(np.int32) if trajectory.has_constant_keys else LINEAR
    return clock.keys(trajectory.times), values, how


def record_source(
    action: bpy.types.Action, motion: Motion, clock: Clock, units: Units, placed: Mapping[int, Channel]
) -> None:
    """Remember where a motion was keyed: number of its trajectory -> channel.

    Nothing where it has no document, or none of its trajectories is the document's.
    """
    source, places = motion.source, document_indices(motion)
    if source is None or not source.text or not places:
        return
    record = action_record(action)
    kept = record.origins.add()
    kept.key = f"{_DOCUMENT_KEY}_{len(record.origins)}"
    data = encode(source.text, source.encoding, as_read=True)
    kept.packed = motion.count > 1  # all of their Actions have it; one alone is quicker as it is
    action[kept.key] = zlib.compress(data) if kept.packed else data
    kept.path, kept.index = source.path, motion.index
    if motion.count == 1:
        cache_motion(data, motion)
    kept.start, kept.fps, kept.fps_base = clock.start, clock.fps, clock.fps_base
    kept.map_old, kept.map_new = clock.old, clock.new
    kept.angle, kept.length = units.angle, units.length
    record_channels(kept, {places[place]: channel for place, channel in placed.items() if place in places})
    for number, place in places.items():
        if number not in placed:
            kept.servos.add().place = place


def document_indices(motion: Motion) -> dict[int, int]:
    """Return which of its document's trajectories each of a motion's is, by their numbers: the very same, or else one
    of its name, or one with its keys. Those that are none of the document's are left out."""
    places: dict[int, int] = {}
    taken: set[int] = set()
    ways: tuple[Callable[[Trajectory], Any], ...] = (
        id,
        lambda each: each.name,
        lambda each: (id(each.times), id(each.values)),
    )
    for way in ways:
        free: dict[Any, list[int]] = {}
        for place in reversed(range(len(motion.as_read))):
            if place not in taken:
                free.setdefault(way(motion.as_read[place]), []).append(place)
        for number, mine in enumerate(motion.trajectories):
            found = free.get(way(mine)) if number not in places else None
            if found:
                places[number] = found.pop()
                taken.add(places[number])
    return places


def record_channels(kept: KnuckleOrigin, placed: Mapping[int, Channel]) -> None:
    """Remember which channels the document's trajectories key, by their numbers."""
    idle = {servo.place: servo for servo in kept.servos if not servo.joint}
    for place, channel in placed.items():
        servo = idle.get(place) or kept.servos.add()
        servo.place, servo.joint, servo.number = place, channel.joint, channel.number


def motion_sources(action: bpy.types.Action | None, report: Report) -> list[MotionSource]:
    """The motions that an Action's keys came from, as their documents have them: they are not to be changed.

    One whose document is gone or cannot be read any more is reported and left out.
    """
    return [origin for origin, _kept in sources_with_records(action, report)] if action is not None else []


def sources_with_records(action: bpy.types.Action, report: Report) -> list[tuple[MotionSource, KnuckleOrigin]]:
    """Return the motions that an Action's keys came from, each with what the Action keeps of it; ``motion_sources``
    says which."""
    out: list[tuple[MotionSource, KnuckleOrigin]] = []
    for kept in action_record(action).origins:
        motion = _read_document(action, kept)
        if motion is None:
            report.warn(
                "origin-lost",
                f"The document that {action.name!r} was imported from is gone from this file: its numbers go out with "
                "the seven digits that keys have",
            )
            continue
        known = [servo for servo in kept.servos if 0 <= servo.place < len(motion.trajectories)]
        placed = {(servo.joint, servo.number): servo.place for servo in known if servo.joint}
        idle = [servo.place for servo in known if not servo.joint]
        clock = Clock(kept.start, kept.fps, kept.fps_base, kept.map_old, kept.map_new)
        units = Units(cast(Any, kept.angle), cast(Any, kept.length))
        out.append((MotionSource(motion, clock, units, placed, idle), kept))
    return out


def keyed_frame_rate(action: bpy.types.Action | None) -> float | None:
    """Frames per second at which motions of files were keyed in an Action; None where there are none, or several."""
    rates = {kept.fps / kept.fps_base for kept in action_record(action).origins} if action is not None else set()
    return rates.pop() if len(rates) == 1 else None


def _read_document(action: bpy.types.Action, kept: KnuckleOrigin) -> Motion | None:
    data = bytes(action.get(kept.key, b""))
    motions = cached_motions(data, kept.path)
    if motions is None:
        try:
            motions = loads_motions(zlib.decompress(data) if kept.packed else data, kept.path)[0]
        except (FormatError, zlib.error):
            motions = []
        cache_motions(data, kept.path, motions)
    return motions[kept.index] if kept.index < len(motions) else None


#: Times, values and whether they are held (n,), of keys of a file that one key of Blender's stands for.
KeyMatches = tuple[Array, Array, NDArray[np.bool_]]
#: Places that are nearer, in last digits of 32 bits, are one that was reckoned on the way; but never as far as this.
_MATCH_DIGITS, _MAX_MATCH_DISTANCE = 4.0, 0.004
#: What a ball's keys may differ by, having been reckoned from its three numbers and back.
_BLOCK_TOLERANCE = 2e-6
#: Keys of a ball that lie on a line within this only lead from one to the next.
_LINEARITY_TOLERANCE = 1e-5
#: A number of a ball that is further (rad or length units) from where it was left was moved: keys have seven digits.
_START_TOLERANCE = 1e-5


class RestoredTrack(NamedTuple):
    """The keys of a servo; how many of them stand off the grid and in no file; whether all stand where some of a file's
    were put."""

    track: Trajectory
    off_grid: int
    at_source_times: bool


def restore_single(
    keys: CurveKeys, channel: Channel, origins: Sequence[MotionSource], clock: Clock, grid: float | None
) -> RestoredTrack:
    """The keys of a one-number servo, and how they stand to the ``grid`` (s).

    A key that stands where one of a file was put has that one's time, and its value if it still has it. Where a key
    stands for several of a file, which Blender could not hold apart, it is all of them again.
    """
    times, values = np.full((2, len(keys.values)), np.nan)
    several: dict[int, KeyMatches] = {}
    unit: MotionUnit = ""
    known = np.zeros(len(keys.values), dtype=bool)
    for origin in origins:
        own = origin.trajectory(channel)
        unit = own.unit
        places, numbers, _how = all_trajectory_keys(own, origin.clock, origin.units, channel)
        starts = group_starts(places)
        ends = np.append(starts[1:], len(places)) - 1
        pairs = key_pairs(places[starts], numbers[ends])
        at = _match_indices(keys.places, pairs[:, 0])
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
    values[new] = shortest_decimals(keys.values[new])
    times[free], off_grid = snap_times(keys.places[free], clock, grid)
    return RestoredTrack(
        _make_trajectory(channel.name, times, values, keys.held, several, unit),
        int(off_grid.sum()),
        bool(known.all()) or not origins,
    )


def shortest_decimals(numbers: NDArray[np.float32]) -> Array:
    """The shortest decimal numbers that are these in 32 bits: 1.7, and not the 1.7000000476837158 that it is."""
    return numbers.astype("U32").astype(np.float64) if len(numbers) else np.zeros(0)


def _make_trajectory(
    name: str, times: Array, values: Array, held: NDArray[np.bool_], several: dict[int, KeyMatches], unit: MotionUnit
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


def snap_times(places: NDArray[np.float32], clock: Clock, grid: float | None) -> tuple[Array, NDArray[np.bool_]]:
    """Times (n,) of places in an Action, and which are off the grid (s).

    A place that 32 bits cannot tell from the grid's is on it.
    """
    times = clock.key_times(shortest_decimals(places))
    if grid is None:
        return times, np.zeros(len(times), dtype=bool)
    nearest = np.round(times / grid) * grid
    on = np.abs(clock.keys(nearest) - places) <= _match_tolerance(places)
    return np.where(on, nearest, times), ~on


def _match_tolerance(places: NDArray[np.float32]) -> Array:
    """Return how far from places (n,) others are the same."""
    return np.minimum(
        _MATCH_DIGITS * np.spacing(np.maximum(np.abs(places), np.float32(1.0))), _MAX_MATCH_DISTANCE
    ).astype(np.float64)


def _match_indices(places: NDArray[np.float32], own: NDArray[np.float32]) -> NDArray[np.intp]:
    """For each place (n,) the number of the one of ``own`` (m,), ascending, that is the same; -1 for none."""
    if len(places) == len(own) and (places == own).all():
        return np.arange(len(places))
    if not len(own):
        return np.full(len(places), -1, dtype=np.intp)
    after = np.clip(np.searchsorted(own, places), 0, len(own) - 1)
    before = np.maximum(after - 1, 0)
    wide = places.astype(np.float64)
    nearer = np.where(np.abs(own[before] - wide) < np.abs(own[after] - wide), before, after)
    return np.where((own[nearer] == places) | (np.abs(own[nearer] - wide) <= _match_tolerance(places)), nearer, -1)


def restore_block(
    rig: bpy.types.Object,
    block: Sequence[Channel],
    curves: Mapping[tuple[str, int], bpy.types.FCurve],
    origin: MotionSource,
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
    tracks: Tracks = {
        channel: trajectory_keys(each, origin.clock, origin.units, channel) for channel, each in own.items()
    }
    put = block_keys(rig, block, tracks, between=True)
    expected = np.stack([key_pairs(put.frames, track.values)[:, 1] for track in put.curves(block)])
    at = _match_indices(places, key_pairs(put.frames, put.frames)[:, 0])
    found = np.stack([k.values for k in keys])
    stray = np.abs(found - expected[:, at])
    same = (at >= 0) & (stray <= _BLOCK_TOLERANCE * np.maximum(1.0, np.abs(found))).all(axis=0)
    if same.all() and len(places) == len(put.frames):
        return {
            channel: Trajectory(
                channel.name,
                _to_clock(each.times, origin, clock),
                all_trajectory_keys(each, origin.clock, origin.units, channel)[1],
                each.interpolation,
                each.held,
                each.unit,
            )
            for channel, each in own.items()
        }
    columns = found.T.astype(np.float64)
    told = pose_block_coordinates(
        rig, block, columns[:, :3] if len(parts[0]) else np.zeros((len(places), 3)), columns[:, -4:]
    )
    leads = (at >= 0) & ~put.given[np.maximum(at, 0)] & same
    leads |= ~same & ~_corner_keys(places, told, same)
    own = {c: replace(each, times=_to_clock(each.times, origin, clock)) for c, each in own.items()}
    return _restore_edited_block(block, own, tracks, places, told, leads, same, clock)


def _to_clock(times: Array, origin: MotionSource, clock: Clock) -> Array:
    """Return when the keys of a file's times are by now."""
    return times if origin.clock == clock else clock.key_times(origin.clock.keys(times))


def _corner_keys(places: NDArray[np.float32], told: Array, firm: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which keys (n,) of a block are not just on the way from one to the next, those beside the ``firm`` ones
    among them."""
    at = places.astype(np.float64)
    corner = np.zeros(len(at), dtype=bool)
    for column in told.T:
        corner[simplified_key_indices(at, column, _LINEARITY_TOLERANCE)] = True
    return corner | firm


def _restore_edited_block(
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
    times = clock.key_times(shortest_decimals(places))
    out: dict[Channel, Trajectory] = {}
    for k, channel in enumerate(block):
        if channel not in own:
            if np.abs(told[:, k] - channel.start).max() > _START_TOLERANCE:
                out[channel] = Trajectory(channel.name, times[~leads], told[~leads, k])
            continue
        each, (frames, numbers, _how) = own[channel], tracks[channel]
        mine = _match_indices(places, key_pairs(frames, frames)[:, 0])
        there = mine >= 0
        kept = np.where(same, there, ~leads)
        values = np.where(same & there, numbers[np.maximum(mine, 0)], told[:, k])
        when = np.where(there, each.times[np.maximum(mine, 0)], times)
        holds = each.holds()[np.clip(np.searchsorted(each.times, when, side="right") - 1, 0, None)]
        out[channel] = Trajectory(channel.name, when[kept], values[kept], each.interpolation, holds[kept], each.unit)
    return out
