"""All servos as sliders, keyed and zeroed together, and poses that are kept by name."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..access import armature_of, armature_settings, bone_record, record_of
from ..animation.posed import key_servos, key_state, switch_key, zero_servos
from ..compat import bone_is_selected
from ..model_parts import parts
from ..translations import told
from . import sliders
from .common import NeedsModel, Result, counted, model_in, say
from .selection import meant_bones, select_part, selected_bones
from .sidebar import ORDER, ModelPanel
from .sliders import sliders_of


def only_selected() -> Any:
    """The option of that name."""
    return BoolProperty(
        name="Only Selected",
        description="The servos of the selected bones, joints and bodies alone",
        options={"SKIP_SAVE"},
    )


#: What Blender shows beside a property: a dot, a diamond where it is keyed, a full one where a key is here.
_KEY_ICONS: dict[str, Any] = {"none": "DECORATE", "elsewhere": "DECORATE_ANIMATE", "here": "DECORATE_KEYFRAME"}


class KNUCKLE_UL_servos(bpy.types.UIList):
    """A slider for every servo, with its key; what follows a loop is shown and cannot be moved."""

    chosen: BoolProperty(name="Only Selected", description="Show the servos of the selected bones alone")
    opened: BoolProperty(description="The filter was shown once")

    def draw_filter(self, context: Any, layout: Any) -> None:
        row = layout.row(align=True)
        row.prop(self, "filter_name", text="", icon="VIEWZOOM")
        row.prop(self, "use_filter_invert", text="", icon="ARROW_LEFTRIGHT")
        row.prop(self, "chosen", text="", icon="RESTRICT_SELECT_OFF")

    def filter_items(self, context: Any, data: Any, propname: str) -> Any:
        if not self.opened:
            self.use_filter_show = self.opened = True
        bones = getattr(data, propname)
        rig = model_in(context)
        rows = sliders_of(rig) if rig is not None and rig.pose == data else {}
        chosen = selected_bones(context, rig) if rig is not None and self.chosen and rig.mode != "POSE" else set()
        wanted = self.filter_name.lower()
        shown = []
        for bone in bones:
            fits = any(wanted in row.channel.name.lower() for row in rows.get(bone.name, ()))
            if self.chosen:
                fits = fits and (bone.name in chosen or (rig.mode == "POSE" and bone_is_selected(bone)))
            shown.append(self.bitflag_filter_item if fits else 0)
        return shown, []

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        column = layout.column(align=True)
        for row in sliders_of(item.id_data).get(item.name, ()):
            split = column.split(factor=0.5, align=True)
            beyond = row.is_beyond(item)
            name = split.row(align=True)
            name.alert = beyond  # sliders do not show it
            name.label(text=row.channel.name, translate=False)
            line = split.row(align=True)
            line.enabled = not row.follows
            value = line.row(align=True)
            value.alert = beyond
            if row.prop:
                value.prop(item, row.prop, text="", slider=row.is_slider)
            elif row.channel.is_single:
                value.prop(item, row.channel.prop, index=row.channel.index, text="")
            if row.follows:
                line.label(text="", icon="LINKED")
                continue
            state = key_state(item.id_data, row.channel, context.scene.frame_current)
            button = line.operator("knuckle.key_servo", text="", icon=_KEY_ICONS[state], emboss=False)
            button.servo = row.channel.name


class KNUCKLE_OT_zero_servos(NeedsModel):
    bl_idname = "knuckle.zero_servos"
    bl_label = "Zero Servos"
    bl_description = "Pose servos at 0, or on the stop that is nearest to it"
    bl_options = {"REGISTER", "UNDO"}

    to: EnumProperty(
        name="To",
        description="Where the servos are posed",
        items=[
            ("ZERO", "Zero", "All of them at 0, as far as their stops let them"),
            ("START", "Start", "Where the file has them at the start"),
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
        say(self, {"INFO"}, f"{posed} at 0" if self.to == "ZERO" else f"{posed} at the start")
        return {"FINISHED"}


class KNUCKLE_OT_key_servos(NeedsModel):
    bl_idname = "knuckle.key_servos"
    bl_label = "Key Servos"
    bl_description = "Key servos as they are posed, at the present frame. What follows a loop is not keyed"
    bl_options = {"REGISTER", "UNDO"}

    only_selected: only_selected()

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        count = key_servos(rig, context.scene, meant_bones(context, rig, self.only_selected))
        say(self, {"INFO"}, f"{counted(count, 'servo')} keyed at frame {context.scene.frame_current}")
        return {"FINISHED"}


class KNUCKLE_OT_key_servo(NeedsModel):
    bl_idname = "knuckle.key_servo"
    bl_label = "Key Servo"
    bl_description = "Key this servo as it is posed, or take its key at the present frame away"
    bl_options = {"REGISTER", "UNDO"}

    servo: StringProperty(name="Servo", description="The name that motion files use")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        frame = context.scene.frame_current
        keyed = switch_key(rig, self.servo, frame)
        gone = f"{self.servo!r} no longer keyed at frame {frame}"
        say(self, {"INFO"}, f"{self.servo!r} keyed at frame {frame}" if keyed else gone)
        return {"FINISHED"}


class VIEW3D_PT_knuckle_sliders(ModelPanel, bpy.types.Panel):
    bl_label = "Servos"
    bl_order = ORDER["servos"]

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        rig = model_in(context)
        if not sliders_of(rig):
            layout.label(text="The mechanism has no servos")
            return
        layout.template_list("KNUCKLE_UL_servos", "", rig.pose, "bones", rig.data, "knuckle_servo_row", rows=8)
        column = layout.column(align=True)
        row = column.row(align=True)
        row.operator("knuckle.key_servos", text="Key All", icon="KEY_HLT").only_selected = False
        row.operator("knuckle.key_servos", text="Selected").only_selected = True
        row = column.row(align=True)
        for text, to, chosen, icon in (
            ("Zero All", "ZERO", False, "LOOP_BACK"),
            ("Selected", "ZERO", True, "NONE"),
            ("Start", "START", False, "NONE"),
        ):
            button = row.operator("knuckle.zero_servos", text=text, icon=icon)
            button.to, button.only_selected = to, chosen


def row_of_bone(armature: bpy.types.Armature) -> int:
    """Row of the active bone in the list of servos, -1 for none."""
    rig, bone = armature_settings(armature).rig, armature.bones.active
    return rig.pose.bones.find(bone.name) if rig is not None and rig.data == armature and bone is not None else -1


def click_bone(armature: bpy.types.Armature, row: int) -> None:
    """A row of the list was clicked: select that servo's joint."""
    rig = armature_settings(armature).rig
    if rig is None or rig.data != armature or not 0 <= row < len(rig.pose.bones):
        return
    bone = armature_of(rig).bones[rig.pose.bones[row].name]
    wanted = bone_record(bone).joint
    empty = next((obj for obj in parts(rig, "JOINT") if wanted and record_of(obj).source_id == wanted), None)
    if empty is not None:
        select_part(bpy.context, rig, empty)


CLASSES = (
    KNUCKLE_UL_servos,
    KNUCKLE_OT_zero_servos,
    KNUCKLE_OT_key_servos,
    KNUCKLE_OT_key_servo,
    VIEW3D_PT_knuckle_sliders,
)


def register() -> None:
    """What the lists need. The classes are registered before."""
    bpy.types.Armature.knuckle_servo_row = bpy.props.IntProperty(  # type: ignore[attr-defined]
        name="Servo",
        description="The servo that is active; click one to select it",
        get=row_of_bone,
        set=click_bone,
        options={"SKIP_SAVE"},
    )


def unregister() -> None:
    """Undo ``register``."""
    sliders.unregister()
    del bpy.types.Armature.knuckle_servo_row  # type: ignore[attr-defined]
