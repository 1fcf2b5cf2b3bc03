"""Switching of assemblies, like the flag in their file: parts that are off are kept, but not posed or simulated."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ...core.model import Assembly, Joint, Mechanism
from ...core.report import Message, Report
from ..data.access import record_of, settings
from ..data.queries import child_collection, parts
from ..events.signals import signals_blocked
from ..reconcile.rig_update import begin_edit, physics_suspended, update_armature
from ..rig.dials import EMPTY_TYPE
from ..scene.collections import ASSEMBLY_SEPARATOR, COLLECTION_KINDS, OFF_NAME, parent_assembly_path
from ..scene.read.mechanism import extract


def switch_assembly(rig: bpy.types.Object, path: str, on: bool) -> Report:
    """Switch an assembly and everything in it on or off.

    Raises:
        ValueError: The mechanism has no assembly with this path.
    """
    row = next((row for row in settings(rig).assemblies if row.path == path), None)
    if row is None:
        raise ValueError(Message("The mechanism has no assembly {}", repr(path)))
    report = Report()
    present, off = begin_edit(rig), [obj for obj in parts(rig, "BODY") if not record_of(obj).active]
    with physics_suspended(rig, report), signals_blocked():
        row.active = on
        mechanism = extract(rig)
        running = _active_paths(mechanism)
        _switch_parts(rig, mechanism, running)
        for scene in rig.users_scene:
            for layer in scene.view_layers:
                _show_collections(rig, layer, mechanism, running)
        report.extend(update_armature(rig, present, made=[obj for obj in off if record_of(obj).active]))
    return report


def _active_paths(mechanism: Mechanism) -> set[str]:
    """Return the paths of the assemblies that are on and inside of assemblies that are on; "" is the top level."""
    known = {assembly.path: assembly for assembly in mechanism.assemblies}

    def is_on(path: str) -> bool:
        return path not in known or (known[path].active and is_on(parent_assembly_path(path, known)))

    return {path for path in known if is_on(path)} | {""}


def _switch_parts(rig: bpy.types.Object, mechanism: Mechanism, running: set[str]) -> None:
    bodies = {body.id: body for body in mechanism.bodies}
    joints = {joint.id: joint for joint in mechanism.joints}
    for obj in parts(rig, "BODY"):
        body, record = bodies.get(record_of(obj).source_id), record_of(obj)
        if body is None:
            continue
        before, record.active = record.active, body.assembly in running and body.extra.get("active", True) is not False
        if record.active != before:
            _hide_attachments(rig, obj, not record.active)
    for empty in parts(rig, "JOINT"):
        joint = joints.get(record_of(empty).source_id)
        if joint is None:
            continue
        kept = record_of(empty).joint
        kept.active = _is_functional(empty, joint) and joint.assembly in running
        empty.empty_display_type = EMPTY_TYPE if kept.active else "SPHERE"
        _hide(empty, not kept.active and not _lacks_body(empty))


def _is_functional(empty: bpy.types.Object, joint: Joint) -> bool:
    """Return whether a joint is active while its assembly is on."""
    kept = record_of(empty).joint
    own = joint.extra.get("active", True) is not False and not joint.extra.get("broken")
    ends = [end for end in (kept.parent, kept.child) if end is not None]
    return own and not _lacks_body(empty) and all(record_of(end).active for end in ends)


def _lacks_body(empty: bpy.types.Object) -> bool:
    kept = record_of(empty).joint
    ends = [end for end in (kept.parent, kept.child) if end is not None]
    return len(ends) + int(kept.at_world) < 2 or kept.parent == kept.child


def _hide_attachments(rig: bpy.types.Object, body: bpy.types.Object, off: bool) -> None:
    """Hide or show reference frames, lights and labels on a body with it."""
    for obj in body.children_recursive:
        if record_of(obj).model == rig and record_of(obj).role in {"FRAME", "LIGHT", "LABEL"}:
            _hide(obj, off)


def _hide(obj: bpy.types.Object, off: bool) -> None:
    if obj.hide_viewport != off:
        obj.hide_viewport = obj.hide_render = off


def _show_collections(
    rig: bpy.types.Object, layer: bpy.types.ViewLayer, mechanism: Mechanism, running: set[str]
) -> None:
    """Exclude the collections of what is off from a view layer, and include the others.

    Note:
        The view layer's tree is rebuilt at every change, so no reference to it is kept meanwhile.
    """
    wanted: list[tuple[bpy.types.Collection, bool]] = []
    for kind in COLLECTION_KINDS:
        for assembly in sorted(mechanism.assemblies, key=lambda item: item.path.count(ASSEMBLY_SEPARATOR)):
            found = _find_collection(child_collection(rig, kind), _collection_names(assembly, mechanism))
            if found is not None:
                wanted.append((found, assembly.path not in running))
    for inner in settings(rig).collection.children_recursive:
        if _has_name(inner.name, OFF_NAME):
            wanted.append((inner, not any(map(_is_active, inner.objects))))
    for collection, off in wanted:
        found_layer = next(
            (each for each in _descendant_layers(layer.layer_collection) if each.collection == collection), None
        )
        if found_layer is not None and found_layer.exclude != off:
            found_layer.exclude = off


def _is_active(obj: bpy.types.Object) -> bool:
    record = record_of(obj)
    if record.role == "JOINT":
        return record.joint.active
    owner = next((each for each in (obj, obj.parent, obj.parent and obj.parent.parent) if _is_body(each)), None)
    return owner is not None and record_of(owner).active


def _is_body(obj: bpy.types.Object | None) -> bool:
    return obj is not None and record_of(obj).role == "BODY"


def _collection_names(assembly: Assembly, mechanism: Mechanism) -> list[str]:
    known = {item.path: item for item in mechanism.assemblies}
    path, names = assembly.path, list[str]()
    while path in known:
        names.insert(0, known[path].name or path)
        path = parent_assembly_path(path, known)
    return names


def _find_collection(collection: bpy.types.Collection, names: list[str]) -> bpy.types.Collection | None:
    """Return the nested collection of these names, from the outer to the inner; None if there is none."""
    for name in names:
        found = next((each for each in collection.children if _has_name(each.name, name)), None)
        if found is None:
            return None
        collection = found
    return collection


def _has_name(name: str, wanted: str) -> bool:
    """Return whether a collection has a name, possibly with Blender's number suffix."""
    rest = name[len(wanted) :]
    return name.startswith(wanted) and (not rest or (rest[0] == "." and rest[1:].isdigit()))


def _descendant_layers(layer: bpy.types.LayerCollection) -> Iterator[bpy.types.LayerCollection]:
    for child in layer.children:
        yield child
        yield from _descendant_layers(child)
