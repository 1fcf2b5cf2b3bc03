"""What one joint has of stops, servo and springs, given to others and to their twins."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import bpy

from ..data.access import record_of
from ..data.batch_edits import put_all, records_of
from ..data.properties.joint import KnuckleDof
from ..data.queries import parts
from ..events.signals import quiet, tell
from .stops import block_parts
from .twin_images import Surroundings, put_values_image
from .twins import by_id, plane_of, twin_of

#: What can be copied from a joint to others: the fields of its degrees of freedom, by what people call them.
FIELDS = {
    "stops": ("use_lower", "lower", "use_upper", "upper"),
    "servo": ("gain", "max_force", "servo_stiffness", "servo_damping"),
    "spring": ("stiffness", "rest", "damping", "friction", "armature"),
}
_EVERY = [name for fields in FIELDS.values() for name in fields]
#: What all joints of a model have of ``FIELDS``: by the names of their objects, for each of their degrees of freedom.
Values = dict[str, list[dict[str, float]]]


def values_of(rig: bpy.types.Object) -> Values:
    """Return what all joints of a model have of ``FIELDS``."""
    return {
        empty.name: [{name: getattr(dof, name) for name in _EVERY} for dof in records_of(empty)]
        for empty in parts(rig, "JOINT")
    }


def put_values(rig: bpy.types.Object, values: Values) -> None:
    """Give the joints of a model the values that ``values_of`` told."""
    for empty in parts(rig, "JOINT"):
        for dof, own in zip(records_of(empty), values.get(empty.name, ()), strict=False):
            put_all([(empty, dof)], own)


def copy_values(
    source: bpy.types.Object, targets: Iterable[bpy.types.Object], what: Collection[str]
) -> tuple[int, int]:
    """Give joints what another has, by ``FIELDS``, coordinate by coordinate where they are of one kind. Returns how
    many joints changed, and how many have nothing that could take it."""
    names = [name for key, fields in FIELDS.items() if key in what for name in fields]
    changed = unlike = 0
    for empty in targets:
        pairs = list(_pairs(source, empty))
        unlike += not pairs
        done = 0
        for own, its in pairs:
            done += put_all([(empty, its)], {name: getattr(own, name) for name in names})
        changed += done > 0
    return changed, unlike


def _pairs(source: bpy.types.Object, target: bpy.types.Object) -> Iterable[tuple[KnuckleDof, KnuckleDof]]:
    own, its = record_of(source).joint, record_of(target).joint
    for mine, theirs in zip(own.dofs, its.dofs, strict=False):
        if mine.kind == theirs.kind:
            yield mine, theirs
            yield from zip(block_parts(own, mine), block_parts(its, theirs), strict=False)


def copy_to_twins(empties: Iterable[bpy.types.Object]) -> int:
    """Give the twins of joints their stops, springs, motors and start, mirrored where their axes say so; nothing moves.
    Returns how many there were. ValueError where none has a twin."""
    chosen = {empty: mate for empty in empties if (mate := twin_of(empty)) is not None}
    rig = next((record_of(empty).model for empty in chosen), None)
    if rig is None:
        raise ValueError("None of the joints has a twin: Find Twins looks for them, Create Twin makes one")
    plane, around = plane_of(rig), Surroundings(by_id(rig, "BODY"))
    with quiet():
        for empty, mate in chosen.items():
            put_values_image(empty, mate, plane, around)
    tell(chosen.values())
    return len(chosen)
