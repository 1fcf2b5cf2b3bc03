"""The sidebar's tab, in the order of work: the model, its joints, controls, motion, film, report."""

from __future__ import annotations

from typing import Any, NamedTuple

import bpy

from ... import formats
from .. import ticks
from ..access import record_of, settings
from ..animation.gait import chased, wants_gait
from ..animation.live_loops import rigid_joints
from ..build.folders import SEPARATOR
from ..edit.missing import missing
from ..edit.refit import is_unfitted
from ..edit.stops import block_parts
from ..model_parts import bones_of, file_name, parts_by_role, rigs_in
from ..physics.leftovers import leftovers
from ..properties import control_property
from ..records import is_angle
from ..translations import told
from .common import counted, model_in, why_linked_copy, why_newer, why_no_model
from .input_presets import draw_presets
from .lists import SEVERITY_ICONS
from .overlay import button as overlay_button
from .rebuilding import draw_missing
from .selection import active_joint, joints_collection
from .sidebar import ORDER, ModelPanel, Panel, fact, labelled, paragraph, split


class _Seen(NamedTuple):
    """What a look at all parts of a model tells: how many there are, how many joints close loops or were moved by hand,
    and what is missing."""

    bodies: int
    joints: int
    loops: int
    moved: int
    lacks: list[str]


def _look(rig: bpy.types.Object) -> _Seen:
    every = parts_by_role(rig)
    joints = every.get("JOINT", [])
    loops = sum(record_of(empty).joint.loop for empty in joints)
    moved = sum(map(is_unfitted, joints))
    return _Seen(len(every.get("BODY", ())), len(joints), loops, moved, missing(rig, every))


class VIEW3D_PT_knuckle_model(Panel, bpy.types.Panel):
    bl_label = "Model"
    bl_order = ORDER["model"]

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        rig = model_in(context)
        if rig is None:
            several = any(True for _ in rigs_in(context.scene))
            hint = why_no_model(context) if several else "Drop a model file into the view, or import one"
            paragraph(context, layout, hint, "RESTRICT_SELECT_OFF" if several else "INFO")
            layout.operator("import_scene.mechanism", text="Import Mechanism…", icon="IMPORT")
            layout.menu("KNUCKLE_MT_add", text="Add Mechanism", icon="ADD")
            draw_missing(context, layout)
            if leftovers(context.scene):
                layout.operator("knuckle.clean_up", icon="BRUSH_DATA")
            return
        shared = why_newer(rig) or why_linked_copy(rig)
        if shared:
            paragraph(context, layout, shared, "ERROR")
            return
        seen = ticks.held(_look, rig)
        draw_missing(context, layout, seen.lacks)
        model = settings(rig)
        split(layout)
        layout.prop(record_of(rig), "source_name")
        fact(layout, "Bodies", str(seen.bodies))
        many = f"{seen.joints}, {counted(seen.loops, 'loop')}" if seen.loops else str(seen.joints)
        fact(layout, "Joints", told(many))
        row = formats.FORMATS.get(model.format)
        if row is not None:
            dialect = f" ({model.dialect})" if model.dialect else ""
            fact(layout, "Format", f"{row.label}{dialect}")
        if model.path:
            fact(layout, "File", bpy.path.basename(model.path))
        if model.has_collision:
            layout.prop(model, "show_collision")
        overlay_button(layout)
        _assemblies(layout, model)
        _tell_of_moved(context, layout, seen.moved)
        buttons = layout.row(align=True)
        buttons.operator("import_scene.mechanism", text="Import…", icon="IMPORT")
        export = buttons.operator("export_scene.mechanism", text="Export…", icon="EXPORT")
        if row is not None:
            export.format = row.id


def _assemblies(layout: bpy.types.UILayout, model: Any) -> None:
    """A checkbox for each, where there is something to switch."""
    rows = model.assemblies
    if len(rows) < 2 and all(row.active for row in rows):
        return
    column = layout.column(align=True)
    column.label(text="Assemblies")
    for row in rows:
        line = column.row(align=True)
        for _level in range(row.path.count(SEPARATOR)):
            line.label(text="", icon="BLANK1")
        icon: Any = "CHECKBOX_HLT" if row.active else "CHECKBOX_DEHLT"
        button = line.operator("knuckle.switch_assembly", text=row.name, icon=icon, emboss=False, translate=False)
        button.path = row.path


