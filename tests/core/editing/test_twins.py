"""Twins. What a mirrored half is held against: its bodies at random poses are where the reflections of its mate's are,
and mirroring twice gives back what was there."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import asdict, fields, replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from addon import formats
from addon.core.editing.edits import Edit
from addon.core.editing.joints import delete_parts, swap_ends
from addon.core.editing.mirroring import motion_mirror
from addon.core.editing.sides import find_mirror_plane, find_sides
from addon.core.editing.symmetry import (
    add_twins,
    compare_twins,
    copy_body_values,
    copy_values_to_twins,
    find_twins,
    mirror_twins,
)
from addon.core.editing.twins import (
    mirror_body,
    mirror_change,
    mirror_joint,
    mirror_joint_settings,
    reflection_on,
    retype_twin,
)
from addon.core.joint_types import JOINT_TYPES, make_dofs
from addon.core.kinematics import joint_child_frame_world, joint_frame_world, spanning_tree
from addon.core.model import DOF_SIZE, Body, Dof, Joint, Mechanism, Plane, Shape
from addon.core.report import FormatError
from tests.support.mirror_helpers import KINDS, OWN, displacements, misses, sizes, symmetric
from tests.support.references import CORPUS

#: The degrees of freedom of all joints of the formats, and of those that the editor makes.
ALL_KINDS: dict[str, list[str]] = {
    **KINDS,
    "screw": ["screw"],
    "planar": ["translation", "translation", "rotation"],
    "translational": ["translation", "translation", "translation"],
    "slide and turn": ["translation", "rotation"],
    "slides in a plane": ["translation", "translation"],
    "three slides and turns": ["translation", "translation", "translation", "rotation", "rotation", "rotation"],
    "ball on slides": ["translation", "translation", "translation", "ball"],
    "weld": [],
}


def plane_of(flip: np.ndarray) -> Plane:
    normal = np.linalg.eigh(flip[:3, :3])[1][:, 0]
    return Plane(normal, float(flip[:3, 3] @ normal) / 2.0)


def one_sided(seed: int, kind: str) -> tuple[Mechanism, Plane]:
    """A trunk with a limb on one side alone, and a plane."""
    mechanism, flip = symmetric(seed, kind if kind in KINDS else "revolute")
    rng = np.random.default_rng(seed)
    keep = [body for body in mechanism.bodies if not body.id.endswith("2")]
    joints = [joint for joint in mechanism.joints if not joint.id.endswith("2")]
    for body in keep:
        body.twin, body.com, body.mass = None, rng.normal(size=3), float(rng.uniform(0.5, 2.0))
        body.shapes = [Shape("box", {"x": 1.0, "y": 2.0, "z": 3.0}, replace_pose(rng))]
        root = rng.normal(size=(3, 3))
        body.inertia = root @ root.T
    for joint in joints:
        joint.twin = None
        if kind not in KINDS:
            axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            joint.dofs = [Dof(each, axes[k % 3], pitch=0.3) for k, each in enumerate(ALL_KINDS[kind])]
        for dof in joint.dofs:
            if DOF_SIZE[dof.kind] == 1:
                dof.lower, dof.upper = sorted(rng.uniform(-1.5, 1.5, 2).tolist())
                dof.rest, dof.position, dof.gain = 0.1, 0.2, float(rng.uniform(1, 9))
    return Mechanism("half", bodies=keep, joints=joints, directed=False), plane_of(flip)


def replace_pose(rng: np.random.Generator) -> np.ndarray:
    out = np.eye(4)
    out[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    out[:3, :3] *= np.sign(np.linalg.det(out[:3, :3]))
    out[:3, 3] = rng.normal(size=3)
    return out


def with_twins(mechanism: Mechanism, half: Mechanism, plane: Plane, pose: dict[str, np.ndarray]) -> Edit:
    """The twins of all parts of a half but its trunk."""
    bodies, joints = {body.id for body in half.bodies[1:]}, {joint.id for joint in half.joints}
    return add_twins(mechanism, spanning_tree(mechanism), bodies, joints, plane, pose)


def completed(half: Mechanism, plane: Plane) -> Mechanism:
    """The mechanism with the twins of all but its trunk."""
    return add_twins(
        half, spanning_tree(half), {body.id for body in half.bodies[1:]}, {joint.id for joint in half.joints}, plane, {}
    ).after


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(ALL_KINDS)), st.booleans())
def test_twins_are_added_posed_as_mirror_images_beside_what_was_there(seed: int, kind: str, names: bool) -> None:
    half, plane = one_sided(seed, kind)
    for part in (*half.bodies, *half.joints) if not names else ():
        part.name = part.id
    rng, before = np.random.default_rng(seed), deepcopy(half)
    pose = {key: rng.uniform(-0.9, 0.9, size) for key, size in sizes(half).items()}
    edit = add_twins(
        half,
        spanning_tree(half),
        {body.id for body in half.bodies[1:]},
        {joint.id for joint in half.joints},
        plane,
        pose,
    )
    np.testing.assert_equal(asdict(half), asdict(before))
    whole, parts = edit.after, (*edit.after.bodies, *edit.after.joints)
    known = {part.id: part for part in parts}
    assert len(known) == len(parts) == 2 * (len(half.bodies) + len(half.joints)) - 1
    for made, original in edit.copies.items():
        assert (known[made].twin, known[original].twin) == (original, made)
        assert known[made].name == (known[original].name.replace("Left", "Right") if names else f"{original} twin")
    assert whole.bodies[0] is half.bodies[0]
    values = {key: value[None] for key, value in pose.items()}
    values |= {key: each.values[None] for key, each in edit.joints.items() if each.values is not None}
    moved = displacements(whole, values, 1, half.bodies[0].id)[0]
    place = {body.id: k for k, body in enumerate(whole.bodies)}
    for body in half.bodies[1:]:
        twin = moved[place[known[body.id].twin or ""]]
        assert np.abs(plane.reflection @ moved[place[body.id]] @ plane.reflection - twin).max() < 1e-9
    for own, each in edit.joints.items():
        source = pose.get(edit.copies[own], np.zeros(0))
        for old, (new, sign) in (each.numbers or {}).items():
            assert each.values is not None and each.values[new] == pytest.approx(sign * source[old])
    with pytest.raises(ValueError, match="all parts have a twin"):
        add_twins(
            whole,
            spanning_tree(whole),
            {body.id for body in half.bodies[1:]},
            {joint.id for joint in half.joints},
            plane,
            {},
        )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(ALL_KINDS)))
@example(22935, "three turns")  # an axis that is 1e-5 off the plane
def test_a_limb_that_was_made_moves_as_the_mirror_image(seed: int, kind: str) -> None:
    half, plane = one_sided(seed, kind)
    whole = completed(half, plane)
    mirror = motion_mirror(whole, plane.normal)
    assert not mirror.report.count("warning"), str(mirror.report)
    rng = np.random.default_rng(seed)
    given_ = {key: rng.uniform(-0.9, 0.9, (5, size)) for key, size in sizes(whole).items()}
    moved = displacements(whole, given_, 5, "trunk")
    image = displacements(whole, mirror.values(given_), 5, "trunk")
    place = {body.id: k for k, body in enumerate(whole.bodies)}
    flip = plane.reflection
    for body in whole.bodies[1:]:
        twin = image[:, place[body.twin or ""]]
        assert np.abs(flip @ moved[:, place[body.id]] @ flip - twin).max() < 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(ALL_KINDS)))
def test_stops_of_twins_are_reached_together(seed: int, kind: str) -> None:
    """At its stop a mate is where the reflection of the joint at its own stop is."""
    whole = completed(*one_sided(seed, kind))
    mirror = motion_mirror(whole)
    for joint in whole.joints[: len(whole.joints) // 2]:
        if not joint.dofs or any(DOF_SIZE[dof.kind] > 1 for dof in joint.dofs):
            continue
        twin = next(other for other in whole.joints if other.id == joint.twin)
        corners = np.array([[getattr(dof, end) for dof in joint.dofs] for end in ("lower", "upper")])
        images = mirror.values({joint.id: corners})[twin.id]
        stops = np.array([[dof.lower, dof.upper] for dof in twin.dofs])
        assert np.sort(images, axis=0) == pytest.approx(np.sort(stops.T, axis=0), abs=1e-12)
        starts = mirror.values({joint.id: np.array([[dof.position for dof in joint.dofs]])})[twin.id][0]
        assert starts == pytest.approx([dof.position for dof in twin.dofs])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(ALL_KINDS)))
def test_mirrored_twice_is_what_it_was(seed: int, kind: str) -> None:
    half, plane = one_sided(seed, kind)
    whole = completed(half, plane)
    twin_ids = {body.id: body.twin for body in whole.bodies if body.twin}
    known = {body.id: body for body in whole.bodies}
    for body in half.bodies[1:]:
        again = mirror_body(known[twin_ids[body.id]], plane, known[body.id])
        assert again.pose == pytest.approx(body.pose, abs=1e-9)
        assert again.com == pytest.approx(body.com) and again.inertia == pytest.approx(body.inertia)
        assert again.shapes[0].pose == pytest.approx(body.shapes[0].pose, abs=1e-9)
    for joint in half.joints:
        twin = next(other for other in whole.joints if other.id == joint.twin or other.twin == joint.id)
        own = next(other for other in whole.joints if other.id == joint.id)
        again_joint = mirror_joint(twin, plane, twin_ids, known, own)
        assert (again_joint.parent, again_joint.child) == (joint.parent, joint.child)
        assert again_joint.frame_parent == pytest.approx(joint.frame_parent, abs=1e-9)
        assert again_joint.frame_child == pytest.approx(joint.frame_child, abs=1e-9)
        for mine, its in zip(again_joint.dofs, joint.dofs, strict=True):
            assert mine.axis == pytest.approx(its.axis, abs=1e-12)
            for name in ("lower", "upper", "position", "rest", "gain", "pitch"):
                assert getattr(mine, name) == pytest.approx(getattr(its, name)), name


def test_the_test_knows_all_types_of_joints() -> None:
    """Whatever type the editor offers, and any joint of the samples of the four formats."""
    known = {tuple(kinds) for kinds in ALL_KINDS.values()}
    assert {tuple(dof.kind for dof in make_dofs(type_)) for type_ in JOINT_TYPES} - known == set()
    for path in [*sorted(OWN.rglob("*.*")), *sorted(CORPUS.rglob("*.skel")), *sorted(CORPUS.glob("x_xy/**/*.xml"))]:
        try:
            mechanism = formats.load(path)
        except (FormatError, ValueError, OSError):
            continue
        assert {tuple(dof.kind for dof in joint.dofs) for joint in mechanism.joints} - known == set(), path.name


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(ALL_KINDS)), st.sampled_from(list(ALL_KINDS)), st.booleans())
def test_a_twin_of_another_type_becomes_the_mirror_image(seed: int, kind: str, before: str, swapped: bool) -> None:
    """In whichever frame it stands, and whichever of its bodies it names first."""
    whole = completed(*one_sided(seed, kind))
    plane = find_sides(whole).plane
    rng = np.random.default_rng(seed)
    known = {body.id: body for body in whole.bodies}
    twin_ids = {body.id: body.twin for body in whole.bodies if body.twin}
    joint = next(each for each in whole.joints if each.id == "jshin1")
    twin = next(each for each in whole.joints if each.id == joint.twin)
    strange = deepcopy(twin)
    turn = np.diag([*([1, 1, 1], [1, -1, -1], [-1, -1, 1])[rng.integers(3)], 1]).astype(float)
    turn[:3, :3] = np.roll(turn[:3, :3], int(rng.integers(3)), axis=0)
    strange.frame_parent, strange.frame_child = strange.frame_parent @ turn, strange.frame_child @ turn
    strange.type, strange.dofs = before, [Dof(each, np.eye(3)[k % 3]) for k, each in enumerate(ALL_KINDS[before])]
    if swapped and "free" not in ALL_KINDS[kind]:
        strange.parent, strange.child = strange.child, strange.parent
        strange.frame_parent, strange.frame_child = strange.frame_child, strange.frame_parent
    made = retype_twin(joint, plane, twin_ids, known, strange)
    assert made.type == joint.type and (made.parent, made.child) == (strange.parent, strange.child)
    whole.joints[whole.joints.index(twin)] = made
    assert [each for each in compare_twins(whole, find_sides(whole)) if each.second == joint.twin] == []
    mirror = motion_mirror(whole, plane.normal)
    assert np.abs(misses(whole, mirror, plane.reflection, seed, "trunk")).max() < 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(KINDS)))
def test_a_twin_that_strays_is_brought_back_in_its_own_axes(seed: int, kind: str) -> None:
    """Whatever axes an exporter gave the twin, and whichever of its bodies it names first."""
    mechanism, flip = symmetric(seed, kind)
    plane = plane_of(flip)
    sides = find_sides(mechanism)
    assert compare_twins(mechanism, replace(sides, plane=plane)) == []
    rng = np.random.default_rng(seed)
    strayed = deepcopy(mechanism)
    known = {body.id: body for body in strayed.bodies}
    turn = np.eye(4)
    angle = 0.3
    turn[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    turn[:3, 3] = rng.normal(size=3)
    joint = next(joint for joint in strayed.joints if joint.id == "jshin2")
    for dof in joint.dofs:
        dof.upper = 0.4 if DOF_SIZE[dof.kind] == 1 else None
    joint.frame_parent, joint.frame_child = joint.frame_parent @ turn, joint.frame_child @ turn
    known["shin2"].pose = known["shin2"].pose @ turn
    joint.frame_child = np.linalg.inv(known[joint.child or ""].pose) @ joint_frame_world(joint, known)
    told = {(each.first, each.second, each.what) for each in compare_twins(strayed, replace(sides, plane=plane))}
    assert ("shin1", "shin2", "position") in told and ("jshin1", "jshin2", "position") in told
    known["shin2"] = mirror_body(known["shin1"], plane, known["shin2"])
    strayed.bodies = list(known.values())
    twin = next(joint for joint in strayed.joints if joint.id == "jshin1")
    back = mirror_joint(twin, plane, sides.bodies, known, joint)
    strayed.joints[strayed.joints.index(joint)] = back
    assert compare_twins(strayed, replace(sides, plane=plane)) == []
    # it moves as it did before it strayed
    given_ = {key: rng.uniform(-0.9, 0.9, (4, size)) for key, size in sizes(mechanism).items()}
    assert displacements(strayed, given_, 4, "trunk") == pytest.approx(
        displacements(mechanism, given_, 4, "trunk"), abs=1e-9
    )


def test_differences_are_reported_by_name_and_amount() -> None:
    mechanism, flip = symmetric(5, "revolute")
    sides = replace(find_sides(mechanism), plane=plane_of(flip))
    known = {part.id: part for part in (*mechanism.bodies, *mechanism.joints)}
    heavy, hinge = known["shin2"], known["jthigh2"]
    assert isinstance(heavy, Body) and isinstance(hinge, Joint)
    heavy.mass *= 2
    hinge.dofs[0].gain, hinge.dofs[0].lower = 7.0, -0.5
    told = {(each.second, each.what): each.amount for each in compare_twins(mechanism, sides)}
    assert told.pop(("shin2", "mass")) == heavy.mass / 2
    assert told.pop(("jthigh2", "gain")) == 7.0
    (stop,) = told  # of the twin's two stops, or its mate's: whichever way they count
    assert stop in {("jthigh2", "lower stop on one side only"), ("jthigh2", "upper stop on one side only")}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_twins_are_found_by_name_and_by_place(seed: int, named: bool, placed: bool) -> None:
    mechanism, flip = symmetric(seed, "revolute")
    plane = plane_of(flip)
    rng = np.random.default_rng(seed)
    for part in (*mechanism.bodies, *mechanism.joints):
        part.twin = None
        if not named:
            part.name = f"part {rng.integers(10**9)}"
    if not placed:
        for body in mechanism.bodies:
            if body.id.endswith("2"):
                body.pose = body.pose.copy()
                body.pose[:3, 3] += [0.0, 9.0, 4.0]
    found = {(each.kind, each.first, each.second): each for each in find_twins(mechanism, plane)}
    bodies = {("body", "thigh1", "thigh2"), ("body", "shin1", "shin2")}
    assert found.keys() >= bodies if named or placed else not (found.keys() & bodies)
    for key in found.keys() & bodies:
        by = found[key].by
        assert by == ("name and place" if named and placed else "name" if named else "place")


def test_parts_on_the_plane_or_alone_have_no_twins() -> None:
    at = lambda x: np.block([[np.eye(3), np.array([[x], [0], [0]])], [np.zeros((1, 3)), 1]])  # noqa: E731
    rows = [Body("a", "a", at(0.0)), Body("b", "b", at(1.0)), Body("c", "c", at(-1.0), mass=3.0), Body("d", "d", at(2))]
    assert find_twins(Mechanism(bodies=rows), Plane(np.eye(3)[0])) == []
    rows[2].mass = 1.0
    assert [(p.first, p.second) for p in find_twins(Mechanism(bodies=rows), Plane(np.eye(3)[0]))] == [("b", "c")]


def test_the_hexapod_is_symmetric() -> None:
    mechanism = formats.load(OWN / "hexapod" / "hexapod.jm")
    sides = find_sides(mechanism)
    assert len(sides.joints) > 6
    assert compare_twins(mechanism, sides) == []
    assert spanning_tree(mechanism) is not None


SHAPES = {
    "box": {"x": 1.0, "y": 2.0, "z": 3.0},
    "capsule": {"length": 2.0, "radius": 0.3},
    "cylinder": {"length": 2.0, "radius": 0.3},
    "cone": {"length": 2.0, "radius": 0.3},
    "pyramid": {"x": 1.0, "y": 2.0, "length": 3.0},
    "hemisphere": {"radius": 0.4},
    "plane": {},
    "mesh": {"x": 1.0, "y": 2.0, "z": 0.5},
    "multi_sphere": {},
}


def points_of(shape: Shape) -> np.ndarray:
    """Points (n, 4) of a shape that tell its mirror image from others, in its body."""
    size = shape.size
    if shape.type == "multi_sphere":
        own = [[x, y, z] for _radius, x, y, z in shape.spheres]
    elif shape.type == "mesh":
        own = [[size["x"] * x, size["y"] * y, size["z"] * z] for x, y, z in ((1, 2, 3), (-1, 0.5, 0.2), (0.3, -2, 1))]
    elif shape.type in {"cone", "pyramid", "hemisphere", "plane"}:
        own = [[0, 0, 0.0], [0, 0, 1.0]]
    else:
        half = [size.get(a, size.get("radius", 0.0)) for a in "xyz"]
        half[2] = size.get("z", size.get("length", 0.0))
        own = [[a * half[0], b * half[1], c * half[2]] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    return np.column_stack([own, np.ones(len(own))]) @ shape.pose.T


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(SHAPES)), st.booleans())
def test_every_shape_is_reflected_and_twice_is_what_it_was(seed: int, kind: str, has_twin: bool) -> None:
    """Also on a twin whose own axes stand in any way."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=3)
    plane = Plane(normal / np.linalg.norm(normal), float(rng.normal()))
    shape = Shape(kind, dict(SHAPES[kind]), replace_pose(rng))  # type: ignore[arg-type]
    if kind == "multi_sphere":
        shape.spheres = [(0.1, 1.0, 2.0, 3.0), (0.3, -1.0, 0.5, 0.0)]
    root = rng.normal(size=(3, 3))
    body = Body("a", "a", replace_pose(rng), 2.0, rng.normal(size=3), root @ root.T, [shape], gravity=False)
    twin = None
    if has_twin:
        theirs = Shape("box", {"x": 9.0, "y": 9.0, "z": 9.0}, replace_pose(rng))
        twin = Body("b", "b", replace_pose(rng), 7.0, rng.normal(size=3), None, [theirs, deepcopy(theirs)])
    image = mirror_body(body, plane, twin)
    flip = plane.reflection
    assert image.mass == 2.0 and not image.gravity and len(image.shapes) == 1
    assert np.linalg.det(image.pose[:3, :3]) == pytest.approx(1.0)
    seen = points_of(shape) @ body.pose.T @ flip.T
    its = points_of(image.shapes[0]) @ image.pose.T
    for point in seen:
        assert np.abs(its - point).max(axis=1).min() < 1e-9
    assert image.pose @ [*image.com, 1.0] == pytest.approx(flip @ body.pose @ [*body.com, 1.0])
    turn, own = flip[:3, :3] @ body.pose[:3, :3], image.pose[:3, :3]
    assert image.inertia is not None
    assert own @ image.inertia @ own.T == pytest.approx(turn @ root @ root.T @ turn.T)
    again = mirror_body(image, plane, body if has_twin else None)
    assert again.pose == pytest.approx(body.pose, abs=1e-9) and again.com == pytest.approx(body.com)
    assert again.inertia == pytest.approx(body.inertia) and again.shapes[0].size == pytest.approx(shape.size)
    assert again.shapes[0].pose == pytest.approx(shape.pose, abs=1e-9)
    assert np.array(again.shapes[0].spheres) == pytest.approx(np.array(shape.spheres))


