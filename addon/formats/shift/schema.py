"""Schema of Shift files: every key with its kind, unit, default and path in each dialect.

Reading, defaults, comparing and writing all follow these tables. Names and meanings are those of the Shift file format
document and of its author's published models, in which two dialects are found: one that names the ends of a joint
``body_frame_pairs`` and has only elementary joints (``pairs``), and a later one with ``parent`` and ``child``,
``inertia``, ``geometry`` and joint axes (``ends``). Files mix them; new content of a document is written in its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

Row = dict[str, Any]
Path = tuple[str, ...]

PAIRS, ENDS = "pairs", "ends"
#: Name of the ground, name of every body's own frame, and separator of paths.
FIXED, ORIGIN, SEPARATOR = "fixed", "origin", ":"
#: Key of our extension data: what Shift cannot hold, restored on import.
EXTENSION_KEY = "knuckle"


@dataclass(frozen=True)
class Kind:
    """Kind of a value: ``takes`` tests a plain JSON value, ``wanted`` describes it in messages."""

    wanted: str
    takes: Callable[[Any], bool]


@dataclass(frozen=True)
class Field:
    """Field of an element, one value.

    ``paths`` are its possible paths in the element, the first of them that of the dialect ``pairs``; ``ends_path`` is
    that of ``ends`` if it differs.
    """

    name: str
    kind: Kind
    default: Any = None
    unit: str = ""
    paths: tuple[Path, ...] = ()
    ends_path: Path | None = None

    @cached_property
    def places(self) -> tuple[Path, ...]:
        """All paths at which it is read, the most usual first."""
        return self.paths or ((self.name,),)

    def path_in(self, dialect: str) -> Path:
        """Return its path in documents of a dialect."""
        return self.ends_path if dialect == ENDS and self.ends_path else self.places[0]


@dataclass(frozen=True)
class Table:
    """Fields of one kind of element, in the order in which they are written."""

    what: str
    fields: tuple[Field, ...]

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __getitem__(self, name: str) -> Field:
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {field.name: field for field in self.fields}

    @cached_property
    def defaults(self) -> Row:
        """Row with every field at its default, not to be changed."""
        return {field.name: field.default for field in self.fields}

    @cached_property
    def among(self) -> Callable[[frozenset[str]], tuple[tuple[Field, tuple[Path, ...]], ...]]:
        """Function from known keys of an element to the fields that may be under them, with the paths of each.

        Cached: most elements of a document have one of a few sets of keys.
        """

        @lru_cache(maxsize=256)
        def among(keys: frozenset[str]) -> tuple[tuple[Field, tuple[Path, ...]], ...]:
            found = ((field, tuple(path for path in field.places if path[0] in keys)) for field in self.fields)
            return tuple((field, paths) for field, paths in found if paths)

        return among

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of an element that the table knows."""
        return frozenset(path[0] for field in self.fields for path in field.places)


