"""Collections of a mechanism: Joints, Helpers, Bodies, Collision and Frames.

Joints and Bodies contain a tree of its assemblies.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ...core.editing.assemblies import parent_assembly_path
from ...core.model import Assembly
from ..data.access import NUMBER_SUFFIX
from ..data.queries import HELPERS

#: Kinds of collections. Blender deletes in this order: simulated bodies after the constraints on them, or it crashes;
#: helper objects after the joints that refer to them, or they remain in the file.
ALL_COLLECTION_KINDS = ("Joints", HELPERS, "Bodies", "Collision", "Frames")
#: Kinds with parts of the mechanism.
COLLECTION_KINDS = tuple(kind for kind in ALL_COLLECTION_KINDS if kind != HELPERS)
#: Name of the collections of parts that are switched off by themselves.
OFF_NAME = "Off"


class ModelCollections:
    """Collections of a mechanism, created on demand below ``top``, which is best not in a scene yet.

    An assembly's collection is in that of the assembly around it (``robot:arm`` in ``robot``). Inactive parts go into
    collections that ``exclude_off`` excludes from the view layers: kept, not shown, not evaluated.
    """

    def __init__(self, name: str, assemblies: Iterable[Assembly], top: bpy.types.Collection | None = None) -> None:
        """Create the collections missing in ``top``, an existing mechanism's collection; None: in a new one."""
        self.top = top or bpy.data.collections.new(name)
        self._assemblies = {assembly.path: assembly for assembly in assemblies}
        self._made: dict[tuple[str, ...], bpy.types.Collection] = {}
        self._off: list[bpy.types.Collection] = []
        for kind in ALL_COLLECTION_KINDS:
            self._under(self.top, kind, (kind,))
        self["Collision"].hide_render = True

    def __getitem__(self, kind: str) -> bpy.types.Collection:
        return self._made[kind,]

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
        return made

    def exclude_off(self, scene: bpy.types.Scene) -> None:
        """Exclude the collections of inactive parts from the view layers of a scene that has the mechanism."""
        if not self._off:
            return
        for layer in scene.view_layers:
            _exclude(layer.layer_collection, set(self._off))


def has_base_name(collection: bpy.types.Collection, name: str) -> bool:
    """Return whether a collection has a given name, apart from a number that Blender may have appended."""
    return collection.name == name or NUMBER_SUFFIX.sub("", collection.name) == name


def _exclude(layer: bpy.types.LayerCollection, off: set[bpy.types.Collection]) -> None:
    for child in layer.children:
        if child.collection in off:
            child.exclude = True
        else:
            _exclude(child, off)
