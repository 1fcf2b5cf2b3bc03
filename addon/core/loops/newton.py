"""Newton's method from a closed position of a linkage to others nearby."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model import Array
from .closure import LoopSystem

#: Loops that are open by less, in characteristic lengths and radians, are closed: frames come as 32-bit numbers.
CLOSED = 2e-6
#: Constraints that answer by less than this share of the liveliest are redundant: planar loops in space.
REDUNDANT = 3e-6
#: The longest way, in radians or characteristic lengths, from one closed position to the next.
STEP = 0.2
#: After so many Newton's steps the loops do not close.
ROUNDS = 12
#: So many of the last positions are known with what changes there.
_SUPPORTS = 8
#: Slopes serve for further steps from where they are taken up to here.
_SAME_SLOPES = 1e-3
#: How far the independent equations of a position are taken to be those of others.
_REDUCED = 0.3


class _Basis:
    """The independent combinations ``left`` (equations, rank) of equations and ``right`` (free, rank) of the unknowns
    that are ``free``, found at a position ``at``. ``parts`` of them have nothing to do with each other. All other
    unknowns are given."""

    def __init__(self, system: LoopSystem, at: Array, free: NDArray[np.bool_]) -> None:
        self.at, self.free, self.columns, self.given = at, free, np.flatnonzero(free), np.flatnonzero(~free)
        slope, kept, self.parts = system.slope(at), 0, list[slice]()
        found = []
        for equations, unknowns in system.parts(free):
            left, strengths, right = np.linalg.svd(slope[np.ix_(equations, unknowns)], full_matrices=False)
            live = strengths > REDUNDANT * strengths.max(initial=0.0)
            self.parts.append(slice(kept, kept + int(live.sum())))
            kept = self.parts[-1].stop
            found.append((equations, unknowns, left[:, live], right[live].T))
        self.left, every = np.zeros((slope.shape[0], kept)), np.zeros((len(at), kept))
        for part, (equations, unknowns, left, right) in zip(self.parts, found, strict=True):
            self.left[equations, part], every[unknowns, part] = left, right
        self.right = every[self.columns]
        #: Whether given unknowns tell all free ones: else those that stay nearest do, and they are others everywhere.
        self.is_full = self.right.shape[0] == kept
        # the same for each screw: of the equations of its chain, and of its unknown, combined or given
        chains = system.chains
        units = system.units.T[chains.column_of][:, :, None]
        self._lefts = self.left.reshape(-1, 6, kept)[chains.chain_of] * units
        self._rights = np.concatenate((every, np.eye(len(at))[:, self.given]), axis=1)[chains.column_of]

    def projected(self, screws: Array) -> Array:
        """Return the change of the combined equations for unit rates of the combined unknowns and of the given ones,
        (n, rank, rank + given), where motions have these ``screws`` (n, screws, 6)."""
        of_screws = (screws[:, :, None] @ self._lefts)[:, :, 0]
        slopes: Array = np.swapaxes(of_screws, 1, 2) @ self._rights
        return slopes

    def solved(self, slopes: Array, wanted: Array) -> tuple[Array, Array]:
        """Return the changes (n, free) by which the combined equations change as ``wanted`` (n, rank), and those for
        unit changes of the given unknowns by which they do not (n, given, free)."""
        sides = np.concatenate((-slopes[:, :, wanted.shape[1] :], wanted[:, :, None]), axis=2)
        own = [_solved(slopes[:, part, part], sides[:, part]) for part in self.parts]
        changes = np.swapaxes(np.concatenate(own, axis=1), 1, 2) @ self.right.T
        return changes[:, -1], changes[:, :-1]


def _solved(matrices: Array, sides: Array) -> Array:
    """Solve systems of linear equations (n, rank, rank) for right-hand sides (n, rank, k), by Gauss and Jordan's
    elimination.

    Combined as in ``_Basis``, slopes are diagonal where they were found and nearly so around there: no pivots are
    looked for. Not finite where that does not do.

    Note:
        OpenBLAS, as numpy 1.26 has it, wakes all its threads for 6 equations and more, and they spin for 60 ms: in the
        Klann leg ``numpy.linalg.solve`` took 0.9 ms of processor time on two cores, and 0.08 ms in one thread."""
    rank = matrices.shape[1]
    system = np.concatenate((matrices, sides), axis=2)
    for row in range(rank):
        pivot = system[:, row] / system[:, row, row, None]
        system -= system[:, :, row, None] * pivot[:, None]
        system[:, row] = pivot
    return system[:, :, rank:]


class Newton:
    """Quick steps from a closed position of a linkage to others that are near, all at once.

    The loops' equations and unknowns are reduced to those combinations that are independent, once for a neighborhood,
    by a singular value decomposition: then plain Newton's steps converge to the same positions as those of least
    change (``least_change``). Where they do not converge, as at dead centers, it says so.

    Args:
        system: The linkage's equations.
        tolerance: By how much (radians or characteristic lengths) positions may be off, about.
    """

    def __init__(self, system: LoopSystem, tolerance: float) -> None:
        self._system, self._tolerance = system, tolerance
        #: What was independent where equations were reduced last.
        self._basis: _Basis | None = None
        #: Positions where it was found how free unknowns change with given ones (given, free), the last one at the end.
        self._known: list[tuple[Array, Array]] = []

    def step(self, at: Array, wanted: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Go from a closed position to several (n, unknowns), of whose unknowns some are ``free`` and all others as
        wanted.

        Returns:
            The positions (n, unknowns), and by how much the loops are open there at most (n,): infinitely where that is
            not near enough to be in the same assembly."""
        try:
            with np.errstate(all="ignore"):
                basis = self._independent(at, free)
                if len(wanted) == 1 and basis.is_full:
                    guess = self._guess(wanted[0], basis)
                    if guess is not None:
                        return self._verified(at, guess[None], basis)
                there = wanted.copy()
                there[:, basis.columns] = at[basis.columns] + (wanted - at)[:, basis.given] @ self._rates(at, basis)
                return self._corrected(at, there, basis)
        except np.linalg.LinAlgError:
            self._basis = None
            return wanted, np.full(len(wanted), np.inf)

    def _corrected(self, at: Array, there: Array, basis: _Basis) -> tuple[Array, Array]:
        left_open = opening = np.full(len(there), np.inf)
        failed = np.zeros(len(there), dtype=bool)
        slopes = rates = np.empty(0)
        far = np.inf  # from where the slopes are taken
        for _ in range(ROUNDS):
            if far > _SAME_SLOPES:
                residual, screws = self._system.screws(there)
                slopes, far = basis.projected(screws), 0.0
            else:
                residual = self._system.residuals(there)
            wanted = residual @ basis.left
            before, left_open = left_open, np.abs(wanted).max(axis=1, initial=0.0)
            slow = ~(left_open <= np.maximum(0.5 * before, 1e-12)) & ~failed
            if slow.any():
                if far > 0.0:
                    far = np.inf
                    continue
                failed |= slow
                there[failed] = at
            # loops of 32-bit frames stay open a little where their equations are redundant
            stays = np.abs(residual - wanted @ basis.left.T).max(axis=1, initial=0.0)
            change, rates = basis.solved(slopes, -wanted)
            change[failed] = 0.0
            there[:, basis.columns] += change
            lengths = np.abs(change).max(axis=1, initial=0.0)
            far += float(lengths.max(initial=0.0))
            opening = stays + lengths * far
            if (lengths * far).max(initial=0.0) < self._tolerance:
                break
        failed |= self._is_far(at, there, basis)
        if failed.any():
            self._basis = None
        else:
            self._known = [*self._known[1 - _SUPPORTS :], (there[-1], rates[-1])]
        return there, np.where(failed, np.inf, opening)

    def _verified(self, at: Array, there: Array, basis: _Basis) -> tuple[Array, Array]:
        """Return a guess as it is, if it is good enough, else corrected."""
        residual = self._system.residuals(there)
        if np.abs(residual @ basis.left).max() < self._tolerance and not self._is_far(at, there, basis).any():
            return there, np.abs(residual).max(axis=1)
        return self._corrected(at, there, basis)

    @staticmethod
    def _is_far(at: Array, there: Array, basis: _Basis) -> NDArray[np.bool_]:
        """Return which positions (n,) are so far that they may be in another assembly."""
        near: NDArray[np.bool_] = np.abs(there - at)[:, basis.columns].max(axis=1, initial=0.0) < 4.0 * STEP
        return ~near

    def _guess(self, wanted: Array, basis: _Basis) -> Array | None:
        """Return the position on the cubic through the two nearest known ones that differ from the wanted one in the
        same given unknown alone; None where there are not two.

        While a joint is posed by hand, or goes to and fro, nothing needs to be solved for most of its positions.
        """
        told = wanted[basis.given].tolist()
        near = []
        for place, rates in self._known:
            differs = [number for number, column in enumerate(basis.given.tolist()) if place[column] != told[number]]
            if len(differs) == 1:
                number = differs[0]
                near.append((abs(told[number] - place[basis.given[number]]), number, place, rates[number]))
        if not near:
            return None
        near.sort(key=lambda each: each[0])
        along = [each for each in near if each[1] == near[0][1]][:2]
        if len(along) < 2:
            return None
        (_, number, one, slope), (_, _, other, other_slope) = along
        column = basis.given[number]
        way = float(other[column] - one[column])
        if abs(way) < _SAME_SLOPES * STEP:
            return None
        share = float(wanted[column] - one[column]) / way
        back = share - 1.0
        there = wanted.copy()
        there[basis.columns] = back * back * (
            (1.0 + 2.0 * share) * one[basis.columns] + share * way * slope
        ) + share * share * ((1.0 - 2.0 * back) * other[basis.columns] + back * way * other_slope)
        return there

    def _rates(self, at: Array, basis: _Basis) -> Array:
        """Return how free unknowns change with given ones at a position, (given, free)."""
        if not self._known or not np.array_equal(at, self._known[-1][0]):
            slopes = basis.projected(self._system.screws(at[None])[1])
            self._known.append((at, basis.solved(slopes, np.zeros((1, slopes.shape[1])))[1][0]))
        return self._known[-1][1]

    def _independent(self, at: Array, free: NDArray[np.bool_]) -> _Basis:
        """Return what is independent of the equations and of the free unknowns at a position."""
        known = self._basis
        if known is not None and np.array_equal(free, known.free):
            near = _REDUCED if known.is_full else 0.0
            if np.abs(at - known.at).max() <= near:
                return known
        self._basis, self._known = _Basis(self._system, at, free), []
        return self._basis
