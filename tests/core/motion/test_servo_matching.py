"""Servo names of a file against those of a mechanism: what is paired, what is not, and why."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.core.model import Motion, Trajectory
from addon.core.motion.servo_matching import apply_servo_match, match_servos, normalize_servo_name

SPELLINGS = ["Left Hip", "left_hip", "LeftHip", "left-hip", "left.hip", "LEFT  HIP", " left/hip "]


@pytest.mark.parametrize(("name", "servo"), list(itertools.permutations(SPELLINGS, 2)))
def test_case_and_separators_do_not_matter(name: str, servo: str) -> None:
    match = match_servos([name, "Tail"], ["Neck", servo])
    assert match.pairs == match.loose == {name: servo}
    assert list(match.unmatched) == ["Tail"]


def test_the_exact_name_goes_before_a_similar_one() -> None:
    match = match_servos(["left_hip", "Left Hip"], ["Left Hip", "left_hip"])
    assert match.pairs == {"left_hip": "left_hip", "Left Hip": "Left Hip"}
    assert not match.loose
    match = match_servos(["LEFTHIP", "left_hip"], ["left_hip"])
    assert match.pairs == {"left_hip": "left_hip"}
    assert match.unmatched == {"LEFTHIP": "servo 'left_hip' already follows 'left_hip'"}


def test_ambiguous_servo_names_are_not_matched() -> None:
    match = match_servos(["left hip"], ["Left_Hip", "left-hip"])
    assert not match.pairs
    assert match.unmatched == {"left hip": "several servos may be meant: 'Left_Hip', 'left-hip'"}
    match = match_servos(["Left_Hip", "left-hip"], ["left hip"])
    assert not match.pairs
    assert match.unmatched["left-hip"] == "servo 'left hip' may be meant by several: 'Left_Hip', 'left-hip'"


def test_numbers_in_servo_names_stay_separate() -> None:
    assert not match_servos(["leg 1-2", "leg12"], ["leg_12"]).unmatched.keys() - {"leg 1-2"}
    assert match_servos(["leg 1-2"], ["leg_12", "leg.1.2"]).pairs == {"leg 1-2": "leg.1.2"}


def test_a_mapping_goes_before_everything() -> None:
    mapping = {"hip": "Knee", "Knee": "", "ankle": "Foot", "Tail": "Hip"}
    match = match_servos(["hip", "Knee", "ankle"], ["Hip", "Knee"], mapping)
    assert match.pairs == {"hip": "Knee"}
    assert not match.loose
    assert match.unmatched == {
        "Knee": "the mapping leaves it out",
        "ankle": "the mapping gives it servo 'Foot', which the mechanism does not have",
    }
    assert match.unused == ["Tail"]
    taken = match_servos(["a", "Hip", "hip"], ["Hip"], {"a": "Hip"})
    assert taken.pairs == {"a": "Hip"}
    assert taken.unmatched["Hip"] == "the mapping gives its servo to 'a'"
    assert taken.unmatched["hip"] == "servo 'Hip' already follows 'a'"


def test_a_mapping_to_one_servo_twice_or_to_a_misspelled_one_is_reported() -> None:
    match = match_servos(["a", "b", "c"], ["Left Hip"], {"a": "Left Hip", "b": "Left Hip", "c": "left_hip"})
    assert not match.pairs
    assert match.unmatched["a"] == match.unmatched["b"] == "the mapping gives servo 'Left Hip' to several: 'a', 'b'"
    assert match.unmatched["c"].endswith("does not have; it has 'Left Hip'")


def test_a_joint_of_several_dofs_is_reported_with_its_servos() -> None:
    match = match_servos(["Neck"], ["neck/1", "neck/2"])
    assert "'neck/1', 'neck/2'" in match.unmatched["Neck"]
    assert match_servos(["neck_2"], ["neck/1", "neck/2"]).pairs == {"neck_2": "neck/2"}


def test_names_of_separators_only_do_not_match() -> None:
    assert match_servos(["__", ""], ["--", "neck/1"]).unmatched.keys() == {"__", ""}


NAMES = st.lists(st.text("aAbB1 _-/é", max_size=4), max_size=8)


@given(NAMES, NAMES, st.dictionaries(st.text("aAb_", max_size=2), st.text("aAb_", max_size=2), max_size=3))
def test_every_name_is_reported_once_and_no_servo_follows_two(
    names: list[str], known: list[str], mapping: dict[str, str]
) -> None:
    match = match_servos(names, known, mapping)
    assert match.pairs.keys() | match.unmatched.keys() == set(names)
    assert not match.pairs.keys() & match.unmatched.keys()
    assert len(set(match.pairs.values())) == len(match.pairs)
    assert set(match.pairs.values()) <= set(known)
    assert match.loose.items() <= match.pairs.items()
    for name, servo in match.pairs.items():
        assert mapping.get(name, servo) == servo
        assert name in mapping or normalize_servo_name(name) == normalize_servo_name(servo)
        assert (name in match.loose) == (name not in mapping and name != servo)
    for name in set(names) & set(known) - set(mapping) - set(match.pairs):
        assert name in mapping.values(), "an exact name goes to its servo unless the mapping took that"


def test_a_motion_follows_its_match() -> None:
    times = np.array([0.0, 1.0])
    tracks = [
        Trajectory("hip", times, np.array([0.0, 1.0])),
        Trajectory("tail", times, np.array([0.0, 9.0])),
        Trajectory("hip", times, np.array([0.0, 2.0]), held=np.array([True, False]), unit="rad"),
    ]
    motion = Motion("walk", tracks, {"author": "me"})
    match = match_servos([each.name for each in tracks], ["Hip"])
    assert match.repeated == ["hip"]
    followed_motion = apply_servo_match(motion, match)
    (only,) = followed_motion.trajectories
    assert (only.name, only.values.tolist(), only.unit) == ("Hip", [0.0, 2.0], "rad")
    assert only.holds().tolist() == [True, False]
    assert (followed_motion.name, followed_motion.attributes) == ("walk", {"author": "me"})