def test_the_plane_is_the_mechanisms_own_where_it_has_one() -> None:
    mechanism = formats.load(OWN / "hexapod" / "hexapod.jm")
    found = find_mirror_plane(mechanism)
    assert found is not None and found.normal.tolist() == [1.0, 0.0, 0.0] and found.offset == 0.0
    mechanism.mirror_plane = Plane(np.eye(3)[1], 0.25)
    assert find_sides(mechanism).plane == mechanism.mirror_plane
    assert find_sides(mechanism, np.eye(3)[2]).plane.normal.tolist() == [0.0, 0.0, 1.0], "a direction that was chosen"
    assert find_mirror_plane(formats.load(OWN / "desk_lamp" / "desk_lamp.skel")) is None


@pytest.mark.parametrize("kind", ["revolute", "universal", "screw", "three turns"])
def test_gains_of_servos_are_mirrored(kind: str) -> None:
    whole = completed(*one_sided(11, kind if kind in ALL_KINDS else "revolute"))
    known = {body.id: body for body in whole.bodies}
    twin_ids = {body.id: body.twin for body in whole.bodies if body.twin}
    joint, twin = (next(each for each in whole.joints if each.id == key) for key in ("jshin1", "Right shin joint"))
    for number, dof in enumerate(joint.dofs):
        dof.servo_stiffness, dof.servo_damping = 10.0 + number, 1.0 + number
    image = mirror_joint_settings(joint, find_sides(whole).plane, twin_ids, known, twin)
    assert sorted(dof.servo_stiffness for dof in image.dofs) == [10.0 + n for n in range(len(joint.dofs))]
    assert sorted(dof.servo_damping for dof in image.dofs) == [1.0 + n for n in range(len(joint.dofs))]
    assert image.frame_parent is not twin.frame_parent and (image.frame_parent == twin.frame_parent).all()


