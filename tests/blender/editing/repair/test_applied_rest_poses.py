"""*Apply Pose as Rest Pose* and its inverse: the check recognizes it, and its fix restores motion, pose and file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.data.access import bone_record
from addon.blender.data.queries import parts
from tests.support.restored import FRAMES, MODELS, axes, brought, findings, joint_bones, pose_joints, saved, stood
from tests.support.scenes import found, pick

Scenario = Callable[[Any], bool]


def apply_pose(rig: Any, bones: Any = None) -> None:
    """Pose > Apply, of all bones or of some."""
    pick(rig)
    bpy.ops.object.mode_set(mode="POSE")
    for bone in rig.pose.bones:
        selectable = bone if hasattr(bone, "select") else bone.bone  # until 4.5
        selectable.select = bones is None or bone.name in bones
    assert bpy.ops.pose.armature_apply(selected=bones is not None) == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()


def root_bone(rig: Any) -> Any:
    return next((bone for bone in rig.pose.bones if bone_record(bone.bone).root), None)


def pose_root(rig: Any, keyed: bool) -> bool:
    """Pose the root, about axes that are not its own, with or without keyframes; false if there is none."""
    root = root_bone(rig)
    for frame, size in zip(FRAMES, (0.1, 0.5, 1.0), strict=True) if root is not None else ():
        root.location = size * np.array([1.0, 0.3, -0.5])
        root.rotation_quaternion = np.array([1.0, size, 0.4 * size, 0.3]) / np.linalg.norm([1.0, size, 0.4 * size, 0.3])
        if keyed:
            root.keyframe_insert("location", frame=frame)
            root.keyframe_insert("rotation_quaternion", frame=frame)
    bpy.context.scene.frame_set(10)
    return root is not None


def _keyed_root(rig: Any) -> bool:
    return pose_root(rig, keyed=True)


def _keyed_root_and_joints(rig: Any) -> bool:
    pose_joints(rig, keyed=lambda number: number % 2 == 0)
    return pose_root(rig, keyed=True)


def _unkeyed(rig: Any) -> bool:
    pose_joints(rig)
    pose_root(rig, keyed=False)
    return True


def _unkeyed_root(rig: Any) -> bool:
    return pose_root(rig, keyed=False)


def _keyed_joints(rig: Any) -> bool:
    pose_joints(rig, keyed=lambda number: number % 2 == 0)
    return True


SCENARIOS = [_keyed_root, _keyed_root_and_joints, _unkeyed, _unkeyed_root, _keyed_joints]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("some", [False, True], ids=["all", "selected"])
def test_motion_pose_and_file_are_restored(
    blank: Any, tmp_path: Path, name: str, scenario: Scenario, some: bool
) -> None:
    rig = brought(name)
    if not scenario(rig):
        pytest.skip("it has no root")
    before, file = stood(rig), saved(rig, tmp_path / f"a{found(name).suffix}")
    assert not {"rest-applied", "place-applied", "joint-moved", "bones-edited"} & findings(rig).keys()
    chosen = [bone.name for bone in rig.pose.bones][::2]
    apply_pose(rig, chosen if some else None)
    codes = findings(rig)
    named = {"rest-applied", "place-applied"} & codes.keys()
    is_whole = scenario is _unkeyed_root and sum(bone.parent is None for bone in rig.data.bones) == 1
    assert named == {"place-applied" if is_whole else "rest-applied"}
    assert not {"joint-moved", "bones-edited"} & codes.keys()
    assert bpy.ops.knuckle.fix_finding(index=codes[named.pop()], other=is_whole) == {"FINISHED"}
    after = stood(rig)
    assert after.keys() == before.keys()
    for key, place in before.items():
        np.testing.assert_allclose(after[key], place, atol=1e-5, err_msg=str(key))
    assert saved(rig, tmp_path / f"b{found(name).suffix}") == file
    assert not {"rest-applied", "place-applied", "joint-moved", "bones-edited"} & findings(rig).keys()


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1.5])
@pytest.mark.parametrize("other", [False, True])
def test_the_transform_of_the_armature_is_no_pose(blank: Any, keyed: bool, scale: float, other: bool) -> None:
    """Applied with Ctrl+A it is reported as what it may be, and neither of the two fixes moves anything."""
    rig = brought("hexapod.jm")
    if scale == 1.0:  # Blender does not scale keyframes
        pose_root(rig, keyed=keyed)
    rig.rotation_euler, rig.scale = (0.1, 0.2, 0.3), (scale,) * 3
    before = stood(rig)
    pick(rig)
    assert bpy.ops.object.transform_apply(location=True, rotation=True, scale=True) == {"FINISHED"}
    if scale == 1.0:  # Blender's own scales no poses and no objects on bones
        np.testing.assert_allclose(*([each[key] for key in before] for each in (stood(rig), before)), atol=1e-5)
    codes = findings(rig)
    assert not {"rest-applied", "bones-edited"} & codes.keys()
    assert ("place-applied" in codes) == (not keyed and scale == 1.0)
    if "place-applied" in codes:
        assert bpy.ops.knuckle.fix_finding(index=codes["place-applied"], other=other) == {"FINISHED"}
        np.testing.assert_allclose(*([each[key] for key in before] for each in (stood(rig), before)), atol=1e-5)
        assert "place-applied" not in findings(rig)


@pytest.mark.parametrize("other_action", [False, True])
@pytest.mark.parametrize("pose", [False, True], ids=["armature", "pose"])
def test_a_root_keyed_in_an_nla_strip_is_keyed(blank: Any, other_action: bool, pose: bool) -> None:
    """*Apply* of the armature is no applied pose, with no active Action and with one without the root."""
    rig = brought("hexapod.jm")
    pose_root(rig, keyed=True)
    data = rig.animation_data
    track, action = data.nla_tracks.new(), data.action
    track.strips.new("root", int(action.frame_range[0]), action)
    data.action = None
    if other_action:
        bone = joint_bones(rig)[0]
        for frame, value in zip(FRAMES, (0.0, 0.2, 0.4), strict=True):
            bone.rotation_euler.z = value
            bone.keyframe_insert("rotation_euler", index=2, frame=frame)
        assert data.action not in (None, action)
    bpy.context.scene.frame_set(10)
    bpy.context.view_layer.update()
    if pose:
        apply_pose(rig)
    else:
        rig.rotation_euler = (0.1, 0.2, 0.3)
        pick(rig)
        assert bpy.ops.object.transform_apply(location=True, rotation=True, scale=True) == {"FINISHED"}
    assert ("rest-applied" in findings(rig)) == pose


def test_angles_are_found_within_their_stops_and_lost_turns_are_reported(blank: Any, capfd: Any) -> None:
    rig = brought("hexapod.jm")
    bones = [bone for bone in joint_bones(rig) if axes(bone) == [("rotation_euler", 2)]][:3]
    for bone, (lower, upper) in zip(bones, ((0.0, 6.2), (-0.5, 0.5), (-9.0, 9.0)), strict=True):
        empty = next(obj for obj in parts(rig, "JOINT") if obj.knuckle.source_id == bone_record(bone.bone).joint)
        (dof,) = empty.knuckle.joint.dofs
        dof.use_lower, dof.use_upper, dof.lower, dof.upper = True, True, lower, upper
    names = [bone.name for bone in bones]
    for name, angle in zip(names, (4.0, 0.4, 7.0), strict=True):
        rig.pose.bones[name].rotation_euler.z = angle
    bpy.context.view_layer.update()
    before = stood(rig)
    apply_pose(rig)
    capfd.readouterr()
    assert bpy.ops.knuckle.fix_finding(index=findings(rig)["rest-applied"]) == {"FINISHED"}
    said = capfd.readouterr().out
    np.testing.assert_allclose(*([each[key] for key in before] for each in (stood(rig), before)), atol=1e-5)
    angles = [rig.pose.bones[name].rotation_euler.z for name in names]
    assert angles == pytest.approx([4.0, 0.4, 7.0 - 2.0 * np.pi], abs=1e-5)
    lost = said[said.index("may be whole rotations away") :]
    assert repr(names[2]) in lost and repr(names[0]) not in lost and repr(names[1]) not in lost


def test_a_pose_changed_after_the_operator_stays_as_it_is_seen(blank: Any) -> None:
    rig = brought("hexapod.jm")
    pose_joints(rig)
    apply_pose(rig)
    for bone in joint_bones(rig):
        bone.rotation_euler.z = 0.05
    bpy.context.view_layer.update()
    seen = stood(rig)
    assert bpy.ops.knuckle.fix_finding(index=findings(rig)["rest-applied"]) == {"FINISHED"}
    np.testing.assert_allclose(*([each[key] for key in seen] for each in (stood(rig), seen)), atol=1e-5)


def test_bodies_moved_by_hand_before_the_operator_stay_moved(blank: Any, tmp_path: Path) -> None:
    rig = brought("hexapod.jm")
    body = parts(rig, "BODY")[3]
    body.location.x += 0.25
    pose_joints(rig)
    before, file = stood(rig), saved(rig, tmp_path / "a.jm")
    apply_pose(rig)
    assert bpy.ops.knuckle.fix_finding(index=findings(rig)["rest-applied"]) == {"FINISHED"}
    np.testing.assert_allclose(*([each[key] for key in before] for each in (stood(rig), before)), atol=1e-5)
    assert saved(rig, tmp_path / "b.jm") == file


@pytest.mark.parametrize("name", ["hexapod.jm", "pumpjack.json"])
def test_updating_the_armature_restores_an_applied_pose(blank: Any, tmp_path: Path, name: str) -> None:
    rig = brought(name)
    pose_joints(rig, keyed=lambda number: number % 2 == 0)
    before, file = stood(rig), saved(rig, tmp_path / f"a{found(name).suffix}")
    apply_pose(rig)
    pick(rig)
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    np.testing.assert_allclose(*([each[key] for key in before] for each in (stood(rig), before)), atol=1e-5)
    assert saved(rig, tmp_path / f"b{found(name).suffix}") == file


def test_updating_the_armature_restores_bones_moved_in_edit_mode(blank: Any, tmp_path: Path, capfd: Any) -> None:
    rig = brought("hexapod.jm", props=False)
    before, file = stood(rig), saved(rig, tmp_path / "a.jm")
    name = joint_bones(rig)[2].name
    pick(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    bone = rig.data.edit_bones[name]
    bone.head.x, bone.tail.x = bone.head.x + 0.05, bone.tail.x + 0.05
    bpy.ops.object.mode_set(mode="OBJECT")
    capfd.readouterr()
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    assert "restored" in capfd.readouterr().out
    np.testing.assert_allclose(*([each[key] for key in before] for each in (stood(rig), before)), atol=1e-5)
    assert saved(rig, tmp_path / "b.jm") == file
