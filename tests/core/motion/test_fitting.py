"""Motions fitted to a mechanism: units, grid, stops and what is told of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.core.model import Dof, Joint, Mechanism, Motion, Source, Trajectory
from addon.core.motion.fitting import FitOptions, fit_motion
from addon.core.motion.servo_matching import Servo, mechanism_servos
from addon.core.report import FormatError, Report


def robot() -> Mechanism:
    """A hinge with stops, a slide with one, a neck of two turns, a shoulder that is a ball, and a joint that is off."""
    neck = [Dof("rotation", name="nod", lower=-0.3), Dof("rotation", name="tilt")]
    joints = [
        Joint("1", "Hip", "revolute", "a", "b", dofs=[Dof("rotation", lower=-1.0, upper=0.5)]),
        Joint("2", "Lift", "prismatic", "a", "c", dofs=[Dof("translation", upper=0.1)]),
        Joint("3", "Neck", "universal", "a", "d", dofs=neck),
        Joint("4", "Shoulder", "ball", "a", "e", dofs=[Dof("ball")]),
        Joint("5", "Tail", "revolute", "a", "f", dofs=[Dof("rotation")], active=False),
        Joint(
            "6",
            "Root",
            "free",
            None,
            "a",
            dofs=[Dof("free", parts=[Dof("rotation", upper=float(n)) for n in range(6)])],
        ),
        Joint("7", "Bolt", "screw", "a", "g", dofs=[Dof("screw", pitch=0.01)]),
    ]
    return Mechanism("robot", joints=joints)


def track(name: str, *values: float, times: tuple[float, ...] = (), **more: object) -> Trajectory:
    return Trajectory(name, np.array(times or range(len(values)), float), np.array(values, float), **more)


def fit(*tracks: Trajectory, **how: object) -> tuple[dict[str, Trajectory], Report]:
    report = Report()
    motion = Motion("walk", list(tracks), {"author": "me"}, Source("xmdi", path="walk.xmdi"), 3)
    made = fit_motion(motion, robot(), FitOptions(**how), report)
    assert (made.name, made.attributes, made.source, made.index) == ("walk", {"author": "me"}, motion.source, 3)
    return {each.name: each for each in made.trajectories}, report


def test_servos_are_distinguished_by_what_they_move() -> None:
    servos = mechanism_servos(robot())
    assert [name for name in servos if "/" not in name] == ["Hip", "Lift", "Bolt"]
    assert servos["Hip"] == Servo("Hip", "1", False, -1.0, 0.5)
    assert servos["Lift"] == Servo("Lift", "2", True, None, 0.1)
    assert servos["Neck/nod"] == Servo("Neck/nod", "3", False, -0.3, None)
    assert [servos[f"Shoulder/{axis}"].slides for axis in ("rx", "ry", "rz")] == [False] * 3
    ends = ("rx", "ry", "rz", "x", "y", "z")
    assert [servos[f"Root/{end}"].slides for end in ends] == [False] * 3 + [True] * 3
    assert [servos[f"Root/{end}"].upper for end in ends] == list(range(6))
    assert not servos["Bolt"].slides, "a screw is counted by its turn"
    assert list(mechanism_servos(robot(), active=False)) == ["Tail"]


def test_degrees_and_millimetres_become_radians_and_metres_where_the_file_names_no_unit() -> None:
    tracks = track("hip", 90.0), track("lift", 50.0), track("Neck/tilt", 1.0, unit="rad"), track("Horn", 180.0)
    found, _ = fit(*tracks, degrees=True, millimetres=True)
    assert {name: float(each.values[0]) for name, each in found.items()} == pytest.approx(
        {"Hip": math.pi / 2, "Lift": 0.05, "Neck/tilt": 1.0, "Horn": math.pi}
    )
    found, _ = fit(*tracks)
    assert found["Hip"].values is tracks[0].values, "what needs no change is not touched"


def test_reasons_are_reported_in_words() -> None:
    _, report = fit(track("hip", 0), track("Tail", 0), track("Neck", 0), track("Horn", 0), track("Horn", 1))
    told = {entry.where: entry.message for entry in report.entries if entry.code == "servo-unmatched"}
    assert "inactive in the mechanism" in told["Tail"]
    assert "'Neck/nod', 'Neck/tilt'" in told["Neck"]
    assert "no joint has this name" in told["Horn"]
    assert [entry.where for entry in report.entries if entry.code == "servo-repeated"] == ["Horn"]
    assert "Servos matched by name: 1 of 4" in report.entries[0].message


def test_a_trajectory_whose_servo_is_mapped_to_another_is_dropped() -> None:
    found, report = fit(track("left", 0.1), track("Hip", 0.2), track("Lift", 0.05), mapping={"left": "Hip", "Lift": ""})
    assert {name: each.values.tolist() for name, each in found.items()} == {"Hip": [0.1]}
    assert "the mapping gives its servo to 'left'" in str(report)
    assert "the mapping leaves it out" in str(report)


def test_a_motion_for_another_is_rejected_by_name() -> None:
    with pytest.raises(FormatError, match=r"^walk.xmdi: no servo of motion 'walk' \('Horn'\) is in 'robot'"):
        fit(track("Horn", 0.0))
    assert fit() == ({}, Report(fit()[1].entries)), "one without servos has nothing to miss"


def test_stops_are_counted_clamped_or_rejected() -> None:
    tracks = track("Hip", -2.0, 0.0, 0.50005, 0.6), track("Lift", 0.3), track("Neck/tilt", 9.0)
    found, report = fit(*tracks)
    assert found["Hip"].values.tolist() == [-2.0, 0.0, 0.50005, 0.6]
    told = [entry.message for entry in report.entries if entry.code == "beyond-stops"]
    assert told == [
        "Servo 'Hip': 2 of 4 keyframes outside its stops (-57.3° to 28.65°), by up to 57.3°. Kept",
        "Servo 'Lift': 1 of 1 keyframe outside its stops (none to 0.1 m), by up to 0.2 m. Kept",
    ]
    found, _ = fit(*tracks, stops="clamp")
    assert found["Hip"].values.tolist() == [-1.0, 0.0, 0.50005, 0.5]
    assert found["Lift"].values.tolist() == pytest.approx([0.1])
    assert found["Neck/tilt"].values.tolist() == [9.0]
    with pytest.raises(
        FormatError, match=r"stops of 2 servos: 'Hip' .* at 2 of 4 keyframes; 'Lift' .* at 1 of 1 keyframe"
    ):
        fit(*tracks, stops="refuse")


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=20))
def test_clamped_means_within_the_stops_and_otherwise_untouched(values: list[float]) -> None:
    found, _ = fit(track("Hip", *values), stops="clamp")
    for before, after in zip(values, found["Hip"].values, strict=True):
        assert -1.0 - 1e-4 <= after <= 0.5 + 1e-4
        assert after == before or abs(after - np.clip(before, -1.0, 0.5)) < 1e-12


def test_a_grid_holds_what_is_straight_and_what_is_held() -> None:
    straight = track("Hip", 0.0, 1.0, times=(0.05, 0.25))
    steps = track("Lift", 0.0, 0.05, 0.1, times=(0.0, 0.2, 0.3), held=np.array([True, True, False]))
    found, _ = fit(straight, steps, step=0.1)
    assert found["Hip"].times == pytest.approx([0.0, 0.1, 0.2, 0.3])
    assert found["Hip"].values == pytest.approx([0.0, 0.25, 0.75, 1.0])
    assert found["Hip"].held is None
    assert found["Lift"].times == pytest.approx([0.0, 0.1, 0.2, 0.3])
    assert found["Lift"].values.tolist() == [0.0, 0.0, 0.05, 0.1]
    assert found["Lift"].held.tolist() == [True, True, True, False]


@given(
    st.lists(
        st.tuples(st.integers(0, 2000), st.floats(-1, 1)), min_size=1, max_size=12, unique_by=lambda each: each[0]
    ),
    st.sampled_from([0.032, 0.01, 0.1]),
)
def test_on_a_grid_a_motion_is_where_it_was(keys: list[tuple[int, float]], step: float) -> None:
    keys.sort()
    own = track("Neck/tilt", *(value for _, value in keys), times=tuple(at / 1000 for at, _ in keys))
    found, _ = fit(own, step=step)
    made = found["Neck/tilt"]
    assert made.times / step == pytest.approx(np.round(made.times / step), abs=1e-9)
    assert made.times[0] <= own.times[0] + 1e-6
    assert made.times[-1] >= own.times[-1] - 1e-6
    assert made.values == pytest.approx(np.interp(made.times, own.times, own.values), abs=1e-9)
