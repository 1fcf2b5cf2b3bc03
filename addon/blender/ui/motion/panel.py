"""Panel Motion: import and export, the list of motions, and operators that play one or go to a servo."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from bpy.props import FloatProperty, IntProperty, StringProperty

from ....core.report import Message, count_with_noun
from ...animation import motion_checks
from ...animation.actions import activate_action, active_action
from ...animation.frame_time import Clock
from ...animation.motion_checks import cached_overviews, is_same_rate, motion_overviews
from ...animation.source_motion import keyed_frame_rate
from ...data.access import armature_settings, record_of
from ...data.channels import servo_channels
from ...data.queries import parts
from ...locale import translated
from ..base.operators import ModelOperator, Result, active_model, polled_model
from ..base.panels import PANEL_ORDER, ModelPanel, draw_paragraph, property_layout
from ..base.selection import select_part


class KNUCKLE_UL_motions(bpy.types.UIList):
    """List of the Actions that key the mechanism's servos. A click plays one."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        """Draw a row of the list."""
        rig = polled_model(context)
        found = next((each for each in cached_overviews(rig, context.scene) if each.name == item.name), None)
        row = layout.split(factor=0.58)
        row.prop(item, "name", text="", emboss=False, icon="ACTION", translate=False)
        if found is not None:
            numbers = row.row()
            numbers.alignment = "RIGHT"
            numbers.label(text=translated(Message("{} s", f"{found.duration:.1f}")))
            numbers.label(text=str(found.servos), icon="BONE_DATA")

    def filter_items(self, context: Any, data: Any, propname: str) -> Any:
        """Return the filter flags of the rows and their order."""
        rig = active_model(context)
        own = {each.name for each in cached_overviews(rig, context.scene)} if rig is not None else set()
        wanted = self.filter_name.lower()
        shown = [
            self.bitflag_filter_item if action.name in own and wanted in action.name.lower() else 0
            for action in getattr(data, propname)
        ]
        return shown, []


class VIEW3D_PT_knuckle_motion(ModelPanel, bpy.types.Panel):
    """Panel: active Action, import and export of motion."""

    bl_label = "Motion"
    bl_order = PANEL_ORDER["motion"]
    help_page = "gait"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        data = polled_model(context).animation_data
        if data is not None:
            property_layout(layout).prop(data, "action")
        layout.operator("knuckle.bake_gait", icon="ACTION")
        column = layout.column(align=True)
        column.operator("import_anim.servo_motion", text="Import Motion…", icon="IMPORT")
        column.operator("export_anim.servo_motion", text="Export Motion…", icon="EXPORT")


