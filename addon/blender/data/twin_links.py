"""Links between twins, by the ids in their records."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from .access import record_of
from .queries import parts


def parts_by_id(rig: bpy.types.Object, role: str) -> dict[str, bpy.types.Object]:
    """Return a mechanism's bodies or joints by id.

    Of several with one id, which are copies, it is the one that still has its built name, else the first.
    """
    every = parts(rig, role)
    out = {record_of(obj).source_id: obj for obj in reversed(every)}
    if len(out) < len(every):
        renamed = [obj for obj in every if obj.name == record_of(obj).built_name]
        out.update((record_of(obj).source_id, obj) for obj in reversed(renamed))
    return out


def twin_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """Return the twin of a body or joint if they refer to each other, or None. Copies have none.

    For many parts use ``twins_by_part``.
    """
    record = record_of(obj)
    if not record.twin or record.model is None:
        return None
    known = parts_by_id(record.model, record.role)
    other = known.get(record.twin)
    is_own = known.get(record.source_id) == obj
    return other if is_own and other is not None and record_of(other).twin == record.source_id else None


def twins_by_part(rig: bpy.types.Object) -> dict[bpy.types.Object, bpy.types.Object]:
    """Return the twins of all bodies and joints of a mechanism that have one."""
    out = {}
    for known in (parts_by_id(rig, role) for role in ("BODY", "JOINT")):
        for key, obj in known.items():
            other = known.get(record_of(obj).twin)
            if other is not None and record_of(other).twin == key:
                out[obj] = other
    return out


def twins_among(objects: Iterable[bpy.types.Object]) -> dict[bpy.types.Object, bpy.types.Object]:
    """Return the twins of those of some parts that have one."""
    chosen = list(objects)
    rigs = dict.fromkeys(record_of(obj).model for obj in chosen if record_of(obj).model is not None)
    known = {obj: twin for rig in rigs for obj, twin in twins_by_part(rig).items()}
    return {obj: known[obj] for obj in chosen if obj in known}


def record_mirror_state(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    """Record the present transforms and names of twins as symmetric: later differences are edits to be mirrored."""
    count = max(record_of(obj).seen_count, record_of(twin).seen_count) + 1
    for one, other in ((obj, twin), (twin, obj)):
        record = record_of(one)
        record.seen, record.seen_name = one.matrix_basis, one.name
        record.seen_twin, record.seen_twin_name = other.matrix_basis, other.name
        record.seen_count = count
