"""Newton's method from a closed position of a linkage to others nearby."""

from __future__ import annotations

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
#: A Newton's step that is shorter is the last: behind it the loops are open by about its square.
_LAST_STEP = 3e-7
#: How far the independent equations of a position are taken to be those of others.
_REDUCED = 0.3


class Newton:
    """Quick steps from a closed position of a linkage to others that are near, all at once.

    The loops' equations and unknowns are reduced to those combinations that are independent, once for a neighborhood,
    by a singular value decomposition: then plain Newton's steps converge to the same positions as those of least
    change (``least_change``). Where they do not converge, as at dead centers, it says so."""

    def __init__(self, system: LoopSystem) -> None:
        self._system = system
        #: Where the equations were reduced, which unknowns were free, and what of both is independent.
        self._reduced: tuple[Array, NDArray[np.bool_], Array, Array] | None = None
        #: The last position with its slope: the next step begins there.
        self._sloped: tuple[Array, Array] | None = None

    def step(self, at: Array, wanted: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Go from a closed position to several (n, unknowns), of whose unknowns some are ``free`` and all others as
        wanted.

        Returns:
            The positions (n, unknowns), and by how much the loops are open there at most (n,): infinitely where that is
            not near enough to be in the same assembly."""
        slope = self._slope(at)
        try:
            left, right = self._independent(at, slope, free)
            there = wanted.copy()
            away = (wanted - at)[:, ~free] @ slope[:, ~free].T
            there[:, free] = at[free] + np.linalg.solve(left.T @ slope[:, free] @ right, -(away @ left).T).T @ right.T
            return self._corrected(at, there, free, left, right)
        except np.linalg.LinAlgError:
            self._reduced = None
            return wanted, np.full(len(wanted), np.inf)

    def _corrected(
        self, at: Array, there: Array, free: NDArray[np.bool_], left: Array, right: Array
    ) -> tuple[Array, Array]:
        left_open = opening = np.full(len(there), np.inf)
        failed = np.abs(there - at)[:, free].max(axis=1, initial=0.0) >= 4.0 * STEP
        for _ in range(ROUNDS):
            there[failed] = at
            residual, slopes = self._system.linearized(there)
            opening = np.abs(residual).max(axis=1, initial=0.0)
            # loops of 32-bit frames stay open a little where their equations are redundant
            wanted = residual @ left
            before, left_open = left_open, np.abs(wanted).max(axis=1, initial=0.0)
            failed |= (left_open > 0.5 * before) & (left_open > 1e-12)
            if (failed | (left_open < 1e-12)).all():
                break
            change = np.linalg.solve(left.T @ slopes[:, :, free] @ right, -wanted[..., None])[..., 0]
            there[:, free] += change @ right.T
            failed |= np.abs(there - at)[:, free].max(axis=1, initial=0.0) >= 4.0 * STEP
            if (failed | ((np.abs(change).max(axis=1, initial=0.0) < _LAST_STEP) & (opening < CLOSED))).all():
                break
        if failed.any():
            self._reduced = None
        else:
            self._sloped = there[-1], slopes[-1]
        return there, np.where(failed, np.inf, opening)

    def _slope(self, at: Array) -> Array:
        if self._sloped is None or not np.array_equal(at, self._sloped[0]):
            self._sloped = at, self._system.slope(at)
        return self._sloped[1]

    def _independent(self, at: Array, slope: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Of equations (6 per chord, rank) and of free unknowns (free, rank) the combinations that are independent."""
        known = self._reduced
        if known is not None and np.array_equal(free, known[1]):
            # where the loops do not tell all, those that stay nearest do, and they are others everywhere
            near = _REDUCED if known[3].shape[0] == known[3].shape[1] else 0.0
            if np.abs(at - known[0]).max(initial=0.0) <= near:
                return known[2], known[3]
        left, strengths, right = np.linalg.svd(slope[:, free], full_matrices=False)
        live = strengths > REDUNDANT * strengths.max(initial=0.0)
        self._reduced = at, free, left[:, live], right[live].T
        return self._reduced[2], self._reduced[3]
