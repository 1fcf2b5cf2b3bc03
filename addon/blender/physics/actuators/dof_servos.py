"""Servos: of hinges and sliders, all at once as arrays; of joints with several degrees of freedom; and screw joints.

Joints with several degrees of freedom are universal, euler, planar, translational, cylindrical joints and balls.

Blender has no screw joint: it leaves rotation and translation independent. Once a frame, motors apply a force to the
translation and the reaction (pitch times as much) to the rotation, so that the two meet and a load on one acts on the
other: as in a screw without friction, which runs down under a weight and is raised by a servo. Accelerations between
the two in the last frames are taken into account; a load that begins within a frame is corrected in the next few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import bpy
import numpy as np

from ....core.joint_types import closed_form_coordinates
from ....core.model import DOF_SIZE, Array, Dof, are_angles
from ....core.transforms import nearest_angle
from ...animation.rotation_stops import clamp_bone_values, stop_range
from ...data.access import record_of, settings, world_of
from ...data.channels import Channel, block_rotation, servo_channels
from ...rig.ball_channels import rotation_vectors_as_written
from ...rig.bone_limits import channel_stops
from ..constraints.generic6dof import has_motor_axes
from ..world.anchor import SOFT_CFM
from ..world.scale import model_scale
from .actuator import Actuator, EmptyPoses, JointActuator, JointMotors, SimulationState
from .control_laws import ImplicitPd, ServoErrors, Servos, VelocityHistory, motor_commands, steady_increment
from .dof_motors import DofMotors
from .effective_mass import EffectiveMass
from .joint_state import (
    JointGroup,
    JointStateArrays,
    MultiDofJoint,
    ensure_motors,
    has_both_bodies,
    joint_groups,
)
from .motors import enable_constraint

if TYPE_CHECKING:
    from .servo_targets import ServoTargets

_SCREW_SUFFIX = " Screw"
#: Share of the position error, and of the velocity error, between rotation and translation that is corrected per frame:
#: stable even if the masses moved are twice those assumed.
_RETURN_SHARE, _BRAKE_SHARE = 0.35, 0.8


@dataclass
class ScrewCoupling(JointActuator):
    """Coupling of a screw joint, simulated as a cylindrical joint with two joint values."""

    scene: bpy.types.Scene
    motors: DofMotors
    pitch: float
    size: float = 1.0  # scale of the mechanism in the world
    inverse_mass: float = (
        0.0  # 1/kg: acceleration between the two per force on the translation, with the rotation's reaction
    )
    first: float = 0.0  # acceleration of the translation when a simulation begins: that of its weight
    _turned: float | None = None
    _apart: tuple[float, ...] = ()
    _pushed: tuple[float, ...] = ()

    def choose(self, state: SimulationState) -> None:
        """Compute masses and weight at the first frame."""
        (joint,), poses, carried = self.motors.group.joints, state.poses, state.inertia
        turn, slide = carried.of_multi_dof_joint(joint, joint.coordinates(poses[None])[0])
        self.size = model_scale(record_of(joint.empty).model)
        self.inverse_mass = 1.0 / slide + self.size * self.pitch**2 / turn
        self._turned, self._apart, self._pushed = None, (), ()
        axis = poses[joint.parent][:3, :3] @ joint.on_parent[:3, :3] @ joint.joint.dofs[0].axis
        free = [not carried.stands(body) for body in (joint.child, joint.parent)]
        weight = float(np.array(self.scene.gravity) @ axis) if self.scene.use_gravity else 0.0
        self.first = weight * (free[0] - free[1]) * world_of(self.scene).effector_weights.gravity / self.size

    def update(self, state: SimulationState) -> None:
        """Apply forces for the next frame."""
        if not self.inverse_mass:
            return  # an undo during a simulation: the last commands stay
        poses, rate = state.poses, state.rate
        actual = self.motors.look(poses, rate)
        turned, moved = actual[0].tolist()
        if self._turned is None:  # the nearest to the translation's: it may begin after several turns
            self._turned = nearest_angle(turned, moved / self.pitch) if self.pitch else turned
        self._turned += self.motors.short(turned - self._turned)
        push = self._push(moved - self.pitch * self._turned, 1.0 / rate)
        course = self.motors.course
        assert course is not None
        middle = actual + 0.5 * (course.speed + course.change) / rate
        self.motors.push(poses, middle, np.array([[-self.size * self.pitch * push, push]]))

    def _push(self, apart: float, time: float) -> float:
        """Return the force (N) along the screw's axis for the next frame.

        Args:
            apart: Translation minus pitch times rotation.
            time: Duration of the frame (s).
        """
        substeps = world_of(self.scene).substeps_per_frame
        step, speed, other = time / substeps, 0.0, self.first
        if self._apart:
            gone = apart - self._apart[-1]
            own = self._pushed[-1] * self.inverse_mass
            if len(self._apart) > 1:
                late = 0.5 * (1.0 + step / time)
                recent_force = late * self._pushed[-1] + (1.0 - late) * self._pushed[-2]
                other = (gone - (self._apart[-1] - self._apart[-2])) / time**2 - recent_force * self.inverse_mass
            speed = gone / time + 0.5 * (time - step) * (own + other)
        push = -((_RETURN_SHARE * apart / time + _BRAKE_SHARE * speed) / time + other) / self.inverse_mass
        self._apart, self._pushed = (*self._apart[-1:], apart), (*self._pushed[-1:], push)
        return push


def is_screw_joint(item: MultiDofJoint) -> bool:
    """Return whether a joint is a screw joint."""
    return [dof.kind for dof in item.joint.dofs] == ["screw"]


def as_cylindrical_joint(item: MultiDofJoint) -> MultiDofJoint:
    """Return a screw joint as a cylindrical joint: rotation and translation."""
    axis = item.joint.dofs[0].axis
    dofs = [Dof("rotation", axis), Dof("translation", axis)]
    return replace(item, joint=replace(item.joint, dofs=dofs), quick=closed_form_coordinates(dofs))


def screw_couplings(scene: bpy.types.Scene, joint_state: JointStateArrays) -> list[ScrewCoupling]:
    """Return the couplings of a mechanism's screw joints."""
    out = []
    for item in joint_state.multi_dof_joints:
        if is_screw_joint(item) and has_both_bodies(joint_state, record_of(item.empty).joint):
            both = JointGroup.of([as_cylindrical_joint(item)])
            motors = DofMotors(joint_state, both, "spring_motors", _SCREW_SUFFIX)
            out.append(ScrewCoupling(scene, motors, item.joint.dofs[0].pitch))
    return out


