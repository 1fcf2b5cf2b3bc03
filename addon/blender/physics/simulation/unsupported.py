"""Warnings about properties of a mechanism that Blender's physics does not simulate, or not exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import bpy

from ....core.model import Mechanism
from ....core.report import Message, Report, abbreviate_names, format_number
from ...data.access import record_of
from ...data.caching import joint_record
from ...data.conversion import initial_dof_coordinates, joint_has_stops, read_dofs
from ...data.properties.joint import KnuckleJoint
from ...data.rigid_bodies import MIN_MASS
from ..constraints.constraints import has_ineffective_stops
from ..constraints.generic6dof import (
    are_stops_exact,
    has_fixed_axes,
    has_measurable_coordinates,
    has_motor_axes,
    has_preloaded_springs,
    has_unsupported_springs,
)
from ..world.anchor import connects_bodies

#: Mass ratio beyond which joints separate by more than a hundredth of a body's length, as measured.
_MASS_RATIO = 100


def report_unsupported(joints: Sequence[bpy.types.Object], report: Report) -> None:
    """Report everything about joints, given as their empties, that physics does not simulate."""
    every = {empty: joint_record(empty) for empty in joints}
    held = {empty: joint for empty, joint in every.items() if connects_bodies(joint)}
    for empty, joint in held.items():
        for code, message in _unsupported_features(joint):
            report.warn(code, message, where=empty.name)
    _report_mass_ratios(held, report)
    _report_joints(
        [empty for empty, joint in held.items() if _has_unsupported_friction(joint)],
        "friction-not-simulated",
        "Friction of ball joints: not simulated",
        report,
    )
    _report_joints(
        [empty for empty, joint in held.items() if _has_shared_limits(joint)],
        "force-limits-inexact",
        "Max force of joints with three rotations: approximate, up to a third off while several servos are loaded",
        report,
    )
    _report_joints(
        [empty for empty, joint in held.items() if _has_rotor_inertia(joint)],
        "armature-not-simulated",
        "Rotor inertia: not simulated",
        report,
    )


def report_weightless(mechanism: Mechanism) -> Report:
    """Report bodies that their file exempts from gravity: Blender's gravity has no exceptions."""
    report = Report()
    free = [body for body in mechanism.bodies if not body.gravity and body.active and not body.immobile]
    if free and mechanism.world.gravity.any():
        report.warn(
            "weightless",
            Message(
                "Gravity: acts on all bodies in physics, also on those without gravity in the file: {}",
                abbreviate_names(body.name for body in free),
            ),
            where=free[0].name,
        )
    return report


def _report_joints(empties: list[bpy.types.Object], code: str, what: str, report: Report) -> None:
    """Report all joints with the same limitation in one warning."""
    if empties:
        report.warn(code, Message("{} (joints: {})", what, len(empties)), where=empties[0].name)


def _has_unsupported_friction(joint: KnuckleJoint) -> bool:
    return any(dof.friction > 0.0 for dof in [*joint.dofs, *joint.parts]) and not has_fixed_axes(read_dofs(joint))


def _has_shared_limits(joint: KnuckleJoint) -> bool:
    kinds = [dof.kind for dof in joint.dofs] if len(joint.dofs) > 2 else []
    return kinds.count("rotation") == 3 and any(dof.max_force > 0.0 for dof in joint.dofs)


def _has_rotor_inertia(joint: KnuckleJoint) -> bool:
    return any(dof.armature > 0.0 for dof in [*joint.dofs, *joint.parts])


def _report_mass_ratios(held: Mapping[bpy.types.Object, KnuckleJoint], report: Report) -> None:
    """Report joints between bodies whose mass ratio Blender's solver does not hold together well."""
    ends = {end for joint in held.values() for end in (joint.parent, joint.child) if end is not None}
    moved = (end for end in ends if end.rigid_body is not None and end.rigid_body.type == "ACTIVE")
    masses = {end: max(record_of(end).mass, MIN_MASS) for end in moved}
    off: list[tuple[float, bpy.types.Object]] = []
    for empty, joint in held.items():
        light, heavy = sorted((masses.get(joint.parent, 0.0), masses.get(joint.child, 0.0)))
        if light and heavy > _MASS_RATIO * light:
            off.append((heavy / light, empty))
    if off:
        ratio, empty = max(off, key=lambda each: each[0])
        report.warn(
            "mass-ratio",
            Message(
                "Mass ratio: above 1:{} between the bodies of a joint, the worst 1:{} (joints: {}). This "
                "increases joint separation. Make the masses more similar",
                _MASS_RATIO,
                format_number(ratio),
                len(off),
            ),
            where=empty.name,
        )


def _unsupported_features(joint: KnuckleJoint) -> Iterator[tuple[str, str]]:
    kinds = [dof.kind for dof in joint.dofs]
    if "screw" in kinds and kinds != ["screw"]:
        yield (
            "screw-not-simulated",
            Message(
                "Screw: rotation and translation are independent in the simulation. Use a joint with the screw alone"
            ),
        )
    if kinds not in (["rotation"], ["translation"]) and joint_has_stops(joint):
        start = [number for dof in joint.dofs for number in initial_dof_coordinates(dof)]
        if not has_measurable_coordinates(joint):
            yield (
                "stops-not-simulated",
                Message("Stops: not simulated, Blender has none for this combination of degrees of freedom"),
            )
        elif not are_stops_exact(joint, start):
            yield (
                "stops-inexact",
                Message("Stops: inexact in the simulation, the initial values of this joint are not 0"),
            )
    if has_ineffective_stops(joint, sum(initial_dof_coordinates(joint.dofs[0])) if joint.dofs else 0.0):
        alone = joint.dofs[0].use_lower != joint.dofs[0].use_upper
        yield (
            "stops-beyond-a-turn",
            Message(
                "Stop: full rotations of this hinge are not counted, so the simulation also stops it one rotation later"
            )
            if alone
            else Message("Stops: not simulated, the range between them is a full rotation or more"),
        )
    if kinds in (["rotation"], ["translation"]):
        return  # its springs are Blender's own
    if has_motor_axes(read_dofs(joint)):
        return  # motors apply its springs' forces
    if has_unsupported_springs(joint):
        yield "spring-not-simulated", Message("Springs and dampers: not simulated on axes that are not at right angles")
    if kinds not in (["rotation"], ["translation"]) and has_preloaded_springs(joint):
        yield (
            "spring-rest",
            Message("Springs: at rest where the simulation begins, in the file at other values"),
        )
