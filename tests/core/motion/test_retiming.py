"""Motions retimed: what a servo does at a moment is held against what it did at the moment that this one shows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addon.core.model import Motion, Source, Trajectory
from addon.core.motion.retiming import (
    median_key_interval,
    repeat_motion,
    scale_motion_speed,
    shift_motion,
    speed_factor_for,
)

MOMENTS = np.linspace(0.0, 1.0, 173)[:-1] + 1e-3  # none of them at a key


def track(name: str, rng: np.random.Generator, count: int, first: float, last: float, closed: bool) -> Trajectory:
    times = np.concatenate([[first], np.sort(rng.uniform(first, last, count - 2)), [last]])
    values = rng.uniform(-2, 2, count)
    values[-1] = values[0] if closed else values[0] + 1.0
    held = rng.random(count) < 0.3 if rng.random() < 0.5 else None
    return Trajectory(name, times, values, held=held)


def some_motion(seed: int, closed: bool = True) -> Motion:
    """One servo over the whole of the motion, one within it, one that stands still."""
    rng = np.random.default_rng(seed)
    first, last = rng.uniform(-1, 1), rng.uniform(3, 5)
    tracks = [
        track("long", rng, int(rng.integers(3, 9)), first, last, closed),
        track("short", rng, int(rng.integers(3, 9)), first + 0.5, last - 0.7, True),
        Trajectory("still", np.array([first + 0.2]), np.array([0.4])),
    ]
    return Motion("walk", tracks, {"author": "me"}, Source(text="the file"), 2)


def servo(motion: Motion, name: str) -> Trajectory:
    return next(each for each in motion.trajectories if each.name == name)


def ends(motion: Motion) -> tuple[float, float]:
    times = np.concatenate([each.times for each in motion.trajectories])
    return float(times.min()), float(times.max())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_a_closed_motion_repeats_itself(seed: int, rounds: int) -> None:
    motion = some_motion(seed)
    first, last = ends(motion)
    made = repeat_motion(motion, rounds)
    assert ends(made) == pytest.approx((first, first + rounds * (last - first)))
    at = first + MOMENTS * (last - first)
    for own in motion.trajectories:
        for number in range(rounds):
            again = servo(made, own.name).at(at + number * (last - first))
            assert again == pytest.approx(own.at(at), abs=1e-9)
    assert (np.diff(servo(made, "long").times) > 0).all()
    assert len(servo(made, "long").times) == rounds * (len(servo(motion, "long").times) - 1) + 1
    assert len(servo(made, "still").times) == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.05, 1.0))
def test_an_open_motion_returns_in_the_pause(seed: int, gap: float) -> None:
    motion = some_motion(seed, closed=False)
    first, last = ends(motion)
    period = last - first + gap
    made = repeat_motion(motion, 3, gap=gap)
    assert ends(made)[1] == pytest.approx(first + 3 * period - gap)
    at = first + MOMENTS * (last - first)
    for number in range(3):
        assert servo(made, "long").at(at + number * period) == pytest.approx(servo(motion, "long").at(at), abs=1e-9)
    own = servo(motion, "long")
    middle = servo(made, "long").at(np.array([last + gap / 2]))[0]
    assert middle == pytest.approx(own.values[-1] if own.holds()[-1] else (own.values[0] + own.values[-1]) / 2)


def test_the_default_pause_is_the_usual_step() -> None:
    frames = 0.032 * np.array([0, 1, 2, 3, 10])
    motion = Motion("m", [Trajectory("a", frames, np.arange(5.0))])
    assert median_key_interval(frames) == pytest.approx(0.032)
    assert servo(repeat_motion(motion, 2), "a").times[5] == pytest.approx(frames[-1] + 0.032)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_a_climbing_motion_goes_on_where_it_ended(seed: int) -> None:
    motion = some_motion(seed, closed=False)
    first, last = ends(motion)
    made = repeat_motion(motion, 4, "climb")
    at = first + MOMENTS * (last - first)
    rise = servo(motion, "long").values[-1] - servo(motion, "long").values[0]
    for number in range(4):
        again = servo(made, "long").at(at + number * (last - first))
        assert again == pytest.approx(servo(motion, "long").at(at) + number * rise, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 2.0))
def test_blending_changes_the_end_alone_and_closes_it(seed: int, blend: float) -> None:
    motion = some_motion(seed, closed=False)
    first, last = ends(motion)
    made = servo(repeat_motion(motion, 2, "blend", blend), "long")
    own = servo(motion, "long")
    before = np.linspace(first + 1e-6, last - blend - 1e-6, 50)
    assert made.at(before) == pytest.approx(own.at(before), abs=1e-9)
    assert made.at(np.array([last]))[0] == pytest.approx(own.values[0])
    assert made.at(before + last - first) == pytest.approx(own.at(before), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(-20.0, 20.0))
def test_a_wrapped_motion_is_the_round_from_elsewhere(seed: int, later: float) -> None:
    motion = some_motion(seed)
    first, last = ends(motion)
    made = shift_motion(motion, later, wrap=True)
    assert ends(made) == pytest.approx((first, last))
    at = first + MOMENTS * (last - first)
    source = first + np.mod(at - later - first, last - first)
    for own in motion.trajectories:
        here = servo(made, own.name)
        # a cut through a jump may fall on either side of it by a rounding
        near = np.abs(own.at(source + 1e-7) - own.at(source - 1e-7)) < 1e-5
        assert here.at(at)[near] == pytest.approx(own.at(source)[near], abs=1e-7)


def test_half_a_round_of_a_sine_is_its_opposite() -> None:
    times = np.arange(0, 65) / 32.0
    motion = Motion("m", [Trajectory("a", times, np.sin(math.pi * times))])
    made = servo(shift_motion(motion, 1.0, wrap=True), "a")
    assert made.at(times) == pytest.approx(-np.sin(math.pi * times), abs=1e-12)
    assert len(made.times) == len(times), "the cut fell on a key: no key more"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 10.0), st.floats(-3.0, 3.0))
def test_speed_keeps_values_and_the_moment_it_is_about(seed: int, factor: float, about: float) -> None:
    motion = some_motion(seed)
    made = scale_motion_speed(motion, factor, about)
    at = about + np.linspace(-5, 5, 101)
    for own in motion.trajectories:
        near = (
            np.abs(own.at(about + (at - about) * factor + 1e-7) - own.at(about + (at - about) * factor - 1e-7)) < 1e-4
        )
        there = own.at(about + (at - about) * factor)
        assert servo(made, own.name).at(at)[near] == pytest.approx(there[near], abs=1e-6)
    back = scale_motion_speed(made, 1 / factor, about)
    assert servo(back, "long").times == pytest.approx(servo(motion, "long").times)


def test_a_wanted_duration_is_met() -> None:
    motion = some_motion(3)
    first, last = ends(motion)
    made = scale_motion_speed(motion, speed_factor_for(first, last, 12.5), first)
    assert ends(made) == pytest.approx((first, first + 12.5))


def test_an_offset_applies_to_the_chosen_servos_only() -> None:
    motion = some_motion(5)
    made = shift_motion(motion, 0.25, only={"short"})
    assert servo(made, "short").times == pytest.approx(servo(motion, "short").times + 0.25)
    assert servo(made, "long").times is servo(motion, "long").times
    # they wrap in the range of the whole motion
    assert ends(shift_motion(motion, 0.25, wrap=True, only={"short"})) == pytest.approx(ends(motion))


def test_a_motion_stays_its_documents_and_what_was_given_stays_as_it_was() -> None:
    motion = some_motion(7)
    before = [each.times.copy() for each in motion.trajectories]
    for made in (repeat_motion(motion, 2), shift_motion(motion, 1.0), scale_motion_speed(motion, 2.0)):
        assert made.source is motion.source and made.index == 2
        made.attributes["author"] = "you"
        assert motion.attributes == {"author": "me"}
    for own, times in zip(motion.trajectories, before, strict=True):
        assert (own.times == times).all()


@pytest.mark.parametrize("interpolation", ["linear", "constant"])
def test_how_keys_go_on_is_kept(interpolation: str) -> None:
    motion = Motion("m", [Trajectory("a", np.array([0.0, 1, 2]), np.array([0.0, 1, 0]), interpolation)])
    for made in (repeat_motion(motion, 3), shift_motion(motion, 0.5, wrap=True), scale_motion_speed(motion, 2)):
        assert made.trajectories[0].interpolation == interpolation and made.trajectories[0].held is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda motion: repeat_motion(motion, 0), "0 is below 1"),
        (lambda motion: scale_motion_speed(motion, 0.0), "above 0"),
        (lambda motion: scale_motion_speed(motion, math.inf), "above 0"),
        (lambda motion: speed_factor_for(1.0, 1.0, 2.0), "no two keyframes at different times"),
        (lambda motion: speed_factor_for(0.0, 1.0, 0.0), "above 0"),
    ],
)
def test_impossible_retiming_is_rejected(change: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        change(some_motion(1))  # type: ignore[operator]


def test_empty_and_short_motions_pass_through() -> None:
    empty = Motion("none", [Trajectory("a", np.zeros(0), np.zeros(0))])
    single = Motion("one", [Trajectory("a", np.array([2.0]), np.array([1.0]))])
    for change in (
        lambda m: repeat_motion(m, 3),
        lambda m: shift_motion(m, 1.0, wrap=True),
        lambda m: scale_motion_speed(m, 2.0, about=2.0),
    ):
        assert len(change(empty).trajectories[0].times) == 0
        assert change(single).trajectories[0].times.tolist() == [2.0]
