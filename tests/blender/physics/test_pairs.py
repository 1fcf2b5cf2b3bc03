"""Restraints between two places, whatever holds the bodies: at their own frequency, and nothing out of nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.model.records import Array, Body, Dof, Joint, Mechanism, Restraint, Shape, World
from tests.blender.build.test_degrees import Y, Z, pose_of, put, rotations
from tests.blender.mechanisms import objects_of, play, world_of
from tests.blender.physics.test_restraints import floating
from tests.blender.swings import chain, put_world

FAST = 60.0


def spring(body: str, far: Array, place: Array, strength: float, rest: float) -> Restraint:
    law = [[strength, -strength * rest]]
    return Restraint("s", "spring", bodies=(None, body), frames=(far, place), coefficients=law)


@pytest.mark.parametrize("name", ["hinge", "universal", "ball"])
def test_the_end_of_an_arm_swings_in_its_time_on_any_joint(blank: Any, name: str) -> None:
    """A spring that turns a radian in a frame, from so far away that it pulls along one line."""
    dofs = {"hinge": rotations(Z), "universal": rotations(Z, Y), "ball": [Dof("ball")]}[name]
    middle, end = pose_of((0, 0, 0), (1.0, 0.0, 0.0)), pose_of((0, 0, 0), (1.0, 0.0, 0.0))
    arm = Body("arm", "Arm", middle, mass=1.0, shapes=[Shape("box", {"x": 2.0, "y": 0.1, "z": 0.1})])
    joint = Joint("j", "J", "any", None, "arm", np.eye(4), np.linalg.inv(middle), dofs)
    mechanism = Mechanism("arm", World(gravity=np.zeros(3)), bodies=[arm], joints=[joint])
    strength = FAST**2 * ((4.0 + 0.01) / 12.0 + 1.0) / 4.0
    mechanism.restraints = [spring("arm", pose_of((0, 0, 0), (2.0, 50.0, 0.0)), end, strength, 49.9)]
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    body = objects_of(rig, "BODY")["arm"]
    found = np.array(play(blank.scene, 121, lambda: world_of(body)[1, 3]))
    true = 0.05 * (1.0 - np.cos(FAST * np.arange(121) / 60))
    assert np.ptp(found) == pytest.approx(0.1, rel=0.02)
    assert np.abs(found - true).max() < 0.01


def test_a_spring_at_the_end_of_a_chain_gives_no_more_than_it_had(blank: Any) -> None:
    """What it was stretched by is what it can be pressed by, though the chain's links turn each other."""
    mechanism = chain(links=2)
    mechanism.world.gravity = np.zeros(3)
    end = pose_of((0, 0, 0), (0.5, 0.0, 0.0))
    tip = (mechanism.bodies[-1].pose @ end)[:3, 3]
    mechanism.restraints = [spring("link 1", pose_of((0, 0, 0), tip + 30.0 * Z), end, 200.0, 29.95)]
    rig = put_world(mechanism, "LIMP", 4)
    body = objects_of(rig, "BODY")["link 1"]
    rise = np.array(play(blank.scene, 181, lambda: (world_of(body) @ end)[2, 3])) - tip[2]
    assert rise.max() == pytest.approx(0.1, abs=1e-3)
    assert rise.min() > -1e-3


def test_a_spring_that_is_too_stiff_for_its_frames_is_softer_and_told(blank: Any) -> None:
    mechanism = chain(links=2)
    mechanism.world.gravity = np.zeros(3)
    end = pose_of((0, 0, 0), (0.5, 0.0, 0.0))
    tip, strength = (mechanism.bodies[-1].pose @ end)[:3, 3], 17000.0
    mechanism.restraints = [spring("link 1", pose_of((0, 0, 0), tip + 30.0 * Z), end, strength, 29.95)]
    rig = put_world(mechanism, "LIMP", 4)
    body = objects_of(rig, "BODY")["link 1"]
    long = np.array(play(blank.scene, 121, lambda: np.linalg.norm((world_of(body) @ end)[:3, 3] - tip - 30.0 * Z)))
    assert np.abs(long - 29.95).max() < 0.06, "it began stretched by 0.05"
    assert [line.where for line in rig.data.knuckle.report if line.code == "restraint-stiff"] == ["s"]


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
