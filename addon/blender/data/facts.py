"""Table of the properties of a mechanism: where each is stored, what displays it in Blender, and who edits it.

A property's record has it in 32 bits, the document in 64. Writing (``push``), reading (``read_properties``) and the
comparison with the document (``pull``) derive from this table: a value that is the same in 32 bits keeps the document's
own number, an edited one becomes the shortest number that Blender shows it as.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from ...core.model import DOF_SIZE, Array

#: Names of the sizes of each type of shape, in the order of the three stored numbers.
SIZE_KEYS: dict[str, tuple[str, ...]] = {
    "box": ("x", "y", "z"),
    "sphere": ("radius",),
    "ellipsoid": ("x", "y", "z"),
    "capsule": ("length", "radius"),
    "cylinder": ("length", "radius"),
    "cone": ("length", "radius"),
    "hemisphere": ("radius",),
    "pyramid": ("x", "y", "length"),
    "mesh": ("x", "y", "z"),
    "axes": ("length",),
}
#: Size of a shape that gives none: the scale of a mesh, the length of axes.
DEFAULT_SHAPE_SIZE = 1.0
#: Tolerance of matrix entries within which two of Blender's rotations are the same.
ROTATION_ENTRY_TOLERANCE = 1e-6
#: Tolerance of moments of inertia in 32 bits, as a share of the largest.
MOMENT_TOLERANCE = 3e-7
#: Tolerance of the components of colors.
COLOR_TOLERANCE = 1e-6
#: Tolerance of the components (linear) of a material's color: half a step of 8 bits.
MATERIAL_COLOR_TOLERANCE = 0.5 / 255
_DIGITS = 9  # distinguish all 32-bit numbers


# ---------------------------------------------------------------- numbers in 32 and 64 bits


def is_same_value(now: object, before: object) -> bool:
    """Return whether a value is unchanged; numbers are compared in 32 bits."""
    if now == before:
        return True
    if isinstance(now, float) and isinstance(before, (int, float)):
        return bool(np.float32(now) == np.float32(before))
    return False


def shortest_float(value: float, unit: float = 1.0) -> float:
    """Return the number with the fewest digits, in units of ``unit``, that is this one in 32 bits or its neighbor.

    For example 2.1 moved by 0.05 is 2.1499999 in 32 bits, and 2.15 for people.
    """
    kept = np.float32(value)
    near = float(np.spacing(np.abs(kept)))
    for digits in range(1, _DIGITS):
        short = float(f"{float(kept) / unit:.{digits}g}") * unit
        if abs(short - float(kept)) <= near:
            return short
    return float(value)


def shortest_angle(value: float) -> float:
    """Return the angle (rad) with the fewest digits, in degrees or in radians, that is this one in 32 bits."""
    degrees, radians = shortest_float(value, math.radians(1.0)), shortest_float(value)
    return radians if len(f"{radians:.9g}") < len(f"{math.degrees(degrees):.9g}") else degrees


def edited_number(now: float, before: float) -> float:
    """Return ``before`` where the two are equal in 32 bits, else ``now`` with the fewest digits."""
    return before if is_same_value(now, before) else shortest_float(now)


# ---------------------------------------------------------------- kinds of properties


class PropertyFlow(Enum):
    """Direction in which the value of a property flows, by who edits it.

    Attributes:
        PANEL: The user edits the record in our panels; what displays it in Blender follows.
        BLENDER: The user edits Blender's own property; the record follows when the mechanism is read.
        BOTH: The user edits either.
        OPERATOR: Operators alone change it.
    """

    PANEL = "panel"
    BLENDER = "Blender"
    BOTH = "both"
    OPERATOR = "operator"


@dataclass(frozen=True)
class PartProperty:
    """Property of a part. This class has those that no single value of the record holds: objects display them.

    Attributes:
        name: Attribute of the part's class in ``core.model``.
        flow: Who edits it.
        shown: Blender's property that displays it, from the part's object; empty where none does.
        tolerance: Largest difference of equal values, where it is more than the rounding to 32 bits: of the entries of
            rotation matrices, or as a share of the value.
        field: Property of the record; empty: it has the attribute's name.
        is_common: Twins have the same value, whatever their axes.
    """

    name: str
    flow: PropertyFlow = PropertyFlow.OPERATOR
    shown: str = ""
    tolerance: float = 0.0
    field: str = ""
    is_common: bool = False

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Properties of the record that store it."""
        return (self.field,) if self.field else ()


