"""Mismatches between a mechanism's armature and its records, and their repair.

Bones that were edited in edit mode or whose pose was applied as rest, missing and leftover bones, misplaced parts and
detached shapes. Blender lets the user do all of that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np

from ....core.model import Mechanism
from ....core.report import FormatError, Report
from ....core.transforms import inverse
from ...data.access import armature_of, record_of, rest_parent_inverse
from ...data.baseline import bone_baseline
from ...data.conversion import flatten_pose, unflatten_pose
from ...data.queries import joint_bones, mechanism_bones, parts, parts_by_id
from ...reconcile.rig_state import current_plan
from ...reconcile.rig_update import (
    attach_shapes,
    existing_bones,
    restore_designs,
)
from ...scene.armature import inverse_rest_matrices
from ...scene.read.design_poses import DesignPoses, is_moved_from_bones, is_pose_as_built, moved_joints
from ...scene.read.mechanism import extract

#: Tolerance of equal transforms, as a share of their size.
_BONE_TOLERANCE = 1e-4
#: Float32 rounding of an undone transform, as a share of its size.
_ROUNDING_TOLERANCE = 2e-6


def applied_pose_message() -> str:
    """Return the message about a pose that was applied as rest."""
    return (
        "Rest pose: a pose was applied as rest pose. Files use it as design pose, but stops and initial values still "
        "refer to the previous one. Restore the bones"
    )


def edited_bones(rig: bpy.types.Object) -> dict[str, list[bpy.types.Object]]:
    """Return the bones, by name, that moved since parts were parented to them, with these parts.

    If all of the mechanism moved equally, its transform was applied (Ctrl+A), and no bone was edited.
    """
    hung = [obj for role in ("BODY", "JOINT") for obj in parts(rig, role)]
    hung = [obj for obj in hung if obj.parent_type == "BONE" and obj.parent == rig]
    if _are_bones_unmoved(rig, hung):
        return {}
    designs, on_bones = DesignPoses(rig), dict[str, list[bpy.types.Object]]()
    for obj in hung:
        if obj.parent_bone == designs.carrier(obj):
            on_bones.setdefault(obj.parent_bone, []).append(obj)
    ways = {obj: designs.carried_by(obj) for found in on_bones.values() for obj in found}
    edited = {
        name: found
        for name, found in on_bones.items()
        if all(ways[obj] is not None for obj in found) and any(map(_is_undisturbed, found))
    }
    every = np.array([np.array(way) for way in ways.values() if way is not None]).reshape(-1, 4, 4)
    if (
        len(every) == len(ways)
        and len(every)
        and np.ptp(every, axis=0).max() < _BONE_TOLERANCE * max(1.0, np.abs(every).max())
    ):
        return {}
    return edited


def _is_undisturbed(obj: bpy.types.Object) -> bool:
    """Return whether a part's own matrix is that with which it was parented.

    It was neither parented again by the user, nor kept in place by Blender while a transform of the whole was applied.
    """
    return is_pose_as_built(obj, obj.matrix_basis) if record_of(obj).role == "BODY" else not is_moved_from_bones(obj)


def _are_bones_unmoved(rig: bpy.types.Object, hung: Sequence[bpy.types.Object]) -> bool:
    """Return whether no bone moved since objects were parented, by one comparison; nearly always true."""
    names, rests = inverse_rest_matrices(rig)
    place = {name: number for number, name in enumerate(names)}
    known = [obj for obj in hung if obj.parent_bone in place]
    now = rests[[place[obj.parent_bone] for obj in known]]
    then = np.array([flatten_pose(rest_parent_inverse(obj)) for obj in known]).reshape(-1, 4, 4)
    slack = _ROUNDING_TOLERANCE * np.maximum(1.0, np.abs(now).max(axis=(1, 2), initial=0.0))
    return bool((np.abs(now - then).max(axis=(1, 2), initial=0.0) <= slack).all())


def joints_with_applied_pose(rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the joints that moved together with their bones because a pose was applied as rest (Ctrl+A in pose mode).

    Note:
        *Apply Pose as Rest Pose* moves everything that is parented to bones. The bone of a joint that was moved by hand
        stays. If all joints moved equally, the mechanism's transform was applied or its root was posed, and joint
        values keep their meaning.
    """
    moved = moved_joints(rig)
    if not moved:
        return []
    designs = DesignPoses(rig)
    ways = np.array([np.array(designs.of(obj)) @ inverse(unflatten_pose(bone_baseline(obj))) for obj in moved])
    are_all = len(moved) == len(parts(rig, "JOINT"))
    if are_all and np.ptp(ways, axis=0).max() < _BONE_TOLERANCE * max(1.0, np.abs(ways).max()):
        return []
    decided, chains = current_plan(rig, extract(rig)), joint_bones(rig)
    wanted = {bone.link.joint.id: bone.matrix for bone in decided.bones if bone.link is not None and not bone.step}
    out = []
    for empty in moved:
        own = record_of(empty).source_id
        if own in wanted and chains.get(own):
            there = np.array(armature_of(rig).bones[chains[own][0]].matrix_local)
            if np.abs(there - wanted[own]).max() < _BONE_TOLERANCE * max(1.0, np.abs(there).max()):
                out.append(empty)
    return out


