"""Kinematics: the spanning tree of a mechanism, forward kinematics, and joint coordinates from poses.

A mechanism is a graph. ``spanning_tree`` walks it breadth first from one root per connected component and finds the
joints that close loops; ``Tree.forward`` poses all bodies for many sets of coordinates at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .model import DOF_SIZE, Array, Body, Dof, Joint, Mechanism, body_by_id, dof_slices, first_indices
from .transforms import IDENTITY_POSE, inverse, make_pose, rotation_matrix, rotation_vector, rotation_with_z

#: Poses per block of computation: more do not fit in the processor's cache, fewer cost more calls.
_POSES_PER_BLOCK = 2048


#: Key in a joint's ``extra`` where the file marks it as closing a loop.
CLOSES_LOOP = "closes_loop"
#: Largest difference, in lengths and in entries of rotations, at which the two sides of a joint coincide.
OPENING_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Link:
    """Edge of the spanning tree: a joint, the ``body`` it places and the ``carrier`` (body id, None for the world).

    ``is_reversed``: the joint points towards the root, its ``child`` is the carrier.
    """

    joint: Joint
    body: str
    carrier: str | None
    is_reversed: bool


@dataclass
class Tree:
    """Spanning tree. ``links`` come parents first; ``roots`` are the bodies without a link."""

    mechanism: Mechanism
    roots: list[Body]
    links: list[Link]
    loop_joints: set[str]
    index: dict[str, int] = field(default_factory=dict)  # body id -> its index in mechanism.bodies

    def forward(self, coordinates: Mapping[str, Array], poses: int = 1, root_poses: Array | None = None) -> Array:
        """Compute forward kinematics: the world pose of every body.

        Args:
            coordinates: Joint id -> values (poses,) or (poses, size of the joint); a first dimension of 1 is broadcast.
                Joints that it does not name are at zero.
            poses: Number of poses.
            root_poses: Poses (poses, roots, 4, 4) or (roots, 4, 4) of the roots; None: their design poses.

        Returns:
            (poses, bodies, 4, 4), in the order of the mechanism's bodies.
        """
        # The poses are the last dimension, contiguous. np.empty and not np.zeros: for a large array that need not be
        # zero the system provides large pages, which is several times as fast.
        world = np.empty((len(self.mechanism.bodies), 4, 4, poses))
        world[:, 3], world[:, 3, 3] = 0.0, 1.0
        roots = None if root_poses is None else np.broadcast_to(root_poses, (poses, *root_poses.shape[-3:]))
        carries = self._link_motions(coordinates)
        for first in range(0, poses, _POSES_PER_BLOCK):
            part = slice(first, min(first + _POSES_PER_BLOCK, poses))
            self._forward_block(world[..., part], carries, None if roots is None else roots[part], part)
        placed = {*(self.index[root.id] for root in self.roots), *(carry.body for carry in carries)}
        world[[at for at in range(len(world)) if at not in placed], :3] = 0.0  # a second body with the same id
        return world.transpose(3, 0, 1, 2)

    def _link_motions(self, coordinates: Mapping[str, Array]) -> list[LinkMotion]:
        """Compile the step from the carrier to each body that has one."""
        rest = {at: IDENTITY_POSE for at in (-1, *(self.index[root.id] for root in self.roots))}
        out = []
        for link in self.links:
            ends = -1 if link.carrier is None else self.index[link.carrier], self.index[link.body]
            out.append(LinkMotion.by(link.joint, coordinates.get(link.joint.id), rest[ends[0]], ends, link.is_reversed))
            rest[ends[1]] = out[-1].rest.pose
        return out

    def _forward_block(self, world: Array, carries: list[LinkMotion], roots: Array | None, part: slice) -> None:
        """Compute a block of poses, small enough to stay in the processor's cache.

        Frames of bodies that carry no further body are released, so that the next take their place in the cache.
        """
        frames = {-1: FrameBatch.at(np.eye(4)[None])}
        last = {carry.carrier: number for number, carry in enumerate(carries)}
        for number, root in enumerate(self.roots):
            at = self.index[root.id]
            poses = root.pose[None] if roots is None else roots[:, number]
            world[at, :3] = poses[:, :3].transpose(1, 2, 0)
            if at in last:
                frames[at] = FrameBatch.at(poses)
        for number, carry in enumerate(carries):
            own = carry.through(frames[carry.carrier], part)
            carry.rest.of(own).put(world[carry.body])
            if last[carry.carrier] == number:
                del frames[carry.carrier]
            if carry.body in last:
                frames[carry.body] = own


def spanning_tree(mechanism: Mechanism, placed_roots: Collection[str] | Mapping[str, float] = ()) -> Tree:
    """Compute the breadth-first spanning tree over the active joints.

    A joint between two bodies that are both placed closes a loop. Joints that their file marks as closing loops place a
    body only where no other joint does.

    The root of a connected component is what is joined to the world, else the one body that no joint has as its child,
    else, and always where joints are not directed, the heaviest body: of equals the one with the most joints (where
    joints are not directed), then the first in the file.

    Args:
        mechanism: The mechanism.
        placed_roots: Bodies (ids) that are roots before all of these; as a mapping to ranks, those of the highest rank.
    """
    index = body_indices(mechanism)
    touching: dict[str | None, list[Joint]] = {body_id: [] for body_id in index}
    touching[None] = []
    for joint in mechanism.joints:
        if joint.active and joint.parent in touching and joint.child in touching and joint.parent != joint.child:
            touching[joint.parent].append(joint)
            touching[joint.child].append(joint)

    placed: set[str | None] = {None}
    used: set[str] = set()
    links: list[Link] = []
    loops: set[str] = set()

    def grow(start: str | None) -> None:
        queue, late = deque([start]), deque[tuple[str | None, Joint]]()
        while queue or late:
            if queue:
                body = queue.popleft()
                early = [joint for joint in touching[body] if not joint.extra.get(CLOSES_LOOP)]
                late += [(body, joint) for joint in touching[body] if joint.extra.get(CLOSES_LOOP)]
            else:
                body, joint = late.popleft()
                early = [joint]
            for joint in early:
                if joint.id in used:
                    continue
                used.add(joint.id)
                other = joint.child if joint.parent == body else joint.parent
                if other in placed:
                    loops.add(joint.id)
                    continue
                placed.add(other)
                assert other is not None
                links.append(Link(joint, other, body, is_reversed=joint.child == body))
                queue.append(other)

    grow(None)
    roots = []
    for part in _connected_parts(mechanism, touching, placed):
        root = _choose_root(part, touching, mechanism.directed, placed_roots)
        roots.append(root)
        placed.add(root.id)
        if touching[root.id]:
            grow(root.id)
    return Tree(mechanism, roots, links, loops, index)


def _connected_parts(
    mechanism: Mechanism, touching: dict[str | None, list[Joint]], placed: set[str | None]
) -> list[list[Body]]:
    """Split the bodies that are not placed yet into connected components, each in file order."""
    part_of: dict[str, int] = {}
    parts: list[list[Body]] = []
    for body in mechanism.bodies:
        if body.id in placed:
            continue
        if body.id not in part_of:
            number = len(parts)
            parts.append([])
            part_of[body.id] = number
            stack = [body.id]
            while stack:
                here = stack.pop()
                for joint in touching[here]:
                    for other in joint.ends:
                        if other is not None and other not in part_of:
                            part_of[other] = number
                            stack.append(other)
        parts[part_of[body.id]].append(body)
    return parts


def _choose_root(
    part: list[Body],
    touching: dict[str | None, list[Joint]],
    directed: bool,
    placed_roots: Collection[str] | Mapping[str, float],
) -> Body:
    if isinstance(placed_roots, Mapping):
        highest = max((placed_roots[body.id] for body in part if body.id in placed_roots), default=None)
        part = [body for body in part if placed_roots.get(body.id) == highest]
    else:
        part = [body for body in part if body.id in placed_roots][:1] or part
    if len(part) == 1:
        return part[0]
    unclaimed = [body for body in part if all(joint.child != body.id for joint in touching[body.id])]
    if directed and len(unclaimed) == 1:
        return unclaimed[0]
    return max(part, key=lambda body: (body.mass, 0 if directed else len(touching[body.id])))


def body_indices(mechanism: Mechanism) -> dict[str, int]:
    """Return the index of each body in a mechanism by id; of several with the same id that of the first."""
    return {body.id: number for number, body in reversed([*enumerate(mechanism.bodies)])}


def initial_joint_values(mechanism: Mechanism) -> dict[str, Array]:
    """Return the initial joint values: id -> (1, size of the joint), as ``Tree.forward`` takes them."""
    return {joint.id: joint.initial[None] for joint in mechanism.joints}


def joint_values_from_poses(mechanism: Mechanism, poses: Array) -> dict[str, Array]:
    """Compute joint values from body poses of shape (n, bodies, 4, 4): id -> (n, size of the joint).

    Angles are in (-pi, pi]. Motion outside the joint's degrees of freedom (joint separation) is ignored.
    """
    index = body_indices(mechanism)
    out: dict[str, Array] = {}
    for joint in mechanism.joints:
        if joint.active:
            out[joint.id] = joint_values_from_transform(joint, joint_transform(joint, poses, index))
    return out


def joint_transform(joint: Joint, poses: Array, index: Mapping[str, int]) -> Array:
    """Compute ``J`` of a joint, (n, 4, 4): the pose of its child side relative to its parent side.

    Args:
        joint: The joint.
        poses: World poses of bodies (n, bodies, 4, 4).
        index: Index of each body in ``poses``, by id.
    """

    def side(body: str | None, frame: Array) -> Array:
        return frame[None] if body is None else poses[:, index[body]] @ frame

    return inverse(side(joint.parent, joint.frame_parent)) @ side(joint.child, joint.frame_child)


def joint_values_from_transform(joint: Joint, transform: Array) -> Array:
    """Compute the joint values, (n, size), whose ``J`` is nearest to ``transform`` (n, 4, 4)."""
    n = len(transform)
    kinds = [dof.kind for dof in joint.dofs]
    if not kinds:
        return np.zeros((n, 0))
    if kinds in (["rotation"], ["screw"]):
        align = rotation_with_z(joint.dofs[0].axis)
        turn = align.T @ transform[:, :3, :3] @ align
        return np.arctan2(turn[:, 1, 0] - turn[:, 0, 1], turn[:, 0, 0] + turn[:, 1, 1])[:, None]
    if kinds == ["translation"]:
        return (transform[:, :3, 3] @ joint.dofs[0].axis)[:, None]
    if kinds == ["ball"]:
        return rotation_vector(transform[:, :3, :3])
    if kinds == ["free"]:
        return np.concatenate([rotation_vector(transform[:, :3, :3]), transform[:, :3, 3]], axis=1)
    return _nearest_joint_values(joint, transform)


def joint_motion(joint: Joint, value: Array) -> Array:
    """Compute ``J(q)``, (n, 4, 4), for joint values (n, size)."""
    value = np.asarray(value, dtype=np.float64).reshape(len(value), -1)
    poses = len(value)
    frames = FrameBatch.at(np.eye(4)[None])
    for dof, amount in split_by_dof(joint, value):
        frames = move_by_dof(frames, dof, amount, False)
    out = np.zeros((poses, 4, 4))
    frames.put(out.transpose(1, 2, 0))
    out[:, 3, 3] = 1.0
    return out


def _nearest_joint_values(joint: Joint, transform: Array, rounds: int = 30) -> Array:
    """Solve for several coordinates at once by Gauss-Newton, all poses together, starting from zero."""
    n, size = len(transform), joint.size
    value = np.zeros((n, size))
    step = 1e-7

    def residual(at: Array) -> Array:
        return (joint_motion(joint, at) - transform)[:, :3, :].reshape(n, 12)

    for _ in range(rounds):
        here = residual(value)
        slope = np.empty((n, 12, size))
        for k in range(size):
            moved = value.copy()
            moved[:, k] += step
            slope[:, :, k] = (residual(moved) - here) / step
        # directions without effect (a ball and a rotation in one joint) are only noise of the finite differences
        change = np.einsum("nij,nj->ni", np.linalg.pinv(slope, rcond=1e-5), -here)
        value += change
        if np.abs(change).max(initial=0.0) < 1e-13:
            break
    return value


def joint_frame_world(joint: Joint, bodies: Mapping[str, Body]) -> Array:
    """Return the design pose of a joint's frame in the world, (4, 4), as its parent carries it.

    Without a parent it is ``frame_parent`` itself.
    """
    parent = None if joint.parent is None else bodies.get(joint.parent)
    return joint.frame_parent if parent is None else parent.pose @ joint.frame_parent


def joint_child_frame_world(joint: Joint, bodies: Mapping[str, Body]) -> Array:
    """Return the design pose of a joint's frame in the world as its child carries it, (4, 4).

    It equals ``joint_frame_world`` except in loops that are open at the design pose.
    """
    child = None if joint.child is None else bodies.get(joint.child)
    return joint.frame_child if child is None else child.pose @ joint.frame_child


def joint_frames_world(mechanism: Mechanism) -> dict[str, Array]:
    """Return the design poses of all joints' frames in the world, (4, 4) by joint id."""
    frames = _joint_sides_world(mechanism, "parent")
    return {joint.id: frame for joint, frame in reversed(list(zip(mechanism.joints, frames, strict=True)))}


