"""Loop closure: joint values at which every loop of a mechanism closes.

A spanning tree places the bodies; each remaining joint, the chord of a loop, then places its second body differently
than the tree does. ``loop_openings`` measures the difference, ``close_loops`` changes the values by as little as it can
until there is none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..kinematics import Tree, spanning_tree
from ..model import Array, Joint, Mechanism, are_angles, by_id
from ..spatial import joint_motion_single
from ..transforms import inverse, rotation_vector
from .chains import LoopChains, path_to_root, pose_vectors

#: Opening of a chord: distance (length units) and angle (rad).
LoopOpening = tuple[float, float]
JointPositions = dict[str, Array]

#: Relative singular value below which a direction counts as redundant, as in planar and overconstrained mechanisms.
REDUNDANCY_RATIO = 1e-8
_ROUNDED_ARM = 1e-6  # share of the longest arm below which an arm is the rounding of none
MAX_CLOSURE_STEP = 0.5  # largest change of a coordinate in one step (rad, or characteristic lengths)
MAX_CLOSURE_ITERATIONS = 200


def initial_joint_positions(mechanism: Mechanism) -> JointPositions:
    """Return the initial values of each active joint, by its id, each of the joint's size."""
    return {joint.id: joint.initial for joint in mechanism.joints if joint.active}


def loop_openings(
    mechanism: Mechanism, positions: Mapping[str, Array] | None = None, tree: Tree | None = None
) -> dict[str, LoopOpening]:
    """Measure by how much each loop is open.

    The opening is between two copies of the later placed body of the chord: the one that the tree places and the one
    that the chord would.

    Args:
        mechanism: The mechanism.
        positions: Joint values by id; the file's, if None.
        tree: The spanning tree, if known.

    Returns:
        Distance of the origins (length units) and angle (rad), by the id of the chord.
    """
    system = LoopSystem(mechanism, tree or spanning_tree(mechanism))
    return system.openings(system.vector({**initial_joint_positions(mechanism), **(positions or {})}))


def close_loops(
    mechanism: Mechanism,
    tree: Tree | None = None,
    tolerance: float = 1e-9,
    positions: Mapping[str, Array] | None = None,
) -> tuple[JointPositions, dict[str, LoopOpening], dict[str, LoopOpening]]:
    """Close every loop, starting from the file's joint values and staying as near to them as possible.

    Loops that cannot close end as nearly closed as possible, which the last result shows.

    Args:
        mechanism: The mechanism.
        tree: The spanning tree, if known.
        tolerance: Opening at which to stop (length units and radians).
        positions: Other initial values, by joint.

    Returns:
        The values of all active joints by id, and the opening of each chord before and after.
    """
    system = LoopSystem(mechanism, tree or spanning_tree(mechanism))
    start = system.vector({**initial_joint_positions(mechanism), **(positions or {})})
    before = system.openings(start)
    if all(max(opening) < tolerance for opening in before.values()):
        return system.positions(start), before, dict(before)
    positions = system.positions(start)
    for chords, joints in independent_loops(system):  # the result for a loop does not depend on other loops
        own = [joint for joint in mechanism.joints if joint.id in joints]
        part = LoopSystem(replace(mechanism, joints=own), replace(system.tree, loop_joints=chords))
        begin, inner = part.vector(positions), tolerance / max(part.length, 1.0)
        found = part.positions(_slide_toward_start(part, _solve_closure(part, begin, inner), begin, inner))
        positions |= {joint: found[joint] for joint in part.columns}
    return positions, before, system.openings(system.vector(positions))


def _solve_closure(system: LoopSystem, at: Array, tolerance: float) -> Array:
    """Solve by damped Gauss-Newton: undamped steps where they help, with growing damping where they do not."""
    residual = system.residual(at)
    damping = 0.0
    for _ in range(MAX_CLOSURE_ITERATIONS):
        slope = system.slope(at)
        if np.abs(residual).max(initial=0.0) < tolerance * 1e-3:
            break
        step = _limit_step(least_norm_step(slope, -residual, damping))
        better = at + step
        there = system.residual(better)
        if np.linalg.norm(there) < np.linalg.norm(residual) * (1.0 - 1e-12):
            at, residual, damping = better, there, damping / 10.0 if damping > 1e-9 else 0.0
        elif damping > 1e6:
            break
        else:
            damping = max(damping * 10.0, 1e-6)
    return at


