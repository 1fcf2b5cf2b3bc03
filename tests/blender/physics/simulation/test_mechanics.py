"""How things move under physics, against what mechanics says: falling, swinging, sliding, servos within their force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support.emptied import empty_file
from tests.support.mechanisms import (
    XmlModel,
    body,
    bone_of,
    coordinate,
    joint,
    key,
    model,
    objects_of,
    play,
    put,
    world_of,
)
from tests.support.motion_helpers import HANGING, HARD, G, tower

LEVEL = body(2, (3, 0, 6), (2, 0.2, 0.3), mass=1.5)  # its centre one from the hinge


# ---------------------------------------------------------------- without motors


def test_a_body_falls_as_it_should(blank: Any) -> None:
    rig = put(model(body(1, (0, 0, 50)), gravity=G))
    rig.data.knuckle.drive = "LIMP"
    heights = play(blank.scene, 121, lambda: world_of(objects_of(rig, "BODY")["1"])[2, 3])
    times = np.arange(121) / 60
    assert 50 - np.array(heights) == pytest.approx(G * times**2 / 2, rel=0.01, abs=0.02)


@pytest.mark.parametrize("cfm", [HARD, 0.001], ids=["hard", "soft"])
def test_a_ragdoll_arm_swings_with_the_period_of_its_pendulum(blank: Any, cfm: float) -> None:
    """T = 2 pi sqrt((I + m l^2) / (m g l)), longer by a^2 / 16 for swings of a."""
    text = tower(HANGING, cfm=cfm, erp=1.0)
    blank.scene.frame_end = 330
    rig, document = put(text), XmlModel(text)
    key(rig, 3, [(1, 0.2)])
    rig.data.knuckle.drive = "LIMP"
    angles = np.array(play(blank.scene, 330, lambda: coordinate(rig, 3, document)))
    crossings = np.flatnonzero((angles[:-1] > 0) & (angles[1:] <= 0))
    exact = crossings + angles[crossings] / (angles[crossings] - angles[crossings + 1])
    period = np.diff(exact).mean() / 60
    length, inertia = 0.9, (0.2**2 + 1.4**2) / 12
    expected = 2 * math.pi * math.sqrt((inertia + length**2) / (G * length)) * (1 + 0.2**2 / 16)
    assert period == pytest.approx(expected, rel=0.02)
    assert len(exact) >= 3
    assert np.abs(angles[-130:]).max() == pytest.approx(0.2, rel=0.05), "nothing slows it"


@pytest.mark.parametrize(("friction", "expected"), [(1.0, 0.3), (1.962, 0.5), (2.943, 0.75), (50.0, 1.0)])
def test_friction_is_the_files_share_of_the_weight_within_bounds(blank: Any, friction: float, expected: float) -> None:
    """Two and a half times Friction over the weight, between 0.3 and 1, measured on a box on a slope."""
    rig = put(model(body(1, (0, 0, 0.5), (2, 2, 1), mass=1.0), gravity=G, friction=friction))
    along = 1.3 * G
    rig.data.knuckle.gravity = (along, 0, -G)
    rig.data.knuckle.drive = "LIMP"
    weight = math.hypot(along, G)
    share = min(max(2.5 * friction / weight, 0.3), 1.0)  # the weight of the model as it is now
    places = play(blank.scene, 61, lambda: world_of(objects_of(rig, "BODY")["1"])[0, 3])
    run = (places[60] - places[20]) - (40 / 60) * (places[21] - places[19]) * 30
    assert run == pytest.approx((along - share * G) * (40 / 60) ** 2 / 2, rel=0.05)
    rig.data.knuckle.gravity = (0, 0, -G)
    assert objects_of(rig, "BODY")["1"].rigid_body.friction == pytest.approx(expected, rel=1e-3)


def test_a_model_without_weight_has_full_friction(blank: Any) -> None:
    rig = put(model(body(1, (0, 0, 3)), gravity=0))
    assert objects_of(rig, "BODY")["1"].rigid_body.friction == 1.0


def test_the_ground_is_at_height_zero(blank: Any) -> None:
    rig = put(model(body(1, (0, 0, 1.2), (2, 2, 1)), gravity=G))
    rig.data.knuckle.drive = "LIMP"
    heights = play(blank.scene, 90, lambda: world_of(objects_of(rig, "BODY")["1"])[2, 3])
    assert heights[0] == pytest.approx(1.2)
    assert heights[-1] == pytest.approx(0.5, abs=0.01)


def test_a_model_that_begins_inside_the_ground_is_put_on_it_for_the_run(blank: Any) -> None:
    rig = put(model(body(1, (0, 0, 0.2), (2, 2, 1)), gravity=G))
    box = objects_of(rig, "BODY")["1"]
    blank.scene.frame_set(1)
    assert world_of(box)[2, 3] == pytest.approx(0.2), "on keys it is where the file says"
    rig.data.knuckle.drive = "LIMP"
    heights = play(blank.scene, 60, lambda: world_of(box)[2, 3])
    assert heights == pytest.approx([0.5] * 60, abs=0.02)
    rig.data.knuckle.drive = "KEYS"
    blank.scene.frame_set(1)
    assert world_of(box)[2, 3] == pytest.approx(0.2)
    assert tuple(rig.delta_location) == (0, 0, 0)


# ---------------------------------------------------------------- servos


@pytest.mark.parametrize("cfm", [HARD, 0.001], ids=["hard", "soft"])
def test_a_servo_lifts_what_its_force_can_lift_and_no_more(blank: Any, cfm: float) -> None:
    """The arm's weight is 1.5 at one length unit from the hinge: 14.7."""
    held = 1.5 * G * 1.0
    for force, lifts in ((0.9 * held, False), (1.15 * held, True)):
        import bpy

        empty_file()
        text = tower(LEVEL, force=force, cfm=cfm, erp=1.0)
        rig, document = put(text), XmlModel(text)
        rig.data.knuckle.drive = "SERVO"
        rig.data.knuckle.law = "TRACK"
        up = 1.0 if document.joints["3"].axis[1] < 0 else -1.0  # turning about -Y lifts what points to +X
        key(rig, 3, [(1, 0.0), (120, up * 0.2)])
        angles = [up * angle for angle in play(bpy.context.scene, 150, lambda r=rig, d=document: coordinate(r, 3, d))]
        if lifts:
            assert angles[-1] == pytest.approx(0.2, abs=0.03)
        else:  # it sinks to where its weight's lever is short enough, cos a = 0.9, and swings about there
            assert max(angles) < 0.01
            assert np.mean(angles) == pytest.approx(-math.acos(0.9), abs=0.2)


