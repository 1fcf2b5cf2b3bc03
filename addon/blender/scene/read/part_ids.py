"""Assignment of objects to the parts of a document: of several with one id one is that part, and the others are new."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import TypeVar

import bpy

from ....core.model import Body, Joint
from ...data.access import record_of

T = TypeVar("T", Body, Joint)
Ids = Mapping[bpy.types.Object, str]


def own_ids(objects: list[bpy.types.Object], base: Iterable[Body | Joint] = ()) -> dict[bpy.types.Object, str]:
    """An id for each object: of several with one id, which are copies of each other, the one that still has the name
    it was built with keeps it (else the first), and the others get their object's name."""
    holders: dict[str, bpy.types.Object] = {}
    for obj in sorted(objects, key=lambda obj: obj.name != record_of(obj).built_name):
        holders.setdefault(record_of(obj).source_id, obj)
    taken = {*holders, *(part.id for part in base)}
    own: dict[bpy.types.Object, str] = {}
    for obj in objects:
        own[obj] = record_of(obj).source_id
        if holders[own[obj]] != obj:
            own[obj] = obj.name
            while own[obj] in taken:
                own[obj] += " copy"
            taken.add(own[obj])
    return own


def merge(base: Iterable[T], ids: Ids, read: Callable[[bpy.types.Object, str, T | None, T | None], T]) -> list[T]:
    """Parts in the document's order, then the new ones as they were made; none has a twin that is gone. ``read`` gets
    an object, its id, the document's part of this id, and for a copy of one a copy of the part."""
    object_of = {own: obj for obj, own in ids.items()}
    known = {part.id: part for part in base}
    new = {obj: deepcopy(known.get(_original_id(obj))) for obj, own in ids.items() if own not in known}
    twins: set[str | None] = {part.twin for part in known.values() if part.twin not in known}  # a file may name none
    twins |= object_of.keys()
    out = [read(object_of[own], own, part, None) for own, part in known.items() if own in object_of]
    out += [read(obj, ids[obj], None, original) for obj, original in new.items()]
    for part in out:
        part.twin = part.twin if part.twin in twins else None
    return out


def _original_id(obj: bpy.types.Object) -> str:
    return record_of(obj).copy_of or record_of(obj).source_id
