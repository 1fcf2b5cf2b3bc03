"""A motion off a model: key for key where its curves are its motion, else as the evaluated pose has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import bpy
import numpy as np

from ...model.records import Array, Motion, Trajectory
from ...model.report import FormatError, Report
from ...model.stops import beyond as beyond_stops
from ...model.stops import put_within
from ...model.thinning import kept_keys
from ..access import settings
from ..channels import Channel, names_as_built, servo_channels
from ..compat import action_curves, is_muted
from ..model_parts import require_rig
from .actions import active_action
from .clock import Clock
from .curve_keys import Alone, CurveKeys, is_plain
from .curves import plays_cycles
from .gait import settings_curves
from .keys import NEAREST, blocks_of
from .origins import origins_of
from .restored import block_tracks, single_track
from .sampling import pose_values
from .stops import stops_of
from .telling import Teller, name_of, some
from .units import Units

#: What physics did with servos: (joint, number of the coordinate) -> scene frames (n,) and values (n,).
Physical = Mapping[tuple[str, int], tuple[Array, Array]]
_LOOKS = 4  # between two samples of a curve, where its distance from the line is looked at


@dataclass
class TakeOptions:
    """How a motion is taken off a model.

    ``keys``: AUTO is key for key where a servo's curve is straight or held between keys and these stand on the
    ``grid`` (s; None: anywhere) or came from a file, and samples of the evaluated pose every ``step`` (s) elsewhere;
    KEYS the same, wherever keys stand; SAMPLED samples all. ``first`` and ``last``, frames of the scene, cut the
    motion; the first is time 0 then. ``stops``: what to do with values beyond them. ``tolerance``: leave out samples
    that lines between the others pass within it (rad or length units; 0: none). ``units`` of what is told; None: those
    of the file that the Action came from if ``format`` is that file's or empty, else rad and length units. ``by_keys``:
    whether keys drive the bodies, and not physics; None: as the model is set."""

    servos: Literal["KEYED", "ALL", "SELECTED"] = "KEYED"
    selected: frozenset[str] = frozenset()  # ids of joints
    keys: Literal["AUTO", "KEYS", "SAMPLED"] = "AUTO"
    step: float = 0.032
    grid: float | None = None
    first: float | None = None
    last: float | None = None
    stops: Literal["KEEP", "CLAMP", "REFUSE"] = "KEEP"
    tolerance: float = 0.0
    units: Units | None = None
    format: str = ""
    by_keys: bool | None = None
    name: str | None = None


def take(
    model: bpy.types.Collection | bpy.types.Object,
    scene: bpy.types.Scene | None = None,
    options: TakeOptions | None = None,
    physical: Physical | None = None,
) -> tuple[Motion, Report]:
    """What the servos of a model do, as its Action, or what else poses it, has them do.

    Keys that came from a file and were not edited have the file's own numbers, and servos of the file that move nothing
    here are there again. ``physical``: what a run under physics did, in place of the pose. The scene's frame is put
    back. FormatError where a value is beyond its stop and that is to be refused, or no number."""
    taking = _Taking(require_rig(model), scene or bpy.context.scene, options or TakeOptions(), physical or {})
    return taking.motion(), taking.report


class _Taking:
    def __init__(
        self,
        rig: bpy.types.Object,
        scene: bpy.types.Scene,
        options: TakeOptions,
        physical: Physical,
    ) -> None:
        self.rig, self.scene, self.options, self.physical = rig, scene, options, physical
        self.report = Report()
        self.action = active_action(rig)
        curves = action_curves(rig, self.action, create=False) if self.action is not None else None
        self.curves = {(curve.data_path, curve.array_index): curve for curve in curves or () if not is_muted(curve)}
        self.muted = {(curve.data_path, curve.array_index) for curve in curves or () if is_muted(curve)}
        self.origins = origins_of(self.action, self.report)
        self.channels = [channel for own in servo_channels(rig).values() for channel in own]
        self.alone = Alone(rig, follows_keys(rig) if options.by_keys is None else options.by_keys)
        self.clock = Clock.of(scene, self._start())
        self.sampled: list[Channel] = []
        self.idle: set[Channel] = set()  # numbers of balls that the file does not have and nobody moved
        self.in_time = True  # whether the keys that came from files stand where they were put

    # ---------------------------------------------------------------- range

    def _start(self) -> float:
        """The frame of time 0: where the cut begins, where a file was put, or where the scene begins; if there are
        keys before that, the first of them."""
        if self.options.first is not None:
            return self.options.first
        if self.origins:
            return self.origins[0].clock.start
        begin = float(self.scene.frame_start)
        first = min((float(key[0]) for key in self._ends()), default=begin)
        return min(begin, first * self.scene.render.frame_map_new / self.scene.render.frame_map_old)

    def _ends(self) -> Iterable[tuple[float, float]]:
        """First and last key of each servo's curves."""
        posing = {place for channel in self.channels for place in channel.curves()}
        for place, curve in self.curves.items():
            if place in posing and (len(curve.keyframe_points) or len(curve.sampled_points)):
                first, last = curve.range()
                yield first, last

    def _last(self) -> float:
        """The scene's frame at which the motion ends."""
        if self.options.last is not None:
            return self.options.last
        if self.physical:
            return max(float(frames[-1]) for frames, _values in self.physical.values())
        scale = self.scene.render.frame_map_new / self.scene.render.frame_map_old
        ends = [float(last) for _first, last in self._ends()]
        data = self.rig.animation_data
        if data is not None and data.use_nla:
            ends += [s.frame_end for t in data.nla_tracks if not t.mute for s in t.strips if not s.mute]
        return max(ends) * scale if ends else float(self.scene.frame_end)

    def _grid_times(self) -> Array:
        """The times of samples: every step, from 0 to the first that is not before the end."""
        length = float(self.clock.times(self._last()))
        return np.arange(np.ceil(max(length, 0.0) / self.options.step - 1e-6) + 1.0) * self.options.step

    # -------------------------------------------------------------- servos

    def motion(self) -> Motion:
        """The whole motion."""
        wanted = self._wanted()
        self._tell_of_muted(wanted if self.options.servos == "SELECTED" else self.channels)
        tracks = self._from_physics([c for c in wanted if (c.joint, c.number) in self.physical])
        exact: dict[Channel, Trajectory] = {}
        if self.options.keys != "SAMPLED":
            exact = self._key_for_key([channel for channel in wanted if channel not in tracks])
        tracks |= exact
        if self.options.servos == "KEYED":
            wanted = [channel for channel in wanted if channel not in self.idle]
        self._sample([channel for channel in wanted if channel not in tracks], tracks)
        self.report.info("servos-taken", f"{len(exact)} key for key, {len(wanted) - len(exact)} sampled")
        self._see_to_stops(tracks)
        self._thin(tracks)
        return self._told({channel: tracks[channel] for channel in wanted})

    def _from_physics(self, channels: Sequence[Channel]) -> dict[Channel, Trajectory]:
        times = self._grid_times() if channels else np.zeros(0)
        frames = self.clock.frames(times)
        self.sampled += channels
        return {
            channel: Trajectory(
                channel.name, times.copy(), np.interp(frames, *self.physical[channel.joint, channel.number])
            )
            for channel in channels
        }

    def _wanted(self) -> list[Channel]:
        if self.options.servos == "SELECTED":
            return [channel for channel in self.channels if channel.joint in self.options.selected]
        if self.options.servos == "KEYED":
            curves = {place for place, curve in self.curves.items() if not curve.is_empty}
            keyed = [c for c in self.channels if not curves.isdisjoint(c.curves()) or self.alone.is_moved(c)]
            return keyed or ([] if self.origins else self.channels)
        return self.channels

    def _tell_of_muted(self, meant: Iterable[Channel]) -> None:
        off = (c for c in meant if self.muted and not self.muted.isdisjoint(c.curves()))
        silent = [channel.name for channel in off if (channel.joint, channel.number) not in self.physical]
        if silent:
            self.report.warn("muted", f"Their curves are muted and count for nothing: {some(silent)}")

    def _key_for_key(self, channels: Sequence[Channel]) -> dict[Channel, Trajectory]:
        """The servos whose curves are their motion: their keys."""
        out: dict[Channel, Trajectory] = {}
        fit = [channel for channel in channels if self.alone(channel)]
        for channel in fit:
            if channel.is_single:
                track = self._keys_of(channel)
                if track is not None:
                    out[channel] = track
        left = {channel: None for channel in fit if not channel.is_single}
        for block in blocks_of(self.rig, left):
            origin = next((o for o in reversed(self.origins) if any(o.trajectory(c) is not None for c in block)), None)
            curves = [curve for place in block[0].curves() if (curve := self.curves.get(place)) is not None]
            if origin is None or not all(is_plain(curve) and not self._goes_on(curve) for curve in curves):
                continue
            found = block_tracks(self.rig, block, self.curves, origin, self.clock)
            out |= {channel: self._cut(track) for channel, track in found.items() if channel in left}
            if found:
                self.idle.update(channel for channel in block if channel not in found)
        return out

    def _keys_of(self, channel: Channel) -> Trajectory | None:
        """The keys of one servo, None where these are not its whole motion or not where they may be."""
        curve = self.curves.get((channel.path, channel.index))
        if curve is None or curve.is_empty:
            prop = getattr(self.rig.pose.bones[channel.bone], channel.prop)
            return Trajectory(channel.name, np.zeros(1), np.array([prop[channel.index]], dtype=np.float64))
        keys = CurveKeys.of(curve)
        if not is_plain(curve) or not len(keys.places) or not keys.is_straight or self._goes_on(curve):
            return None
        own = [origin for origin in self.origins if origin.trajectory(channel) is not None]
        found = single_track(keys, channel, own, self.clock, self.options.grid)
        if found.off_grid and not own and self.options.keys == "AUTO":
            return None
        if found.off_grid:
            self.report.info(
                "off-grid",
                f"{found.off_grid} keys of {channel.name!r} are between the steps of the format",
                where=channel.name,
            )
        self.in_time &= found.in_time
        return self._cut(found.track)

    def _goes_on(self, curve: bpy.types.FCurve) -> bool:
        """Whether a curve moves beyond its keys within the motion's time: it repeats, or goes on as it went."""
        if not plays_cycles(curve) and curve.extrapolation != "LINEAR":
            return False
        first, last = float(curve.range()[0]), float(curve.range()[1])
        begin, end = self.clock.keys(0.0), self.clock.keys(self.clock.times(self._last()))
        return bool(begin < first - NEAREST or end > last + NEAREST)

    def _cut(self, track: Trajectory) -> Trajectory:
        """The part of a track within the range that was asked for."""
        options = self.options
        if options.first is None and options.last is None:
            return track
        first = -np.inf if options.first is None else 0.0
        last = np.inf if options.last is None else float(self.clock.times(options.last))
        inside = (track.times >= first - 1e-9) & (track.times <= last + 1e-9)
        ends = [end for end in (first, last) if np.isfinite(end) and track.times[0] < end < track.times[-1]]
        times = np.union1d(track.times[inside], [e for e in ends if np.abs(track.times - e).min() > 1e-9])
        if not len(times):
            times = np.array([max(first, 0.0)])
        before = np.clip(np.searchsorted(track.times, times, side="right") - 1, 0, None)
        values, exact = track.at(times), np.isin(times, track.times)
        values[exact] = track.values[before[exact]]
        return Trajectory(track.name, times, values, track.interpolation, track.holds()[before], track.unit)

    # ------------------------------------------------------------- samples

    def _sample(self, channels: Sequence[Channel], tracks: dict[Channel, Trajectory]) -> None:
        """Sample servos on the grid: from their curves where these alone pose them, else from the evaluated pose."""
        if not channels:
            return
        times = self._grid_times()
        frames = np.minimum(self.clock.frames(times), max(self._last(), self.clock.start))
        curved = {place for place, curve in self.curves.items() if not curve.is_empty}
        alone = [c for c in channels if c.is_single and self.alone(c) and (c.path, c.index) in curved]
        for channel in alone:
            curve = self.curves[channel.path, channel.index]
            places = frames * self.scene.render.frame_map_old / self.scene.render.frame_map_new
            values = _evaluated(curve, places)
            tracks[channel] = Trajectory(channel.name, times.copy(), values)
            self._say_error(channel, curve, places, values)
        posed = [channel for channel in channels if channel not in tracks]
        if posed:
            values = pose_values(self.rig, self.scene, posed, frames.tolist())
            for k, channel in enumerate(posed):
                tracks[channel] = Trajectory(channel.name, times.copy(), values[:, k].copy())
        self.sampled += channels
        for channel in channels:
            _refuse_no_number(tracks[channel])

    def _say_error(self, channel: Channel, curve: bpy.types.FCurve, places: Array, values: Array) -> None:
        """How far lines between samples stray from the curve."""
        if len(places) < 2 or (is_plain(curve) and CurveKeys.of(curve).is_straight and not plays_cycles(curve)):
            return
        shares = (np.arange(_LOOKS) + 0.5) / _LOOKS
        between = (places[:-1, None] + np.diff(places)[:, None] * shares).ravel()
        worst = float(np.abs(_evaluated(curve, between) - np.interp(between, places, values)).max())
        unit = "rad" if channel.is_angle else "length units"
        self.report.info(
            "curve-sampled",
            f"The curve of {channel.name!r} was sampled every {1000 * self.options.step:g} ms: lines between samples "
            f"stray from it by {worst:.2g} {unit} at most",
            where=channel.name,
        )

    # --------------------------------------------------------- afterwards

    def _see_to_stops(self, tracks: dict[Channel, Trajectory]) -> None:
        beyond: list[str] = []
        ends = stops_of(self.rig)
        for channel, track in tracks.items():
            limits = ends[channel.joint, channel.number]
            out = beyond_stops(track.values, limits) != 0.0
            if not out.any():
                continue
            count, first = int(out.sum()), float(track.times[np.argmax(out)])
            beyond.append(f"{channel.name!r} {count} of {len(out)} keys, first at {first:g} s")
            if self.options.stops == "CLAMP":
                track.values = put_within(track.values, limits)
        if not beyond:
            return
        listed = "; ".join(beyond[:5]) + (f"; and {len(beyond) - 5} servos more" if len(beyond) > 5 else "")
        if self.options.stops == "REFUSE":
            raise FormatError(
                f"values are beyond the stops: {listed}",
                remedy="Keep them within, or choose to clamp them or to write them as they are.",
            )
        done = "were put at them" if self.options.stops == "CLAMP" else "are written as they are"
        self.report.warn("beyond-stops", f"Values beyond the stops {done}: {listed}")

    def _thin(self, tracks: dict[Channel, Trajectory]) -> None:
        if self.options.tolerance <= 0.0:
            return
        before = after = 0
        for channel in self.sampled:
            track = tracks[channel]
            kept = kept_keys(track.times, track.values, self.options.tolerance)
            before, after = before + len(track.times), after + len(kept)
            tracks[channel] = Trajectory(track.name, track.times[kept], track.values[kept])
        if before:
            self.report.info(
                "keys-reduced", f"{after} of {before} samples are kept, within {self.options.tolerance:g} of the others"
            )

    def _told(self, tracks: Mapping[Channel, Trajectory]) -> Motion:
        """The motion as files have it."""
        options = self.options
        teller = Teller(self.origins, self.clock, options.units, options.format, self.report)
        trajectories = teller.trajectories(tracks, self._cut, options.servos != "SELECTED", self.in_time)
        self._tell_of_renamed(tracks, trajectories)
        name, attributes = name_of(self.rig, self.action)
        motion = Motion(options.name if options.name is not None else name, trajectories, attributes)
        if teller.main is None or options.first is not None:
            return motion
        read = teller.main.motion
        return replace(motion, source=read.source, index=read.index, count=read.count, as_read=read.as_read)

    def _tell_of_renamed(self, tracks: Iterable[Channel], told: Iterable[Trajectory]) -> None:
        """Motions keep the names that their file has, also where joints were renamed meanwhile."""
        names = {each.name for each in told}
        before = names_as_built(self.rig)
        pairs = [(before[channel.joint][channel.number], channel.name) for channel in tracks]
        stale = [f"{new!r} is {old!r} there" for old, new in pairs if old != new and old in names and new not in names]
        if stale:
            listed = ", ".join(stale[:5]) + (", …" if len(stale) > 5 else "")
            self.report.warn("renamed-since", f"Renamed servos go out under the names of the motion's file: {listed}")


def follows_keys(rig: bpy.types.Object) -> bool:
    """Whether a model's bodies follow its bones, and at every frame."""
    return settings(rig).drive == "KEYS" and ("knuckle.drive", 0) not in settings_curves(rig)


def _refuse_no_number(track: Trajectory) -> None:
    wrong = ~np.isfinite(track.values)
    if wrong.any():
        raise FormatError(
            f"servo {track.name!r} is at no number, first at {track.times[np.argmax(wrong)]:g} s",
            remedy="Look at its drivers and constraints.",
        )


def _evaluated(curve: bpy.types.FCurve, places: Array) -> Array:
    return np.array([curve.evaluate(place) for place in places.tolist()], dtype=np.float64)
