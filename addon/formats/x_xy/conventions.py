"""How x_xy turns things, and what its geoms weigh.

``euler`` is the active orientation ``Rz @ Ry @ Rx`` in degrees. ``quat`` (w x y z) is passive: it takes the parent's
coordinates to the child's, so that the orientation is its inverse. The program never makes it a unit quaternion, and
what hangs on a body whose quaternion is none stands at its position times the square of the quaternion's length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core.model import Array
from ...core.record_utils import MIDDLE, NOTHING
from ...core.report import FormatError
from ...core.transforms import identical

#: Below this, poses and numbers are the same.
SAME = 1e-12
#: An edit of one number beyond ``EDITED`` may leave the rounding of 32 bits in its neighbours: they are then the same.
EDITED, ROUNDING = 1e-5, 3e-7


Rows = tuple[tuple[float, float, float], ...]
#: The rows of no turn.
UPRIGHT: Rows = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def turn_of_euler(degrees: Sequence[float]) -> Array:
    """Rotation matrix (3, 3) of ``euler``. Quarter turns come out exact."""
    return np.array(rows_of_euler(degrees))


def rows_of_euler(degrees: Sequence[float]) -> Rows:
    """The rows of the same."""
    (cx, sx), (cy, sy), (cz, sz) = (_cos_sin(angle) for angle in degrees)
    return (
        (cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx),
        (sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx),
        (-sy, cy * sx, cy * cx),
    )


def turn_of_quat(quat: Sequence[float]) -> Array:
    """Rotation matrix (3, 3) of ``quat``, whatever its length. The identity for zero."""
    return np.array(rows_of_quat(quat))


def rows_of_quat(quat: Sequence[float]) -> Rows:
    """The rows of the same."""
    w, x, y, z = quat
    square = w * w + x * x + y * y + z * z
    if square == 0.0:
        return UPRIGHT
    if math.isinf(square):  # the squares are beyond all numbers
        longest = max(map(abs, quat))
        return rows_of_quat([part / longest for part in quat])
    s = 2.0 / square
    return (
        (1 - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y)),
        (s * (x * y - w * z), 1 - s * (x * x + z * z), s * (y * z + w * x)),
        (s * (x * z + w * y), s * (y * z - w * x), 1 - s * (x * x + y * y)),
    )


def pose_of_rows(position: Sequence[float], rows: Rows) -> Array:
    """A pose (4, 4) of a place and the rows of a turn."""
    x, y, z = position
    one, two, three = rows
    return np.array([(*one, x), (*two, y), (*three, z), (0.0, 0.0, 0.0, 1.0)])


def euler_of(turn: Array, near: Sequence[float] = (0.0, 0.0, 0.0)) -> tuple[float, ...]:
    """Degrees of a rotation matrix: of all that give it, those nearest to ``near``."""
    flat = math.hypot(turn[0, 0], turn[1, 0])
    y = math.atan2(-turn[2, 0], flat)
    upright = flat < SAME  # x and z turn about one line: z stays
    z = math.radians(near[2]) if upright else math.atan2(turn[1, 0], turn[0, 0])
    rest = turn_of_euler((0.0, math.degrees(y), math.degrees(z))).T @ turn  # what is left of it for x, exact for any z
    x = math.atan2(rest[2, 1], rest[2, 2])
    choices = [(x, y, z)] if upright else [(x, y, z), (x + math.pi, math.pi - y, z + math.pi)]
    wound = [tuple(_wound(math.degrees(a), b) for a, b in zip(choice, near, strict=True)) for choice in choices]
    return min(wound, key=lambda choice: math.dist(choice, near))


def quat_of(turn: Array, near: Sequence[float] = (1.0, 0.0, 0.0, 0.0)) -> tuple[float, ...]:
    """``quat`` of a rotation matrix, of ``near``'s length and sign."""
    symmetric = np.array(
        [
            [1 + turn[0, 0] + turn[1, 1] + turn[2, 2], 0, 0, 0],
            [turn[1, 2] - turn[2, 1], 1 + turn[0, 0] - turn[1, 1] - turn[2, 2], 0, 0],
            [turn[2, 0] - turn[0, 2], turn[0, 1] + turn[1, 0], 1 - turn[0, 0] + turn[1, 1] - turn[2, 2], 0],
            [
                turn[0, 1] - turn[1, 0],
                turn[0, 2] + turn[2, 0],
                turn[1, 2] + turn[2, 1],
                1 - turn[0, 0] - turn[1, 1] + turn[2, 2],
            ],
        ]
    )
    symmetric += np.tril(symmetric, -1).T  # four times the outer product of the quaternion with itself
    column = symmetric[int(np.argmax(np.diag(symmetric)))]
    length = math.hypot(*near) or 1.0
    # divided first: the square of the length may be beyond all numbers
    sign = -1.0 if column @ (np.asarray(near) / length) < 0 else 1.0
    return tuple((column / np.linalg.norm(column) * (sign * length)).tolist())


