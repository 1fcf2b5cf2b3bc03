"""Closed loops on the bones of a rig: reading and following their input joints, and posing their dependent joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ....core.loops.closure import JointPositions
from ....core.loops.linkage_solver import Linkage, LinkagePosition, LinkageSolver
from ....core.model import Array
from ....core.report import Message, Report
from ...compat import action_curves
from ...data.access import settings
from ...data.change_counter import cached_until_change
from ...data.channels import Channel, block_rotation
from ...data.conversion import add_to_report
from ...rig.bone_limits import is_stop_constraint
from ...rig.pose_channels import bone_channel_values, read_pose, write_pose
from ..actions import strip_curve_ids

#: Code of the report entry about a loop that does not close at the present pose.
_OPEN_CODE = "loop-open"
#: Code of the report entry about input joints that are held where the loop closes.
_HELD_CODE = "loop-held"
#: Tolerance of the joints of a rigid loop (rad or length units): bones have float32 values.
_STILL_TOLERANCE = 1e-5
#: Tolerance of dependent joints (rad or characteristic lengths): a sixth of the float32 resolution at 1.
_TOLERANCE = 1e-8


@dataclass(frozen=True)
class LoopState:
    """Solution of a loop for the joint values ``given``; ``found`` is None if no joint has to be posed."""

    given: dict[str, Array]
    found: LinkagePosition | None = None

    @property
    def is_held(self) -> bool:
        """Return whether given joints are held short of their values."""
        return self.found is not None and self.found.held


class LiveLoop:
    """Closed loop of a rig: the present values of its input joints, and the channels that follow them."""

    def __init__(
        self,
        rig: bpy.types.Object,
        linkage: Linkage,
        start: JointPositions,
        drivers: list[str],
        every: Mapping[str, list[Channel]],
    ) -> None:
        self.rig, self.linkage, self.drivers = rig, linkage, drivers
        self.channels = {joint: every[joint] for joint in linkage.joints if joint in every}
        blocks = {joint: [each for each in own if not each.is_single] for joint, own in self.channels.items()}
        self._turns = {joint: block_rotation(rig, own[0].bone) for joint, own in blocks.items() if own}
        self.size = linkage.system.length
        self.chord = linkage.chords[0]
        self.follower = LinkageSolver(linkage, start, _TOLERANCE)
        #: Values of the input joints as they were read or, where they are held, as they were posed.
        self._seen: dict[str, Array] | None = None
        self.state: LoopState | None = None
        now = {joint: self._read(rig, joint) for joint in self.channels}
        if self.follower.adopt(now) or self.follower.adopt(self.follower.within_stops(now)):
            self.state = LoopState(self._given(now), self.follower.present())
            self._seen = self.state.given
        self._reported = ""

    @property
    def is_keyed(self) -> bool:
        """Return whether keyframes pose every joint of the loop, so that none follows."""
        return len(self.given_joints()) == len(self.channels)

    def states_at(self, frames: Sequence[float]) -> list[LoopState] | None:
        """Return the states at successive frames, as predicted from curves; None if curves do not determine them."""
        predicted = self._predict_from_curves(frames)
        return None if predicted is None else self.states_for(predicted)

    def states_for(self, given: Mapping[str, Array]) -> list[LoopState]:
        """Return the successive states for values (n, size) of the ``given_joints``, by id."""
        count = len(next(iter(given.values())))
        every = [{joint: values[row] for joint, values in given.items()} for row in range(count)]
        if len(given) == len(self.channels):
            return [LoopState(each) for each in every]  # keyframes pose all joints
        rows = np.concatenate(list(given.values()), axis=1)
        is_new = np.ones(len(rows), dtype=bool)
        is_new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        is_new[0] = self.state is None or not are_same_arrays(every[0], self.state.given)
        states = [self.state]
        if is_new.any():
            self.follower.stops.leave_out(self._joints_without_stops())
            new = {joint: values[is_new] for joint, values in given.items()}
            found = self.follower.solve_many(new, hold=len(given) == len(self.drivers))
            states += map(LoopState, (every[row] for row in np.flatnonzero(is_new).tolist()), found)
        return [state for number in np.cumsum(is_new).tolist() if (state := states[number]) is not None]

    def _predict_from_curves(self, frames: Sequence[float]) -> dict[str, Array] | None:
        """Return the values (frames, size) of the given joints at frames, by joint id.

        None if one of them is a ball joint or free block.
        """
        out = {}
        curves = self._curves()
        for joint in self.given_joints():
            values = np.tile(self._read(self.rig, joint), (len(frames), 1))
            for number, channel in enumerate(self.channels[joint]):
                if not channel.is_single:
                    return None
                curve = _channel_curve(curves, channel)
                if curve is not None:
                    values[:, number] = [curve.evaluate(frame) for frame in frames]
            out[joint] = values.astype(np.float32).astype(np.float64)
        return out

    def follow(self, rig: bpy.types.Object) -> None:
        """Solve the loop for its input joints as posed in ``rig``, the rig itself or its evaluated copy."""
        given = {joint: self._read(rig, joint) for joint in self.given_joints()}
        if are_same_arrays(given, self._seen):
            return
        state = LoopState(given)
        if self.state is not None and self.state.is_held and are_same_arrays(given, self.state.given):
            state = self.state
        elif len(given) < len(self.channels):  # else keyframes pose all joints
            self.follower.stops.leave_out(self._joints_without_stops())
            # keyframes on more joints than the inputs are not corrected
            state = LoopState(given, self.follower.follow(given, hold=len(given) == len(self.drivers)))
        self.take(state)
        if state.found is not None:
            for joint in self.channels if state.is_held else self.channels.keys() - given.keys():
                self._write(joint, state.found.positions[joint])

    def take(self, state: LoopState | None) -> None:
        """Adopt a state, from which the solver continues."""
        if state is None or state is self.state:
            return
        self.state, self._seen = state, state.given
        if state.found is not None:
            if state.is_held:
                held = state.found.positions
                self._seen = {joint: held[joint].astype(np.float32).astype(np.float64) for joint in state.given}
            if state.found.mark is not None:
                self.follower.resume(state.found.mark)
            self._report(state.found)

    def hold(self) -> None:
        """Pose the input joints where they are held, if they are."""
        if self.state is not None and self.state.found is not None and self.state.is_held:
            for joint in self.state.given:
                self._write(joint, self.state.found.positions[joint])

    def numbers(self, joint: str, values: Array) -> Array:
        """Return the channel values (n, ...) of a joint's bones for joint values (n, size).

        Their order is that of ``pose_value_paths``.
        """
        channels = self.channels[joint]
        return bone_channel_values(channels, values, self._turns.get(joint))

    def _given(self, values: dict[str, Array]) -> dict[str, Array]:
        return {joint: values[joint] for joint in self.given_joints()}

    def given_joints(self, action: bpy.types.Action | None = None) -> list[str]:
        """Return the ids of the joints that determine the loop while an Action plays.

        None: what plays now, NLA strips included.

        Those are the keyed ones if they are at least as many as the input joints, else the input joints and the keyed
        ones.
        """
        data = self.rig.animation_data
        curves, strips = action_curves(self.rig, action, create=False) if action is not None else self._curves(), set()
        if action is None and data is not None and data.use_nla and len(data.nla_tracks):
            strips = cached_until_change(strip_curve_ids, self.rig)
        if curves is None and not strips:
            return self.drivers
        keyed = [
            joint
            for joint, channels in self.channels.items()
            if any(_channel_curve(curves, each) or not strips.isdisjoint(each.curves()) for each in channels)
        ]
        if len(keyed) >= len(self.drivers):
            return keyed
        return list(dict.fromkeys([*self.drivers, *keyed]))

    def _curves(self) -> Any:
        """Return the curves of the rig's Action; None if it has none."""
        data = self.rig.animation_data
        return None if data is None or data.action is None else action_curves(self.rig, data.action, create=False)

    def _joints_without_stops(self) -> set[str]:
        """Return the ids of the joints whose stops the user has switched off on their bones."""
        out = set()
        for joint, channels in self.channels.items() if self.follower.stops.are_any else ():
            limits = [
                c for each in channels for c in self.rig.pose.bones[each.bone].constraints if is_stop_constraint(c)
            ]
            if any(limit.mute or limit.influence == 0.0 for limit in limits):
                out.add(joint)
        return out

    def _report(self, found: LinkagePosition) -> None:
        """Update the entry in the mechanism's report about a loop that does not close or whose input joints are held.

        The entry is removed when the loop closes at the given values again.
        """
        message, code = "", _OPEN_CODE
        if found.held and found.stop is not None:
            joint, upper = found.stop
            side = "upper" if upper else "lower"
            message = Message("Closed loop: joint {} is at its {} stop, the input joints are held", repr(joint), side)
            code = _HELD_CODE
        elif found.held:
            message = "Closed loop: it cannot close past this pose, the input joints are held"
            code = _HELD_CODE
        elif found.opening > 2.0 * self.follower.closure_tolerance:
            message = Message(
                "Closed loop: it cannot close at these input joint values, it is open by {} m. Move an input "
                "joint back",
                f"{found.opening * self.size:.3g}",
            )
        if message == self._reported:
            return
        lines = settings(self.rig).report
        for number, line in reversed(list(enumerate(lines))):
            if line.code in {_OPEN_CODE, _HELD_CODE} and line.where == self.chord:
                lines.remove(number)
        self._reported = message
        if message:
            report = Report()
            report.warn(code, message, where=self.chord)
            add_to_report(self.rig, report)

    def _read(self, rig: bpy.types.Object, joint: str) -> Array:
        channels = self.channels[joint]
        return read_pose(rig, channels, self._turns.get(joint))

    def _write(self, joint: str, values: Array) -> None:
        channels = self.channels[joint]
        write_pose(self.rig, channels, values, self._turns.get(joint))


