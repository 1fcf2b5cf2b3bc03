"""Effective masses of joints and points: for servo gains that no file gives and for forces that are set once a frame.

Motors count as free.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import bpy
import numpy as np
from numpy.typing import NDArray

from ....core.model import Array, are_angles
from ....core.spatial import ConstrainedBodies, JointConstraint, constraint_directions, cross_single, rotate_directions
from ....core.transforms import affine_inverse, rotation_with_z
from ...data.access import record_of
from ...data.queries import parts
from ...data.rigid_bodies import collision_children, total_mass
from ..bodies.inertia import combined_inertia
from ..constraints.generic6dof import dof_directions
from ..world.anchor import connects_bodies
from ..world.scale import model_scale
from .joint_state import JointStateArrays, MultiDofJoint

#: Inverse effective mass (1/kg, or per kg m2) that counts as immovable.
_MIN_INVERSE_MASS = 1e-9
#: Sine of the angle between a joint's axes below which they count as one.
_MIN_AXIS_ANGLE = 0.05
#: Joints whose constraint directions are constant in their own frame.
_CONSTANT_DIRECTION_KINDS: tuple[list[str], ...] = ([], ["rotation"], ["translation"], ["screw"], ["ball"])


@dataclass
class _Island:
    """Bodies that joints connect, by their indices among the poses, and these joints."""

    bodies: list[int]
    joints: list[MultiDofJoint]
    ways: list[Array | None]  # constraint directions of each joint, in its frame, where they are constant
    now: ConstrainedBodies | None = None
    seen: Array | None = None  # the poses for which ``now`` was computed
    inertia: float | None = None  # about its one hinge, for one body on one hinge
    place: dict[int, int] = field(default_factory=dict)

    @property
    def is_single_dof(self) -> bool:
        """True if it is one body on one hinge or slider at a fixed body, for which a closed form exists."""
        kinds = [[dof.kind for dof in item.joint.dofs] for item in self.joints]
        return len(self.bodies) == 1 and kinds in ([["rotation"]], [["translation"]])


class EffectiveMass:
    """Operational-space inverse masses of a mechanism's bodies during a simulation (Khatib 1987)."""

    def __init__(self, joint_state: JointStateArrays, masses: Array, tensors: Array, moves: list[bool]) -> None:
        """Find the groups of connected bodies.

        Args:
            joint_state: The mechanism.
            masses: Masses (bodies,) in kg.
            tensors: Inertia tensors (bodies, 3, 3) in the bodies' own axes.
            moves: Whether each body, and last the world, moves.
        """
        self._size, self._masses, self._moves = model_scale(joint_state.rig), masses, moves
        self._effective_masses = np.linalg.pinv(tensors, hermitian=True)
        self._of: dict[int, _Island] = {}
        joints = [item for item in joint_state.connected_joints if "free" not in [dof.kind for dof in item.joint.dofs]]
        for body in (body for body, free in enumerate(moves) if free and body not in self._of):
            island = self._island(body, joints)
            self._of.update(dict.fromkeys(island.bodies, island))

    def _island(self, start: int, joints: list[MultiDofJoint]) -> _Island:
        bodies, own = [start], []
        left = list(joints)
        for body in bodies:
            touching = [item for item in left if body in (item.parent, item.child)]
            left = [item for item in left if body not in (item.parent, item.child)]
            own += touching
            ends = (end for item in touching for end in (item.parent, item.child))
            bodies += [end for end in dict.fromkeys(ends) if self._moves[end] and end not in bodies]
        steady = [[dof.kind for dof in item.joint.dofs] in _CONSTANT_DIRECTION_KINDS for item in own]
        zeros = [np.zeros(item.joint.size) for item in own]
        ways = [
            constraint_directions(item.joint, zero, self._size) if it else None
            for item, zero, it in zip(own, zeros, steady, strict=True)
        ]
        return _Island(bodies, own, ways, place={body: number for number, body in enumerate(bodies)})

    def _at(self, island: _Island, poses: Array) -> ConstrainedBodies:
        if island.now is None or island.seen is not poses:
            turns = poses[island.bodies][:, :3, :3]
            inverse_inertia = np.asarray(
                turns @ self._effective_masses[island.bodies] @ np.swapaxes(turns, 1, 2), dtype=np.float64
            )
            mass_centers = self._size * poses[island.bodies][:, :3, 3]
            held = [
                self._held(island, item, ways, poses) for item, ways in zip(island.joints, island.ways, strict=True)
            ]
            island.now, island.seen = (
                ConstrainedBodies(self._masses[island.bodies], inverse_inertia, mass_centers, held),
                poses,
            )
        return island.now

    def _held(self, island: _Island, item: MultiDofJoint, ways: Array | None, poses: Array) -> JointConstraint:
        here = poses[item.parent] @ item.on_parent
        own = constraint_directions(item.joint, item.now(poses), self._size) if ways is None else ways
        ends = island.place.get(item.parent, -1), island.place.get(item.child, -1)
        return JointConstraint(*ends, self._size * here[:3, 3], rotate_directions(own, here[:3, :3]))

    def inverse_mass_between(self, one: tuple[int, Array], other: tuple[int, Array], way: Array, poses: Array) -> float:
        """Return the inverse effective mass (1/kg, in the mechanism's own lengths) between two points.

        Args:
            one: Index of a body and a point (3,) on it.
            other: Index of the other body and a point (3,) on it.
            way: Direction (3,) through both points, in which the forces act.
            poses: Poses (bodies + 1, 4, 4) in the mechanism's own lengths.
        """
        both = np.concatenate([np.zeros(3), way])
        return (
            self._inverse_mass_between_bodies(one[0], self._size * one[1], other[0], self._size * other[1], both, poses)
            / self._size
        )

    def inverse_inertia_about(self, item: MultiDofJoint, axes: Array, turns: NDArray[np.bool_], poses: Array) -> Array:
        """Return the inverse effective inertia (size,) of a joint along or about axes.

        Args:
            item: The joint.
            axes: Axes (size, 3) in the world.
            turns: Which of them (size,) are rotations.
            poses: Poses (bodies + 1, 4, 4) in the mechanism's own lengths.
        """
        point = self._size * (poses[item.child] @ item.on_child)[:3, 3]
        nothing = np.zeros_like(axes)
        ways = np.where(turns[:, None], np.hstack([axes, nothing]), np.hstack([nothing, axes]))
        inverse = [self._inverse_mass_between_bodies(item.parent, point, item.child, point, way, poses) for way in ways]
        return np.array(inverse) / np.where(turns, 1.0, self._size)

    def joint_space_response(self, items: Sequence[MultiDofJoint], values: Sequence[Array], poses: Array) -> Array:
        """Return the accelerations (n, n) of joint values per unit of generalized force on each, in the joints' units.

        Args:
            items: Joints.
            values: Joint values (size,) of each; n is the sum of the sizes.
            poses: Poses (bodies + 1, 4, 4) in the mechanism's own lengths.
        """
        wrenches = [self._unit_wrenches(*each, poses) for each in zip(items, values, strict=True)]
        ends = np.cumsum([0, *(len(turns) for _, turns in wrenches)])
        out = np.zeros((ends[-1], ends[-1]))
        islands = {id(each): each for each in self._of.values()}
        for island in islands.values():
            acting: list[JointConstraint] = []
            numbers: list[int] = []
            for item, (ways, _), first in zip(items, wrenches, ends[:-1].tolist(), strict=True):
                sides = island.place.get(item.parent, -1), island.place.get(item.child, -1)
                if max(sides) >= 0:
                    point = self._size * (poses[item.child] @ item.on_child)[:3, 3]
                    acting.append(JointConstraint(*sides, point, ways))
                    numbers += range(first, first + len(ways))
            if acting:
                now = self._at(island, poses)
                out[np.ix_(numbers, numbers)] += now.response(now.wrench_rows_of(acting))
        lengths = np.concatenate([np.where(turns, 1.0, self._size) for _, turns in wrenches])
        return out / lengths[:, None]

    @staticmethod
    def _unit_wrenches(item: MultiDofJoint, values: Array, poses: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return the wrenches (size, 6) of unit generalized forces on a joint's values, and which are rotations."""
        axes = dof_directions(item.joint.dofs, values) @ (poses[item.parent] @ item.on_parent)[:3, :3].T
        turns = np.array(are_angles(item.joint.dofs))
        out = np.zeros((len(axes), 6))
        for which, columns in ((turns, slice(0, 3)), (~turns, slice(3, 6))):
            if which.sum() == 1:
                out[which, columns] = axes[which] / (axes[which] ** 2).sum()
            elif which.any():  # axes that are not perpendicular share forces by the dual basis
                out[which, columns] = np.linalg.pinv(axes[which], rcond=_MIN_AXIS_ANGLE).T
        return out, turns

    def effective_inertia(self, item: MultiDofJoint, values: Array, turns: NDArray[np.bool_], poses: Array) -> Array:
        """Return the effective mass or inertia (size,) of each joint value, all other motors being free."""
        axes = dof_directions(item.joint.dofs, values) @ (poses[item.parent] @ item.on_parent)[:3, :3].T
        return np.asarray(1.0 / np.maximum(self.inverse_inertia_about(item, axes, turns, poses), _MIN_INVERSE_MASS))

    def single_dof_inertias(self, items: Sequence[MultiDofJoint], poses: Array) -> Array:
        """Return ``effective_inertia`` (n,) of joints with one degree of freedom, for all of them together."""
        if not items:
            return np.zeros(0)
        inverse = np.diagonal(self.joint_space_response(items, [np.zeros(1)] * len(items), poses))
        return np.asarray(1.0 / np.maximum(inverse, _MIN_INVERSE_MASS))

    def least_inertia(self, item: MultiDofJoint, poses: Array) -> float:
        """Return the least effective moment of inertia of a ball, over thirteen directions."""
        ways = np.array([way for way in itertools.product((-1.0, 0.0, 1.0), repeat=3) if way > (0.0, 0.0, 0.0)])
        ways /= np.linalg.norm(ways, axis=1)[:, None]
        return 1.0 / max(
            self.inverse_inertia_about(item, ways, np.ones(len(ways), dtype=bool), poses).max(), _MIN_INVERSE_MASS
        )

    def _inverse_mass_between_bodies(
        self, one: int, at: Array, other: int, there: Array, way: Array, poses: Array
    ) -> float:
        """Return the inverse effective mass of a wrench (6,) on one body and its reaction on another, at points."""
        first, second = self._of.get(one), self._of.get(other)
        if first is None or first is not second:
            sides = ((first, one, at), (second, other, there))
            return sum(
                self._inverse_mass_of_body(island, body, place, way, poses)
                for island, body, place in sides
                if island is not None
            )
        now = self._at(first, poses)
        wrenches = now.wrench_rows(first.place[one], -1, at, way[None]) + now.wrench_rows(
            -1, first.place[other], there, way[None]
        )
        return now.inverse_effective_mass(wrenches[0])

    def _inverse_mass_of_body(self, island: _Island, body: int, place: Array, way: Array, poses: Array) -> float:
        """Return the inverse effective mass of a wrench (6,) on one body of an island."""
        if not island.is_single_dof:
            now = self._at(island, poses)
            return now.inverse_effective_mass(now.wrench_rows(-1, island.place[body], place, way[None])[0])
        (item,) = island.joints
        frame = poses[item.parent] @ item.on_parent
        axis, arm = frame[:3, :3] @ item.joint.dofs[0].axis, place - self._size * frame[:3, 3]
        if item.joint.dofs[0].kind == "translation":
            return float(axis @ way[3:]) ** 2 / float(self._masses[body])
        if island.inertia is None:
            now, about = self._at(island, poses), np.concatenate([axis, np.zeros(3)])
            island.inertia = 1.0 / max(
                now.inverse_effective_mass(now.wrench_rows(-1, 0, place, about[None])[0]), _MIN_INVERSE_MASS
            )
        x, y, z = cross_single(arm, way[3:]) + way[:3]
        return float(axis[0] * x + axis[1] * y + axis[2] * z) ** 2 / island.inertia


#: Least inertia: a joint that moves nothing needs some gains too.
_MIN_INERTIA = 1e-9


class ReflectedInertia:
    """Masses, inertia and connections of a mechanism's bodies for one set of poses.

    Poses (bodies + 1, 4, 4) are in the mechanism's own lengths. Lever arms are in world units, masses and forces
    unscaled. Translations report mass × scale (N per model length/s²): for a mechanism of twice the size, twice the
    mass.
    """

    def __init__(self, joint_state: JointStateArrays, poses: Array) -> None:
        self._poses, self._world, self._size = poses, len(joint_state.bodies), model_scale(joint_state.rig)
        pieces = collision_children(joint_state.rig)
        solid = [obj.rigid_body for obj in joint_state.bodies]
        bodies = list(zip(joint_state.bodies, solid, strict=True))
        self._mass = np.array([total_mass(obj, body.mass) if body else 0.0 for obj, body in bodies])
        self._tensors = np.array(
            [combined_inertia(obj, pieces.get(obj, ())) if body else np.zeros((3, 3)) for obj, body in bodies]
        ).reshape(-1, 3, 3)
        self._stands = {number for number, body in enumerate(solid) if body is not None and body.type == "PASSIVE"} | {
            self._world
        }
        self._beside = self._neighbours(joint_state)
        self._joint_state = joint_state

    def _neighbours(self, joint_state: JointStateArrays) -> list[set[int]]:
        place: dict[bpy.types.Object | None, int] = {obj: number for number, obj in enumerate(joint_state.bodies)}
        place[None] = self._world
        beside: list[set[int]] = [set() for _ in range(self._world + 1)]
        for record in (record_of(empty).joint for empty in parts(joint_state.rig, "JOINT")):
            if connects_bodies(record) and record.parent in place and record.child in place:
                beside[place[record.parent]].add(place[record.child])
                beside[place[record.child]].add(place[record.parent])
        return beside

    def _side(self, start: int, other: int) -> set[int] | None:
        """Return the bodies on one side of a joint; None if that side is fixed, or connected to the other as well."""
        found, reached = {start}, [start]
        while reached:
            at = reached.pop()
            for body in self._beside[at] - found - ({other} if at == start else set()):
                found.add(body)
                reached.append(body)
        return None if found & self._stands or other in found else found

    def _about(self, bodies: set[int], point: Array, axis: Array, turns: bool) -> float:
        """Return the moment of inertia of bodies about an axis, or their mass along it."""
        at = sorted(bodies)
        if not turns:
            return float(self._mass[at].sum()) * self._size
        arms = self._size * (self._poses[at][:, :3, 3] - point)
        across = arms - np.outer(arms @ axis, axis)
        own = np.einsum("nji,j->ni", self._poses[at][:, :3, :3], axis)
        return float(self._mass[at] @ (across**2).sum(axis=1) + np.einsum("ni,nij,nj->", own, self._tensors[at], own))

    def _moved(self, parent: int, child: int, point: Array, axis: Array, turns: bool) -> float:
        """Return the inertia that a servo between two bodies moves.

        That is the child's side, reduced by the parent's where that is free too; in a closed loop a single free body.
        """
        sides = [self._side(child, parent), self._side(parent, child)]
        free = [self._about(side, point, axis, turns) for side in sides if side is not None]
        if not free:  # in a loop
            free = [self._about({body}, point, axis, turns) for body in (child, parent) if body not in self._stands][:1]
        return max(1.0 / sum(1.0 / max(each, _MIN_INERTIA) for each in free) if free else 0.0, _MIN_INERTIA)

    def of_single_dof_joints(self, joint_state: JointStateArrays) -> Array:
        """Return the moment of inertia or mass (n,) that the servo of each lone hinge or slider moves."""
        frames = self._poses[joint_state.parent] @ affine_inverse(joint_state.frame_parent)
        ends = zip(joint_state.parent, joint_state.child, frames, joint_state.turns, strict=True)
        return np.array([self._moved(int(p), int(c), f[:3, 3], f[:3, 2], bool(t)) for p, c, f, t in ends])

    def of_multi_dof_joint(self, joint: MultiDofJoint, values: Array) -> Array:
        """Return the moment of inertia or mass (size,) that each servo of a joint moves, at its joint values."""
        frame = self._poses[joint.parent] @ joint.on_parent
        point = (self._poses[joint.child] @ joint.on_child)[:3, 3]
        axes = dof_directions(joint.joint.dofs, values) @ frame[:3, :3].T
        kinds = zip(axes, are_angles(joint.joint.dofs), strict=True)
        return np.array([self._moved(joint.parent, joint.child, point, axis, turns) for axis, turns in kinds])

    def tilt_inertia(self, joint: MultiDofJoint) -> float:
        """Return the least reduced moment of inertia (kg m2) of a hinge's bodies about axes across its own.

        As Bullet estimates it for a spring: each body's, about the pivot, without those that other joints carry.
        """
        frame = self._poses[joint.parent] @ joint.on_parent
        axes = frame[:3, :3] @ rotation_with_z(joint.joint.dofs[0].axis)[:, :2]
        inverse = np.zeros(2)
        for body in (joint.parent, joint.child):
            if body not in self._stands and self._mass[body] > 0.0:
                turn, arm = self._poses[body][:3, :3], self._size * (self._poses[body][:3, 3] - frame[:3, 3])
                response = np.linalg.norm(np.linalg.pinv(self._tensors[body], hermitian=True) @ turn.T @ axes, axis=0)
                inverse += 1.0 / (self._mass[body] * arm @ arm + 1.0 / np.maximum(response, _MIN_INVERSE_MASS))
        return float(1.0 / max(inverse.max(), _MIN_INVERSE_MASS))

    def stands(self, body: int) -> bool:
        """Return whether the body with this index is fixed."""
        return body in self._stands

    @cached_property
    def effective_mass(self) -> EffectiveMass:
        """Inverse effective masses of the bodies, in these poses and all that follow."""
        moves = [mass > 0.0 and body not in self._stands for body, mass in enumerate(self._mass)]
        return EffectiveMass(self._joint_state, self._mass, self._tensors, [*moves, False])

    def momentum(self, body: int, speed: Array, spin: Array) -> tuple[Array, Array]:
        """Return linear and angular momentum (3,) of a body, in world axes.

        Args:
            body: Index of the body.
            speed: Linear velocity (3,) in the mechanism's own lengths.
            spin: Angular velocity (3,).
        """
        turn = self._poses[body][:3, :3]
        return self._mass[body] * self._size * speed, turn @ self._tensors[body] @ turn.T @ spin
