"""Parts of one model that become another's: objects go to other collections and hang on another armature."""

from __future__ import annotations

from collections.abc import Iterable

import bpy
from mathutils import Matrix

from ..build.folders import ALL_KINDS
from ..data.access import armature_settings, record_of, settings
from ..data.queries import strays
from .needed import FOLDERS
from .strangers import hanging_on, is_own


def new_folders(rig: bpy.types.Object, name: str, beside: bpy.types.Collection) -> None:
    """Give a model collections of its own, in the scenes and collections that another model's is in."""
    top = bpy.data.collections.new(name)
    for kind in ALL_KINDS:
        top.children.link(bpy.data.collections.new(kind))
    holders = [scene.collection for scene in bpy.data.scenes] + [*bpy.data.collections]
    for holder in holders:
        if beside.name in holder.children and holder.children[beside.name] == beside:
            holder.children.link(top)
    top.objects.link(rig)
    settings(rig).collection = top


def part_folders(rig: bpy.types.Object) -> None:
    """Give a model that shares its collection with another, as copies made with Shift+D do, collections of its own; and
    put into its collections what of it was moved into others."""
    top, moved = settings(rig).collection, strays(rig)
    sharing = (armature_settings(data) for data in bpy.data.armatures)
    if not any(model.collection == top and model.rig not in (None, rig) for model in sharing):
        own = moved
    else:
        own = [rig, *(obj for obj in top.all_objects if obj != rig and is_own(obj, rig)), *moved]
        new_folders(rig, record_of(rig).source_name or rig.name, top)
    for obj in own:
        _change_folders(obj, top, settings(rig).collection)


def belongings(bodies: Iterable[bpy.types.Object], rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return what of a model hangs on its bodies and goes where they go: collision shapes, frames, labels. What the
    user hung there hangs there still."""
    own, _strangers = hanging_on(bodies, rig)
    return [obj for obj in own if record_of(obj).role not in {"BODY", "JOINT"}]


def hand_over(
    objects: Iterable[bpy.types.Object], old: bpy.types.Object, new: bpy.types.Object, shift: Matrix | None = None
) -> None:
    """Have parts of one model be another's, in collections of the same names as before; in the user's own collections
    they stay. ``shift`` leads from where the one counts its design to where the other does; None: they count alike.
    What hangs on the armature hangs on the other one as a whole, until that is refitted."""
    for obj in objects:
        _change_folders(obj, settings(old).collection, settings(new).collection)
        record_of(obj).model = new
        if obj.parent == old:
            hung = obj.matrix_parent_inverse.copy()  # which a new parent resets
            obj.parent, obj.matrix_parent_inverse = new, hung
            if shift is not None:
                obj.parent_type, obj.parent_bone = "OBJECT", ""
                obj.matrix_parent_inverse = Matrix()
                obj.matrix_basis = shift @ obj.matrix_basis


def hand_over_strangers(old: bpy.types.Object, new: bpy.types.Object) -> None:
    """Have what is in a model's collections without being its part be in those of another model, collections that the
    user put there as a whole."""
    top = settings(old).collection
    for child in list(top.children):
        if child.name.split(".")[0] not in ALL_KINDS:
            top.children.unlink(child)
            settings(new).collection.children.link(child)
    for obj in list(top.all_objects):
        if not is_own(obj, old):
            _change_folders(obj, top, settings(new).collection)


def _change_folders(obj: bpy.types.Object, old: bpy.types.Collection, new: bpy.types.Collection) -> None:
    """Take an object out of a model's collections, and put it into those of another's that have the same names."""
    paths = _paths(old, obj)
    every = {old, *old.children_recursive}
    for folder in obj.users_collection:
        if folder in every:
            folder.objects.unlink(obj)
    for path in paths or [(FOLDERS.get(record_of(obj).role, "Frames"),)]:
        folder = _folder(new, path)
        if folder.objects.get(obj.name) != obj:
            folder.objects.link(obj)


def _paths(top: bpy.types.Collection, obj: bpy.types.Object) -> list[tuple[str, ...]]:
    """The names of the collections, from a model's own downwards, that an object is in: none for that itself."""
    found: list[tuple[str, ...]] = [()] if top in obj.users_collection else []

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
