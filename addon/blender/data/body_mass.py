"""Masses of bodies as the Physics tab shows them, where an inertia proxy carries part of one."""

from __future__ import annotations

import bpy
import numpy as np

from ..events.signals import quiet
from .access import record_of


def expected_mass(obj: bpy.types.Object) -> float:
    """The mass that a body's rigid body has beside its flywheel."""
    record = record_of(obj)
    return max(record.mass * (1.0 - _share(obj)), LEAST_MASS)


def whole_mass(obj: bpy.types.Object, own: float) -> float:
    """The mass of a body and its flywheel, of that of its rigid body."""
    return own / (1.0 - _share(obj))


def shown_mass(obj: bpy.types.Object) -> float | None:
    """Return what Blender shows of a body's mass where its flywheel has the rest; None where it shows all of it."""
    return expected_mass(obj) if obj.rigid_body is not None and _share(obj) else None


def _share(obj: bpy.types.Object) -> float:
    record = record_of(obj)
    return record.flywheel_share if record.flywheel is not None and record.flywheel.rigid_body is not None else 0.0


def keep_mass(obj: bpy.types.Object) -> None:
    """Take over a mass that was typed on the rigid body itself: it is the whole one, flywheel and all. The record has
    it then; ``put_masses`` splits it."""
    record, body = record_of(obj), obj.rigid_body
    if body is not None and is_typed(obj):
        with quiet():
            record.mass = body.mass


def is_typed(obj: bpy.types.Object) -> bool:
    """Return whether the mass of a body's rigid body is another than was set: the user has typed it into Blender's
    panel."""
    return bool(np.float32(obj.rigid_body.mass) != np.float32(expected_mass(obj)))


def put_masses(obj: bpy.types.Object) -> None:
    """Set the masses of a body and its flywheel from its record."""
    obj.rigid_body.mass = expected_mass(obj)
    if _share(obj):
        record_of(obj).flywheel.rigid_body.mass = max(record_of(obj).mass * _share(obj), LEAST_MASS)


#: Blender refuses less.
LEAST_MASS = 0.001
