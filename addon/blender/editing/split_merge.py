"""Splitting and merging of mechanisms: some bodies become a mechanism of their own, and two mechanisms become one.

Parts move to other collections and another armature; motions and stored poses are transferred with them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix

from ...core.editing.split_merge import Merge, merge, split
from ...core.model import Mechanism, body_by_id, joint_by_id
from ...core.report import Message, Report, count_with_noun, join_messages
from ..animation.actions import (
    action_users,
    is_linked_action,
    mechanism_actions,
    play_copy,
    play_merged,
    played_actions,
    playing_role,
    require_no_tweak_mode,
)
from ..animation.fcurves import CurveId, copy_curve, curve_id
from ..animation.loops.live_solver import joints_sharing_loops
from ..animation.renamed_bones import CurveMap, map_joint_curves, transfer_motions
from ..compat import (
    action_curves,
    all_curves,
    use_action,
)
from ..data.access import action_record, armature_of, armature_settings, model_uid, record_of, settings
from ..data.channels import (
    bone_of_path,
    path_with_renamed_bone,
    servo_channels,
)
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
    root_bones,
    twins_by_part,
)
from ..events.signals import writing_records
from ..physics.simulation.setup import clear_physics
from ..physics.world.membership import simulating_scene
from ..reconcile.bone_references import (
    copy_bone_constraints,
    copy_bone_drivers,
    follow_bones,
    mute_bone_constraints,
)
from ..reconcile.channel_transfer import remove_bone_animation, remove_empty_actions
from ..reconcile.foreign_objects import (
    BoneSlot,
    armature_slots,
    attach_to_slots,
    attached_objects,
    attached_parts,
    bone_slots,
    carried_bones,
    foreign_children,
    is_part_of,
    preserve_world_poses,
    separate_collections,
    transfer_foreign_objects,
    transfer_parts,
)
from ..reconcile.motion_change import KeyframePoses
from ..reconcile.rig_update import assign_ids, begin_edit, physics_suspended
from ..reconcile.update import EditObjects, write_parts
from ..scene.armature import remove_bones
from ..scene.collections import create_collections
from ..scene.read.mechanism import document_ids, extract_design


def split_model(
    rig: bpy.types.Object, objects: Iterable[bpy.types.Object], name: str = "", to_world: bool = False
) -> tuple[bpy.types.Object, list[str], Report]:
    """Split bodies, and the joints between them, off into a new mechanism.

    Pose, motions, stored poses and document are copied, the document with everything else marked as deleted; physics is
    not. Each mechanism keeps the curves of its own bones. Twins that are separated are unlinked.

    Args:
        rig: Armature of the mechanism.
        objects: Objects, of which the bodies are split off.
        name: Name of the new mechanism; default: from the names of the mechanism and the first body.
        to_world: Joints between the bodies and the rest connect the bodies to the world; if False they are deleted.

    Returns:
        The new armature, the names of the joints between the bodies and the rest, and the report.

    Raises:
        ValueError: No body is selected, or all are; or an NLA strip is in tweak mode.
    """
    require_no_tweak_mode(rig)
    assign_ids(rig)
    chosen = [obj for obj in objects if record_of(obj).role == "BODY" and record_of(obj).model == rig]
    ids = {record_of(obj).source_id for obj in chosen}
    mechanism, empties = extract_design(rig), parts_by_id(rig, "JOINT")
    cut = split(mechanism, ids).across
    report, removals, present = Report(), Report(), begin_edit(rig, cut)
    mechanism = extract_design(rig)
    bodies, known, names = body_by_id(mechanism), joint_by_id(mechanism), [file_name(empties[own]) for own in cut]
    parts_of = split(mechanism, ids, to_world, present.moves, lambda joint: present.seen_values(joint, bodies))
    motion = KeyframePoses(rig, present, {*cut, *joints_sharing_loops(rig, cut)})
    with physics_suspended(rig, report), writing_records():
        every = part_ids(rig)
        made = _copy_armature(rig, name or f"{record_of(rig).source_name} {min(map(file_name, chosen))}")
        moving, own_bones = [*parts_of.inside, *(cut if to_world else ())], mechanism_bones(rig)
        along, others = carried_bones(rig, chosen)
        going = [obj for obj in foreign_children(rig) if obj.parent_type == "BONE" and obj.parent_bone in along]
        with preserve_world_poses(going):
            for obj in going:
                obj.parent = made
            _follow_split_bones(rig, made, moving, ids, along - own_bones)
            copied = present.of_copy(made)
            filled = {action for action in (*present.actions, *copied.actions) if any(all_curves(action))}
            for each, state, lost in ((rig, present, along - own_bones), (made, copied, others)):
                remove_bones(each, lost)
                removals.extend(remove_bone_animation(each, state, lost))
            joints = [empties[own] for own in moving]
            joints += [empty for own, empty in empties.items() if own not in known and _is_on(empty, chosen)]
            transfer_parts([*chosen, *joints, *attached_parts(chosen, rig)], rig, made)
            for each, edit in ((rig, parts_of.rest), (made, parts_of.part)):
                removals.extend(write_parts(each, edit, present.of_copy(each), motion=motion))
            report.extend(_without_kept_drivers(removals, (rig, made)))
            for each in (rig, made):
                record_deletion(each, every - part_ids(each))
                _clear_lost_links(each)
                stopped = _stop_empty_actions(each, filled)
                for action in (action for action in stopped if each == rig and action.use_fake_user):
                    about = repr(action.name), repr(rig.name)
                    text = Message("Action {}: {} plays it no more, it moved parts that were split off", *about)
                    report.info("action-stopped", text, where=action.name)
    report.extend(motion.change(made))
    moved = {action_record(each).split_from for each in copied.actions if any(all_curves(each))}
    for record in map(action_record, copied.actions):
        if record.split_from is not None and not any(all_curves(record.split_from)):
            record.split_from = None  # it is no user that keeps an empty one
    made_empty = {action for action in copied.actions if action in filled and not any(all_curves(action))}
    bpy.data.batch_remove([action for action in made_empty if action.users <= int(action.use_fake_user)])
    own = [action for action in present.actions if action in filled and action not in moved]
    remove_empty_actions([action for action in present.actions if action in moved])
    report.extend(remove_empty_actions(own))
    return made, names, report


def _follow_split_bones(
    rig: bpy.types.Object,
    made: bpy.types.Object,
    joints: Collection[str],
    bodies: Collection[str],
    users: Collection[str],
) -> None:
    """Let the constraints and drivers that refer to bones follow these to the armature that keeps them.

    Args:
        rig: Armature of the mechanism.
        made: Its copy for the bodies that are split off.
        joints: Ids of the joints that go.
        bodies: Ids of the bodies that go.
        users: Names of the bones that go and are the user's.
    """
    slots = armature_slots(rig)
    going = {name for name, (own, step) in slots.items() if own in (bodies if step < 0 else joints)} | {*users}
    follow_bones(rig, made, {name: name for name in going})
    follow_bones(made, rig, {bone.name: bone.name for bone in armature_of(rig).bones if bone.name not in going})


def _is_on(empty: bpy.types.Object, bodies: Collection[bpy.types.Object]) -> bool:
    joint = record_of(empty).joint
    return joint.parent in bodies or joint.child in bodies


def _copy_armature(rig: bpy.types.Object, name: str) -> bpy.types.Object:
    """Copy a mechanism's armature with its own collections, settings, document and motion, but no parts."""
    for action in mechanism_actions(rig):
        if not (action_record(action).model or action_users(rig, action)):
            action_record(action).model = model_uid(rig)
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
    shown = data.animation_data.action if data.animation_data is not None else None
    if shown is not None:
        use_action(data, shown.copy())
    _copy_motions(rig, made)
    return made


