"""Splitting and merging of mechanisms: some bodies become a mechanism of their own, and two mechanisms become one.

Parts move to other collections and another armature; motions and stored poses are transferred with them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import bpy
import numpy as np
from mathutils import Matrix

from ...core.editing.split_merge import Merge, merge, split
from ...core.model import Mechanism, body_by_id, joint_by_id
from ...core.report import Message, Report, count_with_noun, join_messages
from ..animation.actions import motion_actions, stored_poses
from ..animation.renamed_bones import playing_actions
from ..compat import all_curves, curve_groups, use_action
from ..data.access import action_record, armature_of, armature_settings, model_uid, record_of, settings
from ..data.channels import Channel, bone_of_path, servo_channels
from ..data.conversion import mirror_plane_of
from ..data.copied_mechanisms import mark_as_adopted
from ..data.properties.model import KnuckleModel
from ..data.queries import (
    file_name,
    mechanism_bones,
    part_ids,
    parts,
    parts_by_id,
    record_deletion,
    twins_by_part,
)
from ..events.signals import writing_records
from ..physics.simulation.setup import clear_physics
from ..physics.world.membership import simulating_scene
from ..reconcile.foreign_objects import (
    BoneSlot,
    armature_slots,
    attach_to_slots,
    attached_objects,
    attached_parts,
    bone_slots,
    carried_bones,
    follow_bones,
    foreign_children,
    is_part_of,
    preserve_world_poses,
    remove_lost_drivers,
    separate_collections,
    transfer_foreign_objects,
    transfer_parts,
)
from ..reconcile.motion_change import KeyframePoses, joints_sharing_loops
from ..reconcile.rig_update import assign_ids, begin_edit, physics_suspended
from ..reconcile.update import EditObjects, write_parts
from ..scene.armature import remove_bones
from ..scene.collections import create_collections
from ..scene.read.mechanism import document_ids, extract_design

#: New data paths and indices of curves by previous ones.
CurveMap = dict[tuple[str, int], tuple[str, int]]


def map_joint_curves(before: Mapping[str, Sequence[Channel]], after: Mapping[str, Sequence[Channel]]) -> CurveMap:
    """Return the new identifiers of the curves of joints' bones by previous ones, for joints with the same ids."""
    pairs = ((old, new) for joint, own in before.items() for old, new in zip(own, after.get(joint, ()), strict=False))
    return {was: now for old, new in pairs for was, now in zip(old.curves(), new.curves(), strict=False)}


def exclusive_motions(rig: bpy.types.Object, other: bpy.types.Object) -> list[bpy.types.Action]:
    """Return the motions and stored poses that belong to a mechanism and not to another as well.

    It plays them, they were made for it, or the other has no such bones.
    """
    both = {*motion_actions(other), *stored_poses(other)}
    sure = {*playing_actions(rig), *(each for each in both if action_record(each).model == settings(rig).uid != "")}
    return [each for each in (*motion_actions(rig), *stored_poses(rig)) if each in sure or each not in both]


def transfer_motions(actions: Iterable[bpy.types.Action], places: CurveMap, model: str) -> None:
    """Assign motions and stored poses to another mechanism, to whose bones the parts are parented now.

    Curves without an entry in ``places`` are left as they are.

    Args:
        actions: The motions and stored poses.
        places: New identifiers of curves by previous ones.
        model: ``model_uid`` of the other mechanism.
    """
    for action in actions:
        groups = {bone_of_path(old): bone_of_path(new) for (old, _index), (new, _number) in places.items()}
        for curve in list(all_curves(action)):
            place = places.get((curve.data_path, curve.array_index))
            if place is not None and place != (curve.data_path, curve.array_index):
                curve.data_path, curve.array_index = place
        for group in curve_groups(action):
            if group.name in groups:
                group.name = groups[group.name]
        action_record(action).model = model