def test_juices_law_corrects_a_share_of_the_error_per_second(blank: Any) -> None:
    """Speed = Gain / 10 times the error: in degrees, and taken as rad/s, for a hinge. Error falls exponentially."""
    text = tower(LEVEL, force=1e5, gain=1.0, gravity=0)
    rig, document = put(text), XmlModel(text)
    rig.data.knuckle.law = "JUICE"
    rig.data.knuckle.drive = "SERVO"
    bone_of(rig, 3).rotation_euler[2] = 0.0
    key(rig, 3, [(1, 0.0), (2, 1.0)], "CONSTANT")
    angles = np.array(play(blank.scene, 60, lambda: coordinate(rig, 3, document)))
    errors = 1.0 - angles[1:]
    rate = -np.log(errors[20] / errors[5]) / (15 / 60)
    speed = 0.1 * (180 / math.pi)  # per second
    assert rate == pytest.approx(-60 * math.log(1 - speed / 60), rel=0.02), "in steps of a frame"
    assert rate == pytest.approx(speed, rel=0.1)


def test_juices_law_for_a_slider_takes_the_error_as_it_is(blank: Any) -> None:
    text = model(
        body(1, (0, 0, 5), mass=1e5), body(2, (0, 0, 3)),
        joint(3, 1, 2, (0, 0, 4), gain=30, force=1e4, tag="PrismaticJoint"),
    )  # fmt: skip
    rig, document = put(text), XmlModel(text)
    rig.data.knuckle.law = "JUICE"
    rig.data.knuckle.drive = "SERVO"
    key(rig, 3, [(1, 0.0), (2, -0.8)], "CONSTANT")
    errors = 0.8 + np.array(play(blank.scene, 60, lambda: coordinate(rig, 3, document)))
    assert -np.log(errors[40] / errors[10]) / 0.5 == pytest.approx(-60 * math.log(1 - 3 / 60), rel=0.02)


