"""Closing loops: joint coordinates at which every loop of a mechanism fits together.

A spanning tree places the bodies; each joint left over, the chord of a loop, then has its second body somewhere else
than the tree does. ``chord_errors`` tells how far apart the two are, ``assemble`` moves the coordinates by as little
as it can until they are one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from .kinematics import Tree, joint_motion, spanning_tree
from .one_pose import OnePose, dof_motion_of_one, motion_of_one
from .rates import crosses, dof_screws, vector_rates, vectors_of
from .records import DOF_SIZE, Array, Dof, Joint, Mechanism
from .rotations import inverse, rotation_vector

#: What a chord is open by: length units, and radians.
Opening = tuple[float, float]
Positions = dict[str, Array]

#: Directions in which the loops answer this much less than in their liveliest are taken not to move at all: the
#: redundant constraints of planar and overconstrained mechanisms.
REDUNDANT = 1e-8
LONGEST_TURN = 0.5  # rad, or characteristic lengths, that no coordinate exceeds in one step
ROUNDS = 200


def initial_positions(mechanism: Mechanism) -> Positions:
    """The coordinates at which the file has each active joint, by its id, each of the joint's size."""
    return {joint.id: joint_initial(joint) for joint in mechanism.joints if joint.active}


def joint_initial(joint: Joint) -> Array:
    """The coordinates at which the file has a joint, (size of the joint,)."""
    return np.concatenate([dof.initial for dof in joint.dofs]) if joint.dofs else np.zeros(0)


def chord_errors(
    mechanism: Mechanism, positions: Mapping[str, Array] | None = None, tree: Tree | None = None
) -> dict[str, Opening]:
    """How far each loop is open at these positions (those of the file, if None): by the id of its chord, the
    distance of the origins and the angle between two copies of a body, that which the tree places and that which the
    chord would. It is the later placed of the chord's two."""
    system = LoopSystem(mechanism, tree or spanning_tree(mechanism))
    return system.openings(system.vector({**initial_positions(mechanism), **(positions or {})}))


def assemble(
    mechanism: Mechanism,
    tree: Tree | None = None,
    tolerance: float = 1e-9,
    positions: Mapping[str, Array] | None = None,
) -> tuple[Positions, dict[str, Opening], dict[str, Opening]]:
    """Close every loop, starting from the positions of the file, or from other ``positions`` by joint, and staying as
    near to them as can be.

    Returns the positions of all active joints by id, and what each chord was open by before and is open by after.
    Loops that cannot close end as nearly closed as they get, which the last tells; ``tolerance`` is where to stop
    (length units and radians)."""
    system = LoopSystem(mechanism, tree or spanning_tree(mechanism))
    start = system.vector({**initial_positions(mechanism), **(positions or {})})
    before = system.openings(start)
    if all(max(opening) < tolerance for opening in before.values()):
        return system.positions(start), before, dict(before)
    inner = tolerance / max(system.length, 1.0)
    nearest = _drawn_back(system, _closed(system, start, inner), start, inner)
    return system.positions(nearest), before, system.openings(nearest)


def _closed(system: LoopSystem, at: Array, tolerance: float) -> Array:
    """Damped Gauss-Newton: plain steps where they help, ever shorter and more cautious ones where they do not."""
    residual = system.residual(at)
    damping = 0.0
    for _ in range(ROUNDS):
        slope = system.slope(at)
        if np.abs(residual).max(initial=0.0) < tolerance * 1e-3:
            break
        step = _limited(least_change(slope, -residual, damping))
        better = at + step
        there = system.residual(better)
        if np.linalg.norm(there) < np.linalg.norm(residual) * (1.0 - 1e-12):
            at, residual, damping = better, there, damping / 10.0 if damping > 1e-9 else 0.0
        elif damping > 1e6:
            break
        else:
            damping = max(damping * 10.0, 1e-6)
    return at


