"""What of a model is missing: deleted by hand, or by what Blender deletes with it. Quick enough to be asked after
every change: it looks at records, and reads no document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import bpy

from ...core.editing.sides import name_list
from ..build.folders import is_called
from ..data.access import armature_of, armature_settings, bone_record, record_of, settings
from ..data.queries import every_part, file_name, is_foreign, is_orphan_part, parts, parts_by_role
from ..physics.world.membership import home_of, scene_for
from ..physics.world.rigidbody_world import is_of_other_file
from .needed import FOLDERS, deleted, lacks_end, lost_folders, unmoved

#: The roles of objects that stand for something of the model's file.
FILED = tuple(FOLDERS)
_MOST_NAMES = 3

#: A model's objects by role.
Parts = Mapping[str, list[bpy.types.Object]]


@dataclass(frozen=True)
class Lack:
    """One thing that a model lacks: a ``code`` as a check has it, and what is told of it."""

    code: str
    told: str


def missing(rig: bpy.types.Object, every: Parts | None = None) -> list[str]:
    """Return what a model lacks, in sentences; empty where it is whole. ``every``: its parts by role, where they are at
    hand. What was deleted with all that held it is not among it: that is how a model is made smaller (``needed``)."""
    return [lack.told for lack in lacks_of(rig, every)]


def lacks_of(rig: bpy.types.Object, every: Parts | None = None) -> list[Lack]:
    """List what a model lacks, with the codes that a check has for that; ``missing`` says what counts."""
    return list(_lacks(rig, parts_by_role(rig) if every is None else every))


def _lacks(rig: bpy.types.Object, every: Parts) -> Iterator[Lack]:
    if record_of(rig).role != "MODEL" or settings(rig).rig is None:
        yield Lack("facts-gone", "What is known of the model as a whole was cleared")
    top = settings(rig).collection
    if top is None:
        yield Lack("collection-gone", "The collection of the model was deleted")
        return
    if scene_of(top) is None:
        yield Lack("collection-gone", "The collection of the model is in no scene")
    if is_armature_gone(rig):
        yield Lack("armature-gone", "The armature was deleted")
    bodies, joints = every.get("BODY", []), every.get("JOINT", [])
    gone = lost_ends(bodies, joints)
    if gone:
        yield Lack("body-gone", f"Deleted, and still held by joints: {gone}")
    boneless = unmoved(rig, bodies, joints)
    if boneless:
        yield Lack("unmoved", why_unmoved(rig, boneless))
    folders = lost_folders(rig)
    if folders:
        folders &= {record_of(obj).role for obj in deleted(rig)}
    if folders:
        names = name_list(sorted({FOLDERS[role] for role in folders}))
        yield Lack("folder-gone", f"Deleted, with what was in it: collection {names}")
    if settings(rig).format and settings(rig).document is None:
        yield Lack(
            "text-gone",
            "The text of its file was deleted: exports write a new one, without what only the text knew. Rebuild "
            "Missing Parts looks for it",
        )
    if has_lost_physics(rig, bodies):
        yield Lack("world-gone", _lost_physics(rig))


def why_unmoved(rig: bpy.types.Object, boneless: Iterable[bpy.types.Object]) -> str:
    """Return what is wrong with bodies that nothing moves: their joints were deleted, or bones were."""
    bodies = list(boneless)
    names = name_list([file_name(obj) for obj in bodies], _MOST_NAMES)
    lost = name_list(lost_joint_names(rig, bodies), _MOST_NAMES)
    if lost:
        return f"Deleted, and nothing else holds {names}: joint {lost}"
    return f"The armature has no bone for {names}"


def lost_joint_names(rig: bpy.types.Object, bodies: Iterable[bpy.types.Object]) -> list[str]:
    """The names of deleted joints that held bodies to others which are there, or to the world. Their bones tell, which
    stay: Blender forgets an object that nothing points at."""
    known = {record_of(obj).source_id for obj in every_part(rig, "JOINT")}
    carriers = {obj.parent_bone for obj in every_part(rig, "BODY") if obj.parent == rig}
    bones, names = armature_of(rig).bones, dict[str, None]()
    for body in bodies:
        bone = bones.get(body.parent_bone) if body.parent == rig else None
        joint = bone_record(bone).joint if bone is not None else ""
        if bone is None or not joint or joint in known:
            continue
        above = bone.parent
        while above is not None and bone_record(above).joint == joint:
            above = above.parent
        if above is None or above.name in carriers:
            names[bone.name] = None
    return list(names)


def is_armature_gone(rig: bpy.types.Object) -> bool:
    """Return whether the armature of a model was deleted, and was not merely moved into another collection: Blender
    keeps what our records point at, in none."""
    top = settings(rig).collection
    return (top is None or top.all_objects.get(rig.name) != rig) and not rig.users_scene


def scene_of(top: bpy.types.Collection) -> bpy.types.Scene | None:
    """A scene that has a collection."""
    return next((scene for scene in bpy.data.scenes if top in scene.collection.children_recursive), None)


def lost_ends(bodies: list[bpy.types.Object], joints: list[bpy.types.Object]) -> str:
    """The names of bodies that joints lack, of joints where even these are forgotten."""
    known = set(bodies)
    names = []
    for empty in joints:
        joint = record_of(empty).joint
        ends = joint.parent, joint.child
        gone = [end for end in ends if end is not None and end not in known and not _is_elsewhere(end)]
        names += [record_of(end).source_name or end.name for end in gone]
        if None in ends and lacks_end(joint) and joint.active:
            names.append(f"a body of {empty.name}")
    return name_list(list(dict.fromkeys(names)), _MOST_NAMES)


def _is_elsewhere(body: bpy.types.Object) -> bool:
    """Return whether a body was moved out of its model's collection, and not deleted."""
    return record_of(body).role == "BODY" and bool(body.users_scene)


