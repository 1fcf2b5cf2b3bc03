"""Servo motion in and out through the operators."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.support.mechanisms import curves_of
from tests.support.scenes import OWN
from tests.support.small import BROKEN, MOTION, datablocks, put


def ops() -> Any:
    import bpy

    return bpy.ops


def value_at(rig: Any, frame: float) -> float:
    import bpy

    bpy.context.scene.frame_set(math.floor(frame), subframe=frame % 1.0)
    return rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones["Left Joint"].rotation_euler.z


def test_import_keys_the_servo_at_the_frames_of_its_times(rig: Any, tmp_path: Path) -> None:
    import bpy

    gait = rig.animation_data.action
    bpy.context.scene.frame_end = 50
    assert ops().import_anim.servo_motion(filepath=str(put(tmp_path / "nod.xmdi", MOTION))) == {"FINISHED"}
    assert rig.animation_data.action.name == "nod"
    assert gait.name in bpy.data.actions, "the Action that was there stays"
    # 10 frames of 32 ms at 60 frames per second are 19.2 frames, from the scene's first, which is 1
    assert value_at(rig, 1 + 19.2) == pytest.approx(0.25, abs=1e-5)
    assert value_at(rig, 1 + 19.2 + 38.4) == pytest.approx((0.25 - 0.5) / 2, abs=1e-5)
    assert bpy.context.scene.frame_end == 1 + 50 * 0.032 * 60


def test_import_where_and_without_extending(rig: Any, tmp_path: Path) -> None:
    import bpy

    bpy.context.scene.frame_end = 50
    ops().import_anim.servo_motion(
        filepath=str(put(tmp_path / "nod.xmdi", MOTION)), frame_start=101, update_scene_duration=False
    )
    assert value_at(rig, 101 + 19.2) == pytest.approx(0.25, abs=1e-5)
    assert value_at(rig, 90) == pytest.approx(0.0, abs=1e-6)
    assert bpy.context.scene.frame_end == 50


@pytest.mark.parametrize("is_initial", [True, False])
def test_servos_without_keys_stand_initially_or_as_they_were(rig: Any, tmp_path: Path, is_initial: bool) -> None:
    """Servos that only the Action before had posed; the motion keys just one servo."""
    from addon.blender.data.channels import servo_channels
    from addon.blender.rig.pose_channels import read_pose, write_pose

    every = {joint: own for joint, own in servo_channels(rig).items() if own[0].name != "Left Joint"}
    assert every
    rig.animation_data.action = None
    for own in every.values():
        write_pose(rig, own, np.array([channel.start + 0.3 for channel in own]))
    ops().import_anim.servo_motion(
        filepath=str(put(tmp_path / "nod.xmdi", MOTION)), use_initial_pose=is_initial, action="NEW"
    )
    for own in every.values():
        starts = [channel.start + (0.0 if is_initial else 0.3) for channel in own]
        assert read_pose(rig, own) == pytest.approx(starts, abs=1e-6)
    keyed = {curve.data_path for curve in curves_of(rig)}
    assert len(keyed) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<motion", "nod.xmdi"),
        (BROKEN, "not a servo motion"),
        (MOTION.replace("0 10 50", "0 10"), "nod.xmdi"),
        (MOTION.replace("Left Joint", "Tail"), "Motion 'nod': none of its servos ('Tail') is in 'flapper'"),
    ],
    ids=["cut off", "a model", "uneven lists", "another model's"],
)
def test_a_bad_motion_is_rejected_with_nothing_left_behind(rig: Any, tmp_path: Path, text: str, words: str) -> None:
    before, action = datablocks(), rig.animation_data.action
    with pytest.raises(RuntimeError) as refused:
        ops().import_anim.servo_motion(filepath=str(put(tmp_path / "nod.xmdi", text)))
    assert words in str(refused.value)
    assert "Traceback" not in str(refused.value)
    assert (datablocks(), rig.animation_data.action) == (before, action)


def test_motion_import_and_export_need_a_mechanism(blank: Any, tmp_path: Path) -> None:
    for operator in (ops().import_anim.servo_motion, ops().export_anim.servo_motion):
        with pytest.raises(RuntimeError, match="There is no mechanism in the scene"):
            operator(filepath=str(tmp_path / "nod.xmdi"))


def test_export_samples_every_32_ms(rig: Any, tmp_path: Path) -> None:
    """A straight ramp of 1 rad over frames 1 to 61 (1 s) has the value k * 0.032 at XMDI's frame k."""
    import bpy

    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 61
    bone = rig.pose.bones["Left Joint"]
    rig.animation_data_clear()
    bone.constraints.remove(bone.constraints[0])  # its stops are nearer than a rad
    for frame, value in ((1, 0.0), (61, 1.0)):
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    from addon.blender.compat import action_curves

    for key in action_curves(rig, rig.animation_data.action)[0].keyframe_points:
        key.interpolation = "LINEAR"
    assert ops().export_anim.servo_motion(filepath=str(tmp_path / "ramp.xmdi")) == {"FINISHED"}
    (servo,) = ElementTree.parse(tmp_path / "ramp.xmdi").iter("servo")
    assert servo.get("name") == "Left Joint"
    frames = [float(word) for word in servo.findtext("frames").split()]
    values = [float(word) for word in servo.findtext("position").split()]
    assert max(frames) == 32.0, "the last pose is in it"
    assert all(
        value == pytest.approx(min(frame * 0.032, 1.0), abs=1e-5) for frame, value in zip(frames, values, strict=True)
    )