@dataclass(frozen=True)
class ValueProperty(PartProperty):
    """Number, flag or text."""

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Properties of the record that store it."""
        return (self.field or self.name,)

    def stored(self, part: Any) -> Mapping[str, Any]:
        """Return the value of the record's property for a part."""
        return {self.fields[0]: getattr(part, self.name)}

    def read(self, record: Any) -> Any:
        """Return the value that a record has."""
        return getattr(record, self.fields[0])

    def edited(self, now: Any, before: Any, _part: Any) -> Any:
        """Return ``before`` where the two are equal in 32 bits, else ``now``."""
        if is_same_value(now, before):
            return before
        return shortest_float(now) if isinstance(now, float) else now


@dataclass(frozen=True)
class OptionalTextProperty(ValueProperty):
    """Text that may be absent (None), which is stored as the empty text."""

    def stored(self, part: Any) -> Mapping[str, Any]:
        """Return the text of the record's property for a part."""
        return {self.fields[0]: getattr(part, self.name) or ""}

    def read(self, record: Any) -> str | None:
        """Return the text that a record has, None for the empty one."""
        return getattr(record, self.fields[0]) or None

    def edited(self, now: str | None, before: str | None, _part: Any) -> str | None:
        """Return the record's text; the part's own where both are empty."""
        return before if (now or "") == (before or "") else now


@dataclass(frozen=True)
class OptionalNumberProperty(ValueProperty):
    """Number that may be absent (None), which is stored as 0."""

    def stored(self, part: Any) -> Mapping[str, Any]:
        """Return the number of the record's property for a part."""
        return {self.fields[0]: float(getattr(part, self.name) or 0.0)}

    def edited(self, now: float, before: float | None, _part: Any) -> float | None:
        """Return ``before`` where the two are equal in 32 bits, else ``now`` with the fewest digits."""
        return before if is_same_value(now, before or 0.0) else shortest_float(now)


@dataclass(frozen=True)
class StopProperty(ValueProperty):
    """Stop of a degree of freedom: a number, and a flag that tells whether there is one."""

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Properties of the record that store it."""
        return (f"use_{self.name}", self.name)

    def stored(self, part: Any) -> Mapping[str, Any]:
        """Return flag and number for a degree of freedom; without a stop, the record keeps the number that it has."""
        value = getattr(part, self.name)
        given = {} if value is None else {self.name: float(value)}
        return {f"use_{self.name}": value is not None, **given}

    def read(self, record: Any) -> float | None:
        """Return the stop (rad or length units), None for none."""
        return getattr(record, self.name) if getattr(record, f"use_{self.name}") else None

    def edited(self, now: float | None, before: float | None, part: Any) -> float | None:
        """Return ``before`` where the two are equal in 32 bits, else ``now``, short in degrees or radians."""
        if is_same_value(now, before):
            return before
        if now is None:
            return None
        return shortest_angle(now) if part.kind in {"rotation", "screw"} else shortest_float(now)


@dataclass(frozen=True)
class VectorProperty(ValueProperty):
    """Array of numbers, (3,)."""

    def stored(self, part: Any) -> Mapping[str, Any]:
        """Return the numbers of the record's property for a part."""
        return {self.fields[0]: np.asarray(getattr(part, self.name), dtype=np.float64).tolist()}

    def read(self, record: Any) -> Array:
        """Return the array that a record has."""
        return np.array(getattr(record, self.fields[0])[:], dtype=np.float64)

    def edited(self, now: Array, before: Array, _part: Any) -> Array:
        """Return ``before`` itself where all numbers are equal in 32 bits, else ``now`` with the fewest digits."""
        if self.tolerance:
            return before if np.abs(now - np.float32(before)).max() <= self.tolerance else now
        if (np.float32(now) == np.float32(before)).all():
            return before
        return np.array([edited_number(x, y) for x, y in zip(now.tolist(), before.tolist(), strict=True)])


@dataclass(frozen=True)
class CoordinatesProperty(ValueProperty):
    """Coordinates of a ball (3) or free joint (6); the empty tuple where all are 0."""

    def stored(self, part: Any) -> Mapping[str, Any]:
        """Return six numbers for a degree of freedom."""
        return {self.fields[0]: ([*getattr(part, self.name)] + [0.0] * 6)[:6]}

    def read(self, record: Any) -> tuple[float, ...]:
        """Return as many numbers as the kind of the degree of freedom has."""
        size = DOF_SIZE[record.kind]
        numbers = tuple(map(float, getattr(record, self.fields[0])[:size])) if size > 1 else ()
        return numbers if any(numbers) else ()

    def edited(self, now: tuple[float, ...], before: tuple[float, ...], _part: Any) -> tuple[float, ...]:
        """Return ``before`` where all numbers are equal in 32 bits, else ``now`` with the fewest digits."""
        usual = before if any(before) else ()
        if len(now) == len(usual) and all(map(is_same_value, now, usual)):
            return before
        return tuple(map(shortest_float, now))


