"""Loops that an edit opens where all joints are at 0 are designed where they close."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from addon.core.editing.seen_poses import DesignUpdate, PosedState, preserve_seen_poses
from addon.core.kinematics import design_openings, spanning_tree
from addon.core.loops.closure import LoopSystem, close_loops, loop_openings
from addon.core.loops.designs import adopt_assembled_values, initial_values_of_new_loops
from addon.core.loops.linkage_solver import LinkageSolver, find_linkages
from addon.core.model import Array, Body, Dof, Joint, Mechanism
from tests.support.loops import crank_rocker, crank_rocker_points

#: The crank's angle as it is drawn, and by how much it is turned.
DRAWN, TURNED = 0.8, 0.3


def bar_angles(crank: float) -> dict[str, float]:
    """The angle in its plane of each bar, by the law of cosines."""
    tip, knee = crank_rocker_points(crank)
    coupler, rocker = knee - tip, knee - np.array([4.0, 0.0])
    return {"crank": crank, "coupler": math.atan2(*coupler[::-1]), "rocker": math.atan2(*rocker[::-1])}


def posed(turned: float = TURNED) -> tuple[Mechanism, dict[str, Array], dict[str, float]]:
    """A crank-rocker with stops, where its bodies are seen with the crank turned, and its joints' values there."""
    mechanism, other = crank_rocker(DRAWN), crank_rocker(DRAWN + turned)
    moves = {
        body.id: there.pose @ np.linalg.inv(body.pose)
        for body, there in zip(mechanism.bodies, other.bodies, strict=True)
    }
    by = {body: angle - bar_angles(DRAWN)[body] for body, angle in bar_angles(DRAWN + turned).items()}
    values = {joint.id: by[joint.child or ""] - by.get(joint.parent or "", 0.0) for joint in mechanism.joints}
    for joint in mechanism.joints:
        joint.dofs[0].lower, joint.dofs[0].upper = -1.0, 1.2
    return mechanism, moves, values


def held(mechanism: Mechanism, moves: dict[str, Array], **edited: Array) -> DesignUpdate:
    tree = spanning_tree(mechanism)
    kept = {joint.id for joint in mechanism.joints} - tree.loop_joints
    following = kept - {"A"}
    return preserve_seen_poses(tree, PosedState(moves, (), kept, edited, following=following))


def at_pivot(joint: Joint, mechanism: Mechanism, side: str) -> Array:
    poses: dict[str | None, Array] = {body.id: body.pose for body in mechanism.bodies}
    pose = poses.get(getattr(joint, side))
    return (np.eye(4) if pose is None else pose) @ getattr(joint, f"frame_{side}")


def moved_pivot(mechanism: Mechanism, name: str) -> None:
    """Put a pivot of the design elsewhere on both of its bodies, along its axis and across."""
    joint = next(each for each in mechanism.joints if each.id == name)
    shift = np.eye(4)
    shift[:3, 3] = 0.2, -0.15, 0.0
    joint.frame_parent, joint.frame_child = joint.frame_parent @ shift, joint.frame_child @ shift


@pytest.mark.parametrize("name", ["A", "B", "C", "D"])
def test_a_posed_loop_whose_pivot_was_moved_closes_at_its_design(name: str) -> None:
    mechanism, moves, values = posed()
    seen = {own: move @ body.pose for body in mechanism.bodies for own, move in moves.items() if own == body.id}
    before = copy.deepcopy(mechanism)
    moved_pivot(mechanism, name)
    out = held(mechanism, moves, **{name: np.array([values[name]])})
    assert max(map(max, loop_openings(mechanism).values())) < 1e-9 and not design_openings(mechanism)
    for own, pose in out.seen.items():
        assert np.abs(pose - seen[own]).max() < 1e-12, "it is seen where it was"
    # both sides of every pivot are one where the bodies are seen, and its stops as far away as they were
    there = {body.id: Body(body.id, body.name, out.seen[body.id]) for body in mechanism.bodies}
    standing = Mechanism(bodies=list(there.values()), joints=mechanism.joints)
    now = out.coordinates(standing)
    for joint, old in zip(mechanism.joints, before.joints, strict=True):
        apart = at_pivot(joint, standing, "parent")[:3, 3] - at_pivot(joint, standing, "child")[:3, 3]
        assert np.abs(apart).max() < 1e-9
        (dof,), (was,) = joint.dofs, old.dofs
        assert dof.lower is not None and was.lower is not None and dof.upper is not None and was.upper is not None
        assert dof.lower - now[joint.id][0] == pytest.approx(was.lower - values[joint.id], abs=1e-9)
        assert dof.upper - now[joint.id][0] == pytest.approx(was.upper - values[joint.id], abs=1e-9)
    assert now["A"][0] == pytest.approx(TURNED, abs=1e-9) and "A" not in out.zeros, "the input counts as it did"
    assert any(out.zeros)