def _drawn_back(system: LoopSystem, at: Array, start: Array, tolerance: float) -> Array:
    """Slide along closed positions towards ``start`` until that brings nothing more."""
    best = at
    if np.abs(system.residual(at)).max(initial=0.0) > tolerance:
        return at  # it does not close: there is nothing to slide along
    for _ in range(ROUNDS // 4):
        slope = system.slope(best)
        home = start - best
        along = home - least_change(slope, slope @ home)
        if np.abs(along).max(initial=0.0) < 1e-10:
            break
        for share in (1.0, 0.3, 0.05):
            tried = _closed(system, best + _limited(along) * share, tolerance)
            closes = np.abs(system.residual(tried)).max(initial=0.0) <= tolerance
            if closes and np.linalg.norm(tried - start) < np.linalg.norm(home) * (1.0 - 1e-9):
                best = tried
                break
        else:
            break
    return best


def least_change(slope: Array, wanted: Array, damping: float = 0.0, redundant: float = REDUNDANT) -> Array:
    """The shortest change (unknowns,) that brings ``wanted`` (equations,) about as nearly as can be, by a ``slope``
    (equations, unknowns); ``redundant`` is the share of the liveliest answer below which there is none."""
    left, strengths, right = np.linalg.svd(slope, full_matrices=False)
    strongest = strengths.max(initial=0.0)
    live = strengths > redundant * strongest
    gain = np.where(live, strengths, 0.0) / np.where(live, strengths**2 + damping * strongest**2, 1.0)
    return right.T @ (gain * (left.T @ wanted))


def _limited(step: Array) -> Array:
    return step * min(1.0, LONGEST_TURN / max(float(np.abs(step).max(initial=0.0)), 1e-300))


class LoopSystem:
    """The loops of a mechanism as equations: coordinates in, openings of the chords out.

    Lengths are counted in the mechanism's characteristic length, so that they weigh as angles do. Only coordinates
    of joints that lie on a loop are unknowns."""

    def __init__(self, mechanism: Mechanism, tree: Tree) -> None:
        self.tree = tree
        self.joints = [joint for joint in mechanism.joints if joint.active]
        self.chords = [joint for joint in self.joints if joint.id in tree.loop_joints]
        self.length = _length(self.joints)
        self.all_initial = initial_positions(mechanism)
        paths = self._paths()
        self.sides = [paths[joint.id] for joint in self.chords]
        on_loops = {name for sides in self.sides for name in sides} | {joint.id for joint in self.chords}
        self.moving = [joint for joint in self.joints if joint.id in on_loops and joint.dofs]
        self.columns: dict[str, slice] = {}
        scales: list[float] = []
        for joint in self.moving:
            at = len(scales)
            for dof in joint.dofs:
                scales += _scales(dof, self.length)
            self.columns[joint.id] = slice(at, len(scales))
        self.scales = np.array(scales)
        self._one_pose = OnePose(tree)
        #: Where the bodies were at the last position: a slope is asked for where a residual was.
        self._last: tuple[Array, tuple[Array, Array, Array]] | None = None

    def vector(self, positions: Mapping[str, Array]) -> Array:
        """The unknowns of a set of positions."""
        parts = [np.asarray(positions[joint.id], dtype=np.float64).reshape(-1) for joint in self.moving]
        return np.concatenate(parts) / self.scales if parts else np.zeros(0)

    def positions(self, at: Array) -> Positions:
        """The positions of all active joints; those that lie on no loop stay as they were."""
        values = at * self.scales
        return {**self.all_initial, **{name: values[where] for name, where in self.columns.items()}}

    def openings(self, at: Array) -> dict[str, Opening]:
        """Distance and angle by which each chord is open."""
        _, claimed, actual = self._ends(at)
        order: dict[str | None, int] = {link.body: number for number, link in enumerate(self.tree.links)}
        found = {}
        for joint, by_chord, by_tree in zip(self.chords, claimed, actual, strict=True):
            from_child = order.get(joint.child, -1) < order.get(joint.parent, -1)
            # the frames of the later body, back to its origin; from the child's side the joint runs the other way
            body_frame = joint.frame_child
            if from_child:
                motion = joint_motion(joint, self.positions(at)[joint.id][None])[0]
                body_frame = joint.frame_parent @ motion
            one, other = by_chord @ inverse(body_frame), by_tree @ inverse(body_frame)
            angle = np.linalg.norm(rotation_vector((inverse(one) @ other)[:3, :3]))
            found[joint.id] = float(np.linalg.norm(one[:3, 3] - other[:3, 3])), float(angle)
        return found

    def residual(self, at: Array) -> Array:
        """Rotation vector and offset of every chord's child as the tree has it, seen from where the chord has it."""
        _, claimed, actual = self._ends(at)
        gap = inverse(claimed) @ actual
        return np.concatenate([vectors_of(gap), gap[:, :3, 3] / self.length], axis=1).reshape(-1)

    def slope(self, at: Array) -> Array:
        """The derivative of the residual, (6 per chord, unknowns)."""
        world, claimed, actual = self._ends(at)
        positions = self.positions(at)
        screws = {joint.id: self._screws(joint, world, positions[joint.id]) for joint in self.moving}
        twist = np.zeros((len(self.chords), 6, len(at)))
        for row, (chord, sides) in enumerate(zip(self.chords, self.sides, strict=True)):
            for name, sense in sides.items():
                if name in screws:
                    twist[row][:, self.columns[name]] += sense * screws[name]
            if chord.id in screws:
                twist[row][:, self.columns[chord.id]] -= screws[chord.id]
        # the world's view of the difference in motion, seen from the chord's side
        back = np.swapaxes(claimed[:, :3, :3], 1, 2)
        turn = back @ twist[:, :3]
        shift = back @ (twist[:, 3:] - crosses(claimed[:, :3, 3]) @ twist[:, :3])
        gap = inverse(claimed) @ actual
        shift = shift - crosses(gap[:, :3, 3]) @ turn
        turn = vector_rates(vectors_of(gap)) @ turn
        return np.concatenate([turn, shift / self.length], axis=1).reshape(6 * len(self.chords), len(at)) * self.scales

    def chord_motions(self, at: Array) -> list[tuple[Joint, Array]]:
        """Each chord with what the tree makes of its motion: its child's frame seen from its parent's, (4, 4)."""
        world, _, actual = self._ends(at)
        return [
            (joint, inverse(self._pose(world, joint.parent) @ joint.frame_parent) @ there)
            for joint, there in zip(self.chords, actual, strict=True)
        ]

    def _ends(self, at: Array) -> tuple[Array, Array, Array]:
        """Poses of all bodies (bodies, 4, 4), and of every chord's child frame: as the chord and as the tree has it."""
        if self._last is not None and np.array_equal(at, self._last[0]):
            return self._last[1]
        positions = self.positions(at)
        world = self._one_pose.forward(positions)
        claimed = [
            self._pose(world, joint.parent) @ joint.frame_parent @ motion_of_one(joint, positions[joint.id])
            for joint in self.chords
        ]
        actual = [self._pose(world, joint.child) @ joint.frame_child for joint in self.chords]
        found = world, np.array(claimed).reshape(-1, 4, 4), np.array(actual).reshape(-1, 4, 4)
        self._last = at.copy(), found
        return found

    def _pose(self, world: Array, body: str | None) -> Array:
        return np.eye(4) if body is None else world[self.tree.index[body]]

    def _paths(self) -> dict[str, dict[str, float]]:
        """For each chord, the tree joints whose coordinates move its child against its parent, and in which sense."""
        link_of = {link.body: link for link in self.tree.links} if self.chords else {}

        def way(body: str | None) -> dict[str, float]:
            found: dict[str, float] = {}
            while body in link_of:
                link = link_of[body]
                found[link.joint.id] = -1.0 if link.against else 1.0
                body = link.carrier
            return found

        paths = {}
        for joint in self.chords:
            to_child, to_parent = way(joint.child), way(joint.parent)
            names = {**to_child, **to_parent}
            both = {name: to_child.get(name, 0.0) - to_parent.get(name, 0.0) for name in names}
            paths[joint.id] = {name: sense for name, sense in both.items() if sense}
        return paths

    def _screws(self, joint: Joint, world: Array, value: Array) -> Array:
        """What a unit rate of each of a joint's coordinates gives its child against its parent: (6, size), angular
        velocity above the velocity of what is at the world's origin, in the world's axes."""
        pose = self._pose(world, joint.parent) @ joint.frame_parent
        columns, at = [], 0
        for dof in joint.dofs:
            size = DOF_SIZE[dof.kind]
            columns.append(dof_screws(dof, pose, value[at : at + size]))
            at += size
            if at < len(value):
                pose = pose @ dof_motion_of_one(dof, value[at - size : at])
        return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)


def _length(joints: list[Joint]) -> float:
    """A length typical of a mechanism: the median arm of its joint frames, 1 where they have none."""
    arms = [math.hypot(*frame[:3, 3].tolist()) for joint in joints for frame in (joint.frame_parent, joint.frame_child)]
    arms = [arm for arm in arms if arm > 1e-9]
    return float(np.median(arms)) if arms else 1.0


def _scales(dof: Dof, length: float) -> list[float]:
    if dof.kind == "translation":
        return [length]
    return [1.0] * 3 + [length] * 3 if dof.kind == "free" else [1.0] * DOF_SIZE[dof.kind]
