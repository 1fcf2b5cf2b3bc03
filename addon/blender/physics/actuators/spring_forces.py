"""Forces that Blender has no constraint for, as motors that never come to their speed: they push with all they have.

Blender's spring is at rest where a run begins. On joints of several degrees, what lies between that and the rest that
the record has is a steady push. Where Blender cannot count the spring's coordinate as the model does (axes that are not
at right angles, turns that do not begin at zero), the motors are the whole spring, set once a frame to what it comes
to in that frame on average. That holds while the spring does not turn far within a frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np

from ....core.force_laws import Force, Held
from ....core.model import DOF_SIZE, Array, Dof
from ....core.transforms import rotation_matrix
from ...data.access import record_of
from ..constraints.generic6dof import has_axles, is_countable, is_exact, lines_of, springs_of
from ..constraints.restraints import JointLaw
from .dof_motors import AxleMotors, ensure_axle_motors
from .effective_mass import Carried
from .joint_state import Plant, Undriven, has_both_ends

_SUFFIX = " Push"
#: Springs for which a frame is more of their radian, as dampers that take more of a speed in it, are Blender's own.
_WEAK = 1.2
#: What is off its rest by less needs no push.
_SMALL = 1e-4


@dataclass
class Pushes:
    """What pushes the coordinates of a joint: by laws that look ahead, and steadily where Blender has a spring."""

    scene: bpy.types.Scene
    motors: AxleMotors
    steady: Array
    brake: Array  # (size,): damping of balls without springs
    laws: Sequence[JointLaw] = ()
    held: dict[int, Held] = field(default_factory=dict)
    is_marked: bool = False

    def mark(self, carried: Carried, poses: Array, rate: float) -> None:
        """When a run begins: share the springs out between Blender's constraint and the motors."""
        joint, self.is_marked = self.motors.joint, True
        start, substeps = self.motors.begins(poses), self.scene.rigidbody_world.substeps_per_frame
        moved = carried.eased.moved(joint, start, self.motors.turns, poses)
        self.steady, self.brake, self.held = np.zeros(len(start)), np.zeros(len(start)), {}
        lines = _lines(joint, start)
        if self.laws:
            self.held[0] = Held(_sum(self.laws, True), _sum(self.laws, False), float(moved[0]), substeps)
            return
        for numbers, dofs in _blocks(joint.joint.dofs):
            pairs = list(zip(numbers, dofs, strict=True))
            ball, springy = len(numbers) > 1, any(dof.stiffness > 0.0 for dof in dofs)
            if not (springy or ball or numbers[0] not in lines):
                continue  # a damper alone is one of the joint's losses
            light = carried.eased.lightest(joint, poses) if ball else float(moved[numbers[0]])
            if ball and not springy:
                self._put(joint, numbers, False)
                self.brake[numbers] = [dof.damping for dof in dofs]
                continue
            strong = any(_is_strong(dof, light, rate) for _, dof in pairs)
            away = any(dof.stiffness > 0.0 and abs(dof.rest - start[k]) > _SMALL for k, dof in pairs)
            exact = not away if ball else lines.get(numbers[0], False)
            by_blender = exact or (strong and (ball or numbers[0] in lines))
            self._put(joint, numbers, by_blender)
            for k, dof in pairs:
                if by_blender:
                    self.steady[k] = dof.stiffness * (dof.rest - start[k])
                else:
                    self.held[k] = Held(*_oscillator(dof), float(moved[k]), substeps)

    def _put(self, joint: Undriven, numbers: list[int], by_blender: bool) -> None:
        """Have Blender's constraint have the spring of some coordinates, or not."""
        constraint: Any = joint.empty.rigid_body_constraint
        record, names = record_of(joint.empty).joint, ["ang_x", "ang_y", "ang_z"]
        known = dict(springs_of(record))
        if len(numbers) == 1:
            names = [line.spring for line in lines_of(record) if line.number == _dof_of(joint.joint.dofs, numbers[0])]
        for name in names:
            wanted = by_blender and name in known
            if constraint.type == "GENERIC_SPRING" and getattr(constraint, f"use_spring_{name}") != wanted:
                setattr(constraint, f"use_spring_{name}", wanted)

    def command(self, poses: Array, rate: float) -> None:
        """Push for the frame to come."""
        if not self.is_marked:
            return  # an undo in the middle of a run: it goes on with what it was told
        actual = self.motors.look(poses, rate)
        course = self.motors.course
        assert course is not None
        if self.brake.any():
            force = self.brake * (course.speed + course.change)
            self.motors.tell(poses, actual, np.zeros(len(actual)), force, rate, True, slides=False)
        force = self.steady.copy()
        for number, held in self.held.items():
            force[number] = held.force(float(actual[number]), 1.0 / rate)
        if len(actual) >= 3 and self.motors.joint.joint.dofs[-1].kind == "ball":  # of the child's axes, in the parent's
            force[-3:] = rotation_matrix(actual[-3:]) @ force[-3:]
        middle = actual + 0.5 * (course.speed + course.change) / rate
        self.motors.push(poses, middle, force, turns=not self.brake.any())