_SUFFIX = " Motor"
#: Properties of the command of a hinge's motor and of a slider's.
_ANGULAR_MOTOR = "motor_ang_target_velocity", "motor_ang_max_impulse"
_LINEAR_MOTOR = "motor_lin_target_velocity", "motor_lin_max_impulse"


class SingleDofServos:
    """Servos of all hinges and sliders of a mechanism.

    Attributes:
        last_targets: Targets (n,) at the end of the last commanded step; nan where no motor acts.
    """

    def __init__(self, joint_state: JointStateArrays, targets: ServoTargets, has_motors: bool) -> None:
        self._joint_state, self._targets, self._has_motors = joint_state, targets, has_motors
        count = len(joint_state.joints)
        self._motors: list[bpy.types.RigidBodyConstraint | None] = [None] * count
        self._start: Array | None = None
        self._last: Array | None = None
        self._course = VelocityHistory.at_rest(count)
        self._written = np.full((count, 2), np.nan)
        #: Factors from the joints' units to the world's: the scale for sliders.
        self._lengths = np.where(joint_state.turns, 1.0, model_scale(joint_state.rig))
        self._spin: list[Array] = []  # target velocities (n,), and the servos to which they apply
        self._names = [_ANGULAR_MOTOR if turns else _LINEAR_MOTOR for turns in joint_state.turns]
        self.last_targets = np.full(count, np.nan)

    def prepare(self, scene: bpy.types.Scene) -> None:
        """Create the missing motors, where servos drive the mechanism at some frame."""
        if self._has_motors:
            ensure_motors(scene, self._joint_state)
        motors = (record_of(empty).joint.motor for empty in self._joint_state.empties)
        self._motors = [None if motor is None else motor.rigid_body_constraint for motor in motors]

    def start(self, state: SimulationState) -> EmptyPoses:
        """Prepare for the first step."""
        self._start, self._last = state.coordinates, None
        begun = state.velocities
        if begun:
            speeds = np.array([begun[joint][0] if joint in begun else 0.0 for joint in self._joint_state.joints])
            self._course = VelocityHistory.from_initial_velocity(speeds)
        else:
            self._course = VelocityHistory.at_rest(len(self._motors))
        return {}

    @property
    def servos(self) -> Servos:
        """Parameters of the servos."""
        return self._joint_state.servos

    @property
    def joints(self) -> list[MultiDofJoint]:
        """The joints, for the inertia that their motors move."""
        return self._joint_state.servo_joints

    def values(self, state: SimulationState) -> list[Array]:
        """Return the joint values (1,) of each joint."""
        return list(state.coordinates[:, None])

    def chosen_inertia(self, state: SimulationState) -> Array:
        """Return the moment of inertia or mass (n,) for which missing gains are chosen."""
        return state.inertia.of_single_dof_joints(self._joint_state)

    def errors(self, state: SimulationState) -> ServoErrors | None:
        """Return targets and errors before the next frame; None without motors."""
        self.last_targets = np.full(len(self._motors), np.nan)
        if all(motor is None for motor in self._motors):
            return None
        servos, actual, rate = self.servos, state.coordinates, state.rate
        if self._start is None:  # an undo during a simulation
            self._start = actual
        targets = self._targets
        before, wanted, *self._spin = targets.of_step(state.frame, state.drive, state.poses)
        before, wanted = (np.where(servos.locked, self._start, each) for each in (before, wanted))
        if self._last is not None:
            self._course.go_on(targets.difference(actual, self._last), rate)
        self._last = actual
        ahead = targets.difference(wanted, before)
        steady = ahead
        if state.law == "PD" and state.drive == "SERVO":
            steady = np.where(servos.locked, 0.0, targets.steady_change(state.frame, ahead))
        self.last_targets = np.where(np.logical_or(self._spin[1], servos.limit <= 0.0), np.nan, wanted)
        return ServoErrors(ahead, targets.difference(before, actual), steady, self._course.speed)

    def apply(self, state: SimulationState, velocity: Array, force: Array) -> None:
        """Set the motors to target velocities and forces (n,)."""
        speed, spin = self._spin
        limit = self.servos.limit
        self._write(np.where(spin, speed, velocity) * self._lengths, np.where(spin, limit, np.abs(force)))

    def _write(self, velocity: Array, force: Array) -> None:
        """Set the motors whose command changed, since each write costs time."""
        pairs = np.stack([velocity, force], axis=1)
        changed = ~(self._written == pairs)
        self._written = pairs
        for column, values in enumerate((velocity, force)):
            for number in np.flatnonzero(changed[:, column]).tolist():
                motor = self._motors[number]
                if motor is not None:
                    setattr(motor, self._names[number][column], values.item(number))
                    if column:
                        enable_constraint(motor, values.item(number) > 0.0)


