"""Positions of loops that are interpolated between known ones are as near to closed ones as those that are solved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from addon.core.kinematics import spanning_tree
from addon.core.loops.closure import input_joint_order, least_norm_step
from addon.core.loops.linkage_solver import LinkageSolver, find_linkages
from addon.core.loops.newton import HermiteTable
from addon.core.model import Array, Mechanism
from tests.support import loops
from tests.support.suspension import suspension

TOLERANCE = 1e-8


def test_cubics_go_through_their_nodes_as_polynomials_do() -> None:
    """Nodes that come in any order, along each of two inputs; no line has both where both are others."""

    def value(x: float, y: float) -> Array:
        return np.array([x**3 - 2.0 * x + y, 3.0 * y**3 + x * y])

    def slopes(x: float, y: float) -> Array:
        return np.array([[3.0 * x**2 - 2.0, y], [1.0, 9.0 * y**2 + x]])

    table = HermiteTable()
    assert table.cubic([0.0, 0.0]) is None
    for x, y in ((0.5, 0.0), (-0.5, 0.0), (0.1, 0.0), (0.10001, 0.0), (1.0, 0.0), (0.5, 0.4), (0.5, -0.4)):
        table.add([x, y], value(x, y), slopes(x, y))
    for x, y in ((-0.7, 0.0), (-0.2, 0.0), (0.1, 0.0), (0.3, 0.0), (0.9, 0.0), (2.0, 0.0), (0.5, 0.3), (0.5, 1.0)):
        found = table.cubic([x, y])
        assert found is not None
        cubic, number, share = found
        assert cubic.start + share * cubic.width == pytest.approx((x, y)[number])
        assert cubic.width > 0.3
        assert cubic.at(share) == pytest.approx(value(x, y))
    assert table.cubic([0.2, 0.3]) is None


@pytest.mark.parametrize("make", [loops.klann, loops.crank_rocker, lambda: suspension(1), lambda: suspension(2)])
def test_what_is_interpolated_is_as_closed_as_what_is_solved(make: Callable[[], Mechanism]) -> None:
    mechanism = make()
    (linkage,) = find_linkages(mechanism)
    start = {joint.id: joint.initial for joint in mechanism.joints}
    drivers = linkage.drivers(start, input_joint_order(mechanism, spanning_tree(mechanism)))
    follower, exact = LinkageSolver(linkage, start, TOLERANCE), LinkageSolver(linkage, start)
    rng, (first, *others) = np.random.default_rng(5), drivers
    is_full = len(linkage.joints) < 9  # nothing spins by itself
    far = [*0.1 * np.sin(np.linspace(0.0, 20.0, 200)), *rng.uniform(-0.12, 0.12, 200)]
    for turn in far:
        given = {joint: start[joint] for joint in drivers} | {first: start[first] + 0.5 * turn}
        if others and turn > 0.1:
            given[others[0]] = start[others[0]] + rng.uniform(-0.02, 0.02)
        found = follower.follow(given, hold=True)
        assert not found.held
        at = linkage.system.vector(found.positions)
        assert np.abs(linkage.system.residual(at)).max() < 2.0 * TOLERANCE
        assert all(found.positions[joint] == pytest.approx(given[joint], abs=1e-15) for joint in drivers)
        if is_full:
            solved = exact.follow(given, hold=True).values
            assert found.values == pytest.approx(solved, abs=1e-7)


def test_undetermined_joint_values_change_least() -> None:
    """A rod and a strut spin between two balls: steps are those of the pseudoinverse, also away from where equations
    were reduced."""
    (linkage,) = find_linkages(suspension(1))
    system, start = linkage.system, {joint.id: joint.initial for joint in suspension(1).joints}
    follower = LinkageSolver(linkage, start)
    given = {"rack": np.array([0.01]), "lower 0": np.array([0.05])}
    free = np.ones(len(system.scales), dtype=bool)
    free[[system.columns[joint].start for joint in given]] = False
    before = system.vector(follower.follow(given).positions)
    for more in (1e-4, -2e-4):
        after = system.vector(follower.follow(given | {"lower 0": given["lower 0"] + more}).positions)
        slope, told = system.slope(before), (after - before)[~free]
        least = least_norm_step(slope[:, free], -slope[:, ~free] @ told, redundant=3e-6)
        assert (after - before)[free] == pytest.approx(least, abs=20.0 * more**2)
        assert np.abs(least).max() > 1e-5
