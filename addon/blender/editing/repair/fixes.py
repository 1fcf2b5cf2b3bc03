"""Fixes of findings that have a safe remedy, among them edited meshes and deleted empties of reference frames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ....core.editing.edits import Edit
from ....core.editing.joints import (
    estimate_masses,
    limit_positions,
    number_names,
    replace_visual_shape,
    swap_stops,
)
from ....core.model import Array, Body, Mechanism, Shape, body_by_id
from ....core.report import Message, Report, abbreviate_names, count_with_noun, join_messages
from ....core.transforms import affine_inverse, make_pose
from ....core.validation import Finding
from ...animation.loops.live_solver import followers_without_loop
from ...data.access import armature_settings, record_of, settings
from ...data.baseline import bone_baseline
from ...data.conversion import read_shape, unflatten_pose
from ...data.datablocks import newest_session_uid, remove_datablocks_since
from ...data.documents import read_document
from ...data.queries import all_parts, file_name, parts, parts_by_id
from ...events.signals import writing_records
from ...reconcile.build import BUILT_KINDS
from ...reconcile.motion_change import KeyframePoses
from ...reconcile.rig_state import RigState
from ...reconcile.rig_update import assign_ids, begin_edit, update_armature
from ...reconcile.update import EditObjects, update, update_records
from ...rig.pose_channels import set_dependent
from ...scene.collections import link_parts
from ...scene.mesh_files import MeshFiles
from ...scene.meshes import MeshCache
from ...scene.placement import make_plan
from ...scene.read.attachments import FRAME_KEPT_CODE, frame_users
from ...scene.read.design_poses import moved_joints
from ...scene.read.mechanism import document_ids, extract, extract_design
from ..authoring import DEFAULT_DENSITY, fit_solid, replace_mesh
from ..joints import delete_objects
from ..symmetry.twins import read_records, unlink_twins
from .missing_parts import (
    FOLLOWERS_LEFT_CODE,
    REBUILD_LABEL,
    NeededParts,
    described_mechanism,
    find_deleted_joints,
    joints_of_opened_loops,
    joints_without_bodies,
    unmoved_bodies,
)
from .rebuild import RebuildResult, find_document, rebuild, update_parts
from .rig_mismatch import applied_scale, applied_scale_message, find_rest_change, reattach_shapes, restore_bones


def restore_used_frames(rig: bpy.types.Object) -> list[str]:
    """Rebuild the deleted empties of the document's reference frames that something uses; return their names."""
    base = read_document(rig)
    if base is None:
        return []
    users, bodies = frame_users(extract(rig)), parts_by_id(rig, "BODY")
    present = {record_of(obj).source_id for obj in all_parts(rig, "FRAME")}
    wanted = {
        str(number): frame.name
        for number, frame in enumerate(base.frames)
        if str(number) not in present
        and (frame.body, frame.name) in users
        and (frame.body is None or frame.body in bodies)
    }
    state, now = begin_edit(rig), extract_design(rig)
    after = replace(now, frames=[*now.frames, *(base.frames[int(number)] for number in wanted)])
    update(rig, Edit(now, after), state, EditObjects(document=base))
    return list(wanted.values())


def keyframe_left_followers(
    rig: bpy.types.Object, deleted: Collection[str] = (), bodies: Collection[str] = ()
) -> Report:
    """Keyframe joints that followed a closed loop, of which a joint was deleted by hand (``followers_without_loop``).

    The deleted joints are restored from the document and deleted as *Delete Parts* does, which keeps the motion. If
    they cannot be restored, the joints that followed them can be posed and stay where they are.

    Args:
        rig: The armature.
        deleted: Ids of other joints deleted by hand, whose deletion is completed so too.
        bodies: Ids of bodies deleted by hand, likewise.
    """
    report = Report()
    if not (deleted or bodies or followers_without_loop(rig)):
        return report
    report.extend(_delete_again(rig, deleted, bodies)[1])
    left = followers_without_loop(rig)
    released = [obj for obj in parts(rig, "JOINT") if record_of(obj).source_id in left]
    for empty in released:
        set_dependent(empty, False)
    if released:
        report.warn(
            "followers-released",
            Message(
                "Joints {}: the closed loop that they followed is not known any more, they stay where they are. "
                "Keyframe them",
                abbreviate_names(sorted(map(file_name, released)), _MAX_NAMES),
            ),
        )
    return report


