"""Rollback of failed edits of mechanisms: an operator that is cancelled creates no undo step.

A failed import removes what it created itself (``reconcile.build``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bpy

from ..data.access import armature_settings, record_of
from ..data.datablocks import newest_session_uid, remove_datablocks_since
from ..events.signals import signals_blocked
from ..reconcile.build import BUILT_KINDS

#: Fields that define membership in a mechanism, parent and transform.
_RECORD_FIELDS = ("model", "role", "source_name")
_PARENT_FIELDS = ("parent", "parent_type", "parent_bone")
_TRANSFORM_FIELDS = (
    "rotation_mode",
    "location",
    "rotation_euler",
    "rotation_quaternion",
    "rotation_axis_angle",
    "scale",
)
_MODEL_FIELDS = ("collection", "rig", "version", "format", "document", "encoding", "fold")


@contextmanager
def rollback_on_error() -> Iterator[None]:
    """Context manager that rolls back an edit on an error.

    Created data-blocks are removed, and the parts of all mechanisms get back their membership, parents, transforms and
    collections. Bones and values of records are not restored.
    """
    moment = newest_session_uid(BUILT_KINDS)
    parts = [(obj, *_object_state(obj)) for obj in bpy.data.objects if record_of(obj).role != "NONE"]
    models = [
        (data, _values(armature_settings(data), _MODEL_FIELDS)) for data in bpy.data.armatures if data.library is None
    ]
    holders = [*bpy.data.collections, *(scene.collection for scene in bpy.data.scenes)]
    held = [(holder, holder.objects[:], holder.children[:]) for holder in holders if holder.library is None]
    try:
        yield
    except BaseException:
        with signals_blocked():
            for holder, objects, children in held:
                _restore_members(holder.objects, objects)
                _restore_members(holder.children, children)
            for obj, record, hung, inverse, place in parts:
                _restore_values(record_of(obj), record)
                _restore_values(obj, hung)
                obj.matrix_parent_inverse = inverse
                _restore_values(obj, place)
            for data, values in models:
                _restore_values(armature_settings(data), values)
            remove_datablocks_since(moment, BUILT_KINDS)
        raise


def _object_state(obj: bpy.types.Object) -> tuple[Any, ...]:
    hung = _values(
        obj, _PARENT_FIELDS if obj.parent is not None else _PARENT_FIELDS[:1]
    )  # without a parent, parent type and bone cannot be set
    return (
        _values(record_of(obj), _RECORD_FIELDS),
        hung,
        obj.matrix_parent_inverse.copy(),
        _values(obj, _TRANSFORM_FIELDS),
    )


def _values(owner: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _value(owner, name) for name in names}


def _value(owner: Any, name: str) -> Any:
    value = getattr(owner, name)
    return tuple(value) if name in _TRANSFORM_FIELDS and name != "rotation_mode" else value


def _restore_values(owner: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        if _value(owner, name) != value:
            setattr(owner, name, value)


def _restore_members(members: Any, before: list[Any]) -> None:
    """Restore the members of a collection: objects or child collections."""
    now = set(members)
    for each in now.difference(before):
        members.unlink(each)
    for each in before:
        if each not in now:
            members.link(each)
