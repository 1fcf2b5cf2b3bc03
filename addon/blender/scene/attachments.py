"""Attachments of bodies: reference frames as empties, lights as Blender's lights, and restraints as data for physics.

Frames are children of their bodies, lights of their frames. Restraints are those of the file and the nonlinear terms of
its joints' springs and dampers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import bpy
from mathutils import Matrix

from ...core.model import Array, Frame, Joint, Light, Mechanism, Restraint, body_by_id
from ...core.transforms import inverse
from ..data.access import settings
from ..data.baseline import baseline_values
from ..data.conversion import flatten_pose
from ..data.datablocks import CreationTask, changed_properties, write_properties
from ..data.properties.model import KnuckleObject
from .armature import BoneParenting, column_major
from .collections import ModelCollections
from .placement import BuildPlan

#: Blender's type of each kind of light, and the intensity of a white one: irradiance (W/m²) of a sun, power (W) of the
#: others at a distance of one length unit.
_BLENDER_LIGHTS: dict[str, tuple[Any, float]] = {
    "point": ("POINT", 100.0),
    "spot": ("SPOT", 200.0),
    "directional": ("SUN", 2.0),
}
#: Kinds of lights by Blender's type. An area light has no counterpart.
LIGHT_KINDS: dict[str, Any] = {kind: own for own, (kind, _) in _BLENDER_LIGHTS.items()}
_DISPLAY_SIZE = 0.012  # share of the mechanism's size


def create_frames(
    plan: BuildPlan,
    parenting: BoneParenting,
    folders: ModelCollections,
    bodies: Mapping[str, bpy.types.Object],
    only: Mapping[str, Container[str]] | None = None,
) -> CreationTask[None]:
    """Create the empties of reference frames, and the lights, each a child of the frame that it shines from.

    ``only``: their indices in the document, by role (``FRAME``, ``LIGHT``); None: all.
    """
    empties: dict[tuple[str | None, str], tuple[bpy.types.Object, Frame]] = {}
    new = [
        (number, frame)
        for number, frame in enumerate(plan.mechanism.frames)
        if only is None or str(number) in only.get("FRAME", ())
    ]
    made = yield [(frame.name or "Frame", None) for _, frame in new]
    for (number, frame), empty in zip(new, made, strict=True):
        empty.empty_display_size = _DISPLAY_SIZE * plan.size
        _place_part(empty, frame, plan, parenting, bodies)
        _write_record(empty, "FRAME", frame.name, number, parenting)
        _collection_of(folders, frame, plan).objects.link(empty)
        empties.setdefault((frame.body, frame.name), (empty, frame))
    for number, light in enumerate(plan.mechanism.lights):
        if only is not None and str(number) not in only.get("LIGHT", ()):
            continue
        lamp = bpy.data.objects.new(light.name or "Light", _create_light(light, plan))
        holder = empties.get((light.body, str(light.extra.get("frame"))))
        if holder is not None:
            lamp.parent, frame = holder
            lamp.rotation_mode = "QUATERNION"
            lamp.matrix_basis = Matrix((inverse(frame.pose) @ light.pose).tolist())
        else:
            _place_part(lamp, light, plan, parenting, bodies)
        _write_record(lamp, "LIGHT", light.name, number, parenting)
        _collection_of(folders, light, plan).objects.link(lamp)


def _collection_of(folders: ModelCollections, part: Frame | Light, plan: BuildPlan) -> bpy.types.Collection:
    body = plan.bodies.get(part.body or "")
    return folders["Frames"] if body is None else folders.beside("Frames", body.assembly, body.active)


def _place_part(
    obj: bpy.types.Object,
    part: Frame | Light,
    plan: BuildPlan,
    parenting: BoneParenting,
    bodies: Mapping[str, bpy.types.Object],
) -> None:
    obj.rotation_mode = "QUATERNION"
    body = plan.bodies.get(part.body or "")
    if body is None:
        parenting.attach(obj, None, part.pose)
        return
    obj.parent = bodies[body.id]
    obj.matrix_basis = column_major(pose_from_com(part.pose, body.com) if body.com.any() else part.pose)


def pose_from_com(pose: Array, com: Array) -> Array:
    """Return a pose (4, 4) on a body relative to the body's object, which is at the center of mass."""
    out = pose.copy()
    out[:3, 3] -= com
    return out


