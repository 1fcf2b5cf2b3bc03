"""Demands of Actions on servos: against Blender's own evaluation, frame by frame and finer; when it is worked out; and
the rule of stops that exports and the panel share, at numbers that Blender rounds to 32 bits."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon.core.model import Dof, Joint, Mechanism, Motion, Trajectory
from addon.core.motion.servo_matching import mechanism_servos
from addon.core.report import FormatError
from tests.support.mechanisms import body, bone_of, curves_of, joint, key, model, put
from tests.support.retime_refused_helpers import mute

STOPS = (-30.0, 20.0)


def document() -> str:
    return model(
        body(1, (0, 0, 2)),
        body(2, (-1, 0, 1)),
        body(3, (1, 0, 1)),
        body(4, (0, 1, 1)),
        joint(11, 1, 2, (-1, 0, 2), (0, 90, 90), STOPS, name="Knee"),
        joint(12, 1, 3, (1, 0, 2), (0, 90, 0), name="Elbow", tag="PrismaticJoint"),
        joint(13, 1, 4, (0, 1, 2), name="Ball", tag="SphericalJoint"),
    )


@pytest.fixture
def rig(blank: Any) -> Any:
    return put(document())


@pytest.fixture
def scene(rig: Any) -> Any:
    import bpy

    bpy.context.scene.render.fps = 25
    bpy.context.scene.frame_start = 3
    return bpy.context.scene


def rows(rig: Any, scene: Any) -> dict[str, Any]:
    from addon.blender.animation.motion_checks import check_action

    return {row.found.name: row for row in check_action(rig, rig.animation_data.action, scene)}


def knee(rig: Any, keys: Any, kind: str) -> Any:
    key(rig, 11, keys, kind)
    return curves_of(rig)[0]


@pytest.mark.parametrize("kind", ["LINEAR", "CONSTANT", "BEZIER", "SINE", "BOUNCE"])
def test_the_stops_are_passed_at_the_frames_of_blenders_evaluation(rig: Any, scene: Any, kind: str) -> None:
    curve = knee(rig, [(3, 0.0), (13, 1.1), (28, -0.9), (40, 0.1), (53, 0.0)], kind)
    found = rows(rig, scene)["Knee"].found
    frames = np.linspace(3, 53, 5001)
    values = np.array([curve.evaluate(frame) for frame in frames])
    low, high = bone_limits(rig)
    assert (found.lower, found.upper) == pytest.approx((low, high))
    assert (found.low, found.high) == pytest.approx((values.min(), values.max()), abs=2e-4)
    seen = (frames - 3) / 25
    for side, over in (("upper", values - high), ("lower", low - values)):
        mine = [each for each in found.outside if each.side == side]
        assert mine
        assert max(each.by for each in mine) == pytest.approx(over.max(), abs=2e-4)
        assert min(each.start for each in mine) == pytest.approx(seen[over > 0].min(), abs=0.01)
        assert max(each.end for each in mine) == pytest.approx(seen[over > 0].max(), abs=0.01)


def bone_limits(rig: Any) -> tuple[float, float]:
    dof = next(obj for obj in rig.data.knuckle.collection.all_objects if obj.name == "Knee").knuckle.joint.dofs[0]
    return dof.lower, dof.upper


def test_a_bezier_curve_is_as_fast_as_it_is(rig: Any, scene: Any) -> None:
    """The cubic from rest to rest over n frames, 3 s² - 2 s³: 1.5 times the mean at most, and 6/n² at its ends."""
    curve = knee(rig, [(3, 0.0), (53, 0.3)], "BEZIER")
    for point, (left, right) in zip(
        curve.keyframe_points, [((0, 0), (50 / 3, 0)), ((-50 / 3, 0), (0, 0))], strict=True
    ):
        point.handle_left_type = point.handle_right_type = "FREE"
        point.handle_left = point.co[0] + left[0], point.co[1]
        point.handle_right = point.co[0] + right[0], point.co[1]
    curve.update()
    found = rows(rig, scene)["Knee"].found
    assert found.velocity == pytest.approx(1.5 * 0.3 / 2.0, rel=2e-3)
    assert found.velocity_at == pytest.approx(1.0, abs=0.05)
    assert found.acceleration == pytest.approx(6 * 0.3 / 4.0, rel=0.1)


def test_a_ball_is_checked_by_its_rotation_vector(rig: Any, scene: Any) -> None:
    from addon.blender.animation import apply
    from addon.core.model import Motion, Trajectory

    times = np.array([0.0, 1.0, 2.0])
    values = {"Ball/rx": [0.0, 0.6, 0.0], "Ball/ry": [0.0, -0.4, 0.2], "Ball/rz": [0.1, 0.1, 0.1]}
    tracks = [Trajectory(name, times, np.array(each)) for name, each in values.items()]
    apply(Motion("turn", tracks), rig.data.knuckle.collection, scene)
    found = rows(rig, scene)
    for name, each in values.items():
        assert found[name].found.low == pytest.approx(min(each), abs=1e-3)
        assert found[name].found.high == pytest.approx(max(each), abs=1e-3)
        assert found[name].turns
    assert found["Ball/rx"].found.velocity == pytest.approx(0.6, rel=0.02)


def test_long_motions_of_balls_are_checked_in_a_moment(rig: Any, scene: Any) -> None:
    """100,000 keys, from each of which it turns so far that it is looked at in between, past many whole turns."""
    from addon.blender.animation.keying import key_servos
    from addon.blender.animation.motion_checks import check_action

    frames = np.arange(3.0, 100_003.0)
    values = np.sin(frames / 500.0)[:, None] * [40.0, -20.0, 10.0]
    action = key_servos(rig, "long", {"13": (frames, values, 1)}, between=False)
    begun = time.process_time()
    found = {row.found.name: row.found for row in check_action(rig, action, scene)}
    assert time.process_time() - begun < 4.0  # about 0.5 where nothing else runs
    for name, most in (("Ball/rx", 40.0), ("Ball/ry", 20.0), ("Ball/rz", 10.0)):
        assert (found[name].low, found[name].high) == pytest.approx((-most, most), abs=5e-3)


def test_overviews_are_of_the_actions_that_key_its_servos(rig: Any, scene: Any) -> None:
    import bpy

    from addon.blender.animation.motion_checks import motion_overviews

    assert motion_overviews(rig, scene) == []
    knee(rig, [(4, 0.0), (30, 0.2)], "LINEAR")
    bpy.data.actions.new("empty")
    light = bpy.data.objects.new("light", None)
    light.keyframe_insert("location", frame=1)
    rig.keyframe_insert("location", frame=50)
    (found,) = motion_overviews(rig, scene)
    assert (found.name, found.first, found.last, found.servos) == (rig.animation_data.action.name, 4, 30, 1)


@pytest.mark.parametrize("remap", [(100, 200), (100, 50), (60, 80)])
def test_times_are_those_at_which_blender_shows_it(rig: Any, scene: Any, remap: tuple[int, int]) -> None:
    """Also where time is remapped, and as exports have them."""
    from addon.blender.animation import apply, read_motion
    from addon.blender.animation.motion_checks import action_motion, motion_overviews
    from addon.blender.ui.joints.joint_list import frame_at_time
    from addon.core.model import Motion, Trajectory

    scene.render.fps_base = 1.25
    scene.render.frame_map_old, scene.render.frame_map_new = remap
    times = np.array([0.0, 1.0, 2.0])
    action, _ = apply(Motion("m", [Trajectory("Knee", times, np.array([0.0, 0.9, 0.0]))]), collection(rig), scene)
    (mine,) = action_motion(rig, action, scene).trajectories
    assert mine.times == pytest.approx(times, abs=1e-5)
    assert mine.times == pytest.approx(read_motion(collection(rig), scene)[0].trajectories[0].times, abs=1e-5)
    (overview,) = motion_overviews(rig, scene)
    assert (overview.first, overview.last, overview.duration) == pytest.approx((3.0, 43.0, 2.0), abs=1e-4)
    found = rows(rig, scene)["Knee"].found
    assert found.worst is not None and found.velocity == pytest.approx(0.9, rel=1e-4)
    frame = frame_at_time(scene, found.worst.worst)
    scene.frame_set(int(frame), subframe=frame % 1.0)
    assert bone_of(rig, 11).rotation_euler[2] == pytest.approx(0.9, abs=1e-4)


def collection(rig: Any) -> Any:
    return rig.data.knuckle.collection


@pytest.mark.parametrize("how", ["curve", "group"])
def test_muted_curves_do_not_count(rig: Any, scene: Any, how: str) -> None:
    from addon.blender.animation.motion_checks import motion_overviews

    silent = knee(rig, [(3, 0.0), (900, 1.0)], "LINEAR")
    key(rig, 12, [(3, 0.0), (30, 0.2)], "LINEAR")
    mute(silent, how)
    assert rows(rig, scene).keys() == {"Elbow"}
    (found,) = motion_overviews(rig, scene)
    assert (found.first, found.last, found.servos) == (3, 30, 1)
    loud = next(c for c in curves_of(rig) if c != silent)
    loud.modifiers.new("CYCLES")
    assert motion_overviews(rig, scene)[0].cycles
    loud.modifiers[0].mute = True
    assert not motion_overviews(rig, scene)[0].cycles
    loud.mute = True
    assert motion_overviews(rig, scene) == []


# ---------------------------------------------------------------- when it is worked out


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The Actions that are read, one after the other."""
    from addon.blender.animation import motion_checks

    real, read = motion_checks.check_action, []

    def counted(rig: Any, action: Any, scene: Any) -> Any:
        read.append(action.name)
        return real(rig, action, scene)

    monkeypatch.setattr(motion_checks, "check_action", counted)
    return read


