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
#: A step is the last where its length times the way from where the slopes are taken is less: by about so much the loops
#: are open behind it.
_LAST_STEP = 1e-13
#: Slopes serve for further steps from where they are taken up to here.
_SAME_SLOPES = 1e-3
#: How far the independent equations of a position are taken to be those of others.
_REDUCED = 0.3


class _Basis:
    """The independent combinations ``left`` (equations, rank) of equations and ``right`` (free, rank) of the unknowns
    that are ``free``, found at a position ``at``. ``parts`` of them have nothing to do with each other."""

    def __init__(self, system: LoopSystem, at: Array, free: NDArray[np.bool_]) -> None:
        self.at, self.free, self.columns = at, free, np.flatnonzero(free)
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
        self.is_full = self.right.shape[0] == kept
        # the same for each screw: of the equations of its chain, and of its unknown
        chains = system.chains
        units = system.units.T[chains.column_of][:, :, None]
        self._lefts = self.left.reshape(-1, 6, kept)[chains.chain_of] * units
        self._rights = every[chains.column_of]

    def projected(self, screws: Array) -> tuple[Array, Array]:
        """Return the change of the combined equations for unit rates of the motions with these ``screws``
        (n, screws, 6), and for those of the combined unknowns: (n, screws, rank) and (n, rank, rank)."""
        of_screws = (screws[:, :, None] @ self._lefts)[:, :, 0]
        return of_screws, np.swapaxes(of_screws, 1, 2) @ self._rights

    def solved(self, slopes: Array, wanted: Array) -> Array:
        """Changes (n, rank) of the combined unknowns by which the combined equations change as ``wanted`` (n, rank).

        Note:
            OpenBLAS, as numpy 1.26 has it, wakes its threads for several right-hand sides however small they are, and
            for one of more than 32; they then spin for 60 ms. Hence one right-hand side per matrix, part by part."""
        out = np.empty_like(wanted)
        for part in self.parts:
            out[:, part] = np.linalg.solve(slopes[:, part, part], wanted[:, part, None])[..., 0]
        return out


class Newton:
    """Quick steps from a closed position of a linkage to others that are near, all at once.

    The loops' equations and unknowns are reduced to those combinations that are independent, once for a neighborhood,
    by a singular value decomposition: then plain Newton's steps converge to the same positions as those of least
    change (``least_change``). Where they do not converge, as at dead centers, it says so."""

    def __init__(self, system: LoopSystem) -> None:
        self._system = system
        #: What was independent where equations were reduced last.
        self._basis: _Basis | None = None
        #: The last position, and what is projected there or very near: the next step begins with it.
        self._sloped: tuple[Array, Array, Array] | None = None

    def step(self, at: Array, wanted: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Go from a closed position to several (n, unknowns), of whose unknowns some are ``free`` and all others as
        wanted.

        Returns:
            The positions (n, unknowns), and by how much the loops are open there at most (n,): infinitely where that is
            not near enough to be in the same assembly."""
        try:
            basis = self._independent(at, free)
            of_screws, slopes = self._slopes(at, basis)
            there, ways = wanted.copy(), wanted - at
            ways[:, basis.columns] = 0.0
            pushes = -(ways[:, self._system.chains.column_of] @ of_screws[0])
            there[:, basis.columns] = at[basis.columns] + basis.solved(slopes, pushes) @ basis.right.T
            return self._corrected(at, there, basis)
        except np.linalg.LinAlgError:
            self._basis = None
            return wanted, np.full(len(wanted), np.inf)

    def _corrected(self, at: Array, there: Array, basis: _Basis) -> tuple[Array, Array]:
        left_open = opening = np.full(len(there), np.inf)
        failed = self._is_far(at, there, basis)
        of_screws = slopes = np.empty(0)
        far = np.inf  # from where the slopes are taken
        for _ in range(ROUNDS):
            if failed.any():
                there[failed] = at
            if far > _SAME_SLOPES:
                residual, screws = self._system.screws(there)
                (of_screws, slopes), far = basis.projected(screws), 0.0
            else:
                residual = self._system.residuals(there)
            opening = np.abs(residual).max(axis=1, initial=0.0)
            # loops of 32-bit frames stay open a little where their equations are redundant
            wanted = residual @ basis.left
            before, left_open = left_open, np.abs(wanted).max(axis=1, initial=0.0)
            slow = (left_open > np.maximum(0.5 * before, 1e-12)) & ~failed
            if far > 0.0 and slow.any():
                far = np.inf
                continue
            failed |= slow
            if (failed | (left_open < 1e-12)).all():
                break
            change = basis.solved(slopes, -wanted)
            there[:, basis.columns] += change @ basis.right.T
            lengths = np.where(failed, 0.0, np.abs(change).max(axis=1, initial=0.0))
            far += float(lengths.max(initial=0.0))
            if (failed | ((lengths * far < _LAST_STEP) & (opening < CLOSED))).all():
                break
        failed |= self._is_far(at, there, basis)
        if failed.any():
            self._basis = None
        else:
            self._sloped = there[-1], of_screws[-1:], slopes[-1:]
        return there, np.where(failed, np.inf, opening)

    @staticmethod
    def _is_far(at: Array, there: Array, basis: _Basis) -> NDArray[np.bool_]:
        """Return which positions (n,) are so far that they may be in another assembly."""
        far: NDArray[np.bool_] = np.abs(there - at)[:, basis.columns].max(axis=1, initial=0.0) >= 4.0 * STEP
        return far

    def _slopes(self, at: Array, basis: _Basis) -> tuple[Array, Array]:
        if self._sloped is None or not np.array_equal(at, self._sloped[0]):
            self._sloped = at, *basis.projected(self._system.screws(at[None])[1])
        return self._sloped[1:]

    def _independent(self, at: Array, free: NDArray[np.bool_]) -> _Basis:
        """Return what is independent of the equations and of the free unknowns at a position."""
        known = self._basis
        if known is not None and np.array_equal(free, known.free):
            # where the loops do not tell all, those that stay nearest do, and they are others everywhere
            near = _REDUCED if known.is_full else 0.0
            if np.abs(at - known.at).max(initial=0.0) <= near:
                return known
        self._basis, self._sloped = _Basis(self._system, at, free), None
        return self._basis
