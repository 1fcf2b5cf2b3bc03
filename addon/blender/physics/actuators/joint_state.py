"""State of the joints under servo control, collected once per simulation: bodies, joint frames, joint values, motors.

Includes whole turns: a hinge that begins at 4 rad does so, and not at -2.28, which is all that two poses reveal.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ....core.joint_types import ClosedForm, closed_form_coordinates
from ....core.kinematics import joint_values_from_transform
from ....core.model import DOF_SIZE, Array, DofKind, Joint
from ....core.transforms import affine_inverse, inverse, restore_zero_axes
from ...data.access import record_of, settings
from ...data.caching import joint_record, memoized_reads
from ...data.channels import Channel, servo_channels
from ...data.conversion import has_friction_or_damping, initial_dof_coordinates, read_dofs
from ...data.properties.joint import KnuckleJoint
from ...data.queries import parts
from ...rig.joint_frames import PoseGetter, design_pose, joint_sides
from ..constraints.constraints import write_motor
from ..constraints.generic6dof import dof_axes, motion_directions, needs_spring_motors
from ..constraints.restraints import JointForceLaw, joint_force_laws
from ..world.anchor import connects_bodies, joint_ends
from .control_laws import Servos
from .motors import add_constraint_to_world, create_motor, stop_motors

_FULL_TURN = 2.0 * math.pi


def bone_coordinates(joint_state: JointStateArrays) -> Array:
    """Return the joint values (n,) of the joints from their bones; without bones, from their records."""
    channels = servo_channels(joint_state.rig)
    return np.array(
        [
            _channel_value(joint_state.rig, channels[joint][0])
            if joint in channels
            else initial_dof_coordinates(record_of(empty).joint.dofs[0])[0]
            for joint, empty in zip(joint_state.joints, joint_state.empties, strict=True)
        ],
        dtype=np.float64,
    )


def multi_dof_bone_coordinates(joint_state: JointStateArrays) -> dict[str, Array]:
    """Return the joint values (size,) of joints with several degrees of freedom from their bones, by joint id.

    0 for values that no single channel has.
    """
    channels = servo_channels(joint_state.rig)
    return {
        item.joint.id: np.array([_channel_value(joint_state.rig, channel) for channel in channels[item.joint.id]])
        for item in joint_state.multi_dof_joints
        if item.joint.id in channels
    }


def initial_joint_coordinates(joint_state: JointStateArrays, turned: Array) -> dict[str, Array]:
    """Return the joint values (size,) of all joints by joint id, given those of single ones, ``turned`` (n,)."""
    return multi_dof_bone_coordinates(joint_state) | {
        joint: np.array([value]) for joint, value in zip(joint_state.joints, turned, strict=True)
    }


def _channel_value(rig: bpy.types.Object, channel: Channel) -> float:
    if not channel.is_single:
        return 0.0
    value: float = getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index]
    return value


def unwrap_to(measured: Array, about: Array, turns: NDArray[np.bool_]) -> Array:
    """Add the whole turns that bring measured angles nearest to other values.

    Args:
        measured: Joint values (..., size).
        about: Values (..., size) to be near to; nan leaves the measured one.
        turns: Which of them (size,) are angles.
    """
    whole = np.round((about - measured) / _FULL_TURN)
    return measured + _FULL_TURN * np.where(turns & np.isfinite(whole), whole, 0.0)


_MOTOR_SUFFIX = " Motor"
_PRELOAD_SUFFIX = " Spring"
#: Parent and child of each joint's empty; None is the world.
_Ends = Mapping[bpy.types.Object, Sequence[bpy.types.Object | None]]
#: Indices of bodies, and of the world as None, among the poses.
_PoseIndices = dict[bpy.types.Object | None, int]


@dataclass
class JointStateArrays:
    """Controlled part of a mechanism: joints with one degree of freedom and both bodies, as arrays over ``n`` joints.

    Joint frames have the joint's axis as Z, so that the joint value is the rotation about Z or the translation along
    it. The last of the poses is the armature's, which joints at the world are connected to.
    """

    rig: bpy.types.Object
    joints: list[str]
    empties: list[bpy.types.Object]
    parent: NDArray[np.intp]  # (n,) index in ``bodies``; their count for the world
    child: NDArray[np.intp]
    frame_parent: Array  # (n, 4, 4), inverse: from the parent's frame to the joint's
    frame_child: Array  # (n, 4, 4): from the child's frame to the joint's other side
    turns: NDArray[np.bool_]  # (n,): hinge rather than slider
    servos: Servos
    bodies: list[bpy.types.Object]
    balls: BallJoints
    multi_dof_joints: list[MultiDofJoint]
    dissipative_joints: list[MultiDofJoint]
    pushed: list[MultiDofJoint]
    servo_joints: list[MultiDofJoint]  # the n joints themselves
    connected_joints: list[MultiDofJoint]  # all joints between simulated bodies, fixed joints included
    laws: Mapping[bpy.types.Object, Sequence[JointForceLaw]]  # additional force laws of joints, by their empties
    scene: bpy.types.Scene | None  # the simulation scene of a simulated copy
    _holder: bpy.types.Collection | None  # holds the bodies and nothing else, in their order, nested ones included
    _buffer: NDArray[np.float32]
    # of the hinges (h): their indices, their parents and then their children, X and Y of their frames on these
    _hinges: NDArray[np.intp] = field(init=False)
    _slides: NDArray[np.intp] = field(init=False)
    _ends: NDArray[np.intp] = field(init=False)  # (2 h,)
    _across: Array = field(init=False)  # (2 h, 3, 2)

    def __post_init__(self) -> None:
        hinges = self._hinges = np.flatnonzero(self.turns)
        self._slides = np.flatnonzero(~self.turns)
        self._ends = np.concatenate([self.parent[hinges], self.child[hinges]])
        on_parent, on_child = np.swapaxes(self.frame_parent[hinges, :2, :3], 1, 2), self.frame_child[hinges, :3, :2]
        self._across = np.concatenate([on_parent, on_child])

    def poses(self) -> Array:
        """Return the world poses of all bodies and of the armature as last evaluated, (bodies + 1, 4, 4)."""
        if self.scene is not None:
            depsgraph = evaluated_depsgraph(self.scene)
            found = [obj.evaluated_get(depsgraph).matrix_world for obj in (*self.bodies, self.rig)]
            return restore_zero_axes(np.array(found, dtype=np.float64))
        stand = np.array(self.rig.matrix_world, dtype=np.float64)[None]
        if self._holder is not None:
            try:
                self._holder.all_objects.foreach_get("matrix_world", self._buffer)
            except ReferenceError:  # the user deleted the collection, but not the bodies
                self._holder = None
        if self._holder is not None:
            bodies = self._buffer.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)
        else:
            bodies = np.array([obj.matrix_world for obj in self.bodies], dtype=np.float64).reshape(-1, 4, 4)
        return restore_zero_axes(np.concatenate([bodies, stand]))

    def coordinates(self, poses: Array) -> Array:
        """Return the joint values (n,) of body poses; angles in (-pi, pi]."""
        out = np.empty(len(self.turns))
        out[self._hinges] = self._angles(poses)
        if len(self._slides):
            parent, child, frame = poses[self.parent[self._slides]], poses[self.child[self._slides]], self._slides
            out[frame] = (self.frame_parent[frame] @ _inverse_poses(parent) @ child @ self.frame_child[frame])[:, 2, 3]
        return out

    def _angles(self, poses: Array) -> Array:
        """Return the angles of the hinges (h,) from X and Y of their two sides alone, for speed in every frame."""
        sides = poses[:, :3, :3] / np.sqrt((poses[:, :3, :3] ** 2).sum(axis=1))[:, None]
        axes = sides[self._ends] @ self._across
        half = len(self._hinges)
        local = np.einsum("nki,nkj->ijn", axes[:half], axes[half:])
        return np.arctan2(local[1, 0] - local[0, 1], local[0, 0] + local[1, 1])

    def separations(self, poses: Array) -> Array:
        """Return the joint separations of hinges and sliders (n,), then of the balls.

        Along a slider's axis none counts.
        """
        here = poses[self.child] @ self.frame_child
        there = poses[self.parent] @ affine_inverse(self.frame_parent)
        apart = np.einsum("nji,nj->ni", there[:, :3, :3], here[:, :3, 3] - there[:, :3, 3])
        apart[~self.turns, 2] = 0.0
        return np.concatenate([np.linalg.norm(apart, axis=1), self.balls.separations(poses)])


@dataclass
class BallJoints:
    """Ball joints of a mechanism, whose pivots can separate too: body indices (n,) and points on the bodies (n, 3)."""

    parent: NDArray[np.intp]
    child: NDArray[np.intp]
    on_parent: Array
    on_child: Array

    def separations(self, poses: Array) -> Array:
        """Return the joint separations (n,)."""
        return np.linalg.norm(
            _transform_points(poses[self.parent], self.on_parent) - _transform_points(poses[self.child], self.on_child),
            axis=1,
        )


@dataclass
class MultiDofJoint:
    """Joint with its frames on its bodies, for control other than that of lone hinges and sliders.

    ``parent``, ``child``: indices into the pose array; ``on_parent``, ``on_child``: (4, 4) joint frames in the bodies.
    Servos of several degrees of freedom (universal, planar, ball, screw) are in ``dof_servos``; friction, springs and
    initial velocities use it for joints of any type.
    """

    empty: bpy.types.Object
    joint: Joint
    parent: int
    child: int
    on_parent: Array
    on_child: Array
    quick: ClosedForm | None

    def coordinates(self, poses: Array) -> Array:
        """Return the joint values (n, size) of poses (n, bodies + 1, 4, 4); angles of half a turn at most."""
        here, there = poses[:, self.parent] @ self.on_parent, poses[:, self.child] @ self.on_child
        return joint_values_from_transform(self.joint, _inverse_poses(here) @ there)

    def now(self, poses: Array) -> Array:
        """Return the joint values (size,) of poses (bodies + 1, 4, 4)."""
        if self.quick is None:
            return self.coordinates(poses[None])[0]
        return self.quick(_inverse_poses(poses[self.parent] @ self.on_parent) @ (poses[self.child] @ self.on_child))


@dataclass
class JointGroup:
    """Joints (n) of a mechanism whose degrees of freedom have the same kinds, as arrays.

    Attributes:
        joints: The joints.
        parent: Indices (n,) of their parents into the pose array.
        child: Indices (n,) of their children.
        on_parent: Joint frames (n, 4, 4) on the parents.
        on_child: Joint frames (n, 4, 4) on the children.
        kinds: Kind of the degree of freedom of each joint value (size,).
        axes: Unit axes (n, dofs, 3) of the degrees of freedom in the joint frames.
        quick: Closed form of their joint values; without one, the axes are the same.
    """

    joints: list[MultiDofJoint]
    parent: NDArray[np.intp]
    child: NDArray[np.intp]
    on_parent: Array
    on_child: Array
    kinds: NDArray[np.str_]
    axes: Array
    quick: ClosedForm | None

    @classmethod
    def of(cls, joints: Sequence[MultiDofJoint]) -> JointGroup:
        """Return the arrays of joints of one group of ``joint_groups``."""
        forms = [joint.quick for joint in joints if joint.quick is not None]
        return cls(
            list(joints),
            np.array([joint.parent for joint in joints], dtype=np.intp),
            np.array([joint.child for joint in joints], dtype=np.intp),
            np.array([joint.on_parent for joint in joints]),
            np.array([joint.on_child for joint in joints]),
            np.array([dof.kind for dof in joints[0].joint.dofs for _ in range(DOF_SIZE[dof.kind])]),
            np.array([dof_axes(joint.joint.dofs) for joint in joints]),
            ClosedForm.joined(forms) if forms else None,
        )

    @property
    def dof_kinds(self) -> list[DofKind]:
        """Kinds of the degrees of freedom of each joint."""
        return [dof.kind for dof in self.joints[0].joint.dofs]

    @property
    def angular(self) -> NDArray[np.bool_]:
        """Mask (size,) of the joint values that are angles."""
        return self.kinds != "translation"

    @property
    def shape(self) -> tuple[int, int]:
        """Count of the joints, and of the values of each."""
        return len(self.joints), len(self.kinds)

    def coordinates(self, poses: Array, about: Array | None = None) -> Array:
        """Return the joint values (n, size) of poses (bodies + 1, 4, 4).

        Args:
            poses: The poses.
            about: Values (n, size) to which whole turns are added; nan where they are unknown. Without them, angles
                are of half a turn at most.
        """
        here, there = poses[self.parent] @ self.on_parent, poses[self.child] @ self.on_child
        motion = _inverse_poses(here) @ there
        quick = self.quick
        values = joint_values_from_transform(self.joints[0].joint, motion) if quick is None else quick(motion)
        return values if about is None else unwrap_to(values, about, self.kinds == "rotation")

    def directions(self, poses: Array, values: Array) -> Array:
        """Return the directions (n, size, 3) in the world of the motions of joint values (n, size)."""
        frames = poses[self.parent, :3, :3] @ self.on_parent[:, :3, :3]
        return motion_directions(self.dof_kinds, self.axes, values) @ np.swapaxes(frames, 1, 2)


def joint_groups(joints: Sequence[MultiDofJoint], keys: Sequence[Hashable] = ()) -> list[list[int]]:
    """Return the indices of joints in groups whose degrees of freedom have the same kinds.

    Where joint values have no closed form, the axes are the same too.

    Args:
        joints: The joints.
        keys: What else is equal for the joints of a group, of each joint.
    """
    found: dict[Hashable, list[int]] = {}
    for number, joint in enumerate(joints):
        kinds = tuple(dof.kind for dof in joint.joint.dofs)
        axes = () if joint.quick is not None else tuple(dof_axes(joint.joint.dofs).ravel().tolist())
        found.setdefault((kinds, axes, keys[number] if keys else None), []).append(number)
    return list(found.values())


def _multi_dof_joint(
    empty: bpy.types.Object,
    ends: Sequence[bpy.types.Object | None],
    place: _PoseIndices,
    pose_of: PoseGetter,
) -> MultiDofJoint:
    record, (parent, child) = joint_record(empty), ends
    joint = Joint(record_of(empty).source_id, "", record.type, None, None, dofs=read_dofs(record))
    sides = joint_sides(empty, pose_of=pose_of)
    return MultiDofJoint(empty, joint, place[parent], place[child], *sides, closed_form_coordinates(joint.dofs))


def _inverse_poses(poses: Array) -> Array:
    """Return the inverse of poses (..., 4, 4) that may be scaled along their axes."""
    turn = np.swapaxes(poses[..., :3, :3], -1, -2)
    out = np.zeros_like(poses)
    out[..., :3, :3] = turn / (turn**2).sum(axis=-1)[..., None]
    out[..., :3, 3] = -np.einsum("...ij,...j->...i", out[..., :3, :3], poses[..., :3, 3])
    out[..., 3, 3] = 1.0
    return out


def _transform_points(poses: Array, points: Array) -> Array:
    return np.einsum("nij,nj->ni", poses[:, :3, :3], points) + poses[:, :3, 3]


def evaluated_depsgraph(scene: bpy.types.Scene) -> bpy.types.Depsgraph:
    """Return the depsgraph of a scene that no window shows, as last evaluated."""
    layer = scene.view_layers[0]
    if layer.depsgraph is None:
        layer.update()
    return cast(bpy.types.Depsgraph, layer.depsgraph)


def gather_joint_state(rig: bpy.types.Object) -> JointStateArrays:
    """Collect the joint state of a mechanism in its present state."""
    with memoized_reads():
        return _gathered_joint_state(rig)


def _gathered_joint_state(rig: bpy.types.Object) -> JointStateArrays:
    bodies = parts(rig, "BODY")
    place: _PoseIndices = {obj: number for number, obj in enumerate(bodies)}
    place[None] = len(bodies)  # the world is fixed to the armature
    records = {empty: joint_record(empty) for empty in parts(rig, "JOINT")}
    records = {empty: joint for empty, joint in records.items() if connects_bodies(joint)}
    ends = {empty: (joint.parent, joint.child) for empty, joint in records.items()}
    records = {empty: joint for empty, joint in records.items() if all(end in place for end in ends[empty])}
    servos = [empty for empty, joint in records.items() if can_have_servo(joint)]
    balls = [empty for empty, joint in records.items() if [dof.kind for dof in joint.dofs] == ["ball"]]
    dofs = [records[empty].dofs[0] for empty in servos]
    laws = joint_force_laws(rig)
    braked = {empty for empty, own in laws.items() if any(law.brakes for law in own)}
    driven = {empty for empty, own in laws.items() if not all(law.brakes for law in own)}
    pose_of = cache(design_pose)
    sides, frames = _end_indices(servos, ends, place), _joint_frames(servos, pose_of)
    ball_sides, ball_frames = _end_indices(balls, ends, place), _joint_frames(balls, pose_of)

    @cache
    def item(empty: bpy.types.Object) -> MultiDofJoint:
        return _multi_dof_joint(empty, ends[empty], place, pose_of)

    return JointStateArrays(
        rig,
        [record_of(empty).source_id for empty in servos],
        servos,
        sides[:, 0],
        sides[:, 1],
        inverse(frames[:, 0]),
        frames[:, 1],
        np.array([dof.kind == "rotation" for dof in dofs], dtype=bool),
        Servos.of(dofs, [dof.kind == "rotation" for dof in dofs], settings(rig).format),
        bodies,
        BallJoints(ball_sides[:, 0], ball_sides[:, 1], ball_frames[:, 0, :3, 3], ball_frames[:, 1, :3, 3]),
        [item(empty) for empty, joint in records.items() if joint.dofs and not can_have_servo(joint)],
        [item(empty) for empty, joint in records.items() if has_friction_or_damping(joint) or empty in braked],
        [item(empty) for empty, joint in records.items() if needs_spring_motors(joint) or empty in driven],
        [item(empty) for empty in servos],
        [item(empty) for empty in records],
        laws,
        next(iter(rig.users_scene), None) if settings(rig).original_uid else None,
        next((c for c in _part_collections(rig) if c.all_objects[:] == bodies), None),
        np.empty(len(bodies) * 16, dtype=np.float32),
    )


def _part_collections(rig: bpy.types.Object) -> list[bpy.types.Collection]:
    """Return the child collections of a mechanism, whatever the user named them."""
    top = settings(rig).collection
    return [] if top is None else top.children_recursive


def _end_indices(empties: list[bpy.types.Object], ends: _Ends, place: _PoseIndices) -> NDArray[np.intp]:
    """Return the indices of the parents and children of joints, (n, 2)."""
    return np.array([[place[end] for end in ends[empty]] for empty in empties], dtype=np.intp).reshape(-1, 2)


def _joint_frames(empties: list[bpy.types.Object], pose_of: PoseGetter) -> Array:
    """Return the frames of joints on their parents and on their children, (n, 2, 4, 4)."""
    sides = [joint_sides(empty, rotation_to_z_axis(joint_record(empty)), pose_of) for empty in empties]
    return np.array(sides).reshape(-1, 2, 4, 4)


def can_have_servo(joint: KnuckleJoint) -> bool:
    """Return whether a joint is a simulated hinge or slider."""
    return connects_bodies(joint) and len(joint.dofs) == 1 and joint.dofs[0].kind in {"rotation", "translation"}


def rotation_to_z_axis(joint: KnuckleJoint) -> Array:
    """Return the pose (4, 4), in a joint's empty, of a frame with the axis as Z: Blender's slider has it as X."""
    turn = np.eye(4)
    if joint.dofs[0].kind == "translation":
        turn[:3, :3] = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
    return turn


def ensure_motors(scene: bpy.types.Scene, joint_state: JointStateArrays) -> None:
    """Create missing motors: a second constraint for each hinge or slider, on an empty of its own.

    They cost as much per step as the joints themselves, so a mechanism gets them when servos first drive it.
    """
    for empty in joint_state.empties:
        joint = record_of(empty).joint
        if not has_both_bodies(joint_state, joint):
            continue
        if joint.motor is None:
            joint.motor = create_joint_motor(joint_state.rig, empty, _MOTOR_SUFFIX)
        add_constraint_to_world(scene, joint.motor)
        write_motor(joint.motor, joint, settings(joint_state.rig).anchor)
        stop_motors([joint.motor])


def ensure_preloads(scene: bpy.types.Scene, joint_state: JointStateArrays) -> None:
    """Create missing motors that preload springs of hinges and sliders.

    Blender's spring is at rest at the pose in which a simulation begins.
    """
    for empty in joint_state.empties:
        joint, anchor = record_of(empty).joint, settings(joint_state.rig).anchor
        if not (joint.dofs[0].stiffness > 0.0 and has_both_bodies(joint_state, joint)):
            continue
        if joint.spring_preload is None:
            joint.spring_preload = create_joint_motor(joint_state.rig, empty, _PRELOAD_SUFFIX)
        constraint = joint.spring_preload.rigid_body_constraint
        add_constraint_to_world(scene, joint.spring_preload)
        if constraint is None or (constraint.object2, constraint.object1) != joint_ends(joint, anchor):
            write_motor(joint.spring_preload, joint, anchor)  # not during a simulation: it resets the force


def has_both_bodies(joint_state: JointStateArrays, joint: KnuckleJoint) -> bool:
    """Return whether both bodies of a joint are simulated; the anchor may have been deleted."""
    return all(
        end is not None and end.rigid_body is not None for end in joint_ends(joint, settings(joint_state.rig).anchor)
    )


def create_joint_motor(rig: bpy.types.Object, empty: bpy.types.Object, suffix: str) -> bpy.types.Object:
    """Create an empty for a motor of a joint, its X on the joint's axis where it has one."""
    motor = create_motor(rig, empty.name + suffix, empty)
    motor.matrix_basis = _motor_matrix(empty)
    return motor


def _motor_matrix(empty: bpy.types.Object) -> Matrix:
    if [dof.kind for dof in record_of(empty).joint.dofs] != ["rotation"]:
        return empty.matrix_basis.copy()
    turn = Matrix(((0, 0, -1, 0), (0, 1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 1)))
    return empty.matrix_basis @ turn
