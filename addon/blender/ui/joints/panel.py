"""Panel Joints and Stops: the list of joints, and the active joint with its properties."""

from __future__ import annotations

from typing import Any

import bpy

from ....core.model import DOF_SIZE
from ....core.report import Message, count_with_noun
from ...animation.loops.live_solver import rigid_loop_joints
from ...animation.motion_checks import cached_rows
from ...data.access import record_of, settings
from ...data.conversion import dofs_with_parts, is_angle
from ...data.queries import chain_bones, file_name
from ...locale import translated
from ..base.operators import polled_model
from ..base.panels import PANEL_ORDER, ModelPanel, draw_paragraph, labeled_row, property_layout
from ..base.selection import active_joint, joints_collection, polled_joint
from ..servos.sliders import servo_sliders
from .joint_list import dof_rows, draw_header, frame_at_time, joint_icon, joint_label, joint_list_settings, number_text

#: Number of listed stretches in which a servo exceeds its stops.
_MAX_EXCESSES = 6


class VIEW3D_PT_knuckle_servos(ModelPanel, bpy.types.Panel):
    """Panel: list of the mechanism's joints."""

    bl_label = "Joints and Stops"
    bl_order = PANEL_ORDER["joints"]
    help_page = "stops"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout: Any = self.layout
        rig = polled_model(context)
        joints = joints_collection(rig)
        if joints is None or settings(rig).rig != rig:
            layout.label(text="The mechanism has lost its joints", icon="ERROR")
            return
        shown = joint_list_settings(context)
        layout.row(align=True).prop(shown, "columns", expand=True)
        draw_header(context, layout, shown.columns)
        layout.template_list("KNUCKLE_UL_joints", "", joints, "all_objects", rig.data, "knuckle_row", rows=8)
        if servo_sliders(rig):
            _draw_all(layout)
        layout.operator("knuckle.joint_table", text="Table of Joints…", icon="SPREADSHEET")
        if shown.columns in {"RANGE", "SPEED"}:  # below the list and the buttons, which stay where they are
            _draw_motion(context, layout, rig, shown.columns)
        if len(joints.all_objects) and active_joint(context, rig) is None:
            draw_paragraph(
                context, layout, "Select a joint, its bone, or the body that it moves, to see and edit it here", "INFO"
            )


def _draw_all(layout: Any) -> None:
    """Draw the buttons that key or pose all servos."""
    grid = layout.column(align=True)
    row = grid.row(align=True)
    row.operator("knuckle.key_servos", text="Key All", icon="KEY_HLT").only_selected = False
    row.operator("knuckle.key_servos", text="Key Selected").only_selected = True
    row = grid.row(align=True)
    for text, chosen, icon in (("Zero All", False, "LOOP_BACK"), ("Zero Selected", True, "NONE")):
        button = row.operator("knuckle.zero_servos", text=text, icon=icon)
        button.to, button.only_selected = "ZERO", chosen
    button = grid.operator("knuckle.zero_servos", text="Initial Pose", icon="ARMATURE_DATA")
    button.to, button.only_selected = "START", False


def _draw_motion(context: bpy.types.Context, layout: Any, rig: bpy.types.Object, columns: str) -> None:
    """Draw whether the motion keeps within the stops, and where the active servo exceeds them."""
    rows = cached_rows(rig, context.scene)
    if not rows:
        layout.label(text="No motion plays")
        return
    if columns == "SPEED":
        return
    beyond = [row for row in rows if row.found.outside]
    if not beyond:
        stopped = any(not (row.found.lower is None and row.found.upper is None) for row in rows)
        said = "All servos keep within their stops" if stopped else "None of its servos has stops"
        draw_paragraph(context, layout, said, "CHECKMARK" if stopped else "NONE")
        return
    leaving = translated(Message("{} stops", count_with_noun(len(beyond), "servo leaves its", "servos leave their")))
    draw_paragraph(context, layout, leaving, "ERROR")
    active = active_joint(context, rig)
    bones = set(chain_bones(active)) if active is not None else set()
    row = next((row for row in beyond if row.bone in bones), beyond[0])
    box = layout.box().column(align=True)
    box.label(text=translated(Message("{} leaves its stops", row.found.name)), translate=False)
    for each in row.found.outside[:_MAX_EXCESSES]:
        first, last = (frame_at_time(context.scene, time) for time in (each.start, each.end))
        side = "above" if each.side == "upper" else "below"
        stretch = Message("Frames {} to {}: {} {}", f"{first:.4g}", f"{last:.4g}", number_text(row, each.by), side)
        show = box.operator("knuckle.show_servo", text=translated(stretch), translate=False)
        show.servo, show.frame = row.found.name, frame_at_time(context.scene, each.worst)
    more = len(row.found.outside) - _MAX_EXCESSES
    if more > 0:
        box.label(text=translated(Message("and {}", count_with_noun(more, "more time"))))