def test_motion_checks_are_computed_once_until_a_change(rig: Any, scene: Any, counting: list[str]) -> None:
    import bpy

    from addon.blender.animation.motion_checks import cached_rows

    knee(rig, [(3, 0.0), (30, 0.2)], "LINEAR")
    bpy.context.view_layer.update()
    first = cached_rows(rig, scene)
    for frame in (5, 6, 7):
        scene.frame_set(frame)
        bone_of(rig, 11).rotation_euler[2] = 0.1
        bpy.context.view_layer.update()
        assert cached_rows(rig, scene) is first
    assert len(counting) == 1


def edit_key(rig: Any, scene: Any) -> None:
    curves_of(rig)[0].keyframe_points[1].co[1] = 1.0
    curves_of(rig)[0].update()


def insert_key(rig: Any, scene: Any) -> None:
    bone_of(rig, 11).rotation_euler[2] = 1.0
    bone_of(rig, 11).keyframe_insert("rotation_euler", index=2, frame=20)


def move_stop(rig: Any, scene: Any) -> None:
    dof = next(o for o in rig.data.knuckle.collection.all_objects if o.name == "Knee").knuckle.joint.dofs[0]
    dof.use_upper, dof.upper = True, 0.1


def other_rate(rig: Any, scene: Any) -> None:
    scene.render.fps = 50


