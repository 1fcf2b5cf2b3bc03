"""Detection of missing parts: deleted parts of a mechanism that its other parts need.

The sidebar, the checks and the rebuild use this one decision. It reads records and no document, so that it is fast
enough for every change:

- A body is needed by the joints that still refer to it.
- A joint is needed by a body that is restored, and by what it moved: bodies that no joint and no bone carries, and
  joints that followed a closed loop through it.
- If a whole collection of the mechanism was deleted, everything that was in it is needed.

Everything else that was deleted was deleted on purpose: that is how a mechanism is reduced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import bpy

from ....core.editing.edits import with_bodies, with_joints
from ....core.kinematics import spanning_tree
from ....core.loops.linkage_solver import find_linkages
from ....core.model import Mechanism, body_by_id
from ....core.report import FormatError, Message, abbreviate_names
from ...animation.loops.live_solver import followers_without_loop
from ...data.access import armature_of, armature_settings, bone_record, record_of, settings, world_of
from ...data.documents import read_document
from ...data.properties.joint import KnuckleJoint
from ...data.queries import (
    all_parts,
    bone_counts_and_roots,
    file_name,
    is_foreign,
    is_orphan_part,
    parts_by_role,
)
from ...physics.world.membership import scene_to_simulate_in, simulating_scene
from ...physics.world.rigidbody_world import is_from_other_file
from ...rig.joint_frames import JointBodyIds, has_lost_body, lost_ends, read_body, read_joint
from ...scene.collections import ROLE_COLLECTIONS, has_base_name
from ...scene.read.mechanism import own_ids

#: Label of the remedy of findings about missing parts.
REBUILD_LABEL = "Rebuild Missing Parts"
#: Code of the finding about joints that followed a closed loop which lost a joint.
FOLLOWERS_LEFT_CODE = "followers-left"


@dataclass
class NeededParts:
    """Ids of deleted bodies and joints that a mechanism needs, and roles whose collection was deleted."""

    bodies: set[str] = field(default_factory=set)
    joints: set[str] = field(default_factory=set)
    roles: set[str] = field(default_factory=set)


def described_mechanism(rig: bpy.types.Object, document: Mechanism) -> Mechanism:
    """Return the mechanism of the document with the deleted parts that Blender kept, as their records describe them."""
    kept = {role: [obj for obj in deleted_parts(rig) if record_of(obj).role == role] for role in ("BODY", "JOINT")}
    return with_joints(with_bodies(document, map(read_body, kept["BODY"])), map(read_joint, kept["JOINT"]))


def find_needed_parts(rig: bpy.types.Object, described: Mechanism, everything: bool = False) -> NeededParts:
    """Return the deleted parts to restore.

    Args:
        rig: The armature.
        described: The mechanism as document and records describe it.
        everything: All deleted parts, except those that were let go.
    """
    out, let_go = NeededParts(roles=roles_without_collection(rig)), set(settings(rig).forgotten_ids.split("\n"))
    here, empties = dict.fromkeys(all_parts(rig, "BODY")), all_parts(rig, "JOINT")
    bodies, joints = ({record_of(obj).source_id for obj in objects} for objects in (here, empties))
    known: dict[str, JointBodyIds] = {joint.id: (joint.parent, joint.child) for joint in described.joints}
    out.bodies = body_by_id(described).keys() - bodies - let_go
    if not everything and "BODY" not in out.roles:
        held = (lost_ends(empty, known.get(record_of(empty).source_id, (None, None)), here) for empty in empties)
        out.bodies &= {own for ends in held for own in ends.values()}
    still = {record_of(obj).source_id for obj in unmoved_bodies(rig, here, empties)}
    loops = {record_of(obj).source_id for obj in deleted_parts(rig) if record_of(obj).joint.loop}
    loops |= spanning_tree(described).loop_joints  # these carry nothing
    for own in known.keys() - joints - let_go:
        ends = {end for end in known[own] if end is not None}
        if everything or (
            ends <= bodies | out.bodies
            and ("JOINT" in out.roles or ends & out.bodies or (own not in loops and ends & still))
        ):
            out.joints.add(own)
    out.joints |= joints_of_opened_loops(rig, described) - joints - let_go
    return out


def joints_of_opened_loops(rig: bpy.types.Object, described: Mechanism) -> set[str]:
    """Return the ids of the joints of closed loops that dependent joints followed and that lost a joint."""
    left = followers_without_loop(rig)
    loops = [linkage.joints for linkage in find_linkages(described)] if left else []
    return {joint for loop in loops if not left.isdisjoint(loop) for joint in loop}


def roles_without_collection(rig: bpy.types.Object) -> set[str]:
    """Return the roles of deleted parts whose collection is missing; bodies and joints also if none are left."""
    top = settings(rig).collection
    if top is None:
        return set()
    roles = {
        role for role, name in ROLE_COLLECTIONS.items() if not any(has_base_name(child, name) for child in top.children)
    }
    if not roles:
        return roles
    lost = {record_of(obj).role for obj in deleted_parts(rig)}
    return {role for role in roles if role in lost or (role in {"BODY", "JOINT"} and not all_parts(rig, role))}


def deleted_parts(rig: bpy.types.Object) -> Iterator[bpy.types.Object]:
    """Yield deleted parts of a mechanism that Blender kept because something refers to them.

    They are in none of its collections and in no scene; the rigid-body world may still have them.
    """
    top = settings(rig).collection
    present = set(top.all_objects) if top is not None else set()
    for obj in bpy.data.objects:
        record = record_of(obj)
        ours = (
            record.model == rig
            and record.role in ROLE_COLLECTIONS
            and not (record.is_ground or record.is_inertia_proxy)
        )
        if ours and obj not in present and not obj.users_scene:
            yield obj


def unmoved_bodies(
    rig: bpy.types.Object, bodies: Iterable[bpy.types.Object], empties: Iterable[bpy.types.Object]
) -> list[bpy.types.Object]:
    """Return the bodies that nothing in the armature moves.

    The joints with bones connect them neither to the world nor to a body that a root bone carries. Copies have no
    bones.
    """
    bones, roots = bone_counts_and_roots(rig)
    objects, empties = list(bodies), list(empties)
    ids = own_ids(objects) | own_ids(empties)
    beside: dict[bpy.types.Object | None, list[bpy.types.Object | None]] = {}
    for empty in empties:
        joint, count = record_of(empty).joint, bones.get(ids[empty], 0)
        if count and count >= _bone_count(joint):
            parent, child = joint.parent, joint.child
            beside.setdefault(parent, []).append(child)
            beside.setdefault(child, []).append(parent)
    carried = set[bpy.types.Object | None]()
    for start in (None, *objects, *beside):  # deleted bodies that Blender kept may be roots as well
        is_root = start is None or ids.get(start, record_of(start).source_id) in roots
        reached = [start] if is_root and start not in carried else []
        while reached:
            body = reached.pop()
            if body not in carried:
                carried.add(body)
                reached += beside.get(body, ())
    return [obj for obj in objects if obj not in carried]


def _bone_count(joint: KnuckleJoint) -> int:
    return 1 if len(joint.dofs) < 2 else 1 + max(dof.step for dof in joint.dofs)


_MAX_NAMES = 3

#: Objects of a mechanism by role.
PartsByRole = Mapping[str, list[bpy.types.Object]]


@dataclass(frozen=True)
class MissingPart:
    """Something that a mechanism lacks: ``code`` of the check's finding, and its message."""

    code: str
    message: str


