"""Newton's method from a closed position of a linkage to others nearby, with interpolation between solved positions."""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..model import Array
from .closure import LoopSystem

#: Least distance of nodes (rad or characteristic lengths); nearer ones are dropped.
_NEAREST = 2e-4
#: Largest number of nodes, at which all are dropped.
_MOST = 256


@dataclass
class Cubic:
    """Cubic Hermite polynomial of the dependent coordinates between two nodes.

    Attributes:
        start: Input coordinate of the first node.
        width: Distance of the second node's input coordinate.
        terms: Value and slope times width, of the first node and then of the second, (4, dependent).
        opening: Opening of the loops at the middle, where the error of a cubic is greatest; infinite where it must not
            be interpolated, None while it is unknown.
    """

    start: float
    width: float
    terms: Array
    opening: float | None = None

    def at(self, share: float) -> Array:
        """Evaluate the dependent coordinates (dependent,) at a share of the width: 0 and 1 are the nodes."""
        back = share - 1.0
        one, other = back * back, share * share
        weights = np.array(((1.0 + 2.0 * share) * one, share * one, (1.0 - 2.0 * back) * other, back * other))
        values: Array = weights @ self.terms
        return values


@dataclass
class _Line:
    """Nodes that differ in one input coordinate only, sorted by it, and the cubics between them."""

    inputs: list[float] = field(default_factory=list)
    nodes: list[tuple[Array, Array]] = field(default_factory=list)
    cubics: list[Cubic] = field(default_factory=list)

    def add(self, value: float, node: tuple[Array, Array]) -> None:
        """Insert a node (values, slopes) at an input coordinate, unless another is nearer than ``_NEAREST``."""
        place = bisect(self.inputs, value)
        if any(abs(value - other) < _NEAREST for other in self.inputs[max(place - 1, 0) : place + 1]):
            return
        self.inputs.insert(place, value)
        self.nodes.insert(place, node)
        first = max(place - 1, 0)
        self.cubics[first:place] = [self._cubic(number) for number in range(first, min(place + 1, len(self.nodes) - 1))]

    def _cubic(self, number: int) -> Cubic:
        (one, slope), (other, other_slope) = self.nodes[number : number + 2]
        start, end = self.inputs[number : number + 2]
        width = end - start
        return Cubic(start, width, np.array((one, width * slope, other, width * other_slope)))


class HermiteTable:
    """Closed positions of a linkage with their slopes, as nodes of cubics along each input coordinate."""

    def __init__(self) -> None:
        #: By the index of an input coordinate and the values of all others.
        self._lines: dict[tuple[int, tuple[float, ...]], _Line] = {}
        self._count = 0

    def add(self, inputs: Sequence[float], dependent: Array, slopes: Array) -> None:
        """Add a node: dependent coordinates (dependent,) and their ``slopes`` (inputs, dependent) at some inputs."""
        if self._count >= _MOST:
            self._lines, self._count = {}, 0
        self._count += 1
        for number, value in enumerate(inputs):
            line = self._lines.setdefault((number, (*inputs[:number], *inputs[number + 1 :])), _Line())
            line.add(value, (dependent, slopes[number]))

    def cubic(self, inputs: Sequence[float]) -> tuple[Cubic, int, float] | None:
        """Find the cubic between the nodes around some inputs, or the nearest one.

        Returns:
            The cubic, the index of the input along which it is, and the share of its width at the inputs; None where no
            two nodes are on a line with them.
        """
        for number, value in enumerate(inputs):
            line = self._lines.get((number, (*inputs[:number], *inputs[number + 1 :])))
            if line is not None and line.cubics:
                place = bisect_left(line.inputs, value) - 1
                cubic = line.cubics[min(max(place, 0), len(line.cubics) - 1)]
                return cubic, number, (value - cubic.start) / cubic.width
        return None


