"""Helpers for tests of point-to-point forces: arms and chains on a spring."""

from __future__ import annotations

from typing import Any

import numpy as np

from addon.core.model import Array, Body, Dof, Joint, Mechanism, Restraint, Shape, World
from tests.support.degrees_helpers import Y, Z, pose_of, put, rotations
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.swings import chain, put_world

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