class _JointPanel(ModelPanel):
    """Base of the subpanels that show the active joint."""

    bl_parent_id = "VIEW3D_PT_knuckle_servos"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether there is an active joint with something to show."""
        if not super().poll(context):
            return False
        rig = polled_model(context)
        empty = active_joint(context, rig) if settings(rig).rig == rig else None
        return empty is not None and cls.shows(empty)

    @classmethod
    def shows(cls, empty: bpy.types.Object) -> bool:
        """Return whether the panel has something to show of a joint."""
        return len(record_of(empty).joint.dofs) > 0


class VIEW3D_PT_knuckle_joint(_JointPanel, bpy.types.Panel):
    """Panel: values, stops and bodies of the active joint."""

    bl_label = "Active Joint"

    @classmethod
    def shows(cls, empty: bpy.types.Object) -> bool:
        """Return True: every joint is shown."""
        return True

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        rig = polled_model(context)
        empty = polled_joint(context, rig)
        joint = record_of(empty).joint
        picture: Any = joint_icon(joint, [dof.kind for dof in joint.dofs])
        layout.label(text=joint_label(empty), icon=picture, translate=False)
        _draw_state(context, layout, rig, empty)
        property_layout(layout, decorate=True)
        chain = chain_bones(empty)
        for dof, axes in dofs_with_parts(joint):
            if dof.kind in {"ball", "free"}:
                layout.label(text=translated(Message("Rotates freely ({})", dof.kind)))
                for number, part in enumerate(axes if len(axes) == DOF_SIZE[dof.kind] else ()):
                    _draw_stops(layout, part, part.name or "XYZ"[number % 3])
                continue
            if 0 <= dof.step < len(chain):
                pose = rig.pose.bones[chain[dof.step]]
                name = dof.name if len(joint.dofs) > 1 else ""
                value = layout.column()
                value.enabled = not joint.is_dependent
                value.prop(pose, dof.channel, index=dof.channel_index, text=name or "Value", translate=not name)
            _draw_stops(layout, dof)
        if joint.dofs:
            _draw_stop_buttons(layout)
        bodies = layout.column(align=True)
        for label, body in (("Parent", joint.parent), ("Child", joint.child)):
            if body is not None:
                value = labeled_row(bodies, label)
                select = value.operator("knuckle.select_part", text=file_name(body) or body.name, translate=False)
                select.part = body.name


def _draw_state(context: bpy.types.Context, layout: Any, rig: bpy.types.Object, empty: bpy.types.Object) -> None:
    """Draw the reason why a joint cannot be posed, if there is one."""
    joint = record_of(empty).joint
    if not joint.active:
        draw_paragraph(context, layout, "Inactive: the joint lacks a body, or joins a body to itself", "UNLINKED")
    elif joint.loop:
        draw_paragraph(
            context, layout, "Closes a loop: it has no bone, its value depends on the other joints", "LINKED"
        )
    elif joint.is_dependent and record_of(empty).source_id in rigid_loop_joints(rig):
        draw_paragraph(context, layout, "Locked: its loop has no degree of freedom", "LOCKED")
    elif joint.is_dependent:
        draw_paragraph(context, layout, "Dependent joint: the input joints of its loop move it", "LINKED")
        layout.operator("knuckle.drive_loop", icon="DRIVER").joint = empty.name


def _draw_stops(layout: bpy.types.UILayout, dof: Any, name: str = "") -> None:
    """Draw both stops of a degree of freedom or of a coordinate of a ball."""
    stops = property_layout(layout.column(align=True))
    for end, label in (("lower", translated("Lower Stop")), ("upper", translated("Upper Stop"))):
        row = stops.row(align=True, heading=f"{name} {label}" if name else label)
        row.prop(dof, f"use_{end}", text="")
        value = row.row(align=True)
        value.active = getattr(dof, f"use_{end}")
        value.prop(dof, f"{end}_angle" if is_angle(dof) else end, text="")


def _draw_stop_buttons(layout: bpy.types.UILayout) -> None:
    """Draw the buttons that set stops from pose or motion, switch them, and sweep the joint."""
    column = layout.column(align=True)
    row = column.row(align=True)
    row.operator("knuckle.set_stops", text="Lower from Pose", icon="TRIA_DOWN").to = "LOWER"
    row.operator("knuckle.set_stops", text="Upper from Pose", icon="TRIA_UP").to = "UPPER"
    row = column.row(align=True)
    row.operator("knuckle.set_stops", text="From Motion", icon="ACTION").to = "MOTION"
    row.operator("knuckle.sweep", icon="PLAY")
    row = column.row(align=True)
    row.operator("knuckle.switch_stops", text="Stops On").on = True
    row.operator("knuckle.switch_stops", text="Stops Off").on = False


class VIEW3D_PT_knuckle_joint_servo(_JointPanel, bpy.types.Panel):
    """Panel: servo settings of the active joint."""

    bl_label = "Servo"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        rig = polled_model(context)
        empty = polled_joint(context, rig)
        for name, dof, is_part in dof_rows(empty):
            if is_part:
                continue
            column = _dof_column(layout, empty, name)
            column.prop(dof, "gain")
            if settings(rig).law == "PD":
                column.prop(dof, "servo_stiffness")
                column.prop(dof, "servo_damping")
            column.prop(dof, "max_force")
            if dof.max_force == 0.0:
                labeled_row(column, "").label(
                    text="0 = no force" if settings(rig).format == "juice" else "0 = no limit"
                )


class VIEW3D_PT_knuckle_joint_spring(_JointPanel, bpy.types.Panel):
    """Panel: spring, damping and friction of the active joint."""

    bl_label = "Spring, Damping, Friction"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        empty = polled_joint(context, polled_model(context))
        for name, dof, _is_part in dof_rows(empty):
            if dof.parts:
                continue  # its coordinates have these properties
            column = _dof_column(self.layout, empty, name)
            column.prop(dof, "stiffness")
            column.prop(dof, "rest_angle" if is_angle(dof) else "rest")
            column.prop(dof, "damping")
            column.prop(dof, "friction")
            column.prop(dof, "armature")


class VIEW3D_PT_knuckle_joint_start(_JointPanel, bpy.types.Panel):
    """Panel: initial values and velocities of the active joint."""

    bl_label = "Initial State"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        empty = polled_joint(context, polled_model(context))
        for name, dof, is_part in dof_rows(empty):
            if is_part:
                continue
            column = _dof_column(self.layout, empty, name)
            if dof.kind in {"ball", "free"}:
                for field, label in (("start", translated("Value")), ("start_rates", translated("Velocity"))):
                    for index in range(3 if dof.kind == "ball" else 6):
                        axis = f"{translated('Rotation' if index < 3 else 'Location')} {'XYZ'[index % 3]}"
                        column.prop(dof, field, index=index, text=f"{label}, {axis}", translate=False)
                continue
            angle = "_angle" if is_angle(dof) else ""
            column.prop(dof, f"position{angle}")
            column.prop(dof, f"velocity{angle}")


def _dof_column(layout: bpy.types.UILayout, empty: bpy.types.Object, name: str) -> bpy.types.UILayout:
    """Return a column for properties of a degree of freedom, under its name if the joint has several."""
    column = property_layout(layout.column(align=True), decorate=True)
    if name != joint_label(empty):
        column.label(text=name, translate=False)
    return column


CLASSES = (
    VIEW3D_PT_knuckle_servos,
    VIEW3D_PT_knuckle_joint,
    VIEW3D_PT_knuckle_joint_servo,
    VIEW3D_PT_knuckle_joint_spring,
    VIEW3D_PT_knuckle_joint_start,
)
