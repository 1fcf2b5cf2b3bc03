"""Helpers for tests of writing SKEL: poses, dofs and joint types."""

from __future__ import annotations

import numpy as np

from addon.core.model import Dof
from tests.support.skel_compare import (
    turn,
)


def pose(x: float = 0.0, y: float = 0.0, z: float = 0.0, about: tuple[float, ...] = (0.0, 0.0, 0.0)) -> np.ndarray:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = turn(np.array(about)), (x, y, z)
    return out


def dofs(*kinds: tuple[str, tuple[float, ...]]) -> list[Dof]:
    return [Dof(kind, np.array(axis, dtype=float) / np.linalg.norm(axis)) for kind, axis in kinds]  # type: ignore[arg-type]


R, T = "rotation", "translation"
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
KINDS = {
    "weld": [],
    "revolute": dofs((R, (1, 2, 3))),
    "prismatic": dofs((T, (1, 2, 3))),
    "universal": dofs((R, (1, 2, 0)), (R, (0, 1, 3))),
    "ball": [Dof("ball")],
    "free": [Dof("free")],
    "euler": dofs((R, Y), (R, X), (R, Z)),
    "euler the other way": dofs((R, Y), (R, Z), (R, X)),
    "euler against": dofs((R, (-1, 0, 0)), (R, Y), (R, Z)),
    "planar": dofs((T, Z), (T, X), (R, Y)),
    "planar against": dofs((T, X), (T, Y), (R, (0, 0, -1))),
    "planar, turn first": dofs((R, X), (T, Y), (T, Z)),
    "three slides": dofs((T, Y), (T, Z), (T, X)),
    "three slides, left-handed": dofs((T, Y), (T, X), (T, Z)),
    "two slides": dofs((T, X), (T, Y)),
    "cylindrical": dofs((R, Z), (T, Z)),
    "three turns askew": dofs((R, X), (R, (1, 1, 0)), (R, Z)),
    "six": dofs((T, X), (T, Y), (T, Z), (R, X), (R, Y), (R, Z)),
    "free and three slides": [Dof("free"), *dofs((T, X), (T, Y), (T, Z))],
    "hinge and ball": [*dofs((R, X)), Dof("ball")],
}
