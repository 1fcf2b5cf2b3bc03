"""Restraints of a model after an edit: mirrored with the parts that they are on, and kept for physics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import bpy

from ...core.editing.twins import mirror_restraint_records
from ...core.model import Mechanism, Plane
from ...core.report import Report
from ..data.access import record_of, settings
from ..data.conversion import store_mirrored_restraints, with_mirrored_restraints
from ..data.documents import read_document
from ..scene.attachments import store_restraints
from ..scene.read.mechanism import extract

_Objects = Mapping[str, bpy.types.Object]


def mirror_part_restraints(
    rig: bpy.types.Object,
    led: Iterable[bpy.types.Object],
    plane: Plane,
    bodies: _Objects,
    joints: _Objects,
    report: Report,
) -> None:
    """Mirror the restraints on parts to the twins of these, which are mirror images by now. Physics has to be away.

    Args:
        rig: the armature.
        led: the bodies and joints that lead.
        plane: the mirror plane.
        bodies: all bodies of the model, by id.
        joints: all joints, by id.
        report: gets what is left out.
    """
    base = read_document(rig) if settings(rig).format == "shift" else None  # others have none
    if base is None or not base.restraints:
        return
    mechanism = replace(extract(rig), restraints=with_mirrored_restraints(rig, base.restraints))
    ids = {role: {record_of(obj).source_id for obj in led if record_of(obj).role == role} for role in ("BODY", "JOINT")}
    images, left_out = mirror_restraint_records(mechanism, plane, ids["BODY"], ids["JOINT"])
    for name in left_out:
        report.warn(
            "restraint-not-mirrored", f"Restraint {name!r} has no mirror image on the twin of its joint", where=name
        )
    if images:
        store_mirrored_restraints(rig, images)
        refresh_restraints(rig, base, bodies, joints)


def refresh_restraints(rig: bpy.types.Object, base: Mechanism, bodies: _Objects, joints: _Objects) -> None:
    """Keep the restraints of a model's document ``base`` anew for physics, with those that mirroring made or set.

    ``bodies`` and ``joints`` are all there are, by id: restraints on others are left out.
    """
    if settings(rig).mirrored_restraints:
        now, known = extract(rig), {joint.id for joint in base.joints}
        made = [replace(joint, extra={}) for joint in now.joints if joint.id not in known]
        every = with_mirrored_restraints(rig, base.restraints)
        base = replace(base, bodies=now.bodies, joints=[*base.joints, *made], restraints=every)
    there = [item for item in base.restraints if {*(item.bodies or ())} <= {None, *bodies}]
    settings(rig).restraints.clear()
    store_restraints(rig, replace(base, restraints=there), bodies, joints)
