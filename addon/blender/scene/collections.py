"""Collections of a mechanism: Joints, Helpers, Bodies, Collision and Frames.

Joints and Bodies contain a tree of its assemblies. Parts that are switched off are in collections that no view layer
has, or hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import bpy

from ...core.editing.edits import Edit, active_paths, lacks_body, parent_assembly_path
from ...core.model import Assembly, body_by_id, joint_by_id
from ..data.access import has_base_name, record_of, settings
from ..data.queries import HELPERS, child_collection
from ..rig.dials import EMPTY_TYPE

#: Kinds of collections. Blender deletes in this order: simulated bodies after the constraints on them, or it crashes;
#: helper objects after the joints that refer to them, or they remain in the file.
ALL_COLLECTION_KINDS = ("Joints", HELPERS, "Bodies", "Collision", "Frames")
#: Kinds with parts of the mechanism.
COLLECTION_KINDS = tuple(kind for kind in ALL_COLLECTION_KINDS if kind != HELPERS)
#: Roles of the objects that represent parts of a model file, and the child collections that hold them.
ROLE_COLLECTIONS = {
    "BODY": "Bodies", "JOINT": "Joints", "SHAPE": "Collision", "FRAME": "Frames", "LIGHT": "Frames", "LABEL": "Frames",
}  # fmt: skip
#: Name of the collections of parts that are switched off by themselves.
OFF_NAME = "Off"


class ModelCollections:
    """Collections of a mechanism, created on demand below ``top``, which is best not in a scene yet.

    An assembly's collection is in that of the assembly around it (``robot:arm`` in ``robot``). Inactive parts go into
    collections that ``exclude_off`` excludes from the view layers: kept, not shown, not evaluated.
    """

    def __init__(self, name: str, assemblies: Iterable[Assembly], top: bpy.types.Collection | None = None) -> None:
        """Use ``top``, an existing mechanism's collection; None: a new one, in which all kinds are created."""
        self.top = top or bpy.data.collections.new(name)
        self._assemblies = {assembly.path: assembly for assembly in assemblies}
        self._made: dict[tuple[str, ...], bpy.types.Collection] = {}
        self._off: list[bpy.types.Collection] = []
        for kind in ALL_COLLECTION_KINDS if top is None else ():
            self[kind]

    def __getitem__(self, kind: str) -> bpy.types.Collection:
        return self._made.get((kind,)) or self._under(self.top, kind, (kind,))

    def folder(self, kind: str, assembly: str = "", active: bool = True) -> bpy.types.Collection:
        """Return the collection for an object; ``active`` False: the object itself is switched off."""
        made = self._made.get((kind, assembly, "" if active else OFF_NAME))
        if made is None:
            made = self._folder(kind, assembly) if active else self._off_folder(kind, assembly)
            self._made[kind, assembly, "" if active else OFF_NAME] = made
        return made

    def beside(self, kind: str, assembly: str, active: bool) -> bpy.types.Collection:
        """Return the collection for a part of a body: one for all, but an excluded one with an inactive body."""
        off = not active or any(not self._assemblies[part].active for part in self._chain(assembly))
        return self.folder(kind, assembly, active) if off else self[kind]

    def _folder(self, kind: str, path: str) -> bpy.types.Collection:
        assembly = self._assemblies.get(path)
        if assembly is None:
            return self[kind]
        outer = self.folder(kind, parent_assembly_path(path, self._assemblies))
        made = self._under(outer, assembly.name or path, (kind, path))
        if not assembly.active:
            self._off.append(made)
        return made

    def _off_folder(self, kind: str, path: str) -> bpy.types.Collection:
        """Return the collection for parts switched off by themselves; in an inactive assembly its own."""
        if any(not self._assemblies[part].active for part in self._chain(path)):
            return self.folder(kind, path)
        made = self._under(self.folder(kind, path), OFF_NAME, (kind, path, OFF_NAME))
        self._off.append(made)
        return made

    def _chain(self, path: str) -> list[str]:
        chain = []
        while path in self._assemblies:
            chain.append(path)
            path = parent_assembly_path(path, self._assemblies)
        return chain

    def _under(self, outer: bpy.types.Collection, name: str, key: tuple[str, ...]) -> bpy.types.Collection:
        there = next((child for child in outer.children if has_base_name(child, name)), None)
        made = self._made[key] = there or bpy.data.collections.new(name)
        if there is None:
            outer.children.link(made)
            if key == ("Collision",):
                made.hide_render = True
        return made

    def exclude_off(self, scene: bpy.types.Scene) -> None:
        """Exclude the collections of inactive parts from the view layers of a scene that has the mechanism."""
        if not self._off:
            return
        for layer in scene.view_layers:
            _exclude(layer.layer_collection, set(self._off))


def _exclude(layer: bpy.types.LayerCollection, off: set[bpy.types.Collection]) -> None:
    for child in layer.children:
        if child.collection in off:
            child.exclude = True
        else:
            _exclude(child, off)


# ---------------------------------------------------------------- switching

_Objects = Mapping[str, bpy.types.Object]


