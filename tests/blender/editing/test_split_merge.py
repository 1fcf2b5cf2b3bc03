"""Limbs duplicated, models split and merged: what comes out is a sound mechanism that stands where it stood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import parts
from addon.blender.editing.joints import limb_objects, limb_of
from addon.blender.editing.split_merge import split_model
from addon.blender.rig.pose_channels import read_joint_values
from addon.blender.scene.read.mechanism import extract
from addon.core.kinematics import spanning_tree
from tests.support.scenes import made, now, pick


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
    lost = [each for each in report.entries if each.code == "motion-changed"]
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
