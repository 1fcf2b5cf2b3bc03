"""The truth about a run, of poses that are written down by formula: what comes out is what was put in."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from addon.core.accuracy import (
    ACCURACY_THRESHOLDS,
    AccuracyRow,
    accuracy_rows,
    accuracy_verdict,
    format_percent,
    joint_separation_row,
)
from addon.core.model import Dof, Joint
from addon.core.run_metrics import (
    GROUND_INDEX,
    BodyPenetration,
    JointAccuracy,
    MeasuredJoint,
    PathShift,
    SimulationAccuracy,
    SimulationRecord,
    energy_gained,
    measure_accuracy,
    path_shift,
)

RATE = 60.0
TIMES = np.arange(121) / RATE
G = 9.81


def turned_about_z(angles: np.ndarray) -> np.ndarray:
    """Poses (n, 4, 4) of turns about Z."""
    out = np.broadcast_to(np.eye(4), (len(angles), 4, 4)).copy()
    out[:, 0, 0] = out[:, 1, 1] = np.cos(angles)
    out[:, 1, 0], out[:, 0, 1] = np.sin(angles), -np.sin(angles)
    return out


def run(*bodies: np.ndarray, joints: tuple = (), free: bool = True, **more) -> SimulationRecord:
    """A run of bodies of mass 2 and moments (1, 2, 3), in gravity along -Y."""
    world = np.broadcast_to(np.eye(4), (len(bodies[0]), 4, 4))
    count = len(bodies)
    poses = np.stack([*bodies, world], axis=1)
    tensors = np.tile(np.diag([1.0, 2.0, 3.0]), (count, 1, 1))
    return SimulationRecord(poses, RATE, list(joints), np.full(count, 2.0), tensors, np.array([0, -G, 0]), free, **more)


def hinge(told: np.ndarray | None = None, **stops) -> MeasuredJoint:
    """A hinge at the world's origin, about Z, of a link of 4."""
    joint = Joint("7", "Knee", "revolute", None, None, dofs=[Dof("rotation", **stops)])
    return MeasuredJoint(joint, 1, 0, np.eye(4), np.eye(4), 4.0, None if told is None else told[:, None])


def test_separations_tilts_errors_and_stops_are_those_that_were_put_in() -> None:
    angles = 0.5 * np.sin(TIMES * 3.0)
    poses = turned_about_z(angles)
    poses[:, 0, 3], poses[:, 2, 3] = 0.03 * (TIMES > 1.0), 0.04 * (TIMES > 1.0)
    tilt = np.eye(4)
    tilt[1:3, 1:3] = [[math.cos(0.1), -math.sin(0.1)], [math.sin(0.1), math.cos(0.1)]]
    poses[30] = poses[30] @ tilt
    wanted = angles + 0.02
    wanted[:10] = np.nan
    wanted[50] += 2 * math.pi + 0.05
    (found,) = measure_accuracy(run(poses, joints=(hinge(wanted, lower=-0.45, upper=0.6),))).joints
    assert (found.separation, found.share) == (pytest.approx(0.05), pytest.approx(0.05 / 4))
    assert found.mean_separation == pytest.approx(0.05 * (TIMES > 1.0).mean())
    assert found.tilt == pytest.approx(0.1, abs=1e-3)
    assert found.tracking_error == pytest.approx(0.07, abs=1e-3)
    assert found.mean_tracking_error == pytest.approx(0.02 + 0.05 / 111, abs=1e-3)
    assert found.stop_overrun == pytest.approx(-0.45 - angles.min(), abs=1e-3)
    assert str(joint_separation_row(found)) == "Knee: 1.2 % at worst, 0.62 % on average. Good"


def test_a_translation_along_its_axis_is_no_joint_separation() -> None:
    poses = np.broadcast_to(np.eye(4), (121, 4, 4)).copy()
    poses[:, :3, 3] = np.stack([3 * TIMES, 0 * TIMES, 4 * TIMES], axis=1)
    axis = np.array([0.6, 0.0, 0.8])
    joint = Joint("1", "", "prismatic", None, None, dofs=[Dof("translation", axis, upper=9.0)])
    (found,) = measure_accuracy(run(poses, joints=(MeasuredJoint(joint, 1, 0, np.eye(4), np.eye(4), 1.0),))).joints
    assert found.separation == pytest.approx(0, abs=1e-12)
    assert (found.name, found.is_revolute) == ("1", False)
    assert found.stop_overrun == pytest.approx(10 - 9)
    assert math.isnan(found.tracking_error)


def test_a_weld_may_move_nowhere() -> None:
    poses = turned_about_z(np.full(5, 0.3))
    poses[:, 1, 3] = 0.2
    weld = MeasuredJoint(Joint("1", "", "fixed", None, None), 1, 0, np.eye(4), np.eye(4), 2.0)
    (found,) = measure_accuracy(run(poses, joints=(weld,))).joints
    assert (found.separation, found.tilt, found.share) == pytest.approx((0.2, 0.3, 0.1))


