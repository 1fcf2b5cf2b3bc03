"""Where the bodies are. Every joint obeys X_child = X_parent F_parent J(q) inverse(F_child); that, and nothing of our
own kinematics, is what the poses are held against here."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

from addon.core.kinematics import (
    joint_frame_world,
    joint_frames_world,
    joint_motion,
    joint_values_from_poses,
    joint_values_from_transform,
    spanning_tree,
)
from addon.core.model import Body, Dof, Joint, Mechanism
from tests.support.kinematics_helpers import (
    KINDS,
    bodies,
    random_mechanism,
    size_of,
    sliding,
    some_joint,
    some_pose,
    some_values,
    turning,
)

# ---------------------------------------------------------------- an independent formula


def motion_of(joint: Joint, value: np.ndarray) -> np.ndarray:
    """J(q), one pose, one degree of freedom after the other."""
    out, numbers = np.eye(4), list(np.atleast_1d(value))
    for dof in joint.dofs:
        if dof.kind == "rotation":
            out = out @ turning(dof.axis * numbers.pop(0))
        elif dof.kind == "translation":
            out = out @ sliding(dof.axis * numbers.pop(0))
        else:
            turn = turning(np.array([numbers.pop(0) for _ in range(3)]))
            shift = sliding(np.array([numbers.pop(0) for _ in range(3)])) if dof.kind == "free" else np.eye(4)
            out = out @ shift @ turn
    return out


def expected_child(joint: Joint, parent: np.ndarray, value: np.ndarray) -> np.ndarray:
    return parent @ joint.frame_parent @ motion_of(joint, value) @ np.linalg.inv(joint.frame_child)


# ---------------------------------------------------------------- random mechanisms


def part_count(mechanism: Mechanism) -> tuple[int, int]:
    """Connected parts and nodes; the world is a node where a joint holds on to it."""
    group = {body.id: body.id for body in mechanism.bodies}
    if any(None in (joint.parent, joint.child) for joint in mechanism.joints):
        group["world"] = "world"

    def top(key: str) -> str:
        while group[key] != key:
            key = group[key]
        return key

    for joint in mechanism.joints:
        group[top(joint.parent or "world")] = top(joint.child or "world")
    return len({top(key) for key in group}), len(group)


# ---------------------------------------------------------------- forward


@pytest.mark.parametrize("seed", range(40))
def test_every_joint_of_the_tree_holds_its_bodies_where_the_formula_puts_them(seed: int) -> None:
    mechanism = random_mechanism(seed)
    rng = np.random.default_rng(1000 + seed)
    values = some_values(mechanism, rng, 3)
    tree = spanning_tree(mechanism)
    world = tree.forward(values, 3)
    place = {body.id: k for k, body in enumerate(mechanism.bodies)}
    for root in tree.roots:
        np.testing.assert_allclose(world[:, place[root.id]], np.broadcast_to(root.pose, (3, 4, 4)), atol=1e-14)
    for joint in mechanism.joints:
        if joint.id in tree.loop_joints:
            continue
        for k in range(3):
            parent = world[k, place[joint.parent]] if joint.parent else np.eye(4)
            child = world[k, place[joint.child]] if joint.child else np.eye(4)
            np.testing.assert_allclose(child, expected_child(joint, parent, values[joint.id][k]), atol=1e-10)


@pytest.mark.parametrize("seed", range(40))
def test_as_many_joints_close_loops_as_there_are_too_many(seed: int) -> None:
    mechanism = random_mechanism(seed)
    tree = spanning_tree(mechanism)
    parts, nodes = part_count(mechanism)
    assert len(tree.loop_joints) == len(mechanism.joints) - nodes + parts
    anchored = any(None in (joint.parent, joint.child) for joint in mechanism.joints)
    assert len(tree.roots) == parts - anchored
    carried = [link.body for link in tree.links]
    assert sorted(carried + [root.id for root in tree.roots]) == sorted(body.id for body in mechanism.bodies)
    stands = {root.id for root in tree.roots} | {None}
    for link in tree.links:  # carriers come before what they carry
        assert link.carrier in stands
        stands.add(link.body)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backwards", [False, True], ids=["forward", "reversed"])
def test_every_kind_of_joint_both_ways_round(kind: str, backwards: bool) -> None:
    rng = np.random.default_rng(7)
    base, tip = bodies(2, rng)
    base.mass = 100.0
    joint = some_joint("j", rng, *(("b1", "b0") if backwards else ("b0", "b1")), kind)
    # a third joint makes neither body the only unclaimed one: the heavy base is the root either way
    held = Mechanism(bodies=[base, tip], joints=[joint, some_joint("k", rng, *((joint.child, joint.parent)))])
    tree = spanning_tree(held)
    assert [root.id for root in tree.roots] == ["b0"]
    assert tree.links[0].is_reversed == backwards
    value = rng.uniform(-0.8, 0.8, (4, size_of(joint)))
    world = tree.forward({"j": value}, 4)
    for k in range(4):
        parent, child = (world[k, 1], world[k, 0]) if backwards else (world[k, 0], world[k, 1])
        np.testing.assert_allclose(child, expected_child(joint, parent, value[k]), atol=1e-12)


def test_roots_go_where_they_are_sent_and_carry_the_rest() -> None:
    rng = np.random.default_rng(3)
    joint = some_joint("j", rng, "b0", "b1", "revolute")
    mechanism = Mechanism(bodies=bodies(3, rng), joints=[joint])
    tree = spanning_tree(mechanism)
    assert [root.id for root in tree.roots] == ["b0", "b2"]
    sent = np.array([[some_pose(rng) for _ in range(2)] for _ in range(5)])
    angle = rng.uniform(-3, 3, 5)
    world = tree.forward({"j": angle}, 5, sent)
    for k in range(5):
        np.testing.assert_allclose(world[k, 0], sent[k, 0], atol=1e-14)
        np.testing.assert_allclose(world[k, 2], sent[k, 1], atol=1e-14)
        np.testing.assert_allclose(world[k, 1], expected_child(joint, sent[k, 0], angle[k]), atol=1e-12)
    once = tree.forward({}, 2, sent[0])
    np.testing.assert_allclose(once[:, 2], np.stack([sent[0, 1]] * 2), atol=1e-14)


def test_joints_without_a_coordinate_stay_at_zero() -> None:
    mechanism = random_mechanism(5)
    tree = spanning_tree(mechanism)
    zeros = {joint.id: np.zeros((1, size_of(joint))) for joint in mechanism.joints}
    np.testing.assert_allclose(tree.forward({}), tree.forward(zeros), atol=1e-14)


# ---------------------------------------------------------------- and back


@pytest.mark.parametrize("seed", range(40))
def test_coordinates_of_posed_bodies_are_those_they_were_posed_by(seed: int) -> None:
    mechanism = random_mechanism(seed)
    values = some_values(mechanism, np.random.default_rng(2000 + seed), 3)
    tree = spanning_tree(mechanism)
    found = joint_values_from_poses(mechanism, tree.forward(values, 3))
    for joint in mechanism.joints:
        if joint.id not in tree.loop_joints:
            np.testing.assert_allclose(found[joint.id], values[joint.id], atol=1e-8)


@pytest.mark.parametrize("angle", [0.0, 1.0, -3.0, math.pi - 1e-9, -math.pi + 1e-9, math.pi])
def test_hinge_angles_reach_180_degrees_either_way(angle: float) -> None:
    joint = some_joint("j", np.random.default_rng(1), None, "b0", "revolute")
    found = joint_values_from_transform(joint, motion_of(joint, np.array([angle]))[None])[0, 0]
    assert found == pytest.approx(angle, abs=1e-8) or abs(angle) == math.pi == pytest.approx(abs(found))


def test_a_joint_separation_does_not_change_a_hinge_angle() -> None:
    joint = some_joint("j", np.random.default_rng(1), None, "b0", "revolute")
    across = np.cross(joint.dofs[0].axis, [0.3, 0.5, 0.1])
    apart = sliding(np.array([0.2, -0.1, 0.3])) @ motion_of(joint, np.array([0.7])) @ turning(0.01 * across)
    assert joint_values_from_transform(joint, apart[None])[0, 0] == pytest.approx(0.7, abs=1e-4)


def test_inactive_joints_have_no_coordinates_and_hold_nothing() -> None:
    rng = np.random.default_rng(9)
    joint = some_joint("j", rng, "b0", "b1", "revolute")
    joint.active = False
    mechanism = Mechanism(bodies=bodies(2, rng), joints=[joint])
    tree = spanning_tree(mechanism)
    assert len(tree.roots) == 2 and not tree.links and not tree.loop_joints
    assert joint_values_from_poses(mechanism, tree.forward({})) == {}


def test_a_joint_to_a_body_that_is_not_there_joins_nothing() -> None:
    rng = np.random.default_rng(9)
    mechanism = Mechanism(bodies=bodies(2, rng), joints=[some_joint("j", rng, "b0", "elsewhere", "revolute")])
    assert len(spanning_tree(mechanism).roots) == 2


# ---------------------------------------------------------------- the tree


def linked(*pairs: tuple[str | None, str | None], masses: dict[str, float] | None = None) -> Mechanism:
    names = sorted({name for pair in pairs for name in pair if name} | set(masses or {}))
    made = [Body(name, name, mass=(masses or {}).get(name, 1.0)) for name in names]
    joints = [Joint(f"{a}>{b}", "", "revolute", a, b, dofs=[Dof("rotation")]) for a, b in pairs]
    return Mechanism(bodies=made, joints=joints)


def roots_of(mechanism: Mechanism) -> list[str]:
    return [root.id for root in spanning_tree(mechanism).roots]


def test_a_four_bar_has_one_loop() -> None:
    tree = spanning_tree(linked(("ground", "crank"), ("crank", "coupler"), ("ground", "rocker"), ("rocker", "coupler")))
    assert [root.id for root in tree.roots] == ["ground"]
    assert len(tree.loop_joints) == 1
    assert tree.loop_joints < {"crank>coupler", "rocker>coupler"}, "breadth first: the loop is closed far from the root"


def test_the_root_is_the_one_body_that_is_nobodys_child() -> None:
    assert roots_of(linked(("b", "a"), ("b", "c"), masses={"c": 50})) == ["b"]


def test_where_joints_are_not_directed_the_heaviest_is_the_root() -> None:
    """A Juice file may count a walker's joints from the tip of its tail."""
    mechanism = linked(("tail", "hips"), ("hips", "leg"), masses={"tail": 1, "hips": 5, "leg": 2})
    mechanism.directed = False
    assert roots_of(mechanism) == ["hips"]
    equal = linked(("tail", "hips"), ("hips", "leg"))
    equal.directed = False
    assert roots_of(equal) == ["hips"], "of equals the one with the most joints"