@dataclass
class MultiDofServos(JointMotors):
    """Servos of joints (n) with the same kinds of several degrees of freedom (size).

    Parameters, errors and commands are in rows (n size,) joint by joint, as those of all servos of a mechanism.

    Attributes:
        motors: Their motors.
        targets: Targets of the mechanism's servos.
        channels: Channels of the bones of each joint.
        servos: Parameters of the servos (n size,), joint by joint.
        stops: Stops (3, n, size) of the joint values, as ``clamp_bone_values`` takes them.
        last_targets: Targets (n, size) at the end of the last commanded step; nan where no motor acts.
    """

    motors: DofMotors
    targets: ServoTargets
    channels: Sequence[Sequence[Channel]]
    servos: Servos
    stops: Array
    last_targets: Array
    _actual: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def joints(self) -> list[MultiDofJoint]:
        """The joints, for the inertia that their motors move."""
        return self.motors.group.joints

    def values(self, state: SimulationState) -> list[Array]:
        """Return the joint values (size,) of each joint."""
        return list(self._actual)

    def chosen_inertia(self, state: SimulationState) -> Array:
        """Return the moment of inertia or mass (n size,) for which missing gains are chosen."""
        values = self.motors.group.coordinates(state.poses)
        inertias = map(state.inertia.of_multi_dof_joint, self.joints, values)
        return np.concatenate(list(inertias))

    def errors(self, state: SimulationState) -> ServoErrors:
        """Return targets and errors before the next frame; without targets only locked joint values have any."""
        motors, wanted = self.motors, np.full((4, *self.motors.group.shape), math.nan)
        if state.drive == "SERVO" and self.targets.gait is None:
            keyed = self._key_targets([self.targets.scene_frame_of(state.frame + step) for step in (-2, -1, 0, 1)])
            wanted[..., : keyed.shape[2]] = keyed
        actual = self._actual = motors.look(state.poses, state.rate)
        assert motors.course is not None and motors.start is not None
        wanted = np.where(self.servos.locked.reshape(actual.shape), motors.start, wanted)
        last, ahead, after = motors.difference(wanted[1:], wanted[:-1])
        idle = (self.servos.free | (self.servos.limit <= 0.0)).reshape(actual.shape)
        self.last_targets = np.where(idle, math.nan, wanted[2])
        found = ahead, motors.difference(wanted[1], actual), steady_increment(last, ahead, after), motors.course.speed
        return ServoErrors(*(each.ravel() for each in found))

    def apply(self, state: SimulationState, velocity: Array, force: Array) -> None:
        """Set the motors to target velocities and forces (n size,)."""
        velocity, force = (each.reshape(self._actual.shape) for each in (velocity, force))
        middle = self._actual + 0.5 * velocity / state.rate
        self.motors.command(state.poses, middle, velocity, force, state.rate, state.law == "PD")

    def _key_targets(self, frames: Sequence[float]) -> Array:
        """Return the targets (frames, n, channels) of the bones at frames, within their stops.

        Channels without keyframes keep their present values.
        """
        read, count = self.targets.channel_values, len(self.channels[0])
        single = np.array([channel.is_single for channel in self.channels[0]])
        out = np.empty((len(frames), len(self.channels), count))
        for row, own in enumerate(self.channels):
            for channel in own:
                if channel.is_single:
                    out[:, row, channel.dof_index] = read(channel.path, channel.index, frames)
        out[..., single] = clamp_bone_values(out[..., single], *self.stops[..., :count][..., single])
        if not single.all():
            first = [own[int(np.argmin(single))] for own in self.channels]  # of each ball
            turns = [[read(channel.path, index, frames) for index in range(4)] for channel in first]
            rotations = np.array([block_rotation(self.motors.joint_state.rig, channel.bone) for channel in first])
            out[..., ~single] = rotation_vectors_as_written(
                np.array(turns).transpose(2, 0, 1), rotations, np.array([channel.is_reversed for channel in first])
            )
        return out


