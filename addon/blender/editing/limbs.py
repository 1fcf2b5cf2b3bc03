"""Limbs of a selection, and duplicates of them (``core.editing.limbs``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import bpy
import numpy as np
from mathutils import Vector

from ...core.editing import limbs as edits
from ...core.editing.edits import joint_by_id
from ...core.editing.limbs import Limb
from ...core.model import Array
from ...core.report import Message, Report
from ..data.access import record_of
from ..data.twin_links import parts_by_id
from ..reconcile.rig_state import current_tree
from ..reconcile.rig_update import assign_ids, begin_edit
from ..reconcile.update import update
from ..scene.read.mechanism import extract, extract_design
from .symmetry.twins import require_plane


def find_limb(rig: bpy.types.Object, objects: Iterable[bpy.types.Object], whole: bool = True) -> Limb:
    """Return the limb of a selection: its bodies, and those that its joints move.

    Args:
        rig: Armature of the mechanism.
        objects: The selected bodies and joints.
        whole: Include everything beyond these bodies.

    Raises:
        ValueError: The selection has no bodies and moves none.
    """
    assign_ids(rig)
    mechanism = extract(rig)
    return edits.find_limb(mechanism, current_tree(rig, mechanism), *_part_ids(rig, objects), whole=whole)


def _part_ids(rig: bpy.types.Object, objects: Iterable[bpy.types.Object]) -> tuple[set[str], set[str]]:
    """Return the ids of the bodies and of the joints among objects."""
    chosen = [record_of(obj) for obj in objects if record_of(obj).model == rig]
    bodies, joints = ({each.source_id for each in chosen if each.role == role} for role in ("BODY", "JOINT"))
    return bodies, joints


def limb_objects(rig: bpy.types.Object, limb: Limb) -> list[bpy.types.Object]:
    """Return the bodies, then the joints of a limb."""
    bodies, joints = parts_by_id(rig, "BODY"), parts_by_id(rig, "JOINT")
    return [*(bodies[own] for own in limb.bodies), *(joints[own] for own in limb.joints)]


def free_offset(bodies: Iterable[bpy.types.Object]) -> Array:
    """Return an offset (3,) from bodies to free space for their copies: along -Y, as legs stand in a row."""
    corners = [(obj.matrix_basis @ Vector(corner)).y for obj in bodies for corner in obj.bound_box]
    return np.array([0.0, -1.25 * (max(corners) - min(corners)), 0.0])


def duplicate_limb(
    rig: bpy.types.Object, limb: Limb, offset: Array, led_by: Collection[bpy.types.Object] | None = None
) -> tuple[list[bpy.types.Object], Report]:
    """Duplicate a limb, connected where the original is, with its own ids and the same pose.

    Joints that close loops with other bodies are left out and reported.

    Args:
        rig: Armature of the mechanism.
        limb: The limb.
        offset: Offset (3,) in the mechanism's axes.
        led_by: While editing is symmetric, the parts that the user selected: those on the other side move by the
            mirror image of the offset, and copies of twins are twins. None: all move alike, and copies have no twins.

    Returns:
        The created objects and the report.
    """
    present = begin_edit(rig)
    mechanism = extract_design(rig)
    joints, report = joint_by_id(mechanism), Report()
    for own in limb.across:
        report.warn(
            "loop-left-out",
            Message("Joint {}: not copied, it connects the limb to another part", repr(joints[own].name)),
        )
    if led_by is None:
        offsets = edits.equal_offsets(limb, offset)
    else:
        offsets = edits.mirrored_offsets(mechanism, limb, _part_ids(rig, led_by), offset, require_plane(rig))
    edit = edits.duplicate_limb(mechanism, limb, offsets, present.pose, keep_twins=led_by is not None)
    report.extend(update(rig, edit, present))
    known = parts_by_id(rig, "BODY") | parts_by_id(rig, "JOINT")
    return [known[own] for own in edit.copies], report
