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

from ....core.force_laws import Piecewise, restraining
from ....core.report import Report
from ...data.access import record_of, settings
from ...data.caching import joint_of
from ...data.properties.joint import KnuckleRestraint
from ..world.anchor import is_held

_KINDS = {"spring", "damper", "friction"}
#: Largest velocity (per second) at which it is tested whether a damper brakes.
_FAST = 100.0
_AXES = {"": -1, "euclidean": -1, "tx": 0, "ty": 1, "tz": 2}


@dataclass(frozen=True)
class JointLaw:
    """Force law against a joint's one value: of the value if it is a ``spring``, else of its velocity.

    ``brakes``: it only dissipates energy.
    """

    spring: bool
    law: Piecewise
    brakes: bool
    holds: float  # braking force at rest


def law_of(kept: KnuckleRestraint) -> Piecewise:
    """Return the piecewise polynomial of a restraint."""
    knots, pieces = json.loads(kept.law)
    return Piecewise(knots, pieces)


def joint_laws(rig: bpy.types.Object) -> dict[bpy.types.Object, list[JointLaw]]:
    """Return the force laws of joints that can be simulated, by the joints' empties."""
    out: dict[bpy.types.Object, list[JointLaw]] = {}
    for kept in settings(rig).restraints:
        if kept.joint is None or _why_not(kept):
            continue
        law, spring = law_of(kept), kept.kind == "spring"
        holds = max(abs(law.coefficients[find(law.knots, 0.0)][-1]) for find in (bisect_left, bisect_right))
        brakes = not spring and restraining(law, _FAST)
        out.setdefault(kept.joint, []).append(JointLaw(spring, law, brakes, holds))
    return out


def pairs(rig: bpy.types.Object) -> list[KnuckleRestraint]:
    """Return the restraints between two points that can be simulated."""
    return [kept for kept in settings(rig).restraints if kept.joint is None and not _why_not(kept)]


def axis_of(kept: KnuckleRestraint) -> int:
    """Return the axis (0 to 2) of its first point along which a restraint measures; -1 for the distance itself."""
    return _AXES[kept.distance.strip().lower()]


def _why_not(kept: KnuckleRestraint) -> str:
    """Return the reason why a restraint is not simulated; empty where it is."""
    if kept.kind not in _KINDS:
        return f"it is a {kept.kind!r}, and neither spring nor damper nor friction"
    if kept.joint is not None:
        joint = joint_of(kept.joint)
        if not is_held(joint):
            return "its joint is switched off"
        if len(joint.dofs) != 1 or joint.dofs[0].kind not in {"rotation", "translation"}:
            return "its joint has not one coordinate; give it two places on bodies instead"
        return ""
    if kept.distance.strip().lower() not in _AXES:
        return f"its distance is along {kept.distance!r}, and not Tx, Ty or Tz"
    if (kept.one is None and not kept.one_stays) or (kept.other is None and not kept.other_stays):
        return "it acted on a body or joint that was deleted"
    if not any(
        end is not None and record_of(end).active and not record_of(end).immobile for end in (kept.one, kept.other)
    ):
        return "nothing that moves is at either end"
    return ""


def tell_of_restraints(rig: bpy.types.Object, report: Report) -> None:
    """Say of a model's restraints which physics takes, on what assumption, and which it does not, and why."""
    taken = [kept for kept in settings(rig).restraints if not _why_not(kept)]
    if taken:
        report.info(
            "restraint-sign",
            f"Physics takes restraints as forces that restrain ({_named(taken)}): where their formula is positive they "
            "push the coordinate down, or their two places together; the format does not say which way",
            where=taken[0].name,
        )
    for kept, why in _left_out(settings(rig).restraints):
        report.warn("restraint-not-simulated", f"Physics leaves this restraint out: {why}", where=kept.name)


def _left_out(restraints: Iterable[KnuckleRestraint]) -> Iterator[tuple[KnuckleRestraint, str]]:
    return ((kept, why) for kept in restraints if (why := _why_not(kept)))


def _named(some: list[KnuckleRestraint]) -> str:
    return f"{len(some)} here: " + ", ".join(repr(kept.name) for kept in some[:3])
