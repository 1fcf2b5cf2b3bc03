"""Twins of bodies and joints: mirror plane, search, comparison, and mirroring parts to their twins."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import bpy
import numpy as np

from ....core.editing.sides import Sides, find_mirror_plane, find_sides
from ....core.editing.symmetry import TwinCandidate, TwinDifference, compare_twins, find_twins
from ....core.model import Plane
from ....core.report import Message, Report
from ...data.access import record_of
from ...data.conversion import mirror_plane_of, set_mirror_plane
from ...data.documents import read_document
from ...data.queries import is_foreign, parts
from ...data.twin_links import parts_by_id, twins_among, twins_by_part, unlink_twins
from ...events.signals import signals_blocked
from ...reconcile.rig_update import assign_ids, physics_suspended, update_armature
from ...scene.read.mechanism import extract
from .appearance import MeshMirror
from .images import MirrorContext, mirror_part_restraints, write_body_image, write_joint_image

#: Distance of a twin from the mirror image of the other part up to which it is in place, as a share of the size of the
#: mechanism.
_TWIN_TOLERANCE = 0.05


def unlink_misplaced_twins(rig: bpy.types.Object, came: Collection[bpy.types.Object], plane: Plane) -> int:
    """Unlink twins among new parts that are not opposite each other across the mirror plane.

    Symmetric editing would otherwise move one of them to a wrong place.

    Args:
        rig: Armature of the mechanism.
        came: The new parts.
        plane: The mirror plane.

    Returns:
        Number of unlinked pairs.
    """
    pairs = twins_by_part(rig)
    at = {obj: np.array(obj.matrix_basis.translation) for obj in pairs}
    if not at:
        return 0
    reach = _TWIN_TOLERANCE * float(np.ptp(np.array([*at.values()]), axis=0).max())
    flip, shift = plane.reflection[:3, :3], plane.reflection[:3, 3]
    beside = [
        obj for obj, twin in pairs.items() if obj in came and np.linalg.norm(flip @ at[obj] + shift - at[twin]) > reach
    ]
    unlink_twins(beside)
    return len(beside) // 2


ObjectsById = dict[str, bpy.types.Object]
TwinPairs = dict[bpy.types.Object, bpy.types.Object]


def require_plane(rig: bpy.types.Object) -> Plane:
    """Return the mirror plane of a mechanism.

    Raises:
        ValueError: It has none.
    """
    plane = ensure_plane(rig)
    if plane is None:
        raise ValueError(Message("Mechanism {}: no mirror plane. Choose one: Twins > Mirror Plane", repr(rig.name)))
    return plane


def ensure_plane(rig: bpy.types.Object) -> Plane | None:
    """Return the mirror plane of a mechanism, or None.

    Without one it is set to the plane between its twins in its document, regardless of later edits.
    """
    plane = mirror_plane_of(rig)
    if plane is None and not is_foreign(rig) and (plane := document_plane(rig)) is not None:
        set_mirror_plane(rig, plane)
    return plane


def document_plane(rig: bpy.types.Object) -> Plane | None:
    """Return the mirror plane of a mechanism in its document, by the twins that it has now; None without any."""
    base = read_document(rig)
    if base is None:
        return None
    for role, known in (("BODY", base.bodies), ("JOINT", base.joints)):
        twins = {record_of(obj).source_id: record_of(obj).twin for obj in parts(rig, role)}
        for part in known:
            part.twin = twins.get(part.id, part.twin or "") or None
    return find_mirror_plane(base)


def adopt_linked_plane(rig: bpy.types.Object) -> None:
    """Set the mirror plane after parts were linked as twins, if neither mechanism nor document has one.

    It is the plane between the twins as they stand: linking states that they are mirror images there.
    """
    if ensure_plane(rig) is None and not is_foreign(rig):
        set_mirror_plane(rig, find_mirror_plane(extract(rig)))


def choose_plane(rig: bpy.types.Object, plane: Plane | None) -> None:
    """Store the plane that the user chose (None: no choice) if the mechanism has none, after a successful edit."""
    if plane is not None and mirror_plane_of(rig) is None and not is_foreign(rig):
        set_mirror_plane(rig, plane)


def axis_plane(axis: int) -> Plane:
    """Return the plane through a mechanism's origin normal to one of its axes (0 to 2)."""
    return Plane(np.eye(3)[axis])


