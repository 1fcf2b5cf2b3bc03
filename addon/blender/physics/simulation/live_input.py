"""Live Input on a mechanism: at each frame that advances, the keys held down move inputs and servos.

In Keyframes drive the gait is evaluated at these inputs and posed over the Action, which therefore needs neither be
muted nor restored: going to a frame without us shows it again. In Servos drive gait and servos are the target. Nothing
is written to the file before the end, so that it may end in any way. Then recorded inputs and servos are keyed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ....core.gait.live_input import LiveInput
from ....core.model import Array
from ...animation.actions import bone_properties, set_bone_properties
from ...animation.gait import (
    LiveValues,
    clear_live_values,
    current_gait,
    engine_phase,
    input_names,
    rebake_gait,
    set_live_values,
    tracks_gait,
)
from ...animation.keying import LINEAR, fill_curve, key_servos
from ...animation.loops.live_solver import live_loops
from ...compat import action_curves, new_curve, played_action, use_action
from ...data.access import armature_of, record_of, settings
from ...data.channels import servo_channels
from ...data.properties.model import input_property_name
from ...data.queries import simulated_copies, simulates_here, simulation_scene_of
from ...events.runtime_state import Lifetime, RuntimeState, state_of
from ..actuators.joint_state import gather_joint_state
from ..world.rigidbody_world import first_frame, frame_rate
from .session import drop_controller, session_of


class EndReason(Enum):
    """Reason for which a session ended by itself, where the user is to be informed."""

    NONE = 0
    DELETED = 1
    UNDONE = 2


class RecordingResult(NamedTuple):
    """Outcome of a recording.

    First and last frame, whether the gait still has to be baked for its Action to play it, whether the target was set
    to the gait, the name of the Action of servo values (empty for none), and whether the mechanism plays that.
    """

    first: int
    last: int
    is_unbaked: bool
    is_target_changed: bool
    action: str
    is_played: bool


@dataclass
class InputRecording:
    """Recorded frames, inputs by their names, and values of servos by the ids of their joints."""

    frames: list[int] = field(default_factory=list)
    inputs: list[dict[str, float]] = field(default_factory=list)
    joints: list[dict[str, float]] = field(default_factory=list)

    def clear(self) -> None:
        """Discard all that was recorded."""
        for each in (self.frames, self.inputs, self.joints):
            each.clear()


class LiveSession:
    """Live Input on one mechanism of a scene, until it ends.

    Args:
        scene: The scene, whose frames count.
        rig: The mechanism.
        live: Keys and the values that they lead to; servos by the ids of their joints.
        records: Whether inputs are recorded.
        records_joints: Whether servo values are recorded as well, which they always are where keys move servos.
    """

    def __init__(
        self, scene: bpy.types.Scene, rig: bpy.types.Object, live: LiveInput, records: bool, records_joints: bool
    ) -> None:
        self.scene, self.rig, self.live = scene, rig, live
        self.uid = rig.session_uid
        self.records, self.records_joints = records, records and (records_joints or bool(live.servos))
        self.recording = InputRecording()
        self.end_reason = EndReason.NONE
        self.is_over = False
        self._gait = current_gait(rig) if input_names(rig) else None
        self._channels = {joint: own[0] for joint, own in servo_channels(rig).items() if own[0].is_single}
        self._joint_state = gather_joint_state(rig) if self.records_joints else None
        self._base = bone_properties(rig)
        self._bones = {bone.name: number for number, bone in enumerate(rig.pose.bones)}
        self._posed = False
        self._loops = bool(live_loops(rig))
        self._frame: int | None = None
        self._values: dict[str, float] = {}
        self._turned: dict[str, tuple[float, float]] = {}
        self._put({})
        _sessions().append(self)

    @property
    def is_there(self) -> bool:
        """True if the mechanism still exists and is in a collection."""
        try:
            return bool(self.rig.users_collection) and self.scene.name is not None
        except ReferenceError:
            return False

    def restart(self) -> None:
        """Go back to the first frame, with all inputs at rest and nothing recorded."""
        self._frame = None
        self.scene.frame_set(first_frame(self.scene))

    def advance(self, frame: int) -> None:
        """Advance by one step before a frame, or note a jump to it."""
        before = dict(self.live.servo_values)
        if frame == first_frame(self.scene) and frame != self._frame:
            self.live.restart()
            before = dict(self.live.servo_values)
            self.recording.clear()
            self._turned.clear()
        elif self._frame is not None and frame == self._frame + 1:
            self.live.step(1.0 / frame_rate(self.scene))
        self._put(before)

    def _put(self, before: dict[str, float]) -> None:
        now = self.live.servo_values
        servos = {joint: (before.get(joint, value), value) for joint, value in now.items()}
        set_live_values(self.uid, LiveValues(self.live.input_values, servos))

    def came_to(self, frame: int) -> None:
        """Pose bones at the present values after a frame, and record."""
        drive = settings(self.rig).drive
        if frame == self._frame:
            if drive == "KEYS":
                self._pose(self._values)
            elif self._joint_state is not None and self.recording.frames[-1:] == [frame]:
                self.recording.joints[-1] = self._simulated()  # the first step takes several evaluations
            return
        steps = self._frame is None or frame == self._frame + 1
        self._frame = frame
        values = self._values = self._servo_values(frame)
        if drive == "KEYS":
            self._pose(values)
        if self.records and steps:
            self.recording.frames.append(frame)
            self.recording.inputs.append(self.live.input_values)
            if self._joint_state is not None:
                self.recording.joints.append(values if drive == "KEYS" else self._simulated())
            if frame >= self.scene.frame_end:
                self.is_over = True

    def _servo_values(self, frame: int) -> dict[str, float]:
        """Return the targets of servos at a frame by joint id: from the gait, overridden by keys."""
        out: dict[str, float] = {}
        if self._gait is not None:
            phase = engine_phase(self._gait, self.rig, self.scene, np.array([float(frame)]))
            commands = self._gait.evaluate(phase, self.live.input_values)
            out |= {joint: float(values[0]) for joint, values in commands.position.items()}
            for joint, speeds in commands.velocity.items():
                speed = float(speeds[0])
                if joint in self._turned:
                    at, before = self._turned[joint]
                    at += 0.5 * (before + speed) / frame_rate(self.scene)
                else:
                    at = self._channels[joint].start
                self._turned[joint] = at, speed
                out[joint] = at
        return out | self.live.servo_values

    def _simulated(self) -> dict[str, float]:
        """Return the simulated values of servos by joint id."""
        simulation = None if simulates_here(self.scene) else simulation_scene_of(self.scene)
        copy = None if simulation is None else simulated_copies(simulation).get(self.rig)
        run = None if simulation is None or copy is None else session_of(simulation).controller_of(copy)
        joint_state = self._joint_state if run is None else run.joint_state
        assert joint_state is not None
        values = joint_state.coordinates(joint_state.poses())
        return dict(zip(joint_state.joints, values.tolist(), strict=True))

    def _pose(self, values: dict[str, float]) -> None:
        """Pose the bones as at the beginning, except for these servos."""
        numbers = {name: own.copy() for name, own in self._base.items()}
        for joint, value in values.items():
            channel = self._channels.get(joint)
            if channel is not None:
                numbers[channel.prop][3 * self._bones[channel.bone] + channel.index] = value
        set_bone_properties(self.rig, numbers)
        self._posed = True
        if self._loops:
            bpy.context.view_layer.update()

    def unpose(self) -> None:
        """Pose the bones as at the beginning, until the next frame."""
        if self._posed:
            set_bone_properties(self.rig, self._base)

    def end(self, restore: bool = True) -> None:
        """End the overrides; do nothing the second time. The recording stays.

        Args:
            restore: Whether to show the Action's pose again.
        """
        self.is_over = True
        if self not in _sessions():
            return
        _sessions().remove(self)
        clear_live_values(self.uid)
        if not self.is_there:
            return
        drop_controller(self.rig)  # its controller has cached targets
        if restore and self._posed:
            self.unpose()
            self.scene.frame_set(self.scene.frame_current)

    def write(self) -> RecordingResult | None:
        """Key the recording on the mechanism, also where undo has recreated it; None where nothing was recorded."""
        rig = next((obj for obj in bpy.data.objects if obj.session_uid == self.uid), None)
        if rig is None or not self.recording.frames:
            return None
        frames = np.array(self.recording.frames, dtype=np.float64)
        # The Action of a gait does not contain servos that keys moved.
        is_played = bool(self.live.servos) and settings(rig).drive == "KEYS"
        names = list(self.recording.inputs[0])
        is_unbaked = is_changed = False
        if names:
            key_inputs(rig, frames, {name: np.array([row[name] for row in self.recording.inputs]) for name in names})
            if settings(rig).drive == "KEYS":
                is_unbaked = not is_played and not rebake_gait(self.scene, rig, self.recording.frames[-1])
            elif not tracks_gait(rig):
                settings(rig).target = "GAIT"
                is_changed = True
        action = ""
        if self.recording.joints:
            tracks = self._tracks(rig, frames)
            action = key_servos(rig, f"{record_of(rig).source_name} Live", tracks, is_played).name
        return RecordingResult(
            self.recording.frames[0], self.recording.frames[-1], is_unbaked, is_changed, action, is_played
        )

    def _tracks(self, rig: bpy.types.Object, frames: Array) -> dict[str, tuple[Array, Array, Any]]:
        """Return the recorded values of servos, without jumps by whole turns."""
        channels = servo_channels(rig)
        out: dict[str, tuple[Array, Array, Any]] = {}
        for joint in self.recording.joints[0]:
            if joint in channels:
                values = np.array([row[joint] for row in self.recording.joints])
                values = np.unwrap(values) if channels[joint][0].is_angle else values
                out[joint] = frames, values, LINEAR
        return out


@dataclass
class _LiveSessions(RuntimeState):
    """The running sessions."""

    lifetime: ClassVar = Lifetime.FILE
    running: list[LiveSession] = field(default_factory=list)


def _sessions() -> list[LiveSession]:
    return state_of(_LiveSessions).running


def live_session_of(rig: bpy.types.Object) -> LiveSession | None:
    """Return the session of a mechanism, or None."""
    return next((session for session in _sessions() if session.uid == rig.session_uid), None)


def live_sessions() -> Sequence[LiveSession]:
    """Return all sessions."""
    return tuple(_sessions())


def _sessions_in_scene(scene: bpy.types.Scene) -> list[LiveSession]:
    """Return the sessions of a scene; those of deleted mechanisms end."""
    for session in live_sessions():
        if not session.is_there:
            session.end_reason = EndReason.DELETED
            session.end()
    return [session for session in _sessions() if session.scene == scene and not session.is_over]


def advance_live_sessions(scene: bpy.types.Scene) -> None:
    """Move inputs and servos before a frame."""
    if _sessions() and not scene.frame_subframe:
        for session in _sessions_in_scene(scene):
            session.advance(scene.frame_current)


def record_live_sessions(scene: bpy.types.Scene) -> None:
    """Pose and record after a frame."""
    if _sessions() and not scene.frame_subframe:
        for session in _sessions_in_scene(scene):
            session.came_to(scene.frame_current)


@persistent
def unpose_before_save(*_args: Any) -> None:
    """Restore poses before saving, so that no file has a pose that only keys led to."""
    for session in live_sessions():
        if session.is_there:
            session.unpose()


@persistent
def end_live_sessions(*_args: Any) -> None:
    """End all sessions before undo, redo or loading a file, which replace their data."""
    for session in live_sessions():
        session.end_reason = EndReason.UNDONE
        session.end(restore=False)


_CURVE_GROUP = "Inputs"


def key_inputs(rig: bpy.types.Object, frames: Array, values: Mapping[str, Array]) -> bpy.types.Action:
    """Key inputs at frames.

    They are in the Action of the armature's data, which is created if missing. Keyframes before and after these stay.

    Args:
        rig: The armature object.
        frames: Ascending frames (n,).
        values: Values (n,) by the names of the inputs.
    """
    armature = armature_of(rig)
    data = armature.animation_data_create()
    action = played_action(data)
    if action is None:
        action = bpy.data.actions.new(f"{record_of(rig).source_name} Inputs")
        use_action(armature, action)
    curves = action_curves(armature, action)
    for name, own in values.items():
        path = f"knuckle.controls.{input_property_name(name)}"
        before = curves.find(path)
        keys = _curve_keys(before)
        if before is not None:
            curves.remove(before)
        keys = keys[(keys[:, 0] < frames[0]) | (keys[:, 0] > frames[-1])]
        keys = np.concatenate([keys, np.stack([frames, own], axis=1)])
        keys = keys[np.argsort(keys[:, 0], kind="stable")]
        fill_curve(new_curve(curves, path, 0, _CURVE_GROUP), keys[:, 0], keys[:, 1], LINEAR)
    armature.update_tag()
    return action


def _curve_keys(curve: bpy.types.FCurve | None) -> Array:
    """Return frames and values (n, 2) of an F-curve."""
    points = [] if curve is None else [point.co[:] for point in curve.keyframe_points]
    return np.array(points, dtype=np.float64).reshape(-1, 2)
