"""Bodies and joints as their objects and records have them: where they stand at design, a joint's frame on each of its
two sides, and both as records of a mechanism."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np

from ...core.model import Array, Body, Joint
from ...core.transforms import inverse, unflattened
from ..data.access import record_of
from ..data.conversion import read_dofs, read_shape, unflat
from ..data.queries import file_name
from .joint_axes import constraint_turn


def design_pose(obj: bpy.types.Object | None) -> Array:
    """Return where an object stands in the model's frame when nothing is posed: its local matrix (4, 4), unscaled. None
    is the world."""
    if obj is None:
        return np.eye(4)
    return unflattened(np.array(obj.matrix_basis.normalized(), dtype=np.float64)[None])[0]


#: What tells where an object stands at design, (4, 4); None is the world.
PoseOf = Callable[[bpy.types.Object | None], Array]


def sides_of(empty: bpy.types.Object, turn: Array | None = None, pose_of: PoseOf = design_pose) -> tuple[Array, Array]:
    """The frame (4, 4) of a joint on its parent and on its child, which at design are apart where the joint is open.
    ``turn`` (4, 4) is from the joint's empty to the axes that the frames are to have; by default the file's."""
    joint = record_of(empty).joint
    if turn is None:
        back = constraint_turn(joint)
        turn = np.eye(4) if back is None else inverse(back)
    near = pose_of(empty)
    far = near @ unflat(joint.opening) if joint.is_open else near
    return inverse(pose_of(joint.parent)) @ near @ turn, inverse(pose_of(joint.child)) @ far @ turn


def read_joint(empty: bpy.types.Object, pose_of: PoseOf = design_pose) -> Joint:
    """Read a joint from its empty and record, with its frames on its bodies' objects."""
    record = record_of(empty).joint
    parent, child = (None if end is None else record_of(end).source_id for end in (record.parent, record.child))
    sides = sides_of(empty, pose_of=pose_of)
    made = Joint(record_of(empty).source_id, file_name(empty), record.type, parent, child, *sides)
    made.dofs, made.active = read_dofs(record), record.active
    return made


def read_body(obj: bpy.types.Object, pose_of: PoseOf = design_pose) -> Body:
    """Read a body from its object and record, without the scale of the object; its inertia is that of mass 1."""
    record = record_of(obj)
    pose, com = pose_of(obj), np.array(record.com, dtype=np.float64)
    pose[:3, 3] -= pose[:3, :3] @ com
    shapes = [read_shape(shape) for shape in record.shapes]
    tensor = np.array(record.tensor, dtype=np.float64).reshape(3, 3) if any(record.tensor) else None
    made = Body(record.source_id, file_name(obj), pose, record.mass, com, tensor, shapes, record.twin or None)
    made.gravity, made.collidable, made.immobile = record.gravity, record.collidable, record.immobile
    return made
