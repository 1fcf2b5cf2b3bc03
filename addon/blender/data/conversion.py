"""Between the model's records and the property groups that keep them in Blender (32-bit numbers)."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from operator import attrgetter
from typing import Any

import bpy
import numpy as np

from ...core.model import DOF_SIZE, Array, Dof, Plane, Restraint, Shape
from ...core.report import Report
from .access import settings
from .bulk_write import is_other_zero, put_each, usual_of
from .properties.joint import SIZE_KEYS, KnuckleDof, KnuckleJoint, KnuckleShape

#: A size that a shape does not give: the scale of a mesh, the length of axes.
UNIT_SIZE = 1.0
#: Fields that a degree of freedom and its property group share by name.
DOF_FIELDS = (
    "kind", "position", "velocity", "damping", "friction", "stiffness", "rest", "armature",
    "gain", "max_force", "servo_stiffness", "servo_damping", "actuator", "file_sign", "pitch", "name",
)  # fmt: skip
#: The same, of several numbers: those of a ball or free block.
DOF_VECTORS = ("start", "start_rates")
_fields_of = attrgetter(*DOF_FIELDS)
_NOTHING: Mapping[Any, Any] = {}


def write_dofs(record: KnuckleJoint, dofs: Iterable[Dof]) -> None:
    """Add a joint's degrees of freedom to its new property group."""
    for kept, every in zip((record.dofs, record.parts), told_dofs(dofs), strict=True):
        for each in every:
            new = kept.add()
            for name, value in each.items():
                setattr(new, name, value)