def falling(strength: float) -> np.ndarray:
    poses = turned_about_z(2.5 * TIMES)
    poses[:, 0, 3] = 3 * TIMES
    poses[:, 1, 3] = -strength * G * TIMES**2 / 2
    return poses


@pytest.mark.parametrize("strength", [1.0, 1.1, 0.9])
def test_energy_that_comes_from_nowhere_is_found(strength: float) -> None:
    """A body that falls more strongly than gravity pulls: what it has more at the end, and nothing that is lost."""
    kinetic = 0.5 * 2.0 * (3.0**2 + (strength * G * 2) ** 2) + 0.5 * 3.0 * 2.5**2
    gained = 0.5 * 2.0 * (strength * G * 2) ** 2 - 2.0 * G * strength * G * 2**2 / 2
    assert energy_gained(run(falling(strength))) == pytest.approx(max(gained, 0) / kinetic, abs=2e-4)


def test_a_swing_of_large_amplitude_gains_nothing() -> None:
    """Integrated by Runge and Kutta in small steps; its pivot is a length away from the body."""
    length, state, angles = 1.5, np.array([2.5, 0.0]), []
    fall = lambda s: np.array([s[1], -2 * G * length / (3.0 + 2 * length**2) * math.sin(s[0])])  # noqa: E731
    for _ in TIMES:
        angles.append(state[0])
        for _sub in range(20):
            h = 1 / RATE / 20
            a = fall(state)
            b = fall(state + h / 2 * a)
            c = fall(state + h / 2 * b)
            state = state + h / 6 * (a + 2 * b + 2 * c + fall(state + h * c))
    poses = turned_about_z(np.array(angles))
    poses[:, 0, 3], poses[:, 1, 3] = length * np.sin(angles), -length * np.cos(angles)
    assert energy_gained(run(poses)) < 2e-4
    heavy = run(poses)
    heavy.gravity = heavy.gravity * 0.8  # then what it has below comes from nowhere
    drop = length * (1 - math.cos(2.5))
    assert energy_gained(heavy) == pytest.approx(0.2 * drop / drop, rel=0.02)


def test_a_blow_that_stops_a_body_gains_nothing() -> None:
    poses = falling(1.0)
    poses[70:] = poses[70]
    assert energy_gained(run(poses)) < 1e-3


def test_springs_count_as_stored_energy() -> None:
    """A mass that swings on a spring, half a turn from its rest: without the spring it would gain all it has."""
    spin = math.sqrt(12.0 / 3.0)
    poses = turned_about_z(0.4 + np.cos(spin * TIMES))
    poses[:, :3, 3] = 0
    spring = hinge()
    spring.joint.dofs[0].stiffness, spring.joint.dofs[0].rest = 12.0, 0.4
    assert energy_gained(run(poses, joints=(spring,))) < 1e-3
    assert energy_gained(run(poses, joints=(hinge(),))) == pytest.approx(1, abs=1e-3)


def test_energy_with_motors_or_at_rest_is_not_reported() -> None:
    assert math.isnan(energy_gained(run(falling(1.1), free=False)))
    assert math.isnan(energy_gained(run(turned_about_z(np.zeros(50)))))
    assert math.isnan(energy_gained(run(falling(1.1)[:4])))


def test_the_deepest_is_named() -> None:
    overlaps = [
        BodyPenetration(0, GROUND_INDEX, np.array([0, 0.1, 0.3, 0])),
        BodyPenetration(0, 1, np.array([0, 0.4, 0, 0])),
    ]
    still = turned_about_z(np.zeros(4))
    found = measure_accuracy(run(still, still, overlaps=overlaps))
    assert (found.penetration, found.deepest_pair, found.deepest_index) == (0.4, (0, 1), 1)
    assert str(accuracy_rows(found, {0: "Foot", 1: "Shin"})[-1]) == "Penetration: 0.4 m ('Foot' in 'Shin')"
    below = accuracy_rows(measure_accuracy(run(still, overlaps=overlaps[:1])), {0: "Foot"})[-1]
    assert (below.worst, below.remark) == ("0.3 m", "'Foot' in the ground")


def test_touching_bodies_are_not_reported_in_powers_of_ten() -> None:
    still = turned_about_z(np.zeros(2))
    touch = accuracy_rows(
        measure_accuracy(run(still, overlaps=[BodyPenetration(0, GROUND_INDEX, np.array([0, 7e-6]))])), {0: "Foot"}
    )[-1]
    assert (touch.worst, touch.remark) == ("< 0.0001 m", "")


def test_invisible_shares_are_not_reported_in_powers_of_ten() -> None:
    assert [format_percent(share) for share in (0.0, 6e-7, 1e-5, 0.095, 1.2)] == [
        "0 %",
        "< 0.001 %",
        "0.001 %",
        "9.5 %",
        "120 %",
    ]


