"""Moving loops: the input joints of a closed loop, and the dependent joints that follow them.

A *linkage* is a set of loops that share joints. As many of its joints as it has degrees of freedom can be its input
joints; all others depend on them. ``LinkageSolver`` goes from one closed position to the next in steps short enough to
stay in the same assembly mode, and stores visited positions: the result does not depend on the path.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..kinematics import CLOSES_LOOP, Tree, joint_values_from_transform, spanning_tree
from ..model import DOF_SIZE, Array, Body, Mechanism, dof_slices
from .closure import JointPositions, LoopSystem, independent_loops, least_norm_step
from .newton import CLOSURE_TOLERANCE, MAX_NEWTON_ITERATIONS, MAX_NEWTON_STEP, NEWTON_REDUNDANCY_RATIO, NewtonSolver

#: Relative singular value above which every direction must be constrained for loops to be rigid.
RIGIDITY_RATIO = 1e-3
#: Bisections of a failed step before the loop counts as not closing, or as held.
_MAX_HALVINGS, _MAX_HELD_HALVINGS = 6, 13
#: Number of stored positions, and their least distance.
_HISTORY_SIZE, _HISTORY_SPACING = 512, 0.15
_MAX_STEPS = 4000
#: Largest difference of equal positions.
_POSITION_TOLERANCE = 1e-5
#: Opening up to which loops are accepted as closed: 32-bit frames of several joints may not fit a single pose exactly.
_NEARLY_CLOSED = 1e-4


def find_linkages(mechanism: Mechanism, tree: Tree | None = None) -> list[Linkage]:
    """Return the linkages of a mechanism, in the order of their chords."""
    system = LoopSystem(mechanism, tree or spanning_tree(mechanism))
    return [Linkage(_extract_linkage(mechanism, chords, names)) for chords, names in independent_loops(system)]


def _extract_linkage(mechanism: Mechanism, chords: Collection[str], names: Collection[str]) -> Mechanism:
    joints = [
        replace(joint, extra={**joint.extra, CLOSES_LOOP: joint.id in chords})
        for joint in mechanism.joints
        if joint.active and joint.id in names
    ]
    ends = {end for joint in joints for end in joint.ends}
    bodies = [Body(body.id, body.name) for body in mechanism.bodies if body.id in ends]
    return Mechanism(mechanism.name, bodies=bodies, joints=joints)


class Linkage:
    """Loops that share joints, extracted from their mechanism."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.system = LoopSystem(mechanism, spanning_tree(mechanism))
        self.joints = [joint.id for joint in self.system.moving]
        self.chords = [joint.id for joint in self.system.chords]

    def drivers(self, start: Mapping[str, Array], order: Iterable[str]) -> list[str]:
        """Choose input joints that determine all others, preferring those that come first in an ``order`` of ids.

        A joint can be an input if the rank of the loop equations is the same without its coordinates.

        Args:
            start: A closed position.
            order: Ids of joints.

        Returns:
            Ids of the input joints; empty where nothing can move.
        """
        if not self.joints:
            return []
        slope = self._best_conditioned_jacobian(self.system.vector(start))
        ways, left = _rank(slope), np.ones(slope.shape[1], dtype=bool)
        found = []
        for name in order:
            columns = self.system.columns.get(name)
            if columns is None:
                continue
            left[columns] = False
            if _rank(slope[:, left]) == ways:
                found.append(name)
            else:
                left[columns] = True
        return found

    def is_rigid(self, start: Mapping[str, Array]) -> bool:
        """Return whether the loops, closed at ``start``, leave no joint any freedom.

        A loop that nearly has a freedom, as one of parallel hinges whose axes a file has rounded, is not rigid (see
        ``RIGIDITY_RATIO``).
        """
        if not self.joints:
            return False
        at = self.system.vector(start)
        if np.abs(self.system.residual(at)).max(initial=0.0) > CLOSURE_TOLERANCE:
            return False
        slope = self._best_conditioned_jacobian(at)
        return _rank(slope, RIGIDITY_RATIO) == slope.shape[1]

    def _best_conditioned_jacobian(self, start: Array) -> Array:
        """Compute the Jacobian of greatest rank at some closed positions near the start, to avoid dead centers."""
        random = np.random.default_rng(7)
        best, at = self.system.slope(start), start
        for _ in range(3):
            slope = self.system.slope(at)
            push = random.normal(size=len(at))
            push -= least_norm_step(slope, slope @ push, redundant=NEWTON_REDUNDANCY_RATIO)
            length = float(np.abs(push).max(initial=0.0))
            if length < 1e-9:
                break
            stirred, residual = _correct_by_newton(
                self.system, at + push * (MAX_NEWTON_STEP / length), np.ones(len(at), dtype=bool)
            )
            if np.abs(residual).max(initial=0.0) > CLOSURE_TOLERANCE:
                break
            at = stirred
            slope = self.system.slope(at)
            best = slope if _rank(slope) > _rank(best) else best
        return best


