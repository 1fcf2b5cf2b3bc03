"""A motion off a model: key for key where its curves are its motion, else as the evaluated pose has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import bpy
import numpy as np

from ... import formats
from ...core.model import Array, Motion, MotionUnit, Trajectory
from ...core.motion.keyframes import simplified_key_indices
from ...core.motion.root_motion import drop_root_motion
from ...core.report import Report, join_names
from ..compat import action_curves, is_muted
from ..data.access import action_record, record_of, settings
from ..data.channels import Channel, original_servo_names, root_channels, servo_channels, settings_curves
from ..data.queries import RigParts, is_numbered_copy, require_rig
from .actions import active_action, strip_curve_ids
from .fcurves import (
    STILL_TOLERANCE,
    CurveId,
    CurveKeys,
    PoseSources,
    curve_leaves_value,
    evaluate_curve,
    has_active_cycles,
    is_plain_curve,
    report_sampling_error,
    rest_value,
    sample_blocks,
)
from .frame_time import Clock, Units
from .keying import MIN_KEY_SPACING, channel_blocks
from .motion_checks import apply_stop_policy, report_frame_rate, require_finite, require_joints
from .pose_reader import sample_channels
from .source_motion import MotionSource, motion_sources, restore_block, restore_single
from .unsaved_channels import ResidueMeter, frames_to_inspect, frames_to_refine, has_stray_pose, stray_curve_ids

#: What physics did with servos: (joint, number of the coordinate) -> scene frames (n,) and values (n,).
PhysicsTracks = Mapping[tuple[str, int], tuple[Array, Array]]


@dataclass
class SampleOptions:
    """How a motion is taken off a model.

    ``keys``: AUTO is key for key where a servo's curve is straight or held between keys and these stand on the
    ``grid`` (s; None: anywhere) or came from a file, and samples of the evaluated pose every ``step`` (s) elsewhere;
    KEYS the same, wherever keys stand; SAMPLED samples all. ``first`` and ``last``, frames of the scene, cut the
    motion; the first is time 0 then. ``stops``: what to do with values beyond them. ``tolerance``: leave out samples
    that lines between the others pass within it (rad or length units; 0: none). ``units`` of what is told; None: those
    of the file that the Action came from if ``format`` is that file's or empty, else rad and length units. ``by_keys``:
    whether keys drive the bodies, and not physics; None: as the model is set.
    """

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


def read_motion(
    model: bpy.types.Collection | bpy.types.Object,
    scene: bpy.types.Scene | None = None,
    options: SampleOptions | None = None,
    physical: PhysicsTracks | None = None,
) -> tuple[Motion, Report]:
    """Return what the servos of a model do, as its Action, or what else poses it, has them do.

    Keys that came from a file and were not edited have the file's own numbers, and servos of the file that move nothing
    here are there again. ``physical``: what a run under physics did, in place of the pose. The scene's frame is put
    back. FormatError where a value is beyond its stop and that is to be refused, or no number.
    """
    taking = _MotionSampler(require_rig(model), scene or bpy.context.scene, options or SampleOptions(), physical or {})
    return taking.motion(), taking.report


class _MotionSampler:
    def __init__(
        self,
        rig: bpy.types.Object,
        scene: bpy.types.Scene,
        options: SampleOptions,
        physical: PhysicsTracks,
    ) -> None:
        self.rig, self.scene, self.options, self.physical = rig, scene, options, physical
        self.report = Report()
        found = self.parts = RigParts(rig)
        self.action = active_action(rig)
        curves = action_curves(rig, self.action, create=False) if self.action is not None else None
        self.curves = {(curve.data_path, curve.array_index): curve for curve in curves or () if not is_muted(curve)}
        self.muted = {(curve.data_path, curve.array_index) for curve in curves or () if is_muted(curve)}
        self.origins = motion_sources(self.action, self.report)
        self.strips = strip_curve_ids(rig)
        self.channels = [channel for own in servo_channels(rig, found).values() for channel in own]
        self.roots = list(root_channels(rig, found).values())
        row = formats.MOTION_FORMATS.get(options.format)
        #: What the format that will be written is called, where it has no place for root motion.
        self.without_roots = row.label if row is not None and not row.supports_root_motion else ""
        require_joints(found, self.report)
        self.alone = PoseSources(found, bodies_follow_keys(rig) if options.by_keys is None else options.by_keys)
        self.clock = Clock.of(scene, self._start())
        #: Curves that pose bones beside their joints; what measures that, where anything may do so.
        data = rig.animation_data
        driven = {(curve.data_path, curve.array_index) for curve in data.drivers} if data is not None else set()
        every = [*self.channels, *(channel for own in self.roots for channel in own)]
        posing = {place for channel in every for place in channel.curves()}
        self.stray = stray_curve_ids(found, posing, self.strips | self.curves.keys() | driven)
        beside = bool(self.stray) or self.alone.may_pose_stray() or has_stray_pose(found, every)
        self.residues = ResidueMeter(found, every) if beside and not physical else None
        self.sampled: list[Channel] = []
        self.idle: set[Channel] = set()  # numbers of balls that the file does not have and nobody moved
        self.at_source_times = True  # whether the keys that came from files stand where they were put

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
        roots = [] if self.without_roots else [own[0] for own in self.roots]
        posing = {place for channel in (*self.channels, *roots) for place in channel.curves()}
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
        self._report_muted(wanted if self.options.servos == "SELECTED" else self.channels)
        if not self.physical:
            report_frame_rate(self.action, self.clock, self.report)
        tracks = self._from_physics([c for c in wanted if (c.joint, c.number) in self.physical])
        exact: dict[Channel, Trajectory] = {}
        if self.options.keys != "SAMPLED":
            exact = self._copy_keys([channel for channel in wanted if channel not in tracks])
        tracks |= exact
        if self.options.servos == "KEYED":
            wanted = [channel for channel in wanted if channel not in self.idle]
        self._sample([channel for channel in wanted if channel not in tracks], tracks)
        servos, kept = (sum(not channel.is_root for channel in each) for each in (wanted, exact))
        self.report.info("servos-taken", f"{kept} key for key, {servos - kept} sampled")
        self._report_residues()
        apply_stop_policy(self.parts, tracks, self.options.stops, self.report)
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
        """List the channels that the motion is to have, roots that move behind the servos: they are left out where it
        is written."""
        if self.options.servos == "SELECTED":
            own = (*self.channels, *(channel for root in self.roots for channel in root))
            return [channel for channel in own if channel.joint in self.options.selected]
        curves = self.strips | {place for place, curve in self.curves.items() if not curve.is_empty}
        roots = [channel for own in self.roots if self._has_path(own, curves) for channel in own]
        if self.options.servos == "ALL":
            return self.channels + roots
        keyed = [channel for channel in self.channels if self._is_moved(channel, curves)]
        if not keyed and not self.origins and (self.without_roots or not roots):
            keyed = self.channels
        return keyed + roots

    def _is_moved(self, channel: Channel, curves: set[CurveId]) -> bool:
        """Return whether curves at some places, a driver, a constraint or physics move a channel."""
        if self.physical:
            return (channel.joint, channel.number) in self.physical
        return not curves.isdisjoint(channel.curves()) or self.alone.is_moved(channel)

    def _has_path(self, root: Sequence[Channel], curves: set[CurveId]) -> bool:
        """Return whether a root has a path: its file has one, or it leaves the place where it is designed to be."""
        if self.physical:
            runs = [self.physical[c.joint, c.number][1] for c in root if (c.joint, c.number) in self.physical]
            return len(runs) == len(root) and float(np.abs(runs).max(initial=0.0)) > STILL_TOLERANCE
        if not self._is_moved(root[0], curves):
            return False
        places = root[0].curves()
        if not self.strips.isdisjoint(places) or any(o.trajectory(c) is not None for o in self.origins for c in root):
            return True
        own = [(self.curves[place], place) for place in places if place in curves]
        return self.alone.is_moved(root[0]) or any(curve_leaves_value(curve, rest_value(place)) for curve, place in own)

    def _report_muted(self, meant: Iterable[Channel]) -> None:
        off = (c for c in meant if self.muted and not self.muted.isdisjoint(c.curves()))
        silent = [channel.name for channel in off if (channel.joint, channel.number) not in self.physical]
        if silent:
            self.report.warn("muted", f"Their curves are muted and count for nothing: {join_names(silent)}")

    def _copy_keys(self, channels: Sequence[Channel]) -> dict[Channel, Trajectory]:
        """The servos whose curves are their motion: their keys."""
        out: dict[Channel, Trajectory] = {}
        fit = [channel for channel in channels if self.alone(channel)]
        for channel in fit:
            if channel.is_single:
                track = self._keys_of(channel)
                if track is not None:
                    out[channel] = track
        left = {channel: None for channel in fit if not channel.is_single}
        for block in channel_blocks(self.rig, left):
            origin = next((o for o in reversed(self.origins) if any(o.trajectory(c) is not None for c in block)), None)
            curves = [curve for place in block[0].curves() if (curve := self.curves.get(place)) is not None]
            if origin is None or not all(
                is_plain_curve(curve) and not self._continues_beyond_keys(curve) for curve in curves
            ):
                continue
            found = restore_block(self.rig, block, self.curves, origin, self.clock)
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
        if (
            not is_plain_curve(curve)
            or not len(keys.places)
            or not keys.is_straight
            or self._continues_beyond_keys(curve)
        ):
            return None
        own = [origin for origin in self.origins if origin.trajectory(channel) is not None]
        found = restore_single(keys, channel, own, self.clock, self.options.grid)
        if found.off_grid and not own and self.options.keys == "AUTO":
            return None
        if found.off_grid:
            self.report.info(
                "off-grid",
                f"{found.off_grid} keys of {channel.name!r} are between the steps of the format",
                where=channel.name,
            )
        self.at_source_times &= found.at_source_times
        return self._cut(found.track)

    def _continues_beyond_keys(self, curve: bpy.types.FCurve) -> bool:
        """Return whether a curve moves beyond its keys within the motion's time: it repeats, or goes on as it went."""
        if not has_active_cycles(curve) and curve.extrapolation != "LINEAR":
            return False
        first, last = float(curve.range()[0]), float(curve.range()[1])
        begin, end = self.clock.keys(0.0), self.clock.keys(self.clock.times(self._last()))
        return bool(begin < first - MIN_KEY_SPACING or end > last + MIN_KEY_SPACING)

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
        places = frames * self.scene.render.frame_map_old / self.scene.render.frame_map_new
        curved = {place for place, curve in self.curves.items() if not curve.is_empty}
        alone = [c for c in channels if c.is_single and self.alone(c) and (c.path, c.index) in curved]
        for channel in alone:
            curve = self.curves[channel.path, channel.index]
            values = evaluate_curve(curve, places)
            tracks[channel] = Trajectory(channel.name, times.copy(), values)
            report_sampling_error(channel, curve, places, values, self.options.step, self.report)
        fit = [channel for channel in channels if not channel.is_single and self.alone(channel)]
        for channel, values in sample_blocks(self.rig, fit, self.curves, places).items():
            tracks[channel] = Trajectory(channel.name, times.copy(), values)
        posed = [channel for channel in channels if channel not in tracks]
        if posed:
            look = self.residues.look if self.residues is not None else None
            values = sample_channels(self.rig, self.scene, posed, frames.tolist(), look)
            for k, channel in enumerate(posed):
                tracks[channel] = Trajectory(channel.name, times.copy(), values[:, k].copy())
        self.sampled += channels
        for channel in channels:
            require_finite(tracks[channel])

    def _report_residues(self) -> None:
        """Tell what bones do beside their joints, where anything has them do so."""
        if self.residues is None:
            return
        if not self.residues.has_samples:
            own = [self.curves[place] for place in self.stray if place in self.curves]
            scale = self.scene.render.frame_map_new / self.scene.render.frame_map_old
            first, last = self.clock.start, max(self._last(), self.clock.start)
            keys = np.array([float(key.co[0]) * scale for curve in own for key in curve.keyframe_points])
            keys = keys[(keys >= first) & (keys <= last)]
            frames = self.clock.frames(self._grid_times()) if self.stray or self.alone.is_mixed else np.array([first])
            every = np.union1d(np.minimum(frames, last), keys)
            seen, looked = np.zeros(0), frames_to_inspect(every, keys)
            while len(looked):
                sample_channels(self.rig, self.scene, [], looked.tolist(), self.residues.look)
                seen = np.union1d(seen, looked)
                looked = frames_to_refine(every, seen, self.residues.worst_frames())
        self.residues.tell(self.report, self._teller().out)

    def _teller(self) -> TrajectoryWriter:
        return TrajectoryWriter(self.origins, self.clock, self.options.units, self.options.format, self.report)

    # --------------------------------------------------------- afterwards

    def _thin(self, tracks: dict[Channel, Trajectory]) -> None:
        if self.options.tolerance <= 0.0:
            return
        before = after = 0
        for channel in self.sampled:
            track = tracks[channel]
            kept = simplified_key_indices(track.times, track.values, self.options.tolerance)
            before, after = before + len(track.times), after + len(kept)
            tracks[channel] = Trajectory(track.name, track.times[kept], track.values[kept])
        if before:
            self.report.info(
                "keys-reduced", f"{after} of {before} samples are kept, within {self.options.tolerance:g} of the others"
            )

    def _told(self, tracks: Mapping[Channel, Trajectory]) -> Motion:
        """The motion as files have it."""
        options = self.options
        teller = self._teller()
        trajectories = teller.trajectories(tracks, self._cut, options.servos != "SELECTED", self.at_source_times)
        self._report_renamed(tracks, trajectories)
        name, attributes = motion_name(self.rig, self.action)
        motion = Motion(options.name if options.name is not None else name, trajectories, attributes)
        if self.without_roots:
            motion = drop_root_motion(motion, self.without_roots, self.report, self._frame)
        if teller.main is None or options.first is not None:
            return motion
        read = teller.main.motion
        return replace(motion, source=read.source, index=read.index, count=read.count, as_read=read.as_read)

    def _frame(self, time: float) -> str:
        return f"frame {float(self.clock.frames(time)):g}"

    def _report_renamed(self, tracks: Iterable[Channel], told: Iterable[Trajectory]) -> None:
        """Motions keep the names that their file has, also where joints were renamed meanwhile."""
        names = {each.name for each in told}
        before = original_servo_names(self.parts)
        pairs = [(before[c.joint][c.number], c.name) for c in tracks if not c.is_root]
        stale = [f"{new!r} is {old!r} there" for old, new in pairs if old != new and old in names and new not in names]
        if stale:
            listed = ", ".join(stale[:5]) + (", …" if len(stale) > 5 else "")
            self.report.warn("renamed-since", f"Renamed servos go out under the names of the motion's file: {listed}")


