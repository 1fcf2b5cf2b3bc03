"""Check of the mechanism: a list of findings with their fixes, and the rebuild of missing parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
from bpy.props import BoolProperty, IntProperty

from ....core.report import Message, count_with_noun, join_messages
from ....core.validation import Finding
from ...data.access import armature_settings, settings
from ...data.conversion import store_message, stored_message
from ...data.queries import is_orphan_part, parts_by_id
from ...editing.repair.checks import check_model
from ...editing.repair.fixes import fix, rollback_on_error
from ...editing.repair.missing_parts import missing_messages, models_without_armature, orphan_parts
from ...editing.repair.rebuild import adopt_orphans, rebuild
from ...locale import translated
from ..base.operators import (
    ERRORS,
    ModelOperator,
    Result,
    active_model,
    cancel_with_error,
    linked_copy_message,
    linked_model_message,
    no_model_message,
    report_message,
    report_result,
)
from ..base.panels import ModelPanel, draw_counts, draw_message, draw_paragraph, filter_rows, is_truncated
from ..base.selection import select_part


def _store_findings(rig: bpy.types.Object, found: list[Finding]) -> None:
    model = settings(rig)
    known = {"body": parts_by_id(rig, "BODY"), "joint": parts_by_id(rig, "JOINT")}
    model.findings.clear()
    model.checked = True
    for finding in found:
        row = model.findings.add()
        row.code, row.severity, row.kind = finding.code, finding.severity, finding.kind
        store_message(row, "message", finding.message)
        row.fix, row.or_fix, row.ids = finding.fix, finding.or_fix, "\n".join(finding.parts)
        objects = known.get(finding.kind, dict(bpy.data.objects) if finding.kind == "object" else {})
        row.parts = "\n".join(objects[part].name for part in finding.parts if part in objects)


def _findings_message(found: list[Finding]) -> str:
    if not found:
        return "No problems found in the mechanism"
    errors, warnings = (sum(finding.severity == severity for finding in found) for severity in ("error", "warning"))
    hints = len(found) - errors - warnings
    counted = [
        count_with_noun(errors, "error") if errors else "",
        count_with_noun(warnings, "warning") if warnings else "",
        count_with_noun(hints, "hint") if hints else "",
    ]
    return join_messages(", ", filter(None, counted))


class KNUCKLE_OT_check_model(ModelOperator):
    """Operator: check the mechanism and list the findings."""

    bl_idname = "knuckle.check_model"
    bl_label = "Check Mechanism"
    bl_description = "List problems of masses, stops, names, twins, loops and scales, and edited or missing parts"
    bl_options = {"REGISTER", "UNDO"}

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Check the mechanism and store the findings."""
        found = check_model(rig)
        _store_findings(rig, found)
        report_message(self, {"INFO"}, _findings_message(found))
        return {"FINISHED"}


class KNUCKLE_OT_fix_finding(ModelOperator):
    """Operator: fix a finding of the check."""

    bl_idname = "knuckle.fix_finding"
    bl_label = "Fix"
    bl_description = "Fix a finding of the check"
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(
        name="Row", description="Index of the finding in the list; the active finding if negative", default=-1
    )

    other: BoolProperty(name="Alternative Fix", description="Apply the second of two fixes", default=False)

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if len(settings(rig).findings) else "Check Mechanism first"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Fix the finding of a row, then check the mechanism again."""
        model = settings(rig)
        number = self.index if self.index >= 0 else model.finding_index
        if not 0 <= number < len(model.findings):
            raise ValueError("Click a row of the list first")
        row = model.findings[number]
        parts = tuple(row.ids.split("\n"))
        done = fix(
            rig, Finding(row.code, row.severity, stored_message(row), row.kind, parts, row.fix, row.or_fix), self.other
        )
        _store_findings(rig, check_model(rig))
        report_message(self, {"INFO"}, done)
        return {"FINISHED"}


def _get_row(armature: Any) -> int:
    return int(armature_settings(armature).finding_index)


def _set_row(armature: Any, row: int) -> None:
    """Store the row that was clicked, and select the parts of its finding."""
    model = armature_settings(armature)
    model.finding_index = row
    rig = model.rig
    if rig is None or not 0 <= row < len(model.findings):
        return
    names = [name for name in model.findings[row].parts.split("\n") if name in bpy.data.objects]
    for number, name in enumerate(reversed(names)):  # the first part last, so that it becomes active
        select_part(bpy.context, rig, bpy.data.objects[name], extend=number > 0)


class KNUCKLE_UL_findings(bpy.types.UIList):
    """List of the check's findings."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        """Draw a row of the list."""
        draw_message(context, layout, item)

    def filter_items(self, context: Any, data: Any, propname: str) -> Any:
        """Return the filter flags of the rows and their order."""
        return filter_rows(self, context, getattr(data, propname))


