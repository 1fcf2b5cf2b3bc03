"""The armature: one bone per joint of the spanning tree and one per root, made in one edit session."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
from mathutils import Matrix

from ...model.records import Array, Joint
from ..access import armature_of, bone_record
from ..bone_limits import Limiter
from .plan import BonePlan, Plan


def make_rig(context: bpy.types.Context, plan: Plan) -> tuple[bpy.types.Object, list[str]]:
    """The armature object, in no collection yet, and the names its bones got, in the order of the plan.

    Edit mode evaluates its whole scene twice, so the bones are made in a scene of their own."""
    data = bpy.data.armatures.new(plan.mechanism.name)
    rig = bpy.data.objects.new(plan.mechanism.name, data)
    rig.matrix_world = Matrix(plan.upright.tolist())
    rig.show_in_front = True
    data.display_type = "STICK"
    names = _edit_bones(context, rig, plan.bones)
    for name, bone in zip(names, plan.bones, strict=True):
        record = bone_record(data.bones[name])
        record.built_name = name
        if bone.link is None:
            record.root = bone.body.id
        else:
            record.joint = bone.link.joint.id
    return rig, names


def _edit_bones(context: bpy.types.Context, rig: bpy.types.Object, bones: Sequence[BonePlan]) -> list[str]:
    workshop = bpy.data.scenes.new("Knuckle Workshop")
    try:
        workshop.collection.objects.link(rig)
        layer = workshop.view_layers[0]
        layer.objects.active = rig
        with context.temp_override(
            scene=workshop, view_layer=layer, object=rig, active_object=rig, selected_objects=[rig]
        ):
            bpy.ops.object.mode_set(mode="EDIT")
            made = []
            for bone in bones:
                edit = armature_of(rig).edit_bones.new(_fit_name(bone.name))
                edit.tail = (0.0, bone.length, 0.0)
                edit.matrix = Matrix(bone.matrix.tolist())
                edit.use_deform = False
                made.append(edit)
            for edit, bone in zip(made, bones, strict=True):
                if bone.parent is not None:
                    edit.parent = made[bone.parent]
            names = [edit.name for edit in made]
            bpy.ops.object.mode_set(mode="OBJECT")
    finally:
        bpy.data.scenes.remove(workshop)
    return names


def _fit_name(name: str, limit: int = 63) -> str:
    """A name that Blender takes: whole characters within its 63 bytes."""
    return name.encode()[:limit].decode(errors="ignore") or "Joint"


def pose_bones(rig: bpy.types.Object, names: Sequence[str], plan: Plan) -> None:
    """Leave each bone the channels of its joint, with the stops as constraints. Needs the rig in a scene."""
    limit = Limiter()
    for name, bone in zip(names, plan.bones, strict=True):
        pose = rig.pose.bones[name]
        if bone.link is None:
            pose.rotation_mode = "QUATERNION"
            pose.lock_scale = (True, True, True)
            continue
        free_channels(pose, bone.link.joint)
        limit(pose, bone.link.joint.dofs)


def free_channels(pose: bpy.types.PoseBone, joint: Joint) -> None:
    """Lock every channel but the joint's own, for hand and for IK."""
    kinds = [dof.kind for dof in joint.dofs]
    turns = "rotation" in kinds
    ball = "ball" in kinds or "free" in kinds
    slides = "translation" in kinds
    pose.rotation_mode = "QUATERNION" if ball else "XYZ"
    pose.lock_location = ("free" not in kinds, "free" not in kinds, not (slides or "free" in kinds))
    pose.lock_rotation = (not ball, not ball, not (turns or ball))
    pose.lock_rotation_w = not ball
    pose.lock_scale = (True, True, True)
    pose.lock_ik_x = pose.lock_ik_y = not ball
    pose.lock_ik_z = not (turns or ball)


def hang(obj: bpy.types.Object, rig: bpy.types.Object, bone: str | None, rest: Matrix | None, pose: Array) -> None:
    """Parent an object to a bone so that its local matrix is its design pose in the model's frame.

    ``rest`` is the inverse of the bone's tail frame (``tail_inverse``), shared by all that hang on it."""
    obj.parent = rig
    if bone is not None:
        obj.parent_type = "BONE"
        obj.parent_bone = bone
        obj.matrix_parent_inverse = rest
    obj.matrix_basis = Matrix(pose.tolist())


def tail_inverse(rig: bpy.types.Object, bone: str) -> Matrix:
    """What undoes a bone's rest frame at its tail, where Blender hangs bone-parented objects."""
    rest = armature_of(rig).bones[bone]
    return (rest.matrix_local @ Matrix.Translation((0.0, rest.length, 0.0))).inverted()
