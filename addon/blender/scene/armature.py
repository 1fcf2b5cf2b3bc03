"""Armature: a bone (or a short chain) per joint of the spanning tree and one per root, created in one edit session.

Includes the channels, stops and drivers of its pose bones, and the parenting of objects to bones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...core.kinematics import split_coordinates
from ...core.model import Array, Dof
from ...core.transforms import affine_inverse
from ..data.access import armature_of, bone_record, record_of
from ..data.baseline import record_rest_pose
from ..data.channels import bone_path, is_screw_driver_curve
from ..data.conversion import PosedDofs
from ..data.datablocks import BulkObjects, set_bone_property
from ..data.queries import mechanism_bones, parts_by_id
from ..rig.ball_channels import block_bone_channels
from ..rig.bone_limits import ChannelStops, set_bone_limits, stops_of_dofs
from ..rig.dials import EMPTY_SIZE_SHARE, bone_collection, color_bones, has_dial, show_dials
from ..rig.pose_channels import channel_locks, color_dependent_bone
from .dof_layout import DofPlacement
from .placement import BonePlan, BuildPlan
from .temporary_scene import operator_context, scratch_scene, shown_in_viewport


def create_armature(plan: BuildPlan) -> tuple[bpy.types.Object, list[str]]:
    """Create the armature object, in no collection yet; return it and its bones' names in the order of the plan.

    Note:
        Edit mode evaluates its whole scene twice, so the bones are created in a scene of their own.
    """
    data = bpy.data.armatures.new(plan.mechanism.name)
    rig = bpy.data.objects.new(plan.mechanism.name, data)
    rig.matrix_world = Matrix(plan.upright.tolist())
    data.display_type = "STICK"
    return rig, write_edit_bones(rig, plan.bones)


def bone_task(bone: BonePlan) -> tuple[str, str, int]:
    """Return the purpose of a bone: ids of its joint and its root, and its index in the joint's chain."""
    values = _bone_record_values(bone)
    return values["joint"], values["root"], values.get("step", 0)


def _bone_record_values(bone: BonePlan) -> dict[str, Any]:
    if bone.link is None:
        assert bone.body is not None
        return {"root": bone.body.id, "joint": ""}
    values: dict[str, Any] = {"root": "", "joint": bone.link.joint.id, "step": bone.step}
    if bone.degrees.block is not None:
        values["joint_rotation"] = [float(x) for x in block_axes_rotation(bone).ravel()]
    return values


def write_edit_bones(rig: bpy.types.Object, bones: Sequence[BonePlan], present: Sequence[str | None] = ()) -> list[str]:
    """Create the bones of a plan, and return their names.

    Bones that are ``present`` by name (None: not yet) are set again; bones of joints and roots in no plan are removed.
    Bones that the user added stay, on the nearest of their ancestors that does.

    Note:
        Edit mode takes 0.4 s at 1,000 bones, so it is entered only for bones that are to change.
    """
    known: Sequence[str | None] = present or [None] * len(bones)
    if _are_in_place(rig, bones, known):
        names = [name for name in known if name is not None]
    else:
        names = _edit_bones(rig, bones, known)
    saved = dict(armature_of(rig).bones.items())
    for name, before, bone in zip(names, known, bones, strict=True):
        _record_bone(saved[name], bone, before is None)
    return names


#: Tolerances of equal rest poses: of rotation entries, since edit mode stores a direction and an angle about it, and of
#: positions and lengths, as a share of the bone's distance from the origin or its length.
_REST_ROTATION_TOLERANCE, _REST_POSITION_TOLERANCE = 1e-5, 1e-6