@pytest.mark.parametrize("kind", ["rotation", "translation", "screw"])
@pytest.mark.parametrize(("own", "its"), [((0, 0, 0), (0, 0, 1)), ((0, 0.6, 0.8), (0, 0, 0)), ((0, 0, 0), (0, 0, 0))])
def test_axes_of_no_length_are_nobodys_image(kind: str, own: tuple[float, ...], its: tuple[float, ...]) -> None:
    bodies = {key: Body(key, key) for key in ("trunk", "left", "right")}
    left, right = (
        Joint(key, key, "revolute", "trunk", key, dofs=[Dof(kind, np.array(axis, dtype=np.float64))])
        for key, axis in (("left", own), ("right", its))
    )
    twin_ids = {"left": "right", "right": "left"}
    with np.errstate(all="raise"):
        if not any(own):
            with pytest.raises(ValueError, match="different degrees of freedom"):
                mirror_joint(left, Plane(np.eye(3)[0]), twin_ids, bodies, right)
            return
        image = mirror_joint(left, Plane(np.eye(3)[0]), twin_ids, bodies, right).dofs[0].axis
    assert np.abs(image).tolist() == pytest.approx(np.abs(own).tolist())


def test_a_kept_mesh_stays_and_gets_all_else_from_its_twin() -> None:
    """It is the mirror image as it is: with its own file, size and pose."""
    rng = np.random.default_rng(3)
    shape = Shape("mesh", {"x": 1.0, "y": 2.0, "z": 3.0}, replace_pose(rng), mesh="left.obj")
    shape.visual, shape.collision, shape.color = False, True, (0.1, 0.2, 0.3, 1.0)
    its = Shape("mesh", {"x": 4.0, "y": 5.0, "z": 6.0}, replace_pose(rng), mesh="right.obj")
    body, twin = (Body(own, own, replace_pose(rng), shapes=[each]) for own, each in (("a", shape), ("b", its)))
    (kept,) = mirror_body(body, Plane(np.eye(3)[0]), twin, kept=[0]).shapes
    assert (kept.mesh, kept.size) == ("right.obj", its.size)
    assert np.array_equal(kept.pose, its.pose)
    assert (kept.visual, kept.collision, kept.color) == (False, True, shape.color)
    (other,) = mirror_body(body, Plane(np.eye(3)[0]), twin).shapes
    assert other.mesh == "left.obj" and not np.allclose(other.pose, its.pose)


