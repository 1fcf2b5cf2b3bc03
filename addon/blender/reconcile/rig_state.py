"""Design poses: conversion of world poses to the design (all joint values 0), and state of a mechanism before an edit.

``RigState`` stores what bones pose and where bodies are seen, and ``current_plan`` plans the bones again so that both
continue.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import Any

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
from ...core.model import DOF_SIZE, Array, Body, Joint, Mechanism
from ...core.report import Message, Report
from ...core.transforms import inverse
from ..animation.actions import bone_properties, mechanism_actions
from ..animation.loops.bone_loops import LiveLoop
from ..animation.loops.live_solver import live_loops, loop_joints
from ..animation.pose_reader import PoseReader
from ..data.access import armature_of, record_of, settings
from ..data.baseline import baseline_pose
from ..data.channels import (
    Channel,
    block_rotation,
    bone_of_path,
    bone_path,
    servo_channels,
)
from ..data.datablocks import still_exists
from ..data.queries import mechanism_bones, parts, root_bones
from ..rig.bone_limits import read_ranges, write_ranges
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
from .foreign_objects import (
    ChannelPath,
    constraints_on_bones,
    convert_transformation,
    driven_value,
    drivers_reading,
    is_bone_target,
    negate_variable,
    place_of,
)

#: Tolerance of equal poses, as a share of their size.
_POSE_TOLERANCE = 2e-6


def world_to_design(rig: bpy.types.Object, body: bpy.types.Object | None, place: Matrix) -> Array:
    """Return the design pose (4, 4) of a pose in the world, carried by a body as it stands now; None: by the world."""
    return _to_design_pose(rig, body, body.matrix_world if body is not None else None, place)


def joint_in_design(rig: bpy.types.Object, body: bpy.types.Object | None, place: Matrix) -> Array:
    """Return the design pose (4, 4) of a joint's pose in the world, carried by a body.

    The body is taken at its posed matrix, as joints are, except while physics moves it: a joint that is placed then
    refers to the body as it is seen.
    """
    run = settings(rig).drive != "KEYS"
    return _to_design_pose(rig, body, None if body is None else body.matrix_world if run else posed_matrix(body), place)


def _to_design_pose(rig: bpy.types.Object, body: bpy.types.Object | None, here: Matrix | None, place: Matrix) -> Array:
    if body is None or here is None:
        return rigid_matrix(rig.matrix_world.inverted_safe() @ place)
    return rigid_matrix(body.matrix_basis.normalized() @ here.normalized().inverted_safe() @ place)


def posed_matrix(body: bpy.types.Object) -> Matrix:
    """Return the world matrix of a body by its mechanism's pose, without physics and the body's own keyframes."""
    on_bone = body.parent == record_of(body).model and body.parent_type == "BONE"
    return local_to_parent_matrix(body, _world_matrix) if on_bone else body.matrix_world


def _world_matrix(obj: bpy.types.Object) -> Matrix:
    return obj.matrix_world


def rigid_matrix(matrix: Matrix) -> Array:
    """Return a matrix without its scale, (4, 4)."""
    place, turn, _scale = matrix.decompose()
    return np.array(Matrix.Translation(place) @ turn.to_matrix().to_4x4(), dtype=np.float64)


def rigid_design_pose(obj: bpy.types.Object | None) -> Array:
    """Return the design pose (4, 4) of an object, right-handed also if it is mirrored; identity for None, the world."""
    return np.eye(4) if obj is None else rigid_matrix(obj.matrix_basis)


def set_design_pose(obj: bpy.types.Object, place: Array) -> None:
    """Set the design pose (4, 4) of a part.

    If that equals the present or the built matrix within float32 resolution, the latter's values are kept, so that
    repeated edits cause no drift.
    """
    if _is_same_pose(np.array(obj.matrix_basis), place):
        return
    built = baseline_pose(obj)
    obj.matrix_basis = Matrix((built if _is_same_pose(built, place) else place).tolist())


def _is_same_pose(one: Array, other: Array) -> bool:
    sizes = np.abs(other[:3, :3]).max(), np.abs(other[:3, 3]).max()
    apart = np.abs(one - other)
    return bool(apart[:3, :3].max() <= _POSE_TOLERANCE * sizes[0] and apart[:3, 3].max() <= _POSE_TOLERANCE * sizes[1])


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


# ---------------------------------------------------------------- drivers and constraints that depend on bones

#: Data path and index of a channel after an edit, and the factor of its values.
_ChannelFactor = tuple[ChannelPath, float]
#: Difference (rad, length units, entries of matrices), relative to values above 1, up to which results are the same.
_SAME_RESULT = 1e-4
_AXES = "XYZ"
_ROTATIONS = {"rotation_euler", "rotation_quaternion"}
#: Property and index of a bone by the transform channel of drivers.
_TRANSFORM_CHANNELS = {
    f"{kind}_{letter}": (prop, index)
    for kind, prop in (("ROT", "rotation_euler"), ("LOC", "location"))
    for index, letter in enumerate(_AXES)
}


class BoneReferences:
    """The user's drivers and constraints that depend on the bones of a mechanism, and what they give before an edit.

    An edit may turn a bone (a hinge whose parent and child are swapped counts in the opposite direction, about an
    opposite Z axis) or assign a joint's values to other channels. What depends on such a bone is converted where that
    is exact; all else that gives another result is reported.

    Attributes:
        rig: The armature.
        drivers: Results of drivers that read a bone, by their owner and what they drive.
        constraints: Results of constraints that read a bone or are on one: pose (4, 4) of their owner.
        rests: Rest matrices (4, 4) of the mechanism's bones, by name, if anything depends on them.
        poses: Pose matrices (4, 4) of these.
    """

    def __init__(self, rig: bpy.types.Object) -> None:
        self.rig = rig
        self.drivers = {
            (owner, place_of(curve)): driven_value(owner, *place_of(curve)) for owner, curve in drivers_reading(rig)
        }
        found = [key for key, _constraint in constraints_on_bones(rig)]
        bodies = _bodies_by_bone(rig) if found else {}
        self.constraints = {key: _owner_pose(rig, *key[:2], bodies) for key in found}
        self.rests: dict[str, Array] = {}
        self.poses: dict[str, Array] = {}
        if self.drivers or self.constraints:
            every = {name: rig.pose.bones[name] for name in mechanism_bones(rig)}
            self.rests = {name: np.array(pose.bone.matrix_local) for name, pose in every.items()}
            self.poses = {name: np.array(pose.matrix) for name, pose in every.items()}
        self._going: dict[ChannelPath, _ChannelFactor] = {}
        self._lost = set[tuple[bpy.types.ID, ChannelPath]]()

    def convert(
        self, moved: Mapping[ChannelPath, _ChannelFactor], gone: Collection[ChannelPath], channels: Iterable[Channel]
    ) -> None:
        """Convert drivers and constraints after the bones were planned again.

        Args:
            moved: New identifiers and factors of channels that continue.
            gone: Channels that posed a joint and do so no longer.
            channels: The present channels of all joints.
        """
        if not self.rests:
            return
        self._going = {place: to for place, to in moved.items() if to != (place, 1.0)}
        kinds = {(channel.bone, channel.prop in _ROTATIONS) for channel in channels}
        for owner, curve in drivers_reading(self.rig):
            assert curve.driver is not None
            for variable in curve.driver.variables:
                if not self._convert_variable(curve.driver, variable, gone, kinds):
                    self._lost.add((owner, place_of(curve)))
        for (_owner, bone, _name), constraint in constraints_on_bones(self.rig):
            self._convert_constraint(constraint, bone)

    def finish(self) -> Report:
        """Convert constraints that depend on a bone's axes in space, and report what gives another result now."""
        report = Report()
        if not self.rests:
            return report
        bpy.context.view_layer.update()
        for _key, constraint in constraints_on_bones(self.rig):
            if constraint.type == "CHILD_OF" and constraint.target == self.rig:
                self._convert_child_of(constraint)
        bpy.context.view_layer.update()
        self._report_drivers(report)
        self._report_constraints(report)
        self.rests = {}  # all is converted
        return report

    # ------------------------------------------------------------ conversion

    def _factor(self, bone: str, prop: str, index: int) -> _ChannelFactor:
        """Return where a channel of a bone is now, and the factor of its values."""
        place = bone_path(bone, prop), index
        if place in self._going:
            return self._going[place]
        axis = index - 1 if prop == "rotation_quaternion" else index
        return place, 1.0 if axis < 0 else self._signs(bone)[axis]

    def _signs(self, bone: str) -> tuple[float, float, float]:
        """Return the factors of a bone's X, Y and Z values: -1 for axes that point against what they were.

        All are 1 where the bone was not turned by a half turn about one of its axes.
        """
        now = armature_of(self.rig).bones.get(bone)
        if bone not in self.rests or now is None:
            return 1.0, 1.0, 1.0
        turn = self.rests[bone][:3, :3].T @ np.array(now.matrix_local)[:3, :3]
        x, y, z = np.sign(np.diag(turn)).tolist()
        return (x, y, z) if np.abs(turn - np.diag((x, y, z))).max() < _SAME_RESULT else (1.0, 1.0, 1.0)

    def _convert_variable(
        self,
        driver: bpy.types.Driver,
        variable: Any,
        gone: Collection[ChannelPath],
        kinds: Collection[tuple[str, bool]],
    ) -> bool:
        """Convert a variable of a driver that reads a channel of a bone, or the bone in its own axes.

        Args:
            driver: The driver.
            variable: The variable.
            gone: Channels that posed a joint and do so no longer.
            kinds: Bones that pose joints now, each with whether by a rotation.

        Returns:
            False where the channel poses no joint any more, or the expression would be too long.
        """
        source, is_single = variable.targets[0], variable.type == "SINGLE_PROP"
        path, _bracket, end = source.data_path.removesuffix("]").rpartition("[")
        if source.id == self.rig and is_single and bone_of_path(path) and end.isdigit():
            place = path, int(end)
        elif source.id == self.rig and variable.type == "TRANSFORMS" and source.transform_type in _TRANSFORM_CHANNELS:
            if source.transform_space not in {"LOCAL_SPACE", "TRANSFORM_SPACE"}:
                return True
            prop, index = _TRANSFORM_CHANNELS[source.transform_type]
            place = bone_path(source.bone_target, prop), index
        else:
            return True
        now, factor = self._factor(bone_of_path(place[0]), place[0].rpartition(".")[2], place[1])
        is_rotation = place[0].rpartition(".")[2] in _ROTATIONS
        if place in gone and (is_single or (source.bone_target, is_rotation) not in kinds):
            return False
        if now != place and is_single:
            source.data_path = f"{now[0]}[{now[1]}]"
        elif now != place:
            kind = "LOC" if now[0].endswith(".location") else "ROT"
            source.bone_target, source.transform_type = bone_of_path(now[0]), f"{kind}_{_AXES[now[1]]}"
        return factor > 0.0 or negate_variable(driver, variable.name)

    def _convert_constraint(self, constraint: Any, bone: str) -> None:
        """Convert a constraint that reads a bone in its own axes, or limits or moves one (``bone``) in these."""
        reads = is_bone_target(constraint, self.rig) and constraint.target_space == "LOCAL"
        writes = bool(bone) and constraint.owner_space == "LOCAL"
        read, written = (
            self._signs(name) if is_own else (1.0, 1.0, 1.0)
            for name, is_own in ((constraint.subtarget if reads else "", reads), (bone, writes))
        )
        if constraint.type in {"LIMIT_ROTATION", "LIMIT_LOCATION"}:
            every = zip(read_ranges(constraint), written, strict=True)
            ranges = tuple(span if sign > 0.0 else _negated(span) for span, sign in every)
            write_ranges(constraint, ranges)
        elif constraint.type in {"COPY_ROTATION", "COPY_LOCATION"}:
            for axis, sign, other in zip("xyz", read, written, strict=True):
                if sign * other < 0.0:
                    setattr(constraint, f"invert_{axis}", not getattr(constraint, f"invert_{axis}"))
        elif constraint.type == "TRANSFORM":
            convert_transformation(constraint, read, written)
        elif constraint.type == "ACTION" and constraint.transform_channel[-1] in _AXES:
            sign = read[_AXES.index(constraint.transform_channel[-1])]
            if not constraint.transform_channel.startswith("SCALE"):
                constraint.min, constraint.max = sign * constraint.min, sign * constraint.max

    def _convert_child_of(self, constraint: Any) -> None:
        """Keep what follows a bone where it is on it."""
        bone: bpy.types.PoseBone | None = self.rig.pose.bones.get(constraint.subtarget)
        parts_ = [getattr(constraint, f"use_{kind}_{axis}") for kind in ("location", "rotation") for axis in "xyz"]
        if bone is None or bone.name not in self.poses or not all(parts_):
            return
        turn = np.linalg.solve(self.poses[bone.name], np.array(bone.matrix))
        if np.abs(turn - np.eye(4)).max() > _SAME_RESULT:
            constraint.inverse_matrix = Matrix(np.linalg.inv(turn).tolist()) @ constraint.inverse_matrix

    # ------------------------------------------------------------ report

    def _report_drivers(self, report: Report) -> None:
        for (owner, was), before in self.drivers.items():
            if not still_exists(owner):
                continue
            (path, index), factor = self._going.get(was, (was, 1.0)) if owner == self.rig else (was, 1.0)
            now, is_lost = driven_value(owner, path, index), (owner, (path, index)) in self._lost
            if before is None or now is None or (not is_lost and _are_same(now, factor * before)):
                continue
            message = (
                Message(
                    "Driver of {} ({}): it reads a channel of a bone that poses no joint any more. Edit the driver",
                    repr(owner.name),
                    f"{path}[{index}]",
                )
                if is_lost
                else Message(
                    "Driver of {} ({}): it gave {} and gives {}, because a bone that it reads has other axes or "
                    "channels. Edit the driver",
                    repr(owner.name),
                    f"{path}[{index}]",
                    f"{factor * before:.3g}",
                    f"{now:.3g}",
                )
            )
            report.warn("driver-changed", message, where=owner.name)

    def _report_constraints(self, report: Report) -> None:
        bodies = _bodies_by_bone(self.rig) if self.constraints else {}
        for key, constraint in constraints_on_bones(self.rig):
            owner, bone, name = key
            before, now = self.constraints.get(key), _owner_pose(self.rig, owner, bone, bodies)
            if before is None or now is None or constraint.mute or _are_same(now, before):
                continue
            if is_bone_target(constraint, self.rig) and constraint.subtarget not in self.rig.pose.bones:
                continue  # reported as one that refers to a deleted bone
            report.warn(
                "constraint-changed",
                Message(
                    "Constraint {} of {}: it gives another pose, because a bone has other axes or channels. Edit the "
                    "constraint",
                    repr(name),
                    repr(bone or owner.name),
                ),
                where=bone or owner.name,
            )


