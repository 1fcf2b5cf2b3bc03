"""Restraints by formula under physics: against a numerical integration that knows nothing of Blender's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.model import Restraint
from addon.core.report import Report
from tests.support.degrees_helpers import X, Z, pose_of, put, rotations, slides
from tests.support.friction_helpers import G
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.restraints_helpers import (
    LAWS,
    Law,
    floating,
    hinge_run,
    integrated,
    middles,
    pair_run,
    restrained,
    slide_run,
)
from tests.support.springs_helpers import FRAME, INERTIA, MASS, angle, cube_on_joint, moved, warnings


@pytest.mark.parametrize("name", list(LAWS))
def test_a_prismatic_joint_is_restrained(blank: Any, name: str) -> None:
    found, true = slide_run(blank.scene, name)
    assert np.abs(found - true).max() < 0.02 * np.ptp(true)


@pytest.mark.parametrize("name", ["spring", "slack in the middle", "damper that grows"])
def test_a_hinge_is_restrained(blank: Any, name: str) -> None:
    found, true = hinge_run(blank.scene, name)
    assert np.abs(found - true).max() < 0.02 * np.ptp(true)


def test_friction_by_formula_brakes_and_then_holds(blank: Any) -> None:
    """A constant against the motion either way, and a spring that it holds short of its rest."""
    laws: list[tuple[str, Law]] = [("spring", ([], [[60.0, 0.0]])), ("friction", ([0.0], [[-3.0], [3.0]]))]
    (dof,) = dofs = slides(Z)
    dof.position = 0.4
    rig = put(restrained(cube_on_joint(*dofs), laws), physics=True)
    rig.data.knuckle.drive = "LIMP"
    found = np.array(play(blank.scene, 181, lambda: float(moved(rig)[2, 3])))
    turns = [0.4 - 0.1 * k for k in range(5)]  # every half swing is two thirds of 3 / 60 shorter on either side
    halves = found[[0, *(np.flatnonzero(np.diff(np.sign(np.diff(found))) != 0) + 1)]]
    assert np.abs(halves[:4]) == pytest.approx(turns[:4], abs=0.01)
    assert abs(found[-1]) <= 0.05 + 1e-3
    assert np.ptp(found[-20:]) < 1e-4


@pytest.mark.parametrize("start", [4.0, 7.0])
def test_a_hinge_that_begins_after_revolutions_rests_where_its_formula_does(blank: Any, start: float) -> None:
    (dof,) = dofs = rotations(Z)
    dof.position = start
    rig = put(restrained(cube_on_joint(*dofs), [("spring", ([], [[5.0, -5.0 * (start + 0.2)]]))]), physics=True)
    rig.data.knuckle.drive = "LIMP"
    found = np.unwrap(np.array(play(blank.scene, 61, lambda: angle(2)(moved(rig)))))
    true = 0.2 * (1.0 - np.cos(math.sqrt(5.0 / INERTIA) * np.arange(61) / 60))
    assert np.abs(found - found[0] - true).max() < 0.01


def test_a_strong_damper_by_formula_brakes_all_of_a_frame(blank: Any) -> None:
    """Though it would take more than the speed there is: what it is at the frame's begin is not what it is later."""
    strength = 100.0
    rig = put(
        restrained(cube_on_joint(*slides(Z), gravity=-G * FRAME[:3, 2]), [("damper", ([], [[strength, 0.0]]))]),
        physics=True,
    )
    rig.data.knuckle.drive = "LIMP"
    found = np.array(play(blank.scene, 91, lambda: moved(rig)[2, 3]))
    time, rate = np.arange(91) / 60, strength / MASS
    true = -G / rate * (time - (1.0 - np.exp(-rate * time)) / rate)
    assert np.abs(found - true).max() < 0.02 * abs(true[-1])


# ---------------------------------------------------------------- between two places


def test_two_bodies_on_a_spring_pull_each_other(blank: Any) -> None:
    found, true, strayed = pair_run(blank.scene)
    assert np.abs(found - true).max() < 0.01
    assert strayed < 1e-3


def test_a_spring_off_the_middle_rotates_its_body(blank: Any) -> None:
    """A steady pull on a place beside the middle: a torque of force times arm."""
    mechanism = floating(np.zeros(3))
    on_body = pose_of((0, 0, 0), (0.0, 0.3, 0.0))
    mechanism.bodies[0].pose = np.eye(4)
    mechanism.joints[0].frame_child = np.eye(4)
    far = pose_of((0, 0, 0), (100.0, 0.3, 0.0))
    mechanism.restraints = [
        Restraint("s", "spring", bodies=(None, "c0"), frames=(far, on_body), coefficients=[[0.3]], knots=[])
    ]
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    last = play(blank.scene, 31, lambda: world_of(objects_of(rig, "BODY")["c0"]))[-1]
    assert last[0, 3] == pytest.approx(0.3 / MASS * 0.5**2 / 2, rel=0.02)
    assert math.atan2(last[1, 0], last[0, 0]) == pytest.approx(-0.3 * 0.3 / INERTIA * 0.5**2 / 2, rel=0.02)