def other_action(rig: Any, scene: Any) -> None:
    from addon.blender.animation.keying import key_servos

    key_servos(rig, "other", {"11": (np.array([3.0, 9.0]), np.array([0.0, 1.0]), 1)})


def retimed(rig: Any, scene: Any) -> None:
    from addon.blender.animation.retiming import scale_action_speed

    scale_action_speed(rig, 3.0, 3.0)


def rename_bone(rig: Any, scene: Any) -> None:
    rig.data.bones[bone_of(rig, 11).name].name = "Shank"


def rename_joint(rig: Any, scene: Any) -> None:
    next(o for o in rig.data.knuckle.collection.all_objects if o.name == "Knee").name = "Shin"


def remap_time(rig: Any, scene: Any) -> None:
    scene.render.frame_map_new = 250


CHANGES = [rename_bone, rename_joint, remap_time, edit_key, insert_key, move_stop, other_rate, other_action, retimed]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(rig: Any, scene: Any, change: Any) -> None:
    import bpy

    from addon.blender.animation.motion_checks import cached_rows, check_action

    knee(rig, [(3, 0.0), (30, 0.2)], "LINEAR")
    bpy.context.view_layer.update()
    before = cached_rows(rig, scene)
    change(rig, scene)
    bpy.context.view_layer.update()  # as Blender does before it draws
    after = cached_rows(rig, scene)
    assert after != before
    assert after == check_action(rig, rig.animation_data.action, scene)


def test_a_servo_of_a_renamed_joint_can_be_shown(rig: Any, scene: Any) -> None:
    import bpy

    from addon.blender.animation.motion_checks import cached_rows

    knee(rig, [(3, 0.0), (30, 0.2)], "LINEAR")
    bpy.context.view_layer.objects.active = rig
    cached_rows(rig, scene)
    rename_joint(rig, scene)
    (row,) = cached_rows(rig, scene)  # even before Blender tells of it
    assert row.found.name == "Shin"
    assert bpy.ops.knuckle.show_servo(servo=row.found.name, frame=5.0) == {"FINISHED"}


def test_numbers_of_a_ball_that_nothing_keys_are_those_of_the_pose(rig: Any, scene: Any, counting: list[str]) -> None:
    """And rows that have them are kept while the pose has them."""
    import bpy

    from addon.blender.animation.motion_checks import cached_rows, check_action

    ball = bone_of(rig, 13)
    for frame, x in ((3, 0.0), (13, 0.6)):
        ball.rotation_quaternion = (0.8, x, 0.0, 0.0)
        for index in (0, 1):
            ball.keyframe_insert("rotation_quaternion", index=index, frame=frame)
    bpy.context.view_layer.update()
    before = cached_rows(rig, scene)
    for frame in (3, 8, 13):
        scene.frame_set(frame)
        assert cached_rows(rig, scene) is before, "what is keyed changes with the frame, the rest does not"
    assert len(counting) == 1
    ball.rotation_quaternion[3] = 0.3
    bpy.context.view_layer.update()
    after = cached_rows(rig, scene)
    assert after != before and after == check_action(rig, rig.animation_data.action, scene)


