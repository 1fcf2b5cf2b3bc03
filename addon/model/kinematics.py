"""Where the bodies are: the spanning tree of a mechanism, forward kinematics and its inverse by joint.

A mechanism is a graph. ``spanning_tree`` walks it breadth first from one root per connected part and
tells which joints close loops; ``Tree.forward`` poses all bodies for many sets of coordinates at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from .moves import Carry, Frames, move, split
from .records import DOF_SIZE, Array, Body, Joint, Mechanism
from .rotations import frame_with_z, inverse, rotation_vector
from .shared import HERE

#: Poses that are worked out together: more fall out of the processor's cache, fewer cost more calls.
_BLOCK = 2048


#: Noted in a joint's ``extra`` where its file has it for closing a loop.
CLOSES_LOOP = "closes_loop"
#: Two sides of a joint that differ by less, in lengths and as rotations, are one.
CLOSED = 1e-7


@dataclass(frozen=True)
class Link:
    """How a body hangs in the tree: by which joint, from which body, and whether the joint points
    the other way (its ``child`` is the body nearer to the root)."""

    joint: Joint
    body: str
    carrier: str | None
    against: bool


@dataclass
class Tree:
    """A spanning tree. ``links`` come parents first; ``roots`` are the bodies without a link."""

    mechanism: Mechanism
    roots: list[Body]
    links: list[Link]
    loop_joints: set[str]
    index: dict[str, int] = field(default_factory=dict)  # body id -> its place in mechanism.bodies

    def forward(self, coordinates: Mapping[str, Array], poses: int = 1, root_poses: Array | None = None) -> Array:
        """World pose of every body, shape (poses, bodies, 4, 4), in the order of the mechanism.

        ``coordinates`` maps joint ids to arrays of shape (poses,) or (poses, size of the joint);
        joints that it does not name stay at zero. ``root_poses``, shape (poses, roots, 4, 4) or
        (roots, 4, 4), moves the roots from where they were designed. Bodies are relative to their
        joints as the file says; a root stands at its design pose."""
        # all poses of a number stand side by side; of a large array that is not asked to be zero the system gives large
        # pages, which come several times as fast
        world = np.empty((len(self.mechanism.bodies), 4, 4, poses))
        world[:, 3], world[:, 3, 3] = 0.0, 1.0
        roots = None if root_poses is None else np.broadcast_to(root_poses, (poses, *root_poses.shape[-3:]))
        carries = self._carries(coordinates)
        for first in range(0, poses, _BLOCK):
            part = slice(first, min(first + _BLOCK, poses))
            self._forward_block(world[..., part], carries, None if roots is None else roots[part], part)
        placed = {*(self.index[root.id] for root in self.roots), *(carry.body for carry in carries)}
        world[[at for at in range(len(world)) if at not in placed], :3] = 0.0  # a second body of one id
        return world.transpose(3, 0, 1, 2)

    def _carries(self, coordinates: Mapping[str, Array]) -> list[Carry]:
        """The way to every body that is carried."""
        rest = {at: HERE for at in (-1, *(self.index[root.id] for root in self.roots))}
        out = []
        for link in self.links:
            ends = -1 if link.carrier is None else self.index[link.carrier], self.index[link.body]
            out.append(Carry.by(link.joint, coordinates.get(link.joint.id), rest[ends[0]], ends, link.against))
            rest[ends[1]] = out[-1].rest.pose
        return out

    def _forward_block(self, world: Array, carries: list[Carry], roots: Array | None, part: slice) -> None:
        """Fill in a block of poses, small enough to stay in the processor's cache. What carries nothing more is let go:
        what comes next takes its place there."""
        frames = {-1: Frames.at(np.eye(4)[None])}
        last = {carry.carrier: number for number, carry in enumerate(carries)}
        for number, root in enumerate(self.roots):
            at = self.index[root.id]
            poses = root.pose[None] if roots is None else roots[:, number]
            world[at, :3] = poses[:, :3].transpose(1, 2, 0)
            if at in last:
                frames[at] = Frames.at(poses)
        for number, carry in enumerate(carries):
            own = carry.through(frames[carry.carrier], part)
            carry.rest.of(own).put(world[carry.body])
            if last[carry.carrier] == number:
                del frames[carry.carrier]
            if carry.body in last:
                frames[carry.body] = own


def spanning_tree(mechanism: Mechanism, placed_roots: Collection[str] | Mapping[str, float] = ()) -> Tree:
    """Breadth-first spanning tree over the active joints; what reaches a placed body closes a loop. Joints that their
    file has for closing loops place a body only where no other joint does.

    The root of a connected part is what is joined to the world, else the one body that no joint claims as its
    child, else, and always where joints are not directed, the heaviest body: of equals the one with the most joints,
    then the first in the file. Before all of these comes a body (id) of ``placed_roots``: where these are told with
    ranks, one of the highest."""
    index: dict[str, int] = {}
    for number, body in enumerate(mechanism.bodies):
        index.setdefault(body.id, number)
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
                links.append(Link(joint, other, body, against=joint.child == body))
                queue.append(other)

    grow(None)
    roots = []
    for part in _parts(mechanism, touching, placed):
        root = _choose_root(part, touching, mechanism.directed, placed_roots)
        roots.append(root)
        placed.add(root.id)
        if touching[root.id]:
            grow(root.id)
    return Tree(mechanism, roots, links, loops, index)


def _parts(mechanism: Mechanism, touching: dict[str | None, list[Joint]], placed: set[str | None]) -> list[list[Body]]:
    """The connected parts of what is not placed yet, each in file order."""
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
                    for other in (joint.parent, joint.child):
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


def initial_coordinates(mechanism: Mechanism) -> dict[str, Array]:
    """Return where the joints begin: id -> (1, size of the joint), as ``Tree.forward`` takes it."""
    return {
        joint.id: np.concatenate([np.zeros(0), *(dof.initial for dof in joint.dofs)])[None]
        for joint in mechanism.joints
    }


def coordinates(mechanism: Mechanism, poses: Array) -> dict[str, Array]:
    """Joint coordinates from body poses of shape (n, bodies, 4, 4): id -> (n, size of the joint).

    Angles are in (-pi, pi]. What the bodies do beyond the joint's freedom (a pivot gap) is left out."""
    index = {body.id: number for number, body in reversed(list(enumerate(mechanism.bodies)))}
    out: dict[str, Array] = {}
    for joint in mechanism.joints:
        if joint.active:
            out[joint.id] = joint_coordinates(joint, joint_transform(joint, poses, index))
    return out