def _rank(slope: Array, redundant: float = NEWTON_REDUNDANCY_RATIO) -> int:
    if not slope.size:
        return 0
    strengths = np.linalg.svd(slope, compute_uv=False)
    return int((strengths > redundant * max(strengths.max(), 1e-300)).sum())


@dataclass(frozen=True)
class LinkagePosition:
    """Position of a linkage.

    Attributes:
        values: Coordinates of all its moving joints (n,).
        columns: Slices of them by joint id.
        opening: By how much its loops stay open (characteristic lengths or radians); below the solver's
            ``closure_tolerance`` they are closed.
        held: The given joints stopped short of the values that were asked for.
        stop: The joint whose stop was hit, and whether that is its upper one; None: the loops would open.
        mark: State of the follower there, where several positions were followed at once.
    """

    values: Array
    columns: Mapping[str, slice]
    opening: float
    held: bool = False
    stop: tuple[str, bool] | None = None
    mark: SolverState | None = None

    @cached_property
    def positions(self) -> JointPositions:
        """Return the coordinates by joint."""
        return {name: self.values[columns] for name, columns in self.columns.items()}


@dataclass(frozen=True)
class SolverState:
    """State from which a follower continues: last closed position, and position and direction where it was held."""

    last: Array
    blocked_at: Array
    blocked_direction: Array