def test_a_high_gain_never_corrects_more_than_half_the_error_in_a_frame(blank: Any) -> None:
    text = tower(LEVEL, force=1e6, gain=1000.0, gravity=0)
    rig, document = put(text), XmlModel(text)
    rig.data.knuckle.law = "JUICE"
    rig.data.knuckle.drive = "SERVO"
    key(rig, 3, [(1, 0.0), (2, 0.5)], "CONSTANT")
    angles = np.array(play(blank.scene, 20, lambda: coordinate(rig, 3, document)))
    errors = 0.5 - angles
    assert errors[2:6] / errors[1:5] == pytest.approx([0.5] * 4, abs=0.05)
    assert angles.max() < 0.505, "so it does not overshoot"


@pytest.mark.parametrize("cfm", [HARD, 0.001], ids=["hard", "soft"])
@pytest.mark.parametrize("gravity", [0.0, G])
def test_servos_track_keys_with_a_small_mean_error(blank: Any, gravity: float, cfm: float) -> None:
    """A sine of half a hertz and 0.8 rad, ordinary force: mean error below 0.03 rad."""
    text = tower(LEVEL, force=60, gravity=gravity, cfm=cfm, erp=1.0)
    rig, document = put(text), XmlModel(text)
    wanted = 0.8 * np.sin(2 * math.pi * 0.5 * np.arange(121) / 60)
    key(rig, 3, list(zip(range(1, 122), wanted.tolist(), strict=True)))
    rig.data.knuckle.drive = "SERVO"
    actual = np.array(play(blank.scene, 121, lambda: coordinate(rig, 3, document)))
    assert np.abs(actual - wanted).mean() < 0.03
    assert np.ptp(actual) == pytest.approx(1.6, abs=0.1)


def test_a_slider_tracks_its_keys_too(blank: Any) -> None:
    text = model(
        body(1, (0, 0, 4), (2, 2, 8), mass=1e5), body(2, (2, 0, 5)),
        joint(3, 1, 2, (2, 0, 5), force=60, tag="PrismaticJoint"), gravity=G,
    )  # fmt: skip
    rig, document = put(text), XmlModel(text)
    wanted = 0.8 * np.sin(2 * math.pi * 0.5 * np.arange(121) / 60)
    key(rig, 3, list(zip(range(1, 122), wanted.tolist(), strict=True)))
    rig.data.knuckle.drive = "SERVO"
    actual = np.array(play(blank.scene, 121, lambda: coordinate(rig, 3, document)))
    assert np.abs(actual - wanted).mean() < 0.03


def test_a_servo_without_keys_holds_the_pose_it_was_given(blank: Any) -> None:
    text = tower(LEVEL, force=200)
    rig, document = put(text), XmlModel(text)
    bone_of(rig, 3).rotation_euler[2] = 0.5
    rig.data.knuckle.drive = "SERVO"
    angles = play(blank.scene, 90, lambda: coordinate(rig, 3, document))
    assert angles == pytest.approx([0.5] * 90, abs=0.03)


def test_a_servo_takes_the_short_way_round(blank: Any) -> None:
    """Keys may go on past half a turn; errors are taken within half a turn."""
    text = tower(LEVEL, force=1e4, gravity=0)
    rig, document = put(text), XmlModel(text)
    key(rig, 3, [(1, 0.0), (241, 4 * math.pi)])
    rig.data.knuckle.drive = "SERVO"
    turned = np.unwrap(play(blank.scene, 241, lambda: coordinate(rig, 3, document)))
    assert turned[-1] == pytest.approx(4 * math.pi, abs=0.05)
    assert np.diff(turned).min() > 0.0
