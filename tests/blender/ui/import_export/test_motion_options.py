"""The options of servo motion in and out: whose it becomes, where it stands in time, what poses the bones."""

from __future__ import annotations

import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.model import Motion, Trajectory
from tests.support.mechanisms import bone_of, curves_of, key, put
from tests.support.motion_options_helpers import (
    ARM,
    angle_of,
    exported,
    imported,
    ops,
    posed,
    put_xmdi,
    scene,
    track,
    wave,
)


@pytest.fixture
def rig(blank: Any) -> Any:
    return put(ARM, gait=False, adapt_scene=False)


# ------------------------------------------------------------------------- in


@pytest.mark.parametrize("part", ["body", "joint", "armature"])
def test_the_model_is_the_one_that_any_selected_part_belongs_to(rig: Any, tmp_path: Path, part: str) -> None:
    import bpy

    other = put(ARM, "other.jm", gait=False, adapt_scene=False)
    for obj in bpy.data.objects:
        obj.select_set(False)
    chosen = {
        "body": next(o for o in bpy.data.objects if o.knuckle.role == "BODY" and o.knuckle.model == other),
        "joint": next(o for o in bpy.data.objects if o.knuckle.role == "JOINT" and o.knuckle.model == other),
        "armature": other,
    }[part]
    bpy.context.view_layer.objects.active = chosen
    chosen.select_set(True)
    imported(put_xmdi(tmp_path / "w.xmdi", wave()))
    assert other.animation_data.action.name == "Wave"
    assert rig.animation_data is None or rig.animation_data.action is None


def test_the_model_can_be_chosen(rig: Any, tmp_path: Path) -> None:
    import bpy

    other = put(ARM, "other.jm", gait=False, adapt_scene=False)
    bpy.context.view_layer.objects.active = rig
    imported(put_xmdi(tmp_path / "w.xmdi", wave()), model=other.name)
    assert other.animation_data.action.name == "Wave"
    with pytest.raises(RuntimeError, match="'Nobody' is not the armature of a mechanism"):
        imported(tmp_path / "w.xmdi", model="Nobody")


def test_several_and_none_is_meant(rig: Any, tmp_path: Path) -> None:
    import bpy

    put(ARM, "other.jm", gait=False, adapt_scene=False)
    for obj in bpy.data.objects:
        obj.select_set(False)
    bpy.context.view_layer.objects.active = None
    with pytest.raises(RuntimeError, match="select a part of one"):
        imported(put_xmdi(tmp_path / "w.xmdi", wave()))


def test_the_scene_takes_the_rate_of_the_motion(rig: Any, tmp_path: Path) -> None:
    """31.25 frames per second: the keys of an XMDI file stand at whole frames."""
    scene().render.fps = 24
    imported(put_xmdi(tmp_path / "w.xmdi", wave(step=0.32)), update_scene_fps=True, frame_start=5)
    assert (scene().render.fps, scene().render.fps_base) == (125, 4.0)
    (curve,) = curves_of(rig)
    assert [point.co[0] for point in curve.keyframe_points] == [5.0, 15.0, 25.0]


def test_a_webots_motion_of_40_ms_is_25_frames_per_second(rig: Any, tmp_path: Path) -> None:
    (tmp_path / "w.motion").write_text(
        "#WEBOTS_MOTION,V1.0,Shoulder\n00:00:000,a,0\n00:00:040,b,0.1\n00:00:120,c,0.3\n"
    )
    imported(tmp_path / "w.motion", update_scene_fps=True)
    assert (scene().render.fps, scene().render.fps_base) == (25, 1.0)


def test_without_scaling_a_step_is_a_frame(rig: Any, tmp_path: Path) -> None:
    scene().render.fps = 24
    path = put_xmdi(tmp_path / "w.xmdi", wave(step=0.32))
    imported(path, use_fps_scale=False)
    (curve,) = curves_of(rig)
    assert [point.co[0] for point in curve.keyframe_points] == pytest.approx([1.0, 11.0, 21.0])


def test_the_range_is_lengthened_and_never_shortened(rig: Any, tmp_path: Path) -> None:
    scene().render.fps, scene().frame_end = 25, 10
    path = put_xmdi(tmp_path / "w.xmdi", wave(step=0.32))  # 0.64 s
    imported(path, update_scene_duration=False)
    assert scene().frame_end == 10
    imported(path)
    assert scene().frame_end == 17
    scene().frame_end = 250
    imported(path)
    assert scene().frame_end == 250


