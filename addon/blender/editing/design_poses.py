"""Where things of the scene are in a model's design: from where bodies carry them now to where all joints are at 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ...core.kinematics import Tree, joint_values_from_transform
from ...core.model import DOF_SIZE, Array, Joint, Mechanism
from ...core.transforms import inverse
from ..animation.actions import bone_properties, motion_actions
from ..animation.loops.bone_loops import LiveLoop
from ..animation.loops.live_solver import live_loops, loop_joints
from ..animation.pose_library import stored_poses
from ..animation.pose_reader import PoseReader
from ..data.access import armature_of, record_of, settings
from ..data.channels import Channel, block_rotation, servo_channels
from ..data.conversion import read_dofs, unflatten_pose
from ..data.queries import parts, root_bones
from ..rig.pose_channels import read_joint_values
from ..scene.placement import BuildPlan, ExistingBones, make_plan
from ..scene.read.design_poses import (
    DesignPoses,
    body_motions,
    design_tree,
    keyed_bones,
    local_to_parent_matrix,
    placing_joint_ids,
    root_ranks,
)

#: Places that differ by no more than this share of their size are the same.
_POSE_TOLERANCE = 2e-6


def world_to_design(rig: bpy.types.Object, body: bpy.types.Object | None, place: Matrix) -> Array:
    """Return where a place in the world is in the model's design, (4, 4), carried by a body as it stands now; None: by
    the world."""
    return _to_design_pose(rig, body, body.matrix_world if body is not None else None, place)


def joint_in_design(rig: bpy.types.Object, body: bpy.types.Object | None, place: Matrix) -> Array:
    """Return where the place of a joint on a body is in the model's design, (4, 4).

    Joints stand where the pose has them, and so does the body, unless physics moves it away from there: what is put on
    it then is meant for it.
    """
    run = settings(rig).drive != "KEYS"
    return _to_design_pose(rig, body, None if body is None else body.matrix_world if run else posed_matrix(body), place)


def body_in_design(rig: bpy.types.Object, body: bpy.types.Object | None, other: bpy.types.Object) -> Array:
    """Return where another body is in the model's design, (4, 4), carried by a body as both are posed; None: by the
    world."""
    return _to_design_pose(rig, body, posed_matrix(body) if body is not None else None, posed_matrix(other))


def _to_design_pose(rig: bpy.types.Object, body: bpy.types.Object | None, here: Matrix | None, place: Matrix) -> Array:
    if body is None or here is None:
        return rigid_matrix(rig.matrix_world.inverted_safe() @ place)
    return rigid_matrix(body.matrix_basis.normalized() @ here.normalized().inverted_safe() @ place)


def posed_matrix(body: bpy.types.Object) -> Matrix:
    """Return where the pose of its model has a body in the world, whatever physics or keys of its own do to it."""
    on_bone = body.parent == record_of(body).model and body.parent_type == "BONE"
    return local_to_parent_matrix(body, _world_matrix) if on_bone else body.matrix_world


def _world_matrix(obj: bpy.types.Object) -> Matrix:
    return obj.matrix_world


def rigid_matrix(matrix: Matrix) -> Array:
    """A matrix without its scale, (4, 4)."""
    place, turn, _scale = matrix.decompose()
    return np.array(Matrix.Translation(place) @ turn.to_matrix().to_4x4(), dtype=np.float64)


def rigid_design_pose(obj: bpy.types.Object | None) -> Array:
    """Return where an object stands in its model's design, (4, 4), right-handed also where it is mirrored; None is the
    world."""
    return np.eye(4) if obj is None else rigid_matrix(obj.matrix_basis)


def set_design_pose(obj: bpy.types.Object, place: Array) -> None:
    """Have a part be designed at a place (4, 4).

    Where it is there already, or was built there, as far as 32 bits can tell, its own numbers stay: what is put where
    it is does not creep.
    """
    if _is_same_pose(np.array(obj.matrix_basis), place):
        return
    built = unflatten_pose(record_of(obj).built)
    obj.matrix_basis = Matrix((built if _is_same_pose(built, place) else place).tolist())


def _is_same_pose(one: Array, other: Array) -> bool:
    sizes = np.abs(other[:3, :3]).max(), np.abs(other[:3, 3]).max()
    apart = np.abs(one - other)
    return bool(apart[:3, :3].max() <= _POSE_TOLERANCE * sizes[0] and apart[:3, 3].max() <= _POSE_TOLERANCE * sizes[1])


#: Bones that are posed by less stand as they were made.
_REST_TOLERANCE = 1e-6


@dataclass(frozen=True)
class JointEdit:
    """Change of a joint by an edit.

    Attributes:
        held: the coordinates (size,) of the joint as it is now at which its bodies are seen; None where they stay
            without its help.
        values: what its channels are set to, (size,); None: what they said before.
        numbers: which of its coordinates goes on as which, and the factor that it then has; None: all do as they are.
    """

    held: Array | None = None
    values: Array | None = None
    numbers: Mapping[int, tuple[int, float]] | None = None


class RigState:
    """A mechanism before an edit.

    Attributes:
        channels: the channels of its joints, by id.
        pose: what these channels say, by joint id.
        moves: what takes bodies from their design to where they are seen, (4, 4) in the mechanism's frame, by id.
        names, numbers: its bones, and the numbers that pose them by property, a row for each.
        turns: turns (3, 3) from the axes of the bones of balls and free blocks to those of their joints, by bone.
        placing: ids of the joints that place bodies.
        roots: rank among roots, by the id of each body that is placed freely: the keyed first, then the largest.
        actions: motions and stored poses that key it.
        looped: ids of the joints of loops of which some follow others.
        keyed: of these loops, ids of the joints of those in which keyframes pose every joint.
    """

    def __init__(self, rig: bpy.types.Object) -> None:
        self.rig = rig
        self.channels = servo_channels(rig)
        self.pose = read_joint_values(rig, self.channels)
        self.moves = body_motions(DesignPoses(rig), {obj: record_of(obj).source_id for obj in parts(rig, "BODY")})
        self.names = [pose.name for pose in rig.pose.bones] if rig.pose is not None else []
        numbers = bone_properties(rig).items() if self.names else ()
        self.numbers = {prop: values.reshape(len(self.names), -1) for prop, values in numbers}
        self.placing = placing_joint_ids(rig)
        self.roots = root_ranks(rig, self.placing)
        self.turns = {
            c.bone: block_rotation(rig, c.bone) for own in self.channels.values() for c in own if not c.is_single
        }
        self.actions = _actions(rig)
        loops = live_loops(rig)
        self.looped = {joint for loop in loops for joint in loop_joints(loop)}
        told = [loop for loop in loops if isinstance(loop, LiveLoop) and loop.is_keyed]
        self.keyed = {joint for loop in told for joint in loop.channels}

    def of_copy(self, rig: bpy.types.Object) -> RigState:
        """Return how a copy of this armature stands, which gets some of its parts."""
        out = copy(self)
        out.rig, out.actions = rig, _actions(rig)
        return out

    def joined(self, other: RigState, ids: Mapping[str, str], shift: Array) -> RigState:
        """Return how this model stands with the parts of another one, by the ``ids`` that they have here.

        ``shift`` (4, 4) leads from where that counts its design to where this one does.
        """
        out, back = copy(self), inverse(shift)
        out.moves = self.moves | {ids[own]: shift @ move @ back for own, move in other.moves.items()}
        out.placing = self.placing | {ids[own] for own in other.placing}
        return out

    def has_same_axes(self, rig: bpy.types.Object, channel: Channel) -> bool:
        """Return whether a ball's or free block's bone has the axes in its joint's frame that it had."""
        if channel.is_single:
            return True
        before = self.turns.get(channel.bone)
        return before is None or bool(np.abs(block_rotation(rig, channel.bone) - before).max() < _REST_TOLERANCE)

    def coordinates(self, empty: bpy.types.Object, frame: Array, opening: Array | None = None) -> Array:
        """The coordinates (size,) at which a joint is seen, whatever poses it: stops are in them, and so are handles
        and drivers. ``frame`` (4, 4) is the joint's in the design; ``opening`` leads to its child's side."""
        record = record_of(empty)
        channels = self.channels.get(record.source_id, ())
        if channels:
            return PoseReader(self.rig, channels).read()
        ends = [None if end is None else record_of(end).source_id for end in (record.joint.parent, record.joint.child)]
        parent, child = (self.moves.get(end or "", np.eye(4)) for end in ends)
        seen = inverse(parent @ frame) @ child @ (frame if opening is None else frame @ opening)
        joint = Joint("", "", record.joint.type, None, None, dofs=read_dofs(record.joint))
        return joint_values_from_transform(joint, seen[None])[0]


