"""Creation of missing twins, and edits of joints that are applied to their twins too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import bpy
import numpy as np

from ....core.editing.edits import JointEdit
from ....core.editing.sides import twin_name
from ....core.editing.twins import twin_dof_maps
from ....core.model import DOF_SIZE, Array, Plane
from ....core.report import Message, Report
from ...animation.actions import motion_actions
from ...animation.fcurves import curves_by_id, servo_curve_ids
from ...animation.mirror import mirror_keys
from ...data.access import record_of
from ...data.channels import servo_channels
from ...data.copied_mechanisms import copy_part
from ...data.queries import file_name, joint_bones, part_ids, parts
from ...data.twin_links import link_twins, parts_by_id, record_mirror_state, twins_by_part
from ...events.signals import signals_blocked
from ...reconcile.rig_state import rigid_design_pose
from ...reconcile.rig_update import assign_ids, physics_suspended, update_armature
from ...rig.joint_frames import read_joint
from ...rig.pose_channels import read_joint_values
from .appearance import MeshMirror
from .images import (
    MirrorContext,
    mirror_part_restraints,
    mirrored_coordinates,
    write_body_image,
    write_joint_image,
)
from .twins import copy_friction, ensure_plane, require_plane, twin_candidates


def create_twins(
    objects: Iterable[bpy.types.Object], plane: Plane | None = None
) -> tuple[list[bpy.types.Object], Report]:
    """Create the missing twins of bodies and joints, named for the other side, and posed and keyed as mirror images.

    The joints that carry the chosen bodies are included.

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
    paired = twins_by_part(rig)
    alone = [obj for obj in chosen if obj not in paired]
    bodies = [obj for obj in alone if record_of(obj).role == "BODY"]
    joints = {obj for obj in alone if record_of(obj).role == "JOINT"}
    joints |= {empty for empty in parts(rig, "JOINT") if record_of(empty).joint.child in bodies and empty not in paired}
    ordered = [empty for empty in parts(rig, "JOINT") if empty in joints]
    if not (bodies or joints):
        raise ValueError("Selection: all parts have a twin. Use Mirror to Twin to update them")
    between, report = plane or require_plane(rig), Report()
    pairs: dict[bpy.types.Object, bpy.types.Object] = {}
    looks = MeshMirror()
    pose = read_joint_values(rig, servo_channels(rig))
    with physics_suspended(rig, report) as frictions, signals_blocked():
        taken = _UsedNames(rig)
        for obj in bodies:
            made = pairs[obj] = taken.copy(obj)
            write_body_image(obj, made, between, looks, is_new=True)
            copy_friction(frictions, obj, made)
        around = MirrorContext(parts_by_id(rig, "BODY"))
        for empty in ordered:
            made = pairs[empty] = taken.copy(empty)
            write_joint_image(empty, made, between, around, is_new=True)
        for obj, twin in pairs.items():
            record_mirror_state(obj, twin)
        edits = dict(_mirrored_poses({empty: pairs[empty] for empty in ordered}, between, around, pose))
        report.extend(update_armature(rig, edits=edits, made=list(pairs.values())))
        mirror_part_restraints(rig, pairs, between, parts_by_id(rig, "BODY"), parts_by_id(rig, "JOINT"), report)
    report.extend(_mirror_twin_keys(rig, ordered, between))
    looks.report_all(report)
    return list(pairs.values()), report


def _mirrored_poses(
    pairs: Mapping[bpy.types.Object, bpy.types.Object],
    plane: Plane,
    around: MirrorContext,
    pose: Mapping[str, Array],
) -> Iterator[tuple[str, JointEdit]]:
    """Yield the edits that pose the twins of joints as mirror images, by id; ``pose``: joint values by id."""
    for empty, twin in pairs.items():
        values = pose.get(record_of(empty).source_id)
        if values is not None:
            joint, twin_joint = (read_joint(each, rigid_design_pose) for each in (empty, twin))
            found = twin_dof_maps(joint, twin_joint, plane, around.mates, around.bodies)
            image = mirrored_coordinates(values, found, sum(DOF_SIZE[dof.kind] for dof in twin_joint.dofs))
            yield record_of(twin).source_id, JointEdit(values=image)


def _mirror_twin_keys(rig: bpy.types.Object, joints: Iterable[bpy.types.Object], plane: Plane) -> Report:
    """Mirror the keyframes of joints to their twins, in every motion of the mechanism."""
    report, chains = Report(), joint_bones(rig)
    bones = {bone for empty in joints for bone in chains.get(record_of(empty).source_id, ())}
    places = servo_curve_ids(rig, bones)
    for action in motion_actions(rig) if places else ():
        if not curves_by_id(rig, action, places):
            continue
        try:
            mirror_keys(rig, bones=bones, plane=plane, action=action)
        except ValueError as error:
            report.warn("keys-not-mirrored", Message("Keyframes of {}: not mirrored. {}", repr(action.name), error))
    return report


class _UsedNames:
    """Ids of a mechanism's parts, and names by role."""

    def __init__(self, rig: bpy.types.Object) -> None:
        self.ids = part_ids(rig)
        self.names = {role: {file_name(obj) for obj in parts(rig, role)} for role in ("BODY", "JOINT")}

    def copy(self, obj: bpy.types.Object) -> bpy.types.Object:
        """Copy a part as its twin, with its own name and id."""
        record, names = record_of(obj), self.names[record_of(obj).role]
        name = twin_name(file_name(obj), names)
        made = copy_part(obj, name, twin_name(record.source_id, self.ids) if name in self.ids else name)
        record_of(made).twin, record.twin = record.source_id, record_of(made).source_id
        names.add(name)
        self.ids.add(record.twin)
        return made


#: Share of its size by which a body on one side may extend to the other side of the mirror plane.
_OVERLAP_SHARE = 0.02


def create_body_twins(rig: bpy.types.Object, made: Iterable[bpy.types.Object]) -> tuple[int, int, Report]:
    """Link or create the twins of new bodies.

    A mirror image of another body is linked to it; for a body on one side the twin is created; a body in the middle
    gets none.

    Returns:
        Number of linked pairs, number of created twins, and the report.
    """
    plane, bodies = ensure_plane(rig), parts_by_id(rig, "BODY")
    if plane is None:
        return 0, 0, _no_plane_report(rig)
    fresh = {record_of(obj).source_id for obj in made}
    alone, linked = set(fresh), 0
    for pair in twin_candidates(rig, plane):
        ids = {pair.first, pair.second}
        if pair.kind == "body" and ids & fresh:
            alone -= ids  # also for a match by name alone, which only the user can confirm
            if pair.by != "name":
                link_twins(bodies[pair.first], bodies[pair.second])
                linked += 1
    lone = [bodies[own] for own in bodies if own in alone and _is_on_one_side(bodies[own], plane)]
    if not lone:
        return linked, 0, Report()
    twins, report = create_twins(lone, plane)
    return linked, len(twins), report


def _no_plane_report(rig: bpy.types.Object) -> Report:
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
        link_twins(empty, there[0])
        return there[0], Report()
    if ensure_plane(rig) is None:
        return None, _no_plane_report(rig)
    made, report = create_twins([empty])
    return made[0], report


def _joint_bodies(empty: bpy.types.Object) -> tuple[bpy.types.Object | None, bpy.types.Object | None]:
    joint = record_of(empty).joint
    return joint.parent, joint.child
