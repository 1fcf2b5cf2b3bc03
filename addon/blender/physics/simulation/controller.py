"""Servo controller: once per frame each motor gets the target velocity and force limit of the control law."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import bpy
import numpy as np

from ....core.gait.engine import Gait, feedback_angles
from ....core.model import Array
from ....core.report import FormatError, Message, Report
from ...animation import gait
from ...animation.gait import live_values
from ...animation.rotation_stops import clamp_bone_values, stop_range
from ...data.access import record_of, settings
from ...data.channels import pose_curves, servo_channels, settings_curves
from ...data.conversion import add_to_report, initial_dof_coordinates
from ...data.properties.model import DRIVES
from ...data.rigid_bodies import apply_masses, store_typed_mass
from ...rig.bone_limits import channel_stops
from ..actuators.bone_targets import BoneTargets
from ..actuators.control_laws import VelocityHistory, motor_commands, steady_increment
from ..actuators.dof_motors import DofMotors
from ..actuators.dof_servos import MultiDofServos, ScrewCoupling, has_locked_joints, multi_dof_servos, screw_couplings
from ..actuators.effective_mass import ReflectedInertia
from ..actuators.initial_velocity import InitialVelocityImpulse, initial_velocity_impulses
from ..actuators.joint_friction_damping import FrictionDampingActuator, friction_damping_actuators
from ..actuators.joint_state import (
    JointStateArrays,
    bone_coordinates,
    ensure_motors,
    ensure_preloads,
    gather_joint_state,
    initial_joint_coordinates,
    unwrap_to,
)
from ..actuators.motors import force_lists, keep_used_motors, stop_all_motors
from ..actuators.multi_turn_stops import create_multi_turn_stops
from ..actuators.point_forces import PointForceActuator, point_force_actuators
from ..actuators.spring_forces import SpringActuator, spring_actuators
from ..bodies.collision import collision_children
from ..bodies.penetration import PointsByMesh, lowest_point
from ..world.anchor import moving_bodies, raise_model, set_kinematic
from ..world.rigidbody_world import first_frame, step_rate, time_stretch
from ..world.scale import model_scale, to_own_lengths, to_world_pose
from .initial_state import InitialStatePin

#: Properties of the command of a hinge's motor and of a slider's.
_ANGULAR_MOTOR = "motor_ang_target_velocity", "motor_ang_max_impulse"
_LINEAR_MOTOR = "motor_lin_target_velocity", "motor_lin_max_impulse"


class MechanismController:
    """Controller of one mechanism's simulation, from its first frame. Steps go one frame at a time."""

    def __init__(self, scene: bpy.types.Scene, rig: bpy.types.Object) -> None:
        self.scene, self.rig = scene, rig
        self.first = first_frame(scene)
        self.stretch = time_stretch(scene)
        self.plant: JointStateArrays = gather_joint_state(rig)
        self.settings = settings_curves(rig)
        self.drive = ""
        for obj in self.plant.bodies:
            store_typed_mass(obj)
            if obj.rigid_body is not None:
                apply_masses(obj)
        self.bodies = moving_bodies(rig)
        stop_all_motors(rig)
        self.several: list[MultiDofServos] = []
        if self._uses_servos() or has_locked_joints(self.plant):
            ensure_motors(scene, self.plant)
            self.several = multi_dof_servos(scene, self.plant)
        ensure_preloads(scene, self.plant)
        self.forces: list[
            FrictionDampingActuator | SpringActuator | PointForceActuator | ScrewCoupling | InitialVelocityImpulse
        ] = []
        if self._uses_physics():
            self.forces = [
                *friction_damping_actuators(scene, self.plant),
                *spring_actuators(scene, self.plant),
                *point_force_actuators(scene, self.plant),
                *screw_couplings(scene, self.plant),
                *initial_velocity_impulses(scene, self.plant),
            ]
            used = {motor.empty for force in self.forces for motor in force.motors.records()}
            for kept in force_lists(rig):
                keep_used_motors(kept, used)
        self.motors = [
            record_of(empty).joint.motor.rigid_body_constraint if record_of(empty).joint.motor is not None else None
            for empty in self.plant.empties
        ]
        self.gait: Gait | None = self._gait()
        self._feedback = self._feedback_indices()
        self._held, self._has_velocity_target = (self._gait_indices(velocity) for velocity in (False, True))
        self._curves = pose_curves(rig)
        channels = [channel for each in servo_channels(rig).values() for channel in each]
        self._live = BoneTargets(rig, {curve for channel in channels for curve in channel.curves()})
        self._keys = self._key_sources()
        self._stops = self._channel_stops()
        self._told: dict[float, Array] = {}
        #: Indices of servos without keyframes, which the user may pose at any frame.
        self._posed = [number for number, source in enumerate(self._keys) if _is_bone_target(source)]
        self.counted = create_multi_turn_stops(scene, self.plant, self._turned()) if self._uses_physics() else []
        self._start: Array | None = None
        self._last: Array | None = None
        self._course = VelocityHistory.at_rest(len(self.motors))
        self._written = np.full((len(self.motors), 2), np.nan)
        #: Factors from the plant's units to the world's: the scale for sliders.
        self._lengths = np.where(self.plant.turns, 1.0, model_scale(rig))
        self._names = [_ANGULAR_MOTOR if turns else _LINEAR_MOTOR for turns in self.plant.turns]
        #: Last target of each servo (nan without one), and its frame.
        self.told, self.commanded_frame = np.full(len(self.motors), np.nan), self.first
        #: Last targets (size,) of joints with several degrees of freedom, by joint id.
        self.multi_dof_commands: dict[str, Array] = {}

    def _uses_servos(self) -> bool:
        return settings(self.rig).drive == "SERVO" or ("knuckle.drive", 0) in self.settings

    def _uses_physics(self) -> bool:
        return settings(self.rig).drive != "KEYS" or ("knuckle.drive", 0) in self.settings

    def _gait(self) -> Gait | None:
        """Return the gait to track; None where its document cannot be read, which the report then says."""
        try:
            return gait.current_gait(self.rig) if gait.tracks_gait(self.rig) else None
        except FormatError as error:
            report = Report()
            report.add("error", "gait-unreadable", Message("Gait: not readable. {}", error))
            add_to_report(self.rig, report)
            return None

    def _feedback_indices(self) -> dict[str, int]:
        if self.gait is None:
            return {}
        place = {record_of(obj).source_id: number for number, obj in enumerate(self.plant.bodies)}
        return {body: place[body] for body in self.gait.feedback_bodies if body in place}

    def _gait_indices(self, velocity: bool) -> tuple[list[int], list[int]]:
        """Return the indices of joints whose position, or velocity, the gait sets, and the rows of its output."""
        told = [] if self.gait is None else self.gait.spun if velocity else self.gait.held
        row = {joint: number for number, joint in enumerate(told)}
        ours = [number for number, joint in enumerate(self.plant.joints) if joint in row]
        return ours, [row[self.plant.joints[number]] for number in ours]

    def _key_sources(self) -> list[Callable[[float], float]]:
        """Return a function of the frame for each servo that gives its target from the bones; nan without a target."""
        out: list[Callable[[float], float]] = []
        channels = servo_channels(self.rig)
        for joint, empty in zip(self.plant.joints, self.plant.empties, strict=True):
            channel = channels[joint][0] if joint in channels else None
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
                    partial(_current_channel_value, self.rig.pose.bones[channel.bone], channel.prop, channel.index)
                )
        return out

    def _channel_stops(self) -> Array:
        """Return the stops of the servos' channels (3, n), as ``clamp_bone_values`` takes them."""
        dofs = [record_of(empty).joint.dofs[0] for empty in self.plant.empties]
        ends = [stop_range(channel_stops(dof, dof.channel, dof.channel_index)) for dof in dofs]
        return np.array(ends).reshape(-1, 3).T

    # ---------------------------------------------------------------- each frame

    def scene_frame_of(self, frame: int) -> float:
        """Return the frame of the scene's own time for a frame of the simulation."""
        return self.first + (frame - self.first) / self.stretch

    def drive_at(self, frame: float) -> str:
        """Return the drive (KEYS, SERVO or LIMP) at a frame; it may be keyed."""
        curve = self.settings.get(("knuckle.drive", 0))
        if curve is None:
            return settings(self.rig).drive
        return DRIVES[min(max(int(curve.evaluate(frame)), 0), len(DRIVES) - 1)]

    def stand_on_ground(self) -> bool:
        """Raise a mechanism that begins inside its ground, at the first frame of a simulation.

        Note:
            Blender would throw it out of the ground.

        Returns:
            Whether it was raised.
        """
        if self.drive == "KEYS" or not settings(self.rig).has_ground:
            return False
        children, measured = collision_children(self.rig), PointsByMesh()
        bodies = zip(self.plant.bodies, self.plant.poses()[:-1], strict=True)
        lowest = min((lowest_point(obj, children.get(obj, ()), pose, measured) for obj, pose in bodies), default=0.0)
        if lowest >= -1e-4:
            return False
        raise_model(self.rig, settings(self.rig).ground_offset - float(lowest))
        return True

    def set_drive(self, drive: str) -> None:
        """Make the bodies follow their bones, or physics."""
        if drive != self.drive:
            self.drive = drive
            set_kinematic(self.bodies, drive == "KEYS")
            if drive == "KEYS":
                raise_model(self.rig, 0.0)

    def start(self) -> InitialStatePin:
        """Prepare the mechanism before the first step: stops, forces, motors and the poses of its objects.

        Returns:
            The held initial state, which the caller releases after the step.
        """
        poses = self.plant.poses()
        own, size = to_own_lengths(poses)
        carried = ReflectedInertia(self.plant, own) if self.forces else None
        self._start, self._last = self.plant.coordinates(poses), None
        turned = self._turned(self._start)
        begun = initial_joint_coordinates(self.plant, turned)
        for force in self.forces:
            assert carried is not None
            if isinstance(force.motors, DofMotors):
                force.motors.begun = begun.get(force.motors.joint.joint.id)
            force.mark(carried, own, self._rate())
        motors = [each.motors for each in (*self.several, *self.forces)]
        marked = [each.mark(own) for each in motors]
        places = {empty: to_world_pose(place, size) for each in marked for empty, place in each.items()}
        thrown = next((force.speeds() for force in self.forces if isinstance(force, InitialVelocityImpulse)), {})
        for each in (*self.several, *self.forces):
            if isinstance(each.motors, DofMotors):
                each.motors.thrown = thrown.get(each.motors.joint.joint.id)
        lone = [thrown[joint][0] if joint in thrown else 0.0 for joint in self.plant.joints]
        self._course = (
            VelocityHistory.from_initial_velocity(np.array(lone))
            if thrown
            else VelocityHistory.at_rest(len(self.motors))
        )
        beginning = InitialStatePin(self.scene, self.plant)
        for stop in self.counted:
            stop.mark(float(turned[stop.number]))
        beginning.hold(poses, turned, places)
        return beginning

    def step(self, frame: int) -> None:
        """Set the commands of all motors for the step from ``frame - 1`` to ``frame``."""
        self.set_drive(self.drive_at(self.scene_frame_of(frame)))
        self.told, self.commanded_frame, self.multi_dof_commands = np.full(len(self.motors), np.nan), frame, {}
        self._live.look(self.scene_frame_of(frame - 1))
        poses = self.plant.poses()
        own = to_own_lengths(poses)[0] if self.forces or self.several else poses
        for force in self.forces:
            force.command(own, self._rate())
        if self.counted:
            actual = self.plant.coordinates(poses)
            for stop in self.counted:
                stop.look(float(actual[stop.number]))
        if not self.several and all(motor is None for motor in self.motors):
            return
        if self._law() == "PD" and self.plant.servos.inertia is None:
            self._choose_gains(poses)
        self._command(frame, poses)
        places = [self.scene_frame_of(frame + step) for step in (-2, -1, 0, 1)]
        told = self.drive == "SERVO" and self.gait is None
        for each in self.several:
            aims = each.key_targets(self._curves, self._live, places) if told else None
            self.multi_dof_commands[each.motors.joint.joint.id] = each.command(own, aims, self._law(), self._rate())

    def _turned(self, actual: Array | None = None) -> Array:
        """Return the initial joint values (n,) with the bones' whole turns.

        Args:
            actual: Measured joint values (n,); None before they are known, when the records' are used.
        """
        told = self._key_targets(self.scene_frame_of(self.first))
        if actual is None:
            begun = [initial_dof_coordinates(record_of(empty).joint.dofs[0])[0] for empty in self.plant.empties]
            return np.where(np.isnan(told), begun, told)
        return unwrap_to(actual, np.where(np.isnan(told), bone_coordinates(self.plant), told), self.plant.turns)

    def _choose_gains(self, poses: Array) -> None:
        poses = to_own_lengths(poses)[0]
        carried = ReflectedInertia(self.plant, poses)
        self.plant.servos.inertia = carried.of_single_dof_joints(self.plant)
        for each in self.several:
            each.servos.inertia = carried.of_multi_dof_joint(
                each.motors.joint, each.motors.joint.coordinates(poses[None])[0]
            )

    def _law(self) -> str:
        law = settings(self.rig).law
        return ("TRACK" if self.gait is None else "JUICE") if law == "AUTO" else law

    def _rate(self) -> float:
        """Return how many commands motors get per second of the mechanism's time."""
        return step_rate(self.scene)

    def _command(self, frame: int, poses: Array) -> None:
        servos, actual, rate = self.plant.servos, self.plant.coordinates(poses), self._rate()
        if self._start is None:  # an undo during a simulation
            self._start = actual
        before = wanted = np.full(len(actual), math.nan)
        speed, spin = np.zeros(len(actual)), np.zeros(len(actual), dtype=bool)
        if self.drive == "SERVO" and self.gait is not None:
            before, speed, spin = self._gait_targets(frame, poses)
            wanted = before
        elif self.drive == "SERVO":
            before, wanted = (
                self._key_targets(self.scene_frame_of(frame - 1)),
                self._key_targets(self.scene_frame_of(frame)),
            )
        if self.drive == "SERVO":
            self._put_live(before, wanted, spin)
        before, wanted = (np.where(servos.locked, self._start, each) for each in (before, wanted))
        if self._last is not None:
            self._course.go_on(self._error(actual, self._last), rate)
        self._last = actual
        law, ahead = self._law(), self._error(wanted, before)
        going = self._steady(frame, ahead) if law == "PD" and self.drive == "SERVO" else None
        velocity, force = motor_commands(law, servos, ahead, self._error(before, actual), self._course, rate, going)
        self.told = np.where(np.logical_or(spin, servos.limit <= 0.0), np.nan, wanted)
        self._write(np.where(spin, speed, velocity) * self._lengths, np.where(spin, servos.limit, np.abs(force)))

    def _put_live(self, before: Array, wanted: Array, spin: Array) -> None:
        """Replace the targets of the servos that Live Input moves."""
        servos = live_values(self.rig).servos
        for number, joint in enumerate(self.plant.joints) if servos else ():
            if joint in servos:
                before[number], wanted[number] = servos[joint]
                spin[number] = False

    def _error(self, wanted: Array, actual: Array) -> Array:
        error = wanted - actual
        return np.where(self.plant.turns, (error + math.pi) % (2.0 * math.pi) - math.pi, error)

    def _steady(self, frame: int, ahead: Array) -> Array:
        """Return the change of the keyframes' values within a frame, without jumps."""
        if self.gait is not None:
            return ahead
        places = [self._key_targets(self.scene_frame_of(frame + step)) for step in (-2, -1, 0, 1)]
        last, _, after = (self._error(places[k + 1], places[k]) for k in range(3))
        return np.where(self.plant.servos.locked, 0.0, steady_increment(last, ahead, after))

    def _gait_targets(self, frame: int, poses: Array) -> tuple[Array, Array, Array]:
        """Return target positions (nan: none), target velocities, and a mask of joints with a target velocity."""
        assert self.gait is not None
        frames = np.array([self.scene_frame_of(frame)])
        controls = gait.gait_input_values(self.gait, self.rig, frames)
        feedback = {body: feedback_angles(poses[number, :3, :3]) for body, number in self._feedback.items()}
        phase = gait.engine_phase(self.gait, self.rig, self.scene, frames)
        position, velocity = self.gait.evaluate_rows(phase, controls, feedback)
        count = len(self.motors)
        wanted, speed, spin = np.full(count, math.nan), np.zeros(count), np.zeros(count, dtype=bool)
        ours, theirs = self._held
        wanted[ours] = position[theirs, 0]
        ours, theirs = self._has_velocity_target
        speed[ours], spin[ours] = velocity[theirs, 0], True
        return wanted, speed, spin

    def _key_targets(self, frame: float) -> Array:
        """Return the bones' own values at a frame, within their stops; without keyframes their present values.

        Values from keyframes are cached for the next frames, which begin where this one ends.
        """
        if frame in self._told and not self._live.keys:
            values = self._told[frame].copy()
            values[self._posed] = [self._keys[number](frame) for number in self._posed]
        else:
            values = np.array([source(frame) for source in self._keys])
            self._told = dict([*self._told.items()][-3:]) | {frame: values}
        return clamp_bone_values(values, *self._stops)

    def _write(self, velocity: Array, force: Array) -> None:
        """Set the motors whose command changed, since each write costs time."""
        pairs = np.stack([velocity, force], axis=1)
        changed = ~(self._written == pairs)
        self._written = pairs
        for column, values in enumerate((velocity, force)):
            for number in np.flatnonzero(changed[:, column]).tolist():
                motor = self.motors[number]
                if motor is not None:
                    setattr(motor, self._names[number][column], values.item(number))


def _no_target(_frame: float) -> float:
    return math.nan


def _is_bone_target(source: Callable[[float], float]) -> bool:
    return isinstance(source, partial) and source.func is _current_channel_value


def _current_channel_value(bone: bpy.types.PoseBone, prop: str, index: int, _frame: float) -> float:
    return float(getattr(bone, prop)[index])
