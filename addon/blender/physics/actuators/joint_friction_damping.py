"""Friction and dampers of joints as braking motors: target velocity 0, with the lost force as the limit.

That is exactly Coulomb's friction. A damper's limit is proportional to the velocity and set once a frame.

Note:
    Blender's own damper without a spring exerts only what would be needed if nothing else acted: where gravity brakes
    as well, it hardly brakes. It is stable at any strength, though, also where a motor would not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ....core.force_laws import SpringDamperIntegrator
from ....core.model import Array
from ....core.transforms import wrap_angle
from ...data.access import record_of, world_of
from ...data.properties.joint import KnuckleMotor
from ..constraints.generic6dof import aligned_dofs, has_fixed_axes
from ..constraints.restraints import JointForceLaw
from .actuator import Actuator, EmptyPoses, JointActuator, SimulationState
from .control_laws import VelocityHistory
from .dof_motors import DofMotors
from .joint_state import JointGroup, JointStateArrays, MultiDofJoint, has_both_bodies, joint_groups
from .motors import enable_constraint

_SUFFIX = " Friction"
#: Largest share of the velocity that a damper may remove per frame as a motor, which brakes that of half a frame ago.
_MOTOR_DAMPING_LIMIT = 0.3


@dataclass
class FrictionDampingActuator(JointActuator):
    """Friction and damping of joints (n) with the same kinds of degrees of freedom (size).

    ``damping`` (n, size) is that of the dampers that Blender's constraints do not have. ``laws`` are those of a single
    joint. ``inertia`` (n, size) is the effective inertia of the joint values at the first frame, if it is known.
    """

    scene: bpy.types.Scene
    motors: DofMotors
    friction: Array
    damping: Array
    laws: Sequence[JointForceLaw] = ()
    held: SpringDamperIntegrator | None = None
    inertia: Array | None = None

    def choose(self, state: SimulationState) -> None:
        """Divide the dampers: weak ones become motors, strong ones Blender's."""
        joints, poses, moved = self.motors.group.joints, state.poses, self.inertia
        if moved is None:
            masses, turns = state.inertia.effective_mass, self.motors.group.angular
            moved = np.array([masses.effective_inertia(joint, joint.now(poses), turns, poses) for joint in joints])
        for joint, own in zip(joints, moved, strict=True):
            constraint: Any = joint.empty.rigid_body_constraint
            for line in aligned_dofs(record_of(joint.empty).joint):
                dof = joint.joint.dofs[line.number]
                if dof.damping > 0.0 and not dof.stiffness:
                    strong = dof.damping / state.rate > _MOTOR_DAMPING_LIMIT * own[line.number]
                    if getattr(constraint, f"use_spring_{line.spring}") != strong:
                        setattr(constraint, f"use_spring_{line.spring}", bool(strong))
        self.damping = _motor_damping(joints)
        smooth = [each.law for each in self.laws if not each.holds]
        if smooth:
            substeps = world_of(self.scene).substeps_per_frame
            speed = float(self.motors.initial_speeds()[0, 0])
            self.held = SpringDamperIntegrator(
                None, lambda speed: -sum(law(speed) for law in smooth), float(moved[0, 0]), substeps, speed
            )

    def update(self, state: SimulationState) -> None:
        """Set the braking forces for the next frame."""
        poses, rate = state.poses, state.rate
        actual = self.motors.look(poses, rate)
        course = self.motors.course
        assert course is not None
        force = self.friction + self.damping * np.abs(course.speed + course.change)
        if self.laws:
            speed = float(course.speed[0, 0] + course.change[0, 0])
            force[0, 0] += sum(abs(each.law(speed)) if speed else each.holds for each in self.laws if each.holds)
        if self.held is not None:
            force[0, 0] += abs(self.held.force(float(actual[0, 0]), 1.0 / rate, self.motors.short))
        self.motors.command(poses, actual, np.zeros_like(actual), force, rate, False)