def _actions(rig: bpy.types.Object) -> list[bpy.types.Action]:
    played = rig.animation_data.action if rig.animation_data is not None else None
    return list(dict.fromkeys((*motion_actions(rig), *stored_poses(rig), *([] if played is None else [played]))))


# ---------------------------------------------------------------- bones planned anew


def current_tree(rig: bpy.types.Object, mechanism: Mechanism) -> Tree:
    """The spanning tree of a model as its armature has it: what is a root stays one, and what closes a loop does not
    begin to place a body where a joint with bones does."""
    placing = placing_joint_ids(rig)
    return design_tree(mechanism, placing, root_ranks(rig, placing))


def current_plan(rig: bpy.types.Object, mechanism: Mechanism) -> BuildPlan:
    """The bones that a model needs as it is, with those that it has where they are."""
    tree = current_tree(rig, mechanism)
    return make_plan(tree.mechanism, closed=False, tree=tree, kept=assigned_axes(rig, servo_channels(rig), {}))


def assigned_axes(
    rig: bpy.types.Object, channels: Mapping[str, Sequence[Channel]], edits: Mapping[str, JointEdit]
) -> ExistingBones:
    """Return which axes of their bones the degrees of freedom of joints are on, that their channels may stay what they
    are."""
    kept, bones = ExistingBones(), armature_of(rig).bones
    for joint, own in channels.items():
        edit = edits.get(joint)
        goes = {c.number: c.number for c in own}
        if edit is not None and edit.numbers is not None:
            goes = {old: new for old, (new, _factor) in edit.numbers.items()}
        for channel in own:
            if channel.number in goes and channel.is_single:
                kept.columns[joint, goes[channel.number]] = channel.index
            elif channel.number in goes and channel.index == 0 and DOF_SIZE[channel.kind] > 1:
                kept.turns[joint, goes[channel.number]] = block_rotation(rig, channel.bone)
    keyed = keyed_bones(rig)
    for body, name in root_bones(rig).items():
        pose = rig.pose.bones[name] if rig.pose is not None else None
        if pose is not None and (name in keyed or not _is_at_rest(pose)):
            kept.roots[body] = np.array(bones[name].matrix_local, dtype=np.float64)
    return kept


def _is_at_rest(pose: bpy.types.PoseBone) -> bool:
    return bool(np.abs(np.array(pose.matrix_basis) - np.eye(4)).max() < _REST_TOLERANCE)
