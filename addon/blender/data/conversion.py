"""Conversion between the classes of ``core.model`` and the property groups (32-bit floats) that store them in Blender.

Includes restraints and mirror planes that mirroring stored, which no document holds, entries of the report, and edits
of many records at once, with one change signal per joint.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

import bpy
import numpy as np

from ...core.model import DOF_SIZE, Array, Dof, Plane, Restraint, Shape, dof_slices
from ...core.report import Entry, Report, message_from_parts, message_parts
from ..events.signals import notify_joint, writing_records
from .access import original_of, record_of, settings
from .datablocks import changed_values, update_properties
from .facts import (
    DOF_PROPERTIES,
    SHAPE_PROPERTIES,
    edited_attributes,
    read_properties,
    stored_values,
)
from .properties.joint import KnuckleDof, KnuckleJoint, KnuckleShape
from .properties.report import KnuckleReportLine

_EMPTY: Mapping[Any, Any] = {}


def write_dofs(record: KnuckleJoint, dofs: Iterable[Dof]) -> None:
    """Add a joint's degrees of freedom to its new property group."""
    for kept, every in zip((record.dofs, record.parts), changed_dof_properties(dofs), strict=True):
        for each in every:
            new = kept.add()
            for name, value in each.items():
                setattr(new, name, value)


