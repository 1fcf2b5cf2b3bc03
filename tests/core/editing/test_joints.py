"""Edits of joints as functions on mechanisms, at random poses: against the kinematics of the mechanism before."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from addon.core.editing.edits import Edit
from addon.core.editing.joints import (
    COPIED_FIELDS,
    StopEnd,
    add_bodies,
    add_joint,
    change_dofs,
    change_type,
    copy_dof_values,
    delete_parts,
    estimate_masses,
    limit_positions,
    move_joint,
    number_names,
    replace_visual_shape,
    set_stops,
    swap_ends,
    swap_stops,
    switch_joint_stops,
)
from addon.core.editing.seen_poses import PosedState, preserve_seen_poses
from addon.core.force_laws import PiecewisePolynomial
from addon.core.joint_types import JOINT_TYPES, make_dofs
from addon.core.kinematics import joint_child_frame_world, joint_frame_world, spanning_tree
from addon.core.model import (
    DOF_SIZE,
    Array,
    Body,
    Dof,
    Frame,
    Joint,
    Light,
    Mechanism,
    Restraint,
    Shape,
    body_by_id,
    joint_by_id,
)
from addon.core.primitive_fit import fit_surface
from addon.core.stops import StopPair, joint_stops, stop_excess, stop_tolerance, value_dofs, wanted_value
from addon.core.transforms import inverse, rotation_matrix
from addon.core.validation import validate

#: Joints of the random mechanisms, in a chain of four bodies: the second is edited.
IDS = ["a", "b", "c"]
seeds = st.integers(0, 10**6)
types = st.sampled_from(JOINT_TYPES)


def pose(rng: np.random.Generator) -> Array:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = rotation_matrix(rng.normal(size=3)), rng.normal(size=3)
    return out


def random_dofs(type_: str, rng: np.random.Generator) -> list[Dof]:
    """Degrees of freedom of a type about axes of a random, right-angled system, with values of every field."""
    dofs, turn = make_dofs(type_), rotation_matrix(rng.normal(size=3))
    for dof in dofs:
        dof.axis = turn @ dof.axis
        dof.lower, dof.upper = -float(rng.uniform(1, 2)), float(rng.uniform(1, 2))
        dof.velocity, dof.rest, dof.damping = rng.normal(size=3).tolist()
        if DOF_SIZE[dof.kind] == 1:
            dof.position = float(rng.normal())
        if dof.kind == "ball":
            dof.start = tuple(rng.normal(size=3).tolist())
    return dofs


def chain(seed: int, type_: str) -> Mechanism:
    """Four bodies, the first of which is a root; the second joint is of the type."""
    rng = np.random.default_rng(seed)
    bodies = [Body(str(number), f"body {number}", pose(rng)) for number in range(4)]
    joints = []
    for number, kind in enumerate(("revolute", type_, "universal")):
        joint = Joint(IDS[number], f"joint {number}", kind, str(number), str(number + 1), dofs=random_dofs(kind, rng))
        frame = pose(rng)
        joint.frame_parent = inverse(bodies[number].pose) @ frame
        joint.frame_child = inverse(bodies[number + 1].pose) @ frame
        joints.append(joint)
    return Mechanism("chain", bodies=bodies, joints=joints)


def sizes(mechanism: Mechanism) -> dict[str, int]:
    return {joint.id: sum(DOF_SIZE[dof.kind] for dof in joint.dofs) for joint in mechanism.joints}


def random_values(mechanism: Mechanism, seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed + 1)
    return {own: 0.7 * rng.normal(size=size) for own, size in sizes(mechanism).items()}


def poses(mechanism: Mechanism, values: dict[str, Array]) -> dict[str, Array]:
    tree = spanning_tree(mechanism, ["0"])
    found = tree.forward({own: value[None] for own, value in values.items()})[0]
    return {body.id: found[tree.index[body.id]] for body in mechanism.bodies}


def held(edit: Edit, values: dict[str, Array]) -> tuple[Mechanism, dict[str, Array]]:
    """The edited mechanism, its bodies held where they were at the values, and its values there."""
    design = {body.id: body.pose for body in edit.before.bodies}
    moves = {own: at @ inverse(design[own]) for own, at in poses(edit.before, values).items()}
    after = deepcopy(edit.after)
    fixed = {own: each.held for own, each in edit.joints.items() if each.held is not None}
    given = {own: each.values for own, each in edit.joints.items() if each.values is not None}
    state = PosedState(moves, ["0"], {*values} & {*sizes(after)}, edited=fixed, values=given)
    found = preserve_seen_poses(spanning_tree(after, ["0"]), state)
    return after, {own: values[own] for own in sizes(after) if own in values} | given | found.values


def misses(one: dict[str, Array], other: dict[str, Array]) -> float:
    return max(float(np.abs(one[own] - other[own]).max()) for own in one.keys() & other.keys())


# ---------------------------------------------------------------- degrees of freedom


@settings(max_examples=150, deadline=None)
@given(seeds, types, types)
def test_a_joint_of_another_type_keeps_all_bodies_in_place(seed: int, old: str, new: str) -> None:
    mechanism = chain(seed, old)
    values = random_values(mechanism, seed)
    edit = change_type(mechanism, "b", new, values["b"])
    after, now = held(edit, values)
    assert misses(poses(after, now), poses(mechanism, values)) < 1e-6
    assert joint_by_id(after)["b"].type == new
    assert len(now["b"]) == sizes(after)["b"]


@settings(max_examples=60, deadline=None)
@given(seeds, types, types)
def test_a_type_change_leaves_its_input_and_all_other_parts_alone(seed: int, old: str, new: str) -> None:
    mechanism = chain(seed, old)
    copy = deepcopy(mechanism)
    edit = change_type(mechanism, "b", new, random_values(mechanism, seed)["b"])
    np.testing.assert_equal(asdict(mechanism), asdict(copy))
    assert all(one is other for one, other in zip(edit.after.bodies, mechanism.bodies, strict=True))
    before, after = joint_by_id(mechanism), joint_by_id(edit.after)
    assert after["a"] is before["a"] and after["c"] is before["c"]


@settings(max_examples=60, deadline=None)
@given(seeds, types)
def test_a_joint_of_the_same_type_is_left_unchanged(seed: int, type_: str) -> None:
    mechanism = chain(seed, type_)
    edit = change_type(mechanism, "b", type_, random_values(mechanism, seed)["b"])
    assert edit.after is mechanism and not edit.joints


@settings(max_examples=80, deadline=None)
@given(seeds, types, types)
def test_values_that_continue_keep_their_axis_stops_and_keyframes(seed: int, old: str, new: str) -> None:
    mechanism = chain(seed, old)
    edit = change_type(mechanism, "b", new, random_values(mechanism, seed)["b"])
    if "b" not in edit.joints:
        return
    before, after = (joint_by_id(each)["b"].dofs for each in (mechanism, edit.after))
    numbers = edit.joints["b"].numbers
    assert numbers is not None

    def at(dofs: list[Dof]) -> list[Dof]:
        return [dof for dof in dofs for _ in range(DOF_SIZE[dof.kind])]

    for was, (now, factor) in numbers.items():
        one, other = at(before)[was], at(after)[now]
        assert factor == 1.0
        if {one.kind, other.kind} == {"rotation", "screw"}:
            continue  # only its value goes on
        assert one.kind == other.kind
        assert (one.lower, one.upper, one.damping) == (other.lower, other.upper, other.damping)
        if DOF_SIZE[one.kind] == 1:
            assert one.axis == pytest.approx(other.axis, abs=2e-5)


def test_a_ball_joint_made_of_a_hinge_begins_where_the_hinge_began() -> None:
    mechanism = chain(3, "revolute")
    edit = change_type(mechanism, "b", "ball", np.array([0.2]))
    dof = joint_by_id(mechanism)["b"].dofs[0]
    assert joint_by_id(edit.after)["b"].dofs[0].start == pytest.approx(dof.axis * dof.position)


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="hinge"):
        change_type(chain(1, "revolute"), "b", "hinge", np.zeros(1))


# ---------------------------------------------------------------- ends


@settings(max_examples=150, deadline=None)
@given(seeds, types, st.booleans())
def test_swapped_ends_move_all_bodies_as_before(seed: int, type_: str, posed: bool) -> None:
    mechanism = chain(seed, type_)
    if type_ == "free":
        joint_by_id(mechanism)["b"].dofs[0].start = ()
    values = random_values(mechanism, seed)
    edit = swap_ends(mechanism, "b", values["b"] if posed else None)
    joint = joint_by_id(edit.after)["b"]
    assert (joint.parent, joint.child) == ("2", "1")
    if posed:
        now = edit.joints["b"].values
        assert now is not None
        assert misses(poses(edit.after, values | {"b": now}), poses(mechanism, values)) < 1e-9
        back = swap_ends(edit.after, "b", now).joints["b"].values
        assert back == pytest.approx(values["b"], abs=1e-12)
    else:
        assert edit.joints["b"].values is None


@settings(max_examples=60, deadline=None)
@given(seeds, types)
def test_ends_swapped_twice_are_the_joint_itself(seed: int, type_: str) -> None:
    mechanism = chain(seed, type_)
    if type_ == "free":
        joint_by_id(mechanism)["b"].dofs[0].start = ()
    once = swap_ends(mechanism, "b", None)
    twice = swap_ends(once.after, "b", None)
    np.testing.assert_equal(asdict(joint_by_id(twice.after)["b"]), asdict(joint_by_id(mechanism)["b"]))
    both = {
        old: (twice.joints["b"].numbers[new][0], factor * twice.joints["b"].numbers[new][1])
        for old, (new, factor) in once.joints["b"].numbers.items()
    }
    assert both == {number: (number, 1.0) for number in range(sizes(mechanism)["b"])}


@pytest.mark.parametrize("has_separate", [True, False])
def test_a_replaced_visual_shape_has_the_color_and_other_collision_shapes_stay(has_separate: bool) -> None:
    """Of a shape that is only seen, one that is seen and collides, and two that only collide."""
    flags = [(True, False), (True, True), (False, True), (False, True)]
    shapes = [Shape("box", {"x": 1.0 + n}, np.eye(4), visual=v, collision=c) for n, (v, c) in enumerate(flags)]
    shapes[0].color, shapes[2].extra = (0.1, 0.2, 0.3, 1.0), {"collidable": False}
    body = Body("a", "a", np.eye(4), shapes=shapes)
    edit = replace_visual_shape(
        Mechanism(bodies=[body]), "a", Shape("sphere", {"radius": 2.0}, np.eye(4)), 2.0 * np.eye(3), has_separate
    )
    now = edit.after.bodies[0]
    assert edit.shapes == {"a": [None, 1, 2, 3] if has_separate else [None, 2, 3]}
    assert [shape.size for shape in now.shapes[1:]] == [shapes[n].size for n in edit.shapes["a"][1:]]
    assert (now.shapes[0].type, now.shapes[0].color) == ("sphere", shapes[0].color)
    assert [shape.visual for shape in now.shapes] == [True] + [False] * (len(now.shapes) - 1)
    assert now.shapes[0].collision is not has_separate
    assert now.inertia == pytest.approx(2.0 * np.eye(3))
    assert body.shapes is shapes and [shape.visual for shape in shapes] == [True, True, False, False]


def test_restraints_of_a_swapped_joint_push_its_bodies_as_before() -> None:
    mechanism = chain(3, "revolute")
    law = ([0.2], [[0.0], [100.0, -20.0]])  # nothing up to 0.2 rad, then a bumper
    mechanism.restraints = [Restraint("bumper", "spring", joint="b", knots=law[0], coefficients=law[1])]
    mechanism.restraints += [Restraint("other", "spring", joint="a", coefficients=[[1.0, 2.0]])]
    after = swap_ends(mechanism, "b", None).after
    before, swapped = (
        PiecewisePolynomial(*law),
        PiecewisePolynomial(after.restraints[0].knots, after.restraints[0].coefficients),
    )
    for value in np.linspace(-1.0, 1.0, 21):
        if abs(value - 0.2) > 1e-6:
            assert swapped(-value) == pytest.approx(-before(value))
    assert after.restraints[1] is mechanism.restraints[1]
    assert mechanism.restraints[0].knots == [0.2]


@pytest.mark.parametrize(
    ("key", "terms", "is_swapped"),
    [("stiffness", [3.0, 5.0], True), ("stiffness", [0.0, 5.0, 1.0], False), ("stiffness", [3.0], False),
     ("stiffness", [0.0, 5.0, 0.0, 2.0], True), ("damping", [0.0, 1.0], True), ("damping", [0.0, 1.0, 0.5], False)],
)  # fmt: skip
def test_a_joint_whose_force_terms_cannot_be_reversed_is_not_swapped(
    key: str, terms: list[float], is_swapped: bool
) -> None:
    mechanism = chain(3, "revolute")
    mechanism.joints = [replace(joint, extra={key: terms}) for joint in mechanism.joints]
    if is_swapped:
        swap_ends(mechanism, "b", None)
        return
    with pytest.raises(ValueError, match=f"its {key} has terms of even powers"):
        swap_ends(mechanism, "b", None)


def test_a_free_joint_that_begins_elsewhere_and_one_at_the_world_are_not_swapped() -> None:
    mechanism = chain(2, "free")
    joint_by_id(mechanism)["b"].dofs[0].start = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="free joint"):
        swap_ends(mechanism, "b", None)
    mechanism.joints[0] = replace(mechanism.joints[0], parent=None)
    with pytest.raises(ValueError, match="not between two bodies"):
        swap_ends(mechanism, "a", None)


# ---------------------------------------------------------------- place


@settings(max_examples=80, deadline=None)
@given(seeds, types)
def test_a_moved_joint_keeps_all_bodies_in_place_and_stands_where_it_was_put(seed: int, type_: str) -> None:
    mechanism = chain(seed, type_)
    values = random_values(mechanism, seed)
    frame = pose(np.random.default_rng(seed + 2))
    edit = move_joint(mechanism, "b", frame, values["b"])
    joint, bodies = joint_by_id(edit.after)["b"], body_by_id(edit.after)
    assert joint_frame_world(joint, bodies) == pytest.approx(frame, abs=1e-9)
    assert joint_child_frame_world(joint, bodies) == pytest.approx(frame, abs=1e-9)
    after, now = held(edit, values)
    assert misses(poses(after, now), poses(mechanism, values)) < 1e-6
    assert joint_frame_world(joint_by_id(after)["b"], body_by_id(after)) == pytest.approx(frame, abs=1e-9)
    assert now["b"] == pytest.approx(values["b"])


def test_a_moved_joint_keeps_the_opening_of_its_loop() -> None:
    mechanism = chain(4, "revolute")
    apart = pose(np.random.default_rng(1))
    joint = joint_by_id(mechanism)["b"]
    joint.frame_child = joint.frame_child @ apart
    edit = move_joint(mechanism, "b", pose(np.random.default_rng(2)), np.zeros(1))
    moved, bodies = joint_by_id(edit.after)["b"], body_by_id(edit.after)
    opening = inverse(joint_frame_world(moved, bodies)) @ joint_child_frame_world(moved, bodies)
    assert opening == pytest.approx(apart, abs=1e-9)


# ---------------------------------------------------------------- parts


@settings(max_examples=40, deadline=None)
@given(seeds, types)
def test_an_added_joint_joins_its_bodies_where_they_stand(seed: int, type_: str) -> None:
    mechanism = chain(seed, "revolute")
    values = random_values(mechanism, seed)
    seen = poses(mechanism, values)
    mechanism.bodies.append(Body("4", "apart", pose(np.random.default_rng(seed + 3))))
    frame = pose(np.random.default_rng(seed + 4))
    design = body_by_id(mechanism)
    sides = inverse(design["3"].pose) @ frame, inverse(design["4"].pose) @ frame
    edit = add_joint(mechanism, Joint("new", "new", type_, "3", "4", *sides, dofs=random_dofs(type_, _rng(seed))))
    after, now = held(edit, values)
    there = poses(after, now)
    assert misses(there, seen | {"4": design["4"].pose}) < 1e-6
    assert np.array_equal(now["new"], np.zeros(sizes(after)["new"]))


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_joint_of_a_body_with_itself_or_with_a_foreign_one_is_refused() -> None:
    mechanism = chain(1, "revolute")
    with pytest.raises(ValueError, match="same body"):
        add_joint(mechanism, Joint("new", "new", "weld", "1", "1"))
    with pytest.raises(ValueError, match="not a body of"):
        add_joint(mechanism, Joint("new", "new", "weld", "1", "elsewhere"))


@settings(max_examples=60, deadline=None)
@given(st.sets(st.sampled_from("0123")), st.sets(st.sampled_from([*IDS])))
def test_deleted_parts_leave_no_reference_to_them(bodies: set[str], joints: set[str]) -> None:
    mechanism = chain(1, "revolute")
    mechanism.bodies[0].twin, mechanism.bodies[3].twin = "3", "0"
    mechanism.joints[0].twin, mechanism.joints[2].twin = "c", "a"
    mechanism.frames = [Frame("f", own) for own in (*"0123", None)]
    mechanism.lights = [Light("l", body=own) for own in (*"0123", None)]
    mechanism.restraints = [Restraint("r", bodies=("0", None)), Restraint("s", joint="b"), Restraint("t")]
    if not (bodies or joints):
        with pytest.raises(ValueError, match="Select"):
            delete_parts(mechanism, bodies, joints)
        return
    edit = delete_parts(mechanism, bodies, joints)
    after, left = edit.after, {*"0123"} - bodies
    assert [body.id for body in after.bodies] == sorted(left)
    assert {joint.id for joint in after.joints} == {
        joint.id for joint in mechanism.joints if joint.id not in joints and {joint.parent, joint.child} <= left
    }
    kept = {joint.id for joint in after.joints}
    assert all(body.twin in {None, *left} for body in after.bodies)
    assert all(joint.twin in {None, *kept} for joint in after.joints)
    assert {frame.body for frame in after.frames} == {light.body for light in after.lights} == {None, *left}
    assert {each.name for each in after.restraints} == {"t"} | ({"r"} & _if("0" in left, "r")) | _if("b" in kept, "s")
    assert (edit.deleted_bodies, edit.deleted_joints) == ({*"0123"} - left, {*IDS} - kept)
    untouched = {"1", "2"} & left
    assert all(body_by_id(after)[own] is body_by_id(mechanism)[own] for own in untouched)


def _if(condition: bool, name: str) -> set[str]:
    return {name} if condition else set()


def test_edits_one_after_the_other_are_one_edit() -> None:
    mechanism = chain(6, "revolute")
    first = swap_ends(mechanism, "a", np.array([0.5]))
    both = first.then(change_dofs(first.after, "b", "weld", [], np.array([0.1])))
    assert both.before is mechanism and {*both.joints} == {"a", "b"}
    assert joint_by_id(both.after)["a"].parent == "1" and joint_by_id(both.after)["b"].dofs == []


# ---------------------------------------------------------------- values


def stops_of(mechanism: Mechanism, own: str) -> list[StopPair]:
    return joint_stops(joint_by_id(mechanism)[own].dofs)


@settings(max_examples=150, deadline=None)
@given(seeds, types, st.sampled_from(["lower", "upper", "both"]))
def test_stops_set_from_a_pose_contain_it_and_a_refused_one_changes_nothing(seed: int, type_: str, end: str) -> None:
    mechanism = chain(seed, type_)
    for dof in mechanism.joints[1].dofs:
        if dof.kind == "ball":
            dof.parts = [Dof("rotation", axis, lower=-0.5) for axis in np.eye(3)]
    copy, values = deepcopy(mechanism), 2.0 * random_values(mechanism, seed)["b"]
    keys = [("b", index) for index in range(len(values))]
    pairs: dict[str, tuple[bool, bool]] = {"lower": (True, False), "upper": (False, True), "both": (True, True)}
    wanted: dict[tuple[str, int], StopPair] = {}
    for key, value in zip(keys, values.tolist(), strict=True):
        low, high = pairs[end]
        wanted[key] = (value if low else None, value if high else None)
    edit, report = set_stops(mechanism, wanted, {key: f"value {key[1]}" for key in keys})
    refused = {entry.where for entry in report.entries}
    for (_own, index), value in zip(keys, values, strict=True):
        before, after = stops_of(mechanism, "b")[index], stops_of(edit.after, "b")[index]
        if f"value {index}" in refused:
            assert after == before
            assert end != "both" or value_dofs(mechanism.joints[1].dofs)[index] is None
            continue
        assert not stop_excess(np.array([value]), after if end == "both" else tuple_with(after, end)).any()
        assert after == (value if end != "upper" else before[0], value if end != "lower" else before[1])
        assert after[0] is None or after[1] is None or after[0] <= after[1]
    np.testing.assert_equal(asdict(mechanism), asdict(copy))
    assert edit.after.joints[0] is mechanism.joints[0]


def tuple_with(stops: StopPair, end: str) -> StopPair:
    """The stops of one end alone."""
    return (stops[0], None) if end == "lower" else (None, stops[1])


@settings(max_examples=100, deadline=None)
@given(st.floats(-3, 3), st.floats(-3, 0), st.floats(0, 3))
def test_a_value_that_only_its_stop_limits_is_that_of_its_channel(channel: float, lower: float, upper: float) -> None:
    seen = min(max(channel, lower), upper)
    assert wanted_value(seen, channel, (lower, upper)) == channel
    held = seen + 10.0 * stop_tolerance(upper)  # a driver or constraint holds it elsewhere
    assert wanted_value(held, channel, (None, held + 1.0)) == held


def test_values_are_copied_between_degrees_of_freedom_of_one_kind() -> None:
    mechanism = chain(3, "universal")
    source, other, plain = mechanism.joints[1], mechanism.joints[2], mechanism.joints[0]
    source.dofs[0].gain, source.dofs[1].stiffness, source.dofs[0].upper = 7.0, 5.0, None
    plain.dofs = make_dofs("prismatic")
    copy = deepcopy(mechanism)
    edit, unlike = copy_dof_values(mechanism, "b", ["c", "a"], ["stops", "spring"])
    assert unlike == 1 and edit.after.joints[0] is plain and edit.after.joints[1] is source
    for mine, its, was in zip(source.dofs, edit.after.joints[2].dofs, other.dofs, strict=True):
        for name in (*COPIED_FIELDS["stops"], *COPIED_FIELDS["spring"]):
            assert getattr(its, name) == getattr(mine, name)
        assert (its.gain, its.position, its.velocity) == (was.gain, was.position, was.velocity)
        assert its.axis == pytest.approx(was.axis)
    again, _unlike = copy_dof_values(edit.after, "b", ["c"], ["stops", "spring"])
    assert again.after.joints[2] is edit.after.joints[2], "nothing differs any more"
    np.testing.assert_equal(asdict(mechanism), asdict(copy))


# ---------------------------------------------------------------- new bodies


def prism(rng: np.random.Generator, corners: Array) -> tuple[Array, NDArray[np.int32]]:
    """A solid between a convex polygon and its copy beside it, at a random pose."""
    count, out = len(corners), []
    points = np.vstack([np.column_stack([corners, np.full(count, z)]) for z in (0.0, 1.7)])
    for k in range(1, count - 1):
        out += [(0, k + 1, k), (count, count + k, count + k + 1)]
    for k in range(count):
        here, there = k, (k + 1) % count
        out += [(here, there, there + count), (here, there + count, here + count)]
    place = pose(rng)
    return points @ place[:3, :3].T + place[:3, 3], np.array(out, dtype=np.int32)


@settings(max_examples=60, deadline=None)
@given(seeds, st.booleans())
def test_a_body_made_of_a_mesh_has_its_mass_and_stands_where_the_mesh_is(seed: int, as_mesh: bool) -> None:
    rng = np.random.default_rng(seed)
    corners = (
        np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 0.8], [0.0, 0.8]])
        if seed % 2
        else np.array([[0.0, 0.0], [2.0, 0.0], [0.5, 0.9]])
    )
    points, triangles = prism(rng, corners)
    solid, place, mechanism = fit_surface(points, triangles, as_mesh), pose(rng), chain(seed, "ball")
    edit, (one, two) = add_bodies(mechanism, [("0", place, solid), ("0", place, solid)], None, 250.0)
    assert [body.id for body in edit.after.bodies[4:]] == [one.id, two.id] and one.id != two.id
    assert {one.id, two.id}.isdisjoint({"0", "1", "2", "3", *IDS})
    area = 1.6 if seed % 2 else 0.9
    assert one.mass == pytest.approx(250.0 * 1.7 * area)
    assert one.shapes[0].type == ("box" if seed % 2 and not as_mesh else "mesh")
    middle = np.append(corners.mean(axis=0), 0.85)  # of a triangle and of a rectangle it is the mean of the corners
    flat = np.vstack([np.column_stack([corners, np.full(len(corners), z)]) for z in (0.0, 1.7)])
    turned = np.linalg.lstsq(np.column_stack([flat, np.ones(len(flat))]), points, rcond=None)[0]
    assert one.pose[:3, 3] == pytest.approx(place[:3, :3] @ (np.append(middle, 1.0) @ turned) + place[:3, 3])
    heavy, _made = add_bodies(mechanism, [("new", place, solid)], 4.0, 250.0)
    assert heavy.after.bodies[-1].mass == 4.0
    if one.shapes[0].type == "mesh":
        assert one.inertia is not None and heavy.after.bodies[-1].inertia is not None
        assert one.inertia / one.mass == pytest.approx(heavy.after.bodies[-1].inertia / 4.0)
        if seed % 2:  # a box of edges 2, 0.8 and 1.7
            moments = one.mass / 12.0 * (4.0 + 0.64 + 2.89 - np.array([4.0, 0.64, 2.89]))
            assert np.linalg.eigvalsh(one.inertia) == pytest.approx(np.sort(moments))


def test_values_beyond_stops_and_swapped_stops_are_fixed_and_all_else_is_left_alone() -> None:
    dofs = [
        Dof("rotation", lower=0.5, upper=-0.5, position=2.0),
        Dof("rotation", lower=-1.0, position=-3.0),
        Dof("translation", lower=-1.0, upper=1.0, position=0.5),
    ]
    joints = [Joint(name, name, "generic", None, None, dofs=deepcopy(dofs)) for name in ("fixed", "kept")]
    mechanism = Mechanism(joints=joints)
    edit = swap_stops(mechanism, ["fixed"])
    assert edit.after.joints[1] is joints[1] and joints[0].dofs[0].lower == 0.5
    swapped = edit.after.joints[0].dofs
    assert [(dof.lower, dof.upper) for dof in swapped] == [(-0.5, 0.5), (-1.0, None), (-1.0, 1.0)]
    limited = limit_positions(edit.after, ["fixed", "deleted"]).after.joints[0].dofs
    assert [dof.position for dof in limited] == [0.5, -1.0, 0.5]


def test_a_mass_is_that_of_the_solid_shapes() -> None:
    box, ball = Shape("box", size={"x": 2.0, "y": 3.0, "z": 0.5}), Shape("sphere", size={"radius": 0.5})
    bodies = [Body("both", "both", shapes=[box, ball]), Body("none", "none"), Body("kept", "kept", mass=7.0)]
    edit = estimate_masses(Mechanism(bodies=bodies), ["both", "none"], 100.0)
    assert [body.mass for body in edit.after.bodies] == pytest.approx([100.0 * (3.0 + np.pi / 6.0), 1.0, 7.0])
    assert edit.after.bodies[2] is bodies[2]


def test_names_that_several_parts_have_get_numbers_that_are_free() -> None:
    bodies = [Body(own, name) for own, name in (("1", "arm"), ("2", "arm"), ("3", "arm"), ("4", "leg"))]
    joints = [Joint("1", "arm 2", "weld", None, "1"), Joint("2", "arm 2", "weld", None, "2")]
    mechanism = Mechanism(bodies=bodies, joints=joints)
    edit = number_names(mechanism, "body", ("1", "2", "3"))
    assert [body.name for body in edit.after.bodies] == ["arm", "arm 3", "arm 4", "leg"]
    assert edit.after.bodies[0] is bodies[0] and edit.after.joints == joints and bodies[1].name == "arm"
    assert [joint.name for joint in number_names(mechanism, "joint", ("1", "2")).after.joints] == ["arm 2", "arm 2 2"]


@pytest.mark.parametrize(
    ("previous", "ends", "expected"),
    [
        ((-0.5, 0.25), ("lower", "upper"), (-0.5, 0.25)),
        ((-0.5, 0.25), ("upper",), (None, 0.25)),
        ((0.0, 0.0), ("lower", "upper"), (-0.75, 0.75)),
        ((0.2, 0.0), ("lower", "upper"), (0.2, 0.95)),
        ((0.0, -0.2), ("lower", "upper"), (-0.95, -0.2)),
    ],
)
def test_stops_are_switched_on_at_their_last_values(
    previous: tuple[float, float], ends: tuple[StopEnd, ...], expected: StopPair
) -> None:
    ball = Dof("ball", parts=[Dof("rotation", name=name) for name in "abc"])
    joint = Joint("1", "1", "generic", None, None, dofs=[Dof("rotation", lower=-1.0, upper=1.0), ball])
    mechanism = Mechanism(joints=[joint])
    on = switch_joint_stops(mechanism, {("1", 2): previous}, {("1", 2): 0.75}, ends, True).after
    part = on.joints[0].dofs[1].parts[1]
    assert (part.lower, part.upper) == pytest.approx(expected)
    assert joint.dofs[1].parts[1].lower is None and on.joints[0].dofs[0].upper == 1.0
    off = switch_joint_stops(on, {("1", 0): (-1.0, 1.0)}, {("1", 0): 0.75}, ends, False).after.joints[0].dofs[0]
    assert [off.lower, off.upper] == [None if end in ends else stop for end, stop in (("lower", -1.0), ("upper", 1.0))]


@pytest.mark.parametrize(
    ("stops", "last", "end", "expected"),
    [
        ((0.0, None), (0.0, 0.0), "upper", (0.0, 0.75)),  # a knee, whose upper stop was never set
        ((None, 0.0), (0.0, 0.0), "lower", (-0.75, 0.0)),
        ((0.5, None), (0.5, 0.3), "upper", (0.5, 1.25)),  # the one that is on stays
        ((None, -0.5), (0.3, -0.5), "lower", (-1.25, -0.5)),
        ((-0.5, None), (-0.5, 0.3), "upper", (-0.5, 0.3)),
    ],
)
def test_a_stop_that_is_switched_on_leaves_a_range_and_the_other_stop(
    stops: StopPair, last: tuple[float, float], end: StopEnd, expected: StopPair
) -> None:
    dof = Dof("rotation", lower=stops[0], upper=stops[1])
    mechanism = Mechanism(joints=[Joint("1", "1", "revolute", None, None, dofs=[dof])])
    (joint,) = switch_joint_stops(mechanism, {("1", 0): last}, {("1", 0): 0.75}, [end], True).after.joints
    assert (joint.dofs[0].lower, joint.dofs[0].upper) == pytest.approx(expected)


def test_initial_values_of_a_ball_beyond_its_stops_are_found_and_moved_to_them() -> None:
    parts = [Dof("rotation", lower=-1.0, upper=1.0) for _ in range(3)]
    ball = Dof("ball", start=(2.0, -0.5, -3.0), parts=parts)
    mechanism = Mechanism(joints=[Joint("1", "1", "ball", None, None, dofs=[ball])])
    found = [each for each in validate(mechanism) if each.code == "start-beyond-stop"]
    assert [each.parts for each in found] == [("1",), ("1",)]
    limited = limit_positions(mechanism, ["1"]).after
    assert limited.joints[0].dofs[0].start == (1.0, -0.5, -1.0)
    assert not [each for each in validate(limited) if each.code == "start-beyond-stop"]
    assert ball.start == (2.0, -0.5, -3.0)
