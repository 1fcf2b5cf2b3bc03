"""Mechanism panel, the first of the sidebar's tab, and Report panel."""

from __future__ import annotations

from typing import Any, NamedTuple

import bpy
from bpy.props import BoolProperty, PointerProperty

from .... import formats
from ....core.editing.edits import ASSEMBLY_SEPARATOR
from ....core.report import Message, count_with_noun
from ...data import change_counter
from ...data.access import record_of, settings
from ...data.conversion import stored_message
from ...data.queries import parts_by_role, rigs_in
from ...editing.repair.missing_parts import missing_messages
from ...locale import translated
from ...physics.simulation.setup import find_leftovers
from ...scene.read.design_poses import is_moved_from_bones
from ..base.operators import (
    active_model,
    linked_copy_message,
    newer_release_message,
    no_model_message,
    polled_model,
)
from ..base.panels import (
    PANEL_ORDER,
    SEVERITY_ICONS,
    ModelPanel,
    Panel,
    draw_counts,
    draw_fact,
    draw_message,
    draw_paragraph,
    filter_rows,
    is_truncated,
    property_layout,
)
from ..editing.checks import draw_missing
from ..overlay import draw_overlay_button as overlay_button


class _ModelStatus(NamedTuple):
    """Facts that require a pass over all parts of a mechanism.

    Attributes:
        bodies: Number of bodies.
        joints: Number of joints.
        loops: Number of joints that close a loop.
        moved: Number of joints moved by hand since their bones were fitted.
        lacks: Messages about missing parts.
    """

    bodies: int
    joints: int
    loops: int
    moved: int
    lacks: list[str]


def _model_status(rig: bpy.types.Object) -> _ModelStatus:
    every = parts_by_role(rig)
    joints = every.get("JOINT", [])
    loops = sum(record_of(empty).joint.loop for empty in joints)
    moved = sum(map(is_moved_from_bones, joints))
    return _ModelStatus(len(every.get("BODY", ())), len(joints), loops, moved, missing_messages(rig, every))


class VIEW3D_PT_knuckle_model(Panel, bpy.types.Panel):
    """Panel: facts and settings of the active mechanism, or ways to get one."""

    bl_label = "Mechanism"
    bl_order = PANEL_ORDER["mechanism"]
    help_page = "import"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        rig = active_model(context)
        if rig is None:
            several = any(True for _ in rigs_in(context.scene))
            hint = no_model_message(context) if several else "Drop a model file into the view, or import one"
            draw_paragraph(context, layout, hint, "RESTRICT_SELECT_OFF" if several else "INFO")
            layout.operator("import_scene.mechanism", text="Import Mechanism…", icon="IMPORT")
            layout.menu("KNUCKLE_MT_add", text="Add Mechanism", icon="ADD")
            draw_missing(context, layout)
            if find_leftovers(context.scene):
                layout.operator("knuckle.clean_up", icon="BRUSH_DATA")
            return
        shared = newer_release_message(rig) or linked_copy_message(rig)
        if shared:
            draw_paragraph(context, layout, shared, "ERROR")
            return
        seen = change_counter.cached_until_change(_model_status, rig)
        model = settings(rig)
        property_layout(layout)
        layout.prop(record_of(rig), "source_name")
        draw_fact(layout, "Bodies", str(seen.bodies))
        many = Message("{}, {}", seen.joints, count_with_noun(seen.loops, "loop")) if seen.loops else str(seen.joints)
        draw_fact(layout, "Joints", translated(many))
        row = formats.FORMATS.get(model.format)
        if row is not None:
            dialect = f" ({model.dialect})" if model.dialect else ""
            draw_fact(layout, "Format", f"{row.label}{dialect}")
        if model.path:
            draw_fact(layout, "File", bpy.path.basename(model.path))
        if model.has_collision:
            layout.prop(model, "show_collision")
        overlay_button(layout)
        _draw_assemblies(layout, model)
        buttons = layout.column(align=True)
        buttons.operator("import_scene.mechanism", text="Import Mechanism…", icon="IMPORT")
        export = buttons.operator("export_scene.mechanism", text="Export Mechanism…", icon="EXPORT")
        if row is not None:
            export.format = row.id
        # below all buttons, which stay where they are when a notice comes or goes
        draw_missing(context, layout, seen.lacks)
        _draw_moved_joints(context, layout, seen.moved)


