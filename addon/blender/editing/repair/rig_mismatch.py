"""Bones of a model that were moved or turned in edit mode, or whose pose was applied as their rest: what hangs on them
went along, and servos turn about where they are now, which no file knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np
from mathutils import Matrix

from ....core.model import Mechanism
from ....core.report import FormatError, Report
from ....core.transforms import inverse
from ...data.access import armature_of, record_of, settings
from ...data.conversion import flat, unflat
from ...data.queries import child_collection, every_part, joint_bones, own_bones, parts
from ...scene.armature import bone_rests
from ...scene.read.design_poses import Designs, is_as_built
from ...scene.read.mechanism import extract
from ..design_poses import present_plan, put_design
from ..rig_update import fitted_at, is_unfitted, moved_joints, present_bones, refit
from ..symmetry.links import by_id
from .missing_parts import FOLDERS, lacks_end

#: Ways that differ by no more, as shares of what they place, are the same.
_SAME_BONE = 1e-4
#: What 32-bit numbers leave of a place that is undone, as a share of it.
_ROUNDING = 2e-6


def why_not_as_rest() -> str:
    """Return what is wrong where a pose was applied as the rest."""
    return (
        "A pose was applied as the rest: files get it as the design, and starts and stops still count from the "
        "rest of before"
    )


def edited_bones(rig: bpy.types.Object) -> dict[str, list[bpy.types.Object]]:
    """The bones, by name, that are not where they were when the parts on them were hung there, with these parts.

    Where all of a model went the same way its place was applied (Ctrl+A), and no bone was edited.
    """
    hung = [obj for role in ("BODY", "JOINT") for obj in parts(rig, role)]
    hung = [obj for obj in hung if obj.parent_type == "BONE" and obj.parent == rig]
    if _are_as_hung(rig, hung):
        return {}
    designs, on_bones = Designs(rig), dict[str, list[bpy.types.Object]]()
    for obj in hung:
        if obj.parent_bone == designs.carrier(obj):
            on_bones.setdefault(obj.parent_bone, []).append(obj)
    ways = {obj: designs.carried_by(obj) for found in on_bones.values() for obj in found}
    edited = {
        name: found
        for name, found in on_bones.items()
        if all(ways[obj] is not None for obj in found) and any(map(_is_at_home, found))
    }
    every = np.array([np.array(way) for way in ways.values() if way is not None]).reshape(-1, 4, 4)
    if (
        len(every) == len(ways)
        and len(every)
        and np.ptp(every, axis=0).max() < _SAME_BONE * max(1.0, np.abs(every).max())
    ):
        return {}
    return edited


def _is_at_home(obj: bpy.types.Object) -> bool:
    """Return whether a part's own matrix is that with which it was hung: it is none that the user hung anew, or that
    Blender keeps in place while it applies the place of the whole."""
    return is_as_built(obj, obj.matrix_basis) if record_of(obj).role == "BODY" else not is_unfitted(obj)


def _are_as_hung(rig: bpy.types.Object, hung: Sequence[bpy.types.Object]) -> bool:
    """Return whether all bones are where they were when things were hung on them, all at once: that is so with nearly
    every model."""
    names, rests = bone_rests(rig)
    place = {name: number for number, name in enumerate(names)}
    known = [obj for obj in hung if obj.parent_bone in place]
    now = rests[[place[obj.parent_bone] for obj in known]]
    then = np.array([flat(obj.matrix_parent_inverse) for obj in known]).reshape(-1, 4, 4)
    slack = _ROUNDING * np.maximum(1.0, np.abs(now).max(axis=(1, 2), initial=0.0))
    return bool((np.abs(now - then).max(axis=(1, 2), initial=0.0) <= slack).all())


def applied_joints(rig: bpy.types.Object) -> list[bpy.types.Object]:
    """The joints that moved and whose bones went with them: a pose was applied as the rest (Ctrl+A in pose mode), which
    has Blender move all that hangs on bones. Of one that was moved by hand the bone stays, and where all moved alike
    the model's place was applied, or its root was posed: nothing counts otherwise then."""
    moved = moved_joints(rig)
    if not moved:
        return []
    designs = Designs(rig)
    ways = np.array([np.array(designs.of(obj)) @ inverse(unflat(fitted_at(obj))) for obj in moved])
    are_all = len(moved) == len(parts(rig, "JOINT"))
    if are_all and np.ptp(ways, axis=0).max() < _SAME_BONE * max(1.0, np.abs(ways).max()):
        return []
    decided, chains = present_plan(rig, extract(rig)), joint_bones(rig)
    wanted = {bone.link.joint.id: bone.matrix for bone in decided.bones if bone.link is not None and not bone.step}
    out = []
    for empty in moved:
        own = record_of(empty).source_id
        if own in wanted and chains.get(own):
            there = np.array(armature_of(rig).bones[chains[own][0]].matrix_local)
            if np.abs(there - wanted[own]).max() < _SAME_BONE * max(1.0, np.abs(there).max()):
                out.append(empty)
    return out


def put_bones_back(rig: bpy.types.Object) -> Report:
    """Have edited bones be where they were, and what hangs on them be designed as it was; after a pose was applied as
    the rest, all parts as they were made."""
    gone = [obj for found in edited_bones(rig).values() for obj in found]
    applied = bool(applied_joints(rig))
    if applied:
        gone = [obj for role in ("BODY", "JOINT") for obj in parts(rig, role) if obj.parent == rig]
    for obj in gone:
        if obj.parent_type == "BONE":
            bone = armature_of(rig).bones[obj.parent_bone]
            obj.matrix_parent_inverse = (bone.matrix_local @ Matrix.Translation((0.0, bone.length, 0.0))).inverted()
        if record_of(obj).role == "BODY" and (applied or is_as_built(obj, obj.matrix_basis)):
            obj.matrix_basis = Matrix(unflat(record_of(obj).built).tolist())
        elif record_of(obj).role == "JOINT" and is_unfitted(obj):
            obj.matrix_basis = Matrix(unflat(fitted_at(obj)).tolist())
    return refit(rig)


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
    """Collision shapes that do not hang on the body that they are of, each with it.

    (Where it has another for them, they are copies.)
    """
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
