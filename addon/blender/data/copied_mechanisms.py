"""Mechanisms that did not come by an import: copied with Shift+D or with their scene, pasted, appended, made local.

Blender numbers their parts' names and may leave them pointing at the original; here they become mechanisms of their
own, whose parts keep the names that files and motions use, and get the hidden collision children that Blender does
not copy, since hidden objects are not selected. Only in a mechanism that is not processed yet is a number
Blender's; afterwards it is the user's, "Leg.001" like any name. The armature's record marks a processed mechanism
with the armature's own id: a copy has its original's mark, so it is processed once, and undo removes both together.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import bpy
from bpy.app.handlers import persistent

from ..events.handlers import Handlers, connect, disconnect
from ..events.runtime_state import Lifetime, RuntimeState, end_states_of, state_of
from ..events.signals import writing_records
from .access import armature_of, armature_settings, record_of, rest_parent_inverse, settings
from .baseline import record_baseline_name, write_name
from .properties.joint import KnuckleJoint
from .properties.model import KnuckleObject
from .queries import is_foreign, is_in_scene, is_numbered_copy, parts, parts_by_id
from .rigid_bodies import collision_children, is_collision_child


def copy_into_same_collections(obj: bpy.types.Object) -> bpy.types.Object:
    """Return a copy of an object, linked to the same collections; Blender links it to that of the world itself."""
    made = obj.copy()
    for folder in obj.users_collection:
        if folder.objects.get(made.name) is None:
            folder.objects.link(made)
    return made


def restore_collision_children(rig: bpy.types.Object, first: bpy.types.Object | None) -> None:
    """Copy missing collision children to the bodies of a copied mechanism.

    Args:
        rig: The copy.
        first: Its original. Where that is in another file, and no child came along, the bodies record that the user
            deleted none.
    """
    lacking = _bodies_missing_children(rig)
    if not lacking:
        return
    some_came = any(map(is_collision_child, parts(rig, "SHAPE")))
    originals = parts_by_id(first, "BODY") if first is not None else {}
    children = collision_children(first) if first is not None else {}
    for obj, numbers in lacking.items():
        record = record_of(obj)
        original = originals.get(record.source_id)
        if original is None or len(record_of(original).shapes) != len(record.shapes):
            record.without_children = not some_came
            continue
        for child in children.get(original, ()):  # absent ones were deleted from the original too
            if record_of(child).shape not in numbers:
                continue
            made = copy_into_same_collections(child)
            made.parent = obj
            made.matrix_parent_inverse = child.matrix_parent_inverse.copy()
            record_of(made).model = rig
            record_baseline_name(made)


def _bodies_missing_children(rig: bpy.types.Object) -> dict[bpy.types.Object, set[int]]:
    """Return the bodies of a mechanism that have none of their collision children, with the indices of the shapes."""
    present = collision_children(rig)
    out = {}
    for obj in parts(rig, "BODY"):
        numbers = {number for number, shape in enumerate(record_of(obj).shapes) if shape.has_child}
        if numbers and obj not in present and not record_of(obj).without_children:
            out[obj] = numbers
    return out


_NAMED_ROLES = ("BODY", "JOINT", "FRAME", "LIGHT", "SHAPE")


@dataclass
class _Adopted(RuntimeState):
    """Processed armatures, until undo, which may revert the processing.

    Attributes:
        keys: ``session_uid`` of the object and of its data.
        armatures: State of the armatures at the last search.
    """

    keys: set[tuple[int, int]] = field(default_factory=set)
    armatures: tuple[Any, ...] | None = None


@dataclass
class _SessionModels(RuntimeState):
    """Armatures built here or loaded with their file, by ``session_uid``.

    Undo does not end it, since it may lead back to the file as it was read, without marks of this session.
    """

    lifetime: ClassVar = Lifetime.FILE
    uids: set[int] = field(default_factory=set)


def adopt_copied_model(rig: bpy.types.Object) -> None:
    """Process a mechanism that came into the file.

    Its armature becomes the owner of its settings, unless it is a linked copy of another; the numbers that Blender gave
    to its parts do not change their names for files.
    """
    _take_ownership(rig)
    model = settings(rig)
    if model.rig == rig and not _contains_model(model.collection, rig):
        model.collection = next((each for each in rig.users_collection if _contains_model(each, rig)), model.collection)
    if record_of(rig).session_tag != _session_tag(rig):
        if rig.session_uid not in state_of(_SessionModels).uids:
            restore_collision_children(rig, _find_original(rig))
            _restore_names(rig)
        record_of(rig).session_tag = _session_tag(rig)


#: Prefix of this session's marks: an armature of another session may have the same ``session_uid``.
_SESSION_PREFIX = f"{os.getpid()}:"


def _session_tag(rig: bpy.types.Object) -> str:
    return f"{_SESSION_PREFIX}{rig.session_uid}"


def _find_original(rig: bpy.types.Object) -> bpy.types.Object | None:
    """Return the mechanism that another is a copy of: the one with its mark, or else in its collection."""
    others = [other for other in _editable_models() if other != rig and other.users_scene]
    marked = (other for other in others if _session_tag(other) == record_of(rig).session_tag)
    beside = (other for other in others if settings(other).collection == settings(rig).collection is not None)
    return next(marked, None) or next(beside, None)


def _take_ownership(rig: bpy.types.Object) -> None:
    model, owner = settings(rig), settings(rig).rig
    if owner == rig:
        return
    shared = owner is not None and owner.data == rig.data
    if not (shared and any(is_in_scene(scene, owner) for scene in bpy.data.scenes)):
        model.rig = rig


def _contains_model(collection: bpy.types.Collection | None, rig: bpy.types.Object) -> bool:
    """Return whether a collection holds a mechanism: its armature or any of its bodies.

    The collection of a scene itself does not count: no property can refer to it.
    """
    if collection is None or collection.library is not None or collection.override_library is not None:
        return False
    if collection.is_embedded_data:
        return False
    if collection.objects.get(rig.name) == rig:
        return True
    return any(record_of(obj).model == rig and record_of(obj).role == "BODY" for obj in collection.all_objects)


def _restore_names(rig: bpy.types.Object) -> None:
    """Store Blender's numbered names as the names as built, for parts that are the only ones with their id.

    Of several parts with one id those with a number are copies that the user made within the mechanism.
    """
    every = [obj for role in _NAMED_ROLES for obj in parts(rig, role)]
    count = Counter(map(_role_and_id, every))
    for obj in every:
        record = record_of(obj)
        if count[_role_and_id(obj)] != 1 or obj.library is not None:
            continue
        for name in ("baseline_name", "mirrored_name"):
            if is_numbered_copy(obj.name, getattr(record, name)):
                setattr(record, name, obj.name)
    _restore_mirror_states(every)


def _restore_mirror_states(every: list[bpy.types.Object]) -> None:
    known = {_role_and_id(obj): obj for obj in every}
    for obj in every:
        record: KnuckleObject = record_of(obj)
        twin = known.get((record.role, record.twin))
        if twin is not None and is_numbered_copy(twin.name, record.mirrored_twin_name):
            record.mirrored_twin_name = twin.name


def _role_and_id(obj: bpy.types.Object) -> tuple[str, str]:
    return record_of(obj).role, record_of(obj).source_id


def mark_as_adopted(rig: bpy.types.Object) -> None:
    """Mark a new mechanism as processed: it owns its settings, and none of its names is numbered by Blender."""
    assert rig.data is not None
    state_of(_Adopted).keys.add((rig.session_uid, rig.data.session_uid))
    _mark_as_session_model(rig)


def _mark_as_session_model(rig: bpy.types.Object) -> None:
    state_of(_SessionModels).uids.add(rig.session_uid)
    record_of(rig).session_tag = _session_tag(rig)


def copy_for_simulation(rig: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Object:
    """Copy a mechanism's armature, bodies, joints and collision shapes into a simulation scene.

    The copies share meshes and Actions with the originals. Their names begin with a dot, so that Blender leaves them
    out of its lists. They have neither the originals' rigid-body world nor objects that physics made.

    Returns:
        The armature of the copy.
    """
    top = settings(rig).collection
    wanted = {obj for role in ("BODY", "JOINT") for obj in parts(rig, role)}
    wanted |= {obj for obj in parts(rig, "SHAPE") if obj.parent in wanted and is_collision_child(obj)}
    copies: dict[bpy.types.Object | None, bpy.types.Object] = {}
    copies |= {obj: _named_copy(obj) for obj in (rig, *(obj for obj in top.all_objects if obj in wanted))}
    made = copies[rig]
    made.data = armature_of(rig).copy()
    collection = _copy_collection(top, copies)
    inside = set(collection.all_objects)
    for obj in copies.values():
        if obj not in inside:
            collection.objects.link(obj)
    with writing_records():
        _point_to_copies(rig, copies)
        model = settings(made)
        model.rig, model.original_uid, model.collection = made, rig.session_uid, collection
        model.anchor = model.body_keys = model.document = None
        record_of(made).role = "NONE"  # no mechanism of the user's
        model.symmetric = False
        model.property_unset("world_backup")
    _unlink_from_worlds(copies.values())
    scene.collection.children.link(collection)
    return made


def _copy_collection(
    source: bpy.types.Collection, copies: Mapping[bpy.types.Object | None, bpy.types.Object]
) -> bpy.types.Collection:
    """Copy a collection with those inside it, whose tree tells the assemblies, for the copies of its objects."""
    made = bpy.data.collections.new(source.name)
    for obj in source.objects:
        if obj in copies:
            made.objects.link(copies[obj])
    for child in source.children:
        made.children.link(_copy_collection(child, copies))
    return made


def copy_obstacles(scene: bpy.types.Scene, simulation: bpy.types.Scene) -> list[bpy.types.Object]:
    """Copy the meshes of the collection that a scene's mechanisms collide with into its simulation scene."""
    chosen = scene.knuckle_obstacles  # type: ignore[attr-defined]
    found = [] if chosen is None else [obj for obj in chosen.all_objects if obj.type == "MESH"]
    copies = [_named_copy(obj) for obj in found if record_of(obj).model is None]
    _unlink_from_worlds(copies)
    for made in copies:
        simulation.collection.objects.link(made)
    return copies


