"""Targets of servos: from Live Input, a gait, or keyframes and what else moves the bones.

Bones that strips or drivers move are extrapolated from their last two values: their F-curves alone do not determine
them, and a step is commanded before its frame is evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import bpy
import numpy as np

from ....core.gait.engine import Gait, feedback_angles
from ....core.model import Array
from ....core.report import FormatError, Message, Report
from ....core.transforms import wrap_angle
from ...animation import gait
from ...animation.rotation_stops import clamp_bone_values, stop_range
from ...compat import action_curves
from ...data.access import armature_of, original_of, record_of, settings
from ...data.channels import bone_of_path, is_screw_driver_curve, pose_curves, servo_channels, settings_curves
from ...data.conversion import add_to_report
from ...data.queries import is_simulation_scene, parts, shown_scene_of, simulates_here
from ...rig.bone_limits import channel_stops
from ..world.anchor import is_static
from ..world.rigidbody_world import first_frame, frame_rate
from .control_laws import steady_increment
from .joint_state import JointStateArrays

_ChannelKey = tuple[str, int]

#: Least control steps per second of a bake in a scene that simulates mechanisms in its own world.
_OWN_WORLD_RATE = 60.0


class ServoTargets:
    """Targets of a mechanism's servos during a simulation.

    A copy in a simulation scene tracks what its original is told. Only bones that strips or drivers move are its own,
    since the simulation scene evaluates these.

    Attributes:
        gait: The gait that they track; None: the bones.
        first: First frame of the simulation.
    """

    def __init__(self, scene: bpy.types.Scene, joint_state: JointStateArrays, stretch: int) -> None:
        self._scene, self._joint_state, self._rig = scene, joint_state, original_of(joint_state.rig)
        self.first, self._stretch = first_frame(scene), stretch
        self.gait: Gait | None = _read_gait(self._rig)
        self._feedback = self._feedback_indices()
        self._held, self._has_velocity_target = (self._gait_indices(velocity) for velocity in (False, True))
        self._curves = pose_curves(self._rig)
        self._channels = servo_channels(self._rig)
        every = [channel for own in self._channels.values() for channel in own]
        self._live = BoneTargets(joint_state.rig, {curve for channel in every for curve in channel.curves()})
        self._keys = self._key_sources()
        #: Indices of servos without keyframes, which the user may pose at any frame.
        self._posed = [number for number, source in enumerate(self._keys) if _is_bone_target(source)]
        self._stops = self._channel_stops()
        self._known: dict[float, Array] = {}

    def _feedback_indices(self) -> dict[str, int]:
        if self.gait is None:
            return {}
        place = {record_of(obj).source_id: number for number, obj in enumerate(self._joint_state.bodies)}
        return {body: place[body] for body in self.gait.feedback_bodies if body in place}

    def _gait_indices(self, velocity: bool) -> tuple[list[int], list[int]]:
        """Return the indices of joints whose position, or velocity, the gait sets, and the rows of its output."""
        joints = [] if self.gait is None else self.gait.spun if velocity else self.gait.held
        row = {joint: number for number, joint in enumerate(joints)}
        ours = [number for number, joint in enumerate(self._joint_state.joints) if joint in row]
        return ours, [row[self._joint_state.joints[number]] for number in ours]

    def _key_sources(self) -> list[Callable[[float], float]]:
        """Return a function of the frame for each servo that gives its target from the bones; nan without a target."""
        out: list[Callable[[float], float]] = []
        for joint, empty in zip(self._joint_state.joints, self._joint_state.empties, strict=True):
            channel = self._channels[joint][0] if joint in self._channels else None
            source = None if channel is None else (channel.path, channel.index)
            curve = None if source is None else self._curves.get(source)
            if channel is None or source is None:
                out.append(_no_target)  # closes a loop: no bone, no target
            elif source in self._live.keys:
                out.append(partial(self._live.at, source))
            elif curve is not None:
                out.append(curve.evaluate)
            elif record_of(empty).joint.is_dependent:
                out.append(_no_target)  # moved by its closed loop: two motors would oppose each other
            else:
                out.append(
                    partial(_current_channel_value, self._rig.pose.bones[channel.bone], channel.prop, channel.index)
                )
        return out

    def _channel_stops(self) -> Array:
        """Return the stops of the servos' channels (3, n), as ``clamp_bone_values`` takes them."""
        dofs = [record_of(empty).joint.dofs[0] for empty in self._joint_state.empties]
        ends = [stop_range(channel_stops(dof, dof.channel, dof.channel_index)) for dof in dofs]
        return np.array(ends).reshape(-1, 3).T

    def scene_frame_of(self, frame: int) -> float:
        """Return the frame of the scene's own time for a frame of the simulation."""
        return self.first + (frame - self.first) / self._stretch

    def look(self, frame: int) -> None:
        """Read what moves the bones before the step to a frame. Called once for each step."""
        self._live.look(self.scene_frame_of(frame - 1))

    def of_step(self, frame: int, drive: str, poses: Array) -> tuple[Array, Array, Array, Array]:
        """Return the targets of all servos (n,) for a step.

        Args:
            frame: The frame that the step leads to.
            drive: KEYS, SERVO or LIMP.
            poses: Poses (bodies + 1, 4, 4) from which a gait gets its feedback.

        Returns:
            Positions at its beginning and at its end, nan without a target; target velocities; and a mask of the
            servos to which these apply.
        """
        count = len(self._joint_state.joints)
        before = wanted = np.full(count, math.nan)
        speed, spin = np.zeros(count), np.zeros(count, dtype=bool)
        if drive != "SERVO":
            return before, wanted, speed, spin
        if self.gait is not None:
            before, speed, spin = self._gait_targets(frame, poses)
            wanted = before.copy()
        else:
            before = self.of_bones(self.scene_frame_of(frame - 1))
            wanted = self.of_bones(self.scene_frame_of(frame))
        self._put_live(before, wanted, spin)
        return before, wanted, speed, spin

    def _gait_targets(self, frame: int, poses: Array) -> tuple[Array, Array, Array]:
        """Return target positions (nan: none), target velocities, and a mask of joints with a target velocity."""
        assert self.gait is not None
        frames = np.array([self.scene_frame_of(frame)])
        controls = gait.gait_input_values(self.gait, self._rig, frames)
        feedback = {body: feedback_angles(poses[number, :3, :3]) for body, number in self._feedback.items()}
        phase = gait.engine_phase(self.gait, self._rig, self._scene, frames)
        position, velocity = self.gait.evaluate_rows(phase, controls, feedback)
        count = len(self._joint_state.joints)
        wanted, speed, spin = np.full(count, math.nan), np.zeros(count), np.zeros(count, dtype=bool)
        ours, theirs = self._held
        wanted[ours] = position[theirs, 0]
        ours, theirs = self._has_velocity_target
        speed[ours], spin[ours] = velocity[theirs, 0], True
        return wanted, speed, spin

    def _put_live(self, before: Array, wanted: Array, spin: Array) -> None:
        """Replace the targets of the servos that Live Input moves."""
        servos = gait.live_values(self._rig).servos
        for number, joint in enumerate(self._joint_state.joints) if servos else ():
            if joint in servos:
                before[number], wanted[number] = servos[joint]
                spin[number] = False

    def difference(self, wanted: Array, actual: Array) -> Array:
        """Return the difference of joint values (n,), angles the short way round."""
        error = wanted - actual
        return np.where(self._joint_state.turns, wrap_angle(error), error)

    def steady_change(self, frame: int, ahead: Array) -> Array:
        """Return the change of the targets (n,) within the step to a frame, ``ahead``, without jumps of keyframes."""
        if self.gait is not None:
            return ahead
        end = math.ceil(self.scene_frame_of(frame) - 1e-6)  # keyframes jump within a frame of the scene's
        places = [self.of_bones(float(end + step)) for step in (-2, -1, 0, 1)]
        last, within, after = (self.difference(places[k + 1], places[k]) for k in range(3))
        steady = steady_increment(last, within, after)
        return np.where(steady == within, ahead, steady / self._stretch)

    def of_bones(self, frame: float) -> Array:
        """Return the bones' own values (n,) at a frame, within their stops; without keyframes their present values.

        Values from keyframes are cached for the next frames, which begin where this one ends.
        """
        if frame in self._known and not self._live.keys:
            values = self._known[frame].copy()
            values[self._posed] = [self._keys[number](frame) for number in self._posed]
        else:
            values = np.array([source(frame) for source in self._keys])
            self._known = dict([*self._known.items()][-3:]) | {frame: values}
        return clamp_bone_values(values, *self._stops)

    def channel_values(self, path: str, index: int, frames: Sequence[float]) -> Array:
        """Return the values (frames,) of a bone's channel; without keyframes its present value."""
        if (path, index) in self._live.keys:
            return np.array([self._live.at((path, index), frame) for frame in frames])
        curve = self._curves.get((path, index))
        if curve is not None:
            return np.array([curve.evaluate(frame) for frame in frames])
        return np.full(len(frames), self._rig.path_resolve(path)[index])


