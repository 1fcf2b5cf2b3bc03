"""Operators that key and pose servos, together or one by one, and the keying set *Servos*."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ....core.report import Message, count_with_noun
from ...animation.pose_library import key_servos_at_frame, toggle_key, zero_servos
from ...compat import action_curves, is_bone_selected, select_bone
from ...data.access import record_of
from ...data.channels import bone_path, servo_channels
from ...data.queries import parts, root_bones
from ...locale import translated
from ..base.operators import ModelOperator, Result, report_message
from ..base.selection import selected_bones, target_bones


def only_selected() -> Any:
    """Return the property ``only_selected``."""
    return BoolProperty(
        name="Only Selected",
        description="Only the servos of the selected bones, joints and bodies",
        options={"SKIP_SAVE"},
    )


class KNUCKLE_OT_zero_servos(ModelOperator):
    """Operator: pose servos at zero or in the initial pose."""

    bl_idname = "knuckle.zero_servos"
    bl_label = "Zero Servos"
    bl_description = "Pose servos at 0, or on the stop that is nearest to it"
    bl_options = {"REGISTER", "UNDO"}

    to: EnumProperty(
        name="To",
        description="Pose of the servos",
        items=[
            ("ZERO", "Zero", "Pose servos at 0, as far as their stops let them"),
            ("START", "Initial Pose", "Pose all servos at their initial values"),
        ],
    )
    only_selected: only_selected()

    @classmethod
    def description(cls, context: bpy.types.Context, properties: Any) -> str:
        """Return the tooltip for the chosen pose."""
        return translated(cls.bl_rna.properties["to"].enum_items[properties.to].description)  # type: ignore[attr-defined]

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Pose the servos at zero, within their stops, or at their initial values."""
        bones = target_bones(context, rig, self.only_selected)
        count = zero_servos(rig, context.scene, bones, "zero" if self.to == "ZERO" else "start")
        posed = count_with_noun(count, "servo")
        report_message(
            self, {"INFO"}, Message("{} at 0", posed) if self.to == "ZERO" else Message("{} in the initial pose", posed)
        )
        return {"FINISHED"}


class KNUCKLE_OT_key_servos(ModelOperator):
    """Operator: key servos at the current frame."""

    bl_idname = "knuckle.key_servos"
    bl_label = "Key Servos"
    bl_description = "Insert a keyframe for each servo at the current frame, except for dependent joints"
    bl_options = {"REGISTER", "UNDO"}

    only_selected: only_selected()

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Insert a keyframe for each servo, except for dependent joints."""
        count = key_servos_at_frame(rig, context.scene, target_bones(context, rig, self.only_selected))
        report_message(
            self,
            {"INFO"},
            Message("{} keyed at frame {}", count_with_noun(count, "servo"), context.scene.frame_current),
        )
        return {"FINISHED"}


class KNUCKLE_OT_key_servo(ModelOperator):
    """Operator: insert or remove a servo's keyframe at the current frame."""

    bl_idname = "knuckle.key_servo"
    bl_label = "Key Servo"
    bl_description = "Insert or remove the keyframe of this servo at the current frame"
    bl_options = {"REGISTER", "UNDO"}

    servo: StringProperty(name="Servo", description="Name in motion files")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Toggle the servo's keyframe."""
        frame = context.scene.frame_current
        keyed = toggle_key(rig, self.servo, frame)
        gone = Message("{} no longer keyed at frame {}", repr(self.servo), frame)
        report_message(self, {"INFO"}, Message("{} keyed at frame {}", repr(self.servo), frame) if keyed else gone)
        return {"FINISHED"}


class KNUCKLE_KSI_servos(bpy.types.KeyingSetInfo):
    """Keying set *Servos*, used by Blender's *Insert Keyframe* (I).

    Keys the servos of selected bones, location and rotation of selected root bones, and location, rotation and scale
    of other selected bones and objects, but never a locked channel of a mechanism. In Object Mode, selected bodies and
    joints stand for the bones that pose them.
    """

    bl_idname = "KNUCKLE_KSI_servos"
    bl_label = "Servos"
    bl_description = "Insert a keyframe on each servo of the selected bones, bodies and joints, else on transforms"

    def poll(self, context: bpy.types.Context) -> bool:
        """Return whether bones are selected in pose mode, else objects."""
        return bool(context.selected_pose_bones) if context.mode == "POSE" else bool(context.selected_objects)

    def iterator(self, context: bpy.types.Context, keying_set: Any) -> None:
        """Add the channels of all selected bones, else of all selected objects."""
        if context.mode != "POSE":
            posed = [obj for obj in context.selected_objects if record_of(obj).role in {"BODY", "JOINT"}]
            for obj in context.selected_objects:
                if obj not in posed:
                    self.generate(context, keying_set, obj)
            for rig in dict.fromkeys(record_of(obj).model for obj in posed):
                _add_channels(keying_set, rig, selected_bones(context, rig))
            return
        for rig in context.objects_in_mode:
            if record_of(rig).role == "MODEL":
                _add_channels(keying_set, rig, selected_bones(context, rig))
            else:
                for pose in filter(is_bone_selected, rig.pose.bones):
                    self.generate(context, keying_set, pose)

    def generate(self, context: bpy.types.Context, keying_set: Any, data: Any) -> None:
        """Add the transform of an object, or of a bone that belongs to no mechanism."""
        is_bone = isinstance(data, bpy.types.PoseBone)
        grouping = {"group_method": "NAMED", "group_name": data.name if is_bone else "Object Transforms"}
        rotation = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
        for prop in ("location", rotation.get(data.rotation_mode, "rotation_euler"), "scale"):
            keying_set.paths.add(data.id_data, data.path_from_id(prop), **grouping)


def _add_channels(keying_set: Any, rig: bpy.types.Object, bones: set[str]) -> None:
    for bone, path, index in _channels(rig, bones):
        keying_set.paths.add(rig, path, index=index, group_method="NAMED", group_name=bone)


def _channels(rig: bpy.types.Object, chosen: set[str]) -> Iterator[tuple[str, str, int]]:
    """Yield bone, data path and index of each channel of bones; index -1 for a whole property."""
    follows = {record_of(empty).source_id for empty in parts(rig, "JOINT") if record_of(empty).joint.is_dependent}
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


def use_servo_keying_set(scene: bpy.types.Scene) -> None:
    """Make *Servos* the scene's active keying set, unless the user chose one."""
    if scene.keying_sets_all.active is None:
        scene.keying_sets_all.active = scene.keying_sets_all[KNUCKLE_KSI_servos.bl_label]


def select_keyed_bones(rig: bpy.types.Object) -> None:
    """Select the bones that a mechanism's Action moves.

    Note:
        Timeline and Dope Sheet show the keyframes of selected bones only.
    """
    data = rig.animation_data
    curves = action_curves(rig, data.action, create=False) if data is not None and data.action is not None else None
    paths = {curve.data_path for curve in curves or ()}
    for pose in rig.pose.bones:
        if any(bone_path(pose.name, prop) in paths for prop in ("location", "rotation_euler", "rotation_quaternion")):
            select_bone(pose, True)


CLASSES = (
    KNUCKLE_OT_zero_servos,
    KNUCKLE_OT_key_servos,
    KNUCKLE_OT_key_servo,
    KNUCKLE_KSI_servos,
)