@dataclass(frozen=True)
class SizeProperty(ValueProperty):
    """Dimensions of a shape by name, stored as three numbers in the order of ``SIZE_KEYS``."""

    def stored(self, part: Any) -> Mapping[str, Any]:
        """Return three numbers for a shape."""
        size = [float(part.size.get(key, DEFAULT_SHAPE_SIZE)) for key in SIZE_KEYS.get(part.type, ())]
        return {self.fields[0]: (size + [0.0, 0.0, 0.0])[:3]}

    def read(self, record: Any) -> dict[str, float]:
        """Return the dimensions by name."""
        return dict(zip(SIZE_KEYS.get(record.type, ()), map(float, record.size), strict=False))

    def edited(self, now: dict[str, float], before: dict[str, float], _part: Any) -> dict[str, float]:
        """Return the dimensions; those that are equal in 32 bits, and those that are not stored, are ``before``'s."""
        given = {key: value for key, value in now.items() if key in before or value != DEFAULT_SHAPE_SIZE}
        return before | {key: edited_number(value, before.get(key, value)) for key, value in given.items()}


@dataclass(frozen=True)
class PoseProperty(ValueProperty):
    """Pose (4, 4), stored as 16 numbers by rows."""

    def stored(self, part: Any) -> Mapping[str, Any]:
        """Return 16 numbers for a part."""
        return {self.fields[0]: np.asarray(getattr(part, self.name), dtype=np.float64).ravel().tolist()}

    def read(self, record: Any) -> Array:
        """Return the pose that a record has."""
        return np.array(getattr(record, self.fields[0])[:], dtype=np.float64).reshape(4, 4)

    def edited(self, now: Array, before: Array, _part: Any) -> Array:
        """Return ``before`` itself where all entries are equal in 32 bits."""
        return before if (np.float32(now) == np.float32(before)).all() else now


@dataclass(frozen=True)
class ColorProperty(ValueProperty):
    """Color (RGBA, sRGB) that may be absent."""

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Properties of the record that store it."""
        return (f"has_{self.name}", self.name)

    def stored(self, part: Any) -> Mapping[str, Any]:
        """Return flag and color for a shape."""
        color = getattr(part, self.name)
        given = {} if color is None else {self.name: [*color]}
        return {f"has_{self.name}": color is not None, **given}

    def read(self, record: Any) -> tuple[float, ...] | None:
        """Return the color that a record has."""
        return tuple(getattr(record, self.name)) if getattr(record, f"has_{self.name}") else None

    def edited(self, now: tuple[float, ...] | None, before: tuple[float, ...] | None, _part: Any) -> Any:
        """Return ``before`` where the two are equal within the tolerance."""
        if now is not None and before is not None and np.allclose(now, before, rtol=1e-5, atol=self.tolerance):
            return before
        return now


@dataclass(frozen=True)
class SpheresProperty(ValueProperty):
    """Radius and center of each ball of a multi-sphere, stored as JSON."""

    def stored(self, part: Any) -> Mapping[str, Any]:
        """Return the text for a shape."""
        return {self.fields[0]: json.dumps(part.spheres) if part.spheres else ""}

    def read(self, record: Any) -> list[tuple[float, ...]]:
        """Return the balls that a record has."""
        return [tuple(ball) for ball in json.loads(record.spheres)] if record.spheres else []

    def edited(self, now: list[Any], before: list[Any], _part: Any) -> list[Any]:
        """Return the record's balls; records of earlier releases have none."""
        return now or before


# ---------------------------------------------------------------- the table

PropertyTable = tuple[PartProperty, ...]
_PANEL, _BLENDER, _BOTH = PropertyFlow.PANEL, PropertyFlow.BLENDER, PropertyFlow.BOTH