def _joint_sides_world(mechanism: Mechanism, side: Literal["parent", "child"]) -> Array:
    """Return the design poses (n, 4, 4) of all joints' frames as their parents, or their children, carry them."""
    poses = {own: body.pose for own, body in body_by_id(mechanism).items()}
    here, joints = np.eye(4), mechanism.joints
    carriers = np.array([poses.get(getattr(joint, side) or "", here) for joint in joints]).reshape(-1, 4, 4)
    return carriers @ np.array([getattr(joint, f"frame_{side}") for joint in joints]).reshape(-1, 4, 4)


def design_openings(mechanism: Mechanism, tree: Tree | None = None) -> dict[str, Array]:
    """Compute the pose of each joint's child side relative to its parent side at the design pose, (4, 4) by joint id.

    Only joints whose sides differ there are listed: those of loops that are open where all coordinates are zero, which
    need not be the joint that the spanning tree leaves out, and inactive ones, which place nothing. If a spanning
    ``tree`` without loops is given, its joints place the bodies and have no openings.
    """
    openings = inverse(_joint_sides_world(mechanism, "parent")) @ _joint_sides_world(mechanism, "child")
    is_open = np.abs(openings - np.eye(4)).max(axis=(1, 2)) > OPENING_TOLERANCE
    if tree is not None and not tree.loop_joints:
        is_open &= np.array([not joint.active for joint in mechanism.joints], dtype=bool)
    return {mechanism.joints[number].id: openings[number] for number in np.flatnonzero(is_open).tolist()}