# ---------------------------------------------------------------- edits of twins


def strayed(seed: int, kind: str, side: bool) -> tuple[Mechanism, Plane, list[str], list[str]]:
    """A mechanism with twins, of which one side was changed in every respect; the ids of the other side's parts."""
    half, plane = one_sided(seed, kind)
    whole = completed(half, plane)
    rng = np.random.default_rng(seed)
    first = {part.id for part in (*half.bodies, *half.joints)}
    mine = {body.id for body in whole.bodies if body.twin and (body.id in first) == side}
    joints = {joint.id for joint in whole.joints if joint.twin and (joint.id in first) == side}
    for body in whole.bodies:
        if body.twin is not None and body.id not in mine:
            body.pose = body.pose @ replace_pose(rng)
            body.mass, body.com, body.inertia = body.mass + 1.0, rng.normal(size=3), None
            body.gravity = body.collidable = False
            body.shapes = [Shape("capsule", {"length": 1.0, "radius": 0.1}, color=(1.0, 0.0, 0.0, 1.0))]
        elif body.twin is not None:
            body.shapes.append(Shape("cylinder", {"length": 2.0, "radius": 0.3}, replace_pose(rng), name="tube"))
            body.shapes[-1].color = (0.1, 0.2, 0.3, 1.0)
    for joint in whole.joints:
        for dof in joint.dofs if joint.id not in joints else ():
            dof.lower = dof.upper = None
            dof.gain, dof.rest, dof.stiffness, dof.position = 3.0, 0.7, 9.0, -0.4
    return whole, plane, sorted(mine), sorted(joints)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(ALL_KINDS)), st.booleans())