def restore_bones(rig: bpy.types.Object) -> Report:
    """Move edited bones back, with the design of the parts on them.

    After a pose was applied as rest, all parts get back their built pose.
    """
    gone = [obj for found in edited_bones(rig).values() for obj in found]
    applied = bool(joints_with_applied_pose(rig))
    if applied:
        gone = [obj for role in ("BODY", "JOINT") for obj in parts(rig, role) if obj.parent == rig]
    return restore_designs(rig, gone, applied)


@dataclass
class RigMismatch:
    """Mismatch between an armature and the mechanism's parts.

    Attributes:
        missing: Ids of parts whose bones are missing.
        left: Names of leftover bones.
        unparented: Names of bones that do not descend from the bone of the body that carries theirs.
        elsewhere: Objects that are not parented to the bone that carries them.
    """

    missing: dict[str, None] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    unparented: list[str] = field(default_factory=list)
    elsewhere: list[bpy.types.Object] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.missing or self.left or self.unparented or self.elsewhere)


def find_rig_mismatch(rig: bpy.types.Object, mechanism: Mechanism) -> RigMismatch:
    """Return the mismatch between a mechanism's armature and its bodies and joints; ``mechanism``: as they are now."""
    out = RigMismatch()
    try:
        decided = current_plan(rig, mechanism)
    except FormatError:  # reported by a build
        return out
    present = existing_bones(rig, decided)
    for bone, name in zip(decided.bones, present, strict=True):
        if name is None:
            part = bone.link.joint.id if bone.link is not None else bone.body.id if bone.body is not None else ""
            out.missing[part] = None
        elif _is_unparented(rig, name, None if bone.parent is None else present[bone.parent], present):
            out.unparented.append(name)
    out.left = sorted(mechanism_bones(rig).difference(name for name in present if name is not None))
    loose = {*out.missing}
    for obj, carrier in _parts_with_carriers(rig):
        number = decided.bone_of_body.get(carrier)
        wanted = present[number] if number is not None else ""
        if wanted is None or (obj.parent_bone in out.left and obj.parent == rig):
            continue  # its bone is reported already
        if not _is_attached_to(obj, rig, wanted) and record_of(obj).source_id not in loose:
            out.elsewhere.append(obj)
    return out


def _is_unparented(rig: bpy.types.Object, name: str, wanted: str | None, known: Collection[str | None]) -> bool:
    """Return whether the nearest of the ``known`` bones above a bone is not the ``wanted`` one; None: it is missing."""
    above = (bone.name for bone in armature_of(rig).bones[name].parent_recursive)
    return wanted is not None and next((each for each in above if each in known), None) != wanted


def _parts_with_carriers(rig: bpy.types.Object) -> Iterator[tuple[bpy.types.Object, str]]:
    """Yield a mechanism's bodies and joints, each with the id of the body whose bone carries it; empty: the world."""
    for own, obj in parts_by_id(rig, "BODY").items():
        yield obj, own
    for empty in parts_by_id(rig, "JOINT").values():
        joint = record_of(empty).joint
        carrier = joint.parent or joint.child
        yield empty, record_of(carrier).source_id if carrier is not None else ""


def _is_attached_to(obj: bpy.types.Object, rig: bpy.types.Object, bone: str) -> bool:
    if obj.parent != rig:
        return False
    return obj.parent_type == "BONE" and obj.parent_bone == bone if bone else obj.parent_type != "BONE"


# ---------------------------------------------------------------- collision shapes


def detached_shapes(rig: bpy.types.Object) -> list[tuple[bpy.types.Object, bpy.types.Object]]:
    """Return collision shapes that are not parented to their body, each with the body.

    Copies, of which the body has the original, do not count.
    """
    bodies = parts_by_id(rig, "BODY")
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


def reattach_shapes(rig: bpy.types.Object, chosen: Iterable[bpy.types.Object]) -> None:
    """Parent detached collision shapes to their bodies again."""
    wanted = set(chosen)
    attach_shapes(rig, [(obj, body) for obj, body in detached_shapes(rig) if obj in wanted])
