"""What happened to a model, kept with it for the Report panel."""

from __future__ import annotations

from collections.abc import Collection

import bpy

from ...core.report import Report
from .access import settings


def add_to_report(rig: bpy.types.Object, report: Report, instead_of: Collection[str] = ()) -> None:
    """Add to a model's report what is new to it. What it says already of the same thing makes way, and what it says of
    codes ``instead_of`` which this is."""
    lines = settings(rig).report
    for number in reversed(range(len(lines))):
        if lines[number].code in instead_of:
            lines.remove(number)
    at = {(line.code, line.where): number for number, line in enumerate(lines)}
    for entry in report.entries:
        number = at.get((entry.code, entry.where))
        line = lines[number] if number is not None else lines.add()
        line.severity, line.code, line.message, line.where = entry.severity, entry.code, entry.message, entry.where
        line.line = entry.line or 0
        at[entry.code, entry.where] = len(lines) - 1 if number is None else number


#: What imports tell of; the next tells it anew.
OF_IMPORTS = (
    "motion-unmatched", "servo-unmatched", "servo-matched", "servo-repeated", "servo-empty", "servos-keyed",
    "unit-mismatch", "values-clipped", "keys-merged", "scene-too-short", "root-matched", "root-unmatched",
)  # fmt: skip