def test_where_several_bodies_are_nobodys_child_the_heaviest_is_the_root() -> None:
    assert roots_of(linked(("a", "b"), ("c", "b"), masses={"a": 1, "b": 2, "c": 3})) == ["c"]


def test_where_every_body_is_a_child_the_heaviest_is_the_root() -> None:
    assert roots_of(linked(("a", "b"), ("b", "c"), ("c", "a"), masses={"a": 1, "b": 3, "c": 2})) == ["b"]


def test_of_equally_heavy_bodies_the_first_in_the_file_is_the_root() -> None:
    assert roots_of(linked(("a", "b"), ("c", "b"))) == ["a"]


def test_what_is_joined_to_the_world_has_no_root() -> None:
    tree = spanning_tree(linked((None, "a"), ("b", "a"), masses={"c": 1}))
    assert [root.id for root in tree.roots] == ["c"]
    assert [(link.body, link.carrier, link.is_reversed) for link in tree.links] == [
        ("a", None, False),
        ("b", "a", True),
    ]


def test_two_joints_between_the_same_bodies_are_a_loop() -> None:
    tree = spanning_tree(
        Mechanism(
            bodies=[Body("a", "a"), Body("b", "b")],
            joints=[Joint(name, "", "revolute", "a", "b", dofs=[Dof("rotation")]) for name in "jk"],
        )
    )
    assert tree.loop_joints == {"k"}