#: Kinds of dofs that rotate about an axis; the identity, and the tolerance for it.
_ROTARY_KINDS = {"rotation", "screw"}
_NO_ROTATION, _ROTATION_TOLERANCE = np.eye(3), 1e-15


class FrameBatch(NamedTuple):
    """Frame in many poses, stored by components: arrays (3, poses), or (3, 1) where all poses are equal.

    ``pair`` is the first two columns of its rotation as one complex array, x + iy: a rotation about z multiplies it and
    leaves the ``third`` column. ``origin`` is the position.
    """

    pair: NDArray[np.complex128]
    third: Array
    origin: Array

    @staticmethod
    def at(poses: Array) -> FrameBatch:
        """Create frames from poses (n, 4, 4)."""
        columns = poses[:, :3].transpose(2, 1, 0)
        return FrameBatch(columns[0] + 1j * columns[1], columns[2], columns[3])

    def put(self, into: Array) -> None:
        """Write the poses into an array (4, 4, poses)."""
        into[:3, 0], into[:3, 1], into[:3, 2], into[:3, 3] = self.pair.real, self.pair.imag, self.third, self.origin

    def columns(self, poses: int = 0) -> Array:
        """Return the rotations as (column, row, poses), of at least this number of poses."""
        out = np.empty((3, 3, max(poses, self.pair.shape[-1], self.third.shape[-1])))
        out[0], out[1], out[2] = self.pair.real, self.pair.imag, self.third
        return out

    def turned(self, columns: Array) -> FrameBatch:
        """Replace the rotation by columns (column, row, poses)."""
        return FrameBatch(columns[0] + 1j * columns[1], columns[2], self.origin)

    def spun(self, angle: Array) -> FrameBatch:
        """Rotate about the frames' own z by angles (n,) in rad."""
        return self._replace(pair=self.pair * np.exp(-1j * angle))

    def shifted(self, way: Array, times: Array | float = 1.0) -> FrameBatch:
        """Translate along a vector (3,) in the frames' own axes, times the factors (n,)."""
        x, y, z = way.tolist()
        moved = (complex(x, -y) * self.pair).real if x or y else 0.0
        return self._replace(origin=self.origin + (moved + z * self.third if z else moved) * times)