def test_the_action_that_was_there_is_not_touched_and_not_lost(rig: Any, tmp_path: Path) -> None:
    import bpy

    key(rig, 21, [(1, 0.25), (9, 0.5)])
    mine = rig.animation_data.action
    mine.name, mine.use_fake_user = "Mine", False
    imported(put_xmdi(tmp_path / "w.xmdi", wave()))
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "a.blend"))
    assert {"Mine", "Wave"} <= set(bpy.data.actions.keys())


def test_a_motion_laid_over_the_present_action(rig: Any, tmp_path: Path) -> None:
    """Keys within its time go, of its servos; others stay with their handles and interpolation."""
    scene().render.fps = 25
    key(rig, 21, [(1, 9.0), (5, 8.0), (20, 7.0), (40, 6.0)], interpolation="BEZIER")
    key(rig, 22, [(5, 0.1), (12, 0.2)], interpolation="BEZIER")
    action = rig.animation_data.action
    imported(put_xmdi(tmp_path / "w.xmdi", wave(values=(0.0, 0.5))), action="LAYER", frame_start=3)  # 8 frames
    assert rig.animation_data.action == action
    shoulder, elbow = (next(c for c in curves_of(rig) if bone_of(rig, n).name in c.data_path) for n in (21, 22))
    assert [point.co[:] for point in shoulder.keyframe_points] == [(1, 9), (3, 0), (11, 0.5), (20, 7), (40, 6)]
    assert [point.interpolation for point in shoulder.keyframe_points] == [
        "BEZIER", "LINEAR", "LINEAR", "BEZIER", "BEZIER",
    ]  # fmt: skip
    assert len(elbow.keyframe_points) == 2


def test_a_loop_goes_on(rig: Any, tmp_path: Path) -> None:
    imported(put_xmdi(tmp_path / "w.xmdi", wave(values=(0.0, 0.4, 0.0), step=0.32)), use_cyclic=True)
    rate = scene().render.fps
    for time in (0.32, 0.96, 6.72):
        assert angle_of(rig, 21, 1 + time * rate) == pytest.approx(0.4, abs=1e-5)


def test_each_motion_is_an_action_and_the_nla_stacks_them_on_request(rig: Any, tmp_path: Path) -> None:
    import bpy

    path = put_xmdi(
        tmp_path / "w.xmdi", wave("One"), wave("Two", values=(0.0, 0.1)), wave("Three", "Slide", (0.0, 2.0))
    )
    imported(path)
    assert {"One", "Two", "Three"} <= set(bpy.data.actions.keys())
    assert rig.animation_data.action.name == "One"
    assert not rig.animation_data.nla_tracks
    imported(path, use_nla=True)
    tracks = rig.animation_data.nla_tracks
    assert [(t.name, t.mute) for t in tracks] == [("One.001", False), ("Two.001", True), ("Three.001", True)]
    assert rig.animation_data.action is None
    assert angle_of(rig, 21, 1 + 0.32 * scene().render.fps) == pytest.approx(0.4, abs=1e-5)
    tracks[2].mute = False
    scene().frame_set(1)
    assert posed(rig, 23, 1 + 0.32 * scene().render.fps)[2, 3] == pytest.approx(2.0, abs=1e-5)


def test_files_in_degrees_and_millimetres(rig: Any, tmp_path: Path) -> None:
    motion = Motion(
        "deg",
        [
            Trajectory("Shoulder", np.array([0.0, 0.32]), np.array([0.0, 90.0])),
            Trajectory("Slide", np.array([0.0, 0.32]), np.array([0.0, 250.0])),
        ],
    )
    path = put_xmdi(tmp_path / "w.xmdi", motion)
    imported(path, angle_unit="DEG", length_unit="MM")
    at = 1 + 0.32 * scene().render.fps
    assert angle_of(rig, 21, at) == pytest.approx(math.pi / 2, abs=1e-5)
    assert posed(rig, 23, at)[2, 3] == pytest.approx(0.25, abs=1e-6)
    ops().export_anim.servo_motion(filepath=str(tmp_path / "back.xmdi"))
    assert (tmp_path / "back.xmdi").read_bytes() == path.read_bytes(), "in the units that it came in"
    radians = exported(tmp_path / "rad.xmdi", angle_unit="RAD", length_unit="M")
    assert track(radians, "Shoulder").values == pytest.approx([0.0, math.pi / 2])
    assert track(radians, "Slide").values == pytest.approx([0.0, 0.25])