def bodies_follow_keys(rig: bpy.types.Object) -> bool:
    """Return whether a model's bodies follow its bones, and at every frame."""
    return settings(rig).drive == "KEYS" and ("knuckle.drive", 0) not in settings_curves(rig)


@dataclass
class TrajectoryWriter:
    """Puts taken servos into the words of the motions that an Action came from.

    The first of them gives the document; what the others have of their own stands behind it. ``format`` is what will be
    written, empty for whatever.
    """

    origins: list[MotionSource]
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
        at_source_times: bool,
    ) -> list[Trajectory]:
        """The servos, those of the document in its order and before others.

        ``left``: with those that move nothing here, ``cut`` to the time that is wanted; they are out of step unless the
        keys of the others are ``at_source_times``.
        """
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
                own = self._unmatched_trajectory(origin.motion.trajectories[place], origin, cut)
                if not len(own.times) and any(channel.name == own.name for channel in tracks):
                    continue  # it had no keys in the file, and has some now
                if origin is self.main:
                    placed[place] = own
                else:
                    others.append(own)
        idle = [each.name for origin in self.origins if left for each in origin.left_over()]
        if idle and not at_source_times:
            self.report.warn(
                "left-over-times",
                f"Keys were moved, but not those of the servos that move nothing here: {join_names(idle)}",
            )
        return [placed[place] for place in sorted(placed)] + others

    def _anew(self, channel: Channel, track: Trajectory) -> Trajectory:
        """A servo under the name that a file has for it, or ours."""
        own = next((found for origin in self.origins if (found := origin.trajectory(channel)) is not None), None)
        return Trajectory(
            own.name if own is not None else channel.name,
            track.times,
            _shortest_in_units(track.values, self.out.size(channel)),
            track.interpolation,
            track.held,
            self.out.name(channel),
            channel.is_root,
        )

    def _as_read(self, channel: Channel, track: Trajectory, origin: MotionSource) -> Trajectory:
        """A servo of the document: values that came from it and were turned into rad and back are its own."""
        own = origin.trajectory(channel)
        unit: MotionUnit = own.unit if self._names_units else self.out.name(channel)
        named: MotionUnit = own.unit if self._names_units else ""
        size, was = self.out.size(channel, named), origin.units.size(channel, own.unit)
        values = _shortest_in_units(track.values, size)
        if size == was != 1.0 and len(own.times):
            at = np.clip(np.searchsorted(own.times, track.times), 0, len(own.times) - 1)
            same = (own.times[at] == track.times) & (own.values[at] * size == track.values)
            values = np.where(same, own.values[at], values)
        return Trajectory(own.name, track.times, values, own.interpolation, track.held, unit, channel.is_root)

    def _unmatched_trajectory(
        self, own: Trajectory, origin: MotionSource, cut: Callable[[Trajectory], Trajectory]
    ) -> Trajectory:
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


def _shortest_in_units(values: Array, size: float) -> Array:
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


def motion_name(rig: bpy.types.Object, action: bpy.types.Action | None) -> tuple[str, dict[str, str]]:
    """Return what a motion is called, and its attributes: as its file has it, unless its Action was renamed.

    The number that Blender puts behind a copy's name renames nothing.
    """
    if action is None:
        return record_of(rig).source_name or rig.name, {}
    record = action_record(action)
    attributes = {row.name: row.value for row in record.attributes}
    own = record.title == action.name or is_numbered_copy(action.name, record.title)
    named = record.kind == "MOTION" and own
    return record.motion if named else action.name, attributes