def _read_gait(rig: bpy.types.Object) -> Gait | None:
    """Return the gait to track; None where its document cannot be read, which the report then says."""
    try:
        return gait.current_gait(rig) if gait.tracks_gait(rig) else None
    except FormatError as error:
        report = Report()
        report.add("error", "gait-unreadable", Message("Gait: not readable. {}", error))
        add_to_report(rig, report)
        return None


def _no_target(_frame: float) -> float:
    return math.nan


def _is_bone_target(source: Callable[[float], float]) -> bool:
    return isinstance(source, partial) and source.func is _current_channel_value


def _current_channel_value(bone: bpy.types.PoseBone, prop: str, index: int, _frame: float) -> float:
    return float(getattr(bone, prop)[index])


# ---------------------------------------------------------------- bones that strips or drivers move


class BoneTargets:
    """Channels (data path, index) of an armature that are moved by more than the F-curves of its Action."""

    def __init__(self, rig: bpy.types.Object, channels: Iterable[_ChannelKey]) -> None:
        data = rig.animation_data
        drivers = [] if data is None else [curve for curve in data.drivers if not is_screw_driver_curve(curve)]
        driven = {(curve.data_path, curve.array_index) for curve in drivers if not curve.mute}
        everything = data is not None and has_nla_strips(data)
        self.keys = {key for key in channels if everything or key in driven}
        self._rig, self._frame = rig, 0.0
        self._now: dict[_ChannelKey, float] = {}
        self._before: dict[_ChannelKey, float] = {}

    def look(self, frame: float) -> None:
        """Read the channels at ``frame``, the last one evaluated. Called once for each frame."""
        self._frame, self._before = frame, self._now
        self._now = {key: self._read(key) for key in self.keys}

    def at(self, key: _ChannelKey, frame: float) -> float:
        """Return the value of a channel at a frame, extrapolated linearly from its last two values."""
        if key not in self._now:  # the simulation has not begun
            return self._read(key)
        now = self._now[key]
        return now + (frame - self._frame) * (now - self._before.get(key, now))

    def _read(self, key: _ChannelKey) -> float:
        path, index = key
        return float(self._rig.path_resolve(path)[index])