def test_names_are_matched_loosely_and_by_the_users_list(rig: Any, tmp_path: Path) -> None:
    motion = Motion("m", [wave(servo=name).trajectories[0] for name in ("SHOULDER", "arm_2", "Tail")])
    path = put_xmdi(tmp_path / "w.xmdi", motion)
    imported(path)
    assert len(curves_of(rig)) == 1
    assert ops().knuckle.list_left_over() == {"FINISHED"}
    rows = rig.data.knuckle.servo_names
    assert [row.name for row in rows] == ["arm_2", "Tail"]
    rows["arm_2"].servo = "Elbow"
    assert ops().knuckle.key_left_over() == {"FINISHED"}
    assert len(curves_of(rig)) == 2
    ops().export_anim.servo_motion(filepath=str(tmp_path / "back.xmdi"))
    assert (tmp_path / "back.xmdi").read_bytes() == path.read_bytes()
    imported(path)
    assert len(curves_of(rig)) == 2, "the list is the model's: it holds for the next file"


def test_the_list_of_names_is_saved_and_edited(rig: Any, tmp_path: Path) -> None:
    import bpy

    ops().knuckle.add_servo_name(name="arm", servo="Elbow")
    with pytest.raises(RuntimeError, match="no servo 'Knee'"):
        ops().knuckle.add_servo_name(name="leg", servo="Knee")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "a.blend"))
    rows = next(a for a in bpy.data.armatures if a.knuckle.rig).knuckle.servo_names
    assert [(row.name, row.servo) for row in rows] == [("arm", "Elbow")]
    ops().knuckle.remove_servo_name()
    assert not len(rows)


def test_a_file_of_which_one_motion_is_anothers(rig: Any, tmp_path: Path) -> None:
    import bpy

    imported(put_xmdi(tmp_path / "w.xmdi", wave("Theirs", "Tail"), wave("Ours")))
    assert rig.animation_data.action.name == "Ours"
    assert "Theirs" not in bpy.data.actions


# ------------------------------------------------------------------------ out


def reach(rig: Any) -> None:
    """Inverse kinematics of two bones after a target that moves."""
    import bpy

    target = bpy.data.objects.new("Target", None)
    scene().collection.objects.link(target)
    for frame, at in ((1, (6.5, 0.0, 4.5)), (30, (4.0, 0.0, 7.0)), (60, (5.0, 0.0, 2.0))):
        target.location = at
        target.keyframe_insert("location", frame=frame)
    limit = bone_of(rig, 22).constraints
    while limit:
        limit.remove(limit[0])
    ik = bone_of(rig, 22).constraints.new("IK")
    ik.target, ik.chain_count = target, 2


@pytest.mark.parametrize(("fps", "base"), [(24, 1.0), (60, 1.0), (30, 1.001)])
def test_inverse_kinematics_and_drivers_are_sampled_as_they_are_seen(
    rig: Any, tmp_path: Path, fps: int, base: float
) -> None:
    """Against the evaluated pose at the times of the grid; a servo beside them keeps its own keys."""
    scene().render.fps, scene().render.fps_base, scene().frame_end = fps, base, 60
    reach(rig)
    slide = bone_of(rig, 23)
    driver = slide.driver_add("location", 2).driver
    driver.expression = "0.01 * frame"
    motion = exported(tmp_path / "ik.xmdi", servos="ALL")
    rate = fps / scene().render.fps_base  # which Blender keeps in 32 bits
    worst = 0.0
    for name, number in (("Shoulder", 21), ("Elbow", 22), ("Slide", 23)):
        found = track(motion, name)
        assert found.times == pytest.approx(np.arange(len(found.times)) * 0.032)
        assert found.times[-1] >= 59 / rate - 1e-6
        for time, value in zip(found.times, found.values, strict=True):
            frame = min(1 + time * fps / scene().render.fps_base, 60.0)
            seen = posed(rig, number, frame)[2, 3] if number == 23 else angle_of(rig, number, frame)
            worst = max(worst, abs(value - seen))
    assert np.ptp(track(motion, "Elbow").values) > 0.2
    assert worst < 1e-6