def current_sides(rig: bpy.types.Object) -> Sides:
    """Return the twins of a mechanism as it stands, by id, and the plane between them."""
    assign_ids(rig)
    return find_sides(extract(rig))


def leading_parts(pairs: TwinPairs, plane: Plane) -> TwinPairs:
    """Return the pairs to mirror: of two selected twins only the leading one, with its twin.

    The active part leads, else the first, and parts on its side of the plane; if the side does not decide, the first of
    the two.
    """
    if not pairs:
        return {}
    active = bpy.context.view_layer.objects.active
    head = active if active in pairs else next(iter(pairs))
    heights = {obj: plane.height(np.array(obj.matrix_basis.translation)) for obj in pairs}
    order = {obj: number for number, obj in enumerate(pairs)}
    on_its_side = {obj for obj in pairs if heights[obj] * heights[head] > 0.0}

    def rank(obj: bpy.types.Object) -> tuple[bool, bool, int]:
        return obj != head, obj not in on_its_side, order[obj]

    return {obj: twin for obj, twin in pairs.items() if twin not in pairs or rank(obj) < rank(twin)}


def twin_candidates(rig: bpy.types.Object, plane: Plane | None = None) -> list[TwinCandidate]:
    """Return pairs of parts without twins that could be twins, by name, by position or both."""
    assign_ids(rig)
    mechanism = extract(rig)
    return find_twins(mechanism, plane or find_sides(mechanism).plane)


def twin_differences(rig: bpy.types.Object) -> list[TwinDifference]:
    """Return the differences between the twins of a mechanism."""
    assign_ids(rig)
    mechanism = extract(rig)
    return compare_twins(mechanism, find_sides(mechanism))


# ---------------------------------------------------------------- mirroring to twins


def mirror_to_twins(
    objects: Iterable[bpy.types.Object], plane: Plane | None = None, materials: bool = True
) -> tuple[list[bpy.types.Object], Report]:
    """Make the twins of bodies and joints complete mirror images of them.

    Of two selected twins ``leading_parts`` decides.

    Args:
        objects: Bodies and joints.
        plane: Mirror plane; None: the mechanism's.
        materials: Mirror materials too.

    Returns:
        The parts that were mirrored, and the report.

    Raises:
        ValueError: No part has a twin, or there is no mirror plane.
    """
    report = Report()
    pairs = twins_among(objects)
    rig = next((record_of(obj).model for obj in pairs), None)
    if rig is None:
        raise ValueError("No selected part has a twin: use Find Twins or Create Twin")
    between = plane or require_plane(rig)
    if any(each.parent != rig for pair in pairs.items() for each in pair):
        report.extend(update_armature(rig))  # the local matrix of a misplaced part is in other axes
    chosen, looks = leading_parts(pairs, between), MeshMirror(materials)
    with physics_suspended(rig, report) as frictions, signals_blocked():
        for obj, twin in chosen.items():
            if record_of(obj).role == "BODY":
                write_body_image(obj, twin, between, looks, is_new=False)
                copy_friction(frictions, obj, twin)
        around = MirrorContext(parts_by_id(rig, "BODY"))
        for empty, twin in chosen.items():
            if record_of(empty).role == "JOINT":
                write_joint_image(empty, twin, between, around, is_new=False)
        report.extend(update_armature(rig))
        mirror_part_restraints(rig, chosen, between, parts_by_id(rig, "BODY"), parts_by_id(rig, "JOINT"), report)
    looks.report_all(report)
    return list(chosen), report


def copy_friction(frictions: dict[bpy.types.Object, float], obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    """Copy the friction that was typed for a body, or its absence, to its twin, for the rebuild of physics."""
    if obj in frictions:
        frictions[twin] = frictions[obj]
    else:
        frictions.pop(twin, None)