def steps_per_frame(scene: bpy.types.Scene, rig: bpy.types.Object) -> int:
    """Return the count of control steps per frame, several where the frame rate is below the control rate.

    One where anything is animated by Blender itself, which is evaluated at the scene's own frames only.
    """
    keyed = ("knuckle.drive", 0) in settings_curves(rig) or settings(rig).drive == "KEYS"
    if keyed or has_other_animation(scene, rig):
        return 1
    return max(math.ceil(_control_rate(scene, rig) / frame_rate(scene) - 1e-6), 1)


def _control_rate(scene: bpy.types.Scene, rig: bpy.types.Object) -> float:
    """Return the least control steps per second of a mechanism: the scene's, or those of Juice for its law.

    Juice computes its law once per step of 10 ms; with fewer control steps, walkers depend on details (measured: see
    "Walkers of Juice" in the manual for developers). A scene that simulates mechanisms itself controls them once per
    frame while it plays, and its bakes at least 60 times per second.
    """
    shown = (shown_scene_of(scene) or scene) if is_simulation_scene(scene) else scene
    if simulates_here(shown):
        return _OWN_WORLD_RATE
    least: float = shown.knuckle_control_rate  # type: ignore[attr-defined]
    model, original = settings(rig), original_of(rig)
    is_juice = control_law(original, gait.tracks_gait(original)) == "JUICE"
    if not is_juice or not model.time_step > 0.0:
        return least
    return max(least, 1.0 / model.time_step)