def test_a_limb_that_strays_is_the_mirror_image_again(seed: int, kind: str, side: bool) -> None:
    """At random poses, with mass, center, inertia, stops, springs and colors; twice is as once."""
    whole, plane, bodies, joints = strayed(seed, kind, side)
    before = deepcopy(whole)
    edit = mirror_twins(whole, bodies, joints, plane)
    np.testing.assert_equal(asdict(whole), asdict(before))
    known = {body.id: body for body in edit.after.bodies}
    assert edit.images == {known[own].twin: own for own in bodies}
    assert compare_twins(edit.after, replace(find_sides(edit.after), plane=plane)) == []
    for own in bodies:
        body, twin = known[own], known[known[own].twin or ""]
        assert body is next(each for each in whole.bodies if each.id == own), "only twins change"
        assert (twin.mass, twin.gravity, twin.collidable) == (body.mass, body.gravity, body.collidable)
        for one, other in zip(body.shapes, twin.shapes, strict=True):
            assert (one.type, one.size, one.color) == (other.type, other.size, other.color)
        tube, its = (each.pose @ each.shapes[-1].pose for each in (body, twin))
        assert abs((plane.reflection @ tube)[:3, 2] @ its[:3, 2]) == pytest.approx(1.0), "the axis of the cylinder"
    assert (
        np.abs(misses(edit.after, motion_mirror(edit.after, plane.normal), plane.reflection, seed, "trunk")).max()
        < 1e-9
    )
    again = mirror_twins(edit.after, bodies, joints, plane).after
    for one, other in zip(edit.after.bodies, again.bodies, strict=True):
        assert one.pose == pytest.approx(other.pose, abs=1e-9) and one.com == pytest.approx(other.com)
    back = mirror_twins(edit.after, [known[own].twin or "" for own in bodies], [], plane).after
    for one, other in zip(edit.after.bodies, back.bodies, strict=True):
        assert one.pose == pytest.approx(other.pose, abs=1e-9), "the image of the image is what it was"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(ALL_KINDS)))
