"""Servos keyed and posed together, or one by one."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ...animation.pose_library import key_servos, switch_key, zero_servos
from ...translations import told
from ..base.operators import NeedsModel, Result, counted, say
from ..base.selection import meant_bones


def only_selected() -> Any:
    """The option of that name."""
    return BoolProperty(
        name="Only Selected",
        description="The servos of the selected bones, joints and bodies alone",
        options={"SKIP_SAVE"},
    )


class KNUCKLE_OT_zero_servos(NeedsModel):
    bl_idname = "knuckle.zero_servos"
    bl_label = "Zero Servos"
    bl_description = "Pose servos at 0, or on the stop that is nearest to it"
    bl_options = {"REGISTER", "UNDO"}

    to: EnumProperty(
        name="To",
        description="Where the servos are posed",
        items=[
            ("ZERO", "Zero", "Pose servos at 0, as far as their stops let them"),
            ("START", "Initial Pose", "Pose all servos at their initial values"),
        ],
    )
    only_selected: only_selected()

    @classmethod
    def description(cls, context: bpy.types.Context, properties: Any) -> str:
        return told(cls.bl_rna.properties["to"].enum_items[properties.to].description)  # type: ignore[attr-defined]

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        bones = meant_bones(context, rig, self.only_selected)
        count = zero_servos(rig, context.scene, bones, "zero" if self.to == "ZERO" else "start")
        posed = counted(count, "servo")
        say(self, {"INFO"}, f"{posed} at 0" if self.to == "ZERO" else f"{posed} in the initial pose")
        return {"FINISHED"}


class KNUCKLE_OT_key_servos(NeedsModel):
    bl_idname = "knuckle.key_servos"
    bl_label = "Key Servos"
    bl_description = "Insert a keyframe for each servo at the current frame, except for dependent joints"
    bl_options = {"REGISTER", "UNDO"}

    only_selected: only_selected()

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        count = key_servos(rig, context.scene, meant_bones(context, rig, self.only_selected))
        say(self, {"INFO"}, f"{counted(count, 'servo')} keyed at frame {context.scene.frame_current}")
        return {"FINISHED"}


class KNUCKLE_OT_key_servo(NeedsModel):
    bl_idname = "knuckle.key_servo"
    bl_label = "Key Servo"
    bl_description = "Insert or remove the keyframe of this servo at the current frame"
    bl_options = {"REGISTER", "UNDO"}

    servo: StringProperty(name="Servo", description="The name that motion files use")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        frame = context.scene.frame_current
        keyed = switch_key(rig, self.servo, frame)
        gone = f"{self.servo!r} no longer keyed at frame {frame}"
        say(self, {"INFO"}, f"{self.servo!r} keyed at frame {frame}" if keyed else gone)
        return {"FINISHED"}


CLASSES = (KNUCKLE_OT_zero_servos, KNUCKLE_OT_key_servos, KNUCKLE_OT_key_servo)