def _delete_again(rig: bpy.types.Object, joints: Collection[str], bodies: Collection[str] = ()) -> tuple[int, Report]:
    """Restore parts that were deleted by hand from document and records, and delete them as *Delete Parts* does.

    Deleted joints of closed loops that this opened are among them. Parts that cannot be restored are left out.

    Args:
        rig: The armature.
        joints: Ids of deleted joints.
        bodies: Ids of deleted bodies.

    Returns:
        Number of joints deleted, and the report.
    """
    out = RebuildResult()
    document = find_document(rig, out) or Mechanism("")
    described, there = described_mechanism(rig, document), parts_by_id(rig, "BODY")
    wanted = {*joints, *joints_of_opened_loops(rig, described)} - parts_by_id(rig, "JOINT").keys()
    wanted = {joint.id for joint in described.joints if joint.id in wanted and {*joint.ends} <= {None, *there}}
    restored = body_by_id(described).keys() & {*bodies} - there.keys()
    if not wanted and not restored:
        return 0, Report()
    update_parts(rig, document, NeededParts(bodies=restored, joints=wanted), False, False, out)
    known = (restored, parts_by_id(rig, "BODY")), (wanted, parts_by_id(rig, "JOINT"))  # a joint may have a body's id
    _bodies, count, report = delete_objects(rig, [every[own] for ids, every in known for own in ids if own in every])
    return count, report


def fit_armature(rig: bpy.types.Object) -> Report:
    """Fit bones to bodies and joints after changes with Blender's own tools (*Update Armature*).

    Bones that were edited, or whose pose was applied as rest, are restored; joints and bodies deleted by hand are
    deleted as *Delete Parts* does. What changes of the motions is reported.

    Raises:
        ValueError: The scale of the armature was applied.
    """
    scale = applied_scale(rig)
    if scale != 1.0:
        raise ValueError(applied_scale_message(scale))
    report, change = Report(), find_rest_change(rig)
    if change.is_applied or change.edited:
        report.info("bones-restored", "Bones: changed by hand or by an applied pose, restored")
        report.extend(restore_bones(rig))
    report.extend(keyframe_left_followers(rig, _deleted_joints(rig), _deleted_bodies(rig, parts(rig, "JOINT"))))
    present = begin_edit(rig)
    motion = _motion_before_moves(rig, present)
    report.extend(update_armature(rig, present))
    report.extend(motion.change())
    return report


def _motion_before_moves(rig: bpy.types.Object, present: RigState) -> KeyframePoses:
    """Return the motions of a mechanism before joints were moved by hand, as its bones still show them."""
    moved = {empty: empty.matrix_basis.copy() for empty in moved_joints(rig)}
    with writing_records():
        for empty in moved:
            empty.matrix_basis = Matrix(unflatten_pose(bone_baseline(empty)).tolist())
        motion = KeyframePoses(rig, present, {record_of(empty).source_id for empty in moved})
        for empty, pose in moved.items():
            empty.matrix_basis = pose
    return motion


def _deleted_joints(rig: bpy.types.Object) -> set[str]:
    """Return the ids of joints deleted by hand, of which nothing else connects their bodies to the mechanism."""
    return {*find_deleted_joints(rig, unmoved_bodies(rig, parts(rig, "BODY"), parts(rig, "JOINT"))).values()}


def _deleted_bodies(rig: bpy.types.Object, empties: Collection[bpy.types.Object]) -> set[str]:
    """Return the ids of bodies deleted by hand that some joints need."""
    return {
        record_of(end).source_id for _empty, gone in joints_without_bodies(parts(rig, "BODY"), empties) for end in gone
    }


