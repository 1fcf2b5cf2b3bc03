"""Servo motion where it is not plain: several files in one Action, tracks of the NLA, switched constraints, joints of
six numbers, empty servos, units that files name."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.model import Motion, Trajectory
from tests.support.mechanisms import bone_of, curves_of, key
from tests.support.motion_exact_helpers import XMDI, put_file, three_joints
from tests.support.motion_options_helpers import exported, imported, ops, posed, put_xmdi, scene, track


@pytest.fixture
def rig(blank: Any) -> Any:
    blank.scene.render.fps = 60
    return three_joints()


def servo(name: str, times: Any, values: Any) -> Trajectory:
    return Trajectory(name, np.array(times, dtype=float), np.array(values, dtype=float))


def collection(rig: Any) -> Any:
    return rig.data.knuckle.collection


def curve(rig: Any, joint: int, index: int = 2) -> Any:
    (found,) = [c for c in curves_of(rig) if bone_of(rig, joint).name in c.data_path and c.array_index == index]
    return found


def asked(path: Path, **options: Any) -> set[str]:
    """Export as the dialog does: it is shown with its defaults, and confirmed."""
    from addon.blender.ui.import_export import export_motion

    operator = export_motion.EXPORT_ANIM_OT_servo_motion
    shown = export_motion.ExportHelper.invoke
    confirm = operator.execute
    try:
        export_motion.ExportHelper.invoke = lambda self, context, event: confirm(self, context)
        operator.execute = lambda self, context: self.invoke(context, None)
        return ops().export_anim.servo_motion(filepath=str(path), **options)
    finally:
        export_motion.ExportHelper.invoke = shown
        operator.execute = confirm


def test_the_dialog_writes_the_whole_motion_by_default(rig: Any, tmp_path: Path) -> None:
    path = put_file(tmp_path / "wave.motion", "#WEBOTS_MOTION,V1.0,Lift\n0,a,0.1\n60:00:000,b,.2\n")
    imported(path, update_scene_duration=False)
    assert asked(tmp_path / "out.motion") == {"FINISHED"}
    assert (tmp_path / "out.motion").read_bytes() == path.read_bytes()
    assert asked(tmp_path / "part.motion", frame_start=1, frame_end=61) == {"FINISHED"}
    assert formats.load_motion(tmp_path / "part.motion").duration == pytest.approx(1.0)


def test_free_joints_come_back(blank: Any, tmp_path: Path, sample_models: Path) -> None:
    from tests.support.mechanisms import put

    put(sample_models / "sensor_leg/sensor_leg.xml", gait=False)
    motion = Motion("m", [servo("pelvis/x", [0, 0.32], [0, 0.5]), servo("pelvis/rx", [0, 0.32], [0, 0.4])])
    path = put_xmdi(tmp_path / "free.xmdi", motion)
    imported(path)
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.xmdi"))
    assert (tmp_path / "out.xmdi").read_bytes() == path.read_bytes()


def test_the_unit_that_a_table_names_is_used(rig: Any, tmp_path: Path) -> None:
    key(rig, 51, [(1, 0.0), (7, 1.0)])
    key(rig, 52, [(1, 0.0), (7, 0.5)])
    ops().export_anim.servo_motion(filepath=str(tmp_path / "d.csv"), angle_unit="DEG", length_unit="MM", keys="KEYS")
    header, _first, last = (tmp_path / "d.csv").read_text().splitlines()
    assert header == "time [s],Left Hip [deg],Lift [mm]"
    assert [float(x) for x in last.split(",")] == pytest.approx([0.1, math.degrees(1.0), 500.0])
    for units in ("RAD", "DEG"):  # the option is for files that do not say
        imported(tmp_path / "d.csv", angle_unit=units, length_unit="M")
        assert curve(rig, 51).keyframe_points[-1].co[1] == pytest.approx(1.0, abs=1e-6)
        ops().export_anim.servo_motion(filepath=str(tmp_path / "e.csv"))
        assert (tmp_path / "e.csv").read_bytes() == (tmp_path / "d.csv").read_bytes()
    curve(rig, 51).keyframe_points[-1].co[1] = 0.5
    ops().export_anim.servo_motion(filepath=str(tmp_path / "e.csv"), angle_unit="DEG")
    last = (tmp_path / "e.csv").read_text().splitlines()[-1]
    assert [float(x) for x in last.split(",")] == pytest.approx([0.1, math.degrees(0.5), 500.0])


def test_motion_in_degrees_goes_to_webots_in_radians(rig: Any, tmp_path: Path) -> None:
    imported(put_xmdi(tmp_path / "w.xmdi", Motion("m", [servo("Left Hip", [0, 0.32], [0, 90])])), angle_unit="DEG")
    assert track(exported(tmp_path / "w.motion"), "Left Hip").values == pytest.approx([0, math.pi / 2])


def test_what_drivers_and_constraints_move_is_written_beside_what_is_keyed(rig: Any, tmp_path: Path) -> None:
    key(rig, 51, [(1, 0.0), (7, 1.0)])
    bone_of(rig, 52).driver_add("location", 2).driver.expression = "0.1 * frame"
    found = exported(tmp_path / "a.xmdi")
    assert sorted(each.name for each in found.trajectories) == ["Left Hip", "Lift"]
    assert track(found, "Lift").values[0] == pytest.approx(0.1, abs=1e-6)


def test_servos_that_move_nothing_survive_a_second_file(rig: Any, tmp_path: Path) -> None:
    one = put_xmdi(
        tmp_path / "a.xmdi", Motion("a", [servo("Lift", [0, 1.6], [0, 1]), servo("Tail", [0, 0.32], [5, 6])])
    )
    two = put_xmdi(tmp_path / "b.xmdi", Motion("b", [servo("Left Hip", [0], [1]), servo("Ears", [0.32], [7])]))
    imported(one)
    imported(two, action="LAYER", frame_start=31)
    found = exported(tmp_path / "out.xmdi")
    assert [each.name for each in found.trajectories] == ["Lift", "Tail", "Left Hip", "Ears"]
    assert track(found, "Tail").values.tolist() == [5, 6]
    assert track(found, "Ears").times.tolist() == pytest.approx([0.82])  # 31 is half a second later at 60 frames/s


def test_servos_that_move_nothing_keep_step_with_the_range(rig: Any, tmp_path: Path) -> None:
    imported(
        put_xmdi(tmp_path / "a.xmdi", Motion("a", [servo("Lift", [0, 3.2], [0, 1]), servo("Tail", [0, 3.2], [5, 6])]))
    )
    found = exported(tmp_path / "out.xmdi", frame_start=1 + 96, frame_end=1 + 144)  # 1.6 s to 2.4 s
    assert track(found, "Tail").values == pytest.approx([5.5, 5.75])
    assert track(found, "Lift").values == pytest.approx([0.5, 0.75], abs=1e-6)


def test_another_number_of_a_ball_leaves_the_others_as_they_are(rig: Any, tmp_path: Path) -> None:
    """By layering, and by naming a servo afterwards."""
    imported(put_xmdi(tmp_path / "a.xmdi", Motion("a", [servo("Neck/rx", [0, 0.32, 0.64], [0.5, 0.3, 0.5])])))
    imported(put_xmdi(tmp_path / "b.xmdi", Motion("b", [servo("Neck/rz", [0, 0.64], [0.1, 0.2])])), action="LAYER")
    found = exported(tmp_path / "out.csv", keys="SAMPLED", step=320.0)
    assert track(found, "Neck/rx").values == pytest.approx([0.5, 0.3, 0.5], abs=1e-4)
    assert track(found, "Neck/rz").values == pytest.approx([0.1, 0.15, 0.2], abs=1e-4)
    twist = Motion("c", [servo("Neck/rx", [0, 0.64], [0.5, 0.3]), servo("Twist", [0, 0.64], [0.0, 0.4])])
    imported(put_xmdi(tmp_path / "c.xmdi", twist))
    ops().knuckle.add_servo_name(name="Twist", servo="Neck/ry")
    ops().knuckle.key_left_over()
    found = exported(tmp_path / "out.csv", keys="SAMPLED", step=320.0)
    assert track(found, "Neck/rx").values == pytest.approx([0.5, 0.4, 0.3], abs=1e-4)
    ops().export_anim.servo_motion(filepath=str(tmp_path / "c_out.xmdi"))
    assert (tmp_path / "c_out.xmdi").read_bytes() == (tmp_path / "c.xmdi").read_bytes()


def test_a_layer_takes_the_time_of_its_motion_from_its_servos(rig: Any, tmp_path: Path) -> None:
    """One key of it, held: the older keys of that servo go for as long as the motion lasts."""
    key(rig, 51, [(frame, 1.0) for frame in (1, 40, 80, 200)])
    imported(
        put_xmdi(tmp_path / "b.xmdi", Motion("b", [servo("Left Hip", [0], [0.5]), servo("Lift", [0, 1.6], [0, 1])])),
        action="LAYER",
        frame_start=21,
    )
    assert [point.co[0] for point in curve(rig, 51).keyframe_points] == [1, 21, 200]


def test_a_motion_that_was_cut_down_before_it_was_keyed(rig: Any, tmp_path: Path) -> None:
    """What a script leaves out stays out, and the others keep their numbers and names."""
    from addon.blender.animation import apply, read_motion

    path = put_file(tmp_path / "wave.xmdi", XMDI, "iso-8859-1")
    motion = formats.load_motion(path)
    motion.trajectories = [each for each in motion.trajectories if each.name in {"Neck/rx", "Lift"}][::-1]
    apply(motion, collection(rig))
    found, _report = read_motion(collection(rig))
    assert {each.name: each.values.tolist() for each in found.trajectories} == {
        "Lift": [0.123456789012345678, 0.1],
        "Neck/rx": [0, 1.25, 3.5],
    }


def test_a_stack_plays_and_goes_out_as_it_came_in(rig: Any, tmp_path: Path) -> None:
    path = put_file(tmp_path / "a.motion", "#WEBOTS_MOTION,V1.0,Left Hip,Tail\n0,a,0.10,1\n1:000,b,.5,2\n")
    imported(path, use_nla=True)
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.motion"))
    assert (tmp_path / "out.motion").read_bytes() == path.read_bytes()
    assert ops().knuckle.offset_motion(frames=5.0) == {"FINISHED"}, "the tools mean what plays"
    assert ops().knuckle.offset_motion(frames=-5.0) == {"FINISHED"}
    two = put_xmdi(tmp_path / "b.xmdi", Motion("b", [servo("Lift", [0, 0.32], [0, 1])]))
    imported(two)
    assert exported(tmp_path / "b_out.xmdi").trajectories[0].name == "Lift"
    assert posed(rig, 51, 50)[0, 1] == pytest.approx(posed(rig, 51, 10)[0, 1]), (
        "the stack is silent while another plays"
    )
    assert ops().knuckle.use_motion(motion="a") == {"FINISHED"}
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.motion"))
    assert (tmp_path / "out.motion").read_bytes() == path.read_bytes()


def test_a_moved_key_keeps_its_value_and_a_motion_that_comes_back_is_the_same(rig: Any, tmp_path: Path) -> None:
    path = put_xmdi(tmp_path / "a.xmdi", Motion("a", [servo("Left Hip", [0, 0.32, 0.64], [0.1, 1.7, 0.3])]))
    imported(path)
    curve(rig, 51).keyframe_points[1].co[0] += 1.92  # one step at 60 frames a second
    text = path.read_text().replace("0 10 20", "0 11 20")
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.xmdi"))
    assert (tmp_path / "out.xmdi").read_text() == text
    imported(path)
    ops().knuckle.offset_motion(frames=10.0)
    ops().knuckle.offset_motion(frames=-10.0)
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.xmdi"))
    assert (tmp_path / "out.xmdi").read_bytes() == path.read_bytes()


def test_what_physics_drives_does_not_hide_the_other_motions(rig: Any, tmp_path: Path) -> None:
    path = put_file(tmp_path / "wave.xmdi", XMDI, "iso-8859-1")
    imported(path)
    rig.data.knuckle.drive = "SERVO"
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.xmdi"), motions="ALL")
    assert (tmp_path / "out.xmdi").read_bytes() == path.read_bytes()


def test_every_action_is_by_itself_and_the_pose_is_put_back(rig: Any, tmp_path: Path) -> None:
    from addon.blender.animation import apply

    for motion in (Motion("A", [servo("Lift", [0, 0.32], [0.7, 0.7])]), Motion("B", [servo("Left Hip", [0], [0.1])])):
        apply(motion, collection(rig))
    for pose in rig.pose.bones:
        pose.location = (0, 0, 0)
    ops().export_anim.servo_motion(filepath=str(tmp_path / "all.xmdi"), motions="ALL", servos="ALL", keys="SAMPLED")
    _a, b = formats.load_motions(tmp_path / "all.xmdi")
    assert track(b, "Lift").values == pytest.approx(0.0)
    assert rig.animation_data.action.name == "B"
    assert all(tuple(pose.location) == (0, 0, 0) for pose in rig.pose.bones)


@pytest.mark.parametrize("frame", [1, 30])
def test_a_constraint_that_is_switched_on_later_counts_at_every_frame(rig: Any, tmp_path: Path, frame: int) -> None:
    imported(put_xmdi(tmp_path / "a.xmdi", Motion("a", [servo("Left Hip", [0, 0.64], [0, 0])])))
    limit = bone_of(rig, 51).constraints.new("LIMIT_ROTATION")
    limit.owner_space, limit.use_limit_z, limit.min_z, limit.max_z = "LOCAL", True, 0.5, 1.0
    for at, influence in ((1, 0.0), (30, 1.0)):
        limit.influence = influence
        limit.keyframe_insert("influence", frame=at)
    scene().frame_set(frame)
    assert track(exported(tmp_path / "out.xmdi"), "Left Hip").values[-1] == pytest.approx(0.5, abs=1e-5)


def test_a_loop_is_written_for_as_long_as_is_asked(rig: Any, tmp_path: Path) -> None:
    wave = Motion("a", [servo("Left Hip", [0, 0.32, 0.64], [0, 1, 0])])
    path = put_xmdi(tmp_path / "a.xmdi", wave)
    imported(path, use_cyclic=True)
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.xmdi"))
    assert (tmp_path / "out.xmdi").read_bytes() == path.read_bytes()
    found = track(exported(tmp_path / "b.xmdi", frame_start=1, frame_end=601), "Left Hip")
    assert found.times[-1] >= 10.0
    times = np.minimum(found.times, 10.0)  # the last sample is of the last frame
    assert found.values == pytest.approx(np.interp(times % 0.64, [0, 0.32, 0.64], [0, 1, 0]), abs=1e-4)


def test_servos_of_different_length_repeat_together(rig: Any, tmp_path: Path) -> None:
    two = Motion("a", [servo("Left Hip", [0, 0.64], [0, 1]), servo("Lift", [0, 0.32], [0, 1])])
    imported(put_xmdi(tmp_path / "a.xmdi", two), use_cyclic=True)
    at = 1 + 0.8 * 60
    assert posed(rig, 52, at)[2, 3] == pytest.approx(0.5, abs=1e-3), "a quarter of the second round"


def test_servos_without_keys_stay_so(rig: Any, tmp_path: Path) -> None:
    for name, text in (
        ("a.motion", "#WEBOTS_MOTION,V1.0,Left Hip,Lift\n0,a,*,0.5\n1:000,b,*,1\n"),
        (
            "a.xmdi",
            '<x><y><motion name=""><servo name="Left Hip"><position/><frames/></servo>'
            '<servo name="Neck/rx"><position>1</position><frames>0</frames></servo>'
            '<servo name="Neck/ry"><position></position><frames></frames></servo></motion></y></x>\n',
        ),
    ):
        path = put_file(tmp_path / name, text)
        imported(path)
        out = tmp_path / f"out{path.suffix}"
        ops().export_anim.servo_motion(filepath=str(out))
        assert out.read_bytes() == path.read_bytes()
        exported(out, frame_start=1, frame_end=10)


def test_a_value_that_is_not_finite_is_rejected_by_the_export(rig: Any, tmp_path: Path) -> None:
    import bpy

    key(rig, 51, [(1, 0.0), (7, 1.0)])
    driver = bone_of(rig, 52).driver_add("location", 2).driver
    driver.expression = "sqrt(-frame)" if bpy.app.version < (1,) else "frame - frame + float('nan')"
    bpy.context.preferences.filepaths.use_scripts_auto_execute = True
    scene().frame_set(2)
    if math.isnan(bone_of(rig, 52).location[2]):
        with pytest.raises(RuntimeError, match="'Lift': its value is not finite, first at 0 s"):
            exported(tmp_path / "a.xmdi", tolerance=0.1)
    assert not (tmp_path / "a.xmdi").exists() or track(formats.load_motion(tmp_path / "a.xmdi"), "Lift")


def test_while_a_strip_is_tweaked_nothing_is_done(rig: Any, tmp_path: Path) -> None:
    import bpy

    path = put_xmdi(tmp_path / "a.xmdi", Motion("a", [servo("Lift", [0, 0.32], [0, 1])]))
    imported(path, use_nla=True)
    data = rig.animation_data
    strip = data.nla_tracks[0].strips[0]
    data.nla_tracks.active = data.nla_tracks[0]
    strip.select = True
    data.use_tweak_mode = True
    assert data.use_tweak_mode
    actions = len(bpy.data.actions)
    with pytest.raises(RuntimeError, match="an NLA strip is in tweak mode. Leave tweak mode"):
        imported(path)
    assert len(bpy.data.actions) == actions


def test_a_rejected_import_leaves_the_scene_as_it_was(rig: Any, tmp_path: Path) -> None:
    key(rig, 51, [(1, 0.0), (7, 1.0)])
    curve(rig, 51).modifiers.new("NOISE")
    before = scene().render.fps, scene().render.fps_base
    path = put_xmdi(tmp_path / "a.xmdi", Motion("a", [servo("Left Hip", [0, 0.32], [0, 1])]))
    with pytest.raises(RuntimeError, match="it has modifiers, and Cycles must be the first. Remove them"):
        imported(path, action="LAYER", use_cyclic=True, update_scene_fps=True)
    assert (scene().render.fps, scene().render.fps_base) == before
    assert [point.co[:] for point in curve(rig, 51).keyframe_points] == [(1, 0), (7, 1)]


def test_a_motion_past_blenders_last_frame_is_exported_unchanged(rig: Any, tmp_path: Path) -> None:
    path = put_xmdi(tmp_path / "a.xmdi", Motion("a", [servo("Lift", [0, 3.2e10], [0, 1])]))
    imported(path)
    assert scene().frame_end == 1048574
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.xmdi"))
    assert (tmp_path / "out.xmdi").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("step", "fps", "base"), [(40, 25, 1), (20, 50, 1), (1000, 25, 1), (100, 10, 1), (250, 28, 1), (3, 125, 4)]
)
def test_rates_that_one_can_work_at(rig: Any, tmp_path: Path, step: int, fps: int, base: int) -> None:
    rows = "".join(f"{k * step},p,{k}\n" for k in range(4))
    imported(put_file(tmp_path / "a.motion", f"#WEBOTS_MOTION,V1.0,Lift\n{rows}"), update_scene_fps=True)
    assert (scene().render.fps, scene().render.fps_base) == (fps, base)


def test_a_start_between_frames(rig: Any, tmp_path: Path) -> None:
    from addon.blender.animation import apply, read_motion

    motion = Motion("a", [servo("Lift", np.arange(200) * 0.032, np.arange(200) / 7)])
    (read,), _report = formats.loads_motions(formats.dumps_motions(motion, "xmdi").encode())
    apply(read, collection(rig), start=7.7)
    found, _report = read_motion(collection(rig))
    assert found.trajectories[0].times.tolist() == read.trajectories[0].times.tolist()
    assert found.trajectories[0].values.tolist() == read.trajectories[0].values.tolist()


def test_a_name_that_nobody_has_explained_yet_is_matched_as_before(rig: Any, tmp_path: Path) -> None:
    path = put_xmdi(tmp_path / "a.xmdi", Motion("a", [servo("Lift", [0], [1]), servo("Wing", [0], [1])]))
    imported(path)
    ops().knuckle.list_left_over()
    row = rig.data.knuckle.servo_names["Wing"]
    bone_of(rig, 51).name = "Wing"
    imported(path)
    assert len(curves_of(rig)) == 2
    row.leave_out = True
    imported(path)
    assert len(curves_of(rig)) == 1


def test_what_happened_is_in_the_models_report(rig: Any, tmp_path: Path) -> None:
    imported(put_xmdi(tmp_path / "a.xmdi", Motion("a", [servo("left_hip", [0, 0.32], [0, 1])])))
    curve(rig, 51).keyframe_points[0].interpolation = "BEZIER"
    exported(tmp_path / "out.xmdi", tolerance=0.01)
    codes = {line.code for line in rig.data.knuckle.report}
    assert {"servo-matched", "curve-sampled", "keys-reduced"} <= codes
    lines = len(rig.data.knuckle.report)
    exported(tmp_path / "out.xmdi", tolerance=0.02)
    assert len(rig.data.knuckle.report) == lines, "the same again makes way"


def test_tools_and_files_edit_what_a_strip_shows(rig: Any, tmp_path: Path) -> None:
    """What is seen is what is written: the strip goes with its Action."""
    imported(put_xmdi(tmp_path / "a.xmdi", Motion("a", [servo("Lift", [0, 0.32, 0.64], [0, 1, 0])])), use_nla=True)
    assert ops().knuckle.loop_motion(rounds=3) == {"FINISHED"}
    for frame in (1 + 19.2, 1 + 38.4 + 19.2, 1 + 76.8 + 19.2):
        assert posed(rig, 52, frame)[2, 3] == pytest.approx(1.0, abs=1e-4)
    assert track(exported(tmp_path / "out.xmdi"), "Lift").times[-1] == pytest.approx(1.92)
    imported(put_xmdi(tmp_path / "b.xmdi", Motion("b", [servo("Left Hip", [0, 3.2], [0.5, 0.5])])), action="LAYER")
    assert rig.animation_data.action is None, "the strip goes on playing"
    assert sorted(each.name for each in exported(tmp_path / "out.xmdi").trajectories) == ["Left Hip", "Lift"]
    assert posed(rig, 51, 180)[1, 0] == pytest.approx(math.sin(0.5), abs=1e-5)


def test_a_strip_that_shows_a_part_is_sampled(rig: Any, tmp_path: Path) -> None:
    imported(put_xmdi(tmp_path / "a.xmdi", Motion("a", [servo("Lift", [0, 0.64], [0, 1])])), use_nla=True)
    rig.animation_data.nla_tracks[0].strips[0].action_frame_end = 1 + 19.2
    found = track(exported(tmp_path / "out.xmdi"), "Lift")
    assert found.values.max() == pytest.approx(0.5, abs=0.02)


def test_a_loop_in_a_stack_goes_on(rig: Any, tmp_path: Path) -> None:
    scene().frame_end = 300
    motion = Motion("a", [servo("Lift", [0, 0.32, 0.64], [0, 1, 0])])
    imported(put_xmdi(tmp_path / "a.xmdi", motion), use_nla=True, use_cyclic=True)
    assert posed(rig, 52, 1 + 5 * 38.4 + 19.2)[2, 3] == pytest.approx(1.0, abs=1e-4)


def test_no_word_of_moved_keys_where_none_was(rig: Any, tmp_path: Path) -> None:
    def warned() -> bool:
        return any(line.code == "left-over-times" for line in rig.data.knuckle.report)

    motion = Motion("a", [servo("Lift", [0, 0.32, 3.2], [0, 1, 0]), servo("Tail", [0], [1])])
    imported(put_xmdi(tmp_path / "a.xmdi", motion))
    exported(tmp_path / "out.xmdi", frame_start=20, frame_end=100)
    assert not warned()
    points = curve(rig, 52).keyframe_points
    points.remove(points[1])
    exported(tmp_path / "out.xmdi")
    assert not warned()
    ops().knuckle.scale_motion(speed=2.0)
    exported(tmp_path / "out.xmdi")
    assert warned()


def test_numbers_in_degrees_are_as_short_as_they_were(rig: Any, tmp_path: Path) -> None:
    path = put_file(tmp_path / "a.csv", "time,Left Hip,Lift\n0,10,150\n1.25,50,30.5\n")
    imported(path, angle_unit="DEG", length_unit="MM")
    for joint in (51, 52):
        curve(rig, joint).keyframe_points[1].co[0] += 6  # 0.1 s
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.csv"))
    assert (tmp_path / "out.csv").read_text() == path.read_text().replace("1.25", "1.35")


def test_a_ball_that_was_retimed_keeps_as_many_keys(rig: Any, tmp_path: Path) -> None:
    imported(put_xmdi(tmp_path / "a.xmdi", Motion("a", [servo("Neck/rx", [0, 0.64, 1.28], [0, 1.5, 0])])))
    ops().knuckle.scale_motion(speed=2.0)
    found = track(exported(tmp_path / "out.xmdi"), "Neck/rx")
    assert found.times == pytest.approx([0, 0.32, 0.64], abs=1e-6)
    assert found.values == pytest.approx([0, 1.5, 0], abs=1e-5)


def test_balls_and_hinges_follow_the_frame_rate_in_the_same_way(rig: Any, tmp_path: Path) -> None:
    motion = Motion("a", [servo("Neck/rx", [0, 0.64], [0, 1.5]), servo("Lift", [0, 0.64], [0, 1.5])])
    imported(put_xmdi(tmp_path / "a.xmdi", motion))
    scene().render.fps = 30
    found = exported(tmp_path / "out.xmdi")
    for name in ("Neck/rx", "Lift"):
        assert track(found, name).times.tolist() == pytest.approx([0, 1.28])
        assert track(found, name).values.tolist() == [0, 1.5]


def test_several_units_are_one_in_one_file(rig: Any, tmp_path: Path) -> None:
    imported(put_xmdi(tmp_path / "d.xmdi", Motion("d", [servo("Left Hip", [0, 0.32], [0, 90])])), angle_unit="DEG")
    imported(put_xmdi(tmp_path / "r.xmdi", Motion("r", [servo("Left Hip", [0, 0.32], [0, 1.5])])))
    imported(tmp_path / "r.xmdi")
    ops().export_anim.servo_motion(filepath=str(tmp_path / "all.xmdi"), motions="ALL")
    found = {motion.name: motion.trajectories[0].values[1] for motion in formats.load_motions(tmp_path / "all.xmdi")}
    assert found == {"d": pytest.approx(math.pi / 2), "r": 1.5, "r.001": 1.5}


def test_a_motion_of_nothing_stays_one(rig: Any, tmp_path: Path) -> None:
    path = put_file(
        tmp_path / "a.xmdi", '<x><y><motion name="m"><servo name="Lift"><position/><frames/></servo></motion></y></x>'
    )
    imported(path)
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.xmdi"))
    assert (tmp_path / "out.xmdi").read_bytes() == path.read_bytes()
