"""Actuators: all that exerts forces in a simulation besides Blender's own constraints.

Servos, joint friction and damping, springs, point-to-point forces, screw couplings, initial velocities and stops beyond
a turn are each an ``Actuator`` of one mechanism. Its controller prepares them when joints are collected, starts them at
the first frame and updates them before every step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import bpy
from mathutils import Matrix

from ....core.model import Array
from ...data.properties.joint import KnuckleMotor
from .dof_motors import DofMotors, ensure_dof_motors
from .effective_mass import ReflectedInertia
from .joint_state import JointStateArrays

#: Poses of empties in the mechanism's own lengths.
EmptyPoses = Mapping[bpy.types.Object, Matrix]


@dataclass
class SimulationState:
    """State of a mechanism from which forces are computed.

    Attributes:
        joint_state: Its joints.
        poses: Poses (bodies + 1, 4, 4) in the mechanism's own lengths; the last is the armature's.
        rate: Steps per second of the physics' time.
        frame: The frame that the step leads to; the first one before any step.
        drive: KEYS, SERVO or LIMP.
        law: Control law: JUICE, TRACK or PD.
        values: Initial joint values (size,) by joint id, with whole turns; only at the first frame.
        velocities: Initial joint velocities (size,) by joint id; only at the first frame, empty if all begin at rest.
        body_velocities: Initial linear and angular velocities (3,) of the bodies and of the world, in the same case.
    """

    joint_state: JointStateArrays
    poses: Array
    rate: float
    frame: int
    drive: str
    law: str
    values: Mapping[str, Array] = field(default_factory=dict)
    velocities: Mapping[str, Array] = field(default_factory=dict)
    body_velocities: Sequence[tuple[Array, Array]] = ()

    @cached_property
    def inertia(self) -> ReflectedInertia:
        """Masses and inertia of the bodies in these poses."""
        return ReflectedInertia(self.joint_state, self.poses)

    @cached_property
    def coordinates(self) -> Array:
        """Values (n,) of the joints; angles in (-pi, pi]."""
        return self.joint_state.coordinates(self.poses)


class Actuator(ABC):
    """Source of forces of one mechanism, from the first frame of a simulation on.

    Motors that an actuator left with a force, as in a file that was saved meanwhile, are set to zero when the joints
    are collected again (``motors.stop_all_motors``): references of an abandoned actuator may be freed.
    """

    @abstractmethod
    def prepare(self, scene: bpy.types.Scene) -> None:
        """Create what is missing in the scene's rigid-body world."""

    @abstractmethod
    def start(self, state: SimulationState) -> EmptyPoses:
        """Prepare for the first step.

        Returns:
            Poses that empties of motors need for it.
        """

    @abstractmethod
    def update(self, state: SimulationState) -> None:
        """Set the commands of the motors for the next step."""

    def motors_in_use(self) -> Iterable[KnuckleMotor]:
        """Return the records of its motors; others on the same lists are removed."""
        return ()


class JointMotors:
    """Motors about the axes of joints with the same kinds of degrees of freedom."""

    motors: DofMotors

    def prepare(self, scene: bpy.types.Scene) -> None:
        """Create the missing motors and connect them."""
        ensure_dof_motors(scene, self.motors)

    def start(self, state: SimulationState) -> EmptyPoses:
        """Prepare for the first step, and return the poses of the motors' empties."""
        self.motors.set_initial_state(state.values, state.velocities)
        self.choose(state)
        return self.motors.mark(state.poses)

    def choose(self, state: SimulationState) -> None:
        """Decide at the first frame what the motors exert."""

    def motors_in_use(self) -> list[KnuckleMotor]:
        """Return the records of its motors."""
        return self.motors.records()


class JointActuator(JointMotors, Actuator):
    """Actuator of joints with the same kinds of degrees of freedom, by motors about their axes."""
