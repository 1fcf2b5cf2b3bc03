"""Bones of a model that were moved or turned in edit mode, or whose pose was applied as their rest: what hangs on them
went along, and servos turn about where they are now, which no file knows."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from mathutils import Matrix

from ...core.report import Report
from ...core.transforms import inverse
from ..build.rig import bone_rests
from ..data.access import armature_of, record_of
from ..data.conversion import flat, unflat
from ..data.queries import joint_bones, parts
from ..extract import extract
from ..extract.designs import Designs, is_as_built
from .present import present_plan
from .refit import fitted_at, is_unfitted, moved_joints, refit

#: Ways that differ by no more, as shares of what they place, are the same.
_SAME = 1e-4
#: What 32-bit numbers leave of a place that is undone, as a share of it.
_ROUNDING = 2e-6


def why_not_as_rest() -> str:
    """Return what is wrong where a pose was applied as the rest."""
    return (
        "A pose was applied as the rest: files get it as the design, and starts and stops still count from the "
        "rest of before"
    )


def edited_bones(rig: bpy.types.Object) -> dict[str, list[bpy.types.Object]]:
    """The bones, by name, that are not where they were when the parts on them were hung there, with these parts. Where
    all of a model went the same way its place was applied (Ctrl+A), and no bone was edited."""
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
    if len(every) == len(ways) and len(every) and np.ptp(every, axis=0).max() < _SAME * max(1.0, np.abs(every).max()):
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
    if are_all and np.ptp(ways, axis=0).max() < _SAME * max(1.0, np.abs(ways).max()):
        return []
    decided, chains = present_plan(rig, extract(rig)), joint_bones(rig)
    wanted = {bone.link.joint.id: bone.matrix for bone in decided.bones if bone.link is not None and not bone.step}
    out = []
    for empty in moved:
        own = record_of(empty).source_id
        if own in wanted and chains.get(own):
            there = np.array(armature_of(rig).bones[chains[own][0]].matrix_local)
            if np.abs(there - wanted[own]).max() < _SAME * max(1.0, np.abs(there).max()):
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
