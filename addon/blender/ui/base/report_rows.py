"""Rows of reports and of checks in lists: severity icons, filters, messages over several lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy

from ...translations import told
from .panels import wrapped

SEVERITY_ICONS: dict[str, Any] = {"error": "CANCEL", "warning": "ERROR", "info": "INFO"}
#: The severities, the worst first.
_SEVERITIES = tuple(SEVERITY_ICONS)
#: So many lines of a message are shown in a list; what is longer is shown in full below it.
_MOST_LINES = 5


def _shown(context: bpy.types.Context) -> Any:
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
            _shown(context), severity, text=str(count), icon=SEVERITY_ICONS[severity], toggle=True, translate=False
        )


def is_cut(context: bpy.types.Context, row: Any) -> bool:
    """Return whether a message is longer than a list shows."""
    return len(wrapped(context, told(row.message), room=74)) > _MOST_LINES


def draw_message(context: bpy.types.Context, layout: Any, row: Any, place: str = "") -> None:
    """A row of a list: the whole message, in as many lines as it takes."""
    lines = wrapped(context, told(row.message) + place, room=74)
    column = layout.column(align=True)
    column.scale_y = 0.8
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1]} …"]
    for number, text in enumerate(lines):
        column.label(text=text, icon="BLANK1" if number else SEVERITY_ICONS[severity_of(row)], translate=False)


def filtered(panel: Any, context: bpy.types.Context, rows: Any) -> tuple[list[int], list[int]]:
    """Return which rows a list shows, and their order: those of a severity that is shown and with the text that is
    searched, the worst first."""
    wanted, shown = panel.filter_name.lower(), _shown(context)
    flags = [
        panel.bitflag_filter_item if getattr(shown, severity_of(row)) and wanted in told(row.message).lower() else 0
        for row in rows
    ]
    order = sorted(range(len(rows)), key=lambda index: _SEVERITIES.index(severity_of(rows[index])))
    positions = [0] * len(rows)
    for position, index in enumerate(order):
        positions[index] = position
    return flags, positions