def _are_in_place(rig: bpy.types.Object, bones: Sequence[BonePlan], known: Sequence[str | None]) -> bool:
    """Return whether an armature's bones of joints and roots, ``known`` by name, are those of a plan already."""
    if rig.pose is None or {*known} != mechanism_bones(rig):  # without bones so far, edit mode creates the pose
        return False
    names, rests, lengths = _rest_poses(rig)
    index = {name: number for number, name in enumerate(names)}
    order = [index[name] for name in known if name is not None]
    above = [None if bone.parent is None else known[bone.parent] for bone in bones]
    parents = (armature_of(rig).bones[number].parent for number in order)
    if above != [None if parent is None else parent.name for parent in parents]:
        return False
    wanted = np.array([bone.matrix for bone in bones]).reshape(-1, 4, 4)
    long = np.array([bone.length for bone in bones])
    off = np.abs(rests[order] - wanted)
    reach = _REST_POSITION_TOLERANCE * np.maximum(np.abs(wanted[:, :3, 3]).max(axis=1), long)
    return bool(
        (off[:, :3, :3] <= _REST_ROTATION_TOLERANCE).all()
        and (off[:, :3, 3].max(axis=1) <= reach).all()
        and (np.abs(lengths[order] - long) <= reach).all()
    )


def _edit_bones(rig: bpy.types.Object, bones: Sequence[BonePlan], known: Sequence[str | None]) -> list[str]:
    """Create and set the bones of a plan in edit mode, and return their names."""
    own = mechanism_bones(rig)
    with scratch_scene([rig]) as scene, shown_in_viewport(rig), operator_context(scene, [rig]):
        bpy.ops.object.mode_set(mode="EDIT")
        every, ours = armature_of(rig).edit_bones, bone_collection(armature_of(rig))
        above = {edit.name: [bone.name for bone in edit.parent_recursive] for edit in every if edit.name not in own}
        for name in own.difference(known):
            every.remove(every[name])
        for name in own.intersection(known):
            every[name].parent = None
        made = []
        for before, bone in zip(known, bones, strict=True):
            edit = every.new(_truncate_name(bone.name)) if before is None else every[before]
            edit.head, edit.tail = (0.0, 0.0, 0.0), (0.0, bone.length, 0.0)
            edit.matrix = column_major(bone.matrix)
            edit.use_deform = False
            ours.assign(edit)
            made.append(edit)
        for edit, bone in zip(made, bones, strict=True):
            if bone.parent is not None:
                edit.parent = made[bone.parent]
        for name, ancestors in above.items():
            left = next((every[bone] for bone in ancestors if bone in every), None)
            if every[name].parent != left:
                every[name].parent = left
        names = [edit.name for edit in made]
        bpy.ops.object.mode_set(mode="OBJECT")
    return names


def _record_bone(made: bpy.types.Bone, bone: BonePlan, is_new: bool) -> None:
    """Record with a bone the joint that it poses, or the root that it carries."""
    record, values = bone_record(made), _bone_record_values(bone)
    for key, value in (values | {"baseline_name": made.name} if is_new else values).items():
        setattr(record, key, value)
    record_rest_pose(made)


def remove_bones(rig: bpy.types.Object, names: Collection[str]) -> None:
    """Remove bones from an armature; their children have no parent then."""
    if not names:
        return
    with scratch_scene([rig]) as scene, shown_in_viewport(rig), operator_context(scene, [rig]):
        bpy.ops.object.mode_set(mode="EDIT")
        every = armature_of(rig).edit_bones
        for name in names:
            every.remove(every[name])
        bpy.ops.object.mode_set(mode="OBJECT")


def set_rest_poses(rig: bpy.types.Object, rests: Mapping[str, Array]) -> None:
    """Set the rest poses (4, 4) of bones, by name; all others stay where they are."""
    with scratch_scene([rig]) as scene, shown_in_viewport(rig), operator_context(scene, [rig]):
        bpy.ops.object.mode_set(mode="EDIT")
        for name, rest in rests.items():
            bone = armature_of(rig).edit_bones[name]
            bone.use_connect = False  # it would pull its parent's tail along
            bone.matrix = column_major(rest)
        bpy.ops.object.mode_set(mode="OBJECT")


