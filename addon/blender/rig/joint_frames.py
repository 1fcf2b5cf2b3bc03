"""Which way a joint's empty is turned: Blender's rigid-body constraints want axes on certain letters. No bpy.

A lone turn is on Z, a lone slide on X. Of several axes at right angles the first turn is on Z; of three turns the
second is on Y and the third on X (or against it), as Blender's generic constraint counts them; all else goes where
there is room.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import bpy
import numpy as np

from ...core.model import Array, Body, DofKind, Joint
from ...core.transforms import frame_with_z, inverse, unflattened
from ..data.access import record_of
from ..data.conversion import read_dofs, read_shape, unflat
from ..data.queries import file_name

#: Axes that are this far from a right angle (as a cosine) still stand at one: 32-bit numbers cannot tell.
SQUARE = 1e-7


class Degree(Protocol):
    """What is asked of a degree of freedom: a record of the model's or Blender's."""

    @property
    def kind(self) -> DofKind: ...
    @property
    def axis(self) -> Array: ...


class Jointed(Protocol):
    """What is asked of a joint: a record of the model's or Blender's."""

    @property
    def dofs(self) -> Any: ...


def main_axis(dofs: Sequence[Degree]) -> Array:
    """The unit axis (3,) of the first degree of freedom that has one, in the joint's frame; Z where none has."""
    for dof in dofs:
        if dof.kind in {"rotation", "translation", "screw"}:
            x, y, z = map(float, dof.axis)  # plain numbers: of three, numpy's take five times as long
            return np.array((x, y, z)) / math.sqrt(x * x + y * y + z * z)
    return np.array([0.0, 0.0, 1.0])


def constraint_turn(joint: Jointed) -> Array | None:
    """From the joint's frame to its empty (4, 4): Z on the axis, or X on it for slides, where Blender wants it; each
    axis on one of the empty's where several stand at right angles. None where the two frames are the same."""
    if len(joint.dofs) == 1 and joint.dofs[0].kind == "rotation":
        x, y, z = joint.dofs[0].axis
        if z == 1.0 and x == y == 0.0:
            return None  # most are so
    several = axes_in_joint(joint.dofs)
    if several is not None:
        turn = np.eye(4)
        turn[:3, :3] = several
        return None if np.array_equal(several, np.eye(3)) else turn
    x, y, z = axis = main_axis(joint.dofs)
    slides = len(joint.dofs) == 1 and joint.dofs[0].kind == "translation"
    if (x, y, z) == (0.0, 0.0, 1.0) and not slides:
        return None
    turn = np.eye(4)
    turn[:3, :3] = frame_with_z(axis)
    if slides:
        turn[:3, :3] = turn[:3, :3] @ np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    return turn


def axes_in_joint(dofs: Sequence[Degree]) -> Array | None:
    """The axes (3, 3) of a joint with several directions, as columns in its frame.

    None where there is one direction or none, or no right angle between them.
    """
    if len(dofs) < 2:
        return None
    turns = _directions(dofs, {"rotation", "screw"}, [])
    lines = None if turns is None else _directions(dofs, {"translation"}, turns)
    if turns is None or lines is None or len(lines) < 2:
        return None
    first, second = lines[0], lines[1]
    across = np.cross(first, second)
    across /= np.linalg.norm(across)
    second = np.cross(across, first)
    if len(turns) == 3:
        return np.stack([-across, second, first], axis=1)
    return np.stack([second, across, first], axis=1)


def _directions(dofs: Sequence[Degree], kinds: set[str], known: list[Array]) -> list[Array] | None:
    """The known directions and those of degrees of freedom of some kinds; None at any other than a right angle."""
    lines = list(known)
    for dof in (dof for dof in dofs if dof.kind in kinds):
        axis = np.array(dof.axis, dtype=np.float64)
        axis = axis / np.linalg.norm(axis)
        along = [abs(float(axis @ line)) for line in lines]
        if any(x > 1.0 - SQUARE for x in along):
            continue
        if any(x > SQUARE for x in along):
            return None
        lines.append(axis)
    return lines


def design_pose(obj: bpy.types.Object | None) -> Array:
    """Return where an object stands in the model's frame when nothing is posed: its local matrix (4, 4), unscaled.

    None is the world.
    """
    if obj is None:
        return np.eye(4)
    return unflattened(np.array(obj.matrix_basis.normalized(), dtype=np.float64)[None])[0]


#: What tells where an object stands at design, (4, 4); None is the world.
PoseOf = Callable[[bpy.types.Object | None], Array]


def sides_of(empty: bpy.types.Object, turn: Array | None = None, pose_of: PoseOf = design_pose) -> tuple[Array, Array]:
    """The frame (4, 4) of a joint on its parent and on its child, which at design are apart where the joint is open.

    ``turn`` (4, 4) is from the joint's empty to the axes that the frames are to have; by default the file's.
    """
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