def test_export_keyed_servos_or_all(rig: Any, tmp_path: Path) -> None:
    def servos(name: str, **options: Any) -> list[str]:
        ops().export_anim.servo_motion(filepath=str(tmp_path / name), **options)
        return [servo.get("name") for servo in ElementTree.parse(tmp_path / name).iter("servo")]

    assert servos("keyed.xmdi") == ["Left Joint"]
    assert sorted(servos("all.xmdi", servos="ALL")) == ["Left Joint", "Right Joint"]


def test_export_of_a_range_that_ends_before_it_begins(rig: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="before it begins"):
        ops().export_anim.servo_motion(filepath=str(tmp_path / "x.xmdi"), frame_start=10, frame_end=5)
    assert not (tmp_path / "x.xmdi").exists()


def test_what_was_exported_comes_back(rig: Any, tmp_path: Path) -> None:
    import bpy

    rig.data.knuckle.controls.joystick_1_y = 1.0
    ops().knuckle.bake_gait(frame_start=1, frame_end=61)
    bpy.context.scene.frame_end = 61
    wave = [value_at(rig, frame) for frame in (11, 23.5, 40)]
    assert max(map(abs, wave)) > 0.05
    ops().export_anim.servo_motion(filepath=str(tmp_path / "wave.xmdi"))
    ops().import_anim.servo_motion(filepath=str(tmp_path / "wave.xmdi"))
    back = [value_at(rig, frame) for frame in (11, 23.5, 40)]
    assert back == pytest.approx(wave, abs=0.01), "straight lines between samples 32 ms apart"


def test_bones_that_a_motion_keys_are_selected(startup: Any) -> None:
    """Timeline and Dope Sheet show the keyframes of selected bones alone."""
    import bpy

    from addon.blender.compat import is_bone_selected

    folder = OWN / "humanoid"
    assert bpy.ops.import_scene.mechanism(filepath=str(folder / "humanoid.skel")) == {"FINISHED"}
    rig = bpy.context.object
    assert not any(map(is_bone_selected, rig.pose.bones))
    assert bpy.ops.import_anim.servo_motion(filepath=str(folder / "squat.xmdi")) == {"FINISHED"}
    assert sum(map(is_bone_selected, rig.pose.bones)) == 12