def _unlink_from_worlds(copies: Collection[bpy.types.Object]) -> None:
    """Unlink copies from all rigid-body worlds: Blender adds a copy to those of its original."""
    for world in (each.rigidbody_world for each in bpy.data.scenes):
        for held in (world.collection, world.constraints) if world is not None else ():
            inside = set(held.objects) if held is not None else set()
            for obj in copies:
                if held is not None and obj in inside:
                    held.objects.unlink(obj)


def _named_copy(obj: bpy.types.Object) -> bpy.types.Object:
    made = obj.copy()
    made.name = "." + obj.name
    return made


def _point_to_copies(rig: bpy.types.Object, copies: Mapping[bpy.types.Object | None, bpy.types.Object]) -> None:
    """Let the copies of a mechanism's parts refer to each other instead of to the originals."""
    for obj, made in copies.items():
        record = record_of(made)
        assert obj is not None
        if obj not in (rig, None) and obj.parent in copies:
            made.parent, made.parent_type = copies[obj.parent], obj.parent_type
            if obj.parent_type == "BONE":
                made.parent_bone = obj.parent_bone
            made.matrix_parent_inverse = rest_parent_inverse(obj)
        for constraint in made.constraints[:] if obj != rig else ():
            made.constraints.remove(constraint)
        if record.model is not None:
            record.model = copies[rig]
        record.original_uid = obj.session_uid
        record_baseline_name(made)
        for name in ("rest_parent_inverse", "is_at_simulated_pose", "inertia_proxy_share"):
            record.property_unset(name)
        record.inertia_proxy = record.inertia_proxy_constraint = record.inertia_proxy_of = None
        if record.role == "JOINT":
            for name in ("parent", "child"):
                setattr(record.joint, name, copies.get(getattr(record.joint, name)))  # None for a deleted body
            _clear_physics_links(record.joint)
    for bone in copies[rig].pose.bones:
        for held in bone.constraints:
            if "target" in held.bl_rna.properties and held.target == rig:  # type: ignore[attr-defined]
                held.target = copies[rig]  # type: ignore[attr-defined]
    for restraint in settings(copies[rig]).restraints:
        restraint.motors.clear()
        for name in ("joint", "body_a", "body_b"):
            setattr(restraint, name, copies.get(getattr(restraint, name)))


