"""Restraints on Blender's data, for physics: those of the file, and what of its joints' springs is no straight line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence

import bpy

from ...core.model import Array, Joint, Mechanism, Restraint
from ..data.access import settings
from ..data.conversion import flat
from .frames import from_com

_Objects = Mapping[str, bpy.types.Object]


def keep_restraints(rig: bpy.types.Object, mechanism: Mechanism, bodies: _Objects, joints: _Objects) -> None:
    """Keep what physics needs of a model's restraints with it. Those that are switched off, or act on what is not
    there, do nothing."""
    off = {assembly.path for assembly in mechanism.assemblies if not assembly.active}
    degrees = mechanism.report is not None and any(entry.code == "degrees" for entry in mechanism.report.entries)
    turning = {joint.id for joint in mechanism.joints if any(dof.kind == "rotation" for dof in joint.dofs)}
    for item in [*mechanism.restraints, *(rest for joint in mechanism.joints for rest in _beyond(joint))]:
        if item.extra.get("active", True) and item.assembly not in off:
            _keep(rig, item, mechanism, bodies, joints, math.radians(1.0) if degrees and item.joint in turning else 1.0)


def _keep(
    rig: bpy.types.Object, item: Restraint, mechanism: Mechanism, bodies: _Objects, joints: _Objects, unit: float
) -> None:
    ends = item.bodies is not None and item.frames is not None
    if not ends and item.joint not in joints:
        return
    kept = settings(rig).restraints.add()
    kept.name, kept.kind, kept.distance = item.name, item.type.strip().lower(), item.distance
    pieces = [_in_unit(piece, unit) for piece in item.coefficients]
    kept.law = json.dumps([[knot * unit for knot in item.knots], pieces])
    if item.joint is not None and item.joint in joints:
        kept.joint = joints[item.joint]
        return
    assert item.bodies is not None
    assert item.frames is not None
    coms = {body.id: body.com for body in mechanism.bodies}
    places: list[Array] = [
        frame if body is None else from_com(frame, coms[body])
        for body, frame in zip(item.bodies, item.frames, strict=True)
    ]
    kept.one, kept.other = (bodies[body] if body is not None else None for body in item.bodies)
    kept.one_stays, kept.other_stays = (body is None for body in item.bodies)
    kept.at_one, kept.at_other = flat(places[0]), flat(places[1])


def _in_unit(piece: Sequence[float], unit: float) -> list[float]:
    """A polynomial of an angle in units of ``unit`` rad, in descending powers, as one of the angle in rad."""
    return [number / unit ** (len(piece) - 1 - place) for place, number in enumerate(piece)]


def _beyond(joint: Joint) -> Iterator[Restraint]:
    """Yield what the polynomials of a joint's stiffness and damping, ascending, have besides the record's own spring
    (which has the steady part where there is a linear one) and damper."""
    if len(joint.dofs) != 1 or joint.dofs[0].kind not in {"rotation", "translation"}:
        return
    for kind, key in (("spring", "stiffness"), ("damper", "damping")):
        if not joint.extra.get(key):
            continue
        terms = [float(term) for term in joint.extra[key]]
        known = len(terms) > 1 and terms[1] != 0.0 and kind == "spring"
        rest = [0.0 if known and k == 0 or k == 1 else term for k, term in enumerate(terms)]
        if any(rest):
            yield Restraint(joint.name, kind, joint=joint.id, coefficients=[rest[::-1]], assembly=joint.assembly)
