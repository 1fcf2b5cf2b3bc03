"""The motors of a joint about its axes: where they have to stand, and telling each what to do."""

from __future__ import annotations

import math
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
from ..constraints.constraints import NEVER_REACHED
from ..constraints.generic6dof import Axle, apart, axes_at, axles, pushed
from ..world.anchor import joint_ends
from ..world.scale import size_of
from .control_laws import Course
from .joint_state import Plant, Undriven, begun_at, join_world, motor_beside
from .motors import is_lost, strike_off

#: Of its own coordinate's axis a motor has at least this: near a joint's locked pose its force does not grow further.
_LEAST_SHARE = 0.05


@dataclass
class AxleMotors:
    """The motors of one joint.

    ``kept`` is the name of their list in its record; ``turns`` (size,) which of its coordinates turn.
    """

    joint: Undriven
    kept: str
    turns: NDArray[np.bool_]
    motors: list[Axle] = field(default_factory=list)
    start: Array | None = None
    _last: Array | None = None
    course: Course | None = None
    thrown: Array | None = None  # the speeds (size,) that the run begins with; None: it begins at rest
    begun: Array | None = None  # (size,): its coordinates where the run begins, if their whole turns are known
    _written: dict[int, tuple[float, float]] = field(default_factory=dict)

    # ---------------------------------------------------------------- where the run begins

    def mark(self, poses: Array) -> dict[bpy.types.Object, Matrix]:
        """Return where the motors' empties have to stand for a run that begins with these poses (bodies + 1, 4, 4), in
        the model's own lengths; what becomes of their axes is kept in the record."""
        values = self.begins(poses)
        self.motors = axles(self.joint.joint.dofs, values)
        here, there = poses[self.joint.parent] @ self.joint.on_parent, poses[self.joint.child] @ self.joint.on_child
        places = {}
        for axle, kept in zip(self.motors, self.records(), strict=True):
            place = np.eye(4)
            place[:3, :3], place[:3, 3] = here[:3, :3] @ axle.frame(), there[:3, 3]
            on_x, on_z = self._carriers(axle, poses)
            kept.x, kept.z = on_x.T @ place[:3, 0], on_z.T @ place[:3, 2]
            places[kept.empty] = Matrix(place.tolist())
        self.start, self._last, self.course = values, None, None
        return places

    def begins(self, poses: Array) -> Array:
        """The coordinates (size,) where the run begins, with the whole turns that are known of them."""
        return begun_at(self.joint, poses, self.begun)

    def records(self) -> list[KnuckleMotor]:
        """Return what the joint's record has of them."""
        return list(getattr(record_of(self.joint.empty).joint, self.kept))

    def _carriers(self, axle: Axle, poses: Array) -> tuple[Array, Array]:
        """The rotations (3, 3) of the bodies that carry a motor's X and its Z."""
        parent, child = poses[self.joint.parent][:3, :3], poses[self.joint.child][:3, :3]
        return (child, parent) if axle.by_child else (parent, child)

    # ---------------------------------------------------------------- each frame

    def look(self, poses: Array, rate: float) -> Array:
        """The coordinates (size,) now, with the turns made since the run began; the course is noted."""
        actual = begun_at(self.joint, poses, self.start if self._last is None else self._last)
        if not self.motors:  # an undo in the middle of a run
            self.motors, self.start = axles(self.joint.joint.dofs, actual), actual
        if self.course is None or self._last is None:
            thrown = self.thrown is not None and len(self.thrown) == len(actual)
            self.course = Course.of_thrown(self.thrown) if thrown else Course.at_rest(len(actual))
        else:
            self.course.go_on(self.difference(actual, self._last), rate)
        self._last = actual
        return actual

    def difference(self, to: Array, since: Array) -> Array:
        """From some coordinates (size,) to others: angles the short way round, balls as a rotation in the joint's
        frame."""
        out = to - since
        at = 0
        for dof in self.joint.joint.dofs:
            if dof.kind == "ball":
                ends = [rotation_matrix(each[at : at + 3]) for each in (to, since)]
                if not np.isnan(out[at : at + 3]).any():
                    out[at : at + 3] = rotation_vector(ends[0] @ ends[1].T)
            elif dof.kind == "rotation":
                out[at] = (out[at] + math.pi) % (2.0 * math.pi) - math.pi
            at += DOF_SIZE[dof.kind]
        return out

    def short(self, change: float) -> float:
        """A change of the first coordinate the short way round."""
        return (change + math.pi) % (2.0 * math.pi) - math.pi if self.turns[0] else change

    def tell(
        self, poses: Array, middle: Array, velocity: Array, force: Array, rate: float, exact: bool, slides: bool = True
    ) -> None:
        """Have the motors do these speeds (size,) with these forces (size,) at most; ``exact``: with their sign, and no
        other. The motors' axes are taken where they are in the middle of the frame. Those of ``slides`` may be left to
        others."""
        here = poses[self.joint.parent][:3, :3] @ self.joint.on_parent[:3, :3]
        axes = axes_at(self.joint.joint.dofs, middle) @ here.T
        turning = self.turns
        size = size_of(record_of(self.joint.empty).model)  # Blender's speeds are in the world's lengths
        turn, slide = velocity[turning] @ axes[turning], size * velocity[~turning] @ axes[~turning]
        half = poses.copy()
        half[self.joint.child, :3, :3] = rotation_matrix(0.5 * turn / rate) @ half[self.joint.child, :3, :3]
        across = np.array(
            [self._across(axle, kept, half) for axle, kept in zip(self.motors, self.records(), strict=True)]
        )
        pushes = across / np.maximum(np.linalg.norm(across, axis=1), 1e-30)[:, None]
        most = self._most(across, pushes, axes, force, exact)
        for number, (axle, kept) in enumerate(zip(self.motors, self.records(), strict=True)):
            # counted as the first body moves against the second, slides the other way round
            sign = 1.0 if axle.child_first else -1.0
            told = sign * float((turn if axle.turns else slide) @ pushes[number])
            if slides or axle.turns:
                self._write(number, kept.empty, axle.turns, told, float(most[number]))

    def push(self, poses: Array, middle: Array, force: Array, turns: bool = True) -> None:
        """Have the motors push with what comes to these generalized forces (size,), of a ball along its parent's axes,
        whatever the speed. Axes are taken where they are at the coordinates ``middle``. ``turns`` may be left to
        others."""
        here = poses[self.joint.parent][:3, :3] @ self.joint.on_parent[:3, :3]
        axes = axes_at(self.joint.joint.dofs, middle) @ here.T
        across = np.array(
            [self._across(axle, kept, poses) for axle, kept in zip(self.motors, self.records(), strict=True)]
        )
        pushes = across / np.maximum(np.linalg.norm(across, axis=1), 1e-30)[:, None]
        told = np.zeros(len(self.motors))
        for turning in (True, False):
            own = np.flatnonzero([axle.turns == turning for axle in self.motors])
            used = own[apart(across[own])] if len(own) > 3 else own
            if len(used):
                parts = axes[self.turns == turning] @ pushes[used].T
                told[used] = np.linalg.pinv(parts, rcond=_LEAST_SHARE) @ force[self.turns == turning]
        for number, (axle, kept) in enumerate(zip(self.motors, self.records(), strict=True)):
            way = told[number] if axle.child_first else -told[number]
            if turns or not axle.turns:
                self._write(number, kept.empty, axle.turns, math.copysign(NEVER_REACHED, way), float(abs(way)))

    def _across(self, axle: Axle, kept: KnuckleMotor, poses: Array) -> Array:
        """Along the direction (3,) of a motor's torque or force; the shorter the nearer it is to having none."""
        on_x, on_z = self._carriers(axle, poses)
        x = on_x @ np.array(kept.x)
        return pushed(x, on_z @ np.array(kept.z)) if axle.turns else x

    def _most(self, across: Array, pushes: Array, axes: Array, force: Array, exact: bool) -> Array:
        """The most that each motor may push with, its direction being a row of ``pushes``.

        Limits are each coordinate's own: of turns, against what moves that coordinate while the other motors hold. Of a
        force that is to be there, the motors that turn get the parts that add up to it. Of more than three, those are
        used that are far from one plane and from losing their axis, which turns fast there.
        """
        own = np.array([axle.number for axle in self.motors])
        share = np.abs(np.einsum("ni,ni->n", pushes, axes[own]))
        turning = np.flatnonzero([axle.turns for axle in self.motors])
        used = turning[apart(across[turning])] if len(turning) > 3 else turning
        if 1 < len(turning) <= 3:
            moved = np.linalg.pinv(pushes[used] @ axes[own[used]].T, rcond=0.1 * _LEAST_SHARE)
            share[used] = 1.0 / np.maximum(np.abs(np.diagonal(moved)), 1.0)
        out = np.where(np.any(pushes, axis=1), np.abs(force[own]) / np.maximum(share, _LEAST_SHARE), 0.0)
        if len(used) < len(turning):
            idle = np.ones(len(out), dtype=bool)
            idle[used] = False
            out[turning[idle[turning]]] = 0.0
        if exact and len(used) > 1:
            parts = axes[self.turns] @ pushes[used].T
            out[used] = np.abs(np.linalg.pinv(parts, rcond=_LEAST_SHARE) @ force[self.turns])
        return out

    def _write(self, number: int, empty: bpy.types.Object | None, turns: bool, velocity: float, force: float) -> None:
        if self._written.get(number) == (velocity, force) or empty is None:
            return  # None: the user deleted it in the middle of a run
        self._written[number] = velocity, force
        motor = empty.rigid_body_constraint
        if motor is None:
            return
        if turns:
            motor.motor_ang_target_velocity, motor.motor_ang_max_impulse = velocity, force
        else:
            motor.motor_lin_target_velocity, motor.motor_lin_max_impulse = velocity, force


def ensure_axle_motors(scene: bpy.types.Scene, plant: Plant, item: Undriven, kept: str, suffix: str) -> None:
    """Make the motors of a joint that are missing: those of its list ``kept``."""
    joint = record_of(item.empty).joint
    motors: Any = getattr(joint, kept)
    wanted = axles(item.joint.dofs, np.zeros(sum(DOF_SIZE[dof.kind] for dof in item.joint.dofs)))
    strike_off(motors, range(len(wanted), len(motors)))
    while len(motors) < len(wanted):
        motors.add()
    for motor in motors:
        if is_lost(scene, motor.empty):
            motor.empty = motor_beside(plant.rig, item.empty, suffix)
    ends = joint_ends(joint, settings(plant.rig).anchor)
    for axle, motor in zip(wanted, motors, strict=True):
        motor.number = axle.number
        join_world(scene, motor.empty)
        constraint = motor.empty.rigid_body_constraint
        constraint.type, constraint.disable_collisions = "MOTOR", True
        constraint.object1, constraint.object2 = ends[::-1] if axle.child_first else ends
        constraint.use_motor_ang, constraint.use_motor_lin = axle.turns, not axle.turns
        constraint.motor_ang_max_impulse = constraint.motor_lin_max_impulse = 0.0
