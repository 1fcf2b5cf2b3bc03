"""What is done to a joint of one half of a model, done to its twin: another type, its ends exchanged, another place."""

from __future__ import annotations

import bpy
from mathutils import Matrix

from ...core.editing.twins import flip_between, image_of, retyped_twin
from ...core.report import Report
from ..data.access import record_of
from ..rig.joint_frames import read_joint
from .joints import joint_frame, move_joint, move_joint_to, see_swappable, set_type, swap_ends, take_type
from .places import rigid_pose
from .twin_images import Surroundings, put_values_image
from .twins import by_id, plane_of


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
