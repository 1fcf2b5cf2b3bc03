"""Restraints of a file: those that are simulated as forces, and force laws of those along a joint.

A restraint resists: where its law is positive it acts against its joint value, or pulls two points together. The
format's description does not state the sign; it is what a spring with positive coefficients does.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import bpy

from ....core.force_laws import PiecewisePolynomial, is_dissipative
from ....core.report import Message, Report
from ...data.access import record_of, settings
from ...data.caching import joint_record
from ...data.properties.joint import KnuckleRestraint
from ..world.anchor import connects_bodies

_RESTRAINT_KINDS = {"spring", "damper", "friction"}
#: Largest velocity (per second) at which it is tested whether a damper brakes.
_MAX_TESTED_SPEED = 100.0
_AXES = {"": -1, "euclidean": -1, "tx": 0, "ty": 1, "tz": 2}


@dataclass(frozen=True)
class JointForceLaw:
    """Force law against a joint's one value: of the value if it is a ``spring``, else of its velocity.

    ``brakes``: it only dissipates energy.
    """

    spring: bool
    law: PiecewisePolynomial
    brakes: bool
    holds: float  # braking force at rest


def restraint_law(kept: KnuckleRestraint) -> PiecewisePolynomial:
    """Return the piecewise polynomial of a restraint."""
    knots, pieces = json.loads(kept.law)
    return PiecewisePolynomial(knots, pieces)


def joint_force_laws(rig: bpy.types.Object) -> dict[bpy.types.Object, list[JointForceLaw]]:
    """Return the force laws of joints that can be simulated, by the joints' empties."""
    out: dict[bpy.types.Object, list[JointForceLaw]] = {}
    for kept in settings(rig).restraints:
        if kept.joint is None or _unsupported_reason(kept):
            continue
        law, spring = restraint_law(kept), kept.kind == "spring"
        holds = max(abs(law.coefficients[find(law.knots, 0.0)][-1]) for find in (bisect_left, bisect_right))
        brakes = not spring and is_dissipative(law, _MAX_TESTED_SPEED)
        out.setdefault(kept.joint, []).append(JointForceLaw(spring, law, brakes, holds))
    return out


def point_restraints(rig: bpy.types.Object) -> list[KnuckleRestraint]:
    """Return the restraints between two points that can be simulated."""
    return [kept for kept in settings(rig).restraints if kept.joint is None and not _unsupported_reason(kept)]


def distance_axis(kept: KnuckleRestraint) -> int:
    """Return the axis (0 to 2) of its first point along which a restraint measures; -1 for the distance itself."""
    return _AXES[kept.distance.strip().lower()]


def _unsupported_reason(kept: KnuckleRestraint) -> str:
    """Return the reason why a restraint is not simulated; empty where it is."""
    if kept.kind not in _RESTRAINT_KINDS:
        return Message("type {} is not spring, damper or friction", repr(kept.kind))
    if kept.joint is not None:
        joint = joint_record(kept.joint)
        if not connects_bodies(joint):
            return "its joint is inactive"
        if len(joint.dofs) != 1 or joint.dofs[0].kind not in {"rotation", "translation"}:
            return "its joint does not have exactly one degree of freedom. Use two points on bodies instead"
        return ""
    if kept.distance.strip().lower() not in _AXES:
        return Message("distance {} is not Tx, Ty or Tz", repr(kept.distance))
    if (kept.body_a is None and not kept.a_at_world) or (kept.body_b is None and not kept.b_at_world):
        return "its body or joint was deleted"
    if not any(
        end is not None and record_of(end).active and not record_of(end).immobile for end in (kept.body_a, kept.body_b)
    ):
        return "none of its ends is on a moving body"
    return ""


def report_restraints(rig: bpy.types.Object, report: Report) -> None:
    """Report the simulated restraints, with the assumption on their sign, and the others, with the reason."""
    taken = [kept for kept in settings(rig).restraints if not _unsupported_reason(kept)]
    if taken:
        report.info(
            "restraint-sign",
            Message(
                "Restraints: simulated as forces against the motion ({}). A positive value decreases the joint "
                "value or the distance, the format does not define the sign",
                _restraint_names(taken),
            ),
            where=taken[0].name,
        )
    for kept, why in _unsupported_restraints(settings(rig).restraints):
        report.warn("restraint-not-simulated", Message("Restraint: not simulated, {}", why), where=kept.name)


def _unsupported_restraints(restraints: Iterable[KnuckleRestraint]) -> Iterator[tuple[KnuckleRestraint, str]]:
    return ((kept, why) for kept in restraints if (why := _unsupported_reason(kept)))


def _restraint_names(some: list[KnuckleRestraint]) -> str:
    return f"{len(some)} here: " + ", ".join(repr(kept.name) for kept in some[:3])
