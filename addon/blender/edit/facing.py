"""Twins that face each other across the plane between a model's halves, and those that do not."""

from __future__ import annotations

from collections.abc import Collection

import bpy
import numpy as np

from ...core.model import Plane
from .twins import mates, unlink_twins

#: How far a twin may be from where the mirror image of its mate is, as a share of the model's size.
_NEAR = 0.05


def part_those_beside(rig: bpy.types.Object, came: Collection[bpy.types.Object], plane: Plane) -> int:
    """Have those of the parts that ``came`` to a model be nobody's twins that do not face their twins across its plane:
    to edit them symmetrically would put one where nothing is. Returns how many pairs there were."""
    pairs = mates(rig)
    at = {obj: np.array(obj.matrix_basis.translation) for obj in pairs}
    if not at:
        return 0
    reach = _NEAR * float(np.ptp(np.array([*at.values()]), axis=0).max())
    flip, shift = plane.reflection[:3, :3], plane.reflection[:3, 3]
    beside = [
        obj for obj, mate in pairs.items() if obj in came and np.linalg.norm(flip @ at[obj] + shift - at[mate]) > reach
    ]
    unlink_twins(beside)
    return len(beside) // 2
