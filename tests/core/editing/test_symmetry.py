"""Halves of which one has what the other has not: a limb that was taken away is told of by the one that is left, once,
and nothing is told of what stands in the middle."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from addon import formats
from addon.core.editing.sides import find_sides, pairs_by_twin
from addon.core.editing.symmetry import (
    compare_parents,
    compare_twins,
    find_asymmetries,
    find_missing_twins,
    link_pairs,
    relink_twins,
    unlink_parts,
)
from addon.core.model import Dof, Joint, Mechanism, joint_by_id
from addon.core.validation import validate
from tests.support.mirror_helpers import OWN


def hexapod() -> Mechanism:
    return formats.load(OWN / "hexapod" / "hexapod.jm")


def without(mechanism: Mechanism, bodies: set[str]) -> Mechanism:
    """A mechanism without some bodies, by name, and the joints that they have."""
    gone = {body.id for body in mechanism.bodies if body.name in bodies}
    out = deepcopy(mechanism)
    out.bodies = [body for body in out.bodies if body.id not in gone]
    out.joints = [joint for joint in out.joints if not {joint.parent, joint.child} & gone]
    known = {part.id for part in (*out.bodies, *out.joints)}
    for part in (*out.bodies, *out.joints):
        part.twin = part.twin if part.twin in known else None
    return out


def test_what_is_whole_lacks_nothing() -> None:
    assert find_asymmetries(hexapod(), find_sides(hexapod())) == []


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(["Left", "Right"]), st.sampled_from(["Front", "Middle", "Rear"]), st.integers(1, 3))
def test_a_limb_without_twin_is_reported_once(side: str, leg: str, links: int) -> None:
    """From the tip inwards: what is left of the other side begins where the two are no more alike."""
    chain = ["Tibia", "Femur", "Coxa"][:links]
    lame = without(hexapod(), {f"{side} {leg} {link}" for link in chain})
    other = "Right" if side == "Left" else "Left"
    names = {body.id: body.name for body in lame.bodies}
    found = find_missing_twins(lame, find_sides(lame))
    assert [(names[each.first], each.second) for each in found] == [(f"{other} {leg} {chain[-1]}", "")]
    assert found[0].what == (
        "no twin" if links == 1 else f"no twin, also for {links - 1} {'body' if links == 2 else 'bodies'} of its limb"
    )
    codes = [finding for finding in validate(lame) if finding.code == "twin-missing"]
    assert [finding.parts for finding in codes] == [(found[0].first,)]


def test_the_middle_and_what_is_of_one_side_by_design() -> None:
    lame = without(hexapod(), {body.name for body in hexapod().bodies if body.name.startswith("Left")})
    assert find_missing_twins(lame, find_sides(lame)) == [], "where nothing has a twin nothing lacks one"


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6))
def test_a_part_attached_elsewhere_than_its_twin_is_reported(seed: int) -> None:
    """At the same place in the design, on another body than the mirror image does."""
    whole = hexapod()
    rng = np.random.default_rng(seed)
    known = {body.id: body for body in whole.bodies}
    joints = [joint for joint in whole.joints if joint.twin and joint.parent and joint.child]
    joint = joints[rng.integers(len(joints))]
    sides = find_sides(whole)
    others = [body.id for body in whole.bodies if body.id not in {joint.parent, joint.child}]
    onto = others[rng.integers(len(others))]
    frame = known[joint.parent or ""].pose @ joint.frame_parent
    joint.parent, joint.frame_parent = onto, np.linalg.inv(known[onto].pose) @ frame
    told = {each.what for each in compare_twins(whole, sides) if joint.id in {each.first, each.second}}
    assert "bodies" in told


def test_an_additional_joint_on_one_side_is_reported() -> None:
    whole = hexapod()
    knee = next(joint for joint in whole.joints if joint.name == "Left Front Knee")
    tibia = next(body for body in whole.bodies if body.name == "Left Front Tibia")
    carrier = next(body for body in whole.bodies if body.name == "Left Rear Tibia")
    extra = Joint("extra", "Brace", "revolute", carrier.id, tibia.id, knee.frame_parent, knee.frame_child)
    extra.dofs = [Dof("rotation", np.array([0.0, 0.0, 1.0]))]
    whole.joints.append(extra)
    sides = find_sides(hexapod())
    numbers = {(each.first, each.what): each.amount for each in compare_parents(whole, sides)}
    for body in (tibia, carrier):
        first, sign = (body.id, -1.0) if (body.id, "number of joints") in numbers else (body.twin or "", 1.0)
        assert numbers[first, "number of joints"] == sign
    assert ("extra", "no twin") in {(each.first, each.what) for each in find_missing_twins(whole, sides)}


def test_an_uncertain_mirror_plane_reports_less() -> None:
    """Halves that are roughly mirror images: what stands nearer to the plane than they miss it is no limb."""
    whole = hexapod()
    sides = find_sides(whole)
    off = replace(sides, plane=replace(sides.plane, offset=0.4))
    assert find_missing_twins(whole, off) == []


def twins(mechanism: Mechanism) -> dict[str, dict[str, str]]:
    return {
        "BODY": pairs_by_twin(mechanism.bodies),
        "JOINT": pairs_by_twin(mechanism.joints),
    }


@given(st.data())
def test_links_refer_to_each_other_and_leave_all_else_alone(data: st.DataObject) -> None:
    """After links and unlinks in any order every part that names a twin is named by it, and only links are new."""
    mechanism = start = hexapod()
    ids = [body.id for body in start.bodies]
    linked = twins(start)["BODY"]
    for _ in range(data.draw(st.integers(1, 6))):
        first, second = data.draw(st.lists(st.sampled_from(ids), min_size=2, max_size=2, unique=True))
        for own in (first, second):
            linked.pop(linked.pop(own, ""), None)
        if data.draw(st.booleans()):
            mechanism = link_pairs(mechanism, bodies=[(first, second)]).after
            linked |= {first: second, second: first}
        else:
            mechanism = unlink_parts(mechanism, bodies=(first, second)).after
    assert {body.id: body.twin for body in mechanism.bodies if body.twin} == linked == twins(mechanism)["BODY"]
    assert all(own is before for own, before in zip(mechanism.joints, start.joints, strict=True))
    for body, before in zip(mechanism.bodies, start.bodies, strict=True):
        assert all(
            getattr(body, each.name) is getattr(before, each.name) for each in fields(body) if each.name != "twin"
        )


def test_restored_parts_are_linked_to_those_that_name_them() -> None:
    start = hexapod()
    pair = twins(start)
    restored = {role: {own for own, twin in known.items() if own < twin} for role, known in pair.items()}
    cut = replace(
        start,
        bodies=[replace(b, twin=None) if b.id in restored["BODY"] else b for b in start.bodies],
        joints=[replace(j, twin=None) if j.id in restored["JOINT"] else j for j in start.joints],
    )
    assert not twins(cut)["BODY"] and not twins(cut)["JOINT"]
    assert twins(relink_twins(cut, restored["BODY"], restored["JOINT"]).after) == pair
    assert joint_by_id(relink_twins(cut, (), ()).after) == joint_by_id(cut), "others were unlinked by the user"
