"""Motors about the axes of joints with several degrees of freedom: their poses at the start and their commands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ....core.model import DOF_SIZE, Array
from ....core.transforms import rotation_matrix, rotation_vector
from ...data.access import record_of, settings
from ...data.properties.joint import KnuckleMotor
from ..constraints.constraints import UNREACHABLE_VELOCITY
from ..constraints.generic6dof import MotorAxis, dof_directions, most_independent, motor_axes, motor_torque_axis
from ..world.anchor import joint_ends
from ..world.scale import model_scale
from .control_laws import VelocityHistory
from .joint_state import JointStateArrays, MultiDofJoint, coordinates_near, create_joint_motor
from .motors import add_constraint_to_world, enable_constraint, is_motor_missing, remove_from_motor_list

#: Least component of a motor's direction along its joint value's axis: bounds its force near a singular pose.
_MIN_SHARE = 0.05


@dataclass(frozen=True)
class MotorArrays:
    """Motors of one joint as arrays over ``m`` motors, collected once per simulation.

    Attributes:
        empties: Their empties (m); None where the user deleted one.
        x: X (m, 3) of each in the frame of the body that carries it.
        z: Z (m, 3) of each in the frame of the body that carries it.
        by_child: Mask (m,) of those with X on the child and Z on the parent; the others have Z on the child.
        turns: Mask (m,) of those that rotate.
        numbers: Indices (m,) of their joint values.
        signs: 1 where the child is the constraint's first body, else -1 (m,).
    """

    empties: list[bpy.types.Object | None]
    x: Array
    z: Array
    by_child: NDArray[np.bool_]
    turns: NDArray[np.bool_]
    numbers: NDArray[np.intp]
    signs: Array

    @classmethod
    def of(cls, axes: Sequence[MotorAxis], records: Sequence[KnuckleMotor]) -> MotorArrays:
        """Return the arrays of motors with their records."""
        return cls(
            [kept.empty for kept in records],
            np.array([kept.x for kept in records], dtype=np.float64).reshape(-1, 3),
            np.array([kept.z for kept in records], dtype=np.float64).reshape(-1, 3),
            np.array([axle.by_child for axle in axes], dtype=bool),
            np.array([axle.turns for axle in axes], dtype=bool),
            np.array([axle.number for axle in axes], dtype=np.intp),
            np.array([1.0 if axle.child_first else -1.0 for axle in axes]),
        )

    def directions(self, parent: Array, child: Array) -> Array:
        """Return the directions (m, 3) of their torques or forces; the shorter, the nearer to being undefined.

        Args:
            parent: Rotation (3, 3) of the parent.
            child: Rotation (3, 3) of the child.
        """
        carried = self.by_child[:, None]
        x = np.where(carried, self.x @ child.T, self.x @ parent.T)
        z = np.where(carried, self.z @ parent.T, self.z @ child.T)
        return np.where(self.turns[:, None], motor_torque_axis(x, z), x)


@dataclass
class DofMotors:
    """Motors of one joint.

    ``kept`` is the name of their list in the joint's record, ``suffix`` that of their empties; ``turns`` (size,) marks
    the joint values that are angles.
    """

    joint_state: JointStateArrays
    joint: MultiDofJoint
    kept: str
    suffix: str
    turns: NDArray[np.bool_]
    motors: list[MotorAxis] = field(default_factory=list)
    start: Array | None = None
    _last: Array | None = None
    course: VelocityHistory | None = None
    initial_velocity: Array | None = None  # initial velocities (size,); None: it begins at rest
    begun: Array | None = None  # initial joint values (size,), if their whole turns are known
    _written: dict[int, tuple[float, float]] = field(default_factory=dict)
    _arrays: MotorArrays | None = None

    # ---------------------------------------------------------------- at the start

    def mark(self, poses: Array) -> dict[bpy.types.Object, Matrix]:
        """Return the poses of the motors' empties for a simulation that begins.

        The axes that the two bodies of each motor carry are stored in the joint's record.

        Args:
            poses: Poses (bodies + 1, 4, 4) in the mechanism's own lengths.
        """
        values = self.begins(poses)
        self.motors = motor_axes(self.joint.joint.dofs, values)
        here, there = poses[self.joint.parent] @ self.joint.on_parent, poses[self.joint.child] @ self.joint.on_child
        places = {}
        for axle, kept in zip(self.motors, self.records(), strict=True):
            place = np.eye(4)
            place[:3, :3], place[:3, 3] = here[:3, :3] @ axle.frame(), there[:3, 3]
            on_x, on_z = self._carriers(axle, poses)
            kept.x, kept.z = on_x.T @ place[:3, 0], on_z.T @ place[:3, 2]
            places[kept.empty] = Matrix(place.tolist())
        self.start, self._last, self.course, self._arrays = values, None, None, None
        return places

    def begins(self, poses: Array) -> Array:
        """Return the joint values (size,) at which the simulation begins, with the whole turns that are known."""
        return coordinates_near(self.joint, poses, self.begun)

    def initial_speeds(self) -> Array:
        """Return the initial velocities (size,); 0 where it begins at rest."""
        return np.zeros(len(self.turns)) if self.initial_velocity is None else self.initial_velocity

    def records(self) -> list[KnuckleMotor]:
        """Return the records of the motors."""
        return list(getattr(record_of(self.joint.empty).joint, self.kept))

    def _carriers(self, axle: MotorAxis, poses: Array) -> tuple[Array, Array]:
        """Return the rotations (3, 3) of the bodies that carry a motor's X and its Z."""
        parent, child = poses[self.joint.parent][:3, :3], poses[self.joint.child][:3, :3]
        return (child, parent) if axle.by_child else (parent, child)

    # ---------------------------------------------------------------- each frame

    def look(self, poses: Array, rate: float) -> Array:
        """Return the present joint values (size,), with the turns made since the start, and update the course."""
        actual = coordinates_near(self.joint, poses, self.start if self._last is None else self._last)
        if not self.motors:  # an undo during a simulation
            self.motors, self.start = motor_axes(self.joint.joint.dofs, actual), actual
        if self.course is None or self._last is None:
            if self.initial_velocity is not None and len(self.initial_velocity) == len(actual):
                self.course = VelocityHistory.from_initial_velocity(self.initial_velocity)
            else:
                self.course = VelocityHistory.at_rest(len(actual))
        else:
            self.course.go_on(self.difference(actual, self._last), rate)
        self._last = actual
        return actual

    def difference(self, to: Array, since: Array) -> Array:
        """Return the difference between joint values (size,): angles the short way round, balls as a rotation vector.

        The rotation vector is in the joint's frame.
        """
        out = to - since
        at = 0
        for dof in self.joint.joint.dofs:
            if dof.kind == "ball" and out[at : at + 3].any():
                ends = [rotation_matrix(each[at : at + 3]) for each in (to, since)]
                if not np.isnan(out[at : at + 3]).any():
                    out[at : at + 3] = rotation_vector(ends[0] @ ends[1].T)
            elif dof.kind == "rotation":
                out[at] = (out[at] + math.pi) % (2.0 * math.pi) - math.pi
            at += DOF_SIZE[dof.kind]
        return out

    def short(self, change: float) -> float:
        """Return a change of the first joint value, the short way round for an angle."""
        return (change + math.pi) % (2.0 * math.pi) - math.pi if self.turns[0] else change

    def command(
        self, poses: Array, middle: Array, velocity: Array, force: Array, rate: float, exact: bool, slides: bool = True
    ) -> None:
        """Set target velocities and force limits of the motors.

        Args:
            poses: Poses (bodies + 1, 4, 4) in the mechanism's own lengths.
            middle: Joint values (size,) in the middle of the frame, where the motors' axes are taken.
            velocity: Target velocities (size,).
            force: Force limits (size,).
            rate: Frames per second.
            exact: Whether ``force`` is the exact generalized force rather than its limit.
            slides: Whether to set the motors of translations too.
        """
        here = poses[self.joint.parent][:3, :3] @ self.joint.on_parent[:3, :3]
        axes = dof_directions(self.joint.joint.dofs, middle) @ here.T
        turning = self.turns
        size = model_scale(record_of(self.joint.empty).model)  # Blender's velocities are in world lengths
        turn, slide = velocity[turning] @ axes[turning], size * velocity[~turning] @ axes[~turning]
        motors = self._motor_arrays()
        child = rotation_matrix(0.5 * turn / rate) @ poses[self.joint.child, :3, :3]
        across = motors.directions(poses[self.joint.parent, :3, :3], child)
        directions = across / np.maximum(np.linalg.norm(across, axis=1), 1e-30)[:, None]
        most = self._most(motors, across, directions, axes, force, exact)
        # positive as the first body moves relative to the second, for translations the other way round
        commanded = motors.signs * np.where(motors.turns, directions @ turn, directions @ slide)
        self._write(motors, commanded, most, motors.turns | slides)

    def push(self, poses: Array, middle: Array, force: Array, turns: bool = True) -> None:
        """Apply generalized forces through the motors, whatever the velocity.

        Args:
            poses: Poses (bodies + 1, 4, 4) in the mechanism's own lengths.
            middle: Joint values (size,) at which the motors' axes are taken.
            force: Generalized forces (size,); of a ball along its parent's axes.
            turns: Whether to set the motors of rotations too.
        """
        here = poses[self.joint.parent][:3, :3] @ self.joint.on_parent[:3, :3]
        axes = dof_directions(self.joint.joint.dofs, middle) @ here.T
        motors = self._motor_arrays()
        across = motors.directions(poses[self.joint.parent, :3, :3], poses[self.joint.child, :3, :3])
        directions = across / np.maximum(np.linalg.norm(across, axis=1), 1e-30)[:, None]
        forces = np.zeros(len(across))
        for turning in (True, False):
            own = np.flatnonzero(motors.turns == turning)
            used = own[most_independent(across[own])] if len(own) > 3 else own
            if len(used):
                parts = axes[self.turns == turning] @ directions[used].T
                forces[used] = np.linalg.pinv(parts, rcond=_MIN_SHARE) @ force[self.turns == turning]
        way = np.copysign(UNREACHABLE_VELOCITY, motors.signs * forces)
        self._write(motors, way, np.abs(forces), ~motors.turns | turns)

    def _motor_arrays(self) -> MotorArrays:
        if self._arrays is None:
            self._arrays = MotorArrays.of(self.motors, self.records())
        return self._arrays

    def _most(
        self, motors: MotorArrays, across: Array, directions: Array, axes: Array, force: Array, exact: bool
    ) -> Array:
        """Return the force limit of each motor.

        Limits are those of single joint values: for rotations, along the motion of that value while the other motors
        hold. For exact forces, the rotational motors get the components that add up to them. Of more than three motors,
        those are used whose directions are far from one plane and from becoming undefined, near which they rotate fast.

        Args:
            motors: The motors.
            across: Directions (motors, 3) of the motors.
            directions: Unit directions (motors, 3).
            axes: Axes (size, 3) of the joint values.
            force: Force limits or exact forces (size,).
            exact: Whether ``force`` is exact.
        """
        own = motors.numbers
        share = np.abs(np.einsum("ni,ni->n", directions, axes[own]))
        turning = np.flatnonzero(motors.turns)
        used = turning[most_independent(across[turning])] if len(turning) > 3 else turning
        if 1 < len(turning) <= 3:
            moved = np.linalg.pinv(directions[used] @ axes[own[used]].T, rcond=0.1 * _MIN_SHARE)
            share[used] = 1.0 / np.maximum(np.abs(np.diagonal(moved)), 1.0)
        out = np.where(np.any(directions, axis=1), np.abs(force[own]) / np.maximum(share, _MIN_SHARE), 0.0)
        if len(used) < len(turning):
            idle = np.ones(len(out), dtype=bool)
            idle[used] = False
            out[turning[idle[turning]]] = 0.0
        if exact and len(used) > 1:
            parts = axes[self.turns] @ directions[used].T
            out[used] = np.abs(np.linalg.pinv(parts, rcond=_MIN_SHARE) @ force[self.turns])
        return out

    def _write(self, motors: MotorArrays, velocity: Array, force: Array, which: NDArray[np.bool_]) -> None:
        """Write the commands (m,) of some motors that changed."""
        for number in np.flatnonzero(which).tolist():
            command, empty = (velocity.item(number), force.item(number)), motors.empties[number]
            if self._written.get(number) == command or empty is None:
                continue  # None: the user deleted it during the simulation
            self._written[number] = command
            motor = empty.rigid_body_constraint
            if motor is None:
                continue
            if motors.turns[number]:
                motor.motor_ang_target_velocity, motor.motor_ang_max_impulse = command
            else:
                motor.motor_lin_target_velocity, motor.motor_lin_max_impulse = command
            enable_constraint(motor, command[1] > 0.0)


