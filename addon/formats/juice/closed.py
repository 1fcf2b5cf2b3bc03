"""Mechanisms drawn where their loops close. A Juice file has no joint positions: its joints are at zero where their
bodies are drawn, and there a loop has to be closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...model.kinematics import joint_motion, spanning_tree
from ...model.loops import assemble, chord_errors
from ...model.records import Array, Dof, Joint, Mechanism
from ...model.report import Report
from ...model.rotations import inverse

#: Loops that are open by less, in length units or radians, are closed.
OPEN = 1e-6


def drawn_closed(mechanism: Mechanism, report: Report) -> Mechanism:
    """The same mechanism with its bodies where its joints begin, or as near to that as its loops fit, if a loop is
    open at the joints' zeros: stops and rests count from there. The mechanism itself where none is open, or where it
    would be no less so."""
    tree = spanning_tree(mechanism)
    if not tree.loop_joints:
        return mechanism
    zeros = {joint.id: np.zeros(sum(len(dof.initial) for dof in joint.dofs)) for joint in mechanism.joints}
    open_by = _widest(chord_errors(mechanism, zeros, tree))
    if open_by <= OPEN:
        return mechanism
    positions, _, after = assemble(mechanism, tree)
    if _widest(after) >= open_by:
        return mechanism
    placed = tree.forward({own: position[None] for own, position in positions.items()})[0]
    bodies = [replace(body, pose=pose) for body, pose in zip(mechanism.bodies, placed, strict=True)]
    before = {body.id: body.pose for body in mechanism.bodies}
    poses = {body.id: body.pose for body in bodies}
    joints = [
        _begun(joint, positions[joint.id]) if joint.id in positions else _left(joint, before, poses)
        for joint in mechanism.joints
    ]
    turned = [joint.name for joint in mechanism.joints if np.abs(positions.get(joint.id, 0.0)).max(initial=0.0) > OPEN]
    some = ", ".join(repr(name) for name in turned[:3]) + (f" and {len(turned) - 3} more" if len(turned) > 3 else "")
    report.warn(
        "drawn-closed",
        f"its loops are open by {open_by:.3g} where its joints are at zero, and Juice draws them there: it is written "
        f"as it begins, and servos and stops count from there ({some})",
    )
    return replace(mechanism, bodies=bodies, joints=joints)


def _widest(openings: Mapping[str, tuple[float, float]]) -> float:
    return max(map(max, openings.values()), default=0.0)


def _begun(joint: Joint, position: Array) -> Joint:
    """A joint that is at zero where it was at a position."""
    there = joint.frame_parent @ joint_motion(joint, position[None])[0]
    alone = len(position) == 1
    dofs = [_from(dof, float(position[0]) if alone else 0.0) for dof in joint.dofs]
    return replace(joint, frame_parent=there, dofs=dofs)


def _from(dof: Dof, zero: float) -> Dof:
    """A degree of freedom, counted from another zero, at which it is."""
    lower, upper = (None if stop is None else stop - zero for stop in (dof.lower, dof.upper))
    return replace(dof, position=0.0, start=(), lower=lower, upper=upper, rest=dof.rest - zero)


def _left(joint: Joint, before: Mapping[str, Array], now: Mapping[str, Array]) -> Joint:
    """A joint that is switched off: it stays on its parent where it was, and its child is elsewhere by now."""
    here = np.eye(4)
    side = now.get(joint.parent or "", here) @ joint.frame_parent
    opening = inverse(before.get(joint.parent or "", here) @ joint.frame_parent) @ (
        before.get(joint.child or "", here) @ joint.frame_child
    )
    return replace(joint, frame_child=inverse(now.get(joint.child or "", here)) @ side @ opening)
