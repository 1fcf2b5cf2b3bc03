"""Helpers for tests of camera and stage: pinhole projection by its definition."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("bpy", reason="Blender is not here")


def projected(points: np.ndarray, rotation: np.ndarray, position: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Pinhole projection, from the definition of a 50 mm lens on a 36 mm sensor: -1..1 inside the picture."""
    view = np.linalg.inv(rotation) @ (points - position).T
    assert (view[2] < 0.0).all(), "behind the camera"
    long_side = max(size)
    return np.array([view[i] / -view[2] * 50.0 / 18.0 * long_side / size[i] for i in (0, 1)])
