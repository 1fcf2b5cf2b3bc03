"""Loops close: their chords' gaps are told as they are, and the joints move by as little as can be."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from addon.core.kinematics import spanning_tree
from addon.core.loops.closure import close_loops, loop_openings
from addon.core.model import Array, Body, Dof, Joint, Mechanism

X, Y, Z = np.eye(3)


def at(x: float, y: float = 0.0, z: float = 0.0, turn: Array | None = None) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    if turn is not None:
        pose[:3, :3] = turn
    return pose


def about(axis: Array, angle: float) -> Array:
    """Rotation matrix by eigenvalues, which knows nothing of Rodrigues."""
    x, y, z = axis
    values, vectors = np.linalg.eig(np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) * angle)
    return np.real(vectors @ np.diag(np.exp(values)) @ np.linalg.inv(vectors))


def hinge(name: str, parent: str | None, child: str | None, on_parent: Array, on_child: Array, q: float = 0.0) -> Joint:
    return Joint(name, name, "revolute", parent, child, on_parent, on_child, dofs=[Dof("rotation", position=q)])


def four_bar(q: tuple[float, float, float, float], turned: str = "") -> Mechanism:
    """Ground 4, crank 1, coupler 3, rocker 3.5; joints named in ``turned`` point from child to parent."""
    ground, crank, coupler, rocker = 4.0, 1.0, 3.0, 3.5
    ends = {
        "A": (None, "crank", at(0), at(0)),
        "B": ("crank", "coupler", at(crank), at(0)),
        "C": ("coupler", "rocker", at(coupler), at(rocker)),
        "D": (None, "rocker", at(ground), at(0)),
    }
    joints = []
    for (name, (parent, child, one, other)), value in zip(ends.items(), q, strict=True):
        if name in turned:
            joints.append(hinge(name, child, parent, other, one, -value))
        else:
            joints.append(hinge(name, parent, child, one, other, value))
    bodies = [Body(name, name) for name in ("crank", "coupler", "rocker")]
    return Mechanism(bodies=bodies, joints=joints)


def four_bar_angles(a: float) -> tuple[float, float, float, float]:
    """The closed angles for a crank angle, from the law of cosines (elbow up)."""
    tip = np.array([math.cos(a), math.sin(a)])
    away = np.array([4.0, 0.0]) - tip
    distance = float(np.hypot(*away))
    inner = math.acos((3.0**2 + distance**2 - 3.5**2) / (2 * 3.0 * distance))
    coupler = math.atan2(away[1], away[0]) + inner
    joint = tip + 3.0 * np.array([math.cos(coupler), math.sin(coupler)])
    rocker = math.atan2(joint[1], joint[0] - 4.0)
    return a, coupler - a, rocker - coupler, rocker


@pytest.mark.parametrize("turned", ["", "B", "C", "D", "ABCD"])
def test_a_closed_four_bar_is_closed_whichever_way_its_joints_point(turned: str) -> None:
    mechanism = four_bar(four_bar_angles(0.8), turned)
    (opening,) = loop_openings(mechanism).values()
    assert max(opening) < 1e-14
    positions, before, after = close_loops(mechanism)
    assert before == after
    for joint in mechanism.joints:
        assert positions[joint.id] == joint.dofs[0].position


def test_the_residual_is_between_the_poses_of_a_body_by_tree_and_chord() -> None:
    a, b, c, d = four_bar_angles(0.8)
    (opening,) = loop_openings(four_bar((a, b + 0.1, c, d))).values()
    # the tree hangs the coupler on the crank; through the rocker it starts where its own angle, turned by c + d, has it
    tip = np.array([math.cos(a), math.sin(a)])
    end = np.array([4 + 3.5 * math.cos(d), 3.5 * math.sin(d)])
    by_chord = end - 3.0 * np.array([math.cos(d - c), math.sin(d - c)])
    assert opening[0] == pytest.approx(np.hypot(*(by_chord - tip)), abs=1e-12)
    assert opening[1] == pytest.approx(0.1, abs=1e-12)
    shifted = loop_openings(four_bar((a, b, c, d)), {"A": np.array([a + 0.2])})
    assert max(next(iter(shifted.values()))) > 0.1


@pytest.mark.parametrize("turned", ["", "B", "D", "ABCD"])
def test_an_open_four_bar_closes_with_the_least_change(turned: str) -> None:
    start = np.array([0.8, 0.6, 0.9, 1.2])
    mechanism = four_bar(tuple(start), turned)
    positions, before, after = close_loops(mechanism)
    assert max(next(iter(before.values()))) > 0.1
    assert max(next(iter(after.values()))) < 1e-12
    found = np.array([positions[name][0] * (-1 if name in turned else 1) for name in "ABCD"])
    scan = np.array([four_bar_angles(a) for a in np.linspace(0.0, 2.0, 20001)])
    nearest = np.linalg.norm(scan - start, axis=1).min()
    assert np.linalg.norm(found - start) == pytest.approx(nearest, rel=1e-6)
    assert np.abs(np.array(four_bar_angles(found[0])) - found).max() < 1e-9


def test_a_loop_that_cannot_close_reports_how_far_it_stays_open() -> None:
    mechanism = four_bar((0.0, 0.5, 0.5, 0.5))
    mechanism.joints[3].frame_parent = at(40.0)  # the pivots are farther apart than all bars together
    _, _, after = close_loops(mechanism)
    assert max(next(iter(after.values()))) > 1.0


def test_a_slider_crank_closes_exactly_as_in_trigonometry() -> None:
    """Crank 0.6 at angle a, rod 1.5, slider along x: s = 0.6 cos a + sqrt(1.5^2 - (0.6 sin a)^2)."""
    a = 0.7
    slide = Joint("S", "S", "prismatic", None, "piston", dofs=[Dof("translation", X, position=1.9)])
    joints = [
        hinge("A", None, "crank", at(0), at(0), a),
        slide,
        hinge("B", "crank", "rod", at(0.6), at(0), -1.0),
        hinge("C", "rod", "piston", at(1.5), at(0), 0.25),
    ]
    mechanism = Mechanism(bodies=[Body(n, n) for n in ("crank", "rod", "piston")], joints=joints)
    positions, _, after = close_loops(mechanism)
    assert max(next(iter(after.values()))) < 1e-12
    angle = float(positions["A"][0])
    assert positions["S"][0] == pytest.approx(0.6 * math.cos(angle) + math.sqrt(2.25 - (0.6 * math.sin(angle)) ** 2))
    tree = spanning_tree(mechanism)
    poses = tree.forward({name: value[None] for name, value in positions.items()})[0]
    assert poses[2][1, 3] == 0.0


def bricard(offset: float) -> Mechanism:
    """The plane-symmetric six-hinge linkage of Bricard, whose hinges are a right angle apart in turns: it moves, though
    counting its equations says that it does not. Angles alternate; cos a + cos b + cos a cos b = 0 for closed ones."""
    a = 0.776
    b = math.acos(-math.cos(a) / (1 + math.cos(a)))
    links = ["ground", *"12345"]
    joints = []
    for number, (parent, child) in enumerate(zip(links, [*links[1:], "ground"], strict=True)):
        twist = about(X, math.pi / 2 if number % 2 == 0 else -math.pi / 2)
        angle = (a if number % 2 == 0 else -b) + offset * (-1) ** (number // 2)
        one, other = (None if name == "ground" else name for name in (parent, child))
        joints.append(hinge("ABCDEF"[number], one, other, at(1.5, turn=twist), at(0), angle))
    return Mechanism(bodies=[Body(name, name) for name in links[1:]], joints=joints)


def test_an_overconstrained_linkage_closes() -> None:
    _, before, after = close_loops(bricard(0.02))
    assert max(next(iter(before.values()))) > 1e-3
    assert max(next(iter(after.values()))) < 1e-9


def delta(kind: str) -> Mechanism:
    """A plate on three legs with balls at both ends, every leg a little off; ``kind`` is the joint at the plate."""
    rng = np.random.default_rng(5)
    bodies = [Body("plate", "plate")]
    joints = []
    for leg, angle in enumerate(np.linspace(0, 2 * math.pi, 4)[:3]):
        foot = at(2 * math.cos(angle), 2 * math.sin(angle))
        bodies.append(Body(f"leg{leg}", "leg"))
        start = tuple(rng.normal(scale=0.2, size=3))
        foot[:3, :3] = about(Z, angle)
        joints.append(Joint(f"foot{leg}", "", "ball", None, f"leg{leg}", foot, at(0), [Dof("ball", start=start)]))
        top = at(math.cos(angle), math.sin(angle), turn=about(Z, angle))
        values = tuple(rng.normal(scale=0.2, size=3 if kind == "ball" else 6))
        if kind == "screw":
            dofs = [Dof("screw", Z, pitch=0.1, position=0.2), Dof("ball", start=values[:3]), Dof("translation", X)]
        else:
            dofs = [Dof(kind, start=values)]  # type: ignore[arg-type]
        ends = ("plate", f"leg{leg}", top, at(-1.0, 0, 2.0)) if leg else (f"leg{leg}", "plate", at(-1.0, 0, 2.0), top)
        joints.append(Joint(f"top{leg}", "", kind, *ends, dofs=dofs))
    return Mechanism(bodies=bodies, joints=joints)


@pytest.mark.parametrize("kind", ["ball", "screw", "free"])
def test_balls_screws_and_free_blocks_take_part(kind: str) -> None:
    mechanism = delta(kind)
    positions, before, after = close_loops(mechanism)
    assert len(before) == 2
    assert max(map(max, before.values())) > 0.05
    assert max(map(max, after.values())) < 1e-10
    assert all(
        len(positions[joint.id]) == sum({"ball": 3, "free": 6}.get(d.kind, 1) for d in joint.dofs)
        for joint in mechanism.joints
    )
    world = spanning_tree(mechanism).forward({name: value[None] for name, value in positions.items()})[0]
    for leg in range(3):  # a ball's two sides are in one place
        foot = mechanism.joints[2 * leg]
        assert np.abs(world[leg + 1][:3, 3] - foot.frame_parent[:3, 3]).max() < 1e-12


def test_what_is_off_or_on_no_loop_stays_as_it_is() -> None:
    mechanism = four_bar((0.8, 0.6, 0.9, 1.2))
    mechanism.bodies.append(Body("tool", "tool"))
    mechanism.joints.append(hinge("E", "coupler", "tool", at(1), at(0), 0.3))
    mechanism.joints.append(Joint("off", "off", "weld", "tool", "crank", active=False))
    positions, _, after = close_loops(mechanism)
    assert positions["E"].tolist() == [0.3]
    assert "off" not in positions
    assert list(after) == ["C"]


def test_a_mechanism_without_loops_has_none_to_close() -> None:
    mechanism = Mechanism(bodies=[Body("a", "a")], joints=[hinge("A", None, "a", at(0), at(0), 0.5)])
    positions, before, after = close_loops(mechanism)
    assert (before, after) == ({}, {})
    assert positions["A"].tolist() == [0.5]
    assert close_loops(Mechanism()) == ({}, {}, {})


def test_a_model_of_the_size_of_a_vehicle_closes_in_moments() -> None:
    """Ten four-bars on one frame: 30 bodies, 40 joints, 10 loops."""
    bodies, joints = [], []
    rng = np.random.default_rng(1)
    for number in range(10):
        part = four_bar(tuple(np.array(four_bar_angles(0.8)) + rng.normal(scale=0.1, size=4)))
        for body in part.bodies:
            bodies.append(Body(f"{body.id}{number}", body.name))
        for joint in part.joints:
            one, other = (None if end is None else f"{end}{number}" for end in (joint.parent, joint.child))
            joints.append(
                Joint(
                    f"{joint.id}{number}", "", "revolute", one, other, joint.frame_parent, joint.frame_child, joint.dofs
                )
            )
    start = time.process_time()
    _, before, after = close_loops(Mechanism(bodies=bodies, joints=joints))
    assert time.process_time() - start < 5.0
    assert len(after) == 10
    assert max(map(max, before.values())) > 1e-2
    assert max(map(max, after.values())) < 1e-9
