"""Controller of one simulated mechanism: its joints' state, the targets of its servos and its actuators."""

from __future__ import annotations

import bpy
import numpy as np

from ....core.model import Array
from ...data.access import original_of, record_of, settings
from ...data.channels import settings_curves
from ...data.conversion import initial_dof_coordinates
from ...data.properties.model import DRIVES
from ...data.rigid_bodies import apply_masses, collision_children, store_typed_mass
from ..actuators.actuator import Actuator, SimulationState
from ..actuators.dof_servos import (
    MultiDofServos,
    ServoGroup,
    SingleDofServos,
    has_locked_joints,
    multi_dof_servos,
    screw_couplings,
)
from ..actuators.initial_velocity import INITIAL_STEP, initial_velocity_impulses
from ..actuators.joint_friction_damping import joint_losses
from ..actuators.joint_state import (
    JointStateArrays,
    bone_coordinates,
    ensure_preloads,
    gather_joint_state,
    initial_joint_coordinates,
    unwrap_to,
)
from ..actuators.motors import force_lists, keep_used_motors, stop_all_motors
from ..actuators.multi_turn_stops import multi_turn_stops
from ..actuators.point_forces import point_force_actuators
from ..actuators.servo_targets import ServoTargets, control_law
from ..actuators.spring_forces import spring_actuators
from ..bodies.penetration import PointsByMesh, lowest_point
from ..constraints.constraints import write_tilt_softness
from ..workarounds.initial_state import InitialStatePin
from ..world.anchor import SOFT_CFM, moving_bodies, raise_model, set_kinematic
from ..world.rigidbody_world import solver_rate, step_rate
from ..world.scale import to_own_lengths, to_world_pose


