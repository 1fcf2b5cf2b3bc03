"""The loops of a mechanism as chains, for many positions at once.

A chain leads from the child's side of a chord, where the chord itself has it, round the loop to the same side where the
spanning tree has it: ``G = C0 E1 C1 ... Em Cm``, with constant frames ``C`` and elementary motions ``E`` about and
along z, or about a point. A loop is closed where ``G`` is the identity. The derivative of ``G`` is the product of
exponentials' (Lynch and Park, *Modern Robotics*, 2017, 5.1.1): each column is the screw of an elementary motion,
carried to where the motions before it have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .kinematics import Link, Tree
from .records import DOF_SIZE, Array, Dof, Joint
from .rotations import frame_with_z, inverse, rotation_matrix, rotation_vector

_ONE = np.eye(4)
_NEXT, _AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])
#: Of both the one after the other: slices of it are views.
_ROUND = np.array([0, 1, 2, 0, 1])


@dataclass(frozen=True)
class _Element:
    """An elementary motion: its first column among the unknowns, what a unit of that turns and shifts it by along z,
    and the frame (4, 4) behind it. A ball's three columns turn it about its place."""

    column: int
    turn: float
    shift: float
    is_ball: bool
    behind: Array


class LoopChains:
    """The chains of a tree's chords, padded to the same length.

    ``columns`` maps joint ids to their unknowns, of which there are ``unknowns``, in rad and length units."""

    def __init__(self, tree: Tree, chords: Sequence[Joint], columns: Mapping[str, slice], unknowns: int) -> None:
        self._unknowns, self.count = unknowns, len(chords)
        link_of = {link.body: link for link in tree.links}
        chains = [_chain(tree, link_of, chord, columns) for chord in chords]
        self._length = max((len(chain[1]) for chain in chains), default=0)
        self._first = np.array([first for first, _ in chains]).reshape(-1, 4, 4)
        self._behind = np.tile(_ONE, (self.count, self._length, 1, 1))
        singles: list[tuple[int, int, float, float]] = []
        balls: list[tuple[int, int, float]] = []
        for row, (_, elements) in enumerate(chains):
            for number, element in enumerate(elements):
                self._behind[row, number] = element.behind
                place = row * self._length + number
                if element.is_ball:
                    balls.append((place, element.column, element.turn))
                else:
                    singles.append((place, element.column, element.turn, element.shift))
        ones = np.array(singles, dtype=np.float64).reshape(-1, 4)
        self._places, self._columns = ones[:, 0].astype(np.intp), ones[:, 1].astype(np.intp)
        self._turns, self._shifts = ones[:, 2], ones[:, 3]
        threes = np.array(balls, dtype=np.float64).reshape(-1, 3)
        self._ball_places, self._senses = threes[:, 0].astype(np.intp), threes[:, 2]
        self._ball_columns = threes[:, 1].astype(np.intp)[:, None] + np.arange(3)
        every = np.concatenate([self._places, np.repeat(self._ball_places, 3)])
        #: For each screw: its chain, its column, and the frame that it stands in (a chain has one more than motions).
        self._chain_of = every // max(self._length, 1)
        self._column_of = np.concatenate([self._columns, self._ball_columns.ravel()])
        self._frame_of = every + self._chain_of
        #: Which unknowns move each chain, (chains, n).
        self.touched = np.zeros((self.count, unknowns), dtype=bool)
        self.touched[self._chain_of, self._column_of] = True
        self._turns_of = np.concatenate([self._turns, np.ones(3 * len(balls))])[:, None]
        self._shifts_of = np.concatenate([self._shifts, np.zeros(3 * len(balls))])[:, None]
        self._slides = bool(self._shifts.any())

    def gaps(self, values: Array) -> Array:
        """``G`` of every chain, (positions, chains, 4, 4), for unknowns (positions, n)."""
        return self._frames(values)[0][:, :, -1]

    def linearized(self, values: Array) -> tuple[Array, Array]:
        """Rotation vector and offset of ``G`` (positions, chains, 6), and their rates for unit rates of the unknowns
        (positions, chains, 6, n)."""
        frames, spins = self._frames(values)
        positions, gaps = len(values), frames[:, :, -1]
        flat = frames.reshape(positions, -1, 4, 4)[:, self._frame_of]
        told = openings_of_gaps(gaps)
        there = told[:, self._chain_of]
        axes, places = flat[..., :3, 2], flat[..., :3, 3]
        if spins is not None:
            singles = len(self._places)
            axes = axes.copy()
            balls = flat[:, singles::3, :3, :3] @ spins
            axes[:, singles:] = np.swapaxes(balls, -1, -2).reshape(positions, -1, 3)
        turn = axes * self._turns_of
        shift = crossed(places - there[..., 3:], turn)
        if self._slides:
            shift += axes * self._shifts_of
        out = np.zeros((positions, self.count, self._unknowns, 6))
        out[:, self._chain_of, self._column_of] = np.concatenate([_vector_rates(there[..., :3], turn), shift], axis=-1)
        return told, np.swapaxes(out, -1, -2)

    def _frames(self, values: Array) -> tuple[Array, Array | None]:
        """The frame before each motion, and ``G``: (positions, chains, length + 1, 4, 4); and what unit rates of balls'
        rotation vectors turn them by, seen from before them, (positions, balls, 3, 3)."""
        positions, spins = len(values), None
        motions = np.empty((positions, self.count * self._length, 4, 4))
        motions[:] = _ONE
        told = values[:, self._columns]
        angles = told * self._turns
        sines = np.sin(angles)
        motions[:, self._places, 0, 0] = motions[:, self._places, 1, 1] = np.cos(angles)
        motions[:, self._places, 1, 0] = sines
        motions[:, self._places, 0, 1] = -sines
        if self._slides:
            motions[:, self._places, 2, 3] = told * self._shifts
        if len(self._ball_places):
            vectors = values[:, self._ball_columns] * self._senses[:, None]
            motions[:, self._ball_places, :3, :3] = rotation_matrix(vectors)
            spins = spin_rates(vectors) * self._senses[:, None, None]
        steps = motions.reshape(positions, self.count, self._length, 4, 4) @ self._behind
        frames = np.empty((positions, self.count, self._length + 1, 4, 4))
        frames[:, :, 0] = self._first
        for number in range(self._length):
            np.matmul(frames[:, :, number], steps[:, :, number], out=frames[:, :, number + 1])
        return frames, spins


