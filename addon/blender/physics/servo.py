"""Servo control: once per frame each motor gets the speed that brings it towards its target.

A motor of Blender's has a speed and a force limit and no idea of a position: the position loop is here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import bpy
import numpy as np

from ...model.gait import Gait, feedback_angles
from ...model.records import Array
from ...model.report import FormatError
from ..access import record_of, settings
from ..animation import gait as gaits
from ..channels import servo_channels
from ..model_parts import parts
from ..properties import DRIVES
from .anchor import stands
from .collision import collision_children
from .flywheel import flywheels
from .lowest import Measured, lowest_point
from .plant import Plant, ensure_motors, ensure_preloads, gather
from .starting import Beginning
from .world import first_frame, frame_rate, stretch

#: The largest share of an error that a servo corrects within one frame under Juice's law. Real walkers
#: walked with 0.5 to 0.95; at 1 and above a motor overshoots.
JUICE_SHARE = 0.5
#: The same when tracking keys, on top of the keys' own speed.
TRACK_SHARE = 0.8
_DEGREES = 180.0 / math.pi


class ServoRun:
    """One run of a model under physics, from the frame it was started at. Steps go one frame at a time."""

    def __init__(self, scene: bpy.types.Scene, rig: bpy.types.Object) -> None:
        self.scene, self.rig = scene, rig
        self.first = first_frame(scene)
        self.stretch = stretch(scene)
        self.plant: Plant = gather(rig)
        self.settings = gaits.settings_curves(rig)
        self.drive = ""
        self.bodies = [obj.rigid_body for obj in parts(rig, "BODY") if obj.rigid_body is not None and not stands(obj)]
        self.bodies += [wheel.rigid_body for wheel in flywheels(rig) if wheel.rigid_body is not None]
        if self.plant.empties and self._ever_servo():
            ensure_motors(scene, self.plant)
        ensure_preloads(scene, self.plant)
        self.motors = [
            record_of(empty).joint.motor.rigid_body_constraint if record_of(empty).joint.motor is not None else None
            for empty in self.plant.empties
        ]
        self.gait: Gait | None = self._gait()
        self._feel = self._feedback_places()
        self._keys = self._key_sources()
        self._written = np.full((len(self.motors), 2), np.nan)

    def _ever_servo(self) -> bool:
        return settings(self.rig).drive == "SERVO" or ("knuckle.drive", 0) in self.settings

    def _wants_gait(self) -> bool:
        target = settings(self.rig).target
        return target == "GAIT" or (target == "AUTO" and gaits.plays_own_gait(self.rig))

    def _gait(self) -> Gait | None:
        """The gait to chase; none where the document that holds it was spoilt, which is said in the report."""
        try:
            return gaits.live_gait(self.rig) if self._wants_gait() else None
        except FormatError as error:
            lines = settings(self.rig).report
            if not any(line.code == "gait-unreadable" for line in lines):
                line = lines.add()
                line.severity, line.code, line.message = "error", "gait-unreadable", f"The gait cannot be read: {error}"
            return None

    def _feedback_places(self) -> dict[str, int]:
        if self.gait is None:
            return {}
        place = {record_of(obj).source_id: number for number, obj in enumerate(self.plant.bodies)}
        return {body: place[body] for body in self.gait.feedback_bodies if body in place}

    def _key_sources(self) -> list[tuple[bpy.types.FCurve | None, bpy.types.PoseBone | None, str]]:
        curves = gaits.pose_curves(self.rig)
        out: list[tuple[bpy.types.FCurve | None, bpy.types.PoseBone | None, str]] = []
        channels = servo_channels(self.rig)
        for joint, empty in zip(self.plant.joints, self.plant.empties, strict=True):
            if joint not in channels:
                out.append((None, None, ""))  # closes a loop: no bone, nothing to chase
                continue
            channel = channels[joint][0]
            bone, curve = self.rig.pose.bones[channel.bone], curves.get((channel.path, channel.index))
            if curve is None and record_of(empty).joint.follows:
                out.append((None, None, ""))  # goes where its loop leads it: two motors would fight over that
                continue
            out.append((curve, bone, channel.prop))
        return out

    # ---------------------------------------------------------------- each frame

    def on_scale(self, frame: int) -> float:
        """The frame of the scene's own time that a frame of the run stands for."""
        return self.first + (frame - self.first) / self.stretch

    def drive_at(self, frame: float) -> str:
        """KEYS, SERVO or LIMP at a frame: the switch may be keyed."""
        curve = self.settings.get(("knuckle.drive", 0))
        if curve is None:
            return settings(self.rig).drive
        return DRIVES[min(max(int(curve.evaluate(frame)), 0), len(DRIVES) - 1)]

    def begin(self, frame: int) -> None:
        """At the first frame of a run."""
        self.set_drive(self.drive_at(frame))
        lift(self.rig, 0.0)

    def stand_on_ground(self) -> None:
        """At the first frame of a run under physics, raise a model that begins inside its ground: Blender
        would shoot it out."""
        if self.drive == "KEYS" or not settings(self.rig).has_ground:
            return
        children, measured = collision_children(self.rig), Measured()
        bodies = zip(self.plant.bodies, self.plant.poses()[:-1], strict=True)
        lowest = min((lowest_point(obj, children.get(obj, ()), pose, measured) for obj, pose in bodies), default=0.0)
        if lowest < -1e-4:
            lift(self.rig, -float(lowest))

    def set_drive(self, drive: str) -> None:
        """Let the bodies follow their bones, or physics."""
        if drive != self.drive:
            self.drive = drive
            kinematic = drive == "KEYS"
            for body in self.bodies:
                if body.kinematic != kinematic:
                    body.kinematic = kinematic
            if kinematic:
                lift(self.rig, 0.0)

    def start(self) -> Beginning:
        """Before the first step: put joints on their marks. Whoever calls lets them go when the step is done."""
        beginning = Beginning(self.scene, self.plant)
        beginning.hold(self.plant.poses())
        return beginning

    def step(self, frame: int) -> None:
        """Command all motors for the step from ``frame - 1`` to ``frame``."""
        self.set_drive(self.drive_at(self.on_scale(frame)))
        if all(motor is None for motor in self.motors):
            return
        if self.drive == "SERVO":
            self._command(frame, self.plant.poses())
        else:
            free = np.zeros(len(self.motors))
            self._write(free, free)

    def _command(self, frame: int, poses: Array) -> None:
        actual = self.plant.coordinates(poses)
        law = settings(self.rig).law
        rate = frame_rate(self.scene) * self.stretch
        if self.gait is not None:
            wanted, speed, spin = self._gait_targets(frame, poses)
            before = wanted
        else:
            before, wanted = self._key_targets(self.on_scale(frame - 1)), self._key_targets(self.on_scale(frame))
            speed, spin = np.zeros(len(actual)), np.zeros(len(actual), dtype=bool)
        if law == "JUICE" or (law == "AUTO" and self.gait is not None):
            error = self._error(wanted, actual)
            gain = np.where(self.plant.turns, self.plant.gain / 10.0 * _DEGREES, self.plant.gain / 10.0)
            velocity = error * np.minimum(gain, JUICE_SHARE * rate)
        else:
            velocity = rate * (self._error(wanted, before) + TRACK_SHARE * self._error(before, actual))
        told = np.logical_or(~np.isnan(wanted), spin)
        velocity = np.where(spin, speed, np.where(told, velocity, 0.0))
        self._write(np.nan_to_num(velocity), np.where(told, self.plant.max_force, 0.0))

    def _error(self, wanted: Array, actual: Array) -> Array:
        error = wanted - actual
        return np.where(self.plant.turns, (error + math.pi) % (2.0 * math.pi) - math.pi, error)

    def _gait_targets(self, frame: int, poses: Array) -> tuple[Array, Array, Array]:
        """Wanted positions (nan: not told), wanted speeds, and which joints are told a speed."""
        assert self.gait is not None
        frames = np.array([self.on_scale(frame)])
        controls = gaits.control_values(self.gait, self.rig, frames)
        feedback = {body: feedback_angles(poses[number, :3, :3]) for body, number in self._feel.items()}
        commands = self.gait.evaluate(gaits.engine_phase(self.gait, self.rig, self.scene, frames), controls, feedback)
        return (
            self._spread(commands.position, math.nan),
            self._spread(commands.velocity, 0.0),
            np.array([joint in commands.velocity for joint in self.plant.joints], dtype=bool),
        )

    def _spread(self, values: Mapping[str, Array], missing: float) -> Array:
        return np.array([float(values[j][0]) if j in values else missing for j in self.plant.joints])

    def _key_targets(self, frame: float) -> Array:
        """The bones' own values at a frame; of channels without keys, what they were set to."""
        return np.array(
            [
                curve.evaluate(frame)
                if curve is not None
                else getattr(bone, channel)[2]
                if bone is not None
                else math.nan
                for curve, bone, channel in self._keys
            ]
        )

    def _write(self, velocity: Array, force: Array) -> None:
        """Set the motors whose command changed: each write costs."""
        pairs = np.stack([velocity, force], axis=1)
        changed = ~(self._written == pairs)
        for number in np.flatnonzero(changed.any(axis=1)):
            motor = self.motors[number]
            if motor is None:
                continue
            if self.plant.turns[number]:
                if changed[number, 0]:
                    motor.motor_ang_target_velocity = velocity[number]
                if changed[number, 1]:
                    motor.motor_ang_max_impulse = force[number]
            else:
                if changed[number, 0]:
                    motor.motor_lin_target_velocity = velocity[number]
                if changed[number, 1]:
                    motor.motor_lin_max_impulse = force[number]
        self._written = pairs


def lift(rig: bpy.types.Object, height: float) -> None:
    """Raise a model by ``height`` above where the user has it, by its delta location; 0 puts it back."""
    record = settings(rig)
    if record.lift != height:
        rig.delta_location[2] += height - record.lift
        record.lift = height
