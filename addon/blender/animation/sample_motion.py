"""Reading a motion off a mechanism: its keyframes where curves are the motion, else samples of the evaluated pose.

Names, units and order are those of the source files, whose unmatched servos are included.
"""

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
from ...core.report import Message, Report, abbreviate_names
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

#: Simulated motion of servos: scene frames (n,) and values (n,) by (joint id, index of the joint value).
PhysicsTracks = Mapping[tuple[str, int], tuple[Array, Array]]


@dataclass
class SampleOptions:
    """Options for reading a motion off a mechanism.

    Attributes:
        servos: Servos to include: keyed ones, all, or ``selected``.
        selected: Ids of joints for SELECTED.
        keys: AUTO copies keyframes where a servo's curve is linear or constant between keys and these are on the
            ``grid`` or came from a file, and samples the evaluated pose elsewhere; KEYS does so wherever keys are;
            SAMPLED samples all.
        step: Time between samples (s).
        grid: Step (s) of the format's times; None: any time.
        first: First frame of the scene, which becomes time 0; None: whole motion.
        last: Last frame of the scene; None: whole motion.
        stops: Treatment of values beyond stops.
        tolerance: Leave out samples within this distance (rad or length units) of lines between the others; 0: none.
        units: Units of the result; None: those of the source file if ``format`` is its format or empty, else radians
            and length units.
        format: Format to be written; empty: any.
        by_keys: Whether keyframes, and not physics, drive the bodies; None: as the mechanism is set.
        name: Name of the motion; None: as ``motion_name``.
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
    """Read the motion of a mechanism's servos: its Action's, or that of what else poses it.

    Unedited keys from a file have the file's own values, and its unmatched servos are included. The scene's frame is
    restored.

    Args:
        model: Collection or armature of the mechanism.
        scene: The scene; default: the context's.
        options: Options; default: ``SampleOptions()``.
        physical: Simulated motion in place of the pose.

    Returns:
        The motion and the report.

    Raises:
        FormatError: A value is beyond a stop and ``stops`` is REFUSE, or is not finite.
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
        #: Label of the format to be written if it has no root motion, else empty.
        self.without_roots = row.label if row is not None and not row.supports_root_motion else ""
        require_joints(found, self.report)
        self.alone = PoseSources(found, bodies_follow_keys(rig) if options.by_keys is None else options.by_keys)
        self.clock = Clock.of(scene, self._start())
        #: Curves that pose bones besides their joints; ``residues`` measures the effect, if there can be any.
        data = rig.animation_data
        driven = {(curve.data_path, curve.array_index) for curve in data.drivers} if data is not None else set()
        every = [*self.channels, *(channel for own in self.roots for channel in own)]
        posing = {place for channel in every for place in channel.curves()}
        self.stray = stray_curve_ids(found, posing, self.strips | self.curves.keys() | driven)
        beside = bool(self.stray) or self.alone.may_pose_stray() or has_stray_pose(found, every)
        self.residues = ResidueMeter(found, every) if beside and not physical else None
        self.sampled: list[Channel] = []
        self.idle: set[Channel] = set()  # values of ball joints that the file does not have and that were not moved
        self.at_source_times = True  # whether the keys from files are at their original frames

    # ---------------------------------------------------------------- range

    def _start(self) -> float:
        """Return the frame of time 0.

        It is the first frame of the cut, the start of the source motion, or the scene's first frame or an earlier first
        key.
        """
        if self.options.first is not None:
            return self.options.first
        if self.origins:
            return self.origins[0].clock.start
        begin = float(self.scene.frame_start)
        first = min((float(key[0]) for key in self._ends()), default=begin)
        return min(begin, first * self.scene.render.frame_map_new / self.scene.render.frame_map_old)

    def _ends(self) -> Iterable[tuple[float, float]]:
        """Yield the frames of the first and last key of each servo's curves."""
        roots = [] if self.without_roots else [own[0] for own in self.roots]
        posing = {place for channel in (*self.channels, *roots) for place in channel.curves()}
        for place, curve in self.curves.items():
            if place in posing and (len(curve.keyframe_points) or len(curve.sampled_points)):
                first, last = curve.range()
                yield first, last

    def _last(self) -> float:
        """Return the scene frame at which the motion ends."""
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
        """Return the times (s) of samples: every step from 0 to the first that is not before the end."""
        length = float(self.clock.times(self._last()))
        return np.arange(np.ceil(max(length, 0.0) / self.options.step - 1e-6) + 1.0) * self.options.step

    # -------------------------------------------------------------- servos

    def motion(self) -> Motion:
        """Return the whole motion."""
        wanted = self._wanted()
        self._report_muted(wanted if self.options.servos == "SELECTED" else self.channels)
        if not self.physical:
            report_frame_rate(self.action, self.clock, self.report)
        tracks = self._from_physics([c for c in wanted if (c.joint, c.dof_index) in self.physical])
        exact: dict[Channel, Trajectory] = {}
        if self.options.keys != "SAMPLED":
            exact = self._copy_keys([channel for channel in wanted if channel not in tracks])
        tracks |= exact
        if self.options.servos == "KEYED":
            wanted = [channel for channel in wanted if channel not in self.idle]
        self._sample([channel for channel in wanted if channel not in tracks], tracks)
        servos, kept = (sum(not channel.is_root for channel in each) for each in (wanted, exact))
        self.report.info(
            "servos-taken", Message("Servos: {} exported with their keyframes, {} sampled", kept, servos - kept)
        )
        self._report_residues()
        apply_stop_policy(self.parts, tracks, self.options.stops, self.report)
        self._thin(tracks)
        return self._as_motion({channel: tracks[channel] for channel in wanted})

    def _from_physics(self, channels: Sequence[Channel]) -> dict[Channel, Trajectory]:
        times = self._grid_times() if channels else np.zeros(0)
        frames = self.clock.frames(times)
        self.sampled += channels
        return {
            channel: Trajectory(
                channel.name, times.copy(), np.interp(frames, *self.physical[channel.joint, channel.dof_index])
            )
            for channel in channels
        }

    def _wanted(self) -> list[Channel]:
        """Return the channels to include, moving roots after the servos.

        Formats without root motion drop the roots later.
        """
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
        """Return whether a curve among ``curves``, a driver, a constraint or physics moves a channel."""
        if self.physical:
            return (channel.joint, channel.dof_index) in self.physical
        return not curves.isdisjoint(channel.curves()) or self.alone.is_moved(channel)

    def _has_path(self, root: Sequence[Channel], curves: set[CurveId]) -> bool:
        """Return whether a root moves: its source file has a path, or it leaves its design pose."""
        if self.physical:
            runs = [self.physical[c.joint, c.dof_index][1] for c in root if (c.joint, c.dof_index) in self.physical]
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
        silent = [channel.name for channel in off if (channel.joint, channel.dof_index) not in self.physical]
        if silent:
            self.report.warn("muted", Message("Muted F-Curves are ignored: {}", abbreviate_names(silent, 5)))

    def _copy_keys(self, channels: Sequence[Channel]) -> dict[Channel, Trajectory]:
        """Return the keys of the servos whose curves are their whole motion."""
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
        """Return the keys of a servo with one value; None if they are not its whole motion, or off the grid."""
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
                Message(
                    "Servo {}: keyframes between the time steps of the format: {}",
                    repr(channel.name),
                    found.off_grid,
                ),
                where=channel.name,
            )
        self.at_source_times &= found.at_source_times
        return self._cut(found.track)

    def _continues_beyond_keys(self, curve: bpy.types.FCurve) -> bool:
        """Return whether a curve moves beyond its keys within the motion's time: by Cycles or linear extrapolation."""
        if not has_active_cycles(curve) and curve.extrapolation != "LINEAR":
            return False
        first, last = float(curve.range()[0]), float(curve.range()[1])
        begin, end = self.clock.keys(0.0), self.clock.keys(self.clock.times(self._last()))
        return bool(begin < first - MIN_KEY_SPACING or end > last + MIN_KEY_SPACING)

    def _cut(self, track: Trajectory) -> Trajectory:
        """Return the part of a trajectory within the requested range."""
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
        """Sample servos on the grid: their curves if these alone pose them, else the evaluated pose."""
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
        """Report the residual motion of bones besides their joints, if there can be any."""
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
        self.residues.report_all(self.report, self._writer().out)

    def _writer(self) -> TrajectoryWriter:
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
                "keys-reduced",
                Message(
                    "Samples: {} of {} are kept, with an error of at most {}",
                    after,
                    before,
                    f"{self.options.tolerance:g}",
                ),
            )

    def _as_motion(self, tracks: Mapping[Channel, Trajectory]) -> Motion:
        """Return the motion in the form of motion files."""
        options = self.options
        writer = self._writer()
        trajectories = writer.trajectories(tracks, self._cut, options.servos != "SELECTED", self.at_source_times)
        self._report_renamed(tracks, trajectories)
        name, attributes = motion_name(self.rig, self.action)
        motion = Motion(options.name if options.name is not None else name, trajectories, attributes)
        if self.without_roots:
            motion = drop_root_motion(motion, self.without_roots, self.report, self._frame)
        if writer.main is None or options.first is not None:
            return motion
        read = writer.main.motion
        return replace(motion, source=read.source, index=read.index, count=read.count, as_read=read.as_read)

    def _frame(self, time: float) -> str:
        return f"frame {float(self.clock.frames(time)):g}"

    def _report_renamed(self, tracks: Iterable[Channel], trajectories: Iterable[Trajectory]) -> None:
        """Report servos that keep their name of the source file though their joint was renamed."""
        names = {each.name for each in trajectories}
        before = original_servo_names(self.parts)
        pairs = [(before[c.joint][c.dof_index], c.name) for c in tracks if not c.is_root]
        stale = [f"{new!r} is {old!r} there" for old, new in pairs if old != new and old in names and new not in names]
        if stale:
            listed = ", ".join(stale[:5]) + (", …" if len(stale) > 5 else "")
            self.report.warn(
                "renamed-since",
                Message("Renamed servos are exported with their names in the motion's file: {}", listed),
            )