class RigidLoop:
    """Closed loop without a degree of freedom: its joints stay where the loop is closed."""

    drivers: tuple[str, ...] = ()

    def __init__(
        self, rig: bpy.types.Object, linkage: Linkage, start: JointPositions, every: Mapping[str, list[Channel]]
    ) -> None:
        self.rig, self.linkage = rig, linkage
        self.channels = {joint: every[joint] for joint in linkage.joints if joint in every}
        #: Joint values (size,) at which the loop is closed, by joint id.
        self.stands = {joint: start[joint] for joint in self.channels}
        #: Values that were reset last: what a driver poses again at once is left alone.
        self._refused: dict[str, Array] | None = None

    def take(self, _state: LoopState | None) -> None:
        """Reset the memory of refused values, so that what curves pose at the next frame is reset again."""
        self._refused = None

    @property
    def is_moved(self) -> bool:
        """Return whether joints were reset just now."""
        return self._refused is not None

    def states_at(self, frames: Sequence[float]) -> list[None] | None:
        """Return None for each frame: a rigid loop has no states. None as a whole if its joints have to be reset."""
        return None if self._moved(self.rig) else [None] * len(frames)

    def _moved(self, rig: bpy.types.Object) -> dict[str, Array]:
        """Return the values of joints that are not where the loop is closed, in a rig or its evaluated copy."""
        now = {joint: read_pose(rig, channels) for joint, channels in self.channels.items()}
        return {joint: value for joint, value in now.items() if not _is_close(value, self.stands[joint])}

    def follow(self, rig: bpy.types.Object) -> None:
        """Reset joints that are not where the loop is closed, in ``rig``, the rig itself or its evaluated copy."""
        moved = self._moved(rig)
        if not moved or are_same_arrays(moved, self._refused):
            self._refused = self._refused if moved else None
            return
        self._refused = moved
        for joint in moved:
            write_pose(self.rig, self.channels[joint], self.stands[joint])


def _channel_curve(curves: Any, channel: Channel) -> bpy.types.FCurve | None:
    """Return the unmuted curve among some that poses a channel, or None."""
    found = (curves.find(path, index=index) for path, index in channel.curves()) if curves is not None else ()
    return next((curve for curve in found if curve is not None and not curve.mute), None)


def _is_close(one: Array, other: Array) -> bool:
    return bool((np.abs(one - other) <= _STILL_TOLERANCE * np.maximum(1.0, np.abs(other))).all())


def are_same_arrays(one: dict[str, Array], other: dict[str, Array] | None) -> bool:
    """Return whether two mappings have the same keys and bitwise equal arrays."""
    return (
        other is not None
        and one.keys() == other.keys()
        and all(value.tobytes() == other[joint].tobytes() for joint, value in one.items())
    )
