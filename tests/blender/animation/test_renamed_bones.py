"""Bones, joints and bodies that are renamed: nothing that names them is lost, twins follow, and nobody's name is
taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.animation import renamed_bones
from addon.blender.animation.actions import motion_actions, stored_poses
from addon.blender.animation.apply_motion import servo_name_mapping
from addon.blender.animation.pose_library import key_servos_at_frame, recall_pose, store_pose
from addon.blender.compat import all_curves
from addon.blender.data import channels
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import parts, servo_bones, twin_of
from addon.blender.rig.pose_channels import read_pose, write_pose
from tests.support.scenes import body, imported, joint_of, made, now, pick, the_rig

BONE, TWIN = "Left Front Knee", "Right Front Knee"


@pytest.fixture
def rig(blank: Any) -> Iterator[Any]:
    """A hexapod with a motion that plays, one that does not, a stored pose, a driver and a name in the list of servo
    names, all of which name a bone."""
    rig = imported("hexapod.jm")
    rig.animation_data.action = None
    scene = bpy.context.scene
    write_pose(rig, knee_channels(rig), np.array([0.3]))
    settle()
    store_pose(rig, "Bent")
    key_servos_at_frame(rig, scene)
    rig.animation_data.action.name = "Plays"
    rig.animation_data.action.copy().name = "Rests"
    bpy.data.actions["Rests"].use_fake_user = True
    driver = rig.pose.bones["Left Rear Knee"].driver_add("location", 0).driver
    driver.variables.new().targets[0].id = rig
    driver.variables[0].targets[0].data_path = f'pose.bones["{BONE}"].rotation_euler[2]'
    row = settings(rig).servo_names.add()
    row.name, row.servo = "knee_1", BONE
    settle()
    bpy.ops.ed.undo_push(message="start")
    yield rig


def settle() -> None:
    bpy.context.view_layer.update()


def knee_of(rig: Any) -> Any:
    return joint_of(rig, body(rig, "Left Front Tibia"))


def knee_channels(rig: Any) -> Any:
    return servo_channels(rig)[record_of(knee_of(rig)).source_id]


def named() -> dict[str, set[str]]:
    """Which bones each Action names, and the drivers."""
    out = {action.name: {channels.bone_of_path(c.data_path) for c in all_curves(action)} for action in bpy.data.actions}
    drivers = [curve.driver.variables for curve in the_rig().animation_data.drivers]
    out["drivers"] = {channels.bone_of_path(each[0].targets[0].data_path) for each in drivers if len(each)}
    return out


def all_is_named(bone: str, old: str) -> bool:
    every = named()
    kept = {key: bone in every[key] and old not in every[key] for key in ("Plays", "Rests", "Bent", "drivers")}
    return all(kept.values()) and servo_name_mapping(the_rig()) == {"knee_1": bone}


def by_bone(rig: Any, name: str) -> None:
    rig.data.bones[BONE].name = name


def by_pose(rig: Any, name: str) -> None:
    rig.pose.bones[BONE].name = name


def in_edit_mode(rig: Any, name: str) -> None:
    pick(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones[BONE].name = name
    settle()
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize("way", [by_bone, by_pose, in_edit_mode])
@pytest.mark.parametrize("name", ["Knee of mine", 'a "quoted" \\ one'])
def test_a_renamed_bone_keeps_all_that_names_it(rig: Any, way: Any, name: str) -> None:
    way(rig, name)
    settle()
    assert all_is_named(name, BONE)
    assert {action.name for action in motion_actions(rig)} >= {"Plays", "Rests"} and len(stored_poses(rig)) == 1
    rig.animation_data.action = None
    write_pose(rig, knee_channels(rig), np.array([0.0]))
    recall_pose(rig, bpy.data.actions["Bent"], bpy.context.scene)
    assert read_pose(rig, knee_channels(rig)) == pytest.approx([0.3], abs=1e-6)


@pytest.mark.parametrize("kept_first", [False, True])
def test_undo_and_redo_take_along_what_names_the_bone(rig: Any, kept_first: bool) -> None:
    """``kept_first``: with a window Blender keeps the step and tells of the change afterwards."""
    told = bpy.app.handlers.depsgraph_update_post
    place = told.index(renamed_bones.after_update)
    if kept_first:
        told.remove(renamed_bones.after_update)
    rig.data.bones[BONE].name = "Mine"
    settle()
    bpy.ops.ed.undo_push(message="renamed")
    if kept_first:
        told.insert(place, renamed_bones.after_update)
        rig.update_tag()
        settle()
    assert all_is_named("Mine", BONE)
    for _ in range(2):
        bpy.ops.ed.undo()
        settle()
        assert BONE in the_rig().data.bones and all_is_named(BONE, "Mine")
        bpy.ops.ed.redo()
        settle()
        assert "Mine" in the_rig().data.bones and all_is_named("Mine", BONE)


def test_two_bones_that_exchange_their_names(rig: Any) -> None:
    """In one step, as a script does: each motion goes with its bone and not with the name."""
    curve = next(c for c in all_curves(bpy.data.actions["Rests"]) if channels.bone_of_path(c.data_path) == BONE)
    other = next(c for c in all_curves(bpy.data.actions["Rests"]) if channels.bone_of_path(c.data_path) == TWIN)
    bones = rig.data.bones
    bones[BONE].name = "between"
    bones[TWIN].name = BONE
    bones["between"].name = TWIN
    settle()
    assert (channels.bone_of_path(curve.data_path), channels.bone_of_path(other.data_path)) == (TWIN, BONE)


def test_motions_of_others_are_left_alone(rig: Any) -> None:
    """A second model of the same file, and the user's own armature with a bone of the same name."""
    second = made("hexapod.jm")
    store_pose(second, "Theirs")
    data = bpy.data.armatures.new("Own")
    own = bpy.data.objects.new("Own", data)
    bpy.context.scene.collection.objects.link(own)
    pick(own)
    bpy.ops.object.mode_set(mode="EDIT")
    data.edit_bones.new(BONE).tail = (0, 0, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    own.pose.bones[BONE].keyframe_insert("location", frame=1)
    own.animation_data.action.name = "Own"
    settle()
    rig.data.bones[BONE].name = "Mine"
    settle()
    assert named()["Theirs"] >= {BONE} and named()["Own"] == {BONE} and all_is_named("Mine", BONE)


def test_a_bone_that_was_duplicated_is_no_renamed_one(rig: Any) -> None:
    pick(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    copy = rig.data.edit_bones.new("copy")
    copy.tail = (0, 0, 1)
    for bone in rig.data.edit_bones:
        bone.select = bone.select_head = bone.select_tail = bone.name == BONE
    bpy.ops.armature.duplicate()
    bpy.ops.object.mode_set(mode="OBJECT")
    settle()
    assert f"{BONE}.001" in rig.data.bones and all_is_named(BONE, f"{BONE}.001")


def test_a_servo_in_the_list_follows_its_joints_name(rig: Any) -> None:
    knee_of(rig).name = "Another Name"
    settle()
    assert servo_name_mapping(rig) == {"knee_1": "Another Name"}


def test_a_loop_is_followed_by_its_bones_new_names(blank: Any) -> None:
    rig = made("pumpjack.json")
    joints = {record_of(obj).source_id: obj for obj in parts(rig, "JOINT")}
    moving = {key: own for key, own in servo_channels(rig).items() if own}
    driver = next(key for key in moving if not record_of(joints[key]).joint.is_dependent)
    follower = next(key for key in moving if record_of(joints[key]).joint.is_dependent)

    def turned(value: float) -> np.ndarray:
        write_pose(rig, servo_channels(rig)[driver], np.array([value]))
        rig.update_tag()
        settle()
        settle()
        return read_pose(rig, servo_channels(rig)[follower])

    wanted = [turned(value) for value in (0.3, 0.5)]
    assert np.abs(wanted[1] - wanted[0]).max() > 1e-3
    turned(0.0)
    for bone in list(rig.data.bones):
        bone.name = f"my {bone.name}"
    settle()
    assert np.array([turned(value) for value in (0.3, 0.5)]) == pytest.approx(np.array(wanted), abs=1e-5)


def test_poses_and_motions_of_a_model_that_is_merged_in(rig: Any) -> None:
    """They pose its parts in the model that took it in, whatever its bones are called there."""
    second = made("hexapod.jm")
    second.location = (0.0, 4.0, 0.0)
    settle()
    knee = knee_of(second)
    write_pose(second, knee_channels(second), np.array([0.2]))
    settle()
    store_pose(second, "Theirs")
    key_servos_at_frame(second, bpy.context.scene)
    second.animation_data.action.name = "Their Motion"
    pick(second, rig)
    assert bpy.ops.knuckle.merge_models() == {"FINISHED"}
    settle()
    bone = servo_bones(rig)[record_of(knee).source_id]
    assert bone != BONE and bone in named()["Theirs"] and bone in named()["Their Motion"]
    assert {"Theirs", "Bent"} <= {each.name for each in stored_poses(rig)}
    assert BONE not in named()["Theirs"] | named()["Their Motion"] and all_is_named(BONE, "")
    assert bone in named()["Plays"], "both play on"
    rig.animation_data.action = None
    own = servo_channels(rig)
    for joint in (knee, knee_of(rig)):
        write_pose(rig, own[record_of(joint).source_id], np.array([0.0]))
    recall_pose(rig, bpy.data.actions["Theirs"], bpy.context.scene)
    values = [read_pose(rig, own[record_of(joint).source_id])[0] for joint in (knee, knee_of(rig))]
    assert values == pytest.approx([0.2, 0.0], abs=1e-6)


# ---------------------------------------------------------------- twins


def symmetrical(rig: Any) -> Any:
    settings(rig).symmetric = True
    settle()
    return rig


@pytest.mark.parametrize("way", [by_bone, by_pose, in_edit_mode])
def test_the_twins_bone_is_renamed_for_its_side(rig: Any, way: Any) -> None:
    symmetrical(rig)
    bpy.ops.ed.undo_push(message="on")
    bones, twin = len(rig.data.bones), servo_bones(rig)[record_of(twin_of(knee_of(rig))).source_id]
    assert twin == TWIN
    way(rig, "Shin Left")
    settle()
    assert {"Shin Left", "Shin Right"} <= {*rig.data.bones.keys()} and len(rig.data.bones) == bones
    assert all("Shin Right" in named()[key] and TWIN not in named()[key] for key in ("Plays", "Rests", "Bent"))
    assert all_is_named("Shin Left", BONE)
    names = {joint.name for joint in now(rig).joints}
    assert {"Shin Left", "Shin Right"} <= names and not {BONE, TWIN} & names
    bpy.ops.ed.undo_push(message="renamed")
    bpy.ops.ed.undo()
    settle()
    assert {BONE, TWIN} <= {*the_rig().data.bones.keys()} and all_is_named(BONE, "Shin Left")
    bpy.ops.ed.redo()
    settle()
    assert {"Shin Left", "Shin Right"} <= {*the_rig().data.bones.keys()} and all_is_named("Shin Left", BONE)


def test_lr_in_a_bones_name_is_both_sides(rig: Any) -> None:
    symmetrical(rig)
    rig.data.bones[BONE].name = "LR Shin"
    settle()
    assert {"Left Shin", "Right Shin"} <= {*rig.data.bones.keys()} and all_is_named("Left Shin", BONE)


def by_id(rig: Any) -> dict[str, str]:
    return {record_of(obj).source_id: obj.name for role in ("BODY", "JOINT") for obj in parts(rig, role)}


@pytest.mark.parametrize("role", ["BODY", "JOINT"])
def test_a_name_that_is_taken_is_numbered_and_nobody_loses_theirs(rig: Any, role: str) -> None:
    symmetrical(rig)
    obj = next(each for each in parts(rig, role) if twin_of(each) and "Left" in each.name)
    twin, before = twin_of(obj), by_id(rig)
    mine = {record_of(each).source_id for each in (obj, twin)}
    # the twin's own
    obj.name = twin.name
    settle()
    assert (obj.name, twin.name) == (f"{before[record_of(twin).source_id]}.001", before[record_of(twin).source_id])
    assert {key: name for key, name in by_id(rig).items() if name != before[key]} == {
        record_of(obj).source_id: obj.name
    }
    # a third's, whose twin has the one of the other side
    third = next(e for e in parts(rig, role) if twin_of(e) and "Left" in e.name and e not in {obj, twin})
    obj.name = third.name
    settle()
    assert (obj.name, twin.name) == (f"{third.name}.001", f"{twin_of(third).name}.001")
    assert all(name == before[key] for key, name in by_id(rig).items() if key not in mine)
    # one that is free here and taken there
    bpy.data.objects.new("Right Something", None)
    obj.name = "Left Something"
    settle()
    assert (obj.name, twin.name) == ("Left Something", "Right Something.001")
    assert "Right Something" in bpy.data.objects
    obj.name = "Left Something.001"  # nor does Blender's way of giving a number away
    obj.name = "Left Other"
    settle()
    assert (obj.name, twin.name) == ("Left Other", "Right Other")
    assert all(name == before[key] for key, name in by_id(rig).items() if key not in mine)


def test_names_that_two_pairs_pass_on_are_passed_on_by_their_twins(rig: Any) -> None:
    """Blender gives a number to who has a name when one of the same name without its number wants it."""
    symmetrical(rig)
    one, two = (body(rig, f"Left {place} Femur") for place in ("Front", "Rear"))
    one.name = "Left Leg"
    settle()
    two.name = "Left Leg"
    settle()
    assert [twin_of(each).name for each in (one, two)] == ["Right Leg", "Right Leg.001"]
    two.name = "Left Leg"
    settle()
    for each in (one, two):
        assert twin_of(each).name == each.name.replace("Left", "Right")


def test_a_bone_with_the_twins_name_leaves_the_twin_its_own(rig: Any) -> None:
    symmetrical(rig)
    rig.data.bones[BONE].name = TWIN
    settle()
    chains = servo_bones(rig)
    assert chains[record_of(knee_of(rig)).source_id] == f"{TWIN}.001"
    assert chains[record_of(twin_of(knee_of(rig))).source_id] == TWIN
    assert all_is_named(f"{TWIN}.001", BONE)


def test_many_bones_renamed_at_once(rig: Any) -> None:
    """As Blender's batch rename does it."""
    before = {key: set(names) for key, names in named().items()}
    for bone in list(rig.data.bones):
        bone.name = bone.name.replace("Left", "Port").replace("Right", "Starboard")
    settle()
    after = named()
    for key, names in before.items():
        assert after[key] == {name.replace("Left", "Port").replace("Right", "Starboard") for name in names}, key


def test_while_something_is_dragged_nobody_asks_for_names(rig: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(renamed_bones, "_check_names", lambda: asked.append(1))
    monkeypatch.setattr(renamed_bones, "_is_dragging", lambda: True)
    for _ in range(3):
        rig.pose.bones[BONE].rotation_euler.z += 0.1
        settle()
    rig.data.bones[BONE].name = "Other"
    settle()
    assert not asked
    monkeypatch.undo()
    rig.pose.bones["Other"].rotation_euler.z += 0.1  # let go
    settle()
    assert all_is_named("Other", BONE)