BODY_PROPERTIES: PropertyTable = (
    PartProperty("name", _BLENDER, shown="name", field="source_name"),
    PartProperty("pose", _BLENDER, shown="matrix_basis", tolerance=ROTATION_ENTRY_TOLERANCE, field="baseline_pose"),
    ValueProperty("mass", _BOTH, shown="rigid_body.mass", is_common=True),
    VectorProperty("com"),
    PartProperty("inertia", tolerance=MOMENT_TOLERANCE, field="tensor"),
    PartProperty("shapes", _BLENDER, shown="data", field="shapes"),
    OptionalTextProperty("twin", _PANEL),
    ValueProperty("gravity"),
    ValueProperty("collidable"),
    ValueProperty("immobile", _PANEL, shown="rigid_body.type", is_common=True),
    ValueProperty("active"),
)
SHAPE_PROPERTIES: PropertyTable = (
    ValueProperty("type"),
    SizeProperty("size", _BLENDER, shown="scale"),
    PoseProperty("pose", _BLENDER, shown="matrix_basis", tolerance=ROTATION_ENTRY_TOLERANCE),
    ValueProperty("visual"),
    ValueProperty("collision"),
    ColorProperty("color", _BLENDER, shown="active_material.diffuse_color", tolerance=COLOR_TOLERANCE, is_common=True),
    OptionalTextProperty("mesh"),
    SpheresProperty("spheres"),
)
JOINT_PROPERTIES: PropertyTable = (
    PartProperty("name", _BLENDER, shown="name", field="source_name"),
    ValueProperty("type", _PANEL, shown="rigid_body_constraint.type"),
    PartProperty("parent", _PANEL, shown="rigid_body_constraint.object1", field="parent"),
    PartProperty("child", _PANEL, shown="rigid_body_constraint.object2", field="child"),
    PartProperty(
        "frame_parent", _BLENDER, shown="matrix_basis", tolerance=ROTATION_ENTRY_TOLERANCE, field="baseline_pose"
    ),
    PartProperty("frame_child", _BLENDER, shown="matrix_basis", tolerance=ROTATION_ENTRY_TOLERANCE, field="opening"),
    PartProperty("dofs", _PANEL, field="dofs"),
    ValueProperty("active"),
    PartProperty("twin", _PANEL, field="twin"),
)
DOF_PROPERTIES: PropertyTable = (
    ValueProperty("kind"),
    VectorProperty("axis", tolerance=1e-6),
    StopProperty("lower", _PANEL, shown="rigid_body_constraint.limit_ang_z_lower"),
    StopProperty("upper", _PANEL, shown="rigid_body_constraint.limit_ang_z_upper"),
    ValueProperty("position", _PANEL),
    ValueProperty("velocity", _PANEL),
    ValueProperty("damping", _PANEL, shown="rigid_body_constraint.spring_damping_ang_z"),
    ValueProperty("friction", _PANEL),
    ValueProperty("stiffness", _PANEL, shown="rigid_body_constraint.spring_stiffness_ang_z"),
    ValueProperty("rest", _PANEL),
    ValueProperty("armature", _PANEL),
    ValueProperty("gain", _PANEL),
    ValueProperty("max_force", _PANEL),
    ValueProperty("servo_stiffness", _PANEL),
    ValueProperty("servo_damping", _PANEL),
    ValueProperty("actuator"),
    ValueProperty("file_sign"),
    ValueProperty("pitch"),
    ValueProperty("name"),
    CoordinatesProperty("start"),
    CoordinatesProperty("start_rates"),
)
WORLD_PROPERTIES: PropertyTable = (
    VectorProperty("gravity", _PANEL),
    OptionalNumberProperty("friction", _PANEL),
    OptionalNumberProperty("erp", _PANEL),
    OptionalNumberProperty("cfm", _PANEL),
)
ENGINE_PROPERTIES: PropertyTable = (
    ValueProperty("standard_speed", _PANEL),
    ValueProperty("speed_factor", _PANEL),
    ValueProperty("pose_delay", _PANEL),
    ValueProperty("pose_phase", _PANEL),
)
FRAME_PROPERTIES: PropertyTable = (
    PartProperty("name", _BLENDER, shown="name", field="source_name"),
    PartProperty("body", _BLENDER, shown="parent"),
    PartProperty("pose", _BLENDER, shown="matrix_basis", tolerance=ROTATION_ENTRY_TOLERANCE, field="baseline_pose"),
)
LIGHT_PROPERTIES: PropertyTable = (
    *FRAME_PROPERTIES,
    PartProperty("type", _BLENDER, shown="data.type", is_common=True),
    PartProperty("diffuse", _BLENDER, shown="data.color", tolerance=COLOR_TOLERANCE, is_common=True),
)
ASSEMBLY_PROPERTIES: PropertyTable = (ValueProperty("active", _PANEL, shown="exclude"),)
#: Properties by the name of their class in ``core.model``; ``Engine`` is that of ``core.gait``.
PROPERTY_TABLES: Mapping[str, PropertyTable] = {
    "Body": BODY_PROPERTIES,
    "Shape": SHAPE_PROPERTIES,
    "Joint": JOINT_PROPERTIES,
    "Dof": DOF_PROPERTIES,
    "World": WORLD_PROPERTIES,
    "Engine": ENGINE_PROPERTIES,
    "Frame": FRAME_PROPERTIES,
    "Light": LIGHT_PROPERTIES,
    "Assembly": ASSEMBLY_PROPERTIES,
}

