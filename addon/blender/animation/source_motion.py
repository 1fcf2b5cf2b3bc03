"""Source documents of motions, stored in their Actions, and restoration of the file's own times and values on export.

The document is a custom property of the Action and no data-block of its own, so that it is copied, appended and deleted
with it. (Blender does not clear a pointer in a collection property of an Action when its target is removed.) Parsed
documents are cached by content: parsing a million values takes a second, comparing the bytes some hundredths.
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
from ...core.report import FormatError, Message, Report
from ...formats import loads_motions
from ...formats.document.cache import ContentLRU
from ...formats.text.file_io import encode_text
from ..data.access import action_record
from ..data.channels import Channel
from ..data.properties.action import KnuckleOrigin
from .fcurves import CurveKeys, block_curves, pose_block_coordinates
from .frame_time import Clock, Units
from .keying import CONSTANT, LINEAR, KeyInterpolation, Tracks, block_keys, group_starts, key_pairs

#: Bytes of cached documents; their parsed values take a few times as much.
MAX_CACHED_MOTION_BYTES = 100_000_000

_document_cache: ContentLRU[list[Motion]] = ContentLRU(MAX_CACHED_MOTION_BYTES)


def cached_motions(data: bytes, path: str) -> list[Motion] | None:
    """Return the cached motions of a document from ``path``, read-only; None if it is not cached."""
    return _document_cache.get(data, path)


def cache_motions(data: bytes, path: str, motions: Sequence[Motion]) -> None:
    """Cache the motions of a document."""
    _document_cache.keep(data, path, list(motions))


def cache_motion(data: bytes, motion: Motion) -> None:
    """Cache the motion of a document that has only one. It is copied, since the motion may change later."""
    own = [replace(each, times=each.times.copy(), values=each.values.copy()) for each in motion.as_read]
    assert motion.source is not None
    cache_motions(data, motion.source.path, [replace(motion, trajectories=own, as_read=tuple(own))])


_DOCUMENT_KEY = "knuckle_document"


@dataclass
class MotionSource:
    """Motion that was keyed in an Action.

    Attributes:
        motion: The motion as read.
        clock: Mapping of its times to frames when it was keyed.
        units: Units of its values.
        placed: Index of its trajectory by (joint id, index of the value).
        idle: Indices of its trajectories that key nothing.
    """

    motion: Motion
    clock: Clock
    units: Units
    placed: dict[tuple[str, int], int]
    idle: list[int]

    def trajectory(self, channel: Channel) -> Trajectory | None:
        """Return the file's trajectory of a channel, or None."""
        place = self.placed.get((channel.joint, channel.dof_index))
        return None if place is None else self.motion.trajectories[place]

    def left_over(self) -> list[Trajectory]:
        """Return the trajectories that key nothing."""
        return [self.motion.trajectories[place] for place in self.idle]


def trajectory_keys(
    trajectory: Trajectory, clock: Clock, units: Units, channel: Channel
) -> tuple[Array, Array, KeyInterpolation]:
    """Convert a trajectory to keys of a channel: frames of the Action, values (rad or length units), interpolation.

    Keys that Blender would merge become one, at the first one's frame and with the last one's value.
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
    """Convert a trajectory to unmerged keys of a channel: frames, values (rad or length units), interpolation."""
    size = units.size(channel, trajectory.unit)
    values = trajectory.values if size == 1.0 else trajectory.values * size
    how = np.where(trajectory.holds(), CONSTANT, LINEAR).astype(np.int32) if trajectory.has_constant_keys else LINEAR
    return clock.keys(trajectory.times), values, how


def record_source(
    action: bpy.types.Action, motion: Motion, clock: Clock, units: Units, placed: Mapping[int, Channel]
) -> None:
    """Store with an Action which motion was keyed in it, and which of its trajectories key which channel.

    Nothing is stored if the motion has no document, or none of its trajectories is the document's.

    Args:
        action: The Action.
        motion: The motion.
        clock: Mapping of its times to frames.
        units: Units of its values.
        placed: Channels by index of the trajectory.
    """
    source, places = motion.source, document_indices(motion)
    if source is None or not source.text or not places:
        return
    record = action_record(action)
    kept = record.origins.add()
    kept.key = f"{_DOCUMENT_KEY}_{len(record.origins)}"
    data = encode_text(source.text, source.encoding, as_read=True)
    kept.packed = motion.count > 1  # each of their Actions stores it; a single one is faster uncompressed
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
            kept.servos.add().trajectory_index = place


def document_indices(motion: Motion) -> dict[int, int]:
    """Return the index in its document of each trajectory of a motion, by index in the motion.

    The same object matches first, then the same name, then the same arrays of keys. Trajectories that are not the
    document's are left out.
    """
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
    """Store which channels the document's trajectories key, by index."""
    idle = {servo.trajectory_index: servo for servo in kept.servos if not servo.joint}
    for place, channel in placed.items():
        servo = idle.get(place) or kept.servos.add()
        servo.trajectory_index, servo.joint, servo.dof_index = place, channel.joint, channel.dof_index