def missing_messages(rig: bpy.types.Object, every: PartsByRole | None = None) -> list[str]:
    """Return messages about what a mechanism lacks; empty if it is complete. ``every``: its parts by role, if known."""
    return [lack.message for lack in find_missing_parts(rig, every)]


def find_missing_parts(rig: bpy.types.Object, every: PartsByRole | None = None) -> Iterator[MissingPart]:
    """Yield what a mechanism lacks; parts that were deleted on purpose do not count (``find_needed_parts``)."""
    if record_of(rig).role != "MODEL" or settings(rig).rig is None:
        yield MissingPart("facts-gone", "Mechanism: its settings were cleared. Rebuild it")
    top = settings(rig).collection
    if top is None:
        yield MissingPart("collection-gone", "Mechanism: its collection was deleted. Rebuild it")
        return
    if top.library is None and scene_with_collection(top) is None:  # the data of an override names the linked one
        yield MissingPart("collection-gone", "Mechanism: its collection is in no scene. Rebuild it")
    if is_armature_deleted(rig):
        yield MissingPart("armature-gone", "Mechanism: its armature was deleted. Rebuild it")
    every = parts_by_role(rig) if every is None else every
    bodies, joints = every.get("BODY", []), every.get("JOINT", [])
    gone = _lost_body_names(bodies, joints)
    if gone:
        yield MissingPart("body-gone", Message("Bodies deleted, but still connected by joints: {}. Rebuild them", gone))
    boneless = unmoved_bodies(rig, bodies, joints)
    if boneless:
        yield MissingPart("unmoved", unmoved_message(rig, boneless))
    left = followers_without_loop(rig)
    if left and not gone:
        names = abbreviate_names(
            sorted(file_name(obj) for obj in joints if record_of(obj).source_id in left), _MAX_NAMES
        )
        yield MissingPart(
            FOLLOWERS_LEFT_CODE,
            Message(
                "Joints {}: they followed a closed loop, of which a joint was deleted. Rebuild it, or keyframe them",
                names,
            ),
        )
    folders = roles_without_collection(rig)
    if folders:
        folders &= {record_of(obj).role for obj in deleted_parts(rig)}
    if folders:
        names = abbreviate_names(sorted({ROLE_COLLECTIONS[role] for role in folders}))
        yield MissingPart("folder-gone", Message("Collection deleted with its parts: {}. Rebuild it", names))
    if settings(rig).format and settings(rig).document is None:
        yield MissingPart(
            "text-gone",
            "Document: the text of its file was deleted, exports write a new one without comments and unknown "
            "elements. "
            "Rebuild Missing Parts searches for it",
        )
    if has_lost_physics(rig, bodies):
        yield MissingPart("world-gone", _lost_physics_message(rig))


