"""Servo names in motion files: an editable list per mechanism, saved with it, and its operators."""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.props import StringProperty

from ....core.report import Message, count_with_noun
from ...animation.actions import active_action
from ...animation.apply_motion import key_unmatched_servos, unmatched_servos
from ...data.access import settings
from ...data.channels import servo_names_by_joint
from ...data.conversion import IMPORT_CODES, add_to_report
from ...locale import translated
from ..base.operators import ModelOperator, Result, polled_model, report_result
from ..base.panels import ModelPanel, draw_paragraph


class KNUCKLE_UL_servo_names(bpy.types.UIList):
    """List of names in motion files, the servos they mean, and whether each is left out."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        """Draw a row of the list."""
        row = layout.row(align=True)
        row.prop(item, "name", text="", emboss=False, placeholder=translated("Name in the file"))
        known = servo_names_by_joint(data.rig) if data.rig is not None else {}
        servo = row.row(align=True)
        servo.active = not item.leave_out
        servo.alert = bool(item.servo) and item.joint not in known
        servo.prop(item, "servo", text="", icon="FORWARD", emboss=False, placeholder=translated("Choose Servo"))
        row.prop(item, "leave_out", text="", icon="HIDE_ON" if item.leave_out else "HIDE_OFF", emboss=False)


def _known_names(rig: bpy.types.Object) -> set[str]:
    return {name for names in servo_names_by_joint(rig).values() for name in names} if rig is not None else set()


class KNUCKLE_OT_add_servo_name(ModelOperator):
    """Operator: add a row to the list of servo names."""

    bl_idname = "knuckle.add_servo_name"
    bl_label = "Add Servo Name"
    bl_description = "Add a name used in motion files, to choose its servo"
    bl_options = {"REGISTER", "UNDO"}

    name: StringProperty(name="Name", description="Name in motion files")
    servo: StringProperty(name="Servo", description="Servo of the mechanism")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Add a row, or set the servo of a name that is listed already."""
        model = settings(rig)
        if self.servo and self.servo not in _known_names(rig):
            raise ValueError(Message("{} has no servo {}", repr(rig.name), repr(self.servo)))
        row = model.servo_names.get(self.name) if self.name else None
        row = row or model.servo_names.add()
        row.name, row.servo = self.name, self.servo
        model.servo_name_index = list(model.servo_names).index(row)
        return {"FINISHED"}


class KNUCKLE_OT_remove_servo_name(ModelOperator):
    """Operator: remove the active row of the list of servo names."""

    bl_idname = "knuckle.remove_servo_name"
    bl_label = "Remove Servo Name"
    bl_description = "Remove the chosen name from the list"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if len(settings(rig).servo_names) else "The list is empty"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Remove the active row."""
        model = settings(rig)
        model.servo_names.remove(min(model.servo_name_index, len(model.servo_names) - 1))
        model.servo_name_index = max(0, min(model.servo_name_index, len(model.servo_names) - 1))
        return {"FINISHED"}


class _FileActionOperator(ModelOperator):
    """Base of operators on an Action that was imported from a motion file. Not registered itself."""

    bl_idname = "knuckle.needs_file"
    bl_label = "Needs a File's Action"

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        action = active_action(rig)
        if action is None or not len(action.knuckle.origins):  # type: ignore[attr-defined]
            return "The Action that plays was not imported from a motion file"
        return ""

    @staticmethod
    def file_action(rig: bpy.types.Object) -> bpy.types.Action:
        """Return the Action that ``poll`` has found."""
        return cast(bpy.types.Action, active_action(rig))


class KNUCKLE_OT_list_left_over(_FileActionOperator):
    """Operator: list the unmatched servos of the Action's file."""

    bl_idname = "knuckle.list_left_over"
    bl_label = "List Unmatched Servos"
    bl_description = "List servos of the Action's file that match none here, to choose their servos"
    bl_options = {"REGISTER", "UNDO"}

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Add a row for each servo of the file that matches no joint and is not listed yet."""
        rows = settings(rig).servo_names
        names = [name for name in dict.fromkeys(unmatched_servos(self.file_action(rig))) if rows.get(name) is None]
        for name in names:
            rows.add().name = name
        report_result(
            self,
            Message(
                "{} of the file {} nothing here",
                count_with_noun(len(names), "servo"),
                "moves" if len(names) == 1 else "move",
            ),
        )
        return {"FINISHED"}


class KNUCKLE_OT_key_left_over(_FileActionOperator):
    """Operator: key the servos of the Action's file that are matched by now."""

    bl_idname = "knuckle.key_left_over"
    bl_label = "Key Matched Servos"
    bl_description = "Key servos of the Action's file that match since the list was edited"
    bl_options = {"REGISTER", "UNDO"}

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Key the servos that match since rows were added."""
        keyed, report = key_unmatched_servos(rig, self.file_action(rig))
        add_to_report(rig, report, IMPORT_CODES)
        report_result(
            self,
            Message("{} keyed: {}", count_with_noun(len(keyed), "servo"), ", ".join(keyed[:5]) or "none"),
        )
        return {"FINISHED"}


class VIEW3D_PT_knuckle_servo_names(ModelPanel, bpy.types.Panel):
    """Panel: servo names in motion files."""

    bl_parent_id = "VIEW3D_PT_knuckle_motion"
    bl_label = "Servo Names"
    help_page = "motion"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        model = settings(polled_model(context))
        draw_paragraph(context, layout, "Names in motion files, and the servos they mean")
        row = layout.row()
        row.template_list("KNUCKLE_UL_servo_names", "", model, "servo_names", model, "servo_name_index", rows=3)
        column = row.column(align=True)
        column.operator("knuckle.add_servo_name", text="", icon="ADD")
        column.operator("knuckle.remove_servo_name", text="", icon="REMOVE")
        row = layout.row(align=True)
        row.operator("knuckle.list_left_over", text="List Unmatched")
        row.operator("knuckle.key_left_over", text="Key Matched")


CLASSES = (
    KNUCKLE_UL_servo_names,
    KNUCKLE_OT_add_servo_name,
    KNUCKLE_OT_remove_servo_name,
    KNUCKLE_OT_list_left_over,
    KNUCKLE_OT_key_left_over,
    VIEW3D_PT_knuckle_servo_names,
)