def _tell_of_moved(context: bpy.types.Context, layout: bpy.types.UILayout, moved: int) -> None:
    """Joints that were moved by hand, and what makes the bones follow."""
    if moved:
        box = layout.box()
        told = counted(moved, "joint was moved", "joints were moved")
        paragraph(context, box, f"{told}: the bones still turn where they were", "ERROR")
        box.operator("knuckle.refit", icon="FILE_REFRESH")


class VIEW3D_PT_knuckle_controls(ModelPanel, bpy.types.Panel):
    bl_label = "Controls"
    bl_parent_id = "VIEW3D_PT_knuckle_sliders"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not super().poll(context):
            return False
        model = settings(model_in(context))
        return bool(model.listens_to) or model.format == "juice"

    def draw(self, context: bpy.types.Context) -> None:
        rig = model_in(context)
        model = settings(rig)
        layout = split(self.layout, decorate=True)
        idle = _why_idle(rig)
        if idle:
            paragraph(context, layout, idle, "INFO")
        layout.active = not idle
        draw_presets(layout, rig)
        names = [control_property(name) for name in model.listens_to.split(",") if name]
        column = layout.column(align=True)
        for name in names:
            if hasattr(model.controls, name):
                column.prop(model.controls, name, slider=True)
        if not names:
            layout.label(text="The model listens to no control")
        layout.prop(model, "speed_factor", text=told("Speed"), translate=False)


def _why_idle(rig: bpy.types.Object) -> str:
    """Why the controls do nothing at present; empty where they do."""
    drive = settings(rig).drive
    if drive == "SERVO" and not wants_gait(rig):
        return f"The servos chase {chased(rig)}: the controls steer the gait only (Physics, Target: Gait)"
    return "Limp: the servos are off" if drive == "LIMP" else ""


class VIEW3D_PT_knuckle_servos(ModelPanel, bpy.types.Panel):
    bl_label = "Joints and Stops"
    bl_order = ORDER["joints"]

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        rig = model_in(context)
        joints = joints_collection(rig)
        if joints is None or settings(rig).rig != rig:
            layout.label(text="The model has lost its joints", icon="ERROR")
            return
        layout.template_list("KNUCKLE_UL_joints", "", joints, "all_objects", rig.data, "knuckle_row", rows=5)
        layout.operator("knuckle.joint_table", text="Table of Joints…", icon="SPREADSHEET")
        empty = active_joint(context, rig)
        if empty is None:
            layout.label(text="Select a joint or a bone")
            return
        _joint(context, layout, rig, empty)


def _joint(
    context: bpy.types.Context, layout: bpy.types.UILayout, rig: bpy.types.Object, empty: bpy.types.Object
) -> None:
    joint = record_of(empty).joint
    split(layout, decorate=True)
    chain = bones_of(empty)
    if not joint.active:
        paragraph(context, layout, "Inactive: the joint lacks a body, or joins a body to itself", "UNLINKED")
    elif joint.loop:
        paragraph(context, layout, "Closes a loop: it has no bone, its value follows from the others", "LINKED")
    elif joint.follows and record_of(empty).source_id in rigid_joints(rig):
        paragraph(context, layout, "Locked: its loop has no degree of freedom", "LOCKED")
    elif joint.follows:
        paragraph(context, layout, "Follows its loop: other joints of the loop drive it", "LINKED")
        layout.operator("knuckle.drive_loop", icon="DRIVER").joint = empty.name
    for dof in joint.dofs:
        if dof.kind in {"ball", "free"}:
            layout.label(text=told(f"Turns freely ({dof.kind})"))
            for number, part in enumerate(block_parts(joint, dof)):
                _stops(layout, part, part.name or "XYZ"[number % 3])
            continue
        if 0 <= dof.step < len(chain):
            pose = rig.pose.bones[chain[dof.step]]
            name = dof.name if len(joint.dofs) > 1 else ""
            value = layout.column()
            value.enabled = not joint.follows
            value.prop(pose, dof.channel, index=dof.channel_index, text=name or "Value", translate=not name)
        _stops(layout, dof)
        servo = split(layout.column(align=True))
        servo.prop(dof, "gain")
        if settings(rig).law == "PD":
            servo.prop(dof, "servo_stiffness")
            servo.prop(dof, "servo_damping")
        servo.prop(dof, "max_force")
        if dof.max_force == 0.0:
            labelled(servo, "").label(text="0 = no force" if settings(rig).format == "juice" else "0 = no limit")
    if joint.dofs:
        _stop_buttons(layout)
    bodies = layout.column(align=True)
    for label, body in (("Parent", joint.parent), ("Child", joint.child)):
        if body is not None:
            value = labelled(bodies, label)
            value.operator("knuckle.select_part", text=file_name(body) or body.name, translate=False).part = body.name