def adopt_mesh(rig: bpy.types.Object, obj: bpy.types.Object) -> tuple[str, Report]:
    """Set the visual shape of a body to what its mesh is now: a primitive, else the mesh.

    Separate collision shapes stay. The origin of a body whose frame no file defines moves to its new center of mass.

    Returns:
        Type of the shape, and the report.
    """
    assign_ids(rig)
    record = record_of(obj)
    mesh = cast(bpy.types.Mesh, obj.data)
    if mesh.users > 1:
        obj.data = mesh = mesh.copy()
    solid = fit_solid(mesh, np.ones(3))
    local, is_ours = solid.frame, settings(rig).format in {"", "juice"} or record.source_id not in document_ids(rig)
    if is_ours:
        is_even = np.ptp(np.array(obj.matrix_basis.to_scale())) < 1e-6
        frame = solid.frame if is_even else make_pose(position=solid.frame[:3, 3])
        _move_origin(obj, frame)
        local = affine_inverse(frame) @ solid.frame
    pose = local @ solid.shape.pose
    pose[:3, 3] += np.array(record.com)
    if solid.shape.type == "mesh":  # meshes are written in the axes of their body
        pose = np.eye(4)
    mechanism, shape = read_records(rig), replace(solid.shape, pose=pose)
    inertia = body_by_id(mechanism)[record.source_id].inertia
    if is_ours:
        rotation, is_mesh = local[:3, :3], shape.type == "mesh" and solid.volume > 0.0
        inertia = rotation @ (solid.tensor / solid.volume) @ rotation.T if is_mesh else None
    has_separate = any(row.has_child for row in record.shapes)
    update_records(rig, replace_visual_shape(mechanism, record.source_id, shape, inertia, has_separate))
    return solid.shape.type, update_armature(rig)


def _move_origin(obj: bpy.types.Object, frame: Array) -> None:
    """Move a body's origin to a frame (4, 4) in its own axes; its mesh and its children stay where they are."""
    back = Matrix(affine_inverse(frame).tolist())
    cast(bpy.types.Mesh, obj.data).transform(back)
    obj.matrix_basis = obj.matrix_basis @ Matrix(frame.tolist())
    for child in obj.children:
        if record_of(child).role == "SHAPE":
            child.matrix_basis = back @ child.matrix_basis
        else:
            child.matrix_parent_inverse = back @ child.matrix_parent_inverse


def restore_shape_mesh(rig: bpy.types.Object, obj: bpy.types.Object) -> Report:
    """Restore the mesh of a body's shape, with the present material."""
    assign_ids(rig)
    mechanism = extract(rig)
    body = next(body for body in mechanism.bodies if body.id == record_of(obj).source_id)
    report, old = Report(), cast(bpy.types.Mesh, obj.data)
    size = make_plan(mechanism, closed=False).size
    with MeshFiles(mechanism, report) as files:
        meshes = MeshCache(mechanism.name, files.mesh, size)
        mesh = meshes.mesh(_visible_shapes(obj, body), (0.7, 0.7, 0.7, 1.0), body)
        if len(old.materials) and all(shape.color is None for shape in body.shapes):
            mesh.materials.clear()
            mesh.materials.append(old.materials[0])
        replace_mesh(obj, mesh)
    report.extend(update_armature(rig))
    return report


def _visible_shapes(obj: bpy.types.Object, body: Body) -> list[Shape]:
    """Return the visual shapes of a body relative to its origin, with the scale of its object."""
    out = []
    for kept, shape in zip(record_of(obj).shapes, body.shapes, strict=False):
        if shape.visual:
            mine = replace(read_shape(kept), spheres=shape.spheres, extra=shape.extra, color=shape.color)
            mine.pose[:3, 3] -= np.array(record_of(obj).com)
            out.append(mine)
    return out


_MAX_NAMES = 4


def fix(rig: bpy.types.Object, finding: Finding, other: bool = False) -> str:
    """Fix a finding; return what was done.

    Args:
        rig: Armature of the mechanism.
        finding: The finding.
        other: Use the second of two fixes.

    Raises:
        ValueError: There is no such fix.
    """
    label = finding.or_fix if other else finding.fix
    chosen = _rebuild if label == REBUILD_LABEL else (_ALTERNATIVE_FIXES if other else _FIXES).get(finding.code)
    if chosen is None or not label:
        raise ValueError(Message("No automatic fix: {}", finding.message))
    return chosen(rig, finding)


def _finding_objects(rig: bpy.types.Object, finding: Finding) -> list[bpy.types.Object]:
    known: Any = bpy.data.objects
    if finding.kind != "object":
        known = parts_by_id(rig, "BODY" if finding.kind == "body" else "JOINT")
    return [known[part] for part in finding.parts if part in known]


def _set_mass(rig: bpy.types.Object, finding: Finding) -> str:
    update_records(rig, estimate_masses(read_records(rig), finding.parts, DEFAULT_DENSITY))
    objects = _finding_objects(rig, finding)
    return join_messages(
        ", ", [Message("{}: mass {} kg", repr(file_name(obj)), f"{record_of(obj).mass:.3g}") for obj in objects]
    )