def test_a_spring_along_an_axis_counts_that_alone(blank: Any) -> None:
    mechanism = floating(np.array([0.3, 0.0, 0.8]))
    mechanism.bodies[0].pose = pose_of((0, 0, 0), (0.3, 0.0, 0.8))
    mechanism.joints[0].frame_child = np.linalg.inv(mechanism.bodies[0].pose)
    ends = pose_of(0.5 * X, (0, 0, 0)), np.eye(4)
    mechanism.restraints = [
        Restraint("s", "spring", bodies=(None, "c0"), frames=ends, distance="Tz", coefficients=[[50.0, 0.0]])
    ]
    found = middles(blank.scene, mechanism, 91)[:, 0]
    axis = ends[0][:3, 2]
    along = found[0] @ axis * np.cos(math.sqrt(50.0 / MASS) * np.arange(91) / 60)
    assert np.abs(found @ axis - along).max() < 0.01
    assert np.abs(found - np.outer(found @ axis, axis) - (found[0] - found[0] @ axis * axis)).max() < 1e-3


def test_restraints_that_physics_simulates_are_reported(blank: Any) -> None:
    mechanism = restrained(cube_on_joint(*slides(Z)), LAWS["spring"])
    assert warnings(mechanism) == set()
    assert "restraint-sign" in {entry.code for entry in mechanism.report.entries}
    for change, word in (
        ({"type": "gear"}, "gear"),
        ({"joint": None, "bodies": (None, "cube"), "frames": (np.eye(4),) * 2, "distance": "Rx"}, "Rx"),
    ):
        mechanism = restrained(cube_on_joint(*slides(Z)), LAWS["spring"])
        for name, value in change.items():
            setattr(mechanism.restraints[0], name, value)
        assert warnings(mechanism) == {"restraint-not-simulated"}
        assert any(word in entry.message for entry in mechanism.report.entries)


def test_a_restraint_on_an_inactive_joint_is_left_out_and_reported(blank: Any) -> None:
    mechanism = restrained(cube_on_joint(*slides(Z)), LAWS["spring"])
    mechanism.joints[0].active = False
    assert "restraint-not-simulated" in warnings(mechanism)


def test_a_formula_in_degrees_acts_in_degrees(blank: Any) -> None:
    """As files have it whose angles are degrees: a tenth of a newton metre per degree."""
    (dof,) = dofs = rotations(Z)
    dof.position = 0.3
    mechanism = restrained(cube_on_joint(*dofs), [("spring", ([], [[0.1, 0.0]]))])
    mechanism.report = Report()
    mechanism.report.info("degrees", "angles are degrees")
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    found = np.array(play(blank.scene, 61, lambda: angle(2)(moved(rig))))
    swing = math.sqrt(math.degrees(0.1) / INERTIA)
    assert np.abs(found - 0.3 * np.cos(swing * np.arange(61) / 60)).max() < 0.006


def test_a_polynomial_of_a_joints_stiffness_acts(blank: Any) -> None:
    """Shift's own: -(c0 + c1 q + …), of which a record has room for the straight part."""
    import json

    from addon import formats

    joint = {
        "name": "j",
        "type": "Tz",
        "body_frame_pairs": [["fixed", "origin"], ["a", "origin"]],
        "initial_displacement": 0.3,
        "stiffness": [1.0, 40.0, 0.0, 60.0],
    }
    document = {
        "gravity": [0, 0, 0],
        "bodies": [{"name": "a", "mass": 2.0, "Ixx": 1, "Iyy": 1, "Izz": 1}],
        "joints": [joint],
    }
    rig = put(formats.loads(json.dumps(document).encode(), "m.json"), physics=True)
    rig.data.knuckle.drive = "LIMP"
    body = next(iter(objects_of(rig, "BODY").values()))
    found = np.array(play(blank.scene, 91, lambda: world_of(body)[2, 3]))
    true = integrated(lambda x, v: -(1.0 + 40.0 * x + 60.0 * x**3) / 2.0, np.array([0.3]), 91)[:, 0]
    assert np.abs(found - true).max() < 0.01
