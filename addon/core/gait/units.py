"""From what a gait counts in to what joints are moved by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model import Array, Dof, Joint


def motor_dof(joint: Joint) -> Dof | None:
    """The one rotation or translation that a motor can move; None for any other joint."""
    if joint.active and len(joint.dofs) == 1 and joint.dofs[0].kind in ("rotation", "translation"):
        return joint.dofs[0]
    return None


@dataclass(frozen=True)
class GaitServos:
    """From the file's count of joints to the coordinates of their degrees of freedom; columns (joints, 1)."""

    sign: Array
    unit: Array
    low: Array
    high: Array

    @staticmethod
    def of(dofs: Sequence[Dof | None]) -> GaitServos:
        rows = [GaitServos._row(dof) for dof in dofs if dof is not None]
        return GaitServos(*np.array(rows, dtype=np.float64).reshape(-1, 4).T[..., None])

    @staticmethod
    def _row(dof: Dof) -> tuple[float, float, float, float]:
        low = -math.inf if dof.lower is None else dof.lower
        high = math.inf if dof.upper is None else dof.upper
        if dof.file_sign < 0.0:
            low, high = -high, -low
        return math.copysign(1.0, dof.file_sign), math.pi / 180.0 if dof.kind == "rotation" else 1.0, low, high

    def position(self, values: Array) -> Array:
        """Values (joints, n), clamped as the program does, in the file's sense: the low stop first, then the high
        one."""
        return self.sign * np.minimum(np.maximum(self.unit * values, self.low), self.high)