def ensure_dof_motors(scene: bpy.types.Scene, own: DofMotors) -> None:
    """Create the missing motors of a joint and connect them."""
    joint_state, item = own.joint_state, own.joint
    joint = record_of(item.empty).joint
    motors: Any = getattr(joint, own.kept)
    wanted = motor_axes(item.joint.dofs, np.zeros(sum(DOF_SIZE[dof.kind] for dof in item.joint.dofs)))
    remove_from_motor_list(motors, range(len(wanted), len(motors)))
    while len(motors) < len(wanted):
        motors.add()
    for motor in motors:
        if is_motor_missing(scene, motor.empty):
            motor.empty = create_joint_motor(joint_state.rig, item.empty, own.suffix)
    ends = joint_ends(joint, settings(joint_state.rig).anchor)
    for axle, motor in zip(wanted, motors, strict=True):
        motor.dof_index = axle.number
        add_constraint_to_world(scene, motor.empty)
        constraint = motor.empty.rigid_body_constraint
        constraint.type, constraint.enabled, constraint.disable_collisions = "MOTOR", False, True
        constraint.object1, constraint.object2 = ends[::-1] if axle.child_first else ends
        constraint.use_motor_ang, constraint.use_motor_lin = axle.turns, not axle.turns
        constraint.motor_ang_max_impulse = constraint.motor_lin_max_impulse = 0.0