class JointLosses(Actuator):
    """Friction and damping of all joints of a mechanism.

    Hinges and sliders without force laws of their own, which most joints are, are computed together as arrays: their
    motors turn about the joint's axis or move along it, so the force of the joint is that of its motor.
    """

    def __init__(self, joint_state: JointStateArrays, groups: Sequence[FrictionDampingActuator]) -> None:
        place = {empty: number for number, empty in enumerate(joint_state.empties)}
        self._all = groups
        self._plain = [each for each in groups if each.motors.group.joints[0].empty in place and not each.laws]
        self._others = [each for each in groups if each not in self._plain]
        self._joints = [joint for each in self._plain for joint in each.motors.group.joints]
        self._numbers = np.array([place[joint.empty] for joint in self._joints], dtype=np.intp)
        self._turns = joint_state.turns[self._numbers]
        self._motors: list[bpy.types.RigidBodyConstraint | None] = []
        self._written = np.full(len(self._joints), np.nan)
        self._kinds = ["ang" if turns else "lin" for turns in self._turns]
        self._course = VelocityHistory.at_rest(len(self._joints))
        self._last: Array | None = None

    def prepare(self, scene: bpy.types.Scene) -> None:
        """Create the missing motors and connect them."""
        for each in self._all:
            each.prepare(scene)
        empties = [record.empty for each in self._plain for record in each.motors.records()]
        self._motors = [None if empty is None else empty.rigid_body_constraint for empty in empties]

    def start(self, state: SimulationState) -> EmptyPoses:
        """Prepare for the first step, and return the poses of the motors' empties."""
        inertias = iter(state.inertia.effective_mass.single_dof_inertias(self._joints, state.poses))
        for each in self._plain:
            each.inertia = np.array([[next(inertias)] for _ in each.motors.group.joints])
        self._written = np.full(len(self._joints), np.nan)
        for motor, kind in zip(self._motors, self._kinds, strict=False):
            if motor is not None:
                setattr(motor, f"motor_{kind}_target_velocity", 0.0)  # of a new one it is 1
        places = {empty: place for each in self._all for empty, place in each.start(state).items()}
        begun = [state.velocities.get(joint.joint.id) for joint in self._joints]
        speeds = np.array([0.0 if speed is None else speed[0] for speed in begun])
        self._course = (
            VelocityHistory.from_initial_velocity(speeds) if state.velocities else VelocityHistory.at_rest(len(speeds))
        )
        self._last = None
        return places

    def update(self, state: SimulationState) -> None:
        """Set the braking forces for the next frame."""
        if self._plain:
            values = state.coordinates[self._numbers]
            if self._last is not None:
                moved = values - self._last
                moved = np.where(self._turns, wrap_angle(moved), moved)
                self._course.go_on(moved, state.rate)
            self._last = values
            friction = np.concatenate([each.friction[:, 0] for each in self._plain])
            damping = np.concatenate([each.damping[:, 0] for each in self._plain])
            self._brake(friction + damping * np.abs(self._course.speed + self._course.change))
        for each in self._others:
            each.update(state)

    def _brake(self, limits: Array) -> None:
        """Set the force limits (n,) of the motors of hinges and sliders, where they changed: each write costs time."""
        for number in np.flatnonzero(~(limits == self._written)).tolist():
            motor, limit = self._motors[number], limits.item(number)
            if motor is not None:
                setattr(motor, f"motor_{self._kinds[number]}_max_impulse", limit)
                enable_constraint(motor, limit > 0.0)
        self._written = limits

    def motors_in_use(self) -> list[KnuckleMotor]:
        """Return the records of its motors."""
        return [motor for each in self._all for motor in each.motors_in_use()]


def joint_losses(scene: bpy.types.Scene, joint_state: JointStateArrays) -> list[JointLosses]:
    """Return the actuator of a mechanism's joints with friction or damping; none without such joints."""
    items = [
        item
        for item in joint_state.dissipative_joints
        if has_fixed_axes(item.joint.dofs) and has_both_bodies(joint_state, record_of(item.empty).joint)
    ]
    laws = [[law for law in joint_state.laws.get(item.empty, ()) if law.brakes] for item in items]
    out = []
    for numbers in joint_groups(items, [number if own else -1 for number, own in enumerate(laws)]):
        group = JointGroup.of([items[number] for number in numbers])
        motors = DofMotors(joint_state, group, "loss_motors", _SUFFIX)
        friction = np.array([[max(dof.friction, 0.0) for dof in item.joint.dofs] for item in group.joints])
        out.append(FrictionDampingActuator(scene, motors, friction, _motor_damping(group.joints), laws[numbers[0]]))
    return [JointLosses(joint_state, out)] if out else []


def _motor_damping(joints: Sequence[MultiDofJoint]) -> Array:
    """Return the damping (n, size) of the dampers of joints that are disabled in Blender's constraints."""
    out = np.zeros((len(joints), len(joints[0].joint.dofs)))
    for row, joint in enumerate(joints):
        constraint: Any = joint.empty.rigid_body_constraint
        for line in aligned_dofs(record_of(joint.empty).joint):
            dof = joint.joint.dofs[line.number]
            if not dof.stiffness and not getattr(constraint, f"use_spring_{line.spring}"):
                out[row, line.number] = max(dof.damping, 0.0)
    return out