def _draw_assemblies(layout: bpy.types.UILayout, model: Any) -> None:
    """Draw a checkbox for each assembly, if there are several or one is off."""
    rows = model.assemblies
    if len(rows) < 2 and all(row.active for row in rows):
        return
    column = layout.column(align=True)
    column.label(text="Assemblies")
    for row in rows:
        line = column.row(align=True)
        for _level in range(row.path.count(ASSEMBLY_SEPARATOR)):
            line.label(text="", icon="BLANK1")
        icon: Any = "CHECKBOX_HLT" if row.active else "CHECKBOX_DEHLT"
        button = line.operator("knuckle.switch_assembly", text=row.name, icon=icon, emboss=False, translate=False)
        button.path = row.path


def _draw_moved_joints(context: bpy.types.Context, layout: bpy.types.UILayout, moved: int) -> None:
    """Draw a warning about joints moved by hand, and the button that updates the armature."""
    if moved:
        box = layout.box()
        counted = count_with_noun(moved, "joint was moved", "joints were moved")
        draw_paragraph(context, box, Message("{}: the bones do not match. Update the armature", counted), "ERROR")
        box.operator("knuckle.refit", icon="FILE_REFRESH")


class KnuckleSeverities(bpy.types.PropertyGroup):
    """Severities that the lists of reports and checks show: ``WindowManager.knuckle_severities``."""

    error: BoolProperty(name="Errors", description="Show errors", default=True)
    warning: BoolProperty(name="Warnings", description="Show warnings", default=True)
    info: BoolProperty(name="Info", description="Show information", default=True)


def _line_suffix(item: Any) -> str:
    line = translated(Message("line {}", item.line))
    return f" ({line})" if item.line else ""


class KNUCKLE_UL_report(bpy.types.UIList):
    """List of the report's entries, errors first."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        """Draw a row of the list."""
        draw_message(context, layout, item, _line_suffix(item))

    def filter_items(self, context: Any, data: Any, propname: str) -> Any:
        """Return the filter flags of the rows and their order."""
        return filter_rows(self, context, getattr(data, propname))


class VIEW3D_PT_knuckle_report(ModelPanel, bpy.types.Panel):
    """Panel: report about what happened to the mechanism."""

    bl_label = "Report"
    bl_order = PANEL_ORDER["report"]
    help_page = "import#the-report"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_header(self, context: bpy.types.Context) -> None:
        """Draw the icon of the worst severity: error or warning."""
        lines = settings(polled_model(context)).report
        worst = next((s for s in ("error", "warning") if any(line.severity == s for line in lines)), None)
        if worst is not None:
            self.layout.label(text="", icon=SEVERITY_ICONS[worst])

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        model = settings(polled_model(context))
        if not model.report:
            layout.label(text="Nothing to report")
            return
        draw_counts(context, layout, model.report)
        layout.template_list("KNUCKLE_UL_report", "", model, "report", model, "report_index", rows=4)
        if 0 <= model.report_index < len(model.report):
            line = model.report[model.report_index]
            if line.where or is_truncated(context, line):
                place = translated(Message("line {}", line.line)) + ": " if line.line else ""
                where = f" [{line.where}]" if line.where else ""
                draw_paragraph(
                    context, layout.box(), f"{place}{translated(stored_message(line))}{where}", translate=False
                )


CLASSES = (
    VIEW3D_PT_knuckle_model,
    KnuckleSeverities,
    KNUCKLE_UL_report,
    VIEW3D_PT_knuckle_report,
)


def register() -> None:
    """Register the shown severities, after the classes."""
    bpy.types.WindowManager.knuckle_severities = PointerProperty(type=KnuckleSeverities)  # type: ignore[attr-defined]


def unregister() -> None:
    """Unregister the shown severities."""
    del bpy.types.WindowManager.knuckle_severities  # type: ignore[attr-defined]
