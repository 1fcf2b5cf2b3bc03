"""Restraints between two places, whatever holds the bodies: at their own frequency, and nothing out of nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.model import Restraint, Shape
from tests.support.degrees_helpers import pose_of, put
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.pairs_helpers import arm_run, chain_run
from tests.support.restraints_helpers import floating


@pytest.mark.parametrize("name", ["hinge", "universal", "ball"])
def test_the_end_of_an_arm_swings_in_its_time_on_any_joint(blank: Any, name: str) -> None:
    """A spring that turns a radian in a frame."""
    found, true = arm_run(blank.scene, name)
    assert np.ptp(found) == pytest.approx(0.1, rel=0.02)
    assert np.abs(found - true).max() < 0.01


@pytest.mark.parametrize(("strength", "told"), [(200.0, []), (17000.0, ["s"])])
def test_a_spring_at_the_end_of_a_chain_gives_no_more_than_it_had(blank: Any, strength: float, told: list[str]) -> None:
    """What it was stretched by is what it can be pressed by, though the chain's links turn each other. One that is too
    stiff for its frames is softer, and told."""
    longer, stiff = chain_run(blank.scene, 2, strength, 121)
    assert np.abs(longer).max() < 0.052
    assert longer.min() < -0.045
    assert stiff == told


def test_along_an_axis_a_restraint_rotates_its_first_body_as_the_second_moves_on(blank: Any) -> None:
    """A steady pull along X of the first one, at the second, which goes off sideways: the two keep what they have of
    angular momentum, about wherever."""
    pull, sideways = 4.0, 2.0
    mechanism = floating(np.zeros(3), np.array([3.0, 0.0, 0.0]))
    for number, (body, joint) in enumerate(zip(mechanism.bodies, mechanism.joints, strict=True)):
        body.pose = joint.frame_parent = pose_of((0, 0, 0), (3.0 * number, 0.0, 0.0))
        joint.frame_child = np.eye(4)
    first, second = mechanism.bodies
    first.mass, second.mass = 20.0, 2.0
    first.shapes = [Shape("box", dict.fromkeys("xyz", 2.0))]
    mechanism.joints[1].dofs[0].start_rates = (0.0, 0.0, 0.0, 0.0, sideways, 0.0)
    ends = (np.eye(4), np.eye(4))
    mechanism.restraints = [
        Restraint("s", "spring", bodies=("c0", "c1"), frames=ends, distance="Tx", coefficients=[[pull]])
    ]
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    bodies = objects_of(rig, "BODY")
    seen = np.array(play(blank.scene, 62, lambda: [world_of(bodies[name]) for name in ("c0", "c1")]))
    places, speeds = (seen[60:, :, :3, 3].mean(axis=0), (seen[61] - seen[60])[:, :3, 3] * 60)
    angles = np.arctan2(seen[:, 0, 1, 0], seen[:, 0, 0, 0])
    inertia = first.mass * 4.0 / 6.0
    spin = inertia * (angles[61] - angles[60]) * 60
    whole = sum(
        body.mass * (at[0] * speed[1] - at[1] * speed[0])
        for body, at, speed in zip(mechanism.bodies, places, speeds, strict=True)
    )
    assert angles[60] == pytest.approx(-pull * sideways / 6.0 / inertia, rel=0.03)
    assert whole + spin == pytest.approx(3.0 * second.mass * sideways, rel=0.01)
    assert math.isclose(places[1][1], sideways * 60.5 / 60, rel_tol=0.02)
