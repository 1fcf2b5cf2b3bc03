"""Posing or keying the driver of a loop moves the rest of it: measured on evaluated bodies, against the closed answers
that are known of a mechanism, or as the distance between the two sides of every pivot."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.blender.compat import use_action
from addon.blender.data.queries import parts
from addon.core.model import Mechanism
from tests.support import loops
from tests.support.emptied import empty_file
from tests.support.live_loops_helpers import (
    WITHIN,
    Pivots,
    codes,
    driver,
    key_driver,
    live,
    off,
    pose_driver,
    put,
    rocker,
    triangle,
)
from tests.support.mechanisms import objects_of, world_of
from tests.support.scenes import made, the_rig

SAMPLES = Path(__file__).resolve().parents[4] / "sample_models"

Made = dict[str, Callable[[], Mechanism]]
MADE: Made = {
    "crank-rocker": loops.crank_rocker,
    "klann": loops.klann,
    "sarrus": loops.sarrus,
    "bricard": loops.bricard,
    "pumpjack": lambda: formats.load(SAMPLES / "pumpjack" / "pumpjack.json"),
    "small": lambda: loops.crank_rocker(scale=0.005),
}


def followers(rig: Any) -> list[Any]:
    return [empty for empty in objects_of(rig, "JOINT").values() if empty.knuckle.joint.is_dependent]


@pytest.mark.parametrize("name", MADE)
def test_keys_of_the_driver_alone_play_the_whole_mechanism(blank: Any, name: str) -> None:
    mechanism = MADE[name]()
    rig = put(mechanism)
    pivots = Pivots(mechanism, rig)
    start = driver(rig).start
    key_driver(rig, {1.0: start, 41.0: start + (1.2 if name in ("sarrus", "bricard") else 4.0 * math.pi)})
    places = set()
    for step in range(0, 120, 3):
        frame, rest = divmod(1.0 + step / 3.0 + 0.21 * (step % 2), 1.0)
        blank.scene.frame_set(int(frame), subframe=rest)
        assert pivots.gap() < WITHIN
        places.add(tuple(round(x, 4) for x in pivots.body(mechanism.bodies[-1].id)[:3, 0]))
    assert len(places) > (1 if name == "sarrus" else 10)


def test_a_crank_moves_its_rocker_as_in_trigonometry(blank: Any) -> None:
    rig = put(loops.crank_rocker(0.8))
    key_driver(rig, {1.0: 0.0, 101.0: 4.0 * math.pi})
    sign = None
    for frame in (1, 7, 23.5, 100.25, 55, 101, 2, 88.125):
        blank.scene.frame_set(int(frame), subframe=frame % 1.0)
        turned = (frame - 1.0) / 100.0 * 4.0 * math.pi
        errors = {way: off(rocker(rig), loops.rocker_angle(0.8 + way * turned)) for way in (1, -1)}
        sign = sign or (min(errors, key=lambda way: errors[way]) if frame > 1 else None)
        assert errors[sign or 1] < 1e-5


def test_posing_the_driver_by_hand_moves_the_rest(blank: Any) -> None:
    mechanism = loops.klann()
    rig = put(mechanism)
    pivots = Pivots(mechanism, rig)
    before = pivots.body("leg")
    for value in (0.3, 0.31, -1.0, 2.5, 27.0):
        pose_driver(rig, value)
        assert pivots.gap() < WITHIN
    assert np.abs(pivots.body("leg") - before).max() > 0.1
    pose_driver(rig, 0.0)
    assert np.array_equal(pivots.body("leg"), before)


def test_however_a_position_is_come_to_it_is_the_same(blank: Any) -> None:
    rig = put(loops.klann())
    key_driver(rig, {1.0: 0.0, 101.0: 2.0 * math.pi})
    found = []
    for way in ([70], range(2, 71), [100, 70], [1, 35, 70]):
        for frame in way:
            blank.scene.frame_set(frame)
        found.append(np.array([world_of(obj) for obj in objects_of(rig, "BODY").values()]))
    assert all(np.abs(each - found[0]).max() < 2e-6 for each in found)


def test_dependent_joints_are_locked_and_distinguished_from_input_joints(blank: Any) -> None:
    rig = put(loops.crank_rocker())
    assert {empty.name for empty in followers(rig)} == {"B", "D"}  # A drives, C closes the loop
    for bone in rig.pose.bones:
        held = [*bone.lock_rotation, *bone.lock_location]
        assert all(held) == (bone.name in "BD")
        assert (bone.color.palette == "CUSTOM") == (bone.name in "BD")


def test_no_loop_is_solved_while_no_input_joint_moves(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import bpy

    from addon.core.loops.linkage_solver import LinkageSolver

    rig = put(loops.crank_rocker())
    calls = []
    follow = LinkageSolver.follow
    monkeypatch.setattr(
        LinkageSolver, "follow", lambda self, given, **how: calls.append(given) or follow(self, given, **how)
    )
    live(rig)
    for frame in (1, 2, 3):
        blank.scene.frame_set(frame)
    rig.location.x = 1.0
    bpy.context.view_layer.update()
    assert not calls
    pose_driver(rig, 0.5)
    assert len(calls) == 1
    bpy.context.view_layer.update()
    blank.scene.frame_set(4)
    assert len(calls) == 1


def test_a_loop_follows_its_input_joint_in_a_reopened_file(blank: Any, tmp_path: Path) -> None:
    import bpy

    mechanism = loops.crank_rocker()
    rig = put(mechanism)
    key_driver(rig, {1.0: 0.0, 51.0: 6.0})
    blank.scene.frame_set(20)
    path = str(tmp_path / "loop.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    pivots = Pivots(mechanism, rig)
    for frame in (20, 33, 1):
        bpy.context.scene.frame_set(frame)
        assert pivots.gap() < WITHIN
    rig.animation_data_clear()
    pose_driver(rig, 1.7)
    assert pivots.gap() < WITHIN


def test_renders_have_the_followers_of_their_own_frame(blank: Any, tmp_path: Path) -> None:
    import bpy

    rig = put(loops.crank_rocker())
    key_driver(rig, {1.0: 0.0, 51.0: 6.0})
    bones = {name: rig.pose.bones[name] for name in "BD"}
    wanted = {}
    for frame in (3, 9, 15):
        blank.scene.frame_set(frame)
        wanted[frame] = [bone.rotation_euler.z for bone in bones.values()]
    scene = blank.scene
    scene.camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(scene.camera)
    scene.render.engine, scene.cycles.samples = "CYCLES", 1
    scene.render.resolution_x = scene.render.resolution_y = 4
    scene.render.filepath = str(tmp_path / "frame")
    scene.frame_start, scene.frame_end, scene.frame_step = 3, 15, 6
    seen = {}
    note = lambda scene, *_: seen.update(  # noqa: E731
        {scene.frame_current: [bone.rotation_euler.z for bone in bones.values()]}
    )
    bpy.app.handlers.render_post.append(note)
    try:
        bpy.ops.render.render(animation=True)
    finally:
        bpy.app.handlers.render_post.remove(note)
    assert seen.keys() == wanted.keys()
    for frame, values in wanted.items():
        assert seen[frame] == pytest.approx(values, abs=1e-5)


def test_what_drives_by_other_ways_than_keys_is_followed_too(blank: Any) -> None:
    mechanism = loops.crank_rocker()
    rig = put(mechanism)
    pivots, channel = Pivots(mechanism, rig), driver(rig)
    curve = rig.pose.bones[channel.bone].driver_add(channel.prop, channel.index)
    curve.driver.expression = "frame * 0.1"
    for frame in (5, 30, 31):
        blank.scene.frame_set(frame)
        assert pivots.gap() < WITHIN
        assert off(rocker(rig), loops.rocker_angle(0.8)) > 1e-3  # it has moved


def test_what_more_keys_than_drive_a_loop_leave_open_is_the_nearest_and_said(blank: Any) -> None:
    """Crank and rocker keyed, each elsewhere: what is between them is as near to both as can be."""
    from addon.blender.animation.keying import LINEAR, key_servos

    mechanism = loops.crank_rocker(0.8)
    rig = put(mechanism)
    pivots = Pivots(mechanism, rig)
    frames = np.array([1.0, 11.0])
    key_servos(rig, "two", {name: (frames, np.array([0.0, far]), LINEAR) for name, far in {"A": 0.5, "D": 0.5}.items()})
    blank.scene.frame_set(11)
    assert [rig.pose.bones[name].rotation_euler.z for name in "AD"] == pytest.approx([0.5, 0.5])
    open_by = pivots.gap()
    assert open_by > 0.01
    assert codes(rig) == {"loop-open"}
    joints = {joint.id: joint for joint in mechanism.joints}
    for nudge in (-0.02, 0.02):  # no other pose is nearer
        rig.pose.bones["B"].rotation_euler.z += nudge
        blank.view_layer.update()
        assert pivots._gap(joints["C"]) > 0.95 * open_by
        rig.pose.bones["B"].rotation_euler.z -= nudge
    blank.scene.frame_set(1)
    assert pivots.gap() < WITHIN
    assert not codes(rig)


def crank(rig: Any) -> float:
    """The crank's angle: from the ground's pivot through the middle of its bar."""
    middle = world_of(objects_of(rig, "BODY")["crank"])[:3, 3]
    return math.atan2(middle[2], middle[0])


def test_a_loop_is_held_at_its_dead_centre_and_comes_back_the_way_it_went(blank: Any) -> None:
    """Bars of 4, 2, 2 and 3, of which none goes round: coupler and rocker are straight where the crank is at
    acos((4^2 + 2^2 - 5^2) / (2 * 4 * 2)), either way. Keyed, and posed by hand."""
    mechanism = loops.crank_rocker(0.8, bars=(4.0, 2.0, 2.0, 3.0))
    rig = put(mechanism)
    pivots, end = Pivots(mechanism, rig), math.acos(-5.0 / 16.0)
    key_driver(rig, {1.0: 0.0, 31.0: 3.0, 91.0: -3.0, 121.0: 0.0})
    found, knees = [], {}
    for frame in range(1, 122, 5):
        blank.scene.frame_set(frame)
        assert pivots.gap() < WITHIN
        found.append(crank(rig))
        knees[frame] = pivots.body("rocker")
        if frame in (31, 91):
            assert abs(rig.pose.bones["A"].rotation_euler.z) < 2.9
            assert codes(rig) == {"loop-held"}
    assert max(found) == pytest.approx(end, abs=1e-3)
    assert min(found) == pytest.approx(-end, abs=1e-3)
    assert not codes(rig)
    assert found[-1] == pytest.approx(0.8, abs=1e-5)
    assert knees[121] == pytest.approx(knees[1], abs=1e-5)
    assert np.abs(np.diff(found)).max() < 0.51  # no jump: 0.1 rad a frame
    rig.animation_data_clear()
    for value in (2.9, -2.9):
        pose_driver(rig, value)
        assert pivots.gap() < WITHIN
        assert abs(crank(rig)) == pytest.approx(end, abs=1e-3)
        assert abs(rig.pose.bones["A"].rotation_euler.z) < 2.8, "the driver's channel is where it is held"
    pose_driver(rig, 0.0)
    assert not codes(rig)
    assert pivots.body("rocker") == pytest.approx(knees[1], abs=1e-5)


@pytest.mark.parametrize("name", ["A", "B", "C", "D"])
@pytest.mark.parametrize("way", [1, -1])
def test_a_loop_is_held_where_any_of_its_joints_is_at_its_stop(blank: Any, name: str, way: int) -> None:
    """The driver, a follower, and the joint that closes the loop. What the others do is measured without stops."""
    from addon.blender.animation.keying import LINEAR, key_servos

    def turned(pivots: Pivots) -> float:
        joint = next(joint for joint in mechanism.joints if joint.id == name)
        one, other = pivots.body(joint.parent) @ joint.frame_parent, pivots.body(joint.child) @ joint.frame_child
        turn = one[:3, :3].T @ other[:3, :3]
        return math.atan2(turn[1, 0], turn[0, 0])

    mechanism = loops.crank_rocker(0.8)
    rig = put(mechanism)
    pose_driver(rig, 0.4 * way)
    stop = turned(Pivots(mechanism, rig))
    import bpy

    empty_file()
    dof = next(joint for joint in mechanism.joints if joint.id == name).dofs[0]
    dof.lower, dof.upper = (stop, 1.5) if stop < 0 else (-1.5, stop)
    rig = put(mechanism)
    pivots = Pivots(mechanism, rig)
    key_servos(rig, "on", {"A": (np.array([1.0, 11.0]), np.array([0.0, 0.5 * way]), LINEAR)})
    for frame, held in ((8, False), (11, True), (6, False), (10, True)):
        bpy.context.scene.frame_set(frame)
        assert pivots.gap() < WITHIN
        assert (codes(rig) == {"loop-held"}) == held
        reached = 0.4 if held else 0.05 * (frame - 1)
        assert rig.pose.bones["A"].rotation_euler.z == pytest.approx(reached * way, abs=1e-4)
    lines = [line.message for line in rig.data.knuckle.report if line.code == "loop-held"]
    assert len(lines) == 1
    assert repr(name) in lines[0]
    assert ("upper" if stop > 0 else "lower") in lines[0]


def test_stops_that_are_switched_off_hold_nothing(blank: Any) -> None:
    mechanism = loops.crank_rocker(0.8)
    mechanism.joints[3].dofs[0].lower, mechanism.joints[3].dofs[0].upper = -0.01, 0.01
    rig = put(mechanism)
    for limit in rig.pose.bones["D"].constraints:
        limit.mute = True
    pose_driver(rig, 0.5)
    assert rig.pose.bones["A"].rotation_euler.z == pytest.approx(0.5)
    assert abs(rig.pose.bones["D"].rotation_euler.z) > 0.02
    assert Pivots(mechanism, rig).gap() < WITHIN


def test_a_joint_that_cannot_drive_a_loop_is_rejected_as_input_joint(blank: Any) -> None:
    import bpy

    rig = put(loops.sarrus())
    with pytest.raises(RuntimeError, match="no loop that moves|no joint"):
        bpy.ops.knuckle.drive_loop(joint="plate")
    assert bpy.ops.knuckle.drive_loop(joint="thigh 1 below") == {"FINISHED"}
    assert not objects_of(rig, "JOINT")["thigh 1 below"].knuckle.joint.is_dependent


def test_keys_on_all_joints_stay_as_they_are(blank: Any) -> None:
    from addon.blender.animation.keying import LINEAR, key_servos

    rig = put(loops.crank_rocker())
    frames = np.array([1.0, 11.0])
    key_servos(rig, "all", {name: (frames, np.array([0.0, 0.4]), LINEAR) for name in "ABD"})
    blank.scene.frame_set(11)
    assert [rig.pose.bones[name].rotation_euler.z for name in "ABD"] == pytest.approx([0.4] * 3)


def test_a_keyed_follower_drives_where_the_driver_has_no_keys(blank: Any) -> None:
    from addon.blender.animation.keying import LINEAR, key_servos

    mechanism = loops.crank_rocker()
    rig = put(mechanism)
    pivots = Pivots(mechanism, rig)
    key_servos(rig, "rocker", {"D": (np.array([1.0, 11.0]), np.array([0.0, 0.1]), LINEAR)})
    for frame in (4, 11):
        blank.scene.frame_set(frame)
        assert rig.pose.bones["D"].rotation_euler.z == pytest.approx((frame - 1) / 100.0, abs=1e-6)
        assert pivots.gap() < WITHIN


def test_a_motion_that_is_taken_off_has_the_followers(blank: Any) -> None:
    from addon.blender.animation.sample_motion import read_motion

    rig = put(loops.crank_rocker())
    key_driver(rig, {1.0: 0.0, 31.0: 3.0})
    motion, _report = read_motion(rig.data.knuckle.collection)
    tracks = {track.name: track for track in motion.trajectories}
    assert set(tracks) == {"A", "B", "D"}
    rate = blank.scene.render.fps / blank.scene.render.fps_base
    place = round(10 / rate / (tracks["D"].times[1] - tracks["D"].times[0]))
    frame = 1.0 + tracks["D"].times[place] * rate
    blank.scene.frame_set(int(frame), subframe=frame % 1.0)
    assert tracks["D"].values[place] == pytest.approx(rig.pose.bones["D"].rotation_euler.z, abs=1e-5)


def test_undo_takes_the_whole_pose_back(blank: Any) -> None:
    import bpy

    mechanism = loops.crank_rocker()
    rig = put(mechanism)
    pose_driver(rig, 0.5)
    bpy.ops.ed.undo_push(message="one")
    before = [world_of(obj) for obj in objects_of(rig, "BODY").values()]
    pose_driver(rig, 1.5)
    bpy.ops.ed.undo_push(message="two")
    bpy.ops.ed.undo()
    bpy.context.view_layer.update()
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    after = [world_of(obj) for obj in objects_of(rig, "BODY").values()]
    assert np.abs(np.array(after) - np.array(before)).max() < 1e-6
    pose_driver(rig, 0.7)
    assert Pivots(mechanism, rig).gap() < WITHIN


def test_loops_that_the_user_left_open_stay_open(blank: Any) -> None:
    mechanism = loops.crank_rocker()
    mechanism.joints[1].dofs[0].position = 0.3
    rig = put(mechanism, assemble=False)
    assert not followers(rig)
    rig.pose.bones["A"].rotation_euler.z = 0.2
    blank.view_layer.update()
    assert rig.pose.bones["D"].rotation_euler.z == 0.0


def stray(path: str) -> Mechanism:
    """Four bars of which only the lengths allow a motion: all four axes point elsewhere, so that there is none."""
    mechanism = loops.crank_rocker()
    for number, joint in enumerate(mechanism.joints):
        lean = np.eye(4)
        angle = {"little": 1e-5, "much": 0.4}[path] * (number + 1) * (-1) ** number
        lean[1:3, 1:3] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        joint.frame_parent, joint.frame_child = joint.frame_parent @ lean, joint.frame_child @ lean
    return mechanism


RIGID: Made = {"triangle": triangle, "flat": lambda: triangle(0.4), "leaning": lambda: stray("much")}


@pytest.mark.parametrize("name", RIGID)
def test_a_loop_without_freedom_cannot_be_posed_open(name: str, blank: Any) -> None:
    mechanism = RIGID[name]()
    rig = put(mechanism)
    (told,) = [line.message for line in rig.data.knuckle.report if line.code == "loop-rigid"]
    assert "no degree of freedom, its bones are locked" in told
    pivots = Pivots(mechanism, rig)
    for bone in rig.pose.bones:
        assert all(bone.lock_rotation) or bone.bone.knuckle.root, bone.name
        for value in (0.5, -1.0):
            bone.rotation_euler.z = value
            blank.view_layer.update()
            assert pivots.gap() < WITHIN, (bone.name, value)
    turning = [bone for bone in rig.pose.bones if bone.bone.knuckle.joint]
    for frame, value in ((1, 0.0), (11, 0.7)):
        turning[0].rotation_euler.z = value
        turning[0].keyframe_insert("rotation_euler", index=2, frame=frame)
    for frame in (3, 6, 11, 20, 21):
        blank.scene.frame_set(frame)
        assert pivots.gap() < WITHIN, frame


def test_a_loop_of_axes_that_a_file_rounded_is_not_locked(blank: Any) -> None:
    rig = put(stray("little"))
    assert not [line for line in rig.data.knuckle.report if line.code == "loop-rigid"]
    assert not all(all(bone.lock_rotation) for bone in rig.pose.bones)


def test_a_rigid_loop_stays_locked_in_a_saved_file(blank: Any, tmp_path: Path) -> None:
    import bpy

    mechanism = triangle()
    put(mechanism)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rigid.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rigid.blend"))
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    rig.pose.bones["A"].rotation_euler.z = 0.5
    bpy.context.view_layer.update()
    assert Pivots(mechanism, rig).gap() < WITHIN


def test_a_copy_that_was_never_evaluated_gets_no_pose(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After undo a scene that is not shown has a graph whose copies have no type yet (Blender 4.2)."""
    import bpy

    from addon.blender.animation.loops import live_solver

    monkeypatch.setattr(live_solver, "POSE_SETTING_TAGS", False)  # as in Blender 4.2
    rig, world, written = put(loops.crank_rocker()), bpy.data.worlds.new("no object"), list[Any]()
    graph = bpy.context.view_layer.depsgraph
    scene: Any = SimpleNamespace(view_layers=[SimpleNamespace(depsgraph=each) for each in (graph, world, None)])
    copies: Any = SimpleNamespace(evaluated_get=lambda each: world if each is world else rig.evaluated_get(graph))
    numbers: Any = SimpleNamespace(write=lambda _rig, evaluated, _given: written.extend(evaluated))
    cache = live_solver.FrameCache((), numbers)
    cache.put(scene, copies, live_solver.CachedFrame(np.zeros(0, dtype=np.float32), (), ()))
    assert written == [rig.evaluated_get(graph)]


