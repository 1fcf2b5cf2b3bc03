"""The collision shapes that hang on bodies as hidden children, where bodies are copied: Blender copies what is
selected, and selects nothing that is hidden."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import bpy
from bpy.app.handlers import persistent

from ..events.signals import Handlers, hang, take_down
from .access import armature_settings, record_of, settings
from .properties.model import KnuckleObject
from .queries import is_foreign, is_in, parts, was_numbered

#: Children by the number of the shape that they stand for.
Children = dict[int, bpy.types.Object]


def copy_beside(obj: bpy.types.Object) -> bpy.types.Object:
    """A copy of an object in the same collections; into that of the world Blender puts some itself."""
    made = obj.copy()
    for folder in obj.users_collection:
        if folder.objects.get(made.name) is None:
            folder.objects.link(made)
    return made


def complete_children(rig: bpy.types.Object, first: bpy.types.Object | None) -> None:
    """Give the bodies of a model that is a copy the collision children that it came without, from the ``first`` that it
    was copied from. Where that is in another file, and none came at all, the bodies remember that nobody deleted
    any."""
    lacking = _without_children(rig)
    if not lacking:
        return
    some_came = any(record_of(child).shape >= 0 for child in parts(rig, "SHAPE"))
    known: dict[str, tuple[bpy.types.Object, Children]] = {}
    if first is not None:
        hung = _children(first)
        known = {record_of(obj).source_id: (obj, hung.get(obj, {})) for obj in parts(first, "BODY")}
    for obj, numbers in lacking.items():
        record = record_of(obj)
        original, children = known.get(record.source_id, (None, {}))
        if original is None or len(record_of(original).shapes) != len(record.shapes):
            record.without_children = not some_came
            continue
        for number in numbers & children.keys():  # what is not there was deleted from the original too
            made = copy_beside(children[number])
            made.parent = obj
            made.matrix_parent_inverse = children[number].matrix_parent_inverse.copy()
            record_of(made).model, record_of(made).built_name = rig, made.name


def _without_children(rig: bpy.types.Object) -> dict[bpy.types.Object, set[int]]:
    """The bodies of a model that came with none of the children that stand for their shapes, with the shapes'
    numbers."""
    hung = _children(rig)
    out = {}
    for obj in parts(rig, "BODY"):
        numbers = {number for number, shape in enumerate(record_of(obj).shapes) if shape.has_child}
        if numbers and obj not in hung and not record_of(obj).without_children:
            out[obj] = numbers
    return out


def _children(rig: bpy.types.Object) -> dict[bpy.types.Object, Children]:
    out: dict[bpy.types.Object, Children] = {}
    for child in parts(rig, "SHAPE"):
        if child.parent is not None:
            out.setdefault(child.parent, {})[record_of(child).shape] = child
    return out


_NAMED = ("BODY", "JOINT", "FRAME", "LIGHT", "SHAPE")

#: The armatures that were seen to, with their data, by their ``session_uid``.
_settled: set[tuple[int, int]] = set()
#: The armatures that were made here or came with their file, by their ``session_uid``, whatever undo does: it may lead
#: back to the file as it was read, which has no marks of this session.
_at_home: set[int] = set()
#: What the armatures were when they were looked through last.
_seen: dict[str, tuple[Any, ...] | None] = {"armatures": None}


def settle(rig: bpy.types.Object) -> None:
    """Make an armature with the settings of a model the owner of these, unless it is the linked copy of another; and
    have what Blender numbered of the parts of one that came keep their names for files."""
    _own(rig)
    model = settings(rig)
    if model.rig == rig and not _holds(model.collection, rig):
        model.collection = next((each for each in rig.users_collection if _holds(each, rig)), model.collection)
    if record_of(rig).settled != _mark(rig):
        if rig.session_uid not in _at_home:
            complete_children(rig, _original(rig))
            _keep_names(rig)
        record_of(rig).settled = _mark(rig)


#: What the marks of this session begin with: an armature that comes from another one may have its number there.
_SESSION = f"{os.getpid()}:"


def _mark(rig: bpy.types.Object) -> str:
    return f"{_SESSION}{rig.session_uid}"


def _original(rig: bpy.types.Object) -> bpy.types.Object | None:
    """The model that one which came is a copy of: that whose mark it has, or in whose collection it lies."""
    others = [other for other in _models() if other != rig and other.users_scene]
    marked = (other for other in others if _mark(other) == record_of(rig).settled)
    beside = (other for other in others if settings(other).collection == settings(rig).collection is not None)
    return next(marked, None) or next(beside, None)


def _own(rig: bpy.types.Object) -> None:
    model, owner = settings(rig), settings(rig).rig
    if owner == rig:
        return
    shared = owner is not None and owner.data == rig.data
    if not (shared and any(is_in(scene, owner) for scene in bpy.data.scenes)):
        model.rig = rig


def _holds(collection: bpy.types.Collection | None, rig: bpy.types.Object) -> bool:
    """Return whether a collection has a model: its armature, or any of its bodies."""
    if collection is None or collection.library is not None or collection.override_library is not None:
        return False
    if collection.objects.get(rig.name) == rig:
        return True
    return any(record_of(obj).model == rig and record_of(obj).role == "BODY" for obj in collection.all_objects)


def _keep_names(rig: bpy.types.Object) -> None:
    """A part that is the only one of its id has the name that it was built with, whatever number came to it.

    Of several those with a number are copies that the user made within the model.
    """
    every = [obj for role in _NAMED for obj in parts(rig, role)]
    count = Counter(map(_key, every))
    for obj in every:
        record = record_of(obj)
        if count[_key(obj)] != 1 or obj.library is not None:
            continue
        for name in ("built_name", "seen_name"):
            if was_numbered(obj.name, getattr(record, name)):
                setattr(record, name, obj.name)
    _keep_seen_twins(every)


def _keep_seen_twins(every: list[bpy.types.Object]) -> None:
    known = {_key(obj): obj for obj in every}
    for obj in every:
        record: KnuckleObject = record_of(obj)
        twin = known.get((record.role, record.twin))
        if twin is not None and was_numbered(twin.name, record.seen_twin_name):
            record.seen_twin_name = twin.name


def _key(obj: bpy.types.Object) -> tuple[str, str]:
    return record_of(obj).role, record_of(obj).source_id


def is_settled(rig: bpy.types.Object) -> None:
    """Take a model that was made just now for one that was seen to: it owns its settings, and nothing of it came with
    a number."""
    assert rig.data is not None
    _settled.add((rig.session_uid, rig.data.session_uid))
    _mark_as_at_home(rig)


def _mark_as_at_home(rig: bpy.types.Object) -> None:
    _at_home.add(rig.session_uid)
    record_of(rig).settled = _mark(rig)


@persistent
def after_update(_scene: bpy.types.Scene, _depsgraph: bpy.types.Depsgraph) -> None:
    """See to the models that came.

    Only where there are other armatures than before, or more users of one: to look for them among all that Blender
    tells of would take long after every change.
    """
    state = _state_of_armatures()
    if state == _seen["armatures"]:
        return
    _seen["armatures"] = state
    for rig in _models():
        if not rig.users_scene:
            continue
        key = rig.session_uid, rig.data.session_uid
        cleared = settings(rig).rig is None and settings(rig).collection is None  # it stays to be seen that it was
        if not cleared and (key not in _settled or settings(rig).rig is None):
            _settled.add(key)
            settle(rig)
            _seen["armatures"] = None  # it has another owner now


def _state_of_armatures() -> tuple[Any, ...]:
    """Return what changes where a model came, or came to be of this file."""
    return tuple(
        (data.session_uid, data.users, data.library is None, data.override_library is None, _owner(data))
        for data in bpy.data.armatures
    )


def _owner(data: bpy.types.Armature) -> int:
    rig = armature_settings(data).rig
    return 0 if rig is None else rig.session_uid


@persistent
def forget(*_args: Any) -> None:
    """After undo, which may take back what was settled."""
    _settled.clear()
    _seen["armatures"] = None


@persistent
def after_load(*_args: Any) -> None:
    """The models of a file were settled when they came into it."""
    forget()
    _at_home.clear()
    for rig in _models():
        _know(rig)


def _models() -> Iterator[bpy.types.Object]:
    """The models that can be worked on; none while Blender starts."""
    for rig in getattr(bpy.data, "objects", ()):
        if rig.type == "ARMATURE" and record_of(rig).role == "MODEL" and not is_foreign(rig):
            yield rig


def _know(rig: bpy.types.Object) -> None:
    """Take a model that came with its file for one that was seen to, but for whose settings it shows: that may be gone
    by now."""
    if settings(rig).rig == rig:
        is_settled(rig)
    else:
        _mark_as_at_home(rig)


_HANDLERS: Handlers = (
    ("depsgraph_update_post", after_update),
    ("load_post", after_load),
    ("load_factory_startup_post", after_load),
    ("undo_post", forget),
    ("redo_post", forget),
)


def register() -> None:
    """Hang in what sees to models that come.

    Those that are there came with their file, unless they have a mark of this session: such were seen to before, or are
    copies of such that came meanwhile.
    """
    hang(_HANDLERS)
    for rig in _models():
        if not record_of(rig).settled.startswith(_SESSION):
            _know(rig)


def unregister() -> None:
    """Take it out again."""
    take_down(_HANDLERS)
    forget()
    _at_home.clear()
