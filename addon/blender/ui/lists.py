"""The list of the report's rows."""

from __future__ import annotations

from typing import Any

import bpy

from ..translations import told

SEVERITY_ICONS: dict[str, Any] = {"error": "CANCEL", "warning": "ERROR", "info": "INFO"}


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


CLASSES = (KNUCKLE_UL_report,)
