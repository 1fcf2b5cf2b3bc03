"""Changes of the design pose after an edit, so that the bodies of a posed mechanism stay where they are seen.

An edit of a posed mechanism may change the dofs of a joint, its frame, or which joints place the bodies. A body is seen
at ``X = M D``: its design pose ``D``, moved by its posed joints (``M``). The two sides of a joint coincide at its
values ``q``: ``X_child F_child = X_parent F_parent J(q)``. For an edited joint ``F_child`` is solved from this; the
design pose of the body that it carries follows, and the limb beyond it moves along. A loop that was closed at the
design pose and is so no longer gets another design pose (see ``loops.designs``). Parts that the edit does not affect
keep their frames and numbers exactly.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..kinematics import Tree, joint_motion, joint_values_from_poses, joint_values_from_transform
from ..loops.designs import close_designs, design_loop_errors, shift_dof_zero, shift_value_zero
from ..model import Array, Body, Joint, Mechanism, body_by_id, joint_by_id
from ..transforms import inverse

#: Largest relative difference of equal poses, whose numbers come from 32-bit floats.
SEEN_POSE_TOLERANCE = 4e-6


@dataclass(frozen=True)
class PosedState:
    """State of a posed mechanism before an edit is completed.

    Attributes:
        moves: Displacements (4, 4) of bodies from their design poses to where they are seen, by id.
        roots: Ids of the bodies that stay root bodies with a free placement.
        kept: Ids of the joints that place bodies as they did before.
        edited: Values (size,) of joints whose definition changed, by id.
        made: Ids of new bodies: they are placed by their joints.
        joining: Ids of new joints: one that closes a loop is fitted to where its bodies are seen.
        values: Initial values (size,) of new joints by id, where they differ from the file's.
        following: Ids of the dependent joints of loops; None: loops that open at the design pose stay so.
    """

    moves: Mapping[str, Array]
    roots: Collection[str] = ()
    kept: Collection[str] = ()
    edited: Mapping[str, Array] = field(default_factory=dict)
    made: Collection[str] = ()
    joining: Collection[str] = ()
    values: Mapping[str, Array] = field(default_factory=dict)
    following: Collection[str] | None = None


@dataclass
class DesignUpdate:
    """Result of ``preserve_seen_poses``: changes that keep bodies where they are seen.

    Attributes:
        shifts: Displacements (4, 4) of bodies' design poses in the mechanism's frame, by id, for those that move.
        values: Values (size,) of joints that were edited or begin to place bodies, by id.
        seen: Poses (4, 4) where bodies are seen, by id.
        zeros: Former values (size,) at the new zero of joints, by id, for those whose zero changed.
    """

    shifts: dict[str, Array] = field(default_factory=dict)
    values: dict[str, Array] = field(default_factory=dict)
    seen: dict[str, Array] = field(default_factory=dict)
    zeros: dict[str, Array] = field(default_factory=dict)

    def coordinates(self, mechanism: Mechanism) -> dict[str, Array]:
        """Compute the values (size,) at which the joints of the mechanism are seen, by id."""
        poses = np.array([self.seen[body.id] for body in mechanism.bodies]).reshape(-1, 4, 4)
        return {joint: value[0] for joint, value in joint_values_from_poses(mechanism, poses[None]).items()}


def preserve_seen_poses(tree: Tree, placement: PosedState) -> DesignUpdate:
    """Change the design of a tree's mechanism, bodies and joint frames, so that its bodies stay where they are seen."""
    return _PosePreserver(tree, placement).hold()