def motion_sources(action: bpy.types.Action | None, report: Report) -> list[MotionSource]:
    """Return the motions from which an Action's keys came, as their documents have them; read-only.

    A document that is missing or cannot be read is reported and left out.
    """
    return [origin for origin, _kept in sources_with_records(action, report)] if action is not None else []


def sources_with_records(action: bpy.types.Action, report: Report) -> list[tuple[MotionSource, KnuckleOrigin]]:
    """Return ``motion_sources``, each with its record in the Action."""
    out: list[tuple[MotionSource, KnuckleOrigin]] = []
    for kept in action_record(action).origins:
        motion = _read_document(action, kept)
        if motion is None:
            report.warn(
                "origin-lost",
                Message(
                    "Action {}: its source document is missing in this .blend, so values are exported with 7 digits",
                    repr(action.name),
                ),
            )
            continue
        known = [servo for servo in kept.servos if 0 <= servo.trajectory_index < len(motion.trajectories)]
        placed = {(servo.joint, servo.dof_index): servo.trajectory_index for servo in known if servo.joint}
        idle = [servo.trajectory_index for servo in known if not servo.joint]
        clock = Clock(kept.start, kept.fps, kept.fps_base, kept.map_old, kept.map_new)
        units = Units(cast(Any, kept.angle), cast(Any, kept.length))
        out.append((MotionSource(motion, clock, units, placed, idle), kept))
    return out


def keyed_frame_rate(action: bpy.types.Action | None) -> float | None:
    """Return the frame rate (1/s) at which motions were keyed in an Action; None without any, or with several rates."""
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


#: Times, values and mask of constant keys (n,) of the file's keys that were merged into one key in Blender.
KeyMatches = tuple[Array, Array, NDArray[np.bool_]]
#: Distance of frames that count as equal, in units of float32 resolution, and its upper bound (frames).
_MATCH_DIGITS, _MAX_MATCH_DISTANCE = 4.0, 0.004
#: Tolerance of a ball joint's keys after conversion of its three values to a quaternion and back.
_BLOCK_TOLERANCE = 2e-6
#: Keys of a ball joint that lie on a line within this only interpolate.
_LINEARITY_TOLERANCE = 1e-5
#: Distance (rad or length units) from its initial value above which a block's value was moved: float32 has seven
#: digits.
_START_TOLERANCE = 1e-5


class RestoredTrack(NamedTuple):
    """Restored keys of a servo.

    Attributes:
        track: The keys.
        off_grid: Number of keys that are off the grid and in no file.
        at_source_times: Whether all keys are where keys of a file were put.
    """

    track: Trajectory
    off_grid: int
    at_source_times: bool


def restore_single(
    keys: CurveKeys, channel: Channel, origins: Sequence[MotionSource], clock: Clock, grid: float | None
) -> RestoredTrack:
    """Restore the keys of a servo with one value.

    A key where a file's was put has that one's time, and its value if it is unedited. A key that stands for several
    merged ones of a file becomes all of them again.

    Args:
        keys: Keys of the curve.
        channel: The servo's channel.
        origins: Source motions that have the servo.
        clock: Mapping of frames to the times of the result.
        grid: Step (s) to which other keys are snapped; None: none.
    """
    times, values = np.full((2, len(keys.values)), np.nan)
    several: dict[int, KeyMatches] = {}
    unit: MotionUnit = ""
    known = np.zeros(len(keys.values), dtype=bool)
    for origin in origins:
        own = origin.trajectory(channel)
        if own is None:
            continue
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
    """Return the shortest decimal numbers that are equal in float32: 1.7, not 1.7000000476837158."""
    return numbers.astype("U32").astype(np.float64) if len(numbers) else np.zeros(0)


