"""The user's objects on a mechanism, which no edit deletes or moves, and parts that go to another mechanism.

The user's objects are cameras, lights, props, bones and other mechanisms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ...core.model import Array
from ..data.access import armature_of, armature_settings, bone_record, record_of, settings
from ..data.queries import child_collection, mechanism_bones, parts_outside_collection
from ..scene.collections import ALL_COLLECTION_KINDS, create_collections, move_between_collections

#: Id of a joint or root body, and index of the bone in the joint's chain; -1 for a root.
BoneSlot = tuple[str, int]


def is_part_of(obj: bpy.types.Object, rig: bpy.types.Object) -> bool:
    """Return whether an object is a part of a mechanism, in any role."""
    record = record_of(obj)
    return record.model == rig and record.role != "NONE"


def attached_objects(
    objects: Iterable[bpy.types.Object], rig: bpy.types.Object
) -> tuple[list[bpy.types.Object], list[bpy.types.Object]]:
    """Return the parts of a mechanism that descend from objects, and the foreign objects parented to these or to those.

    Descendants of foreign objects are not included.
    """
    below: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for obj in bpy.data.objects:  # once: each ``Object.children`` searches all objects of the .blend
        if obj.parent is not None:
            below.setdefault(obj.parent, []).append(obj)
    own: list[bpy.types.Object] = []
    foreign: list[bpy.types.Object] = []
    todo = list(dict.fromkeys(objects))
    known = set(todo)
    while todo:
        for child in below.get(todo.pop(), ()):
            if child in known:
                continue
            known.add(child)
            if is_part_of(child, rig):
                own.append(child)
                todo.append(child)
            else:
                foreign.append(child)
    return own, foreign


def foreign_children(rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the foreign objects that are parented to a mechanism's armature or its bones."""
    return [child for child in rig.children if not is_part_of(child, rig)]


def carried_bones(rig: bpy.types.Object, bodies: Iterable[bpy.types.Object]) -> tuple[set[str], set[str]]:
    """Return the bones that carry bodies, with the user's bones below them, and the user's other bones."""
    bones, own = armature_of(rig).bones, mechanism_bones(rig)
    carrying = {_bone_owner(bones[obj.parent_bone]) for obj in bodies if obj.parent_bone in own}
    along: set[str] = set()
    others: set[str] = set()
    for bone in bones:
        nearest = next((each for each in (bone, *bone.parent_recursive) if each.name in own), None)
        if nearest is not None and _bone_owner(nearest) in carrying:
            along.add(bone.name)
        elif bone.name not in own:
            others.add(bone.name)
    return along, others


def _bone_owner(bone: bpy.types.Bone) -> tuple[str, str]:
    return bone_record(bone).joint, bone_record(bone).root


def bone_slots(rig: bpy.types.Object, objects: Iterable[bpy.types.Object]) -> dict[bpy.types.Object, BoneSlot]:
    """Return the bone slots of objects that are parented to a mechanism's bones."""
    slots = armature_slots(rig)
    return {obj: slots[obj.parent_bone] for obj in objects if obj.parent_type == "BONE" and obj.parent_bone in slots}


def armature_slots(rig: bpy.types.Object) -> dict[str, BoneSlot]:
    """Return the slots of a mechanism's own bones, by their names."""
    bones = armature_of(rig).bones
    return {name: _bone_slot(bones[name]) for name in mechanism_bones(rig)}


def _bone_slot(bone: bpy.types.Bone) -> BoneSlot:
    record = bone_record(bone)
    return record.joint or record.root, record.step if record.joint else -1


def attach_to_slots(rig: bpy.types.Object, objects: Mapping[bpy.types.Object, BoneSlot | None]) -> None:
    """Parent objects to a mechanism's armature, to the bones of their slots where these exist."""
    bones = {slot: name for name, slot in armature_slots(rig).items()}
    for obj, slot in objects.items():
        obj.parent = rig
        name = bones.get(slot) if slot is not None else None
        obj.parent_type, obj.parent_bone = ("OBJECT", "") if name is None else ("BONE", name)


@contextmanager
def preserve_world_poses(objects: Iterable[bpy.types.Object]) -> Iterator[None]:
    """Context manager after which objects are at the same world pose, though their parents may have changed.

    Costs nothing without objects.
    """
    kept = list(objects)
    if not kept:
        yield
        return
    bpy.context.view_layer.update()
    poses = {obj: obj.matrix_world.copy() for obj in kept}
    yield
    bpy.context.view_layer.update()
    for obj, pose in poses.items():
        _set_world_pose(obj, pose)


def _set_world_pose(obj: bpy.types.Object, pose: Matrix) -> None:
    """Move an object to a world pose.

    A child keeps its own channels, which may be keyed: its parent inverse is changed.
    """
    now = obj.matrix_world
    if np.abs(np.array(now) - np.array(pose)).max() < 1e-6 * max(1.0, np.abs(np.array(pose)).max()):
        return
    if obj.parent is None or abs(now.determinant()) < 1e-12 or abs(obj.matrix_basis.determinant()) < 1e-12:
        obj.matrix_world = pose
        return
    local = obj.matrix_basis
    obj.matrix_parent_inverse = obj.matrix_parent_inverse @ local @ now.inverted_safe() @ pose @ local.inverted()


