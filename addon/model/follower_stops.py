"""The stops of joints that follow the drivers of a loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .loops import LoopSystem
from .records import DOF_SIZE, Array

#: A joint that is beyond its stop by less (rad or characteristic lengths) is at it.
_AT = 1e-7
#: A joint that is nearer to its stop when its loop is held is what holds it.
_TOUCHING = 1e-4


class FollowerStops:
    """The stops of a loop system's joints, as its unknowns count. A joint that begins beyond its own may stay there."""

    def __init__(self, system: LoopSystem, start: Array) -> None:
        self._low, self._high = np.full(len(start), -np.inf), np.full(len(start), np.inf)
        self._names = [""] * len(start)
        self._turns_back = np.zeros(len(start), dtype=bool)
        chords = {joint.id for joint in system.chords}
        for joint in system.moving:
            at = system.columns[joint.id].start
            for dof in joint.dofs:
                size = DOF_SIZE[dof.kind]
                self._names[at : at + size] = [joint.id] * size
                if size == 1:
                    if dof.lower is not None:
                        self._low[at] = min(dof.lower / system.scales[at], start[at])
                    if dof.upper is not None:
                        self._high[at] = max(dof.upper / system.scales[at], start[at])
                    # where a chord was found by its two sides, nobody has counted its turns
                    self._turns_back[at] = dof.kind == "rotation" and joint.id in chords
                at += size
        self._turns_back &= np.isfinite(self._low) & np.isfinite(self._high)
        self._middle = np.zeros(len(start))
        self._middle[self._turns_back] = 0.5 * (self._low[self._turns_back] + self._high[self._turns_back])
        self._counts = np.ones(len(start), dtype=bool)
        self._left_out: set[str] = set()
        self._any = bool(np.isfinite([self._low, self._high]).any())

    def leave_out(self, joints: set[str]) -> None:
        """From now on these joints have no stops, and all others theirs."""
        if joints != self._left_out:
            self._left_out = set(joints)
            self._counts = np.array([name not in joints for name in self._names], dtype=bool)

    def _beyond(self, at: Array) -> tuple[Array, Array]:
        """By how much each unknown is beyond its lower and its upper stop; below zero: it is short of it."""
        turns = np.round((at - self._middle) / (2.0 * np.pi))
        at = np.where(self._turns_back, at - 2.0 * np.pi * turns, at)
        return np.where(self._counts, self._low - at, -np.inf), np.where(self._counts, at - self._high, -np.inf)

    def are_passed(self, at: Array, there: Array) -> NDArray[np.bool_]:
        """Return whether steps (..., unknowns) take a joint beyond a stop, or farther beyond it, (...,)."""
        if not self._any:
            return np.zeros(at.shape[:-1], dtype=bool)
        low, high = (
            (after > np.maximum(before, _AT)).any(axis=-1)
            for after, before in zip(self._beyond(there), self._beyond(at), strict=True)
        )
        passed: NDArray[np.bool_] = low | high
        return passed

    def met(self, at: Array, there: Array) -> float:
        """At which share of a step, were it straight, the first stop is met that it passes."""
        share = 1.0
        for after, before in zip(self._beyond(there), self._beyond(at), strict=True):
            past = after > np.maximum(before, _AT)
            if past.any():
                room = np.maximum(-before[past], 0.0)
                share = min(share, float((room / (room + np.maximum(after[past], _AT))).min()))
        return share

    def touched(self, at: Array, wanted: Array, free: NDArray[np.bool_]) -> tuple[str, bool] | None:
        """Which joint's stop a held system is at, and whether that is the upper one: the one that is nearest. A given
        joint's only where it is wanted beyond it."""
        low, high = self._beyond(at)
        for each, past in zip((low, high), self._beyond(wanted), strict=True):
            each[~free & (past <= _AT)] = -np.inf
        upper = bool(high.max(initial=-np.inf) > low.max(initial=-np.inf))
        beyond = high if upper else low
        nearest = int(np.argmax(beyond)) if len(beyond) else 0
        return (self._names[nearest], upper) if len(beyond) and beyond[nearest] > -_TOUCHING else None
