"""Initial velocities of bodies, from those of the joints in the model file.

Blender's bodies begin at rest. Before the first frame the world takes one short step (``INITIAL_STEP`` of a frame), in
which motors against the anchor apply each body's momentum; the first frame is shorter by that. In a step this short
nothing turns or falls noticeably, so that neither the directions of the motors nor other forces matter.

In closed loops a file gives the velocities of some joints, and the others follow from the loop Jacobian.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ....core.model import DOF_SIZE, Array, dof_slices
from ....core.report import Message, Report, format_number
from ....core.spatial import dof_jacobian, dof_motion_single
from ...data.access import record_of, settings
from ...data.conversion import add_to_report, has_initial_velocity
from ...data.properties.joint import KnuckleDof, KnuckleMotor
from ..constraints.constraints import UNREACHABLE_VELOCITY
from ..world.anchor import begins_with_velocity
from .actuator import Actuator, EmptyPoses, SimulationState
from .joint_state import JointStateArrays, MultiDofJoint
from .motors import armature_axes, enable_motors, ensure_motor_numbers, ensure_thruster, thruster_pose

_SUFFIX = " Initial Velocity"
#: Duration of the step in which bodies get their velocities, as a share of a frame.
INITIAL_STEP = 0.02
#: Solver iterations of that step: inertia proxies must get their share of a body's momentum in it.
INITIAL_ITERATIONS = 1000
#: Relative singular value below which loops do not constrain rates.
_REDUNDANCY_RATIO = 1e-7
#: Share of a velocity by which loops may change it without a warning.
_CONTRADICTION = 1e-3


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
    """Actuator that gives a mechanism's bodies the initial velocities of its joints, in a step of its own."""

    joint_state: JointStateArrays
    motors: BodyThrusters
    joints: list[MultiDofJoint]
    _is_over: bool = False

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
        """Return the poses of the motors' empties."""
        enable_motors(self.motors.records(), True)
        self._is_over = False
        return self.motors.mark(state.poses)

    def speeds(self, state: SimulationState) -> dict[str, Array]:
        """Return the initial velocities (size,) of joints by joint id; 0 for balls and free joints."""
        rates = joint_rates(self.joints, state.poses, _standing(state))
        blocks = {item.joint.id for item in self.joints if any(DOF_SIZE[dof.kind] > 1 for dof in item.joint.dofs)}
        return {joint: np.zeros(len(own)) if joint in blocks else own for joint, own in rates.items()}

    def body_speeds(self, state: SimulationState) -> list[tuple[Array, Array]]:
        """Return the initial linear and angular velocities (3,) of the bodies and of the world."""
        stands = _standing(state)
        rates = joint_rates(self.joints, state.poses, stands)
        return body_velocities(self.joints, state.poses, stands, rates)

    def apply_initial_velocities(self, state: SimulationState) -> None:
        """Apply forces that give every body its momentum in the next step; ``state.rate`` is that step's."""
        self._report(joint_rates(self.joints, state.poses, _standing(state)), state.rate * INITIAL_STEP)
        speeds = self.body_speeds(state)
        both = [state.inertia.momentum(body, *speeds[body]) for body in self.motors.bodies]
        self.motors.push(
            state.poses,
            state.rate * np.array([each[0] for each in both]),
            state.rate * np.array([each[1] for each in both]),
        )

    def _report(self, rates: Mapping[str, Array], rate: float) -> None:
        """Report velocities that closed loops do not allow, and those that frames do not resolve."""
        report = Report()
        fastest, where = max(
            ((_spin(item, rates[item.joint.id]), item.empty.name) for item in self.joints), default=(0.0, "")
        )
        if fastest > math.pi * rate:
            message = Message(
                "Initial velocity: {}° per frame, keyframes show less than 180°. Increase the frame rate",
                format_number(math.degrees(fastest / rate)),
            )
            report.warn("starts-fast", message, where=where)
        for item in self.joints:
            given, own = _given_rates(item), rates[item.joint.id]
            off = float(np.abs(own - given)[given != 0.0].max(initial=0.0))
            if off > _CONTRADICTION * float(np.abs(given).max(initial=0.0)):
                message = Message(
                    "Initial velocity: the closed loops do not allow it, changed by {}", format_number(off)
                )
                report.warn("starts-contradict", message, where=item.empty.name)
        add_to_report(self.joint_state.rig, report, {"starts-contradict", "starts-fast"})

    def update(self, state: SimulationState) -> None:
        """Switch the motors off: bodies have their velocities from the step before the first frame."""
        if not self._is_over:
            self._is_over = True
            enable_motors(self.motors.records(), False)


def _standing(state: SimulationState) -> list[bool]:
    return [state.inertia.stands(body) for body in range(len(state.poses))]


def _given_rates(item: MultiDofJoint) -> Array:
    """Return the initial rates (size,) of a joint in its file."""
    return np.concatenate([_initial_rates(dof) for dof in record_of(item.empty).joint.dofs] or [np.zeros(0)])


def _spin(item: MultiDofJoint, rates: Array) -> float:
    """Return the speed (rad/s) at which a joint with these rates (size,) turns, of its fastest degree of freedom."""
    every = [rates[own][:3] for dof, own in dof_slices(item.joint.dofs) if dof.kind != "translation"]
    return max((float(np.linalg.norm(each)) for each in every), default=0.0)