#: Steps after which the inertia that servos move is computed again.
_INERTIA_INTERVAL = 2


class ServoGroup(Actuator):
    """All servos of a mechanism: their control law is computed for all joints together."""

    def __init__(self, scene: bpy.types.Scene, members: Sequence[SingleDofServos | MultiDofServos]) -> None:
        self._scene, self._members = scene, members
        self._pd = ImplicitPd()
        self._response: Array | None = None
        self._age = 0
        #: Masses of the bodies and their effective masses.
        self._known: tuple[list[float], EffectiveMass] | None = None

    def prepare(self, scene: bpy.types.Scene) -> None:
        """Create the missing motors."""
        for each in self._members:
            each.prepare(scene)

    def start(self, state: SimulationState) -> EmptyPoses:
        """Prepare for the first step, and return the poses of the motors' empties."""
        self._pd, self._response, self._known = ImplicitPd(), None, None
        return {empty: place for each in self._members for empty, place in each.start(state).items()}

    def update(self, state: SimulationState) -> None:
        """Set the motors for the next frame."""
        known = [(each, each.errors(state)) for each in self._members]
        members = [(each, errors) for each, errors in known if errors is not None]
        if not members:
            return
        if state.law == "PD":
            for each, _ in members:
                if each.servos.inertia is None:
                    each.servos.inertia = each.chosen_inertia(state)
        servos, errors = (
            Servos.joined([each.servos for each, _ in members]),
            ServoErrors.joined([own for _, own in members]),
        )
        cfm = settings(state.joint_state.rig).cfm
        if state.law == "PD" or (state.law == "JUICE" and cfm > SOFT_CFM):
            gains = servos.pd_gains() if state.law == "PD" else servos.juice_gains(cfm)
            errors = errors if state.law == "PD" else errors.at_end()
            response = self._response_of([each for each, _ in members], state)
            substeps = world_of(self._scene).substeps_per_frame
            velocity, force = self._pd.commands(servos, gains, errors, response, state.rate, substeps)
        else:
            velocity, force = motor_commands(state.law, servos, errors, state.rate)
        at = 0
        for each, own in members:
            span = slice(at, at + len(own.error))
            each.apply(state, velocity[span], force[span])
            at = span.stop

    def _response_of(self, members: Sequence[SingleDofServos | MultiDofServos], state: SimulationState) -> Array:
        """Return the inverse joint-space inertia (n, n) of the members' joint values, not older than a few steps."""
        if self._response is None or self._age >= _INERTIA_INTERVAL:
            joints = [joint for each in members for joint in each.joints]
            values = [value for each in members for value in each.values(state)]
            self._response = self._effective_mass(state).joint_space_response(joints, values, state.poses)
            self._age = 0
        self._age += 1
        return self._response

    def _effective_mass(self, state: SimulationState) -> EffectiveMass:
        """Return the effective masses of the bodies, collected again only where a mass was edited meanwhile."""
        bodies = (obj.rigid_body for obj in state.joint_state.bodies)
        masses = [0.0 if body is None else body.mass for body in bodies]
        if self._known is None or self._known[0] != masses:
            self._known = masses, state.inertia.effective_mass
        return self._known[1]


