"""Shared parts of the sidebar's panels: order, base classes, rows, paragraphs, and lists of reports and checks."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Any

import bpy

from ....installation import manual_page_url
from ...data.conversion import stored_message
from ...locale import CONTEXT, translated
from .operators import active_model, linked_copy_message, newer_release_message

CATEGORY = "Knuckle"
#: Pixels of the sidebar in the default window, at UI scale 1.
_DEFAULT_WIDTH = 290
#: Positions of the top-level panels; all others are subpanels. The first two are open by default.
PANEL_ORDER = {
    name: place
    for place, name in enumerate(("mechanism", "simulation", "motion", "joints", "twins", "edit", "video", "report"))
}


class Panel:
    """Base of the panels in the sidebar's tab."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = CATEGORY
    bl_translation_context = CONTEXT
    #: Manual page that describes the panel; empty if the parent panel's page does.
    help_page = ""

    def draw_header_preset(self, _context: bpy.types.Context) -> None:
        """Draw the button that opens the manual page."""
        address = manual_page_url(self.help_page) if self.help_page else ""
        if address:
            layout: Any = self.layout  # type: ignore[attr-defined]
            layout.operator("wm.url_open", text="", icon="HELP", emboss=False).url = address
            layout.separator()


class ModelPanel(Panel):
    """Base of panels that show the active mechanism.

    Hidden without one, and for a linked copy or a mechanism of a newer release, about which the first panel informs.
    """

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether there is an active mechanism that the panel may show."""
        rig = active_model(context)
        return rig is not None and not newer_release_message(rig) and not linked_copy_message(rig)


def property_layout(layout: bpy.types.UILayout, decorate: bool = False) -> bpy.types.UILayout:
    """Set a layout to split names and values, with or without animation decorators, and return it."""
    layout.use_property_split = True
    layout.use_property_decorate = decorate
    return layout


def draw_fact(layout: bpy.types.UILayout, name: str, value: str) -> None:
    """Draw a read-only value, aligned with properties."""
    labeled_row(layout, name).label(text=value, translate=False)


def labeled_row(layout: bpy.types.UILayout, name: str) -> bpy.types.UILayout:
    """Draw a name in the column of property names, and return the layout for its value."""
    row = layout.split(factor=0.4)
    label = row.row()
    label.alignment = "RIGHT"
    label.label(text=translated(name), translate=False)  # Blender translates some of these differently
    return row


def draw_paragraph(
    context: bpy.types.Context, layout: bpy.types.UILayout, text: str, icon: Any = "NONE", translate: bool = True
) -> None:
    """Draw a text, wrapped to the sidebar's width."""
    column = layout.column(align=True)
    lines = wrap_text(context, translated(text) if translate else text, room=70 if icon != "NONE" else 50)
    for number, line in enumerate(lines):
        column.label(text=line, icon=icon if number == 0 else "BLANK1" if icon != "NONE" else "NONE", translate=False)


def sidebar_width(context: bpy.types.Context) -> float:
    """Return the sidebar's width in pixels at UI scale 1."""
    scale = context.preferences.system.ui_scale or 1.0  # 0 without a window
    return (context.region.width if context.region is not None else _DEFAULT_WIDTH) / scale


def wrap_text(context: bpy.types.Context, text: str, room: int) -> list[str]:
    """Wrap a text to the sidebar's width, less ``room`` (pixels at UI scale 1) for other content."""
    return wrap(text, max(int((sidebar_width(context) - room) / 6.2), 16))


SEVERITY_ICONS: dict[str, Any] = {"error": "CANCEL", "warning": "ERROR", "info": "INFO"}
#: Severities, the worst first.
_SEVERITIES = tuple(SEVERITY_ICONS)
#: Lines of a message shown in a list; a longer message is shown in full below it.
_MAX_LINES = 5


def _severity_filter(context: bpy.types.Context) -> Any:
    return context.window_manager.knuckle_severities  # type: ignore[attr-defined]


def severity_of(row: Any) -> str:
    """Return the severity of a row of a report or check; ``info`` for an unknown one."""
    return row.severity if row.severity in SEVERITY_ICONS else "info"


def draw_counts(context: bpy.types.Context, layout: Any, rows: Iterable[Any]) -> None:
    """Draw a toggle for each severity, with its number of rows."""
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
    """Return whether a list truncates a message."""
    return len(wrap_text(context, translated(stored_message(row)), room=84)) > _MAX_LINES


def draw_message(context: bpy.types.Context, layout: Any, row: Any, place: str = "") -> None:
    """Draw a row of a list: a message with its severity, truncated after ``_MAX_LINES`` lines."""
    lines = wrap_text(context, translated(stored_message(row)) + place, room=84)
    column = layout.column(align=True)
    column.scale_y = 0.8
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], f"{lines[_MAX_LINES - 1]} …"]
    for number, text in enumerate(lines):
        column.label(text=text, icon="BLANK1" if number else SEVERITY_ICONS[severity_of(row)], translate=False)


def filter_rows(panel: Any, context: bpy.types.Context, rows: Any) -> tuple[list[int], list[int]]:
    """Return the filter flags and the positions of a list's rows, sorted by severity, the worst first.

    A row is shown if its severity is enabled and its message contains the searched text.
    """
    wanted, shown = panel.filter_name.lower(), _severity_filter(context)
    flags = [
        panel.bitflag_filter_item
        if getattr(shown, severity_of(row)) and wanted in translated(stored_message(row)).lower()
        else 0
        for row in rows
    ]
    order = sorted(range(len(rows)), key=lambda index: _SEVERITIES.index(severity_of(rows[index])))
    positions = [0] * len(rows)
    for position, index in enumerate(order):
        positions[index] = position
    return flags, positions
