"""Schema of SKEL files: every element with its kind, unit and default, in the order of writing, and their conventions.

Reading, defaults, comparing and writing all follow these tables. Names and units are those of DART's SKEL format
document, defaults those of DART's parser; ``old`` are spellings that the document has and DART does not read, or reads
only with a warning. A pose is six numbers: x y z and the angles of Rx(a) Ry(b) Rz(c) in rad.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...core import naming
from ...core.model import Array
from ...core.transforms import bitwise_equal, make_pose, rotation_with_z
from ..document.schema import FieldTable

Transformation = tuple[float, ...]
#: Tolerance of equal poses, in length units and in the elements of their rotations.
POSE_ROUNDING = 1e-9


def pose_from_transformation(six: Sequence[float]) -> Array:
    """Return the pose (4, 4) of six numbers."""
    x, y, z, a, b, c = six
    if not (a or b or c):
        return np.array([(1.0, 0.0, 0.0, x), (0.0, 1.0, 0.0, y), (0.0, 0.0, 1.0, z), (0.0, 0.0, 0.0, 1.0)])
    sa, ca, sb, cb, sc, cc = math.sin(a), math.cos(a), math.sin(b), math.cos(b), math.sin(c), math.cos(c)
    return np.array(
        [
            [cb * cc, -cb * sc, sb, x],
            [ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb, y],
            [sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb, z],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def transformation_from_pose(pose: Array, near: Sequence[float] | None = None) -> Transformation:
    """Return the six numbers of a pose (4, 4); those of ``near`` that are still correct are kept.

    Near gimbal lock, where the outer two angles are ill-conditioned, the first is chosen to fit the third, so that all
    three together are exact.
    """
    turn, position = pose[:3, :3], pose[:3, 3]
    if near is not None and np.abs(pose_from_transformation(near)[:3, :3] - turn).max() < 1e-14:
        angles = tuple(near[3:])
    else:
        flat = math.hypot(turn[0, 0], turn[0, 1])
        c = math.atan2(-turn[0, 1], turn[0, 0]) if flat > 1e-12 else 0.0
        sine, cosine = math.sin(c), math.cos(c)
        second = turn[:, 0] * sine + turn[:, 1] * cosine  # the second column of Rx(a)
        a = math.atan2(second[2], second[1])
        b = math.atan2(turn[0, 2], turn[0, 0] * cosine - turn[0, 1] * sine)
        angles = (a, b, c)
    place = tuple(
        float(kept) if kept is not None and abs(kept - x) <= 1e-14 * (1.0 + abs(x)) else float(x)
        for x, kept in zip(position, near[:3] if near is not None else (None,) * 3, strict=True)
    )
    return (*place, *(float(angle) for angle in angles))


def same_pose(a: Array, b: Array) -> bool:
    """Return whether two poses are equal up to rounding."""
    return bitwise_equal(a, b) or bool(np.abs(a - b).max() <= POSE_ROUNDING * (1.0 + np.abs(b[:3, 3]).max()))


def pose_along_z(axis: Array, distance: float = 0.0) -> Array:
    """Return a pose (4, 4) whose z is the unit vector ``axis`` and whose origin lies ``distance`` along it."""
    return make_pose(rotation_with_z(axis), np.asarray(axis) * distance)


class DartNames(naming.UniqueNamer):
    """Namer of unique names: a name that is taken gets a number in brackets, as in DART."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        super().__init__(lambda name, number: f"{name}({number})", 1, taken)


def dart_name(name: str, otherwise: str) -> str:
    """Return a name as DART finds it: without white space around it or line breaks in it, and not empty."""
    return " ".join(name.split()) or otherwise


Row = dict[str, Any]


def _is_finite(value: Any) -> bool:
    return type(value) in (float, int) and abs(value) <= sys.float_info.max


@dataclass(frozen=True)
class Kind:
    """Kind of a value.

    ``count`` is the number of its numbers (0 for text and flags, -1 for any count); ``endless`` allows infinity.
    """

    name: str
    count: int
    spell: Callable[[Any], str]
    endless: bool = False

    def has(self, value: Any) -> bool:
        """Return whether a value has the right count of finite numbers; always True for text and flags."""
        numbers = value if self.count > 1 and isinstance(value, list | tuple) else (value,)
        return not self.count or (len(numbers) == self.count and all(map(_is_finite, numbers)))


