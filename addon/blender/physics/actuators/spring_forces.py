"""Spring forces: generalized forces applied through rigid-body motors, where Blender has no constraint for them.

A motor with an unreachable target velocity (1e4) saturates, so its ``max_impulse`` is the applied force or torque.
Blender's spring is at rest at the initial pose; in joints with several degrees of freedom the difference to the
record's rest value is a constant force. Where Blender cannot measure the joint value as the mechanism does (axes that
are not perpendicular, rotations that do not begin at zero), the motors are the whole spring, set once a frame to its
mean over the frame. That holds while the spring does not move far within a frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np

from ....core.force_laws import ForceLaw, SpringDamperIntegrator
from ....core.model import DOF_SIZE, Array, Dof
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
from .joint_state import JointStateArrays, MultiDofJoint, has_both_bodies

_SUFFIX = " Push"
#: Largest angular frequency (rad per frame) of a spring, and share of the velocity that a damper removes per frame,
#: by motors; stronger ones are Blender's own.
_STIFFNESS_LIMIT = 1.2
#: Difference from the rest value (rad or length units) below which no preload is needed.
_REST_TOLERANCE = 1e-4


@dataclass
class SpringActuator(JointActuator):
    """Spring forces of a joint: by force laws that look ahead, and constant where Blender has a spring."""

    scene: bpy.types.Scene
    motors: DofMotors
    steady: Array
    brake: Array  # (size,): damping of balls without springs
    laws: Sequence[JointForceLaw] = ()
    held: dict[int, SpringDamperIntegrator] = field(default_factory=dict)
    is_initialized: bool = False

    def choose(self, state: SimulationState) -> None:
        """Divide the springs between Blender's constraint and the motors."""
        poses, inertia = state.poses, state.inertia
        joint, self.is_initialized = self.motors.joint, True
        speeds = self.motors.initial_speeds()
        start, substeps = self.motors.begins(poses), world_of(self.scene).substeps_per_frame
        moved = inertia.effective_mass.effective_inertia(joint, start, self.motors.turns, poses)
        self.steady, self.brake, self.held = np.zeros(len(start)), np.zeros(len(start)), {}
        lines = _aligned_coordinates(joint, start)
        if self.laws:
            self.held[0] = SpringDamperIntegrator(
                _sum_laws(self.laws, True), _sum_laws(self.laws, False), float(moved[0]), substeps, float(speeds[0])
            )
            return
        for numbers, dofs in _spring_blocks(joint.joint.dofs):
            pairs = list(zip(numbers, dofs, strict=True))
            ball, springy = len(numbers) > 1, any(dof.stiffness > 0.0 for dof in dofs)
            if not (springy or ball or numbers[0] not in lines):
                continue  # a damper alone is handled as joint damping
            light = inertia.effective_mass.least_inertia(joint, poses) if ball else float(moved[numbers[0]])
            if ball and not springy:
                self._put(joint, numbers, False)
                self.brake[numbers] = [dof.damping for dof in dofs]
                continue
            strong = any(_is_too_stiff(dof, light, state.rate) for _, dof in pairs)
            away = any(dof.stiffness > 0.0 and abs(dof.rest - start[k]) > _REST_TOLERANCE for k, dof in pairs)
            exact = not away if ball else lines.get(numbers[0], False)
            by_blender = exact or (strong and (ball or numbers[0] in lines))
            self._put(joint, numbers, by_blender)
            for k, dof in pairs:
                if by_blender:
                    self.steady[k] = dof.stiffness * (dof.rest - start[k])
                else:
                    self.held[k] = SpringDamperIntegrator(
                        *_oscillator(dof), float(moved[k]), substeps, float(speeds[k])
                    )

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
        if self.brake.any():
            force = self.brake * (course.speed + course.change)
            self.motors.command(poses, actual, np.zeros(len(actual)), force, rate, True, slides=False)
        force = self.steady.copy()
        for number, held in self.held.items():
            force[number] = held.force(float(actual[number]), 1.0 / rate)
        if len(actual) >= 3 and self.motors.joint.joint.dofs[-1].kind == "ball":  # from child to parent axes
            force[-3:] = rotation_matrix(actual[-3:]) @ force[-3:]
        middle = actual + 0.5 * (course.speed + course.change) / rate
        self.motors.push(poses, middle, force, turns=not self.brake.any())


def _is_too_stiff(dof: Dof, inertia: float, rate: float) -> bool:
    """Return whether a spring or damper acts too fast for motors that are set once a frame."""
    return dof.stiffness / inertia > (_STIFFNESS_LIMIT * rate) ** 2 or dof.damping / inertia > _STIFFNESS_LIMIT * rate


def _sum_laws(laws: Sequence[JointForceLaw], spring: bool) -> ForceLaw | None:
    own = [each.law for each in laws if each.spring == spring]
    return (lambda x: -sum(law(x) for law in own)) if own else None


def _oscillator(dof: Dof) -> tuple[ForceLaw | None, ForceLaw | None]:
    spring = (lambda place: -dof.stiffness * (place - dof.rest)) if dof.stiffness > 0.0 else None
    return spring, (lambda speed: -dof.damping * speed) if dof.damping > 0.0 else None


def _spring_blocks(dofs: list[Dof]) -> Iterator[tuple[list[int], list[Dof]]]:
    """Yield the indices of joint values with springs or dampers, and the records of these; a ball's together."""
    at = 0
    for dof in dofs:
        size = DOF_SIZE[dof.kind]
        each = dof.parts or [dof] * size
        if any(part.stiffness > 0.0 or part.damping > 0.0 for part in each):
            yield list(range(at, at + size)), each
        at += size


def _dof_of(dofs: list[Dof], number: int) -> int:
    """Return the index of the degree of freedom that a joint value belongs to."""
    sizes = np.cumsum([DOF_SIZE[dof.kind] for dof in dofs])
    return int(np.searchsorted(sizes, number, side="right"))


def _aligned_coordinates(joint: MultiDofJoint, start: Array) -> dict[int, bool]:
    """Return the joint values with an axis of their own in Blender's constraint, and whether it measures exactly."""
    record = record_of(joint.empty).joint
    first = np.concatenate([[0], np.cumsum([DOF_SIZE[dof.kind] for dof in record.dofs])])
    plain = (
        len(start) == len(record.dofs)
        and has_measurable_coordinates(record)
        and are_stops_exact(record, start.tolist())
    )
    return {int(first[line.number]): plain for line in aligned_dofs(record)}


def spring_actuators(scene: bpy.types.Scene, joint_state: JointStateArrays) -> list[SpringActuator]:
    """Return the actuators of a mechanism's joints with spring forces."""
    out = []
    for item in joint_state.pushed:
        record = record_of(item.empty).joint
        laws = [law for law in joint_state.laws.get(item.empty, ()) if not law.brakes]
        if not (laws or has_motor_axes(item.joint.dofs)) or not has_both_bodies(joint_state, record):
            continue
        turns = np.array([dof.kind != "translation" for dof in item.joint.dofs for _ in range(DOF_SIZE[dof.kind])])
        out.append(
            SpringActuator(
                scene,
                DofMotors(joint_state, item, "spring_motors", _SUFFIX, turns),
                np.zeros(len(turns)),
                np.zeros(len(turns)),
                laws,
            )
        )
    return out