def test_layers_of_the_nla_are_in_it(rig: Any, tmp_path: Path) -> None:
    """Half of one strip's ramp, by its influence, on top of nothing."""
    imported(put_xmdi(tmp_path / "w.xmdi", wave(values=(0.0, 1.0), step=0.64)), use_nla=True)
    strip = rig.animation_data.nla_tracks[0].strips[0]
    strip.use_animated_influence = True
    strip.influence = 0.5
    strip.keyframe_insert("influence", frame=1)
    found = track(exported(tmp_path / "out.xmdi", servos="ALL"), "Shoulder")
    assert found.values == pytest.approx(np.minimum(found.times / 0.64, 1.0) * 0.5, abs=1e-5)


def test_curves_are_sampled_and_their_error_is_reported(rig: Any, tmp_path: Path) -> None:
    """Against Blender's own evaluation of the curve; the report tells how far the lines stray at most."""
    from addon.blender.animation import SampleOptions, read_motion

    scene().render.fps = 25
    key(rig, 21, [(1, 0.0), (11, 1.0), (26, -0.5)], interpolation="BEZIER")
    motion, report = read_motion(rig.data.knuckle.collection, scene(), SampleOptions(step=0.032, grid=0.032))
    found = track(motion, "Shoulder")
    (curve,) = curves_of(rig)
    frames = np.minimum(1 + found.times * 25, 26)
    assert found.values == pytest.approx([curve.evaluate(frame) for frame in frames], abs=1e-6)
    (told,) = [entry.message for entry in report.entries if entry.code == "curve-sampled"]
    fine = np.linspace(1, 26, 5001)
    stray = np.abs([curve.evaluate(f) for f in fine] - np.interp(fine, frames, found.values)).max()
    assert float(re.search(r"error of at most ([\d.e-]+) rad", told)[1]) == pytest.approx(stray, rel=0.1)


def test_straight_keys_on_the_grid_go_out_as_they_are_and_others_are_sampled(rig: Any, tmp_path: Path) -> None:
    scene().render.fps, scene().render.fps_base = 125, 4.0
    key(rig, 21, [(1, 0.0), (11, 1.0), (26, -0.5)])
    found = track(exported(tmp_path / "a.xmdi"), "Shoulder")
    assert found.times == pytest.approx([0.0, 0.32, 0.8])
    assert found.values.tolist() == [0.0, 1.0, -0.5]
    scene().render.fps, scene().render.fps_base = 24, 1.0
    found = track(exported(tmp_path / "b.xmdi"), "Shoulder")
    assert np.diff(found.times) == pytest.approx(0.032)
    found = track(exported(tmp_path / "c.xmdi", keys="KEYS"), "Shoulder")
    assert found.times == pytest.approx([0.0, 10 / 24, 25 / 24])
    found = track(exported(tmp_path / "d.xmdi", keys="SAMPLED"), "Shoulder")
    assert len(found.times) == math.ceil(25 / 24 / 0.032) + 1


def test_any_step_for_the_others(rig: Any, tmp_path: Path) -> None:
    scene().render.fps = 24
    key(rig, 21, [(1, 0.0), (25, 1.0)])
    for name in ("a.motion", "a.csv"):
        found = track(exported(tmp_path / name, step=20.0, keys="SAMPLED"), "Shoulder")
        assert found.times == pytest.approx(np.arange(51) * 0.02)
        assert found.values == pytest.approx(np.arange(51) * 0.02, abs=1e-6)


