"""Rest frames of bones, kept out of Blender's blind spots. No bpy.

Blender keeps a bone as head, tail and roll, in 32 bits. For a bone whose Y is nearly but not quite the opposite of its
armature's Y, or of its parent's, it gets a frame back that is off (measured, 4.2 to 5.2): by up to 5e-5 where the two
are 0.05 to 0.3 apart, by 1e-3 and more below 0.003 where the bone is short for its distance from the origin. The
opposite itself is kept well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core.model import Array
from ...core.transforms import frame_with_z
from .degrees import Layout

_EXACT = 2e-6  # so near (rad) that being taken for the opposite does no harm
_BLIND = 0.34
_NEAR = -0.94  # cosine: what is further from the opposite is in no blind spot
_OWN_Y = (0.0, 1.0, 0.0)
#: Turns (rad) about a bone's Z that are tried to get out of a blind spot, the least first.
_TURNS = [sign * turn for turn in np.arange(0.02, 0.8, 0.02).tolist() for sign in (1.0, -1.0)]


Direction = Sequence[float]


def is_clear(y: Direction, above: Direction | None) -> bool:
    """Return whether Blender keeps a rest matrix with that Y (3,) well under a bone with the Y ``above``; None at the
    root."""
    return _is_clear(y, _OWN_Y) and (above is None or _is_clear(y, above))


def _is_clear(y: Direction, other: Direction) -> bool:
    # plain numbers: asked of each bone, numpy would take ten times as long
    (a, b, c), (u, v, w) = y, other
    return a * u + b * v + c * w > _NEAR or not _EXACT < math.hypot(a + u, b + v, c + w) < _BLIND


def y_of(matrix: Array) -> Direction:
    """The Y of a rest matrix (4, 4) as plain numbers."""
    y: Direction = matrix[:3, 1].tolist()
    return y


def clear_view(matrix: Array, above: Direction | None) -> Array:
    """A rest matrix with the same Z, turned about it by as little as makes it clear; as it is where nothing does."""
    x, y = matrix[:3, 0].tolist(), y_of(matrix)
    if is_clear(y, above):
        return matrix
    angles = sorted((*_opposites(x, y, above), *_TURNS), key=lambda angle: -math.cos(angle))
    angle = next((angle for angle in angles if is_clear(_turned(x, y, angle), above)), None)
    if angle is None:
        return matrix
    turned = matrix.copy()
    cos, sin = math.cos(angle), math.sin(angle)
    turned[:3, 0] = cos * matrix[:3, 0] + sin * matrix[:3, 1]
    turned[:3, 1] = cos * matrix[:3, 1] - sin * matrix[:3, 0]
    return turned


def _opposites(x: Direction, y: Direction, above: Direction | None) -> list[float]:
    """The turns about Z that bring Y to the very opposite of the armature's Y, or of the bone's above."""
    others = [_OWN_Y] if above is None else [_OWN_Y, above]
    return [math.atan2(_along(other, x), -_along(other, y)) for other in others]


def _along(one: Direction, other: Direction) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _turned(x: Direction, y: Direction, angle: float) -> Direction:
    """Y, turned about Z."""
    cos, sin = math.cos(angle), math.sin(angle)
    return [cos * b - sin * a for a, b in zip(x, y, strict=True)]


def aimed(frame: Array, axis: Array, towards: Array) -> Array:
    """A rest matrix at a joint's frame (4, 4) with Z on an axis of that frame, Y as near as it can be to ``towards``,
    or anywhere where that is along the axis."""
    out = frame.copy()
    z = frame[:3, :3] @ (axis / np.linalg.norm(axis))
    y = towards - z * (towards @ z)
    if np.linalg.norm(y) < 1e-3:
        y = frame_with_z(z)[:, 1]
    y = y / np.linalg.norm(y)
    out[:3, 0], out[:3, 1], out[:3, 2] = np.cross(y, z), y, z
    return out


def frame_of_layout(frame: Array, layout: Layout) -> Array:
    """The rest matrix at a joint's frame (4, 4) of a bone whose axes are all laid down."""
    assert layout.axes is not None
    out = frame.copy()
    out[:3, :3] = frame[:3, :3] @ layout.axes
    return out