def _chain(
    tree: Tree, link_of: Mapping[str, Link], chord: Joint, columns: Mapping[str, slice]
) -> tuple[Array, list[_Element]]:
    """The first frame of a chord's chain and its motions."""
    up, down = way_of(link_of, chord.parent), way_of(link_of, chord.child)
    while up and down and up[-1] is down[-1]:
        up.pop()
        down.pop()
    poses = {None: _ONE, **{root.id: root.pose for root in tree.roots}}
    top, bottom = (way[-1].carrier if way else end for way, end in ((up, chord.parent), (down, chord.child)))
    chain = _Chain(columns)
    chain.move(chord, True)
    chain.go(inverse(chord.frame_parent))
    for link in up:
        frames = (link.joint.frame_parent, link.joint.frame_child)[:: -1 if link.against else 1]
        chain.go(frames[1])
        chain.move(link.joint, not link.against)
        chain.go(inverse(frames[0]))
    if top != bottom:  # ways that meet in a body meet where that is
        chain.go(inverse(poses[top]) @ poses[bottom])
    for link in reversed(down):
        frames = (link.joint.frame_parent, link.joint.frame_child)[:: -1 if link.against else 1]
        chain.go(frames[0])
        chain.move(link.joint, link.against)
        chain.go(inverse(frames[1]))
    chain.go(chord.frame_child)
    return chain.first, chain.elements


def way_of(link_of: Mapping[str, Link], body: str | None) -> list[Link]:
    """The links from a body to its root."""
    found = []
    while body is not None and body in link_of:
        found.append(link_of[body])
        body = found[-1].carrier
    return found


