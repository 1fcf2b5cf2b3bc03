"""Rest frames of bones, kept out of Blender's blind spots. No bpy.

Blender keeps a bone as head, tail and roll. For a bone whose Y is almost but not quite the opposite of its armature's
Y, or of its parent's, it gets a frame back that is off (measured, 4.2 to 5.2): by up to 2e-4 within 0.0003 of the
opposite, where it takes it for the opposite itself, and by up to 3e-5 from about 0.11 to 0.25, where its 32-bit formula
loses digits.
"""

from __future__ import annotations

import numpy as np

from ...model.kinematics import frame_with_z
from ...model.records import Array
from .degrees import Layout

_EXACT = 2e-6  # so near (rad) that taking it for the opposite does no harm
_BLIND = ((_EXACT, 4e-4), (0.107, 0.25))
_NEAR = -0.96  # cosine: what is further from the opposite is in no blind spot
_OWN_Y = np.array([0.0, 1.0, 0.0])
#: Turns (rad) about a bone's Z that are tried to get out of a blind spot, the least first.
_TURNS = [sign * turn for turn in (1e-3, *np.arange(0.02, 0.5, 0.02)) for sign in (1.0, -1.0)]


def is_clear(matrix: Array, above: Array | None) -> bool:
    """Whether Blender keeps a rest matrix (4, 4) well under the bone ``above`` (its rest matrix; None at the root)."""
    y = matrix[:3, 1]
    return _is_clear(y, _OWN_Y) and (above is None or _is_clear(y, above[:3, 1]))


def _is_clear(y: Array, other: Array) -> bool:
    if float(y @ other) > _NEAR:
        return True
    apart = float(np.linalg.norm(y + other))
    return not any(low < apart < high for low, high in _BLIND)


def clear_view(matrix: Array, above: Array | None) -> Array:
    """A rest matrix with the same Z, turned about it by as little as makes it clear."""
    if is_clear(matrix, above):
        return matrix
    for angle in _TURNS:
        turned = matrix.copy()
        cos, sin = np.cos(angle), np.sin(angle)
        turned[:3, 0] = cos * matrix[:3, 0] + sin * matrix[:3, 1]
        turned[:3, 1] = cos * matrix[:3, 1] - sin * matrix[:3, 0]
        if is_clear(turned, above):
            return turned
    return matrix


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
