"""Restraints between two places, whatever holds the bodies: at their own frequency, and nothing out of nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.model import Array, Body, Dof, Joint, Mechanism, Restraint, Shape, World
from tests.blender.build.test_degrees import Y, Z, pose_of, put, rotations
from tests.blender.mechanisms import objects_of, play, world_of
from tests.blender.physics.test_restraints import floating
from tests.blender.swings import chain, put_world

FAST = 60.0


def spring(body: str, far: Array, place: Array, strength: float, rest: float) -> Restraint:
    law = [[strength, -strength * rest]]
    return Restraint("s", "spring", bodies=(None, body), frames=(far, place), coefficients=law)


def arm_run(scene: Any, name: str, frequency: float = FAST) -> tuple[Array, Array]:
    """The middle of an arm on a kind of joint whose end hangs on a spring, from so far away that it pulls along one
    line: under physics, and as it should be."""
    dofs = {"hinge": rotations(Z), "universal": rotations(Z, Y), "ball": [Dof("ball")]}[name]
    middle, end = pose_of((0, 0, 0), (1.0, 0.0, 0.0)), pose_of((0, 0, 0), (1.0, 0.0, 0.0))
    arm = Body("arm", "Arm", middle, mass=1.0, shapes=[Shape("box", {"x": 2.0, "y": 0.1, "z": 0.1})])
    joint = Joint("j", "J", "any", None, "arm", np.eye(4), np.linalg.inv(middle), dofs)
    mechanism = Mechanism("arm", World(gravity=np.zeros(3)), bodies=[arm], joints=[joint])
    strength = frequency**2 * ((4.0 + 0.01) / 12.0 + 1.0) / 4.0
    mechanism.restraints = [spring("arm", pose_of((0, 0, 0), (2.0, 50.0, 0.0)), end, strength, 49.9)]
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    body = objects_of(rig, "BODY")["arm"]
    found = np.array(play(scene, 121, lambda: world_of(body)[1, 3]))
    return found, 0.05 * (1.0 - np.cos(frequency * np.arange(121) / 60))


@pytest.mark.parametrize("name", ["hinge", "universal", "ball"])
def test_the_end_of_an_arm_swings_in_its_time_on_any_joint(blank: Any, name: str) -> None:
    """A spring that turns a radian in a frame."""
    found, true = arm_run(blank.scene, name)
    assert np.ptp(found) == pytest.approx(0.1, rel=0.02)
    assert np.abs(found - true).max() < 0.01


def chain_run(scene: Any, links: int, strength: float, frames: int) -> tuple[Array, list[str]]:
    """By how much a spring of a strength is longer than its rest that pulls on the end of a chain, and began 0.05 m
    longer; and which restraints were told to be too stiff."""
    mechanism = chain(links=links)
    mechanism.world.gravity = np.zeros(3)
    end, last = pose_of((0, 0, 0), (0.5, 0.0, 0.0)), f"link {links - 1}"
    far = (mechanism.bodies[-1].pose @ end)[:3, 3] + 30.0 * Z
    mechanism.restraints = [spring(last, pose_of((0, 0, 0), far), end, strength, 29.95)]
    rig = put_world(mechanism, "LIMP", 4)
    body = objects_of(rig, "BODY")[last]
    long = np.array(play(scene, frames, lambda: np.linalg.norm((world_of(body) @ end)[:3, 3] - far)))
    return long - 29.95, [line.where for line in rig.data.knuckle.report if line.code == "restraint-stiff"]


@pytest.mark.parametrize(("strength", "told"), [(200.0, []), (17000.0, ["s"])])
def test_a_spring_at_the_end_of_a_chain_gives_no_more_than_it_had(blank: Any, strength: float, told: list[str]) -> None:
    """What it was stretched by is what it can be pressed by, though the chain's links turn each other. One that is too
    stiff for its frames is softer, and told."""
    longer, stiff = chain_run(blank.scene, 2, strength, 121)
    assert np.abs(longer).max() < 0.052
    assert longer.min() < -0.045
    assert stiff == told


def test_along_an_axis_a_restraint_turns_its_first_body_as_the_second_moves_on(blank: Any) -> None:
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
