"""What of a model Blender's physics will not do, or not exactly: told when physics is built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import bpy

from ....core.editing.sides import name_list
from ....core.model import Mechanism
from ....core.report import Report, plain
from ...data.access import record_of
from ...data.caching import joint_of
from ...data.conversion import has_stops, read_dofs, start_of
from ...data.properties.joint import KnuckleJoint
from ...data.rigid_bodies import LEAST_MASS
from ..actuators.initial_velocity import has_speed
from ..constraints.constraints import turns_too_far
from ..constraints.generic6dof import (
    has_axles,
    is_countable,
    is_exact,
    is_plain,
    springs_away_from_rest,
    springs_left_out,
)
from ..world.anchor import is_held

#: Beyond this ratio of masses, joints came apart by more than a hundredth of a body's length, as measured.
_MASS_RATIO = 100


def tell_of_limits(joints: Sequence[bpy.types.Object], report: Report) -> None:
    """Add a warning for everything that physics will not do of joints, given as their empties."""
    every = {empty: joint_of(empty) for empty in joints}
    held = {empty: joint for empty, joint in every.items() if is_held(joint)}
    for empty, joint in held.items():
        for code, message in _limits(joint):
            report.warn(code, message, where=empty.name)
    _tell_of_masses(held, report)
    has_loops = any(joint.loop and joint.active for joint in every.values())
    _tell_of_many(
        [empty for empty, joint in every.items() if has_speed(joint)] if has_loops else [],
        "starts-at-rest",
        "Joints of a model with loops that have a velocity in the file begin at rest under physics",
        report,
    )
    _tell_of_many(
        [empty for empty, joint in held.items() if _has_lost_friction(joint)],
        "friction-not-simulated",
        "Physics has no friction in balls",
        report,
    )
    _tell_of_many(
        [empty for empty, joint in held.items() if _shares_limits(joint)],
        "force-limits-inexact",
        "Of three turns of one joint, each servo keeps its force limit while it alone is loaded; loaded together, far "
        "from where the run began, they were off by up to a third",
        report,
    )
    _tell_of_many(
        [empty for empty, joint in held.items() if _has_armature(joint)],
        "armature-not-simulated",
        "Physics has no inertia of the motors of joints (their armature)",
        report,
    )


def report_weightless(mechanism: Mechanism) -> Report:
    """One warning for bodies that their file leaves out of gravity: Blender's has no exceptions."""
    report = Report()
    free = [body for body in mechanism.bodies if not body.gravity and body.active and not body.immobile]
    if free and mechanism.world.gravity.any():
        report.warn(
            "weightless",
            "Physics pulls all bodies down, also those that the file leaves out of gravity: "
            f"{name_list(body.name for body in free)}",
            where=free[0].name,
        )
    return report


def _tell_of_many(empties: list[bpy.types.Object], code: str, what: str, report: Report) -> None:
    """One warning for all joints of which the same is to be said."""
    if empties:
        report.warn(code, f"{what} ({len(empties)} here)", where=empties[0].name)


def _has_lost_friction(joint: KnuckleJoint) -> bool:
    return any(dof.friction > 0.0 for dof in [*joint.dofs, *joint.parts]) and not is_plain(read_dofs(joint))


def _shares_limits(joint: KnuckleJoint) -> bool:
    kinds = [dof.kind for dof in joint.dofs] if len(joint.dofs) > 2 else []
    return kinds.count("rotation") == 3 and any(dof.max_force > 0.0 for dof in joint.dofs)


def _has_armature(joint: KnuckleJoint) -> bool:
    return any(dof.armature > 0.0 for dof in [*joint.dofs, *joint.parts])


def _tell_of_masses(held: Mapping[bpy.types.Object, KnuckleJoint], report: Report) -> None:
    """One warning for all joints that Blender's solver does not hold together well."""
    ends = {end for joint in held.values() for end in (joint.parent, joint.child) if end is not None}
    moved = (end for end in ends if end.rigid_body is not None and end.rigid_body.type == "ACTIVE")
    masses = {end: max(record_of(end).mass, LEAST_MASS) for end in moved}
    off: list[tuple[float, bpy.types.Object]] = []
    for empty, joint in held.items():
        light, heavy = sorted((masses.get(joint.parent, 0.0), masses.get(joint.child, 0.0)))
        if light and heavy > _MASS_RATIO * light:
            off.append((heavy / light, empty))
    if off:
        ratio, empty = max(off, key=lambda each: each[0])
        report.warn(
            "mass-ratio",
            f"Joints between bodies of very different mass come apart under physics: {len(off)} here join masses of "
            f"more than 1 to {_MASS_RATIO}, the worst of 1 to {plain(ratio)}",
            where=empty.name,
        )


def _limits(joint: KnuckleJoint) -> Iterator[tuple[str, str]]:
    kinds = [dof.kind for dof in joint.dofs]
    if "screw" in kinds and kinds != ["screw"]:
        yield "screw-not-simulated", "Physics lets this screw turn and slide each by itself"
    if kinds not in (["rotation"], ["translation"]) and has_stops(joint):
        start = [number for dof in joint.dofs for number in start_of(dof)]
        if not is_countable(joint):
            yield "stops-not-simulated", "Physics ignores the stops of its several degrees"
        elif not is_exact(joint, start):
            yield "stops-inexact", "Physics counts stops inexactly from where this joint of several degrees begins"
    if turns_too_far(joint, sum(start_of(joint.dofs[0])) if joint.dofs else 0.0):
        alone = joint.dofs[0].use_lower != joint.dofs[0].use_upper
        yield (
            "stops-beyond-a-turn",
            "Physics counts no turns: this hinge, which has one stop, stops a turn away from it as well"
            if alone
            else "Physics counts no turns: this hinge, whose stops are a turn or more apart, turns freely",
        )
    if kinds in (["rotation"], ["translation"]):
        return  # its springs are Blender's own
    if has_axles(read_dofs(joint)):
        return  # motors push for its springs
    if springs_left_out(joint):
        yield "spring-not-simulated", "Physics ignores springs and dampers on axes that are not at right angles"
    if kinds not in (["rotation"], ["translation"]) and springs_away_from_rest(joint):
        yield (
            "spring-rest",
            "Physics has the joint's springs at rest where a run begins; in the file they are at rest elsewhere",
        )
