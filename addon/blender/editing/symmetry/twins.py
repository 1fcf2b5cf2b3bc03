"""Twins of bodies and joints: mirror plane, search, comparison, mirroring parts to their twins, and new twins."""

from __future__ import annotations

from collections.abc import Iterable

import bpy
import numpy as np

from ....core.editing import symmetry
from ....core.editing.edits import without_open_loops
from ....core.editing.sides import find_mirror_plane, find_sides
from ....core.editing.symmetry import TwinCandidate
from ....core.editing.twins import mirror_restraints
from ....core.model import Mechanism, Plane, body_by_id
from ....core.report import Message, Report
from ...animation.actions import motion_actions
from ...animation.fcurves import curves_by_id, servo_curve_ids
from ...animation.mirror import mirror_keys
from ...data.access import record_of
from ...data.baseline import record_mirror_state
from ...data.conversion import assembled_values, mirror_plane_of, set_mirror_plane
from ...data.documents import read_document
from ...data.queries import (
    ids_among,
    is_foreign,
    joint_bones,
    parts,
    parts_by_id,
    renamed_bones,
    twins_among,
    twins_by_part,
)
from ...reconcile.rig_state import RigState, current_tree, rigid_design_pose
from ...reconcile.rig_update import assign_ids, begin_edit, physics_suspended, update_armature
from ...reconcile.update import EditObjects, motion_before, update_records, write_parts
from ...rig.joint_frames import read_parts
from ...scene.read.mechanism import extract, extract_design
from .appearance import MeshMirror, carrier, dress_image, unchanged_meshes

#: Share of its size by which a body on one side may extend to the other side of the mirror plane.
_OVERLAP_SHARE = 0.02
TwinPairs = dict[bpy.types.Object, bpy.types.Object]


def require_plane(rig: bpy.types.Object) -> Plane:
    """Return the mirror plane of a mechanism.

    Raises:
        ValueError: It has none.
    """
    plane = ensure_plane(rig)
    if plane is None:
        raise ValueError(Message("Mechanism {}: no mirror plane. Choose one: Twins > Mirror Plane", repr(rig.name)))
    return plane


def ensure_plane(rig: bpy.types.Object) -> Plane | None:
    """Return the mirror plane of a mechanism, or None.

    Without one it is set to the plane between its twins in its document, regardless of later edits.
    """
    plane = mirror_plane_of(rig)
    if plane is None and not is_foreign(rig) and (plane := document_plane(rig)) is not None:
        set_mirror_plane(rig, plane)
    return plane


def document_plane(rig: bpy.types.Object) -> Plane | None:
    """Return the mirror plane of a mechanism in its document, by the twins that it has now; None without any."""
    base = read_document(rig)
    if base is None:
        return None
    for role, known in (("BODY", base.bodies), ("JOINT", base.joints)):
        twins = {record_of(obj).source_id: record_of(obj).twin for obj in parts(rig, role)}
        for part in known:
            part.twin = twins.get(part.id, part.twin or "") or None
    return find_mirror_plane(base)


def adopt_linked_plane(rig: bpy.types.Object) -> None:
    """Set the mirror plane after parts were linked as twins, if neither mechanism nor document has one.

    It is the plane between the twins as they stand: linking states that they are mirror images there.
    """
    if ensure_plane(rig) is None and not is_foreign(rig):
        set_mirror_plane(rig, find_mirror_plane(extract(rig)))


def choose_plane(rig: bpy.types.Object, plane: Plane | None) -> None:
    """Store the plane that the user chose (None: no choice) if the mechanism has none, after a successful edit."""
    if plane is not None and mirror_plane_of(rig) is None and not is_foreign(rig):
        set_mirror_plane(rig, plane)


def axis_plane(axis: int) -> Plane:
    """Return the plane through a mechanism's origin normal to one of its axes (0 to 2)."""
    return Plane(np.eye(3)[axis])