@dataclass(frozen=True)
class Field:
    """Field of an object: one element or attribute.

    ``path`` is relative to the object, an attribute's name behind an ``@``; ``old`` are other paths in files;
    ``needed`` if DART rejects or misreads a file without it.
    """

    path: str
    kind: Kind
    default: Any = None
    unit: str = ""
    old: tuple[str, ...] = ()
    needed: bool = False


@dataclass(frozen=True)
class Table(FieldTable[Field]):
    """Fields of one kind of object, in order; ``parts`` are the tags of the objects inside it."""

    tag: str
    fields: tuple[Field, ...]
    parts: frozenset[str] = frozenset()

    @cached_property
    def defaults(self) -> Row:
        """Row with every field at its default, not to be changed."""
        return {field.path: field.default for field in self.fields}

    @cached_property
    def spellings(self) -> dict[str, tuple[Field, str]]:
        """Field of every path, new and old, and its attribute, empty for an element."""
        return {
            path: (field, path.rpartition("@")[2] if "@" in path else "")
            for field in self.fields
            for path in (field.path, *field.old)
        }

    @cached_property
    def needed(self) -> dict[str, tuple[Field, ...]]:
        """Fields that DART needs, by group; the group of the object itself is empty."""
        found: dict[str, tuple[Field, ...]] = {}
        for field in self.fields:
            if field.needed:
                group = field.path.rpartition("/")[0]
                found[group] = (*found.get(group, ()), field)
        return found

    @cached_property
    def known(self) -> frozenset[str]:
        """All paths of the table, including old ones and the groups above them."""
        found = set(self.parts)
        for field in self.fields:
            for path in (field.path, *field.old):
                steps = path.split("/")
                found.update("/".join(steps[: end + 1]) for end in range(len(steps)))
        return frozenset(found)


