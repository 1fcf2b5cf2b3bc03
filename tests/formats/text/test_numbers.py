"""Numbers in text: many at once are what Python reads one by one, and spellings read back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
