"""Masses that were edited: in our record, or on the rigid body, which may show a share alone; and centers of mass and
moments of inertia, which mirroring edits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import bpy
import numpy as np

from ....core.model import Array, Body, Shape
from ....core.report import Report
from ....formats.skel.to_model_masses import DERIVED, moment_of_shapes
from ...data.access import record_of
from ...data.body_mass import is_typed, shown_mass
from ...data.properties.model import KnuckleObject
from ...data.queries import file_name
from ..bodies import unit_tensors
from .float_restore import plain, same

#: What a shape has besides that it is: its share of the mass of its body, in formats that know one.
_MASS = "mass"
#: Moments of inertia that differ by no more than this share of the largest are the same in 32 bits.
_SAME_MOMENT = 3e-7


def derived_masses(bodies: Iterable[Body]) -> dict[str, float]:
    """The masses, by id, of the bodies of a document whose moments of inertia follow from their shapes."""
    return {body.id: body.mass for body in bodies if body.extra.get(DERIVED)}


def shape_masses(bodies: Iterable[Body]) -> dict[str, list[Any]]:
    """The masses that a document states for shapes, None where it states none, by the ids of their bodies."""
    masses = {body.id: [shape.extra.get(_MASS) for shape in body.shapes] for body in bodies}
    return {body: each for body, each in masses.items() if any(mass is not None for mass in each)}


def with_masses(shapes: list[Shape], masses: list[Any] | None) -> list[Shape]:
    """The shapes of a mirror image, which have the masses of those that they mirror; None: they keep their own."""
    if masses is None:
        return shapes
    return [
        shape if mass is None else replace(shape, extra=shape.extra | {_MASS: mass})
        for shape, mass in zip_longest(shapes, masses[: len(shapes)])
    ]


def weigh(obj: bpy.types.Object, body: Body, derived: Mapping[str, float], report: Report) -> None:
    """Take over an edited mass; the moments that the file states go with it. What one that was typed into Blender's
    panel replaced is told where that panel showed less. ``derived``: the ``derived_masses`` of the document."""
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
    origin = record_of(obj).moment_of
    if origin in derived and same(record_of(obj).mass, derived[origin]):
        _derive(body)


def _derive(body: Body) -> None:
    """Have the moments of inertia of a mirror image follow from its shapes, as those of the body that it mirrors do."""
    tensor = moment_of_shapes(body.shapes, body.mass, body.com)
    if tensor is not None:  # what depends on a mesh is known where meshes are read
        body.inertia, body.extra = tensor, body.extra | {DERIVED: tensor.tolist()}


def _edited_mass(obj: bpy.types.Object, mass: float) -> float:
    """The mass, unless it was edited in our record or on the rigid body itself."""
    if not same(record_of(obj).mass, mass):
        return plain(record_of(obj).mass)
    if obj.rigid_body is not None and is_typed(obj):
        return plain(obj.rigid_body.mass)
    return mass


def com_now(record: KnuckleObject, body: Body) -> Array:
    """The center of mass of a body, as its record has it; the document's own where that is the same."""
    if all(map(same, map(float, record.com), body.com.tolist())):
        return body.com
    return np.array([plain(x) for x in record.com])


def inertia_now(record: KnuckleObject, body: Body) -> Array | None:
    """The inertia of a body, as its record has it for a mass of 1; the document's own where that is the same."""
    numbers = record.tensor[:]
    if not any(numbers):
        dropped = body.inertia is not None and bool(unit_tensors([body]))
        return None if dropped else body.inertia
    if body.inertia is not None:
        known = body.inertia.ravel().tolist()
        near = _SAME_MOMENT * max(map(abs, known))
        if all(abs(now * body.mass - before) <= near for now, before in zip(numbers, known, strict=True)):
            return body.inertia
    tensor = np.array(numbers, dtype=np.float64).reshape(3, 3) * body.mass
    if body.inertia is None:
        return None if body.extra.get("derived_moment") else tensor
    turned = np.abs(np.abs(tensor) - np.abs(body.inertia)) <= near  # mirrored numbers are the document's own
    exact = np.where(np.sign(tensor) * np.sign(body.inertia) < 0.0, -body.inertia, body.inertia)
    return np.where(turned, exact, np.vectorize(plain)(tensor))


def same_frame(body: Body, before: Array) -> Array:
    """The pose of a body whose center of mass is another: that of ``before`` where 32 bits cannot tell the two apart,
    else without the digits that these do not have."""
    reach = max(1e-3, float(np.abs(before[:3, 3]).max()), float(np.abs(body.com).max()))
    off = np.abs(body.pose - before)
    if off[:3, :3].max() <= 1e-6 and off[:3, 3].max() <= 1e-6 * reach:
        return before
    pose = body.pose.copy()
    pose[:3, 3] = [0.0 if abs(x) <= 1e-7 * reach else plain(x) for x in pose[:3, 3].tolist()]
    return pose