@pytest.mark.parametrize("remap", [(100, 100), (100, 200), (150, 50)])
@pytest.mark.parametrize("first", [-20, 0, 7])
def test_negative_frames_and_time_remapping(rig: Any, tmp_path: Path, first: int, remap: tuple[int, int]) -> None:
    """What Blender shows at a scene's frame is what the file has at that frame's time."""
    scene().render.fps, scene().render.fps_base = 30, 1.001
    scene().render.frame_map_old, scene().render.frame_map_new = remap
    path = put_xmdi(tmp_path / "w.xmdi", wave(values=(0.0, 0.9, 0.3, 0.6), step=0.16))
    imported(path, frame_start=first)
    for time in (0.05, 0.16, 0.4, 0.48):
        wanted = np.interp(time, np.arange(4) * 0.16, (0.0, 0.9, 0.3, 0.6))
        assert angle_of(rig, 21, first + time * 30 / 1.001) == pytest.approx(wanted, abs=1e-4)
    ops().export_anim.servo_motion(filepath=str(tmp_path / "back.xmdi"))
    assert (tmp_path / "back.xmdi").read_bytes() == path.read_bytes()
    sampled = track(exported(tmp_path / "s.xmdi", keys="SAMPLED"), "Shoulder")
    assert sampled.values == pytest.approx(
        np.interp(sampled.times, np.arange(4) * 0.16, (0.0, 0.9, 0.3, 0.6)), abs=1e-4
    )


def test_stops_are_kept_clamped_or_rejected_and_counted(rig: Any, tmp_path: Path) -> None:
    from addon.blender.animation import SampleOptions, read_motion

    imported(put_xmdi(tmp_path / "w.xmdi", wave(servo="Elbow", values=(0.0, 1.5, -0.5, -2.0), step=0.32)))
    assert track(exported(tmp_path / "a.xmdi"), "Elbow").values.tolist() == [0.0, 1.5, -0.5, -2.0]
    clamped = track(exported(tmp_path / "b.xmdi", stops="CLAMP"), "Elbow").values
    assert clamped == pytest.approx([0.0, 1.0, -0.5, -1.0])
    with pytest.raises(RuntimeError, match=r"Values outside the stops: 'Elbow': 2 of 4 keyframes, first at 0.32 s"):
        exported(tmp_path / "c.xmdi", stops="REFUSE")
    assert not (tmp_path / "c.xmdi").exists()
    _motion, report = read_motion(rig.data.knuckle.collection, scene(), SampleOptions(stops="CLAMP"))
    assert any("'Elbow': 2 of 4 keyframes" in entry.message for entry in report.entries)


def test_the_servos_option_chooses_exported_servos(rig: Any, tmp_path: Path) -> None:
    import bpy

    key(rig, 21, [(1, 0.0), (25, 1.0)])

    def names(**options: Any) -> list[str]:
        return [each.name for each in exported(tmp_path / "a.xmdi", **options).trajectories]

    assert names() == ["Shoulder"]
    assert sorted(names(servos="ALL")) == ["Elbow", "Shoulder", "Slide"]
    for obj in bpy.data.objects:
        obj.select_set(obj.knuckle.role == "JOINT" and obj.knuckle.source_id == "22")
    assert names(servos="SELECTED") == ["Elbow"]
    for obj in bpy.data.objects:
        obj.select_set(obj.knuckle.role == "BODY" and obj.knuckle.source_id == "4")
    assert names(servos="SELECTED") == ["Slide"]
    bpy.context.view_layer.objects.active = rig
    rig.select_set(True)
    for obj in bpy.data.objects:
        obj.select_set(obj == rig)
    bpy.ops.object.mode_set(mode="POSE")
    from addon.blender.compat import select_bone

    for pose in rig.pose.bones:
        select_bone(pose, pose.name == bone_of(rig, 21).name)
    assert names(servos="SELECTED") == ["Shoulder"]
    bpy.ops.object.mode_set(mode="OBJECT")
    for obj in bpy.data.objects:
        obj.select_set(False)
    bpy.context.view_layer.objects.active = rig
    with pytest.raises(RuntimeError, match="No servo is selected"):
        names(servos="SELECTED")


def test_a_part_of_a_motion(rig: Any, tmp_path: Path) -> None:
    scene().render.fps, scene().render.fps_base = 125, 4.0
    key(rig, 21, [(1, 0.0), (11, 1.0), (31, -1.0)])
    found = track(exported(tmp_path / "a.xmdi", frame_start=6, frame_end=21), "Shoulder")
    assert found.times == pytest.approx(np.array([0, 5, 15]) * 0.032)
    assert found.values == pytest.approx([0.5, 1.0, 0.0], abs=1e-6)