def test_a_chain_of_two_thousand_links_bends() -> None:
    """Recursion would stop at a thousand. Equal angles bend it to a regular polygon."""
    count = 2000
    step = sliding(np.array([1.0, 0.0, 0.0]))
    made = [Body(str(k), "") for k in range(count)]
    joints = [
        Joint(f"j{k}", "", "revolute", str(k), str(k + 1), frame_parent=step, dofs=[Dof("rotation")])
        for k in range(count - 1)
    ]
    began = time.process_time()
    mechanism = Mechanism(bodies=made, joints=joints)
    tree = spanning_tree(mechanism)
    angle = 2 * math.pi / (count - 1)
    world = tree.forward({joint.id: np.array([angle]) for joint in joints})
    assert time.process_time() - began < 3.0
    centre = np.array([0.5, 0.5 / math.tan(angle / 2)])
    distance = np.linalg.norm(world[0, :, :2, 3] - centre, axis=1)
    np.testing.assert_allclose(distance, 0.5 / math.sin(angle / 2), rtol=1e-9)
    np.testing.assert_allclose(world[0, -1, :3, 3], [0, 0, 0], atol=1e-6)  # the polygon closes


@pytest.mark.parametrize("kind", KINDS)
def test_joint_motion_of_many_poses(kind: str) -> None:
    rng = np.random.default_rng(8)
    joint = some_joint("j", rng, None, "b0", kind)
    values = rng.normal(size=(6, size_of(joint)))
    expected = np.array([motion_of(joint, value) for value in values])
    np.testing.assert_allclose(joint_motion(joint, values), expected, atol=1e-12)