def format_skel_number(value: float) -> str:
    """Format a number with fifteen significant digits, or more if needed; infinity as C reads it."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = f"{float(value) + 0.0:.15g}"  # + 0.0 removes the sign of a zero
    return text if float(text) == float(value) else repr(float(value))


def format_skel_numbers(values: Any) -> str:
    """Format numbers with one blank between them, the only separator of older parsers."""
    return " ".join(format_skel_number(value) for value in values)


TEXT = Kind("text", 0, str)
WORD = Kind("word", 0, str)  # white space around it is ignored
FLAG = Kind("flag", 0, lambda value: "1" if value else "0")
NUMERIC_FLAG = Kind("flag", 0, lambda value: "1" if value else "0")  # DART reads it as a number
NUMBER = Kind("number", 1, format_skel_number)
LIMIT = Kind("limit", 1, format_skel_number, endless=True)
VECTOR = Kind("vector", 3, format_skel_numbers)
SIX = Kind("transformation", 6, format_skel_numbers)
NUMBERS = Kind("numbers", -1, format_skel_numbers)

ORIGIN = (0.0, 0.0, 0.0)
IDENTITY_TRANSFORMATION = (0.0,) * 6
_TRANSFORMATION = Field(
    "transformation", SIX, IDENTITY_TRANSFORMATION, unit="length and rad: x y z and angles of Rx Ry Rz"
)

#: Tag of our extension data: what SKEL cannot hold, in an element that DART ignores.
EXTENSION_TAG = "knuckle"
#: Tags of joints that DART does not build: those that close a loop, and inactive ones.
LOOP_JOINT, INACTIVE_JOINT = "loop_joint", "inactive_joint"

WORLD = Table(
    "world",
    (
        Field("@name", TEXT, "world"),
        Field("physics/time_step", NUMBER, 0.001, unit="s"),
        Field("physics/gravity", VECTOR, (0.0, 0.0, -9.81), unit="length/s2"),
        Field("physics/collision_detector", WORD),
    ),
    frozenset({"skeleton"}),
)

SKELETON = Table(
    "skeleton",
    (Field("@name", TEXT, ""), Field("mobile", FLAG, True), Field("immobile", FLAG, False), _TRANSFORMATION),
    frozenset({"body", "joint", LOOP_JOINT, INACTIVE_JOINT}),
)

MOMENT = "inertia/moment_of_inertia/"
BODY = Table(
    "body",
    (
        Field("@name", TEXT, ""),
        *(Field(f"{EXTENSION_TAG}/@{name}", TEXT) for name in ("name", "assembly", "twin", "link_of")),
        Field("gravity", FLAG, True),
        _TRANSFORMATION,
        Field("inertia/mass", NUMBER, 1.0, unit="mass", needed=True),
        Field("inertia/offset", VECTOR, ORIGIN, unit="length"),
        Field("inertia/transformation", SIX, IDENTITY_TRANSFORMATION, unit="length and rad"),
        *(
            Field(f"{MOMENT}{name}", NUMBER, default, unit="mass length2, about the center of mass", needed=True)
            for name, default in (("ixx", 1.0), ("iyy", 1.0), ("izz", 1.0), ("ixy", 0.0), ("ixz", 0.0), ("iyz", 0.0))
        ),
        Field("self_collide", FLAG),
    ),
    frozenset({"visualization_shape", "collision_shape", "soft_shape", "marker"}),
)

_RADIUS = (Field("radius", NUMBER, 0.5, unit="length", needed=True),)
_SIZE = (Field("size", VECTOR, (1.0, 1.0, 1.0), unit="length, full size", needed=True),)
_CYLINDER = (*_RADIUS, Field("height", NUMBER, 1.0, unit="length", needed=True, old=("length",)))
_FACETS = tuple(Field(f"num_{what}", NUMBER, None) for what in ("slices", "stacks", "rings"))

#: Geometries in the order in which DART tries them; the first that a shape has is used.
GEOMETRIES: dict[str, tuple[Field, ...]] = {
    "sphere": (*_RADIUS, *_FACETS),
    "box": (*_SIZE, Field("frags", VECTOR, None)),
    "ellipsoid": (*_SIZE, *_FACETS),
    "cylinder": (*_CYLINDER, *_FACETS),
    "capsule": _CYLINDER,
    "cone": _CYLINDER,
    "pyramid": (
        Field("base_width", NUMBER, 1.0, unit="length, along x", needed=True),
        Field("base_depth", NUMBER, 1.0, unit="length, along y", needed=True),
        Field("height", NUMBER, 1.0, unit="length", needed=True),
    ),
    "plane": (
        Field("normal", VECTOR, (0.0, 0.0, 1.0), needed=True),
        Field("offset", NUMBER, None, unit="length, along the normal"),
        Field("point", VECTOR, None, unit="length"),
    ),
    "multi_sphere": (),
    "mesh": (
        Field("file_name", WORD, "", needed=True),
        Field("scale", VECTOR, (1.0, 1.0, 1.0), needed=True),
    ),
    "hemisphere": _RADIUS,  # in no version of DART
}


def _geometry_fields(type_: str) -> tuple[Field, ...]:
    return tuple(
        Field(
            f"geometry/{type_}/{field.path}",
            field.kind,
            field.default,
            field.unit,
            tuple(f"geometry/{type_}/{old}" for old in field.old),
            field.needed,
        )
        for field in GEOMETRIES[type_]
    )


_GEOMETRY = tuple(field for type_ in GEOMETRIES for field in _geometry_fields(type_))
#: Fields of each geometry, with paths relative to the shape.
GEOMETRY_FIELDS: dict[str, tuple[Field, ...]] = {type_: _geometry_fields(type_) for type_ in GEOMETRIES}
_SPHERES = frozenset({"geometry/multi_sphere", "geometry/multi_sphere/sphere"})
_EXTENSION_TYPE = Field(f"{EXTENSION_TAG}/@type", TEXT)

VISUAL = Table(
    "visualization_shape",
    (_EXTENSION_TYPE, _TRANSFORMATION, *_GEOMETRY, Field("color", NUMBERS, unit="red green blue, and alpha, 0 to 1")),
    _SPHERES,
)
COLLISION = Table(
    "collision_shape", (_EXTENSION_TYPE, _TRANSFORMATION, *_GEOMETRY, Field("collidable", NUMERIC_FLAG, True)), _SPHERES
)
_SOFTNESS = (
    Field("total_mass", NUMBER, None, unit="mass"),
    Field("kv", NUMBER, None, unit="force/length, between points and body"),
    Field("ke", NUMBER, None, unit="force/length, between points"),
    Field("damp", NUMBER, None),
)
SOFT = Table("soft_shape", (*_SOFTNESS[:1], _TRANSFORMATION, *_GEOMETRY, *_SOFTNESS[1:]), _SPHERES)
SHAPES = {table.tag: table for table in (VISUAL, COLLISION, SOFT)}
SPHERE_ITEM = Table("sphere", (Field("radius", NUMBER, 0.5, needed=True), Field("position", VECTOR, ORIGIN)))
MARKER = Table("marker", (Field("@name", TEXT, ""), Field("offset", VECTOR, ORIGIN, unit="length")))

#: Numbers of one coordinate: path under an axis, attribute of the record, default, old paths.
AXIS_NUMBERS: tuple[tuple[str, str, float, tuple[str, ...]], ...] = (
    ("dynamics/damping", "damping", 0.0, ("damping",)),
    ("dynamics/friction", "friction", 0.0, ()),
    ("dynamics/spring_rest_position", "rest", 0.0, ("dynamics/sprint_rest_position",)),
    ("dynamics/spring_stiffness", "stiffness", 0.0, ("dynamics/sprint_stiffness",)),
    ("limit/lower", "lower", -math.inf, ()),
    ("limit/upper", "upper", math.inf, ()),
)
AXES = ("axis", "axis2", "axis3")


def _axis(name: str) -> tuple[Field, ...]:
    return (
        Field(f"{name}/xyz", VECTOR, None),
        *((Field(f"{name}/pitch", NUMBER, None, unit="length per revolution"),) if name == "axis" else ()),
        *(
            Field(
                f"{name}/{path}",
                LIMIT if path.startswith("limit") else NUMBER,
                default,
                old=tuple(f"{name}/{other}" for other in old),
            )
            for path, _, default, old in AXIS_NUMBERS
        ),
    )


#: Extension data of a joint: our attribute, and the attribute of the record.
EXTENSION_NUMBERS = {"gain": "gain", "max_force": "max_force", "armature": "armature"}
JOINT = Table(
    "joint",
    (
        Field("@type", WORD, "", needed=True),
        Field("@name", TEXT, ""),
        Field("@actuator", WORD, "force"),
        *(Field(f"{EXTENSION_TAG}/@{name}", TEXT) for name in ("name", "assembly", "type", "twin", "loose", "link_of")),
        Field(f"{EXTENSION_TAG}/@pitch", NUMBER, unit="length per rad"),
        *(Field(f"{EXTENSION_TAG}/@{name}", NUMBERS) for name in EXTENSION_NUMBERS),
        Field("parent", WORD, None, needed=True),
        Field("child", WORD, None, needed=True),
        _TRANSFORMATION,
        Field(
            "parent_transformation", SIX, None, unit="as transformation, in the parent; of joints DART does not build"
        ),
        Field("axis_order", WORD, None),
        Field("plane/@type", WORD, None),
        Field("plane/translation_axis1/xyz", VECTOR, None),
        Field("plane/translation_axis2/xyz", VECTOR, None),
        *(field for name in AXES for field in _axis(name)),
        Field("init_pos", NUMBERS, None, unit="rad or length"),
        Field("init_vel", NUMBERS, None, unit="rad/s or length/s"),
    ),
    frozenset({"dof"}),
)

#: Fields of a <dof>, mostly attributes of <position>, <velocity>, <acceleration> and <force>.
DOF = Table(
    "dof",
    (
        Field("@local_index", NUMBER, None),
        Field("@name", TEXT, None),
        *(
            Field(f"{what}/@{end}", LIMIT, None)
            for what in ("position", "velocity", "acceleration", "force")
            for end in ("lower", "upper", "initial")
        ),
        *(Field(name, NUMBER, None) for name in ("damping", "friction", "spring_rest_position", "spring_stiffness")),
    ),
)
#: Attributes of the record for values of a <dof>; others are kept in its ``extra``.
DOF_NUMBERS = {
    "position/@lower": "lower",
    "position/@upper": "upper",
    "position/@initial": "position",
    "velocity/@initial": "velocity",
    "damping": "damping",
    "friction": "friction",
    "spring_rest_position": "rest",
    "spring_stiffness": "stiffness",
}
ACTUATORS = frozenset({"force", "passive", "servo", "mimic", "acceleration", "velocity", "locked"})

X, Y, Z = (tuple(float(i == k) for k in range(3)) for i in range(3))
#: Axes of translation of each plane; the rotation is about their cross product.
PLANES = {"xy": (X, Y), "yz": (Y, Z), "zx": (Z, X)}
