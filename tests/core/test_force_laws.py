"""Forces that can be set only once a frame: against the formulas of the oscillator, and what they must not gain."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from addon.core.force_laws import PiecewisePolynomial, SpringDamperIntegrator, is_dissipative
from addon.core.model import Array

FRAME = 1 / 60


def stepped(held: SpringDamperIntegrator, frames: int, place: float, pull: float = 0.0, mass: float = 1.0) -> Array:
    """Places at each frame of what a held force and a steady ``pull`` move, stepped as Blender does."""
    speed, out = held.initial_speed, []
    step = FRAME / held.substeps
    for _ in range(frames):
        out.append(place)
        force = held.force(place, FRAME)
        for _ in range(held.substeps):
            speed += step * (force + pull) / mass
            place += step * speed
    return np.array(out)


@pytest.mark.parametrize("turn", [0.1, 0.5, 1.2], ids=lambda turn: f"{turn} rad a frame")
def test_a_spring_swings_in_its_time_and_keeps_its_swing(turn: float) -> None:
    stiffness = (turn / FRAME) ** 2
    values = stepped(SpringDamperIntegrator(lambda x: -stiffness * x, None, 1.0, 20), 600, 0.3)
    at = np.arange(600)
    assert np.ptp(values[-100:]) / 2 == pytest.approx(0.3, rel=0.01)
    assert np.abs(values[:100] - 0.3 * np.cos(turn * at[:100])).max() < 0.02


def test_a_weight_on_a_spring_rests_where_the_formula_has_it() -> None:
    held = SpringDamperIntegrator(lambda x: -900.0 * x, lambda v: -12.0 * v, 2.0, 10)
    values = stepped(held, 300, 0.0, pull=-2.0 * 9.81, mass=2.0)
    assert values[-1] == pytest.approx(-2.0 * 9.81 / 900.0, rel=1e-3)


@pytest.mark.parametrize("damping", [0.5, 5.0, 40.0])
def test_a_damper_comes_to_its_steady_speed(damping: float) -> None:
    values = stepped(SpringDamperIntegrator(None, lambda v: -damping * v, 1.0, 10), 600, 0.0, pull=3.0)
    assert (values[-1] - values[-2]) / FRAME == pytest.approx(3.0 / damping, rel=0.02)


@pytest.mark.parametrize("damping", [0.5, 5.0, 20.0])
def test_a_damper_brakes_an_initial_speed_from_the_first_frame_on(damping: float) -> None:
    values = stepped(SpringDamperIntegrator(None, lambda v: -damping * v, 1.0, 10, 3.0), 60, 0.0)
    way = 3.0 / damping * (1.0 - np.exp(-damping * np.arange(60) * FRAME))
    assert values == pytest.approx(way, abs=0.02 * 3.0 / damping)


def energy(potential: Callable[[float], float], values: Array) -> Array:
    speeds = (values[2:] - values[:-2]) / (2 * FRAME)
    return 0.5 * speeds**2 + np.array([potential(float(x)) for x in values[1:-1]])


def test_a_soft_wall_gives_back_what_it_took() -> None:
    """A spring that pushes below zero only, hit again and again."""
    held = SpringDamperIntegrator(lambda x: -400.0 * min(x, 0.0), None, 1.0, 20)
    values = stepped(held, 1200, 0.5, pull=-5.0)
    tops = [values[a:b].max() for a, b in zip(range(0, 1200, 120), range(120, 1320, 120), strict=True)]
    assert min(tops) > 0.47
    assert max(tops) < 0.53


def test_pieces_are_polynomials_in_descending_powers() -> None:
    law = PiecewisePolynomial([0.0, 1.0], [[2.0, 0.5, 0.0], [0.0], [1.0, 0.0]])
    for x, expected in ((-1.0, 1.5), (0.0, 0.0), (0.5, 0.0), (1.0, 1.0), (3.0, 3.0)):
        assert law(x) == pytest.approx(expected)


def test_what_restrains_takes_energy_away() -> None:
    assert is_dissipative(PiecewisePolynomial([], [[2.0, 0.0]]), 10.0)
    assert is_dissipative(PiecewisePolynomial([0.0], [[-1.0], [1.0]]), 10.0)
    assert not is_dissipative(PiecewisePolynomial([], [[-1.0, 0.0]]), 10.0)
    assert not is_dissipative(PiecewisePolynomial([], [[1.0]]), 10.0)
    assert math.isclose(PiecewisePolynomial([], [[1.0]])(5.0), 1.0)


def test_several_springs_as_arrays_are_each_as_alone() -> None:
    stiffness, damping, places = np.array([0.0, 40.0, 900.0]), np.array([3.0, 0.0, 12.0]), np.array([0.1, -0.2, 0.3])
    together = SpringDamperIntegrator(lambda x: -stiffness * x, lambda v: -damping * v, np.array([1.0, 2.0, 0.5]), 10)
    alone = [
        SpringDamperIntegrator(
            lambda x, k=k: -stiffness[k] * x, lambda v, k=k: -damping[k] * v, together.inertia[k], 10
        )
        for k in range(3)
    ]
    for _ in range(5):
        found = together.force(places, FRAME)
        assert found == pytest.approx([each.force(float(x), FRAME) for each, x in zip(alone, places, strict=True)])
        places = places + 0.01 * found * FRAME
