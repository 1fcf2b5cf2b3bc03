"""Design poses: conversion of world poses to the design (all joint values 0), and state of a mechanism before an edit.

``RigState`` stores what bones pose and where bodies are seen, and ``current_plan`` plans the bones again so that both
continue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy

import bpy
import numpy as np
from mathutils import Matrix

from ...core.editing.edits import JointEdit
from ...core.editing.split_merge import Merge
from ...core.kinematics import (
    Tree,
    joint_child_frame_world,
    joint_frame_world,
    joint_values_from_transform,
)
from ...core.model import Array, Body, Joint, Mechanism
from ...core.transforms import inverse
from ..animation.actions import bone_properties, mechanism_actions
from ..animation.loops.bone_loops import LiveLoop
from ..animation.loops.live_solver import live_loops, loop_joints
from ..animation.pose_reader import PoseReader
from ..data.access import armature_of, record_of, settings
from ..data.baseline import baseline_pose
from ..data.channels import Channel, block_rotation, servo_channels
from ..data.queries import joint_bones, parts, root_bones
from ..rig.pose_channels import read_joint_values
from ..scene.placement import BuildPlan, ExistingBones, make_plan
from ..scene.read.design_poses import (
    DesignPoses,
    body_motions,
    design_tree,
    keyed_bones,
    placing_joint_ids,
    posed_matrix,
    root_ranks,
)
from .bone_references import BoneReferences

#: Tolerance of equal poses, as a share of their size.
_POSE_TOLERANCE = 2e-6


def world_to_design(rig: bpy.types.Object, body: bpy.types.Object | None, pose: Matrix) -> Array:
    """Return the design pose (4, 4) of a pose in the world, carried by a body as it stands now; None: by the world."""
    return _to_design_pose(rig, body, body.matrix_world if body is not None else None, pose)


def joint_in_design(rig: bpy.types.Object, body: bpy.types.Object | None, pose: Matrix) -> Array:
    """Return the design pose (4, 4) of a joint's pose in the world, carried by a body.

    The body is taken at its posed matrix, as joints are, except while physics moves it: a joint that is placed then
    refers to the body as it is seen.
    """
    is_simulated = settings(rig).drive != "KEYS"
    carrier = None if body is None else body.matrix_world if is_simulated else posed_matrix(body)
    return _to_design_pose(rig, body, carrier, pose)


def _to_design_pose(
    rig: bpy.types.Object, body: bpy.types.Object | None, carrier: Matrix | None, pose: Matrix
) -> Array:
    if body is None or carrier is None:
        return rigid_matrix(rig.matrix_world.inverted_safe() @ pose)
    return rigid_matrix(body.matrix_basis.normalized() @ carrier.normalized().inverted_safe() @ pose)


def rigid_matrix(matrix: Matrix) -> Array:
    """Return a matrix without its scale, (4, 4)."""
    position, rotation, _scale = matrix.decompose()
    return np.array(Matrix.Translation(position) @ rotation.to_matrix().to_4x4(), dtype=np.float64)


def rigid_design_pose(obj: bpy.types.Object | None) -> Array:
    """Return the design pose (4, 4) of an object, right-handed also if it is mirrored; identity for None, the world."""
    return np.eye(4) if obj is None else rigid_matrix(obj.matrix_basis)


def set_design_pose(obj: bpy.types.Object, pose: Array) -> None:
    """Set the design pose (4, 4) of a part.

    If that equals the present or the built matrix within float32 resolution, the latter's values are kept, so that
    repeated edits cause no drift.
    """
    if _is_same_pose(np.array(obj.matrix_basis), pose):
        return
    built = baseline_pose(obj)
    obj.matrix_basis = Matrix((built if _is_same_pose(built, pose) else pose).tolist())


def differing_designs(rig: bpy.types.Object) -> dict[bpy.types.Object, Matrix]:
    """Return the design matrices of parts whose local matrix differs from it."""
    designs = DesignPoses(rig)
    now = {obj: designs.of(obj) for role in ("BODY", "JOINT") for obj in parts(rig, role)}
    return {obj: design for obj, design in now.items() if design != obj.matrix_basis}


def _is_same_pose(one: Array, other: Array) -> bool:
    difference, size = np.abs(one - other)[:3], np.abs(other)[:3]
    return all(difference[:, at].max() <= _POSE_TOLERANCE * size[:, at].max() for at in (slice(3), 3))


#: Tolerance of bones at rest.
_REST_TOLERANCE = 1e-6


class RigState:
    """State of a mechanism before an edit.

    Attributes:
        channels: Channels of its joints, by id.
        pose: Channel values, by joint id.
        moves: Transforms (4, 4) of bodies from their design to where they are seen, in the mechanism's frame, by id.
        moved: Values (size,) at which joints are seen that were moved by hand, by id; ``begin_edit`` finds them.
        names: Names of its bones.
        numbers: Values that pose the bones, by property, a row per bone.
        turns: Rotations (3, 3) from the axes of the bones of ball joints and free blocks to those of their joints, by
            bone.
        placing: Ids of the joints that place bodies.
        roots: Rank among roots, by the id of each body that is placed freely: the keyed first, then the largest.
        actions: Motions and stored poses that key it, with those of its NLA strips.
        rests: Rest poses (4, 4) of the root bones of a mechanism that is merged into it, by body id.
        looped: Ids of the joints of loops with dependent joints.
        keyed: Of these loops, ids of the joints of those in which keyframes pose every joint.
        references: The user's drivers and constraints that depend on its bones.
    """

    def __init__(self, rig: bpy.types.Object) -> None:
        self.rig = rig
        self.channels = servo_channels(rig)
        self.pose = read_joint_values(rig, self.channels)
        self.moves = body_motions(DesignPoses(rig), {obj: record_of(obj).source_id for obj in parts(rig, "BODY")})
        self.names = [pose.name for pose in rig.pose.bones] if rig.pose is not None else []
        numbers = bone_properties(rig).items() if self.names else ()
        self.numbers = {prop: values.reshape(len(self.names), -1) for prop, values in numbers}
        self.moved = dict[str, Array]()
        self.placing = placing_joint_ids(rig)
        self.roots = root_ranks(rig, self.placing)
        self.turns = {
            c.bone: block_rotation(rig, c.bone) for own in self.channels.values() for c in own if not c.is_single
        }
        self.actions, self.rests = mechanism_actions(rig), dict[str, Array]()
        loops = live_loops(rig)
        self.looped = {joint for loop in loops for joint in loop_joints(loop)}
        keyed_loops = [loop for loop in loops if isinstance(loop, LiveLoop) and loop.is_keyed]
        self.keyed = {joint for loop in keyed_loops for joint in loop.channels}
        self.references = BoneReferences(rig)

    def of_copy(self, rig: bpy.types.Object) -> RigState:
        """Return the state for a copy of this armature, which gets some of its parts."""
        out = copy(self)
        out.rig, out.actions, out.references = rig, mechanism_actions(rig), BoneReferences(rig)
        return out

    def joined(self, other: RigState, merged: Merge, shift: Array) -> RigState:
        """Return the state of this mechanism with the parts of another one, whose root bones are at rest.

        Args:
            other: State of the other mechanism.
            merged: The merge, with the new ids of its parts.
            shift: Transform (4, 4) from its design frame to this one's.
        """
        out, back, bodies, joints = copy(self), inverse(shift), merged.bodies, merged.joints
        unposed = _root_moves(other.rig)
        moves = {own: inverse(unposed[own]) @ move if own in unposed else move for own, move in other.moves.items()}
        came = {bodies[own]: shift @ move @ back for own, move in moves.items() if own in bodies}
        out.moves, out.placing = self.moves | came, self.placing | {joints[own] for own in other.placing}
        out.roots = self.roots | {bodies[own]: rank for own, rank in other.roots.items() if own in bodies}
        bones = armature_of(other.rig).bones
        rests = {own: np.array(bones[name].matrix_local) for own, name in root_bones(other.rig).items()}
        out.rests = {bodies[own]: shift @ rest for own, rest in rests.items() if own in bodies}
        out.moved = self.moved | {joints[own]: values for own, values in other.moved.items() if own in joints}
        return out

    def has_same_axes(self, rig: bpy.types.Object, channel: Channel) -> bool:
        """Return whether the bone of a ball joint or free block has the same axes in its joint's frame as before."""
        if channel.is_single:
            return True
        before = self.turns.get(channel.bone)
        return before is None or bool(np.abs(block_rotation(rig, channel.bone) - before).max() < _REST_TOLERANCE)

    def seen_values(self, joint: Joint, bodies: Mapping[str, Body]) -> Array:
        """Return the values (size,) at which a joint is seen, including stops, drivers and constraints.

        Args:
            joint: The joint of the mechanism as designed.
            bodies: Its bodies by id.
        """
        channels = self.channels.get(joint.id, ())
        if channels:
            return PoseReader(self.rig, channels, self.channels).read()
        parent, child = (self.moves.get(end or "", np.eye(4)) for end in joint.ends)
        near, far = joint_frame_world(joint, bodies), joint_child_frame_world(joint, bodies)
        return joint_values_from_transform(joint, (inverse(parent @ near) @ child @ far)[None])[0]


