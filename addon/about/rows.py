"""What a check of the installation finds, row by row, and as plain text for a report of a defect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: In the order of how bad they are. ``note``: something that Knuckle works without.
STATES = ("error", "warning", "note", "ok")


@dataclass(frozen=True)
class Row:
    """One thing looked at: how it is, and where something is wrong, what to do."""

    part: str
    state: str
    text: str
    remedy: str = ""


def is_sound(rows: Iterable[Row]) -> bool:
    """Return whether nothing is broken."""
    return all(row.state != "error" for row in rows)


def summary(rows: Iterable[Row]) -> str:
    """One sentence on all rows."""
    states = [row.state for row in rows]
    errors, warnings = states.count("error"), states.count("warning")
    if not errors and not warnings:
        return "Everything works"
    return f"Wrong: {errors}, to be looked at: {warnings}"


def plain_text(rows: Iterable[Row]) -> str:
    """A line a row, a remedy below its row."""
    lines = []
    for row in rows:
        lines.append(f"{row.state:8}{row.part}: {row.text}")
        if row.remedy:
            lines.append(f"        -> {row.remedy}")
    return "\n".join(lines) + "\n"
