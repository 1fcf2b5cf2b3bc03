"""The lists of the sidebar: joints, and the lines of the report."""

from __future__ import annotations

from typing import Any

import bpy

from ..access import record_of
from ..model_parts import file_name
from ..translations import told
from .selection import is_joint

SEVERITY_ICONS: dict[str, Any] = {"error": "CANCEL", "warning": "ERROR", "info": "INFO"}


class KNUCKLE_UL_joints(bpy.types.UIList):
    """The objects of the model's ``Joints`` collection that are joints; a click selects."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        joint = record_of(item).joint
        kinds = [dof.kind for dof in joint.dofs]
        row = layout.row(align=True)
        row.active = joint.active
        row.label(text=file_name(item) or item.name, icon=joint_icon(joint, kinds), translate=False)
        if joint.loop or joint.follows:
            row.label(text="", icon="LINKED")

    def filter_items(self, context: Any, data: Any, propname: str) -> Any:
        objects = getattr(data, propname)
        rig = next((record_of(obj).model for obj in objects if record_of(obj).role == "JOINT"), None)
        wanted = self.filter_name.lower()
        shown = [
            self.bitflag_filter_item if is_joint(obj, rig) and wanted in (file_name(obj) or obj.name).lower() else 0
            for obj in objects
        ]
        return shown, []


class KNUCKLE_UL_report(bpy.types.UIList):
    """What happened to the file, line by line."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        row = layout.row(align=True)
        row.label(text=told(item.message), icon=SEVERITY_ICONS.get(item.severity, "DOT"), translate=False)
        if item.line:
            number = row.row()
            number.alignment = "RIGHT"
            number.label(text=told(f"line {item.line}"))

    def filter_items(self, context: Any, data: Any, propname: str) -> Any:
        wanted = self.filter_name.lower()
        lines = getattr(data, propname)
        return [self.bitflag_filter_item if wanted in told(line.message).lower() else 0 for line in lines], []


def joint_icon(joint: Any, kinds: list[str]) -> str:
    """A small picture for a joint's kind."""
    if not joint.active:
        return "UNLINKED"
    return {"rotation": "DRIVER_ROTATIONAL_DIFFERENCE", "translation": "EMPTY_SINGLE_ARROW"}.get(
        kinds[0] if len(kinds) == 1 else "", "EMPTY_AXIS" if kinds else "LOCKED"
    )


CLASSES = (KNUCKLE_UL_joints, KNUCKLE_UL_report)