def pose_of(position: Sequence[float] | Array, turn: Array) -> Array:
    """A pose (4, 4)."""
    pose = np.eye(4)
    pose[:3, :3] = turn
    pose[:3, 3] = position
    return pose


def same(a: Array, b: Array, tolerance: float = SAME) -> bool:
    """Return whether two arrays are equal but for rounding."""
    return identical(a, b) or bool((np.abs(a - b) <= tolerance * (1.0 + np.abs(b))).all())


def geom_moments(kind: str, dim: Sequence[float], mass: float) -> tuple[float, float, float]:
    """The moments of inertia that the program gives a geom, about its middle, along its own axes. Cylinders and
    capsules count as lying along x, although they are drawn along z."""
    if kind == "box":
        x, y, z = (length * length for length in dim)
        return mass / 12.0 * (y + z), mass / 12.0 * (x + z), mass / 12.0 * (x + y)
    if kind == "sphere":
        moment = 0.4 * mass * dim[0] * dim[0]
        return moment, moment, moment
    if kind not in {"cylinder", "capsule"}:
        return 0.0, 0.0, 0.0
    radius, length = map(np.float64, dim)  # whose powers do not raise
    with np.errstate(all="ignore"):
        tube, ball = math.pi * radius**2 * length, 4.0 / 3.0 * math.pi * radius**3
        share = 1.0 if kind == "cylinder" else tube / (tube + ball)
        along = share * radius**2 / 2.0 + (1.0 - share) * 0.4 * radius**2
        across = share * (radius**2 / 4.0 + length**2 / 12.0) + (1.0 - share) * (
            0.4 * radius**2 + 0.375 * radius * length + 0.25 * length**2
        )
    return mass * float(along), mass * float(across), mass * float(across)


def weigh(geoms: Sequence[tuple[str, Sequence[float], float, Array]]) -> tuple[float, Array, Array]:
    """Mass, centre of mass (3,) and inertia tensor (3, 3) about it, of geoms given as kind, dim, mass and pose (4, 4)
    in their body."""
    if not geoms:
        return 0.0, MIDDLE, NOTHING
    mass = float(sum(geom[2] for geom in geoms))
    poses = [geom[3].tolist() for geom in geoms]
    com = [0.0, 0.0, 0.0]
    if mass:
        parts = [geom[2] for geom in geoms]
        com = [sum(part * pose[i][3] for part, pose in zip(parts, poses, strict=True)) / mass for i in range(3)]
    xx = yy = zz = xy = xz = yz = 0.0
    for (kind, dim, part, _), (one, two, three, _) in zip(geoms, poses, strict=True):
        if not part:
            continue  # what weighs nothing may be as far away as numbers go
        a, b, c = geom_moments(kind, dim, part)
        x, y, z = one[3] - com[0], two[3] - com[1], three[3] - com[2]
        xx += a * one[0] * one[0] + b * one[1] * one[1] + c * one[2] * one[2] + part * (y * y + z * z)
        yy += a * two[0] * two[0] + b * two[1] * two[1] + c * two[2] * two[2] + part * (x * x + z * z)
        zz += a * three[0] * three[0] + b * three[1] * three[1] + c * three[2] * three[2] + part * (x * x + y * y)
        xy += a * one[0] * two[0] + b * one[1] * two[1] + c * one[2] * two[2] - part * x * y
        xz += a * one[0] * three[0] + b * one[1] * three[1] + c * one[2] * three[2] - part * x * z
        yz += a * two[0] * three[0] + b * two[1] * three[1] + c * two[2] * three[2] - part * y * z
    return mass, np.array(com), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def equivalent_box(mass: float, inertia: Array) -> tuple[Array, Array]:
    """Edge lengths (3,) and orientation (3, 3) of the box that has this mass and inertia tensor about its middle. An
    edge that no box can have (negative squared) is zero. FormatError where it is beyond all numbers."""
    moments, turn = np.linalg.eigh(inertia)
    if np.linalg.det(turn) < 0:
        turn[:, 2] = -turn[:, 2]
    with np.errstate(all="ignore"):
        squares = 6.0 / np.float64(mass) * (moments.sum() - 2.0 * moments)
    if not np.isfinite(squares).all():
        raise FormatError(
            f"no box has the mass {mass:g} and the moments of inertia {moments}",
            remedy="Give the body a mass that fits its moment of inertia.",
        )
    return np.sqrt(np.maximum(squares, 0.0)), turn


def _cos_sin(degrees: float) -> tuple[float, float]:
    if degrees % 90.0 == 0.0:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[int(degrees // 90.0) % 4]
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


def _wound(angle: float, near: float) -> float:
    """The angle plus the full turns that bring it nearest to another (degrees)."""
    return angle + 360.0 * round((near - angle) / 360.0)
