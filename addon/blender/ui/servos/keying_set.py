"""The keying set *Servos*: Blender's *Insert Keyframe* (I) keys the servos of bones, one channel each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

from ...compat import action_curves, bone_is_selected, select_bone
from ...data.access import record_of
from ...data.channels import bone_path, servo_channels
from ...data.queries import parts, root_bones


class KNUCKLE_KSI_servos(bpy.types.KeyingSetInfo):
    """Keys the servos of selected bones, the placement of selected root bones, and location, rotation and scale of what
    else is selected; never a locked channel of a mechanism."""

    bl_idname = "KNUCKLE_KSI_servos"
    bl_label = "Servos"
    bl_description = "Insert a keyframe on each servo of the selected bones, and on the transform of other objects"

    def poll(self, context: bpy.types.Context) -> bool:
        return bool(context.selected_pose_bones) if context.mode == "POSE" else bool(context.selected_objects)

    def iterator(self, context: bpy.types.Context, keying_set: Any) -> None:
        if context.mode != "POSE":
            for obj in context.selected_objects:
                self.generate(context, keying_set, obj)
            return
        for rig in context.objects_in_mode:
            if record_of(rig).role == "MODEL":
                for bone, path, index in _channels(rig):
                    keying_set.paths.add(rig, path, index=index, group_method="NAMED", group_name=bone)
            else:
                for pose in filter(bone_is_selected, rig.pose.bones):
                    self.generate(context, keying_set, pose)

    def generate(self, context: bpy.types.Context, keying_set: Any, data: Any) -> None:
        """Add the transform of an object, or of a bone that is no mechanism's."""
        is_bone = isinstance(data, bpy.types.PoseBone)
        grouping = {"group_method": "NAMED", "group_name": data.name if is_bone else "Object Transforms"}
        rotation = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
        for prop in ("location", rotation.get(data.rotation_mode, "rotation_euler"), "scale"):
            keying_set.paths.add(data.id_data, data.path_from_id(prop), **grouping)


def _channels(rig: bpy.types.Object) -> Iterator[tuple[str, str, int]]:
    """Bone, data path and index of each channel to key of a mechanism's selected bones; -1: all of a property."""
    chosen = {bone.name for bone in rig.pose.bones if bone_is_selected(bone)}
    follows = {record_of(empty).source_id for empty in parts(rig, "JOINT") if record_of(empty).joint.follows}
    servos = (
        channel
        for joint, own in servo_channels(rig).items()
        for channel in own
        if joint not in follows and channel.bone in chosen
    )
    yield from dict.fromkeys(
        (channel.bone, path, index if channel.is_single else -1)
        for channel in servos
        for path, index in channel.curves()
    )
    for bone in chosen.intersection(root_bones(rig).values()):
        for prop in ("location", "rotation_quaternion"):
            yield bone, bone_path(bone, prop), -1


def use_servos(scene: bpy.types.Scene) -> None:
    """Make *Servos* the scene's keying set, unless the user chose one."""
    if scene.keying_sets_all.active is None:
        scene.keying_sets_all.active = scene.keying_sets_all[KNUCKLE_KSI_servos.bl_label]


def select_keyed_bones(rig: bpy.types.Object) -> None:
    """Select the bones that a mechanism's Action moves: timeline and dope sheet show the keys of selected bones."""
    data = rig.animation_data
    curves = action_curves(rig, data.action, create=False) if data is not None and data.action is not None else None
    paths = {curve.data_path for curve in curves or ()}
    for pose in rig.pose.bones:
        if any(bone_path(pose.name, prop) in paths for prop in ("location", "rotation_euler", "rotation_quaternion")):
            select_bone(pose, True)


CLASSES = (KNUCKLE_KSI_servos,)