class _Chain:
    """A chain in the making."""

    def __init__(self, columns: Mapping[str, slice]) -> None:
        self._columns = columns
        self.first = _ONE
        self.elements: list[_Element] = []

    def go(self, frame: Array) -> None:
        """Go on by a constant frame."""
        if self.elements:
            last = self.elements[-1]
            self.elements[-1] = _Element(last.column, last.turn, last.shift, last.is_ball, last.behind @ frame)
        else:
            self.first = self.first @ frame

    def move(self, joint: Joint, inverted: bool) -> None:
        """Go on by the motion of a joint, or by its inverse."""
        if not joint.dofs:
            return
        at, moves = self._columns[joint.id].start, []
        for dof in joint.dofs:
            moves += (
                [(dof, at)] if dof.kind != "free" else [(Dof("translation", _ONE[k, :3]), at + 3 + k) for k in range(3)]
            )
            if dof.kind == "free":
                moves.append((Dof("ball"), at))
            at += DOF_SIZE[dof.kind]
        for dof, column in reversed(moves) if inverted else moves:
            self._add(dof, column, -1.0 if inverted else 1.0)

    def _add(self, dof: Dof, column: int, sense: float) -> None:
        if dof.kind == "ball":
            self.elements.append(_Element(column, sense, 0.0, True, _ONE))
            return
        long = float(np.linalg.norm(dof.axis))
        frame = np.eye(4)
        frame[:3, :3] = frame_with_z(dof.axis)
        turn = 0.0 if dof.kind == "translation" else sense
        shift = sense * long * {"translation": 1.0, "screw": dof.pitch}.get(dof.kind, 0.0)
        self.go(frame)
        self.elements.append(_Element(column, turn, shift, False, frame.T))


def crossed(one: Array, other: Array) -> Array:
    """Cross products (..., 3)."""
    one, other = one[..., _ROUND], other[..., _ROUND]
    return one[..., 1:4] * other[..., 2:] - one[..., 2:] * other[..., 1:4]


def openings_of_gaps(gaps: Array) -> Array:
    """Rotation vectors and offsets (..., 6) of poses (..., 4, 4), most of which hardly turn."""
    return np.concatenate((vectors_of_gaps(gaps), gaps[..., :3, 3]), axis=-1)


def vectors_of_gaps(gaps: Array) -> Array:
    """Rotation vectors (..., 3) of poses (..., 4, 4), most of which hardly turn."""
    sines = 0.5 * (gaps[..., _AFTER, _NEXT] - gaps[..., _NEXT, _AFTER])
    squares = (sines * sines).sum(axis=-1)
    cosines = gaps[..., 0, 0] + gaps[..., 1, 1] + gaps[..., 2, 2]
    if squares.size and cosines.min() > 1.0:
        if squares.max() < 1e-12:
            return sines
        length = np.sqrt(squares)
        told = np.arctan2(length, 0.5 * (cosines - 1.0)) / np.where(length > 0.0, length, 1.0)
        return sines * np.where(length > 0.0, told, 1.0)[..., None]
    return rotation_vector(gaps[..., :3, :3])


def _vector_rates(vectors: Array, turns: Array) -> Array:
    """Rates (..., 3) of rotation vectors, of half a turn and less, for angular velocities in the outer axes."""
    once = crossed(vectors, turns)
    out = turns - 0.5 * once
    squares = (vectors * vectors).sum(axis=-1, keepdims=True)
    if squares.size and squares.max() > 1e-12:
        angle = np.sqrt(squares)
        some = np.where(angle < 1e-2, 1.0, angle)
        far = (1.0 - 0.5 * some / np.tan(0.5 * some)) / some**2
        out = out + np.where(angle < 1e-2, (1.0 + squares / 60.0) / 12.0, far) * crossed(vectors, once)
    return out


def spin_rates(vectors: Array) -> Array:
    """Angular velocities, in the outer axes, for unit rates of rotation vectors (..., 3): (..., 3, 3)."""
    angle = np.sqrt((vectors * vectors).sum(axis=-1))[..., None, None]
    some = np.where(angle < 1e-4, 1.0, angle)
    first = np.where(angle < 1e-4, 0.5, (1.0 - np.cos(some)) / some**2)
    second = np.where(angle < 1e-4, 1.0 / 6.0, (some - np.sin(some)) / some**3)
    cross = np.zeros((*vectors.shape, 3))
    cross[..., _AFTER, _NEXT], cross[..., _NEXT, _AFTER] = vectors, -vectors
    return np.eye(3) + first * cross + second * (cross @ cross)