def _slide_toward_start(system: LoopSystem, at: Array, start: Array, tolerance: float) -> Array:
    """Move along closed positions towards ``start`` until there is no more improvement."""
    best = at
    if np.abs(system.residual(at)).max(initial=0.0) > tolerance:
        return at  # it does not close: there are no closed positions
    for _ in range(MAX_CLOSURE_ITERATIONS // 4):
        slope = system.slope(best)
        to_start = start - best
        along = to_start - least_norm_step(slope, slope @ to_start)
        if np.abs(along).max(initial=0.0) < 1e-10:
            break
        for share in (1.0, 0.3, 0.05):
            tried = _solve_closure(system, best + _limit_step(along) * share, tolerance)
            closes = np.abs(system.residual(tried)).max(initial=0.0) <= tolerance
            if closes and np.linalg.norm(tried - start) < np.linalg.norm(to_start) * (1.0 - 1e-9):
                best = tried
                break
        else:
            break
    return best


def least_norm_step(slope: Array, wanted: Array, damping: float = 0.0, redundant: float = REDUNDANCY_RATIO) -> Array:
    """Compute the least-norm change (unknowns,) that best achieves ``wanted`` (equations,).

    It is a damped pseudoinverse with truncated singular values.

    Args:
        slope: Jacobian (equations, unknowns).
        wanted: Change of the equations.
        damping: Damping of the singular values, relative to the square of the largest one.
        redundant: Relative singular value below which a direction is left out.
    """
    left, strengths, right = np.linalg.svd(slope, full_matrices=False)
    strongest = strengths.max(initial=0.0)
    live = strengths > redundant * strongest
    gain = np.where(live, strengths, 0.0) / np.where(live, strengths**2 + damping * strongest**2, 1.0)
    return right.T @ (gain * (left.T @ wanted))


def _limit_step(step: Array) -> Array:
    return step * min(1.0, MAX_CLOSURE_STEP / max(float(np.abs(step).max(initial=0.0)), 1e-300))


def independent_loops(system: LoopSystem) -> list[tuple[set[str], set[str]]]:
    """Group the loops of a system that share joints with coordinates, in the order of their chords.

    Returns:
        Ids of the chords of each group, and of all its joints.
    """
    groups: list[tuple[set[str], set[str], set[str]]] = []
    for chord, sides in zip(system.chords, system.sides, strict=True):
        chords, names = {chord.id}, {chord.id, *sides}
        shared = names & system.columns.keys()
        for group in [group for group in groups if group[2] & shared]:
            groups.remove(group)
            chords, names, shared = chords | group[0], names | group[1], shared | group[2]
        groups.append((chords, names, shared))
    return [(chords, names) for chords, names, _shared in groups]


class LoopSystem:
    """Loops of a mechanism as equations: from joint values to openings of the chords.

    Lengths are divided by the mechanism's characteristic length, to weigh like angles. Only coordinates of joints that
    lie on a loop are unknowns.
    """

    def __init__(self, mechanism: Mechanism, tree: Tree) -> None:
        self.tree = tree
        self.joints = [joint for joint in mechanism.joints if joint.active]
        self.chords = [joint for joint in self.joints if joint.id in tree.loop_joints]
        self.length = _characteristic_length(self.joints)
        self.file_positions = initial_joint_positions(mechanism)
        paths = self._paths()
        self.sides = [paths[joint.id] for joint in self.chords]
        on_loops = {name for names in self.sides for name in names} | {joint.id for joint in self.chords}
        self.moving = [joint for joint in self.joints if joint.id in on_loops and joint.dofs]
        self.columns: dict[str, slice] = {}
        scales: list[float] = []
        for joint in self.moving:
            at = len(scales)
            scales += [1.0 if angle else self.length for angle in are_angles(joint.dofs)]
            self.columns[joint.id] = slice(at, len(scales))
        self.scales = np.array(scales)
        self.chains = LoopChains(tree, self.chords, self.columns, len(scales))
        #: Factors (6, unknowns) from rates of rotation vectors and offsets to those of the residual.
        self.units = self.scales / np.array([[1.0]] * 3 + [[self.length]] * 3)

    def vector(self, positions: Mapping[str, Array]) -> Array:
        """Return the unknowns for joint values by id."""
        parts = [np.asarray(positions[joint.id], dtype=np.float64).reshape(-1) for joint in self.moving]
        return np.concatenate(parts) / self.scales if parts else np.zeros(0)

    def positions(self, at: Array) -> JointPositions:
        """Return the values of all active joints; those that lie on no loop have their initial values."""
        values = at * self.scales
        return {**self.file_positions, **{name: values[where] for name, where in self.columns.items()}}

    def openings(self, at: Array) -> dict[str, LoopOpening]:
        """Compute the distance and angle by which each chord is open."""
        order: dict[str | None, int] = {link.body: number for number, link in enumerate(self.tree.links)}
        found = {}
        for joint, gap in zip(self.chords, self._gaps(at), strict=True):
            # from the joint frame to the origin of the later body; on the parent side including the joint's motion
            body_frame = joint.frame_child
            if order.get(joint.child, -1) < order.get(joint.parent, -1):
                body_frame = joint.frame_parent @ joint_motion_single(joint, self.positions(at)[joint.id])
            apart = body_frame @ gap @ inverse(body_frame)
            angle = np.linalg.norm(rotation_vector(apart[:3, :3]))
            found[joint.id] = float(np.linalg.norm(apart[:3, 3])), float(angle)
        return found

    def residual(self, at: Array) -> Array:
        """Compute the residual (6 per chord,): rotation vector and offset of every chord's child.

        It compares the child's frame as the tree places it with that as the chord does.
        """
        return self.residuals(at[None])[0]

    def residuals(self, at: Array) -> Array:
        """Compute the residuals (n, 6 per chord) of several vectors (n, unknowns) at once."""
        return self._residuals(pose_vectors(self.chains.mismatches(at * self.scales)))

    def screws(self, at: Array) -> tuple[Array, Array]:
        """Compute the residuals (n, 6 per chord) of several vectors (n, unknowns), and the screws (n, screws, 6).

        The screws are those of the chains' motions, in length units: the derivatives where the loops are closed (see
        ``units``).
        """
        openings, screws = self.chains.screws(at * self.scales)
        return self._residuals(openings), screws

    def slope(self, at: Array) -> Array:
        """Compute the derivative of the residual, (6 per chord, unknowns)."""
        return self.linearize(at[None])[1][0]

    def linearize(self, at: Array) -> tuple[Array, Array]:
        """Compute residuals (n, 6 per chord) and derivatives (n, 6 per chord, unknowns) of vectors (n, unknowns)."""
        openings, rates = self.chains.linearize(at * self.scales)
        slopes = (rates * self.units).reshape(len(at), 6 * len(self.chords), len(self.scales))
        return self._residuals(openings), slopes

    def parts(self, free: NDArray[np.bool_]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Split equations and ``free`` unknowns into independent parts, which share no free unknown.

        Returns:
            Indices of equations and of unknowns, for each part.
        """
        touched, left, out = self.chains.touched & free, set(range(len(self.chords))), []
        while left:
            chords = np.zeros(len(self.chords), dtype=bool)
            chords[min(left)] = True
            grown = 0
            while chords.sum() > grown:
                grown = int(chords.sum())
                chords |= touched[:, touched[chords].any(axis=0)].any(axis=1)
            left -= set(np.flatnonzero(chords).tolist())
            out.append((np.flatnonzero(np.repeat(chords, 6)), np.flatnonzero(touched[chords].any(axis=0))))
        return out

    def chord_motions(self, at: Array) -> list[tuple[Joint, Array]]:
        """Compute each chord's motion as the tree has it: its child frame relative to its parent frame, (4, 4)."""
        positions = self.positions(at)
        chords = zip(self.chords, self._gaps(at), strict=True)
        return [(joint, joint_motion_single(joint, positions[joint.id]) @ gap) for joint, gap in chords]

    def _gaps(self, at: Array) -> Array:
        """Compute each chord's child frame by the tree, relative to that by the chord, (chords, 4, 4)."""
        return self.chains.mismatches((at * self.scales)[None])[0]

    def _residuals(self, openings: Array) -> Array:
        openings[..., 3:] /= self.length
        return openings.reshape(len(openings), 6 * len(self.chords))

    def _paths(self) -> dict[str, set[str]]:
        """Find for each chord the tree joints that move its child relative to its parent."""
        link_of = {link.body: link for link in self.tree.links} if self.chords else {}
        ways = (
            (joint.id, path_to_root(link_of, joint.child), path_to_root(link_of, joint.parent)) for joint in self.chords
        )
        return {name: {link.joint.id for link in one} ^ {link.joint.id for link in other} for name, one, other in ways}


def _characteristic_length(joints: list[Joint]) -> float:
    """Compute the characteristic length: the median distance of joint frames from their bodies' origins.

    Distances of frames that are at an origin but for rounding are left out. It is 1 where there are no distances.
    """
    arms = [math.hypot(*frame[:3, 3].tolist()) for joint in joints for frame in (joint.frame_parent, joint.frame_child)]
    arms = [arm for arm in arms if arm > max(1e-9, _ROUNDED_ARM * max(arms))]
    return float(np.median(arms)) if arms else 1.0


def input_joint_order(mechanism: Mechanism, tree: Tree) -> list[str]:
    """Sort the joints of a mechanism by their suitability as input joints.

    Joints with an initial velocity come first, then joints with one dof before those with several, nearer the root
    before farther out, rotations before translations. Joints outside the tree, which close loops, come last.
    """
    depth: dict[str | None, int] = {None: 0, **{root.id: 0 for root in tree.roots}}
    far: dict[str, int] = {}
    for link in tree.links:
        far[link.joint.id] = depth.get(link.carrier, 0)
        depth[link.body] = far[link.joint.id] + 1

    def rank(joint_id: str) -> tuple[bool, bool, bool, int, bool]:
        joint = joints[joint_id]
        moves = any(dof.velocity for dof in joint.dofs)
        several = joint.size > 1
        slides = bool(joint.dofs) and joint.dofs[0].kind != "rotation"
        return joint_id not in far, not moves, several, far.get(joint_id, 0), slides

    joints = by_id(joint for joint in mechanism.joints if joint.active and joint.dofs)
    return sorted(joints, key=rank)
