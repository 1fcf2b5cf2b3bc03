"""Restraints of a file: which physics takes as forces, and those along a joint, as laws of its coordinate.

What restrains pushes back: a law that is positive pushes its coordinate down, or two places together. The format's
description does not say so; it is what a spring does whose coefficients are positive.
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
#: As fast (per second) as is looked whether a damper brakes.
_FAST = 100.0
_AXES = {"": -1, "euclidean": -1, "tx": 0, "ty": 1, "tz": 2}


@dataclass(frozen=True)
class JointLaw:
    """What pushes a joint's one coordinate down: of its place if it is a ``spring``, else of its speed.

    ``brakes``: it takes energy away and never gives any.
    """

    spring: bool
    law: Piecewise
    brakes: bool
    holds: float  # what it brakes with before anything moves


def law_of(kept: KnuckleRestraint) -> Piecewise:
    """A restraint's piecewise polynomial."""
    knots, pieces = json.loads(kept.law)
    return Piecewise(knots, pieces)


def joint_laws(rig: bpy.types.Object) -> dict[bpy.types.Object, list[JointLaw]]:
    """The laws of a model's joints that physics can take, by their empties."""
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
    """The restraints between two places that physics can take."""
    return [kept for kept in settings(rig).restraints if kept.joint is None and not _why_not(kept)]


def axis_of(kept: KnuckleRestraint) -> int:
    """Along which axis of its first place a restraint's distance counts; -1 for none."""
    return _AXES[kept.distance.strip().lower()]


def _why_not(kept: KnuckleRestraint) -> str:
    """Return what keeps physics from a restraint; empty where nothing does."""
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
