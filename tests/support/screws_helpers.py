"""Helpers for tests of screws: simulated weights on screws, their slip, fall and servo motion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from addon.blender.animation.keying import LINEAR, key_servos
from addon.core.model import Array, Dof
from tests.support.degrees_helpers import Z, put
from tests.support.mechanisms import play
from tests.support.springs_helpers import FRAME, INERTIA, MASS, angle, cube_on_joint, moved

PULL = 5.0


def screwed(
    scene: Any, dof: Dof, frames: int, pull: float = PULL, keys: list[tuple[float, float]] | None = None
) -> Array:
    """Turn and slide (frames, 2) of a cube on a screw with a weight along its axis; with keys, its servo drives it."""
    rig = put(cube_on_joint(dof, gravity=FRAME[:3, 2] * pull), physics=True)
    if keys is not None:
        times, angles = np.array(keys).T
        key_servos(rig, "Motion", {"j": (times, angles[:, None], LINEAR)})
    rig.data.knuckle.drive = "LIMP" if keys is None else "SERVO"
    found = np.array(play(scene, frames, lambda: (angle(2)(moved(rig)), moved(rig)[2, 3])))
    return np.column_stack([np.unwrap(found[:, 0]), found[:, 1]])


def slip(values: Array, pitch: float) -> float:
    """How far the slide is from where the turn has it, at most."""
    return float(np.abs(values[:, 1] - pitch * values[:, 0]).max())


def fall(pitch: float) -> float:
    """How a weight on a screw without friction accelerates."""
    return PULL * MASS / (MASS + INERTIA / pitch**2)


def raised(scene: Any, smooth: bool) -> tuple[Array, float]:
    """Turn and slide of a servo that raises a weight by 0.9 m in a second, in one sweep or at one speed, and the worst
    error of its turn."""
    share = np.clip(np.arange(91) / 60, 0.0, 1.0)
    wanted = 9.0 * (0.5 - 0.5 * np.cos(math.pi * share) if smooth else share)
    values = screwed(scene, Dof("screw", Z, pitch=0.1), 91, -9.81, list(zip(range(1, 92), wanted, strict=True)))
    return values, float(np.abs(values[:, 0] - wanted).max())
