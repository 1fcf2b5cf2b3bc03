"""Queries for mechanisms, their parts and their bones, from anything that belongs to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property

import bpy

from ...core.report import Message
from .access import (
    NUMBER_SUFFIX,
    armature_of,
    armature_settings,
    bone_record,
    find_child_collection,
    is_renamed,
    original_of,
    record_of,
    settings,
)
from .caching import is_memoizing, memoized, prime_memo
from .properties.model import DATA_VERSION

#: Roles of the objects that a model file describes.
_PART_ROLES = {"BODY", "JOINT", "FRAME", "LIGHT", "SHAPE"}
#: Name of the collection of helper objects, such as motors, that only the simulation needs.
HELPERS = "Helpers"
#: Shortest name (bytes) that Blender may have cut to append its number.
_CUT_NAME_LENGTH = 55
#: Roles of which none is created or removed while reads are memoized.
_MEMOIZED_ROLES = {"BODY", "JOINT"}


def rig_of(obj: bpy.types.Object | None) -> bpy.types.Object | None:
    """Return the armature object of the mechanism that an object belongs to, or None."""
    if obj is None:
        return None
    record = record_of(obj)
    if record.role == "MODEL":
        return obj
    return record.model


def active_rig(context: bpy.types.Context) -> bpy.types.Object | None:
    """Return the armature of the mechanism that the user means.

    That is the active object's, else a selected one's, else the only one in the scene. None where the active object is
    a part without a mechanism.
    """
    active = getattr(context, "object", None) or context.view_layer.objects.active
    rig = rig_of(active)
    if rig is not None or is_orphan_part(active):
        return rig
    for obj in getattr(context, "selected_objects", None) or ():
        rig = rig_of(obj)
        if rig is not None:
            return rig
    rigs = list(rigs_in(context.scene))
    return rigs[0] if len(rigs) == 1 else None


def is_orphan_part(obj: bpy.types.Object | None) -> bool:
    """Return whether an object is a part of a deleted mechanism, so that the user means no other one by it."""
    record = record_of(obj) if obj is not None else None
    return record is not None and record.role in _PART_ROLES and record.model is None and not record.is_ground


def rigs_in(scene: bpy.types.Scene, linked: bool = False) -> Iterator[bpy.types.Object]:
    """Yield the mechanisms of a scene that can be edited. Searches the armatures, which are few, not the objects.

    Args:
        scene: The scene.
        linked: Yield those linked from other files as well.
    """
    left_out = is_from_newer_release if linked else is_foreign
    for armature in bpy.data.armatures:
        for rig in rigs_of(armature) if linked or armature.library is None else ():
            if not left_out(rig) and is_in_scene(scene, rig):
                yield rig


def rigs_of(armature: bpy.types.Armature) -> Iterator[bpy.types.Object]:
    """Yield the mechanism that owns armature data, then its library overrides.

    Overrides share the linked armature data, which knows the linked mechanism only.
    """
    rig = armature_settings(armature).rig
    if rig is None or rig.data != armature:
        return
    yield rig
    if armature.library is not None and armature.users > 1:  # 0.12 ms for 1000 objects
        overrides = [(obj, obj.override_library) for obj in bpy.data.objects if obj.override_library is not None]
        yield from (obj for obj, own in overrides if own.reference == rig and obj.data == armature)


def is_from_newer_release(rig: bpy.types.Object) -> bool:
    """Return whether a mechanism is stored in the form of a newer release, which this one cannot read."""
    return isinstance(rig.data, bpy.types.Armature) and settings(rig).version > DATA_VERSION


def is_foreign(rig: bpy.types.Object) -> bool:
    """Return whether a mechanism cannot be edited: linked, a library override, or of a newer release."""
    data = rig.data
    if is_from_newer_release(rig):
        return True
    if rig.library is not None or rig.override_library is not None or data is None:
        return data is not None
    return data.library is not None or data.override_library is not None


def linked_scene_message(scene: bpy.types.Scene) -> str:
    """Return a message for a scene that nothing can be added to, since it is linked; empty for other scenes."""
    if scene.library is None:
        return ""
    return Message(
        "Scene {}: linked from another file, so nothing can be added. Choose a scene of this file, or "
        "make it local (File > External Data, or the Outliner)",
        repr(scene.name),
    )


def linked_original(rig: bpy.types.Object) -> bpy.types.Object | None:
    """Return the mechanism that an armature object is a linked copy of, showing its settings.

    None where it is a mechanism of its own, or overrides that of a library.
    """
    if not isinstance(rig.data, bpy.types.Armature):
        return None
    owner = armature_settings(rig.data).rig
    overridden = rig.override_library.reference if rig.override_library is not None else None
    return owner if owner not in {rig, overridden} else None


def deleted_armature_message(model: bpy.types.Object | bpy.types.Collection) -> str:
    """Return the message for a mechanism whose armature was deleted.

    Args:
        model: The armature, the mechanism's collection or one of its parts.
    """
    return Message("The armature of {} was deleted: restore it with Rebuild Missing Parts", repr(model.name))


def is_in_scene(scene: bpy.types.Scene, rig: bpy.types.Object) -> bool:
    """Return whether a scene contains a mechanism.

    Called in every frame. An object that is visible, hidden or selected in a view layer is found at once; a search by
    name takes the longer the more objects there are; only where all view layers exclude the mechanism are all objects
    of all scenes searched.
    """
    return (
        any(_view_layer_has(layer, rig) for layer in scene.view_layers)
        or any(layer.objects.get(rig.name) == rig for layer in scene.view_layers)
        or scene in rig.users_scene
    )


def _view_layer_has(layer: bpy.types.ViewLayer, rig: bpy.types.Object) -> bool:
    return rig.visible_get(view_layer=layer) or rig.hide_get(view_layer=layer) or rig.select_get(view_layer=layer)


def rig_in(collection: bpy.types.Collection | None) -> bpy.types.Object | None:
    """Return the armature of the mechanism of a collection, also where the user moved it into another collection."""
    if collection is None:
        return None
    inside = (obj for obj in collection.all_objects if record_of(obj).role == "MODEL")
    return next(inside, None) or next(_rigs_of(collection), None)


def _rigs_of(collection: bpy.types.Collection) -> Iterator[bpy.types.Object]:
    for armature in bpy.data.armatures:
        model = armature_settings(armature)
        if model.collection == collection and model.rig is not None and model.rig.users_scene:
            yield model.rig


def require_rig(model: bpy.types.Collection | bpy.types.Object | None) -> bpy.types.Object:
    """Return the armature of a mechanism.

    Args:
        model: Its collection, or the armature itself where copies of the mechanism may be in the same collection.

    Raises:
        ValueError: The collection has no armature, or the mechanism has lost its collection (None).
    """
    if isinstance(model, bpy.types.Object):
        return model
    if model is None:
        raise ValueError("Mechanism: its collection is missing. Press Rebuild Missing Parts")
    rig = rig_in(model)
    if rig is None:
        raise ValueError(
            Message(
                "Collection {} has no mechanism, or its armature is missing. Choose another, or press Rebuild "
                "Missing Parts",
                repr(model.name),
            )
        )
    return rig


def collection_of(model: bpy.types.Collection | bpy.types.Object) -> bpy.types.Collection:
    """Return the collection of a mechanism that is given by it or by its armature.

    Raises:
        ValueError: The mechanism has lost its collection.
    """
    if not isinstance(model, bpy.types.Object):
        return model
    collection = _collection(model)
    if collection is None:
        raise ValueError(
            Message("Mechanism {}: its collection is missing. Press Rebuild Missing Parts", repr(model.name))
        )
    return collection


def _collection(rig: bpy.types.Object) -> bpy.types.Collection | None:
    """Return the collection with a mechanism's parts.

    The settings are on the armature's data, which of an overridden mechanism are the library's: the override of the
    collection that they name is returned.
    """
    collection: bpy.types.Collection | None = settings(rig).collection
    if rig.override_library is None or collection is None or collection.override_library is not None:
        return collection
    for each in rig.users_collection:
        if each.override_library is not None and each.override_library.reference == collection:
            return each
    return collection


def parts(rig: bpy.types.Object, role: str) -> list[bpy.types.Object]:
    """Return the mechanism's objects of one role (``BODY``, ``JOINT``, …), in the order in which they were created."""
    if role in _MEMOIZED_ROLES and is_memoizing():
        return [*memoized(_memoized_parts, rig).get(role, ())]
    collection = _collection(rig)
    return [] if collection is None else [obj for obj in collection.all_objects if is_part(obj, rig, role)]


