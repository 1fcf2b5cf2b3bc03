"""Helpers for property tests of motion formats: random motions, damaged documents, and comparisons."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from addon.core.model import Motion, Trajectory
from addon.core.report import FormatError, Report

finite = st.floats(-1e6, 1e6, allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters='",;\ufffe\uffff'))

GARBAGE = ["", "x", ",", ";", "\n", "\r", "*", "<", "<a>", "&", "1e999", "nan", '"', "0x1p3", "1_0", "1,5", "é", "\0"]


def keyed(times: list[float], values: list[float], name: str = "s", **more: object) -> Trajectory:
    """A trajectory of plain lists."""
    return Trajectory(name, np.array(times, np.float64), np.array(values, np.float64), **more)  # type: ignore[arg-type]


def same_keys(one: Trajectory, other: Trajectory) -> bool:
    """Whether two trajectories have the same name and, to the last bit, keys; holding behind the last says nothing."""
    return (
        one.name == other.name
        and np.asarray(one.times).tolist() == np.asarray(other.times).tolist()
        and np.asarray(one.values).tolist() == np.asarray(other.values).tolist()
        and one.holds()[:-1].tolist() == other.holds()[:-1].tolist()
    )


def same(one: Motion, other: Motion) -> bool:
    """Whether two motions have the same servos."""
    pairs = zip(one.trajectories, other.trajectories, strict=True)
    return all(same_keys(*pair) for pair in pairs)


def changed_tokens(before: str, after: str, tokens: Callable[[str], list[str]]) -> list[tuple[str, str]]:
    """The tokens that differ between two texts of equally many."""
    return [pair for pair in zip(tokens(before), tokens(after), strict=True) if pair[0] != pair[1]]


def is_refused_or_read(read: Callable[[], tuple[list[Motion], Report]]) -> None:
    """A damaged document is read, or refused: with a line, or as a whole. Nothing else may happen."""
    try:
        motions, _ = read()
    except FormatError as error:
        assert error.message
        whole = ("empty", "binary", "not supported")
        assert error.line is not None or any(words in error.message for words in whole)
    else:
        for motion in motions:
            for trajectory in motion.trajectories:
                assert np.isfinite(trajectory.times).all()
                assert np.isfinite(trajectory.values).all()
                assert (np.diff(trajectory.times) > 0).all()


def mangled(data: st.DataObject, text: str) -> str:
    """A document with a piece taken out, cut off, or garbage put in."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 12, len(text))))
    garbage = data.draw(
        st.sampled_from(["", "x", ",", "\n", "*", "<", "&", "1e999", "nan", '"', "0x1p3", "1_0", "é", "\0"])
    )
    tail = "" if data.draw(st.booleans()) else text[end:]
    return text[:start] + garbage + tail
