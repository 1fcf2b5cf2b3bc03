"""The numbers of an edit. Blender's are 32-bit: what was not edited keeps the document's own 64-bit value, and what
was edited becomes the shortest number that Blender shows it as."""

from __future__ import annotations

import math

import bpy
import numpy as np
from mathutils import Matrix, Quaternion

from ...model.records import Array
from ..access import record_of
from ..records import flat, unflat

#: Two rotations of Blender's whose matrices differ by no more are the same rotation.
_SAME_TURN = 1e-6
_DIGITS = 9  # tell all 32-bit numbers apart


def same(now: object, before: object) -> bool:
    """Whether a value is what it was: numbers as far as 32 bits can tell."""
    if now == before:
        return True
    if isinstance(now, float) and isinstance(before, (int, float)):
        return bool(np.float32(now) == np.float32(before))
    return False


def plain(value: float, unit: float = 1.0) -> float:
    """The number with the fewest digits, counted in ``unit``, that Blender keeps as this one or as its neighbour:
    2.1 moved by 0.05 is 2.1499999 in 32 bits, and 2.15 for people."""
    kept = np.float32(value)
    near = float(np.spacing(np.abs(kept)))
    for digits in range(1, _DIGITS):
        short = float(f"{float(kept) / unit:.{digits}g}") * unit
        if abs(short - float(kept)) <= near:
            return short
    return float(value)


def plain_angle(value: float) -> float:
    """The angle (rad) with the fewest digits, in degrees or in radians, that Blender keeps as this one."""
    degrees, radians = plain(value, math.radians(1.0)), plain(value)
    return radians if len(f"{radians:.9g}") < len(f"{math.degrees(degrees):.9g}") else degrees


def edited(now: float, before: float) -> float:
    """A number of the document's after it went through Blender."""
    return before if same(now, before) else plain(now)


def was_moved(obj: bpy.types.Object, design: Matrix | None = None) -> bool:
    """Whether an object's design was moved, turned or scaled since it was built. ``design``: where it is now, if not
    at its local matrix."""
    return flat(obj.matrix_basis if design is None else design) != list(record_of(obj).built)


def edited_pose(obj: bpy.types.Object, exact: Array | None, design: Matrix | None = None) -> tuple[Array, Array]:
    """An object's design pose (4, 4) without its scale, and that scale (3,): all negative for a mirrored object, which
    Blender takes as one turned inside out through its origin.

    ``exact`` is the pose that it was built at in full, None where nobody knows it; ``design`` the matrix that it has
    now, its local one if None."""
    design = obj.matrix_basis if design is None else design
    place, turn, size = design.decompose()
    pose = np.eye(4)
    pose[:3, :3] = _rotation(turn)
    pose[:3, 3] = [plain(x) for x in place[:]]
    scale = np.array([plain(x) for x in size[:]])
    if exact is not None:
        place, turn, _size = Matrix(unflat(record_of(obj).built).tolist()).decompose()
        if np.abs(pose[:3, :3] - _rotation(turn)).max() <= _SAME_TURN:
            pose[:3, :3] = exact[:3, :3]
        kept = [same(float(x), float(y)) for x, y in zip(design.translation[:], place[:], strict=True)]
        pose[:3, 3] = np.where(kept, exact[:3, 3], pose[:3, 3])
    return pose, scale


def _rotation(turn: Quaternion) -> Array:
    """The matrix (3, 3) of a quaternion, a rotation to all 64 bits: Blender's own matrices are so to 32 only."""
    numbers = np.array(turn, dtype=np.float64)
    w, x, y, z = numbers / np.linalg.norm(numbers)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