def leading_parts(pairs: TwinPairs, plane: Plane) -> TwinPairs:
    """Return the pairs to mirror: of two selected twins only the leading one, with its twin.

    The active part leads, else the first, and parts on its side of the plane; if the side does not decide, the first of
    the two.
    """
    if not pairs:
        return {}
    active = bpy.context.view_layer.objects.active
    head = active if active in pairs else next(iter(pairs))
    heights = {obj: plane.height(np.array(carrier(obj).matrix_basis.translation)) for obj in pairs}
    order = {obj: number for number, obj in enumerate(pairs)}
    on_its_side = {obj for obj in pairs if heights[obj] * heights[head] > 0.0}

    def rank(obj: bpy.types.Object) -> tuple[bool, bool, int]:
        return obj != head, obj not in on_its_side, order[obj]

    return {obj: twin for obj, twin in pairs.items() if twin not in pairs or rank(obj) < rank(twin)}


def twin_candidates(rig: bpy.types.Object, plane: Plane | None = None) -> list[TwinCandidate]:
    """Return pairs of parts without twins that could be twins, by name, by position or both."""
    assign_ids(rig)
    mechanism = extract(rig)
    return symmetry.find_twins(mechanism, plane or find_sides(mechanism).plane)


# ---------------------------------------------------------------- links

#: Two bodies or two joints.
ObjectPair = tuple[bpy.types.Object, bpy.types.Object]


def link_twins(*pairs: ObjectPair) -> None:
    """Link pairs of parts of one mechanism as twins; their previous twins are unlinked.

    Raises:
        ValueError: The parts of a pair are the same, of different kinds or of different mechanisms.
    """
    ids: dict[str, list[tuple[str, str]]] = {"BODY": [], "JOINT": []}
    for rig in {record_of(obj).model for pair in pairs for obj in pair}:
        assign_ids(rig)
    for first, second in pairs:
        one, other = record_of(first), record_of(second)
        if first == second or one.role != other.role or one.model != other.model:
            raise ValueError("Selection: not two bodies or two joints of one mechanism. Select a pair")
        ids[one.role].append((one.source_id, other.source_id))
    if pairs:
        rig = record_of(pairs[0][0]).model
        update_records(rig, symmetry.link_pairs(read_records(rig), ids["BODY"], ids["JOINT"]))


def unlink_twins(objects: Iterable[bpy.types.Object]) -> None:
    """Unlink parts from their twins."""
    chosen = list(objects)
    for rig in dict.fromkeys(record_of(obj).model for obj in chosen):
        assign_ids(rig)
        update_records(rig, symmetry.unlink_parts(read_records(rig), *ids_among(rig, chosen)))


# ---------------------------------------------------------------- mirroring to twins