def _write_record(obj: bpy.types.Object, role: Any, name: str, number: int, parenting: BoneParenting) -> None:
    values = {"role": role, "model": parenting.rig, "source_name": name, "source_id": str(number)}
    values |= baseline_values(obj.name, obj.matrix_basis)
    write_properties(obj, changed_properties(KnuckleObject, values))


def _create_light(light: Light, plan: BuildPlan) -> bpy.types.Light:
    """Create a light of the diffuse color. Files state no power: it is chosen for the mechanism's size."""
    kind, power = _BLENDER_LIGHTS[light.type]
    lamp: Any = bpy.data.lights.new(light.name or "Light", kind)
    brightest, lamp.color = energy_and_color(light)
    distance = plan.size if kind != "SUN" else 1.0
    lamp.energy = power * min(brightest, 1.0) * distance**2
    return lamp


def energy_and_color(light: Light) -> tuple[float, tuple[float, float, float]]:
    """Return the brightness of a light's diffuse color, and that color at full brightness."""
    brightest = max(*light.diffuse, 1e-6)
    red, green, blue = (part / brightest for part in light.diffuse)
    return brightest, (red, green, blue)


_Objects = Mapping[str, bpy.types.Object]


def store_restraints(rig: bpy.types.Object, mechanism: Mechanism, bodies: _Objects, joints: _Objects) -> None:
    """Store what physics needs of a mechanism's restraints with its armature.

    Left out are those that are switched off, in an inactive assembly or at a joint without an object. Where the file
    has angles in degrees (report code ``degrees``), laws at rotations are converted to radians.
    """
    off = {assembly.path for assembly in mechanism.assemblies if not assembly.active}
    degrees = mechanism.report is not None and any(entry.code == "degrees" for entry in mechanism.report.entries)
    turning = {joint.id for joint in mechanism.joints if any(dof.kind == "rotation" for dof in joint.dofs)}
    for item in [*mechanism.restraints, *(rest for joint in mechanism.joints for rest in _nonlinear_restraints(joint))]:
        if item.extra.get("active", True) and item.assembly not in off:
            _store_restraint(
                rig, item, mechanism, bodies, joints, math.radians(1.0) if degrees and item.joint in turning else 1.0
            )


def _store_restraint(
    rig: bpy.types.Object, item: Restraint, mechanism: Mechanism, bodies: _Objects, joints: _Objects, unit: float
) -> None:
    ends = item.bodies is not None and item.frames is not None
    if not ends and item.joint not in joints:
        return
    kept = settings(rig).restraints.add()
    kept.name, kept.kind, kept.distance = item.name, item.type.strip().lower(), item.distance
    pieces = [_polynomial_in_unit(piece, unit) for piece in item.coefficients]
    kept.law = json.dumps([[knot * unit for knot in item.knots], pieces])
    if item.joint is not None and item.joint in joints:
        kept.joint = joints[item.joint]
        return
    assert item.bodies is not None
    assert item.frames is not None
    known = body_by_id(mechanism)
    places: list[Array] = [
        frame if body is None else pose_from_com(frame, known[body].com)
        for body, frame in zip(item.bodies, item.frames, strict=True)
    ]
    kept.body_a, kept.body_b = (bodies[body] if body is not None else None for body in item.bodies)
    kept.a_at_world, kept.b_at_world = (body is None for body in item.bodies)
    kept.frame_a, kept.frame_b = flatten_pose(places[0]), flatten_pose(places[1])


def _polynomial_in_unit(piece: Sequence[float], unit: float) -> list[float]:
    """Convert a polynomial (descending powers) of an angle in units of ``unit`` rad to one of the angle in rad."""
    return [number / unit ** (len(piece) - 1 - place) for place, number in enumerate(piece)]


def _nonlinear_restraints(joint: Joint) -> Iterator[Restraint]:
    """Yield restraints for the terms of a joint's stiffness and damping that its own spring and damper lack.

    Stiffness and damping are polynomials with ascending powers. The record's spring has the constant term where there
    is a linear one.
    """
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
