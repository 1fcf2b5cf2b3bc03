"""Limbs duplicated, models split and merged: what comes out is a sound mechanism that stands where it stood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.animation.actions import mechanism_actions, motion_actions, stored_poses
from addon.blender.animation.pose_library import store_pose
from addon.blender.compat import action_curves, all_curves, assign_strip_slot, new_curve, use_action
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import bone_of_path, servo_channels
from addon.blender.data.queries import parts, root_bones
from addon.blender.editing.joints import delete_objects, limb_objects, limb_of
from addon.blender.editing.split_merge import merge_models, split_model
from addon.blender.rig.bone_limits import is_stop_constraint
from addon.blender.rig.pose_channels import read_joint_values
from addon.blender.scene.read.mechanism import extract
from addon.core.kinematics import spanning_tree
from tests.support.scenes import body, joint_of, made, now, pick


def stand(rig: Any) -> dict[str, np.ndarray]:
    bpy.context.view_layer.update()
    return {obj.name: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}


def through_file(rig: Any, path: Path, format_: str) -> Any:
    formats.save(extract(settings(rig).collection), path, format_)
    return formats.load(path)


def test_a_limb_is_duplicated_with_its_joints(blank: Any, tmp_path: Path) -> None:
    rig = made("hexapod.jm", physics=True)
    bpy.ops.ed.undo_push(message="before")
    hip = next(obj for obj in parts(rig, "JOINT") if "Left" in obj.name and record_of(obj).joint.parent is not None)
    thigh = record_of(hip).joint.child
    rig.pose.bones[hip.name].rotation_euler.z = 0.2
    before, count = stand(rig), (len(parts(rig, "BODY")), len(parts(rig, "JOINT")))
    pick(thigh)
    assert bpy.ops.knuckle.duplicate_limb(place="OFFSET", offset=(0, 0.5, 0.25)) == {"FINISHED"}
    chosen = [obj for obj in bpy.context.selected_objects if record_of(obj).role == "BODY"]
    copies = [obj for obj in parts(rig, "BODY") if obj.name not in before]
    assert set(chosen) == set(copies) and len(copies) >= 1
    now = stand(rig)
    turn = np.array(rig.matrix_world)[:3, :3]
    for copy in copies:
        original = next(obj for obj in parts(rig, "BODY") if record_of(obj).source_id == record_of(copy).copy_of)
        moved = before[original.name].copy()
        moved[:3, 3] += turn @ [0, 0.5, 0.25]
        assert now[copy.name] == pytest.approx(moved, abs=1e-4), "posed as the original is"
        assert record_of(copy).twin == "" and record_of(original).twin != ""
    assert all(now[name] == pytest.approx(before[name], abs=1e-5) for name in before)
    back = through_file(rig, tmp_path / "more.jm", "juice")
    assert len(back.bodies) == count[0] + len(copies)
    assert len(back.joints) == count[1] + len(copies)
    assert len(spanning_tree(back).roots) == 1
    assert record_of(copies[0]).model == rig and copies[0].rigid_body is not None, "physics holds the copies too"


def test_what_has_no_body_cannot_be_duplicated_or_split(blank: Any) -> None:
    rig = made("hexapod.jm")
    pick(rig)
    with pytest.raises(RuntimeError, match="Select bodies of the mechanism, or joints that move some"):
        bpy.ops.knuckle.duplicate_limb()
    with pytest.raises(RuntimeError, match="Select bodies of the mechanism to split them off"):
        bpy.ops.knuckle.split_model()
    with pytest.raises(RuntimeError, match="Select parts of two mechanisms"):
        bpy.ops.knuckle.merge_models()
    pick(*parts(rig, "BODY"))
    with pytest.raises(RuntimeError, match="Selection: all bodies. Leave at least one"):
        bpy.ops.knuckle.split_model()


@pytest.mark.parametrize("across", ["DROP", "WORLD"])
@pytest.mark.parametrize(("name", "format_"), [("hexapod.jm", "juice"), ("humanoid.skel", "skel")])
def test_a_limb_becomes_a_model_of_its_own(blank: Any, tmp_path: Path, name: str, format_: str, across: str) -> None:
    rig = made(name)
    tree = spanning_tree(extract(settings(rig).collection))
    link = next(link for link in tree.links if link.carrier is not None)
    below = {link.body}
    for each in tree.links:
        if each.carrier in below:
            below.add(each.body)
    limb = [obj for obj in parts(rig, "BODY") if record_of(obj).source_id in below]
    joint = next(obj for obj in parts(rig, "JOINT") if record_of(obj).source_id == link.joint.id)
    inner = [each.joint.id for each in tree.links if each.body in below and each.body != link.body]
    if inner:
        bone = next(b for b in rig.pose.bones if b.bone.knuckle.joint == inner[0])
        bone.rotation_euler.z = 0.15
    masses = {each.id: (each.mass, each.com.tolist()) for each in extract(settings(rig).collection).bodies}
    before, joint_name = stand(rig), joint.name
    total = len(parts(rig, "BODY")), len(parts(rig, "JOINT"))
    pick(*limb)
    assert bpy.ops.knuckle.split_model(name="Limb", across=across) == {"FINISHED"}
    new = bpy.context.object
    assert new != rig and record_of(new).source_name == "Limb"
    assert {obj.name for obj in parts(new, "BODY")} == {obj.name for obj in limb}
    assert len(parts(rig, "BODY")) == total[0] - len(limb)
    held = 1 if across == "WORLD" else 0
    assert len(parts(new, "JOINT")) == len(inner) + held
    assert (joint_name in bpy.data.objects) == bool(held)
    after = {**stand(rig), **stand(new)}
    for name_, pose in before.items():
        assert after[name_] == pytest.approx(pose, abs=1e-4), name_
    for each in (rig, new):
        back = through_file(each, tmp_path / f"half{formats.FORMATS[format_].extensions[0]}", format_)
        assert {body.id for body in back.bodies} <= masses.keys()
        for body_ in back.bodies:
            assert (body_.mass, body_.com.tolist()) == masses[body_.id], "all that the document said is kept"
            assert body_.twin is None or body_.twin in {other.id for other in back.bodies}
    back = extract(settings(new).collection)
    assert [j.parent is None or j.child is None for j in back.joints if j.active].count(True) == held


def test_the_new_model_is_selected_where_a_deleted_joint_was(blank: Any) -> None:
    rig = made("hexapod.jm")
    link = spanning_tree(now(rig)).links[-1]
    joint, limb = ({record_of(obj).source_id: obj for obj in parts(rig, role)} for role in ("JOINT", "BODY"))
    pick(joint[link.joint.id], limb[link.body])
    assert bpy.ops.knuckle.split_model() == {"FINISHED"}
    assert bpy.context.object != rig and bpy.context.selected_objects == [bpy.context.object]


def test_split_and_merge_and_undo(blank: Any) -> None:
    rig = made("hexapod.jm")
    bpy.ops.ed.undo_push(message="made")
    whole = sorted(obj.name for obj in bpy.data.objects)
    name = rig.name
    tree = spanning_tree(extract(settings(rig).collection))
    pick(*[obj for obj in parts(rig, "BODY") if record_of(obj).source_id == tree.links[-1].body])
    bpy.ops.ed.undo_push(message="picked")
    bpy.ops.knuckle.split_model()
    bpy.ops.ed.undo_push(message="split")
    assert sorted(obj.name for obj in bpy.data.objects) != whole
    bpy.ops.ed.undo()
    assert sorted(obj.name for obj in bpy.data.objects) == whole
    rig = bpy.data.objects[name]
    assert len(parts(rig, "BODY")) == len(tree.mechanism.bodies)


def test_two_models_become_one(blank: Any, tmp_path: Path) -> None:
    rig, other = made("hexapod.jm"), made("desk_lamp.skel")
    other.matrix_world.translation.x += 3.0
    third = made("desk_lamp.skel")
    third.matrix_world.translation.x -= 3.0
    bpy.context.view_layer.update()
    lamp = extract(settings(other).collection)
    channels = servo_channels(other)
    turned = next(joint for joint, own in channels.items() if len(own) == 1)
    setattr_channel(other, channels[turned][0], 0.2)
    before = stand(rig) | stand(other) | stand(third)
    count = sum(len(parts(each, "BODY")) for each in (rig, other, third))
    pick(parts(other, "BODY")[0], parts(third, "BODY")[0], rig)
    assert bpy.ops.knuckle.merge_models() == {"FINISHED"}
    assert [obj for obj in bpy.data.objects if record_of(obj).role == "MODEL"] == [rig]
    after = stand(rig)
    assert len(after) == count
    gap = {name: np.abs(after[name] - pose).max() for name, pose in before.items() if name in after}
    assert len(gap) == len(lamp.bodies) + len(parts_of_hexapod(rig, lamp)), gap.keys()
    assert max(gap.values()) < 1e-4
    pose = read_joint_values(rig, servo_channels(rig))
    assert any(values.shape == (1,) and abs(values[0] - 0.2) < 1e-6 for values in pose.values())
    for format_ in formats.FORMATS:
        back = through_file(rig, tmp_path / f"all{formats.FORMATS[format_].extensions[0]}", format_)
        assert len(back.bodies) == count, format_
        mine = {body.name: body for body in back.bodies}
        for wanted in lamp.bodies:
            assert mine[wanted.name].mass == pytest.approx(wanted.mass, rel=1e-6)
        assert len({body.name for body in back.bodies}) == count, "names that clashed are numbered"


@pytest.mark.parametrize("into", ["original", "copy"])
@pytest.mark.parametrize("apart", [False, True])
def test_a_copy_and_its_original_become_one(blank: Any, tmp_path: Path, apart: bool, into: str) -> None:
    """A copy lies in the collections of its original, unless the user has moved it into one of its own."""
    first = made("hexapod.jm")
    document = settings(first).document
    for obj in bpy.context.scene.objects:
        obj.select_set(True)
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    bpy.context.view_layer.update()
    second = next(obj for obj in bpy.context.selected_objects if record_of(obj).role == "MODEL")
    assert settings(second).collection == settings(first).collection
    if apart:
        own = bpy.data.collections.new("mine")
        bpy.context.scene.collection.children.link(own)
        for obj in bpy.context.selected_objects:
            for holder in obj.users_collection:
                holder.objects.unlink(obj)
            own.objects.link(obj)
    second.location.x += 3.0
    bpy.context.view_layer.update()
    rig, other = (first, second) if into == "original" else (second, first)
    bodies = [obj for obj in bpy.data.objects if record_of(obj).role == "BODY"]
    before = {obj: np.array(obj.matrix_world) for obj in bodies}
    pick(other, rig)
    assert bpy.ops.knuckle.merge_models() == {"FINISHED"}
    assert [obj for obj in bpy.data.objects if record_of(obj).role == "MODEL"] == [rig]
    assert set(parts(rig, "BODY")) == set(bodies) and settings(rig).document == document
    assert all(obj.users_scene for obj in bpy.data.objects if record_of(obj).model == rig)
    bpy.context.view_layer.update()
    for obj, pose in before.items():
        np.testing.assert_allclose(np.array(obj.matrix_world), pose, atol=1e-4)
    back = through_file(rig, tmp_path / "both.jm", "juice")
    assert len(back.bodies) == len(bodies)
    assert len({body.name for body in back.bodies}) == len(bodies), "names that clashed are numbered"
    assert len(spanning_tree(back).roots) == 2


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("whose", ["remaining", "merged"])
def test_a_body_that_the_user_parented_to_an_own_object_stays_in_place(blank: Any, whose: str, moved: bool) -> None:
    rig, other = made("desk_lamp.skel"), made("hexapod.jm")
    other.location, other.rotation_euler = (1.0, 2.0, 3.0), (0.1, 0.2, 0.3)
    empty = bpy.data.objects.new("mine", None)
    bpy.context.scene.collection.objects.link(empty)
    empty.location, empty.rotation_euler = (0.4, 0.1, 0.0), (0.0, 0.4, 0.0)
    bpy.context.view_layer.update()
    body = parts(rig if whose == "remaining" else other, "BODY")[2]
    pose = body.matrix_world.copy()
    body.parent, body.parent_type = empty, "OBJECT"
    body.matrix_parent_inverse, body.matrix_basis = empty.matrix_world.inverted(), pose
    empty.location.x += 0.4 if moved else 0.0
    bpy.context.view_layer.update()
    before = {obj: np.array(obj.matrix_world) for obj in (*parts(rig, "BODY"), *parts(other, "BODY"))}
    pick(other, rig)
    assert bpy.ops.knuckle.merge_models() == {"FINISHED"}
    bpy.context.view_layer.update()
    for obj, place in before.items():
        np.testing.assert_allclose(np.array(obj.matrix_world), place, atol=1e-4, err_msg=obj.name)


def setattr_channel(rig: Any, channel: Any, value: float) -> None:
    getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index] = value
    bpy.context.view_layer.update()


def parts_of_hexapod(rig: Any, lamp: Any) -> list[Any]:
    lamps = {body.name for body in lamp.bodies}
    return [
        obj
        for obj in parts(rig, "BODY")
        if record_of(obj).source_name.rstrip(" 2") not in {n.rstrip(" 2") for n in lamps}
    ]


@pytest.mark.parametrize("across", ["WORLD", "DELETE"])
def test_motion_that_a_split_mechanism_loses_is_reported(blank: Any, across: str) -> None:
    rig = made("hexapod.jm")
    swing = next(empty for empty in parts(rig, "JOINT") if empty.name == "Left Front Swing")
    (channel,) = servo_channels(rig)[record_of(swing).source_id]
    bone = rig.pose.bones[channel.bone]
    for frame, value in ((1, 0.4), (20, -0.4)):
        getattr(bone, channel.prop)[channel.index] = value
        bone.keyframe_insert(channel.prop, index=channel.index, frame=frame)
    bpy.context.scene.frame_set(10)
    coxa = next(obj for obj in (record_of(swing).joint.child, record_of(swing).joint.parent) if "Coxa" in obj.name)
    _made, _names, report = split_model(rig, limb_objects(rig, limb_of(rig, [coxa])), to_world=across == "WORLD")
    lost = [each for each in report.entries if each.code in {"motion-changed", "empty-action-removed"}]
    assert len(lost) == (across != "WORLD")


def bone_driver(owner: Any, prop: str, rig: Any, bone: str, by: str) -> Any:
    """A driver that reads a bone's rotation: by its path, or as Blender's transform channel."""
    curve = owner.driver_add(prop, 2)
    variable = curve.driver.variables.new()
    variable.name = "angle"
    variable.type = "SINGLE_PROP" if by == "path" else "TRANSFORMS"
    target = variable.targets[0]
    target.id = rig
    if by == "path":
        target.data_path = f'pose.bones["{bone}"].rotation_euler[2]'
    else:
        target.bone_target, target.transform_type, target.transform_space = bone, "ROT_Z", "LOCAL_SPACE"
    curve.driver.expression = "angle"
    return target


@pytest.mark.parametrize("by", ["path", "channel"])
def test_what_refers_to_bones_follows_them_into_the_mechanism_that_they_are_merged_into(blank: Any, by: str) -> None:
    rig, other = made("hexapod.jm"), made("rover.jm")
    other.location.y += 9.0
    empties = [bpy.data.objects.new(name, None) for name in ("follows", "is driven", "looks")]
    for empty in empties:
        bpy.context.scene.collection.objects.link(empty)
    hinge = next(own[0].bone for own in servo_channels(other).values() if own[0].prop == "rotation_euler")
    other.pose.bones[hinge].rotation_euler.z = 0.4
    follows = empties[0].constraints.new("COPY_TRANSFORMS")
    follows.target, follows.subtarget = other, hinge
    bone_driver(empties[1], "rotation_euler", other, hinge, by)
    armature = empties[2].constraints.new("ARMATURE")
    several = armature.targets.new()
    several.target, several.subtarget = other, hinge
    bpy.context.view_layer.update()
    before = [np.array(empty.matrix_world) for empty in empties]
    assert np.abs(before[1] - np.eye(4)).max() > 0.1
    pick(other, rig)
    assert bpy.ops.knuckle.merge_models() == {"FINISHED"}
    bpy.context.view_layer.update()
    assert follows.target == several.target == rig
    for empty, place in zip(empties[:2], before[:2], strict=True):
        np.testing.assert_allclose(np.array(empty.matrix_world), place, atol=1e-4, err_msg=empty.name)


@pytest.mark.parametrize("by", ["path", "channel"])
def test_what_refers_to_bones_follows_them_into_the_mechanism_that_they_are_split_into(blank: Any, by: str) -> None:
    rig = made("hexapod.jm")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    control = rig.data.edit_bones.new("Ctrl")
    control.head, control.tail = (0.0, 0.0, 0.0), (0.0, 0.0, 3.0)
    bpy.ops.object.mode_set(mode="OBJECT")
    bone = rig.pose.bones["Ctrl"]
    bone.rotation_mode, bone.rotation_euler.z = "XYZ", 0.5
    copies = rig.pose.bones["Left Front Swing"].constraints.new("COPY_ROTATION")
    copies.target, copies.subtarget = rig, "Ctrl"
    copies.target_space = copies.owner_space = "LOCAL"
    rig.pose.bones["Left Front Lift"].rotation_euler.z = 0.25
    bone_driver(rig.pose.bones["Neck"], "rotation_euler", rig, "Left Front Lift", by)  # reads a bone that will leave
    bpy.context.view_layer.update()
    before = {obj: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}
    coxa = next(obj for obj in before if obj.name == "Left Front Coxa")
    other, _names, _report = split_model(rig, limb_objects(rig, limb_of(rig, [coxa])), to_world=True)
    bpy.context.view_layer.update()
    assert "Left Front Lift" in other.data.bones and "Left Front Lift" not in rig.data.bones
    assert "Ctrl" in rig.data.bones and "Ctrl" not in other.data.bones
    for obj, place in before.items():
        np.testing.assert_allclose(np.array(obj.matrix_world), place, atol=1e-4, err_msg=obj.name)
    (driver,) = rig.animation_data.drivers
    assert driver.driver.is_valid and driver.driver.variables[0].targets[0].id == other
    rig.pose.bones["Ctrl"].rotation_euler.z = 0.1
    bpy.context.view_layer.update()
    assert np.abs(np.array(coxa.matrix_world) - before[coxa]).max() > 0.01, "it still follows"


# ---------------------------------------------------------------- motions


def key_servos(rig: Any, name: str, factor: float) -> Any:
    """An Action with two keyframes of every servo with one value; the rig plays it."""
    action = bpy.data.actions.new(name)
    use_action(rig, action)
    curves = action_curves(rig, action)
    channels = [c for own in servo_channels(rig).values() for c in own if c.is_single]
    for number, channel in enumerate(channels):
        points = new_curve(curves, channel.path, channel.index, channel.bone).keyframe_points
        for frame in (1, 20):
            points.insert(frame, factor * np.sin(number + frame))
    return action


FRAMES = (1, 7, 20, 30, 44, 60)


Poses = dict[int, np.ndarray]


def seen(*rigs: Any) -> Poses:
    """World poses of the bodies of mechanisms, by their objects, which keep their identity whatever their names are."""
    bpy.context.view_layer.update()
    return {obj.session_uid: np.array(obj.matrix_world) for rig in rigs for obj in parts(rig, "BODY")}


def played(*rigs: Any) -> dict[int, Poses]:
    """Poses at some frames; the scene is at the second afterwards."""
    out = {}
    for frame in (*FRAMES, FRAMES[1]):
        bpy.context.scene.frame_set(frame)
        out[frame] = seen(*rigs)
    return out


def largest_shift(before: dict[int, Poses], after: dict[int, Poses]) -> float:
    places = ((before[f][name], after[f][name]) for f in before for name in before[f])
    return max(float(np.abs(was - now).max()) for was, now in places)


def contents(*rigs: Any) -> dict[str, dict[tuple[str, int], list[tuple[float, float]]]]:
    """Keys of all curves that mechanisms have in their motions and poses, by the names that these had in the whole."""
    out: dict[str, dict[tuple[str, int], list[tuple[float, float]]]] = {}
    for rig in rigs:
        for action in mechanism_actions(rig):
            for curve in action_curves(rig, action):
                place = curve.data_path, curve.array_index
                assert place not in out.setdefault(action.name.removesuffix(" Limb"), {})
                out[action.name.removesuffix(" Limb")][place] = [tuple(point.co) for point in curve.keyframe_points]
    return out


@pytest.mark.parametrize("into", ["whole", "part"])
@pytest.mark.parametrize("plays", ["action", "strip", "both"])
def test_both_mechanisms_keep_every_motion_and_pose_and_merging_joins_them(blank: Any, plays: str, into: str) -> None:
    rig = made("rover.jm")
    resting, second, first = (key_servos(rig, name, by) for name, by in (("rest", -0.1), ("two", 0.2), ("one", 0.3)))
    resting.use_fake_user = True
    for curve in action_curves(rig, first):
        curve.modifiers.new("NOISE").strength = 0.05
    store_pose(rig, "pose")
    track = rig.animation_data.nla_tracks.new() if plays != "action" else None
    if track is not None:
        strip = track.strips.new("two", 25, second)
        assign_strip_slot(rig, strip, second)
        strip.scale = 1.5
    second.use_fake_user = True
    first.use_fake_user = True
    if plays == "strip":
        use_action(rig, None)
    before, kept = played(rig), contents(rig)
    assert {*kept} == {"rest", "one", "two", "pose"}
    knuckle = body(rig, "Left Knuckle")
    limb = limb_of(rig, [knuckle])
    part, _names, report = split_model(rig, limb_objects(rig, limb)[: len(limb.bodies)], "Limb", to_world=True)
    assert "motion-changed" not in {entry.code for entry in report.entries}
    assert contents(rig, part) == kept
    assert {action.name for action in stored_poses(part)} == {"pose Limb"}
    assert {action.name for action in motion_actions(part)} == {"rest Limb", "one Limb", "two Limb"}
    assert largest_shift(before, played(rig, part)) < 1e-5
    remaining, other = (rig, part) if into == "whole" else (part, rig)
    _count, report = merge_models(remaining, [other])
    assert contents(remaining) == kept
    assert len(mechanism_actions(remaining)) == len(kept), "those that a split made of one are one again"
    assert largest_shift(before, played(remaining)) < 1e-5
    strips = [strip for each in remaining.animation_data.nla_tracks for strip in each.strips]
    assert [(strip.frame_start, strip.scale) for strip in strips] == [(25.0, 1.5)] * (track is not None)


@pytest.mark.parametrize("plays", ["action", "strip"])
def test_merged_mechanisms_move_as_before(blank: Any, plays: str) -> None:
    """Two mechanisms of one file, whose bones have the same names; one has a driver."""
    rig, other = made("sensor_leg.xml"), made("sensor_leg.xml")
    other.location = (1.0, 0.5, 0.2)
    actions = {each: key_servos(each, f"of {each.name}", by) for each, by in ((rig, 0.3), (other, -0.2))}
    root = next(iter(root_bones(other).values()))
    for frame, value in ((1, 0.0), (20, 0.4)):
        other.pose.bones[root].location = (value, 0.5 * value, 0.1)
        other.pose.bones[root].keyframe_insert("location", frame=frame)
    shank = other.pose.bones["shank"].driver_add("rotation_euler", 2)
    shank.driver.expression = "frame / 100"
    if plays == "strip":
        for each, action in actions.items():
            strip = each.animation_data.nla_tracks.new().strips.new(action.name, 5, action)
            assign_strip_slot(each, strip, action)
            use_action(each, None)
    before = played(rig, other)
    _count, report = merge_models(rig, [other])
    assert largest_shift(before, played(rig)) < 1e-5
    assert not {"object-motion-lost", "strips-lost"} & {entry.code for entry in report.entries}


def test_keyframes_of_the_whole_armature_object_are_reported_when_it_is_merged(blank: Any) -> None:
    rig, other = made("sensor_leg.xml"), made("rover.jm")
    for each in (rig, other):
        key_servos(each, f"of {each.name}", 0.1)
    other.keyframe_insert("location", frame=1)
    _count, report = merge_models(rig, [other])
    (lost,) = [entry for entry in report.entries if entry.code == "object-motion-lost"]
    assert "'of rover'" in str(lost.message) or "'of Rover'" in str(lost.message)


def split_off(rig: Any, name: str, across: str) -> tuple[list[Any], Any]:
    part, _names, report = split_model(rig, [body(rig, name)], to_world=across == "WORLD")
    return [rig, part], report


@pytest.mark.parametrize("moves", ["root", "carrier", "strip"])
@pytest.mark.parametrize("across", ["WORLD", "DROP"])
def test_what_is_split_off_a_moving_body_is_reported_with_its_distance(blank: Any, across: str, moves: str) -> None:
    """The joint that is cut has no keyframes: the bodies that carried it have."""
    rig = made("rover.jm" if moves == "root" else "sensor_leg.xml")
    name = "Camera" if moves == "root" else "foot_sensor"
    if moves == "root":
        (bone,) = root_bones(rig).values()
        for frame, value in ((1, -0.1), (20, 0.6)):
            rig.pose.bones[bone].location = (value, 0.5 * value, -value)
            rig.pose.bones[bone].keyframe_insert("location", frame=frame)
    else:
        action = key_servos(rig, "moves", 0.3)
        if moves == "strip":
            assign_strip_slot(rig, rig.animation_data.nla_tracks.new().strips.new("moves", 1, action), action)
            use_action(rig, None)
    before = played(rig)
    rigs, report = split_off(rig, name, across)
    after = played(*rigs)
    assert largest_shift({FRAMES[1]: before[FRAMES[1]]}, after) < 1e-4, "all stay where they are seen"
    off = max(
        float(np.linalg.norm(before[frame][own][:3, 3] - after[frame][own][:3, 3]))
        for frame in (1, 20)
        for own in before[1]
    )
    assert off > 0.005
    (lost,) = [entry for entry in report.entries if entry.code == "motion-changed"]
    assert lost.severity == "warning" and f"up to {off:.3g} m" in str(lost.message)


@pytest.mark.parametrize("edit", ["WORLD", "DROP", "delete"])
def test_a_keyed_armature_object_stays_at_the_present_frame(blank: Any, edit: str) -> None:
    rig = made("sensor_leg.xml")
    for frame, value in ((1, -0.1), (20, 0.6)):
        rig.location = (value, value, value)
        rig.keyframe_insert("location", frame=frame)
    before = played(rig)
    rigs = [rig]
    if edit == "delete":
        delete_objects(rig, [joint_of(rig, body(rig, "shank"))])
    else:
        rigs, _report = split_off(rig, "foot", edit)
    frame = FRAMES[1]
    assert largest_shift({frame: before[frame]}, {frame: seen(*rigs)}) < 1e-5
    assert largest_shift(before, played(*rigs)) < 1e-5


def test_constraints_of_the_user_on_bones_are_merged_with_them(blank: Any) -> None:
    """Two mechanisms of one file, whose bones have the same names: what follows a bone follows that of its own."""
    rig, other = made("sensor_leg.xml"), made("sensor_leg.xml")
    other.location = (1.0, 0.5, 0.2)
    bpy.context.view_layer.update()
    first, second = other.pose.bones["shank"], other.pose.bones["foot"]
    copied = second.constraints.new("COPY_ROTATION")
    copied.target, copied.subtarget = other, first.name
    copied.owner_space = copied.target_space = "LOCAL"
    copied.mix_mode = "ADD"
    for pose, angle in ((first, 0.3), (second, 0.1)):
        pose.rotation_euler.z = angle
    limit = first.constraints.new("LIMIT_ROTATION")
    limit.use_limit_z, limit.max_z, limit.owner_space = True, 0.2, "LOCAL"
    bpy.context.view_layer.update()
    before = seen(rig, other)
    merge_models(rig, [other])
    bpy.context.view_layer.update()
    after = seen(rig)
    assert max(float(np.abs(after[name] - pose).max()) for name, pose in before.items()) < 1e-5
    kinds = [each.type for pose in rig.pose.bones for each in pose.constraints if not is_stop_constraint(each)]
    assert sorted(kinds) == ["COPY_ROTATION", "LIMIT_ROTATION"]


# ---------------------------------------------------------------- Actions that are no half of a split


def keys_of(action: Any) -> dict[tuple[str, int], list[tuple[float, float]]]:
    return {(c.data_path, c.array_index): [tuple(point.co) for point in c.keyframe_points] for c in all_curves(action)}


@pytest.mark.parametrize("into", ["whole", "part"])
def test_a_copy_of_a_split_action_stays_a_motion_of_its_own(blank: Any, into: str) -> None:
    rig = made("sensor_leg.xml")
    walk = key_servos(rig, "Walk", 0.2)
    walk.use_fake_user = True
    use_action(rig, None)
    kept = keys_of(walk)
    (_rig, part), _report = split_off(rig, "foot", "WORLD")
    half = bpy.data.actions["Walk " + record_of(part).source_name]
    jump = half.copy()
    jump.name, jump.use_fake_user = "Jump", True
    for curve in all_curves(jump):
        for point in curve.keyframe_points:
            point.co[1] = 1.0
    wanted = sorted(keys_of(jump).values())
    remaining, other = (rig, part) if into == "whole" else (part, rig)
    merge_models(remaining, [other])
    assert wanted and sorted(keys_of(bpy.data.actions["Jump"]).values()) == wanted
    whole = bpy.data.actions["Walk"] if into == "whole" else half
    assert sorted(keys_of(whole).values()) == sorted(kept.values())


def test_a_linked_action_is_not_changed_by_a_merge(blank: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {key_servos(made("sensor_leg.xml"), "Linked", 0.1)}, fake_user=True)
    for playing in (0, 1):
        rigs = made("sensor_leg.xml"), made("sensor_leg.xml")
        with bpy.data.libraries.load(path, link=True) as (_there, here):
            here.actions = ["Linked"]
        linked = here.actions[0]
        use_action(rigs[playing], linked)
        key_servos(rigs[1 - playing], f"Local {playing}", 0.3)
        keys, local = keys_of(linked), sorted(keys_of(bpy.data.actions[f"Local {playing}"]).values())
        _count, report = merge_models(rigs[0], [rigs[1]])
        assert linked.library is not None and keys_of(linked) == keys
        if playing == 0:
            assert rigs[0].animation_data.action == linked
            assert sorted(keys_of(bpy.data.actions["Local 0"]).values()) == local
            assert "linked-action" in {entry.code for entry in report.entries}
        else:
            assert "action-copied" in {entry.code for entry in report.entries}
            assert len(keys_of(rigs[0].animation_data.action)) == len(local) + len(keys)


@pytest.mark.parametrize("plays", ["action", "strip"])
def test_a_third_mechanism_that_shares_an_action_moves_as_before(blank: Any, plays: str) -> None:
    rig, other, third = (made("sensor_leg.xml") for _number in range(3))
    shared = key_servos(other, "Shared", 0.3)
    for each in (other, third):
        use_action(each, shared)
        if plays == "strip":
            assign_strip_slot(each, each.animation_data.nla_tracks.new().strips.new("shared", 1, shared), shared)
            use_action(each, None)
    before, keys = played(rig, other, third), keys_of(shared)
    _count, report = merge_models(rig, [other])
    assert keys_of(shared) == keys
    assert largest_shift(before, played(rig, third)) < 1e-5
    assert "action-copied" in {entry.code for entry in report.entries}


@pytest.mark.skipif(bpy.app.version < (4, 4), reason="Actions have slots since 4.4")
def test_a_merged_strip_plays_the_slot_that_it_played(blank: Any) -> None:
    rig, other = made("sensor_leg.xml"), made("sensor_leg.xml")
    action = bpy.data.actions.new("Two")
    for each, value in ((rig, 0.1), (other, 0.3)):
        data = each.animation_data_create()
        data.action = action
        data.action_slot = action.slots.new(id_type="OBJECT", name=each.name)
        curves = action_curves(each, action)
        for channel in (c for own in servo_channels(each).values() for c in own if c.is_single):
            new_curve(curves, channel.path, channel.index, channel.bone).keyframe_points.insert(1, value)
        data.action = None
    strip = other.animation_data.nla_tracks.new().strips.new("second", 1, action)
    strip.action_slot = action.slots[1]
    before = played(rig, other)
    first = sorted({c.data_path for c in action.layers[0].strips[0].channelbag(action.slots[0]).fcurves})
    merge_models(rig, [other])
    (strip,) = [each for track in rig.animation_data.nla_tracks for each in track.strips]
    assert strip.action_slot.identifier == action.slots[1].identifier
    assert sorted({c.data_path for c in action.layers[0].strips[0].channelbag(action.slots[0]).fcurves}) == first
    assert largest_shift(before, played(rig)) < 1e-5


@pytest.mark.parametrize("edit", ["split", "merge"])
def test_a_driver_in_a_node_tree_follows_the_bone_that_it_reads(blank: Any, edit: str) -> None:
    rig = made("sensor_leg.xml")
    other = made("sensor_leg.xml") if edit == "merge" else None
    source = rig if other is None else other
    channel = servo_channels(source)[record_of(joint_of(source, body(source, "foot"))).source_id][0]
    material = bpy.data.materials.new("Gauge")
    if material.node_tree is None:
        material.use_nodes = True
    node = material.node_tree.nodes.new("ShaderNodeValue")
    curve = material.node_tree.driver_add(f'nodes["{node.name}"].outputs[0].default_value')
    variable = curve.driver.variables.new()
    variable.name, curve.driver.expression = "x", "x"
    variable.targets[0].id, variable.targets[0].data_path = source, f"{channel.path}[{channel.index}]"
    if other is None:
        (_rig, now_in), _report = split_off(rig, "foot", "WORLD")
    else:
        merge_models(rig, [other])
        now_in = rig
    target = material.node_tree.animation_data.drivers[0].driver.variables[0].targets[0]
    assert target.id == now_in
    bone = bone_of_path(target.data_path)
    assert bone in now_in.data.bones
    assert any(c.bone == bone for own in servo_channels(now_in).values() for c in own)


def test_a_split_keeps_the_users_empty_action_and_tracks(blank: Any) -> None:
    rig = made("sensor_leg.xml")
    empty = bpy.data.actions.new("New")
    use_action(rig, empty)
    rig.animation_data.nla_tracks.new().name = "Mine"
    split_off(rig, "foot", "WORLD")
    assert rig.animation_data.action == bpy.data.actions["New"]
    assert [track.name for track in rig.animation_data.nla_tracks] == ["Mine"]
