"""Motors about the axes of joints with several degrees of freedom: their poses at the start and their commands.

Joints whose degrees of freedom have the same kinds are computed together, as arrays over ``n`` joints of
``size`` values and ``m`` motors each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ....core.model import DOF_SIZE, Array
from ....core.transforms import make_pose, rotation_matrix, rotation_vector, wrap_angle
from ...data.access import record_of, settings
from ...data.properties.joint import KnuckleMotor
from ..constraints.constraints import UNREACHABLE_VELOCITY
from ..constraints.generic6dof import MotorAxis, most_independent, motor_axes, motor_torque_axis
from ..world.anchor import joint_ends
from ..world.scale import model_scale
from .control_laws import VelocityHistory
from .joint_state import JointGroup, JointStateArrays, create_joint_motor
from .motors import add_constraint_to_world, enable_constraint, is_motor_missing, remove_from_motor_list

#: Least component of a motor's direction along its joint value's axis: bounds its force near a singular pose.
_MIN_SHARE = 0.05


@dataclass(frozen=True)
class MotorArrays:
    """Motors of ``n`` joints with the same kinds of degrees of freedom, ``m`` of each, collected once per simulation.

    Attributes:
        empties: Their empties (n, m); None where the user deleted one.
        x: X (n, m, 3) of each in the frame of the body that carries it.
        z: Z (n, m, 3) of each in the frame of the body that carries it.
        by_child: Mask (m,) of those with X on the child and Z on the parent; the others have Z on the child.
        numbers: Indices (m,) of their joint values.
        signs: 1 where the child is the constraint's first body, else -1 (m,).
    """

    empties: list[list[bpy.types.Object | None]]
    x: Array
    z: Array
    by_child: NDArray[np.bool_]
    numbers: NDArray[np.intp]
    signs: Array

    @classmethod
    def of(cls, axes: Sequence[MotorAxis], records: Sequence[Sequence[KnuckleMotor]]) -> MotorArrays:
        """Return the arrays of motors with their records, which the joints (n) have for the same axes (m)."""
        shape = (len(records), len(axes), 3)
        return cls(
            [[kept.empty for kept in own] for own in records],
            np.array([[kept.x for kept in own] for own in records], dtype=np.float64).reshape(shape),
            np.array([[kept.z for kept in own] for own in records], dtype=np.float64).reshape(shape),
            np.array([axle.by_child for axle in axes], dtype=bool),
            np.array([axle.number for axle in axes], dtype=np.intp),
            np.array([1.0 if axle.child_first else -1.0 for axle in axes]),
        )


@dataclass
class DofMotors:
    """Motors of joints with the same kinds of degrees of freedom.

    Attributes:
        joint_state: The mechanism.
        group: The joints.
        kept: Name of the motors' list in the records of the joints.
        suffix: Suffix of the names of their empties.
        start: Joint values (n, size) at which the simulation began; None before it, and after an undo.
        course: Motion of the joint values (n, size) so far.
        turning: Mask (m,) of the motors that rotate.
    """

    joint_state: JointStateArrays
    group: JointGroup
    kept: str
    suffix: str
    start: Array | None = None
    course: VelocityHistory | None = None
    turning: NDArray[np.bool_] = field(init=False)
    _known_values: Array | None = None  # initial joint values (n, size); nan where their whole turns are unknown
    _initial_velocity: Array | None = None  # initial velocities (n, size); None: they begin at rest
    _last: Array | None = None
    _written: Array | None = None  # (n, m, 2)
    _arrays: MotorArrays | None = None

    def __post_init__(self) -> None:
        self.turning = np.array([axle.turns for axle in self.layout()], dtype=bool)

    def layout(self) -> list[MotorAxis]:
        """Return the motors of the first joint; those of the others, and in other poses, have another X and Z."""
        return motor_axes(self.group.joints[0].joint.dofs, np.zeros(len(self.group.kinds)))

    # ---------------------------------------------------------------- at the start

    def set_initial_state(self, values: Mapping[str, Array], velocities: Mapping[str, Array]) -> None:
        """Take what is known at the first frame, by joint id.

        Args:
            values: Initial joint values (size,), with whole turns.
            velocities: Initial velocities (size,); empty if all joints begin at rest.
        """
        self._known_values = np.full(self.group.shape, math.nan)
        speeds = np.zeros(self.group.shape)
        for known, out in ((values, self._known_values), (velocities, speeds)):
            for row, item in enumerate(self.group.joints):
                own = known.get(item.joint.id)
                if own is not None and len(own) == len(self.group.kinds):
                    out[row] = own
        self._initial_velocity = speeds if velocities else None

    def mark(self, poses: Array) -> dict[bpy.types.Object, Matrix]:
        """Return the poses of the motors' empties for a simulation that begins.

        The axes that the two bodies of each motor carry are stored in the joints' records.

        Args:
            poses: Poses (bodies + 1, 4, 4) in the mechanism's own lengths.
        """
        values = self.initial_values(poses)
        places = {}
        for item, own, records in zip(self.group.joints, values, self._records(), strict=True):
            here, there = poses[item.parent] @ item.on_parent, poses[item.child] @ item.on_child
            parent, child = poses[item.parent][:3, :3], poses[item.child][:3, :3]
            for axle, kept in zip(motor_axes(item.joint.dofs, own), records, strict=True):
                place = make_pose(here[:3, :3] @ axle.frame(), there[:3, 3])
                on_x, on_z = (child, parent) if axle.by_child else (parent, child)
                kept.x, kept.z = on_x.T @ place[:3, 0], on_z.T @ place[:3, 2]
                places[kept.empty] = Matrix(place.tolist())
        self.start, self._last, self.course, self._arrays = values, None, None, None
        return places

    def initial_values(self, poses: Array) -> Array:
        """Return the joint values (n, size) at which the simulation begins, with the whole turns that are known."""
        return self.group.coordinates(poses, self._known_values)

    def initial_speeds(self) -> Array:
        """Return the initial velocities (n, size); 0 where it begins at rest."""
        return np.zeros(self.group.shape) if self._initial_velocity is None else self._initial_velocity

    def _records(self) -> list[list[KnuckleMotor]]:
        """Return the records of the motors of each joint."""
        return [list(getattr(record_of(item.empty).joint, self.kept)) for item in self.group.joints]

    def records(self) -> list[KnuckleMotor]:
        """Return the records of all motors."""
        return [kept for own in self._records() for kept in own]

    # ---------------------------------------------------------------- each frame

    def look(self, poses: Array, rate: float) -> Array:
        """Return the present joint values (n, size), with the turns made since the start, and update the course."""
        actual = self.group.coordinates(poses, self.start if self._last is None else self._last)
        if self.start is None:  # an undo during a simulation
            self.start = actual
        if self.course is None or self._last is None:
            if self._initial_velocity is not None:
                self.course = VelocityHistory.from_initial_velocity(self._initial_velocity)
            else:
                self.course = VelocityHistory.at_rest(actual.shape)
        else:
            self.course.go_on(self.difference(actual, self._last), rate)
        self._last = actual
        return actual

    def difference(self, to: Array, since: Array) -> Array:
        """Return the difference between joint values (..., size): of angles the short way round.

        That of a ball is a rotation vector in the joint's frame.
        """
        out, at = to - since, 0
        for kind in self.group.dof_kinds:
            size = DOF_SIZE[kind]
            if kind == "ball":
                moved = out[..., at : at + size]
                some = moved.any(axis=-1) & ~np.isnan(moved).any(axis=-1)
                if some.any():
                    ends = [rotation_matrix(each[..., at : at + size][some]) for each in (to, since)]
                    moved[some] = rotation_vector(ends[0] @ np.swapaxes(ends[1], -1, -2))
            elif kind == "rotation":
                out[..., at] = wrap_angle(out[..., at])
            at += size
        return out

    def short(self, change: float) -> float:
        """Return a change of the first joint value, the short way round for an angle."""
        return wrap_angle(change) if self.group.angular[0] else change

    def command(
        self,
        poses: Array,
        middle: Array,
        velocity: Array,
        force: Array,
        rate: float,
        exact: bool,
        which: NDArray[np.bool_] | bool = True,
    ) -> None:
        """Set target velocities and force limits of the motors.

        Args:
            poses: Poses (bodies + 1, 4, 4) in the mechanism's own lengths.
            middle: Joint values (n, size) in the middle of the frame, where the motors' axes are taken.
            velocity: Target velocities (n, size).
            force: Force limits (n, size).
            rate: Frames per second.
            exact: Whether ``force`` is the exact generalized force rather than its limit.
            which: Mask, as for (n, m), of the motors to set.
        """
        axes, turns, motors = self.group.directions(poses, middle), self.group.angular, self._motor_arrays()
        size = model_scale(self.joint_state.rig)  # Blender's velocities are in world lengths
        turn = np.einsum("ns,nsi->ni", velocity[:, turns], axes[:, turns])
        slide = size * np.einsum("ns,nsi->ni", velocity[:, ~turns], axes[:, ~turns])
        across, directions = self._directions(poses, motors, rotation_matrix(0.5 * turn / rate) if turn.any() else None)
        most = self._most(motors, across, directions, axes, force, exact)
        # positive as the first body moves relative to the second, for translations the other way round
        wanted = np.where(self.turning[:, None], turn[:, None], slide[:, None])
        self._write(motors, motors.signs * (directions * wanted).sum(axis=-1), most, which)

    def push(self, poses: Array, middle: Array, force: Array, which: NDArray[np.bool_] | bool = True) -> None:
        """Apply generalized forces through the motors, whatever the velocity.

        Args:
            poses: Poses (bodies + 1, 4, 4) in the mechanism's own lengths.
            middle: Joint values (n, size) at which the motors' axes are taken.
            force: Generalized forces (n, size); of a ball along its parent's axes.
            which: Mask, as for (n, m), of the motors to set.
        """
        axes, motors = self.group.directions(poses, middle), self._motor_arrays()
        across, directions = self._directions(poses, motors)
        forces = np.zeros(across.shape[:2])
        for turning in (True, False):
            used = _used_motors(across, np.flatnonzero(self.turning == turning))
            own = self.group.angular == turning
            np.put_along_axis(forces, used, _components(axes[:, own], directions, used, force[:, own]), axis=1)
        way = np.copysign(UNREACHABLE_VELOCITY, motors.signs * forces)
        self._write(motors, way, np.abs(forces), which)

    def _motor_arrays(self) -> MotorArrays:
        if self._arrays is None:
            self._arrays = MotorArrays.of(self.layout(), self._records())
            self._written = np.full((*self._arrays.x.shape[:2], 2), math.nan)
        return self._arrays

    def _directions(self, poses: Array, motors: MotorArrays, moved: Array | None = None) -> tuple[Array, Array]:
        """Return the directions (n, m, 3) of the motors' torques or forces, and unit vectors along them.

        The shorter one is, the nearer it is to being undefined.

        Args:
            poses: Poses (bodies + 1, 4, 4).
            motors: The motors.
            moved: Rotations (n, 3, 3) of the children from these poses on.
        """
        parent, child = (np.swapaxes(poses[ends, :3, :3], 1, 2) for ends in (self.group.parent, self.group.child))
        child = child if moved is None else child @ np.swapaxes(moved, 1, 2)
        carried = motors.by_child[:, None]
        x = np.where(carried, motors.x @ child, motors.x @ parent)
        z = np.where(carried, motors.z @ parent, motors.z @ child)
        across = np.where(self.turning[:, None], motor_torque_axis(x, z), x)
        return across, across / np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-30)

    def _most(
        self, motors: MotorArrays, across: Array, directions: Array, axes: Array, force: Array, exact: bool
    ) -> Array:
        """Return the force limit (n, m) of each motor.

        Limits are those of single joint values: for rotations, along the motion of that value while the other motors
        hold. For exact forces, the rotational motors get the components that add up to them. Of more than three motors,
        those are used whose directions are far from one plane and from becoming undefined, near which they rotate fast.

        Args:
            motors: The motors.
            across: Directions (n, m, 3) of the motors.
            directions: Unit directions (n, m, 3).
            axes: Axes (n, size, 3) of the joint values.
            force: Force limits or exact forces (n, size).
            exact: Whether ``force`` is exact.
        """
        own, turning = motors.numbers, np.flatnonzero(self.turning)
        share = np.abs((directions * axes[:, own]).sum(axis=-1))
        used = _used_motors(across, turning)
        if 1 < len(turning) <= 3:
            moved = _pseudo_inverse(directions[:, turning] @ np.swapaxes(axes[:, own[turning]], 1, 2), 0.1 * _MIN_SHARE)
            share[:, turning] = 1.0 / np.maximum(np.abs(np.diagonal(moved, axis1=1, axis2=2)), 1.0)
        out = np.where(directions.any(axis=-1), np.abs(force[:, own]) / np.maximum(share, _MIN_SHARE), 0.0)
        if used.shape[1] < len(turning):
            limits = np.take_along_axis(out, used, axis=1)
            out[:, turning] = 0.0
            np.put_along_axis(out, used, limits, axis=1)
        if exact and used.shape[1] > 1:
            turns = self.group.angular
            forces = _components(axes[:, turns], directions, used, force[:, turns])
            np.put_along_axis(out, used, np.abs(forces), axis=1)
        return out

    def _write(self, motors: MotorArrays, velocity: Array, force: Array, which: NDArray[np.bool_] | bool) -> None:
        """Write the commands (n, m) of some motors that changed."""
        assert self._written is not None
        commands = np.stack([velocity, force], axis=-1)
        changed = which & ~(self._written == commands).all(axis=-1)
        self._written[changed] = commands[changed]
        for row, number in np.argwhere(changed).tolist():
            empty = motors.empties[row][number]
            motor = None if empty is None else empty.rigid_body_constraint
            if motor is None:
                continue  # the user deleted it during the simulation
            speed, limit = commands[row, number].tolist()
            if self.turning[number]:
                motor.motor_ang_target_velocity, motor.motor_ang_max_impulse = speed, limit
            else:
                motor.motor_lin_target_velocity, motor.motor_lin_max_impulse = speed, limit
            enable_constraint(motor, limit > 0.0)


def _used_motors(across: Array, own: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the indices (n, k) of up to three of the motors ``own``, which are used, by their directions (n, m, 3)."""
    if len(own) > 3:
        return own[most_independent(across[:, own])]
    return np.broadcast_to(own, (len(across), len(own)))


