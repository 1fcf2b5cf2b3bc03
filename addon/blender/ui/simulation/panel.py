"""Simulation in the sidebar: drive, inputs, playback, baking, accuracy and settings, and the ground drawn in 3D views.

The ground is drawn where the view looks, since its collision box is too large to be shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import bpy
import gpu
import gpu_extras.batch

from ....core.accuracy import AccuracyRow, accuracy_verdict
from ....core.report import Message
from ...animation.gait import tracked_source, tracks_gait
from ...data.access import settings
from ...data.change_counter import cached_until_change
from ...data.conversion import stored_message
from ...data.properties.model import input_property_name
from ...data.queries import simulates_here
from ...events.runtime_state import Lifetime, RuntimeState, state_of
from ...locale import translated
from ...physics.recording.accuracy import accuracy_lines, worst_joint_lines
from ...physics.recording.step_trials import selection_lines
from ...physics.simulation.cached_frames import frame_note as run_note
from ...physics.simulation.setup import other_rig_on_ground
from ...physics.world.membership import is_simulated, simulated_elsewhere_message, stopped_world_message
from ...physics.world.rigidbody_world import frame_rate, has_other_gravity
from ..base.operators import polled_model
from ..base.panels import PANEL_ORDER, ModelPanel, draw_fact, draw_paragraph, labeled_row, property_layout
from ..overlay import overlay_settings
from .live_input import VIEW3D_PT_knuckle_live, draw_live_input, input_value_text, live_input_values
from .operators import draw_presets
from .physics_view import draw_physics_view

#: Icons of figures within their threshold, beyond it, and without one.
_STATUS_ICONS: dict[bool | None, Any] = {True: "COLORSET_03_VEC", False: "ERROR", None: "BLANK1"}
_MAX_DIFFERENCES = 5  # bodies in the table of differences from MuJoCo
_MIN_RATE = 50.0  # frames per second below which servos visibly lag


class VIEW3D_PT_knuckle_drive(ModelPanel, bpy.types.Panel):
    """Panel: drive, inputs, playback and baking of the simulation."""

    bl_label = "Simulation"
    bl_order = PANEL_ORDER["simulation"]
    help_page = "walk"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        rig = polled_model(context)
        model = settings(rig)
        column = layout.column(align=True)
        column.label(text="Drive")
        row = column.row(align=True)
        row.scale_y = 1.4
        row.prop(model, "drive", expand=True)
        row.prop_decorator(model, "drive")
        if model.gait_inputs or model.format == "juice":
            _draw_inputs(context, layout, rig)
        draw_live_input(layout, rig)
        elsewhere = simulated_elsewhere_message(context.scene, rig)
        if elsewhere:
            draw_paragraph(context, layout, elsewhere, "ERROR")
        else:
            _draw_playback(context, layout)
        if model.drive == "SERVO":  # below the buttons, which stay where they are when the drive changes
            column = property_layout(layout.column())
            column.prop(model, "target")
            draw_fact(column, "Tracks", translated(tracked_source(rig)))
        if model.drive != "KEYS":
            draw_physics_view(context, property_layout(layout.column()))
        if not is_simulated(rig):
            layout.operator("knuckle.build_physics", icon="PHYSICS")
        column = layout.column(align=True)
        column.operator("knuckle.bake_physics", icon="REC").all_bodies = model.key_bodies
        column.prop(model, "key_bodies")
        if model.body_keys is not None:
            column.operator("knuckle.remove_body_keys", icon="X")
        _draw_notices(context, layout, rig)  # below all buttons, which stay where they are when a notice comes or goes


def _draw_inputs(context: bpy.types.Context, layout: bpy.types.UILayout, rig: bpy.types.Object) -> None:
    """Draw the inputs that the gait reads, their presets, and its speed."""
    model = settings(rig)
    layout.label(text="Inputs")
    used = property_layout(layout.column(), decorate=True)
    used.active = not _idle_message(rig)
    draw_presets(context, used, rig)
    column = used.column(align=True)
    live = live_input_values(rig)
    for name in filter(None, model.gait_inputs.split(",")):
        prop = input_property_name(name)
        if name in live:  # keys move it, and not its slider
            draw_fact(column, model.controls.bl_rna.properties[prop].name, input_value_text(live[name]))
        elif hasattr(model.controls, prop):
            column.prop(model.controls, prop, slider=True)
    column.prop(model, "speed_factor")


def _idle_message(rig: bpy.types.Object) -> str:
    """Return the reason why the inputs do nothing at present; empty if they do."""
    drive = settings(rig).drive
    if drive == "SERVO" and not tracks_gait(rig):
        return Message("The servos track {}. Set Target to Gait to use the inputs", tracked_source(rig))
    return "Ragdoll: the servos are off" if drive == "LIMP" else ""


def _draw_playback(context: bpy.types.Context, layout: bpy.types.UILayout) -> None:
    """Draw the buttons for the first frame, where a simulation begins, and for playback."""
    playing = context.screen is not None and context.screen.is_animation_playing
    row = layout.row(align=True)
    row.operator("screen.frame_jump", text="First Frame", icon="REW").end = False
    row.operator("screen.animation_play", text="Pause" if playing else "Play", icon="PAUSE" if playing else "PLAY")


def _draw_notices(context: bpy.types.Context, layout: bpy.types.UILayout, rig: bpy.types.Object) -> None:
    """Draw what keeps the simulation or the inputs from working as expected."""
    model = settings(rig)
    if (model.gait_inputs or model.format == "juice") and (idle := _idle_message(rig)):
        draw_paragraph(context, layout, idle, "INFO")
    if model.drive == "KEYS" or simulated_elsewhere_message(context.scene, rig):
        return
    note = stopped_world_message(context.scene) or run_note(context.scene)
    if note:
        draw_paragraph(context, layout, note, "ERROR")
    rate = frame_rate(context.scene)
    if rate < _MIN_RATE and simulates_here(context.scene):
        few = Message(
            "Servos are controlled once per frame, {} times per second. Set 60 frames per second", f"{rate:g}"
        )
        draw_paragraph(context, layout, few, "INFO")


class VIEW3D_PT_knuckle_truth(ModelPanel, bpy.types.Panel):
    """Panel: accuracy of the last baked simulation."""

    bl_label = "Simulation Accuracy"
    help_page = "check#check-the-accuracy"
    bl_parent_id = "VIEW3D_PT_knuckle_drive"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        rig = polled_model(context)
        lines = accuracy_lines(rig)
        if not lines:
            draw_paragraph(context, layout, "Bake Simulation measures how accurate it is")
            return
        layout.label(text=translated(stored_message(settings(rig).accuracy, "run")), translate=False)
        good = all(line.good is not False for line in lines)
        layout.label(text=translated(accuracy_verdict(lines)), icon=_STATUS_ICONS[good], translate=False)
        figures = layout.column(align=True)
        _draw_figure(figures, AccuracyRow("", "Worst", "Mean"))
        for line in lines:
            _draw_figure(figures, line)
            if line.remark and not line.mean:
                draw_paragraph(context, figures, line.remark, "BLANK1")
            if line.limit:
                draw_paragraph(context, figures, line.limit, "BLANK1")
        if any(line.good for line in lines):
            figures.label(text="Good: within its threshold", icon=_STATUS_ICONS[True])
        layout.operator("knuckle.check_convergence", icon="DRIVER_DISTANCE")
        _worst_joints(layout, rig)
        _draw_differences(context, layout, rig)


def _draw_figure(layout: bpy.types.UILayout, line: AccuracyRow, names: bool = True) -> bpy.types.UILayout:
    """Draw a row of the accuracy figures with its rating; return the layout of its name."""
    row = layout.split(factor=0.62 if line.mean else 0.58)
    name = row.row(align=True)
    mark: Any = _STATUS_ICONS[line.good]
    name.label(text=translated(line.what) if names else "", icon=mark, translate=False)
    amounts = row.row(align=True)
    for amount in (line.worst, line.mean) if line.mean else (line.worst,):
        amounts.label(text=translated(amount), translate=False)
    return name


def _worst_joints(layout: bpy.types.UILayout, rig: bpy.types.Object) -> None:
    """Draw the joints with the largest separation, each as a button that selects it."""
    worst = worst_joint_lines(rig)
    if not worst:
        return
    column = layout.column(align=True)
    column.label(text="Largest joint separation, of the link's length")
    for empty, line in worst:
        name = _draw_figure(column, line, names=empty is None)
        if empty is not None:
            name.operator("knuckle.select_part", text=line.what, translate=False).part = empty.name
    layout.operator("knuckle.select_worst", icon="RESTRICT_SELECT_OFF")


def _draw_differences(context: bpy.types.Context, layout: bpy.types.UILayout, rig: bpy.types.Object) -> None:
    """Draw the bodies whose paths differ most in MuJoCo, with the distance at several times."""
    layout.operator("knuckle.compare_mujoco", icon="PHYSICS")
    rows = settings(rig).accuracy.differences
    if not rows:
        return
    column = layout.column(align=True)
    column.label(text="Distance from MuJoCo (m)")
    lines = [("", [f"{time:.3g} s" for time in rows[0].times])]
    lines += [(row.name, [f"{distance:.2g}" for distance in row.distances]) for row in rows[:_MAX_DIFFERENCES]]
    for name, amounts in lines:
        split = column.split(factor=0.34)
        split.label(text=name, translate=False)
        cells = split.row(align=True)
        for amount in amounts:
            cells.label(text=amount, translate=False)
    note = "In MuJoCo, contacts are soft and joints rigid: parts that touch, and soft joints, move differently"
    draw_paragraph(context, column, note, "INFO")


class VIEW3D_PT_knuckle_world(ModelPanel, bpy.types.Panel):
    """Panel: physics settings of the mechanism and of the scene."""

    bl_label = "Settings"
    help_page = "physics#rigid-body-world"
    bl_parent_id = "VIEW3D_PT_knuckle_drive"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = property_layout(self.layout)
        rig = polled_model(context)
        model = settings(rig)
        layout.prop(model, "law")
        layout.prop(model, "gravity")
        is_here = simulates_here(context.scene) and is_simulated(rig, context.scene)
        if is_here and has_other_gravity(context.scene, rig):
            draw_paragraph(context, layout, "The simulation uses the scene's gravity, below", "INFO")
        column = layout.column()
        column.prop(model, "has_ground")
        column.prop(model, "friction")
        column.prop(model, "self_collide")
        column.prop(model, "erp")
        column.prop(model, "cfm")
        if model.time_step or model.cfm:
            column.prop(model, "time_step")
        column.prop(model, "match_inertia")
        if model.gait_inputs or model.format == "juice":
            column = layout.column()
            for name in ("standard_speed", "pose_delay", "pose_phase_angle"):
                column.prop(model, name)
        _draw_solver(context, layout, model)
        if is_simulated(rig):
            self.layout.separator()
            self.layout.operator("knuckle.clear_physics", icon="X")


def _draw_solver(context: bpy.types.Context, layout: bpy.types.UILayout, model: Any) -> None:
    """Draw the settings of the rigid-body world, and the choice of the scene in which mechanisms are simulated."""
    row = layout.row()
    row.use_property_split = False  # half a panel is too narrow for this label
    row.prop(context.scene, "knuckle_simulate_here")
    if not simulates_here(context.scene):
        layout.prop(context.scene, "knuckle_obstacles")
        layout.prop(context.scene, "knuckle_control_rate")
    world = context.scene.rigidbody_world
    if world is None:
        return
    column = layout.column(heading="Scene")
    if simulates_here(context.scene):
        column.prop(context.scene, "use_gravity", text="Gravity")
        pull = labeled_row(column, "").column(align=True)
        pull.active = context.scene.use_gravity
        pull.prop(context.scene, "gravity", text="")
    column.prop(world, "substeps_per_frame", text="Substeps")
    column.prop(world, "solver_iterations", text="Iterations")
    draw_fact(
        column, "Simulation Step", f"1/{world.substeps_per_frame * frame_rate(context.scene) / world.time_scale:.0f} s"
    )
    column.operator("knuckle.fit_world", icon="PHYSICS")
    for text in cached_until_change(selection_lines, polled_model(context)):
        draw_paragraph(context, layout, text, "INFO")
    if model.world_backup.requirements:
        draw_paragraph(context, layout, stored_message(model.world_backup, "requirements"), "INFO")


CLASSES = (VIEW3D_PT_knuckle_drive, VIEW3D_PT_knuckle_truth, VIEW3D_PT_knuckle_live, VIEW3D_PT_knuckle_world)


_COLOR = (0.5, 0.53, 0.56)
#: Opacity of the ground by its distance from the middle, in distances of the view.
_RINGS = ((0.0, 0.55), (0.7, 0.5), (2.5, 0.0))
_CORNERS = 48
#: Depth below the simulated ground, in distances of the view: a floor of the user's at the same height hides it.
_DEPTH = 0.002


@dataclass
class _GroundDrawing(RuntimeState):
    """Drawing of the ground: the handle of its function, and its batch."""

    lifetime: ClassVar = Lifetime.PROGRAM
    handle: Any = None
    batch: Any = None


def _draw() -> None:
    """Draw the ground of a simulated mechanism in the current 3D View.

    Note:
        Blender leaves draw handlers out of renders.
    """
    context = bpy.context
    space: Any = context.space_data
    view = context.region_data
    if view is None or not space.overlay.show_overlays or not overlay_settings(context.scene).ground:
        return
    if context.scene.rigidbody_world is None or other_rig_on_ground(context.scene, ()) is None:
        return
    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    drawing = state_of(_GroundDrawing)
    if drawing.batch is None:
        drawing.batch = _disc(shader)
    root = space.lock_object
    middle = view.view_location if root is None else root.matrix_world.translation
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("LESS_EQUAL")
    matrices: Any = gpu.matrix
    with matrices.push_pop():
        gpu.matrix.translate((middle.x, middle.y, -_DEPTH * view.view_distance))
        gpu.matrix.scale_uniform(view.view_distance)
        drawing.batch.draw(shader)
    gpu.state.depth_test_set("NONE")
    gpu.state.blend_set("NONE")


def _disc(shader: Any) -> Any:
    """Return the batch of a disc in the XY plane that fades toward its rim."""
    points, colors, faces = [], [], []
    for radius, opacity in _RINGS:
        for corner in range(_CORNERS):
            angle = math.tau * corner / _CORNERS
            points.append((radius * math.cos(angle), radius * math.sin(angle), 0.0))
            colors.append((*_COLOR, opacity))
    for first in range(0, len(points) - _CORNERS, _CORNERS):
        for corner in range(_CORNERS):
            one, two = first + corner, first + (corner + 1) % _CORNERS
            faces += [(one, two, two + _CORNERS), (one, two + _CORNERS, one + _CORNERS)]
    batch_for_shader: Any = gpu_extras.batch.batch_for_shader
    return batch_for_shader(shader, "TRIS", {"pos": points, "color": colors}, indices=faces)


def register() -> None:
    """Add the draw handler of the ground, if Blender has windows."""
    if not bpy.app.background and state_of(_GroundDrawing).handle is None:
        state_of(_GroundDrawing).handle = bpy.types.SpaceView3D.draw_handler_add(_draw, (), "WINDOW", "POST_VIEW")


def unregister() -> None:
    """Remove the draw handler of the ground."""
    drawing = state_of(_GroundDrawing)
    if drawing.handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(drawing.handle, "WINDOW")
        drawing.handle = None