def test_the_worst_figures_are_reported_with_their_parts() -> None:
    """A gap of one size is worse in a short link."""
    held = []
    for number, length in enumerate((8.0, 2.0, 4.0, 1.0)):
        held.append(hinge())
        held[-1].joint.id, held[-1].length = str(number), length
    poses = turned_about_z(np.zeros(9))
    poses[:, 2, 3] = 0.1
    found = measure_accuracy(run(poses, joints=tuple(held)))
    assert [joint.id for joint in found.worst()] == ["3", "1", "2"]
    assert str(accuracy_rows(found, {})[0]) == (
        "Joint separation: 10 % at worst, 4.7 % on average (of a link's length). "
        "Needs attention: good up to 5 % of a link's length"
    )


def test_figures_that_do_not_apply_are_not_reported() -> None:
    assert [str(line) for line in accuracy_rows(SimulationAccuracy(()), {})] == [
        "Stop overrun: none. Good",
        "Penetration: none. Good",
    ]


def judged(**changes: Any) -> SimulationAccuracy:
    """A truth whose figures are just within all thresholds, but for those that are changed."""
    limit = {name: 0.99 * value for name, value in ACCURACY_THRESHOLDS.items()}
    turning = JointAccuracy(
        "1", "Knee", 2.0, 2.0 * limit["Joint separation"], 0.0, 0.0, True, limit["Tracking error"], 0.0,
        limit["Stop overrun"],
    )  # fmt: skip
    sliding = JointAccuracy(
        "2", "Piston", 2.0, 0.0, 0.0, 0.0, False, 2.0 * limit["Tracking error (linear)"], 0.0,
        2.0 * limit["Stop overrun (linear)"],
    )  # fmt: skip
    shift = PathShift(limit["Path shift"], 1.0)
    found = SimulationAccuracy((turning, sliding), limit["Energy gained"], 2.0 * limit["Penetration"], path_shift=shift)
    for name, value in changes.items():
        assert hasattr(turning, name) or hasattr(found, name), name
        joints = [replace(joint, **{name: value}) if hasattr(joint, name) else joint for joint in found.joints]
        found = replace(found, joints=tuple(joints), **({name: value} if hasattr(found, name) else {}))
    return found


def test_each_figure_has_its_mark_from_the_table() -> None:
    assert all(line.good for line in accuracy_rows(judged(), {})) and all(
        not line.limit for line in accuracy_rows(judged(), {})
    )

    def bad(found: SimulationAccuracy) -> dict[str, str]:
        return {line.what: line.limit for line in accuracy_rows(found, {}) if line.good is False}

    assert bad(judged(separation=0.2)) == {"Joint separation": "Good up to 5 % of a link's length"}
    assert bad(judged(tracking_error=0.2)) == {
        "Tracking error": "Good up to 5°",
        "Tracking error (linear)": "Good up to 5 % of a link's length",
    }
    assert bad(judged(stop_overrun=0.5)) == {"Stop overrun": bad(judged(stop_overrun=0.5))["Stop overrun"]}
    assert bad(judged(energy_gained=0.06)) == {"Energy gained": "Good up to 5 %"}
    assert bad(judged(penetration=0.05)) == {"Penetration": "Good up to 2 % of a link's length"}
    shift = PathShift(0.02, 0.5)
    assert bad(judged(path_shift=shift)) == {"Path shift": "Good up to 1 % of the mechanism's size"}
    assert bad(judged(path_shift=replace(shift, contacts=True))) == {}
    assert (
        joint_separation_row(judged().joints[0]).good
        and not joint_separation_row(judged(separation=0.2).joints[0]).good
    )


def test_the_thresholds_are_read_from_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ACCURACY_THRESHOLDS, "Joint separation", 0.5)
    assert all(line.good for line in accuracy_rows(judged(separation=0.9), {}))


def test_what_no_length_is_known_for_has_no_mark() -> None:
    assert [line.good for line in accuracy_rows(SimulationAccuracy((), penetration=1.0), {})] == [True, None]


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ((True, None), "All figures are good"),
        ((False, True), "1 figure needs attention"),
        ((False, None, False), "2 figures need attention"),
    ],
)
def test_the_verdict_counts_the_figures_past_their_thresholds(marks: tuple[bool | None, ...], said: str) -> None:
    assert accuracy_verdict([AccuracyRow("Figure", "1", good=mark) for mark in marks]) == said


@pytest.mark.parametrize(
    ("contact", "expected"),
    [
        (None, PathShift(0.5, 1.0)),
        (5, PathShift(0.25, 0.5)),
        (0, PathShift(0.5, 1.0, contacts=True)),
        (40, PathShift(0.5, 1.0)),
    ],
)
def test_a_path_shift_is_measured_up_to_the_first_contact(contact: int | None, expected: PathShift) -> None:
    """Of two bodies one moves steadily in the second simulation, by half the mechanism's size in a second."""
    first = np.tile(np.eye(4), (11, 2, 1, 1))
    second = first.copy()
    second[:, 1, 0, 3] = np.linspace(0.0, 1.0, 11)
    assert path_shift(first, second, 2.0, 10.0, contact) == expected