def _components(axes: Array, directions: Array, used: NDArray[np.intp], force: Array) -> Array:
    """Return the forces (n, k) of motors that add up to generalized forces (n, s).

    Args:
        axes: Axes (n, s, 3) of the joint values.
        directions: Unit directions (n, m, 3) of the motors.
        used: Indices (n, k) of the motors.
        force: Generalized forces (n, s).
    """
    chosen = np.take_along_axis(directions, used[..., None], axis=1)
    return np.einsum("nks,ns->nk", _pseudo_inverse(axes @ np.swapaxes(chosen, 1, 2), _MIN_SHARE), force)


def _pseudo_inverse(matrices: Array, rcond: float) -> Array:
    """Return the pseudoinverses of matrices (n, ...); of those of bodies that are lost in a simulation, zero."""
    return np.linalg.pinv(np.nan_to_num(matrices), rcond=rcond)


def ensure_dof_motors(scene: bpy.types.Scene, own: DofMotors) -> None:
    """Create the missing motors of joints and connect them."""
    rig, wanted = own.joint_state.rig, own.layout()
    for item in own.group.joints:
        joint = record_of(item.empty).joint
        motors: Any = getattr(joint, own.kept)
        remove_from_motor_list(motors, range(len(wanted), len(motors)))
        while len(motors) < len(wanted):
            motors.add()
        for motor in motors:
            if is_motor_missing(scene, motor.empty):
                motor.empty = create_joint_motor(rig, item.empty, own.suffix)
        ends = joint_ends(joint, settings(rig).anchor)
        for axle, motor in zip(wanted, motors, strict=True):
            motor.dof_index = axle.number
            add_constraint_to_world(scene, motor.empty)
            constraint = motor.empty.rigid_body_constraint
            constraint.type, constraint.enabled, constraint.disable_collisions = "MOTOR", False, True
            constraint.object1, constraint.object2 = ends[::-1] if axle.child_first else ends
            constraint.use_motor_ang, constraint.use_motor_lin = axle.turns, not axle.turns
            constraint.motor_ang_max_impulse = constraint.motor_lin_max_impulse = 0.0
