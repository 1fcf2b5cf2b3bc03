"""Point-to-point forces of restraints: three motors on each moving body, against the anchor.

A motor between the two bodies would act on each of them at the other's initial position. Against the fixed anchor, each
body is pushed at its own point, and action equals reaction. Where a restraint acts along an axis of the first point,
the first body is pushed at the second point: by motors at that point's initial position, and a torque for its
displacement since.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import bpy
import numpy as np
from mathutils import Matrix

from ....core.force_laws import PiecewisePolynomial, SpringDamperIntegrator
from ....core.model import Array
from ....core.report import Message, Report
from ....core.transforms import inverse
from ...data.access import settings, world_of
from ...data.conversion import add_to_report, unflatten_pose
from ...data.properties.joint import KnuckleMotor, KnuckleRestraint
from ..constraints.constraints import UNREACHABLE_VELOCITY
from ..constraints.generic6dof import motor_torque_axis
from ..constraints.restraints import distance_axis, point_restraints, restraint_law
from ..world.scale import model_scale
from .actuator import Actuator, EmptyPoses, SimulationState
from .effective_mass import EffectiveMass
from .joint_state import JointStateArrays
from .motors import armature_axes, ensure_motor_numbers, ensure_thruster, thruster_pose

_SUFFIX = " Force"
#: Largest angular frequency (rad per frame) of a spring with the mass it moves. Measured on the ends of chains of one
#: to three links: at 2 the amplitude was 7 % too large after five seconds, at 2.5 it grew without limit.
_STIFFNESS_LIMIT = 1.5
_STIFF_CODE = "restraint-stiff"


@dataclass
class PointThrusters:
    """Motors of a restraint: three along the armature's axes on each of the bodies that move.

    ``ends`` are the indices of both bodies among the poses, ``places`` (2, 4, 4) the restraint's frames on them.
    """

    rig: bpy.types.Object
    kept: KnuckleRestraint
    ends: tuple[int, int]
    moves: tuple[bool, bool]
    places: Array
    _written: dict[int, tuple[float, float]] = field(default_factory=dict)
    _turned: Array | None = None  # the first body's initial rotation (3, 3), and the point on it that is pushed
    _pushed: Array | None = None

    def where(self, poses: Array) -> Array:
        """Return the two frames (2, 4, 4) in the world."""
        return np.array([poses[end] @ place for end, place in zip(self.ends, self.places, strict=True)])

    def mark(self, poses: Array) -> dict[bpy.types.Object, Matrix]:
        """Return the poses of the motors' empties for a simulation that begins with these body poses."""
        self._written = {}
        out = {}
        points = self.where(poses)[:, :3, 3]
        if distance_axis(self.kept) >= 0:
            points[0] = points[1]
        self._turned, self._pushed = poses[self.ends[0]][:3, :3], inverse(poses[self.ends[0]])[:3] @ [*points[0], 1.0]
        for motor in self.kept.motors:
            out[motor.empty] = thruster_pose(poses, motor.dof_index % 3, points[motor.dof_index // 3])
        return out

    def records(self) -> list[KnuckleMotor]:
        """Return the records of the motors."""
        return list(self.kept.motors)

    def push(self, poses: Array, force: Array, place: Array) -> None:
        """Apply a force (3,), in world axes, to the second body and its reaction to the first.

        Args:
            poses: Poses (bodies + 1, 4, 4).
            force: Force on the second body.
            place: Point (3,) at which both act, for a restraint along an axis.
        """
        along = armature_axes(poses).T @ force
        about = self._couple(poses, -force, place)
        for motor in self.kept.motors:
            component = float(along[motor.dof_index % 3]) * (
                1.0 if motor.dof_index < 3 else -1.0
            )  # opposite sign convention
            turned = -float(about[motor.dof_index]) if motor.dof_index < 3 else 0.0
            constraint = None if motor.empty is None else motor.empty.rigid_body_constraint
            if constraint is not None and self._written.get(motor.dof_index) != (component, turned):
                self._written[motor.dof_index] = component, turned
                for kind, push in (("lin", component), ("ang", turned)):
                    setattr(constraint, f"motor_{kind}_target_velocity", math.copysign(UNREACHABLE_VELOCITY, push))
                    setattr(constraint, f"motor_{kind}_max_impulse", abs(push))

    def _couple(self, poses: Array, force: Array, place: Array) -> Array:
        """Return the torques (3,) of the first body's motors that shift a force on it to a point."""
        if distance_axis(self.kept) < 0 or self._pushed is None or self._turned is None or not self.moves[0]:
            return np.zeros(3)
        body = poses[self.ends[0]]
        arm = place - (body @ [*self._pushed, 1.0])[:3]
        axes = armature_axes(poses)
        gone = body[:3, :3] @ self._turned.T @ axes  # X of each motor moves with the body, and Z stays
        across = motor_torque_axis(gone.T, axes.T[[2, 0, 1]])
        across /= np.maximum(np.linalg.norm(across, axis=1), 1e-30)[:, None]
        return np.linalg.pinv(across.T, rcond=0.05) @ (model_scale(self.rig) * np.cross(arm, force))


@dataclass
class PointForceActuator(Actuator):
    """Restraint between two points."""

    scene: bpy.types.Scene
    motors: PointThrusters
    held: SpringDamperIntegrator | None = None
    _effective_mass: EffectiveMass | None = None
    _law: PiecewisePolynomial | None = None
    _share: float = 1.0  # of its force that is applied

    def prepare(self, scene: bpy.types.Scene) -> None:
        """Create the missing motors: three on each body that moves."""
        wanted = [3 * side + axis for side in (0, 1) for axis in range(3) if self.motors.moves[side]]
        _ensure_motors(scene, self.motors.rig, self.motors.kept, wanted)

    def start(self, state: SimulationState) -> EmptyPoses:
        """Prepare for the first step, and return the poses of the motors' empties."""
        law = self._law = restraint_law(self.motors.kept)
        self._share = 1.0
        substeps = world_of(self.scene).substeps_per_frame
        spring = self.motors.kept.kind == "spring"

        def pull(x: float) -> float:
            return -self._share * law(x)

        self.held = SpringDamperIntegrator(pull if spring else None, None if spring else pull, 1.0, substeps)
        self.held.initial_speed = self._initial_speed(state)
        self._effective_mass = state.inertia.effective_mass
        return self.motors.mark(state.poses)

    def _initial_speed(self, state: SimulationState) -> float:
        """Return the rate at which the distance grows as the simulation begins."""
        if not state.body_velocities:
            return 0.0
        points = self.motors.where(state.poses)[:, :3, 3]
        rates = [
            state.body_velocities[end][0] + np.cross(state.body_velocities[end][1], point - state.poses[end][:3, 3])
            for end, point in zip(self.motors.ends, points, strict=True)
        ]
        way = self._direction(state.poses)
        return float((rates[1] - rates[0]) @ way)

    def _direction(self, poses: Array) -> Array:
        """Return the unit vector (3,) along which the distance is measured."""
        one, other = self.motors.where(poses)
        axis = distance_axis(self.motors.kept)
        way = one[:3, axis] if axis >= 0 else other[:3, 3] - one[:3, 3]
        return np.asarray(way / max(float(np.linalg.norm(way)), 1e-9))

    def motors_in_use(self) -> list[KnuckleMotor]:
        """Return the records of its motors."""
        return self.motors.records()

    def update(self, state: SimulationState) -> None:
        """Apply forces for the next frame."""
        poses, rate = state.poses, state.rate
        if self.held is None or self._effective_mass is None:
            return  # an undo during a simulation: the last forces stay
        one, other = self.motors.where(poses)
        apart = other[:3, 3] - one[:3, 3]
        way = self._direction(poses)
        # along an axis, the first body too is pushed at the second point
        first = other if distance_axis(self.motors.kept) >= 0 else one
        inverse_mass = self._effective_mass.inverse_mass_between(
            (self.motors.ends[0], first[:3, 3]), (self.motors.ends[1], other[:3, 3]), way, poses
        )
        self.held.inertia = 1.0 / max(inverse_mass, 1e-9)
        if self.motors.kept.kind == "spring":
            self._soften(float(apart @ way), inverse_mass, rate)
        self.motors.push(poses, way * self.held.force(float(apart @ way), 1.0 / rate), other[:3, 3])

    def _soften(self, place: float, inverse_mass: float, rate: float) -> None:
        """Reduce a spring too stiff for a force set once a frame to the largest stable stiffness, and report it."""
        assert self._law is not None
        stiff = max(self._law.slope(place), 0.0) * inverse_mass / (_STIFFNESS_LIMIT * rate) ** 2
        self._share = min(self._share, 1.0 / max(stiff, 1.0))  # never raised again: a varying share would add energy
        rig, name, over = self.motors.rig, self.motors.kept.name, math.sqrt(stiff)
        if stiff > 1.0 and not any(line.code == _STIFF_CODE and line.where == name for line in settings(rig).report):
            report = Report()
            report.warn(
                _STIFF_CODE,
                Message(
                    "Restraint: too stiff for the frame rate ({} rad of its oscillation per frame, limit {}), "
                    "simulated with {} of its force. Increase the frame rate {} times",
                    f"{_STIFFNESS_LIMIT * over:.3g}",
                    f"{_STIFFNESS_LIMIT:.3g}",
                    f"{1.0 / stiff:.0%}",
                    f"{over:.3g}",
                ),
                where=name,
            )
            add_to_report(rig, report)


def point_force_actuators(scene: bpy.types.Scene, joint_state: JointStateArrays) -> list[PointForceActuator]:
    """Return the actuators of a mechanism's restraints between two points."""
    number = {obj: place for place, obj in enumerate(joint_state.bodies)}
    anchor = settings(joint_state.rig).anchor
    out = []
    for kept in point_restraints(joint_state.rig):
        sides = (kept.body_a, kept.body_b)
        if anchor is None or any(end is not None and end not in number for end in sides):
            continue
        moves = tuple(
            end is not None and end.rigid_body is not None and end.rigid_body.type == "ACTIVE" for end in sides
        )
        ends = tuple(len(joint_state.bodies) if end is None else number[end] for end in sides)
        places = np.array([unflatten_pose(kept.frame_a), unflatten_pose(kept.frame_b)])
        out.append(PointForceActuator(scene, PointThrusters(joint_state.rig, kept, ends, moves, places)))  # type: ignore[arg-type]
    return out


def _ensure_motors(scene: bpy.types.Scene, rig: bpy.types.Object, kept: KnuckleRestraint, wanted: list[int]) -> None:
    """Create the missing motors of a restraint."""
    ensure_motor_numbers(kept.motors, wanted)
    for motor in kept.motors:
        body = kept.body_a if motor.dof_index < 3 else kept.body_b
        assert body is not None
        turns = distance_axis(kept) >= 0 and motor.dof_index < 3
        ensure_thruster(scene, rig, motor, body, f"{body.name} {kept.name}{_SUFFIX}", turns)