class FixedTransform:
    """Constant relative pose (4, 4), with a fast path where it is a pure translation."""

    def __init__(self, pose: Array) -> None:
        self.pose = pose
        self._turn = (
            None
            if np.abs(pose[:3, :3] - _NO_ROTATION).max() < _ROTATION_TOLERANCE
            else np.ascontiguousarray(pose[:3, :3].T)
        )
        self._shift = pose[:3, 3] if pose[:3, 3].any() else None

    def of(self, frames: FrameBatch) -> FrameBatch:
        """Compose frames with this pose."""
        if self._shift is not None:
            frames = frames.shifted(self._shift)
        if self._turn is None:
            return frames
        columns = frames.columns()
        return frames.turned((self._turn @ columns.reshape(3, -1)).reshape(columns.shape))


@dataclass(frozen=True)
class LinkMotion:
    """Step from a carrier to the body it carries, compiled for forward kinematics.

    ``moves`` are the joint's motions, each with the fixed pose before it, and ``rest`` is the fixed pose from the last
    of them, or from the carrier's, to the body. Bodies are indices; -1 is the world.
    """

    body: int
    carrier: int
    moves: list[tuple[FixedTransform, Dof, Array]]
    rest: FixedTransform
    is_reversed: bool

    @staticmethod
    def by(joint: Joint, value: Array | None, before: Array, ends: tuple[int, int], is_reversed: bool) -> LinkMotion:
        """Compile the step through a joint from the first of two ``ends`` (indices of bodies) to the second.

        Args:
            joint: The joint.
            value: Its values (poses, size) or (1, size), None for zero.
            before: The fixed pose (4, 4) from the carrier's last motion to the carrier.
            ends: Indices of carrier and body.
            is_reversed: The joint's child is the carrier.
        """
        entry, leave = (
            (joint.frame_child, joint.frame_parent) if is_reversed else (joint.frame_parent, joint.frame_child)
        )
        dealt = [] if value is None else split_by_dof(joint, np.asarray(value, dtype=np.float64))
        if is_reversed:
            dealt = [(dof, -amount) for dof, amount in reversed(dealt)]
        fixed, moves = before @ entry, []
        for dof, amount in dealt:
            align, straight = np.eye(4), dof
            if dof.kind in _ROTARY_KINDS and not _is_along_z(dof):
                align[:3, :3] = rotation_with_z(dof.axis)
                straight = replace(dof, axis=np.array([0.0, 0.0, 1.0]))
            moves.append((FixedTransform(fixed @ align), straight, amount))
            fixed = align.T
        return LinkMotion(ends[1], ends[0], moves, FixedTransform(fixed @ inverse(leave)), is_reversed)

    def through(self, frames: FrameBatch, part: slice) -> FrameBatch:
        """Compute the frames after the body's last motion from those after the carrier's, for a slice of the poses."""
        for fixed, dof, amount in self.moves:
            frames = move_by_dof(fixed.of(frames), dof, amount if len(amount) == 1 else amount[part], self.is_reversed)
        return frames