def test_joints_that_are_not_mirrored_stay_while_their_bodies_move(seed: int, kind: str) -> None:
    whole, plane, bodies, _joints = strayed(seed, kind, True)
    after = mirror_twins(whole, bodies, [], plane, colors=False).after
    known, now = ({body.id: body for body in each.bodies} for each in (whole, after))
    assert any(np.abs(known[own].pose - now[own].pose).max() > 1e-3 for own in known)
    for one, other in zip(whole.joints, after.joints, strict=True):
        for frame in (joint_frame_world, joint_child_frame_world):
            assert frame(other, now) == pytest.approx(frame(one, known), abs=1e-9)
    for own in bodies:
        twin = known[own].twin or ""
        assert now[twin].shapes[0].color == known[twin].shapes[0].color, "colors stay where they are not wanted"


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(ALL_KINDS)))
def test_values_are_copied_to_twins_and_nothing_moves(seed: int, kind: str) -> None:
    """At a stop, and at the values at which loops are assembled, the twin is where the image is."""
    whole = completed(*one_sided(seed, kind))
    plane = find_sides(whole).plane
    rng, mirror = np.random.default_rng(seed), motion_mirror(whole)
    own = [joint.id for joint in whole.joints[: len(whole.joints) // 2]]
    joints = {joint.id: joint for joint in whole.joints}
    for key in own:
        for dof in joints[key].dofs:
            dof.damping, dof.max_force, dof.velocity = 0.5, 7.0, 0.3
            if DOF_SIZE[dof.kind] == 1:
                dof.lower, dof.upper = sorted(rng.uniform(-1.0, 1.0, 2).tolist())
    assembled = {key: rng.normal(size=size) for key, size in sizes(whole).items() if key in own}
    edit = copy_values_to_twins(whole, own, plane, assembled)
    now = {joint.id: joint for joint in edit.after.joints}
    assert edit.after.bodies is whole.bodies
    for key in own:
        joint, twin = joints[key], now[joints[key].twin or ""]
        assert (twin.frame_parent == joints[twin.id].frame_parent).all()
        assert sorted(dof.max_force for dof in twin.dofs) == sorted(dof.max_force for dof in joint.dofs)
        if not joint.dofs:
            continue
        assert edit.assembled[twin.id] == pytest.approx(mirror.values({key: assembled[key][None]})[twin.id][0])
        if all(DOF_SIZE[dof.kind] == 1 for dof in joint.dofs):
            corners = np.array([[getattr(dof, end) for dof in joint.dofs] for end in ("lower", "upper")])
            stops = np.array([[dof.lower, dof.upper] for dof in twin.dofs])
            assert np.sort(mirror.values({key: corners})[twin.id], axis=0) == pytest.approx(np.sort(stops.T, axis=0))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(ALL_KINDS)))
