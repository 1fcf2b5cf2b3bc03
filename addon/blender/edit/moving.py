"""Parts of one model that become another's: objects go to other collections and hang on another armature."""

from __future__ import annotations

from collections.abc import Iterable

import bpy
from mathutils import Matrix

from ..access import record_of, settings

#: The collections of a model, in the order in which Blender may delete what is in them.
KINDS = ("Joints", "Bodies", "Collision", "Frames")


def new_folders(rig: bpy.types.Object, name: str, beside: bpy.types.Collection) -> None:
    """Give a model collections of its own, in the scenes and collections that another model's is in."""
    top = bpy.data.collections.new(name)
    for kind in KINDS:
        top.children.link(bpy.data.collections.new(kind))
    holders = [scene.collection for scene in bpy.data.scenes] + [*bpy.data.collections]
    for holder in holders:
        if beside.name in holder.children and holder.children[beside.name] == beside:
            holder.children.link(top)
    top.objects.link(rig)
    settings(rig).collection = top


def belongings(bodies: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """What hangs on bodies and goes where they go: collision shapes, frames, labels, and what else hangs there."""
    return list(dict.fromkeys(child for body in bodies for child in body.children_recursive))


def hand_over(
    objects: Iterable[bpy.types.Object], old: bpy.types.Object, new: bpy.types.Object, shift: Matrix | None = None
) -> None:
    """Have objects of one model be another's, in collections of the same names as before. ``shift`` leads from where
    the one counts its design to where the other does; None: they count alike. What hangs on the armature hangs on the
    other one as a whole, until that is refitted."""
    for obj in objects:
        paths = _paths(settings(old).collection, obj)
        for folder in list(obj.users_collection):
            folder.objects.unlink(obj)
        for path in paths or [("Frames",)]:
            _folder(settings(new).collection, path).objects.link(obj)
        record = record_of(obj)
        if record.model == old:
            record.model = new
        if obj.parent == old:
            obj.parent = new
            if shift is not None:
                obj.parent_type, obj.parent_bone = "OBJECT", ""
                obj.matrix_parent_inverse = Matrix()
                obj.matrix_basis = shift @ obj.matrix_basis


def _paths(top: bpy.types.Collection, obj: bpy.types.Object) -> list[tuple[str, ...]]:
    """The names of the collections, from a model's own downwards, that an object is in."""
    found: list[tuple[str, ...]] = []

    def look(collection: bpy.types.Collection, path: tuple[str, ...]) -> None:
        for child in collection.children:
            here = (*path, child.name.split(".")[0])
            if child in obj.users_collection:
                found.append(here)
            look(child, here)

    look(top, ())
    return found


def _folder(top: bpy.types.Collection, path: tuple[str, ...]) -> bpy.types.Collection:
    for name in path:
        inner = next((child for child in top.children if child.name.split(".")[0] == name), None)
        if inner is None:
            inner = bpy.data.collections.new(name)
            top.children.link(inner)
        top = inner
    return top