def _truncate_name(name: str, limit: int = 63) -> str:
    """Truncate a name to Blender's 63 bytes, at whole characters."""
    return name.encode()[:limit].decode(errors="ignore") or "Joint"


def set_up_pose_bones(
    rig: bpy.types.Object,
    names: Sequence[str],
    plan: BuildPlan,
    values: Mapping[str, Array],
    present: Sequence[str | None] = (),
) -> dict[str, list[ChannelStops]]:
    """Set up the pose bones of a plan: channels of their joints, stops, dials and drivers of screws.

    New bones are posed. Of existing ones the pose, shapes and constraints of the user, and the locks of roots stay.

    Args:
        rig: The armature, in a scene.
        names: Names of the plan's bones.
        plan: The plan.
        values: Joint values (size,) at which new bones are posed, by id; those of others are the file's.
        present: The bones that existed, by name (None: new); empty: all are new.

    Returns:
        The stops of the bones.
    """
    poses, is_new = dict(rig.pose.bones.items()), [old is None for old in present] or [True] * len(names)
    empties = parts_by_id(rig, "JOINT")
    dependent = {own for own, empty in empties.items() if record_of(empty).joint.is_dependent}
    remove_screw_drivers(rig, names)
    dofs = {name: _dofs_of_bone(bone) for name, bone in zip(names, plan.bones, strict=True)}
    modes = {name: _rotation_mode(bone) for name, bone in zip(names, plan.bones, strict=True)}
    locks = dict[str, Mapping[str, Any]]()
    set_bone_property(rig, "rotation_mode", modes)  # first: Blender converts the rotation
    for name, bone, new in zip(names, plan.bones, is_new, strict=True):
        joint = bone.link.joint if bone.link is not None else None
        follows = joint is not None and joint.id in dependent
        if new or joint is not None:
            locks[name] = channel_locks(() if follows else dofs[name], is_root=joint is None)
        if new and present:
            _reset_bone(poses[name])
        if follows:
            color_dependent_bone(poses[name])
        if new and joint is not None:
            starts = split_coordinates(joint.dofs, values.get(joint.id))
            for number, place in _dof_placements(bone).items():
                pose_initially(poses[name], bone, place, joint.dofs[number], starts[number])
    set_bone_property(rig, "lock_scale", dict.fromkeys(names, (True, True, True)))
    for prop in channel_locks(()):
        set_bone_property(rig, prop, {name: own[prop] for name, own in locks.items()})
    stops = {name: stops_of_dofs(own) for name, own in dofs.items()}
    set_bone_limits(rig, stops)
    _assign_dials(rig, dofs, plan, {own: empty.empty_display_size for own, empty in empties.items()})
    _add_screw_drivers(rig, names, plan)
    return stops


def _rotation_mode(bone: BonePlan) -> str:
    return "QUATERNION" if bone.link is None else bone.degrees.rotation_mode(bone.layout)


def _reset_bone(pose: bpy.types.PoseBone) -> None:
    """Reset a new bone. Blender gives it the properties of a deleted bone with the same name."""
    for constraint in list(pose.constraints):
        pose.constraints.remove(constraint)
    pose.location = pose.rotation_euler = (0.0, 0.0, 0.0)
    pose.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    pose.scale = (1.0, 1.0, 1.0)
    pose.custom_shape = pose.custom_shape_transform = None
    pose.color.palette = "DEFAULT"


def _assign_dials(
    rig: bpy.types.Object, dofs: Mapping[str, PosedDofs], plan: BuildPlan, sizes: Mapping[str, float]
) -> None:
    """Show bones as dials, except those with a shape of the user's. ``sizes``: display sizes of empties by joint id."""
    radii = {}
    for name, bone in zip(dofs, plan.bones, strict=True):
        size = None if bone.link is None else sizes.get(bone.link.joint.id, 0.02 * plan.size)
        pose = rig.pose.bones[name]
        if pose.custom_shape is None or has_dial(pose):
            radii[name] = 0.6 * bone.length if size is None else size / EMPTY_SIZE_SHARE
    show_dials(rig, {name: dofs[name] for name in radii}, radii)
    color_bones(rig, list(dofs), np.array([bone.matrix[:3, 3] for bone in plan.bones]).reshape(-1, 3))