def mirror_to_twins(
    objects: Iterable[bpy.types.Object], plane: Plane | None = None, materials: bool = True
) -> tuple[list[bpy.types.Object], Report]:
    """Make the twins of bodies and joints complete mirror images of them.

    Of two selected twins ``leading_parts`` decides.

    Args:
        objects: Bodies and joints.
        plane: Mirror plane; None: the mechanism's.
        materials: Mirror materials too.

    Returns:
        The parts that were mirrored, and the report.

    Raises:
        ValueError: No part has a twin, or there is no mirror plane.
    """
    report = Report()
    pairs = twins_among(objects)
    rig = next((record_of(obj).model for obj in pairs), None)
    if rig is None:
        raise ValueError("No selected part has a twin: use Find Twins or Create Twin")
    between = plane or require_plane(rig)
    if any(each.parent != rig for pair in pairs.items() for each in pair):
        report.extend(update_armature(rig))  # the local matrix of a misplaced part is in other axes
    present, looks = begin_edit(rig), MeshMirror(materials)
    chosen = leading_parts(pairs, between)
    bodies, joints = ([obj for obj in chosen if record_of(obj).role == role] for role in ("BODY", "JOINT"))
    for empty in joints:  # poses are not mirrored: held in one, a joint changes the design of its half alone
        present.moved.pop(record_of(empty).source_id, None)
    looks.kept = {record_of(obj).source_id: unchanged_meshes(obj, chosen[obj], between, looks) for obj in bodies}
    with physics_suspended(rig, report) as frictions:

        def dress(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
            dress_image(obj, twin, between, looks, is_new=False)
            copy_friction(frictions, obj, twin)

        edit = symmetry.mirror_twins(
            read_records(rig),
            [record_of(obj).source_id for obj in bodies],
            [record_of(empty).source_id for empty in joints],
            between,
            looks.kept,
            materials,
            assembled_values(parts_by_id(rig, "JOINT")),
            present.pose,
        )
        motion = motion_before(rig, edit, present, compares=False)  # the bodies of twins move otherwise by intent
        report.extend(write_parts(rig, edit, present, EditObjects(dress=dress), motion))
        report.extend(_mirror_restraints(rig, chosen, between, present))
    for obj, twin in chosen.items():
        record_mirror_state(obj, twin)
    looks.report_all(report)
    return list(chosen), report


def read_records(rig: bpy.types.Object) -> Mechanism:
    """Return a mechanism as its records have it: shapes without the scale of objects, inertia tensors for mass 1."""
    bodies, joints = (parts_by_id(rig, role).values() for role in ("BODY", "JOINT"))
    return read_parts(bodies, joints, rigid_design_pose, renamed_bones(rig))


def copy_friction(frictions: dict[bpy.types.Object, float], obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    """Copy the friction that was typed for a body, or its absence, to its twin, for the rebuild of physics."""
    if obj in frictions:
        frictions[twin] = frictions[obj]
    else:
        frictions.pop(twin, None)


# ---------------------------------------------------------------- new twins


def create_twins(
    objects: Iterable[bpy.types.Object], plane: Plane | None = None
) -> tuple[list[bpy.types.Object], Report]:
    """Create the missing twins of bodies and joints, named for the other side, and posed and keyed as mirror images.

    The joints that carry the chosen bodies are included. Of those that close loops, only the ones whose bodies meet on
    the other side are, unless they were chosen themselves.

    Args:
        objects: Bodies and joints.
        plane: Mirror plane; None: the mechanism's.

    Returns:
        The created objects and the report.

    Raises:
        ValueError: No part lacks a twin, or there is no mirror plane.
    """
    chosen = [obj for obj in objects if record_of(obj).role in {"BODY", "JOINT"}]
    rig = next((record_of(obj).model for obj in chosen), None)
    if rig is None:
        raise ValueError("Selection: no body or joint of the mechanism. Select those that get a twin")
    assign_ids(rig)
    bodies, joints = ids_among(rig, chosen)
    between, report, looks = plane or require_plane(rig), Report(), MeshMirror()
    present = begin_edit(rig)
    with physics_suspended(rig, report) as frictions:

        def dress(obj: bpy.types.Object, made: bpy.types.Object) -> None:
            dress_image(obj, made, between, looks, is_new=True)
            copy_friction(frictions, obj, made)

        mechanism = read_records(rig)
        tree = current_tree(rig, mechanism)
        edit = symmetry.add_twins(
            mechanism, tree, bodies, joints, between, present.pose, assembled_values(parts_by_id(rig, "JOINT"))
        )
        known = body_by_id(mechanism)
        seen = {each.id: present.seen_values(each, known) for each in mechanism.joints if tree.loop_joints}
        edit, open_joints = without_open_loops(edit, tree, seen, joints)
        for joint in open_joints:
            message = Message(
                "Joint {}: it gets no twin, because its bodies do not meet on the other side", repr(joint.name)
            )
            report.warn("open-twin-left-out", message, where=joint.name)
        motion = motion_before(rig, edit, present)
        report.extend(write_parts(rig, edit, present, EditObjects(dress=dress), motion))
        objects_by_id = parts_by_id(rig, "BODY"), parts_by_id(rig, "JOINT")
        pairs = {each[own]: each[made] for made, own in edit.copies.items() for each in objects_by_id if made in each}
        report.extend(_mirror_restraints(rig, pairs, between, present))
    report.extend(_mirror_twin_keys(rig, {edit.copies[own] for own in edit.joints}, between))
    report.extend(motion.change())  # a twin may close a loop
    looks.report_all(report)
    return list(pairs.values()), report


def _mirror_twin_keys(rig: bpy.types.Object, joints: Iterable[str], plane: Plane) -> Report:
    """Mirror the keyframes of joints (ids) to their twins, in every motion of the mechanism."""
    report, chains = Report(), joint_bones(rig)
    bones = {bone for own in joints for bone in chains.get(own, ())}
    places = servo_curve_ids(rig, bones)
    for action in motion_actions(rig) if places else ():
        if not curves_by_id(rig, action, places):
            continue
        try:
            mirror_keys(rig, bones=bones, plane=plane, action=action)
        except ValueError as error:
            report.warn("keys-not-mirrored", Message("Keyframes of {}: not mirrored. {}", repr(action.name), error))
    return report


def create_body_twins(rig: bpy.types.Object, made: Iterable[bpy.types.Object]) -> tuple[int, int, Report]:
    """Link or create the twins of new bodies.

    A mirror image of another body is linked to it; for a body on one side the twin is created; a body in the middle
    gets none.

    Returns:
        Number of linked pairs, number of created twins, and the report.
    """
    plane, bodies = ensure_plane(rig), parts_by_id(rig, "BODY")
    if plane is None:
        return 0, 0, _no_plane_report()
    fresh = {record_of(obj).source_id for obj in made}
    alone, linked = set(fresh), list[ObjectPair]()
    for pair in twin_candidates(rig, plane):
        ids = {pair.first, pair.second}
        if pair.kind == "body" and ids & fresh:
            alone -= ids  # also for a match by name alone, which only the user can confirm
            if pair.by != "name":
                linked.append((bodies[pair.first], bodies[pair.second]))
    link_twins(*linked)
    lone = [bodies[own] for own in bodies if own in alone and _is_on_one_side(bodies[own], plane)]
    if not lone:
        return len(linked), 0, Report()
    twins, report = create_twins(lone, plane)
    return len(linked), len(twins), report


def _no_plane_report() -> Report:
    report = Report()
    report.warn("no-mirror-plane", "Twin: not created, there is no mirror plane. Choose one: Twins > Mirror Plane")
    return report


def _is_on_one_side(obj: bpy.types.Object, plane: Plane) -> bool:
    corners = np.column_stack([np.array(obj.bound_box), np.ones(8)]) @ np.array(obj.matrix_basis).T
    heights = [plane.height(corner) for corner in corners[:, :3]]
    slack = _OVERLAP_SHARE * float(np.ptp(corners[:, :3], axis=0).max())
    return min(heights) >= -slack or max(heights) <= slack


def create_joint_twin(rig: bpy.types.Object, empty: bpy.types.Object) -> tuple[bpy.types.Object | None, Report]:
    """Link or create the twin of a new joint, between the twins of its bodies.

    Returns:
        The twin, None if the mirror image connects the same bodies or there is no mirror plane; and the report.
    """
    twins = twins_by_part(rig)
    ends = _joint_bodies(empty)
    wanted = [None if end is None else twins.get(end, end) for end in ends]
    if {*wanted} == {*ends}:
        return None, Report()
    there = [each for each in parts(rig, "JOINT") if each not in twins and {*_joint_bodies(each)} == {*wanted}]
    if there:
        link_twins((empty, there[0]))
        return there[0], Report()
    if ensure_plane(rig) is None:
        return None, _no_plane_report()
    made, report = create_twins([empty])
    return made[0], report


def _joint_bodies(empty: bpy.types.Object) -> tuple[bpy.types.Object | None, bpy.types.Object | None]:
    joint = record_of(empty).joint
    return joint.parent, joint.child


# ---------------------------------------------------------------- restraints


def _mirror_restraints(
    rig: bpy.types.Object, led: Iterable[bpy.types.Object], plane: Plane, present: RigState
) -> Report:
    """Mirror the restraints of bodies and joints to their twins, which are mirror images already."""
    report, document = Report(), read_document(rig)
    if document is None or not document.restraints:
        return report
    edit, left_out = mirror_restraints(extract_design(rig), plane, *ids_among(rig, led))
    for name in left_out:
        report.warn(
            "restraint-not-mirrored",
            Message("Restraint {}: not mirrored, the twin of its joint does not support it", repr(name)),
            where=name,
        )
    report.extend(write_parts(rig, edit, present))
    return report
