"""Table of all joints: stops, gains and forces side by side, and editing of many joints at once."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty

from ....core.report import Message, count_with_noun
from ...data.access import record_of, settings
from ...data.conversion import dof_records, is_angle
from ...data.properties.joint import KnuckleDof
from ...data.queries import file_name, is_part, parts, twin_of
from ...editing.joint_settings import (
    COPIED_FIELDS,
    JointValues,
    copy_to_twins,
    copy_values,
    joint_values,
    set_joint_values,
)
from ...locale import translated
from ..base.operators import ModelOperator, Result, active_model, polled_model, report_message
from ..base.selection import active_joint, joints_collection
from .joint_list import KIND_ITEMS, dof_rows, joint_icon, joint_label, matches_kind
from .stops import JointsOperator, selected_joints

_WIDTH = 1040  # of the popup, in pixels
_NAME_SHARE, _STOPS_SHARE = 0.24, 0.4  # of the width, and of the rest
_COLUMNS = (
    ("each_gain", "Gain"),
    ("each_max_force", "Max Force"),
    ("each_damping", "Damping"),
    ("each_friction", "Friction"),
    ("each_stiffness", "Stiffness"),
)
#: Additional columns under the control law PD.
_PD_COLUMNS = (("each_servo_stiffness", "PD Stiff."), ("each_servo_damping", "PD Damp."))
#: Columns that one coordinate of a ball does not have.
_SERVO_COLUMNS = {"each_gain", "each_max_force", *(field for field, _title in _PD_COLUMNS)}


def table_columns(rig: bpy.types.Object) -> list[tuple[str, str]]:
    """Return the fields that the table shows, with their titles."""
    return [*_COLUMNS[:2], *(_PD_COLUMNS if settings(rig).law == "PD" else ()), *_COLUMNS[2:]]


class KNUCKLE_UL_joint_table(bpy.types.UIList):
    """List with a row for each degree of freedom of each joint."""

    kind: EnumProperty(name="Kind", description="Joints that are listed", items=KIND_ITEMS)
    opened: BoolProperty(description="The filter was shown once")

    def draw_filter(self, context: Any, layout: Any) -> None:
        """Draw the filter: name and kind."""
        row = layout.row(align=True)
        row.prop(self, "filter_name", text="", icon="VIEWZOOM")
        row.prop(self, "use_filter_invert", text="", icon="ARROW_LEFTRIGHT")
        row.prop(self, "kind", text="")

    def filter_items(self, context: Any, data: Any, propname: str) -> Any:
        """Return the filter flags of the rows, in file order; show the filter the first time."""
        if not self.opened:
            self.use_filter_show = self.opened = True
        objects = getattr(data, propname)
        rig = active_model(context)
        selected = set(selected_joints(context, rig)) if rig is not None and self.kind == "SELECTED" else set()
        wanted = self.filter_name.lower()
        shown = []
        for obj in objects:
            fits = rig is not None and is_part(obj, rig, "JOINT") and len(record_of(obj).joint.dofs) > 0
            fits = fits and wanted in joint_label(obj).lower() and matches_kind(obj, self.kind, selected)
            shown.append(self.bitflag_filter_item if fits else 0)
        return shown, []

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        """Draw the rows of a joint."""
        joint = record_of(item).joint
        column, columns = layout.column(align=True), table_columns(record_of(item).model)
        picture = joint_icon(joint, [dof.kind for dof in joint.dofs])
        for name, dof, is_axis in dof_rows(item):
            if is_axis:
                _draw_row(column, dof, name, "BLANK1", [("" if f in _SERVO_COLUMNS else f, t) for f, t in columns])
            else:
                _draw_row(column, dof, name, picture, columns, stops=dof.kind not in {"ball", "free"})


def _cells(layout: Any) -> tuple[Any, Any, Any]:
    """Return layouts for the name, the stops and the other values of a row."""
    split = layout.split(factor=_NAME_SHARE, align=True)
    name = split.row(align=True)
    rest = split.split(factor=_STOPS_SHARE, align=True)
    return name, rest.row(align=True), rest.row(align=True)


def _draw_row(
    layout: Any, dof: KnuckleDof, name: str, icon: Any, columns: list[tuple[str, str]], stops: bool = True
) -> None:
    left, middle, right = _cells(layout)
    left.prop(dof, "is_marked", text="")
    left.label(text=name, icon=icon, translate=False)
    for end in ("lower", "upper"):
        cell = middle.row(align=True)
        if not stops:
            cell.label(text="")
            continue
        cell.prop(dof, f"each_use_{end}", text="")
        value = cell.row(align=True)
        value.active = getattr(dof, f"use_{end}")
        value.prop(dof, f"each_{end}_angle" if is_angle(dof) else f"each_{end}", text="")
    for field, _title in columns:
        if field:
            right.prop(dof, field, text="")
        else:
            right.label(text="")


class KNUCKLE_OT_joint_table(ModelOperator):
    """Operator: show the table of joints in a popup."""

    bl_idname = "knuckle.joint_table"
    bl_label = "Table of Joints"
    bl_description = "Show stops, gains and forces of all joints, and edit those of several at once"
    bl_options = {"UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if parts(rig, "JOINT") else "The mechanism has no joints"

    _before: JointValues | None = None

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Store the values of all joints, then open the popup."""
        self._before = joint_values(polled_model(context))
        return context.window_manager.invoke_props_dialog(self, width=_WIDTH)

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Finish, which makes the edits one undo step."""
        return {"FINISHED"}

    def cancel(self, context: bpy.types.Context) -> None:
        """Restore the values of all joints."""
        rig = active_model(context)
        if self._before is not None and rig is not None:
            set_joint_values(rig, self._before)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the table and its buttons."""
        layout: Any = self.layout
        rig = active_model(context)
        joints = joints_collection(rig) if rig is not None else None
        if rig is None or joints is None:
            layout.label(text="The mechanism has lost its joints", icon="ERROR")
            return
        buttons = layout.row()
        ticks = buttons.row(align=True)
        for to, text in (("ALL", "Mark All"), ("NONE", "None"), ("INVERT", "Invert"), ("SELECTED", "Selected")):
            ticks.operator("knuckle.tick_joints", text=text).to = to
        copies = buttons.row(align=True)
        copies.operator("knuckle.copy_joint", text="Copy to Selected", icon="COPYDOWN").to = "SELECTED"
        copies.operator("knuckle.copy_joint", text="Copy to Marked").to = "TICKED"
        copies.operator("knuckle.copy_joint", text="Copy to Twins", icon="MOD_MIRROR").to = "TWINS"
        left, middle, right = _cells(layout)
        left.label(text="Joint")
        middle.label(text="Lower Stop")
        middle.label(text="Upper Stop")
        for _field, title in table_columns(rig):
            right.label(text=title)
        layout.template_list("KNUCKLE_UL_joint_table", "", joints, "all_objects", rig.data, "knuckle_row", rows=14)
        layout.label(text="A value set on a marked joint applies to all marked joints", icon="INFO")