def _dofs_of_bone(bone: BonePlan) -> PosedDofs:
    """Return the degrees of freedom of a planned bone."""
    dofs = bone.link.joint.dofs if bone.link is not None else ()
    return [(dofs[number], place.prop, place.index) for number, place in _dof_placements(bone).items()]


def _dof_placements(bone: BonePlan) -> Mapping[int, DofPlacement]:
    return bone.degrees.places(bone.layout, bone.step) if bone.link is not None else {}


def _add_screw_drivers(rig: bpy.types.Object, names: Sequence[str], plan: BuildPlan) -> None:
    """Add drivers by which the sliding bones of screws follow the rotating ones."""
    if not any(bone.degrees.driven for bone in plan.bones):
        return
    turning: dict[tuple[str, int], tuple[str, DofPlacement]] = {}
    for name, bone in zip(names, plan.bones, strict=True):
        if bone.link is not None:
            places = bone.degrees.places(bone.layout, bone.step)
            turning |= {(bone.link.joint.id, number): (name, place) for number, place in places.items()}
    for name, bone in zip(names, plan.bones, strict=True):
        for number, index in bone.degrees.screw_locations(bone.layout).items():
            assert bone.link is not None
            turn, place = turning[bone.link.joint.id, number]
            rig.pose.bones[name].driver_remove("location", index)
            curve: Any = rig.pose.bones[name].driver_add("location", index)
            driver: bpy.types.Driver = curve.driver
            angle = driver.variables.new()
            angle.name = "angle"
            angle.targets[0].id = rig
            angle.targets[0].data_path = f"{bone_path(turn, place.prop)}[{place.index}]"
            driver.expression = f"angle * {bone.link.joint.dofs[number].pitch!r}"


def remove_screw_drivers(rig: bpy.types.Object, bones: Collection[str]) -> None:
    """Remove the drivers of screws from bones; drivers that the user added stay."""
    data = rig.animation_data
    if data is None:
        return
    paths = {bone_path(name, "location") for name in bones}
    for curve in list(data.drivers):
        if curve.data_path in paths and is_screw_driver_curve(curve):
            data.drivers.remove(curve)


def pose_initially(pose: bpy.types.PoseBone, bone: BonePlan, place: DofPlacement, dof: Dof, start: Array) -> None:
    """Pose a dof at its coordinates ``start``. A dof at zero is left as it is."""
    if not start.any():
        return
    if place.index >= 0:
        getattr(pose, place.prop)[place.index] = start[0]
        return
    assert bone.link is not None
    locations, quaternions = block_bone_channels(start[None], block_axes_rotation(bone), bone.link.is_reversed)
    pose.rotation_quaternion = quaternions[0]
    if dof.kind == "free":
        pose.location = locations[0]


def block_axes_rotation(bone: BonePlan) -> Array:
    """Return the rotation (3, 3) from a bone's axes to its joint's frame, which the coordinates of a ball refer to."""
    assert bone.frame is not None
    return bone.frame[:3, :3].T @ bone.matrix[:3, :3]


def column_major(pose: Array) -> Any:
    """Return a pose (4, 4) by columns, as Blender takes matrices from plain numbers.

    (A ``Matrix`` would do as well, but has to be created first.)
    """
    return pose.T.tolist()