class VIEW3D_PT_knuckle_checks(ModelPanel, bpy.types.Panel):
    """Panel: findings of the check, with their fixes."""

    bl_label = "Checks"
    help_page = "authoring"
    bl_parent_id = "VIEW3D_PT_knuckle_report"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        rig: Any = active_model(context)
        model = settings(rig)
        layout.operator("knuckle.check_model", icon="CHECKMARK")
        if not len(model.findings):
            if model.checked:
                layout.label(text="No problems found", icon="CHECKMARK")
            return
        draw_counts(context, layout, model.findings)
        layout.template_list("KNUCKLE_UL_findings", "", model, "findings", rig.data, "knuckle_finding", rows=4)
        if not 0 <= model.finding_index < len(model.findings):
            return
        row = model.findings[model.finding_index]
        box = layout.box().column(align=True)
        if is_truncated(context, row):
            draw_paragraph(context, box, stored_message(row))
        for name in filter(None, row.parts.split("\n")):
            box.operator("knuckle.select_part", text=name, icon="RESTRICT_SELECT_OFF", translate=False).part = name
        for other, way in enumerate((row.fix, row.or_fix)):
            if way:
                fix = box.operator("knuckle.fix_finding", text=translated(way), icon="TOOL_SETTINGS", translate=False)
                fix.index, fix.other = model.finding_index, bool(other)


def _target_model(context: bpy.types.Context) -> bpy.types.Object | None:
    """Return the active mechanism, else the first that has lost its armature.

    None if the active object is a part of a mechanism whose armature is gone from the file.
    """
    rig = active_model(context)
    if rig is None and not is_orphan_part(context.view_layer.objects.active):
        return next(iter(models_without_armature(context.scene)), None)
    return rig


class KNUCKLE_OT_rebuild(bpy.types.Operator):
    """Operator: rebuild the missing parts of a mechanism."""

    bl_idname = "knuckle.rebuild"
    bl_label = "Rebuild Missing Parts"
    bl_description = "Rebuild parts deleted by hand; parts that Delete Parts removed stay deleted"
    bl_options = {"REGISTER", "UNDO"}

    everything: BoolProperty(
        name="Include Deleted Parts",
        description="Also restore bodies that were deleted with all their joints, and reference frames",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether there is a mechanism, or parts of one, to rebuild; set the poll message if not."""
        rig = _target_model(context)
        if rig is None and orphan_parts(context.scene):
            return True
        reason = no_model_message(context) if rig is None else linked_model_message(rig) or linked_copy_message(rig)
        if reason:
            cls.poll_message_set(translated(reason))
        return not reason

    def execute(self, context: bpy.types.Context) -> Result:
        """Rebuild the missing parts in object mode; roll back on an error."""
        if context.mode != "OBJECT" and context.object is not None:
            bpy.ops.object.mode_set(mode="OBJECT")
        try:
            with rollback_on_error():
                rig = _target_model(context)
                is_new = rig is None
                if rig is None:
                    rig = adopt_orphans(context.scene, context.view_layer.objects.active)
                out = rebuild(rig, context.scene, self.everything)
                if is_new:
                    out.done.insert(0, "its armature")
        except ERRORS as error:
            return cancel_with_error(self, error)
        done = "; ".join(out.done)
        if done:
            report_result(self, Message("Rebuilt or restored: {}", done), out.report)
        else:
            report_result(self, "Nothing is missing", out.report)
        return {"FINISHED"}


def draw_missing(context: bpy.types.Context, layout: bpy.types.UILayout, known: Sequence[str] | None = None) -> None:
    """Draw the missing parts of the target mechanism and the button that rebuilds them; nothing if none is missing.

    Args:
        context: Context of the panel.
        layout: Layout to draw in.
        known: Messages of the missing parts, if they are known already.
    """
    rig = _target_model(context)
    lacks = () if rig is None else missing_messages(rig) if known is None else known
    gone = rig is None and bool(orphan_parts(context.scene))
    if not (lacks or gone):
        return
    box = layout.box()
    for line in lacks:
        draw_paragraph(context, box, line, "ERROR")
    if gone:
        draw_paragraph(context, box, "The armature of the mechanism was deleted", "ERROR")
    box.operator("knuckle.rebuild", icon="FILE_REFRESH")


CLASSES = (
    KNUCKLE_OT_check_model,
    KNUCKLE_OT_fix_finding,
    KNUCKLE_UL_findings,
    VIEW3D_PT_knuckle_checks,
    KNUCKLE_OT_rebuild,
)


def register() -> None:
    """Register ``Armature.knuckle_finding``, the active row of the list."""
    bpy.types.Armature.knuckle_finding = IntProperty(  # type: ignore[attr-defined]
        name="Finding",
        description="Active finding; click a row to select its parts",
        get=_get_row,
        set=_set_row,
        options={"SKIP_SAVE"},
    )


def unregister() -> None:
    """Unregister ``Armature.knuckle_finding``."""
    del bpy.types.Armature.knuckle_finding  # type: ignore[attr-defined]
