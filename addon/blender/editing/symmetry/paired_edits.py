"""What is done to a joint of one half of a model, done to its twin: another type, its ends exchanged, another place."""

from __future__ import annotations

from collections.abc import Iterable

import bpy
import numpy as np
from mathutils import Matrix

from ....core.editing.twins import flip_between, image_of, retyped_twin
from ....core.model import Plane
from ....core.report import Report
from ...data.access import record_of
from ...data.queries import parts
from ...rig.joint_frames import read_joint
from ..design_transform import rigid_pose
from ..joints import joint_frame, move_joint, move_joint_to, see_swappable, set_type, swap_ends, take_type
from .create import create_twins
from .images import Surroundings, put_values_image
from .links import by_id, link_twins, mates
from .twins import candidates, ensure_plane, plane_of


def set_types(empty: bpy.types.Object, mate: bpy.types.Object | None, type_: str) -> Report:
    """Make a joint, and its twin, one of another type: the twin's is the mirror image."""
    report, rig = set_type(empty, type_), record_of(empty).model
    if mate is None:
        return report
    plane, around = plane_of(rig), Surroundings(by_id(rig, "BODY"))
    try:
        joint, twin = (read_joint(each, rigid_pose) for each in (empty, mate))
        image = retyped_twin(joint, plane, around.mates, around.bodies, twin)
    except ValueError as error:  # the joint itself is of the type by now
        report.warn("twin-differs", str(error), where=mate.name)
        return report
    report.extend(take_type(mate, image.dofs, image.type, then=lambda: put_values_image(empty, mate, plane, around)))
    return report


def swap_both(empty: bpy.types.Object, mate: bpy.types.Object | None) -> Report:
    """Exchange parent and child of a joint, and of its twin. ValueError, and nothing done, where either cannot be."""
    for each in filter(None, (empty, mate)):
        see_swappable(each)
    report = swap_ends(empty)
    if mate is not None:
        report.extend(swap_ends(mate))
    return report


def move_both(empty: bpy.types.Object, mate: bpy.types.Object | None, place: Matrix, keep_axes: bool = False) -> Report:
    """Put a joint elsewhere (in the world), and its twin where the mirror image of that is in the design; their bodies
    stay where they are. ``keep_axes``: they turn as little."""
    if mate is None:
        return move_joint(empty, place, keep_axes)
    plane = plane_of(record_of(empty).model)
    flip = flip_between(joint_frame(empty), joint_frame(mate), plane)
    report = move_joint(empty, place, keep_axes)
    report.extend(move_joint_to(mate, image_of(joint_frame(empty), plane, flip)))
    return report


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
