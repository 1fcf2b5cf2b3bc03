"""Helpers for tests of joint friction and damping: a pendulum, integrated and simulated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from addon.core.model import Array, Dof
from tests.support.degrees_helpers import put
from tests.support.mechanisms import play
from tests.support.several_servos_helpers import beside, motion
from tests.support.springs_helpers import INERTIA, MASS, angle

G, ARM = 9.81, 0.5
WEIGHT = MASS * G * ARM


def integrated(friction: float, damping: float, frames: int, steps: int = 200) -> Array:
    """The angle of a pendulum that begins level, at rest: I q'' = -m g l cos q - c q' - f sign q'."""
    angle_, speed, out = 0.0, 0.0, [0.0]
    step = 1 / 60 / steps
    for _ in range(frames - 1):
        for _ in range(steps):
            torque = -WEIGHT * math.cos(angle_) - damping * speed
            if speed or abs(torque) > friction:
                way = math.copysign(1.0, speed or torque)
                faster = speed + (torque - way * friction) / (INERTIA + MASS * ARM**2) * step
                speed = faster if faster * speed >= 0.0 else 0.0
                angle_ += speed * step
        out.append(angle_)
    return np.array(out)


def swung(scene: Any, dofs: list[Dof], frames: int) -> Array:
    arm = np.array([ARM, 0.0, 0.0])
    rig = put(beside(dofs, arm, np.array([0.0, -G, 0.0])), physics=True)
    rig.data.knuckle.drive = "LIMP"
    return np.unwrap(np.array(play(scene, frames, lambda: angle(2)(motion(rig, arm)))))
