"""Limbs and duplicates of them as functions on mechanisms: against the kinematics of the original limb."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addon.core.editing.limbs import Limb, Offsets, duplicate_limb, equal_offsets, find_limb, mirrored_offsets
from addon.core.joint_types import JOINT_TYPES, make_dofs
from addon.core.kinematics import joint_child_frame_world, joint_frame_world, spanning_tree
from addon.core.model import DOF_SIZE, Array, Body, Joint, Mechanism, Plane, body_by_id, joint_by_id
from addon.core.transforms import inverse, rotation_matrix

#: Two legs of two links on a trunk, and a weight that hangs on the left one.
LEGS = ("left thigh", "left shank", "right thigh", "right shank")


def pose(rng: np.random.Generator) -> Array:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = rotation_matrix(rng.normal(size=3)), rng.normal(size=3)
    return out


def walker(seed: int = 1, type_: str = "revolute") -> Mechanism:
    rng = np.random.default_rng(seed)
    names = ("trunk", *LEGS, "weight")
    bodies = [Body(name, name, pose(rng), com=rng.normal(size=3)) for name in names]
    known = {body.id: body for body in bodies}
    joints = []
    for parent, child in (
        ("trunk", "left thigh"), ("left thigh", "left shank"), ("left shank", "weight"),
        ("trunk", "right thigh"), ("right thigh", "right shank"),
    ):  # fmt: skip
        frame = pose(rng)
        sides = (inverse(known[end].pose) @ frame for end in (parent, child))
        joints.append(Joint(f"{child} joint", f"{child} joint", type_, parent, child, *sides, make_dofs(type_)))
    for part in (*bodies, *joints):
        side = part.id.partition(" ")
        if side[0] in {"left", "right"}:
            part.twin = f"{'right' if side[0] == 'left' else 'left'} {side[2]}"
    return Mechanism("walker", bodies=bodies, joints=joints)


def forward(mechanism: Mechanism, values: dict[str, Array]) -> dict[str, Array]:
    tree = spanning_tree(mechanism, ["trunk"])
    found = tree.forward({own: value[None] for own, value in values.items()})[0]
    return {body.id: found[tree.index[body.id]] for body in mechanism.bodies}


def leg(mechanism: Mechanism, whole: bool = True) -> Limb:
    return find_limb(mechanism, spanning_tree(mechanism, ["trunk"]), ["left thigh"], [], whole)


def test_a_limb_has_what_lies_beyond_its_bodies_and_the_joints_that_carry_it() -> None:
    mechanism = walker()
    assert leg(mechanism) == Limb(
        ["left thigh", "left shank", "weight"], ["left thigh joint", "left shank joint", "weight joint"]
    )
    assert leg(mechanism, whole=False) == Limb(["left thigh"], ["left thigh joint"], ["left shank joint"])
    tree = spanning_tree(mechanism, ["trunk"])
    assert find_limb(mechanism, tree, [], ["right shank joint"]).bodies == ["right shank"]
    with pytest.raises(ValueError, match="Select bodies"):
        find_limb(mechanism, tree, [], ["no such joint"])


def test_a_joint_that_closes_a_loop_is_across() -> None:
    mechanism = walker()
    mechanism.joints.append(Joint("bar", "bar", "weld", "left shank", "right shank"))
    assert leg(mechanism).across == ["bar"]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(JOINT_TYPES))
def test_a_duplicate_moves_as_its_original_beside_it(seed: int, type_: str) -> None:
    mechanism = walker(seed, type_)
    rng = np.random.default_rng(seed + 1)
    values = {joint.id: rng.normal(size=sum(DOF_SIZE[dof.kind] for dof in joint.dofs)) for joint in mechanism.joints}
    offset = rng.normal(size=3)
    edit = duplicate_limb(mechanism, leg(mechanism), equal_offsets(leg(mechanism), offset), values)
    new = {own: each.values for own, each in edit.joints.items()}
    seen = forward(edit.after, values | {own: value for own, value in new.items() if value is not None})
    bodies = {new: old for new, old in edit.copies.items() if new in body_by_id(edit.after)}
    assert sorted(bodies.values()) == ["left shank", "left thigh", "weight"]
    shift = np.eye(4)
    shift[:3, 3] = offset
    for copy, original in bodies.items():
        assert seen[copy] == pytest.approx(shift @ seen[original], abs=1e-9)
    before = forward(mechanism, values)
    assert all(np.array_equal(seen[own], at) for own, at in before.items())


def test_a_duplicate_has_free_names_and_ids_and_no_twin_and_leaves_its_input_alone() -> None:
    mechanism = walker()
    copy = deepcopy(mechanism)
    once = duplicate_limb(mechanism, leg(mechanism), equal_offsets(leg(mechanism), np.ones(3)), {})
    twice = duplicate_limb(once.after, leg(mechanism), equal_offsets(leg(mechanism), np.ones(3)), {})
    names = [part.name for part in (*twice.after.bodies, *twice.after.joints)]
    ids = [part.id for part in (*twice.after.bodies, *twice.after.joints)]
    assert len({*names}) == len(names) and len({*ids}) == len(ids)
    assert {"left shank 2", "left shank 3", "left shank joint 3"} <= {*names}
    assert all(body.twin is None for body in twice.after.bodies if body.id in {**once.copies, **twice.copies})
    np.testing.assert_equal(asdict(mechanism), asdict(copy))


def test_a_body_and_a_joint_with_one_id_are_told_apart() -> None:
    mechanism = walker()
    for joint in mechanism.joints:
        joint.id = joint.id.removesuffix(" joint")
    edit = duplicate_limb(mechanism, leg(mechanism), equal_offsets(leg(mechanism), np.ones(3)), {})
    bodies, joints = body_by_id(edit.after), joint_by_id(edit.after)
    new = [*edit.copies]
    assert len({*new}) == 6 and not {*new} & {*body_by_id(mechanism)}
    assert sum(own in bodies for own in new) == sum(own in joints for own in new) == 3
    for own in joints.keys() & {*new}:
        ends = joints[own].parent, joints[own].child
        assert all(end in bodies for end in ends)


def test_copies_of_twins_are_twins_and_move_as_mirror_images() -> None:
    mechanism = walker()
    plane = Plane(np.array([1.0, 0.0, 0.0]))
    for number, body in enumerate(mechanism.bodies):
        side = {"left": 1.0, "righ": -1.0}.get(body.id[:4], 0.0)
        body.pose, body.com = np.eye(4), np.zeros(3)
        body.pose[:3, 3] = side, number % 2, 0.0
    for joint in mechanism.joints:
        frame = deepcopy(body_by_id(mechanism)[joint.child or ""].pose)
        joint.frame_parent = inverse(body_by_id(mechanism)[joint.parent or ""].pose) @ frame
        joint.frame_child = np.eye(4)
    limb = find_limb(mechanism, spanning_tree(mechanism, ["trunk"]), LEGS, [], whole=False)
    offset = np.array([0.5, 2.0, 0.25])
    moved = mirrored_offsets(mechanism, limb, (["left shank"], []), offset, plane)
    assert moved.bodies["left thigh"] == pytest.approx(offset)
    assert moved.bodies["right thigh"] == pytest.approx(offset * (-1.0, 1.0, 1.0))
    edit = duplicate_limb(mechanism, limb, moved, {}, keep_twins=True)
    made = {old: body_by_id(edit.after)[new] for new, old in edit.copies.items() if new in body_by_id(edit.after)}
    assert made["left shank"].twin == made["right shank"].id
    assert made["left shank"].pose[:3, 3] == pytest.approx(made["right shank"].pose[:3, 3] * (-1.0, 1.0, 1.0))
    joints = {old: joint_by_id(edit.after)[new] for new, old in edit.copies.items() if new in joint_by_id(edit.after)}
    for name in ("thigh", "shank"):
        left, right = joints[f"left {name} joint"], joints[f"right {name} joint"]
        assert (left.twin, right.twin) == (right.id, left.id)
        for side in (joint_frame_world, joint_child_frame_world):
            one, other = (side(each, body_by_id(edit.after))[:3, 3] for each in (left, right))
            assert one == pytest.approx(other * (-1.0, 1.0, 1.0))


def test_offsets_of_parts_without_a_twin_lie_in_the_mirror_plane() -> None:
    mechanism = walker()
    limb = Limb(["weight"], ["weight joint"])
    plane = Plane(np.array([0.0, 1.0, 0.0]))
    moved = mirrored_offsets(mechanism, limb, (["weight"], []), np.array([1.0, 2.0, 3.0]), plane)
    expected = Offsets({"weight": np.array([1.0, 0.0, 3.0])}, {"weight joint": np.array([1.0, 0.0, 3.0])})
    np.testing.assert_equal(asdict(moved), asdict(expected))