def _copy_motions(rig: bpy.types.Object, made: bpy.types.Object) -> None:
    """Give the copy of an armature its own copies of every motion and stored pose, in place of those that it plays.

    A copy has the name of its Action and that of the new mechanism.
    """
    playing = played_actions(rig)
    for action in mechanism_actions(rig):
        copy = action.copy()
        copy.name = f"{action.name} {record_of(made).source_name}"
        copy.use_fake_user = action.use_fake_user or action not in playing
        if action.asset_data is not None:
            copy.asset_mark()
            cast(bpy.types.AssetMetaData, copy.asset_data).catalog_id = action.asset_data.catalog_id
        record = action_record(copy)
        record.model, record.split_from, record.bodies = model_uid(made), action, None
        play_copy(made, action, copy)


def _without_kept_drivers(report: Report, rigs: Iterable[bpy.types.Object]) -> Report:
    """Return a report without the removal of drivers on bones that one of two mechanisms keeps; others once."""
    owners = [each.animation_data for each in rigs if each.animation_data is not None]
    bones = {bone_of_path(curve.data_path) for data in owners for curve in data.drivers}
    out, known = Report(), set[tuple[str, str]]()
    for entry in report.entries:
        if entry.code != "bone-driver-removed" or not (entry.where in bones or (entry.where, entry.message) in known):
            out.add(entry.severity, entry.code, entry.message, entry.line, entry.where)
            known.add((entry.where, entry.message))
    return out


