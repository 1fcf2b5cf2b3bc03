"""Kinematics of a single pose against that of many poses, and effective masses of jointed bodies against textbook
arms and the virtual work of a four-bar."""

from __future__ import annotations

import math

import numpy as np
import pytest

from addon.core.kinematics import joint_motion, spanning_tree
from addon.core.loops.closure import LoopSystem
from addon.core.model import Array, Dof, Joint
from addon.core.spatial import (
    ConstrainedBodies,
    JointConstraint,
    SinglePoseKinematics,
    constraint_directions,
    joint_motion_single,
    rotate_directions,
)
from tests.support.kinematics_helpers import random_mechanism, some_values


@pytest.mark.parametrize("seed", range(40))
def test_bodies_stand_where_many_poses_have_them(seed: int) -> None:
    mechanism = random_mechanism(seed)
    values = some_values(mechanism, np.random.default_rng(seed), 1)
    tree = spanning_tree(mechanism)
    found = SinglePoseKinematics(tree).forward({name: value[0] for name, value in values.items()})
    assert found == pytest.approx(tree.forward(values)[0], abs=1e-12)


def test_a_screw_translates_as_it_rotates() -> None:
    joint = Joint("s", "s", "screw", None, "b", dofs=[Dof("screw", axis=np.array([0.6, 0.0, 0.8]), pitch=0.3)])
    assert joint_motion_single(joint, np.array([1.2])) == pytest.approx(
        joint_motion(joint, np.array([[1.2]]))[0], abs=1e-12
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_jacobian_of_loops_is_that_of_their_residual(seed: int) -> None:
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


HINGE = constraint_directions(
    Joint("j", "", "any", None, None, dofs=[Dof("rotation", np.array([0.0, 0.0, 1.0]))]), np.zeros(1)
)


def rods(points: Array, masses: Array, hinges: list[tuple[int, int, int]]) -> ConstrainedBodies:
    """Thin rods between each two of some points (n + 1, 3), hinged about Z: (parent, child, point)."""
    middles, ways = (points[1:] + points[:-1]) / 2.0, points[1:] - points[:-1]
    long = (ways**2).sum(axis=1)
    across = np.eye(3) - np.einsum("ni,nj->nij", ways, ways) / long[:, None, None]
    easy = np.linalg.pinv((masses * long / 12.0)[:, None, None] * across, hermitian=True)
    return ConstrainedBodies(
        masses, easy, middles, [JointConstraint(one, other, points[at], HINGE) for one, other, at in hinges]
    )


def pushed(bodies: ConstrainedBodies, body: int, point: Array, way: list[float]) -> float:
    return bodies.inverse_effective_mass(bodies.wrench_rows(-1, body, point, np.array([[0.0, 0.0, 0.0, *way]]))[0])


def test_the_tip_of_two_links_answers_as_lagrange_has_it() -> None:
    one, two, first, second = 1.3, 0.7, 2.0, 0.5
    a, b = 0.4, 1.5
    elbow = one * np.array([math.cos(a), math.sin(a), 0.0])
    tip = elbow + two * np.array([math.cos(b), math.sin(b), 0.0])
    bodies = rods(np.array([np.zeros(3), elbow, tip]), np.array([first, second]), [(-1, 0, 0), (0, 1, 1)])
    mixed = second * one * two / 2.0 * math.cos(a - b)
    inertia = np.array([[(first / 3.0 + second) * one**2, mixed], [mixed, second / 3.0 * two**2]])
    slope = np.array([[-one * math.sin(a), -two * math.sin(b)], [one * math.cos(a), two * math.cos(b)]])
    for way in ([1.0, 0.0], [0.0, 1.0], [0.6, -0.8]):
        along = slope.T @ way
        assert pushed(bodies, 1, tip, [*way, 0.0]) == pytest.approx(along @ np.linalg.solve(inertia, along), rel=1e-6)
    assert pushed(bodies, 1, tip, [0.0, 0.0, 1.0]) == pytest.approx(0.0, abs=1e-6)


def test_a_loop_that_is_held_twice_moves_as_a_whole() -> None:
    """A parallelogram: all its joints hold it in its plane, three times too often, and its coupler never turns."""
    points = np.array([[0, 0, 0], [0, 1, 0], [2, 1, 0], [2, 0, 0]], dtype=float)
    masses = np.array([1.0, 3.0, 1.0])
    bodies = rods(points, masses, [(-1, 0, 0), (0, 1, 1), (1, 2, 2), (-1, 2, 3)])
    whole = 2.0 / 3.0 + 3.0  # two cranks, and the coupler at their ends
    assert pushed(bodies, 1, np.array([1.0, 1.0, 0.0]), [1.0, 0.0, 0.0]) == pytest.approx(1.0 / whole, rel=1e-5)
    assert pushed(bodies, 1, np.array([1.0, 1.0, 0.0]), [0.0, 1.0, 0.0]) == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize(
    ("dofs", "count"),
    [
        ([], 6),
        ([Dof("translation", np.array([0.0, 1.0, 0.0]))], 5),
        ([Dof("rotation", axis) for axis in np.eye(3)[:2]], 4),
        ([Dof("ball")], 3),
        ([Dof("screw", np.array([0.0, 0.0, 1.0]), pitch=0.3)], 5),
        ([Dof("free")], 0),
    ],
)
def test_a_joint_holds_what_its_coordinates_do_not_move(dofs: list[Dof], count: int) -> None:
    from addon.core.kinematics import joint_motion
    from addon.core.transforms import rotation_vector

    joint = Joint("j", "", "any", None, None, dofs=dofs)
    size = 6 if dofs and dofs[0].kind == "free" else 3 if dofs and dofs[0].kind == "ball" else len(dofs)
    at = np.linspace(0.3, 0.8, size)
    ways = constraint_directions(joint, at)
    assert len(ways) == count
    for k in range(size):
        before, after = (joint_motion(joint, (at + way * 1e-6 * np.eye(size)[k])[None])[0] for way in (-1.0, 1.0))
        turned = rotation_vector(after[:3, :3] @ before[:3, :3].T)
        here = (before[:3, 3] + after[:3, 3]) / 2.0
        gone = after[:3, 3] - before[:3, 3] - np.cross(turned, here)  # of what is at the frame's origin
        assert np.abs(ways @ np.concatenate([turned, gone])).max(initial=0.0) < 1e-9


def test_directions_rotate_with_their_axes() -> None:
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert rotate_directions(np.array([[1.0, 0, 0, 0, 1, 0]]), turn) == pytest.approx(np.array([[0.0, 1, 0, -1, 0, 0]]))


def test_hinges_of_two_links_answer_as_lagrange_has_it() -> None:
    """Torques on both hinges: the inverse of the joint-space inertia matrix, coupling included."""
    one, two, first, second, a, b = 1.3, 0.7, 2.0, 0.5, 0.4, 1.5
    elbow = one * np.array([math.cos(a), math.sin(a), 0.0])
    tip = elbow + two * np.array([math.cos(b), math.sin(b), 0.0])
    bodies = rods(np.array([np.zeros(3), elbow, tip]), np.array([first, second]), [(-1, 0, 0), (0, 1, 1)])
    mixed = second * one * two / 2.0 * math.cos(a - b)
    inertia = np.array([[(first / 3.0 + second) * one**2, mixed], [mixed, second / 3.0 * two**2]])
    relative = np.array([[1.0, 0.0], [1.0, 1.0]])  # absolute angles of the two hinges' own
    turn = np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    rows = np.concatenate([bodies.wrench_rows(-1, 0, np.zeros(3), turn), bodies.wrench_rows(0, 1, elbow, turn)])
    assert bodies.response(rows) == pytest.approx(np.linalg.inv(relative.T @ inertia @ relative), rel=1e-6)
