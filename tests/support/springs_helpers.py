"""Helpers for tests of joints under physics: a cube on a joint, its motion and its period."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from addon.core.model import Array, Body, Dof, Joint, Mechanism, Shape
from addon.core.transforms import inverse
from tests.support.degrees_helpers import pose_of, put
from tests.support.mechanisms import objects_of, world_of

FRAME = pose_of((0.4, -0.9, 0.3), (1, 2, 3))
MASS, EDGE = 2.0, 0.6
INERTIA = MASS * EDGE**2 / 6.0  # of a cube, about any axis


def cube_on_joint(*dofs: Dof, gravity: Array | None = None, world: bool = True) -> Mechanism:
    """A cube on a joint, at the world or at a body that stays, with its middle in the joint's askew frame."""
    cube = Body("cube", "Cube", FRAME.copy(), MASS, shapes=[Shape("box", dict.fromkeys("xyz", EDGE))])
    joint = Joint("j", "Joint", "any", None, "cube", FRAME.copy(), np.eye(4), list(dofs))
    mechanism = Mechanism("hung", bodies=[cube], joints=[joint])
    if not world:
        mechanism.bodies.insert(
            0, Body("base", "Base", immobile=True, shapes=[Shape("box", dict.fromkeys("xyz", 0.1))])
        )
        joint.parent = "base"
    mechanism.world.gravity = np.zeros(3) if gravity is None else np.asarray(gravity, dtype=float)
    return mechanism


def moved(rig: Any) -> Array:
    """The cube's motion since design, in the joint's frame."""
    return inverse(FRAME) @ inverse(world_of(rig)) @ world_of(objects_of(rig, "BODY")["cube"])


def period(values: Array) -> float:
    """Seconds of a whole swing, from the crossings of the middle."""
    at = np.flatnonzero(np.diff(np.sign(values)))
    crossings = at + values[at] / (values[at] - values[at + 1])
    return float(np.diff(crossings).mean()) * 2 / 60


def angle(axis: int) -> Callable[[Array], float]:
    one, other = (axis + 1) % 3, (axis + 2) % 3
    return lambda pose: math.atan2(pose[other, one], pose[one, one])


def warnings(mechanism: Mechanism) -> set[str]:
    put(mechanism, physics=True)
    return {entry.code for entry in mechanism.report.entries if entry.severity == "warning"}
