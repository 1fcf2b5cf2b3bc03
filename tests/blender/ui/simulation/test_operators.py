"""The operators that build, drive, bake and select."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.small import datablocks

OPERATORS = ("set_drive", "build_physics", "clear_physics", "select_part", "bake_gait", "bake_physics", "render_film")


def ops() -> Any:
    import bpy

    return bpy.ops.knuckle


def active() -> Any:
    import bpy

    return bpy.context.view_layer.objects.active


@pytest.mark.parametrize("name", OPERATORS)
def test_each_needs_a_model_and_says_so(blank: Any, name: str) -> None:
    with pytest.raises(RuntimeError, match="There is no mechanism in the scene: import one"):
        getattr(ops(), name)()


@pytest.mark.parametrize("part", ["flapper", "Left Flap", "Left Joint"])
def test_they_work_from_any_selected_part(rig: Any, part: str) -> None:
    import bpy

    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = bpy.data.objects[part]
    assert ops().set_drive(drive="LIMP") == {"FINISHED"}
    assert rig.data.knuckle.drive == "LIMP"


def test_limp_bodies_fall_and_on_keys_they_do_not(rig: Any) -> None:
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


def test_bake_gait_without_a_gait_says_so(rig: Any) -> None:
    rig.data.knuckle.document = None
    with pytest.raises(RuntimeError, match="The mechanism has no gait"):
        ops().bake_gait()


def test_bake_physics_refuses_on_keys(rig: Any) -> None:
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


def test_select_part_says_what_it_cannot_find_or_show(rig: Any) -> None:
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


def test_film_of_one_picture(rig: Any, tmp_path: Path, capfd: Any) -> None:
    import bpy

    bpy.context.scene.frame_end = 3
    target = tmp_path / "poster.png"
    assert ops().render_film(filepath=str(target), size=(64, 48)) == {"FINISHED"}
    assert f"Picture rendered: {target}" in capfd.readouterr().out
    picture = bpy.data.images.load(str(target))
    assert tuple(picture.size) == (64, 48)


def test_film_that_cannot_be_made_says_why(rig: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"\.mp4, \.webm, \.webp or \.gif for a video"):
        ops().render_film(filepath=str(tmp_path / "film.avi"))
    with pytest.raises(RuntimeError, match=r"save the \.blend first"):
        ops().render_film()
    assert list(tmp_path.glob("film*")) == []


def test_film_with_all_that_is_beside_it(rig: Any, tmp_path: Path) -> None:
    import bpy

    bpy.context.scene.frame_end = 6
    words = {"size": (64, 48), "samples": 1, "stage": "SCIENTIFIC", "camera": "TURNTABLE", "burn": {"NAME", "SERVOS"}}
    target = str(tmp_path / "round.webm")
    assert ops().render_film(filepath=target, sheet=True, poster=True, keep_frames=True, **words) == {"FINISHED"}
    assert {path.name for path in tmp_path.iterdir()} >= {
        "round.webm", "round_sheet.png", "round_poster.png", "round_frames",
    }  # fmt: skip
    assert bpy.context.scene.name == "Scene" and len(bpy.data.scenes) == 1


def test_preview_shows_the_present_frame_in_an_image(rig: Any) -> None:
    import bpy

    from addon.blender.ui.video.operators import PREVIEW_NAME

    bpy.context.scene.frame_end = 6
    for frame in (3, 5):
        bpy.context.scene.frame_set(frame)
        assert ops().preview_film(size=(64, 48), samples=1) == {"FINISHED"}
        assert [image.name for image in bpy.data.images if image.name.startswith(PREVIEW_NAME)] == [PREVIEW_NAME]
        assert (
            tuple(bpy.data.images[PREVIEW_NAME].size) == (64, 48)
            and bpy.data.images[PREVIEW_NAME].packed_file is not None
        )
        assert bpy.context.scene.frame_current == frame and len(bpy.data.scenes) == 1


def test_film_says_what_it_will_make(rig: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.ui.video.panel import video_summary
    from addon.blender.ui.video.properties import video_ending, video_render_options, video_settings

    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base, scene.frame_start, scene.frame_end = 60, 1.0, 1, 240
    wishes = video_settings(scene)
    assert (
        video_summary(scene, "a.mp4", video_render_options(wishes)) == "1280 x 720, 4.0 s, 120 frames at 30 per second"
    )
    assert video_summary(scene, "a.png", video_render_options(wishes)) == "1280 x 720, one picture"
    wishes.format, wishes.length = "LOOP", "8"
    assert video_ending(wishes) == ".gif"
    assert (
        video_summary(scene, "a.gif", video_render_options(wishes)) == "480 x 480, 8.0 s, 120 frames at 15 per second"
    )


def test_the_film_panel_says_what_it_would_make_before_it_has_a_place(rig: Any) -> None:
    import bpy

    from addon.blender.ui.video.panel import VIEW3D_PT_knuckle_film
    from tests.support.panels_helpers import Layout

    bpy.context.scene.render.fps, bpy.context.scene.frame_start, bpy.context.scene.frame_end = 60, 1, 240
    drawn: list[tuple[str, Any]] = []
    VIEW3D_PT_knuckle_film.draw(type("Panel", (), {"layout": Layout(drawn)})(), bpy.context)
    said = " ".join(text for kind, text in drawn if kind == "label")
    assert said.startswith("1280 x 720, 4.0 s, 120 frames at 30 per second ") and " Choose a file" in said


def test_film_goes_beside_the_blend_unless_told(rig: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.ui.video.operators import video_path

    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"))
    assert Path(video_path(rig, "")) == tmp_path / "flapper.mp4"
    assert Path(video_path(rig, "//walk")) == tmp_path / "walk.mp4"
    assert Path(video_path(rig, str(tmp_path))) == tmp_path / "flapper.mp4"
    assert Path(video_path(rig, str(tmp_path / "a.png"))) == tmp_path / "a.png"
