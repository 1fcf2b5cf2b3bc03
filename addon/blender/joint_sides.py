"""Where bodies and joints stand at design, and a joint's frame on each of its two sides."""

from __future__ import annotations

import bpy
import numpy as np

from ..model.records import Array
from ..model.rotations import inverse, unflattened
from .access import record_of
from .joint_axes import constraint_turn
from .records import unflat


def design_pose(obj: bpy.types.Object | None) -> Array:
    """Where an object stands in the model's frame when nothing is posed: its local matrix (4, 4), unscaled. None is the
    world."""
    if obj is None:
        return np.eye(4)
    return unflattened(np.array(obj.matrix_basis.normalized(), dtype=np.float64)[None])[0]


def sides_of(empty: bpy.types.Object, turn: Array | None = None) -> tuple[Array, Array]:
    """The frame (4, 4) of a joint on its parent and on its child, which at design are apart where the joint is open.
    ``turn`` (4, 4) is from the joint's empty to the axes that the frames are to have; by default the file's."""
    joint = record_of(empty).joint
    if turn is None:
        back = constraint_turn(joint)
        turn = np.eye(4) if back is None else inverse(back)
    near = design_pose(empty)
    far = near @ unflat(joint.opening) if joint.is_open else near
    return inverse(design_pose(joint.parent)) @ near @ turn, inverse(design_pose(joint.child)) @ far @ turn
