"""Numbers in text: many at once are what Python reads one by one, and spellings read back. Matching of the servos and
keys of a document."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.formats.text import numbers
from addon.formats.text.csv_table import UNITS
from addon.formats.text.numbers import DECIMAL, format_shortest, parse_numbers, shortest_decimal

number = st.floats(allow_nan=False, allow_infinity=False)
word = st.one_of(
    number.map(repr),
    number.map("{:+.3E}".format),
    st.integers().map(str),
    st.text("0123456789+-.eE_,xnaif", min_size=1, max_size=6),
    st.sampled_from(
        ["nan", "inf", "infinity", "1e999", "0x1", "1_0", "1,5", "--1", "1-2", ".", "1.5.5", "é", "１", "1j"]
    ),
)
space = st.text(" \t\r\n", min_size=1, max_size=3)


@given(st.lists(st.tuples(word, space), max_size=6), st.sampled_from(["", " ", "\n\t"]))
def test_many_are_read_as_one_by_one(content: list[tuple[str, str]], before: str) -> None:
    text = before + "".join(word + space for word, space in content)
    words = [word for word, _ in content]
    sound = all(DECIMAL.fullmatch(word) and math.isfinite(float(word)) for word in words)
    found = parse_numbers(text)
    assert (found is not None) == sound
    if found is not None:
        assert found.tolist() == [float(word) for word in words]


@given(number)
def test_the_shortest_text_reads_back(value: float) -> None:
    text = format_shortest(value)
    assert float(text) == value
    assert len(text) <= len(repr(value))


@given(number.filter(lambda value: abs(value) < 1e300), st.sampled_from([0.032, 0.001, math.pi / 180]))
def test_a_spelling_reads_back_through_a_factor(guess: float, factor: float) -> None:
    wanted = guess * factor
    assert float(shortest_decimal(wanted, wanted / factor, lambda value: value * factor)) * factor == wanted


@pytest.mark.parametrize("unit", ["", "s", "rad", "m", "ms", "deg", "mm"])
def test_a_unit_spells_what_it_reads_back(unit: str) -> None:
    own = UNITS[unit]
    drawn = np.random.default_rng(3).uniform(-3.0, 3.0, 200)
    for value in [0.0, 1.0, 0.1, 1e-9, 1e22, 2.5e-310, *drawn.tolist(), *np.float32(drawn).astype(float).tolist()]:
        text = own.spelled(value)
        assert text == shortest_decimal(value, own.write(value), own.read)
        if own.factor == own.divisor:
            assert float(text) == value


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