#: Opening (characteristic lengths and radians) up to which loops are closed: frames come as 32-bit numbers.
CLOSURE_TOLERANCE = 2e-6
#: Relative singular value below which constraints are redundant, as in planar loops in space.
NEWTON_REDUNDANCY_RATIO = 3e-6
#: Largest step (radians or characteristic lengths) from one closed position to the next.
MAX_NEWTON_STEP = 0.2
#: Newton steps after which the loops count as not closing.
MAX_NEWTON_ITERATIONS = 12
#: Largest error of cubics at their middle, as a share of the tolerance: it is hardly larger elsewhere.
_MIDDLE = 0.1
#: Distance up to which a Jacobian is reused.
_JACOBIAN_RADIUS = 1e-3
#: Distance (radians or characteristic lengths) beyond which positions may be in different assembly modes.
_SAME_ASSEMBLY = 4.0 * MAX_NEWTON_STEP
#: Distance up to which the reduction to independent equations is reused.
_BASIS_RADIUS = 0.3


class _ReducedBasis:
    """Reduction of a loop system to independent equations and unknowns, from a singular value decomposition at ``at``.

    ``left`` (equations, rank) are combinations of equations and ``right`` (free, rank) of the unknowns that are
    ``free``; all other unknowns are given. ``null`` (free, nullity) spans the changes of free unknowns without effect,
    such as the spin of a rod between two balls. ``parts`` are independent of each other.
    """

    def __init__(self, system: LoopSystem, at: Array, free: NDArray[np.bool_]) -> None:
        self.at, self.free, self.columns, self.given = at, free, np.flatnonzero(free), np.flatnonzero(~free)
        slope, kept, self.parts = system.slope(at), 0, list[slice]()
        found, nulls = [], [np.zeros((len(at), 0))]
        for equations, unknowns in system.parts(free):
            left, strengths, right = np.linalg.svd(slope[np.ix_(equations, unknowns)])
            rank = int((strengths > NEWTON_REDUNDANCY_RATIO * strengths.max(initial=0.0)).sum())
            self.parts.append(slice(kept, kept + rank))
            kept += rank
            found.append((equations, unknowns, left[:, :rank], right[:rank].T))
            nulls.append(np.zeros((len(at), len(unknowns) - rank)))
            nulls[-1][unknowns] = right[rank:].T
        self.left, every = np.zeros((slope.shape[0], kept)), np.zeros((len(at), kept))
        for part, (equations, unknowns, left, right) in zip(self.parts, found, strict=True):
            self.left[equations, part], every[unknowns, part] = left, right
        null = np.concatenate(nulls, axis=1)
        self.right, self.null = every[self.columns], null[self.columns]
        # the reduction for each screw: for the equations of its chain, and for its unknown, combined, given or null
        chains = system.chains
        units = system.units.T[chains.column_of][:, :, None]
        self._lefts = self.left.reshape(-1, 6, kept)[chains.chain_of] * units
        self._rights = np.concatenate((every, np.eye(len(at))[:, self.given], null), axis=1)[chains.column_of]

    def projected(self, screws: Array) -> Array:
        """Compute the reduced Jacobian (n, rank, rank + given + nullity), for motions with ``screws`` (n, screws, 6).

        Columns are the combined unknowns, the given ones and the null ones.
        """
        of_screws = (screws[:, :, None] @ self._lefts)[:, :, 0]
        slopes: Array = np.swapaxes(of_screws, 1, 2) @ self._rights
        return slopes

    def solved(self, slopes: Array, wanted: Array) -> tuple[Array, Array]:
        """Solve for the least changes of the free unknowns.

        Returns:
            The changes (n, free) that change the combined equations as ``wanted`` (n, rank), and those for unit changes
            of the given unknowns that keep them constant (n, given, free).
        """
        sides = np.concatenate((wanted[:, :, None], -slopes[:, :, wanted.shape[1] :]), axis=2)
        own = [_solve_batch(slopes[:, part, part], sides[:, part]) for part in self.parts]
        changes = np.swapaxes(np.concatenate(own, axis=1), 1, 2) @ self.right.T
        if self.null.shape[1]:  # remove changes without effect by an orthogonal projection
            first = 1 + len(self.given)
            changes, null = changes[:, :first], changes[:, first:] + self.null.T
            across = np.swapaxes(null, 1, 2)
            changes = changes - changes @ across @ _solve_batch(null @ across, null)
        return changes[:, 0], changes[:, 1:]


