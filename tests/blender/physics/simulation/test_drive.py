"""The switch between keys, servos and limp, runs and their repetition, slow scenes, and several models together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support.drive_helpers import key_drive
from tests.support.emptied import empty_file
from tests.support.mechanisms import (
    XmlModel,
    body,
    clockwork,
    clockwork_motor,
    coordinate,
    curves_of,
    four_bar,
    gap,
    joint,
    key,
    model,
    objects_of,
    play,
    put,
    world_of,
)

G = 9.81


def arm(x: float = 0, behaviours: str = "", gravity: float = G, force: float = 200, gain: float = 10) -> str:
    """A tower on the ground with a level arm on a hinge about -Y, so that positive turns lift it."""
    return model(
        body(1, (x, 0, 4), (2, 2, 8), mass=1e5),
        body(2, (x + 3, 0, 6), (2, 0.2, 0.3), mass=1.5),
        joint(3, 1, 2, (x + 2, 0, 6), (0, 90, 0), force=force, gain=gain),
        gravity=gravity,
        behaviours=behaviours,
        cfm=1e-6,
    )


def value(rig: Any, document: XmlModel) -> float:
    return coordinate(rig, 3, document)


# ---------------------------------------------------------------- the switch


def test_keyframes_are_exact_servos_track_and_ragdolls_fall(blank: Any) -> None:
    text = arm()
    rig, document = put(text), XmlModel(text)
    key(rig, 3, [(1, 0.0), (60, 0.6)])
    wanted = 0.6 * np.arange(60) / 59
    for drive, again in (("KEYS", False), ("SERVO", False), ("LIMP", False), ("SERVO", True), ("KEYS", True)):
        rig.data.knuckle.drive = drive
        found = np.array(play(blank.scene, 60, lambda: value(rig, document)))
        if drive == "KEYS":
            assert np.abs(found - wanted).max() < 1e-5, again
        elif drive == "SERVO":
            assert 1e-5 < np.abs(found - wanted).max() < 0.05, again
        else:
            assert found[-1] < -0.8
        kinematic = {obj.rigid_body.kinematic for obj in objects_of(rig, "BODY").values()}
        assert kinematic == {drive == "KEYS"}


def test_throwing_the_switch_in_mid_scene_works_from_the_next_start(blank: Any) -> None:
    text = arm()
    rig, document = put(text), XmlModel(text)
    play(blank.scene, 20, lambda: None)
    rig.data.knuckle.drive = "LIMP"
    assert play(blank.scene, 60, lambda: value(rig, document))[-1] < -0.8


def test_the_drive_switch_builds_physics_where_there_is_none(blank: Any) -> None:
    rig = put(arm(), physics=False)
    assert blank.scene.rigidbody_world is None
    rig.data.knuckle.drive = "LIMP"
    assert {obj.rigid_body.type for obj in objects_of(rig, "BODY").values()} == {"ACTIVE"}
    assert tuple(blank.scene.gravity) == pytest.approx((0, 0, -G), abs=1e-5)
    assert play(blank.scene, 60, lambda: value(rig, XmlModel(arm())))[-1] < -0.8


def test_a_model_moves_on_keys_and_then_falls(blank: Any) -> None:
    """The switch is keyed: exact on its keys up to the switch, and from there on it goes on falling, with what
    speed it had."""
    text = arm()
    rig, document = put(text), XmlModel(text)
    key(rig, 3, [(1, 0.0), (120, 1.19)])
    key_drive(rig, (1, "KEYS"), (20, "LIMP"))
    for again in range(2):
        found = np.array(play(blank.scene, 60, lambda: value(rig, document)))
        assert found[:19] == pytest.approx(0.01 * np.arange(19), abs=1e-5), again
        assert found[19] == pytest.approx(0.19, abs=0.02)
        after = found[20:]
        assert after[-1] < found[19] - 0.8
        assert np.all(np.diff(after)[5:] < 0)


def test_a_ragdoll_gets_its_servos_back_by_keyframes(blank: Any) -> None:
    text = arm()
    rig, document = put(text), XmlModel(text)
    key(rig, 3, [(1, 0.0)])
    key_drive(rig, (1, "SERVO"), (20, "LIMP"), (40, "SERVO"))
    found = np.array(play(blank.scene, 110, lambda: value(rig, document)))
    assert np.abs(found[:19]).max() < 0.03
    assert found[38] < -0.3
    assert np.abs(found[-20:]).max() < 0.05


def test_pivots_hold_after_a_hand_over_in_motion(blank: Any) -> None:
    """Where keys move the bodies from the first frame on, joints still hold where they are designed."""
    text = arm(force=0)
    for _ in range(3):
        import bpy

        empty_file()
        rig, document = put(text), XmlModel(text)
        key(rig, 3, [(1, 0.0), (4, 0.9), (60, 0.9)])
        key_drive(rig, (1, "KEYS"), (10, "LIMP"))
        gaps = play(bpy.context.scene, 40, lambda rig=rig, document=document: gap(rig, 3, document))
        assert max(gaps) < 0.02


# ---------------------------------------------------------------- every run anew


def test_a_run_begins_from_the_first_frames_pose_every_time(blank: Any) -> None:
    """Blender takes bodies and constraints for a run from its first or its second frame, as its threads go."""
    import bpy

    text = arm(force=0, gravity=0)
    for _ in range(8):
        empty_file()
        rig, document = put(text), XmlModel(text)
        key(rig, 3, [(1, 0.1), (2, 0.6), (30, 0.6)])
        rig.data.knuckle.drive = "LIMP"
        found = play(bpy.context.scene, 10, lambda rig=rig, document=document: value(rig, document))
        assert found == pytest.approx([0.1] * 10, abs=1e-4)
        assert not any(curve.mute for curve in curves_of(rig))


def joystick_arm() -> str:
    return arm(behaviours=clockwork(clockwork_motor(3, amplitude=40), source=3))


def test_a_control_that_was_changed_is_in_the_next_run(blank: Any) -> None:
    text = joystick_arm()
    rig, document = put(text), XmlModel(text)
    sense = -np.sign(document.joints["3"].line @ document.joints["3"].axis)  # from the file's count to ours
    rig.data.knuckle.drive = "SERVO"
    ends = {}
    for control in (0.0, 0.5, -0.5, 0.5):
        rig.data.knuckle.controls.joystick_1_y = control
        ends[control] = play(blank.scene, 60, lambda: value(rig, document))[-1]
        assert ends[control] == pytest.approx(sense * math.radians(40) * control, abs=0.05)


def test_keys_that_were_changed_are_in_the_next_run(blank: Any) -> None:
    text = arm()
    rig, document = put(text), XmlModel(text)
    rig.data.knuckle.drive = "SERVO"
    for angle in (0.4, -0.4):
        key(rig, 3, [(1, 0.0), (30, angle)])
        assert play(blank.scene, 60, lambda: value(rig, document))[-1] == pytest.approx(angle, abs=0.03)


def test_the_same_run_twice_is_the_same(blank: Any) -> None:
    text = arm()
    rig, document = put(text), XmlModel(text)
    key(rig, 3, [(1, 0.0), (30, 0.4)])
    rig.data.knuckle.drive = "SERVO"
    first, second = (play(blank.scene, 60, lambda: value(rig, document)) for _ in range(2))
    assert first == pytest.approx(second, abs=1e-6)


def test_controls_may_be_keyed_and_body_feedback_is_felt(blank: Any) -> None:
    """A keyed joystick, live; and a behaviour that answers the pitch of its own base."""
    text = joystick_arm()
    rig, document = put(text), XmlModel(text)
    controls = rig.data.knuckle.controls
    for frame, stick in ((1, 0.0), (30, 0.0), (31, 1.0)):
        controls.joystick_1_y = stick
        rig.data.keyframe_insert("knuckle.controls.joystick_1_y", frame=frame)
    rig.data.knuckle.drive = "SERVO"
    found = np.abs(play(blank.scene, 90, lambda: value(rig, document)))
    assert found[:30].max() < 0.05
    assert found[-1] == pytest.approx(math.radians(40), abs=0.05)


def test_a_behaviour_that_feels_a_body_answers_how_it_lies(blank: Any) -> None:
    """Roll (about Y) is handed on as its share of half a turn; times 180, the servo turns as far as the base lies."""
    text = model(
        body(1, (0, 0, 5), (2, 2, 2), mass=1e5, ypr=(0, 0, 15)),
        body(2, (3, 0, 5), (2, 0.2, 0.3), mass=1.5),
        joint(3, 1, 2, (2, 0, 5), (0, 90, 0), force=200, gain=10),
        behaviours=clockwork(clockwork_motor(3, amplitude=180), source=8, feedback=1),
        cfm=1e-6,
    )
    rig, document = put(text), XmlModel(text)
    rig.data.knuckle.drive = "SERVO"
    found = play(blank.scene, 60, lambda: value(rig, document))[-1]
    assert abs(found) == pytest.approx(math.radians(15), abs=0.02)


@pytest.mark.parametrize("moved", ["earlier", "later"])
def test_a_scene_that_begins_elsewhere_now_runs_from_there(blank: Any, moved: str) -> None:
    text = arm()
    blank.scene.frame_start = 50
    rig, document = put(text), XmlModel(text)
    rig.data.knuckle.drive = "LIMP"
    blank.scene.frame_start = start = 20 if moved == "earlier" else 80
    found = play(blank.scene, 60, lambda: value(rig, document), start)
    assert found[0] == pytest.approx(0, abs=1e-4)
    assert found[-1] < -0.8


def test_a_scene_that_lasts_longer_now_runs_on(blank: Any) -> None:
    blank.scene.frame_end = 30
    rig = put(model(body(1, (0, 0, 50)), gravity=G), gait=False)
    rig.data.knuckle.drive = "LIMP"
    blank.scene.frame_end = 100
    heights = play(blank.scene, 100, lambda: world_of(objects_of(rig, "BODY")["1"])[2, 3])
    assert 50 - heights[-1] == pytest.approx(G * (99 / 60) ** 2 / 2, rel=0.02)


# ---------------------------------------------------------------- slow scenes, several models


def test_a_slow_scene_is_controlled_often_enough_when_recorded(blank: Any) -> None:
    """At 24 frames a second, servos are commanded 60 times a second or more, and time runs as it should."""
    import bpy

    from addon.blender.physics.recording.bake import record

    blank.scene.render.fps = 24
    rig = put(arm(gain=1.0, gravity=0, force=1e5), adapt_scene=False)
    key(rig, 3, [(1, 0.0), (2, 0.7)], "CONSTANT")
    rig.data.knuckle.law = "JUICE"
    rig.data.knuckle.drive = "SERVO"
    calls = []
    bpy.app.handlers.frame_change_pre.append(lambda *_: calls.append(1))
    try:
        recording = record(blank.scene, rig, last=25)
    finally:
        bpy.app.handlers.frame_change_pre.pop()
    assert len(calls) >= 60
    assert len(recording.frames) == 25
    error = 0.7 - recording.values[:, 0]  # Juice's law with Gain 1: it falls by exp(-5.73 t)
    assert -np.log(error[13] / error[5]) / (8 / 24) == pytest.approx(0.1 * 180 / math.pi, rel=0.08)
    assert blank.scene.rigidbody_world.time_scale == 1.0


def test_free_fall_recorded_at_24_frames_a_second_falls_as_far(blank: Any) -> None:
    from addon.blender.physics.recording.bake import record

    blank.scene.render.fps = 24
    rig = put(model(body(1, (0, 0, 50)), gravity=G), adapt_scene=False)
    rig.data.knuckle.drive = "LIMP"
    heights = record(blank.scene, rig, last=25).poses[:, 0, 2, 3]
    assert 50 - heights == pytest.approx(G * (np.arange(25) / 24) ** 2 / 2, rel=0.02, abs=0.02)


def test_two_models_in_one_scene_are_driven_each_by_its_own(blank: Any) -> None:
    texts = arm(), arm(x=10)
    rigs = [put(text) for text in texts]
    documents = [XmlModel(text) for text in texts]
    for rig, angle in zip(rigs, (0.4, -0.3), strict=True):
        key(rig, 3, [(1, 0.0), (30, angle)])
        rig.data.knuckle.drive = "SERVO"
    ends = play(blank.scene, 60, lambda: [value(*pair) for pair in zip(rigs, documents, strict=True)])[-1]
    assert ends == pytest.approx([0.4, -0.3], abs=0.03)
    rigs[0].data.knuckle.drive = "LIMP"
    ends = play(blank.scene, 60, lambda: [value(*pair) for pair in zip(rigs, documents, strict=True)])[-1]
    assert ends[0] < -0.8
    assert ends[1] == pytest.approx(-0.3, abs=0.03)


def test_a_loop_of_hinges_stays_closed(blank: Any) -> None:
    """A four-bar, its crank driven: the joint that closes it comes apart by next to nothing."""
    text = four_bar()
    rig, document = put(text), XmlModel(text)
    key(rig, 11, [(1, 0.0), (60, 0.8)])
    rig.data.knuckle.drive = "SERVO"
    gaps = play(blank.scene, 60, lambda: max(gap(rig, number, document) for number in (11, 12, 13, 14)))
    assert max(gaps) < 0.01
    assert [coordinate(rig, number, document) for number in (11, 14)] == pytest.approx([0.8, 0.8], abs=0.03)