class LinkageSolver:
    """Follower that keeps a linkage closed, starting from a closed position, and its joints within ``stops``.

    Args:
        linkage: The linkage.
        start: A closed position: coordinates by joint.
        tolerance: Approximate error (radians or characteristic lengths) allowed for positions.
    """

    def __init__(self, linkage: Linkage, start: Mapping[str, Array], tolerance: float = 1e-13) -> None:
        self.linkage, self._system = linkage, linkage.system
        self._last = self._system.vector(start)
        #: Visited closed positions, (kept, unknowns); the first is the start.
        self._kept = self._last[None]
        self._newton = NewtonSolver(self._system, tolerance)
        #: By the ids of given joints: mask of the other unknowns, indices of their own, and scales of these.
        self._columns_of: dict[tuple[str, ...], tuple[NDArray[np.bool_], NDArray[np.intp], Array]] = {}
        self.stops = LinkageStops(self._system, self._last)
        #: Position where it was last held, and the direction that was blocked.
        self._blocked_at, self._blocked_direction = self._last, np.zeros_like(self._last)
        self._accept_opening(self._last)

    @property
    def closure_tolerance(self) -> float:
        """Opening up to which its loops are closed: more than ``CLOSURE_TOLERANCE`` where frames do not fit exactly."""
        return self._newton.closure_tolerance

    def _accept_opening(self, at: Array) -> None:
        """Count positions as closed that are as open as ``at``, where the linkage is used: else it would be held there.

        Frames are rounded to 32 bits, by more the farther a mechanism is from its origin.
        """
        opening = float(np.abs(self._system.residual(at)).max(initial=0.0))
        if opening < _NEARLY_CLOSED:
            self._newton.closure_tolerance = max(self._newton.closure_tolerance, 2.0 * opening)

    def within_stops(self, positions: Mapping[str, Array]) -> JointPositions:
        """Return values of moving joints, by id, as they are seen: at the stops that they pass."""
        guess = {joint.id: np.zeros(joint.size) for joint in self.linkage.system.chords}
        at = self.stops.clip(self._system.vector({**guess, **positions})) * self._system.scales
        return {joint: at[self._system.columns[joint]] for joint in positions}

    def adopt(self, positions: Mapping[str, Array]) -> bool:
        """Continue from another position, or from the nearest closed one where that is nearly closed.

        Where no closed position is near, as for loops that close at a single point, the given one is used itself.

        Args:
            positions: Values of all moving joints except the chords, by id.

        Returns:
            Whether the position is closed, or nearly so; where it is not, nothing changes.
        """
        system, chords = self._system, self.linkage.system.chords
        guess = {joint.id: np.zeros(joint.size) for joint in chords}
        guess.update(positions)
        frames = system.chord_motions(system.vector(guess))
        guess.update((joint.id, joint_values_from_transform(joint, frame[None])[0]) for joint, frame in frames)
        at = system.vector(guess)
        opening = np.abs(system.residual(at)).max(initial=0.0)
        if opening > 2.0 * CLOSURE_TOLERANCE:
            if opening >= _NEARLY_CLOSED:
                return False
            closed, residual = _correct_by_newton(system, at, np.ones(len(at), dtype=bool))
            if (
                max(np.abs(residual).max() / (2.0 * CLOSURE_TOLERANCE), np.abs(closed - at).max() / _NEARLY_CLOSED)
                <= 1.0
            ):
                at = closed  # else it cannot be closed any better, and is used as it is
        self._accept_opening(at)
        if self.stops.are_exceeded(self._kept[0], at):
            self._last = at  # beyond a stop: it may stay there, but is not stored as a starting point
        else:
            self._keep(at)
        return True

    def follow(self, given: Mapping[str, Array], hold: bool = False) -> LinkagePosition:
        """Move all joints of the linkage for the ``given`` values of some.

        Where the loops cannot close, the others come as near to closing as they can, and the given ones have the values
        asked for. With ``hold`` the given ones go only as far as the loops close and all joints are within their stops.
        """
        free, wanted = self._asked(given, 1)
        return self._follow(wanted[0], free, hold)

    def solve_many(self, given: Mapping[str, Array], hold: bool = False) -> Iterator[LinkagePosition]:
        """Move to one position after another, for given joints (positions, size of the joint).

        It is ``follow`` for each, but positions within a step of one another are solved together.
        """
        count = max(map(len, given.values()), default=0)
        free, wanted = self._asked(given, count)
        number = 0
        while number < count:
            found = (
                self._together(np.where(free, self._last, wanted[number:]), free, hold) if number + 1 < count else []
            )
            yield from found
            number += len(found)
            if number < count:
                yield self._follow(np.where(free, self._last, wanted[number]), free, hold)
                number += 1

    def _asked(self, given: Mapping[str, Array], count: int) -> tuple[NDArray[np.bool_], Array]:
        """Return the mask of unknowns that are not given, and the wanted values (count, unknowns)."""
        names = tuple(given)
        if names not in self._columns_of:
            every = np.arange(len(self._last))
            columns = np.concatenate([every[self._system.columns[name]] for name in names] or [every[:0]])
            self._columns_of[names] = ~np.isin(every, columns), columns, self._system.scales[columns]
        free, columns, scales = self._columns_of[names]
        wanted = self._last[None].repeat(count, axis=0)
        if names:
            wanted[:, columns] = np.concatenate([value.reshape(count, -1) for value in given.values()], axis=1) / scales
        return free, wanted

    def _follow(self, wanted: Array, free: NDArray[np.bool_], hold: bool) -> LinkagePosition:
        system = self._system
        start = self._nearest(wanted, free)
        if hold and self._is_held(start, wanted, free):
            at, residual = start, system.residual(start)
        else:
            at, residual = self._follow_path(start, wanted, free, hold)
        opening = float(np.abs(residual).max(initial=0.0))
        way = np.where(free, 0.0, wanted - at)
        held = bool(way.any())
        self._blocked_at, self._blocked_direction = at, way
        return self._found(at, opening, held, self.stops.touched(at, wanted, free) if held else None)

    def present(self) -> LinkagePosition:
        """Return the present, closed position of the linkage."""
        return self._found(self._last, 0.0)

    def _found(
        self, at: Array, opening: float, held: bool = False, stop: tuple[str, bool] | None = None
    ) -> LinkagePosition:
        return LinkagePosition(at * self._system.scales, self._system.columns, opening, held, stop, self.mark())

    def _together(self, wanted: Array, free: NDArray[np.bool_], hold: bool) -> list[LinkagePosition]:
        """Solve for the first of several wanted positions (n, unknowns) at once.

        These are as many as are within a step of the last closed one, converge, and stay within stops.
        """
        count = _first_index(np.abs(wanted - self._last)[:, ~free].max(axis=1, initial=0.0) > MAX_NEWTON_STEP)
        if not count:
            return []
        at, opening = self._newton.step(self._last, wanted[:count], free)
        failed = opening >= self.closure_tolerance
        if hold:
            failed |= self.stops.are_exceeded(np.concatenate([self._last[None], at[:-1]]), at)
        at = at[: _first_index(failed)]
        if not len(at):
            return []
        away = np.abs(at[:, None] - self._kept).max(axis=2, initial=0.0)
        for row in at[away.min(axis=1) > _HISTORY_SPACING]:
            self._keep(row)
        for number in np.flatnonzero(away[:, 0] < _POSITION_TOLERANCE).tolist():
            at[number] = self._snap_to_start(at[number], free)
        self._last = at[-1]
        self._blocked_at, self._blocked_direction = self._last, np.zeros_like(self._last)
        values, system = at * self._system.scales, self._system
        marks = (SolverState(row, row, self._blocked_direction) for row in at)
        rows = zip(values, opening.tolist(), marks, strict=False)
        return [LinkagePosition(own, system.columns, open_by, mark=mark) for own, open_by, mark in rows]

    def mark(self) -> SolverState:
        """Return the state from which it would continue."""
        return SolverState(self._last, self._blocked_at, self._blocked_direction)

    def resume(self, mark: SolverState) -> None:
        """Continue from the state of an earlier result."""
        self._last, self._blocked_at, self._blocked_direction = mark.last, mark.blocked_at, mark.blocked_direction

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Context manager after which it continues as if nothing had been solved within."""
        mark, kept = self.mark(), self._kept
        try:
            yield
        finally:
            self.resume(mark)
            self._kept = kept

    def _is_held(self, at: Array, wanted: Array, free: NDArray[np.bool_]) -> bool:
        """Return whether the direction is already known to be blocked at the starting position."""
        if not self._blocked_direction.any():
            return False
        way = np.where(free, 0.0, wanted - at)
        along = float(way @ self._blocked_direction)
        same = along > (1.0 - 1e-12) * float(np.linalg.norm(way) * np.linalg.norm(self._blocked_direction))
        return along > 0.0 and same and np.array_equal(at, self._blocked_at)

    def _nearest(self, wanted: Array, free: NDArray[np.bool_]) -> Array:
        """Return the closed position to start from: the last, if it is near, else the nearest stored one."""
        if np.abs(self._last - wanted).max(initial=0.0) <= MAX_NEWTON_STEP:  # free unknowns do not differ
            return self._last
        away = np.abs(self._kept - wanted)[:, ~free].max(axis=1, initial=0.0)
        return self._kept[int(np.argmin(away))]

    def _follow_path(self, at: Array, wanted: Array, free: NDArray[np.bool_], hold: bool) -> tuple[Array, Array]:
        """Move from a closed position to the wanted values of what is not free, through closed positions."""
        system, residual = self._system, np.zeros(0)
        share = 1.0 / max(math.ceil(np.abs((wanted - at)[~free]).max(initial=0.0) / MAX_NEWTON_STEP), 1)
        if share < 1.0 / _MAX_STEPS:
            return self._minimize_opening(at, wanted, free)
        halvings = _MAX_HELD_HALVINGS if hold else _MAX_HALVINGS
        done, shortest, first = 0.0, share / 2**halvings, at
        while done < 1.0 - 1e-9:
            share = min(share, 1.0 - done)
            far = first + (wanted - first) * (done + share) if done + share < 1.0 else wanted
            target = np.where(free, at, far)
            there, opening = self._step(at, target, free, share * 2.0 > shortest * 2.0**halvings)
            closed = bool(np.abs(opening).max(initial=0.0) < self.closure_tolerance)
            if closed and not (hold and self.stops.are_exceeded(at, there)):
                at, residual, done = there, opening, done + share
                self._keep(at)
                continue
            shorter = share * (self.stops.met(at, there) if closed else 0.5)
            if shorter < shortest:
                return (at, system.residual(at)) if hold else self._minimize_opening(at, wanted, free)
            share = shorter
        at = self._snap_to_start(np.where(free, at, wanted), free, keep=False)
        return at, residual if len(residual) else system.residual(at)

    def _snap_to_start(self, at: Array, free: NDArray[np.bool_], keep: bool = True) -> Array:
        """Return the stored start exactly where the position equals it up to rounding, else the position itself."""
        if keep:
            self._keep(at)
        away = at - self._kept[0]
        if np.abs(away).max(initial=0.0) < _POSITION_TOLERANCE and not away[~free].any():
            at = self._last = self._kept[0]
        return at

    def _step(self, at: Array, target: Array, free: NDArray[np.bool_], quick: bool) -> tuple[Array, Array]:
        """Move from a closed position to the next.

        ``quick``: try without a predictor step first. Returns the position and its residual, infinite where it is not
        near enough to be in the same assembly mode.
        """
        if quick:
            there, open_by = self._newton.step(at, target[None], free)
            if open_by[0] < self.closure_tolerance:
                return there[0], open_by
        slope, ahead = self._system.slope(at), target.copy()
        ahead[free] += least_norm_step(
            slope[:, free], -slope[:, ~free] @ (target - at)[~free], redundant=NEWTON_REDUNDANCY_RATIO
        )
        if np.abs((ahead - at)[free]).max(initial=0.0) < 4.0 * MAX_NEWTON_STEP:
            there, residual = _correct_by_newton(self._system, ahead, free)
            if np.abs((there - at)[free]).max(initial=0.0) < 4.0 * MAX_NEWTON_STEP:
                return there, residual
        return at, np.full(1, np.inf)

    def _keep(self, at: Array) -> None:
        self._last = at
        if np.abs(at - self._kept).max(axis=1, initial=0.0).min() > _HISTORY_SPACING:
            self._kept = np.concatenate([self._kept[:1], self._kept[1:][-_HISTORY_SIZE:], at[None]])

    def _minimize_opening(self, at: Array, wanted: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Minimize the opening by damped Gauss-Newton in the free unknowns, all others as wanted."""
        system = self._system
        at = np.where(free, at, wanted)
        residual, damping = system.residual(at), 1e-6
        for _ in range(100):
            better = at.copy()
            better[free] += least_norm_step(system.slope(at)[:, free], -residual, damping, NEWTON_REDUNDANCY_RATIO)
            there = system.residual(better)
            gain = np.linalg.norm(residual) - np.linalg.norm(there)
            if gain > 0.0:
                at, residual, damping = better, there, max(damping / 10.0, 1e-12)
                if gain < 1e-9 * np.linalg.norm(residual):
                    break
            elif damping > 1e6:
                break
            else:
                damping *= 10.0
        return at, residual