class ModelController:
    """Controller of one mechanism's simulation, from its first frame. Steps go one frame at a time.

    Attributes:
        rig: The armature; of a copy in a simulation scene. Drive and control law are the original's.
        original_uid: ``session_uid`` of the original, or of the armature itself where it is no copy.
        joint_state: State of its joints.
        drive: KEYS, SERVO or LIMP at present.
        commanded_frame: The frame of the last commanded step.
    """

    def __init__(self, scene: bpy.types.Scene, rig: bpy.types.Object, stretch: int = 1) -> None:
        self.scene, self.rig, self._original = scene, rig, original_of(rig)
        self.original_uid: int = self._original.session_uid
        self.joint_state: JointStateArrays = gather_joint_state(rig)
        self._settings = settings_curves(self._original)
        self.drive = ""
        for obj in self.joint_state.bodies:
            store_typed_mass(obj)
            if obj.rigid_body is not None:
                apply_masses(obj)
        self._bodies = moving_bodies(rig)
        stop_all_motors(rig)
        self._targets = ServoTargets(scene, self.joint_state, stretch)
        self.commanded_frame = self._targets.first
        uses_motors = self._has_drive({"SERVO"}) or has_locked_joints(self.joint_state)
        self._servos = SingleDofServos(self.joint_state, self._targets, uses_motors)
        self.several: list[MultiDofServos] = multi_dof_servos(self.joint_state, self._targets) if uses_motors else []
        self._impulses = initial_velocity_impulses(self.joint_state) if self._uses_physics() else []
        self._forces: list[Actuator] = []
        if self._uses_physics():
            self._forces = [
                *joint_losses(scene, self.joint_state),
                *spring_actuators(scene, self.joint_state),
                *point_force_actuators(scene, self.joint_state),
                *screw_couplings(scene, self.joint_state),
                *self._impulses,
                *multi_turn_stops(self.joint_state, self._with_whole_turns()),
            ]
        #: In the order of their commands.
        servos = ServoGroup(scene, [self._servos, *self.several])
        self._actuators: list[Actuator] = [*self._forces, servos]
        servos.prepare(scene)  # Bullet solves constraints in the order of their creation
        ensure_preloads(scene, self.joint_state)
        for actuator in self._forces:
            actuator.prepare(scene)
        if self._uses_physics():
            used = {motor.empty for force in self._forces for motor in force.motors_in_use()}
            for kept in force_lists(rig):
                keep_used_motors(kept, used)

    def _has_drive(self, drives: set[str]) -> bool:
        """Return whether a mechanism has one of these drives now, or may have it at some keyed frame."""
        return settings(self._original).drive in drives or ("knuckle.drive", 0) in self._settings

    def _uses_physics(self) -> bool:
        return self._has_drive({"SERVO", "LIMP"})

    @property
    def servo_targets(self) -> Array:
        """Targets (n,) of hinges and sliders at the end of the last commanded step; nan without a motor or target."""
        return self._servos.last_targets

    @property
    def multi_dof_targets(self) -> dict[str, Array]:
        """Targets (size,) of joints with several degrees of freedom at that time, by joint id."""
        return {
            item.joint.id: targets
            for each in self.several
            for item, targets in zip(each.joints, each.last_targets, strict=True)
        }

    # ---------------------------------------------------------------- each frame

    def drive_at(self, frame: float) -> str:
        """Return the drive (KEYS, SERVO or LIMP) at a frame; it may be keyed."""
        curve = self._settings.get(("knuckle.drive", 0))
        if curve is None:
            return settings(self._original).drive
        return DRIVES[min(max(int(curve.evaluate(frame)), 0), len(DRIVES) - 1)]

    def stand_on_ground(self) -> bool:
        """Raise a mechanism that begins inside its ground, at the first frame of a simulation.

        Note:
            Blender would throw it out of the ground.

        Returns:
            Whether it was raised.
        """
        if self.drive == "KEYS" or not settings(self.rig).has_ground:
            return False
        children, measured = collision_children(self.rig), PointsByMesh()
        bodies = zip(self.joint_state.bodies, self.joint_state.poses()[:-1], strict=True)
        lowest = min((lowest_point(obj, children.get(obj, ()), pose, measured) for obj, pose in bodies), default=0.0)
        if lowest >= -1e-4:
            return False
        raise_model(self.rig, settings(self.rig).ground_offset - float(lowest))
        return True

    def set_drive(self, drive: str) -> None:
        """Make the bodies follow their bones, or physics."""
        if drive != self.drive:
            self.drive = drive
            set_kinematic(self._bodies, drive == "KEYS")
            if drive == "KEYS":
                raise_model(self.rig, 0.0)

    def start(self) -> InitialStatePin:
        """Prepare the mechanism before the first step: stops, forces, motors and the poses of its objects.

        Returns:
            The held initial state, which the caller releases after the step.
        """
        poses = self.joint_state.poses()
        own, size = to_own_lengths(poses)
        state = self._state(self._targets.first, own)
        if settings(self.rig).cfm > SOFT_CFM:
            for item in self.joint_state.servo_joints:
                inertia, rate = state.inertia.tilt_inertia(item), solver_rate(self.scene)
                write_tilt_softness(item.empty, settings(self.rig), inertia, rate)
        turned = self._with_whole_turns(state.coordinates)
        state.values = initial_joint_coordinates(self.joint_state, turned)
        state.velocities = {joint: speeds for each in self._impulses for joint, speeds in each.speeds(state).items()}
        state.body_velocities = next((each.body_speeds(state) for each in self._impulses), ())
        placed = [actuator.start(state) for actuator in self._actuators]
        places = {empty: to_world_pose(place, size) for each in placed for empty, place in each.items()}
        beginning = InitialStatePin(self.scene, self.joint_state)
        beginning.hold(poses, turned, places)
        return beginning

    @property
    def begins_with_velocity(self) -> bool:
        """Return whether bodies have initial velocities, for which the world takes a step before the first frame."""
        return bool(self._impulses)

    def apply_initial_velocities(self) -> None:
        """Set the motors that give bodies their initial velocities in the step before the first frame."""
        state = self._state(self._targets.first, to_own_lengths(self.joint_state.poses())[0])
        state.rate /= INITIAL_STEP
        for each in self._impulses:
            each.apply_initial_velocities(state)

    def step(self, frame: int) -> None:
        """Set the commands of all motors for the step from ``frame - 1`` to ``frame``."""
        self.set_drive(self.drive_at(self._targets.scene_frame_of(frame)))
        self.commanded_frame = frame
        self._targets.look(frame)
        state = self._state(frame, to_own_lengths(self.joint_state.poses())[0])
        for actuator in self._actuators:
            actuator.update(state)

    def _state(self, frame: int, poses: Array) -> SimulationState:
        law = control_law(self._original, self._targets.gait is not None)
        return SimulationState(self.joint_state, poses, step_rate(self.scene), frame, self.drive, law)

    def _with_whole_turns(self, actual: Array | None = None) -> Array:
        """Return the initial joint values (n,) with the bones' whole turns.

        Args:
            actual: Measured joint values (n,); None before they are known, when the records' are used.
        """
        aims = self._targets.of_bones(float(self._targets.first))
        if actual is None:
            begun = [initial_dof_coordinates(record_of(empty).joint.dofs[0])[0] for empty in self.joint_state.empties]
            return np.where(np.isnan(aims), begun, aims)
        return unwrap_to(
            actual, np.where(np.isnan(aims), bone_coordinates(self.joint_state), aims), self.joint_state.turns
        )
