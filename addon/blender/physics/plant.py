"""What servo control reads and writes, gathered once per run: bodies, joint frames, motors."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...model.kinematics import inverse
from ...model.records import Array
from ..access import record_of
from ..model_parts import child_collection, parts
from ..properties import KnuckleJoint
from .constraints import put_motor

_MOTOR_SUFFIX = " Motor"


@dataclass
class Plant:
    """The controlled part of a model: its one-degree joints with both bodies, as arrays over ``n`` joints.

    Frames have the joint's axis as Z, so that the coordinate is the turn about Z or the slide along it."""

    rig: bpy.types.Object
    joints: list[str]
    empties: list[bpy.types.Object]
    parent: NDArray[np.intp]  # (n,) place in ``bodies``
    child: NDArray[np.intp]
    frame_parent: Array  # (n, 4, 4), inverse: from the parent's frame to the joint's
    frame_child: Array  # (n, 4, 4): from the child's frame to the joint's other side
    turns: NDArray[np.bool_]  # (n,): hinge or slide
    gain: Array
    max_force: Array
    bodies: bpy.types.Collection
    _buffer: NDArray[np.float32]

    def poses(self) -> Array:
        """World poses of all bodies as last evaluated, (bodies, 4, 4)."""
        self.bodies.objects.foreach_get("matrix_world", self._buffer)
        return self._buffer.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)

    def coordinates(self, poses: Array) -> Array:
        """Servo values of body poses, (n,); angles in (-pi, pi]."""
        local = self.frame_parent @ np.linalg.inv(poses[self.parent]) @ poses[self.child] @ self.frame_child
        angle = np.arctan2(local[:, 1, 0] - local[:, 0, 1], local[:, 0, 0] + local[:, 1, 1])
        return np.where(self.turns, angle, local[:, 2, 3])

    def gaps(self, poses: Array) -> Array:
        """Distances (n,) by which the two sides of each joint have come apart; along a slide none counts."""
        here = poses[self.child] @ self.frame_child
        there = poses[self.parent] @ np.linalg.inv(self.frame_parent)
        apart = np.einsum("nji,nj->ni", there[:, :3, :3], here[:, :3, 3] - there[:, :3, 3])
        apart[~self.turns, 2] = 0.0
        return np.linalg.norm(apart, axis=1)


def gather(rig: bpy.types.Object) -> Plant:
    """The plant of a model as it stands."""
    bodies = child_collection(rig, "Bodies")
    place = {obj.name: number for number, obj in enumerate(bodies.objects)}
    names, empties, sides, frames, kinds, gain, force = [], [], [], [], [], [], []
    for empty in parts(rig, "JOINT"):
        joint = record_of(empty).joint
        if not servo_possible(joint) or joint.parent.name not in place or joint.child.name not in place:
            continue
        design = joint_frame(empty)
        names.append(record_of(empty).source_id)
        empties.append(empty)
        sides.append((place[joint.parent.name], place[joint.child.name]))
        frames.append((inverse(design_pose(joint.parent)) @ design, inverse(design_pose(joint.child)) @ design))
        kinds.append(joint.dofs[0].kind == "rotation")
        gain.append(joint.dofs[0].gain)
        force.append(joint.dofs[0].max_force)
    both = np.array(frames).reshape(-1, 2, 4, 4)
    pairs = np.array(sides, dtype=np.intp).reshape(-1, 2)
    return Plant(
        rig,
        names,
        empties,
        pairs[:, 0],
        pairs[:, 1],
        inverse(both[:, 0]),
        both[:, 1],
        np.array(kinds, dtype=bool),
        np.array(gain, dtype=np.float64),
        np.array(force, dtype=np.float64),
        bodies,
        np.empty(len(bodies.objects) * 16, dtype=np.float32),
    )


def servo_possible(joint: KnuckleJoint) -> bool:
    """Whether a joint is a simulated hinge or slide."""
    return (
        joint.active
        and joint.parent is not None
        and joint.child is not None
        and len(joint.dofs) == 1
        and joint.dofs[0].kind in {"rotation", "translation"}
    )


def design_pose(obj: bpy.types.Object) -> Array:
    """Where an object stands in the model's frame when nothing is posed: its local matrix, unscaled."""
    return np.array(obj.matrix_basis.normalized(), dtype=np.float64)


def joint_frame(empty: bpy.types.Object) -> Array:
    """Design frame of a one-degree joint in the model's frame, its axis as Z."""
    frame = design_pose(empty)
    if record_of(empty).joint.dofs[0].kind == "translation":  # Blender's slider has X on the axis
        turn = np.eye(4)
        turn[:3, :3] = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
        return frame @ turn
    return frame


def ensure_motors(scene: bpy.types.Scene, plant: Plant) -> None:
    """Make the motors that are missing: a second constraint beside each hinge or slide, on an empty of its own.

    They cost as much per step as the joints themselves, so a model gets them when servos first drive it."""
    world = scene.rigidbody_world
    joints = child_collection(plant.rig, "Joints")
    for empty in plant.empties:
        joint = record_of(empty).joint
        motor = joint.motor
        if motor is None:
            motor = joint.motor = bpy.data.objects.new(empty.name + _MOTOR_SUFFIX, None)
            record_of(motor).model = plant.rig
            motor.empty_display_type = "SINGLE_ARROW"
            motor.empty_display_size = 0.5 * empty.empty_display_size
            motor.rotation_mode = "QUATERNION"
            motor.parent, motor.parent_type, motor.parent_bone = empty.parent, empty.parent_type, empty.parent_bone
            motor.matrix_parent_inverse = empty.matrix_parent_inverse
            motor.matrix_basis = _motor_matrix(empty)
            motor.hide_select = True
            joints.objects.link(motor)
        if motor.rigid_body_constraint is None:
            world.constraints.objects.link(motor)
        put_motor(motor, joint)


def _motor_matrix(empty: bpy.types.Object) -> Matrix:
    if record_of(empty).joint.dofs[0].kind == "translation":
        return empty.matrix_basis.copy()
    turn = Matrix(((0, 0, -1, 0), (0, 1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 1)))
    return empty.matrix_basis @ turn
