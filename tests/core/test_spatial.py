"""A single pose is what kinematics of many poses makes of it, and the slope of loops is that of their residual."""

from __future__ import annotations

import numpy as np
import pytest

from addon.core.kinematics import joint_motion, spanning_tree
from addon.core.loops.closure import LoopSystem
from addon.core.model import Dof, Joint
from addon.core.spatial import SinglePoseKinematics, joint_motion_single
from tests.support.kinematics_helpers import random_mechanism, some_values


@pytest.mark.parametrize("seed", range(40))
def test_bodies_stand_where_many_poses_have_them(seed: int) -> None:
    mechanism = random_mechanism(seed)
    values = some_values(mechanism, np.random.default_rng(seed), 1)
    tree = spanning_tree(mechanism)
    found = SinglePoseKinematics(tree).forward({name: value[0] for name, value in values.items()})
    assert found == pytest.approx(tree.forward(values)[0], abs=1e-12)


def test_a_screw_slides_as_it_turns() -> None:
    joint = Joint("s", "s", "screw", None, "b", dofs=[Dof("screw", axis=np.array([0.6, 0.0, 0.8]), pitch=0.3)])
    assert joint_motion_single(joint, np.array([1.2])) == pytest.approx(
        joint_motion(joint, np.array([[1.2]]))[0], abs=1e-12
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_slope_is_that_of_the_residual(seed: int) -> None:
    """By differences, at positions at which the loops are far open."""
    mechanism = random_mechanism(seed)
    system = LoopSystem(mechanism, spanning_tree(mechanism))
    at = system.vector(
        {name: value[0] for name, value in some_values(mechanism, np.random.default_rng(seed), 1).items()}
    )
    step, residual = 1e-6, system.residual(at).reshape(-1, 6)
    near_half_a_turn = np.repeat(np.linalg.norm(residual[:, :3], axis=1) > 2.9, 6)
    for column in range(len(at)):
        ahead, behind = at.copy(), at.copy()
        ahead[column] += step
        behind[column] -= step
        wanted = (system.residual(ahead) - system.residual(behind)) / (2.0 * step)
        found = system.slope(at)[:, column]
        assert found[~near_half_a_turn] == pytest.approx(wanted[~near_half_a_turn], rel=1e-4, abs=1e-5)
