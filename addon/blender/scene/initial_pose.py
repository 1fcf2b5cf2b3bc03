"""Where joints begin: as the file has them, or where every loop closes, and which follow others there. No bpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.kinematics import Tree
from ...core.loops.closure import assemble, chord_errors, driver_order, initial_positions, joint_initial
from ...core.loops.dependents import Linkage, linkages
from ...core.loops.newton import CLOSED
from ...core.model import Array, Mechanism
from ...core.report import Report

#: Loops that are open by less, in length units or radians, are taken as closed.
OPEN = 1e-6


def closing_positions(mechanism: Mechanism, tree: Tree) -> dict[str, Array]:
    """The coordinates nearest to the file's at which every loop fits, by joint; nothing where they all do anyway.
    What came of it is added to the mechanism's report."""
    if not tree.loop_joints:
        return {}
    if max(map(max, chord_errors(mechanism, tree=tree).values()), default=0.0) <= OPEN:
        return {}
    positions, before, after = assemble(mechanism, tree)
    joints = {joint.id: joint for joint in mechanism.joints}
    moved = sum(np.abs(start - joint_initial(joints[own])).max(initial=0.0) > OPEN for own, start in positions.items())
    worst = max(before, key=lambda chord: max(before[chord]))
    left = max(map(max, after.values()))
    distance, angle = before[worst]
    wide = sum(max(opening) > OPEN for opening in before.values())
    end = "where all are closed" if left <= OPEN else f"as near as can be, which leaves {left:.3g}"
    message = (
        f"{wide} of {len(before)} loops are open at the file's joint positions, the widest by {distance:.3g} (length) "
        f"and {angle:.3g} rad. {moved} joints begin elsewhere, {end}"
    )
    report = mechanism.report
    if left <= OPEN:  # what reading warned of, no longer holds: one line tells of it
        report.entries[:] = [each for each in report.entries if (each.severity, each.code) != ("warning", "loop")]
    severity = "info" if left <= OPEN else "warning"
    report.add(severity, "assembled", message, joints[worst].line, joints[worst].name)
    return positions


def followers(mechanism: Mechanism, tree: Tree, starts: Mapping[str, Array], report: Report | None = None) -> set[str]:
    """Find the joints with bones that go where the input joints of their loops lead them.

    Loops that do not close where they begin have none. In a loop without a degree of freedom all joints are dependent,
    which ``report`` is told of: they stay where the loop is closed.

    Returns:
        Ids of joints.
    """
    if not tree.loop_joints:
        return set()
    positions = {**initial_positions(mechanism), **starts}
    order = [joint for joint in driver_order(mechanism, tree) if joint not in tree.loop_joints]
    found: set[str] = set()
    for linkage in linkages(mechanism, tree):
        system = linkage.system
        if np.abs(system.residual(system.vector(positions))).max(initial=0.0) > CLOSED:
            continue
        drivers = linkage.drivers(positions, order)
        rigid = not drivers and linkage.is_rigid(positions)
        if drivers or rigid:
            found |= set(linkage.joints) - tree.loop_joints - set(drivers)
        if rigid and report is not None:
            tell_of_rigid(linkage, report)
    return found


def tell_of_rigid(linkage: Linkage, report: Report) -> None:
    """Report the joints of a loop without a degree of freedom."""
    joints = linkage.system.moving
    names = ", ".join(repr(joint.name) for joint in joints[:6]) + (", …" if len(joints) > 6 else "")
    report.info(
        "loop-rigid",
        f"The closed loop of the {len(joints)} joints {names} has no degree of freedom: their bones are locked where "
        "the loop is closed",
        joints[0].line,
        joints[0].name,
    )