def test_fewer_samples_within_a_tolerance(rig: Any, tmp_path: Path) -> None:
    scene().render.fps = 25
    key(rig, 21, [(1, 0.0), (60, 1.0), (126, -0.5)], interpolation="BEZIER")
    every = track(exported(tmp_path / "a.xmdi"), "Shoulder")
    fewer = track(exported(tmp_path / "b.xmdi", tolerance=0.01), "Shoulder")
    assert len(fewer.times) < len(every.times) / 5
    assert np.abs(fewer.at(every.times) - every.values).max() <= 0.01 + 1e-9


def test_what_physics_did_goes_out_while_it_drives(blank: Any, tmp_path: Path) -> None:
    """An arm let go swings with its pendulum's period, 2 pi sqrt((I + m l^2) / (m g l)), longer by a^2 / 16."""
    from tests.support.motion_helpers import HANGING, G, tower

    arm = put(tower(HANGING, erp=1.0))
    key(arm, 3, [(1, 0.2)])
    scene().frame_end = 400
    arm.data.knuckle.drive = "LIMP"
    found = track(exported(tmp_path / "fall.csv", step=10.0), "Joint 3")
    down = np.flatnonzero((found.values[:-1] > 0) & (found.values[1:] <= 0))
    crossings = [np.interp(0, -found.values[k : k + 2], found.times[k : k + 2]) for k in down]
    inertia = 1.5 * (0.2**2 + 1.4**2) / 12 + 1.5 * 0.9**2
    period = 2 * math.pi * math.sqrt(inertia / (1.5 * G * 0.9)) * (1 + 0.2**2 / 16)
    assert len(crossings) >= 3
    assert np.diff(crossings).mean() == pytest.approx(period, rel=0.02)


def test_every_action_in_one_file(rig: Any, tmp_path: Path) -> None:
    import bpy

    imported(put_xmdi(tmp_path / "w.xmdi", wave("One"), wave("Two", "Slide", (0.0, 0.5))))
    key(rig, 21, [(1, 0.0)])
    before = rig.animation_data.action
    ops().export_anim.servo_motion(filepath=str(tmp_path / "all.xmdi"), motions="ALL")
    assert [motion.name for motion in formats.load_motions(tmp_path / "all.xmdi")] == ["One", "Two"]
    assert rig.animation_data.action == before
    assert set(bpy.data.actions.keys()) == {"One", "Two"}


def test_a_renamed_action_is_a_renamed_motion_and_attributes_can_be_changed(rig: Any, tmp_path: Path) -> None:
    motion = wave()
    motion.attributes = {"author": "me", "mood": "glad"}
    imported(put_xmdi(tmp_path / "w.xmdi", motion))
    action = rig.animation_data.action
    action.knuckle.attributes["mood"].value = "sad"
    found = exported(tmp_path / "a.xmdi")
    assert (found.name, found.attributes) == ("Wave", {"author": "me", "mood": "sad"})
    action.name = "Greeting"
    assert exported(tmp_path / "b.xmdi").name == "Greeting"


def test_constant_keyframes_are_exported_as_steps(rig: Any, tmp_path: Path) -> None:
    """Constant keys: a .motion holds them with asterisks, XMDI holds them until the step before the next."""
    scene().render.fps, scene().render.fps_base = 125, 4.0
    key(rig, 21, [(1, 0.25), (11, 1.0), (26, -0.5)], interpolation="CONSTANT")
    for name in ("a.motion", "a.xmdi"):
        found = track(exported(tmp_path / name), "Shoulder")
        for time, value in ((0.0, 0.25), (0.288, 0.25), (0.32, 1.0), (0.768, 1.0), (0.8, -0.5)):
            assert found.at(np.array([time]))[0] == pytest.approx(value, abs=1e-6), (name, time)


def test_an_action_that_did_not_play_does_not_play_after(rig: Any, tmp_path: Path) -> None:
    """Blender shows one that has no slot on a rig, and does not play it."""
    from addon.blender.compat import HAS_SLOTS

    key(rig, 21, [(1, 0.1), (9, 0.5)])
    data = rig.animation_data
    if not HAS_SLOTS:
        pytest.skip("Actions have no slots here")
    action, data.action_slot = data.action, None
    assert ops().export_anim.servo_motion(filepath=str(tmp_path / "all.xmdi"), motions="ALL") == {"FINISHED"}
    assert (data.action, data.action_slot) == (action, None)


