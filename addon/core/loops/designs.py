"""Design poses and initial values of closed loops after edits.

At the design pose all joint values are 0, as required by formats that store a single pose. An edit of a posed loop
keeps its bodies where they are seen, and may open it at the design pose. Its new design pose is then another closed
position. Joints that are elsewhere there count from it: the value they had is subtracted from their values and stops.

Formats that store initial values begin where loops were assembled, if an edit changed these.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import replace
from typing import cast

import numpy as np

from ..kinematics import CLOSES_LOOP, Tree, joint_motion, joint_values_from_transform, set_initial_values, spanning_tree
from ..model import DOF_SIZE, Array, Dof, Joint, Mechanism, joint_by_id
from ..transforms import inverse
from .closure import LoopSystem, close_loops, initial_joint_positions, input_joint_order
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


# ---------------------------------------------------------------- initial values


def initial_values_of_new_loops(
    mechanism: Mechanism,
    tree: Tree,
    new: Set[str],
    initial: Mapping[str, Array],
    seen: Mapping[str, Array],
) -> dict[str, Array]:
    """Find initial values for loops that an edit closed in another pose than the initial one.

    A file that begins with an open loop is assembled elsewhere when it is read. Such a loop begins where it was closed.

    Args:
        mechanism: The mechanism after the edit.
        tree: Its spanning tree.
        new: Ids of the chords of the loops that it closed.
        initial: Initial values (size,) of joints, by id.
        seen: Values (size,) at which its joints are seen, by id.

    Returns:
        The new initial values (size,) of the joints of these loops by id, of those that are open initially.
    """
    out: dict[str, Array] = {}
    for linkage in find_linkages(mechanism, tree) if new else ():
        begun, closed = (
            float(np.abs(linkage.system.residual(linkage.system.vector(values))).max(initial=0.0))
            for values in (initial, seen)
        )
        if not new.isdisjoint(linkage.chords) and closed < DESIGN_TOLERANCE and begun > _MAX_DESIGN_ERROR:
            out |= {own: seen[own] for own in (*linkage.joints, *linkage.chords)}
    return out


#: Largest relative difference of frames that were not edited, and of values that were rounded to 32 bits.
_ROUNDING = 1e-5, 1e-6
#: Largest correction (matrix entries) of a joint's frame, which is rounded to 32 bits.
_MAX_CORRECTION = 1e-4
_DIGITS = 12


def adopt_assembled_values(mechanism: Mechanism, document: Mechanism, assembled: Mapping[str, Array]) -> None:
    """Make the values at which loops were assembled the initial values, if joints differ from those of the document.

    With other joints, loops would be assembled elsewhere from the file's initial values, also loops beside them, and
    joints that a loop no longer holds would stand at these.

    Values and frames that went through Blender are rounded to 32 bits. A loop of hinges that are not quite parallel
    would move by a multiple of that when it is assembled from them. Values are therefore computed again from the
    document, and the frames of edited joints are fitted to them.

    Args:
        mechanism: The mechanism as it stands; its joints are changed.
        document: The mechanism of its document.
        assembled: Assembled initial values (size,) by joint id, of those that differ from the file's.
    """
    now, before = joint_by_id(mechanism), joint_by_id(document)
    shift = _ground_shift(now, before)
    edited = {own for own in now if own not in before or not _is_same_joint(now[own], before[own], shift)}
    if not (edited or before.keys() - now.keys()):
        return
    exact = close_loops(document)[0]
    for own in assembled.keys() & now.keys():
        set_initial_values(now[own].dofs, _without_rounding(assembled[own], exact.get(own, np.zeros(0))))
    _fit_frames(mechanism, edited)


def _is_same_joint(joint: Joint, before: Joint, shift: Array) -> bool:
    """Return whether a joint is where it was on its bodies and moves as it did.

    ``shift`` (4, 4) displaced the world.
    """
    if (joint.ends, joint.active) != (before.ends, before.active):
        return False
    one, other = ([(dof.kind, *dof.axis.tolist(), dof.pitch) for dof in each.dofs] for each in (joint, before))
    sides = zip(joint.ends, _frames(joint), _frames(before), strict=True)
    return one == other and all(
        np.abs(near - (far if end is not None else shift @ far)).max()
        <= _ROUNDING[0] * max(1.0, float(np.abs(near).max()))
        for end, near, far in sides
    )


def _frames(joint: Joint) -> tuple[Array, Array]:
    return joint.frame_parent, joint.frame_child


def _ground_shift(now: Mapping[str, Joint], before: Mapping[str, Joint]) -> Array:
    """Return the displacement (4, 4) of a mechanism as a whole, by the first joint to the world."""
    for own in (each for each in before if each in now):
        sides = zip(now[own].ends, before[own].ends, _frames(now[own]), _frames(before[own]), strict=True)
        for end, was, near, far in sides:
            if end is None and was is None:
                return near @ inverse(far)
    return np.eye(4)


def _without_rounding(values: Array, exact: Array) -> Array:
    """Return exact values (size,), or their negatives, where others are these within rounding; else the others."""
    reach = _ROUNDING[1] * max(1.0, float(np.abs(values).max(initial=0.0)))
    for sign in (1.0, -1.0) if len(exact) == len(values) else ():
        if np.abs(sign * exact - values).max(initial=0.0) <= reach:
            return cast(Array, np.round(sign * exact, _DIGITS) + 0.0)
    return values


def _fit_frames(mechanism: Mechanism, edited: Collection[str]) -> None:
    """Fit the child frames of edited joints (ids), each of which closes a loop, to the initial pose of the others."""
    joints = joint_by_id(mechanism)
    marked = [
        replace(joint, extra={**joint.extra, CLOSES_LOOP: True}) if joint.id in edited else joint
        for joint in mechanism.joints
    ]
    tree = spanning_tree(replace(mechanism, joints=marked))
    system = LoopSystem(tree.mechanism, tree)
    positions = initial_joint_positions(mechanism)
    for chord, motion in system.chord_motions(system.vector(positions)) if tree.loop_joints else ():
        correction = inverse(motion) @ joint_motion(chord, positions[chord.id][None])[0]
        if chord.id in edited and np.abs(correction - np.eye(4)).max() < _MAX_CORRECTION:
            joints[chord.id].frame_child = joints[chord.id].frame_child @ correction