def _stop_empty_actions(rig: bpy.types.Object, filled: Collection[bpy.types.Action]) -> list[bpy.types.Action]:
    """Unlink Actions that had curves (``filled``) and have none left from an armature object; return them.

    Their NLA strips are removed, and the tracks that had only these.
    """
    data, stopped = rig.animation_data, [each for each in played_actions(rig) if each in filled]
    stopped = [action for action in stopped if not any(all_curves(action))]
    if data is None or not stopped:
        return stopped
    if data.action in stopped:
        data.action = None
    for track in list(data.nla_tracks):
        going = [strip for strip in track.strips if strip.action in stopped]
        for strip in going:
            track.strips.remove(strip)
        if going and not len(track.strips):
            data.nla_tracks.remove(track)
    return stopped


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
    for each in (*others, rig):
        require_no_tweak_mode(each)
    report, renamed, scene = Report(), 0, simulating_scene(rig)
    with physics_suspended(rig, report), writing_records():
        for each in (*others, rig):
            separate_collections(each)
        for other in others:
            simulated_in = simulating_scene(other)
            if simulated_in is not None:
                clear_physics(simulated_in, other, successor=rig if simulated_in == scene else None)
            _own, on_frames = attached_objects(
                [obj for role in ("FRAME", "LIGHT") for obj in parts(other, role)], other
            )
            foreign = [*foreign_children(other), *on_frames]
            held = bone_slots(other, foreign)
            with preserve_world_poses(foreign):
                merged = _merge_model(rig, other, report)
                attach_to_slots(rig, {obj: _merged_slot(merged, held.get(obj)) for obj in foreign})
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
    report.extend(_separate_actions(rig, other))
    muted = mute_bone_constraints(other)  # they act on the merged bones again
    its, present = begin_edit(other), begin_edit(rig)
    shift, motions = _design_transform(rig, other), (_unshared_actions(rig), _unshared_actions(other))
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
    bones = _merged_bones(rig, other, merged)
    roots = {*root_bones(other).values()}
    for name, new_name in bones.items():
        old, new = other.pose.bones[name], rig.pose.bones[new_name]
        if name in roots:
            new.location, new.rotation_quaternion = old.location, old.rotation_quaternion
    copy_bone_constraints(other, rig, bones, muted)
    report.extend(_merge_motions(rig, other, motions, map_joint_curves(its.channels, after), bones))
    return merged


def _separate_actions(rig: bpy.types.Object, other: bpy.types.Object) -> Report:
    """Give a mechanism that is merged into another (``rig``) local copies of Actions that it shares with a third one.

    Also of linked ones that it plays.
    """
    report, own = Report(), played_actions(other)
    for action in dict.fromkeys((*mechanism_actions(other), *own)):
        sharing = [each for each in action_users(other, action) if each != rig]
        if not is_linked_action(action) and (not sharing or (action not in own and _others_play(other, action))):
            continue
        copy = action.copy()
        copy.use_fake_user = not is_linked_action(action) and (action.use_fake_user or action not in own)
        action_record(copy).model = model_uid(other)
        play_copy(other, action, copy)
        names = repr(action.name), repr(other.name), repr(copy.name)
        report.info("action-copied", Message("Action {}: {} is merged with a copy of it, {}", *names), where=copy.name)
    return report


def _unshared_actions(rig: bpy.types.Object) -> list[bpy.types.Action]:
    """Return the Actions of a mechanism without those that only another one plays, whose bones have the same names."""
    own = played_actions(rig)
    return [action for action in mechanism_actions(rig) if action in own or not _others_play(rig, action)]


def _others_play(rig: bpy.types.Object, action: bpy.types.Action) -> bool:
    return any(action in played_actions(each) for each in action_users(rig, action))


