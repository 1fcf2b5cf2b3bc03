"""The first panel of the sidebar's tab: the mechanism, or how to get one."""

from __future__ import annotations

from typing import Any, NamedTuple

import bpy

from ... import formats
from ..build.folders import SEPARATOR
from ..data import change_counter as ticks
from ..data.access import record_of, settings
from ..data.queries import parts_by_role, rigs_in
from ..edit.missing import missing
from ..edit.refit import is_unfitted
from ..physics.simulation.cleanup import leftovers
from ..translations import told
from .common import counted, model_in, why_linked_copy, why_newer, why_no_model
from .overlay import button as overlay_button
from .rebuilding import draw_missing
from .sidebar import ORDER, Panel, fact, paragraph, split


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
    bl_label = "Mechanism"
    bl_order = ORDER["mechanism"]
    help_page = "import"

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
        buttons = layout.column(align=True)
        buttons.operator("import_scene.mechanism", text="Import Mechanism…", icon="IMPORT")
        export = buttons.operator("export_scene.mechanism", text="Export Mechanism…", icon="EXPORT")
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


CLASSES = (VIEW3D_PT_knuckle_model,)
