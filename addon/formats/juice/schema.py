"""Schema of Juice files: every element with its kind, unit and default, in the order in which Juice writes them.

Reading, defaults, comparing and writing all follow these tables. Names and units are those of the Juice file format
document; defaults and older spellings are those of the program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...core.report import FormatError
from ..document.schema import FieldTable

Row = dict[str, Any]

#: Elements whose children count as those of their parent: the nesting of .jpm and .jm3 files.
TRANSPARENT = frozenset({"Component", "Joint", "DynamicsConstants", "ODE.Standard", "ODE.Iterative", "Model"})
#: Elements that group the components of a vector.
GROUPS = frozenset({"Position", "Rotation", "Orientation", "BoxDimensions", "Dimensions"})

NO_REFERENCE = "0"
_DECIMAL = re.compile(r"[+-]?[0-9]+\Z")
_HEXADECIMAL = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,8})\Z")


@dataclass(frozen=True)
class Kind:
    """Kind of a value.

    ``parse`` raises ValueError for invalid text, ``spell`` is its inverse for values of ``types``.
    """

    name: str
    parse: Callable[[str], Any]
    spell: Callable[[Any], str]
    types: tuple[type, ...] = (str,)

    def has(self, value: Any) -> bool:
        """Return whether a value is of this kind; integers have 32 bits."""
        return type(value) in self.types and (type(value) is not int or abs(value) < 2**31)


@dataclass(frozen=True)
class Field:
    """Field of an object, one element.

    Attributes:
        path: its tag, with its group's before a slash.
        kind: kind of its value.
        default: the program's default.
        attr: attribute of the record that holds the unchanged value, if any (others are computed, or kept in the
            record's ``extra``).
        unit: its unit, for documentation.
        old: other paths in older files.
        needed: False where its absence is not worth reporting.
    """

    path: str
    kind: Kind
    default: Any = None
    attr: str = ""
    unit: str = ""
    old: tuple[str, ...] = ()
    needed: bool = True


@dataclass(frozen=True)
class Table(FieldTable[Field]):
    """Fields of one kind of object, in order.

    ``old`` are older spellings of its tag, ``parts`` the tags of its other content.
    """

    tag: str
    fields: tuple[Field, ...]
    old: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    @cached_property
    def known(self) -> frozenset[str]:
        """All paths that have a meaning in it."""
        paths = (path for field in self.fields for path in (field.path, *field.old))
        return frozenset({*paths, *self.parts, "SerializationID"})

    @cached_property
    def defaults(self) -> Row:
        """Row with every field at its default, not to be changed."""
        return {field.path: field.default for field in self.fields}


def parse_number(text: str) -> float:
    """Parse a finite number with a decimal point, as C prints it (``1e-005`` too)."""
    value = float(text)
    if not math.isfinite(value) or "_" in text or not text.isascii():
        raise ValueError(text)
    return value


def parse_id(text: str) -> str:
    """Parse an ID: the number modulo 2**32, because Juice writes IDs signed and references unsigned.

    Anything that is not decimal is hexadecimal, as in some files.
    """
    if _DECIMAL.match(text):
        return str(int(text[:40]) % 2**32)
    match = _HEXADECIMAL.match(text)
    if match is None:
        raise ValueError(text)
    return str(int(match[1], 16))


def possible_ids(text: str) -> tuple[str, ...]:
    """Return the possible meanings of a reference: decimal, or a hexadecimal number that happens to have no letters."""
    found = [parse_id(text)]
    match = _HEXADECIMAL.match(text)
    if match is not None:
        found.append(str(int(match[1], 16)))
    return tuple(found)


def _parse_integer(text: str) -> int:
    value = parse_number(text)
    if value % 1.0:
        raise ValueError(text)
    return int(value)


#: The format document has 1 and 0 only; the program uses the first letter, also of these words.
_FLAGS = {"1": True, "true": True, "t": True, "yes": True, "y": True}
_FLAGS |= {"0": False, "false": False, "f": False, "no": False, "n": False}


def _parse_flag(text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise ValueError(text)
    return _FLAGS[text.lower()]


def _format_signed(value: str) -> str:
    number = int(value)
    return str(number - 2**32 if number >= 2**31 else number)


def format_juice_number(value: float) -> str:
    """Format a number with twelve significant digits.

    Degrees then round-trip to radians, and short numbers stay short.

    Raises:
        FormatError: it is not finite, as a product of large numbers may be.
    """
    if not math.isfinite(value):
        raise FormatError(
            "a number is too large to be written",
            remedy="Reduce sizes, masses or forces of the model.",
        )
    return f"{float(value) + 0.0:.12g}"  # + 0.0 removes the sign of a zero


TEXT = Kind("text", str, str)
NUMBER = Kind("number", parse_number, format_juice_number, (float, int))
INTEGER = Kind("whole number", _parse_integer, lambda value: str(int(value)), (int,))
FLAG = Kind("flag", _parse_flag, lambda value: "1" if value else "0", (bool,))
IDENTITY = Kind("ID", parse_id, _format_signed)
REFERENCE = Kind("reference", str, lambda value: value or NO_REFERENCE)
MOTOR_TYPE = Kind("motor type", lambda text: _parse_integer(text) == 2, lambda value: "2" if value else "1", (bool,))


def _vector(name: str, axes: str, default: float, unit: str, *old: str) -> tuple[Field, ...]:
    return tuple(
        Field(f"{name}/{axis}", NUMBER, default, unit=unit, old=tuple(f"{other}/{axis}" for other in old))
        for axis in axes
    )


_COMPONENT = (
    Field("ID", IDENTITY, attr="id", old=("SerializationID",)),
    Field("Name", TEXT, "", attr="name"),
    *_vector("Position", "XYZ", 0.0, "length"),
    Field("Rotation/Y", NUMBER, 0.0, unit="degrees", old=("Rotation/H", "Orientation/Y", "Orientation/H")),
    Field("Rotation/P", NUMBER, 0.0, unit="degrees", old=("Orientation/P",)),
    Field("Rotation/R", NUMBER, 0.0, unit="degrees", old=("Orientation/R",)),
    Field("Twin", REFERENCE, attr="twin", needed=False),
)

BODY = Table(
    "Body",
    (
        *_COMPONENT,
        *_vector("BoxDimensions", "XYZ", 1.0, "length", "Dimensions"),
        Field("TubeLength", NUMBER, 1.0, unit="length", needed=False),
        Field("TubeDiameter", NUMBER, 1.0, unit="length", needed=False),
        Field("BallDiameter", NUMBER, 1.0, unit="length", needed=False),
        Field("Shape", INTEGER, 1),
        Field("Mass", NUMBER, 1.0, attr="mass", unit="mass"),
    ),
)

_JOINT = (
    *_COMPONENT,
    Field("Body1", REFERENCE, attr="parent"),
    Field("Body2", REFERENCE, attr="child"),
    Field("Gain", NUMBER, 10.0),
    Field("MaxForce", NUMBER, 100.0, unit="force or torque"),
    Field("LoStopValue", NUMBER, 0.0, unit="degrees or length"),
    Field("HiStopValue", NUMBER, 0.0, unit="degrees or length"),
    Field("LoStopFlag", FLAG, False),
    Field("HiStopFlag", FLAG, False),
    # extension data, ignored by the program: gain and force in the source format, if others were chosen for Juice
    Field("SourceGain", NUMBER, needed=False),
    Field("SourceMaxForce", NUMBER, needed=False),
)
_DISPLAY_SIZE = (Field("Length", NUMBER, 1.0, unit="length"), Field("Diameter", NUMBER, 0.25, unit="length"))

REVOLUTE = Table("RevoluteJoint", (*_JOINT, *_DISPLAY_SIZE))
PRISMATIC = Table("PrismaticJoint", (*_JOINT, *_DISPLAY_SIZE))
SPHERICAL = Table("SphericalJoint", (*_JOINT, _DISPLAY_SIZE[1]))

#: Joint tables by our joint type.
JOINTS = {"revolute": REVOLUTE, "prismatic": PRISMATIC, "ball": SPHERICAL}
JOINT_TYPE = {table.tag: type_ for type_, table in JOINTS.items()}
#: Lists of a model, in order, with the tables of their objects.
CONTAINERS: dict[str, Table] = {
    "Bodies": BODY,
    "RevoluteJoints": REVOLUTE,
    "PrismaticJoints": PRISMATIC,
    "SphericalJoints": SPHERICAL,
}

MODEL = Table(
    "Model",
    (
        Field("Gravity", NUMBER, 9.81, unit="length/s2, downwards"),
        Field("Friction", NUMBER, 10.0, attr="friction"),
        Field("ERP", NUMBER, 0.5, attr="erp"),
        Field("CFM", NUMBER, 0.01, attr="cfm"),
        Field("StandardSpeed", NUMBER, 15.0, attr="standard_speed", unit="cycles per minute"),
        Field("SpeedFactor", NUMBER, 1.0, attr="speed_factor"),
        Field("PoseDelay", NUMBER, 1.0, attr="pose_delay", unit="s"),
        Field("PosePhase", NUMBER, 0.0, attr="pose_phase", unit="degrees"),
    ),
    parts=(
        *CONTAINERS,
        *(table.tag for table in CONTAINERS.values()),
        *("Name", "Behaviors", "Clockwork", "Behavior", "NetworkBehavior"),
    ),
)
WORLD_PATHS = frozenset({"Friction", "ERP", "CFM"})
#: Simulation step of the program in s, and height of its ground.
TIME_STEP = 0.01
GROUND = 0.0
