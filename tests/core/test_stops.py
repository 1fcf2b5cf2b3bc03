"""Which stops a coordinate has, and what is beyond them: the one rule for the panel, exports and the command line."""

from __future__ import annotations

import numpy as np
import pytest

from addon.core.model import Dof, Joint, Mechanism, Motion, Trajectory
from addon.core.motion.checks import check_servo
from addon.core.motion.fitting import FitOptions, fit_motion
from addon.core.motion.servo_matching import mechanism_servos
from addon.core.report import Report
from addon.core.stops import clamp_values_to_stops, joint_stops, stop_excess


def test_each_coordinate_has_its_own_stops() -> None:
    ball = Dof("ball", parts=[Dof("rotation", lower=-0.1 * k, upper=None) for k in (1, 2, 3)])
    loose, knee = Dof("ball"), [Dof("rotation", upper=1.0), Dof("translation", lower=0.0)]
    found = joint_stops([ball, loose, *knee])
    assert found == [(-0.1, None), (-0.2, None), (pytest.approx(-0.3), None), *[(None, None)] * 3, (None, 1), (0, None)]


def test_servos_have_the_stops_of_their_coordinates() -> None:
    ball = Dof("ball", parts=[Dof("rotation", lower=-0.1 * k, upper=None) for k in (1, 2, 3)])
    joints = [
        Joint("1", "Hip", "ball", "a", "b", dofs=[ball]),
        Joint("2", "Root", "free", None, "b", dofs=[Dof("free")]),
        Joint("3", "Knee", "cylindrical", "a", "b", dofs=[Dof("rotation", upper=1.0), Dof("translation", lower=0.0)]),
    ]
    found = mechanism_servos(Mechanism(joints=joints))
    assert {name: servo.stops for name, servo in found.items()} == {
        "Hip/rx": (-0.1, None),
        "Hip/ry": (-0.2, None),
        "Hip/rz": (pytest.approx(-0.3), None),
        **{f"Root/{axis}": (None, None) for axis in ("rx", "ry", "rz", "x", "y", "z")},
        "Knee/1": (None, 1.0),
        "Knee/2": (0.0, None),
    }
    assert [name for name, servo in found.items() if servo.slides] == ["Root/x", "Root/y", "Root/z", "Knee/2"]


def test_balls_that_lack_parts_have_no_stops() -> None:
    joint = Joint("1", "Hip", "ball", "a", "b", dofs=[Dof("ball", parts=[Dof("rotation", lower=-1.0)])])
    assert [servo.stops for servo in mechanism_servos(Mechanism(joints=[joint])).values()] == [(None, None)] * 3


def test_of_joints_with_one_id_the_first_that_moves_counts() -> None:
    joints = [
        Joint("a", "Weld", "weld", None, "a"),
        Joint("a", "Hip", "universal", None, "b", dofs=[Dof("rotation", upper=1.0), Dof("rotation", upper=2.0)]),
        Joint("a", "Knee", "revolute", None, "c", dofs=[Dof("rotation", upper=3.0)]),
    ]
    for order in (joints, [joints[1], joints[2], joints[0]]):
        found = mechanism_servos(Mechanism(joints=order))
        assert {name: servo.upper for name, servo in found.items()} == {"Hip/1": 1.0, "Hip/2": 2.0}


def test_a_value_at_a_stop_is_not_past_it() -> None:
    values = np.array([-1.2, -1.00005, -1.0, 0.0, 0.5, 0.50005, 0.6])
    assert stop_excess(values, (-1.0, 0.5)) == pytest.approx([-0.2, 0, 0, 0, 0, 0, 0.1])
    assert not stop_excess(values, (None, None)).any()
    assert clamp_values_to_stops(values, (-1.0, 0.5)).tolist() == [-1.0, -1.00005, -1.0, 0.0, 0.5, 0.50005, 0.5]
    assert clamp_values_to_stops(values, (-1.0, None)).tolist() == [-1.0, *values[1:]]


@pytest.mark.parametrize("stop", [0.1, 500.3, 12345.678, 9.87e6])
def test_a_number_is_on_the_stop_that_32_bits_make_of_it(stop: float) -> None:
    kept = float(np.float32(stop))
    assert not stop_excess(
        np.array([stop, np.nextafter(np.float32(stop), np.inf, dtype=np.float32)]), (None, kept)
    ).any()
    assert not stop_excess(np.array([-stop]), (-kept, None)).any()
    assert stop_excess(np.array([stop * 1.001 + 0.01]), (None, kept)).all()


@pytest.mark.parametrize("over", [0.0, 5e-5, 2e-4, 1e-2])
def test_the_panel_and_the_command_line_agree(over: float) -> None:
    """Also of a ball's coordinate."""
    parts = [Dof("rotation", lower=-1.0, upper=0.5) for _ in range(3)]
    robot = Mechanism("robot", joints=[Joint("1", "Hip", "ball", "a", "b", dofs=[Dof("ball", parts=parts)])])
    track = Trajectory("Hip/ry", np.array([0.0, 1.0]), np.array([0.0, 0.5 + over]))
    report = Report()
    fit_motion(Motion("m", [track]), robot, FitOptions(), report)
    told = any(entry.code == "beyond-stops" for entry in report.entries)
    assert told == bool(check_servo(track, mechanism_servos(robot)["Hip/ry"].stops).outside) == (over > 1e-4)