def test_a_posed_loop_with_a_weld_is_designed_as_it_is_seen() -> None:
    mechanism, moves, _values = posed()
    seen = {body.id: moves[body.id] @ body.pose for body in mechanism.bodies}
    mechanism.joints[1].type, mechanism.joints[1].dofs = "weld", []
    assert max(np.abs(seen[body.id] - body.pose).max() for body in mechanism.bodies) > 0.1
    out = held(mechanism, moves, B=np.zeros(0))
    for body in mechanism.bodies:
        assert np.abs(body.pose - seen[body.id]).max() < 1e-9, "nothing else closes"
    assert max(map(max, loop_openings(mechanism).values())) < 1e-9
    assert out.zeros["A"][0] == pytest.approx(TURNED, abs=1e-9) and mechanism.joints[0].dofs[0].lower == pytest.approx(
        -1.0 - TURNED, abs=1e-9
    )


def test_a_loop_that_an_edit_does_not_open_keeps_its_numbers() -> None:
    mechanism, moves, _values = posed()
    before = copy.deepcopy(mechanism)
    assert not held(mechanism, moves).zeros
    for one, other in zip((*mechanism.bodies, *mechanism.joints), (*before.bodies, *before.joints), strict=True):
        for name in ("pose", "frame_parent", "frame_child"):
            assert np.array_equal(getattr(one, name, None), getattr(other, name, None))


def test_loops_close_as_they_do_whatever_else_there_is() -> None:
    """Others that are open, and longer, do not change by which way is the shortest."""
    mechanism = crank_rocker(DRAWN)
    for joint, value in zip(mechanism.joints, (0.1, 0.0, 0.05, 0.0), strict=True):
        joint.dofs[0].position = value
    mechanism.joints[2].dofs.append(Dof("translation", np.array([0.0, 1.0, 0.0])))
    alone, _before, after = close_loops(mechanism)
    assert max(map(max, after.values())) < 1e-8
    other = crank_rocker(DRAWN, scale=50.0)
    for body in other.bodies:
        body.id = body.name = f"other {body.id}"
    for joint in other.joints:
        joint.id = joint.name = f"other {joint.id}"
        joint.parent = joint.parent and f"other {joint.parent}"
        joint.child = f"other {joint.child}"
        joint.dofs[0].position = 0.1
    both = Mechanism(bodies=[*mechanism.bodies, *other.bodies], joints=[*mechanism.joints, *other.joints])
    together, _before, after = close_loops(both)
    assert max(map(max, after.values())) < 1e-6
    for own, value in alone.items():
        assert np.abs(together[own] - value).max() < 1e-12


def test_a_position_that_is_closed_but_for_its_last_digits_is_gone_on_from() -> None:
    """What the loop tells nothing of stays where it is."""
    mechanism = crank_rocker(DRAWN)
    mechanism.joints[1].dofs = [Dof("translation", np.eye(3)[0]), Dof("translation", np.eye(3)[1]), Dof("rotation")]
    (linkage,) = find_linkages(mechanism)
    start = {joint.id: np.zeros(len(joint.dofs)) for joint in mechanism.joints}
    follower = LinkageSolver(linkage, start)
    led = {"A": np.array([0.2]), "C": np.array([-0.1]), "D": np.array([0.15])}
    closed = LinkageSolver(linkage, start).follow(led).positions
    told = {joint: value for joint, value in closed.items() if joint not in linkage.chords}
    told["D"] = told["D"] + 1e-5
    assert follower.adopt(told)
    assert not follower.adopt({**told, "D": told["D"] + 1e-3}), "that is open"
    found = follower.follow({"A": led["A"]}).positions
    for joint, value in closed.items():
        assert np.abs(found[joint] - value).max() < 1e-4


# ---------------------------------------------------------------- initial values of edited loops


def left_open() -> tuple[Mechanism, dict[str, Array]]:
    """A crank-rocker whose file begins with open loops, and the values at which it is assembled, in 32 bits."""
    mechanism = crank_rocker(DRAWN)
    for joint, value in zip(mechanism.joints, (0.2, -0.15, 0.05, -0.1), strict=True):
        joint.dofs[0].position = value
    values = close_loops(mechanism)[0]
    return mechanism, {own: np.float32(value).astype(np.float64) for own, value in values.items()}