def test_a_run_of_the_users_is_shown_again_as_part_of_the_work(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not behind the user's back when all seems done, and not at all where the export was refused."""
    import bpy

    from addon.blender.ui.import_export import export_motion

    arm = put(ARM, gait=False, adapt_scene=False)
    arm.data.knuckle.drive = "SERVO"
    scene().frame_end = 4
    for frame in range(1, 7):
        scene().frame_set(frame)
    told: list[Any] = []
    manager = SimpleNamespace(
        progress_begin=lambda low, high: None, progress_update=told.append, progress_end=lambda: told.append("end")
    )
    context = SimpleNamespace(scene=scene(), window_manager=manager)

    def physical() -> Any:
        return export_motion.EXPORT_ANIM_OT_servo_motion._physical(SimpleNamespace(_has=lambda _: False), context, arm)

    frames: list[int] = []

    def seen(scene: Any, *_: Any) -> None:
        frames.append(scene.frame_current)
        told.append("frame")

    bpy.app.handlers.frame_change_post.append(seen)
    try:
        assert physical() is not None
        assert frames[-6:] == [1, 2, 3, 4, 5, 6], "the run is shown again"
        updates = [each for each in told if isinstance(each, int)]
        assert updates == sorted(updates) and updates[-1] == 100 and told[-2:] == [100, "end"]
        frames.clear()

        def refused(*_args: Any) -> None:
            raise ValueError("no")

        monkeypatch.setattr(export_motion, "record", refused)
        with pytest.raises(ValueError, match="no"):
            physical()
        assert frames == [] and told[-1] == "end"
    finally:
        bpy.app.handlers.frame_change_post.remove(seen)


def test_the_frame_and_the_action_are_put_back(rig: Any, tmp_path: Path) -> None:
    reach(rig)
    scene().frame_set(13)
    exported(tmp_path / "a.xmdi", servos="ALL")
    assert scene().frame_current == 13


def test_a_servo_that_was_renamed_since_is_reported(rig: Any, tmp_path: Path, capsys: Any) -> None:
    """Motions keep the names of their file; the model's file has the new one."""
    imported(put_xmdi(tmp_path / "in.xmdi", wave()))
    exported(tmp_path / "before.csv")
    assert "Renamed servos" not in capsys.readouterr().out
    bone_of(rig, 21).name = "Schulter"
    assert [each.name for each in exported(tmp_path / "out.csv").trajectories] == ["Shoulder"]
    assert "exported with their names in the motion's file: 'Schulter' is 'Shoulder' there" in capsys.readouterr().out


def test_servos_whose_curves_are_muted_are_named(rig: Any, tmp_path: Path, capsys: Any) -> None:
    both = Motion("Both", [wave().trajectories[0], wave(servo="Elbow").trajectories[0]])
    imported(put_xmdi(tmp_path / "in.xmdi", both))
    exported(tmp_path / "before.csv")
    assert "muted" not in capsys.readouterr().out
    bone = bone_of(rig, 22).name
    next(curve for curve in curves_of(rig) if f'"{bone}"' in curve.data_path).mute = True
    assert "Elbow" not in [each.name for each in exported(tmp_path / "out.csv").trajectories]
    assert "Muted F-Curves are ignored: 'Elbow'" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["not selected", "from physics"])
def test_of_muted_curves_that_do_not_matter_nothing_is_said(rig: Any, what: str) -> None:
    from addon.blender.animation import SampleOptions, read_motion

    key(rig, 21, [(1, 0.0), (31, 0.5)])
    key(rig, 22, [(1, 0.0), (31, 0.5)])
    bone = bone_of(rig, 22).name
    next(curve for curve in curves_of(rig) if f'"{bone}"' in curve.data_path).mute = True
    if what == "not selected":
        report = read_motion(rig, options=SampleOptions(servos="SELECTED", selected=frozenset({"21"})))[1]
    else:
        run = {("22", 0): (np.array([1.0, 31.0]), np.array([0.0, 1.0]))}
        report = read_motion(rig, options=SampleOptions(servos="ALL"), physical=run)[1]
    assert not [entry for entry in report.entries if entry.code == "muted"]
    assert [
        entry for entry in read_motion(rig, options=SampleOptions(servos="ALL"))[1].entries if entry.code == "muted"
    ]