def _swap_stops(rig: bpy.types.Object, finding: Finding) -> str:
    update_records(rig, swap_stops(read_records(rig), finding.parts))
    return "Stops swapped"


def _start_at_stop(rig: bpy.types.Object, finding: Finding) -> str:
    update_records(rig, limit_positions(read_records(rig), finding.parts))
    return "Initial value moved to the stop"


def _restore_bones(rig: bpy.types.Object, _finding: Finding) -> str:
    found = [entry.message for entry in restore_bones(rig).entries]
    return join_messages(". ", [Message("Bones restored"), *found])


def _delete_joint(rig: bpy.types.Object, finding: Finding) -> str:
    empties = _finding_objects(rig, finding)
    count, report = _delete_again(rig, (), _deleted_bodies(rig, empties))
    left = _finding_objects(rig, finding)
    if left:
        _bodies, more, last = delete_objects(rig, left)
        count += more
        report.extend(last)
    found = [entry.message for entry in report.entries if entry.severity != "info"]
    return join_messages(". ", [Message("{} deleted", count_with_noun(count, "joint")), *found])


def _unlink_twin(rig: bpy.types.Object, finding: Finding) -> str:
    unlink_twins(_finding_objects(rig, finding))
    return "Twin unlinked"


def _number_names(rig: bpy.types.Object, finding: Finding) -> str:
    """Append a number to the names of all but the first of several parts with one name."""
    count = update_records(rig, number_names(read_records(rig), finding.kind, finding.parts))
    return Message("{} renamed", count_with_noun(count, "part"))


def _update_armature(rig: bpy.types.Object, _finding: Finding) -> str:
    report = fit_armature(rig)
    problems = [entry.message for entry in report.entries if entry.severity != "info"]
    return join_messages(". ", [armature_updated_message(report), *problems])


#: Codes of what an update of the armature reports and its operator and fix tell.
_UPDATE_CODES = {"pose-lost", "bones-restored", "rest-posed", "turns-lost"}


def armature_updated_message(report: Report) -> str:
    """Return the message about an update of the armature (``fit_armature``), with what it restored or lost."""
    found = [entry.message for entry in report.entries if entry.code in _UPDATE_CODES]
    return join_messages(". ", [Message("Armature updated"), *found])


def _reattach_part(rig: bpy.types.Object, _finding: Finding) -> str:
    bpy.context.view_layer.update()
    update_armature(rig)  # parents all parts to their bones, at the design poses of an export
    return "Parented to its bone"


def _reattach_shapes(rig: bpy.types.Object, finding: Finding) -> str:
    reattach_shapes(rig, _finding_objects(rig, finding))
    return "Parented to its body"


#: Codes of what a rebuild reports and its fix tells.
_REBUILD_CODES = {"left-away", "joint-unknown", "joint-as-filed"}


def _rebuild(rig: bpy.types.Object, _finding: Finding) -> str:
    with rollback_on_error():
        result = rebuild(rig, bpy.context.scene)
    left = [entry.message for entry in result.report.entries if entry.code in _REBUILD_CODES]
    return join_messages(". ", [Message("Rebuilt or restored: {}", join_messages("; ", result.done)), *left])


def _keyframe_followers(rig: bpy.types.Object, _finding: Finding) -> str:
    report = keyframe_left_followers(rig)
    return join_messages(". ", [entry.message for entry in report.entries]) or "Joints keyframed"


def _restore_frames(rig: bpy.types.Object, _finding: Finding) -> str:
    return Message("Rebuilt or restored: {}", abbreviate_names(restore_used_frames(rig), _MAX_NAMES))


def _relink_objects(rig: bpy.types.Object, finding: Finding) -> str:
    chosen = _finding_objects(rig, finding)
    link_parts(rig, [*chosen, *(child for obj in chosen for child in obj.children if record_of(child).role == "SHAPE")])
    update_armature(rig, made=chosen)
    return "Moved to the mechanism's collection"


def _adopt_mesh(rig: bpy.types.Object, finding: Finding) -> str:
    with writing_records():  # a body's origin moves, and its twin must not
        messages = [
            Message("{}: shape is now a {}", repr(file_name(obj)), adopt_mesh(rig, obj)[0])
            for obj in _finding_objects(rig, finding)
        ]
    return join_messages(", ", messages)


def _restore_shape(rig: bpy.types.Object, finding: Finding) -> str:
    for obj in _finding_objects(rig, finding):
        restore_shape_mesh(rig, obj)
    return "Mesh of the shape restored"


