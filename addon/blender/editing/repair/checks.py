"""Checks of a mechanism as it stands in Blender: of bodies and joints, of objects, and of what is not exported.

One list of findings for the sidebar and the export; ``fixes`` has the safe remedies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations

import bpy
import numpy as np
from mathutils import Matrix

from ....core.kinematics import initial_joint_values, spanning_tree
from ....core.model import Array, Mechanism, Shape
from ....core.report import Message, Report, abbreviate_names
from ....core.validation import Finding, FindingKind, validate
from ...data.access import record_of
from ...data.conversion import mirror_plane_of
from ...data.queries import file_name, parts, parts_by_id, parts_outside_collection
from ...physics.bodies.penetration import ConvexShape, penetration_depths
from ...physics.simulation.recording import is_body_key_constraint
from ...reconcile.rig_update import assign_ids
from ...scene.read.attachments import FRAME_KEPT_CODE
from ...scene.read.design_poses import DesignPoses, moved_joints
from ...scene.read.edit_detection import has_own_mesh
from ...scene.read.mechanism import extract
from ..symmetry.appearance import mesh_differences
from .missing_parts import (
    FOLLOWERS_LEFT_CODE,
    REBUILD_LABEL,
    find_deleted_joints,
    find_missing_parts,
    joints_without_bodies,
    unknown_joint_message,
    unknown_joints,
    unmoved_bodies,
    unmoved_message,
)
from .rig_mismatch import (
    applied_pose_message,
    applied_scale,
    applied_scale_message,
    detached_shapes,
    find_rest_change,
    find_rig_mismatch,
)

#: Penetration up to which bodies only touch, as a share of the smaller one's size.
_CONTACT_SHARE = 0.01
#: Multiple of the contact tolerance above which a rough depth suffices, except for this number of the deepest pairs.
_CLEAR_RATIO, _MAX_REFINED = 5.0, 10
_NO_POINTS = np.zeros((0, 3))
#: Number of pairs that are measured together.
_BATCH_SIZE = 1000
CollisionPiece = tuple[int, ConvexShape, Array]  # index of the body, shape, pose (4, 4) in the world
PiecePair = tuple[CollisionPiece, CollisionPiece]


def find_overlaps(mechanism: Mechanism) -> Iterator[Finding]:
    """Yield one finding for all pairs of bodies that penetrate at the initial pose and that no joint connects, if any.

    Physics pushes them apart at its first step. Only boxes, spheres, cylinders and capsules that collide are compared.
    """
    poses = spanning_tree(mechanism).forward(initial_joint_values(mechanism))[0]
    pieces = [
        (number, solid, poses[number] @ shape.pose)
        for number, body in enumerate(mechanism.bodies)
        if body.active and body.collidable
        for shape in body.shapes
        if shape.collision
        and bool(shape.extra.get("collidable", True))
        and (solid := _collision_solid(shape)) is not None
    ]
    deepest: dict[tuple[int, int], float] = {}
    about = sorted(
        _measure_depths(_unjoined_pairs(mechanism, _nearby_pairs(pieces)), rough=True), key=lambda each: each[1]
    )
    about = [(pair, depth) for pair, depth in about if depth > _contact_tolerance(pair)]
    clear = [each for each in about[:-_MAX_REFINED] if each[1] > _CLEAR_RATIO * _contact_tolerance(each[0])]
    close = [pair for pair, depth in about[:-_MAX_REFINED] if depth <= _CLEAR_RATIO * _contact_tolerance(pair)]
    close += [pair for pair, _depth in about[-_MAX_REFINED:]]
    for pair, depth in [*clear, *_measure_depths(close)]:
        if depth > _contact_tolerance(pair):
            key = pair[0][0], pair[1][0]
            deepest[key] = max(depth, deepest.get(key, 0.0))
    if not deepest:
        return
    first, second = max(deepest, key=lambda key: deepest[key])
    one_body, other_body = mechanism.bodies[first], mechanism.bodies[second]
    count = Message("{} pairs of bodies", len(deepest)) if len(deepest) > 1 else "1 pair of bodies"
    names = abbreviate_names((one_body.name, other_body.name))
    yield Finding(
        "bodies-overlap",
        "info",
        Message(
            "Overlap in the initial pose: {} without a joint, the deepest {} ({} m)",
            count,
            names,
            f"{deepest[first, second]:.3g}",
        ),
        "body",
        (one_body.id, other_body.id),
    )


def _unjoined_pairs(mechanism: Mechanism, pairs: Iterable[PiecePair]) -> Iterator[PiecePair]:
    """Yield the pairs that no joint connects and of which at least one can move."""
    joined = {frozenset((joint.parent, joint.child)) for joint in mechanism.joints if joint.active}
    for one, other in pairs:
        bodies = mechanism.bodies[one[0]], mechanism.bodies[other[0]]
        if frozenset(body.id for body in bodies) not in joined and not all(body.immobile for body in bodies):
            yield one, other


def _contact_tolerance(pair: PiecePair) -> float:
    """Return the penetration depth up to which two pieces only touch."""
    return _CONTACT_SHARE * float(min(pair[0][1].half.min(), pair[1][1].half.min()))


def _measure_depths(pairs: Iterable[PiecePair], rough: bool = False) -> Iterator[tuple[PiecePair, float]]:
    """Yield the penetration depths of pairs, batched by pairs of shape kinds as scaled unit shapes."""
    alike: dict[tuple[str, str], list[PiecePair]] = {}
    for one, other in pairs:
        alike.setdefault((one[1].kind, other[1].kind), []).append((one, other))
    for kinds, found in alike.items():
        unit, other_unit = (ConvexShape(kind, _NO_POINTS, np.ones(3)) for kind in kinds)
        for first in range(0, len(found), _BATCH_SIZE):
            some = found[first : first + _BATCH_SIZE]
            at, there = (np.array([_scaled_pose(pair[side]) for pair in some]) for side in (0, 1))
            yield from zip(some, penetration_depths(unit, other_unit, at, there, rough).tolist(), strict=True)


def _scaled_pose(piece: CollisionPiece) -> Array:
    """Return the pose (4, 4) of a piece including its scale from the unit shape."""
    _number, solid, place = piece
    return place * [*solid.half, 1.0]


def _collision_solid(shape: Shape) -> ConvexShape | None:
    size = shape.size
    if shape.type == "box":
        return ConvexShape("BOX", _NO_POINTS, np.array([size["x"], size["y"], size["z"]]) / 2.0)
    if shape.type == "sphere":
        return ConvexShape("SPHERE", _NO_POINTS, np.full(3, size["radius"]))
    if shape.type in {"cylinder", "capsule"}:
        radius, along = size["radius"], size["length"] / 2.0
        caps = radius if shape.type == "capsule" else 0.0
        return ConvexShape(shape.type.upper(), _NO_POINTS, np.array([radius, radius, along + caps]))
    return None


def _nearby_pairs(pieces: list[CollisionPiece]) -> Iterator[PiecePair]:
    """Yield pairs of pieces of two bodies whose axis-aligned bounding boxes overlap.

    Sorted along the longest axis (sweep and prune), so that a thousand pieces do not need a million comparisons.
    """
    if not pieces:
        return
    half = np.array([np.abs(at[:3, :3]) @ solid.half for _number, solid, at in pieces])
    middle = np.array([at[:3, 3] for _number, _solid_, at in pieces])
    low, high = middle - half, middle + half
    axis = int(np.ptp(middle, axis=0).argmax())
    order = np.argsort(low[:, axis], kind="stable")
    starts = low[order, axis]
    for place, here in enumerate(order):
        rest = order[place + 1 : int(np.searchsorted(starts, high[here, axis]))]
        for there in rest[((low[rest] < high[here]) & (high[rest] > low[here])).all(axis=1)]:
            one, other = sorted((pieces[here], pieces[there]), key=lambda piece: piece[0])
            if one[0] != other[0]:
                yield one, other


#: Tolerance of equal world poses, as a share of their size.
_POSE_TOLERANCE = 1e-4


def find_unexported(rig: bpy.types.Object) -> Iterator[Finding]:
    """Yield findings about what bodies show and no file gets: effects of constraints, modifiers and instancing."""
    for obj in parts(rig, "BODY"):
        name, own = file_name(obj), (record_of(obj).source_id,)
        holding = [
            each
            for each in obj.constraints
            if not each.mute and each.influence > 0.0 and not is_body_key_constraint(each)
        ]
        if holding and _is_constrained_elsewhere(obj):
            message = Message(
                "Body {}: constraints move it, files ignore them ({}). Choose Object > Apply > Visual Transform",
                repr(name),
                abbreviate_names(each.name for each in holding),
            )
            yield Finding("body-constrained", "warning", message, "body", own)
        seen = [each for each in obj.modifiers if each.show_viewport or each.show_render]
        if seen and not has_own_mesh(obj):
            message = Message(
                "Body {}: files ignore its modifiers ({}). Apply them, then use the mesh as its shape",
                repr(name),
                abbreviate_names(each.name for each in seen),
            )
            yield Finding("mesh-modified", "warning", message, "body", own)
        if obj.instance_type != "NONE":
            message = Message(
                "Body {}: instances are not exported. Use Object > Apply > Make Instances Real and Make Body",
                repr(name),
            )
            yield Finding("body-instancer", "warning", message, "body", own)


def _is_constrained_elsewhere(obj: bpy.types.Object) -> bool:
    """Return whether an object is not where its parent and its own channels place it."""
    parent, without = obj.parent, obj.matrix_parent_inverse @ obj.matrix_basis
    if parent is None:
        without = obj.matrix_basis
    elif obj.parent_type == "BONE" and parent.type == "ARMATURE" and obj.parent_bone in parent.pose.bones:
        bone = parent.pose.bones[obj.parent_bone]
        without = parent.matrix_world @ bone.matrix @ Matrix.Translation((0.0, bone.bone.length, 0.0)) @ without
    else:
        without = parent.matrix_world @ without
    apart = np.abs(np.array(obj.matrix_world) - np.array(without)).max()
    return bool(apart > _POSE_TOLERANCE * max(1.0, float(np.abs(np.array(without)).max())))


#: Tolerance of equal scales (as a share), and of right angles (as a cosine).
_SCALE_TOLERANCE, _SHEAR_TOLERANCE = 1e-4, 1e-4
_ROUND_SHAPES = {"sphere", "cylinder", "capsule", "cone", "hemisphere"}
_SEVERITY_ORDER = {"error": 0, "warning": 1, "info": 2}
#: Codes that the report of the reading already contains.
_REPORTED_BY_READING = {FRAME_KEPT_CODE, "mesh-edited", "stranger", "model-scaled", "body-uneven"}
#: Codes that do not concern files.
_SCENE_ONLY = {"world-gone"}
#: Codes of missing parts without which a mechanism cannot be read.
_UNREADABLE = {"collection-gone", "armature-gone"}
#: Codes of missing parts, and the codes of findings that name each of these parts.
_DETAILED_BY = {"body-gone": "joint-lost", "unmoved": "bones-gone"}
_MAX_NAMES = 3


def check_model(rig: bpy.types.Object) -> list[Finding]:
    """Return all findings about a mechanism and its objects, errors first."""
    unreadable = [finding for finding in _missing_findings(rig) if finding.severity == "error"]
    if unreadable:
        return unreadable[:1]
    assign_ids(rig)
    mechanism = extract(rig)
    return _errors_first([*_find_problems(rig, mechanism), *find_overlaps(mechanism)])


def _errors_first(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: _SEVERITY_ORDER[finding.severity])


def _find_problems(rig: bpy.types.Object, mechanism: Mechanism) -> list[Finding]:
    """Return the findings about a mechanism that was read, without those about its physics.

    Args:
        rig: The armature.
        mechanism: The mechanism as it is now, with the report of the reading.
    """
    scale = applied_scale(rig)
    if scale != 1.0:  # all bones and joints seem moved
        return [Finding("scale-applied", "error", applied_scale_message(scale), "model")]
    lost = list(_lost_joint_findings(rig))
    known = {part for finding in lost for part in finding.parts}
    own = [
        *lost,
        *(each for each in validate(mechanism) if each.code != "joint-lost" or not known.issuperset(each.parts)),
        *_scale_findings(rig), *_mismatch_findings(rig, mechanism),
        *_edited_mesh_findings(mechanism.report), *_moved_joint_findings(rig), *_detached_shape_findings(rig),
        *_twin_mesh_findings(rig, mechanism.report), *find_unexported(rig),
        *_stray_part_findings(rig),
    ]  # fmt: skip
    codes = {finding.code for finding in own}
    return [*own, *(each for each in _missing_findings(rig) if _DETAILED_BY.get(each.code) not in codes)]


def _missing_findings(rig: bpy.types.Object) -> Iterator[Finding]:
    """Yield findings about missing parts, as in the sidebar."""
    for lack in find_missing_parts(rig):
        severity = "error" if lack.code in _UNREADABLE else "warning"
        yield Finding(
            lack.code, severity, lack.message, "model",  # type: ignore[arg-type]
            fix=REBUILD_LABEL, or_fix="Keyframe the joints" if lack.code == FOLLOWERS_LEFT_CODE else "",
        )  # fmt: skip


def report_findings(rig: bpy.types.Object, mechanism: Mechanism) -> Report:
    """Return findings that concern files as a report: problems as warnings.

    What the report of the reading already contains is left out.
    """
    report = Report()
    for finding in _errors_first(_find_problems(rig, mechanism)):
        where = finding.parts[0] if len(finding.parts) == 1 else ""
        if finding.code not in _REPORTED_BY_READING | _SCENE_ONLY:
            (report.info if finding.severity == "info" else report.warn)(finding.code, finding.message, where=where)
    return report


def _lost_joint_findings(rig: bpy.types.Object) -> Iterator[Finding]:
    """Yield findings about joints whose bodies were deleted by hand: they have no effect, and most files omit them."""
    for empty, gone in joints_without_bodies(parts(rig, "BODY"), parts(rig, "JOINT")):
        names = abbreviate_names(file_name(end) for end in gone)
        message = Message("Joint {}: a body is missing, so it has no effect. Delete it", repr(file_name(empty)))
        if gone:
            message = Message(
                "Joint {}: body {} was deleted. Restore it, or delete the joint", repr(file_name(empty)), names
            )
        yield Finding(
            "joint-lost",
            "error",
            message,
            "joint",
            (record_of(empty).source_id,),
            "Delete joint",
            Message("Restore {}", names) if gone else "",
        )


def _mismatch_findings(rig: bpy.types.Object, mechanism: Mechanism) -> Iterator[Finding]:
    found = find_rig_mismatch(rig, mechanism)
    bodies, joints = parts_by_id(rig, "BODY"), parts_by_id(rig, "JOINT")
    unmoved = set(unmoved_bodies(rig, bodies.values(), joints.values()))
    loose = {own: obj for own, obj in bodies.items() if obj in unmoved}
    deleted = find_deleted_joints(rig, loose.values())
    if deleted:  # what else does not fit comes of that
        unknown = unknown_joints(rig, deleted)
        message = unknown_joint_message(unknown) if unknown else unmoved_message(rig, loose.values())
        detached = Finding("bones-gone", "error", message, "body", tuple(loose), fix="Detach the bodies")
        yield detached if unknown else replace(detached, fix=REBUILD_LABEL, or_fix=detached.fix)
        return
    for known, kind in ((joints, "joint"), (bodies, "body")):
        ids = tuple(part for part in found.missing if part in known)
        if ids:
            message = unmoved_message(rig, [known[part] for part in ids])
            yield Finding("bones-gone", "error", message, kind, ids, "Create the bones")  # type: ignore[arg-type]
    if found.left:
        message = Message(
            "Armature: bones of deleted parts remain: {}. Delete them", abbreviate_names(found.left, _MAX_NAMES)
        )
        yield Finding("bones-left", "warning", message, "model", fix="Delete the bones")
    if found.unparented:
        names = abbreviate_names(found.unparented, _MAX_NAMES)
        message = Message("Armature: bones do not follow those that carry them: {}. Update the armature", names)
        yield Finding("bones-unparented", "error", message, "model", fix="Update the armature")
    for obj in found.elsewhere:
        is_body = record_of(obj).role == "BODY"
        message = Message("{}: not parented to its bone. Parent it again", repr(file_name(obj)))
        yield Finding(
            "off-bone", "error", message, "body" if is_body else "joint", (record_of(obj).source_id,),
            "Parent to its bone",
        )  # fmt: skip


def _detached_shape_findings(rig: bpy.types.Object) -> Iterator[Finding]:
    """Yield findings about collision shapes that are not parented to their bodies: exported, but not simulated."""
    for obj, body in detached_shapes(rig):
        message = Message(
            "Collision shape {}: not parented to its body {}, so it does not collide",
            repr(obj.name),
            repr(file_name(body)),
        )
        yield Finding("shape-loose", "warning", message, "object", (obj.name,), "Parent to its body")


def _stray_part_findings(rig: bpy.types.Object) -> Iterator[Finding]:
    """Yield findings about parts in foreign collections: exported, but unknown to physics and posing."""
    for obj in parts_outside_collection(rig):
        message = Message(
            "{}: not in the mechanism's collections, so it cannot be posed or simulated. Move it back", repr(obj.name)
        )
        yield Finding("part-elsewhere", "warning", message, "object", (obj.name,), "Move back")


def _moved_joint_findings(rig: bpy.types.Object) -> Iterator[Finding]:
    """Yield findings about joints that were moved by hand, applied poses, and edited bones."""
    change = find_rest_change(rig)
    gone = {obj for found in change.edited.values() for obj in found}
    has_rests_moved = change.is_applied or change.is_whole
    moved = [] if has_rests_moved else [empty for empty in moved_joints(rig) if empty not in gone]
    if change.is_applied:
        yield Finding("rest-applied", "warning", applied_pose_message(), "model", fix="Restore the bones")
    if change.is_whole:
        message = (
            "Mechanism: moved as a whole by Apply, so that files have its new place. Update the armature, or restore "
            "the bones if the pose of the root was applied"
        )
        yield Finding("place-applied", "warning", message, "model", (), "Update the armature", "Restore the bones")
    if moved:
        names = abbreviate_names(map(file_name, moved), _MAX_NAMES)
        message = Message("Joints moved away from their bones, by hand or by Apply: {}. Update the armature", names)
        ids = tuple(record_of(empty).source_id for empty in moved)
        yield Finding("joint-moved", "warning", message, "joint", ids, "Update the armature")
    if change.edited and not change.is_applied:
        message = Message(
            "Bones edited by hand: {}. Servos move about the bones as they are now, files keep the previous "
            "axes. Restore the bones",
            abbreviate_names(change.edited, _MAX_NAMES),
        )
        yield Finding("bones-edited", "warning", message, "model", fix="Restore the bones")


def _edited_mesh_findings(report: Report) -> Iterator[Finding]:
    """Yield findings from the report of the reading: about meshes, reference frames and foreign objects."""
    for entry in report.entries:
        if entry.code == "mesh-edited":
            yield Finding(
                "mesh-edited", "warning", entry.message, "body", (entry.where,), "Use the mesh as its shape",
                "Restore the mesh of its shape",
            )  # fmt: skip
        elif entry.code == FRAME_KEPT_CODE:
            kind: FindingKind = "body" if entry.where else "model"
            on = (entry.where,) if entry.where else ()
            yield Finding(FRAME_KEPT_CODE, "warning", entry.message, kind, on, "Create its empty")
        elif entry.code == "stranger" and entry.where in bpy.data.objects:
            is_shape = record_of(bpy.data.objects[entry.where]).role == "SHAPE"
            fix = "Delete object" if is_shape else ""
            yield Finding("stranger", "info", entry.message, "object", (entry.where,), fix)


def _scale_findings(rig: bpy.types.Object) -> Iterator[Finding]:
    scale = np.array(rig.matrix_world.to_scale())
    if np.ptp(np.abs(scale)) > _SCALE_TOLERANCE * np.abs(scale).max() or (scale < 0.0).any():
        yield Finding(
            "model-scaled",
            "error",
            "Mechanism: scaled unevenly or mirrored as a whole. Clear the scale (Alt+S)",
            "model",
        )
    elif abs(scale[0] - 1.0) > _SCALE_TOLERANCE:
        message = Message("Mechanism: scaled by {} as a whole, files keep its own size", f"{scale[0]:.3g}")
        yield Finding("model-scaled", "warning", message, "model")
    designs = DesignPoses(rig)
    for obj in parts(rig, "BODY"):
        axes = np.array(designs.of(obj))[:3, :3]
        scale = np.linalg.norm(axes, axis=0)
        unit = axes / np.where(scale > 0.0, scale, 1.0)
        name, own = file_name(obj), (record_of(obj).source_id,)
        if scale.min() <= 0.0:
            yield Finding(
                "body-flat", "error", Message("Body {}: the scale is 0. Enter a scale above 0", repr(name)), "body", own
            )
        elif max(abs(float(unit[:, a] @ unit[:, b])) for a, b in combinations(range(3), 2)) > _SHEAR_TOLERANCE:
            message = Message("Body {}: sheared, which no file can store. Apply the scale of its parent", repr(name))
            yield Finding("body-sheared", "error", message, "body", own)
        elif np.ptp(scale) > _SCALE_TOLERANCE * scale.max() and any(
            shape.type in _ROUND_SHAPES for shape in record_of(obj).shapes
        ):
            message = Message("Body {}: round and scaled unevenly, files keep the larger side", repr(name))
            yield Finding("body-uneven", "warning", message, "body", own)


def _twin_mesh_findings(rig: bpy.types.Object, report: Report) -> Iterator[Finding]:
    known, plane = parts_by_id(rig, "BODY"), mirror_plane_of(rig)
    if plane is None:
        return
    edited = {entry.where for entry in report.entries if entry.code == "mesh-edited"}  # reported already
    for each in mesh_differences(rig, plane, edited):
        pair = each.first, each.second
        one, other = (file_name(known[part]) for part in pair)
        message = Message("Twins {} and {}: meshes differ by {} m", repr(one), repr(other), f"{each.amount:.3g}")
        yield Finding("twin-meshes", "info", message, "body", pair)