class _MotionPanel(ModelPanel):
    """Base of subpanels shown if the mechanism has motions."""

    bl_parent_id = "VIEW3D_PT_knuckle_motion"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether an Action keys servos of the active mechanism."""
        return super().poll(context) and bool(cached_overviews(polled_model(context), context.scene))


class VIEW3D_PT_knuckle_motions(_MotionPanel, bpy.types.Panel):
    """Panel: list of motions, and operators on the active one."""

    bl_label = "Motions"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout: Any = self.layout
        rig = polled_model(context)
        motions = cached_overviews(rig, context.scene)
        layout.template_list(
            "KNUCKLE_UL_motions", "", bpy.data, "actions", rig.data, "knuckle_motion_row", rows=min(len(motions), 5)
        )
        active = active_action(rig)
        found = next((each for each in motions if active is not None and each.name == active.name), None)
        if found is None:
            layout.label(text="Click a motion to play it")
            return
        layout.label(
            text=translated(
                Message(
                    "Frames {} to {}, {}",
                    f"{found.first:.6g}",
                    f"{found.last:.6g}",
                    count_with_noun(found.servos, "servo"),
                )
            )
        )
        rate, now = keyed_frame_rate(active), Clock.of(context.scene).rate
        if rate is not None and not is_same_rate(rate, now):
            keyed = translated(
                Message(
                    "Keyed at {} frames per second: it plays at {} times its speed", f"{rate:.4g}", f"{now / rate:.3g}"
                )
            )
            draw_paragraph(context, layout, keyed, "ERROR", translate=False)
        column = layout.column(align=True)
        row = column.row(align=True)
        row.operator("knuckle.loop_motion", text="Repeat…", icon="FILE_REFRESH")
        if found.cycles:
            row.operator("knuckle.stop_looping", text="", icon="X")
        row.operator("knuckle.mirror_motion", text="Mirror…", icon="MOD_MIRROR")
        row = column.row(align=True)
        row.operator("knuckle.offset_motion", text="Offset…", icon="NEXT_KEYFRAME")
        row.operator("knuckle.scale_motion", text="Speed…", icon="TIME")


def active_motion_row(armature: bpy.types.Armature) -> int:
    """Return the row of the active Action among all Actions; -1 for none."""
    rig = armature_settings(armature).rig
    action = active_action(rig) if rig is not None and rig.data == armature else None
    return bpy.data.actions.find(action.name) if action is not None else -1


def select_motion_row(armature: bpy.types.Armature, row: int) -> None:
    """Make the Action of the row that was clicked the active one."""
    rig = armature_settings(armature).rig
    if rig is not None and rig.data == armature and 0 <= row < len(bpy.data.actions):
        activate_action(rig, bpy.data.actions[row])


def register() -> None:
    """Register the list's active row and the change handlers of motion checks, after the classes."""
    bpy.types.Armature.knuckle_motion_row = IntProperty(  # type: ignore[attr-defined]
        name="Motion",
        description="Active motion; click a row to play it",
        get=active_motion_row,
        set=select_motion_row,
        options={"SKIP_SAVE"},
    )
    motion_checks.register()


def unregister() -> None:
    """Unregister the change handlers and the list's active row."""
    motion_checks.unregister()
    del bpy.types.Armature.knuckle_motion_row  # type: ignore[attr-defined]


class KNUCKLE_OT_use_motion(ModelOperator):
    """Operator: play one of the mechanism's motions."""

    bl_idname = "knuckle.use_motion"
    bl_label = "Use Motion"
    bl_description = "Play one of the mechanism's motions"
    bl_options = {"REGISTER", "UNDO"}

    motion: StringProperty(name="Motion", description="Name of the Action")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Make the Action the active one."""
        if self.motion not in {found.name for found in motion_overviews(rig, context.scene)}:
            raise ValueError(Message("No Action called {} keys a servo of {}", repr(self.motion), repr(rig.name)))
        activate_action(rig, bpy.data.actions[self.motion])
        return {"FINISHED"}


class KNUCKLE_OT_show_servo(ModelOperator):
    """Operator: go to a frame and select a servo."""

    bl_idname = "knuckle.show_servo"
    bl_label = "Show Servo"
    bl_description = "Go to the frame and select the servo: its bone in pose mode, else its joint"
    bl_options = {"REGISTER", "UNDO"}

    servo: StringProperty(name="Servo", description="Name in motion files")
    frame: FloatProperty(name="Frame", description="The frame to go to")

    @classmethod
    def description(cls, context: bpy.types.Context, properties: Any) -> str:
        """Return the tooltip with servo and frame."""
        return translated(Message("{}: go to frame {} and select it", properties.servo, f"{properties.frame:g}"))

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Go to the frame and select the servo's bone or joint."""
        every = (channel for own in servo_channels(rig).values() for channel in own)
        channel = next((channel for channel in every if channel.name == self.servo), None)
        if channel is None:
            raise ValueError(Message("{} has no servo called {}", repr(rig.name), repr(self.servo)))
        if self.properties.is_property_set("frame"):
            whole = int(np.floor(self.frame))
            context.scene.frame_set(whole, subframe=min(self.frame - whole, 0.999999))
        empty = next(obj for obj in parts(rig, "JOINT") if record_of(obj).source_id == channel.joint)
        if not select_part(context, rig, empty):
            raise ValueError(Message("{} cannot be selected: it is hidden", repr(self.servo)))
        return {"FINISHED"}


CLASSES = (
    KNUCKLE_UL_motions,
    VIEW3D_PT_knuckle_motion,
    VIEW3D_PT_knuckle_motions,
    KNUCKLE_OT_use_motion,
    KNUCKLE_OT_show_servo,
)