def _root_moves(rig: bpy.types.Object) -> dict[str, Array]:
    """Return the motions (4, 4) that the poses of root bones give the bodies below them, by body id."""
    roots, out = {*root_bones(rig).values()}, dict[str, Array]()
    for obj in parts(rig, "BODY"):
        bone = armature_of(rig).bones.get(obj.parent_bone) if obj.parent == rig else None
        root = next((each for each in (bone, *bone.parent_recursive) if each.name in roots), None) if bone else None
        if root is not None and rig.pose is not None:
            rest = np.array(root.matrix_local, dtype=np.float64)
            basis = np.array(rig.pose.bones[root.name].matrix_basis, dtype=np.float64)
            out[record_of(obj).source_id] = rest @ basis @ inverse(rest)
    return out


# ---------------------------------------------------------------- bone plans


def current_tree(rig: bpy.types.Object, mechanism: Mechanism) -> Tree:
    """Return the spanning tree of a mechanism as its armature has it.

    Roots stay roots, and a joint that closes a loop does not replace a joint with bones.
    """
    placing = placing_joint_ids(rig)
    return design_tree(mechanism, placing, root_ranks(rig, placing))


def current_plan(rig: bpy.types.Object, mechanism: Mechanism) -> BuildPlan:
    """Return the plan of the bones that a mechanism needs, with existing bones where they are."""
    tree = current_tree(rig, mechanism)
    return make_plan(tree.mechanism, closed=False, tree=tree, kept=assigned_axes(rig, servo_channels(rig), {}))