def changed_dof_properties(
    dofs: Iterable[Dof], places: Mapping[int, Mapping[str, Any]] = _EMPTY
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return the property values of degrees of freedom that differ from the defaults.

    Args:
        dofs: The degrees of freedom of a joint.
        places: Additional values (the channels that pose them) by the index of the degree of freedom.

    Returns:
        Values of each degree of freedom, and of each single rotation or translation of the balls and free joints.
    """
    properties, part_properties = list[Mapping[str, Any]](), list[Mapping[str, Any]]()
    for number, dof in enumerate(dofs):
        values = changed_values(KnuckleDof, stored_values(DOF_PROPERTIES, dof))
        values.update(places.get(number, _EMPTY))
        if dof.parts:
            values["parts"] = len(dof.parts)
        properties.append(values)
        part_properties += (changed_values(KnuckleDof, stored_values(DOF_PROPERTIES, part)) for part in dof.parts)
    return properties, part_properties


def read_dofs(record: KnuckleJoint) -> list[Dof]:
    """Return a joint's degrees of freedom from its property group."""
    out = []
    for kept, parts in dofs_with_parts(record):
        out.append(read_dof(kept))
        out[-1].parts = [read_dof(part) for part in parts]
    return out


def dofs_with_parts(record: KnuckleJoint) -> Iterator[tuple[KnuckleDof, list[KnuckleDof]]]:
    """Yield the degrees of freedom of a joint, each with the single axes of a ball joint or free block."""
    parts = iter(record.parts)
    for dof in record.dofs:
        yield dof, [*islice(parts, dof.parts)]


def read_dof(record: KnuckleDof) -> Dof:
    """Return a degree of freedom from its property group."""
    return Dof(**read_properties(record, DOF_PROPERTIES))


def initial_dof_coordinates(record: KnuckleDof) -> list[float]:
    """Return the initial values of a degree of freedom (rad or length units): the file's, or those that close loops."""
    size = DOF_SIZE[record.kind]
    if record.assembled:
        return list(record.assembled_start)[:size]
    return [record.position] if size == 1 else list(record.start)[:size]


def assembled_values(empties: Mapping[str, bpy.types.Object]) -> dict[str, Array]:
    """Return the initial values (size,) at which closed loops were assembled, by the ids of those joints that have."""
    every = {own: record_of(empty).joint.dofs for own, empty in empties.items()}
    return {
        own: np.array([value for dof in dofs for value in initial_dof_coordinates(dof)])
        for own, dofs in every.items()
        if any(dof.assembled for dof in dofs)
    }


def write_assembled_values(record: KnuckleJoint, values: Array) -> None:
    """Write the initial values (size,) at which a joint's closed loops are assembled."""
    for kept, at in dof_slices(record.dofs):
        kept.assembled = False
        begins = initial_dof_coordinates(kept)
        kept.assembled = not np.array_equal(np.array(values[at], np.float32), np.array(begins, np.float32))
        kept.assembled_start = [*values[at].tolist(), *[0.0] * (6 - len(begins))]


def read_stops(dof: Dof | KnuckleDof) -> tuple[float | None, float | None]:
    """Return lower and upper stop (rad or length units) of a ``Dof`` or its property group; None for an absent stop."""
    if isinstance(dof, Dof):
        return dof.lower, dof.upper
    return dof.lower if dof.use_lower else None, dof.upper if dof.use_upper else None


def is_angle(dof: KnuckleDof) -> bool:
    """Return whether the values of a degree of freedom, or of a part of a ball, are in radians, not length units."""
    return dof.kind != "translation"


def changed_shape_properties(shape: Shape) -> dict[str, Any]:
    """Return the property values of a shape."""
    return stored_values(SHAPE_PROPERTIES, shape) | {"collidable": bool(shape.extra.get("collidable", True))}


def write_shape(record: KnuckleShape, shape: Shape) -> None:
    """Write a shape to its new property group."""
    update_properties(record, changed_shape_properties(shape))


def read_shape(record: KnuckleShape) -> Shape:
    """Return a shape from its property group."""
    return Shape(**read_properties(record, SHAPE_PROPERTIES))


def flatten_pose(pose: Any) -> list[float]:
    """Return a 4×4 matrix, numpy's or Blender's, as 16 numbers by rows."""
    if isinstance(pose, np.ndarray):
        flattened: list[float] = pose.astype(np.float64, copy=False).ravel().tolist()
        return flattened
    # a copy, and slices: Blender recomputes an object's matrix for every number that is read from it
    one, two, three, four = pose.copy()
    return [*one[:], *two[:], *three[:], *four[:]]


def unflatten_pose(numbers: Iterable[float]) -> Array:
    """Return the 4×4 matrix of 16 numbers by rows."""
    return np.array(list(numbers), dtype=np.float64).reshape(4, 4)


def dof_kinds_key(record: KnuckleJoint) -> str:
    """Return the kinds of a joint's degrees of freedom as one text, to detect a change; never empty."""
    return kinds_key(dof.kind for dof in record.dofs)


def kinds_key(kinds: Iterable[str]) -> str:
    """Return kinds of degrees of freedom as one text, never empty."""
    return " ".join(kinds) or "none"


def with_mirrored_restraints(rig: bpy.types.Object, restraints: Sequence[Restraint]) -> list[Restraint]:
    """Return the restraints of a mechanism's document, with those that mirroring replaced and added."""
    out, rows = list(restraints), _stored_mirrored_restraints(rig)
    for key in sorted(rows, key=int):
        row = dict(rows[key])
        if row["bodies"] is not None:
            row["bodies"] = tuple(row["bodies"])
        if row["frames"] is not None:
            row["frames"] = tuple(np.array(frame) for frame in row["frames"])
        made = Restraint(**row)
        out[int(key) :] = [made, *out[int(key) + 1 :]]
    return out


def store_mirrored_restraints(rig: bpy.types.Object, images: Mapping[int, Restraint]) -> None:
    """Store restraints that mirroring added or set, by their index among all restraints of the mechanism."""
    rows = _stored_mirrored_restraints(rig)
    for number, image in images.items():
        row = asdict(image)
        if image.frames is not None:
            row["frames"] = [frame.tolist() for frame in image.frames]
        rows[str(number)] = row
    settings(rig).mirrored_restraints = json.dumps(rows) if rows else ""


def _stored_mirrored_restraints(rig: bpy.types.Object) -> dict[str, dict[str, Any]]:
    text = settings(rig).mirrored_restraints
    rows: dict[str, dict[str, Any]] = json.loads(text) if text else {}
    return rows


def joint_has_stops(joint: KnuckleJoint) -> bool:
    """Return whether any degree of freedom of a joint has a stop."""
    return any(dof.use_lower or dof.use_upper for dof in [*joint.dofs, *joint.parts])


def has_spring_or_damper(joint: KnuckleJoint) -> bool:
    """Return whether a joint has a spring or a damper."""
    return any(dof.stiffness > 0.0 or dof.damping > 0.0 for dof in [*joint.dofs, *joint.parts])


def has_friction_or_damping(joint: KnuckleJoint) -> bool:
    """Return whether a joint has friction, or a damper without a spring."""
    return any(dof.friction > 0.0 or (dof.damping > 0.0 and not dof.stiffness) for dof in joint.dofs)


def mirror_plane_of(rig: bpy.types.Object) -> Plane | None:
    """Return the mirror plane of a mechanism; None where none was found or chosen."""
    kept = settings(rig).mirror
    normal = np.array(kept.normal, dtype=np.float64)
    length = float(np.linalg.norm(normal))
    return Plane(normal / length, float(kept.offset)) if length > 0.0 else None


def set_mirror_plane(rig: bpy.types.Object, plane: Plane | None) -> None:
    """Store the mirror plane of a mechanism; None removes it."""
    kept = settings(rig).mirror
    kept.normal = (0.0, 0.0, 0.0) if plane is None else plane.normal.tolist()
    kept.offset = 0.0 if plane is None else plane.offset


def store_message(record: Any, name: str, text: str) -> None:
    """Write a text to a property of a record, with what ``stored_message`` translates it by."""
    setattr(record, name, text)
    setattr(record, f"{name}_parts", message_parts(text))


def clear_message(record: Any, name: str) -> None:
    """Remove a text that ``store_message`` wrote."""
    for each in (name, f"{name}_parts"):
        record.property_unset(each)


def stored_message(record: Any, name: str = "message") -> str:
    """Return a text that ``store_message`` wrote, as the message that it was."""
    return message_from_parts(getattr(record, name), getattr(record, f"{name}_parts"))


def _store_entry(line: KnuckleReportLine, entry: Entry) -> None:
    line.severity, line.code, line.line, line.where = entry.severity, entry.code, entry.line or 0, entry.where
    store_message(line, "message", entry.message)


def store_report(rig: bpy.types.Object, report: Report) -> None:
    """Write the entries of a report to the mechanism's report, in place of its present entries."""
    lines = settings(rig).report
    lines.clear()
    for entry in report.entries:
        _store_entry(lines.add(), entry)


def add_to_report(rig: bpy.types.Object, report: Report, instead_of: Collection[str] = ()) -> None:
    """Add the entries of a report to the mechanism's report; of a simulated copy, to its original's.

    Args:
        rig: The mechanism's armature object.
        report: The new entries. Each replaces an entry with the same code and part.
        instead_of: Codes whose present entries are removed.
    """
    lines = settings(original_of(rig)).report
    for place in reversed(range(len(lines))):
        if lines[place].code in instead_of:
            lines.remove(place)
    at = {(line.code, line.where): number for number, line in enumerate(lines)}
    for entry in report.entries:
        number = at.get((entry.code, entry.where))
        line = lines[number] if number is not None else lines.add()
        _store_entry(line, entry)
        at[entry.code, entry.where] = len(lines) - 1 if number is None else number


#: Report codes of motion imports; the next import replaces them.
IMPORT_CODES = (
    "motion-unmatched", "servo-unmatched", "servo-matched", "servo-repeated", "servo-empty", "servos-keyed",
    "unit-mismatch", "values-clipped", "keys-merged", "scene-too-short", "root-matched", "root-unmatched",
)  # fmt: skip


def has_initial_velocity(joint: KnuckleJoint) -> bool:
    """Return whether a joint has an initial velocity in its file."""
    return joint.active and any(dof.velocity or any(dof.start_rates) for dof in [*joint.dofs, *joint.parts])


# ---------------------------------------------------------------- edits of many records

#: Fields that bone limits and rigid-body constraints are derived from.
_CONSTRAINT_FIELDS = {field for each in DOF_PROPERTIES if each.shown for field in each.fields}


def dof_records(empty: bpy.types.Object) -> Iterator[KnuckleDof]:
    """Yield the degrees of freedom of a joint, then the single parts of its balls and free joints."""
    joint = record_of(empty).joint
    yield from joint.dofs
    yield from joint.parts


def set_fields(record: Any, values: Mapping[str, Any]) -> set[str]:
    """Set properties of a record by name; return the names of those that changed."""
    before = {field: getattr(record, field) for field in values}
    for field, value in values.items():
        setattr(record, field, value)
    return {field for field, was in before.items() if getattr(record, field) != was}


def set_dof_fields(changes: Iterable[tuple[bpy.types.Object, KnuckleDof, Mapping[str, Any]]]) -> int:
    """Set fields of degrees of freedom and emit one change signal for each joint that changed.

    Args:
        changes: A joint's empty, one of its degrees of freedom and values by the name of the property.

    Returns:
        The count of degrees of freedom that changed.
    """
    changed, count = dict[bpy.types.Object, set[str]](), 0
    with writing_records():
        for empty, dof, values in changes:
            fields = set_fields(dof, values)
            if fields:
                changed.setdefault(empty, set()).update(map(dof.path_from_id, fields))
                count += 1
    for empty, paths in changed.items():
        notify_dof_values(empty, paths)
    return count


def notify_dof_values(empty: bpy.types.Object, values: Collection[str]) -> None:
    """Emit the change signal of a joint whose degrees of freedom have new values, given as RNA paths from the empty."""
    fields = {path.rpartition(".")[2] for path in values}
    notify_joint(empty, values, derived=not _CONSTRAINT_FIELDS.isdisjoint(fields))


def edited_dof_attributes(empty: bpy.types.Object, values: Collection[str]) -> set[tuple[int, str]]:
    """Return what an edit of values (RNA paths from the empty) changes of a joint's degrees of freedom.

    Returns:
        Index among ``dof_records`` and attribute of ``Dof``, for each.
    """
    return {
        (number, name)
        for number, dof in enumerate(dof_records(empty))
        for path in (f"{dof.path_from_id()}.",)
        for name in edited_attributes(dof, DOF_PROPERTIES, {each.removeprefix(path) for each in values})
    }


#: Degrees of freedom of a bone, each with the property and index that poses it.
PosedDofs = Sequence[tuple[Dof | KnuckleDof, str, int]]


def dofs_of_bones(empty: bpy.types.Object, bones: Sequence[str]) -> dict[str, PosedDofs]:
    """Return the degrees of freedom of the bones of a joint's chain, from its record."""
    dofs = record_of(empty).joint.dofs
    return {
        bone: [(dof, dof.channel, dof.channel_index) for dof in dofs if dof.step == step]
        for step, bone in enumerate(bones)
    }
