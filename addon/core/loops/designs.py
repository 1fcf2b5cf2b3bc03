"""Design poses of closed loops after edits.

At the design pose all joint values are 0, as required by formats that store a single pose. An edit of a posed loop
keeps its bodies where they are seen, and may open it at the design pose. Its new design pose is then another closed
position. Joints that are elsewhere there count from it: the value they had is subtracted from their values and stops.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from ..kinematics import Tree, joint_motion, joint_values_from_transform
from ..model import DOF_SIZE, Array, Dof, Joint, Mechanism
from ..transforms import inverse
from .closure import LoopSystem, input_joint_order
from .linkage_solver import LinkageSolver, find_linkages

#: Opening (characteristic lengths, radians) up to which loops are closed within 32-bit rounding.
DESIGN_TOLERANCE = 1e-5
#: Opening at the design pose beyond which loops were not meant to close there.
_MAX_DESIGN_ERROR = 1e-2
#: Largest change of a value (rad, length units) of a joint that counts as unmoved.
_ZERO_TOLERANCE = 1e-6


def design_loop_errors(mechanism: Mechanism, tree: Tree) -> dict[str, float]:
    """Compute by how much each loop is open at the design pose (characteristic lengths or radians), by chord id."""
    if not tree.loop_joints:
        return {}
    system = LoopSystem(mechanism, tree)
    residual = np.abs(system.residual(np.zeros(len(system.scales)))).reshape(len(system.chords), 6)
    return {joint.id: float(worst) for joint, worst in zip(system.chords, residual.max(axis=1), strict=True)}


def close_designs(
    mechanism: Mechanism,
    tree: Tree,
    before: Mapping[str, float],
    seen: Mapping[str, Array],
    following: Collection[str] = (),
    joining: Collection[str] = (),
) -> dict[str, Array]:
    """Find closed positions for loops that an edit has opened at the design pose.

    The input joints stay at 0 if the loop closes there without leaving its assembly mode and its stops; else they come
    as near to it as they can. There is no solution for loops that are open where they are seen, nor for loops in which
    the zero of a joint with several degrees of freedom would change: its motion depends on its zero.

    Args:
        mechanism: The mechanism after the edit.
        tree: Its spanning tree.
        before: Its ``design_loop_errors`` before the edit, for loops that existed.
        seen: Values (size,) at which its joints are seen, by id.
        following: Ids of dependent joints: others are preferred as input joints.
        joining: Ids of new joints: their loops stay as they are designed.

    Returns:
        The values (size,) of joints that change at the new design pose, by id, and 0 for the chords of their loops.
    """
    after = design_loop_errors(mechanism, tree)
    opened = {
        chord
        for chord, now in after.items()
        if before.get(chord, 1.0) < _MAX_DESIGN_ERROR and now > 2.0 * before[chord] + DESIGN_TOLERANCE
    }
    out: dict[str, Array] = {}
    for linkage in find_linkages(mechanism, tree) if opened else ():
        system = linkage.system
        if not opened.intersection(linkage.chords) or {*linkage.joints, *linkage.chords}.intersection(joining):
            continue
        if np.abs(system.residual(system.vector(seen))).max(initial=0.0) > DESIGN_TOLERANCE:
            continue
        order = [joint for joint in input_joint_order(mechanism, tree) if joint not in tree.loop_joints]
        drivers = linkage.drivers(seen, sorted(order, key=lambda joint: joint in following))
        given = {joint: np.zeros_like(seen[joint]) for joint in drivers}
        found = LinkageSolver(linkage, seen).follow(given, hold=True)
        moved = {
            own: value for own, value in found.positions.items() if np.abs(value).max(initial=0.0) > _ZERO_TOLERANCE
        }
        if found.opening < DESIGN_TOLERANCE and all(
            _can_shift_zero(joint) for joint in system.moving if joint.id in moved
        ):
            out |= {chord: np.zeros_like(seen[chord]) for chord in linkage.chords} | moved
    return out


def _can_shift_zero(joint: Joint) -> bool:
    """Return whether a joint's zero can be changed: it has a single degree of freedom without parts."""
    return len(joint.dofs) == 1 and not joint.dofs[0].parts


def shift_value_zero(joint: Joint, value: Array, zero: Array) -> Array:
    """Compute the values (size,) of a joint with one degree of freedom relative to a new ``zero`` (size,)."""
    if DOF_SIZE[joint.dofs[0].kind] == 1 or not zero.any():
        return np.asarray(value, dtype=np.float64) - zero
    motion = joint_motion(joint, np.array([value, zero]))
    return joint_values_from_transform(joint, (motion[0] @ inverse(motion[1]))[None])[0]


def shift_dof_zero(joint: Joint, zero: Array) -> Dof:
    """Return a joint's single degree of freedom relative to a new ``zero`` (size,).

    Stops, initial value and spring stay where they are in space. A dof that begins at 0 begins at the new zero.
    """
    (dof,) = joint.dofs
    if DOF_SIZE[dof.kind] > 1:
        begins = dof.initial
        return replace(dof, start=tuple(shift_value_zero(joint, begins, zero).tolist()) if begins.any() else ())
    less = float(zero[0])
    return replace(
        dof,
        lower=None if dof.lower is None else dof.lower - less,
        upper=None if dof.upper is None else dof.upper - less,
        position=dof.position - less if dof.position else 0.0,
        rest=dof.rest - less if dof.stiffness else dof.rest,
    )
