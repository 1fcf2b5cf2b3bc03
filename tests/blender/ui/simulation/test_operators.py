"""The operators that build, drive, bake, select and set input presets."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.bake_helpers import by_hand
from tests.support.scenes import OWN
from tests.support.small import datablocks

OPERATORS = ("set_drive", "build_physics", "clear_physics", "select_part", "bake_gait", "bake_physics", "render_film")


def ops() -> Any:
    import bpy

    return bpy.ops.knuckle


def active() -> Any:
    import bpy

    return bpy.context.view_layer.objects.active


@pytest.mark.parametrize("name", OPERATORS)
def test_each_simulation_operator_needs_a_mechanism(blank: Any, name: str) -> None:
    with pytest.raises(RuntimeError, match="There is no mechanism in the scene: import one"):
        getattr(ops(), name)()


@pytest.mark.parametrize("part", ["flapper", "Left Flap", "Left Joint"])
def test_simulation_operators_work_from_any_selected_part(rig: Any, part: str) -> None:
    import bpy

    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = bpy.data.objects[part]
    assert ops().set_drive(drive="LIMP") == {"FINISHED"}
    assert rig.data.knuckle.drive == "LIMP"


def test_bodies_fall_in_ragdoll_drive_and_not_in_keyframes_drive(rig: Any) -> None:
    import bpy

    trunk, scene = bpy.data.objects["Trunk"], bpy.context.scene
    heights = {}
    for drive in ("KEYS", "LIMP"):
        ops().set_drive(drive=drive)
        for frame in range(1, 13):
            scene.frame_set(frame)
        heights[drive] = trunk.matrix_world.translation.z
    assert heights["KEYS"] == pytest.approx(2.0, abs=1e-6)
    # 11 frames of 1/60 s in free fall; the stepping adds up to one substep's worth
    assert heights["LIMP"] == pytest.approx(2.0 - 9.81 / 2 * (11 / 60) ** 2, abs=0.01)


def test_physics_is_cleared_and_built_again(rig: Any) -> None:
    import bpy

    scene = bpy.context.scene

    def simulated() -> set[str]:
        world = scene.rigidbody_world
        return {obj.name for group in (world.collection, world.constraints) for obj in group.objects}

    before = simulated()
    assert {"Trunk", "Left Joint"} <= before
    assert ops().clear_physics() == {"FINISHED"}
    assert scene.rigidbody_world is None
    with pytest.raises(RuntimeError, match="no rigid bodies to remove"):
        ops().clear_physics()
    assert ops().build_physics() == {"FINISHED"}
    assert simulated() == before


def test_bake_gait_follows_the_control(rig: Any) -> None:
    """Joystick 1 Y scales a swing of 20 degrees at 60 cycles a minute: the largest value is reached within a second."""
    import bpy

    amplitudes = []
    for control in (0.5, 1.0):
        rig.data.knuckle.controls.joystick_1_y = control
        assert ops().bake_gait(frame_start=1, frame_end=61) == {"FINISHED"}
        bone = rig.pose.bones["Left Joint"]
        values = []
        for frame in range(1, 62):
            bpy.context.scene.frame_set(frame)
            values.append(bone.rotation_euler.z)
        amplitudes.append(max(map(abs, values)))
    assert amplitudes == pytest.approx([math.radians(10), math.radians(20)], rel=0.01)


def test_bake_gait_of_a_range_that_ends_before_it_begins(rig: Any) -> None:
    with pytest.raises(RuntimeError, match="before it begins"):
        ops().bake_gait(frame_start=9, frame_end=3)


def test_bake_gait_without_a_gait_is_rejected(rig: Any) -> None:
    rig.data.knuckle.document = None
    with pytest.raises(RuntimeError, match="The mechanism has no gait"):
        ops().bake_gait()


def test_bake_physics_is_rejected_in_keyframes_drive(rig: Any) -> None:
    with pytest.raises(RuntimeError, match="set Drive to Servos or Ragdoll first"):
        ops().bake_physics()


def test_bake_physics_leaves_keys_that_play_the_fall(rig: Any, capfd: pytest.CaptureFixture[str]) -> None:
    import bpy

    gait, scene = rig.animation_data.action, bpy.context.scene
    ops().set_drive(drive="LIMP")
    assert ops().bake_physics(frame_end=13) == {"FINISHED"}
    said = capfd.readouterr().out
    assert re.search("13 frames baked to Action .* (All figures are good|figures? needs? attention)", said), said
    assert rig.data.knuckle.drive == "KEYS"
    assert rig.animation_data.action != gait
    assert gait.name in bpy.data.actions
    assert scene.frame_current == 1
    scene.frame_set(12)  # at once: no physics has to run up to it
    fallen = 2.0 - 9.81 / 2 * (11 / 60) ** 2
    assert bpy.data.objects["Trunk"].matrix_world.translation.z == pytest.approx(fallen, abs=0.01)


def test_bodies_get_their_own_keys_and_lose_them(rig: Any) -> None:
    ops().set_drive(drive="LIMP")
    with pytest.raises(RuntimeError, match="no keyframes of their own"):
        ops().remove_body_keys()
    assert ops().bake_physics(frame_end=5, all_bodies=True) == {"FINISHED"}
    action = rig.animation_data.action
    assert action.knuckle.bodies is not None
    assert ops().remove_body_keys() == {"FINISHED"}
    assert rig.data.knuckle.body_keys is None
    assert rig.animation_data.action == action


def test_steps_of_a_bake_that_is_stopped_leave_the_scene_as_it_was(rig: Any) -> None:
    import bpy

    from addon.blender.physics.recording.bake import bake_steps

    ops().set_drive(drive="SERVO")
    scene = bpy.context.scene
    scene.frame_set(7)
    cache = scene.rigidbody_world.point_cache

    def state() -> Any:
        return (
            datablocks(), scene.frame_current, rig.data.knuckle.drive, rig.animation_data.action,
            cache.frame_start, cache.frame_end, scene.rigidbody_world.time_scale, rig.data.pose_position,
        )  # fmt: skip

    before = state()
    by_hand(rig)
    steps = bake_steps(scene, rig, 500, "never")
    assert [next(steps) for _ in range(20)][-1] == (20, 500)
    steps.close()
    assert state() == before


def test_select_part_takes_the_object_or_the_bone(rig: Any) -> None:
    import bpy

    assert ops().select_part(part="Left Joint") == {"FINISHED"}
    assert active().name == "Left Joint"
    assert [obj.name for obj in bpy.context.selected_objects] == ["Left Joint"]
    ops().select_part(part="Right Slide", extend=True)
    assert sorted(obj.name for obj in bpy.context.selected_objects) == ["Left Joint", "Right Slide"]
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    ops().select_part(part="Right Slide")
    assert bpy.context.active_pose_bone.name == "Right Joint", "the bone that carries the body"
    assert [bone.name for bone in bpy.context.selected_pose_bones] == ["Right Joint"]
    bpy.ops.object.mode_set(mode="OBJECT")


def test_select_part_reports_what_it_cannot_find_or_show(rig: Any) -> None:
    import bpy

    with pytest.raises(RuntimeError, match="no joint or body called 'Tail'"):
        ops().select_part(part="Tail")
    bpy.data.objects["Trunk"].hide_viewport = True
    with pytest.raises(RuntimeError, match="hidden"):
        ops().select_part(part="Trunk")
    assert active() == rig


def test_a_click_on_a_row_selects_and_the_row_follows_the_selection(rig: Any) -> None:
    import bpy

    rows = [obj.name for obj in rig.data.knuckle.collection.children["Joints"].objects]
    rig.data.knuckle_row = rows.index("Right Joint")
    assert active().name == "Right Joint"
    assert rig.data.knuckle_row == rows.index("Right Joint")
    bpy.context.view_layer.objects.active = bpy.data.objects["Left Flap"]  # moved by the left joint
    assert rig.data.knuckle_row == rows.index("Left Joint")
    bpy.context.view_layer.objects.active = bpy.data.objects["Trunk"]  # moved by none
    assert rig.data.knuckle_row == -1


HEXAPOD = OWN / "hexapod/hexapod.jm"
SAMPLES = [OWN / "rover/rover.jm", HEXAPOD]


def imported(path: Path, **options: Any) -> Any:
    import bpy

    assert bpy.ops.import_scene.mechanism(filepath=str(path), gait_seconds=1.0, **options) == {"FINISHED"}
    return bpy.context.object


def inputs(rig: Any) -> dict[str, float]:
    controls = rig.data.knuckle.controls
    names = [prop.identifier for prop in controls.bl_rna.properties if prop.type == "FLOAT"]
    return {name: getattr(controls, name) for name in names if getattr(controls, name)}


def swing(rig: Any, servo: str = "Left Front Swing") -> float:
    """Range of a servo in the Action that plays, in degrees."""
    from addon.blender.data.channels import pose_curves

    path = next(curve for (path, _index), curve in pose_curves(rig).items() if servo in path)
    values = [point.co[1] for point in path.keyframe_points]
    return float(np.degrees(np.ptp(values)))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_script_leaves_all_inputs_at_rest(blank: Any, path: Path) -> None:
    assert inputs(imported(path)) == {}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_import_by_hand_lets_a_sample_go_forward_and_exports_it_byte_for_byte(
    blank: Any, tmp_path: Path, path: Path
) -> None:
    import bpy

    copy = tmp_path / "of another name.jm"
    shutil.copy(path, copy)
    rig = imported(copy, inputs="AUTO")
    assert inputs(rig) == {"joystick_1_y": -1.0}
    out = tmp_path / "out.jm"
    assert bpy.ops.export_scene.mechanism(filepath=str(out), format="juice") == {"FINISHED"}
    assert out.read_bytes() == path.read_bytes()


def test_import_by_hand_leaves_other_files_at_rest(blank: Any, tmp_path: Path) -> None:
    edited = tmp_path / "hexapod.jm"
    edited.write_bytes(HEXAPOD.read_bytes() + b"\n")
    assert inputs(imported(edited, inputs="AUTO")) == {}


def test_sample_walks_from_its_first_frame_on(blank: Any) -> None:
    rig = imported(HEXAPOD)
    assert swing(rig) == 0.0
    walking = imported(HEXAPOD, inputs="AUTO")
    assert swing(walking) > 10.0
    assert walking.animation_data.action.name == "hexapod Gait.001"
    assert tuple(walking.animation_data.action.frame_range) == tuple(rig.animation_data.action.frame_range)


def test_buttons_set_the_inputs_and_bake_the_gait_that_plays(blank: Any) -> None:
    import bpy

    rig = imported(HEXAPOD)
    name, count = rig.animation_data.action.name, len(bpy.data.actions)
    for preset, expected in (
        ("FORWARD", {"joystick_1_y": -1.0}),
        ("TURN_RIGHT", {"joystick_1_x": 1.0}),
        ("STAND", {}),
    ):
        assert bpy.ops.knuckle.set_inputs(preset=preset) == {"FINISHED"}
        assert inputs(rig) == expected
        assert (swing(rig) > 5.0) == bool(expected)
        assert (rig.animation_data.action.name, len(bpy.data.actions)) == (name, count)


def test_an_edited_motion_stays(blank: Any) -> None:
    import bpy

    rig = imported(HEXAPOD)
    from addon.blender.data.channels import pose_curves

    curve = next(iter(pose_curves(rig).values()))
    curve.keyframe_points[0].co[1] += 0.1
    action = rig.animation_data.action
    bpy.ops.knuckle.set_inputs(preset="FORWARD")
    assert inputs(rig) == {"joystick_1_y": -1.0}
    assert rig.animation_data.action == action and swing(rig) == 0.0


def test_keyed_inputs_are_reported(blank: Any, capfd: pytest.CaptureFixture[str]) -> None:
    import bpy

    rig = imported(HEXAPOD)
    rig.data.knuckle.controls.keyframe_insert("joystick_1_y", frame=1)
    bpy.ops.knuckle.set_inputs(preset="TURN_LEFT")
    assert "Warning: The keyframes of joystick 1 y override the preset" in capfd.readouterr().out


def test_an_input_preset_that_the_gait_lacks_is_reported(blank: Any) -> None:
    import bpy

    from tests.support.references import CORPUS

    path = CORPUS / "juice/models/Backhoe.jm"
    if not path.exists():
        pytest.skip("the corpus is not here")
    imported(path)
    with pytest.raises(RuntimeError, match="No input lets the mechanism do this: Forward"):
        bpy.ops.knuckle.set_inputs(preset="FORWARD")
