"""What was taken off a model as its file has it: names, units, order, and the servos that move nothing here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import bpy
import numpy as np

from ...core.model import Array, MotionUnit, Trajectory
from ...core.report import Report
from ..data.access import action_record, record_of
from ..data.channels import Channel
from ..data.queries import was_numbered
from .clock import Clock
from .origins import Origin
from .units import Units


@dataclass
class Teller:
    """Puts taken servos into the words of the motions that an Action came from. The first of them gives the document;
    what the others have of their own stands behind it. ``format`` is what will be written, empty for whatever."""

    origins: list[Origin]
    clock: Clock
    units: Units | None
    format: str
    report: Report

    def __post_init__(self) -> None:
        self.main = self.origins[0] if self.origins else None
        source = self.main.motion.source if self.main is not None else None
        same = source is not None and self.format in {"", source.format}
        self._names_units = same and source is not None and source.format == "csv"
        self.out = self.units or (self.main.units if self.main is not None and same else Units())

    def trajectories(
        self,
        tracks: Mapping[Channel, Trajectory],
        cut: Callable[[Trajectory], Trajectory],
        left: bool,
        in_time: bool,
    ) -> list[Trajectory]:
        """The servos, those of the document in its order and before others. ``left``: with those that move nothing
        here, ``cut`` to the time that is wanted; they are out of step unless the keys of the others are ``in_time``."""
        placed: dict[int, Trajectory] = {}
        others: list[Trajectory] = []
        for channel, track in tracks.items():
            place = None if self.main is None else self.main.placed.get((channel.joint, channel.number))
            if self.main is not None and place is not None:
                placed[place] = self._as_read(channel, track, self.main)
            else:
                others.append(self._anew(channel, track))
        for origin in self.origins if left else ():
            for place in origin.idle:
                own = self._left_over(origin.motion.trajectories[place], origin, cut)
                if not len(own.times) and any(channel.name == own.name for channel in tracks):
                    continue  # it had no keys in the file, and has some now
                if origin is self.main:
                    placed[place] = own
                else:
                    others.append(own)
        idle = [each.name for origin in self.origins if left for each in origin.left_over()]
        if idle and not in_time:
            self.report.warn(
                "left-over-times",
                f"Keys were moved, but not those of the servos that move nothing here: {some(idle)}",
            )
        return [placed[place] for place in sorted(placed)] + others

    def _anew(self, channel: Channel, track: Trajectory) -> Trajectory:
        """A servo under the name that a file has for it, or ours."""
        own = next((found for origin in self.origins if (found := origin.trajectory(channel)) is not None), None)
        return Trajectory(
            own.name if own is not None else channel.name,
            track.times,
            _in_units(track.values, self.out.size(channel)),
            track.interpolation,
            track.held,
            self.out.name(channel),
            channel.is_root,
        )

    def _as_read(self, channel: Channel, track: Trajectory, origin: Origin) -> Trajectory:
        """A servo of the document: values that came from it and were turned into rad and back are its own."""
        own = origin.trajectory(channel)
        unit: MotionUnit = own.unit if self._names_units else self.out.name(channel)
        named: MotionUnit = own.unit if self._names_units else ""
        size, was = self.out.size(channel, named), origin.units.size(channel, own.unit)
        values = _in_units(track.values, size)
        if size == was != 1.0 and len(own.times):
            at = np.clip(np.searchsorted(own.times, track.times), 0, len(own.times) - 1)
            same = (own.times[at] == track.times) & (own.values[at] * size == track.values)
            values = np.where(same, own.values[at], values)
        return Trajectory(own.name, track.times, values, own.interpolation, track.held, unit, channel.is_root)

    def _left_over(self, own: Trajectory, origin: Origin, cut: Callable[[Trajectory], Trajectory]) -> Trajectory:
        """A servo that moves nothing here, at the times that its file's have become."""
        if not own.unit and origin.units != self.out:
            self.report.warn(
                "left-over-unit",
                f"Servo {own.name!r} moves nothing here: its numbers stay as they are in its file",
                where=own.name,
            )
        own = replace(own, times=own.times.copy(), values=own.values.copy())  # the document stays as it was read
        if not len(own.times):
            return own
        if origin.clock != self.clock:
            times = self.clock.times(origin.clock.frames(own.times))
            own = replace(own, times=times)
        return cut(own)


def _in_units(values: Array, size: float) -> Array:
    """Values (n,) in units of a size: of the numbers that mean the same in 32 bits, those with the fewest digits."""
    told = values / size
    if size == 1.0:
        return told
    wanted, open_ = values.astype(np.float32), np.isfinite(told) & (told != 0.0)
    out = told.copy()
    for digits in range(1, 9):
        places_after = digits - 1 - np.floor(np.log10(np.abs(told[open_])))
        up, down = 10.0 ** np.maximum(places_after, 0.0), 10.0 ** np.maximum(-places_after, 0.0)  # whole: exact
        short = np.round(told[open_] / down * up) / up * down
        fits = (short * size).astype(np.float32) == wanted[open_]
        places = np.flatnonzero(open_)
        out[places[fits]] = short[fits]
        open_[places[fits]] = False
    return out


def some(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def name_of(rig: bpy.types.Object, action: bpy.types.Action | None) -> tuple[str, dict[str, str]]:
    """Return what a motion is called, and its attributes: as its file has it, unless its Action was renamed. The number
    that Blender puts behind a copy's name renames nothing."""
    if action is None:
        return record_of(rig).source_name or rig.name, {}
    record = action_record(action)
    attributes = {row.name: row.value for row in record.attributes}
    own = record.title == action.name or was_numbered(action.name, record.title)
    named = record.kind == "MOTION" and own
    return record.motion if named else action.name, attributes
