"""Motions mirrored. The one rule they are held against: where a body has moved from its design by D, its twin has
moved by S D S, with S the reflection about the plane between the twins."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addon import formats
from addon.core.editing.mirroring import mirror_joint_ends, motion_mirror
from addon.core.editing.sides import counterpart_names, pairs_by_name
from addon.core.model import Body, Dof, Joint, Mechanism, Plane
from tests.support.mirror_helpers import KINDS, OWN, misses, sizes, symmetric
from tests.support.references import CORPUS

# ---------------------------------------------------------------- small symmetric mechanisms


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(KINDS)), st.booleans())
def test_the_mirrored_pose_is_the_reflection_of_the_pose(seed: int, kind: str, named: bool) -> None:
    mechanism, flip = symmetric(seed, kind, named)
    mirror = motion_mirror(mechanism)
    # the plane is found from the pairs, wherever it is
    assert mirror.sides.plane.reflection == pytest.approx(flip, abs=1e-6)
    assert mirror.joints.keys() == sizes(mechanism).keys()
    assert not mirror.report.count("warning")
    assert np.abs(misses(mechanism, mirror, flip, seed, "trunk")).max() < 1e-6
    assert bool(mirror.sides.named) == named


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(KINDS)))
def test_a_mirror_of_a_mirror_is_the_motion(seed: int, kind: str) -> None:
    mechanism, _flip = symmetric(seed, kind)
    mirror = motion_mirror(mechanism)
    rng = np.random.default_rng(seed)
    given = {key: rng.normal(size=(5, size)) for key, size in sizes(mechanism).items()}
    twice = mirror.values(mirror.values(given))
    for key, values in given.items():
        assert twice[key] == pytest.approx(values, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "axis", "sign"),
    [
        ("rotation", (1, 0, 0), 1.0),  # a nod stays a nod
        ("rotation", (0, 0, 1), -1.0),  # looking left becomes looking right
        ("rotation", (0, 1, 0), -1.0),  # as does a tilt
        ("translation", (1, 0, 0), -1.0),
        ("translation", (0, 0, 1), 1.0),
    ],
)
def test_a_joint_in_the_middle_is_mirrored_onto_itself(kind: Any, axis: Any, sign: float) -> None:
    mechanism, _flip = symmetric(0, "revolute")
    mechanism.bodies.append(Body("head", "Head"))
    mechanism.joints.append(Joint("neck", "Neck", "x", "trunk", "head", dofs=[Dof(kind, np.array(axis, dtype=float))]))
    mirror = motion_mirror(mechanism, np.eye(3)[0])
    values = np.array([[0.1], [0.3]])
    assert mirror.values({"neck": values})["neck"] == pytest.approx(sign * values)


def test_a_joint_that_no_mirror_shows_is_reported_and_left() -> None:
    mechanism, _flip = symmetric(0, "revolute")
    mechanism.bodies.append(Body("tail", "Tail"))
    slanted = Dof("rotation", np.array([1.0, 1.0, 0.0]) / math.sqrt(2.0))
    mechanism.joints.append(Joint("wag", "Wag", "x", "trunk", "tail", dofs=[slanted]))
    mirror = motion_mirror(mechanism, np.array([math.cos(0.02), math.sin(0.02), 0.0]))
    assert "wag" not in mirror.joints or any(entry.code == "mirror-rough" for entry in mirror.report.entries)
    slanted.axis = np.array([1.0, 1.02, 0.0]) / np.linalg.norm([1.0, 1.02, 0.0])
    lone = motion_mirror(mechanism, np.eye(3)[0])
    assert any(entry.code == "mirror-alone" and "'Wag'" in entry.message for entry in lone.report.entries)
    assert "wag" not in lone.joints


@pytest.mark.parametrize(("pitch", "alike"), [(-0.3, True), (0.3, False)])
def test_the_mirror_image_of_a_screw_has_the_other_hand(pitch: float, alike: bool) -> None:
    mechanism, flip = symmetric(3, "revolute")
    for joint in mechanism.joints:
        joint.dofs[0].kind = "screw"
        joint.dofs[0].pitch = 0.3 if joint.id.endswith("1") else pitch
    mirror = motion_mirror(mechanism)
    if alike:
        assert np.abs(misses(mechanism, mirror, flip, 1, "trunk")).max() < 1e-6
    else:
        assert not mirror.joints and mirror.report.count("warning") == 1


def test_a_mechanism_without_sides_is_reported() -> None:
    frame = np.eye(4)
    arm = Joint("lift", "Lift", "revolute", "post", "arm", frame, frame, [Dof("rotation")])
    mechanism = Mechanism(bodies=[Body("post", "Post"), Body("arm", "Arm")], joints=[arm])
    mirror = motion_mirror(mechanism)
    assert [entry.code for entry in mirror.report.entries] == ["mirror-no-sides"]
    assert mirror.values({"lift": np.array([[0.3]])})["lift"] == pytest.approx(np.array([[-0.3]]))


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Left Hip", "Right Hip"),
        ("hip_left", "hip_right"),
        ("LEFT_ARM", "RIGHT_ARM"),
        ("leg.L", "leg.R"),
        ("L hip", "R hip"),
        ("hip_r", "hip_l"),
        ("LHip", "RHip"),
        ("HipL", "HipR"),
        ("LHY", "RHY"),
        ("FL_knee", "FR_knee"),
        ("knee RR", "knee RL"),
        ("RF hip", "LF hip"),
        ("upperLeftArm2", "upperRightArm2"),
        ("Left Leg Left Toe", "Right Leg Right Toe"),
    ],
)
def test_names_of_the_other_side(name: str, other: str) -> None:
    assert other in counterpart_names(name)
    assert name in counterpart_names(other)
    assert pairs_by_name({"a": name, "b": other, "c": "Trunk"}) == {"a": "b", "b": "a"}


@pytest.mark.parametrize("name", ["Trunk", "Roll", "Lever", "elbow", "Clear", "ball"])
def test_names_without_a_side(name: str) -> None:
    assert counterpart_names(name) == []


def test_corners_find_their_own_side() -> None:
    legs = {name: name for name in ("FL", "FR", "RL", "RR")}
    assert pairs_by_name(legs) == {"FL": "FR", "FR": "FL", "RL": "RR", "RR": "RL"}
    legs = {name: name for name in ("LF", "RF", "LR", "RR")}
    assert pairs_by_name(legs) == {"LF": "RF", "RF": "LF", "LR": "RR", "RR": "LR"}
    assert pairs_by_name({"a": "Left Hip", "b": "Right Hip", "c": "Right Hip"}) == {}, "which of the two?"


# ---------------------------------------------------------------- real models

WALKERS = ["Dihno2.jm", "SimpleHex.jm", "Quadrapod3_bak.jm", "humanoid2.jm", "pterosaur_balljoints.jm", "simpleant2.jm"]
SKELETONS = ["fullbody1.skel", "biped.skel"]


def found(name: str) -> Path:
    path = next((path for folder in (OWN, CORPUS) for path in sorted(folder.rglob(name))), None)
    if path is None:
        pytest.skip(f"{name} is not here: {CORPUS}")
    return path


@pytest.mark.parametrize("name", ["hexapod.jm", *WALKERS, *SKELETONS])
def test_real_models_are_mirrored(name: str) -> None:
    mechanism = formats.load(found(name))
    mirror = motion_mirror(mechanism)
    pairs = [each for each in mirror.joints.values() if each.source != each.target]
    assert pairs and not mirror.report.count("warning"), str(mirror.report)
    reflected = 0.5 * (np.eye(3) - mirror.sides.plane.reflection[:3, :3])
    assert sorted(np.abs(np.diag(reflected))) == [0.0, 0.0, 1.0], "left and right are along an axis of the file"
    reach = np.ptp([body.pose[:3, 3] for body in mechanism.bodies], axis=0).max()
    gap = np.abs(misses(mechanism, mirror, mirror.sides.plane.reflection, 1))
    # the files' own halves are as alike as their six digits let them be
    assert gap[..., :3, :3].max() < 1e-4
    assert gap[..., :3, 3].max() < 2e-2 * reach
    assert bool(mirror.sides.named) == (name in SKELETONS)


PLANE = Plane(np.array([1.0, 0.0, 0.0]), 0.0)


def body(name: str, x: float, z: float = 0.0) -> Body:
    pose = np.eye(4)
    pose[:3, 3] = x, 0.0, z
    return Body(name, name, pose)


BODIES = {
    each.id: each
    for each in (
        body("trunk", 0.0), body("spine", 0.0, 1.0), body("left arm", -1.0), body("right arm", 1.0),
        body("left hand", -2.0), body("right hand", 2.0),
    )
}  # fmt: skip
ARMS = {"left arm": "right arm", "right arm": "left arm"}


def joint(parent: str | None, child: str | None) -> Joint:
    return Joint("j", "j", "revolute", parent, child)


@pytest.mark.parametrize(
    ("own", "twin", "ends", "swapped"),
    [
        pytest.param(("trunk", "left arm"), ("trunk", "right arm"), ("trunk", "right arm"), False, id="shared"),
        pytest.param(("trunk", "left arm"), ("right arm", "trunk"), ("trunk", "right arm"), True, id="shared-swapped"),
        pytest.param(("left arm", "left hand"), ("right arm", "right hand"), ("right arm", "right hand"), False,
                     id="hand-without-twin"),
        pytest.param(("left arm", "left hand"), ("right hand", "right arm"), ("right arm", "right hand"), True,
                     id="hand-without-twin-swapped"),
        pytest.param(("trunk", "left hand"), ("spine", "right hand"), ("trunk", "right hand"), False, id="no-twins"),
        pytest.param(("trunk", "left hand"), ("right hand", "spine"), ("trunk", "right hand"), True,
                     id="no-twins-swapped"),
        pytest.param(("trunk", "left arm"), ("left arm", "right arm"), ("trunk", "right arm"), False, id="elsewhere"),
        pytest.param((None, "left arm"), (None, "right arm"), (None, "right arm"), False, id="world"),
        pytest.param(("left hand", "left arm"), None, ("left hand", "right arm"), False, id="no-twin-yet"),
    ],
)  # fmt: skip
def test_the_image_joins_the_twins_of_bodies_or_what_is_in_their_place(
    own: tuple[str | None, str], twin: tuple[str | None, str] | None, ends: tuple[str | None, str], swapped: bool
) -> None:
    other = joint(*twin) if twin else None
    assert mirror_joint_ends(joint(*own), other, ARMS, BODIES, PLANE) == (ends, swapped)
