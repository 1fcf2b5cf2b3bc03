"""Kinematic chains of closed loops, for many positions at once.

A chain leads from the child side of a chord, as the chord places it, round the loop to the same side as the spanning
tree places it: ``G = C0 E1 C1 ... Em Cm``, with constant frames ``C`` and elementary motions ``E`` about and along z,
or about a point. A loop is closed where ``G`` is the identity. The derivative of ``G`` is that of a product of
exponentials (Lynch and Park, *Modern Robotics*, 2017, 5.1.1): each column is the screw of an elementary motion,
transformed by the motions before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..kinematics import Link, Tree
from ..model import Array, Dof, Joint, dof_slices
from ..transforms import (
    IDENTITY_POSE,
    inverse,
    make_pose,
    rotation_matrix,
    rotation_vector,
    rotation_vector_jacobian,
    rotation_with_z,
)

_NEXT, _AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])
#: Cyclic indices, long enough that both shifts are slices (views).
_CYCLIC = np.array([0, 1, 2, 0, 1])
#: Indices in a flat pose (16,) of its z axis and its position, each in that cyclic order.
_AXIS_AND_ORIGIN = 4 * np.tile(_CYCLIC, 2) + np.repeat([2, 3], 5)
#: Indices of the two entries of each component of the skew part, and of the position.
_SKEW, _SKEW_TRANSPOSED, _ORIGIN_ENTRIES = 4 * _AFTER + _NEXT, 4 * _NEXT + _AFTER, np.array([3, 7, 11])
#: Matrices of a motion about and along z: cosine, sine and shift times the first three, plus the last.
_COSINE, _SINE, _SHIFT, _UNTURNED_PART = (
    np.diag([1.0, 1.0, 0.0, 0.0]),
    np.zeros((4, 4)),
    np.zeros((4, 4)),
    np.diag([0.0, 0, 1, 1]),
)
_SINE[1, 0], _SINE[0, 1], _SHIFT[2, 3] = 1.0, -1.0, 1.0


@dataclass(frozen=True)
class _ElementaryMotion:
    """Elementary motion about and along z, or of a ball about its point.

    Attributes:
        column: Index of its first column among the unknowns; a ball has three.
        turn: Rotation per unit of the unknown.
        shift: Translation per unit of the unknown.
        is_ball: It is a ball.
        behind: The frame (4, 4) after it.
    """

    column: int
    turn: float
    shift: float
    is_ball: bool
    behind: Array


class LoopChains:
    """Chains of a tree's chords, padded to the same length.

    ``columns`` maps joint ids to their unknowns, of which there are ``unknowns``, in rad and length units.
    """

    def __init__(self, tree: Tree, chords: Sequence[Joint], columns: Mapping[str, slice], unknowns: int) -> None:
        self._unknowns, self.count = unknowns, len(chords)
        link_of = {link.body: link for link in tree.links}
        chains = [_build_chain(tree, link_of, chord, columns) for chord in chords]
        self._length = max((len(chain[1]) for chain in chains), default=0)
        self._first = np.array([first for first, _ in chains]).reshape(-1, 4, 4)
        self._behind = np.tile(IDENTITY_POSE, (self.count * self._length, 1, 1))
        # for every motion, including the padding, which does not move
        numbers = np.zeros(len(self._behind), dtype=np.intp)
        turns, shifts = np.zeros(len(numbers)), np.zeros(len(numbers))
        balls: list[tuple[int, int, float]] = []
        singles: list[int] = []
        for row, (_, elements) in enumerate(chains):
            for number, element in enumerate(elements):
                place = row * self._length + number
                self._behind[place] = element.behind
                if element.is_ball:
                    balls.append((place, element.column, element.turn))
                else:
                    singles.append(place)
                    numbers[place], turns[place], shifts[place] = element.column, element.turn, element.shift
        self._columns, self._turns, self._shifts = numbers, turns, shifts
        self._slides = bool(shifts.any())
        parts = (_COSINE, _SINE, _SHIFT, _UNTURNED_PART)
        self._cosine, self._sine, self._shift, self._rest = (part @ self._behind for part in parts)
        threes = np.array(balls, dtype=np.float64).reshape(-1, 3)
        self._ball_places, self._senses = threes[:, 0].astype(np.intp), threes[:, 2]
        self._ball_columns = threes[:, 1].astype(np.intp)[:, None] + np.arange(3)
        places = np.array(singles, dtype=np.intp)
        self._singles = len(places)
        every = np.concatenate([places, np.repeat(self._ball_places, 3)])
        #: For each screw: its chain, its column, and the index of its frame (a chain has one more than motions).
        self.chain_of = every // max(self._length, 1)
        self.column_of = np.concatenate([numbers[places], self._ball_columns.ravel()])
        self._frame_of = every + self.chain_of
        ones = np.ones(3 * len(balls))
        self._turns_of = np.concatenate([turns[places], ones])[:, None]
        self._shifts_of = np.concatenate([shifts[places], 0.0 * ones])[:, None]
        #: Mask (chains, n) of the unknowns that move each chain.
        self.touched = np.zeros((self.count, unknowns), dtype=bool)
        self.touched[self.chain_of, self.column_of] = True

    def mismatches(self, values: Array) -> Array:
        """Compute ``G`` of every chain, (positions, chains, 4, 4), for unknowns (positions, n)."""
        return self._frames(values)[:, :, -1]

    def linearize(self, values: Array) -> tuple[Array, Array]:
        """Compute the residuals of ``G`` and their derivatives.

        Returns:
            Rotation vector and offset of ``G`` (positions, chains, 6), and their rates for unit rates of the unknowns
            (positions, chains, 6, n).
        """
        openings, screws = self.screws(values)
        screws[..., :3] = _rotation_vector_rates(openings[:, self.chain_of, :3], screws[..., :3])
        out = np.zeros((len(values), self.count, self._unknowns, 6))
        out[:, self.chain_of, self.column_of] = screws
        return openings, np.swapaxes(out, -1, -2)

    def screws(self, values: Array) -> tuple[Array, Array]:
        """Compute the residuals of ``G`` and the screws of the elementary motions; a ball has three.

        Returns:
            Rotation vector and offset of ``G`` (positions, chains, 6), and the angular and linear velocity of the end
            of each motion's chain for a unit rate of the motion (positions, screws, 6).
        """
        frames = self._frames(values)
        positions, openings = len(values), pose_vectors(frames[:, :, -1])
        flat = frames.reshape(positions, -1, 16)
        axes_and_origins = flat[:, self._frame_of[:, None], _AXIS_AND_ORIGIN]
        axes, arms = axes_and_origins[..., :5], axes_and_origins[..., 5:]
        if len(self._ball_places):
            spins = (
                rotation_vector_jacobian(values[:, self._ball_columns] * self._senses[:, None])
                * self._senses[:, None, None]
            )
            balls = flat[:, self._frame_of[self._singles :: 3]].reshape(positions, -1, 4, 4)[..., :3, :3] @ spins
            turned = np.swapaxes(balls, -1, -2).reshape(positions, -1, 3)
            axes[:, self._singles :] = turned[..., _CYCLIC]
        arms -= openings[:, self.chain_of[:, None], 3 + _CYCLIC]
        out = np.empty((positions, len(self.chain_of), 6))
        out[..., :3] = axes[..., :3]
        out[..., 3:] = arms[..., 1:4] * axes[..., 2:] - arms[..., 2:] * axes[..., 1:4]
        out *= self._turns_of
        if self._slides:
            out[..., 3:] += axes[..., :3] * self._shifts_of
        return openings, out

    def _frames(self, values: Array) -> Array:
        """Compute the frame before each motion, and ``G`` at the end: (positions, chains, length + 1, 4, 4)."""
        positions = len(values)
        columns = values[:, self._columns]
        angles = (columns * self._turns)[..., None, None]
        steps = np.cos(angles) * self._cosine
        steps += np.sin(angles) * self._sine
        steps += self._rest
        if self._slides:
            steps += (columns * self._shifts)[..., None, None] * self._shift
        if len(self._ball_places):
            vectors = values[:, self._ball_columns] * self._senses[:, None]
            balls = self._behind[self._ball_places]
            steps[:, self._ball_places] = balls
            steps[:, self._ball_places, :3] = rotation_matrix(vectors) @ balls[:, :3]
        steps = steps.reshape(positions, self.count, self._length, 4, 4)
        frames = np.empty((positions, self.count, self._length + 1, 4, 4))
        frames[:, :, 0] = self._first
        for number in range(self._length):
            np.matmul(frames[:, :, number], steps[:, :, number], out=frames[:, :, number + 1])
        return frames


def _build_chain(
    tree: Tree, link_of: Mapping[str, Link], chord: Joint, columns: Mapping[str, slice]
) -> tuple[Array, list[_ElementaryMotion]]:
    """Compile the chain of a chord: its first frame and its motions."""
    up, down = path_to_root(link_of, chord.parent), path_to_root(link_of, chord.child)
    while up and down and up[-1] is down[-1]:
        up.pop()
        down.pop()
    poses = {None: IDENTITY_POSE, **{root.id: root.pose for root in tree.roots}}
    top, bottom = (way[-1].carrier if way else end for way, end in ((up, chord.parent), (down, chord.child)))
    chain = _ChainBuilder(columns)
    chain.move(chord, True)
    chain.go(inverse(chord.frame_parent))
    for link in up:
        frames = (link.joint.frame_parent, link.joint.frame_child)[:: -1 if link.is_reversed else 1]
        chain.go(frames[1])
        chain.move(link.joint, not link.is_reversed)
        chain.go(inverse(frames[0]))
    if top != bottom:  # the paths end in different roots, or a root and the world
        chain.go(inverse(poses[top]) @ poses[bottom])
    for link in reversed(down):
        frames = (link.joint.frame_parent, link.joint.frame_child)[:: -1 if link.is_reversed else 1]
        chain.go(frames[0])
        chain.move(link.joint, link.is_reversed)
        chain.go(inverse(frames[1]))
    chain.go(chord.frame_child)
    return chain.first, chain.elements


def path_to_root(link_of: Mapping[str, Link], body: str | None) -> list[Link]:
    """Return the links from a body to its root."""
    found = []
    while body is not None and body in link_of:
        found.append(link_of[body])
        body = found[-1].carrier
    return found


class _ChainBuilder:
    """Builder of a chain."""

    def __init__(self, columns: Mapping[str, slice]) -> None:
        self._columns = columns
        self.first = IDENTITY_POSE
        self.elements: list[_ElementaryMotion] = []

    def go(self, frame: Array) -> None:
        """Append a constant frame."""
        if self.elements:
            last = self.elements[-1]
            self.elements[-1] = _ElementaryMotion(last.column, last.turn, last.shift, last.is_ball, last.behind @ frame)
        else:
            self.first = self.first @ frame

    def move(self, joint: Joint, inverted: bool) -> None:
        """Append the motion of a joint, or its inverse."""
        if not joint.dofs:
            return
        moves = []
        for dof, own in dof_slices(joint.dofs):
            at = self._columns[joint.id].start + own.start
            moves += (
                [(dof, at)]
                if dof.kind != "free"
                else [(Dof("translation", IDENTITY_POSE[k, :3]), at + 3 + k) for k in range(3)]
            )
            if dof.kind == "free":
                moves.append((Dof("ball"), at))
        for dof, column in reversed(moves) if inverted else moves:
            self._add(dof, column, -1.0 if inverted else 1.0)

    def _add(self, dof: Dof, column: int, sense: float) -> None:
        if dof.kind == "ball":
            self.elements.append(_ElementaryMotion(column, sense, 0.0, True, IDENTITY_POSE))
            return
        long = float(np.linalg.norm(dof.axis))
        frame = make_pose(rotation_with_z(dof.axis))
        turn = 0.0 if dof.kind == "translation" else sense
        shift = sense * long * {"translation": 1.0, "screw": dof.pitch}.get(dof.kind, 0.0)
        self.go(frame)
        self.elements.append(_ElementaryMotion(column, turn, shift, False, frame.T))


def cross_products(one: Array, other: Array) -> Array:
    """Compute cross products (..., 3)."""
    one, other = one[..., _CYCLIC], other[..., _CYCLIC]
    return one[..., 1:4] * other[..., 2:] - one[..., 2:] * other[..., 1:4]


def pose_vectors(gaps: Array) -> Array:
    """Compute rotation vectors and offsets (..., 6) of poses (..., 4, 4), with a fast path for small rotations."""
    flat = gaps.reshape(*gaps.shape[:-2], 16)
    sines = 0.5 * (flat[..., _SKEW] - flat[..., _SKEW_TRANSPOSED])
    return np.concatenate((_rotation_vectors(gaps, flat, sines), flat[..., _ORIGIN_ENTRIES]), axis=-1)


def _rotation_vectors(gaps: Array, flat: Array, sines: Array) -> Array:
    squares = (sines * sines).sum(axis=-1)
    cosines = flat[..., 0] + flat[..., 5] + flat[..., 10]
    if squares.size and cosines.min() > 1.0:
        if squares.max() < 1e-12:
            return sines
        length = np.sqrt(squares)
        factors = np.arctan2(length, 0.5 * (cosines - 1.0)) / np.where(length > 0.0, length, 1.0)
        return sines * np.where(length > 0.0, factors, 1.0)[..., None]
    return rotation_vector(gaps[..., :3, :3])


def _rotation_vector_rates(vectors: Array, turns: Array) -> Array:
    """Compute rates (..., 3) of rotation vectors, of at most half a turn, from angular velocities in the outer axes."""
    once = cross_products(vectors, turns)
    out = turns - 0.5 * once
    squares = (vectors * vectors).sum(axis=-1, keepdims=True)
    if squares.size and squares.max() > 1e-12:
        angle = np.sqrt(squares)
        some = np.where(angle < 1e-2, 1.0, angle)
        far = (1.0 - 0.5 * some / np.tan(0.5 * some)) / some**2
        out = out + np.where(angle < 1e-2, (1.0 + squares / 60.0) / 12.0, far) * cross_products(vectors, once)
    return out
