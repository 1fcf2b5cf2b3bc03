"""Signs and stops of simulated joints, measured on the bodies.

Small mechanisms are pushed both ways until they stop. Where they have to stop follows from the file alone: ODE counts
how the first body turns about (moves along) the axis that Juice gives it, so at a stop the second body has done the
opposite. The base is so heavy that it stays, without gravity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support.mechanisms import (
    XmlModel,
    angle_about,
    body,
    bone_of,
    coordinate,
    gap,
    hinge_line,
    joint,
    key,
    model,
    objects_of,
    play,
    put,
    relative,
    slider_line,
    spinner,
    turn,
)

HARD, SOFT = 1e-6, 0.01
TILTS = {
    "R=0": (0, 0, 0), "R=90": (0, 0, 90), "P=-90": (0, -90, 0), "yawed": (40, 0, 90), "R=-90": (0, 0, -90),
    "pitched": (0, 30, 0),
}  # fmt: skip
LOW, HIGH = -20.0, 50.0  # in the file, degrees
NEAR, FAR = -0.4, 0.9  # in the file, length
PIVOT = (0.0, 0.0, 4.2)

tilts = pytest.mark.parametrize("ypr", TILTS.values(), ids=TILTS.keys())
softness = pytest.mark.parametrize("cfm", [HARD, SOFT], ids=["hard", "soft"])
ways = pytest.mark.parametrize("way", [1.0, -1.0], ids=["pushed on", "pushed back"])


def mixed(*without: str) -> pytest.MarkDecorator:
    """Tilts both ways and joints as hard and as soft, any two of them together at least once."""
    rows = [
        pytest.param(tilt, way, (HARD, SOFT)[(number + (way > 0)) % 2], id=f"{name}-{'on' if way > 0 else 'back'}")
        for number, (name, tilt) in enumerate(TILTS.items())
        for way in (1.0, -1.0)
        if name not in without
    ]
    return pytest.mark.parametrize(("ypr", "way", "cfm"), rows)


def two_boxes(ypr: tuple, cfm: float, force: float = 20.0, behaviours: str = "", gain: float = 10, **place: Any) -> str:
    """A heavy box with an arm that sticks out to all sides of the joint between them."""
    place = {"stops": (LOW, HIGH), "tag": "RevoluteJoint"} | place
    return model(
        body(1, (0, 0, 5), (1, 1, 1), mass=1e5),
        body(2, (0.5, 0.4, 3.8), (0.4, 1.2, 0.6)),
        joint(3, 1, 2, PIVOT, ypr, force=force, gain=gain, **place),
        cfm=cfm,
        erp=1.0,
        behaviours=behaviours,
    )


def push(scene: Any, rig: Any, way: float, start: float = 0.0, reach: float = 2.5) -> None:
    """Drive the servo far beyond its stop and wait."""
    key(rig, 3, [(1, start), (60, way * reach)])
    rig.data.knuckle.drive = "SERVO"
    play(scene, 75, lambda: None)


@mixed()
def test_a_hinge_stops_where_odes_would(blank: Any, ypr: tuple, way: float, cfm: float) -> None:
    text = two_boxes(ypr, cfm)
    rig, document = put(text), XmlModel(text)
    axis, line = document.joints["3"].axis, hinge_line(ypr)
    stops = [turn(line, -math.radians(stop)) for stop in (LOW, HIGH)]
    expected = max(stops, key=lambda stop: way * angle_about(axis, stop))
    push(blank.scene, rig, way)
    found = relative(rig, 1, 2, document)[:3, :3]
    off = angle_about(axis, found) - angle_about(axis, expected)
    assert abs(off) < (0.005 if cfm == HARD else 0.02)
    assert np.abs(found - expected).max() < (0.01 if cfm == HARD else 0.05), "and it turned about no other axis"


@mixed("yawed")  # a slider is drawn otherwise there
def test_a_slider_stops_where_odes_would(blank: Any, ypr: tuple, way: float, cfm: float) -> None:
    text = two_boxes(ypr, cfm, stops=(NEAR, FAR), tag="PrismaticJoint")
    rig, document = put(text), XmlModel(text)
    axis, line = document.joints["3"].axis, slider_line(ypr)
    expected = max((-NEAR * line, -FAR * line), key=lambda move: way * float(move @ axis))
    push(blank.scene, rig, way)
    found = relative(rig, 1, 2, document)
    assert np.abs(found[:3, 3] - expected).max() < 0.01
    assert np.abs(found[:3, :3] - np.eye(3)).max() < 0.01, "and it did not turn"


@softness
@ways
@pytest.mark.parametrize("ypr", [TILTS["R=90"]], ids=["R=90"])
def test_a_pose_to_start_from_does_not_move_the_stops(blank: Any, ypr: tuple, way: float, cfm: float) -> None:
    """Blender counts limits from the pose in which a run begins."""
    text = two_boxes(ypr, cfm)
    rig, document = put(text), XmlModel(text)
    low, high = document.joints["3"].limits()
    push(blank.scene, rig, way, start=0.3)
    assert coordinate(rig, 3, document) == pytest.approx(high if way > 0 else low, abs=0.02)
    key(rig, 3, [(1, -0.2)])  # and again from another one
    play(blank.scene, 60, lambda: None)
    assert coordinate(rig, 3, document) == pytest.approx(high if way > 0 else low, abs=0.02)


@ways
def test_a_slider_may_start_anywhere_too(blank: Any, way: float) -> None:
    text = two_boxes((0, 0, 0), HARD, stops=(NEAR, FAR), tag="PrismaticJoint")
    rig, document = put(text), XmlModel(text)
    push(blank.scene, rig, way, start=0.35)
    assert coordinate(rig, 3, document) == pytest.approx(FAR if way > 0 else NEAR, abs=0.01)


@pytest.mark.parametrize("stops", [(None, HIGH), (LOW, None), (None, None)], ids=["upper", "lower", "none"])
@pytest.mark.parametrize("tag", ["RevoluteJoint", "PrismaticJoint"])
@ways
def test_a_stop_that_is_off_stops_nothing(blank: Any, stops: tuple, tag: str, way: float) -> None:
    if tag == "PrismaticJoint":
        stops = tuple(None if stop is None else stop / 50 for stop in stops)
    text = two_boxes((0, 0, 90), HARD, stops=stops, tag=tag, force=200)
    rig, document = put(text), XmlModel(text)
    low, high = document.joints["3"].limits()
    push(blank.scene, rig, way, reach=1.6)
    stop = high if way > 0 else low
    assert coordinate(rig, 3, document) == pytest.approx(way * 1.6 if stop is None else stop, abs=0.02)


@softness
@tilts
def test_a_positive_target_moves_the_second_body_positively(blank: Any, ypr: tuple, cfm: float) -> None:
    text = two_boxes(ypr, cfm, stops=(None, None), force=50)
    rig, document = put(text), XmlModel(text)
    key(rig, 3, [(1, 0.0), (30, 0.6)])
    rig.data.knuckle.drive = "SERVO"
    play(blank.scene, 60, lambda: None)
    moved = relative(rig, 1, 2, document)[:3, :3]
    assert np.abs(moved - turn(document.joints["3"].axis, 0.6)).max() < 0.03


@pytest.mark.parametrize("heavy", [1, 2], ids=["first body stays", "second body stays"])
def test_a_joint_that_points_towards_the_root_counts_the_same_way(blank: Any, heavy: int) -> None:
    text = model(
        body(1, (0, 0, 5), mass=1e5 if heavy == 1 else 1),
        body(2, (0.5, 0.4, 3.8), (0.4, 1.2, 0.6), mass=1e5 if heavy == 2 else 1),
        body(4, (4, 0, 5)),
        joint(3, 1, 2, PIVOT, (0, 0, 90), (LOW, HIGH), force=20),
        joint(5, *((1, 4) if heavy == 1 else (2, 4)), (3, 0, 5), force=20),
    )
    if heavy == 2:
        text = text.replace("<Body1>2</Body1><Body2>4</Body2>", "<Body1>4</Body1><Body2>2</Body2>")  # claims the root
    rig, document = put(text), XmlModel(text)
    roots = [bone.knuckle.root for bone in rig.data.bones if bone.knuckle.root]
    assert roots == [str(heavy)]
    low, high = document.joints["3"].limits()
    for way, stop in ((1.0, high), (-1.0, low)):
        push(blank.scene, rig, way)
        assert coordinate(rig, 3, document) == pytest.approx(stop, abs=0.01)


@pytest.mark.parametrize("speed", [3.0, -1.5])
@tilts
def test_a_motor_rotates_at_its_target_velocity(blank: Any, ypr: tuple, speed: float) -> None:
    """Juice hands the number to ODE as rad/s of the first body: the second turns the other way about ODE's axis."""
    text = two_boxes(ypr, HARD, stops=(None, None), force=200, behaviours=spinner(3, speed))
    rig, document = put(text), XmlModel(text)
    rig.data.knuckle.drive = "SERVO"
    line = hinge_line(ypr)
    angles = play(blank.scene, 61, lambda: angle_about(line, relative(rig, 1, 2, document)[:3, :3]))
    turned = np.unwrap(angles)
    assert (turned[60] - turned[30]) / 0.5 == pytest.approx(-speed, rel=0.01)


