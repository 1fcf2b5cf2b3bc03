"""Physics in the sidebar: the world, who drives the bodies, and how true a run was."""

from __future__ import annotations

from typing import Any

import bpy

from ...model.truth import Line
from ..access import settings
from ..animation.gait import chased
from ..physics.homes import is_simulated, why_elsewhere, why_stopped
from ..physics.progress import note as run_note
from ..physics.truth import truth_lines, worst_joints
from ..physics.world import frame_rate, is_gravity_other
from ..translations import told
from .common import model_in
from .sidebar import ORDER, ModelPanel, fact, labelled, paragraph, split

_LEAST_RATE = 50.0  # frames per second below which servos visibly lag


class VIEW3D_PT_knuckle_world(ModelPanel, bpy.types.Panel):
    bl_label = "World"
    bl_parent_id = "VIEW3D_PT_knuckle_drive"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = split(self.layout)
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
    pull = labelled(column, "").column(align=True)
    pull.active = context.scene.use_gravity
    pull.prop(context.scene, "gravity", text="")
    column.prop(world, "substeps_per_frame", text="Substeps")
    column.prop(world, "solver_iterations", text="Iterations")
    fact(column, "Physics Step", f"1/{world.substeps_per_frame * frame_rate(context.scene) / world.time_scale:.0f} s")
    column.operator("knuckle.fit_world", icon="PHYSICS")
    if model.before.why:
        paragraph(context, layout, model.before.why, "INFO")


class VIEW3D_PT_knuckle_drive(ModelPanel, bpy.types.Panel):
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
        column = split(layout.column())
        column.active = model.drive == "SERVO"
        column.prop(model, "target")
        column.prop(model, "law")
        if model.drive == "SERVO":
            fact(column, "Chases", told(chased(rig)))
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


class VIEW3D_PT_knuckle_truth(ModelPanel, bpy.types.Panel):
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
        layout.label(text=told(settings(rig).truth.run), translate=False)
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
        name.label(text=told(line.what), translate=False)
    amounts = row.row(align=True)
    for amount in (line.worst, line.mean) if line.mean else (line.worst,):
        amounts.label(text=told(amount), translate=False)
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


CLASSES = (VIEW3D_PT_knuckle_drive, VIEW3D_PT_knuckle_world, VIEW3D_PT_knuckle_truth)