@pytest.mark.parametrize("keyed", [["motor"], ["saddle_bearing"], ["motor", "saddle_bearing", "crank_pin"]])
def test_a_motion_that_is_pushed_down_moves_a_loop_as_before(blank: Any, keyed: list[str], tmp_path: Path) -> None:
    """Blender's *Push Down Action* makes it an NLA strip: also if joints are keyed that follow the loop otherwise."""
    import bpy

    rig = made("pumpjack.json")
    for name in keyed:
        bone = rig.pose.bones[name]
        for frame, value in ((1, 0.0), (20, 0.12)):
            bone.rotation_euler.z = value
            bone.keyframe_insert("rotation_euler", index=2, frame=frame)

    def places() -> list[np.ndarray]:
        out = []
        for frame in (1, 7, 20, 13, 1):
            bpy.context.scene.frame_set(frame)
            bpy.context.view_layer.update()
            out += [np.array(obj.matrix_world) for obj in parts(rig, "BODY")]
        return out

    before, data = places(), rig.animation_data
    action = data.action
    use_action(rig, None)
    data.nla_tracks.new().strips.new(action.name, 1, action)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "pushed.blend"))  # without solutions of visited frames
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "pushed.blend"))
    rig = the_rig()
    assert max(float(np.abs(one - other).max()) for one, other in zip(before, places(), strict=True)) < 1e-5