def show_active_parts(rig: bpy.types.Object, edit: Edit, bodies: _Objects, joints: _Objects) -> None:
    """Show the parts that an edit switched on, and hide those that it switched off; their records are written.

    Args:
        rig: The armature.
        edit: The edit.
        bodies: Objects of the mechanism's bodies, by id.
        joints: Empties of its joints, by id.
    """
    before, active = body_by_id(edit.before), {each.path: each.active for each in edit.after.assemblies}
    for body in edit.after.bodies:
        if body.id in before and body.active != before[body.id].active:
            _hide_attachments(rig, bodies[body.id], not body.active)
    known = joint_by_id(edit.before)
    for joint in edit.after.joints:
        if joint.id in known and joint.active != known[joint.id].active:
            joints[joint.id].empty_display_type = EMPTY_TYPE if joint.active else "SPHERE"
            _hide(joints[joint.id], not joint.active and not lacks_body(joint))
    if edit.after.assemblies is edit.before.assemblies:
        return
    for row in settings(rig).assemblies:
        row.active = active.get(row.path, row.active)
    layers = [layer for scene in rig.users_scene for layer in scene.view_layers]
    for collection, off in _switched_collections(rig, edit.after.assemblies):
        for layer in layers:
            # the view layer's tree is rebuilt at every change, so no reference to it is kept meanwhile
            found = next((each for each in _descendants(layer.layer_collection) if each.collection == collection), None)
            if found is not None and found.exclude != off:
                found.exclude = off


def _hide_attachments(rig: bpy.types.Object, body: bpy.types.Object, off: bool) -> None:
    """Hide or show reference frames, lights and labels on a body with it."""
    for obj in body.children_recursive:
        if record_of(obj).model == rig and record_of(obj).role in {"FRAME", "LIGHT", "LABEL"}:
            _hide(obj, off)


def _hide(obj: bpy.types.Object, off: bool) -> None:
    if obj.hide_viewport != off:
        obj.hide_viewport = obj.hide_render = off


def _switched_collections(
    rig: bpy.types.Object, assemblies: Iterable[Assembly]
) -> list[tuple[bpy.types.Collection, bool]]:
    """Return the collections of assemblies, and of parts that are off by themselves, with whether these are off.

    Outer collections are before those inside them.
    """
    known, running = {each.path: each for each in assemblies}, active_paths(assemblies)

    def inside(outer: bpy.types.Collection, path: str) -> Iterator[tuple[bpy.types.Collection, bool]]:
        inner = [each for each in known.values() if parent_assembly_path(each.path, known) == path]
        for child in outer.children:
            found = next((each for each in inner if has_base_name(child, each.name or each.path)), None)
            if found is not None:
                yield child, found.path not in running
                yield from inside(child, found.path)
            elif has_base_name(child, OFF_NAME):
                yield child, not any(map(_is_active, child.objects))

    return [each for kind in COLLECTION_KINDS for each in inside(child_collection(rig, kind), "")]


def _is_active(obj: bpy.types.Object) -> bool:
    record = record_of(obj)
    if record.role == "JOINT":
        return record.joint.active
    owner = next((each for each in (obj, obj.parent, obj.parent and obj.parent.parent) if _is_body(each)), None)
    return owner is not None and record_of(owner).active


def _is_body(obj: bpy.types.Object | None) -> bool:
    return obj is not None and record_of(obj).role == "BODY"


def _descendants(layer: bpy.types.LayerCollection) -> Iterator[bpy.types.LayerCollection]:
    for child in layer.children:
        yield child
        yield from _descendants(child)


# ---------------------------------------------------------------- several mechanisms


def create_collections(rig: bpy.types.Object, name: str, beside: bpy.types.Collection) -> None:
    """Create collections for a mechanism, in the scenes and collections that contain the collection ``beside``."""
    top = bpy.data.collections.new(name)
    for kind in ALL_COLLECTION_KINDS:
        top.children.link(bpy.data.collections.new(kind))
    holders = [scene.collection for scene in bpy.data.scenes] + [*bpy.data.collections]
    for holder in holders:
        if beside.name in holder.children and holder.children[beside.name] == beside:
            holder.children.link(top)
    top.objects.link(rig)
    settings(rig).collection = top


def move_between_collections(obj: bpy.types.Object, old: bpy.types.Collection, new: bpy.types.Collection) -> None:
    """Move an object from a mechanism's collections to those of another with the same names."""
    paths = _collection_paths(old, obj)
    every = {old, *old.children_recursive}
    for folder in obj.users_collection:
        if folder in every:
            folder.objects.unlink(obj)
    for path in paths or [(ROLE_COLLECTIONS.get(record_of(obj).role, "Frames"),)]:
        folder = _collection_at(new, path)
        if folder.objects.get(obj.name) != obj:
            folder.objects.link(obj)


def _collection_paths(top: bpy.types.Collection, obj: bpy.types.Object) -> list[tuple[str, ...]]:
    """Return the paths of the collections that contain an object, below a mechanism's collection; () is that itself."""
    found: list[tuple[str, ...]] = [()] if top in obj.users_collection else []

    def look(collection: bpy.types.Collection, path: tuple[str, ...]) -> None:
        for child in collection.children:
            here = (*path, child.name.split(".")[0])
            if child in obj.users_collection:
                found.append(here)
            look(child, here)

    look(top, ())
    return found


def _collection_at(top: bpy.types.Collection, path: tuple[str, ...]) -> bpy.types.Collection:
    for name in path:
        inner = next((child for child in top.children if child.name.split(".")[0] == name), None)
        if inner is None:
            inner = bpy.data.collections.new(name)
            top.children.link(inner)
        top = inner
    return top


def link_parts(rig: bpy.types.Object, objects: Iterable[bpy.types.Object]) -> None:
    """Link parts of a mechanism to its collections, instead of directly to scenes."""
    for obj in objects:
        folder = child_collection(rig, ROLE_COLLECTIONS[record_of(obj).role])
        if folder.objects.get(obj.name) != obj:
            folder.objects.link(obj)
        for scene in bpy.data.scenes:
            if scene.collection.objects.get(obj.name) == obj:
                scene.collection.objects.unlink(obj)