def remove_simulated_copies(simulation: bpy.types.Scene) -> None:
    """Remove a simulation scene with everything in it."""
    objects = [*simulation.collection.all_objects]
    folders = [*simulation.collection.children_recursive]
    world = simulation.rigidbody_world
    folders += [held for held in (world.collection, world.constraints) if held is not None] if world is not None else []
    data = {obj.data for obj in objects}
    for owner in (simulation, *objects, *(each for each in data if each is not None)):
        end_states_of(owner)
    if all(each == simulation or each.library is not None for each in bpy.data.scenes):
        bpy.data.scenes.new("Scene")  # the user deleted every other one
    bpy.data.scenes.remove(simulation)
    bpy.data.batch_remove([*objects, *folders])
    bpy.data.batch_remove([each for each in data if each is not None and not each.users])


@persistent
def adopt_new_models(_scene: bpy.types.Scene, _depsgraph: bpy.types.Depsgraph) -> None:
    """Process the mechanisms that came into the file.

    Runs only where the armatures or their users changed: a search through all updates that Blender reports would take
    long after every change.
    """
    state, adopted = _armature_state(), state_of(_Adopted)
    if state == adopted.armatures:
        return
    adopted.armatures = state
    for rig in _editable_models():
        if not rig.users_scene:
            continue
        key = rig.session_uid, armature_of(rig).session_uid
        cleared = settings(rig).rig is None and settings(rig).collection is None  # checks must still find it so
        if not cleared and (key not in adopted.keys or settings(rig).rig is None):
            adopted.keys.add(key)
            adopt_copied_model(rig)
            adopted.armatures = None  # its owner changed