def split_coordinates(dofs: Sequence[Dof], values: Array | None) -> list[Array]:
    """Split the values (size,) of a joint by its degrees of freedom; None: the file's initial values."""
    if values is None or not dofs:
        return [dof.initial for dof in dofs]
    return np.split(values, first_indices(dofs)[1:-1])


def set_initial_values(dofs: Sequence[Dof], values: Array) -> None:
    """Set the initial values (size,) of degrees of freedom."""
    for dof, begins in zip(dofs, split_coordinates(dofs, values), strict=True):
        if DOF_SIZE[dof.kind] == 1:
            dof.position = float(begins[0])
        else:
            dof.start = tuple(begins.tolist()) if begins.any() else ()


def split_by_dof(joint: Joint, value: Array) -> list[tuple[Dof, Array]]:
    """Split a joint's values by its degrees of freedom, each (poses,) or (poses, size)."""
    if value.ndim < 2:
        value = value.reshape(-1, 1)
    return [
        (dof, value[:, own.start] if DOF_SIZE[dof.kind] == 1 else value[:, own]) for dof, own in dof_slices(joint.dofs)
    ]


def _is_along_z(dof: Dof) -> bool:
    return bool(dof.axis[0] == 0.0 and dof.axis[1] == 0.0 and dof.axis[2] > 0.0)


def move_by_dof(frames: FrameBatch, dof: Dof, amount: Array, backwards: bool) -> FrameBatch:
    """Move frames by a degree of freedom by amounts (n,) or (n, size). ``backwards``: from child to parent."""
    if dof.kind == "translation":
        return frames.shifted(dof.axis, amount)
    if dof.kind in _ROTARY_KINDS:
        if dof.kind == "screw":
            frames = frames.shifted(dof.axis, amount * dof.pitch)
        if _is_along_z(dof):
            return frames.spun(amount)
        align = make_pose(rotation_with_z(dof.axis))
        return FixedTransform(align.T).of(FixedTransform(align).of(frames).spun(amount))
    columns = frames.columns(len(amount))
    turn = np.broadcast_to(rotation_matrix(amount[..., :3]), (columns.shape[-1], 3, 3))
    turned = np.einsum("kip,pkj->jip", columns, turn)
    if dof.kind == "free":
        slide = np.broadcast_to(amount[..., 3:], (columns.shape[-1], 3))
        way = np.einsum("jip,pj->ip", turned if backwards else columns, slide)
        frames = frames._replace(origin=frames.origin + way)
    return frames.turned(turned)