def control_law(rig: bpy.types.Object, tracks_gait: bool) -> str:
    """Return the control law of a mechanism's servos: automatically Juice's for a gait, and else Track."""
    law: str = settings(rig).law
    if law == "AUTO":
        return "JUICE" if tracks_gait else "TRACK"
    return law


def has_other_animation(scene: bpy.types.Scene, rig: bpy.types.Object) -> bool:
    """Return whether anything but the mechanism's own Action and settings animates the scene's physics.

    That is: strips and drivers of the mechanism, the scene's gravity, bodies that follow keyframes, animated force
    fields.
    """
    if has_mixed_animation(rig) or _is_animated(scene) or _is_carried_by_animation(rig):
        return True
    world = scene.rigidbody_world
    held = world.collection if world is not None else None
    for obj in held.objects if held is not None else ():
        if record_of(obj).model == rig or is_static(obj) or obj.rigid_body is None:
            continue
        if _is_object_animated(obj) or (obj.rigid_body.kinematic and record_of(obj).model is not None):
            return True
    return any(obj.field is not None and obj.field.type != "NONE" and _is_object_animated(obj) for obj in scene.objects)


def _is_carried_by_animation(rig: bpy.types.Object) -> bool:
    """Return whether animation moves what a mechanism stands on: its armature's object, or bones of fixed bodies."""
    if len(rig.constraints) or (rig.parent is not None and _is_object_animated(rig.parent)):
        return True
    fixed = {obj.parent_bone for obj in parts(rig, "BODY") if obj.rigid_body and obj.rigid_body.type == "PASSIVE"}
    bones = armature_of(rig).bones
    carrying = {bone.name for name in fixed if name in bones for bone in (bones[name], *bones[name].parent_recursive)}
    data = rig.animation_data
    curves = () if data is None or data.action is None else action_curves(rig, data.action, create=False) or ()
    return any(not (name := bone_of_path(curve.data_path)) or name in carrying for curve in curves)


def has_mixed_animation(rig: bpy.types.Object) -> bool:
    """Return whether strips, or drivers of the user's, move the bones of a mechanism besides its Action."""
    data = rig.animation_data
    if data is None:
        return False
    return has_nla_strips(data) or any(not is_screw_driver_curve(curve) for curve in data.drivers)


def has_nla_strips(data: bpy.types.AnimData) -> bool:
    """Return whether NLA strips are evaluated besides an Action."""
    return data.use_nla and any(not track.mute and len(track.strips) for track in data.nla_tracks)


def _is_object_animated(obj: bpy.types.Object) -> bool:
    """Return whether an object, or one of its parents, is animated or constrained."""
    holder: bpy.types.Object | None = obj
    while holder is not None:
        if _is_animated(holder) or len(holder.constraints):
            return True
        holder = holder.parent
    return False


def _is_animated(block: Any) -> bool:
    data = block.animation_data
    if data is None:
        return False
    return data.action is not None or has_nla_strips(data) or bool(len(data.drivers))