def _is_strong(dof: Dof, inertia: float, rate: float) -> bool:
    """Return whether a spring or damper does too much within a frame for motors that are told once in it."""
    return dof.stiffness / inertia > (_WEAK * rate) ** 2 or dof.damping / inertia > _WEAK * rate


def _sum(laws: Sequence[JointLaw], spring: bool) -> Force | None:
    own = [each.law for each in laws if each.spring == spring]
    return (lambda x: -sum(law(x) for law in own)) if own else None


def _oscillator(dof: Dof) -> tuple[Force | None, Force | None]:
    spring = (lambda place: -dof.stiffness * (place - dof.rest)) if dof.stiffness > 0.0 else None
    return spring, (lambda speed: -dof.damping * speed) if dof.damping > 0.0 else None


def _blocks(dofs: list[Dof]) -> Iterator[tuple[list[int], list[Dof]]]:
    """The coordinates that have springs, or dampers that are nobody else's, with what each has; a ball's together."""
    at = 0
    for dof in dofs:
        size = DOF_SIZE[dof.kind]
        each = dof.parts or [dof] * size
        if any(part.stiffness > 0.0 or part.damping > 0.0 for part in each):
            yield list(range(at, at + size)), each
        at += size


def _dof_of(dofs: list[Dof], number: int) -> int:
    sizes = np.cumsum([DOF_SIZE[dof.kind] for dof in dofs])
    return int(np.searchsorted(sizes, number, side="right"))


def _lines(joint: Undriven, start: Array) -> dict[int, bool]:
    """The coordinates that have an axis of Blender's for themselves, and whether it counts them as the model does."""
    record = record_of(joint.empty).joint
    first = np.concatenate([[0], np.cumsum([DOF_SIZE[dof.kind] for dof in record.dofs])])
    plain = len(start) == len(record.dofs) and is_countable(record) and is_exact(record, start.tolist())
    return {int(first[line.number]): plain for line in lines_of(record)}


def pushes_of(scene: bpy.types.Scene, plant: Plant) -> list[Pushes]:
    """The joints of a model that are pushed, with motors for it."""
    out = []
    for item in plant.pushed:
        record = record_of(item.empty).joint
        laws = [law for law in plant.laws.get(item.empty, ()) if not law.brakes]
        if not (laws or has_axles(item.joint.dofs)) or not has_both_ends(plant, record):
            continue
        ensure_axle_motors(scene, plant, item, "pushes", _SUFFIX)
        turns = np.array([dof.kind != "translation" for dof in item.joint.dofs for _ in range(DOF_SIZE[dof.kind])])
        out.append(Pushes(scene, AxleMotors(item, "pushes", turns), np.zeros(len(turns)), np.zeros(len(turns)), laws))
    return out
