"""What all panels of the sidebar share: their place, when they show, and how a line of them is laid out."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Any

import bpy

from ....installation import manual_page_url
from ...locale import CONTEXT, told
from .operators import active_model, linked_copy_message, newer_release_message

CATEGORY = "Knuckle"
#: Pixels of the sidebar in the default window, at UI scale 1.
_DEFAULT_WIDTH = 290
#: The positions of the panels. All others lie within one of these. The first two are open at first.
PANEL_ORDER = {
    name: place
    for place, name in enumerate(("mechanism", "simulation", "motion", "joints", "twins", "edit", "video", "report"))
}


class Panel:
    """A panel of the tab."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = CATEGORY
    bl_translation_context = CONTEXT
    #: The page of the manual that tells of it; empty where that of the panel around it does.
    help_page = ""

    def draw_header_preset(self, _context: bpy.types.Context) -> None:
        """The button that opens the manual."""
        address = manual_page_url(self.help_page) if self.help_page else ""
        if address:
            layout: Any = self.layout  # type: ignore[attr-defined]
            layout.operator("wm.url_open", text="", icon="HELP", emboss=False).url = address
            layout.separator()


class ModelPanel(Panel):
    """A panel that shows a model: hidden where there is none, and for a linked copy or a newer release's, of
    which the first panel tells."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        rig = active_model(context)
        return rig is not None and not newer_release_message(rig) and not linked_copy_message(rig)


def property_layout(layout: bpy.types.UILayout, decorate: bool = False) -> bpy.types.UILayout:
    layout.use_property_split = True
    layout.use_property_decorate = decorate
    return layout


def draw_fact(layout: bpy.types.UILayout, name: str, value: str) -> None:
    """A line that cannot be edited, aligned with those that can."""
    labeled_row(layout, name).label(text=value, translate=False)


def labeled_row(layout: bpy.types.UILayout, name: str) -> bpy.types.UILayout:
    """Room for a value beside its name, where Blender has it with properties."""
    row = layout.split(factor=0.4)
    label = row.row()
    label.alignment = "RIGHT"
    label.label(text=told(name), translate=False)  # Blender has other words of its own for some
    return row


def draw_paragraph(
    context: bpy.types.Context, layout: bpy.types.UILayout, text: str, icon: Any = "NONE", translate: bool = True
) -> None:
    """Text in as many lines as the sidebar's width asks for."""
    column = layout.column(align=True)
    lines = wrap_text(context, told(text) if translate else text, room=70 if icon != "NONE" else 50)
    for number, line in enumerate(lines):
        column.label(text=line, icon=icon if number == 0 else "BLANK1" if icon != "NONE" else "NONE", translate=False)


def sidebar_width(context: bpy.types.Context) -> float:
    """The width of the sidebar in pixels at UI scale 1."""
    scale = context.preferences.system.ui_scale or 1.0  # 0 without a window
    return (context.region.width if context.region is not None else _DEFAULT_WIDTH) / scale


def wrap_text(context: bpy.types.Context, text: str, room: int) -> list[str]:
    """The lines of a text in the sidebar, beside so many pixels that other things take."""
    return wrap(text, max(int((sidebar_width(context) - room) / 6.2), 16))


SEVERITY_ICONS: dict[str, Any] = {"error": "CANCEL", "warning": "ERROR", "info": "INFO"}
#: The severities, the worst first.
_SEVERITIES = tuple(SEVERITY_ICONS)
#: So many lines of a message are shown in a list; what is longer is shown in full below it.
_MAX_LINES = 5


def _severity_filter(context: bpy.types.Context) -> Any:
    return context.window_manager.knuckle_severities  # type: ignore[attr-defined]


def severity_of(row: Any) -> str:
    """The severity of a row of a report or a check, as one of those that can be shown."""
    return row.severity if row.severity in SEVERITY_ICONS else "info"


def draw_counts(context: bpy.types.Context, layout: Any, rows: Iterable[Any]) -> None:
    """The number of rows of each severity, on switches that show them."""
    severities = [severity_of(row) for row in rows]
    line = layout.row(align=True)
    for severity in _SEVERITIES:
        count = severities.count(severity)
        cell = line.row(align=True)
        cell.enabled = count > 0
        cell.prop(
            _severity_filter(context),
            severity,
            text=str(count),
            icon=SEVERITY_ICONS[severity],
            toggle=True,
            translate=False,
        )


def is_truncated(context: bpy.types.Context, row: Any) -> bool:
    """Return whether a message is longer than a list shows."""
    return len(wrap_text(context, told(row.message), room=74)) > _MAX_LINES


def draw_message(context: bpy.types.Context, layout: Any, row: Any, place: str = "") -> None:
    """A row of a list: the whole message, in as many lines as it takes."""
    lines = wrap_text(context, told(row.message) + place, room=74)
    column = layout.column(align=True)
    column.scale_y = 0.8
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], f"{lines[_MAX_LINES - 1]} …"]
    for number, text in enumerate(lines):
        column.label(text=text, icon="BLANK1" if number else SEVERITY_ICONS[severity_of(row)], translate=False)


def filter_rows(panel: Any, context: bpy.types.Context, rows: Any) -> tuple[list[int], list[int]]:
    """Return which rows a list shows, and their order: those of a severity that is shown and with the text that is
    searched, the worst first."""
    wanted, shown = panel.filter_name.lower(), _severity_filter(context)
    flags = [
        panel.bitflag_filter_item if getattr(shown, severity_of(row)) and wanted in told(row.message).lower() else 0
        for row in rows
    ]
    order = sorted(range(len(rows)), key=lambda index: _SEVERITIES.index(severity_of(rows[index])))
    positions = [0] * len(rows)
    for position, index in enumerate(order):
        positions[index] = position
    return flags, positions
