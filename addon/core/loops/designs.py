"""Design poses of closed loops: where all joints are at 0, as formats have a mechanism that hold one pose of it.

An edit of a posed loop keeps its bodies where they are seen, and may leave it open where all joints are at 0. Its
design is then another closed position. Joints that stand elsewhere there count from it: their values and stops are less
by what they stood at.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from ..kinematics import Tree, joint_coordinates, joint_motion
from ..model import DOF_SIZE, Array, Dof, Joint, Mechanism
from ..transforms import inverse
from .closure import LoopSystem, driver_order
from .dependents import Follower, linkages

#: Loops that are open by less (characteristic lengths, radians) are as closed as 32-bit numbers have them.
CLOSED = 1e-5
#: Loops that are open by more at design were not designed to close there.
_DESIGNED = 1e-2
#: A joint that stands by less (rad, length units) elsewhere stands where it did.
_SAME = 1e-6


def design_errors(mechanism: Mechanism, tree: Tree) -> dict[str, float]:
    """Return by how much each loop is open where all joints are at 0 (characteristic lengths or radians), by the id of
    its chord."""
    if not tree.loop_joints:
        return {}
    system = LoopSystem(mechanism, tree)
    residual = np.abs(system.residual(np.zeros(len(system.scales)))).reshape(len(system.chords), 6)
    return {joint.id: float(worst) for joint, worst in zip(system.chords, residual.max(axis=1), strict=True)}


def closed_designs(
    mechanism: Mechanism,
    tree: Tree,
    before: Mapping[str, float],
    seen: Mapping[str, Array],
    following: Collection[str] = (),
    joining: Collection[str] = (),
) -> dict[str, Array]:
    """Find closed positions for loops that an edit has opened where all joints are at 0.

    The input joints stay at 0, if the loop closes there without leaving its assembly and its stops; else they go as
    near to it as they can. Loops that are open where they are seen have none, nor those that a joint of several degrees
    of freedom would have to count anew in: what these do depends on where they count from.

    Args:
        mechanism: it as it is edited.
        tree: its spanning tree.
        before: its ``design_errors`` before the edit, of loops that there were.
        seen: the coordinates (size,) at which its joints are seen, by their ids.
        following: ids of the joints that follow their loops: others are preferred as input joints.
        joining: ids of new joints: their loops stay as they are designed.

    Returns:
        The coordinates (size,) of joints that stand elsewhere at the new design, by their ids; with them 0 of the
        chords of their loops that stay.
    """
    after = design_errors(mechanism, tree)
    opened = {
        chord
        for chord, now in after.items()
        if before.get(chord, 1.0) < _DESIGNED and now > 2.0 * before[chord] + CLOSED
    }
    out: dict[str, Array] = {}
    for linkage in linkages(mechanism, tree) if opened else ():
        system = linkage.system
        if not opened.intersection(linkage.chords) or {*linkage.joints, *linkage.chords}.intersection(joining):
            continue
        if np.abs(system.residual(system.vector(seen))).max(initial=0.0) > CLOSED:
            continue
        order = [joint for joint in driver_order(mechanism, tree) if joint not in tree.loop_joints]
        drivers = linkage.drivers(seen, sorted(order, key=lambda joint: joint in following))
        given = {joint: np.zeros_like(seen[joint]) for joint in drivers}
        found = Follower(linkage, seen).follow(given, hold=True)
        moved = {own: value for own, value in found.positions.items() if np.abs(value).max(initial=0.0) > _SAME}
        if found.opening < CLOSED and all(_can_count(joint) for joint in system.moving if joint.id in moved):
            out |= {chord: np.zeros_like(seen[chord]) for chord in linkage.chords} | moved
    return out


def _can_count(joint: Joint) -> bool:
    """Return whether a joint's values can be counted from elsewhere: it has one degree of freedom, in one piece."""
    return len(joint.dofs) == 1 and not joint.dofs[0].parts


def counted_from(joint: Joint, value: Array, zero: Array) -> Array:
    """The coordinates (size,) of a joint of one degree of freedom that counts from ``zero`` on (size,)."""
    if DOF_SIZE[joint.dofs[0].kind] == 1 or not zero.any():
        return np.asarray(value, dtype=np.float64) - zero
    motion = joint_motion(joint, np.array([value, zero]))
    return joint_coordinates(joint, (motion[0] @ inverse(motion[1]))[None])[0]


def dof_counted_from(joint: Joint, zero: Array) -> Dof:
    """A joint's one degree of freedom as it is where it counts from ``zero`` on (size,): stops, initial value and
    spring stay where they are. One that begins at the design does so at the new one."""
    (dof,) = joint.dofs
    if DOF_SIZE[dof.kind] > 1:
        begins = dof.initial
        return replace(dof, start=tuple(counted_from(joint, begins, zero).tolist()) if begins.any() else ())
    less = float(zero[0])
    return replace(
        dof,
        lower=None if dof.lower is None else dof.lower - less,
        upper=None if dof.upper is None else dof.upper - less,
        position=dof.position - less if dof.position else 0.0,
        rest=dof.rest - less if dof.stiffness else dof.rest,
    )
