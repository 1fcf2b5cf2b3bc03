"""Visibility of assemblies: parts that are switched off are in collections that no view layer has, or hidden."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import bpy

from ...core.editing.assemblies import active_paths, lacks_body, parent_assembly_path
from ...core.editing.edits import Edit, body_by_id, joint_by_id
from ...core.model import Assembly
from ..data.access import record_of, settings
from ..data.queries import child_collection
from ..rig.dials import EMPTY_TYPE
from ..scene.collections import COLLECTION_KINDS, OFF_NAME, has_base_name

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
