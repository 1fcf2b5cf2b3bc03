"""Between the model's records and the property groups that keep them in Blender (32-bit numbers)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..model.records import Array, Dof, Shape
from .properties import SIZE_KEYS, KnuckleDof, KnuckleShape

#: Fields that a degree of freedom and its property group share by name.
DOF_FIELDS = (
    "kind", "position", "velocity", "damping", "friction", "stiffness", "rest", "armature",
    "gain", "max_force", "actuator", "file_sign",
)  # fmt: skip


def write_dof(record: KnuckleDof, dof: Dof) -> None:
    """Put a degree of freedom into its property group."""
    for name in DOF_FIELDS:
        setattr(record, name, getattr(dof, name))
    record.axis = [float(x) for x in dof.axis]
    for end in ("lower", "upper"):
        value = getattr(dof, end)
        setattr(record, f"use_{end}", value is not None)
        setattr(record, end, float(value or 0.0))


def read_dof(record: KnuckleDof) -> Dof:
    """A degree of freedom from its property group."""
    dof = Dof(**{name: getattr(record, name) for name in DOF_FIELDS})
    dof.axis = np.array(record.axis, dtype=np.float64)
    dof.lower, dof.upper = stops(record)
    return dof


def stops(dof: Dof | KnuckleDof) -> tuple[float | None, float | None]:
    """Lower and upper stop of a record, ours or Blender's; None where there is none."""
    if isinstance(dof, Dof):
        return dof.lower, dof.upper
    return dof.lower if dof.use_lower else None, dof.upper if dof.use_upper else None


def write_shape(record: KnuckleShape, shape: Shape) -> None:
    """Put a shape into its property group."""
    record.type = shape.type
    size = [float(shape.size.get(key, 0.0)) for key in SIZE_KEYS.get(shape.type, ())]
    record.size = (size + [0.0, 0.0, 0.0])[:3]
    record.pose = flat(shape.pose)
    record.visual, record.collision = shape.visual, shape.collision
    record.mesh = shape.mesh or ""
    record.has_color = shape.color is not None
    if shape.color is not None:
        record.color = shape.color


def read_shape(record: KnuckleShape) -> Shape:
    """A shape from its property group."""
    return Shape(
        record.type,
        dict(zip(SIZE_KEYS.get(record.type, ()), map(float, record.size), strict=False)),
        unflat(record.pose),
        record.visual,
        record.collision,
        tuple(record.color) if record.has_color else None,
        record.mesh or None,
    )


def flat(pose: Any) -> list[float]:
    """A 4x4 matrix, numpy's or Blender's, as 16 numbers row by row."""
    return [float(x) for x in np.asarray(pose).ravel()]


def unflat(numbers: Iterable[float]) -> Array:
    """The 4x4 matrix of 16 numbers."""
    return np.array(list(numbers), dtype=np.float64).reshape(4, 4)