def _stops(layout: bpy.types.UILayout, dof: Any, name: str = "") -> None:
    """Both stops of a degree of freedom, or of a part of a ball."""
    stops = split(layout.column(align=True))
    for end, label in (("lower", told("Lower Stop")), ("upper", told("Upper Stop"))):
        row = stops.row(align=True, heading=f"{name} {label}" if name else label)
        row.prop(dof, f"use_{end}", text="")
        value = row.row(align=True)
        value.active = getattr(dof, f"use_{end}")
        value.prop(dof, f"{end}_angle" if is_angle(dof) else end, text="")


def _stop_buttons(layout: bpy.types.UILayout) -> None:
    """What sets stops from the pose or the motion, switches them, and plays through them."""
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


class VIEW3D_PT_knuckle_motion(ModelPanel, bpy.types.Panel):
    bl_label = "Motion"
    bl_order = ORDER["motion"]

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        rig = model_in(context)
        data = rig.animation_data
        if data is not None:
            split(layout).prop(data, "action")
        column = layout.column(align=True)
        column.operator("knuckle.bake_gait", icon="ACTION")
        baking = column.row(align=True)
        baking.operator("knuckle.bake_physics", icon="PHYSICS").all_bodies = settings(rig).key_bodies
        baking.prop(settings(rig), "key_bodies", toggle=True)
        if settings(rig).body_keys is not None:
            column.operator("knuckle.remove_body_keys", icon="X")
        row = layout.row(align=True)
        row.operator("import_anim.servo_motion", text="Import…", icon="IMPORT")
        row.operator("export_anim.servo_motion", text="Export…", icon="EXPORT")


class VIEW3D_PT_knuckle_report(ModelPanel, bpy.types.Panel):
    bl_label = "Report"
    bl_order = ORDER["report"]
    bl_options = {"DEFAULT_CLOSED"}

    def draw_header(self, context: bpy.types.Context) -> None:
        lines = settings(model_in(context)).report
        worst = next((s for s in ("error", "warning") if any(line.severity == s for line in lines)), None)
        if worst is not None:
            self.layout.label(text="", icon=SEVERITY_ICONS[worst])

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        model = settings(model_in(context))
        if not model.report:
            layout.label(text="Nothing to report")
            return
        warnings = sum(line.severity != "info" for line in model.report)
        layout.label(text=told(f"{counted(len(model.report), 'line')}, {counted(warnings, 'warning')}"))
        layout.template_list("KNUCKLE_UL_report", "", model, "report", model, "report_index", rows=4)
        if 0 <= model.report_index < len(model.report):
            line = model.report[model.report_index]
            place = told(f"line {line.line}") + ": " if line.line else ""
            where = f" [{line.where}]" if line.where else ""
            paragraph(context, layout.box(), f"{place}{told(line.message)}{where}", translate=False)


CLASSES = (
    VIEW3D_PT_knuckle_model,
    VIEW3D_PT_knuckle_controls,
    VIEW3D_PT_knuckle_servos,
    VIEW3D_PT_knuckle_motion,
    VIEW3D_PT_knuckle_report,
)
