"""The description of a mechanism: what ``info`` prints, for programs and for people."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from addon.core.bounds import mechanism_bounds
from addon.core.gait.behaviors import Clockwork, ClockworkMotor, Engine, GaitBehaviors
from addon.core.model import Body, Dof, Joint, Mechanism, Motion, Shape, Source, Trajectory, World
from addon.core.report import Report
from addon.core.summary import describe_mechanism, summarize_mechanism
from addon.core.transforms import rotation_matrix


def pose(x: float = 0, y: float = 0, z: float = 0, about: tuple[float, float, float] = (0, 0, 0)) -> np.ndarray:
    out = np.eye(4)
    out[:3, :3] = rotation_matrix(np.radians(about))
    out[:3, 3] = (x, y, z)
    return out


@pytest.fixture
def square() -> Mechanism:
    """Four bars in a ring (one joint must close it), a joint to nowhere, and a gait."""
    bodies = [
        Body(
            str(n),
            f"bar {n}",
            pose=pose(math.cos(n), math.sin(n), n, (0, 0, 90)),
            mass=12.0,
            com=np.array([1.0, 0.0, 0.0]),
            shapes=[Shape("box", {"x": 1.0, "y": 2.0, "z": 3.0}, pose=pose(1), color=(1, 0, 0, 1))],
            assembly="ring",
            twin="1" if n == 0 else None,
        )
        for n in range(4)
    ]
    joints = [
        Joint(
            f"j{n}",
            f"hinge {n}",
            "revolute",
            str(n),
            str((n + 1) % 4),
            frame_parent=pose(0, 0, 1, (90, 0, 0)),
            dofs=[Dof("rotation", lower=-1.0, upper=math.inf, gain=10.0, file_sign=-1.0)],
            twin="j1" if n == 0 else None,
        )
        for n in range(4)
    ]
    joints.append(Joint("stray", "stray", "prismatic", None, "gone", pose(7, 8, 9), dofs=[], active=False))
    gait = Clockwork(motors=[ClockworkMotor("j0", motion=1, amplitude=5)], amp_mod=2)
    report = Report()
    report.warn("inactive-joint", "the joint has no bodies", 12, "Model/Joint[5]")
    return Mechanism(
        "Ring",
        World(gravity=np.array([0.0, 0.0, -9.0])),
        bodies,
        joints,
        motions=[
            Motion("dance", [Trajectory("hinge 0", np.array([0.0, 0.5]), np.array([0.0, 1.0]))], {"author": "me"})
        ],
        behaviours=GaitBehaviors(Engine(15, 2.0, 1.0, 90.0), [gait]),
        source=Source("juice", "jm"),
        report=report,
    )


def test_the_object_has_the_keys_that_scripts_rely_on(square: Mechanism) -> None:
    found = describe_mechanism(square)
    keys = {"format", "dialect", "name", "gravity", "bodies", "joints", "motions", "report", "controls", "engine"}
    assert set(found) == keys
    assert set(found["bodies"][0]) == {
        "id", "name", "assembly", "mass", "com_world", "inertia_world", "matrix_world", "twin", "shapes",
    }  # fmt: skip
    assert set(found["bodies"][0]["shapes"][0]) == {
        "type", "size", "matrix_world", "visual", "collision", "color", "mesh",
    }  # fmt: skip
    assert set(found["joints"][0]) == {
        "id", "name", "type", "parent", "child", "active", "loop", "twin", "frame_world", "dofs",
    }  # fmt: skip
    assert set(found["joints"][0]["dofs"][0]) >= {"kind", "axis_world", "lower", "upper", "position", "gain"}
    assert set(found["motions"][0]) == {"name", "attributes", "servos"}
    assert set(found["motions"][0]["servos"][0]) == {"name", "times", "values"}
    assert set(found["report"][0]) == {"severity", "code", "message", "line", "where"}


def test_a_description_survives_json_to_the_last_digit(square: Mechanism) -> None:
    found = describe_mechanism(square)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_bodies_stand_in_the_world(square: Mechanism) -> None:
    bar = describe_mechanism(square)["bodies"][2]
    # turned a quarter about z: the body's x is the world's y
    np.testing.assert_allclose(bar["com_world"], [math.cos(2), math.sin(2) + 1, 2], atol=1e-12)
    np.testing.assert_allclose(bar["inertia_world"], np.diag([10, 13, 5]), atol=1e-12)
    np.testing.assert_allclose(bar["matrix_world"], square.bodies[2].pose)
    np.testing.assert_allclose(np.array(bar["shapes"][0]["matrix_world"])[:3, 3], bar["com_world"], atol=1e-12)
    assert bar["shapes"][0]["size"] == {"x": 1.0, "y": 2.0, "z": 3.0}
    assert bar["shapes"][0]["color"] == [1, 0, 0, 1]
    assert (bar["id"], bar["name"], bar["assembly"], bar["mass"]) == ("2", "bar 2", "ring", 12.0)
    assert [body["twin"] for body in describe_mechanism(square)["bodies"]] == ["1", None, None, None]


def test_joints_stand_in_the_world(square: Mechanism) -> None:
    hinge = describe_mechanism(square)["joints"][1]
    np.testing.assert_allclose(np.array(hinge["frame_world"])[:3, 3], [math.cos(1), math.sin(1), 2])
    # the joint's z is turned a quarter about x to the body's -y, which is the world's +x
    np.testing.assert_allclose(hinge["dofs"][0]["axis_world"], [1, 0, 0], atol=1e-12)
    assert (hinge["parent"], hinge["child"], hinge["active"]) == ("1", "2", True)
    assert (hinge["dofs"][0]["lower"], hinge["dofs"][0]["upper"]) == (-1.0, None)
    assert hinge["dofs"][0]["kind"] == "rotation"
    stray = describe_mechanism(square)["joints"][4]
    np.testing.assert_allclose(np.array(stray["frame_world"])[:3, 3], [7, 8, 9])
    assert (stray["parent"], stray["child"], stray["active"], stray["loop"]) == (None, "gone", False, False)


def test_one_joint_of_a_ring_closes_it(square: Mechanism) -> None:
    assert sum(joint["loop"] for joint in describe_mechanism(square)["joints"]) == 1
    square.joints.pop(0)
    assert sum(joint["loop"] for joint in describe_mechanism(square)["joints"]) == 0


def test_motions_controls_engine_and_report(square: Mechanism) -> None:
    found = describe_mechanism(square, [Motion("extra")])
    assert [motion["name"] for motion in found["motions"]] == ["dance", "extra"]
    assert found["motions"][0] == {
        "name": "dance",
        "attributes": {"author": "me"},
        "servos": [{"name": "hinge 0", "times": [0.0, 0.5], "values": [0.0, 1.0]}],
    }
    assert found["controls"] == ["joystick 1 y"]
    assert found["engine"] == {"standard_speed": 15, "speed_factor": 2, "pose_delay": 1, "pose_phase": 90}
    assert found["report"] == [
        {
            "severity": "warning",
            "code": "inactive-joint",
            "message": "the joint has no bodies",
            "line": 12,
            "where": "Model/Joint[5]",
        }
    ]


def test_an_empty_mechanism_is_described_too() -> None:
    found = describe_mechanism(Mechanism())
    assert (found["bodies"], found["joints"], found["motions"], found["report"]) == ([], [], [], [])
    assert (found["controls"], found["engine"]) == ([], None)
    assert "bodies   0" in summarize_mechanism(Mechanism())


def test_a_number_that_json_lacks_is_null() -> None:
    body = Body("b", "b", mass=math.nan)
    found = json.loads(json.dumps(describe_mechanism(Mechanism(bodies=[body])), allow_nan=False))
    assert found["bodies"][0]["mass"] is None


SHAPES = {
    "box": {"x": 1.0, "y": 2.0, "z": 3.0},
    "ellipsoid": {"x": 1.0, "y": 2.0, "z": 3.0},
    "sphere": {"radius": 0.7},
    "capsule": {"radius": 0.4, "length": 2.0},
    "cylinder": {"radius": 0.4, "length": 2.0},
}


def surface(kind: str, size: dict[str, float]) -> np.ndarray:
    """Points (n, 3) on a shape's surface, its extremes among them or nearly so."""
    turn, lift = np.meshgrid(np.linspace(0, 2 * np.pi, 721), np.linspace(-np.pi / 2, np.pi / 2, 361))
    ball = np.stack([np.cos(turn) * np.cos(lift), np.sin(turn) * np.cos(lift), np.sin(lift)], axis=-1).reshape(-1, 3)
    if kind in ("box", "ellipsoid"):
        half = np.array([size["x"], size["y"], size["z"]]) / 2
        return half * (np.sign(ball) if kind == "box" else ball)
    ends = np.sign(ball[:, 2:]) * [0, 0, size.get("length", 0) / 2]
    return size["radius"] * (ball * [1, 1, 0] if kind == "cylinder" else ball) + ends


