"""Fewer keys, the same motion within the tolerance that was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.core.motion.keyframes import simplified_key_indices

numbers = st.floats(-10, 10, allow_nan=False)


@given(st.lists(numbers, min_size=1, max_size=60), st.sampled_from([0.0, 1e-6, 0.1, 3.0]))
def test_lines_between_the_kept_keys_pass_all_others(values: list[float], tolerance: float) -> None:
    array = np.array(values)
    times = np.cumsum(0.1 + np.abs(np.sin(np.arange(len(values)))))
    kept = simplified_key_indices(times, array, tolerance)
    assert kept[0] == 0 and kept[-1] == len(values) - 1
    assert (np.diff(kept) > 0).all()
    assert np.abs(np.interp(times, times[kept], array[kept]) - array).max() <= tolerance + 1e-12


def test_a_straight_line_is_its_ends_and_a_corner_stays() -> None:
    times = np.arange(1001.0)
    assert simplified_key_indices(times, 0.25 * times, 1e-9).tolist() == [0, 1000]
    assert simplified_key_indices(times, np.abs(times - 400.0), 1e-9).tolist() == [0, 400, 1000]


def test_a_sine_keeps_about_as_many_keys_as_its_curvature_asks_for() -> None:
    """A chord of length h strays from a curve by h * h / 8 times its second derivative, here 1 at most."""
    times = np.linspace(0.0, 20.0 * np.pi, 20_001)
    tolerance = 1e-3
    kept = simplified_key_indices(times, np.sin(times), tolerance)
    ideal = 20.0 * np.pi / np.sqrt(8.0 * tolerance)
    assert len(kept) < 1.2 * ideal


@pytest.mark.parametrize("count", [0, 1, 2])
def test_up_to_two_keys_are_kept(count: int) -> None:
    assert simplified_key_indices(np.arange(float(count)), np.zeros(count), 1.0).tolist() == list(range(count))
