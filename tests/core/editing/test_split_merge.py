"""Splitting and merging as functions on mechanisms: against each other and the kinematics of the whole."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addon.core.editing.split_merge import Merge, merge, split
from addon.core.joint_types import JOINT_TYPES, make_dofs
from addon.core.kinematics import joint_frame_world, spanning_tree
from addon.core.model import (
    DOF_SIZE,
    Array,
    Body,
    Frame,
    Joint,
    Light,
    Mechanism,
    Plane,
    Restraint,
    body_by_id,
    joint_by_id,
)
from addon.core.transforms import inverse, rotation_matrix

seeds = st.integers(0, 10**6)
types = st.sampled_from(JOINT_TYPES)
#: Bodies of a mechanism: a trunk with two legs.
LEGS = ("left thigh", "left shank", "right thigh", "right shank")
LEFT = {"left thigh", "left shank"}


def pose(rng: np.random.Generator) -> Array:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = rotation_matrix(rng.normal(size=3)), rng.normal(size=3)
    return out


def walker(seed: int, type_: str, joined: bool = True) -> Mechanism:
    """A trunk with two legs and something attached to each body; ``joined`` False: the left leg stands by itself."""
    rng = np.random.default_rng(seed)
    bodies = [
        Body(name, name.title(), pose(rng), float(rng.uniform(1, 2)), rng.normal(size=3)) for name in ("trunk", *LEGS)
    ]
    known, joints = {body.id: body for body in bodies}, list[Joint]()
    pairs = [
        ("trunk", "left thigh"),
        ("left shank", "left thigh"),
        ("trunk", "right thigh"),
        ("right thigh", "right shank"),
    ]
    for parent, child in pairs if joined else pairs[1:]:
        frame = pose(rng)
        name = f"{child} {parent}"
        joint = Joint(name, name.title(), type_, parent, child, dofs=make_dofs(type_))
        joint.frame_parent, joint.frame_child = inverse(known[parent].pose) @ frame, inverse(known[child].pose) @ frame
        joints.append(joint)
    for body in bodies[1:]:
        side, _space, rest = body.id.partition(" ")
        body.twin = f"{'right' if side == 'left' else 'left'} {rest}"
    frames = [Frame(f"on {body.id}", body.id) for body in bodies]
    lights = [Light(f"of {body.id}", body=body.id) for body in bodies]
    restraints = [
        Restraint("spring", bodies=("left thigh", "left shank")),
        Restraint("bar", bodies=("trunk", "left shank")),
    ]
    return Mechanism("walker", bodies=bodies, joints=joints, frames=frames, lights=lights, restraints=restraints)


def values(mechanism: Mechanism, seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed + 1)
    return {
        joint.id: 0.5 * rng.normal(size=sum(DOF_SIZE[dof.kind] for dof in joint.dofs)) for joint in mechanism.joints
    }


def forward(mechanism: Mechanism, positions: dict[str, Array], root: str) -> dict[str, Array]:
    tree = spanning_tree(mechanism, [root])
    found = tree.forward({own: value[None] for own, value in positions.items()})[0]
    return {body.id: found[tree.index[body.id]] for body in mechanism.bodies}


def equal(one: object, other: object) -> None:
    np.testing.assert_equal(asdict(one), asdict(other))  # type: ignore[call-overload]


@settings(max_examples=60, deadline=None)
@given(seeds, types, st.booleans())
def test_every_part_is_in_one_of_the_two_mechanisms(seed: int, type_: str, to_world: bool) -> None:
    mechanism = walker(seed, type_)
    before = deepcopy(mechanism)
    done = split(mechanism, LEFT, to_world)
    rest, part = done.rest.after, done.part.after
    equal(mechanism, before)
    assert (done.across, done.inside) == (["left thigh trunk"], ["left thigh left shank"])
    assert {body.id for body in part.bodies} == LEFT
    assert [body.id for body in rest.bodies] == ["trunk", "right thigh", "right shank"]
    assert {joint.id for joint in part.joints} == {"left thigh left shank", *(done.across if to_world else ())}
    assert {joint.id for joint in rest.joints} == {"right thigh trunk", "right shank right thigh"}
    assert not any(each.twin for each in (*part.bodies, *rest.bodies)), "the twins are separated"
    for own in (rest, part):
        ids = {body.id for body in own.bodies}
        assert {frame.body for frame in own.frames} == {light.body for light in own.lights} == ids
    assert [[item.name for item in own.restraints] for own in (part, rest)] == [["spring"], []]


@settings(max_examples=80, deadline=None)
@given(seeds, types, st.booleans())
def test_a_part_that_is_attached_to_the_world_stands_where_it_is_seen(seed: int, type_: str, reverse: bool) -> None:
    mechanism = walker(seed, type_)
    if reverse:  # the joint's child stays
        joint = mechanism.joints[0]
        joint.parent, joint.child = joint.child, joint.parent
        joint.frame_parent, joint.frame_child = joint.frame_child, joint.frame_parent
    at = values(mechanism, seed)
    seen = forward(mechanism, at, "trunk")
    root = pose(np.random.default_rng(seed + 2))  # the trunk is elsewhere than designed
    designs = body_by_id(mechanism)
    moves = {own: root @ place @ inverse(designs[own].pose) for own, place in seen.items()}
    done = split(mechanism, LEFT, True, moves, lambda joint: at[joint.id])
    held = {own: edit.held for own, edit in done.part.joints.items() if edit.held is not None}
    assert held.keys() == {*done.across}
    alone = forward(done.part.after, {"left thigh left shank": at["left thigh left shank"], **held}, "none")
    for own, place in alone.items():
        assert place == pytest.approx(root @ seen[own], abs=1e-9)


def merged(one: Mechanism, other: Mechanism, shift: Array | None = None, plane: Plane | None = None) -> Merge:
    return merge(one, other, np.eye(4) if shift is None else shift, values(other, 1), plane=plane)


@settings(max_examples=60, deadline=None)
@given(seeds, types)
def test_split_then_merge_is_the_identity(seed: int, type_: str) -> None:
    """Of what has no connection to the rest: joints, restraints and twins across are lost."""
    mechanism = walker(seed, type_, joined=False)
    for body in mechanism.bodies:
        body.twin = {"left thigh": "left shank", "left shank": "left thigh"}.get(body.id)
    done = split(mechanism, LEFT)
    assert not done.across
    again = merged(done.rest.after, done.part.after)
    assert (again.renamed, again.unpaired) == (0, 0)
    for kind in ("bodies", "joints"):
        before = {part.id: part for part in getattr(mechanism, kind)}
        after = {part.id: part for part in getattr(again.edit.after, kind)}
        assert before.keys() == after.keys()
        for own, part in before.items():
            equal(after[own], part)


@settings(max_examples=80, deadline=None)
@given(seeds, types)
def test_what_is_merged_moves_as_before_in_its_new_place(seed: int, type_: str) -> None:
    one, other, shift = walker(seed, "ball"), walker(seed + 1, type_), pose(np.random.default_rng(seed))
    other.joints[0].parent, other.joints[0].frame_parent = None, joint_frame_world(other.joints[0], body_by_id(other))
    copies = deepcopy(one), deepcopy(other)
    at = values(other, 1)
    found = merged(one, other, shift)
    equal(one, copies[0])
    equal(other, copies[1])
    after = found.edit.after
    ids = [part.id for part in (*after.bodies, *after.joints)]
    assert len({*ids}) == len(ids) == 18 and found.renamed == 9
    assert found.bodies["trunk"] == "trunk 2"
    assert all(mine is each for mine, each in zip(after.bodies, one.bodies, strict=False))
    before = forward(other, at, "trunk")
    new: dict[str, Array] = {own: edit.values for own, edit in found.edit.joints.items() if edit.values is not None}
    assert new.keys() == {*found.joints.values()}
    now = forward(after, new, found.bodies["trunk"])
    for own, place in before.items():
        assert now[found.bodies[own]] == pytest.approx(shift @ place, abs=1e-9)
    for body in after.bodies[5:]:
        assert body.twin is None or body_by_id(after)[body.twin].twin == body.id


def test_a_body_and_a_joint_with_one_id_are_told_apart() -> None:
    other = walker(3, "revolute")
    joint_by_id(other)["left thigh trunk"].id = "trunk"
    found = merged(walker(4, "revolute"), other)
    assert (found.bodies["trunk"], found.joints["trunk"]) == ("trunk 2", "trunk 3")
    came = joint_by_id(found.edit.after)["trunk 3"]
    assert (came.parent, came.child) == ("trunk 2", "left thigh 2")


def test_ids_that_are_taken_elsewhere_stay_free() -> None:
    found = merge(walker(4, "revolute"), walker(3, "revolute"), np.eye(4), {}, taken={"trunk 2", "trunk 3"})
    assert found.bodies["trunk"] == "trunk 4"


def test_twins_that_are_not_opposite_each_other_are_unlinked() -> None:
    plane, other = Plane(np.array([1.0, 0.0, 0.0])), walker(3, "revolute")
    for body in other.bodies:
        side = {"left": 1.0, "righ": -1.0}.get(body.id[:4], 0.0)
        body.pose, body.com = np.eye(4), np.zeros(3)
        body.pose[:3, 3] = side, 3.0 * ("shank" in body.id), 0.0
    one = walker(4, "revolute")
    for body in one.bodies:
        body.twin = None
    assert merged(one, other, plane=plane).unpaired == 0
    beside = np.eye(4)
    beside[0, 3] = 4.0
    found = merged(one, other, beside, plane)
    assert found.unpaired == 2 and not any(body.twin for body in found.edit.after.bodies)
    assert merged(one, other, beside).unpaired == 0


def test_all_bodies_or_none_cannot_be_split_off() -> None:
    mechanism = walker(1, "revolute")
    for chosen, why in (([], "no body"), (["nobody"], "no body"), (["trunk", *LEGS], "all bodies")):
        with pytest.raises(ValueError, match=why):
            split(mechanism, chosen)