def test_drawing_costs_nothing_while_nothing_changes(blank: Any) -> None:
    """30 servos of 10,000 keys."""
    import bpy

    from addon.blender.animation.keying import key_servos
    from addon.blender.animation.motion_checks import cached_overviews, cached_rows

    parts = [body(1, (0, 0, 2))]
    for k in range(30):
        parts += [body(2 + k, (1 + k, 0, 2)), joint(101 + k, 1 + k, 2 + k, (0.5 + k, 0, 2), (0, 90, 0), (-40, 40))]
    rig = put(model(*parts))
    frames, rng = np.arange(1.0, 10001.0), np.random.default_rng(0)
    key_servos(rig, "long", {str(101 + k): (frames, rng.normal(size=10000), 1) for k in range(30)})
    bpy.context.view_layer.update()
    assert len(cached_rows(rig, bpy.context.scene)) == 30
    spent = []
    for _ in range(20):
        begun = time.process_time()
        cached_rows(rig, bpy.context.scene)
        cached_overviews(rig, bpy.context.scene)
        spent.append(time.process_time() - begun)
    assert sorted(spent)[10] < 1e-3


def told(rig: Any, motion: Motion) -> list[bool]:
    """Stops that a motion leaves, in the panel, in an export that keeps values and in one that does not."""
    import bpy

    from addon.blender.animation import SampleOptions, apply, read_motion
    from addon.blender.animation.motion_checks import check_action

    scene, collection = bpy.context.scene, rig.data.knuckle.collection
    action, _ = apply(motion, collection, scene)
    seen = [any(row.found.outside for row in check_action(rig, action, scene))]
    _, report = read_motion(collection, scene, SampleOptions(stops="KEEP"))
    seen.append(any(entry.code == "values-beyond-stops" for entry in report.entries))
    try:
        read_motion(collection, scene, SampleOptions(stops="REFUSE"))
        seen.append(False)
    except FormatError:
        seen.append(True)
    return seen


@pytest.mark.parametrize("over", [0.0, 5e-5, 1e-2])
def test_a_files_number_is_on_the_stop_that_it_gives(blank: Any, tmp_path: Path, over: float) -> None:
    """It goes out with the file's own digits, which the stop in Blender has not."""
    from addon import formats

    rig = put(
        model(
            body(1, (0, 0, 4)),
            body(2, (0, 0, 2)),
            joint(52, 1, 2, (0, 1.5, 4), (0, 0, 0), (-500.3, 500.3), name="Lift", tag="PrismaticJoint"),
        )
    )
    path = tmp_path / "lift.csv"
    path.write_text(f"time,Lift\n0,0\n1,{500.3 + over:.5f}\n2,{-500.3 - over:.5f}\n", encoding="utf-8")
    (motion,), _ = formats.read_motions(path)
    assert told(rig, motion) == [over > 1e-3] * 3


@pytest.mark.parametrize("over", [0.0, 0.1])
def test_a_ball_has_the_stops_of_its_parts(blank: Any, over: float) -> None:
    from addon.blender.animation.motion_checks import dof_stops

    parts = [Dof("rotation", lower=-0.1 * k, upper=0.2 * k) for k in (1, 2, 3)]
    source = Mechanism("robot", joints=[Joint("1", "Hip", "ball", "a", "b", dofs=[Dof("ball", parts=parts)])])
    rig = put(
        model(body(1, (0, 0, 4)), body(2, (0, 0, 2)), joint(9, 1, 2, (0, 0, 3), name="Hip", tag="SphericalJoint"))
    )
    from addon.blender.data.access import record_of
    from addon.blender.data.conversion import write_dofs
    from addon.blender.data.queries import parts as parts_of

    (empty,) = parts_of(rig, "JOINT")
    record = record_of(empty).joint
    kept = record.dofs[0]
    placed = kept.step, kept.channel
    record.dofs.clear()
    write_dofs(record, source.joints[0].dofs)
    record.dofs[0].step, record.dofs[0].channel = placed
    for number, servo in enumerate(mechanism_servos(source).values()):
        assert dof_stops(parts_of(rig, "JOINT"))["9", number] == pytest.approx(servo.stops)
    values = np.array([0.0, 0.4 + over])
    assert told(rig, Motion("m", [Trajectory("Hip/ry", np.arange(2.0), values)])) == [over > 0.0] * 3