@pytest.mark.parametrize("kind", SHAPES)
def test_the_size_is_that_of_the_turned_shape(kind: str) -> None:
    body = Body("b", "b", pose=pose(1, 2, 3, (30, 40, 50)))
    body.shapes = [Shape(kind, SHAPES[kind], pose=pose(0.5, 0, 0, (10, -70, 20)))]  # type: ignore[arg-type]
    points = surface(kind, SHAPES[kind])
    world = body.pose @ body.shapes[0].pose
    points = points @ world[:3, :3].T + world[:3, 3]
    corners = mechanism_bounds(Mechanism(bodies=[body]))
    assert corners is not None
    np.testing.assert_allclose(corners[0], points.min(axis=0), atol=1e-4)
    np.testing.assert_allclose(corners[1], points.max(axis=0), atol=1e-4)


def test_the_summary_has_the_main_figures(square: Mechanism) -> None:
    text = summarize_mechanism(square)
    for part in (
        "Ring (juice jm)",
        "4, total mass 48",
        "5 (4 revolute, 1 prismatic), 1 closing a loop, 1 inactive",
        "0 0 -9",
        "moves 1 joint",
        "joystick 1 y",
        "dance: 1 servo, 0.5 s",
        "0 errors, 1 warning\n",
        "warning: line 12: the joint has no bodies [Model/Joint[5]]",
    ):
        assert part in text, part