def multi_dof_servos(joint_state: JointStateArrays, targets: ServoTargets) -> list[MultiDofServos]:
    """Return the servos of joints with several degrees of freedom, with motors for those that have any force."""
    channels, format_ = servo_channels(joint_state.rig), settings(joint_state.rig).format
    items: list[MultiDofJoint] = []
    parameters: list[Servos] = []
    stops: list[list[tuple[float, float, float]]] = []
    for joint in joint_state.multi_dof_joints:
        item, screw = (as_cylindrical_joint(joint), 1) if is_screw_joint(joint) else (joint, 0)
        record = record_of(item.empty).joint
        if (
            item.joint.id not in channels
            or not has_motor_axes(item.joint.dofs)
            or not has_both_bodies(joint_state, record)
        ):
            continue
        per_coordinate = [dof for dof in record.dofs for _ in range(DOF_SIZE[dof.kind] + screw)]
        servos = Servos.of(per_coordinate, are_angles(item.joint.dofs), format_)
        servos.free[1:] |= bool(screw)  # a screw's translation follows its rotation
        if (servos.free | (servos.limit <= 0.0)).all() or format_ == "juice":
            continue  # in Juice, balls have no motors, whatever force their file has
        items.append(item)
        parameters.append(servos)
        stops.append([stop_range(channel_stops(dof, dof.channel, dof.channel_index)) for dof in per_coordinate])
    out = []
    for numbers in joint_groups(items, [len(channels[item.joint.id]) for item in items]):
        group = JointGroup.of([items[number] for number in numbers])
        motors = DofMotors(joint_state, group, "motors", _SUFFIX)
        own, joined = [channels[item.joint.id] for item in group.joints], [parameters[number] for number in numbers]
        limits = np.moveaxis(np.array([stops[number] for number in numbers]), -1, 0)
        out.append(MultiDofServos(motors, targets, own, Servos.joined(joined), limits, np.full(group.shape, math.nan)))
    return out


def has_locked_joints(joint_state: JointStateArrays) -> bool:
    """Return whether a mechanism has a locked joint, which motors hold under every drive."""
    empties = [*joint_state.empties, *(item.empty for item in joint_state.multi_dof_joints)]
    return any(dof.actuator == "locked" for empty in empties for dof in record_of(empty).joint.dofs)
