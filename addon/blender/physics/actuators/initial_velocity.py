"""Initial velocities of bodies, from those of the joints in the model file.

Blender's bodies begin at rest. In the first two frames of a simulation, motors against the anchor apply forces with
the impulse of each body's momentum, so that all other forces act as well: after them the body is as far and as fast
as if it had begun with its velocity. A mechanism with closed loops begins at rest: a file gives the velocities of some
of its joints, and the others would have to follow.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ....core.kinematics import joint_motion
from ....core.model import DOF_SIZE, Array
from ....core.report import Message, Report, format_number
from ....core.transforms import affine_inverse, inverse, rotation_matrix, rotation_vector
from ...data.access import record_of, settings, world_of
from ...data.conversion import add_to_report, has_initial_velocity, read_stops
from ...data.properties.joint import KnuckleDof, KnuckleMotor
from ..constraints.constraints import UNREACHABLE_VELOCITY
from ..world.anchor import begins_with_velocity
from .actuator import Actuator, EmptyPoses, SimulationState
from .joint_state import (
    JointStateArrays,
    MultiDofJoint,
    bone_coordinates,
    connected_joints,
    multi_dof_bone_coordinates,
    unwrap_to,
)
from .motors import armature_axes, enable_motors, ensure_motor_numbers, ensure_thruster, thruster_pose

_SUFFIX = " Throw"
#: Time step (s) of the finite differences of velocities.
_TIME_DELTA = 1e-5
#: Upper bound of the motion in the second frame, as a multiple of the motion per frame at the initial velocity.
_STOP_HORIZON = 1.3
#: Measured on a slider: a spring (stiffness per mass, in frames) makes it go too far by this multiple, since Blender's
#: springs do not push while the motor slows it more; a damper has the same error at ten times that strength.
_SPRING_OVERSHOOT, _DAMPER_LOSS = 1.65, 0.1
#: Strength of a spring that makes an error of one percent.
_REPORT_THRESHOLD = 0.006


@dataclass
class BodyThrusters:
    """Motors for initial velocities of a mechanism's bodies: three for each body, along the armature's axes."""

    rig: bpy.types.Object
    bodies: list[int]  # their indices among the poses

    def mark(self, poses: Array) -> dict[bpy.types.Object, Matrix]:
        """Return the poses of the motors' empties for a simulation that begins with these body poses."""
        return {
            motor.empty: thruster_pose(poses, motor.dof_index % 3, poses[self.bodies[motor.dof_index // 3]][:3, 3])
            for motor in settings(self.rig).velocity_motors
        }

    def records(self) -> list[KnuckleMotor]:
        """Return the records of the motors."""
        return list(settings(self.rig).velocity_motors)

    def push(self, poses: Array, forces: Array, torques: Array) -> None:
        """Apply forces and torques (bodies, 3), in world axes, to the bodies."""
        axes = armature_axes(poses)
        along, about = forces @ axes, torques @ axes
        for motor in settings(self.rig).velocity_motors:
            constraint = None if motor.empty is None else motor.empty.rigid_body_constraint
            if constraint is None:
                continue
            for kind, components in (("lin", along), ("ang", about)):
                push = -float(components[motor.dof_index // 3, motor.dof_index % 3])  # counted as the anchor moves
                setattr(constraint, f"motor_{kind}_target_velocity", math.copysign(UNREACHABLE_VELOCITY, push))
                setattr(constraint, f"motor_{kind}_max_impulse", abs(push))


@dataclass
class InitialVelocityImpulse(Actuator):
    """Actuator that gives a mechanism's bodies the initial velocities of its joints."""

    scene: bpy.types.Scene
    joint_state: JointStateArrays
    motors: BodyThrusters
    joints: list[MultiDofJoint]
    _shares: list[float] = field(default_factory=list)  # of the momenta, in the next frames
    _is_over: bool = False
    _begun: dict[str, tuple[Array, Array]] = field(
        default_factory=dict
    )  # initial joint values: as measured, and with whole turns

    def prepare(self, scene: bpy.types.Scene) -> None:
        """Create the missing motors: three for each body."""
        rig, moved_bodies = self.joint_state.rig, self.motors.bodies
        motors = settings(rig).velocity_motors
        ensure_motor_numbers(motors, range(3 * len(moved_bodies)))
        for motor in motors:
            body = self.joint_state.bodies[moved_bodies[motor.dof_index // 3]]
            ensure_thruster(scene, rig, motor, body, body.name + _SUFFIX, turns=True)

    def motors_in_use(self) -> list[KnuckleMotor]:
        """Return the records of its motors."""
        return self.motors.records()

    def start(self, state: SimulationState) -> EmptyPoses:
        """Prepare for the first step, and return the poses of the motors' empties."""
        poses = state.poses
        late = 0.5 / world_of(self.scene).substeps_per_frame
        # with constant forces, a body that after two frames is as far as with its velocity from the start is too fast
        # after one; a little less so, since each step changes velocities before positions
        self._shares = [1.5 - late, late - 0.5]
        enable_motors(self.motors.records(), True)
        self._is_over = False
        single = zip(self.joint_state.joints, bone_coordinates(self.joint_state).reshape(-1, 1), strict=True)
        turned = multi_dof_bone_coordinates(self.joint_state) | dict(single)
        self._tell(state)
        self._begun = {}
        for item in self.joints:
            values = item.now(poses)
            about = turned.get(item.joint.id, values)
            whole = unwrap_to(values, about, _countable_angles(item)) if about.shape == values.shape else values
            self._begun[item.joint.id] = values, whole
        return self.motors.mark(poses)

    def _tell(self, state: SimulationState) -> None:
        """Report joints whose own springs and dampers are too strong for an acceleration within two frames."""
        report, most, springs, where = Report(), 0.0, 0.0, ""
        for item in self.joints:
            dofs = record_of(item.empty).joint.dofs
            if not any(DOF_SIZE[dof.kind] == 1 and dof.velocity for dof in dofs):
                continue
            moved, at = state.inertia.of_multi_dof_joint(item, item.now(state.poses)), 0
            for dof in dofs:
                spring = dof.stiffness / state.rate**2 / moved[at]
                strong = max(spring, _DAMPER_LOSS * dof.damping / state.rate / moved[at])
                if DOF_SIZE[dof.kind] == 1 and dof.velocity and strong > most:
                    most, springs, where = float(strong), float(spring), item.empty.name
                at += DOF_SIZE[dof.kind]
        if most > _REPORT_THRESHOLD:
            report.warn(
                "starts-inexact",
                Message(
                    "Initial velocity: approximate, springs and dampers are too stiff for the frame rate{}. "
                    "Increase the frame rate",
                    Message(" (error {} %)", format_number(100.0 * _SPRING_OVERSHOOT * springs))
                    if springs == most
                    else "",
                ),
                where=where,
            )
        add_to_report(self.joint_state.rig, report, {"starts-inexact"})

    def speeds(self) -> dict[str, Array]:
        """Return the initial velocities (size,) of joints by joint id; 0 for balls and free joints."""
        records = ((item.joint.id, record_of(item.empty).joint.dofs) for item in self.joints)
        return {
            id_: np.repeat([dof.velocity for dof in dofs], [DOF_SIZE[dof.kind] for dof in dofs])
            for id_, dofs in records
        }

    def update(self, state: SimulationState) -> None:
        """Apply forces in the first two frames, then switch the motors off."""
        poses, rate = state.poses, state.rate
        if not self._shares:
            if not self._is_over:
                self._is_over = True
                enable_motors(self.motors.records(), False)
            return
        carried = state.inertia
        stopped = self._stopped(poses, rate) if len(self._shares) == 1 else set()
        speeds = initial_body_velocities(
            self.joints, poses, [carried.stands(body) for body in range(len(poses))], stopped
        )
        both = [carried.momentum(body, *speeds[body]) for body in self.motors.bodies]
        share = self._shares.pop(0) * rate
        self.motors.push(
            poses, share * np.array([each[0] for each in both]), share * np.array([each[1] for each in both])
        )

    def _stopped(self, poses: Array, rate: float) -> set[tuple[str, int]]:
        """Return the joint values, as (joint id, index), that reach a stop within the second frame or have reached it.

        Their velocity must not be corrected in the second frame, which would throw them backwards.
        """
        out = set()
        for item in self.joints:
            record, at = record_of(item.empty).joint, 0
            first, begun = self._begun[item.joint.id]
            here = begun + unwrap_to(item.now(poses) - first, np.zeros(len(first)), _countable_angles(item))
            for dof in record.dofs:
                stop = read_stops(dof)[dof.velocity > 0.0]
                if DOF_SIZE[dof.kind] == 1 and dof.velocity and stop is not None:
                    ahead = (stop - here[at]) * math.copysign(1.0, dof.velocity)
                    if ahead <= _STOP_HORIZON * abs(dof.velocity) / rate:
                        out.add((item.joint.id, at))
                at += DOF_SIZE[dof.kind]
        return out


def initial_body_velocities(
    joints: Sequence[MultiDofJoint], poses: Array, stands: Sequence[bool], stopped: Collection[tuple[str, int]] = ()
) -> list[tuple[Array, Array]]:
    """Compute the velocities of all bodies from those of their joints.

    Args:
        joints: The joints.
        poses: Poses (bodies + 1, 4, 4); the last is the world.
        stands: Whether each of them is fixed. The first body of a group connected to none of these begins at rest.
        stopped: Joint values, as (joint id, index), whose velocity is taken as zero.

    Returns:
        Linear and angular velocity (3,) of each, in the world.
    """
    nothing = np.zeros(3), np.zeros(3)
    known = [nothing] * len(poses)
    for item, one, other in _joints_outwards(joints, stands):
        known[other] = _propagate_velocity(item, poses, known[one], one, stopped)
    return known


def _joints_outwards(
    joints: Sequence[MultiDofJoint], stands: Sequence[bool]
) -> Iterator[tuple[MultiDofJoint, int, int]]:
    """Yield joints outwards from the fixed bodies, or from the first body of a floating group.

    Yields:
        The joint and the indices of the bodies before and beyond it.
    """
    known = {body for body, stays in enumerate(stands) if stays}
    while len(known) < len(stands):
        ready = [item for item in joints if (item.parent in known) != (item.child in known)]
        for item in ready:
            if item.child in known and item.parent in known:
                continue
            one, other = (item.parent, item.child) if item.parent in known else (item.child, item.parent)
            known.add(other)
            yield item, one, other
        if not ready:
            known.add(next(body for body in range(len(stands)) if body not in known))


def _propagate_velocity(
    item: MultiDofJoint,
    poses: Array,
    known: tuple[Array, Array],
    one: int,
    stopped: Collection[tuple[str, int]],
) -> tuple[Array, Array]:
    """Return the linear and angular velocity (3,) of the body beyond a joint, from those of the body before it."""
    ends, inside = [], item.parent == one
    for time in (-_TIME_DELTA, _TIME_DELTA):
        base = poses[one].copy()
        base[:3, :3] = rotation_matrix(known[1] * time) @ base[:3, :3]
        base[:3, 3] += known[0] * time
        way = item.on_parent @ _motion_after(item, poses, time, stopped) @ inverse(item.on_child)
        ends.append(base @ (way if inside else inverse(way)))
    turned = rotation_vector((ends[1] @ affine_inverse(ends[0]))[:3, :3])
    return (ends[1][:3, 3] - ends[0][:3, 3]) / (2 * _TIME_DELTA), turned / (2 * _TIME_DELTA)


def _motion_after(item: MultiDofJoint, poses: Array, time: float, stopped: Collection[tuple[str, int]]) -> Array:
    """Return a joint's motion (4, 4) ``time`` seconds after the simulation begins.

    Initial rates of a ball or free joint are along the axes of its child's side, as in DART.
    """
    record, values = record_of(item.empty).joint, item.now(poses)
    if len(record.dofs) == 1 and record.dofs[0].kind in {"ball", "free"}:
        rates = np.array(record.dofs[0].start_rates) * time
        step = np.eye(4)
        step[:3, :3] = rotation_matrix(rates[:3])
        step[:3, 3] = rates[3:] if record.dofs[0].kind == "free" else 0.0
        return joint_motion(item.joint, values[None])[0] @ step
    rates = np.concatenate([_initial_rates(dof) for dof in record.dofs]) if len(record.dofs) else np.zeros(0)
    rates[[number for joint, number in stopped if joint == item.joint.id]] = 0.0
    return joint_motion(item.joint, (values + rates * time)[None])[0]


def _countable_angles(item: MultiDofJoint) -> NDArray[np.bool_]:
    """Return which joint values (size,) are angles whose whole turns are counted."""
    kinds = [dof.kind for dof in item.joint.dofs for _ in range(DOF_SIZE[dof.kind])]
    return np.array([kind == "rotation" for kind in kinds], dtype=bool)


def _initial_rates(dof: KnuckleDof) -> Array:
    size = DOF_SIZE[dof.kind]
    return np.array([dof.velocity] if size == 1 else dof.start_rates[:size], dtype=np.float64)


def initial_velocity_impulses(scene: bpy.types.Scene, joint_state: JointStateArrays) -> list[InitialVelocityImpulse]:
    """Return the actuator of initial velocities; none without velocities or with closed loops."""
    rig = joint_state.rig
    if settings(rig).anchor is None or not begins_with_velocity(rig):
        return []
    joints, bodies = connected_joints(rig), joint_state.bodies
    moves = [obj.rigid_body is not None and obj.rigid_body.type == "ACTIVE" for obj in bodies]
    quick: set[int] = set()
    for item, one, other in _joints_outwards(joints, [*(not each for each in moves), True]):
        if one in quick or has_initial_velocity(record_of(item.empty).joint):
            quick.add(other)
    moved_bodies = sorted(body for body in quick if moves[body])
    return [InitialVelocityImpulse(scene, joint_state, BodyThrusters(rig, moved_bodies), joints)]