def assigned_axes(
    rig: bpy.types.Object, channels: Mapping[str, Sequence[Channel]], edits: Mapping[str, JointEdit]
) -> ExistingBones:
    """Return the bone axes to which degrees of freedom are assigned, so that their channels can be kept."""
    kept, bones = ExistingBones(), armature_of(rig).bones
    for joint, own in channels.items():
        edit = edits.get(joint)
        new_indices = {c.dof_index: c.dof_index for c in own}
        if edit is not None and edit.numbers is not None:
            new_indices = {old: new for old, (new, _factor) in edit.numbers.items()}
        for channel in own:
            index = new_indices.get(channel.dof_index)
            if index is not None and channel.is_single:
                kept.columns[joint, index] = channel.index
            elif index is not None and channel.index == 0:
                kept.turns[joint, index] = block_rotation(rig, channel.bone)
    keyed = keyed_bones(rig)
    for body, name in root_bones(rig).items():
        pose = rig.pose.bones[name] if rig.pose is not None else None
        if pose is not None and (name in keyed or not _is_at_rest(pose)):
            kept.roots[body] = np.array(bones[name].matrix_local, dtype=np.float64)
    return kept


def existing_bones(rig: bpy.types.Object, decided: BuildPlan) -> list[str | None]:
    """Return the names of the existing bones for those of a plan, None for new ones."""
    chains, roots = joint_bones(rig), root_bones(rig)
    out: list[str | None] = []
    for bone in decided.bones:
        if bone.link is None:
            assert bone.body is not None
            out.append(roots.get(bone.body.id))
        else:
            chain = chains.get(bone.link.joint.id, [])
            out.append(chain[bone.step] if bone.step < len(chain) else None)
    return out


def _is_at_rest(pose: bpy.types.PoseBone) -> bool:
    return bool(np.abs(np.array(pose.matrix_basis) - np.eye(4)).max() < _REST_TOLERANCE)
