"""Active joint, selected parts and bones, and selecting parts. Half-deleted mechanisms raise no exceptions here."""

from __future__ import annotations

from typing import cast

import bpy

from ...compat import is_bone_selected, select_bone
from ...data.access import armature_of, armature_settings, bone_record, find_child_collection, record_of, settings
from ...data.queries import is_part, joint_bones, parts_by_id, servo_bones


def joints_collection(rig: bpy.types.Object) -> bpy.types.Collection | None:
    """Return the collection of a mechanism's joint empties; None if it was deleted."""
    return find_child_collection(settings(rig).collection, "Joints")


def part_bone(rig: bpy.types.Object, obj: bpy.types.Object) -> str | None:
    """Return the name of a joint's bone, or of the bone that carries a body; None without one."""
    if record_of(obj).role == "JOINT":
        return servo_bones(rig).get(record_of(obj).source_id)
    return obj.parent_bone if obj.parent_bone in armature_of(rig).bones else None


def active_joint(context: bpy.types.Context, rig: bpy.types.Object) -> bpy.types.Object | None:
    """Return the active joint, the joint of the active bone, or the joint that moves the active body; else None."""
    active = context.view_layer.objects.active
    if active is not None and is_part(active, rig, "JOINT"):
        return active
    bone = armature_of(rig).bones.active
    if active is not None and is_part(active, rig, "BODY"):
        bone = armature_of(rig).bones.get(active.parent_bone)
    wanted = bone_record(bone).joint if bone is not None else ""
    joints = joints_collection(rig)
    if not wanted or joints is None:
        return None
    return next(
        (obj for obj in joints.all_objects if is_part(obj, rig, "JOINT") and record_of(obj).source_id == wanted), None
    )


def select_part(context: bpy.types.Context, rig: bpy.types.Object, obj: bpy.types.Object, extend: bool = False) -> bool:
    """Select the bone of a joint or body in pose mode, else the object; return False if that is not possible."""
    name = part_bone(rig, obj)
    bone: bpy.types.Bone | None = armature_of(rig).bones.get(name or "")
    if rig.mode == "POSE":
        if bone is None:
            return False
        _select_bone(rig, bone, extend)
        return True
    if bone is not None:
        armature_of(rig).bones.active = bone  # panels show it, also when the armature is selected again
    if rig.mode != "OBJECT" or not obj.visible_get(view_layer=context.view_layer):
        return False
    if not extend:
        deselect_all(context)
    obj.select_set(True)
    context.view_layer.objects.active = obj
    return True


def _select_bone(rig: bpy.types.Object, bone: bpy.types.Bone, extend: bool) -> None:
    for pose in rig.pose.bones:
        chosen = pose.name == bone.name
        if chosen or not extend:
            select_bone(pose, chosen)
    armature_of(rig).bones.active = bone


def polled_joint(context: bpy.types.Context, rig: bpy.types.Object) -> bpy.types.Object:
    """Return the active joint, for what runs only after a ``poll`` has found one."""
    return cast(bpy.types.Object, active_joint(context, rig))


def active_joint_row(armature: bpy.types.Armature) -> int:
    """Return the row of the active joint in the list of joints; -1 for none."""
    rig = armature_settings(armature).rig
    joints = joints_collection(rig) if rig is not None and rig.data == armature else None
    joint = active_joint(bpy.context, rig) if joints is not None else None
    if joints is None or joint is None:
        return -1
    return next((row for row, obj in enumerate(joints.all_objects) if obj == joint), -1)


def select_joint_row(armature: bpy.types.Armature, row: int) -> None:
    """Select the joint of a row that was clicked."""
    rig = armature_settings(armature).rig
    joints = joints_collection(rig) if rig is not None else None
    if joints is not None and 0 <= row < len(joints.all_objects) and is_part(joints.all_objects[row], rig, "JOINT"):
        select_part(bpy.context, rig, joints.all_objects[row])


def selected_bones(context: bpy.types.Context, rig: bpy.types.Object) -> set[str]:
    """Return the names of the bones selected in pose mode; else those of the selected joints and bodies."""
    if rig.mode == "POSE":
        return {pose.name for pose in rig.pose.bones if is_bone_selected(pose)}
    chosen = [obj for obj in context.view_layer.objects.selected if record_of(obj).model == rig and obj != rig]
    chains = joint_bones(rig)
    of_joints = {
        bone for obj in chosen if is_part(obj, rig, "JOINT") for bone in chains.get(record_of(obj).source_id, ())
    }
    return of_joints | {bone for obj in chosen if record_of(obj).role == "BODY" and (bone := part_bone(rig, obj))}


def target_bones(context: bpy.types.Context, rig: bpy.types.Object, only_selected: bool) -> set[str] | None:
    """Return the names of the bones to work on; None for all.

    Raises:
        ValueError: If only selected bones are wanted and none is selected.
    """
    if not only_selected:
        return None
    chosen = selected_bones(context, rig)
    if not chosen:
        raise ValueError("No servo is selected: select bones in pose mode, or joints, or switch off Only Selected")
    return chosen


def deselect_all(context: bpy.types.Context) -> None:
    """Deselect all objects of the view layer.

    Note:
        Removed objects that were selected are listed as None until the view layer is updated (4.2 to 5.2).
    """
    for obj in filter(None, list(context.view_layer.objects.selected)):
        obj.select_set(False)


def select_only(context: bpy.types.Context, objects: list[bpy.types.Object]) -> None:
    """Select these objects only, the first one active; hidden ones are left out."""
    deselect_all(context)
    visible = [obj for obj in objects if obj.visible_get(view_layer=context.view_layer)]
    for obj in visible:
        obj.select_set(True)
    if visible:
        context.view_layer.objects.active = visible[0]


def selected_parts(context: bpy.types.Context, rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the selected bodies and joints of a mechanism, in pose mode also the joints of the selected bones.

    In pose mode the active joint comes first, and it counts as selected if no bone is.
    """
    chosen = [obj for obj in context.view_layer.objects.selected if record_of(obj).model == rig]
    found = [obj for obj in chosen if record_of(obj).role in {"BODY", "JOINT"}]
    if rig.mode == "POSE":
        active = active_joint(context, rig)
        joints = parts_by_id(rig, "JOINT")
        bones = {name: key for key, name in servo_bones(rig).items()}
        picked = dict.fromkeys(pose.name for pose in context.selected_pose_bones or ())
        found += [joints[bones[name]] for name in picked if bones.get(name) in joints]
        found += [active] if active is not None and active not in found and not picked else []
        found.sort(key=lambda obj: obj != active)
    return list(dict.fromkeys(found))
