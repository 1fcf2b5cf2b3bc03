"""Helpers for tests of spring rest positions: springs on every coordinate of every joint type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from addon.core.kinematics import joint_values_from_transform
from addon.core.model import Array, Dof, Mechanism
from tests.support.degrees_helpers import put
from tests.support.mechanisms import play
from tests.support.several_servos_helpers import kinds, size_of
from tests.support.springs_helpers import INERTIA, MASS, cube_on_joint, moved, period


def sprung(name: str, number: int, frequency: float, rest: float, start: float) -> Mechanism:
    """A cube on a joint of a kind, with a spring on one coordinate that begins at ``start``."""
    dofs = kinds()[name]
    ball = dofs[-1].kind == "ball"
    turns = ball or dofs[number].kind == "rotation"
    if ball:
        dofs[0].parts = [Dof("rotation", axis) for axis in np.eye(3)]
        dofs[0].start = tuple(start * (k == number) for k in range(3))
    dof = dofs[0].parts[number] if ball else dofs[number]
    dof.stiffness, dof.rest = (INERTIA if turns else MASS) * frequency**2, rest
    dof.position = start
    return cube_on_joint(*dofs)


def coordinates(scene: Any, mechanism: Mechanism, frames: int) -> Array:
    """The joint's coordinates (frames, size) under physics."""
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    return joint_values_from_transform(mechanism.joints[0], np.array(play(scene, frames, lambda: moved(rig))))


def all_springs() -> list[tuple[str, int]]:
    """Every coordinate of every kind of joint."""
    return [(name, number) for name, dofs in kinds().items() for number in range(size_of(dofs))]


def off(values: Array, number: int, frequency: float, rest: float, start: float) -> tuple[float, float]:
    """By how much (shares) the time and the width of a swing are off."""
    swing = values[:, number] - rest
    wide = (swing.max() - swing.min()) / 2 / abs(start - rest)
    return period(swing) / (2 * math.pi / frequency) - 1.0, wide - 1.0
