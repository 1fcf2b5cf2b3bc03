"""Taking back what a work on models had begun when it failed: an operator that is cancelled makes no step to undo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bpy

from ..data.access import armature_settings, record_of
from ..data.datablocks import latest, remove_since
from ..events.signals import quiet
from ..reconcile.build import KINDS

#: What tells which model something is of, and where it hangs.
_RECORD = ("model", "role", "source_name")
_HUNG = ("parent", "parent_type", "parent_bone")
_PLACE = ("rotation_mode", "location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "scale")
_MODEL = ("collection", "rig", "version", "format", "document", "encoding", "fold")


@contextmanager
def as_before() -> Iterator[None]:
    """On an error within it: remove what was made, and have the parts of all models hang, belong and lie in collections
    as they did. Their bones and numbers are not looked after."""
    moment = latest(KINDS)
    parts = [(obj, *_state_of(obj)) for obj in bpy.data.objects if record_of(obj).role != "NONE"]
    models = [(data, _values(armature_settings(data), _MODEL)) for data in bpy.data.armatures if data.library is None]
    holders = [*bpy.data.collections, *(scene.collection for scene in bpy.data.scenes)]
    held = [(holder, holder.objects[:], holder.children[:]) for holder in holders if holder.library is None]
    try:
        yield
    except BaseException:
        with quiet():
            for holder, objects, children in held:
                _hold(holder.objects, objects)
                _hold(holder.children, children)
            for obj, record, hung, inverse, place in parts:
                _put(record_of(obj), record)
                _put(obj, hung)
                obj.matrix_parent_inverse = inverse
                _put(obj, place)
            for data, values in models:
                _put(armature_settings(data), values)
            remove_since(moment, KINDS)
        raise


def _state_of(obj: bpy.types.Object) -> tuple[Any, ...]:
    hung = _values(obj, _HUNG if obj.parent is not None else _HUNG[:1])  # how it hung there none can set
    return _values(record_of(obj), _RECORD), hung, obj.matrix_parent_inverse.copy(), _values(obj, _PLACE)


def _values(owner: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _value(owner, name) for name in names}


def _value(owner: Any, name: str) -> Any:
    value = getattr(owner, name)
    return tuple(value) if name in _PLACE and name != "rotation_mode" else value


def _put(owner: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        if _value(owner, name) != value:
            setattr(owner, name, value)


def _hold(members: Any, before: list[Any]) -> None:
    """Have a collection hold what it held, of objects or of collections."""
    now = set(members)
    for each in now.difference(before):
        members.unlink(each)
    for each in before:
        if each not in now:
            members.link(each)