def _correct_by_newton(system: LoopSystem, at: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Solve for closure by Newton's method in the free unknowns; return the position and its residual."""
    residual = system.residual(at)
    for _ in range(MAX_NEWTON_ITERATIONS):
        if np.abs(residual).max(initial=0.0) < 1e-12:
            break
        better = at.copy()
        better[free] += least_norm_step(system.slope(at)[:, free], -residual, redundant=NEWTON_REDUNDANCY_RATIO)
        there = system.residual(better)
        if not np.linalg.norm(there) < 0.5 * np.linalg.norm(residual):
            if np.linalg.norm(there) < np.linalg.norm(residual):
                at, residual = better, there
            break
        at, residual = better, there
    return at, residual


def _first_index(which: NDArray[np.bool_]) -> int:
    """Return the index of the first True of a mask, its length where there is none."""
    return int(np.argmax(which)) if which.any() else len(which)


#: Distance beyond a stop (rad or characteristic lengths) up to which a joint is at it.
_AT_STOP = 1e-7
#: Distance to a stop up to which a joint is what holds its loop.
_STOP_CONTACT = 1e-4


class LinkageStops:
    """Stops of a loop system's joints, in its unknowns. A joint that starts beyond its stop may stay there."""

    def __init__(self, system: LoopSystem, start: Array) -> None:
        self._low, self._high = np.full(len(start), -np.inf), np.full(len(start), np.inf)
        self._names = [""] * len(start)
        self._is_wrapped = np.zeros(len(start), dtype=bool)
        chords = {joint.id for joint in system.chords}
        for joint in system.moving:
            columns = system.columns[joint.id]
            self._names[columns] = [joint.id] * joint.size
            for dof, own in dof_slices(joint.dofs):
                at = columns.start + own.start
                if DOF_SIZE[dof.kind] == 1:
                    if dof.lower is not None:
                        self._low[at] = min(dof.lower / system.scales[at], start[at])
                    if dof.upper is not None:
                        self._high[at] = max(dof.upper / system.scales[at], start[at])
                    # a chord's value is computed from its two sides, without whole turns
                    self._is_wrapped[at] = dof.kind == "rotation" and joint.id in chords
        self._is_wrapped &= np.isfinite(self._low) & np.isfinite(self._high)
        self._middle = np.zeros(len(start))
        self._middle[self._is_wrapped] = 0.5 * (self._low[self._is_wrapped] + self._high[self._is_wrapped])
        self._counts = np.ones(len(start), dtype=bool)
        self._left_out: set[str] = set()
        #: Whether any joint has stops.
        self.are_any = bool(np.isfinite([self._low, self._high]).any())

    def leave_out(self, joints: set[str]) -> None:
        """Ignore the stops of these joints, and of no others, from now on."""
        if joints != self._left_out:
            self._left_out = set(joints)
            self._counts = np.array([name not in joints for name in self._names], dtype=bool)

    def clip(self, at: Array) -> Array:
        """Return unknowns (n,) at the stops that they pass."""
        return np.where(self._counts, np.clip(at, self._low, self._high), at)

    def _beyond(self, at: Array) -> tuple[Array, Array]:
        """Return the distances of each unknown beyond its lower and its upper stop; negative within."""
        turns = np.round((at - self._middle) / (2.0 * np.pi))
        at = np.where(self._is_wrapped, at - 2.0 * np.pi * turns, at)
        return np.where(self._counts, self._low - at, -np.inf), np.where(self._counts, at - self._high, -np.inf)

    def are_exceeded(self, at: Array, there: Array) -> NDArray[np.bool_]:
        """Return whether steps (..., unknowns) take a joint beyond a stop, or farther beyond it, (...,)."""
        if not self.are_any:
            return np.zeros(at.shape[:-1], dtype=bool)
        low, high = (
            (after > np.maximum(before, _AT_STOP)).any(axis=-1)
            for after, before in zip(self._beyond(there), self._beyond(at), strict=True)
        )
        passed: NDArray[np.bool_] = low | high
        return passed

    def met(self, at: Array, there: Array) -> float:
        """Return the share of a step, taken as straight, at which it passes the first stop."""
        share = 1.0
        for after, before in zip(self._beyond(there), self._beyond(at), strict=True):
            past = after > np.maximum(before, _AT_STOP)
            if past.any():
                room = np.maximum(-before[past], 0.0)
                share = min(share, float((room / (room + np.maximum(after[past], _AT_STOP))).min()))
        return share

    def touched(self, at: Array, wanted: Array, free: NDArray[np.bool_]) -> tuple[str, bool] | None:
        """Find the stop that holds a system: the joint with the nearest stop, and whether that is the upper one.

        A given joint's stop counts only where a value beyond it is wanted. None where no stop is near.
        """
        low, high = self._beyond(at)
        for each, past in zip((low, high), self._beyond(wanted), strict=True):
            each[~free & (past <= _AT_STOP)] = -np.inf
        upper = bool(high.max(initial=-np.inf) > low.max(initial=-np.inf))
        beyond = high if upper else low
        nearest = int(np.argmax(beyond)) if len(beyond) else 0
        return (self._names[nearest], upper) if len(beyond) and beyond[nearest] > -_STOP_CONTACT else None
