"""Moments of inertia that the joints of a mechanism carry, to tell where the inertia tensor of a body matters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import bpy
import numpy as np

from ....core.model import Array, Dof
from ...data.access import record_of
from ...data.caching import joint_record
from ...data.conversion import read_dofs
from ...data.queries import parts
from ...rig.joint_frames import design_pose, joint_frame_matrix
from ..constraints.generic6dof import dof_directions
from ..world.anchor import connects_bodies, is_floating


class CarriedInertia:
    """Moments of inertia of all that each joint of a mechanism carries, about the joint's axes, in the design."""

    def __init__(self, rig: bpy.types.Object) -> None:
        self._poses = {obj: design_pose(obj) for obj in parts(rig, "BODY")}
        self._carriers: dict[bpy.types.Object, bpy.types.Object | None] = {}
        pivots: dict[bpy.types.Object, Array] = {}
        #: Axes (3, n) of the joint that carries a body.
        self._axes: dict[bpy.types.Object, Array] = {}
        for empty in parts(rig, "JOINT"):
            joint = joint_record(empty)
            ends = (joint.child, joint.parent) if joint.is_reversed else (joint.parent, joint.child)
            if joint.loop or ends[1] not in self._poses or not connects_bodies(joint) or is_floating(joint):
                continue
            frame = joint_frame_matrix(empty)
            self._carriers[ends[1]], pivots[ends[1]] = ends[0], frame[:3, 3]
            self._axes[ends[1]] = frame[:3, :3] @ _rotation_axes(read_dofs(joint))
        order = self._from_roots()
        inertias = self._inertias(reversed(order))
        #: Moments of inertia (n,) about these axes, and the least about those of all joints from the root to there.
        self._moments = {
            body: np.einsum("in,ij,jn->n", axes, _inertia_about(inertias[body], pivots[body]), axes)
            for body, axes in self._axes.items()
        }
        self._least: dict[bpy.types.Object | None, float] = {}
        for body in order:
            above = self._least.get(self._carriers.get(body), np.inf)
            self._least[body] = min(above, float(self._moments.get(body, np.empty(0)).min(initial=np.inf)))

    def _from_roots(self) -> list[bpy.types.Object]:
        """Return the bodies, each after the one that carries it."""
        order: dict[bpy.types.Object, None] = {}
        for body in self._poses:
            path: dict[bpy.types.Object, None] = {}
            above: bpy.types.Object | None = body
            while above is not None and above not in order and above not in path and above in self._poses:
                path[above] = None
                above = self._carriers.get(above)
            order |= dict.fromkeys(reversed(path))
        return list(order)

    def _inertias(self, from_leaves: Iterable[bpy.types.Object]) -> dict[bpy.types.Object, tuple[float, Array, Array]]:
        """Return mass, first moments (3,) and inertia (3, 3) about the origin of each body with all that it carries."""
        out: dict[bpy.types.Object, tuple[float, Array, Array]] = {}
        for body in from_leaves:
            record, turn, place = record_of(body), self._poses[body][:3, :3], self._poses[body][:3, 3]
            tensor = turn @ np.array(record.tensor, dtype=np.float64).reshape(3, 3) @ turn.T
            mass = record.mass
            own = mass, mass * place, mass * (tensor + (place @ place) * np.eye(3) - np.outer(place, place))
            out[body] = _sum_of(own, out.get(body))
            holder = self._carriers.get(body)
            if holder is not None:
                out[holder] = _sum_of(out[body], out.get(holder))
        return out

    def largest_error(self, body: bpy.types.Object, off: Array, accepted: float) -> float | None:
        """Return the largest share that an error of a body's tensor has in what joints carry; None for a free body.

        The search ends where the error is too large to be accepted, or cannot become so.

        Args:
            body: The body.
            off: Error (3, 3) of its tensor, in its axes.
            accepted: Share that is accepted.
        """
        turn = self._poses[body][:3, :3]
        off = turn @ off @ turn.T
        most, found = float(np.abs(np.linalg.eigvalsh(off)).max()), None
        above: bpy.types.Object | None = body
        while above in self._carriers and (found or 0.0) <= accepted:
            if found is not None and most <= found * self._least[above]:
                break
            axes = self._axes[above]
            share = np.abs(np.einsum("in,ij,jn->n", axes, off, axes)) / np.maximum(self._moments[above], 1e-30)
            if len(share):
                found = max(found or 0.0, float(share.max()))
            above = self._carriers[above]
        return found


def _sum_of(one: tuple[float, Array, Array], other: tuple[float, Array, Array] | None) -> tuple[float, Array, Array]:
    return one if other is None else (one[0] + other[0], one[1] + other[1], one[2] + other[2])


def _inertia_about(inertia: tuple[float, Array, Array], point: Array) -> Array:
    """Return the inertia (3, 3) about a point (3,) from mass, first moments and inertia about the origin."""
    mass, first, tensor = inertia
    cross = np.outer(point, first)
    moved: Array = tensor - 2.0 * (point @ first) * np.eye(3) + cross + cross.T
    return moved + mass * ((point @ point) * np.eye(3) - np.outer(point, point))


def _rotation_axes(dofs: Sequence[Dof]) -> Array:
    """Return the axes (3, n) about which a joint turns, in its frame; all three for balls and free joints."""
    if any(dof.kind in {"ball", "free"} for dof in dofs):
        return np.eye(3)
    turns = [dof.kind in {"rotation", "screw"} for dof in dofs]
    return dof_directions(dofs, np.zeros(len(dofs)))[turns].T if any(turns) else np.empty((3, 0))
