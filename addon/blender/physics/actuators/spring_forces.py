"""Spring forces: generalized forces applied through rigid-body motors, where Blender has no constraint for them.

A motor with an unreachable target velocity (1e4) saturates, so its ``max_impulse`` is the applied force or torque.
Blender's spring is at rest at the initial pose; in joints with several degrees of freedom the difference to the
record's rest value is a constant force. Where Blender cannot measure the joint value as the mechanism does (axes that
are not perpendicular, rotations that do not begin at zero), the motors are the whole spring, set once a frame to its
mean over the frame. That holds while the spring does not move far within a frame.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ....core.force_laws import ForceLaw, SpringDamperIntegrator
from ....core.model import DOF_SIZE, Array, Dof, dof_slices, first_indices
from ....core.transforms import rotation_matrix
from ...data.access import record_of, world_of
from ..constraints.generic6dof import (
    aligned_dofs,
    are_stops_exact,
    axis_springs,
    has_measurable_coordinates,
    has_motor_axes,
)
from ..constraints.restraints import JointForceLaw
from .actuator import JointActuator, SimulationState
from .dof_motors import DofMotors
from .joint_state import JointGroup, JointStateArrays, MultiDofJoint, has_both_bodies, joint_groups

_SUFFIX = " Force"
#: Largest angular frequency (rad per frame) of a spring, and share of the velocity that a damper removes per frame,
#: by motors; stronger ones are Blender's own.
_STIFFNESS_LIMIT = 1.2
#: Difference from the rest value (rad or length units) below which no preload is needed.
_REST_TOLERANCE = 1e-4


@dataclass(frozen=True)
class _SpringEntry:
    """Spring and damper of a joint value that motors exert: the joint's row, the value's number, and what is moved."""

    row: int
    number: int
    dof: Dof
    inertia: float
    speed: float


@dataclass
class SpringActuator(JointActuator):
    """Spring forces of joints (n) with the same kinds of degrees of freedom (size).

    Attributes:
        motors: Their motors.
        steady: Constant forces (n, size), where Blender has a spring.
        brake: Damping (n, size) of balls without springs.
        laws: Force laws of a single joint.
        held: Forces of springs and dampers that look ahead, on the joint values at ``places``.
        places: Rows and numbers of these joint values.
    """

    scene: bpy.types.Scene
    motors: DofMotors
    steady: Array
    brake: Array
    laws: Sequence[JointForceLaw] = ()
    held: SpringDamperIntegrator | None = None
    places: tuple[list[int], list[int]] = ([], [])
    is_initialized: bool = False

    def choose(self, state: SimulationState) -> None:
        """Divide the springs between Blender's constraints and the motors."""
        self.is_initialized, self.held = True, None
        start, speeds = self.motors.initial_values(state.poses), self.motors.initial_speeds()
        self.steady, self.brake = np.zeros_like(start), np.zeros_like(start)
        substeps = world_of(self.scene).substeps_per_frame
        if self.laws:
            inertia = self._inertia(state, 0, start[0])
            laws = _sum_laws(self.laws, True), _sum_laws(self.laws, False)
            self.places = [0], [0]
            self.held = SpringDamperIntegrator(*laws, inertia[:1], substeps, speeds[0, :1])
            return
        entries = [entry for row in range(len(start)) for entry in self._entries(state, row, start[row], speeds[row])]
        self.places = [entry.row for entry in entries], [entry.number for entry in entries]
        if entries:
            inertias, begun = np.array([entry.inertia for entry in entries]), np.array([each.speed for each in entries])
            self.held = SpringDamperIntegrator(*_oscillators([each.dof for each in entries]), inertias, substeps, begun)

    def _inertia(self, state: SimulationState, row: int, start: Array) -> Array:
        """Return the effective inertia (size,) of a joint's values."""
        joint = self.motors.group.joints[row]
        return state.inertia.effective_mass.effective_inertia(joint, start, self.motors.group.angular, state.poses)

    def _entries(self, state: SimulationState, row: int, start: Array, speeds: Array) -> Iterator[_SpringEntry]:
        """Yield what motors exert on a joint; constant forces and brakes are stored.

        Args:
            state: State at the first frame.
            row: The joint's row.
            start: Its values (size,).
            speeds: Their initial velocities (size,).
        """
        joint, poses = self.motors.group.joints[row], state.poses
        moved, lines = self._inertia(state, row, start), _aligned_coordinates(joint, start)
        for numbers, dofs in _spring_blocks(joint.joint.dofs):
            pairs = list(zip(numbers, dofs, strict=True))
            ball, springy = len(numbers) > 1, any(dof.stiffness > 0.0 for dof in dofs)
            if not (springy or ball or numbers[0] not in lines):
                continue  # a damper alone is handled as joint damping
            light = state.inertia.effective_mass.least_inertia(joint, poses) if ball else float(moved[numbers[0]])
            if ball and not springy:
                self._put(joint, numbers, False)
                self.brake[row, numbers] = [dof.damping for dof in dofs]
                continue
            strong = any(_is_too_stiff(dof, light, state.rate) for _, dof in pairs)
            away = any(dof.stiffness > 0.0 and abs(dof.rest - start[k]) > _REST_TOLERANCE for k, dof in pairs)
            exact = not away if ball else lines.get(numbers[0], False)
            by_blender = exact or (strong and (ball or numbers[0] in lines))
            self._put(joint, numbers, by_blender)
            for k, dof in pairs:
                if by_blender:
                    self.steady[row, k] = dof.stiffness * (dof.rest - start[k])
                else:
                    yield _SpringEntry(row, k, dof, float(moved[k]), float(speeds[k]))

    def _put(self, joint: MultiDofJoint, numbers: list[int], by_blender: bool) -> None:
        """Enable or disable the springs of some joint values in Blender's constraint."""
        constraint: Any = joint.empty.rigid_body_constraint
        record, names = record_of(joint.empty).joint, ["ang_x", "ang_y", "ang_z"]
        known = dict(axis_springs(record))
        if len(numbers) == 1:
            names = [
                line.spring for line in aligned_dofs(record) if line.number == _dof_of(joint.joint.dofs, numbers[0])
            ]
        for name in names:
            wanted = by_blender and name in known
            if constraint.type == "GENERIC_SPRING" and getattr(constraint, f"use_spring_{name}") != wanted:
                setattr(constraint, f"use_spring_{name}", wanted)

    def update(self, state: SimulationState) -> None:
        """Apply forces for the next frame."""
        if not self.is_initialized:
            return  # an undo during a simulation: the last forces stay
        poses, rate = state.poses, state.rate
        actual = self.motors.look(poses, rate)
        course = self.motors.course
        assert course is not None
        braked = self.brake.any(axis=1)[:, None] & self.motors.turning
        if braked.any():
            force = self.brake * (course.speed + course.change)
            self.motors.command(poses, actual, np.zeros_like(actual), force, rate, True, braked)
        force = self.steady.copy()
        if self.held is not None:
            force[self.places] = self.held.force(actual[self.places], 1.0 / rate)
        if self.motors.group.kinds[-1] == "ball":  # from child to parent axes
            force[:, -3:] = np.einsum("nij,nj->ni", rotation_matrix(actual[:, -3:]), force[:, -3:])
        middle = actual + 0.5 * (course.speed + course.change) / rate
        self.motors.push(poses, middle, force, ~braked)