def unmoved_message(rig: bpy.types.Object, boneless: Iterable[bpy.types.Object]) -> str:
    """Return the message about bodies that nothing moves: their joints or bones were deleted.

    The innermost bodies come first.
    """
    bones = armature_of(rig).bones
    depths = {obj: len(bones[obj.parent_bone].parent_recursive) if obj.parent_bone in bones else 0 for obj in boneless}
    bodies = sorted(depths, key=lambda obj: depths[obj])
    names = abbreviate_names([file_name(obj) for obj in bodies], _MAX_NAMES)
    lost = abbreviate_names([*find_deleted_joints(rig, bodies)], _MAX_NAMES)
    if lost:
        return Message("Joint {}: deleted, so nothing connects {}. Rebuild it", lost, names)
    return Message("Armature: no bone for {}. Create it", names)


def find_deleted_joints(rig: bpy.types.Object, bodies: Iterable[bpy.types.Object]) -> dict[str, str]:
    """Return the ids of deleted joints between bodies and existing others, or the world, by name.

    They are found by their bones, which remain: Blender deletes an object to which nothing refers.
    """
    known = {record_of(obj).source_id for obj in all_parts(rig, "JOINT")}
    carriers = {obj.parent_bone for obj in all_parts(rig, "BODY") if obj.parent == rig}
    bones, names = armature_of(rig).bones, dict[str, str]()
    for body in bodies:
        bone = bones.get(body.parent_bone) if body.parent == rig else None
        joint = bone_record(bone).joint if bone is not None else ""
        if bone is None or not joint or joint in known:
            continue
        above = bone.parent
        while above is not None and bone_record(above).joint == joint:
            above = above.parent
        if above is None or above.name in carriers:
            names[bone.name] = joint
    return names


def unknown_joints(rig: bpy.types.Object, deleted: Mapping[str, str], known: Mechanism | None = None) -> list[str]:
    """Return the names of deleted joints that cannot be rebuilt: neither the document nor Blender has them.

    Args:
        rig: The armature.
        deleted: Ids of the joints by name.
        known: The mechanism as document and records describe it, if it was read.
    """
    if known is None:
        try:
            known = described_mechanism(rig, read_document(rig) or Mechanism(""))
        except FormatError:
            known = described_mechanism(rig, Mechanism(""))
    ids = {joint.id for joint in known.joints}
    return [name for name, own in deleted.items() if own not in ids]


def unknown_joint_message(names: Iterable[str]) -> Message:
    """Return the message about deleted joints that cannot be rebuilt, by their names."""
    listed = abbreviate_names(names, _MAX_NAMES)
    return Message("Joint {}: deleted and in no file, so it cannot be rebuilt. Undo, or add it again", listed)


def is_armature_deleted(rig: bpy.types.Object) -> bool:
    """Return whether the armature was deleted, and not merely moved into another collection.

    Blender keeps objects to which our records refer, in no collection.
    """
    top = settings(rig).collection
    return (top is None or top.all_objects.get(rig.name) != rig) and not rig.users_scene


def scene_with_collection(top: bpy.types.Collection) -> bpy.types.Scene | None:
    """Return a scene that contains a collection, or None."""
    return next((scene for scene in bpy.data.scenes if top in scene.collection.children_recursive), None)


