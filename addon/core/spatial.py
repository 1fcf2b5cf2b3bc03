"""Kinematics of a single pose.

``kinematics`` takes many at once, which for one is nearly all overhead: loops that move while one poses ask for one,
several times in a frame.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .kinematics import Tree
from .model import DOF_SIZE, Array, Dof, Joint
from .transforms import inverse, rotation_matrix, spin_rates


def motion_of_one(joint: Joint, value: Array) -> Array:
    """``J(q)`` (4, 4) for coordinates (size of the joint,), as ``kinematics.joint_motion`` has it of many."""
    out, at = None, 0
    for dof in joint.dofs:
        size = DOF_SIZE[dof.kind]
        motion = dof_motion_of_one(dof, value[at : at + size])
        out = motion if out is None else out @ motion
        at += size
    return np.eye(4) if out is None else out


def dof_motion_of_one(dof: Dof, value: Array) -> Array:
    """The motion (4, 4) of one degree of freedom at its coordinates (size,)."""
    out = np.eye(4)
    if dof.kind == "translation":
        out[:3, 3] = dof.axis * value[0]
    elif dof.kind in {"rotation", "screw"}:
        x, y, z = dof.axis.tolist()
        out[:3, :3] = rotation_matrix(dof.axis * (float(value[0]) / math.sqrt(x * x + y * y + z * z)))
        if dof.kind == "screw":
            out[:3, 3] = dof.axis * (value[0] * dof.pitch)
    else:
        out[:3, :3] = rotation_matrix(value[:3])
        if dof.kind == "free":
            out[:3, 3] = value[3:]
    return out


def cross_of_one(one: Array, other: Array) -> Array:
    """The cross product (3,) of two vectors."""
    (a, b, c), (x, y, z) = one.tolist(), other.tolist()
    return np.array([b * z - c * y, c * x - a * z, a * y - b * x])


@dataclass(frozen=True)
class _Step:
    """From a body to the next: how the joint's two frames stand on them."""

    body: int
    carrier: int | None
    joint: Joint
    entry: Array
    leave: Array
    against: bool


class OnePose:
    """A tree's bodies at one pose."""

    def __init__(self, tree: Tree) -> None:
        self._start = np.zeros((len(tree.mechanism.bodies), 4, 4))
        self._start[:, 3, 3] = 1.0
        for root in tree.roots:
            self._start[tree.index[root.id]] = root.pose
        self._steps = []
        for link in tree.links:
            joint, carrier = link.joint, None if link.carrier is None else tree.index[link.carrier]
            frames = (joint.frame_parent, joint.frame_child)[:: -1 if link.against else 1]
            self._steps.append(
                _Step(tree.index[link.body], carrier, joint, frames[0], inverse(frames[1]), link.against)
            )

    def forward(self, coordinates: Mapping[str, Array]) -> Array:
        """The pose of every body (bodies, 4, 4) for coordinates of joints (size,) by their ids; of what is not named,
        zero. As ``Tree.forward`` has it of many."""
        world = self._start.copy()
        for step in self._steps:
            pose = step.entry if step.carrier is None else world[step.carrier] @ step.entry
            value = coordinates.get(step.joint.id)
            if value is not None and len(value):
                motion = motion_of_one(step.joint, value)
                pose = pose @ (inverse(motion) if step.against else motion)
            np.matmul(pose, step.leave, out=world[step.body])
        return world


def dof_screws(dof: Dof, pose: Array, value: Array) -> Array:
    """Return what unit rates of a degree of freedom's coordinates, at ``value`` (size,), give what is behind it: (6,
    size), angular velocity above the velocity of what is at the origin. ``pose`` (4, 4) is where it stands."""
    turn, place = pose[:3, :3], pose[:3, 3]
    nothing = np.zeros(3)
    if dof.kind in {"translation", "rotation", "screw"}:
        axis = turn @ dof.axis
        if dof.kind == "translation":
            return np.concatenate([nothing, axis])[:, None]
        slide = axis * dof.pitch if dof.kind == "screw" else nothing
        return np.concatenate([axis, cross_of_one(place, axis) + slide])[:, None]
    spins = turn @ spin_rates(value[:3])
    if dof.kind == "ball":
        return np.concatenate([spins, np.cross(place, spins.T).T])
    place = place + turn @ value[3:]
    slides = np.concatenate([np.zeros((3, 3)), turn])
    return np.concatenate([np.concatenate([spins, np.cross(place, spins.T).T]), slides], axis=1)


#: What is added to joints that hold what others hold already, as a share of what each answers.
_REDUNDANT = 1e-9


@dataclass(frozen=True)
class Held:
    """A joint between two bodies by their places among some, -1 for what stands.

    ``ways`` (n, 6) are what it holds of turns and slides at a ``point`` (3,), in the world's axes.
    """

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
