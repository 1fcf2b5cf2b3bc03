"""Twins that face each other across the plane between a model's halves, and those that do not."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import bpy
import numpy as np

from ....core.editing.sides import Sides, find_mirror_plane, find_sides
from ....core.editing.symmetry import TwinCandidate, TwinDifference, compare_twins, find_twins
from ....core.model import Plane
from ....core.report import Report
from ...data.access import record_of
from ...data.conversion import mirror_plane_of, set_mirror_plane
from ...data.documents import read_document
from ...data.queries import is_foreign, parts
from ...events.signals import signals_blocked
from ...scene.read.mechanism import extract
from ..rig_update import assign_ids, physics_suspended, update_armature
from .appearance import MeshMirror
from .images import MirrorContext, mirror_part_restraints, write_body_image, write_joint_image
from .links import parts_by_id, twins_among, twins_by_part, unlink_twins

#: How far a twin may be from where the mirror image of its mate is, as a share of the model's size.
_TWIN_TOLERANCE = 0.05


def unlink_misplaced_twins(rig: bpy.types.Object, came: Collection[bpy.types.Object], plane: Plane) -> int:
    """Have those of the parts that ``came`` to a model be nobody's twins that do not face their twins across its plane:
    to edit them symmetrically would put one where nothing is. Returns how many pairs there were."""
    pairs = twins_by_part(rig)
    at = {obj: np.array(obj.matrix_basis.translation) for obj in pairs}
    if not at:
        return 0
    reach = _TWIN_TOLERANCE * float(np.ptp(np.array([*at.values()]), axis=0).max())
    flip, shift = plane.reflection[:3, :3], plane.reflection[:3, 3]
    beside = [
        obj for obj, mate in pairs.items() if obj in came and np.linalg.norm(flip @ at[obj] + shift - at[mate]) > reach
    ]
    unlink_twins(beside)
    return len(beside) // 2


ObjectsById = dict[str, bpy.types.Object]
TwinPairs = dict[bpy.types.Object, bpy.types.Object]


def require_plane(rig: bpy.types.Object) -> Plane:
    """The mirror plane of a mechanism. ValueError where it has none."""
    plane = ensure_plane(rig)
    if plane is None:
        raise ValueError(f"Mechanism {rig.name!r} has no mirror plane yet. Choose one: Twins > Mirror Plane")
    return plane


def ensure_plane(rig: bpy.types.Object) -> Plane | None:
    """The mirror plane of a mechanism.

    One that has none yet gets the one between its twins where its document has them: what was edited since does not
    count. None where that has no pairs.
    """
    plane = mirror_plane_of(rig)
    if plane is None and not is_foreign(rig) and (plane := document_plane(rig)) is not None:
        set_mirror_plane(rig, plane)
    return plane


def document_plane(rig: bpy.types.Object) -> Plane | None:
    """The plane between the halves of a mechanism where its document has them, and by the twins that it has now."""
    base = read_document(rig)
    if base is None:
        return None
    for role, known in (("BODY", base.bodies), ("JOINT", base.joints)):
        twins = {record_of(obj).source_id: record_of(obj).twin for obj in parts(rig, role)}
        for part in known:
            part.twin = twins.get(part.id, part.twin or "") or None
    return find_mirror_plane(base)


def adopt_linked_plane(rig: bpy.types.Object) -> None:
    """After parts were linked as twins: a mechanism that has no mirror plane, and whose document tells of none, gets
    the one between them as they stand. To link them says that they are mirror images there."""
    if ensure_plane(rig) is None and not is_foreign(rig):
        set_mirror_plane(rig, find_mirror_plane(extract(rig)))


def choose_plane(rig: bpy.types.Object, plane: Plane | None) -> None:
    """Keep the plane that the user chose (None: the mechanism's own) as the mechanism's where that has none, after what
    was done across it has worked."""
    if plane is not None and mirror_plane_of(rig) is None and not is_foreign(rig):
        set_mirror_plane(rig, plane)


def axis_plane(axis: int) -> Plane:
    """The plane through a model's origin that one of its own axes (0 to 2) is square to."""
    return Plane(np.eye(3)[axis])


def current_sides(rig: bpy.types.Object) -> Sides:
    """Return who mirrors whom in a model as it stands, by id, and the plane between them."""
    assign_ids(rig)
    return find_sides(extract(rig))


def leading_parts(pairs: TwinPairs, plane: Plane) -> TwinPairs:
    """Of parts with their twins, where both of a pair are there, those that lead: the active part, else the first, and
    what is on its side of the plane; where the side does not tell, the first of the two."""
    if not pairs:
        return {}
    active = bpy.context.view_layer.objects.active
    head = active if active in pairs else next(iter(pairs))
    heights = {obj: plane.height(np.array(obj.matrix_basis.translation)) for obj in pairs}
    order = {obj: number for number, obj in enumerate(pairs)}
    on_its_side = {obj for obj in pairs if heights[obj] * heights[head] > 0.0}

    def rank(obj: bpy.types.Object) -> tuple[bool, bool, int]:
        return obj != head, obj not in on_its_side, order[obj]

    return {obj: mate for obj, mate in pairs.items() if mate not in pairs or rank(obj) < rank(mate)}


def twin_candidates(rig: bpy.types.Object, plane: Plane | None = None) -> list[TwinCandidate]:
    """Parts without twins that could be twins, by name, by place or both."""
    assign_ids(rig)
    mechanism = extract(rig)
    return find_twins(mechanism, plane or find_sides(mechanism).plane)


def twin_differences(rig: bpy.types.Object) -> list[TwinDifference]:
    """Return what differs between the twins of a model."""
    assign_ids(rig)
    mechanism = extract(rig)
    return compare_twins(mechanism, find_sides(mechanism))


# ---------------------------------------------------------------- one half like the other


def mirror_to_twins(
    objects: Iterable[bpy.types.Object], plane: Plane | None = None, materials: bool = True
) -> tuple[list[bpy.types.Object], Report]:
    """Make the twins of bodies and joints their mirror images in every respect; ``materials``: in color too.

    Of twins that are both there one is ``leading_parts``. Returns what led. ValueError where none has a twin, and where
    there is no plane to mirror them across.
    """
    report = Report()
    pairs = twins_among(objects)
    rig = next((record_of(obj).model for obj in pairs), None)
    if rig is None:
        raise ValueError("None of the selected parts has a twin: Find Twins looks for them, Create Twin makes one")
    between = plane or require_plane(rig)
    if any(each.parent != rig for pair in pairs.items() for each in pair):
        report.extend(update_armature(rig))  # what hangs elsewhere is placed in other axes
    chosen, looks = leading_parts(pairs, between), MeshMirror(materials)
    with physics_suspended(rig, report) as frictions, signals_blocked():
        for obj, mate in chosen.items():
            if record_of(obj).role == "BODY":
                write_body_image(obj, mate, between, looks, is_new=False)
                copy_friction(frictions, obj, mate)
        around = MirrorContext(parts_by_id(rig, "BODY"))
        for empty, mate in chosen.items():
            if record_of(empty).role == "JOINT":
                write_joint_image(empty, mate, between, around, is_new=False)
        report.extend(update_armature(rig))
        mirror_part_restraints(rig, chosen, between, parts_by_id(rig, "BODY"), parts_by_id(rig, "JOINT"), report)
    looks.tell(report)
    return list(chosen), report


def copy_friction(frictions: dict[bpy.types.Object, float], obj: bpy.types.Object, mate: bpy.types.Object) -> None:
    """Have a twin get the friction that was typed for its mate, or none, when physics is built anew."""
    if obj in frictions:
        frictions[mate] = frictions[obj]
    else:
        frictions.pop(mate, None)
