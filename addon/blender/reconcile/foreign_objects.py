"""The user's objects on a mechanism, which no edit deletes or moves, and parts that go to another mechanism.

The user's objects are cameras, lights, props, bones and other mechanisms. Also the user's drivers and constraints that
depend on bones (``rig_state.BoneReferences``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...core.model import Array
from ...core.report import Message, Report
from ..data.access import armature_of, armature_settings, bone_record, record_of, settings
from ..data.channels import bone_of_path, is_screw_driver_curve, path_with_renamed_bone
from ..data.queries import child_collection, mechanism_bones, parts_outside_collection
from ..physics.simulation.recording import is_body_key_constraint
from ..rig.bone_limits import is_stop_constraint
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


@dataclass(frozen=True)
class BoneReference:
    """Constraint, or variable of a driver, that refers to a bone of an armature object.

    Attributes:
        owner: Datablock that has it.
        posed: Bone of the owner that has it or is driven; empty: none.
        name: Name of the constraint, or the driven data path.
        bone: The bone that it refers to.
        holder: Constraint, its target, or target of the driver's variable.
        end: Property of the holder that is the armature object.
    """

    owner: bpy.types.ID
    posed: str
    name: str
    bone: str
    holder: Any
    end: str

    @property
    def is_driver(self) -> bool:
        """True for a variable of a driver, false for a constraint."""
        return self.end == "id"

    def set(self, rig: bpy.types.Object, bone: str) -> None:
        """Let it refer to a bone of an armature object."""
        if not self.is_driver:
            setattr(self.holder, f"{self.end[:-6]}subtarget", bone)
        elif self.holder.bone_target == self.bone:
            self.holder.bone_target = bone
        else:
            self.holder.data_path = path_with_renamed_bone(self.holder.data_path, {self.bone: bone})
        setattr(self.holder, self.end, rig)


def bone_references(rig: bpy.types.Object) -> Iterator[BoneReference]:
    """Yield all constraints and drivers of the .blend that refer to bones of an armature object."""
    for user in _users(rig):
        posed = user.pose.bones if isinstance(user, bpy.types.Object) and user.pose is not None else ()
        for owner in (user, *posed) if isinstance(user, bpy.types.Object) else ():
            bone = "" if owner == user else owner.name
            for constraint in owner.constraints:
                for held in (constraint, *(constraint.targets if constraint.type == "ARMATURE" else ())):
                    for end in ("target", "pole_target"):
                        name = getattr(held, f"{end[:-6]}subtarget", "")
                        if name and getattr(held, end, None) == rig:
                            yield BoneReference(user, bone, constraint.name, name, held, end)
    for owner, curve in _drivers(rig):
        driven = bone_of_path(curve.data_path) if owner.id_type == "OBJECT" else ""
        for source in (source for variable in curve.driver.variables for source in variable.targets):
            name = source.bone_target or bone_of_path(source.data_path)
            if name and source.id == rig:
                yield BoneReference(owner, driven, curve.data_path, name, source, "id")


def follow_bones(old: bpy.types.Object, new: bpy.types.Object, names: Mapping[str, str]) -> None:
    """Let the constraints and drivers that refer to bones of an armature object follow these to another one.

    Args:
        old: The armature object that they refer to.
        new: The one that has the bones now.
        names: New names of the bones by previous ones.
    """
    for each in list(bone_references(old)) if names else ():
        if each.bone in names:
            each.set(new, names[each.bone])


def report_lost_references(rig: bpy.types.Object, deleted: Collection[str]) -> Report:
    """Report the constraints and drivers that refer to deleted bones (names) of an armature object."""
    report = Report()
    for each in bone_references(rig) if deleted else ():
        if each.bone not in deleted or (each.owner == rig and each.posed in deleted):
            continue
        owner = Message("{}, bone {}", repr(each.owner.name), repr(each.posed)) if each.posed else repr(each.owner.name)
        what = (
            Message(
                "{}: its driver of {} reads bone {}, which was deleted or replaced",
                owner,
                repr(each.name),
                repr(each.bone),
            )
            if each.is_driver
            else Message(
                "{}: its constraint {} refers to bone {}, which was deleted or replaced",
                owner,
                repr(each.name),
                repr(each.bone),
            )
        )
        report.warn(
            "bone-reference-lost", Message("{}. Choose another bone, or remove it", what), where=each.owner.name
        )
    return report


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
    for obj, spot in objects.items():
        obj.parent = rig
        name = bones.get(spot) if spot is not None else None
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
    places = {obj: obj.matrix_world.copy() for obj in kept}
    yield
    bpy.context.view_layer.update()
    for obj, place in places.items():
        _set_world_pose(obj, place)


def _set_world_pose(obj: bpy.types.Object, place: Matrix) -> None:
    """Move an object to a world pose.

    A child keeps its own channels, which may be keyed: its parent inverse is changed.
    """
    now = obj.matrix_world
    if np.abs(np.array(now) - np.array(place)).max() < 1e-6 * max(1.0, np.abs(np.array(place)).max()):
        return
    if obj.parent is None or abs(now.determinant()) < 1e-12 or abs(obj.matrix_basis.determinant()) < 1e-12:
        obj.matrix_world = place
        return
    local = obj.matrix_basis
    obj.matrix_parent_inverse = obj.matrix_parent_inverse @ local @ now.inverted_safe() @ place @ local.inverted()


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
    place, turn, scale = obj.matrix_world.decompose()
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
    world = Matrix.Translation(place) @ turn.to_matrix().to_4x4()
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


# ---------------------------------------------------------------- drivers and constraints that depend on bones

#: Data path and index of a channel.
ChannelPath = tuple[str, int]
#: Object that owns a constraint, name of its bone if it is on one, and name of the constraint.
ConstraintKey = tuple[bpy.types.Object, str, str]
_MAX_EXPRESSION_LENGTH = 255  # of Blender


def convert_transformation(constraint: Any, read: Sequence[float], written: Sequence[float]) -> None:
    """Convert a Transformation constraint to other signs of the axes (3,) that it reads and of those that it moves."""
    maps = {letter: getattr(constraint, f"map_to_{letter}_from").lower() for letter in "xyz"}
    for axis, sign in zip("xyz", read, strict=True):
        for kind in ("", "_rot") if sign < 0.0 else ():
            low, high = (f"from_{end}_{axis}{kind}" for end in ("min", "max"))
            ends = -getattr(constraint, high), -getattr(constraint, low)
            setattr(constraint, low, ends[0])
            setattr(constraint, high, ends[1])
    for axis, sign in zip("xyz", written, strict=True):
        is_reversed = read["xyz".index(maps[axis])] < 0.0 and constraint.map_from != "SCALE"
        for kind, factor in (("", sign), ("_rot", sign), ("_scale", 1.0)):
            low, high = (f"to_{end}_{axis}{kind}" for end in ("min", "max"))
            ends = factor * getattr(constraint, low), factor * getattr(constraint, high)
            for name, value in zip((low, high), reversed(ends) if is_reversed else ends, strict=True):
                setattr(constraint, name, value)


def negate_variable(driver: bpy.types.Driver, name: str) -> bool:
    """Change a driver to use the negative of a variable; return False where its expression would be too long."""
    text, names = driver.expression, [variable.name for variable in driver.variables]
    if driver.type in {"SUM", "AVERAGE"}:
        text = " + ".join(names)
        text = text if driver.type == "SUM" else f"({text}) / {len(names)}"
    elif driver.type in {"MIN", "MAX"}:
        text = f"{driver.type.lower()}({', '.join(names)})" if len(names) > 1 else names[0]
    own = re.escape(name)  # "(-x)" becomes "x", but not that of "sin(-x)"
    found = re.compile(rf"(?<![\w)\]])\(-{own}\)|(?<![\w.]){own}(?!\w)")
    text = found.sub(lambda each: name if each[0].startswith("(") else f"(-{name})", text)
    if len(text) > _MAX_EXPRESSION_LENGTH:
        return False
    driver.type, driver.expression = "SCRIPTED", text
    return True


def _users(rig: bpy.types.Object) -> list[bpy.types.ID]:
    """Return the datablocks that refer to an armature object, and itself, except linked ones."""
    users = bpy.data.user_map(subset={rig}).get(rig, ())
    return [user for user in dict.fromkeys((rig, *users)) if user.library is None]


def _drivers(rig: bpy.types.Object) -> Iterator[tuple[bpy.types.ID, Any]]:
    """Yield the drivers of the datablocks that refer to an armature object, and of their node trees, with the owner."""
    for user in _users(rig):
        for owner in (user, getattr(user, "node_tree", None)):
            data = getattr(owner, "animation_data", None)
            for curve in () if data is None else data.drivers:
                yield owner, curve


def drivers_reading(rig: bpy.types.Object) -> Iterator[tuple[bpy.types.ID, bpy.types.FCurve]]:
    """Yield the user's drivers that read a bone of an armature object, each with its owner."""
    for owner, curve in _drivers(rig):
        sources = [source for variable in curve.driver.variables for source in variable.targets]
        reads = any(each.id == rig and (each.bone_target or bone_of_path(each.data_path)) for each in sources)
        if reads and not is_screw_driver_curve(curve):
            yield owner, curve