#: Attributes of a body whose values twins have in common.
COMMON_BODY_VALUES = tuple(each.name for each in BODY_PROPERTIES if each.is_common)
#: Blender's properties, from the object of a light, that twins have in common. No file has the power.
COMMON_LIGHT_VALUES = (*(each.shown for each in LIGHT_PROPERTIES if each.is_common), "data.energy")


def shown_value(obj: Any, path: str) -> Any:
    """Return the value of Blender's property at a path from an object; arrays as lists."""
    value = obj.path_resolve(path)
    return value if isinstance(value, (str, bool, int, float)) else list(value)


def write_shown(obj: Any, path: str, value: Any) -> None:
    """Set Blender's property at a path from an object, or from another datablock, if it has another value."""
    owner, _, name = path.rpartition(".")
    if shown_value(obj, path) != value:
        setattr(obj.path_resolve(owner) if owner else obj, name, value)


def copy_shown(paths: Collection[str], source: Any, target: Any) -> None:
    """Copy the values of Blender's properties at some paths from an object to another."""
    for path in paths:
        write_shown(target, path, shown_value(source, path))


def stored_fields(table: PropertyTable) -> tuple[str, ...]:
    """Return the properties of a record that store the values of a table."""
    return tuple(field for each in table if isinstance(each, ValueProperty) for field in each.fields)


def edited_attributes(record: Any, table: PropertyTable, fields: Collection[str]) -> set[str]:
    """Return the attributes of a part that an edit of some properties of its record changes.

    An absent value, such as a stop that is off, is changed only by the property that tells whether it is there.
    """
    return {
        each.name
        for each in table
        if isinstance(each, ValueProperty)
        and not set(each.fields).isdisjoint(fields)
        and (each.fields[0] in fields or each.read(record) is not None)
    }


def copy_fields(table: PropertyTable, source: Any, target: Any) -> None:
    """Copy the values of a table's properties from one record to another."""
    for field in stored_fields(table):
        setattr(target, field, getattr(source, field))


def stored_values(table: PropertyTable, part: Any) -> dict[str, Any]:
    """Return the values of a record's properties for a part."""
    values: dict[str, Any] = {}
    for each in table:
        if isinstance(each, ValueProperty):
            values.update(each.stored(part))
    return values


def differing_values(table: PropertyTable, part: Any, before: Any) -> dict[str, Any]:
    """Return the values of a record's properties for a part that differ from those for the part as it was; None: all.

    What the part had not, such as a stop, is among them whatever its value: the record may have any number there.
    """
    old = {} if before is None else stored_values(table, before)
    return {
        field: value for field, value in stored_values(table, part).items() if field not in old or old[field] != value
    }


def push(record: Any, table: PropertyTable, part: Any, before: Any = None) -> None:
    """Write the values of a part to its record, as far as they differ from those of ``before``, the part as it was."""
    for field, value in differing_values(table, part, before).items():
        setattr(record, field, value)


def read_properties(record: Any, table: PropertyTable) -> dict[str, Any]:
    """Return the values that a record has, by the names of the part's attributes."""
    return {each.name: each.read(record) for each in table if isinstance(each, ValueProperty)}


def pull(record: Any, table: PropertyTable, part: Any, only: Collection[str] | None = None) -> None:
    """Set the attributes of a part, which has a document's values, to those that were edited in its record.

    Args:
        record: The record.
        table: Properties of the part.
        part: The part, which is changed. An attribute whose value is the same in 32 bits keeps its object.
        only: Attributes to set; None for all.
    """
    for each in table:
        if isinstance(each, ValueProperty) and (only is None or each.name in only):
            before = getattr(part, each.name)
            value = each.edited(each.read(record), before, part)
            if value is not before:
                setattr(part, each.name, value)
