"""Kinematics of a single pose, joint Jacobians, and effective masses in a constrained system of bodies.

``kinematics`` works on many poses at once, which for one is nearly all overhead: loops that are solved during posing
need one, several times in a frame. Spatial vectors are [angular; linear].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .kinematics import Tree
from .model import Array, Dof, Joint, dof_slices
from .transforms import inverse, rotation_matrix, rotation_vector_jacobian


def joint_motion_single(joint: Joint, value: Array) -> Array:
    """Compute ``J(q)`` (4, 4) for joint values (size of the joint,); like ``kinematics.joint_motion`` for one pose."""
    out = None
    for dof, own in dof_slices(joint.dofs):
        motion = dof_motion_single(dof, value[own])
        out = motion if out is None else out @ motion
    return np.eye(4) if out is None else out


def dof_motion_single(dof: Dof, value: Array) -> Array:
    """Compute the motion (4, 4) of one degree of freedom at its values (size,)."""
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


def cross_single(one: Array, other: Array) -> Array:
    """Compute the cross product (3,) of two vectors (3,)."""
    (a, b, c), (x, y, z) = one.tolist(), other.tolist()
    return np.array([b * z - c * y, c * x - a * z, a * y - b * x])


@dataclass(frozen=True)
class _LinkStep:
    """Step of forward kinematics from a carrier (index, None for the world) to a body: the joint with its two frames.

    ``entry`` is the joint frame on the carrier and ``leave`` the inverse of the one on the body; ``is_reversed``: the
    joint's child is the carrier.
    """

    body: int
    carrier: int | None
    joint: Joint
    entry: Array
    leave: Array
    is_reversed: bool


class SinglePoseKinematics:
    """Forward kinematics of a tree for one pose at a time."""

    def __init__(self, tree: Tree) -> None:
        self._start = np.zeros((len(tree.mechanism.bodies), 4, 4))
        self._start[:, 3, 3] = 1.0
        for root in tree.roots:
            self._start[tree.index[root.id]] = root.pose
        self._steps = []
        for link in tree.links:
            joint, carrier = link.joint, None if link.carrier is None else tree.index[link.carrier]
            frames = (joint.frame_parent, joint.frame_child)[:: -1 if link.is_reversed else 1]
            self._steps.append(
                _LinkStep(tree.index[link.body], carrier, joint, frames[0], inverse(frames[1]), link.is_reversed)
            )

    def forward(self, coordinates: Mapping[str, Array]) -> Array:
        """Compute the pose of every body, (bodies, 4, 4); like ``Tree.forward`` for one pose.

        Args:
            coordinates: Values (size of the joint,) by joint id; joints that are not named are at zero.
        """
        world = self._start.copy()
        for step in self._steps:
            pose = step.entry if step.carrier is None else world[step.carrier] @ step.entry
            value = coordinates.get(step.joint.id)
            if value is not None and len(value):
                motion = joint_motion_single(step.joint, value)
                pose = pose @ (inverse(motion) if step.is_reversed else motion)
            np.matmul(pose, step.leave, out=world[step.body])
        return world


def dof_jacobian(dof: Dof, pose: Array, value: Array) -> Array:
    """Compute the geometric Jacobian of one degree of freedom.

    Args:
        dof: The degree of freedom.
        pose: Pose (4, 4) of its frame before its motion, in the axes of the result.
        value: Its values (size,).

    Returns:
        (6, size): columns are the twists [angular; linear] of the child for unit rates, with the velocity of the point
        at the origin.
    """
    turn, place = pose[:3, :3], pose[:3, 3]
    nothing = np.zeros(3)
    if dof.kind in {"translation", "rotation", "screw"}:
        axis = turn @ dof.axis
        if dof.kind == "translation":
            return np.concatenate([nothing, axis])[:, None]
        slide = axis * dof.pitch if dof.kind == "screw" else nothing
        return np.concatenate([axis, cross_single(place, axis) + slide])[:, None]
    spins = turn @ rotation_vector_jacobian(value[:3])
    if dof.kind == "ball":
        return np.concatenate([spins, np.cross(place, spins.T).T])
    place = place + turn @ value[3:]
    slides = np.concatenate([np.zeros((3, 3)), turn])
    return np.concatenate([np.concatenate([spins, np.cross(place, spins.T).T]), slides], axis=1)


#: Regularization of redundant constraints, as a share of the diagonal of ``C W Cᵀ``.
_REGULARIZATION = 1e-9


@dataclass(frozen=True)
class JointConstraint:
    """Bilateral constraints of a joint between two bodies, given by indices; -1 is the world.

    ``ways`` (n, 6) are the constrained directions [angular; linear] at ``point`` (3,), in the world's axes.
    """

    parent: int
    child: int
    point: Array
    ways: Array


class ConstrainedBodies:
    """Operational-space inverse mass of a constrained multibody system, at one set of poses.

    For block-diagonal inverse mass ``W`` (6n x 6n) and constraint Jacobian ``C``, the response of a unit wrench ``j``
    along itself is ``j W jᵀ - j W Cᵀ (C W Cᵀ)⁻¹ C W jᵀ`` (Gauss's principle of least constraint; Khatib 1987).

    Args:
        masses: (n,)
        inverse_inertia: Inverse moments of inertia (n, 3, 3), in the world's axes.
        mass_centers: Centers of mass (n, 3).
        joints: The constraints.
    """

    def __init__(
        self, masses: Array, inverse_inertia: Array, mass_centers: Array, joints: Sequence[JointConstraint]
    ) -> None:
        self._mass_centers = mass_centers
        self._loose = np.zeros((len(masses), 6, 6))
        self._loose[:, :3, :3] = inverse_inertia
        self._loose[:, [3, 4, 5], [3, 4, 5]] = 1.0 / masses[:, None]
        self._held = self.wrench_rows_of(joints)
        self._flat = self._held.reshape(len(self._held), 6 * len(masses))
        answers = np.einsum("rbi,bij->rbj", self._held, self._loose)
        together = answers.reshape(self._flat.shape) @ self._flat.T
        self._scale = 1.0 / np.sqrt(np.maximum(np.diagonal(together), 1e-300))
        stiff = together * np.outer(self._scale, self._scale) + _REGULARIZATION * np.eye(len(self._flat))
        self._back = np.linalg.inv(stiff)

    def wrench_rows(self, one: int, other: int, point: Array, ways: Array) -> Array:
        """Compute Jacobian rows (n, bodies, 6) of wrenches (n, 6) at a point (3,).

        They act on ``other`` and, reversed, on ``one``, indices of bodies; -1 is the world.
        """
        return self.wrench_rows_of([JointConstraint(one, other, point, ways)])

    def wrench_rows_of(self, several: Sequence[JointConstraint]) -> Array:
        """Compute the Jacobian rows (n, bodies, 6) of wrenches at several points, as ``wrench_rows`` does for one."""
        counts = [len(each.ways) for each in several]
        out = np.zeros((sum(counts), len(self._mass_centers), 6))
        if not len(out):
            return out
        ways = np.concatenate([each.ways for each in several])
        points = np.repeat(np.array([each.point for each in several]), counts, axis=0)
        for sign, ends in ((-1.0, [each.parent for each in several]), (1.0, [each.child for each in several])):
            bodies = np.repeat(ends, counts)
            rows = np.flatnonzero(bodies >= 0)
            arms, forces, at = points[rows] - self._mass_centers[bodies[rows]], ways[rows, 3:], bodies[rows]
            moments = arms[:, [1, 2, 0]] * forces[:, [2, 0, 1]] - arms[:, [2, 0, 1]] * forces[:, [1, 2, 0]]
            out[rows, at, :3] += sign * (ways[rows, :3] + moments)
            out[rows, at, 3:] += sign * forces
        return out

    def response(self, rows: Array) -> Array:
        """Compute the inverse inertia (k, k) in the coordinates of Jacobian rows (k, bodies, 6).

        These are the accelerations along the rows per unit of generalized force along each.
        """
        answers = np.einsum("kbi,bij->kbj", rows, self._loose).reshape(len(rows), -1)
        constraint_forces = answers @ self._flat.T * self._scale
        free = answers @ rows.reshape(len(rows), -1).T
        return np.asarray(free - constraint_forces @ self._back @ constraint_forces.T)

    def inverse_effective_mass(self, row: Array) -> float:
        """Compute the inverse effective mass along a Jacobian row (bodies, 6).

        It is the acceleration along the row per unit of generalized force along it, at least 0.
        """
        answer = np.einsum("bi,bij->bj", row, self._loose)
        constraint_forces = self._scale * (self._flat @ answer.ravel())
        return max(float((row * answer).sum() - constraint_forces @ self._back @ constraint_forces), 0.0)


def constraint_directions(joint: Joint, values: Array, size: float = 1.0) -> Array:
    """Compute the constrained directions of a joint at its values (size,).

    Args:
        joint: The joint.
        values: Its values (size of the joint,), rad or length units.
        size: Factor on lengths.

    Returns:
        (n, 6), orthonormal rows [angular; linear] at the joint frame's origin, in the axes of its frame on the parent.
    """
    pose, free = np.eye(4), []
    for dof, own in dof_slices(joint.dofs):
        free.append(dof_jacobian(dof, pose, values[own]))
        pose = pose @ dof_motion_single(dof, values[own])
    if not free:
        return np.eye(6)
    ways = np.concatenate(free, axis=1)
    ways[3:] *= size
    left, strengths, _ = np.linalg.svd(ways)
    return left[:, int((strengths > 1e-9 * strengths.max()).sum()) :].T


def rotate_directions(ways: Array, turn: Array) -> Array:
    """Rotate spatial vectors (n, 6) by a rotation (3, 3)."""
    return np.concatenate([ways[:, :3] @ turn.T, ways[:, 3:] @ turn.T], axis=1)