def _make_trajectory(
    name: str, times: Array, values: Array, held: NDArray[np.bool_], several: dict[int, KeyMatches], unit: MotionUnit
) -> Trajectory:
    """Return the trajectory of a servo's keys (n,), with each key in ``several`` replaced by the merged ones."""
    if several:
        rows = [several.get(k, (times[k : k + 1], values[k : k + 1], held[k : k + 1])) for k in range(len(times))]
        times, values, held = (np.concatenate(column) for column in zip(*rows, strict=True))
    order = np.argsort(times, kind="stable")
    if (np.diff(times[order]) <= 0).any():  # an edited key was snapped to the time of another
        order = order[np.concatenate([np.diff(times[order]) > 0, [True]])]
    held = held[order]
    how: Literal["linear", "constant"] = "constant" if len(held) and held.all() else "linear"
    return Trajectory(name, times[order], values[order], how, held, unit)


def snap_times(places: NDArray[np.float32], clock: Clock, grid: float | None) -> tuple[Array, NDArray[np.bool_]]:
    """Return the times (n,) of frames in an Action, snapped to the ``grid`` (s), and the mask of those off it.

    A frame that float32 cannot distinguish from the grid's is on it.
    """
    times = clock.key_times(shortest_decimals(places))
    if grid is None:
        return times, np.zeros(len(times), dtype=bool)
    nearest = np.round(times / grid) * grid
    on = np.abs(clock.keys(nearest) - places) <= _match_tolerance(places)
    return np.where(on, nearest, times), ~on


def _match_tolerance(places: NDArray[np.float32]) -> Array:
    """Return the distances within which frames (n,) count as equal."""
    return np.minimum(
        _MATCH_DIGITS * np.spacing(np.maximum(np.abs(places), np.float32(1.0))), _MAX_MATCH_DISTANCE
    ).astype(np.float64)


def _match_indices(places: NDArray[np.float32], own: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return for each frame (n,) the index of the equal one in ``own`` (m,), which is ascending; -1 for none."""
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
    """Restore the keys of a ball joint's or free block's servos that came from a file.

    Keys that only interpolate between the file's are left out as long as they do. A servo that the file does not have
    is included if it was moved.

    Args:
        rig: Armature of the mechanism.
        block: All channels of the block.
        curves: Curves of the Action, by identifier.
        origin: Source motion.
        clock: Mapping of frames to the times of the result.

    Returns:
        Trajectories by channel; empty if the curves' keys are not at the same frames or not linear.
    """
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
    coordinates = pose_block_coordinates(
        rig, block, columns[:, :3] if len(parts[0]) else np.zeros((len(places), 3)), columns[:, -4:]
    )
    leads = (at >= 0) & ~put.given[np.maximum(at, 0)] & same
    leads |= ~same & ~_corner_keys(places, coordinates, same)
    own = {c: replace(each, times=_to_clock(each.times, origin, clock)) for c, each in own.items()}
    return _restore_edited_block(block, own, tracks, places, coordinates, leads, same, clock)


def _to_clock(times: Array, origin: MotionSource, clock: Clock) -> Array:
    """Return the present times of a file's key times."""
    return times if origin.clock == clock else clock.key_times(origin.clock.keys(times))


def _corner_keys(places: NDArray[np.float32], coordinates: Array, firm: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the mask (n,) of a block's keys that do not just interpolate, including the ``firm`` ones."""
    at = places.astype(np.float64)
    corner = np.zeros(len(at), dtype=bool)
    for column in coordinates.T:
        corner[simplified_key_indices(at, column, _LINEARITY_TOLERANCE)] = True
    return corner | firm


def _restore_edited_block(
    block: Sequence[Channel],
    own: Mapping[Channel, Trajectory],
    tracks: Tracks,
    places: NDArray[np.float32],
    coordinates: Array,
    leads: NDArray[np.bool_],
    same: NDArray[np.bool_],
    clock: Clock,
) -> dict[Channel, Trajectory]:
    """Restore a block with edited keys: edited keys from the curves, the others with the file's values."""
    times = clock.key_times(shortest_decimals(places))
    out: dict[Channel, Trajectory] = {}
    for k, channel in enumerate(block):
        if channel not in own:
            if np.abs(coordinates[:, k] - channel.start).max() > _START_TOLERANCE:
                out[channel] = Trajectory(channel.name, times[~leads], coordinates[~leads, k])
            continue
        each, (frames, numbers, _how) = own[channel], tracks[channel]
        mine = _match_indices(places, key_pairs(frames, frames)[:, 0])
        there = mine >= 0
        kept = np.where(same, there, ~leads)
        values = np.where(same & there, numbers[np.maximum(mine, 0)], coordinates[:, k])
        when = np.where(there, each.times[np.maximum(mine, 0)], times)
        holds = each.holds()[np.clip(np.searchsorted(each.times, when, side="right") - 1, 0, None)]
        out[channel] = Trajectory(channel.name, when[kept], values[kept], each.interpolation, holds[kept], each.unit)
    return out