def is_number(value: Any) -> bool:
    """Return whether a plain value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _numbers(value: Any, count: int | None = None) -> bool:
    return isinstance(value, list) and all(map(is_number, value)) and count in (None, len(value))


def _matrix(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(_numbers(row, 3) for row in value)


def _displacement(value: Any) -> bool:
    if isinstance(value, dict):
        turn, shift = value.get("R"), value.get("T")
        return (turn is None or _matrix(turn)) and (shift is None or _numbers(shift, 3))
    return value is None or is_number(value)


def _names(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _name(value: Any) -> bool:
    return isinstance(value, str) or is_number(value)


TEXT = Kind("a text in quotation marks", lambda value: isinstance(value, str))
NAME = Kind("a name in quotation marks", _name)
NUMBER = Kind("a number, for example 0.25", is_number)
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
VECTOR = Kind("three numbers, [x, y, z]", lambda value: _numbers(value, 3))
MATRIX = Kind("three rows of three numbers", _matrix)
NUMBERS = Kind("a list of numbers", _numbers)
PIECES = Kind(
    "a list of lists of numbers", lambda value: isinstance(value, list) and all(_numbers(item) for item in value)
)
NAMES = Kind("a name or a list of names", lambda value: value is None or _names(value))
AXIS = Kind(
    'an axis, "x" or [x, y, z]',
    lambda value: _numbers(value, 3) or (isinstance(value, str) and value.lstrip("+-") in {"x", "y", "z"}),
)
DISPLACEMENT = Kind('a number, or {"R": three rows of three numbers, "T": [x, y, z]}', _displacement)
VELOCITY = Kind("a number or six numbers", lambda value: is_number(value) or _numbers(value))
ANY = Kind("anything", lambda value: True)

_ZERO = [0.0, 0.0, 0.0]
_IDENTITY = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
_EXTENSION_FIELD = Field(EXTENSION_KEY, ANY)
_ACTIVE = Field("active", FLAG, True)

SETTINGS = Table(
    "settings",
    (
        Field("gravity", VECTOR, [0.0, 0.0, 9.81], "length/s2", (("model_parameters", "gravity"), ("gravity",))),
        Field("angle", TEXT, "radians", paths=(("model_parameters", "units", "angle"),)),
        Field(
            "include",
            NAMES,
            [],
            paths=(("model_parameters", "include_dir"), ("model_parameters", "include_directories")),
            ends_path=("model_parameters", "include_directories"),
        ),
        Field(EXTENSION_KEY, ANY, paths=(("model_parameters", EXTENSION_KEY),)),
    ),
)
ASSEMBLY = Table("assembly", (Field("name", NAME), _ACTIVE, _EXTENSION_FIELD))
FRAME = Table(
    "frame", (Field("name", NAME), Field("T", VECTOR, _ZERO, "length"), Field("R", MATRIX, _IDENTITY), _EXTENSION_FIELD)
)


def _inertia(name: str, default: Any, unit: str, *others: Path) -> Field:
    return Field(
        name,
        NUMBER,
        default,
        unit,
        (*others, ("moment_of_inertia", name), ("inertia", name)),
        ends_path=("inertia", name),
    )


#: Elements of the inertia tensor about the center of mass; products are tensor elements, not negated.
MOMENTS = ("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx")

BODY = Table(
    "body",
    (
        Field("name", NAME),
        _ACTIVE,
        Field("definition", NAMES),
        Field("geometry", ANY),
        Field("collision_geometry", TEXT, ""),
        Field("center_of_mass", VECTOR, _ZERO, "length"),
        _inertia("mass", 0.0, "mass", ("mass",)),
        *(_inertia(name, 0.0, "mass length2") for name in MOMENTS),
        _EXTENSION_FIELD,
    ),
)
JOINT = Table(
    "joint",
    (
        Field("name", NAME),
        _ACTIVE,
        Field("type", TEXT),
        Field("axis", AXIS),
        Field("initial_displacement", DISPLACEMENT, 0.0, "length or angle"),
        Field("initial_velocity", VELOCITY, 0.0, "per second; of six, the first three are linear"),
        Field("stiffness", NUMBERS, [], "force or torque per power of the displacement, ascending"),
        Field("damping", NUMBERS, [], "the same of the velocity", (("damping",), ("damping_coefficients",))),
        _EXTENSION_FIELD,
    ),
)
LIGHT = Table(
    "light",
    (
        Field("name", NAME, ""),
        Field("type", TEXT, "point"),
        Field("parent", ANY),
        Field("Ka", VECTOR, _ZERO),
        Field("Kd", VECTOR, [1.0, 1.0, 1.0]),
        Field("Ks", VECTOR, _ZERO),
    ),
)
RESTRAINT = Table(
    "restraint",
    (
        Field("name", NAME, ""),
        _ACTIVE,
        Field("type", TEXT, "spring"),
        Field("joint", TEXT, ""),
        Field("distance_type", TEXT, ""),
        Field("knot_points", NUMBERS, []),
        Field("coefficients", PIECES, [], "descending powers, a list for each piece between the knots"),
        _EXTENSION_FIELD,
    ),
)

#: Keys of the ends of joints and restraints.
END_KEYS = ("body_frame_pairs", "body_frame_pair", "parent", "child")
#: Elementary joints: kind of motion and axis in the frames.
ELEMENTARY: dict[str, tuple[str, tuple[float, float, float]]] = {
    f"{letter}{axis}": (kind, tuple(float(axis == other) for other in "xyz"))  # type: ignore[misc]
    for letter, kind in (("R", "rotation"), ("T", "translation"))
    for axis in "xyz"
}
#: Our types of all joint types of the program.
TYPES: dict[str, str] = {
    **{name: "revolute" if kind == "rotation" else "prismatic" for name, (kind, _) in ELEMENTARY.items()},
    "revolute": "revolute",
    "prismatic": "prismatic",
    "spherical": "ball",
    "float": "free",
    "rigid": "weld",
}
#: Keys of elements with a meaning to the program but none here; they stay in the document.
PRESERVED_KEYS = {
    "": ("terrain", "comment"),
    "fixed": ("terrain", "comment"),
    "assembly": ("force_modules", "comment"),
}
