"""Twins that are missing, made: the mirror images of bodies and joints, with names of the other side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import bpy

from ....core.editing.sides import twin_name
from ....core.editing.twins import dof_parts
from ....core.model import DOF_SIZE, Array, Plane
from ....core.report import Report
from ...animation.actions import motions_of
from ...animation.fcurves import curves_at, places_of
from ...animation.mirror import mirror_keys
from ...data.access import record_of
from ...data.channels import servo_channels
from ...data.queries import file_name, joint_bones, part_ids, parts
from ...events.signals import quiet
from ...rig.joint_frames import read_joint
from ...rig.pose_channels import pose_of
from ..design_transform import rigid_pose
from ..part_copies import copy_part
from ..present_pose import JointEdit
from ..restraints import put_restraint_images
from ..rig_update import give_ids, refit, without_physics
from .appearance import Looks
from .images import Surroundings, mirrored_coordinates, put_body_image, put_joint_image
from .links import by_id, mates, note
from .twins import plane_of, same_friction


def create_twins(
    objects: Iterable[bpy.types.Object], plane: Plane | None = None
) -> tuple[list[bpy.types.Object], Report]:
    """Make the missing twins of bodies and joints, mirrored, with names of the other side, and posed and keyed as
    mirror images. The joints among the chosen bodies, and those that carry them, come along. Returns what was made.
    ValueError where nothing lacks a twin, and where there is no plane to mirror across."""
    chosen = [obj for obj in objects if record_of(obj).role in {"BODY", "JOINT"}]
    rig = next((record_of(obj).model for obj in chosen), None)
    if rig is None:
        raise ValueError("Select bodies or joints of the mechanism to make their twins")
    give_ids(rig)
    paired = mates(rig)
    alone = [obj for obj in chosen if obj not in paired]
    bodies = [obj for obj in alone if record_of(obj).role == "BODY"]
    joints = {obj for obj in alone if record_of(obj).role == "JOINT"}
    joints |= {empty for empty in parts(rig, "JOINT") if record_of(empty).joint.child in bodies and empty not in paired}
    ordered = [empty for empty in parts(rig, "JOINT") if empty in joints]
    if not (bodies or joints):
        raise ValueError("Everything that is selected has a twin already: Mirror to Twin makes them alike")
    between, report = plane or plane_of(rig), Report()
    pairs: dict[bpy.types.Object, bpy.types.Object] = {}
    looks = Looks()
    pose = pose_of(rig, servo_channels(rig))
    with without_physics(rig, report) as frictions, quiet():
        taken = _Taken(rig)
        for obj in bodies:
            made = pairs[obj] = taken.copy(obj)
            put_body_image(obj, made, between, looks, is_new=True)
            same_friction(frictions, obj, made)
        around = Surroundings(by_id(rig, "BODY"))
        for empty in ordered:
            made = pairs[empty] = taken.copy(empty)
            put_joint_image(empty, made, between, around, is_new=True)
        for obj, mate in pairs.items():
            note(obj, mate)
        edits = dict(_posed({empty: pairs[empty] for empty in ordered}, between, around, pose))
        report.extend(refit(rig, edits=edits, made=list(pairs.values())))
        put_restraint_images(rig, pairs, between, by_id(rig, "BODY"), by_id(rig, "JOINT"), report)
    report.extend(_key(rig, ordered, between))
    looks.tell(report)
    return list(pairs.values()), report


def _posed(
    pairs: Mapping[bpy.types.Object, bpy.types.Object],
    plane: Plane,
    around: Surroundings,
    pose: Mapping[str, Array],
) -> Iterator[tuple[str, JointEdit]]:
    """The twins of joints, by id, posed as their mirror images; ``pose`` are the coordinates of joints, by id."""
    for empty, mate in pairs.items():
        values = pose.get(record_of(empty).source_id)
        if values is not None:
            joint, twin = (read_joint(each, rigid_pose) for each in (empty, mate))
            found = dof_parts(joint, twin, plane, around.mates, around.bodies)
            image = mirrored_coordinates(values, found, sum(DOF_SIZE[dof.kind] for dof in twin.dofs))
            yield record_of(mate).source_id, JointEdit(values=image)


def _key(rig: bpy.types.Object, joints: Iterable[bpy.types.Object], plane: Plane) -> Report:
    """Give the twins of joints the mirrored keys of these, in every motion of the mechanism."""
    report, chains = Report(), joint_bones(rig)
    bones = {bone for empty in joints for bone in chains.get(record_of(empty).source_id, ())}
    places = places_of(rig, bones)
    for action in motions_of(rig) if places else ():
        if not curves_at(rig, action, places):
            continue
        try:
            mirror_keys(rig, bones=bones, plane=plane, action=action)
        except ValueError as error:
            report.warn("keys-not-mirrored", f"Keyframes of {action.name!r} are not mirrored: {error}")
    return report


class _Taken:
    """The ids of a model's parts and the names of each kind of them."""

    def __init__(self, rig: bpy.types.Object) -> None:
        self.ids = part_ids(rig)
        self.names = {role: {file_name(obj) for obj in parts(rig, role)} for role in ("BODY", "JOINT")}

    def copy(self, obj: bpy.types.Object) -> bpy.types.Object:
        """A copy of a part with a name and id of its own, the original's twin."""
        record, names = record_of(obj), self.names[record_of(obj).role]
        name = twin_name(file_name(obj), names)
        made = copy_part(obj, name, twin_name(record.source_id, self.ids) if name in self.ids else name)
        record_of(made).twin, record.twin = record.source_id, record_of(made).source_id
        names.add(name)
        self.ids.add(record.twin)
        return made
