"""Newton's method from a closed position of a linkage to others nearby."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .loops import LoopSystem
from .records import Array

#: Loops that are open by less, in characteristic lengths and radians, are closed: frames come as 32-bit numbers.
CLOSED = 2e-6
#: Constraints that answer by less than this share of the liveliest are redundant: planar loops in space.
REDUNDANT = 3e-6
#: The longest way, in radians or characteristic lengths, from one closed position to the next.
STEP = 0.2
#: After so many Newton's steps the loops do not close.
ROUNDS = 12
#: A step is the last where its length times the way from where the slopes are taken is less: by about so much the loops
#: are open behind it.
_LAST_STEP = 1e-13
#: Slopes serve for further steps from where they are taken up to here.
_SAME_SLOPES = 1e-3
#: How far the independent equations of a position are taken to be those of others.
_REDUCED = 0.3


@dataclass(frozen=True)
class _Basis:
    """The independent combinations ``left`` (equations, rank) of equations and ``right`` (free, rank) of the unknowns
    that are ``free``, found at a position ``at``. ``parts`` of them have nothing to do with each other."""

    at: Array
    free: NDArray[np.bool_]
    left: Array
    right: Array
    parts: list[slice]

    def reduced(self, slopes: Array) -> Array:
        """What the combinations make of slopes (n, equations, unknowns): (n, rank, rank)."""
        out: Array = self.left.T @ slopes[:, :, self.free] @ self.right
        return out

    def solved(self, reduced: Array, wanted: Array) -> Array:
        """Changes (n, free) by which the combined equations change as ``wanted`` (n, rank).

        Note:
            OpenBLAS, as numpy 1.26 has it, wakes its threads for several right-hand sides however small they are, and
            for one of more than 32; they then spin for 60 ms. Hence one right-hand side per matrix, part by part."""
        out = np.empty_like(wanted)
        for part in self.parts:
            out[:, part] = np.linalg.solve(reduced[:, part, part], wanted[:, part, None])[..., 0]
        return out @ self.right.T


class Newton:
    """Quick steps from a closed position of a linkage to others that are near, all at once.

    The loops' equations and unknowns are reduced to those combinations that are independent, once for a neighborhood,
    by a singular value decomposition: then plain Newton's steps converge to the same positions as those of least
    change (``least_change``). Where they do not converge, as at dead centers, it says so."""

    def __init__(self, system: LoopSystem) -> None:
        self._system = system
        #: What was independent where equations were reduced last.
        self._basis: _Basis | None = None
        #: The last position with a slope from there or very near: the next step begins there.
        self._sloped: tuple[Array, Array] | None = None

    def step(self, at: Array, wanted: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Go from a closed position to several (n, unknowns), of whose unknowns some are ``free`` and all others as
        wanted.

        Returns:
            The positions (n, unknowns), and by how much the loops are open there at most (n,): infinitely where that is
            not near enough to be in the same assembly."""
        slope = self._slope(at)
        try:
            basis = self._independent(at, slope, free)
            there = wanted.copy()
            away = (wanted - at)[:, ~free] @ slope[:, ~free].T
            there[:, free] = at[free] + basis.solved(basis.reduced(slope[None]), -(away @ basis.left))
            return self._corrected(at, there, basis)
        except np.linalg.LinAlgError:
            self._basis = None
            return wanted, np.full(len(wanted), np.inf)

    def _corrected(self, at: Array, there: Array, basis: _Basis) -> tuple[Array, Array]:
        free = basis.free
        left_open = opening = np.full(len(there), np.inf)
        failed = np.abs(there - at)[:, free].max(axis=1, initial=0.0) >= 4.0 * STEP
        slopes = reduced = np.empty(0)
        far = np.inf  # from where the slopes are taken
        for _ in range(ROUNDS):
            there[failed] = at
            if far > _SAME_SLOPES:
                residual, slopes = self._system.linearized(there)
                reduced, far = basis.reduced(slopes), 0.0
            else:
                residual = self._system.residuals(there)
            opening = np.abs(residual).max(axis=1, initial=0.0)
            # loops of 32-bit frames stay open a little where their equations are redundant
            wanted = residual @ basis.left
            before, left_open = left_open, np.abs(wanted).max(axis=1, initial=0.0)
            slow = (left_open > 0.5 * before) & (left_open > 1e-12) & ~failed
            if far > 0.0 and slow.any():
                far = np.inf
                continue
            failed |= slow
            if (failed | (left_open < 1e-12)).all():
                break
            change = basis.solved(reduced, -wanted)
            there[:, free] += change
            failed |= np.abs(there - at)[:, free].max(axis=1, initial=0.0) >= 4.0 * STEP
            lengths = np.where(failed, 0.0, np.abs(change).max(axis=1, initial=0.0))
            far += float(lengths.max(initial=0.0))
            if (failed | ((lengths * far < _LAST_STEP) & (opening < CLOSED))).all():
                break
        if failed.any():
            self._basis = None
        else:
            self._sloped = there[-1], slopes[-1]
        return there, np.where(failed, np.inf, opening)

    def _slope(self, at: Array) -> Array:
        if self._sloped is None or not np.array_equal(at, self._sloped[0]):
            self._sloped = at, self._system.slope(at)
        return self._sloped[1]

    def _independent(self, at: Array, slope: Array, free: NDArray[np.bool_]) -> _Basis:
        """What is independent of the equations and of the free unknowns at a position."""
        known = self._basis
        if known is not None and np.array_equal(free, known.free):
            # where the loops do not tell all, those that stay nearest do, and they are others everywhere
            near = _REDUCED if known.right.shape[0] == known.right.shape[1] else 0.0
            if np.abs(at - known.at).max(initial=0.0) <= near:
                return known
        left, right, parts = np.zeros((slope.shape[0], 0)), np.zeros((int(free.sum()), 0)), []
        for equations, unknowns in self._system.parts(free):
            own = np.linalg.svd(slope[np.ix_(equations, unknowns)], full_matrices=False)
            live = own[1] > REDUNDANT * own[1].max(initial=0.0)
            rank = int(live.sum())
            parts.append(slice(left.shape[1], left.shape[1] + rank))
            left, right = (np.pad(each, ((0, 0), (0, rank))) for each in (left, right))
            left[equations, parts[-1]] = own[0][:, live]
            right[np.searchsorted(np.flatnonzero(free), unknowns), parts[-1]] = own[2][live].T
        self._basis = _Basis(at, free, left, right, parts)
        return self._basis