def test_a_joints_frame_stands_in_the_world_by_its_parent() -> None:
    rng = np.random.default_rng(6)
    held: dict[str, Any] = {body.id: body for body in bodies(2, rng)}
    joint = some_joint("j", rng, "b0", "b1")
    np.testing.assert_allclose(joint_frame_world(joint, held), held["b0"].pose @ joint.frame_parent, atol=1e-14)
    joint.parent = None
    np.testing.assert_allclose(joint_frame_world(joint, held), joint.frame_parent, atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_all_joint_frames_at_once_are_those_of_each(seed: int) -> None:
    mechanism = random_mechanism(seed)
    held = {body.id: body for body in mechanism.bodies}
    frames = joint_frames_world(mechanism)
    assert list(frames) != [] and set(frames) == {joint.id for joint in mechanism.joints}
    for joint in mechanism.joints:
        parent = held[joint.parent].pose if joint.parent else np.eye(4)
        np.testing.assert_allclose(frames[joint.id], parent @ joint.frame_parent, atol=1e-14)


def test_a_joint_that_its_file_has_for_closing_a_loop_places_a_body_only_where_none_else_does() -> None:
    """Whichever comes first in the file, or is reached first."""
    from addon.core.kinematics import CLOSES_LOOP

    def joint(name: str, parent: str | None, child: str, closes: bool = False) -> Joint:
        return Joint(name, name, "revolute", parent, child, dofs=[Dof("rotation")], extra={CLOSES_LOOP: closes})

    bodies = [Body(name, name) for name in "abc"]
    joints = [joint("tail", "b", "c", True), joint("b", None, "b"), joint("a", None, "a"), joint("pin", "a", "c")]
    tree = spanning_tree(Mechanism(bodies=bodies, joints=joints))
    assert tree.loop_joints == {"tail"} and {link.joint.id for link in tree.links} == {"a", "b", "pin"}
    alone = spanning_tree(Mechanism(bodies=bodies, joints=joints[:3]))
    assert not alone.loop_joints and {link.joint.id for link in alone.links} == {"a", "b", "tail"}