class _PosePreserver:
    """Design poses and seen poses of bodies by id, while the tree is walked from its roots outwards."""

    def __init__(self, tree: Tree, placement: PosedState) -> None:
        self.tree, self.placement = tree, placement
        self.bodies = body_by_id(tree.mechanism)
        self.design: dict[str | None, Array] = {None: np.eye(4)}
        self.seen: dict[str | None, Array] = {None: np.eye(4)}
        for own, body in self.bodies.items():
            self.design[own] = body.pose
            self.seen[own] = placement.moves.get(own, np.eye(4)) @ body.pose
        self.shifts: dict[str | None, Array] = {}
        self.values: dict[str, Array] = {}

    def hold(self) -> DesignUpdate:
        """Walk the tree, fit the joints, and close the loops that were closed at the design pose."""
        closes = self.placement.following is not None
        before = design_loop_errors(self.tree.mechanism, self.tree) if closes else {}
        for root in self.tree.roots:
            self._place_root(root)
        for link in self.tree.links:
            self._place_body(link.joint, link.carrier, link.body)
        for joint in self.tree.mechanism.joints:
            if joint.id in self.tree.loop_joints and joint.id in self.placement.edited:
                self._join_sides(joint, self.placement.edited[joint.id])
            elif joint.id in self.tree.loop_joints and joint.id in self.placement.joining:
                self._join_sides(joint, self._nearest(joint))
        shifts = {own: shift for own, shift in self.shifts.items() if own is not None}
        for own, shift in shifts.items():
            self.bodies[own].pose = shift @ self.bodies[own].pose
        seen = {own: pose for own, pose in self.seen.items() if own is not None}
        held = DesignUpdate(shifts, self.values, seen)
        if before and (shifts or self.values):
            self._close(held, before)
        return held

    def _close(self, held: DesignUpdate, before: Mapping[str, float]) -> None:
        """Change the design pose of loops that the edit opened, so that they are closed there."""
        mechanism, joints = self.tree.mechanism, joint_by_id(self.tree.mechanism)
        seen = held.coordinates(mechanism)
        placement = self.placement
        zeros = close_designs(mechanism, self.tree, before, seen, placement.following or (), placement.joining)
        poses = self.tree.forward({own: zero[None] for own, zero in zeros.items()})[0] if zeros else np.zeros(0)
        moved: set[str | None] = set()
        for link in self.tree.links:
            if zeros.get(link.joint.id, np.zeros(0)).any() or link.carrier in moved:
                moved.add(link.body)
                pose = poses[self.tree.index[link.body]]
                held.shifts[link.body] = pose @ inverse(self.design[link.body])
                self.bodies[link.body].pose = pose
        for own, zero in zeros.items():
            joint = joints[own]
            if zero.any():
                held.values[own] = shift_value_zero(joint, seen[own], zero)
                held.zeros[own] = zero
                joint.dofs = [shift_dof_zero(joint, zero)]
            parent, child = (np.eye(4) if end is None else self.bodies[end].pose for end in joint.ends)
            joint.frame_child = inverse(child) @ parent @ joint.frame_parent

    def _place_root(self, root: Body) -> None:
        """Place a root: one that was free before stays so; any other gets its seen pose as its design pose."""
        place = self.placement
        if root.id in place.made or not root.active:
            self.seen[root.id] = root.pose
        elif root.id not in place.roots:
            self._shift(root.id, place.moves.get(root.id, np.eye(4)), None)

    def _place_body(self, joint: Joint, carrier: str | None, body: str) -> None:
        place = self.placement
        if body in place.made:
            start = place.values.get(joint.id, joint.initial)
            self.seen[body] = self._carried_pose(self.seen[carrier], joint, carrier, start)
        elif joint.id not in place.kept or joint.id in place.edited:
            value = place.edited.get(joint.id)
            self._join_sides(joint, self._nearest(joint) if value is None else value)
            design = self._carried_pose(self._designed(carrier), joint, carrier, None)
            self._shift(body, design @ inverse(self.bodies[body].pose), carrier)
            return
        if carrier in self.shifts:
            self.shifts[body] = self.shifts[carrier]

    def _shift(self, body: str, shift: Array, carrier: str | None) -> None:
        """Displace a body's design pose; like its carrier's where the difference is within rounding."""
        beside = self.shifts.get(carrier)
        reach = max(1.0, *(float(np.linalg.norm(pose[body][:3, 3])) for pose in (self.design, self.seen)))
        for same in (np.eye(4) if beside is None else beside, np.eye(4)):
            if np.abs(shift - same).max() <= SEEN_POSE_TOLERANCE * reach:
                shift = same
        if not np.array_equal(shift, np.eye(4)):
            self.shifts[body] = shift

    def _designed(self, body: str | None) -> Array:
        return self.shifts[body] @ self.design[body] if body in self.shifts else self.design[body]

    def _join_sides(self, joint: Joint, value: Array) -> None:
        """Fit a joint's child frame so that its sides coincide at the given values where its bodies are seen."""
        self.values[joint.id] = value
        parent, child = self.seen[joint.parent], self.seen[joint.child]
        frame = inverse(child) @ parent @ joint.frame_parent @ joint_motion(joint, value[None])[0]
        reach = max(1.0, float(np.linalg.norm(child[:3, 3])), float(np.linalg.norm(frame[:3, 3])))
        if np.abs(frame - joint.frame_child).max() > SEEN_POSE_TOLERANCE * reach:
            joint.frame_child = frame

    def _nearest(self, joint: Joint) -> Array:
        """Compute the values at which a joint's sides are seen."""
        parent, child = self.seen[joint.parent], self.seen[joint.child]
        seen = inverse(parent @ joint.frame_parent) @ child @ joint.frame_child
        return joint_values_from_transform(joint, seen[None])[0]

    @staticmethod
    def _carried_pose(carrier_pose: Array, joint: Joint, carrier: str | None, value: Array | None) -> Array:
        """Compute the pose of the body that a joint carries, at values or None for zero."""
        motion = np.eye(4) if value is None else joint_motion(joint, value[None])[0]
        if joint.parent == carrier:
            return carrier_pose @ joint.frame_parent @ motion @ inverse(joint.frame_child)
        return carrier_pose @ joint.frame_child @ inverse(motion) @ inverse(joint.frame_parent)
