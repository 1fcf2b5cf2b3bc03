"""How easily bodies that joints hold together go where they are pushed: their masses and moments of inertia as they are
felt there, with everything that hangs on them.

Joints hold with whatever it takes. Of bodies whose inverse masses are ``W`` and whose joints hold the ways ``C``, a
push ``j`` moves its own place by ``j W j - j W C (C W C)^-1 C W j`` (Gauss's principle of least constraint).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .model import DOF_SIZE, Array, Joint
from .spatial import dof_motion_of_one, dof_screws

#: What is added to joints that hold what others hold already, as a share of what each answers.
_REDUNDANT = 1e-9


@dataclass(frozen=True)
class Held:
    """A joint between two bodies by their places among some, -1 for what stands. ``ways`` (n, 6) are what it holds of
    turns and slides at a ``point`` (3,), in the world's axes."""

    parent: int
    child: int
    point: Array
    ways: Array


class Bodies:
    """Bodies for one set of poses: ``masses`` (n,), ``easy`` (n, 3, 3) their inverse moments of inertia and ``middles``
    (n, 3), in the world's axes."""

    def __init__(self, masses: Array, easy: Array, middles: Array, joints: Sequence[Held]) -> None:
        self._middles = middles
        self._loose = np.zeros((len(masses), 6, 6))
        self._loose[:, :3, :3] = easy
        self._loose[:, [3, 4, 5], [3, 4, 5]] = 1.0 / masses[:, None]
        rows = [self.push(each.parent, each.child, each.point, each.ways) for each in joints if len(each.ways)]
        self._held = np.concatenate(rows) if rows else np.zeros((0, len(masses), 6))
        self._flat = self._held.reshape(len(self._held), 6 * len(masses))
        answers = np.einsum("rbi,bij->rbj", self._held, self._loose)
        together = answers.reshape(self._flat.shape) @ self._flat.T
        self._scale = 1.0 / np.sqrt(np.maximum(np.diagonal(together), 1e-300))
        stiff = together * np.outer(self._scale, self._scale) + _REDUNDANT * np.eye(len(self._flat))
        self._back = np.linalg.inv(stiff)

    def push(self, one: int, other: int, point: Array, ways: Array) -> Array:
        """Return what turns and pushes (n, 6) at a point (3,) are for all bodies (n, bodies, 6), of which they are on
        ``other`` and as much against ``one``; -1 for what stands."""
        out = np.zeros((len(ways), len(self._middles), 6))
        for body, sign in ((one, -1.0), (other, 1.0)):
            if body >= 0:
                out[:, body, :3] += sign * (ways[:, :3] + np.cross(point - self._middles[body], ways[:, 3:]))
                out[:, body, 3:] += sign * ways[:, 3:]
        return out

    def ease(self, push: Array) -> float:
        """Return how fast (per second, of a push of 1) something pushed (bodies, 6) gets going where it is pushed."""
        answer = np.einsum("bi,bij->bj", push, self._loose)
        against = self._scale * (self._flat @ answer.ravel())
        return max(float((push * answer).sum() - against @ self._back @ against), 0.0)


def held_ways(joint: Joint, values: Array, size: float = 1.0) -> Array:
    """Return what a joint holds at its coordinates (size,): (n, 6), turns and then slides at its frame's origin, in the
    axes of its frame on the parent. Lengths come out ``size`` times as long."""
    pose, at, free = np.eye(4), 0, []
    for dof in joint.dofs:
        value = values[at : at + DOF_SIZE[dof.kind]]
        free.append(dof_screws(dof, pose, value))
        pose, at = pose @ dof_motion_of_one(dof, value), at + len(value)
    if not free:
        return np.eye(6)
    ways = np.concatenate(free, axis=1)
    ways[3:] *= size
    left, strengths, _ = np.linalg.svd(ways)
    return left[:, int((strengths > 1e-9 * strengths.max()).sum()) :].T


def in_axes(ways: Array, turn: Array) -> Array:
    """Ways (n, 6) in axes (3, 3)."""
    return np.concatenate([ways[:, :3] @ turn.T, ways[:, 3:] @ turn.T], axis=1)