def collection_object_names(rig: bpy.types.Object) -> tuple[str, ...]:
    """Return the names of all objects in the mechanism's collection; fast enough for every redraw."""
    collection = _collection(rig)
    return () if collection is None else tuple(collection.all_objects.keys())


def _memoized_parts(rig: bpy.types.Object) -> dict[str, list[bpy.types.Object]]:
    """Return bodies and joints by role; no other roles, since the creator of a mechanism caches only these."""
    return {role: objects for role, objects in parts_by_role(rig).items() if role in _MEMOIZED_ROLES}


def prime_parts(rig: bpy.types.Object, made: Mapping[str, Collection[bpy.types.Object]]) -> None:
    """Enter the parts of a new mechanism into the cache of ``parts``.

    Args:
        rig: The armature object.
        made: All of its bodies and joints, by their roles.
    """
    collection = _collection(rig)
    every = collection.all_objects[:] if collection is not None else ()
    own = {role: set(objects) for role, objects in made.items()}
    prime_memo({role: [obj for obj in every if obj in mine] for role, mine in own.items()}, _memoized_parts, rig)


def parts_by_role(rig: bpy.types.Object) -> dict[str, list[bpy.types.Object]]:
    """Return all of the mechanism's objects by their roles, in one pass through its collection."""
    collection, out = _collection(rig), dict[str, list[bpy.types.Object]]()
    for obj in collection.all_objects if collection is not None else ():
        record = record_of(obj)
        role = record.role
        if role in _PART_ROLES and record.model == rig:
            out.setdefault(role, []).append(obj)
    return out


