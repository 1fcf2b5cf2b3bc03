"""The sidebar's tab, in the order of work: the model, its servos, controls, motion, physics, film, report."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import bpy

from ... import formats
from ...model.truth import Line
from ..access import record_of, settings
from ..animation.gait import chased, wants_gait
from ..build.folders import SEPARATOR
from ..edit.refit import moved_joints
from ..edit.stops import block_parts
from ..model_parts import file_name, joint_bones, parts, rigs_in
from ..physics.homes import is_simulated, why_elsewhere, why_stopped
from ..physics.leftovers import leftovers
from ..physics.progress import note as run_note
from ..physics.truth import truth_lines, worst_joints
from ..physics.world import frame_rate, is_gravity_other
from ..properties import control_property
from ..records import is_angle
from ..translations import told
from .common import counted, model_in, why_linked_copy, why_no_model
from .lists import SEVERITY_ICONS
from .overlay import button as overlay_button
from .selection import active_joint, joints_collection

CATEGORY = "Knuckle"
#: The places of the panels, in the order of work. Those without one come first.
ORDER = {
    name: place
    for place, name in enumerate(
        ("model", "servos", "joints", "twins", "controls", "motion", "physics", "film", "checks", "report")
    )
}
_LEAST_RATE = 50.0  # frames per second below which servos visibly lag


class _Panel:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = CATEGORY


class _ModelPanel(_Panel):
    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        rig = model_in(context)
        return rig is not None and not why_linked_copy(rig)


def _split(layout: bpy.types.UILayout, decorate: bool = False) -> bpy.types.UILayout:
    layout.use_property_split = True
    layout.use_property_decorate = decorate
    return layout


class VIEW3D_PT_knuckle_model(_Panel, bpy.types.Panel):
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
            if leftovers(context.scene):
                layout.operator("knuckle.clean_up", icon="BRUSH_DATA")
            return
        shared = why_linked_copy(rig)
        if shared:
            paragraph(context, layout, shared, "ERROR")
            return
        model = settings(rig)
        _split(layout)
        layout.prop(record_of(rig), "source_name")
        joints = parts(rig, "JOINT")
        loops = sum(record_of(empty).joint.loop for empty in joints)
        _fact(layout, "Bodies", str(len(parts(rig, "BODY"))))
        _fact(layout, "Joints", f"{len(joints)}, {counted(loops, 'loop')}" if loops else str(len(joints)))
        row = formats.FORMATS.get(model.format)
        if row is not None:
            dialect = f" ({model.dialect})" if model.dialect else ""
            _fact(layout, "Format", f"{row.label}{dialect}")
        if model.path:
            _fact(layout, "File", bpy.path.basename(model.path))
        if model.has_collision:
            layout.prop(model, "show_collision")
        overlay_button(layout)
        _assemblies(layout, model)
        _tell_of_moved(context, layout, rig)
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


def _tell_of_moved(context: bpy.types.Context, layout: bpy.types.UILayout, rig: bpy.types.Object) -> None:
    """Joints that were moved by hand, and what makes the bones follow."""
    moved = moved_joints(rig)
    if moved:
        box = layout.box()
        told = counted(len(moved), "joint was moved", "joints were moved")
        paragraph(context, box, f"{told}: the bones still turn where they were", "ERROR")
        box.operator("knuckle.refit", icon="FILE_REFRESH")


class VIEW3D_PT_knuckle_world(_ModelPanel, bpy.types.Panel):
    bl_label = "World"
    bl_parent_id = "VIEW3D_PT_knuckle_drive"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = _split(self.layout)
        rig = model_in(context)
        model = settings(rig)
        layout.prop(model, "gravity")
        if is_simulated(rig, context.scene) and is_gravity_other(context.scene, rig):
            paragraph(context, layout, "Physics has the scene's gravity, below: its world is not this model's", "INFO")
        column = layout.column()
        column.prop(model, "has_ground")
        column.prop(model, "friction")
        column.prop(model, "self_collide")
        column.prop(model, "erp")
        column.prop(model, "cfm")
        if model.time_step:
            column.prop(model, "time_step")
        column.prop(model, "match_inertia")
        _solver(context, layout, model)


def _solver(context: bpy.types.Context, layout: bpy.types.UILayout, model: Any) -> None:
    """The scene's own physics: all its models and the user's bodies share it."""
    world = context.scene.rigidbody_world
    if world is None:
        return
    column = layout.column(heading="Scene")
    column.prop(context.scene, "use_gravity", text="Gravity")
    row = column.row()
    row.active = context.scene.use_gravity
    row.prop(context.scene, "gravity", text="")
    column.prop(world, "substeps_per_frame", text="Substeps")
    column.prop(world, "solver_iterations", text="Iterations")
    _fact(column, "Physics Step", f"1/{world.substeps_per_frame * frame_rate(context.scene) / world.time_scale:.0f} s")
    column.operator("knuckle.fit_world", icon="PHYSICS")
    if model.before.why:
        paragraph(context, layout, model.before.why, "INFO")


class VIEW3D_PT_knuckle_drive(_ModelPanel, bpy.types.Panel):
    bl_label = "Physics"
    bl_order = ORDER["physics"]

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        rig = model_in(context)
        model = settings(rig)
        row = layout.row(align=True)
        row.scale_y = 1.4
        row.prop(model, "drive", expand=True)
        row.prop_decorator(model, "drive")
        column = _split(layout.column())
        column.active = model.drive == "SERVO"
        column.prop(model, "target")
        column.prop(model, "law")
        if model.drive == "SERVO":
            _fact(column, "Chases", chased(rig))
        simulated = is_simulated(rig)
        layout.operator(
            "knuckle.clear_physics" if simulated else "knuckle.build_physics",
            icon="X" if simulated else "PHYSICS",
        )
        elsewhere = why_elsewhere(context.scene, rig)
        if elsewhere:
            paragraph(context, layout, elsewhere, "ERROR")
        elif model.drive != "KEYS":
            _playback(context, layout)


def _playback(context: bpy.types.Context, layout: bpy.types.UILayout) -> None:
    """Physics runs from the first frame on, so the way there is at hand."""
    playing = context.screen is not None and context.screen.is_animation_playing
    row = layout.row(align=True)
    row.operator("screen.frame_jump", text="First Frame", icon="REW").end = False
    row.operator("screen.animation_play", text="Pause" if playing else "Play", icon="PAUSE" if playing else "PLAY")
    note = why_stopped(context.scene) or run_note(context.scene)
    if note:
        paragraph(context, layout, note, "ERROR")
    rate = frame_rate(context.scene)
    if rate < _LEAST_RATE:
        paragraph(context, layout, f"Servos are controlled once per frame: {rate:g} per second are few", "INFO")


class VIEW3D_PT_knuckle_truth(_ModelPanel, bpy.types.Panel):
    bl_label = "Truth Report"
    bl_parent_id = "VIEW3D_PT_knuckle_drive"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        rig = model_in(context)
        lines = truth_lines(rig)
        if not lines:
            paragraph(context, layout, "Bake Physics tells how well the run kept to the mechanism")
            return
        layout.label(text=settings(rig).truth.run, translate=False)
        figures = layout.column(align=True)
        _figure(figures, Line("", "Worst", "Mean"))
        for line in lines:
            _figure(figures, line)
            if line.remark and not line.mean:
                paragraph(context, figures, line.remark)
        _worst_joints(layout, rig)


def _figure(layout: bpy.types.UILayout, line: Line) -> bpy.types.UILayout:
    """A row of what was found; returns the place of its name."""
    row = layout.split(factor=0.5)
    name = row.row(align=True)
    if line.what:
        name.label(text=line.what, translate=False)
    amounts = row.row(align=True)
    for amount in (line.worst, line.mean) if line.mean else (line.worst,):
        amounts.label(text=amount)
    return name


def _worst_joints(layout: bpy.types.UILayout, rig: bpy.types.Object) -> None:
    """The joints that came apart most, each a button that selects it."""
    worst = worst_joints(rig)
    if not worst:
        return
    column = layout.column(align=True)
    column.label(text="Came apart most, of a link's length")
    for empty, line in worst:
        name = _figure(column, line if empty is None else line._replace(what=""))
        if empty is not None:
            name.operator("knuckle.select_part", text=line.what, translate=False).part = empty.name
    layout.operator("knuckle.select_worst", icon="RESTRICT_SELECT_OFF")


class VIEW3D_PT_knuckle_controls(_ModelPanel, bpy.types.Panel):
    bl_label = "Controls"
    bl_order = ORDER["controls"]

    def draw(self, context: bpy.types.Context) -> None:
        rig = model_in(context)
        model = settings(rig)
        layout = _split(self.layout, decorate=True)
        idle = _why_idle(rig)
        if idle:
            paragraph(context, layout, idle, "INFO")
        layout.active = not idle
        names = [control_property(name) for name in model.listens_to.split(",") if name]
        column = layout.column(align=True)
        for name in names:
            if hasattr(model.controls, name):
                column.prop(model.controls, name, slider=True)
        if not names:
            layout.label(text="The model listens to no control")
        layout.prop(model, "speed_factor")


def _why_idle(rig: bpy.types.Object) -> str:
    """Why the controls do nothing at present; empty where they do."""
    drive = settings(rig).drive
    if drive == "SERVO" and not wants_gait(rig):
        return f"The servos chase {chased(rig)}: the controls steer the gait only (Physics, Target: Gait)"
    return "Limp: the servos are off" if drive == "LIMP" else ""


class VIEW3D_PT_knuckle_servos(_ModelPanel, bpy.types.Panel):
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
    _split(layout, decorate=True)
    chain = joint_bones(rig).get(record_of(empty).source_id, [])
    if not joint.active:
        paragraph(context, layout, "Inactive: the joint lacks a body, or joins a body to itself", "UNLINKED")
    elif joint.loop:
        paragraph(context, layout, "Closes a loop: it has no bone, its value follows from the others", "LINKED")
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
        servo = _split(layout.column(align=True))
        servo.prop(dof, "gain")
        if settings(rig).law == "PD":
            servo.prop(dof, "servo_stiffness")
            servo.prop(dof, "servo_damping")
        servo.prop(dof, "max_force")
        if dof.max_force == 0.0:
            _labelled(servo, "").label(text="0 = no force" if settings(rig).format == "juice" else "0 = no limit")
    if joint.dofs:
        _stop_buttons(layout)
    bodies = layout.column(align=True)
    for label, body in (("Parent", joint.parent), ("Child", joint.child)):
        if body is not None:
            value = _labelled(bodies, label)
            value.operator("knuckle.select_part", text=file_name(body) or body.name, translate=False).part = body.name


def _stops(layout: bpy.types.UILayout, dof: Any, name: str = "") -> None:
    """Both stops of a degree of freedom, or of a part of a ball."""
    stops = _split(layout.column(align=True))
    for end, label in (("lower", "Lower Stop"), ("upper", "Upper Stop")):
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


class VIEW3D_PT_knuckle_motion(_ModelPanel, bpy.types.Panel):
    bl_label = "Motion"
    bl_order = ORDER["motion"]

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        rig = model_in(context)
        data = rig.animation_data
        if data is not None:
            _split(layout).prop(data, "action")
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


class VIEW3D_PT_knuckle_film(_ModelPanel, bpy.types.Panel):
    bl_label = "Film"
    bl_order = ORDER["film"]
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = _split(self.layout)
        film = context.scene.knuckle_film  # type: ignore[attr-defined]
        layout.prop(film, "engine")
        layout.prop(film, "size")
        layout.prop(film, "filepath", placeholder="Beside the .blend")
        button = layout.operator("knuckle.render_film", text="Make Film", icon="RENDER_ANIMATION")
        button.filepath, button.engine, button.size = film.filepath, film.engine, film.size


class VIEW3D_PT_knuckle_report(_ModelPanel, bpy.types.Panel):
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
            place = f"line {line.line}: " if line.line else ""
            where = f" [{line.where}]" if line.where else ""
            box = layout.box()
            paragraph(context, box, f"{place}{line.message}{where}")


def _fact(layout: bpy.types.UILayout, name: str, value: str) -> None:
    """A line that cannot be edited, aligned with those that can."""
    _labelled(layout, name).label(text=value, translate=False)


def _labelled(layout: bpy.types.UILayout, name: str) -> bpy.types.UILayout:
    """Room for a value beside its name, where Blender has it with properties."""
    row = layout.split(factor=0.4)
    label = row.row()
    label.alignment = "RIGHT"
    label.label(text=name)
    return row


def paragraph(context: bpy.types.Context, layout: bpy.types.UILayout, text: str, icon: Any = "NONE") -> None:
    """Text in as many lines as the sidebar's width asks for."""
    scale = context.preferences.system.ui_scale or 1.0  # 0 without a window
    room = (context.region.width if context.region is not None else 220) / scale - (70 if icon != "NONE" else 50)
    column = layout.column(align=True)
    for number, line in enumerate(wrap(told(text), max(int(room / 6.2), 16))):
        column.label(text=line, icon=icon if number == 0 else "BLANK1" if icon != "NONE" else "NONE", translate=False)


CLASSES = (
    VIEW3D_PT_knuckle_model,
    VIEW3D_PT_knuckle_drive,
    VIEW3D_PT_knuckle_world,
    VIEW3D_PT_knuckle_truth,
    VIEW3D_PT_knuckle_controls,
    VIEW3D_PT_knuckle_servos,
    VIEW3D_PT_knuckle_motion,
    VIEW3D_PT_knuckle_film,
    VIEW3D_PT_knuckle_report,
)