def bodies_follow_keys(rig: bpy.types.Object) -> bool:
    """Return whether a mechanism's bodies follow its bones (drive Keyframes) at every frame."""
    return settings(rig).drive == "KEYS" and ("knuckle.drive", 0) not in settings_curves(rig)


@dataclass
class TrajectoryWriter:
    """Conversion of sampled servos to the names, units and order of the Action's source motions.

    The first source gives the document; trajectories that only the others have follow it. ``format`` is the format to
    be written, empty for any.
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
        """Return the trajectories, those of the document first and in its order.

        Args:
            tracks: Sampled trajectories by channel.
            cut: Function that cuts a trajectory to the requested range.
            left: Include unmatched servos of the source files.
            at_source_times: Whether keys are at their original frames; if not, unmatched servos are out of step, which
                is reported.
        """
        placed: dict[int, Trajectory] = {}
        others: list[Trajectory] = []
        for channel, track in tracks.items():
            place = None if self.main is None else self.main.placed.get((channel.joint, channel.dof_index))
            if self.main is not None and place is not None:
                placed[place] = self._as_read(channel, track, self.main, place)
            else:
                others.append(self._newly_sampled(channel, track))
        for origin in self.origins if left else ():
            for place in origin.idle:
                own = self._unmatched_trajectory(origin.motion.trajectories[place], origin, cut)
                if not len(own.times) and any(channel.name == own.name for channel in tracks):
                    continue  # without keys in the file, and keyed now
                if origin is self.main:
                    placed[place] = own
                else:
                    others.append(own)
        idle = [each.name for origin in self.origins if left for each in origin.left_over()]
        if idle and not at_source_times:
            self.report.warn(
                "left-over-times",
                Message("Keyframes were moved, except those of servos without effect: {}", abbreviate_names(idle, 5)),
            )
        return [placed[place] for place in sorted(placed)] + others

    def _newly_sampled(self, channel: Channel, track: Trajectory) -> Trajectory:
        """Return a servo under the name that a source file has for it, or ours."""
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

    def _as_read(self, channel: Channel, track: Trajectory, origin: MotionSource, place: int) -> Trajectory:
        """Return a servo of the document; values that came from it and were converted to rad and back are restored."""
        own = origin.motion.trajectories[place]
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
        """Return an unmatched servo of a source file, at the present times."""
        if not own.unit and origin.units != self.out:
            self.report.warn(
                "left-over-unit",
                Message("Servo {} has no effect. Its values stay as in its file", repr(own.name)),
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
    """Return values (n,) in units of ``size``: of the numbers equal in float32, those with the fewest digits."""
    in_units = values / size
    if size == 1.0:
        return in_units
    wanted, open_ = values.astype(np.float32), np.isfinite(in_units) & (in_units != 0.0)
    out = in_units.copy()
    for digits in range(1, 9):
        places_after = digits - 1 - np.floor(np.log10(np.abs(in_units[open_])))
        up, down = 10.0 ** np.maximum(places_after, 0.0), 10.0 ** np.maximum(-places_after, 0.0)  # whole: exact
        short = np.round(in_units[open_] / down * up) / up * down
        fits = (short * size).astype(np.float32) == wanted[open_]
        places = np.flatnonzero(open_)
        out[places[fits]] = short[fits]
        open_[places[fits]] = False
    return out


def motion_name(rig: bpy.types.Object, action: bpy.types.Action | None) -> tuple[str, dict[str, str]]:
    """Return the name and attributes of a motion: those of its source file, unless its Action was renamed.

    A number that Blender appends to a copy's name does not count as renaming.
    """
    if action is None:
        return record_of(rig).source_name or rig.name, {}
    record = action_record(action)
    attributes = {row.name: row.value for row in record.attributes}
    own = record.title == action.name or is_numbered_copy(action.name, record.title)
    named = record.kind == "MOTION" and own
    return record.motion if named else action.name, attributes