def has_lost_physics(rig: bpy.types.Object, bodies: list[bpy.types.Object]) -> bool:
    """Return whether a model had physics and has none here: its world was taken from under it, or it was appended. What
    clears physics leaves nothing that tells of it."""
    model = settings(rig)
    home = home_of(rig)
    if home is not None:
        return home.rigidbody_world.constraints is None
    had = model.before.made_world or model.before.joined_world or any(obj.rigid_body is not None for obj in bodies)
    return had or (model.drive != "KEYS" and bool(bodies))


def _lost_physics(rig: bpy.types.Object) -> str:
    scene = scene_for(rig)
    if scene is not None and is_of_other_file(scene, rig):
        return "The physics of the model was built in another file, and is not in the world of this scene"
    return "The rigid-body world was deleted, and the model's physics with it"


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


def orphans(scene: bpy.types.Scene, active: bpy.types.Object | None = None) -> list[bpy.types.Object]:
    """Bodies and joints of a scene whose model is gone for good, of one model: those that are in the collection of the
    ``active`` one, if it is such a part, else of the first of them."""
    lost = [obj for obj in scene.objects if record_of(obj).role in FILED and record_of(obj).model is None]
    held = [obj for obj in lost if record_of(obj).role in ("BODY", "JOINT")]
    if not held:
        return []
    first = active if active in lost and is_orphan_part(active) else held[0]
    top = top_of(first, scene)
    return [obj for obj in lost if top is None or obj.name in top.all_objects]


def top_of(obj: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Collection | None:
    """The collection of a scene that is an object's model's: of those that it is in and that have parts of no other
    the uppermost that has the collections of its kinds, or the uppermost."""
    model = record_of(obj).model
    around = [
        child
        for child in scene.collection.children_recursive
        if child.all_objects.get(obj.name) == obj
        and all(record_of(each).model == model for each in child.all_objects if record_of(each).role in FILED)
    ]
    names = FOLDERS.values()
    tops = (each for each in around if any(is_called(child, name) for child in each.children for name in names))
    return next(tops, next(iter(around), None))


def let_go(rig: bpy.types.Object, ids: Iterable[str]) -> None:
    """Remember that parts were taken away on purpose: they do not come back."""
    kept = settings(rig).let_go.split("\n")
    settings(rig).let_go = "\n".join(dict.fromkeys(filter(None, (*kept, *ids))))


def own_part_ids(rig: bpy.types.Object) -> set[str]:
    """The ids of a model's bodies and joints."""
    return {record_of(obj).source_id for role in ("BODY", "JOINT") for obj in parts(rig, role)}