@pytest.mark.parametrize("cfm", [HARD, 1e-4], ids=["hard", "soft"])
def test_a_ball_joint_holds_its_point_and_rotates_freely(blank: Any, cfm: float) -> None:
    text = model(
        body(1, (0, 0, 5), mass=1e4, size=(2, 2, 10)),
        body(2, (0, 2, 4), (0.4, 2, 0.4)),
        joint(3, 1, 2, (0, 1, 4), tag="SphericalJoint"),
        gravity=9.81,
        cfm=cfm,
        erp=1.0,
    )
    rig, document = put(text), XmlModel(text)
    rig.data.knuckle.drive = "LIMP"
    gaps = play(blank.scene, 60, lambda: gap(rig, 3, document))
    assert max(gaps) < 0.005
    assert relative(rig, 1, 2, document)[1, 1] < 0.5, "it swings"


def test_a_soft_joint_gives_as_odes_does(blank: Any) -> None:
    """A constraint of ODE under a steady force f gives by f * step * CFM / ERP."""
    cfm, erp, mass, gravity = 0.01, 0.5, 2.0, 10.0
    text = model(
        body(1, (0, 0, 5), mass=1e5, size=(4, 4, 10)),
        body(2, (0, 0, 4), mass=mass),
        joint(3, 1, 2, (0, 0, 4), (0, 90, 0)),  # an axis that lies flat, through the body's middle
        gravity=gravity,
        cfm=cfm,
        erp=erp,
    )
    rig, document = put(text), XmlModel(text)
    rig.data.knuckle.drive = "LIMP"
    sag = play(blank.scene, 90, lambda: -relative(rig, 1, 2, document)[2, 3])
    assert sag[-1] == pytest.approx(mass * gravity * 0.01 * cfm / erp, rel=0.05)


