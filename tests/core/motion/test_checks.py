"""What a motion asks of its servos, against a fine sampling and against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from addon.core.model import Motion, Trajectory
from addon.core.motion.checks import check_motion, check_servo, sort_by_severity
from addon.core.stops import stop_tolerance


def line(*keys: tuple[float, float], held: list[bool] | None = None) -> Trajectory:
    times, values = np.array(keys, dtype=float).T
    return Trajectory("knee", times, values, held=None if held is None else np.array(held))


def test_a_straight_line_crosses_its_stop_between_keys() -> None:
    found = check_servo(line((0, 0), (1, 2), (3, -2)), (-0.5, 0.5))
    above, below = found.outside
    assert (above.side, above.start, above.end, above.by, above.worst) == ("upper", 0.25, 1.75, 1.5, 1.0)
    assert (below.side, below.start, below.end, below.by, below.worst) == ("lower", 2.25, 3.0, 1.5, 3.0)
    assert (found.low, found.high, found.keys, found.duration) == (-2.0, 2.0, 3, 3.0)
    assert (found.lower, found.upper) == (-0.5, 0.5)


def test_a_held_value_is_past_its_stop_from_its_key_to_the_next() -> None:
    found = check_servo(line((0, 0), (1, 2), (3, 0), (4, 0), held=[True, True, True, True]), (None, 0.5))
    assert [(each.start, each.end, each.by) for each in found.outside] == [(1.0, 3.0, 1.5)]
    assert found.jump == 2.0 and found.jump_at == 1.0
    assert found.velocity == 0.0, "between its keys it stands still"


def test_a_value_on_the_stop_or_rounded_past_it_is_within() -> None:
    assert not check_servo(line((0, 0.5), (1, 0.5 + 5e-7), (2, -0.5)), (-0.5, 0.5)).outside
    assert check_servo(line((0, 0), (1, 0.501)), (None, 0.5)).outside


def test_velocity_and_acceleration_by_hand() -> None:
    # slopes 1, -3, 0 over 2 s, 1 s, 4 s: the changes are -4 over 1.5 s and 3 over 2.5 s
    found = check_servo(line((0, 0), (2, 2), (3, -1), (7, -1)), (None, None))
    assert (found.velocity, found.velocity_at) == (3.0, 2.0)
    assert found.acceleration == pytest.approx(4 / 1.5)
    assert found.acceleration_at == 2.0
    assert found.jump == 0.0


def test_the_acceleration_of_a_finely_keyed_parabola_is_its_own() -> None:
    times = np.linspace(0, 2, 201)
    found = check_servo(Trajectory("a", times, 3.5 * times**2), (None, None))
    assert found.acceleration == pytest.approx(7.0, rel=1e-6)
    assert found.velocity == pytest.approx(14.0, rel=1e-2)


def test_two_keys_at_one_time_are_a_jump_and_no_endless_velocity() -> None:
    found = check_servo(line((0, 0), (1, 1), (1, 3), (2, 3)), (None, 2.0))
    assert (found.jump, found.jump_at, found.velocity) == (2.0, 1.0, 1.0)
    assert [(each.start, each.end) for each in found.outside] == [(1.0, 2.0)]


def test_a_single_key_has_a_place_and_no_speed() -> None:
    found = check_servo(line((2, 1.5)), (None, 1.0))
    assert found.velocity is None and found.acceleration is None
    assert [(each.start, each.end, each.by) for each in found.outside] == [(2.0, 2.0, 0.5)]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6))
@example(2680)  # ends 2e-6 beyond its stop
def test_excesses_are_those_that_a_fine_sampling_sees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 12))
    times = np.cumsum(rng.uniform(0.1, 1.0, count))
    track = Trajectory("a", times, rng.uniform(-1, 1, count), held=rng.random(count) < 0.3)
    lower, upper = sorted(rng.uniform(-1, 1, 2))
    found = check_servo(track, (lower, upper))
    at = np.union1d(np.linspace(times[0], times[-1], 2000), times)
    values = track.at(at)
    beyond = {"upper": values - upper, "lower": lower - values}
    over = np.maximum(*beyond.values())
    inside = np.zeros(len(at), dtype=bool)
    for each in found.outside:
        assert each.end >= each.start
        assert each.by == pytest.approx(beyond[each.side][(at >= each.start) & (at <= each.end)].max(), abs=1e-12)
        inside |= (at >= each.start) & (at <= each.end)
    near = np.zeros(len(at), dtype=bool)
    for each in found.outside:
        near |= (np.abs(at - each.start) < 1e-6) | (np.abs(at - each.end) < 1e-6)
    clear = np.abs(over) > max(stop_tolerance(lower), stop_tolerance(upper))  # what is nearer is on the stop
    assert (inside == (over > 0))[~near & clear].all()
    straight = ~track.holds()[:-1]
    slopes = np.abs(np.diff(track.values) / np.diff(times))[straight]
    assert found.velocity == pytest.approx(max(slopes, default=0.0))
    jumps = np.abs(np.diff(track.values))[~straight]
    assert found.jump == pytest.approx(max(jumps, default=0.0))


def test_servos_without_keys_are_left_out_and_the_worst_come_first() -> None:
    motion = Motion(
        "m",
        [
            Trajectory("calm", np.array([0.0, 1]), np.array([0.0, 0.1])),
            Trajectory("fast", np.array([0.0, 1]), np.array([0.0, 3.0])),
            Trajectory("none", np.zeros(0), np.zeros(0)),
            Trajectory("beyond", np.array([0.0, 1]), np.array([0.0, 0.3])),
            Trajectory("further", np.array([0.0, 1]), np.array([0.0, -0.3])),
        ],
    )
    found = check_motion(motion, {"beyond": (None, 0.25), "further": (-0.1, None), "none": (0, 0)})
    assert [each.name for each in found] == ["calm", "fast", "beyond", "further"]
    assert [each.name for each in sort_by_severity(found)] == ["further", "beyond", "fast", "calm"]
    assert found[0].worst is None and found[3].worst is not None and found[3].worst.by == pytest.approx(0.2)