@dataclass(frozen=True)
class AdoptedMesh:
    """A user's mesh object that becomes a body.

    Attributes:
        obj: The object.
        mesh: Its new mesh, in the object's axes.
        frame: Frame (4, 4) of the body in these axes, scaled as the object.
    """

    obj: bpy.types.Object
    mesh: bpy.types.Mesh
    frame: Array


def adopt_mesh_object(rig: bpy.types.Object, adopted: AdoptedMesh) -> bpy.types.Object:
    """Make a mesh object a body's object, where it is: its own mesh, without scale, modifiers and constraints."""
    obj, mesh = adopted.obj, adopted.mesh
    position, rotation, scale = obj.matrix_world.decompose()
    frame = Matrix(adopted.frame.tolist())
    mesh.transform(frame.inverted_safe() @ Matrix.Diagonal((*scale, 1.0)))
    if scale[0] * scale[1] * scale[2] < 0.0:
        mesh.flip_normals()
    children = [(child, child.matrix_world.copy()) for child in obj.children]
    obj.modifiers.clear()
    for constraint in list(obj.constraints):
        obj.constraints.remove(constraint)
    replace_mesh(obj, mesh)
    for folder in list(obj.users_collection):
        folder.objects.unlink(obj)
    child_collection(rig, "Bodies").objects.link(obj)
    obj.parent, obj.parent_type = rig, "OBJECT"
    obj.matrix_parent_inverse = Matrix()
    obj.delta_location, obj.delta_scale = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    obj.rotation_mode = "QUATERNION"
    world = Matrix.Translation(position) @ rotation.to_matrix().to_4x4()
    obj.matrix_basis = rig.matrix_world.inverted_safe() @ world @ frame
    for child, matrix in children:
        child.matrix_world = matrix
    return obj


def replace_mesh(obj: bpy.types.Object, mesh: bpy.types.Mesh) -> None:
    """Replace an object's mesh by another, which gets its name; the old one is deleted if it has no other users."""
    old = obj.data
    obj.data = mesh
    if not isinstance(old, bpy.types.Mesh):
        return
    name = old.name
    if old.users == 0:
        bpy.data.meshes.remove(old)
    mesh.name = name


# ---------------------------------------------------------------- parts that go to another mechanism


def separate_collections(rig: bpy.types.Object) -> None:
    """Give a mechanism that shares its collection with another (a copy made with Shift+D) its own collections.

    Parts that were moved into other collections are put back.
    """
    top, moved = settings(rig).collection, parts_outside_collection(rig)
    sharing = (armature_settings(data) for data in bpy.data.armatures)
    if not any(model.collection == top and model.rig not in (None, rig) for model in sharing):
        own = moved
    else:
        own = [rig, *(obj for obj in top.all_objects if obj != rig and is_part_of(obj, rig)), *moved]
        create_collections(rig, record_of(rig).source_name or rig.name, top)
    for obj in own:
        move_between_collections(obj, top, settings(rig).collection)


def attached_parts(bodies: Iterable[bpy.types.Object], rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the parts of a mechanism that are parented to its bodies: collision shapes, reference frames, labels.

    The user's objects stay parented there.
    """
    own, _foreign = attached_objects(bodies, rig)
    return [obj for obj in own if record_of(obj).role not in {"BODY", "JOINT"}]


def transfer_parts(
    objects: Iterable[bpy.types.Object], old: bpy.types.Object, new: bpy.types.Object, shift: Matrix | None = None
) -> None:
    """Move parts of a mechanism to another, into collections of the same names; the user's own collections are kept.

    Parts of the armature are parented to the other armature object until that is updated.

    Args:
        objects: The parts.
        old: Armature of their mechanism.
        new: Armature of the other one.
        shift: Transform from the design frame of ``old`` to that of ``new``; None: identity.
    """
    for obj in objects:
        move_between_collections(obj, settings(old).collection, settings(new).collection)
        record_of(obj).model = new
        if obj.parent == old:
            parent_inverse = obj.matrix_parent_inverse.copy()  # reset by a new parent
            obj.parent, obj.matrix_parent_inverse = new, parent_inverse
            if shift is not None:
                obj.parent_type, obj.parent_bone = "OBJECT", ""
                obj.matrix_parent_inverse = Matrix()
                obj.matrix_basis = shift @ obj.matrix_basis


def transfer_foreign_objects(old: bpy.types.Object, new: bpy.types.Object) -> None:
    """Move the user's objects and collections in a mechanism's collections to those of another mechanism."""
    top = settings(old).collection
    for child in list(top.children):
        if child.name.split(".")[0] not in ALL_COLLECTION_KINDS:
            top.children.unlink(child)
            settings(new).collection.children.link(child)
    for obj in list(top.all_objects):
        if not is_part_of(obj, old):
            move_between_collections(obj, top, settings(new).collection)
