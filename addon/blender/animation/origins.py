"""Where the keys of an Action came from: the document of a motion, kept in the Action as it was read, and how its
numbers became keys.

The document is a property of the Action and no datablock of its own: it goes where the Action goes, and with it.
(Blender does not clear a pointer in a list of an Action's when what it points to is removed.)
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np

from ...core.model import Array, Motion, Trajectory
from ...core.report import FormatError, Report
from ...formats import loads_motions
from ...formats.text.file_io import encode
from ..data.access import action_record
from ..data.channels import Channel
from ..data.properties.action import KnuckleOrigin
from . import read_lately
from .clock import Clock
from .keys import CONSTANT, LINEAR, How, group_starts
from .units import Units

_KEY = "knuckle_document"


@dataclass
class Origin:
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


def track_of(trajectory: Trajectory, clock: Clock, units: Units, channel: Channel) -> tuple[Array, Array, How]:
    """A trajectory as keys of a channel: where in an Action, values (rad or length units), interpolation. Of keys that
    Blender cannot hold apart there is one, where the first is and with the last one's value."""
    places, values, how = whole_track(trajectory, clock, units, channel)
    starts = group_starts(places)
    if len(starts) == len(places):
        return places, values, how
    ends = np.append(starts[1:], len(places)) - 1
    return places[starts], values[ends], how if isinstance(how, int) else how[ends]


def whole_track(trajectory: Trajectory, clock: Clock, units: Units, channel: Channel) -> tuple[Array, Array, How]:
    """Return a trajectory as keys of a channel, all of them: frames, values (rad or length units), interpolation."""
    size = units.size(channel, trajectory.unit)
    values = trajectory.values if size == 1.0 else trajectory.values * size
    how = np.where(trajectory.holds(), CONSTANT, LINEAR).astype(np.int32) if trajectory.may_hold else LINEAR
    return clock.keys(trajectory.times), values, how


def put_origin(
    action: bpy.types.Action, motion: Motion, clock: Clock, units: Units, placed: Mapping[int, Channel]
) -> None:
    """Remember where a motion was keyed: number of its trajectory -> channel. Nothing where it has no document, or none
    of its trajectories is the document's."""
    source, places = motion.source, document_places(motion)
    if source is None or not source.text or not places:
        return
    record = action_record(action)
    kept = record.origins.add()
    kept.key = f"{_KEY}_{len(record.origins)}"
    data = encode(source.text, source.encoding, as_read=True)
    kept.packed = motion.count > 1  # all of their Actions have it; one alone is quicker as it is
    action[kept.key] = zlib.compress(data) if kept.packed else data
    kept.path, kept.index = source.path, motion.index
    if motion.count == 1:
        read_lately.keep_only(data, motion)
    kept.start, kept.fps, kept.fps_base = clock.start, clock.fps, clock.fps_base
    kept.map_old, kept.map_new = clock.old, clock.new
    kept.angle, kept.length = units.angle, units.length
    note_placed(kept, {places[place]: channel for place, channel in placed.items() if place in places})
    for number, place in places.items():
        if number not in placed:
            kept.servos.add().place = place


def document_places(motion: Motion) -> dict[int, int]:
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


def note_placed(kept: KnuckleOrigin, placed: Mapping[int, Channel]) -> None:
    """Remember which channels the document's trajectories key, by their numbers."""
    idle = {servo.place: servo for servo in kept.servos if not servo.joint}
    for place, channel in placed.items():
        servo = idle.get(place) or kept.servos.add()
        servo.place, servo.joint, servo.number = place, channel.joint, channel.number


def origins_of(action: bpy.types.Action | None, report: Report) -> list[Origin]:
    """The motions that an Action's keys came from, as their documents have them: they are not to be changed. One whose
    document is gone or cannot be read any more is reported and left out."""
    return [origin for origin, _kept in origins_with_records(action, report)] if action is not None else []


def origins_with_records(action: bpy.types.Action, report: Report) -> list[tuple[Origin, KnuckleOrigin]]:
    """Return the motions that an Action's keys came from, each with what the Action keeps of it; ``origins_of`` says
    which."""
    out: list[tuple[Origin, KnuckleOrigin]] = []
    for kept in action_record(action).origins:
        motion = _motion_of(action, kept)
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
        out.append((Origin(motion, clock, units, placed, idle), kept))
    return out


def keyed_rate(action: bpy.types.Action | None) -> float | None:
    """Frames per second at which motions of files were keyed in an Action; None where there are none, or several."""
    rates = {kept.fps / kept.fps_base for kept in action_record(action).origins} if action is not None else set()
    return rates.pop() if len(rates) == 1 else None


def _motion_of(action: bpy.types.Action, kept: KnuckleOrigin) -> Motion | None:
    data = bytes(action.get(kept.key, b""))
    motions = read_lately.motions_in(data, kept.path)
    if motions is None:
        try:
            motions = loads_motions(zlib.decompress(data) if kept.packed else data, kept.path)[0]
        except (FormatError, zlib.error):
            motions = []
        read_lately.keep(data, kept.path, motions)
    return motions[kept.index] if kept.index < len(motions) else None
