"""Masses that were edited: in our record, or on the rigid body, which may show a share alone."""

from __future__ import annotations

import bpy

from ...model.records import Body
from ...model.report import Report
from ..access import record_of
from ..model_parts import file_name
from ..physics.flywheel import is_typed, shown_mass
from .numbers import plain, same


def weigh(obj: bpy.types.Object, body: Body, report: Report) -> None:
    """Take over an edited mass; the moments that the file states go with it. What one that was typed into Blender's
    panel replaced is told where that panel showed less."""
    before, body.mass = body.mass, _edited_mass(obj, body.mass)
    shown = shown_mass(obj)
    if shown is not None and is_typed(obj) and body.mass == plain(obj.rigid_body.mass):
        report.warn(
            "mass-typed",
            f"It weighs {body.mass:.4g} now, as typed into Blender's Physics tab; there {shown:.4g} stood for "
            f"{before:.4g}, since its flywheel has the rest. What is typed there is the whole",
            where=file_name(obj),
        )
    if body.mass != before and body.inertia is not None and before > 0.0:
        body.inertia = body.inertia * (body.mass / before)
        report.info("inertia-scaled", "Its moments of inertia go with its mass", where=file_name(obj))


def _edited_mass(obj: bpy.types.Object, mass: float) -> float:
    """The mass, unless it was edited in our record or on the rigid body itself."""
    if not same(record_of(obj).mass, mass):
        return plain(record_of(obj).mass)
    if obj.rigid_body is not None and is_typed(obj):
        return plain(obj.rigid_body.mass)
    return mass