def told_dofs(
    dofs: Iterable[Dof], places: Mapping[int, Mapping[str, Any]] = _NOTHING
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return what is to be said of degrees of freedom that a new property group does not say anyway, with what there is
    to say of where they are posed, by their numbers; and of the parts of balls and free blocks among them."""
    told, told_parts = list[Mapping[str, Any]](), list[Mapping[str, Any]]()
    for number, dof in enumerate(dofs):
        values = _unusual(dof)
        values.update(places.get(number, _NOTHING))
        if dof.parts:
            values["parts"] = len(dof.parts)
        told.append(values)
        told_parts += map(_unusual, dof.parts)
    return told, told_parts


def read_dofs(record: KnuckleJoint) -> list[Dof]:
    """A joint's degrees of freedom from its property group."""
    parts = iter(record.parts)
    out = []
    for kept in record.dofs:
        out.append(read_dof(kept))
        out[-1].parts = [read_dof(part) for part in islice(parts, kept.parts)]
    return out


def write_dof(record: KnuckleDof, dof: Dof) -> None:
    """Put a degree of freedom into its property group."""
    for name, value in _dof_values(dof).items():
        setattr(record, name, value)


def _dof_values(dof: Dof) -> dict[str, Any]:
    values: dict[str, Any] = dict(zip(DOF_FIELDS, _fields_of(dof), strict=True))
    for name in DOF_VECTORS:
        values[name] = ([*getattr(dof, name)] + [0.0] * 6)[:6]
    values["axis"] = [float(x) for x in dof.axis]
    for end in ("lower", "upper"):
        value = getattr(dof, end)
        values[f"use_{end}"] = value is not None
        values[end] = float(value or 0.0)
    return values


def _unusual(dof: Dof) -> dict[str, Any]:
    """The same, of it what a new property group has not anyway."""
    usual = usual_of(KnuckleDof)
    values: dict[str, Any] = {
        name: value
        for name, value in zip(DOF_FIELDS, _fields_of(dof), strict=True)
        if value != usual[name] or (value == 0.0 and math.copysign(1.0, value) < 0.0)  # no usual zero is negative
    }
    for name in DOF_VECTORS:
        if numbers := getattr(dof, name):
            values[name] = ([*numbers] + [0.0] * 6)[:6]
    axis = np.asarray(dof.axis, dtype=np.float64).tolist()
    if axis != usual["axis"] or is_other_zero(axis, usual["axis"]):
        values["axis"] = axis
    if dof.lower is not None:
        values["use_lower"], values["lower"] = True, float(dof.lower or 0.0)
    if dof.upper is not None:
        values["use_upper"], values["upper"] = True, float(dof.upper or 0.0)
    return values


def read_dof(record: KnuckleDof) -> Dof:
    """A degree of freedom from its property group."""
    dof = Dof(**{name: getattr(record, name) for name in DOF_FIELDS})
    for name in DOF_VECTORS if DOF_SIZE[dof.kind] > 1 else ():
        numbers = tuple(float(x) for x in getattr(record, name))[: DOF_SIZE[dof.kind]]
        setattr(dof, name, numbers if any(numbers) else ())
    dof.axis = np.array(record.axis, dtype=np.float64)
    dof.lower, dof.upper = stops(record)
    return dof


def start_of(record: KnuckleDof) -> list[float]:
    """The coordinates at which a degree of freedom begins: the file's, or those at which its loops close."""
    size = DOF_SIZE[record.kind]
    if record.assembled:
        return list(record.begins)[:size]
    return [record.position] if size == 1 else list(record.start)[:size]


def stops(dof: Dof | KnuckleDof) -> tuple[float | None, float | None]:
    """Lower and upper stop of a record, ours or Blender's; None where there is none."""
    if isinstance(dof, Dof):
        return dof.lower, dof.upper
    return dof.lower if dof.use_lower else None, dof.upper if dof.use_upper else None


def is_angle(dof: KnuckleDof) -> bool:
    """Return whether the numbers of a degree of freedom, or of a part of a ball, are in radians and not in length
    units."""
    return dof.kind != "translation"


def write_shape(record: KnuckleShape, shape: Shape) -> None:
    """Put a shape into a property group that was made for it."""
    put_each(record, told_shape(shape))


def told_shape(shape: Shape) -> dict[str, Any]:
    """Return what is to be said of a shape in its property group."""
    size = [float(shape.size.get(key, UNIT_SIZE)) for key in SIZE_KEYS.get(shape.type, ())]
    values: dict[str, Any] = {
        "type": shape.type,
        "size": (size + [0.0, 0.0, 0.0])[:3],
        "pose": flat(shape.pose),
        "visual": shape.visual,
        "collision": shape.collision,
        "collidable": bool(shape.extra.get("collidable", True)),
        "mesh": shape.mesh or "",
        "has_color": shape.color is not None,
        "spheres": json.dumps(shape.spheres) if shape.spheres else "",
    }
    if shape.color is not None:
        values["color"] = [*shape.color]
    return values


def read_shape(record: KnuckleShape) -> Shape:
    """A shape from its property group."""
    return Shape(
        record.type,
        dict(zip(SIZE_KEYS.get(record.type, ()), map(float, record.size), strict=False)),
        unflat(record.pose),
        record.visual,
        record.collision,
        tuple(record.color) if record.has_color else None,
        record.mesh or None,
        [tuple(ball) for ball in json.loads(record.spheres)] if record.spheres else [],
    )


def surface_figures(mesh: bpy.types.Mesh) -> list[float]:
    """Return what tells that a mesh was edited, (4,): how many points it has, and how far out they are along each axis,
    as the mean of the squares."""
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)  # type: ignore[arg-type]
    spread = (points.reshape(-1, 3).astype(np.float64) ** 2).mean(axis=0) if len(points) else np.zeros(3)
    return [float(len(mesh.vertices)), *spread.tolist()]


def surface_corners(mesh: bpy.types.Mesh) -> list[float]:
    """Numbers and places of four points of a mesh that are not in one plane, (16,), by which it is known after all of
    it was moved; zeros where it has none."""
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)  # type: ignore[arg-type]
    points = points.reshape(-1, 3).astype(np.float64)
    if len(points) < 4:
        return [0.0] * 16
    chosen = [0]
    away = points - points[0]
    size = 0.0
    for _ in range(3):  # each the farthest from what those before span
        far = np.einsum("ij,ij->i", away, away)
        chosen.append(int(far.argmax()))
        length = float(np.sqrt(far[chosen[-1]]))
        size = size or length
        if length <= 1e-4 * size or not length:
            return [0.0] * 16
        along = away[chosen[-1]] / length
        away = away - np.outer(away @ along, along)
    return [number for index in chosen for number in (float(index), *points[index].tolist())]


def flat(pose: Any) -> list[float]:
    """A 4x4 matrix, numpy's or Blender's, as 16 numbers row by row."""
    if isinstance(pose, np.ndarray):
        flattened: list[float] = pose.astype(np.float64, copy=False).ravel().tolist()
        return flattened
    # a copy, and slices: Blender works the matrix of an object out anew for every number that is asked of it itself
    one, two, three, four = pose.copy()
    return [*one[:], *two[:], *three[:], *four[:]]