def initial(mechanism: Mechanism) -> dict[str, float]:
    return {joint.id: joint.dofs[0].position for joint in mechanism.joints}


def test_a_loop_as_in_its_document_keeps_its_values_also_displaced_as_a_whole() -> None:
    document, assembled = left_open()
    mechanism = copy.deepcopy(document)
    adopt_assembled_values(mechanism, document, assembled)
    assert initial(mechanism) == initial(document)
    shift = np.eye(4)
    shift[:3, :3], shift[:3, 3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]], (1.0, 2.0, 3.0)
    for joint in mechanism.joints:
        joint.frame_parent = shift @ joint.frame_parent if joint.parent is None else joint.frame_parent
    adopt_assembled_values(mechanism, document, assembled)
    assert initial(mechanism) == initial(document)


@pytest.mark.parametrize("edited", ["A", "B", "C", "D"])
def test_a_loop_with_an_edited_joint_begins_exactly_where_it_was_assembled(edited: str) -> None:
    """Though values and frames were rounded to 32 bits, and whichever joint closes the loop."""
    document, assembled = left_open()
    mechanism = copy.deepcopy(document)
    (joint,) = (each for each in mechanism.joints if each.id == edited)
    turn = np.eye(4)
    turn[:3, :3] = [[math.cos(0.4), -math.sin(0.4), 0], [math.sin(0.4), math.cos(0.4), 0], [0, 0, 1]]
    turn[2, 3] = 0.25  # along the axis and about it: all move as before
    slight = np.eye(4)
    slight[:3, :3] = [[1, 0, 0], [0, math.cos(1e-7), -math.sin(1e-7)], [0, math.sin(1e-7), math.cos(1e-7)]]
    joint.frame_parent, joint.frame_child = joint.frame_parent @ turn, joint.frame_child @ turn @ slight
    for frame in (joint.frame_parent, joint.frame_child):
        frame[:3, 3] = np.float32(frame[:3, 3])
    adopt_assembled_values(mechanism, document, assembled)
    assert initial(mechanism) == pytest.approx({own: float(value[0]) for own, value in assembled.items()}, abs=1e-6)
    assert max(map(max, loop_openings(mechanism).values())) < 1e-10


@pytest.mark.parametrize("turned", [0.0, TURNED])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_new_loop_that_is_open_initially_begins_where_it_is_seen(turned: float, is_new: bool) -> None:
    mechanism, _moves, seen = posed(turned)
    values = {own: np.array([value]) for own, value in seen.items()}
    tree = spanning_tree(mechanism)
    opened = {own: value + 0.1 * (own == "B") for own, value in values.items()}
    new = tree.loop_joints if is_new else frozenset[str]()
    closed_at_0 = {own: np.zeros(1) for own in values}
    assert initial_values_of_new_loops(mechanism, tree, new, closed_at_0, values) == {}
    assert initial_values_of_new_loops(mechanism, tree, new, opened, opened) == {}
    found = initial_values_of_new_loops(mechanism, tree, new, opened, values)
    assert found == (values if is_new else {})


def test_what_is_left_of_a_loop_stands_where_it_was_assembled() -> None:
    document, assembled = left_open()
    mechanism = copy.deepcopy(document)
    mechanism.joints = [joint for joint in mechanism.joints if joint.id != "C"]
    expected = {own: float(value[0]) for own, value in assembled.items() if own != "C"}
    adopt_assembled_values(mechanism, document, assembled)
    assert initial(mechanism) == pytest.approx(expected, abs=1e-6)


def test_the_characteristic_length_ignores_the_rounding_of_frames_at_an_origin() -> None:
    mechanism = crank_rocker(DRAWN)
    expected = LoopSystem(mechanism, spanning_tree(mechanism)).length
    for joint in mechanism.joints:
        joint.extra = {}
    more = [copy.deepcopy(joint) for joint in mechanism.joints for _ in range(3)]
    for number, joint in enumerate(more):
        joint.id = f"at an origin {number}"
        joint.frame_parent[:3, 3], joint.frame_child[:3, 3] = (0.0, 0.0, 1e-7), (0.0, 1e-7, 0.0)
    mechanism.joints += more
    assert LoopSystem(mechanism, spanning_tree(mechanism)).length == expected
