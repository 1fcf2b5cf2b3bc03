"""Frames carried through the joints of a mechanism, in many poses at once.

What is fixed between one move and the next is one pose, with the axis of a turn as its z: a turn is of two columns then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .records import DOF_SIZE, Array, Dof, Joint
from .rotations import frame_with_z, inverse, rotation_matrix

#: A frame in many poses: the columns of its rotation, [column, row, pose], so that one product turns all poses, and its
#: origin, [row, pose]. What is the same in all poses has one.
State = tuple[Array, Array]

#: The kinds of degrees that turn about an axis, and how nearly a rotation is none.
_TURNS = {"rotation", "screw"}
_UNTURNED, _NOTHING = np.eye(3), 1e-15


class Fixed:
    """A constant pose (4, 4), and how it is gone through: one product for the rotation's columns and the translation;
    where nothing is turned, one for the translation alone."""

    def __init__(self, pose: Array) -> None:
        self.pose = pose
        self._turns = bool(np.abs(pose[:3, :3] - _UNTURNED).max() >= _NOTHING)
        self._shifts = bool(pose[:3, 3].any())
        self._columns, self._shift = np.ascontiguousarray(pose[:3, :].T), np.ascontiguousarray(pose[:3, 3])

    def of(self, state: State) -> State:
        """A frame gone through it."""
        columns, origin = state
        poses = columns.shape[-1]
        if self._turns:
            both = self._columns @ columns.reshape(3, -1)
            return both[:3].reshape(3, 3, poses), origin + both[3].reshape(3, poses)
        if self._shifts:
            origin = origin + (self._shift @ columns.reshape(3, -1)).reshape(3, poses)
        return columns, origin


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

    def through(self, state: State, part: slice) -> State:
        """From the carrier's last move to the body's own, for a part of the poses."""
        for fixed, dof, amount in self.moves:
            state = move(fixed.of(state), dof, amount if len(amount) == 1 else amount[part], self.against)
        return state


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


def put(world: Array, state: State) -> None:
    """Write a frame into (4, 4, poses)."""
    columns, origin = state
    world[:3, :3] = columns.transpose(1, 0, 2)
    world[:3, 3] = origin


def _is_straight(dof: Dof) -> bool:
    return bool(dof.axis[0] == 0.0 and dof.axis[1] == 0.0 and dof.axis[2] > 0.0)


def move(state: State, dof: Dof, amount: Array, backwards: bool) -> State:
    columns, origin = state
    if dof.kind == "translation":
        return columns, origin + (dof.axis @ columns.reshape(3, -1)).reshape(3, -1) * amount
    if dof.kind == "screw":
        origin = origin + (dof.axis @ columns.reshape(3, -1)).reshape(3, -1) * (amount * dof.pitch)
    if dof.kind in _TURNS:
        if _is_straight(dof):
            return _spun(columns, amount), origin
        align = frame_with_z(dof.axis)
        aligned = (align.T @ columns.reshape(3, -1)).reshape(columns.shape)
        return (align @ (spun := _spun(aligned, amount)).reshape(3, -1)).reshape(spun.shape), origin
    poses = max(columns.shape[-1], len(amount))
    columns = np.broadcast_to(columns, (3, 3, poses))
    turn = np.broadcast_to(rotation_matrix(amount[..., :3]), (poses, 3, 3))
    if dof.kind == "free" and not backwards:
        origin = origin + np.einsum("jip,pj->ip", columns, np.broadcast_to(amount[..., 3:], (poses, 3)))
    columns = np.einsum("kip,pkj->jip", columns, turn)
    if dof.kind == "free" and backwards:
        origin = origin + np.einsum("jip,pj->ip", columns, np.broadcast_to(amount[..., 3:], (poses, 3)))
    return columns, origin


def _spun(columns: Array, amount: Array) -> Array:
    """Columns turned about their z: the third stays."""
    cos, sin = np.cos(amount), np.sin(amount)
    out = np.empty((3, 3, max(columns.shape[-1], len(amount))))
    np.multiply(columns[0], cos, out=out[0])
    np.multiply(columns[1], sin, out=out[2])
    out[0] += out[2]
    np.multiply(columns[1], cos, out=out[1])
    np.multiply(columns[0], sin, out=out[2])
    out[1] -= out[2]
    out[2] = columns[2]
    return out
