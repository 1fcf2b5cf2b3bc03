"""The box, which shapes and the ground are made of."""

from __future__ import annotations

import numpy as np

from ...core.model import Array

_CORNERS = [(i, j, k) for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)]
_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def box(x: float, y: float, z: float) -> tuple[Array, list[tuple[int, ...]]]:
    """Corners (8, 3) and faces of a box about the origin with these edges."""
    return np.array(_CORNERS) * (x, y, z), list(_FACES)
