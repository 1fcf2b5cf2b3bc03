"""Helpers for tests of restraints: simulated sliders, hinges and pairs, with their integrated motion."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from addon.core.model import Array, Body, Dof, Joint, Mechanism, Restraint, Shape
from tests.support.degrees_helpers import Z, pose_of, put, rotations, slides
from tests.support.friction_helpers import ARM, WEIGHT, G
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.several_servos_helpers import beside, motion
from tests.support.springs_helpers import FRAME, INERTIA, MASS, angle, cube_on_joint, moved

FALL = 2.0
Law = tuple[list[float], list[list[float]]]


def valued(law: Law, x: float) -> float:
    """The value of a piecewise polynomial, in descending powers."""
    return float(np.polyval(law[1][bisect.bisect_right(law[0], x)], x))


def integrated(faster: Callable[[Array, Array], Array], start: Array, frames: int, steps: int = 10) -> Array:
    """Places (frames, n) by Runge and Kutta's fourth order, from rest."""
    place, speed, out = np.array(start, dtype=float), np.zeros(len(start)), []
    h = 1 / 60 / steps
    for _ in range(frames):
        out.append(place.copy())
        for _ in range(steps):
            k1, l1 = speed, faster(place, speed)
            k2, l2 = speed + h / 2 * l1, faster(place + h / 2 * k1, speed + h / 2 * l1)
            k3, l3 = speed + h / 2 * l2, faster(place + h / 2 * k2, speed + h / 2 * l2)
            k4, l4 = speed + h * l3, faster(place + h * k3, speed + h * l3)
            place = place + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            speed = speed + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    return np.array(out)


#: Kind, formula: a soft wall as the format's own description has it, springs that grow, dampers that grow.
LAWS: dict[str, list[tuple[str, Law]]] = {
    "spring": [("spring", ([], [[60.0, 0.0]]))],
    "growing spring": [("spring", ([], [[400.0, 0.0, 20.0, 0.0]]))],
    "wall below zero": [("spring", ([0.0], [[-300.0, 90.0, 0.0], [0.0]]))],
    "slack in the middle": [("spring", ([-0.2, 0.2], [[150.0, 30.0], [0.0], [150.0, -30.0]]))],
    "spring and damper": [("spring", ([], [[60.0, 0.0]])), ("damper", ([], [[1.5, 0.0]]))],
    "damper that grows": [("spring", ([], [[60.0, 0.0]])), ("damper", ([0.0], [[-1.0, 0.5, 0.0], [1.0, 0.5, 0.0]]))],
    "steady push": [("spring", ([], [[5.0]]))],
}


def restrained(mechanism: Mechanism, laws: list[tuple[str, Law]]) -> Mechanism:
    mechanism.restraints = [Restraint(kind, kind, "j", knots=law[0], coefficients=law[1]) for kind, law in laws]
    return mechanism


def pull(laws: list[tuple[str, Law]], place: float, speed: float) -> float:
    return -sum(valued(law, place if kind == "spring" else speed) for kind, law in laws)


def slide_run(scene: Any, name: str, frames: int = 121, start: float = 0.4) -> tuple[Array, Array]:
    """A weight on a slide with a restraint along it: under physics, and as it should be."""
    (dof,) = dofs = slides(Z)
    dof.position = start
    rig = put(restrained(cube_on_joint(*dofs, gravity=-FALL * FRAME[:3, 2]), LAWS[name]), physics=True)
    rig.data.knuckle.drive = "LIMP"
    found = np.array(play(scene, frames, lambda: float(moved(rig)[2, 3])))
    true = integrated(lambda x, v: np.array([pull(LAWS[name], x[0], v[0]) / MASS - FALL]), np.array([start]), frames)
    return found, true[:, 0]


def hinge_run(scene: Any, name: str, frames: int = 121) -> tuple[Array, Array]:
    """A pendulum from level with a restraint about its hinge: under physics, and as it should be."""
    arm = np.array([ARM, 0.0, 0.0])
    rig = put(restrained(beside(rotations(Z), arm, np.array([0.0, -G, 0.0])), LAWS[name]), physics=True)
    rig.data.knuckle.drive = "LIMP"
    found = np.unwrap(np.array(play(scene, frames, lambda: angle(2)(motion(rig, arm)))))
    inertia = INERTIA + MASS * ARM**2

    def faster(x: Array, v: Array) -> Array:
        return np.array([(pull(LAWS[name], x[0], v[0]) - WEIGHT * math.cos(x[0])) / inertia])

    return found, integrated(faster, np.zeros(1), frames)[:, 0]


def floating(*places: Array) -> Mechanism:
    """Cubes that float freely, no gravity."""
    cubes = [
        Body(
            f"c{k}",
            f"C{k}",
            pose_of((0.2 * k, 0.1, 0), place),
            MASS * (k + 1),
            shapes=[Shape("box", dict.fromkeys("xyz", 0.6))],
        )
        for k, place in enumerate(places)
    ]
    joints = [
        Joint(f"f{k}", f"F{k}", "free", None, cube.id, np.eye(4), np.linalg.inv(cube.pose), [Dof("free")])
        for k, cube in enumerate(cubes)
    ]
    mechanism = Mechanism("floating", bodies=cubes, joints=joints)
    mechanism.world.gravity = np.zeros(3)
    return mechanism


def middles(scene: Any, mechanism: Mechanism, frames: int) -> Array:
    """Where the bodies' middles are (frames, bodies, 3)."""
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    bodies = objects_of(rig, "BODY")
    return np.array(play(scene, frames, lambda: [world_of(bodies[body.id])[:3, 3] for body in mechanism.bodies]))


def pair_run(scene: Any, frames: int = 121) -> tuple[Array, Array, float]:
    """Two cubes on a spring between their middles: their distance, as it should be, and how far the middle of both
    masses strays."""
    law: Law = ([], [[40.0, -40.0 * 1.5]])
    mechanism = floating(np.array([0.0, 0, 0]), np.array([1.2, 1.6, 0]))
    mechanism.restraints = [
        Restraint("s", "spring", bodies=("c0", "c1"), frames=(np.eye(4), np.eye(4)), coefficients=law[1], knots=law[0])
    ]
    found = middles(scene, mechanism, frames)
    reduced = 1 / (1 / MASS + 1 / (2 * MASS))
    true = integrated(lambda x, v: np.array([-valued(law, x[0]) / reduced]), np.array([2.0]), frames)[:, 0]
    both = (found[:, 0] + 2 * found[:, 1]) / 3
    return np.linalg.norm(found[:, 1] - found[:, 0], axis=1), true, float(np.abs(both - both[0]).max())