def test_of_an_edited_value_the_image_alone_is_copied(seed: int, kind: str) -> None:
    """All values one after the other give what all at once give, and each alone changes at most one of the twin's."""
    whole = completed(*one_sided(seed, kind))
    plane, rng = find_sides(whole).plane, np.random.default_rng(seed)
    joint = whole.joints[seed % (len(whole.joints) // 2)]
    twin = next(each for each in whole.joints if each.id == joint.twin)
    names = ("lower", "upper", "position", "velocity", "rest", "damping", "friction", "gain", "max_force", "stiffness")
    for each in (joint, twin):
        for dof in every_dof(each):
            for name in names:
                setattr(dof, name, float(rng.uniform(0.1, 1.0)))
    before, mixed = deepcopy(whole), whole
    for number in range(len(every_dof(joint))):
        for name in names:
            edit = copy_values_to_twins(mixed, [joint.id], plane, edited={(number, name)})
            assert len(dof_differences(twin_in(mixed, joint), twin_in(edit.after, joint))) <= 1
            mixed = edit.after
    assert not dof_differences(twin_in(whole, joint), twin_in(before, joint)), "the edited mechanism stays"
    at_once = copy_values_to_twins(whole, [joint.id], plane)
    assert not dof_differences(twin_in(mixed, joint), twin_in(at_once.after, joint))


def every_dof(joint: Joint) -> list[Dof]:
    return [*joint.dofs, *(axis for dof in joint.dofs for axis in dof.parts)]


def twin_in(mechanism: Mechanism, joint: Joint) -> Joint:
    return next(each for each in mechanism.joints if each.id == joint.twin)


def dof_differences(one: Joint, other: Joint) -> list[tuple[int, str]]:
    pairs = zip(every_dof(one), every_dof(other), strict=True)
    return [
        (number, item.name)
        for number, (own, its) in enumerate(pairs)
        for item in fields(Dof)
        if item.name not in {"axis", "parts"} and getattr(own, item.name) != getattr(its, item.name)
    ]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_a_twin_follows_a_change_in_its_own_axes_and_scale(seed: int) -> None:
    """It ends as the mirror image, stretched as much along the images of the axes as the part; and back again."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=3)
    plane = Plane(normal / np.linalg.norm(normal), float(rng.normal()))
    before, now = replace_pose(rng), replace_pose(rng)
    turn = np.eye(4)[rng.permutation(3).tolist() + [3]]
    turn[0] *= -np.sign(np.linalg.det(turn))  # the part's axes as the twin has them: a reflection
    twin = plane.reflection @ before @ turn
    was, own, its = (rng.uniform(0.5, 2.0, 3) for _ in range(3))
    pose, scale = mirror_change((before, now, twin), (was, own, its), plane.reflection)
    assert pose == pytest.approx(plane.reflection @ now @ turn, abs=1e-9)
    stretched = np.abs(turn[:3, :3]).T @ (own / was)
    assert scale == pytest.approx(its * stretched)
    back, size = mirror_change((now, before, pose), (own, was, scale), plane.reflection)
    assert back == pytest.approx(twin, abs=1e-9) and size == pytest.approx(its)
    flat = mirror_change((before, now, twin), (np.array([0.0, 1.0, 1.0]), own, its), plane.reflection)[1]
    axis = int(np.abs(turn[0, :3]).argmax())
    assert flat[axis] == pytest.approx(own[0]), "along an axis in which the part was flat"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_what_is_on_a_twin_follows_in_the_axes_of_that(seed: int) -> None:
    """A light on a frame on a body ends as the mirror image, whatever axes the three have on the other side."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=3)
    plane = Plane(normal / np.linalg.norm(normal), float(rng.normal()))
    turns = [np.eye(4)[rng.permutation(3).tolist() + [3]] for _ in range(3)]
    for turn in turns:
        turn[0] *= -np.sign(np.linalg.det(turn))
    body, frame, light, now = (replace_pose(rng) for _ in range(4))
    reflection, seen, there = plane.reflection, np.eye(4), np.eye(4)
    for pose, turn in zip((body, frame), turns, strict=False):
        twin = reflection @ pose @ turn
        reflection = reflection_on(pose, twin, reflection)
        seen, there = seen @ pose, there @ twin
        assert reflection == pytest.approx(np.linalg.inv(turn), abs=1e-9)
    scales = (np.ones(3), np.ones(3), np.ones(3))
    image = mirror_change((light, now, reflection @ light @ turns[2]), scales, reflection)[0]
    assert there @ image == pytest.approx(plane.reflection @ seen @ now @ turns[2], abs=1e-9)


def test_masses_and_whether_bodies_are_immobile_are_copied_to_twins() -> None:
    whole = completed(*one_sided(3, "revolute"))
    body = next(body for body in whole.bodies if body.twin)
    body.mass, body.immobile = 7.5, True
    edit = copy_body_values(whole, body.id, ("mass", "immobile"))
    (changed,) = [now for now, was in zip(edit.after.bodies, whole.bodies, strict=True) if now is not was]
    assert (changed.id, changed.mass, changed.immobile) == (body.twin, 7.5, True)
    assert not next(each for each in whole.bodies if each.id == body.twin).immobile, "the edited mechanism stays"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_a_body_gets_its_twin_with_the_joint_that_carries_it_however_the_file_lists_its_ends(seed: int) -> None:
    rng, mechanism = np.random.default_rng(seed), formats.load(OWN / "hexapod" / "hexapod.jm")
    for joint in [*mechanism.joints]:
        if rng.random() < 0.5:
            mechanism = swap_ends(mechanism, joint.id, None).after
    mechanism = replace(mechanism, directed=False)
    tree = spanning_tree(mechanism)
    leaves = {link.body for link in tree.links} - {link.carrier for link in tree.links}
    (lost, left) = next((body.id, body.twin) for body in mechanism.bodies if body.id in leaves and body.twin)
    assert left is not None
    half = delete_parts(mechanism, [lost], []).after
    plane = find_mirror_plane(mechanism)
    assert plane is not None
    whole = add_twins(half, spanning_tree(half), [left], [], plane, {}).after
    assert len(whole.joints) == len(mechanism.joints) == len(half.joints) + 1
    (made,) = (body for body in whole.bodies if body.twin == left)
    (before,) = (joint for joint in mechanism.joints if lost in {joint.parent, joint.child})
    (carrying,) = (joint for joint in whole.joints if made.id in {joint.parent, joint.child})
    assert {carrying.parent, carrying.child} - {made.id} == {before.parent, before.child} - {lost}
