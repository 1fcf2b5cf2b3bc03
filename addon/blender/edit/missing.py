"""What of a model is missing: deleted by hand, or by what Blender deletes with it. Quick enough to be asked at every
redraw: it looks at records, and reads no document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import bpy

from ...model.sides import name_list
from ..access import armature_settings, record_of, settings
from ..model_parts import carrying_bones, is_foreign, parts, parts_by_role
from ..physics.homes import home_of

#: The roles of objects that stand for something of the model's file.
FILED = ("BODY", "JOINT", "FRAME", "LIGHT", "SHAPE", "LABEL")
_MOST_NAMES = 3

#: A model's objects by role.
Parts = Mapping[str, list[bpy.types.Object]]


def missing(rig: bpy.types.Object, every: Parts | None = None) -> list[str]:
    """What a model lacks, in sentences; empty where it is whole. ``every``: its parts by role, where they are at hand.
    What was deleted with all that held it is not among it: that is how a model is made smaller."""
    return list(_missing(rig, parts_by_role(rig) if every is None else every))


def _missing(rig: bpy.types.Object, every: Parts) -> Iterator[str]:
    if record_of(rig).role != "MODEL" or settings(rig).rig is None:
        yield "What is known of the model as a whole was cleared"
    top = settings(rig).collection
    if top is None:
        yield "The collection of the model was deleted"
        return
    if top.all_objects.get(rig.name) != rig:
        yield "The armature was deleted"
    bodies, joints = every.get("BODY", []), every.get("JOINT", [])
    gone = lost_ends(bodies, joints)
    if gone:
        yield f"Deleted, and still held by joints: {gone}"
    boneless = _boneless(rig, bodies, joints)
    if boneless:
        yield f"The armature has no bone for {boneless}"
    if settings(rig).format and settings(rig).document is None:
        yield "The text of its file was deleted: exports write a new one, without what only the text knew"
    if has_lost_physics(rig, bodies):
        yield "The rigid-body world was deleted, and the model's physics with it"


def lost_ends(bodies: list[bpy.types.Object], joints: list[bpy.types.Object]) -> str:
    """The names of bodies that joints lack, of joints where even these are forgotten."""
    known = set(bodies)
    names = []
    for empty in joints:
        joint = record_of(empty).joint
        ends = [joint.parent, joint.child]
        names += [record_of(end).source_name or end.name for end in ends if end is not None and end not in known]
        if ends.count(None) > joint.at_world and joint.active:
            names.append(f"a body of {empty.name}")
    return name_list(list(dict.fromkeys(names)), _MOST_NAMES)


def _boneless(rig: bpy.types.Object, bodies: list[bpy.types.Object], joints: list[bpy.types.Object]) -> str:
    """The names of bodies that nothing in the armature moves."""
    carried, roots = carrying_bones(rig)
    held = [record.joint for record in map(record_of, joints) if record.source_id in carried]
    moved = {joint.child for joint in held} | {joint.parent for joint in held}
    names = [obj.name for obj in bodies if obj not in moved and record_of(obj).source_id not in roots]
    return name_list(names, _MOST_NAMES)


def has_lost_physics(rig: bpy.types.Object, bodies: list[bpy.types.Object]) -> bool:
    """Whether a model had physics and its world was taken from under it: what clears physics leaves nothing that
    tells of it."""
    model = settings(rig)
    home = home_of(rig)
    if home is not None:
        return home.rigidbody_world.constraints is None
    had = model.before.made_world or model.before.joined_world or any(obj.rigid_body is not None for obj in bodies)
    return had or (model.drive != "KEYS" and bool(bodies))


def lost_models(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """The models without an armature in any scene, of which a scene has parts; or of which no scene has any, and
    collections have, whose own was deleted."""
    of_scene = dict.fromkeys(record_of(obj).model for obj in scene.objects if record_of(obj).role in ("BODY", "JOINT"))
    rigs = {rig for rig in of_scene if rig is not None}
    rigs |= {rig for data in bpy.data.armatures if (rig := armature_settings(data).rig) is not None}
    lost = [rig for rig in rigs if rig.type == "ARMATURE" and not rig.users_scene and not is_foreign(rig)]
    if not lost:
        return []
    held = {record_of(obj).model for obj in bpy.data.objects if record_of(obj).role == "BODY" and obj.users_collection}
    return sorted((rig for rig in lost if rig in of_scene or rig in held), key=lambda rig: rig.name)


def orphans(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Bodies and joints of a scene whose model is gone for good, of one model: those that are in the collection of the
    first of them."""
    lost = [obj for obj in scene.objects if record_of(obj).role in FILED and record_of(obj).model is None]
    first = next((obj for obj in lost if record_of(obj).role in ("BODY", "JOINT")), None)
    if first is None:
        return []
    top = top_of(first, scene)
    return [obj for obj in lost if top is None or obj.name in top.all_objects]


def top_of(obj: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Collection | None:
    """The uppermost collection of a scene that an object is in and that has parts of no other model, which is its
    model's."""
    model = record_of(obj).model
    for child in scene.collection.children_recursive:
        if child.all_objects.get(obj.name) != obj:
            continue
        if all(record_of(each).model == model for each in child.all_objects if record_of(each).role in FILED):
            return child
    return None


def let_go(rig: bpy.types.Object, ids: Iterable[str]) -> None:
    """Remember that parts were taken away on purpose: they do not come back."""
    kept = settings(rig).let_go.split("\n")
    settings(rig).let_go = "\n".join(dict.fromkeys(filter(None, (*kept, *ids))))


def own_part_ids(rig: bpy.types.Object) -> set[str]:
    """The ids of a model's bodies and joints."""
    return {record_of(obj).source_id for role in ("BODY", "JOINT") for obj in parts(rig, role)}