def test_bodies_joined_by_a_joint_do_not_collide_and_others_do(blank: Any) -> None:
    inside = [body(1, (0, 0, 5), (2, 2, 2), mass=10), body(2, (0, 0, 5.5), (1, 1, 1.5))]
    joined = put(model(*inside, joint(3, 1, 2, (0, 0, 5.5), (0, 90, 0))))
    joined.data.knuckle.drive = "LIMP"
    document = XmlModel(model(*inside))
    play(blank.scene, 30, lambda: None)
    assert np.abs(relative(joined, 1, 2, document) - np.eye(4)).max() < 1e-4
    joined.data.knuckle.drive = "KEYS"
    for obj in objects_of(joined, "BODY").values():
        blank.scene.rigidbody_world.collection.objects.unlink(obj)
    loose = put(model(*inside))
    loose.data.knuckle.drive = "LIMP"
    play(blank.scene, 30, lambda: None)
    assert np.linalg.norm(relative(loose, 1, 2, document)[:3, 3]) > 0.1


def test_an_edited_stop_holds_in_the_next_run_and_on_the_bone(blank: Any) -> None:
    text = two_boxes((0, 0, 90), HARD, force=200)
    rig, document = put(text), XmlModel(text)
    push(blank.scene, rig, 1.0, reach=1.5)
    assert coordinate(rig, 3, document) == pytest.approx(math.radians(HIGH), abs=0.01)
    dof = objects_of(rig, "JOINT")["3"].knuckle.joint.dofs[0]
    dof.upper_angle = 0.4
    assert bone_of(rig, 3).constraints[0].max_z == pytest.approx(0.4)
    play(blank.scene, 100, lambda: None)
    assert coordinate(rig, 3, document) == pytest.approx(0.4, abs=0.01)
    dof.use_upper = False
    play(blank.scene, 100, lambda: None)
    assert coordinate(rig, 3, document) == pytest.approx(1.5, abs=0.01)


def test_softness_typed_where_the_file_has_no_time_step_is_that_of_juices(blank: Any) -> None:
    """A SKEL file has neither; the panel offers both."""
    from addon.core.model import Dof
    from tests.support.degrees_helpers import put as put_mechanism
    from tests.support.springs_helpers import cube_on_joint

    rig = put_mechanism(cube_on_joint(Dof("rotation", np.array([0.0, 0.0, 1.0]))), physics=True)
    model = rig.data.knuckle
    model.time_step, model.erp, model.cfm = 0.0, 0.8, 0.001
    (empty,) = [obj for obj in rig.users_scene[0].objects if obj.knuckle.role == "JOINT"]
    assert empty.rigid_body_constraint.spring_stiffness_x == pytest.approx(0.8 / (0.01 * 0.001))