def joints_without_bodies(
    bodies: Iterable[bpy.types.Object], joints: Iterable[bpy.types.Object]
) -> Iterator[tuple[bpy.types.Object, list[bpy.types.Object]]]:
    """Yield joints whose bodies were deleted by hand, with those bodies that Blender still has.

    A body that was moved out of its mechanism's collection is not deleted.
    """
    known = set(bodies)
    for empty in joints:
        joint = record_of(empty).joint
        gone = [end for end in (joint.parent, joint.child) if end is not None and end not in known]
        gone = [end for end in gone if record_of(end).role != "BODY" or not end.users_scene]
        if gone or (joint.active and has_lost_body(joint)):
            yield empty, gone


def _lost_body_names(bodies: Iterable[bpy.types.Object], joints: Iterable[bpy.types.Object]) -> str:
    """Return the names of deleted bodies of joints, or the joints' names where even the bodies' are lost."""
    names = dict[str, None]()
    for empty, gone in joints_without_bodies(bodies, joints):
        found = [record_of(end).source_name or end.name for end in gone] or [Message("a body of {}", empty.name)]
        names |= dict.fromkeys(found)
    return abbreviate_names(list(names), _MAX_NAMES)


def has_lost_physics(rig: bpy.types.Object, bodies: list[bpy.types.Object]) -> bool:
    """Return whether a mechanism had physics and has none here: its world was deleted, or it was appended.

    Clearing physics leaves no trace that would count. A mechanism of which all is switched off has nothing to simulate.
    """
    model, active = settings(rig), any(record_of(obj).active for obj in bodies)
    scene = simulating_scene(rig)
    if scene is not None:
        return world_of(scene).constraints is None
    had = (
        model.world_backup.made_world
        or model.world_backup.joined_world
        or any(obj.rigid_body is not None for obj in bodies)
    )
    return active and (had or model.drive != "KEYS")


def _lost_physics_message(rig: bpy.types.Object) -> str:
    scene = scene_to_simulate_in(rig)
    if scene is not None and is_from_other_file(scene, rig):
        return "Physics: built in another file, not in this scene's rigid-body world. Rebuild it"
    return "Rigid-body world: deleted, with the mechanism's physics. Rebuild it"


def models_without_armature(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Return the mechanisms whose armature is in no scene, and of which the scene or another collection has parts."""
    of_scene = dict.fromkeys(record_of(obj).model for obj in scene.objects if record_of(obj).role in ("BODY", "JOINT"))
    rigs = {rig for rig in of_scene if rig is not None}
    rigs |= {rig for data in bpy.data.armatures if (rig := armature_settings(data).rig) is not None}
    lost = [rig for rig in rigs if rig.type == "ARMATURE" and not rig.users_scene and not is_foreign(rig)]
    lost = [rig for rig in lost if not settings(rig).original_uid]
    if not lost:
        return []
    held = {record_of(obj).model for obj in bpy.data.objects if record_of(obj).role == "BODY" and obj.users_collection}
    return sorted((rig for rig in lost if rig in of_scene or rig in held), key=lambda rig: rig.name)


def orphan_parts(scene: bpy.types.Scene, active: bpy.types.Object | None = None) -> list[bpy.types.Object]:
    """Return the parts of one mechanism in a scene whose armature was deleted for good.

    It is the mechanism of ``active``, if that is such a part, else of the first one.
    """
    lost = [obj for obj in scene.objects if record_of(obj).role in ROLE_COLLECTIONS and record_of(obj).model is None]
    held = [obj for obj in lost if record_of(obj).role in ("BODY", "JOINT")]
    if not held:
        return []
    first = active if active in lost and is_orphan_part(active) else held[0]
    top = find_model_collection(first, scene)
    return [obj for obj in lost if top is None or obj.name in top.all_objects]


def find_model_collection(obj: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Collection | None:
    """Return the collection in a scene that is the mechanism's of an object, or None.

    Of those that contain the object and no parts of other mechanisms it is the uppermost with role collections, else
    the uppermost.
    """
    model = record_of(obj).model
    around = [
        child
        for child in scene.collection.children_recursive
        if child.all_objects.get(obj.name) == obj
        and all(
            record_of(each).model == model for each in child.all_objects if record_of(each).role in ROLE_COLLECTIONS
        )
    ]
    names = ROLE_COLLECTIONS.values()
    tops = (each for each in around if any(has_base_name(child, name) for child in each.children for name in names))
    return next(tops, next(iter(around), None))
