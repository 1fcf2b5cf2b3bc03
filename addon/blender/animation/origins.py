"""Where the keys of an Action came from: the document of a motion, kept in the .blend as it was read, and how its
numbers became keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, cast

import bpy
import numpy as np

from ...formats import loads_motions
from ...formats.files import encode
from ...model.records import Array, Motion, Source, Trajectory
from ...model.report import FormatError, Report
from ..access import action_record
from ..channels import Channel
from ..motion_properties import KnuckleOrigin
from .clock import Clock
from .keys import CONSTANT, LINEAR, Tracks, group_starts
from .units import Units

#: The property of a Text that holds a document.
_DATA = "knuckle_document"


@dataclass
class Origin:
    """A motion that was keyed in an Action: which of its trajectories keys which coordinate, (joint, number)."""

    motion: Motion
    clock: Clock
    units: Units
    placed: dict[tuple[str, int], int]

    def trajectory(self, channel: Channel) -> Trajectory | None:
        """What the file says of a channel."""
        place = self.placed.get((channel.joint, channel.number))
        return None if place is None else self.motion.trajectories[place]

    def tracks(self, channels: Mapping[tuple[str, int], Channel]) -> Tracks:
        """The keys of all channels that are still there, as they were put."""
        return {
            channels[where]: track_of(self.motion.trajectories[place], self.clock, self.units, channels[where])
            for where, place in self.placed.items()
            if where in channels
        }

    def left_over(self) -> list[Trajectory]:
        """The trajectories that key nothing."""
        used = set(self.placed.values())
        return [each for place, each in enumerate(self.motion.trajectories) if place not in used]


def track_of(trajectory: Trajectory, clock: Clock, units: Units, channel: Channel) -> tuple[Array, Array, Any]:
    """A trajectory as keys of a channel: where in an Action, values (rad or length units), interpolation. Of keys that
    Blender cannot hold apart there is one, where the first is and with the last one's value."""
    places, values, how = whole_track(trajectory, clock, units, channel)
    starts = group_starts(places)
    if len(starts) == len(places):
        return places, values, how
    ends = np.append(starts[1:], len(places)) - 1
    return places[starts], values[ends], how if isinstance(how, int) else how[ends]


def whole_track(trajectory: Trajectory, clock: Clock, units: Units, channel: Channel) -> tuple[Array, Array, Any]:
    """The same with all keys."""
    size = units.size(channel)
    values = trajectory.values if size == 1.0 else trajectory.values * size
    how = np.where(trajectory.holds(), CONSTANT, LINEAR).astype(np.int32) if trajectory.may_hold else LINEAR
    return clock.keys(trajectory.times), values, how


def put_origin(
    action: bpy.types.Action, motion: Motion, clock: Clock, units: Units, placed: Mapping[int, Channel]
) -> None:
    """Remember where a motion was keyed: number of its trajectory -> channel. Nothing where it has no document."""
    if motion.source is None or not motion.source.text:
        return
    kept = action_record(action).origins.add()
    kept.document = _document(motion.source)
    kept.path, kept.index = motion.source.path, motion.index
    kept.start, kept.fps, kept.fps_base = clock.start, clock.fps, clock.fps_base
    kept.map_old, kept.map_new = clock.old, clock.new
    kept.angle, kept.length = units.angle, units.length
    note_placed(kept, placed)


def note_placed(kept: KnuckleOrigin, placed: Mapping[int, Channel]) -> None:
    """Remember which channels trajectories key, by their numbers."""
    for place, channel in placed.items():
        servo = kept.servos.add()
        servo.place, servo.joint, servo.number = place, channel.joint, channel.number


def _document(source: Source) -> bpy.types.Text:
    """The Text with a document, as bytes beside its lines: the one that other motions of it have, or a new one. (Lines
    of a hundred thousand numbers are slow in Blender's text editor.)"""
    data = encode(source.text, source.encoding, as_read=True)
    for block in bpy.data.texts:
        if block.get(_DATA) == data:
            return block
    name = PurePath(source.path.replace("\\", "/")).name or "Motion"
    block = bpy.data.texts.new(name)
    block.from_string(f"With this text Knuckle keeps {name}, so that its numbers go out as they came in.\n")
    block[_DATA] = data
    return block


def origins_of(action: bpy.types.Action | None, report: Report) -> list[Origin]:
    """The motions that an Action's keys came from, as their documents have them. One whose document is gone or was
    made unreadable is reported and left out."""
    return [origin for origin, _kept in origins_with_records(action, report)] if action is not None else []


def origins_with_records(action: bpy.types.Action, report: Report) -> list[tuple[Origin, KnuckleOrigin]]:
    """The same, each with what the Action keeps of it."""
    out: list[tuple[Origin, KnuckleOrigin]] = []
    read: dict[str, list[Motion]] = {}
    for kept in action_record(action).origins:
        block = kept.document
        motion = _motion_of(kept, read) if block is not None else None
        if motion is None:
            report.warn(
                "origin-lost",
                f"The document that {action.name!r} was imported from is gone from this file: its numbers go out with "
                "the seven digits that keys have",
            )
            continue
        placed = {(s.joint, s.number): s.place for s in kept.servos if s.place < len(motion.trajectories)}
        clock = Clock(kept.start, kept.fps, kept.fps_base, kept.map_old, kept.map_new)
        units = Units(cast(Any, kept.angle), cast(Any, kept.length))
        out.append((Origin(motion, clock, units, placed), kept))
    return out


def _motion_of(kept: KnuckleOrigin, read: dict[str, list[Motion]]) -> Motion | None:
    block = kept.document
    if block.name not in read:
        try:
            read[block.name] = loads_motions(bytes(block.get(_DATA, b"")), kept.path)[0]
        except FormatError:
            read[block.name] = []
    return read[block.name][kept.index] if kept.index < len(read[block.name]) else None