class BoneParenting:
    """Parenting of objects to the bones of bodies: local matrices are design poses in the mechanism's frame.

    Without ``bone_names`` all objects are parented to the armature object.
    """

    def __init__(self, plan: BuildPlan, rig: bpy.types.Object, bone_names: Sequence[str] = ()) -> None:
        self.rig = rig
        self._names, self._bone_of_body = bone_names, plan.bone_of_body if bone_names else {}
        self._rests: Mapping[str, Array] = {}

    def attach(self, obj: bpy.types.Object, body: str | None, pose: Array) -> None:
        """Parent an object to a body's bone (by body id), or to the armature if there is none, at a pose (4, 4)."""
        self.hold(obj, body)
        obj.matrix_basis = column_major(pose)

    def parent_all(self, new: BulkObjects, bodies: Sequence[str | None], poses: Sequence[Array]) -> list[list[float]]:
        """Parent many new objects, each to its body's bone at its pose (4, 4), with quaternion rotations.

        Returns:
            Their local matrices as Blender stores them, each 16 numbers by rows.
        """
        count = len(new.objects)
        rests = np.tile(np.eye(4).ravel(), (count, 1))
        for place, (obj, body) in enumerate(zip(new.objects, bodies, strict=True)):
            obj.parent = self.rig
            number = self._bone_of_body.get(body or "")
            if number is not None:
                obj.parent_type, obj.parent_bone = "BONE", self._names[number]
                rests[place] = self._rest_of(self._names[number])
        new.put("matrix_parent_inverse", rests)
        new.put("rotation_mode", "QUATERNION")
        new.put("matrix_basis", np.array(poses).reshape(count, 4, 4).transpose(0, 2, 1).reshape(count, 16))
        kept = new.get("matrix_basis", 16).reshape(count, 4, 4).transpose(0, 2, 1)
        return kept.reshape(count, 16).tolist()  # type: ignore[no-any-return]

    def _rest_of(self, bone: str) -> Array:
        """Return the inverse of a bone's rest matrix at its tail, (16,) by columns."""
        self._rests = self._rests or _inverse_rests_by_bone(self.rig)
        return self._rests[bone]

    def hold(self, obj: bpy.types.Object, body: str | None) -> None:
        """Parent an object to a body's bone, or to the armature if there is none, keeping its local matrix."""
        obj.parent = self.rig
        number = self._bone_of_body.get(body or "")
        if number is not None:
            name = self._names[number]
            obj.parent_type = "BONE"
            obj.parent_bone = name
            obj.matrix_parent_inverse = self._rest_of(name).reshape(4, 4).tolist()  # type: ignore[assignment]
        elif obj.parent_type != "OBJECT":
            obj.parent_type = "OBJECT"
            obj.matrix_parent_inverse = Matrix()


def inverse_rest_matrices(rig: bpy.types.Object) -> tuple[list[str], Array]:
    """Return the names of a mechanism's bones, and the inverses (n, 4, 4) of their rest matrices at their tails.

    The tail is where Blender parents objects to a bone.
    """
    names, tails, lengths = _rest_poses(rig)
    tails[:, :3, 3] += tails[:, :3, 1] * lengths[:, None]
    return names, affine_inverse(tails)


def _rest_poses(rig: bpy.types.Object) -> tuple[list[str], Array, Array]:
    """Return the names of an armature's bones, their rest matrices (n, 4, 4) and their lengths (n,)."""
    bones = armature_of(rig).bones
    matrices, lengths = np.empty(16 * len(bones), dtype=np.float32), np.empty(len(bones), dtype=np.float32)
    bones.foreach_get("matrix_local", matrices)  # type: ignore[arg-type]
    bones.foreach_get("length", lengths)  # type: ignore[arg-type]
    rests = matrices.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)
    return bones.keys(), rests, lengths.astype(np.float64)


def _inverse_rests_by_bone(rig: bpy.types.Object) -> dict[str, Array]:
    """Return the inverses of the bones' rest matrices at their tails, (16,) by columns, by bone name."""
    names, rests = inverse_rest_matrices(rig)
    return dict(zip(names, rests.transpose(0, 2, 1).reshape(-1, 16), strict=True))
