"""Helpers for tests of initial velocities: a pendulum released level with a velocity, and its expected motion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from addon.core.model import Array
from tests.support.degrees_helpers import Z, put, rotations
from tests.support.friction_helpers import ARM, WEIGHT, G
from tests.support.mechanisms import play
from tests.support.several_servos_helpers import beside, motion
from tests.support.springs_helpers import INERTIA, MASS, angle


def thrown_pendulum(scene: Any, frames: int) -> tuple[Array, Array]:
    """A pendulum that begins level at 3 rad/s under gravity: under physics, and as it should be."""
    (dof,) = dofs = rotations(Z)
    dof.velocity = 3.0
    arm = np.array([ARM, 0.0, 0.0])
    rig = put(beside(dofs, arm, np.array([0.0, -G, 0.0])), physics=True)
    rig.data.knuckle.drive = "LIMP"
    found = np.unwrap(np.array(play(scene, frames, lambda: angle(2)(motion(rig, arm)))))
    place, speed, true, step = 0.0, 3.0, [], 1 / 60 / 200
    for number in range(200 * frames):
        if number % 200 == 0:
            true.append(place)
        speed -= WEIGHT * math.cos(place) / (INERTIA + MASS * ARM**2) * step
        place += speed * step
    return found, np.array(true)