def split_model(
    rig: bpy.types.Object, objects: Iterable[bpy.types.Object], name: str = "", to_world: bool = False
) -> tuple[bpy.types.Object, list[str], Report]:
    """Split bodies, and the joints between them, off into a new mechanism.

    Pose, motion and document are copied, the document with everything else marked as deleted; physics is not. Twins
    that are separated are unlinked.

    Args:
        rig: Armature of the mechanism.
        objects: Objects, of which the bodies are split off.
        name: Name of the new mechanism; default: from the names of the mechanism and the first body.
        to_world: Joints between the bodies and the rest connect the bodies to the world; if False they are deleted.

    Returns:
        The new armature, the names of the joints between the bodies and the rest, and the report.

    Raises:
        ValueError: No body is selected, or all are.
    """
    assign_ids(rig)
    chosen = [obj for obj in objects if record_of(obj).role == "BODY" and record_of(obj).model == rig]
    ids = {record_of(obj).source_id for obj in chosen}
    mechanism, empties = extract_design(rig), parts_by_id(rig, "JOINT")
    cut = split(mechanism, ids).across
    report, present = Report(), begin_edit(rig, cut)
    mechanism = extract_design(rig)
    bodies, known, names = body_by_id(mechanism), joint_by_id(mechanism), [file_name(empties[own]) for own in cut]
    parts_of = split(mechanism, ids, to_world, present.moves, lambda joint: present.seen_values(joint, bodies))
    motion = KeyframePoses(rig, present, {*cut, *joints_sharing_loops(rig, cut)})
    with physics_suspended(rig, report), writing_records():
        every = part_ids(rig)
        made = _copy_armature(rig, name or f"{record_of(rig).source_name} {min(map(file_name, chosen))}")
        along, others = carried_bones(rig, chosen)
        going = [obj for obj in foreign_children(rig) if obj.parent_type == "BONE" and obj.parent_bone in along]
        with preserve_world_poses(going):
            for obj in going:
                obj.parent = made
            remove_bones(rig, along - mechanism_bones(rig))
            remove_bones(made, others)
            joints = [empties[own] for own in (*parts_of.inside, *(cut if to_world else ()))]
            joints += [empty for own, empty in empties.items() if own not in known and _is_on(empty, chosen)]
            transfer_parts([*chosen, *joints, *attached_parts(chosen, rig)], rig, made)
            for each, edit in ((rig, parts_of.rest), (made, parts_of.part)):
                report.extend(write_parts(each, edit, present.of_copy(each), motion=motion, compares=True))
            for one, other in ((rig, made), (made, rig)):
                here, there = armature_of(one).bones, armature_of(other).bones
                follow_bones(one, other, {bone.name: bone.name for bone in there if bone.name not in here})
            for each in (rig, made):
                record_deletion(each, every - part_ids(each))
                _clear_lost_links(each)
                remove_lost_drivers(each)
    report.extend(motion.change(made))
    return made, names, report


def _is_on(empty: bpy.types.Object, bodies: Collection[bpy.types.Object]) -> bool:
    joint = record_of(empty).joint
    return joint.parent in bodies or joint.child in bodies


def _copy_armature(rig: bpy.types.Object, name: str) -> bpy.types.Object:
    """Copy a mechanism's armature with its own collections, settings, document and motion, but no parts."""
    made = rig.copy()
    data = armature_of(rig).copy()
    made.data, made.name, data.name = data, name, name
    model: KnuckleModel = settings(made)
    model.rig, model.uid, model.body_keys = made, "", None
    model.property_unset("world_backup")  # the world is the other's
    create_collections(made, name, settings(rig).collection)
    record_of(made).source_name, record_of(made).model = name, made
    mark_as_adopted(made)
    if model.document is not None:
        model.document = model.document.copy()
    for owner in (made, data):
        action = owner.animation_data.action if owner.animation_data is not None else None
        if action is not None:
            copy = action.copy()
            action_record(copy).model = model_uid(made) if owner == made else ""
            use_action(owner, copy)
    return made


def _clear_lost_links(rig: bpy.types.Object) -> None:
    """Remove restraints and findings that refer to parts of another mechanism."""
    model = settings(rig)
    for number in reversed(range(len(model.restraints))):
        kept = model.restraints[number]
        if any(obj is not None and record_of(obj).model != rig for obj in (kept.joint, kept.body_a, kept.body_b)):
            model.restraints.remove(number)
    model.has_collision = any(record_of(obj).shape >= 0 for obj in parts(rig, "SHAPE"))
    for rows in (model.findings, model.found_twins, model.differences):
        rows.clear()


# ---------------------------------------------------------------- merging


def merge_models(rig: bpy.types.Object, others: Sequence[bpy.types.Object]) -> tuple[int, Report]:
    """Merge mechanisms into one, their parts staying where they are.

    The other mechanisms are deleted, with their documents; content that only these had is reported. The user's objects
    in them are moved to the remaining mechanism and stay where they are.

    Args:
        rig: Armature of the remaining mechanism.
        others: Armatures of the mechanisms that are merged into it.

    Returns:
        Number of parts that were renamed because their names were taken, and the report.

    Raises:
        ValueError: There is no other mechanism, or one has another scale: masses, stops and springs do not depend on
            the scale of the whole.
    """
    if not others:
        raise ValueError("Select parts of two mechanisms: the other is merged into the active one")
    for other in others:
        if _is_scaled(_design_transform(rig, other)):
            scaled = other if _is_scaled(other.matrix_world) else rig
            raise ValueError(Message("{}: scaled as a whole. Set its scale to 1 before merging", repr(scaled.name)))
    report, renamed, scene = Report(), 0, simulating_scene(rig)
    with physics_suspended(rig, report), writing_records():
        for each in (*others, rig):
            separate_collections(each)
        for other in others:
            home = simulating_scene(other)
            if home is not None:
                clear_physics(home, other, successor=rig if home == scene else None)
            _own, on_frames = attached_objects(
                [obj for role in ("FRAME", "LIGHT") for obj in parts(other, role)], other
            )
            strangers = [*foreign_children(other), *on_frames]
            hung = bone_slots(other, strangers)
            with preserve_world_poses(strangers):
                merged = _merge_model(rig, other, report)
                attach_to_slots(rig, {obj: _merged_slot(merged, hung.get(obj)) for obj in strangers})
                transfer_foreign_objects(other, rig)
                follow_bones(other, rig, _merged_bones(rig, other, merged))
                _remove_model(other)
            renamed += merged.renamed
        bpy.context.view_layer.update()  # the view layer still lists deleted objects as selected
    return renamed, report


