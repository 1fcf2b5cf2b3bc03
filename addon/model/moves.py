"""Frames carried through the joints of a mechanism, in many poses at once.

What is fixed between one move and the next is one pose, with the axis of a turn as its z: two columns turn then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .records import DOF_SIZE, Array, Dof, Joint
from .rotations import frame_with_z, inverse, rotation_matrix

#: The kinds of degrees that turn about an axis, and how nearly a rotation is none.
_TURNS = {"rotation", "screw"}
_UNTURNED, _NOTHING = np.eye(3), 1e-15


class Frames(NamedTuple):
    """A frame in many poses, each of three numbers in a row and side by side for all poses, (3, poses), or (3, 1) where
    all poses have the same. ``pair``: the first two columns of its rotation as one complex number, x + iy: a turn about
    z multiplies that and leaves the ``third`` column."""

    pair: NDArray[np.complex128]
    third: Array
    origin: Array

    @staticmethod
    def at(poses: Array) -> Frames:
        """At poses (n, 4, 4)."""
        columns = poses[:, :3].transpose(2, 1, 0)
        return Frames(columns[0] + 1j * columns[1], columns[2], columns[3])

    def put(self, into: Array) -> None:
        """Write the poses into (4, 4, poses)."""
        into[:3, 0], into[:3, 1], into[:3, 2], into[:3, 3] = self.pair.real, self.pair.imag, self.third, self.origin

    def columns(self, poses: int = 0) -> Array:
        """The rotation, (column, row, poses), of at least so many poses."""
        out = np.empty((3, 3, max(poses, self.pair.shape[-1], self.third.shape[-1])))
        out[0], out[1], out[2] = self.pair.real, self.pair.imag, self.third
        return out

    def turned(self, columns: Array) -> Frames:
        """With another rotation."""
        return Frames(columns[0] + 1j * columns[1], columns[2], self.origin)

    def spun(self, angle: Array) -> Frames:
        """Turned about its z by angles (n,)."""
        return self._replace(pair=self.pair * np.exp(-1j * angle))

    def shifted(self, way: Array, times: Array | float = 1.0) -> Frames:
        """Moved along a way (3,) of its own, as often as ``times`` says, (n,)."""
        x, y, z = way.tolist()
        moved = (complex(x, -y) * self.pair).real if x or y else 0.0
        return self._replace(origin=self.origin + (moved + z * self.third if z else moved) * times)


class Fixed:
    """A constant pose (4, 4), and how it is gone through: where it turns nothing, by its translation alone."""

    def __init__(self, pose: Array) -> None:
        self.pose = pose
        self._turn = None if np.abs(pose[:3, :3] - _UNTURNED).max() < _NOTHING else np.ascontiguousarray(pose[:3, :3].T)
        self._shift = pose[:3, 3] if pose[:3, 3].any() else None

    def of(self, frames: Frames) -> Frames:
        """Frames gone through it."""
        if self._shift is not None:
            frames = frames.shifted(self._shift)
        if self._turn is None:
            return frames
        columns = frames.columns()
        return frames.turned((self._turn @ columns.reshape(3, -1)).reshape(columns.shape))


@dataclass(frozen=True)
class Carry:
    """From a carrier to the body it carries: each move with the fixed pose before it, and the ``rest``, from the last
    of them, or of the carrier's, to the body. Bodies are told by their numbers; -1 is the world."""

    body: int
    carrier: int
    moves: list[tuple[Fixed, Dof, Array]]
    rest: Fixed
    against: bool

    @staticmethod
    def by(joint: Joint, value: Array | None, before: Array, ends: tuple[int, int], against: bool) -> Carry:
        """Through a joint at coordinates (poses, size) or (1, size), None for zero, to the second of two ``ends``.
        ``before``: the fixed pose that leads to the first."""
        entry, leave = (joint.frame_child, joint.frame_parent) if against else (joint.frame_parent, joint.frame_child)
        dealt = [] if value is None else split(joint, np.asarray(value, dtype=np.float64))
        if against:
            dealt = [(dof, -amount) for dof, amount in reversed(dealt)]
        fixed, moves = before @ entry, []
        for dof, amount in dealt:
            align, straight = np.eye(4), dof
            if dof.kind in _TURNS and not _is_straight(dof):
                align[:3, :3] = frame_with_z(dof.axis)
                straight = replace(dof, axis=np.array([0.0, 0.0, 1.0]))
            moves.append((Fixed(fixed @ align), straight, amount))
            fixed = align.T
        return Carry(ends[1], ends[0], moves, Fixed(fixed @ inverse(leave)), against)

    def through(self, frames: Frames, part: slice) -> Frames:
        """From the carrier's last move to the body's own, for a part of the poses."""
        for fixed, dof, amount in self.moves:
            frames = move(fixed.of(frames), dof, amount if len(amount) == 1 else amount[part], self.against)
        return frames


def split(joint: Joint, value: Array) -> list[tuple[Dof, Array]]:
    """A joint's coordinates dealt out to its degrees of freedom, each (poses,) or (poses, size)."""
    if value.ndim < 2:
        value = value.reshape(-1, 1)
    out, at = [], 0
    for dof in joint.dofs:
        size = DOF_SIZE[dof.kind]
        out.append((dof, value[:, at] if size == 1 else value[:, at : at + size]))
        at += size
    return out


def _is_straight(dof: Dof) -> bool:
    return bool(dof.axis[0] == 0.0 and dof.axis[1] == 0.0 and dof.axis[2] > 0.0)


def move(frames: Frames, dof: Dof, amount: Array, backwards: bool) -> Frames:
    """Frames moved by a degree of freedom, by amounts (n,) or (n, size). ``backwards``: from child to parent."""
    if dof.kind == "translation":
        return frames.shifted(dof.axis, amount)
    if dof.kind in _TURNS:
        if dof.kind == "screw":
            frames = frames.shifted(dof.axis, amount * dof.pitch)
        if _is_straight(dof):
            return frames.spun(amount)
        align = np.eye(4)
        align[:3, :3] = frame_with_z(dof.axis)
        return Fixed(align.T).of(Fixed(align).of(frames).spun(amount))
    columns = frames.columns(len(amount))
    turn = np.broadcast_to(rotation_matrix(amount[..., :3]), (columns.shape[-1], 3, 3))
    turned = np.einsum("kip,pkj->jip", columns, turn)
    if dof.kind == "free":
        slide = np.broadcast_to(amount[..., 3:], (columns.shape[-1], 3))
        way = np.einsum("jip,pj->ip", turned if backwards else columns, slide)
        frames = frames._replace(origin=frames.origin + way)
    return frames.turned(turned)