def _delete_object(rig: bpy.types.Object, finding: Finding) -> str:
    bpy.data.batch_remove(_finding_objects(rig, finding))
    return "Object deleted"


_FIXES: dict[str, Callable[[bpy.types.Object, Finding], str]] = {
    "no-mass": _set_mass,
    "stops-inverted": _swap_stops,
    "start-beyond-stop": _start_at_stop,
    "joint-lost": _delete_joint,
    "twin-one-sided": _unlink_twin,
    "name-twice": _number_names,
    FRAME_KEPT_CODE: _restore_frames,
    "part-elsewhere": _relink_objects,
    "bones-gone": _update_armature,
    "bones-unparented": _update_armature,
    "bones-left": _update_armature,
    "joint-moved": _update_armature,
    "bones-edited": _restore_bones,
    "rest-applied": _restore_bones,
    "place-applied": _update_armature,
    "off-bone": _reattach_part,
    "mesh-edited": _adopt_mesh,
    "shape-loose": _reattach_shapes,
    "stranger": _delete_object,
}
#: The second of two fixes.
_ALTERNATIVE_FIXES: dict[str, Callable[[bpy.types.Object, Finding], str]] = {
    "joint-lost": _rebuild,
    FOLLOWERS_LEFT_CODE: _keyframe_followers,
    "bones-gone": _update_armature,
    "place-applied": _restore_bones,
    "mesh-edited": _restore_shape,
}


# ---------------------------------------------------------------- rollback

#: Fields that define membership in a mechanism, parent and transform.
_RECORD_FIELDS = ("model", "role", "source_name")
_PARENT_FIELDS = ("parent", "parent_type", "parent_bone")
_TRANSFORM_FIELDS = (
    "rotation_mode",
    "location",
    "rotation_euler",
    "rotation_quaternion",
    "rotation_axis_angle",
    "scale",
)
_MODEL_FIELDS = ("collection", "rig", "version", "format", "document", "encoding", "fold")


@contextmanager
def rollback_on_error() -> Iterator[None]:
    """Context manager that rolls back an edit on an error.

    Created data-blocks are removed, and the parts of all mechanisms get back their membership, parents, transforms and
    collections. Bones and values of records are not restored.
    """
    moment = newest_session_uid(BUILT_KINDS)
    states = [(obj, *_object_state(obj)) for obj in bpy.data.objects if record_of(obj).role != "NONE"]
    models = [
        (data, _values(armature_settings(data), _MODEL_FIELDS)) for data in bpy.data.armatures if data.library is None
    ]
    holders = [*bpy.data.collections, *(scene.collection for scene in bpy.data.scenes)]
    held = [(holder, holder.objects[:], holder.children[:]) for holder in holders if holder.library is None]
    try:
        yield
    except BaseException:
        with writing_records():
            for holder, objects, children in held:
                _restore_members(holder.objects, objects)
                _restore_members(holder.children, children)
            for obj, record, parenting, inverse, place in states:
                _restore_values(record_of(obj), record)
                _restore_values(obj, parenting)
                obj.matrix_parent_inverse = inverse
                _restore_values(obj, place)
            for data, values in models:
                _restore_values(armature_settings(data), values)
            remove_datablocks_since(moment, BUILT_KINDS)
        raise


def _object_state(obj: bpy.types.Object) -> tuple[Any, ...]:
    parenting = _values(
        obj, _PARENT_FIELDS if obj.parent is not None else _PARENT_FIELDS[:1]
    )  # without a parent, parent type and bone cannot be set
    return (
        _values(record_of(obj), _RECORD_FIELDS),
        parenting,
        obj.matrix_parent_inverse.copy(),
        _values(obj, _TRANSFORM_FIELDS),
    )


def _values(owner: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _value(owner, name) for name in names}


def _value(owner: Any, name: str) -> Any:
    value = getattr(owner, name)
    return tuple(value) if name in _TRANSFORM_FIELDS and name != "rotation_mode" else value


def _restore_values(owner: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        if _value(owner, name) != value:
            setattr(owner, name, value)


def _restore_members(members: Any, before: list[Any]) -> None:
    """Restore the members of a collection: objects or child collections."""
    now = set(members)
    for each in now.difference(before):
        members.unlink(each)
    for each in before:
        if each not in now:
            members.link(each)