def place_of(curve: bpy.types.FCurve) -> ChannelPath:
    """Return what a driver drives."""
    return curve.data_path, curve.array_index


def driven_value(owner: bpy.types.ID, path: str, index: int) -> float | None:
    """Return the evaluated value of a driven property; None where there is none, or it is no number."""
    evaluated = owner.evaluated_get(bpy.context.evaluated_depsgraph_get())
    try:
        value = evaluated.path_resolve(path)
    except ValueError:
        return None
    try:
        return float(value) if isinstance(value, int | float) else float(value[index])
    except (TypeError, ValueError, IndexError):
        return None


def is_bone_target(constraint: Any, rig: bpy.types.Object) -> bool:
    """Return whether a constraint reads a bone of an armature object."""
    reads = "subtarget" in constraint.bl_rna.properties.keys()  # noqa: SIM118 - Blender's collection of properties
    return reads and constraint.target == rig and bool(constraint.subtarget)


def constraints_on_bones(rig: bpy.types.Object) -> Iterator[tuple[ConstraintKey, Any]]:
    """Yield the user's constraints that read a bone of an armature object or are on a bone of its mechanism."""
    own = mechanism_bones(rig)
    for obj in _users(rig):
        if not isinstance(obj, bpy.types.Object):
            continue
        for constraint in obj.constraints:
            if is_bone_target(constraint, rig) and not is_body_key_constraint(constraint):
                yield (obj, "", constraint.name), constraint
        for pose in obj.pose.bones if obj.pose is not None else ():
            for constraint in pose.constraints:
                is_own = obj == rig and pose.name in own and not is_stop_constraint(constraint)
                if is_own or is_bone_target(constraint, rig):
                    yield (obj, pose.name, constraint.name), constraint


def mute_bone_constraints(rig: bpy.types.Object) -> set[tuple[str, str]]:
    """Mute the user's constraints on a mechanism's bones; return those that acted, by bone and name."""
    every = [(pose, each) for pose in rig.pose.bones for each in pose.constraints if not is_stop_constraint(each)]
    acting = {(pose.name, constraint.name) for pose, constraint in every if not constraint.mute}
    for _pose, constraint in every:
        constraint.mute = True
    return acting


def copy_bone_constraints(
    rig: bpy.types.Object, to: bpy.types.Object, bones: Mapping[str, str], acting: Collection[tuple[str, str]]
) -> None:
    """Copy the user's constraints on a mechanism's bones to those of another, where only ``acting`` ones are unmuted.

    Args:
        rig: The armature.
        to: The other armature.
        bones: Names of its bones by those of the bones that they replace.
        acting: Bones and names of constraints that acted (``mute_bone_constraints``).
    """
    for name, new_name in bones.items():
        for constraint in rig.pose.bones[name].constraints:
            if not is_stop_constraint(constraint):
                to.pose.bones[new_name].constraints.copy(constraint).mute = (name, constraint.name) not in acting
