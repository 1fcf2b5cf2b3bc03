"""Live Input on a mechanism: what keys do at each frame, what is recorded, and that every end leaves all as it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.scenes import OWN

HEXAPOD, LAMP = OWN / "hexapod/hexapod.jm", OWN / "desk_lamp/desk_lamp.skel"
#: Keys that go down and come up (``-``) at frames.
DRIVEN: Mapping[int, tuple[str, ...]] = {3: ("W",), 30: ("A",), 50: ("-A", "D"), 60: ("-W",)}
LAST = 70


def imported(path: Path = HEXAPOD, drive: str = "SERVO", **options: Any) -> Any:
    import bpy

    options = {"gait_seconds": 1.5, **options}
    assert bpy.ops.import_scene.mechanism(filepath=str(path), **options) == {"FINISHED"}
    bpy.context.scene.frame_end = LAST
    rig = bpy.context.object
    rig.data.knuckle.drive = drive
    return rig


def session(rig: Any, records: bool = True, joints: bool = False) -> Any:
    import bpy

    from addon.blender.physics.simulation.live_input import LiveSession
    from addon.blender.ui.simulation.live_input import mapped_live_input

    return LiveSession(bpy.context.scene, rig, mapped_live_input(rig), records, joints)


def root(rig: Any) -> Any:
    from addon.blender.data.queries import parts

    return parts(rig, "BODY")[0]


def played(rig: Any, live: Any = None, last: int = LAST) -> Any:
    """Where the root body is at all frames, (n, 3), which are gone through as playback does."""
    import bpy

    path, scene = [], bpy.context.scene
    for frame in range(1, last + 1):
        for key in DRIVEN.get(frame, ()) if live is not None else ():
            if key.startswith("-"):
                live.live.release(key[1:])
            else:
                live.live.press(key)
        scene.frame_set(frame)
        path.append(tuple(root(rig).matrix_world.translation))
    return np.array(path)


def input_curves(rig: Any) -> dict[str, Any]:
    from addon.blender.data.channels import settings_curves

    return {path.rpartition(".")[2]: curve for (path, _index), curve in settings_curves(rig).items()}


def pose(rig: Any) -> Any:
    return np.array([tuple(bone.rotation_euler) for bone in rig.pose.bones])


def test_recorded_inputs_replay_the_same_path_after_saving_and_opening(blank: Any, tmp_path: Path) -> None:
    import bpy

    rig = imported()
    live = session(rig)
    path = played(rig, live)
    assert live.is_over, "the scene's last frame ends a recording"
    live.end()
    assert live.write() == (1, LAST, False, False, "", False)
    assert np.linalg.norm(path[-1] - path[0]) > 1.0, "it walked"
    curves = input_curves(rig)
    assert {name: len(curve.keyframe_points) for name, curve in curves.items()} == dict.fromkeys(
        ("joystick_1_x", "joystick_1_y", "joystick_1_r"), LAST
    )
    assert np.abs(played(rig) - path).max() == 0.0
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "eight.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "eight.blend"))
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    assert np.linalg.norm(played(rig) - path, axis=1).max() < 1e-3


def test_without_keys_it_stays_and_with_them_it_goes(blank: Any) -> None:
    rig = imported()
    still = played(rig)
    live = session(rig, records=False)
    moved = played(rig, live)
    live.end()
    assert np.linalg.norm((still[-1] - still[0])[:2]) < 0.3 < np.linalg.norm((moved[-1] - moved[0])[:2])
    assert live.write() is None and not input_curves(rig)


def test_keyframes_of_inputs_are_overridden_meanwhile_and_kept_beside_what_is_recorded(blank: Any) -> None:
    import bpy

    rig = imported()
    controls = rig.data.knuckle.controls
    for frame, value in ((1, 0.25), (LAST, 0.5), (LAST + 30, 0.75)):
        controls.joystick_1_y = value
        controls.keyframe_insert("joystick_1_y", frame=frame)
    live = session(rig)
    played(rig, live)
    live.end()
    live.write()
    curve = input_curves(rig)["joystick_1_y"]
    points = {round(point.co[0]): point.co[1] for point in curve.keyframe_points}
    assert len(points) == LAST + 1 and points[LAST + 30] == pytest.approx(0.75)
    assert points[1] == 0.0 and min(points.values()) < -0.9
    bpy.context.scene.frame_set(25)
    assert controls.joystick_1_y == pytest.approx(points[25])


def test_recording_goes_to_the_gait_also_where_another_motion_played(blank: Any) -> None:
    import bpy

    rig = imported()
    rig.animation_data.action = bpy.data.actions.new("Other")
    rig.data.knuckle.target = "KEYS"
    live = session(rig)
    path = played(rig, live)
    live.end()
    assert live.write() == (1, LAST, False, True, "", False)
    assert rig.data.knuckle.target == "GAIT"
    assert np.abs(played(rig) - path).max() == 0.0


def test_gait_is_posed_live_over_the_action_which_plays_again_at_the_end(blank: Any) -> None:
    import bpy

    rig = imported(drive="KEYS")
    scene = bpy.context.scene
    scene.frame_set(25)
    before = pose(rig)
    action = rig.animation_data.action
    live = session(rig, records=False)
    played(rig, live, last=25)
    assert live.live.input_values["joystick 1 y"] == pytest.approx(-1.0, abs=0.06)
    values = live._gait.evaluate(live._gait.phase(np.array([24.0 / 60.0])), live.live.input_values).position
    from addon.blender.data.channels import servo_channels

    for joint, (value,) in values.items():
        channel = servo_channels(rig)[joint][0]
        assert getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index] == pytest.approx(value, abs=1e-6)
    assert np.abs(pose(rig) - before).max() > 0.05, "its legs walk"
    live.end()
    assert np.abs(pose(rig) - before).max() == 0.0 and rig.animation_data.action == action


@pytest.mark.parametrize("path", [HEXAPOD, OWN / "rover/rover.jm"], ids=["legs", "wheels"])
def test_recording_of_keyframes_drive_bakes_the_gait_that_plays(blank: Any, path: Path) -> None:
    rig = imported(path, drive="KEYS", gait_seconds=0.5, physics=path == HEXAPOD)
    live = session(rig)
    poses = []

    import bpy

    for frame in range(1, LAST + 1):
        for key in DRIVEN.get(frame, ()):
            live.live.release(key[1:]) if key.startswith("-") else live.live.press(key)
        bpy.context.scene.frame_set(frame)
        poses.append(pose(rig))
    live.end()
    assert live.write() == (1, LAST, False, False, "", False)
    for frame in (1, 20, 45, LAST):
        bpy.context.scene.frame_set(frame)
        assert np.abs(pose(rig) - poses[frame - 1]).max() < 1e-4
    assert np.abs(poses[45] - poses[0]).max() > 0.1


@pytest.mark.parametrize("drive", ["KEYS", "SERVO"])
def test_servo_values_are_recorded_as_an_action_that_does_not_play(blank: Any, drive: str) -> None:
    import bpy

    from addon.blender.data.channels import servo_channels

    rig = imported(drive=drive)
    action = rig.animation_data.action.name
    live = session(rig, joints=True)
    played(rig, live)
    live.end()
    assert live.write().action == "hexapod Live"
    assert rig.animation_data.action.name == action
    made = bpy.data.actions["hexapod Live"]
    from addon.blender.compat import use_action

    use_action(rig, made)
    rig.data.knuckle.drive = "KEYS"
    bpy.context.scene.frame_set(40)
    channels = {joint: own[0] for joint, own in servo_channels(rig).items()}
    swings = [
        getattr(rig.pose.bones[each.bone], each.prop)[each.index] for each in channels.values() if "Swing" in each.name
    ]
    assert len(swings) == 6 and np.ptp(swings) > 0.1, "the legs are where they walked"


@pytest.mark.parametrize("drive", ["KEYS", "SERVO"])
def test_what_keys_do_to_a_mapped_servo_is_recorded_without_asking(blank: Any, drive: str) -> None:
    import bpy

    from addon.blender.compat import action_curves
    from addon.blender.data.channels import servo_channels

    rig = imported(LAMP, drive)
    joint, (channel,) = next((joint, own) for joint, own in servo_channels(rig).items() if len(own) == 1)
    row = rig.data.knuckle_live.servos.add()
    row.joint, row.axis, row.speed = joint, "UP_DOWN", -0.5
    live = session(rig)
    played(rig, live, last=50)
    wanted = live.live.servo_values[joint]
    live.end()
    written = live.write()
    action = bpy.data.actions[written.action]
    assert written.is_played == (drive == "KEYS")
    if drive == "KEYS":
        bpy.context.scene.frame_set(50)
        assert getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index] == pytest.approx(wanted, abs=1e-6)
    (path, index), *_ = channel.curves()
    curve = action_curves(rig, action, create=False).find(path, index=index)
    assert curve.evaluate(50) == pytest.approx(wanted, abs=0.08 if drive == "SERVO" else 1e-6)
    assert abs(curve.evaluate(50) - curve.evaluate(1)) > 0.1


@pytest.mark.parametrize("drive", ["KEYS", "SERVO"])
def test_keys_move_a_mapped_servo_of_what_has_no_gait(blank: Any, drive: str) -> None:
    import bpy

    from addon.blender.data.channels import servo_channels
    from addon.blender.physics.actuators.joint_state import gather_joint_state

    rig = imported(LAMP, drive)
    joint, (channel,) = next((joint, own) for joint, own in servo_channels(rig).items() if len(own) == 1)
    row = rig.data.knuckle_live.servos.add()
    row.joint, row.axis, row.speed = joint, "UP_DOWN", -0.5
    live = session(rig, records=False)
    begun = live.live.servo_values[joint]
    played(rig, live, last=50)
    wanted = live.live.servo_values[joint]
    assert wanted < begun - 0.1
    joint_state = gather_joint_state(rig)
    if drive == "SERVO":
        actual = joint_state.coordinates(joint_state.poses())[joint_state.joints.index(joint)]
        assert actual == pytest.approx(wanted, abs=0.08), "it tracks what keys tell"
    else:
        assert getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index] == pytest.approx(wanted, abs=1e-6)
    live.end()
    bpy.context.scene.frame_set(1)
    assert getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index] == pytest.approx(begun, abs=1e-6)


def _undo() -> None:
    import bpy

    bpy.ops.ed.undo()


def _delete() -> None:
    import bpy

    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    for obj in list(rig.data.knuckle.collection.all_objects):
        bpy.data.objects.remove(obj)
    bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)


def _open_another() -> None:
    import bpy

    bpy.ops.wm.read_homefile(use_empty=True)


def _switch_off() -> None:
    import addon

    addon.unregister()


@pytest.mark.parametrize("drive", ["KEYS", "SERVO"])
@pytest.mark.parametrize("end", [_undo, _delete, _open_another, _switch_off])
def test_every_end_takes_all_away(blank: Any, end: Callable[[], None], drive: str) -> None:
    import bpy

    import addon
    from addon.blender.animation import gait
    from addon.blender.events.runtime_state import all_states
    from addon.blender.physics.simulation import live_input

    rig = imported(drive=drive)
    bpy.ops.ed.undo_push(message="imported")
    bpy.context.scene.frame_set(1)
    bpy.ops.ed.undo_push(message="more")
    live = session(rig)
    played(rig, live, last=12)
    try:
        end()
        assert live.is_over and not live_input.live_sessions()
        assert all(each.values == gait.LiveValues() for each in all_states(gait._LiveInput))
        live.end()  # once more is nothing
    finally:
        addon.register()
    bpy.context.scene.frame_set(1)


def test_what_was_recorded_outlives_an_undo(blank: Any) -> None:
    import bpy

    rig = imported()
    uid = rig.session_uid
    bpy.ops.ed.undo_push(message="imported")
    bpy.context.scene.frame_set(1)
    bpy.ops.ed.undo_push(message="more")
    live = session(rig)
    played(rig, live, last=20)
    bpy.ops.ed.undo()
    assert live.end_reason.name == "UNDONE"
    assert live.write() == (1, 20, False, False, "", False)
    rig = next(obj for obj in bpy.data.objects if obj.session_uid == uid)
    assert len(input_curves(rig)["joystick_1_y"].keyframe_points) == 20


def test_live_input_begins_again_after_a_restart(blank: Any) -> None:
    import bpy

    rig = imported()
    live = session(rig)
    played(rig, live, last=20)
    assert len(live.recording.frames) == 20
    live.restart()
    assert bpy.context.scene.frame_current == 1
    assert live.recording.frames == [1] and live.live.input_values["joystick 1 y"] == 0.0
    bpy.context.scene.frame_set(2)
    assert live.live.input_values["joystick 1 y"] < 0.0, "its key is still held"


def test_a_jump_moves_nothing(blank: Any) -> None:
    import bpy

    rig = imported(drive="KEYS")
    live = session(rig)
    bpy.context.scene.frame_set(1)
    live.live.press("W")
    bpy.context.scene.frame_set(30)
    assert live.live.input_values["joystick 1 y"] == 0.0
    assert live.recording.frames == [1]


def test_a_file_saved_meanwhile_has_nothing_of_it(blank: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.data.channels import servo_channels

    rig = imported(LAMP, "KEYS")
    joint, (channel,) = next((joint, own) for joint, own in servo_channels(rig).items() if len(own) == 1)
    row = rig.data.knuckle_live.servos.add()
    row.joint, row.axis = joint, "UP_DOWN"
    before = pose(rig)
    live = session(rig, records=False)
    played(rig, live, last=40)
    assert np.abs(pose(rig) - before).max() > 0.1
    path = str(tmp_path / "meanwhile.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    live.end()
    bpy.ops.wm.open_mainfile(filepath=path)
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    assert np.abs(pose(rig) - before).max() == 0.0
    assert channel.bone in rig.pose.bones


def test_views_go_along_with_the_root_body(blank: Any) -> None:
    import bpy

    from addon.blender.ui.simulation.view import ViewFollower

    cube = bpy.data.objects.new("Cube", None)
    bpy.context.scene.collection.objects.link(cube)
    screen = bpy.data.screens["Layout"] if "Layout" in bpy.data.screens else bpy.data.screens[0]
    views = [area.spaces.active.region_3d for area in screen.areas if area.type == "VIEW_3D"]
    assert views
    begun = [np.array(view.view_location) for view in views]
    follower = ViewFollower(cube, jump=1.0)
    for step in range(1, 101):
        cube.location.x = 0.05 * step
        bpy.context.view_layer.update()
        follower.update(screen)
    moved = np.array(views[0].view_location) - begun[0]
    assert 4.0 < moved[0] < 5.0 and moved[1:] == pytest.approx((0.0, 0.0)), "smoothly behind it"
    cube.location.x = 0.0
    bpy.context.view_layer.update()
    follower.update(screen)
    assert np.array(views[0].view_location) == pytest.approx(begun[0], abs=1e-5), "and at once where it jumps"
