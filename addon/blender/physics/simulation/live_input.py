"""Live Input on a mechanism: at each frame that the scene goes on by, the keys that are held move inputs and servos.

In Keyframes drive the gait is evaluated at these inputs and posed over what the Action says, which therefore needs
neither be muted nor restored: going to a frame without us shows it again. In Servos drive gait and servos are the
target. Nothing is written to the file before the end, so that it may come in any way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ....core.gait.live_input import LiveInput
from ....core.model import Array
from ...animation.actions import bone_numbers, put_bone_numbers
from ...animation.gait import LiveValues, bake_own_gait, drop, engine_phase, input_names, live_gait, put, wants_gait
from ...animation.keying import LINEAR, key_servos, put_keys
from ...animation.loops.live_solver import live_loops
from ...compat import action_curves, new_curve, played_action, use_action
from ...data.access import armature_of, record_of, settings
from ...data.channels import servo_channels
from ...data.properties.model import control_property
from ..actuators.joint_state import gather
from ..world.rigidbody_world import first_frame, frame_rate
from . import session as runs


class EndReason(Enum):
    """Reason for which a session ended by itself, where the user is to be told."""

    NONE = 0
    DELETED = 1
    UNDONE = 2


class Written(NamedTuple):
    """Outcome of a recording: its first and last frame, whether the gait still has to be baked for its Action to
    play it, whether the target was set to the gait, the name of the Action of servo values, empty for none, and
    whether the mechanism plays that."""

    first: int
    last: int
    is_unbaked: bool
    is_target_changed: bool
    action: str
    is_played: bool


@dataclass
class Recording:
    """Recorded frames, inputs by their names, and values of servos by the ids of their joints."""

    frames: list[int] = field(default_factory=list)
    inputs: list[dict[str, float]] = field(default_factory=list)
    joints: list[dict[str, float]] = field(default_factory=list)

    def clear(self) -> None:
        """Begin anew."""
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
        self.recording = Recording()
        self.end_reason = EndReason.NONE
        self.is_over = False
        self._gait = live_gait(rig) if input_names(rig) else None
        self._channels = {joint: own[0] for joint, own in servo_channels(rig).items() if own[0].is_single}
        self._plant = gather(rig) if self.records_joints else None
        self._base = bone_numbers(rig)
        self._bones = {bone.name: number for number, bone in enumerate(rig.pose.bones)}
        self._posed = False
        self._loops = bool(live_loops(rig))
        self._frame: int | None = None
        self._values: dict[str, float] = {}
        self._turned: dict[str, tuple[float, float]] = {}
        self._put({})
        _sessions.append(self)

    @property
    def is_there(self) -> bool:
        """Return whether the mechanism still is in the file and in a collection."""
        try:
            return bool(self.rig.users_collection) and self.scene.name is not None
        except ReferenceError:
            return False

    def restart(self) -> None:
        """Go back to the first frame, with all inputs at rest and nothing recorded."""
        self._frame = None
        self.scene.frame_set(first_frame(self.scene))

    def advance(self, frame: int) -> None:
        """Before a frame: go on by one step, or take note that somebody jumped there."""
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
        put(self.uid, LiveValues(self.live.input_values, servos))

    def came_to(self, frame: int) -> None:
        """After a frame: pose bones where they lead, and record."""
        drive = settings(self.rig).drive
        if frame == self._frame:
            if drive == "KEYS":
                self._pose(self._values)
            elif self._plant is not None and self.recording.frames[-1:] == [frame]:
                self.recording.joints[-1] = self._simulated()  # the first step of a run takes several evaluations
            return
        steps = self._frame is None or frame == self._frame + 1
        self._frame = frame
        values = self._values = self._servo_values(frame)
        if drive == "KEYS":
            self._pose(values)
        if self.records and steps:
            self.recording.frames.append(frame)
            self.recording.inputs.append(self.live.input_values)
            if self._plant is not None:
                self.recording.joints.append(values if drive == "KEYS" else self._simulated())
            if frame >= self.scene.frame_end:
                self.is_over = True

    def _servo_values(self, frame: int) -> dict[str, float]:
        """Return what servos are told at a frame, by the ids of their joints: by the gait, and by keys before that."""
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
        """Return where physics has the servos."""
        assert self._plant is not None
        values = self._plant.coordinates(self._plant.poses())
        return dict(zip(self._plant.joints, values.tolist(), strict=True))

    def _pose(self, values: dict[str, float]) -> None:
        """Pose the bones as they were at the beginning, but for these servos."""
        numbers = {name: own.copy() for name, own in self._base.items()}
        for joint, value in values.items():
            channel = self._channels.get(joint)
            if channel is not None:
                numbers[channel.prop][3 * self._bones[channel.bone] + channel.index] = value
        put_bone_numbers(self.rig, numbers)
        self._posed = True
        if self._loops:
            bpy.context.view_layer.update()

    def unpose(self) -> None:
        """Pose bones as they were at the beginning, until the next frame."""
        if self._posed:
            put_bone_numbers(self.rig, self._base)

    def end(self, restore: bool = True) -> None:
        """Override nothing any more; does nothing the second time. What was recorded is kept.

        Args:
            restore: Whether to show what the Action says again.
        """
        self.is_over = True
        if self not in _sessions:
            return
        _sessions.remove(self)
        drop(self.uid)
        if not self.is_there:
            return
        runs.drop(self.rig)  # what controls it aims at what is set again
        if restore and self._posed:
            self.unpose()
            self.scene.frame_set(self.scene.frame_current)

    def write(self) -> Written | None:
        """Key what was recorded on the mechanism, also where undo has made it anew; None where nothing was."""
        rig = next((obj for obj in bpy.data.objects if obj.session_uid == self.uid), None)
        if rig is None or not self.recording.frames:
            return None
        frames = np.array(self.recording.frames, dtype=np.float64)
        # The Action of a gait has nothing of servos that keys moved.
        is_played = bool(self.live.servos) and settings(rig).drive == "KEYS"
        names = list(self.recording.inputs[0])
        is_unbaked = is_changed = False
        if names:
            key_inputs(rig, frames, {name: np.array([row[name] for row in self.recording.inputs]) for name in names})
            if settings(rig).drive == "KEYS":
                is_unbaked = not is_played and not bake_own_gait(self.scene, rig, self.recording.frames[-1])
            elif not wants_gait(rig):
                settings(rig).target = "GAIT"
                is_changed = True
        action = ""
        if self.recording.joints:
            tracks = self._tracks(rig, frames)
            action = key_servos(rig, f"{record_of(rig).source_name} Live", tracks, is_played).name
        return Written(self.recording.frames[0], self.recording.frames[-1], is_unbaked, is_changed, action, is_played)

    def _tracks(self, rig: bpy.types.Object, frames: Array) -> dict[str, tuple[Array, Array, Any]]:
        """The recorded values of servos, without jumps by whole turns."""
        channels = servo_channels(rig)
        out: dict[str, tuple[Array, Array, Any]] = {}
        for joint in self.recording.joints[0]:
            if joint in channels:
                values = np.array([row[joint] for row in self.recording.joints])
                values = np.unwrap(values) if channels[joint][0].is_angle else values
                out[joint] = frames, values, LINEAR
        return out


_sessions: list[LiveSession] = []


def session_of(rig: bpy.types.Object) -> LiveSession | None:
    """The session that goes on on a mechanism."""
    return next((session for session in _sessions if session.uid == rig.session_uid), None)


def sessions() -> Sequence[LiveSession]:
    """All that go on."""
    return tuple(_sessions)


def _of_scene(scene: bpy.types.Scene) -> list[LiveSession]:
    """The sessions of a scene; what was deleted ends."""
    for session in sessions():
        if not session.is_there:
            session.end_reason = EndReason.DELETED
            session.end()
    return [session for session in _sessions if session.scene == scene and not session.is_over]


def before_frame(scene: bpy.types.Scene) -> None:
    """Before a frame: move inputs and servos."""
    if _sessions and not scene.frame_subframe:
        for session in _of_scene(scene):
            session.advance(scene.frame_current)


def after_frame(scene: bpy.types.Scene) -> None:
    """After a frame: pose and record."""
    if _sessions and not scene.frame_subframe:
        for session in _of_scene(scene):
            session.came_to(scene.frame_current)


@persistent
def before_save(*_args: Any) -> None:
    """A file has no pose in it that only keys led to."""
    for session in sessions():
        if session.is_there:
            session.unpose()


@persistent
def end_all(*_args: Any) -> None:
    """Before undo, redo or another file, whose data is another."""
    for session in sessions():
        session.end_reason = EndReason.UNDONE
        session.end(restore=False)


_GROUP = "Inputs"


def key_inputs(rig: bpy.types.Object, frames: Array, values: Mapping[str, Array]) -> bpy.types.Action:
    """Key inputs at frames (n,), ascending, by their names: (n,) each. Keyframes before and after these stay.

    They are in the Action of the armature's data, which is made where it has none.
    """
    armature = armature_of(rig)
    data = armature.animation_data_create()
    action = played_action(data)
    if action is None:
        action = bpy.data.actions.new(f"{record_of(rig).source_name} Inputs")
        use_action(armature, action)
    curves = action_curves(armature, action)
    for name, own in values.items():
        path = f"knuckle.controls.{control_property(name)}"
        before = curves.find(path)
        keys = _keys(before)
        if before is not None:
            curves.remove(before)
        keys = keys[(keys[:, 0] < frames[0]) | (keys[:, 0] > frames[-1])]
        keys = np.concatenate([keys, np.stack([frames, own], axis=1)])
        keys = keys[np.argsort(keys[:, 0], kind="stable")]
        put_keys(new_curve(curves, path, 0, _GROUP), keys[:, 0], keys[:, 1], LINEAR)
    armature.update_tag()
    return action


def _keys(curve: bpy.types.FCurve | None) -> Array:
    """Frames and values (n, 2) of a curve."""
    points = [] if curve is None else [point.co[:] for point in curve.keyframe_points]
    return np.array(points, dtype=np.float64).reshape(-1, 2)
