"""Mechanisms to begin with: closed, twins of one another, and as mobile as their names say."""

from __future__ import annotations

import numpy as np
import pytest

from addon.core.editing.sides import find_sides
from addon.core.editing.symmetry import compare_twins
from addon.core.kinematics import design_openings, spanning_tree
from addon.core.model import Mechanism
from addon.core.templates import TEMPLATES, four_bar, pendulum, slider_crank, walker
from addon.core.validation import validate


@pytest.mark.parametrize("kind", list(TEMPLATES))
def test_a_check_finds_nothing_wrong(kind: str) -> None:
    mechanism = TEMPLATES[kind]()
    assert [(f.severity, f.message) for f in validate(mechanism) if f.severity != "info"] == []
    assert design_openings(mechanism) == {}
    ends = {body.id for body in mechanism.bodies}
    assert all(joint.child in ends and (joint.parent is None or joint.parent in ends) for joint in mechanism.joints)


@pytest.mark.parametrize(("made", "loops"), [(pendulum(links=3), 0), (four_bar(), 1), (slider_crank(), 1)])
def test_linkages_have_the_freedom_of_their_names(made: Mechanism, loops: int) -> None:
    tree = spanning_tree(made)
    assert len(tree.loop_joints) == loops and not tree.roots, "all hang from the world"
    planar = 3 * len(made.bodies) - 2 * len(made.joints)
    assert planar == (3 if loops == 0 else 1)


def test_bars_are_as_long_as_was_asked() -> None:
    made = four_bar(0.3, 0.9, 0.7, 1.1)
    at = {joint.name: joint.frame_parent[:3, 3] if joint.parent is None else None for joint in made.joints}
    assert np.linalg.norm(at["Crank Hinge"] - at["Rocker Hinge"]) == pytest.approx(1.1)
    frames = {body.id: [] for body in made.bodies}
    for joint in made.joints:
        for end, frame in ((joint.parent, joint.frame_parent), (joint.child, joint.frame_child)):
            if end is not None:
                frames[end].append(frame[:3, 3])
    lengths = {name: np.linalg.norm(places[0] - places[1]) for name, places in frames.items()}
    assert lengths == pytest.approx({"Crank": 0.3, "Coupler": 0.9, "Rocker": 0.7}, abs=1e-9)


@pytest.mark.parametrize("legs", [2, 4, 6, 8])
def test_a_walkers_sides_are_mirror_images(legs: int) -> None:
    made = walker(legs)
    sides = find_sides(made)
    assert len(sides.bodies) == 2 * legs and compare_twins(made, sides) == []
    lowest = min(body.pose[2, 3] - 0.5 * body.shapes[0].size["length"] for body in made.bodies[1:])
    assert lowest == pytest.approx(0.0, abs=1e-12), "it stands on the ground"


def test_impossible_templates_are_rejected() -> None:
    with pytest.raises(ValueError, match="longest bar is longer"):
        four_bar(0.2, 0.3, 0.3, 2.0)
    with pytest.raises(ValueError, match="not longer than the crank"):
        slider_crank(1.0, 0.5)
    with pytest.raises(ValueError, match="even number"):
        walker(3)
