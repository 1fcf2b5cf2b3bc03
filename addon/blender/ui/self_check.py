"""The installation checked: rows in the preferences, green or red, and a report to be sent to the developers."""

from __future__ import annotations

from typing import Any

import bpy

from ...about.rows import STATES, Row, plain_text, summary
from ..checkup import check_all
from ..translations import told
from .common import Result, say
from .sidebar import paragraph

_ICONS = {"error": "CANCEL", "warning": "ERROR", "note": "INFO", "ok": "COLORSET_03_VEC"}  # the last is green
#: What the last check of this session found.
_found: list[Row] = []


class KNUCKLE_OT_self_check(bpy.types.Operator):
    bl_idname = "knuckle.self_check"
    bl_label = "Self-Check"
    bl_description = (
        "Look whether this installation is whole: versions, modules, what Blender was built with, where it may write; "
        "and take one model of each format the whole way. The open file is not touched"
    )

    def execute(self, _context: bpy.types.Context) -> Result:
        _found[:] = check_all()
        sound = _worst() in {"note", "ok"}
        say(self, {"INFO" if sound else "WARNING"}, summary(_found))  # an ERROR would raise in scripts
        return {"FINISHED"}


class KNUCKLE_OT_copy_check(bpy.types.Operator):
    bl_idname = "knuckle.copy_check"
    bl_label = "Copy Report"
    bl_description = "Copy what the self-check found as plain text, for a report of a defect"

    def execute(self, context: bpy.types.Context) -> Result:
        if not _found:
            _found[:] = check_all()
        context.window_manager.clipboard = plain_text(_found)
        say(self, {"INFO"}, "The report is on the clipboard")
        return {"FINISHED"}


def draw_check(context: bpy.types.Context, layout: Any) -> None:
    """The buttons, and what was found, the worst first."""
    row = layout.row()
    row.operator(KNUCKLE_OT_self_check.bl_idname, icon="CHECKMARK")
    row.operator(KNUCKLE_OT_copy_check.bl_idname, icon="COPYDOWN")
    if not _found:
        return
    box = layout.box().column(align=True)
    box.label(text=told(summary(_found)), icon=_ICONS[_worst()], translate=False)
    for found in sorted(_found, key=lambda row: STATES.index(row.state)):
        line = box.row(align=True)
        line.alert = found.state == "error"
        line.label(text=f"{told(found.part)}: {told(found.text)}", icon=_ICONS[found.state], translate=False)
        if found.remedy:
            paragraph(context, box, found.remedy)


def _worst() -> str:
    return next(state for state in STATES if any(row.state == state for row in _found))


CLASSES = (KNUCKLE_OT_self_check, KNUCKLE_OT_copy_check)
