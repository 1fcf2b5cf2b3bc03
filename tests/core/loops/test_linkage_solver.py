"""What drives a loop is held where a joint of it is at its stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from addon.core.kinematics import spanning_tree
from addon.core.loops.closure import LoopSystem, input_joint_order
from addon.core.loops.linkage_solver import LinkageSolver, find_linkages
from addon.core.model import Body, Joint, Mechanism
from tests.support.loops import GROUND, crank_rocker, rocker_angle


@pytest.mark.parametrize("past", [0.003, 0.08])
def test_a_stop_that_holds_a_loop_is_found_in_few_steps(monkeypatch: pytest.MonkeyPatch, past: float) -> None:
    """As often as a frame is played: the crank is told to go on where the rocker is at its stop."""
    mechanism = crank_rocker(0.8)
    (linkage,) = find_linkages(mechanism)
    start = {joint.id: joint.initial for joint in mechanism.joints}
    (driver,) = linkage.drivers(start, input_joint_order(mechanism, spanning_tree(mechanism)))
    begun = float(start[driver][0])
    free = LinkageSolver(linkage, start)
    met, beyond = (free.follow({driver: np.array([begun + turn])}).positions for turn in (0.62, 0.62 + past))
    rocker = next(joint.dofs[0] for joint in mechanism.joints if joint.id == "D")
    up = beyond["D"][0] > met["D"][0]
    rocker.lower, rocker.upper = (-9.0, float(met["D"][0])) if up else (float(met["D"][0]), 9.0)
    (linkage,) = find_linkages(mechanism)
    follower = LinkageSolver(linkage, start)
    follower.follow({driver: np.array([begun + 0.6])}, hold=True)
    steps: list[None] = []
    step = LinkageSolver._step

    def counted(self: LinkageSolver, *args: Any) -> Any:
        steps.append(None)
        return step(self, *args)

    monkeypatch.setattr(LinkageSolver, "_step", counted)
    found = follower.follow({driver: np.array([begun + 0.62 + past])}, hold=True)
    assert found.held
    assert found.stop == ("D", up)
    assert found.positions[driver][0] == pytest.approx(begun + 0.62, abs=3e-5)
    assert len(steps) <= 7


def test_a_loop_of_welds_alone_has_no_drivers_and_none_that_follow() -> None:
    frame = Mechanism("frame", bodies=[Body(name, name) for name in "abc"])
    for one, other in ("ab", "bc", "ca"):
        frame.joints.append(Joint(one + other, one + other, "weld", one, other, np.eye(4), np.eye(4)))
    tree = spanning_tree(frame)
    assert len(tree.loop_joints) == 1
    assert [linkage.drivers({}, ["ab", "bc"]) for linkage in find_linkages(frame, tree)] == [[]]
    assert LoopSystem(frame, tree).slope(np.zeros(0)).shape == (6, 0)


@pytest.mark.parametrize("gap", [1e-6, 3e-6, 2e-5])
@pytest.mark.parametrize("together", [False, True])
def test_a_loop_whose_rounded_frames_do_not_fit_moves_as_designed(gap: float, together: bool) -> None:
    """A hinge displaced along its axis keeps a planar loop open by the same amount in every position."""
    mechanism = crank_rocker(0.8)
    frame = mechanism.joints[-1].frame_parent
    frame[:3, 3] += frame[:3, 2] * gap * GROUND
    start = {joint.id: joint.initial for joint in mechanism.joints}
    (linkage,) = find_linkages(mechanism)
    follower = LinkageSolver(linkage, start)
    assert follower.adopt(start)
    turns = np.linspace(0.0, 2.0 * np.pi, 80)[:, None]
    if together:
        found = list(follower.solve_many({"A": turns}, hold=True))
    else:
        found = [follower.follow({"A": turn}, hold=True) for turn in turns]
    for turn, position in zip(turns[:, 0], found, strict=True):
        rocker = rocker_angle(0.8 + turn) - rocker_angle(0.8)
        assert not position.held
        assert position.positions["A"][0] == turn
        assert position.positions["D"][0] == pytest.approx(rocker, abs=10.0 * gap)
