"""What of a model does not stand as its records say: bones that are gone or left over, parts that hang elsewhere, what
was deleted by hand. Blender lets the user do all of that; each can be mended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import bpy
import numpy as np
from mathutils import Matrix

from ...core.model import Mechanism
from ...core.report import FormatError
from ..data.access import record_of, settings
from ..data.conversion import unflat
from ..data.queries import child_collection, every_part, own_bones, parts
from .needed import FOLDERS, lacks_end
from .places import put_design
from .present import present_plan
from .refit import present_bones, refit
from .twins import by_id

#: Entries of two local matrices that differ by less are the same.
_SAME = 1e-6


@dataclass
class Misfit:
    """Parts, by their ids, whose bones are ``missing``, names of bones that are ``left`` over, and objects that hang on
    ``elsewhere`` than on the bone that carries them."""

    missing: dict[str, None] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    elsewhere: list[bpy.types.Object] = field(default_factory=list)


def misfit(rig: bpy.types.Object, mechanism: Mechanism) -> Misfit:
    """Return what of a model's armature does not fit its bodies and joints, which ``mechanism`` are as they are now."""
    out = Misfit()
    try:
        decided = present_plan(rig, mechanism)
    except FormatError:  # which whoever builds it will be told
        return out
    present = present_bones(rig, decided)
    for bone, name in zip(decided.bones, present, strict=True):
        if name is None:
            part = bone.link.joint.id if bone.link is not None else bone.body.id if bone.body is not None else ""
            out.missing[part] = None
    out.left = sorted(own_bones(rig).difference(name for name in present if name is not None))
    loose = {*out.missing}
    for obj, carrier in _carried(rig):
        number = decided.bone_of_body.get(carrier)
        wanted = present[number] if number is not None else ""
        if wanted is None or (obj.parent_bone in out.left and obj.parent == rig):
            continue  # its bone is told of
        if not _hangs_on(obj, rig, wanted) and record_of(obj).source_id not in loose:
            out.elsewhere.append(obj)
    return out


def _carried(rig: bpy.types.Object) -> Iterator[tuple[bpy.types.Object, str]]:
    """A model's bodies and joints, each with the id of the body on whose bone it hangs; empty for the world's."""
    for own, obj in by_id(rig, "BODY").items():
        yield obj, own
    for empty in by_id(rig, "JOINT").values():
        joint = record_of(empty).joint
        carrier = joint.parent or joint.child
        yield empty, record_of(carrier).source_id if carrier is not None else ""


def _hangs_on(obj: bpy.types.Object, rig: bpy.types.Object, bone: str) -> bool:
    if obj.parent != rig:
        return False
    return obj.parent_type == "BONE" and obj.parent_bone == bone if bone else obj.parent_type != "BONE"


# ---------------------------------------------------------------- deleted by hand


def is_gone(obj: bpy.types.Object, rig: bpy.types.Object) -> bool:
    """Return whether a part was deleted by hand: Blender keeps what our records point at, in no collection."""
    collection = settings(rig).collection
    return collection is not None and collection.all_objects.get(obj.name) != obj


def lost_joints(rig: bpy.types.Object) -> list[tuple[bpy.types.Object, list[bpy.types.Object]]]:
    """Joints whose bodies were deleted by hand, with those bodies as far as Blender still has them."""
    bodies = set(every_part(rig, "BODY"))
    out = []
    for empty in parts(rig, "JOINT"):
        joint = record_of(empty).joint
        ends = [end for end in (joint.parent, joint.child) if end is not None]
        gone = [end for end in ends if end not in bodies]
        if gone or (lacks_end(joint) and joint.active):
            out.append((empty, gone))
    return out


def take_back(rig: bpy.types.Object, objects: Iterable[bpy.types.Object]) -> list[str]:
    """Put bodies that were deleted by hand, and what of theirs was deleted with them, back among a model's."""
    names, back = [], list(objects)
    for obj in back:
        for each in (obj, *(child for child in obj.children if record_of(child).role == "SHAPE")):
            if is_gone(each, rig):
                child_collection(rig, FOLDERS[record_of(each).role]).objects.link(each)
        names.append(obj.name)
    refit(rig, made=back)
    return names


def loose_shapes(rig: bpy.types.Object) -> list[tuple[bpy.types.Object, bpy.types.Object]]:
    """Collision shapes that do not hang on the body that they are of, each with it. (Where it has another for them,
    they are copies.)"""
    bodies = by_id(rig, "BODY")
    shapes = [obj for obj in parts(rig, "SHAPE") if record_of(obj).shape >= 0]
    hung = {(obj.parent, record_of(obj).shape) for obj in shapes}
    out = []
    for obj in shapes:
        own = record_of(obj).source_id.rpartition("/")[0]
        if obj.parent is not None and record_of(obj.parent).source_id == own:
            continue
        body = bodies.get(own)
        if body is not None and (body, record_of(obj).shape) not in hung:
            out.append((obj, body))
    return out


def hang_shapes(rig: bpy.types.Object, chosen: Iterable[bpy.types.Object]) -> None:
    """Hang loose collision shapes on their bodies again: where they were made if they still have that local matrix,
    else where they stand."""
    bpy.context.view_layer.update()
    for obj, body in loose_shapes(rig):
        if obj not in chosen:
            continue
        local = body.matrix_world.inverted_safe() @ obj.matrix_world
        was_there = np.abs(np.array(obj.matrix_basis) - unflat(record_of(obj).built)).max() <= _SAME
        obj.parent, obj.parent_type, obj.matrix_parent_inverse = body, "OBJECT", Matrix()
        if not was_there:
            put_design(obj, np.array(local, dtype=np.float64))
    refit(rig)
