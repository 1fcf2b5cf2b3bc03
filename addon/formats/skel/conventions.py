"""Poses and the six numbers in which SKEL writes them: x y z and the angles of Rx(a) Ry(b) Rz(c), in radians."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ...core import naming
from ...core.model import Array
from ...core.transforms import frame_with_z, identical

Six = tuple[float, ...]
#: Poses that differ by less, in length units and in the entries of their rotations, are one.
SAME_POSE = 1e-9


def pose_of(six: Sequence[float]) -> Array:
    """The 4x4 pose of six numbers."""
    x, y, z, a, b, c = six
    if not (a or b or c):
        return np.array([(1.0, 0.0, 0.0, x), (0.0, 1.0, 0.0, y), (0.0, 0.0, 1.0, z), (0.0, 0.0, 0.0, 1.0)])
    sa, ca, sb, cb, sc, cc = math.sin(a), math.cos(a), math.sin(b), math.cos(b), math.sin(c), math.cos(c)
    return np.array(
        [
            [cb * cc, -cb * sc, sb, x],
            [ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb, y],
            [sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb, z],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def six_of(pose: Array, near: Sequence[float] | None = None) -> Six:
    """The six numbers of a pose. What is in ``near`` and still true is taken from there.

    Near a middle angle of a quarter turn the outer two angles are hardly determined: the first is then chosen to fit
    the third, so that all three together are exact."""
    turn, position = pose[:3, :3], pose[:3, 3]
    if near is not None and np.abs(pose_of(near)[:3, :3] - turn).max() < 1e-14:
        angles = tuple(near[3:])
    else:
        flat = math.hypot(turn[0, 0], turn[0, 1])
        c = math.atan2(-turn[0, 1], turn[0, 0]) if flat > 1e-12 else 0.0
        sine, cosine = math.sin(c), math.cos(c)
        second = turn[:, 0] * sine + turn[:, 1] * cosine  # the second column of Rx(a)
        a = math.atan2(second[2], second[1])
        b = math.atan2(turn[0, 2], turn[0, 0] * cosine - turn[0, 1] * sine)
        angles = (a, b, c)
    place = tuple(
        float(kept) if kept is not None and abs(kept - x) <= 1e-14 * (1.0 + abs(x)) else float(x)
        for x, kept in zip(position, near[:3] if near is not None else (None,) * 3, strict=True)
    )
    return (*place, *(float(angle) for angle in angles))


def same_pose(a: Array, b: Array) -> bool:
    """Return whether two poses are one."""
    return identical(a, b) or bool(np.abs(a - b).max() <= SAME_POSE * (1.0 + np.abs(b[:3, 3]).max()))


def along_z(axis: Array, distance: float = 0.0) -> Array:
    """A pose whose Z is the unit vector ``axis`` and whose origin lies ``distance`` along it."""
    pose = np.eye(4)
    pose[:3, :3] = frame_with_z(axis)
    pose[:3, 3] = np.asarray(axis) * distance
    return pose


class Unique(naming.Unique):
    """Gives every name once: a name that is taken gets a number in brackets, as DART does."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        super().__init__(lambda name, number: f"{name}({number})", 1, taken)


def plain(name: str, otherwise: str) -> str:
    """A name as DART finds it again: without white space around it or breaks in it, and not empty."""
    return " ".join(name.split()) or otherwise
