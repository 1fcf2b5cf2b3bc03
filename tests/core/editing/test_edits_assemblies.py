"""Switching of assemblies as a function on mechanisms."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addon.core.editing.edits import active_paths, switch_assembly
from addon.core.model import Assembly, Body, Joint, Mechanism

PATHS = ("robot", "robot:arm", "robot:arm:hand", "base")


def robot() -> Mechanism:
    """A chain through all assemblies, a part that is off by itself, and joints that lack a body."""
    bodies = [Body(name, name, assembly=path) for name, path in zip("abcd", PATHS, strict=True)]
    bodies.append(Body("spare", "spare", assembly="robot:arm", active=False, extra={"active": False}))
    ends = (("a", "b"), ("b", "c"), ("d", "a"), (None, "d"), ("b", "spare"), (None, None))
    joints = [Joint(f"j{k}", f"j{k}", "hinge", *pair, assembly="robot") for k, pair in enumerate(ends)]
    joints[3].assembly = ""
    for joint in joints[4:]:
        joint.active = False
    return Mechanism("robot", bodies=bodies, joints=joints, assemblies=[Assembly(path, path) for path in PATHS])


def active(mechanism: Mechanism) -> set[str]:
    return {part.id for part in (*mechanism.bodies, *mechanism.joints) if part.active}


def test_parts_of_an_assembly_and_of_those_inside_are_off_with_their_joints() -> None:
    off = switch_assembly(robot(), "robot:arm", on=False).after
    assert active(off) == {"a", "d", "j2", "j3"}
    assert active(switch_assembly(robot(), "robot", on=False).after) == {"d", "j3"}
    assert active_paths(off.assemblies) == {"", "robot", "base"}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PATHS), st.booleans()), max_size=8))
def test_only_the_last_state_of_each_switch_counts(switches: list[tuple[str, bool]]) -> None:
    mechanism = robot()
    before = deepcopy(mechanism)
    state = mechanism
    for path, on in switches:
        state = switch_assembly(state, path, on).after
    assert {each.path: each.active for each in state.assemblies} == {**dict.fromkeys(PATHS, True), **dict(switches)}
    on = {
        path for path in PATHS if all({**dict(switches)}.get(outer, True) for outer in PATHS if path.startswith(outer))
    }
    assert {body.id for body in state.bodies if body.active} == {
        body.id for body in mechanism.bodies if body.assembly in on and body.id != "spare"
    }
    for path in PATHS:
        state = switch_assembly(state, path, on=True).after
    np.testing.assert_equal(asdict(state), asdict(before))
    np.testing.assert_equal(asdict(mechanism), asdict(before))


def test_parts_that_stay_as_they_are_are_the_same_objects() -> None:
    mechanism = robot()
    edit = switch_assembly(mechanism, "base", on=False)
    assert edit.after.bodies[:3] == mechanism.bodies[:3]
    assert all(one is other for one, other in zip(edit.after.bodies[:3], mechanism.bodies, strict=False))
    assert edit.after.joints[0] is mechanism.joints[0]


def test_an_unknown_assembly_is_rejected() -> None:
    with pytest.raises(ValueError, match="no assembly 'leg'"):
        switch_assembly(robot(), "leg", on=False)