def _solve_batch(matrices: Array, sides: Array) -> Array:
    """Solve systems of linear equations (n, rank, rank) for right-hand sides (n, rank, k), by Gauss-Jordan elimination.

    In the combinations of ``_ReducedBasis``, Jacobians are diagonal where they were found and nearly so nearby, and the
    products of null changes are positive definite: no pivoting is needed. The result is not finite where that fails.

    Note:
        OpenBLAS, as in numpy 1.26, wakes all its threads for 6 equations and more, and they spin for 60 ms: in the
        Klann leg ``numpy.linalg.solve`` took 0.9 ms of processor time on two cores, and 0.08 ms in one thread.
    """
    rank = matrices.shape[1]
    system = np.concatenate((matrices, sides), axis=2)
    for row in range(rank):
        pivot = system[:, row] / system[:, row, row, None]
        system -= system[:, :, row, None] * pivot[:, None]
        system[:, row] = pivot
    return system[:, :, rank:]


class NewtonSolver:
    """Fast steps from a closed position of a linkage to others nearby, all at once.

    The loops' equations and unknowns are reduced to independent combinations, once for a neighborhood, by a singular
    value decomposition: then plain Newton steps converge to the same positions as least-norm steps
    (``closure.least_norm_step``). Where they do not converge, as at dead centers, the opening is infinite. Single
    positions between solved ones are interpolated.

    Args:
        system: The linkage's equations.
        tolerance: Approximate error (radians or characteristic lengths) allowed for positions.
    """

    def __init__(self, system: LoopSystem, tolerance: float) -> None:
        self._system, self._tolerance = system, tolerance
        #: Opening up to which its loops are closed.
        self.closure_tolerance = CLOSURE_TOLERANCE
        #: The last reduction.
        self._basis: _ReducedBasis | None = None
        #: Solved positions within the range of the reduction.
        self._table = HermiteTable()
        #: A reduction, a position, and the derivatives there (given, free) of free unknowns by given ones.
        self._slopes: tuple[_ReducedBasis, Array, Array] | None = None

    def step(self, at: Array, wanted: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Move from a closed position to several (n, unknowns); unknowns that are not ``free`` have the wanted values.

        Returns:
            The positions (n, unknowns), and the largest opening of the loops there (n,): infinite where the position is
            not near enough to be in the same assembly mode.
        """
        try:
            basis, there = self._reduced_basis(at, free), None
            if len(wanted) == 1:
                there, opening = self._interpolated(wanted[0], basis)
                if there is not None and opening < self.closure_tolerance and np.abs(there - at).max() < _SAME_ASSEMBLY:
                    return there, np.array([opening])
            with np.errstate(all="ignore"):
                return self._solve(at, wanted, free, there)
        except np.linalg.LinAlgError:
            self._basis = None
            return wanted, np.full(len(wanted), np.inf)

    def _solve(self, at: Array, wanted: Array, free: NDArray[np.bool_], guess: Array | None) -> tuple[Array, Array]:
        """Solve for wanted positions by Newton's method, starting from a ``guess`` (n, unknowns).

        Without one, or where unknowns are null, such as the spin of a rod between two balls, it starts on the tangent,
        where these change least.
        """
        basis = self._reduced_basis(at, free)
        if guess is None or basis.null.size:
            guess = wanted.copy()
            guess[:, basis.columns] = at[basis.columns] + (wanted - at)[:, basis.given] @ self._rates(at, basis)
        there, opening = self._corrected(at, guess, basis)
        if len(wanted) == 1 and opening[0] < self.closure_tolerance:
            self._add(there[0], free)
        return there, opening

    def _corrected(self, at: Array, there: Array, basis: _ReducedBasis) -> tuple[Array, Array]:
        left_open = opening = np.full(len(there), np.inf)
        failed = np.zeros(len(there), dtype=bool)
        slopes = rates = np.empty(0)
        far = np.inf  # distance from where the slopes were computed
        for _ in range(MAX_NEWTON_ITERATIONS):
            if far > _JACOBIAN_RADIUS:
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
            self._slopes = basis, there[-1], rates[-1]
        return there, np.where(failed, np.inf, opening)

    @staticmethod
    def _is_far(at: Array, there: Array, basis: _ReducedBasis) -> NDArray[np.bool_]:
        """Return a mask (n,) of positions so far away that they may be in another assembly mode."""
        near: NDArray[np.bool_] = np.abs(there - at)[:, basis.columns].max(axis=1, initial=0.0) < _SAME_ASSEMBLY
        return ~near

    def _interpolated(self, wanted: Array, basis: _ReducedBasis) -> tuple[Array | None, float]:
        """Interpolate between solved positions.

        While a joint is posed by hand, or oscillates, most positions need no solving. The residual is evaluated once
        between two solved positions that are near enough, and at each position beyond them.

        Returns:
            The position (1, unknowns), None where there are not two solved positions; and the largest opening of the
            loops there, infinite where it has to be corrected.
        """
        found = self._table.cubic(wanted[basis.given].tolist())
        if found is None:
            return None, np.inf
        cubic, number, share = found
        there = wanted[None].copy()
        if cubic.opening is None and 0.0 <= share <= 1.0:
            middle = there.copy()
            middle[0, basis.given[number]] = cubic.start + 0.5 * cubic.width
            middle[0, basis.columns] = cubic.at(0.5)
            cubic.opening = self._opening(middle, basis, _MIDDLE * self._tolerance)
        there[0, basis.columns] = cubic.at(share)
        if cubic.opening is not None and 0.0 <= share <= 1.0:
            return there, cubic.opening
        return there, self._opening(there, basis, self._tolerance)

    def _opening(self, there: Array, basis: _ReducedBasis, tolerance: float) -> float:
        """Compute the largest opening of the loops at a position (1, unknowns); infinite beyond the tolerance."""
        residual = self._system.residuals(there)
        return float(np.abs(residual).max()) if np.abs(residual @ basis.left).max() < tolerance else np.inf

    def _add(self, there: Array, free: NDArray[np.bool_]) -> None:
        """Add a closed position to the interpolation table."""
        basis = self._reduced_basis(there, free)
        self._slopes = None  # those of the last Newton step are from a position nearby
        rates = self._rates(there, basis)
        if np.isfinite(rates).all():
            self._table.add(there[basis.given].tolist(), there[basis.columns], rates)

    def _rates(self, at: Array, basis: _ReducedBasis) -> Array:
        """Compute the derivatives (given, free) of free unknowns by given ones at a position."""
        known = self._slopes
        if known is None or known[0] is not basis or not np.array_equal(at, known[1]):
            slopes = basis.projected(self._system.screws(at[None])[1])
            known = self._slopes = basis, at, basis.solved(slopes, np.zeros((1, slopes.shape[1])))[1][0]
        return known[2]

    def _reduced_basis(self, at: Array, free: NDArray[np.bool_]) -> _ReducedBasis:
        """Return the reduction to independent equations and unknowns around a position."""
        known = self._basis
        if known is None or free is not known.free or np.abs(at - known.at).max() > _BASIS_RADIUS:
            known, self._table = _ReducedBasis(self._system, at, free), HermiteTable()
            self._basis = known
        return known