def parts_outside_collection(rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the parts that the user moved out of the mechanism's collection, into others of a scene."""
    collection = _collection(rig)
    inside = set(collection.all_objects) if collection is not None else set()
    own = (obj for obj in rig.children_recursive if obj not in inside and record_of(obj).model == rig)
    return [obj for obj in own if record_of(obj).role in _PART_ROLES and obj.users_scene]


def all_parts(rig: bpy.types.Object, role: str) -> list[bpy.types.Object]:
    """Return the mechanism's objects of one role, strays included: those that an export has."""
    return parts(rig, role) + [obj for obj in parts_outside_collection(rig) if record_of(obj).role == role]


def all_parts_by_role(
    rig: bpy.types.Object, collection: bpy.types.Collection
) -> tuple[dict[str, list[bpy.types.Object]], set[bpy.types.Object]]:
    """Return the mechanism's parts by role, strays included, in one pass.

    Returns:
        Objects by their roles, and the set of all objects in the collection or among the strays, parts or not.
    """
    out, moved = parts_by_role(rig), parts_outside_collection(rig)
    present = {*collection.all_objects, *moved}
    for obj in moved:
        out.setdefault(record_of(obj).role, []).append(obj)
    return {role: [obj for obj in found if obj in present] for role, found in out.items()}, present


def is_part(obj: bpy.types.Object, rig: bpy.types.Object, role: str) -> bool:
    """Return whether an object is a part of a mechanism, in the given role."""
    record = record_of(obj)
    return record.role == role and record.model == rig


def child_collection(rig: bpy.types.Object, name: str) -> bpy.types.Collection:
    """Return the child collection ``Bodies``, ``Joints``, ``Collision`` or ``Frames``; create it if missing."""
    parent = settings(rig).collection
    if found := find_child_collection(parent, name):
        return found
    made = bpy.data.collections.new(name)
    parent.children.link(made)
    return made


def simulation_scene_of(scene: bpy.types.Scene) -> bpy.types.Scene | None:
    """Return the simulation scene of a scene, or None."""
    uid = scene.session_uid
    return next((each for each in bpy.data.scenes if each.knuckle_shown_uid == uid), None)  # type: ignore[attr-defined]


def is_simulation_scene(scene: bpy.types.Scene) -> bool:
    """Return whether a scene simulates the mechanisms of another one."""
    return scene.knuckle_shown_uid != 0  # type: ignore[attr-defined, no-any-return]


def shown_scene_of(simulation: bpy.types.Scene) -> bpy.types.Scene | None:
    """Return the scene whose mechanisms a simulation scene simulates."""
    uid = simulation.knuckle_shown_uid  # type: ignore[attr-defined]
    return next((each for each in bpy.data.scenes if each.session_uid == uid), None)


def simulates_here(scene: bpy.types.Scene) -> bool:
    """Return whether the mechanisms of a scene are simulated in its own rigid-body world."""
    return is_simulation_scene(scene) or scene.knuckle_simulate_here  # type: ignore[attr-defined]


def simulated_copies(simulation: bpy.types.Scene) -> dict[bpy.types.Object, bpy.types.Object]:
    """Return the copies in a simulation scene by their originals."""
    found = ((original_of(rig), rig) for rig in rigs_in(simulation))
    return {original: rig for original, rig in found if original != rig}


def copy_of(obj: bpy.types.Object, copy: bpy.types.Object | None, role: str) -> bpy.types.Object | None:
    """Return the copy of a part in a simulated copy of its mechanism, or None."""
    made = parts(copy, role) if copy is not None else ()
    return next((each for each in made if record_of(each).original_uid == obj.session_uid), None)


def helper_collection(rig: bpy.types.Object) -> bpy.types.Collection:
    """Return the mechanism's child collection of helpers; without one, as in a file of 1.0, that of the joints."""
    return find_child_collection(settings(rig).collection, HELPERS) or child_collection(rig, "Joints")


def servo_bones(rig: bpy.types.Object) -> dict[str, str]:
    """Return, by joint id, the last bone of the joint's chain, which carries the body."""
    return {joint: chain[-1] for joint, chain in joint_bones(rig).items()}


class RigParts:
    """Joints, bodies and bones of a mechanism, each searched once.

    For work that needs them several times and adds, removes and renames none meanwhile; passed along as an argument.
    """

    def __init__(self, rig: bpy.types.Object) -> None:
        self.rig = rig

    @cached_property
    def joints(self) -> list[bpy.types.Object]:
        """The joints' empties."""
        return parts(self.rig, "JOINT")

    @cached_property
    def chains(self) -> dict[str, list[str]]:
        """Names of the bones of each joint's chain, from the carrier outwards, by joint id."""
        chains: dict[str, list[tuple[int, str]]] = {}
        for (joint, _root, step), name in self._bones.items():
            if joint:
                chains.setdefault(joint, []).append((step, name))
        return {joint: [name for _, name in sorted(chain)] for joint, chain in chains.items()}

    @cached_property
    def roots(self) -> dict[str, str]:
        """Names of the bones that carry root bodies, by the bodies' ids."""
        return {root: name for (joint, root, _step), name in self._bones.items() if root and not joint}

    @cached_property
    def own_bones(self) -> set[str]:
        """Names of the bones that move joints or root bodies; all others are the user's."""
        return set(self._bones.values())

    @cached_property
    def renamed_bones(self) -> dict[str, str]:
        """Names of the bones that the user renamed, by the id of the joint that they move."""
        bones, out = armature_of(self.rig).bones, {}
        for (joint, _root, _step), name in self._bones.items():
            if joint and bone_record(bones[name]).baseline_name not in {"", name}:
                out[joint] = name
        return out

    @cached_property
    def _bones(self) -> dict[tuple[str, str, int], str]:
        return _bones_by_task(self.rig)


def joint_bones(rig: bpy.types.Object) -> dict[str, list[str]]:
    """Return the names of the bones of each joint's chain, from the carrier outwards, by joint id."""
    return RigParts(rig).chains


def root_bones(rig: bpy.types.Object) -> dict[str, str]:
    """Return the names of the bones that carry a mechanism's root bodies, by the bodies' ids."""
    return RigParts(rig).roots


def bone_counts_and_roots(rig: bpy.types.Object) -> tuple[dict[str, int], set[str]]:
    """Return the count of bones of each joint, by its id, and the ids of the root bodies that bones carry."""
    tasks = _bones_by_task(rig)
    turned = Counter(joint for joint, _, _ in tasks if joint)
    return turned, {root for joint, root, _ in tasks if root and not joint}


def mechanism_bones(rig: bpy.types.Object) -> set[str]:
    """Return the names of the bones that move a mechanism's joints or root bodies; all others are the user's."""
    return RigParts(rig).own_bones


def _bones_by_task(rig: bpy.types.Object) -> dict[tuple[str, str, int], str]:
    """Return bone names by (joint id, root body id, step in the joint's chain).

    A duplicate that the user made is left out: of several bones with the same task the one with its name as built
    counts, else the first.
    """
    out: dict[tuple[str, str, int], str] = {}
    for bone in armature_of(rig).bones:
        record = bone_record(bone)
        if record.joint or record.root:
            task = record.joint, record.root, record.step
            if task not in out or record.baseline_name == bone.name:
                out[task] = bone.name
    return out


def chain_bones(empty: bpy.types.Object) -> list[str]:
    """Return the names of the bones of one joint's chain, from the carrier outwards.

    Found from the joint's bodies, one of which the last bone carries, without a search through all bones.
    """
    record = record_of(empty)
    rig, joint = record.model, record.joint
    if rig is None or joint.loop:
        return []
    bones = armature_of(rig).bones
    for body in (joint.child, joint.parent):
        bone = bones.get(body.parent_bone) if body is not None else None
        chain: list[str] = []
        while bone is not None and bone_record(bone).joint == record.source_id:
            chain.append(bone.name)
            bone = bone.parent
        if chain:
            return chain[::-1]
    return joint_bones(rig).get(record.source_id, [])  # its bodies were re-parented or deleted


def file_name(obj: bpy.types.Object, bones: Mapping[str, str] | None = None) -> str:
    """Return a part's name for files and motions.

    Args:
        obj: The part.
        bones: The mechanism's renamed bones by joint id: a joint may be renamed by its bone.

    Returns:
        The name that the user gave it, else the file's own, which Blender may have cut or numbered in the object's
        name.
    """
    record = record_of(obj)
    if record.role == "JOINT" and bones and record.source_id in bones:
        return bones[record.source_id]
    return obj.name if is_renamed(obj) else record.source_name


def is_numbered_copy(name: str, before: str) -> bool:
    """Return whether a name is another one with a number that Blender added.

    The number may have replaced a previous one, or the end of a long name.

    >>> is_numbered_copy("Leg.001", "Leg"), is_numbered_copy("Leg.002", "Leg.001"), is_numbered_copy("Arm.001", "Leg")
    (True, True, False)
    """
    if not before or name == before or not NUMBER_SUFFIX.search(name):
        return False
    stem = NUMBER_SUFFIX.sub("", name)
    if stem == NUMBER_SUFFIX.sub("", before):
        return True
    return len(stem.encode()) >= _CUT_NAME_LENGTH and before.startswith(stem)


def renamed_bones(rig: bpy.types.Object) -> dict[str, str]:
    """Return the names of the bones that the user renamed, by the id of the joint that they move."""
    return RigParts(rig).renamed_bones


def record_deletion(rig: bpy.types.Object, ids: Iterable[str]) -> None:
    """Record the ids of parts that were deleted on purpose, so that they are not rebuilt."""
    kept = settings(rig).forgotten_ids.split("\n")
    settings(rig).forgotten_ids = "\n".join(dict.fromkeys(filter(None, (*kept, *ids))))


def part_ids(rig: bpy.types.Object) -> set[str]:
    """Return the ids of a mechanism's bodies and joints."""
    return {record_of(obj).source_id for role in ("BODY", "JOINT") for obj in parts(rig, role)}


def own_inertia_proxy(obj: bpy.types.Object) -> bpy.types.Object | None:
    """Return the inertia proxy of a body, or None. A copy of a body points at its original's, which does not count."""
    proxy = record_of(obj).inertia_proxy
    return proxy if proxy is not None and record_of(proxy).inertia_proxy_of == obj else None


def own_proxy_weld(obj: bpy.types.Object) -> bpy.types.Object | None:
    """Return the empty that fixes a body to its own inertia proxy, or None."""
    weld, record = record_of(obj).inertia_proxy_constraint, record_of(obj)
    if weld is None or record_of(weld).model != record.model:
        return None
    return weld if record_of(weld).inertia_proxy_of in {None, obj} else None


def inertia_proxies(rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the inertia proxies of a mechanism's bodies."""
    found = (own_inertia_proxy(obj) for obj in parts(rig, "BODY"))
    return [proxy for proxy in found if proxy is not None]


def proxy_welds(rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the empties with the constraints that fix the inertia proxies of a mechanism."""
    found = (own_proxy_weld(obj) for obj in parts(rig, "BODY"))
    return [weld for weld in found if weld is not None]


# ---------------------------------------------------------------- twins


def parts_by_id(rig: bpy.types.Object, role: str) -> dict[str, bpy.types.Object]:
    """Return a mechanism's bodies or joints by id.

    Of several with one id, which are copies, it is the one that still has its built name, else the first.
    """
    every = parts(rig, role)
    out = {record_of(obj).source_id: obj for obj in reversed(every)}
    if len(out) < len(every):
        out.update((record_of(obj).source_id, obj) for obj in reversed(every) if not is_renamed(obj))
    return out


def ids_among(rig: bpy.types.Object, objects: Iterable[bpy.types.Object]) -> tuple[set[str], set[str]]:
    """Return the ids of a mechanism's bodies and of its joints among objects."""
    chosen = [record_of(obj) for obj in objects if record_of(obj).model == rig]
    bodies, joints = ({each.source_id for each in chosen if each.role == role} for role in ("BODY", "JOINT"))
    return bodies, joints


def twin_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """Return the twin of a body or joint if they refer to each other, or None. Copies have none.

    For many parts use ``twins_by_part``.
    """
    record = record_of(obj)
    if not record.twin or record.model is None:
        return None
    known = parts_by_id(record.model, record.role)
    other = known.get(record.twin)
    is_own = known.get(record.source_id) == obj
    return other if is_own and other is not None and record_of(other).twin == record.source_id else None


def twins_by_part(rig: bpy.types.Object) -> dict[bpy.types.Object, bpy.types.Object]:
    """Return the twins of all bodies and joints of a mechanism that have one."""
    out = {}
    for known in (parts_by_id(rig, role) for role in ("BODY", "JOINT")):
        for key, obj in known.items():
            other = known.get(record_of(obj).twin)
            if other is not None and record_of(other).twin == key:
                out[obj] = other
    return out


def twins_among(objects: Iterable[bpy.types.Object]) -> dict[bpy.types.Object, bpy.types.Object]:
    """Return the twins of those of some parts that have one."""
    chosen = list(objects)
    rigs = dict.fromkeys(record_of(obj).model for obj in chosen if record_of(obj).model is not None)
    known = {obj: twin for rig in rigs for obj, twin in twins_by_part(rig).items()}
    return {obj: known[obj] for obj in chosen if obj in known}