def _merge_motions(
    rig: bpy.types.Object,
    other: bpy.types.Object,
    motions: tuple[Sequence[bpy.types.Action], Sequence[bpy.types.Action]],
    channels: CurveMap,
    bones: Mapping[str, str],
) -> Report:
    """Give a mechanism the motions, stored poses, NLA tracks and drivers of one that was merged into it.

    Actions that a split made of one become one again. What another Action that plays does is copied to the one that
    plays, and it remains a motion of its own, as do all others.

    Args:
        rig: The armature.
        other: That of the merged mechanism.
        motions: Actions of both before the merge.
        channels: New identifiers of the curves of its joints by previous ones.
        bones: New names of its bones by previous ones.

    Returns:
        What could not be merged, and which Actions were joined.
    """
    report, joined, object_motions = Report(), dict[bpy.types.Action, bpy.types.Action](), set[str]()
    mine, theirs = motions
    pairs, unused = _split_pairs(rig, other, mine, theirs), list[bpy.types.Action]()
    for action in theirs:
        curves = [*(action_curves(other, action, create=False) or ())]
        moved = {curve_id(curve): curve for curve in curves if bone_of_path(curve.data_path) in bones}
        new_ids = {old: channels.get(old, (path_with_renamed_bone(old[0], bones), old[1])) for old in moved}
        partner = _partner(rig, other, action, mine, pairs.get(action), new_ids.values())
        there = action_curves(rig, partner) if partner is not None else None
        held = {curve_id(curve) for curve in there or ()}
        lost = [curve for curve in curves if not bone_of_path(curve.data_path)]
        left = [curve for curve in lost if curve_id(curve) not in held]
        object_motions |= {action.name for _curve in left}
        if there is None or partner is None:
            for curve in lost:
                action_curves(other, action).remove(curve)
            transfer_motions(other, [action], new_ids, model_uid(rig))
            action.use_fake_user |= playing_role(other, action) == "active" and _plays_linked(rig)
            continue
        if partner == action and action_record(action).model == settings(other).uid != "":
            action_record(action).model = model_uid(rig)
        joined[action] = partner
        new = [old for old in moved if new_ids[old] not in held]
        for old in new:
            path, index = new_ids[old]
            copy_curve(moved[old], there, path, index, bone_of_path(path))
        if partner == pairs.get(action) and len(new) + len(lost) - len(left) == len(list(all_curves(action))):
            unused.append(action)
        elif action not in mine:
            transfer_motions(other, [action], new_ids, model_uid(rig))  # it stays a motion of its own as well
            action.use_fake_user = True
    report.extend(play_merged(rig, other, joined))
    copy_bone_drivers(other, rig, bones, channels)
    if object_motions:
        report.warn(
            "object-motion-lost",
            Message(
                "Keyframes of {}: those of the armature object {} are not merged",
                ", ".join(map(repr, sorted(object_motions))),
                repr(other.name),
            ),
        )
    for action, partner in joined.items():
        if action != partner:
            names = repr(action.name), repr(partner.name)
            report.info("motions-joined", Message("Action {}: its keyframes were added to {}", *names))
    for action, partner in joined.items():
        if action_record(partner).split_from == action:
            action_record(partner).split_from = None  # it is no user that keeps the other half
    other.animation_data_clear()
    bpy.data.batch_remove([action for action in unused if action.users <= int(action.use_fake_user)])
    return report


def _split_pairs(
    rig: bpy.types.Object,
    other: bpy.types.Object,
    mine: Sequence[bpy.types.Action],
    theirs: Sequence[bpy.types.Action],
) -> dict[bpy.types.Action, bpy.types.Action]:
    """Return the Actions of a mechanism by those of a merged one that a split made of them, or the other way round.

    Both play in the same way, and each has one partner at most: among copies, the one with the name that it was given.
    """
    every = [
        (one, each)
        for one in theirs
        for each in mine
        if one != each and _is_split_pair(one, each) and playing_role(other, one) == playing_role(rig, each)
    ]
    every.sort(key=lambda pair: not (pair[0].name.startswith(pair[1].name) or pair[1].name.startswith(pair[0].name)))
    out: dict[bpy.types.Action, bpy.types.Action] = {}
    for one, each in every:
        if one not in out and each not in out.values():
            out[one] = each
    return out


def _partner(
    rig: bpy.types.Object,
    other: bpy.types.Object,
    action: bpy.types.Action,
    mine: Sequence[bpy.types.Action],
    half: bpy.types.Action | None,
    new_ids: Iterable[CurveId],
) -> bpy.types.Action | None:
    """Return the Action of a mechanism that one of a merged mechanism becomes a part of; None: it stays.

    It is the same one, or the other ``half`` of a split that has no curve with one of the ``new_ids``, or both play.
    """
    if action in mine:
        return action
    if half is not None:
        held = {curve_id(curve) for curve in action_curves(rig, half, create=False) or ()}
        if held.isdisjoint(new_ids):
            return half
    active = rig.animation_data.action if rig.animation_data is not None else None
    return active if active in mine and playing_role(other, action) == "active" else None


def _plays_linked(rig: bpy.types.Object) -> bool:
    data = rig.animation_data
    return data is not None and data.action is not None and is_linked_action(data.action)


def _is_split_pair(one: bpy.types.Action, other: bpy.types.Action) -> bool:
    """Return whether a split made one of two Actions of the other, or both of a third."""
    first, second = action_record(one).split_from, action_record(other).split_from
    return other == first or one == second or (first is not None and first == second)


def _report_left_behind(rig: bpy.types.Object, other: bpy.types.Object, mechanism: Mechanism, report: Report) -> None:
    """Report what of a mechanism that is merged into another cannot be kept."""
    lost = [
        what
        for what, found in (
            ("its gait", mechanism.behaviours is not None),
            ("its restraints", bool(mechanism.restraints)),
            ("its document", bool(mechanism.source.text)),
            ("bones without a joint", len(mechanism_bones(other)) < len(armature_of(other).bones)),
        )
        if found
    ]
    if lost:
        report.warn(
            "left-behind",
            Message("{}: not merged into {}: {}", repr(other.name), repr(rig.name), join_messages(", ", lost)),
        )


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