def _is_scaled(matrix: Matrix) -> bool:
    return bool(np.abs(np.array(matrix.to_scale()) - 1.0).max() > 1e-4)


def _design_transform(rig: bpy.types.Object, other: bpy.types.Object) -> Matrix:
    """Return the transform from the design frame of ``other`` to that of ``rig``."""
    return rig.matrix_world.inverted_safe() @ other.matrix_world


def _merged_slot(merged: Merge, old: BoneSlot | None) -> BoneSlot | None:
    """Return the new bone slot of an object that was parented to a bone of the merged mechanism."""
    return None if old is None else ((merged.bodies if old[1] < 0 else merged.joints).get(old[0], ""), old[1])


def _merged_bones(rig: bpy.types.Object, other: bpy.types.Object, merged: Merge) -> dict[str, str]:
    """Return the new names of the bones of a merged mechanism, by previous ones."""
    names = {slot: name for name, slot in armature_slots(rig).items()}
    slots = {name: _merged_slot(merged, slot) for name, slot in armature_slots(other).items()}
    return {name: names[slot] for name, slot in slots.items() if slot in names}


def _merge_model(rig: bpy.types.Object, other: bpy.types.Object, report: Report) -> Merge:
    its, present = begin_edit(other), begin_edit(rig)
    motions, shift = exclusive_motions(other, rig), _design_transform(rig, other)
    mechanism, merged_mechanism = extract_design(rig), extract_design(other)
    _report_left_behind(rig, other, merged_mechanism, report)
    plane = mirror_plane_of(rig) if twins_by_part(rig) else None
    taken = part_ids(rig) | document_ids(rig)
    merged = merge(mechanism, merged_mechanism, np.array(shift, dtype=np.float64), its.pose, taken, plane)
    joined = {
        role: {ids[record_of(obj).source_id]: obj for obj in parts(other, role) if record_of(obj).source_id in ids}
        for role, ids in (("BODY", merged.bodies), ("JOINT", merged.joints))
    }
    bodies, joints = parts(other, "BODY"), parts(other, "JOINT")
    attached = [obj for role in ("FRAME", "LIGHT") for obj in parts(other, role)]
    if attached:
        report.warn(
            "frames-dropped",
            Message(
                "Reference frames and lights: {} of {} are not merged into {}",
                len(attached),
                repr(other.name),
                repr(rig.name),
            ),
        )
    bpy.data.batch_remove(attached)
    transfer_parts([*bodies, *joints, *attached_parts(bodies, other)], other, rig, shift)
    if merged.unpaired:
        report.warn(
            "twins-beside",
            Message(
                "Twins: {} of {} unlinked, {} has another mirror plane",
                count_with_noun(merged.unpaired, "pair"),
                repr(other.name),
                repr(rig.name),
            ),
        )
    settings(rig).has_collision |= settings(other).has_collision
    report.extend(
        write_parts(rig, merged.edit, present.joined(its, merged, np.array(shift)), EditObjects(joined=joined))
    )
    channels = servo_channels(rig)
    after = {joint: channels.get(merged.joints.get(joint, ""), []) for joint in its.channels}
    transfer_motions(motions, map_joint_curves(its.channels, after), model_uid(rig))
    return merged


def _report_left_behind(rig: bpy.types.Object, other: bpy.types.Object, mechanism: Mechanism, report: Report) -> None:
    """Report what of a mechanism that is merged into another cannot be kept, and keep its motion in the .blend."""
    lost = [
        what
        for what, found in (
            ("its gait", mechanism.behaviours is not None),
            ("its restraints", bool(mechanism.restraints)),
            ("its document", bool(mechanism.source.text)),
            ("bones without a joint", len(mechanism_bones(other)) < len(armature_of(other).bones)),
            ("its motion", other.animation_data is not None and other.animation_data.action is not None),
        )
        if found
    ]
    if lost:
        report.warn(
            "left-behind",
            Message("{}: not merged into {}: {}", repr(other.name), repr(rig.name), join_messages(", ", lost)),
        )
    action = other.animation_data.action if other.animation_data is not None else None
    if action is not None:
        action.use_fake_user = True  # keep it in the .blend


def _remove_model(rig: bpy.types.Object) -> None:
    """Remove the rest of a mechanism whose parts were moved to another."""
    model = settings(rig)
    top, data = model.collection, armature_of(rig)
    gone: list[bpy.types.ID] = [rig, data, top, *top.children_recursive]
    gone += [obj for obj in top.all_objects if is_part_of(obj, rig)]
    if model.document is not None and not any(
        armature_settings(other).document == model.document for other in bpy.data.armatures if other != data
    ):
        gone.append(model.document)
    bpy.data.batch_remove(list(dict.fromkeys(gone)))
