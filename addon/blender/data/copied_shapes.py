"""The collision shapes that hang on bodies as hidden children, where bodies are copied: Blender copies what is
selected, and selects nothing that is hidden."""

from __future__ import annotations

import bpy

from .access import record_of
from .queries import parts

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
