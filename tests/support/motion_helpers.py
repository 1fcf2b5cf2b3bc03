"""Helpers for tests of simulated motion: a heavy tower with an arm."""

from __future__ import annotations

from typing import Any

from tests.support.mechanisms import (
    body,
    joint,
    model,
)

HARD = 1e-6
G = 9.81


def tower(*arm: str, force: float = 0.0, gain: float = 10.0, ypr: tuple = (0, 90, 0), **world: Any) -> str:
    """A heavy tower on the ground with an arm hinged to its side at height 6, about an axis along -Y."""
    return model(
        body(1, (0, 0, 4), (2, 2, 8), mass=1e5),
        *arm,
        joint(3, 1, 2, (2, 0, 6), ypr, force=force, gain=gain),
        **{"gravity": G, "cfm": HARD, **world},
    )


HANGING = body(2, (2, 0, 5.1), (0.2, 0.2, 1.4), mass=1.5)
