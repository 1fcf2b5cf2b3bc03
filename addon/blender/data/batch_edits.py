"""Setting the records of many joints at once, and telling of each joint once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import bpy

from ..events.signals import quiet, tell
from .access import record_of
from .conversion import is_angle
from .properties.joint import KnuckleDof
from .queries import parts

#: What is in the unit of the coordinate: it goes from turns to turns and from slides to slides alone.
_UNITED = {"lower", "upper", "rest"}
#: What limits and constraints are made from.
_DERIVED = {"use_lower", "lower", "use_upper", "upper", "damping", "stiffness"}


def records_of(empty: bpy.types.Object) -> Iterator[KnuckleDof]:
    """The degrees of freedom of a joint, and the parts of its balls."""
    joint = record_of(empty).joint
    yield from joint.dofs
    yield from joint.parts


def spread(dof: KnuckleDof, field: str, value: float) -> None:
    """Set a field of all ticked degrees of freedom of the mechanism of one of them: angles of rotations, lengths of
    translations, all else of both."""
    empty = cast(bpy.types.Object, dof.id_data)
    put_all(
        (
            (obj, each)
            for obj in parts(record_of(empty).model, "JOINT")
            for each in records_of(obj)
            if each.ticked and (field not in _UNITED or is_angle(each) == is_angle(dof))
        ),
        {field: value},
    )


def put_all(chosen: Iterable[tuple[bpy.types.Object, KnuckleDof]], values: dict[str, float]) -> int:
    """Set fields of degrees of freedom of joints; what is derived from them is made anew once for each joint.

    Returns how many degrees of freedom changed.
    """
    changed, count = [], 0
    with quiet():
        for empty, dof in chosen:
            before = [getattr(dof, field) for field in values]
            for field, value in values.items():
                setattr(dof, field, value)
            if before != [getattr(dof, field) for field in values]:
                changed.append(empty)
                count += 1
    tell(changed, derived=not _DERIVED.isdisjoint(values))
    return count