def _armature_state() -> tuple[Any, ...]:
    """Return a key that differs after an armature was added or made local."""
    return tuple(
        (data.session_uid, data.users, data.library is None, data.override_library is None, _owner(data))
        for data in bpy.data.armatures
    )


def _owner(data: bpy.types.Armature) -> int:
    rig = armature_settings(data).rig
    return 0 if rig is None else rig.session_uid


@persistent
def mark_loaded_models(*_args: Any) -> None:
    """Mark the mechanisms of a loaded file as processed: they were when they came into it."""
    for rig in _editable_models():
        _mark_loaded(rig)


def _editable_models() -> Iterator[bpy.types.Object]:
    """Yield the mechanisms that can be edited; none while Blender starts."""
    for rig in getattr(bpy.data, "objects", ()):
        if rig.type == "ARMATURE" and record_of(rig).role == "MODEL" and not is_foreign(rig):
            yield rig


def _mark_loaded(rig: bpy.types.Object) -> None:
    """Mark a mechanism of a loaded file as processed.

    Where its settings name another owner, which may be deleted by now, the next update still checks the ownership.
    """
    if settings(rig).rig == rig:
        mark_as_adopted(rig)
    else:
        _mark_as_session_model(rig)


_HANDLERS: Handlers = (
    ("depsgraph_update_post", adopt_new_models),
    ("load_post", mark_loaded_models),
    ("load_factory_startup_post", mark_loaded_models),
)


def register() -> None:
    """Add the handlers that process copied mechanisms.

    Mechanisms that exist already came with their file, unless they have a mark of this session: those were processed
    before, or are copies of such made while the add-on was disabled.
    """
    connect(_HANDLERS)
    for rig in _editable_models():
        if not record_of(rig).session_tag.startswith(_SESSION_PREFIX):
            _mark_loaded(rig)


def unregister() -> None:
    """Remove the handlers."""
    disconnect(_HANDLERS)


def copy_part(obj: bpy.types.Object, name: str, part_id: str) -> bpy.types.Object:
    """Copy a body or joint where that stands, in the same collections; the copy has no twin."""
    made = copy_into_same_collections(obj)
    write_name(made, name)
    record = record_of(made)
    record.copy_of = record.copy_of or record.source_id
    record.source_id, record.twin = part_id, ""
    if record.role == "JOINT":
        _clear_physics_links(record.joint)
    return made


def _clear_physics_links(joint: KnuckleJoint) -> None:
    """Clear the links to objects that physics made for the original of a copy."""
    for name in ("motor", "spring_preload"):
        setattr(joint, name, None)
    for own in (joint.motors, joint.loss_motors, joint.spring_motors, joint.limit_constraints):
        own.clear()