def _are_same(now: Any, before: Any) -> bool:
    return bool(np.abs(np.subtract(now, before)).max() <= _SAME_RESULT * max(1.0, float(np.abs(before).max())))


def _negated(span: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    low, high = span
    return None if high is None else -high, None if low is None else -low


def _bodies_by_bone(rig: bpy.types.Object) -> dict[str, bpy.types.Object]:
    """Return the bodies that a mechanism's bones carry, by the name of the bone."""
    return {body.parent_bone: body for body in parts(rig, "BODY") if body.parent_type == "BONE"}


def _owner_pose(
    rig: bpy.types.Object, obj: bpy.types.Object, bone: str, bodies: Mapping[str, bpy.types.Object]
) -> Array | None:
    """Return the pose (4, 4) of a constraint's owner: an object, a bone, or what a bone of the mechanism carries.

    The latter is relative to what the bones above carry: it moves with these.
    """
    if not bone:
        return np.array(obj.matrix_world)
    pose: bpy.types.PoseBone | None = obj.pose.bones.get(bone)
    if pose is None:
        return None
    if obj != rig or bone not in bodies:
        return np.array(obj.matrix_world @ pose.matrix)
    above = next((bodies[each.name] for each in pose.bone.parent_recursive if each.name in bodies), None)
    near = rig.matrix_world if above is None else posed_matrix(above)
    return np.array(near.inverted_safe() @ posed_matrix(bodies[bone]))


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
        goes = {c.dof_index: c.dof_index for c in own}
        if edit is not None and edit.numbers is not None:
            goes = {old: new for old, (new, _factor) in edit.numbers.items()}
        for channel in own:
            if channel.dof_index in goes and channel.is_single:
                kept.columns[joint, goes[channel.dof_index]] = channel.index
            elif channel.dof_index in goes and channel.index == 0 and DOF_SIZE[channel.kind] > 1:
                kept.turns[joint, goes[channel.dof_index]] = block_rotation(rig, channel.bone)
    keyed = keyed_bones(rig)
    for body, name in root_bones(rig).items():
        pose = rig.pose.bones[name] if rig.pose is not None else None
        if pose is not None and (name in keyed or not _is_at_rest(pose)):
            kept.roots[body] = np.array(bones[name].matrix_local, dtype=np.float64)
    return kept


def _is_at_rest(pose: bpy.types.PoseBone) -> bool:
    return bool(np.abs(np.array(pose.matrix_basis) - np.eye(4)).max() < _REST_TOLERANCE)
