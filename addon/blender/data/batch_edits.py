"""Edits of many joint records at once, with one change signal per joint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import bpy

from ..events.signals import notify_joints, signals_blocked
from .access import record_of
from .conversion import is_angle
from .facts import DOF
from .properties.joint import KnuckleDof
from .queries import parts

#: Fields in the unit of the joint value: copied between rotations, or between translations, only.
_FIELDS_WITH_UNIT = {"lower", "upper", "rest"}
#: Fields that bone limits and rigid-body constraints are derived from.
_CONSTRAINT_FIELDS = {field for each in DOF if each.shown for field in each.fields}


def dof_records(empty: bpy.types.Object) -> Iterator[KnuckleDof]:
    """Yield the degrees of freedom of a joint, then the single parts of its balls and free joints."""
    joint = record_of(empty).joint
    yield from joint.dofs
    yield from joint.parts


def set_on_ticked_dofs(dof: KnuckleDof, field: str, value: float) -> None:
    """Set a field of all ticked degrees of freedom of a mechanism.

    Args:
        dof: A ticked degree of freedom of the mechanism.
        field: Name of the property. Values with a unit (stops, rest value) go from rotations to rotations and from
            translations to translations only; all others go to both.
        value: Value to set (rad or length units where the field has a unit).
    """
    empty = cast(bpy.types.Object, dof.id_data)
    set_dof_fields(
        (
            (obj, each)
            for obj in parts(record_of(empty).model, "JOINT")
            for each in dof_records(obj)
            if each.is_marked and (field not in _FIELDS_WITH_UNIT or is_angle(each) == is_angle(dof))
        ),
        {field: value},
    )


def set_dof_fields(chosen: Iterable[tuple[bpy.types.Object, KnuckleDof]], values: dict[str, float]) -> int:
    """Set fields of degrees of freedom and emit one change signal for each joint that changed.

    Args:
        chosen: Pairs of a joint's empty and one of its degrees of freedom.
        values: Values by the name of the property.

    Returns:
        The count of degrees of freedom that changed.
    """
    changed, count = [], 0
    with signals_blocked():
        for empty, dof in chosen:
            before = [getattr(dof, field) for field in values]
            for field, value in values.items():
                setattr(dof, field, value)
            if before != [getattr(dof, field) for field in values]:
                changed.append(empty)
                count += 1
    notify_joints(changed, derived=not _CONSTRAINT_FIELDS.isdisjoint(values))
    return count