class KNUCKLE_OT_tick_joints(ModelOperator):
    """Operator: tick joints to edit together in the table."""

    bl_idname = "knuckle.tick_joints"
    bl_label = "Mark Joints"
    bl_description = "Mark joints that are edited together in the table of joints"
    bl_options = {"REGISTER", "UNDO"}

    to: EnumProperty(
        name="Mark",
        description="Joints to mark",
        items=[
            ("ALL", "All", "All joints"),
            ("NONE", "None", "No joint"),
            ("INVERT", "Invert", "Joints that are not marked"),
            ("SELECTED", "Selected", "Selected joints only"),
        ],
    )

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Tick or untick all degrees of freedom of joints."""
        selected = set(selected_joints(context, rig)) if self.to == "SELECTED" else set()
        count = 0
        for empty in parts(rig, "JOINT"):
            for dof in dof_records(empty):
                dof.is_marked = {
                    "ALL": True,
                    "NONE": False,
                    "INVERT": not dof.is_marked,
                    "SELECTED": empty in selected,
                }[self.to]
            count += any(dof.is_marked for dof in dof_records(empty))
        report_message(self, {"INFO"}, Message("{} marked", count_with_noun(count, "joint")))
        return {"FINISHED"}


class KNUCKLE_OT_copy_joint(JointsOperator):
    """Operator: copy the values of the active joint to other joints."""

    bl_idname = "knuckle.copy_joint"
    bl_label = "Copy Joint Values"
    bl_description = "Copy stops, servo and springs of the active joint to other joints"
    bl_options = {"REGISTER", "UNDO"}

    to: EnumProperty(
        name="To",
        description="Joints that get the values",
        items=[
            ("SELECTED", "Selected", "From the active joint to all other selected joints"),
            ("TICKED", "Marked", "From the active joint to all other marked joints"),
            ("TWINS", "Twins", "From each selected joint to its twin, mirrored, with all values"),
        ],
    )
    stops: BoolProperty(name="Stops", description="Both stops and their switches", default=True)
    servo: BoolProperty(name="Servo", description="Gain, max force, stiffness and damping of PD", default=True)
    spring: BoolProperty(
        name="Spring", description="Stiffness, rest value, damping, friction and rotor inertia", default=True
    )

    @classmethod
    def description(cls, context: bpy.types.Context, properties: Any) -> str:
        """Return the tooltip for the joints that get the values."""
        items = cls.bl_rna.properties["to"].enum_items  # type: ignore[attr-defined]
        return translated(Message("Copy stops, servo and springs. {}", items[properties.to].description))

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the options."""
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "to")
        column = layout.column(heading="Copy")
        column.enabled = self.to != "TWINS"
        for name in COPIED_FIELDS:
            column.prop(self, name)

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Copy values to the selected or ticked joints, or from each selected joint to its twin."""
        chosen = selected_joints(context, rig)
        if self.to == "TWINS":
            lone = sum(twin_of(empty) is None for empty in chosen)
            given = count_with_noun(copy_to_twins(chosen), "twin")
            alone = Message("Values given to {}, {} without a twin", given, lone)
            report_message(self, {"INFO"}, alone if lone else Message("Values given to {}", given))
            return {"FINISHED"}
        source = active_joint(context, rig)
        if source is None:
            raise ValueError("No joint is active: click the one whose values the others are to get")
        if self.to == "TICKED":
            chosen = [e for e in parts(rig, "JOINT") if any(dof.is_marked for dof in dof_records(e))]
        others = [empty for empty in chosen if empty != source]
        if not others:
            meant = "marked" if self.to == "TICKED" else "selected"
            raise ValueError(
                Message("Only {} is {}: choose the joints that get its values", repr(file_name(source)), meant)
            )
        changed, unlike = copy_values(source, others, [name for name in COPIED_FIELDS if getattr(self, name)])
        like = Message("{} set like {}", count_with_noun(changed, "joint"), repr(file_name(source)))
        report_message(self, {"INFO"}, Message("{}, {} of another kind", like, unlike) if unlike else like)
        return {"FINISHED"}


CLASSES = (KNUCKLE_UL_joint_table, KNUCKLE_OT_joint_table, KNUCKLE_OT_tick_joints, KNUCKLE_OT_copy_joint)
