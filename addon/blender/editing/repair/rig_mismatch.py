"""Mismatches between a mechanism's armature and its records, and their repair.

Bones that were edited in edit mode or whose pose was applied as rest, missing and leftover bones, misplaced parts and
detached shapes. Blender lets the user do all of that.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np
from mathutils import Matrix

from ....core.model import Array, Mechanism
from ....core.report import FormatError, Message, Report, abbreviate_names
from ....core.transforms import inverse
from ...animation.actions import animated_curve_ids
from ...animation.loops import live_solver
from ...compat import action_curves, nla_strips, strip_curves
from ...data.access import armature_of, record_of, rest_parent_inverse
from ...data.baseline import bone_baseline, recorded_rest_poses
from ...data.channels import bone_of_path, bone_path, servo_channels
from ...data.conversion import flatten_pose, read_stops, unflatten_pose
from ...data.queries import mechanism_bones, parts, parts_by_id, root_bones
from ...reconcile.rig_state import current_plan, existing_bones
from ...reconcile.rig_update import (
    attach_shapes,
    begin_edit,
    in_object_mode,
    physics_suspended,
    update_armature,
)
from ...scene.armature import inverse_rest_matrices, set_rest_poses
from ...scene.read.design_poses import DesignPoses, is_moved_from_bones, is_pose_as_built, keyed_bones, snap_to_built

_MAX_NAMES = 4
#: Tolerance of equal transforms, as a share of their size.
_BONE_TOLERANCE = 1e-4
#: Float32 rounding of an undone transform, as a share of its size.
_ROUNDING_TOLERANCE = 2e-6


def applied_scale(rig: bpy.types.Object) -> float:
    """Return the scale of an armature object that was applied to its bones (Ctrl+A); 1 if none was."""
    recorded, bones = recorded_rest_poses(rig), armature_of(rig).bones
    if len(recorded) < 2:
        return 1.0
    then, now = np.array([*recorded.values()]), np.array([bones[name].matrix_local for name in recorded])
    spread, spread_now = (heads - heads.mean(axis=0) for heads in (then[:, :3, 3], now[:, :3, 3]))
    size = float(np.linalg.norm(spread))
    scale = float(np.linalg.norm(spread_now)) / size if size > 0.0 else 1.0
    is_scaled = abs(scale - 1.0) > _BONE_TOLERANCE and np.abs(now - then)[:, :3, :3].max() < _BONE_TOLERANCE
    return scale if is_scaled and np.abs(spread_now - scale * spread).max() < _BONE_TOLERANCE * scale * size else 1.0


def applied_scale_message(scale: float) -> str:
    """Return the message about an applied scale, which bodies do not follow."""
    return Message(
        "Armature: its scale {} was applied to the bones, bodies and files keep their size. Undo this (Ctrl+Z)",
        f"{scale:.3g}",
    )


def applied_pose_message() -> str:
    """Return the message about a pose that was applied as rest."""
    return (
        "Rest pose: a pose was applied as rest pose. Files use it as design pose, but stops, initial values and "
        "keyframes still refer to the previous one. Restore the bones"
    )


def edited_bones(rig: bpy.types.Object) -> dict[str, list[bpy.types.Object]]:
    """Return the bones, by name, that moved since parts were parented to them, with these parts.

    If all of the mechanism moved equally, its transform was applied (Ctrl+A), and no bone was edited.
    """
    attached = [obj for role in ("BODY", "JOINT") for obj in parts(rig, role)]
    attached = [obj for obj in attached if obj.parent_type == "BONE" and obj.parent == rig]
    if _are_bones_unmoved(rig, attached):
        return {}
    designs, on_bones = DesignPoses(rig), dict[str, list[bpy.types.Object]]()
    for obj in attached:
        if obj.parent_bone == designs.carrier(obj):
            on_bones.setdefault(obj.parent_bone, []).append(obj)
    motions = {obj: designs.carried_by(obj) for found in on_bones.values() for obj in found}
    edited = {
        name: found
        for name, found in on_bones.items()
        if all(motions[obj] is not None for obj in found) and any(map(_is_undisturbed, found))
    }
    every = np.array([np.array(motion) for motion in motions.values() if motion is not None])
    return {} if len(every) == len(motions) > 0 and _is_one_motion(every) else edited


def _is_one_motion(motions: Array) -> bool:
    """Return whether motions (n, 4, 4) are all the same."""
    return bool(np.ptp(motions, axis=0).max() < _BONE_TOLERANCE * max(1.0, np.abs(motions).max()))


def _is_undisturbed(obj: bpy.types.Object) -> bool:
    """Return whether a part's own matrix is that with which it was parented.

    It was neither parented again by the user, nor kept in place by Blender while a transform of the whole was applied.
    """
    return is_pose_as_built(obj, obj.matrix_basis) if record_of(obj).role == "BODY" else not is_moved_from_bones(obj)


def _are_bones_unmoved(rig: bpy.types.Object, attached: Sequence[bpy.types.Object]) -> bool:
    """Return whether no bone moved since objects were parented, by one comparison; nearly always true."""
    names, rests = inverse_rest_matrices(rig)
    rows = {name: row for row, name in enumerate(names)}
    known = [obj for obj in attached if obj.parent_bone in rows]
    now = rests[[rows[obj.parent_bone] for obj in known]]
    then = np.array([flatten_pose(rest_parent_inverse(obj)) for obj in known]).reshape(-1, 4, 4)
    slack = _ROUNDING_TOLERANCE * np.maximum(1.0, np.abs(now).max(axis=(1, 2), initial=0.0))
    return bool((np.abs(now - then).max(axis=(1, 2), initial=0.0) <= slack).all())


# ---------------------------------------------------------------- rest poses

#: Largest angle or relative length by which channels differ from rounding alone; of locked ones, which poses lack.
_CHANNEL_TOLERANCE, _LOCKED_TOLERANCE = 2e-6, 1e-4


@dataclass
class RestChange:
    """Rest poses of bones that are no longer those last written, because Blender's own tools changed them.

    Attributes:
        before: Rest poses (4, 4) last written to the bones of joints and roots in the mechanism's frame, by name.
        after: Present rest poses of all bones, by name.
        moved: Names of the bones of joints and roots whose rest pose differs.
        edited: Bones that were edited in Edit Mode, by name, with the parts on them, which moved along.
        is_applied: A pose was applied as rest: the parts stayed, and the bones lost their pose.
        is_whole: All bones moved equally, by *Apply* (Ctrl+A) of the armature or the applied pose of its root.
    """

    before: dict[str, Array]
    after: dict[str, Array]
    moved: list[str]
    edited: dict[str, list[bpy.types.Object]]
    is_applied: bool = False
    is_whole: bool = False


def find_rest_change(rig: bpy.types.Object) -> RestChange:
    """Find the bones whose rest pose is no longer the last written one, and whether a pose was applied as rest.

    Note:
        *Apply Pose as Rest Pose* rewrites the transforms of what is parented to bones so that it stays. *Apply* of the
        armature's own transform does so too, and moves all bones equally: only keyframes of a root that have the pose
        show that it was applied.
    """
    before, edited = recorded_rest_poses(rig), edited_bones(rig)
    designs = DesignPoses(rig)
    after = {bone.name: designs.rest(bone) for bone in armature_of(rig).bones}
    moved = [name for name, rest in before.items() if not _are_equal(after[name], rest)]
    out = RestChange(before, after, moved, edited)
    carrying = {obj.parent_bone for role in ("BODY", "JOINT") for obj in parts(rig, role) if obj.parent == rig}
    if all(name in edited for name in carrying.intersection(moved)):
        out.edited = {name: edited.get(name, []) for name in (*edited, *moved)}
    elif len(moved) < len(before) or not _is_similarity(before, after):
        out.is_applied = True
    else:
        out.is_whole = _is_one_motion(np.array([after[name] @ inverse(rest) for name, rest in before.items()]))
        keyed = keyed_bones(rig).intersection(root_bones(rig).values()) if out.is_whole else set()
        out.is_applied = bool(keyed) and all(_is_keyed_pose(rig, root, _applied_pose(rig, root, out)) for root in keyed)
        out.is_whole = out.is_whole and not keyed
    return out


def _are_equal(one: Array, other: Array) -> bool:
    return bool(np.abs(one - other).max() < _BONE_TOLERANCE * max(1.0, np.abs(other).max()))


def _is_similarity(before: Mapping[str, Array], after: Mapping[str, Array]) -> bool:
    """Return whether rest poses (4, 4) by name were all moved by one rotation, translation and scale."""
    old, new = np.array([*before.values()]), np.array([after[name] for name in before])
    turns = new[:, :3, :3] @ old[:, :3, :3].transpose(0, 2, 1)
    heads = old[:, :3, 3] @ turns[0].T
    here, there = heads - heads.mean(axis=0), new[:, :3, 3] - new[:, :3, 3].mean(axis=0)
    size = float((here**2).sum())
    off = there - here * (float((here * there).sum()) / size if size > 0.0 else 1.0)
    return bool(max(np.ptp(turns, axis=0).max(), np.abs(off).max()) < _BONE_TOLERANCE * max(1.0, np.abs(new).max()))


def _applied_pose(rig: bpy.types.Object, bone: str, change: RestChange) -> Matrix:
    """Return the pose (4, 4) of a bone, in its own axes, by which its rest pose relative to its parent changed."""
    above = armature_of(rig).bones[bone].parent
    old, new = change.before[bone], change.after[bone]
    if above is not None and above.name in change.before:
        old, new = inverse(change.before[above.name]) @ old, inverse(change.after[above.name]) @ new
    return Matrix((inverse(old) @ new).tolist())


def _is_keyed_pose(rig: bpy.types.Object, bone: str, pose: Matrix) -> bool:
    """Return whether keyframes of the active Action or of an NLA strip pose a bone so (4, 4) in any frame."""
    data, now = rig.animation_data, bpy.context.scene.frame_current_final
    if data is None:
        return False
    wanted = {
        (bone_path(bone, prop), index): value
        for prop, values in _bone_channels(rig.pose.bones[bone], pose).items()
        for index, value in enumerate(values)
    }
    played: list[tuple[bpy.types.Action, Iterable[bpy.types.FCurve]]] = [
        (strip.action, strip_curves(strip)) for strip in nla_strips(data)
    ]
    if data.action is not None:
        played.append((data.action, action_curves(rig, data.action, create=False) or ()))
    for action, every in played:
        curves = [each for each in every if bone_of_path(each.data_path) == bone]
        if curves:
            first, last = (float(x) for x in action.frame_range)  # type: ignore[attr-defined]
            frames = np.unique([now, *np.arange(first, last + 1.0), last])
            if _is_pose_of_curves(curves, wanted, frames):
                return True
    return False


def _is_pose_of_curves(
    curves: Iterable[bpy.types.FCurve], wanted: Mapping[tuple[str, int], float], frames: Array
) -> bool:
    """Return whether F-curves have wanted values, by path and index, in any of some frames; quaternions up to sign."""
    fits = np.ones(len(frames), dtype=bool)
    flipped = fits.copy()
    for curve in curves:
        value = wanted.get((curve.data_path, curve.array_index), 0.0)
        here = np.array([curve.evaluate(frame) for frame in frames])
        sign = -1.0 if curve.data_path.endswith("quaternion") else 1.0
        tolerance = _BONE_TOLERANCE * max(1.0, abs(value))
        fits &= np.abs(here - value) < tolerance
        flipped &= np.abs(here - sign * value) < tolerance
    return bool((fits | flipped).any())


def _bone_channels(pose: bpy.types.PoseBone, wanted: Matrix) -> dict[str, tuple[float, ...]]:
    """Return the channels of a bone, by property, that pose it so (4, 4), nearest to its present ones."""
    location, rotation, _scale = wanted.decompose()
    if pose.rotation_mode == "QUATERNION":
        rotation.make_compatible(pose.rotation_quaternion)
        return {"location": location[:], "rotation_quaternion": rotation[:]}
    if pose.rotation_mode == "AXIS_ANGLE":
        axis, angle = rotation.to_axis_angle()
        return {"location": location[:], "rotation_axis_angle": (angle, *axis[:])}
    euler = rotation.to_euler(pose.rotation_mode, pose.rotation_euler)  # type: ignore[arg-type]
    return {"location": location[:], "rotation_euler": euler[:]}


def restore_bones(rig: bpy.types.Object) -> Report:
    """Move bones back whose rest pose was changed with Blender's own tools, with the design of the parts on them.

    The inverse of *Apply Pose as Rest Pose*: keyframes mean again what they meant, and bones without are posed as they
    were. The report has the bones posed, and those whose whole turns cannot be known.
    """
    report = Report()
    with live_solver.solver_suspended(), in_object_mode(rig), physics_suspended(rig, report):
        begin_edit(rig)
        change, designs = find_rest_change(rig), DesignPoses(rig)
        hung = [obj for role in ("BODY", "JOINT") for obj in parts(rig, role)]
        hung = [obj for obj in hung if obj.parent == rig and obj.parent_type == "BONE"]
        placed = {obj: np.array(designs.of(obj), dtype=np.float64) for obj in hung}
        is_applied = change.is_applied or change.is_whole
        if is_applied:
            _add_foreign_bones(rig, change)
        poses = {name: _applied_pose(rig, name, change) for name in change.moved} if is_applied else {}
        set_rest_poses(rig, {name: change.before[name] for name in change.moved})
        along = {obj for found in change.edited.values() for obj in found}
        for obj in hung:
            _restore_design(rig, obj, None if obj in along else placed[obj], change)
        posed, turned = _pose_again(rig, poses)
        report.extend(update_armature(rig, is_restored=True))
    if posed:
        names = abbreviate_names(posed, _MAX_NAMES)
        report.info("rest-posed", Message("Pose: set again as it was when it was applied: {}", names))
    if turned:
        names = abbreviate_names(turned, _MAX_NAMES)
        report.info(
            "turns-lost", Message("Pose: angles may be whole rotations away, enter them if it matters: {}", names)
        )
    return report


def _add_foreign_bones(rig: bpy.types.Object, change: RestChange) -> None:
    """Add the user's bones to a change: they moved along with the nearest bone above them that is the mechanism's."""
    for bone in armature_of(rig).bones:  # parents come first
        if bone.name not in change.before:
            above, rest = bone.parent, change.after[bone.name]
            way = np.eye(4)
            if above is not None:
                way = change.before[above.name] @ inverse(change.after[above.name])
            change.before[bone.name] = way @ rest
            if not _are_equal(way, np.eye(4)):
                change.moved.append(bone.name)


def _restore_design(rig: bpy.types.Object, obj: bpy.types.Object, design: Array | None, change: RestChange) -> None:
    """Parent a part to its bone at its previous rest pose.

    Args:
        rig: The armature.
        obj: The part.
        design: Its present design pose (4, 4); None: its own matrix is still the previous one.
        change: The change of the bones.
    """
    bone = armature_of(rig).bones.get(obj.parent_bone)
    if bone is None:
        return
    obj.matrix_parent_inverse = (bone.matrix_local @ Matrix.Translation((0.0, bone.length, 0.0))).inverted()
    if design is None:
        return
    if bone.name in change.before:
        design = change.before[bone.name] @ inverse(change.after[bone.name]) @ design
    pose, fitted = Matrix(design.tolist()), unflatten_pose(bone_baseline(obj))
    is_fitted = record_of(obj).role == "JOINT" and is_pose_as_built(obj, pose, fitted)
    obj.matrix_basis = Matrix(fitted.tolist()) if is_fitted else snap_to_built(obj, pose)


def _pose_again(rig: bpy.types.Object, poses: Mapping[str, Matrix]) -> tuple[list[str], list[str]]:
    """Pose bones by what their rest poses contained (``poses``, by name), but for channels with keyframes or drivers.

    Returns:
        Names of the bones posed, and of those whose angle may be whole turns away.
    """
    taken = animated_curve_ids(rig)
    animated, angles = {bone_of_path(path) for path, _index in taken}, _angle_stops(rig)
    posed, turned = list[str](), list[str]()
    for name, applied in poses.items():
        bone, was_posed = rig.pose.bones[name], False
        channels = _bone_channels(bone, applied if name in animated else applied @ bone.matrix_basis)
        locks = {"location": bone.lock_location, "rotation_euler": bone.lock_rotation}
        for prop, values in channels.items():
            target, reach = getattr(bone, prop), applied.translation.length if prop == "location" else 1.0
            for index, value in enumerate(values):
                is_locked = prop in locks and locks[prop][index]
                slack = (_LOCKED_TOLERANCE if is_locked else _CHANNEL_TOLERANCE) * max(1.0, reach)
                if (bone_path(name, prop), index) in taken or abs(target[index] - value) <= slack:
                    continue
                lower, upper = angles.get((name, prop, index), (0.0, 0.0))
                turns = [turn for turn in _NEAR_TURNS if lower <= value + turn <= upper]
                target[index], was_posed = value + next(iter(turns), 0.0), True
                turned += [name] if len(turns) > 1 else []
        posed += [name] if was_posed else []
    return posed, turned


#: Whole turns (rad) by which an angle found again may differ, the smallest first.
_NEAR_TURNS = (0.0, 2.0 * math.pi, -2.0 * math.pi)


def _angle_stops(rig: bpy.types.Object) -> dict[tuple[str, str, int], tuple[float, float]]:
    """Return lower and upper stop (rad) of the joints with one angle, by bone, property and index of the channel."""
    joints, out = parts_by_id(rig, "JOINT"), dict[tuple[str, str, int], tuple[float, float]]()
    for joint, own in servo_channels(rig).items():
        if len(own) == 1 and own[0].prop == "rotation_euler":
            (dof,), (channel,) = record_of(joints[joint]).joint.dofs, own
            lower, upper = read_stops(dof)
            ends = -math.inf if lower is None else lower, math.inf if upper is None else upper
            out[channel.bone, channel.prop, channel.index] = ends
    return out


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
    attached = {(obj.parent, record_of(obj).shape) for obj in shapes}
    out = []
    for obj in shapes:
        own = record_of(obj).source_id.rpartition("/")[0]
        if obj.parent is not None and record_of(obj.parent).source_id == own:
            continue
        body = bodies.get(own)
        if body is not None and (body, record_of(obj).shape) not in attached:
            out.append((obj, body))
    return out


def reattach_shapes(rig: bpy.types.Object, chosen: Iterable[bpy.types.Object]) -> None:
    """Parent detached collision shapes to their bodies again."""
    wanted = set(chosen)
    attach_shapes(rig, [(obj, body) for obj, body in detached_shapes(rig) if obj in wanted])