def joint_transform(joint: Joint, poses: Array, index: Mapping[str, int]) -> Array:
    """``J`` of a joint, shape (n, 4, 4): the child's side of it seen from the parent's."""

    def side(body: str | None, frame: Array) -> Array:
        return frame[None] if body is None else poses[:, index[body]] @ frame

    return inverse(side(joint.parent, joint.frame_parent)) @ side(joint.child, joint.frame_child)


def joint_coordinates(joint: Joint, transform: Array) -> Array:
    """The coordinates whose ``J`` comes nearest to ``transform`` (n, 4, 4): shape (n, size)."""
    n = len(transform)
    kinds = [dof.kind for dof in joint.dofs]
    if not kinds:
        return np.zeros((n, 0))
    if kinds in (["rotation"], ["screw"]):
        align = frame_with_z(joint.dofs[0].axis)
        turn = align.T @ transform[:, :3, :3] @ align
        return np.arctan2(turn[:, 1, 0] - turn[:, 0, 1], turn[:, 0, 0] + turn[:, 1, 1])[:, None]
    if kinds == ["translation"]:
        return (transform[:, :3, 3] @ joint.dofs[0].axis)[:, None]
    if kinds == ["ball"]:
        return rotation_vector(transform[:, :3, :3])
    if kinds == ["free"]:
        return np.concatenate([rotation_vector(transform[:, :3, :3]), transform[:, :3, 3]], axis=1)
    return _nearest_coordinates(joint, transform)


def joint_motion(joint: Joint, value: Array) -> Array:
    """``J(q)`` for coordinates of shape (n, size): (n, 4, 4)."""
    value = np.asarray(value, dtype=np.float64).reshape(len(value), -1)
    poses = len(value)
    frames = Frames.at(np.eye(4)[None])
    for dof, amount in split(joint, value):
        frames = move(frames, dof, amount, False)
    out = np.zeros((poses, 4, 4))
    frames.put(out.transpose(1, 2, 0))
    out[:, 3, 3] = 1.0
    return out


def _nearest_coordinates(joint: Joint, transform: Array, rounds: int = 30) -> Array:
    """Gauss-Newton on several coordinates at once, all poses together, from zero."""
    size = sum(DOF_SIZE[dof.kind] for dof in joint.dofs)
    n = len(transform)
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
        # directions that nothing answers to (a ball and a turn in one joint) are the difference quotient's noise
        change = np.einsum("nij,nj->ni", np.linalg.pinv(slope, rcond=1e-5), -here)
        value += change
        if np.abs(change).max(initial=0.0) < 1e-13:
            break
    return value


def joint_frame_world(joint: Joint, bodies: Mapping[str, Body]) -> Array:
    """Design pose of a joint's frame in the world, (4, 4). Without a parent it is there as it stands."""
    return bodies[joint.parent].pose @ joint.frame_parent if joint.parent in bodies else joint.frame_parent


def joint_side_world(joint: Joint, bodies: Mapping[str, Body]) -> Array:
    """Design pose of a joint's frame in the world as its child carries it, (4, 4). It is ``joint_frame_world`` but in
    loops that are open at design."""
    return bodies[joint.child].pose @ joint.frame_child if joint.child in bodies else joint.frame_child


def joint_frames_world(mechanism: Mechanism) -> dict[str, Array]:
    """Return the design poses of all joints' frames in the world, (4, 4) by joint id."""
    frames = _sides_world(mechanism, "parent")
    return {joint.id: frame for joint, frame in reversed(list(zip(mechanism.joints, frames, strict=True)))}


def _sides_world(mechanism: Mechanism, side: Literal["parent", "child"]) -> Array:
    """Design poses (n, 4, 4) of all joints' frames as their parents carry them, or their children."""
    poses = {body.id: body.pose for body in reversed(mechanism.bodies)}
    here, joints = np.eye(4), mechanism.joints
    carriers = np.array([poses.get(getattr(joint, side) or "", here) for joint in joints]).reshape(-1, 4, 4)
    return carriers @ np.array([getattr(joint, f"frame_{side}") for joint in joints]).reshape(-1, 4, 4)


def design_openings(mechanism: Mechanism, tree: Tree | None = None) -> dict[str, Array]:
    """Pose of each joint's child side seen from its parent side at the design pose, (4, 4) by joint id.

    Only joints whose sides differ there are listed: those of loops that are open where all coordinates are zero, which
    need not be the joint that the spanning tree leaves out, and inactive ones, which place nothing. Where the spanning
    ``tree`` has no loop its joints place the bodies, and have none."""
    openings = inverse(_sides_world(mechanism, "parent")) @ _sides_world(mechanism, "child")
    is_open = np.abs(openings - np.eye(4)).max(axis=(1, 2)) > CLOSED
    if tree is not None and not tree.loop_joints:
        is_open &= np.array([not joint.active for joint in mechanism.joints], dtype=bool)
    return {mechanism.joints[number].id: openings[number] for number in np.flatnonzero(is_open).tolist()}
