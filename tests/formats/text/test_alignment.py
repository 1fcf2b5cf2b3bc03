"""Which servo and which key of a document is which."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.formats.text import numbers

few = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), max_size=7, unique_by=lambda key: key[0]).map(sorted)


def arrays(keys: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    times, values = zip(*keys, strict=True) if keys else ((), ())
    return np.array(times, np.float64), np.array(values, np.float64)


@given(few, few)
def test_places_ascend_and_kept_keys_are_found(old: list, new: list) -> None:
    places = numbers.match_key_times(*arrays(old), *arrays(new))
    taken = places[places >= 0]
    assert (np.diff(taken) > 0).all()
    assert len(places) == len(new)
    assert (taken < len(old)).all()
    if set(old) <= set(new) or set(new) <= set(old):  # only inserted, or only removed
        kept = {key: place for place, key in enumerate(old) if key in new}
        assert {key: place for key, place in zip(new, places.tolist(), strict=True) if key in kept} == kept


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("abc", "abc", [0, 1, 2]),
        ("abc", "cab", [2, 0, 1]),
        ("abc", "axc", [0, 1, 2]),
        ("abc", "ac", [0, 2]),
        ("ac", "abc", [0, None, 1]),
        ("aab", "aba", [0, 2, 1]),
        ("ab", "bx", [1, None]),
        ("", "a", [None]),
    ],
)
def test_servos_are_known_by_their_names(old: str, new: str, places: list[int | None]) -> None:
    assert numbers.match_servo_names(old, new) == places


def test_a_motion_sampled_at_another_rate_takes_no_time() -> None:
    rng = np.random.default_rng(0)
    old, new = np.arange(60_000) * 0.032, np.arange(45_001) * 0.0417
    start = time.process_time()
    places = numbers.match_key_times(old, rng.standard_normal(len(old)), new, rng.standard_normal(len(new)))
    assert time.process_time() - start < 5
    assert (np.diff(places[places >= 0]) > 0).all()
