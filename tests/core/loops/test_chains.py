"""Loops as chains are what the bodies' poses make of them, and many positions at once are what they are one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from addon.core.kinematics import joint_motion, spanning_tree
from addon.core.loops.closure import LoopSystem, input_joint_order
from addon.core.loops.linkage_solver import LinkageSolver, find_linkages
from addon.core.model import Array
from addon.core.transforms import inverse
from tests.support import loops
from tests.support.kinematics_helpers import random_mechanism, some_values


@pytest.mark.parametrize("seed", range(40))
def test_loop_residuals_are_between_the_bodies_posed_by_the_tree(seed: int) -> None:
    mechanism = random_mechanism(seed)
    tree = spanning_tree(mechanism)
    system = LoopSystem(mechanism, tree)
    values = some_values(mechanism, np.random.default_rng(seed), 3)
    world = tree.forward(values, 3)
    at = np.array([system.vector({name: value[row] for name, value in values.items()}) for row in range(3)])
    residual, _ = system.linearize(at)
    assert residual.shape == (3, 6 * len(system.chords))

    def side(body: str | None, frame: Array) -> Array:
        return frame if body is None else world[:, tree.index[body]] @ frame

    for number, chord in enumerate(system.chords):
        claimed = side(chord.parent, chord.frame_parent) @ joint_motion(chord, values[chord.id])
        apart = inverse(claimed) @ side(chord.child, chord.frame_child)
        assert residual[:, 6 * number + 3 : 6 * number + 6] * system.length == pytest.approx(apart[:, :3, 3], abs=1e-9)
        angles = np.arccos(np.clip((np.trace(apart[:, :3, :3], axis1=1, axis2=2) - 1.0) / 2.0, -1.0, 1.0))
        assert np.linalg.norm(residual[:, 6 * number : 6 * number + 3], axis=1) == pytest.approx(angles, abs=1e-6)


def test_many_positions_of_a_crank_are_where_trigonometry_has_them() -> None:
    """Turned there and back, past the length of a step, round more than once, and with jumps."""
    mechanism = loops.crank_rocker(0.8)
    (linkage,) = find_linkages(mechanism)
    start = {joint.id: joint.initial for joint in mechanism.joints}
    turned = np.concatenate([np.linspace(0.0, 9.0, 200), np.linspace(9.0, -2.0, 31), [3.0, 3.001, -1.0, 0.0]])
    found = list(LinkageSolver(linkage, start).solve_many({"A": start["A"] + turned[:, None]}, hold=True))
    begun = loops.rocker_angle(0.8)
    signs = [math.copysign(1.0, found[5].positions["D"][0] * (loops.rocker_angle(0.8 + turned[5]) - begun))]
    wanted = [signs[0] * (loops.rocker_angle(0.8 + turn) - begun) for turn in turned]
    assert not any(each.held for each in found)
    assert [each.positions["D"][0] for each in found] == pytest.approx(wanted, abs=1e-12)
    assert found[-1].positions["D"][0] == 0.0


def test_a_stop_holds_many_positions_as_it_does_one() -> None:
    mechanism = loops.klann()
    order = input_joint_order(mechanism, spanning_tree(mechanism))
    for name in ("knee", "elbow"):
        joint = next(joint.dofs[0] for joint in mechanism.joints if joint.id == name)
        joint.lower, joint.upper = -0.3, 0.3
    (linkage,) = find_linkages(mechanism)
    start = {joint.id: joint.initial for joint in mechanism.joints}
    (driver,) = linkage.drivers(start, order)
    told = start[driver] + 2.0 * np.sin(np.linspace(0.0, 9.0, 150))[:, None]
    one, many = LinkageSolver(linkage, start), LinkageSolver(linkage, start)
    singly = [one.follow({driver: value}, hold=True) for value in told]
    at_once = list(many.solve_many({driver: told}, hold=True))
    assert 20 < sum(each.held for each in singly) < 130
    assert [(each.held, each.stop) for each in at_once] == [(each.held, each.stop) for each in singly]
    for each, other in zip(singly, at_once, strict=True):
        for joint, value in each.positions.items():
            assert other.positions[joint] == pytest.approx(value, abs=1e-10 if not each.held else 1e-5)
            assert other.opening < 2e-6


def test_a_follower_goes_on_from_a_mark() -> None:
    mechanism = loops.klann()
    (linkage,) = find_linkages(mechanism)
    start = {joint.id: joint.initial for joint in mechanism.joints}
    (driver,) = linkage.drivers(start, input_joint_order(mechanism, spanning_tree(mechanism)))
    follower = LinkageSolver(linkage, start)
    near = follower.follow({driver: start[driver] + 0.1})
    far = follower.follow({driver: start[driver] + 3.0})
    assert near.mark is not None
    follower.resume(near.mark)
    steps = follower.follow({driver: start[driver] + 0.11}).positions
    assert far.positions[driver] != steps[driver]
    assert max(abs(steps[name] - near.positions[name]).max() for name in steps) < 0.05