def _is_too_stiff(dof: Dof, inertia: float, rate: float) -> bool:
    """Return whether a spring or damper acts too fast for motors that are set once a frame."""
    return dof.stiffness / inertia > (_STIFFNESS_LIMIT * rate) ** 2 or dof.damping / inertia > _STIFFNESS_LIMIT * rate


def _sum_laws(laws: Sequence[JointForceLaw], spring: bool) -> ForceLaw | None:
    """Return the sum of the laws of springs, or of dampers, of the first element of an array; None without any."""
    own = [each.law for each in laws if each.spring == spring]
    return (lambda x: -np.array([sum(law(float(x[0])) for law in own)])) if own else None


def _oscillators(dofs: Sequence[Dof]) -> tuple[ForceLaw | None, ForceLaw | None]:
    """Return the laws of the springs and of the dampers of degrees of freedom, for arrays."""
    stiffness, damping, rest = (
        np.array(each) for each in zip(*((dof.stiffness, dof.damping, dof.rest) for dof in dofs), strict=True)
    )
    spring = (lambda place: -stiffness * (place - rest)) if stiffness.any() else None
    return spring, (lambda speed: -damping * speed) if damping.any() else None


def _spring_blocks(dofs: list[Dof]) -> Iterator[tuple[list[int], list[Dof]]]:
    """Yield the indices of joint values with springs or dampers, and the records of these; a ball's together."""
    for dof, own in dof_slices(dofs):
        each = dof.parts or [dof] * DOF_SIZE[dof.kind]
        if any(part.stiffness > 0.0 or part.damping > 0.0 for part in each):
            yield list(range(own.start, own.stop)), each


def _dof_of(dofs: list[Dof], number: int) -> int:
    """Return the index of the degree of freedom that a joint value belongs to."""
    return bisect_right(first_indices(dofs), number) - 1


def _aligned_coordinates(joint: MultiDofJoint, start: Array) -> dict[int, bool]:
    """Return the joint values with an axis of their own in Blender's constraint, and whether it measures exactly."""
    record = record_of(joint.empty).joint
    first = first_indices(record.dofs)
    plain = (
        len(start) == len(record.dofs)
        and has_measurable_coordinates(record)
        and are_stops_exact(record, start.tolist())
    )
    return {first[line.number]: plain for line in aligned_dofs(record)}


def spring_actuators(scene: bpy.types.Scene, joint_state: JointStateArrays) -> list[SpringActuator]:
    """Return the actuators of a mechanism's joints with spring forces."""
    items: list[MultiDofJoint] = []
    laws: list[list[JointForceLaw]] = []
    for item in joint_state.pushed:
        own = [law for law in joint_state.laws.get(item.empty, ()) if not law.brakes]
        if (own or has_motor_axes(item.joint.dofs)) and has_both_bodies(joint_state, record_of(item.empty).joint):
            items.append(item)
            laws.append(own)
    out = []
    for numbers in joint_groups(items, [number if own else -1 for number, own in enumerate(laws)]):
        group = JointGroup.of([items[number] for number in numbers])
        motors = DofMotors(joint_state, group, "spring_motors", _SUFFIX)
        nothing = np.zeros(group.shape)
        out.append(SpringActuator(scene, motors, nothing, nothing, laws[numbers[0]]))
    return out
