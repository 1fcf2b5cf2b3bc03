"""Both halves grow together: what is made on one side of a model that is edited symmetrically is made on the other."""

from __future__ import annotations

from collections.abc import Iterable

import bpy
import numpy as np

from ...core.model import Plane
from ...core.report import Report
from ..data.access import record_of
from ..data.queries import parts
from .twin_making import create_twins
from .twins import by_id, candidates, ensure_plane, link_twins, mates

#: How far, as a share of its size, what stands on one side may reach over to the other.
_REACH = 0.02


def grow_bodies(rig: bpy.types.Object, made: Iterable[bpy.types.Object]) -> tuple[int, int, Report]:
    """Twins for bodies that were just made. Those that are mirror images of others become their twins; of those that
    stand on one side the twin is made; what stands in the middle has none. Returns how many were linked and made."""
    plane, bodies = ensure_plane(rig), by_id(rig, "BODY")
    if plane is None:
        return 0, 0, _without_plane(rig)
    fresh = {record_of(obj).source_id for obj in made}
    alone, linked = set(fresh), 0
    for pair in candidates(rig, plane):
        ids = {pair.first, pair.second}
        if pair.kind == "body" and ids & fresh:
            alone -= ids  # also where names alone are alike: whose they are, nobody but the user knows
            if pair.by != "name":
                link_twins(bodies[pair.first], bodies[pair.second])
                linked += 1
    lone = [bodies[own] for own in bodies if own in alone and _is_on_one_side(bodies[own], plane)]
    if not lone:
        return linked, 0, Report()
    twins, report = create_twins(lone, plane)
    return linked, len(twins), report


def _without_plane(rig: bpy.types.Object) -> Report:
    report = Report()
    report.warn(
        "no-mirror-plane", "The other side was not made: there is no mirror plane. Choose one: Twins > Mirror Plane"
    )
    return report


def _is_on_one_side(obj: bpy.types.Object, plane: Plane) -> bool:
    corners = np.column_stack([np.array(obj.bound_box), np.ones(8)]) @ np.array(obj.matrix_basis).T
    heights = [plane.height(corner) for corner in corners[:, :3]]
    slack = _REACH * float(np.ptp(corners[:, :3], axis=0).max())
    return min(heights) >= -slack or max(heights) <= slack


def grow_joint(rig: bpy.types.Object, empty: bpy.types.Object) -> tuple[bpy.types.Object | None, Report]:
    """The twin of a joint that was just made, between the twins of its bodies: one that is there already, or a new one.
    None where the mirror image is between the same bodies."""
    twins = mates(rig)
    ends = _ends(empty)
    wanted = [None if end is None else twins.get(end, end) for end in ends]
    if {*wanted} == {*ends}:
        return None, Report()
    there = [each for each in parts(rig, "JOINT") if each not in twins and {*_ends(each)} == {*wanted}]
    if there:
        link_twins(empty, there[0])
        return there[0], Report()
    if ensure_plane(rig) is None:
        return None, _without_plane(rig)
    made, report = create_twins([empty])
    return made[0], report


def _ends(empty: bpy.types.Object) -> tuple[bpy.types.Object | None, bpy.types.Object | None]:
    joint = record_of(empty).joint
    return joint.parent, joint.child
