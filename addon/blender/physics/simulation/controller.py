"""Servo control: once per frame each motor gets the speed that brings it towards its target (``laws``)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import bpy
import numpy as np

from ....core.gait.engine import Gait, feedback_angles
from ....core.model import Array
from ....core.report import FormatError
from ...animation import gait as gaits
from ...animation.gait import live_values
from ...animation.rotation_stops import ends_of, shown
from ...data.access import record_of, settings
from ...data.channels import pose_curves, servo_channels, settings_curves
from ...data.conversion import start_of
from ...data.properties.model import DRIVES
from ...data.rigid_bodies import keep_mass, put_masses
from ...rig.bone_limits import stop_of
from ..actuators.bone_targets import LiveBones
from ..actuators.control_laws import Course, commands, steady
from ..actuators.dof_motors import AxleMotors
from ..actuators.dof_servos import Screw, SeveralServos, has_locked, screws_of, several_servos
from ..actuators.effective_mass import Carried
from ..actuators.initial_velocity import Throws, throws_of
from ..actuators.joint_friction_damping import Losses, losses_of
from ..actuators.joint_state import Plant, as_begun, ensure_motors, ensure_preloads, gather, posed, with_turns
from ..actuators.motors import force_lists, keep_only, still_all
from ..actuators.multi_turn_stops import counted_stops
from ..actuators.point_forces import Pair, pairs_of
from ..actuators.spring_forces import Pushes, pushes_of
from ..bodies.collision import collision_children
from ..bodies.kinematic import follow_bones, lift, moving_bodies
from ..bodies.penetration import Measured, lowest_point
from ..world.rigidbody_world import first_frame, step_rate, stretch
from ..world.scale import in_world, own_lengths, size_of
from .initial_state import Beginning

#: What a motor of a hinge and of a slide is told.
_TURNING = "motor_ang_target_velocity", "motor_ang_max_impulse"
_SLIDING = "motor_lin_target_velocity", "motor_lin_max_impulse"


class ServoRun:
    """One run of a model under physics, from the frame it was started at. Steps go one frame at a time."""

    def __init__(self, scene: bpy.types.Scene, rig: bpy.types.Object) -> None:
        self.scene, self.rig = scene, rig
        self.first = first_frame(scene)
        self.stretch = stretch(scene)
        self.plant: Plant = gather(rig)
        self.settings = settings_curves(rig)
        self.drive = ""
        for obj in self.plant.bodies:
            keep_mass(obj)
            if obj.rigid_body is not None:
                put_masses(obj)
        self.bodies = moving_bodies(rig)
        still_all(rig)
        self.several: list[SeveralServos] = []
        if self._ever_servo() or has_locked(self.plant):
            ensure_motors(scene, self.plant)
            self.several = several_servos(scene, self.plant)
        ensure_preloads(scene, self.plant)
        self.forces: list[Losses | Pushes | Pair | Screw | Throws] = []
        if self._ever_physics():
            self.forces = [
                *losses_of(scene, self.plant),
                *pushes_of(scene, self.plant),
                *pairs_of(scene, self.plant),
                *screws_of(scene, self.plant),
                *throws_of(scene, self.plant),
            ]
            used = {motor.empty for force in self.forces for motor in force.motors.records()}
            for kept in force_lists(rig):
                keep_only(kept, used)
        self.motors = [
            record_of(empty).joint.motor.rigid_body_constraint if record_of(empty).joint.motor is not None else None
            for empty in self.plant.empties
        ]
        self.gait: Gait | None = self._gait()
        self._feel = self._feedback_places()
        self._held, self._spun = (self._gait_places(velocity) for velocity in (False, True))
        self._curves = pose_curves(rig)
        channels = [channel for each in servo_channels(rig).values() for channel in each]
        self._live = LiveBones(rig, {curve for channel in channels for curve in channel.curves()})
        self._keys = self._key_sources()
        self._stops = self._channel_stops()
        self._told: dict[float, Array] = {}
        #: Those without keys, which the user may pose at any frame.
        self._posed = [number for number, source in enumerate(self._keys) if _is_pose(source)]
        self.counted = counted_stops(scene, self.plant, self._turned()) if self._ever_physics() else []
        self._start: Array | None = None
        self._last: Array | None = None
        self._course = Course.at_rest(len(self.motors))
        self._written = np.full((len(self.motors), 2), np.nan)
        #: From the plant's units to the world's: slides of a scaled model are as much longer there.
        self._lengths = np.where(self.plant.turns, 1.0, size_of(rig))
        self._names = [_TURNING if turns else _SLIDING for turns in self.plant.turns]
        #: What each servo was last told to be at, and the frame of that; nan where nothing.
        self.told, self.told_for = np.full(len(self.motors), np.nan), self.first
        #: The same of joints of several degrees (size,), by their ids.
        self.told_several: dict[str, Array] = {}

    def _ever_servo(self) -> bool:
        return settings(self.rig).drive == "SERVO" or ("knuckle.drive", 0) in self.settings

    def _ever_physics(self) -> bool:
        return settings(self.rig).drive != "KEYS" or ("knuckle.drive", 0) in self.settings

    def _gait(self) -> Gait | None:
        """The gait to chase; none where the document that holds it was spoilt, which is said in the report."""
        try:
            return gaits.live_gait(self.rig) if gaits.wants_gait(self.rig) else None
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

    def _gait_places(self, velocity: bool) -> tuple[list[int], list[int]]:
        """Return which of our joints the gait tells positions, or velocities; and which rows of what it tells they
        are."""
        told = [] if self.gait is None else self.gait.spun if velocity else self.gait.held
        row = {joint: number for number, joint in enumerate(told)}
        ours = [number for number, joint in enumerate(self.plant.joints) if joint in row]
        return ours, [row[self.plant.joints[number]] for number in ours]

    def _key_sources(self) -> list[Callable[[float], float]]:
        """Return what tells each servo where its bone is at a frame; nan where there is nothing to chase."""
        out: list[Callable[[float], float]] = []
        channels = servo_channels(self.rig)
        for joint, empty in zip(self.plant.joints, self.plant.empties, strict=True):
            channel = channels[joint][0] if joint in channels else None
            source = None if channel is None else (channel.path, channel.index)
            curve = None if source is None else self._curves.get(source)
            if channel is None or source is None:
                out.append(_nothing)  # closes a loop: no bone, nothing to chase
            elif source in self._live.keys:
                out.append(partial(self._live.at, source))
            elif curve is not None:
                out.append(curve.evaluate)
            elif record_of(empty).joint.follows:
                out.append(_nothing)  # goes where its loop leads it: two motors would fight over that
            else:
                out.append(partial(_as_set, self.rig.pose.bones[channel.bone], channel.prop, channel.index))
        return out

    def _channel_stops(self) -> Array:
        """The stops of each servo as ``shown`` takes them, (3, n)."""
        dofs = [record_of(empty).joint.dofs[0] for empty in self.plant.empties]
        ends = [ends_of(stop_of(dof, dof.channel, dof.channel_index)) for dof in dofs]
        return np.array(ends).reshape(-1, 3).T

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

    def stand_on_ground(self) -> bool:
        """At the first frame of a run under physics, raise a model that begins inside its ground: Blender
        would shoot it out. Whether it was."""
        if self.drive == "KEYS" or not settings(self.rig).has_ground:
            return False
        children, measured = collision_children(self.rig), Measured()
        bodies = zip(self.plant.bodies, self.plant.poses()[:-1], strict=True)
        lowest = min((lowest_point(obj, children.get(obj, ()), pose, measured) for obj, pose in bodies), default=0.0)
        if lowest >= -1e-4:
            return False
        lift(self.rig, settings(self.rig).lift - float(lowest))
        return True

    def set_drive(self, drive: str) -> None:
        """Let the bodies follow their bones, or physics."""
        if drive != self.drive:
            self.drive = drive
            follow_bones(self.bodies, drive == "KEYS")
            if drive == "KEYS":
                lift(self.rig, 0.0)

    def start(self) -> Beginning:
        """Before the first step: put joints on their marks. Whoever calls lets them go when the step is done."""
        poses = self.plant.poses()
        own, size = own_lengths(poses)
        carried = Carried(self.plant, own) if self.forces else None
        self._start, self._last = self.plant.coordinates(poses), None
        turned = self._turned(self._start)
        begun = as_begun(self.plant, turned)
        for force in self.forces:
            assert carried is not None
            if isinstance(force.motors, AxleMotors):
                force.motors.begun = begun.get(force.motors.joint.joint.id)
            force.mark(carried, own, self._rate())
        motors = [each.motors for each in (*self.several, *self.forces)]
        marked = [each.mark(own) for each in motors]
        places = {empty: in_world(place, size) for each in marked for empty, place in each.items()}
        thrown = next((force.speeds() for force in self.forces if isinstance(force, Throws)), {})
        for each in (*self.several, *self.forces):
            if isinstance(each.motors, AxleMotors):
                each.motors.thrown = thrown.get(each.motors.joint.joint.id)
        lone = [thrown[joint][0] if joint in thrown else 0.0 for joint in self.plant.joints]
        self._course = Course.of_thrown(np.array(lone)) if thrown else Course.at_rest(len(self.motors))
        beginning = Beginning(self.scene, self.plant)
        for stop in self.counted:
            stop.mark(float(turned[stop.number]))
        beginning.hold(poses, turned, places)
        return beginning

    def step(self, frame: int) -> None:
        """Command all motors for the step from ``frame - 1`` to ``frame``."""
        self.set_drive(self.drive_at(self.on_scale(frame)))
        self.told, self.told_for, self.told_several = np.full(len(self.motors), np.nan), frame, {}
        self._live.look(self.on_scale(frame - 1))
        poses = self.plant.poses()
        own = own_lengths(poses)[0] if self.forces or self.several else poses
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
        places = [self.on_scale(frame + step) for step in (-2, -1, 0, 1)]
        told = self.drive == "SERVO" and self.gait is None
        for each in self.several:
            aims = each.key_targets(self._curves, self._live, places) if told else None
            self.told_several[each.motors.joint.joint.id] = each.command(own, aims, self._law(), self._rate())

    def _turned(self, actual: Array | None = None) -> Array:
        """Return where a run begins: coordinates (n,) of the plant, those of records where they are not known yet, with
        the whole turns that bones have."""
        told = self._key_targets(self.on_scale(self.first))
        if actual is None:
            begun = [start_of(record_of(empty).joint.dofs[0])[0] for empty in self.plant.empties]
            return np.where(np.isnan(told), begun, told)
        return with_turns(actual, np.where(np.isnan(told), posed(self.plant), told), self.plant.turns)

    def _choose_gains(self, poses: Array) -> None:
        poses = own_lengths(poses)[0]
        carried = Carried(self.plant, poses)
        self.plant.servos.inertia = carried.by_servos(self.plant)
        for each in self.several:
            each.servos.inertia = carried.by_coordinates(
                each.motors.joint, each.motors.joint.coordinates(poses[None])[0]
            )

    def _law(self) -> str:
        law = settings(self.rig).law
        return ("TRACK" if self.gait is None else "JUICE") if law == "AUTO" else law

    def _rate(self) -> float:
        """Return how often motors are commanded, per second of the model's time."""
        return step_rate(self.scene)

    def _command(self, frame: int, poses: Array) -> None:
        servos, actual, rate = self.plant.servos, self.plant.coordinates(poses), self._rate()
        if self._start is None:  # an undo in the middle of a run
            self._start = actual
        before = wanted = np.full(len(actual), math.nan)
        speed, spin = np.zeros(len(actual)), np.zeros(len(actual), dtype=bool)
        if self.drive == "SERVO" and self.gait is not None:
            before, speed, spin = self._gait_targets(frame, poses)
            wanted = before
        elif self.drive == "SERVO":
            before, wanted = self._key_targets(self.on_scale(frame - 1)), self._key_targets(self.on_scale(frame))
        if self.drive == "SERVO":
            self._put_live(before, wanted, spin)
        before, wanted = (np.where(servos.locked, self._start, each) for each in (before, wanted))
        if self._last is not None:
            self._course.go_on(self._error(actual, self._last), rate)
        self._last = actual
        law, ahead = self._law(), self._error(wanted, before)
        going = self._steady(frame, ahead) if law == "PD" and self.drive == "SERVO" else None
        velocity, force = commands(law, servos, ahead, self._error(before, actual), self._course, rate, going)
        self.told = np.where(np.logical_or(spin, servos.limit <= 0.0), np.nan, wanted)
        self._write(np.where(spin, speed, velocity) * self._lengths, np.where(spin, servos.limit, np.abs(force)))

    def _put_live(self, before: Array, wanted: Array, spin: Array) -> None:
        """Have the servos that Live Input moves track that."""
        servos = live_values(self.rig).servos
        for number, joint in enumerate(self.plant.joints) if servos else ():
            if joint in servos:
                before[number], wanted[number] = servos[joint]
                spin[number] = False

    def _error(self, wanted: Array, actual: Array) -> Array:
        error = wanted - actual
        return np.where(self.plant.turns, (error + math.pi) % (2.0 * math.pi) - math.pi, error)

    def _steady(self, frame: int, ahead: Array) -> Array:
        """By how much keys go on within a frame, without their jumps."""
        if self.gait is not None:
            return ahead
        places = [self._key_targets(self.on_scale(frame + step)) for step in (-2, -1, 0, 1)]
        last, _, after = (self._error(places[k + 1], places[k]) for k in range(3))
        return np.where(self.plant.servos.locked, 0.0, steady(last, ahead, after))

    def _gait_targets(self, frame: int, poses: Array) -> tuple[Array, Array, Array]:
        """Wanted positions (nan: not told), wanted speeds, and which joints are told a speed."""
        assert self.gait is not None
        frames = np.array([self.on_scale(frame)])
        controls = gaits.control_values(self.gait, self.rig, frames)
        feedback = {body: feedback_angles(poses[number, :3, :3]) for body, number in self._feel.items()}
        phase = gaits.engine_phase(self.gait, self.rig, self.scene, frames)
        position, velocity = self.gait.rows(phase, controls, feedback)
        count = len(self.motors)
        wanted, speed, spin = np.full(count, math.nan), np.zeros(count), np.zeros(count, dtype=bool)
        ours, theirs = self._held
        wanted[ours] = position[theirs, 0]
        ours, theirs = self._spun
        speed[ours], spin[ours] = velocity[theirs, 0], True
        return wanted, speed, spin

    def _key_targets(self, frame: float) -> Array:
        """The bones' own values at a frame, as far as their stops let them; of channels without keys, what they are set
        to. What keys tell is kept for the next frames, which begin where this one ends."""
        if frame in self._told and not self._live.keys:
            values = self._told[frame].copy()
            values[self._posed] = [self._keys[number](frame) for number in self._posed]
        else:
            values = np.array([source(frame) for source in self._keys])
            self._told = dict([*self._told.items()][-3:]) | {frame: values}
        return shown(values, *self._stops)

    def _write(self, velocity: Array, force: Array) -> None:
        """Set the motors whose command changed: each write costs."""
        pairs = np.stack([velocity, force], axis=1)
        changed = ~(self._written == pairs)
        self._written = pairs
        for column, values in enumerate((velocity, force)):
            for number in np.flatnonzero(changed[:, column]).tolist():
                motor = self.motors[number]
                if motor is not None:
                    setattr(motor, self._names[number][column], values.item(number))


def _nothing(_frame: float) -> float:
    return math.nan


def _is_pose(source: Callable[[float], float]) -> bool:
    return isinstance(source, partial) and source.func is _as_set


def _as_set(bone: bpy.types.PoseBone, prop: str, index: int, _frame: float) -> float:
    return float(getattr(bone, prop)[index])