def unflat(numbers: Iterable[float]) -> Array:
    """The 4x4 matrix of 16 numbers."""
    return np.array(list(numbers), dtype=np.float64).reshape(4, 4)


def kinds_of(record: KnuckleJoint) -> str:
    """Return what a joint's degrees of freedom are, in one word that tells a change; never empty."""
    return word_of(dof.kind for dof in record.dofs)


def word_of(kinds: Iterable[str]) -> str:
    """Return kinds of degrees of freedom as one word, never empty."""
    return " ".join(kinds) or "none"


def with_mirrored(rig: bpy.types.Object, restraints: Sequence[Restraint]) -> list[Restraint]:
    """Return the restraints of a model's document with those that mirroring set in their place, and those that it made
    after them."""
    out, told = list(restraints), _told(rig)
    for key in sorted(told, key=int):
        row = dict(told[key])
        if row["bodies"] is not None:
            row["bodies"] = tuple(row["bodies"])
        if row["frames"] is not None:
            row["frames"] = tuple(np.array(frame) for frame in row["frames"])
        made = Restraint(**row)
        out[int(key) :] = [made, *out[int(key) + 1 :]]
    return out


def keep_mirrored(rig: bpy.types.Object, images: Mapping[int, Restraint]) -> None:
    """Keep restraints that mirroring made or set, by their index among all of the model."""
    told = _told(rig)
    for number, image in images.items():
        row = asdict(image)
        if image.frames is not None:
            row["frames"] = [frame.tolist() for frame in image.frames]
        told[str(number)] = row
    settings(rig).mirrored_restraints = json.dumps(told) if told else ""


def _told(rig: bpy.types.Object) -> dict[str, dict[str, Any]]:
    text = settings(rig).mirrored_restraints
    told: dict[str, dict[str, Any]] = json.loads(text) if text else {}
    return told


def has_stops(joint: KnuckleJoint) -> bool:
    """Return whether any of a joint's degrees of freedom has a stop."""
    return any(dof.use_lower or dof.use_upper for dof in [*joint.dofs, *joint.parts])


def is_springy(joint: KnuckleJoint) -> bool:
    """Return whether a joint has a spring or a damper."""
    return any(dof.stiffness > 0.0 or dof.damping > 0.0 for dof in [*joint.dofs, *joint.parts])


def is_lossy(joint: KnuckleJoint) -> bool:
    """Return whether a joint has friction, or a damper without a spring."""
    return any(dof.friction > 0.0 or (dof.damping > 0.0 and not dof.stiffness) for dof in joint.dofs)


def kept_plane(rig: bpy.types.Object) -> Plane | None:
    """The mirror plane of a mechanism; None where none was found and nobody has chosen one."""
    kept = settings(rig).mirror
    normal = np.array(kept.normal, dtype=np.float64)
    length = float(np.linalg.norm(normal))
    return Plane(normal / length, float(kept.offset)) if length > 0.0 else None


def keep_plane(rig: bpy.types.Object, plane: Plane | None) -> None:
    """Have a mechanism be mirrored across a plane from now on; None: across none yet."""
    kept = settings(rig).mirror
    kept.normal = (0.0, 0.0, 0.0) if plane is None else plane.normal.tolist()
    kept.offset = 0.0 if plane is None else plane.offset


def add_to_report(rig: bpy.types.Object, report: Report, instead_of: Collection[str] = ()) -> None:
    """Add to a model's report what is new to it.

    What it says already of the same thing makes way, and what it says of codes ``instead_of`` which this is.
    """
    lines = settings(rig).report
    for number in reversed(range(len(lines))):
        if lines[number].code in instead_of:
            lines.remove(number)
    at = {(line.code, line.where): number for number, line in enumerate(lines)}
    for entry in report.entries:
        number = at.get((entry.code, entry.where))
        line = lines[number] if number is not None else lines.add()
        line.severity, line.code, line.message, line.where = entry.severity, entry.code, entry.message, entry.where
        line.line = entry.line or 0
        at[entry.code, entry.where] = len(lines) - 1 if number is None else number


#: What imports tell of; the next tells it anew.
OF_IMPORTS = (
    "motion-unmatched", "servo-unmatched", "servo-matched", "servo-repeated", "servo-empty", "servos-keyed",
    "unit-mismatch", "values-clipped", "keys-merged", "scene-too-short", "root-matched", "root-unmatched",
)  # fmt: skip