def joint_rates(joints: Sequence[MultiDofJoint], poses: Array, stands: Sequence[bool]) -> dict[str, Array]:
    """Compute the initial rates (size,) of all joints, by joint id, such that all closed loops stay closed.

    Rates of the file other than zero are kept as nearly as the loops allow, in the sense of least squares; the others
    are then as small as possible.

    Args:
        joints: The joints.
        poses: Poses (bodies + 1, 4, 4); the last is the world.
        stands: Whether each of them is fixed.
    """
    given = {item.joint.id: _given_rates(item) for item in joints}
    tree = list(_joints_outwards(joints, stands))
    inner = {item.joint.id for item, _one, _other in tree}
    chords = [item for item in joints if item.joint.id not in inner]
    if not chords:
        return given
    columns, count = {}, 0
    for item in joints:
        columns[item.joint.id] = slice(count, count + len(given[item.joint.id]))
        count += len(given[item.joint.id])
    twists = np.zeros((len(poses), 6, count))  # of bodies, per unit of each rate
    jacobians = {item.joint.id: joint_jacobian(item, poses) for item in joints}
    for item, one, other in tree:
        twists[other] = twists[one]
        sign = 1.0 if item.parent == one else -1.0
        twists[other][:, columns[item.joint.id]] += sign * jacobians[item.joint.id]
    rows = []
    for item in chords:
        row = twists[item.child] - twists[item.parent]
        row[:, columns[item.joint.id]] -= jacobians[item.joint.id]
        rows.append(row)
    wanted = np.concatenate([given[item.joint.id] for item in joints])
    found = _nearest_rates(np.concatenate(rows), wanted)
    return {joint: found[where] for joint, where in columns.items()}


def _nearest_rates(loops: Array, wanted: Array) -> Array:
    """Return rates (n,) with ``loops @ rates == 0``: nearest to those ``wanted`` that are not 0, the others least."""
    basis, given = _null_space(loops), wanted != 0.0
    nearest = np.linalg.lstsq(basis[given], wanted[given], rcond=_REDUNDANCY_RATIO)[0]
    spare = _null_space(basis[given])
    change = np.linalg.lstsq(basis[~given] @ spare, -basis[~given] @ nearest, rcond=_REDUNDANCY_RATIO)[0]
    return np.asarray(basis @ (nearest + spare @ change))


def _null_space(matrix: Array) -> Array:
    """Return an orthonormal basis (n, k) of the null space of a matrix (m, n)."""
    _, strengths, right = np.linalg.svd(matrix)
    rank = int((strengths > _REDUNDANCY_RATIO * strengths.max(initial=0.0)).sum())
    return np.asarray(right[rank:].T)


def joint_jacobian(item: MultiDofJoint, poses: Array) -> Array:
    """Compute the geometric Jacobian (6, size) of a joint: twists [angular; linear at the origin] of its child.

    Rates of a ball or free joint are along the axes of its child's side, as in DART.
    """
    frame, values, out = poses[item.parent] @ item.on_parent, item.now(poses), [np.zeros((6, 0))]
    for dof, part in dof_slices(item.joint.dofs):
        own = values[part]
        after = frame @ dof_motion_single(dof, own)
        if len(own) == 1:
            out.append(dof_jacobian(dof, frame, own))
        else:
            axes = after[:3, :3]
            out.append(np.concatenate([axes, np.cross(after[:3, 3], axes.T).T]))
            if dof.kind == "free":
                out.append(np.concatenate([np.zeros((3, 3)), axes]))
        frame = after
    return np.concatenate(out, axis=1)


def body_velocities(
    joints: Sequence[MultiDofJoint], poses: Array, stands: Sequence[bool], rates: Mapping[str, Array]
) -> list[tuple[Array, Array]]:
    """Compute the velocities of all bodies from those of their joints.

    Args:
        joints: The joints.
        poses: Poses (bodies + 1, 4, 4); the last is the world.
        stands: Whether each of them is fixed. The first body of a group connected to none of these begins at rest.
        rates: Rates (size,) of the joints, by joint id.

    Returns:
        Linear and angular velocity (3,) of each, in the world.
    """
    twists = np.zeros((len(poses), 6))
    for item, one, other in _joints_outwards(joints, stands):
        sign = 1.0 if item.parent == one else -1.0
        twists[other] = twists[one] + sign * (joint_jacobian(item, poses) @ rates[item.joint.id])
    return [
        (twist[3:] + np.cross(twist[:3], pose[:3, 3]), twist[:3]) for twist, pose in zip(twists, poses, strict=True)
    ]


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


def _initial_rates(dof: KnuckleDof) -> Array:
    size = DOF_SIZE[dof.kind]
    return np.array([dof.velocity] if size == 1 else dof.start_rates[:size], dtype=np.float64)


def initial_velocity_impulses(joint_state: JointStateArrays) -> list[InitialVelocityImpulse]:
    """Return the actuator of initial velocities; none without velocities."""
    rig = joint_state.rig
    if settings(rig).anchor is None or not begins_with_velocity(rig):
        return []
    joints, bodies = joint_state.connected_joints, joint_state.bodies
    moves = [obj.rigid_body is not None and obj.rigid_body.type == "ACTIVE" for obj in bodies]
    tree = list(_joints_outwards(joints, [*(not each for each in moves), True]))
    loops = len(tree) < len(joints)
    quick: set[int] = set()
    for item, one, other in tree:
        if loops or one in quick or has_initial_velocity(record_of(item.empty).joint):
            quick.add(other)
    moved_bodies = sorted(body for body in quick if moves[body])
    return [InitialVelocityImpulse(joint_state, BodyThrusters(rig, moved_bodies), joints)]
