"""Rows and values of an x_xy document: parsing, formatting, rotations, and mass properties of geoms.

The loader splits at single blanks and takes anything numeric for numbers, even a name; text that it rejects but whose
meaning is clear is read here and reported. ``euler`` is the active rotation ``Rz @ Ry @ Rx`` in degrees. ``quat`` (w x
y z) is passive: it maps the parent's coordinates to the child's, so that the orientation is its inverse. The program
does not normalize it: positions of child bodies are scaled by the square of its length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lxml import etree

from ...core.model import DOF_SIZE, Array, Shape, identity
from ...core.naming import UniqueNamer
from ...core.record_utils import ZERO_TENSOR, ZERO_VECTOR
from ...core.report import FormatError, Message, Report
from ...core.transforms import bitwise_equal, nearest_euler_angles, rotation_matrix
from ..text.xml_reader import element_attributes, element_path, source_line
from .comments import ExtensionData
from .schema import ATTRIBUTES, COLORS, GEOMS, OLD_ATTRIBUTES, Block, GeomColor

#: Key of a link: "body" or "frame", the id of the body (or the name of the frame), and the index of the step.
Key = tuple[str, str, int]


@dataclass(slots=True)
class GeomRow:
    """Geom: type, ``dim`` in the file's order, mass, pose in its body, and its colors as the file spells them."""

    kind: str
    dim: tuple[float, ...]
    mass: float = 0.0
    pose: Array = field(default_factory=identity)
    color: str = ""
    edge_color: str = ""


@dataclass(slots=True)
class OmcRow:
    """Marker of optical motion capture: its segment, its number there, and its position in the body."""

    name: str
    pos_marker: str
    pos: tuple[float, ...] = (0.0, 0.0, 0.0)


@dataclass(slots=True)
class LinkRow:
    """Body of the file.

    Attributes:
        name: its name.
        joint: name of its joint.
        parent: index of its parent, None for the world.
        pose: its pose at rest in the parent.
        stretch: factor by which the program scales the positions of its children.
        numbers: lists of its joint and the range of its position, if given.
        geoms: its geoms.
        omcs: its markers.
        note: its extension data.
        key: its key.
        line: its line in the document.
    """

    name: str
    joint: str
    parent: int | None = None
    pose: Array = field(default_factory=identity)
    stretch: float = 1.0
    numbers: dict[str, tuple[float, ...]] = field(default_factory=dict)
    geoms: list[GeomRow] = field(default_factory=list)
    omcs: list[OmcRow] = field(default_factory=list)
    note: ExtensionData = field(default_factory=dict)
    key: Key = ("", "", 0)
    line: int | None = None


@dataclass
class ModelRow:
    """Whole document, in which parents precede their children."""

    model: str | None = None
    gravity: tuple[float, ...] = (0.0, 0.0, 9.81)
    dt: float | None = None
    links: list[LinkRow] = field(default_factory=list)
    geoms: list[GeomRow] = field(default_factory=list)  # geoms of the world
    note: ExtensionData = field(default_factory=dict)


#: Tolerance of equal poses and numbers.
EQUAL_TOLERANCE = 1e-12
#: An edit of one number beyond ``EDITED_TOLERANCE`` may leave 32-bit rounding errors in its neighbors, which count as
#: equal within ``ROUNDING_TOLERANCE``.
EDITED_TOLERANCE, ROUNDING_TOLERANCE = 1e-5, 3e-7


RotationRows = tuple[tuple[float, float, float], ...]
#: Rows of the identity.
IDENTITY_ROWS: RotationRows = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def rotation_from_euler(degrees: Sequence[float]) -> Array:
    """Return the rotation matrix (3, 3) of ``euler``, exact for quarter turns."""
    return np.array(rotation_rows_from_euler(degrees))


def rotation_rows_from_euler(degrees: Sequence[float]) -> RotationRows:
    """Return the rows of the rotation matrix of ``euler``, exact for quarter turns."""
    (cx, sx), (cy, sy), (cz, sz) = (_cos_sin(angle) for angle in degrees)
    return (
        (cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx),
        (sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx),
        (-sy, cy * sx, cy * cx),
    )


def rotation_from_quat(quat: Sequence[float]) -> Array:
    """Return the rotation matrix (3, 3) of ``quat`` of any length; the identity for zero."""
    return np.array(rotation_rows_from_quat(quat))


def rotation_rows_from_quat(quat: Sequence[float]) -> RotationRows:
    """Return the rows of the rotation matrix of ``quat`` of any length; the identity for zero."""
    w, x, y, z = quat
    square = w * w + x * x + y * y + z * z
    if square == 0.0:
        return IDENTITY_ROWS
    if math.isinf(square):  # the squares overflow
        longest = max(map(abs, quat))
        return rotation_rows_from_quat([part / longest for part in quat])
    s = 2.0 / square
    return (
        (1 - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y)),
        (s * (x * y - w * z), 1 - s * (x * x + z * z), s * (y * z + w * x)),
        (s * (x * z + w * y), s * (y * z - w * x), 1 - s * (x * x + y * y)),
    )


def pose_from_rows(position: Sequence[float], rows: RotationRows) -> Array:
    """Return the pose (4, 4) of a position and the rows of a rotation."""
    x, y, z = position
    one, two, three = rows
    return np.array([(*one, x), (*two, y), (*three, z), (0.0, 0.0, 0.0, 1.0)])


def euler_from_rotation(turn: Array, near: Sequence[float] = (0.0, 0.0, 0.0)) -> tuple[float, ...]:
    """Return the ``euler`` angles in degrees of a rotation matrix, of all solutions those nearest to ``near``."""
    flat = math.hypot(turn[0, 0], turn[1, 0])
    y = math.atan2(-turn[2, 0], flat)
    upright = flat < EQUAL_TOLERANCE  # gimbal lock: x and z rotate about one line, so z is kept
    z = math.radians(near[2]) if upright else math.atan2(turn[1, 0], turn[0, 0])
    rest = (
        rotation_from_euler((0.0, math.degrees(y), math.degrees(z))).T @ turn
    )  # the remaining rotation about x, exact for any z
    x = math.atan2(rest[2, 1], rest[2, 2])
    return nearest_euler_angles((x, y, z), near, upright)


def quat_from_rotation(turn: Array, near: Sequence[float] = (1.0, 0.0, 0.0, 0.0)) -> tuple[float, ...]:
    """Return the ``quat`` of a rotation matrix, with the length and sign of ``near``."""
    symmetric = np.array(
        [
            [1 + turn[0, 0] + turn[1, 1] + turn[2, 2], 0, 0, 0],
            [turn[1, 2] - turn[2, 1], 1 + turn[0, 0] - turn[1, 1] - turn[2, 2], 0, 0],
            [turn[2, 0] - turn[0, 2], turn[0, 1] + turn[1, 0], 1 - turn[0, 0] + turn[1, 1] - turn[2, 2], 0],
            [
                turn[0, 1] - turn[1, 0],
                turn[0, 2] + turn[2, 0],
                turn[1, 2] + turn[2, 1],
                1 - turn[0, 0] - turn[1, 1] + turn[2, 2],
            ],
        ]
    )
    symmetric += np.tril(symmetric, -1).T  # four times the outer product of the quaternion with itself
    column = symmetric[int(np.argmax(np.diag(symmetric)))]
    length = math.hypot(*near) or 1.0
    # divided first: the square of the length may overflow
    sign = -1.0 if column @ (np.asarray(near) / length) < 0 else 1.0
    return tuple((column / np.linalg.norm(column) * (sign * length)).tolist())


def is_close(a: Array, b: Array, tolerance: float = EQUAL_TOLERANCE) -> bool:
    """Return whether two arrays are equal up to rounding."""
    return bitwise_equal(a, b) or bool((np.abs(a - b) <= tolerance * (1.0 + np.abs(b))).all())


def geom_moments(kind: str, dim: Sequence[float], mass: float) -> tuple[float, float, float]:
    """Return the program's moments of inertia of a geom about its center, along its own axes.

    Cylinders and capsules count as along x, although they are drawn along z.
    """
    if kind == "box":
        x, y, z = (length * length for length in dim)
        return mass / 12.0 * (y + z), mass / 12.0 * (x + z), mass / 12.0 * (x + y)
    if kind == "sphere":
        moment = 0.4 * mass * dim[0] * dim[0]
        return moment, moment, moment
    if kind not in {"cylinder", "capsule"}:
        return 0.0, 0.0, 0.0
    radius, length = map(np.float64, dim)  # numpy's powers do not raise
    with np.errstate(all="ignore"):
        tube, ball = math.pi * radius**2 * length, 4.0 / 3.0 * math.pi * radius**3
        share = 1.0 if kind == "cylinder" else tube / (tube + ball)
        along = share * radius**2 / 2.0 + (1.0 - share) * 0.4 * radius**2
        across = share * (radius**2 / 4.0 + length**2 / 12.0) + (1.0 - share) * (
            0.4 * radius**2 + 0.375 * radius * length + 0.25 * length**2
        )
    return mass * float(along), mass * float(across), mass * float(across)


def geom_mass_properties(geoms: Sequence[tuple[str, Sequence[float], float, Array]]) -> tuple[float, Array, Array]:
    """Return mass, center of mass (3,) and inertia tensor (3, 3) about it, of geoms.

    Geoms are given as kind, dim, mass and pose (4, 4) in their body.
    """
    if not geoms:
        return 0.0, ZERO_VECTOR, ZERO_TENSOR
    mass = float(sum(geom[2] for geom in geoms))
    poses = [geom[3].tolist() for geom in geoms]
    com = [0.0, 0.0, 0.0]
    if mass:
        parts = [geom[2] for geom in geoms]
        com = [sum(part * pose[i][3] for part, pose in zip(parts, poses, strict=True)) / mass for i in range(3)]
    xx = yy = zz = xy = xz = yz = 0.0
    for (kind, dim, part, _), (one, two, three, _) in zip(geoms, poses, strict=True):
        if not part:
            continue  # without mass it may be at any distance, even one that overflows
        a, b, c = geom_moments(kind, dim, part)
        x, y, z = one[3] - com[0], two[3] - com[1], three[3] - com[2]
        xx += a * one[0] * one[0] + b * one[1] * one[1] + c * one[2] * one[2] + part * (y * y + z * z)
        yy += a * two[0] * two[0] + b * two[1] * two[1] + c * two[2] * two[2] + part * (x * x + z * z)
        zz += a * three[0] * three[0] + b * three[1] * three[1] + c * three[2] * three[2] + part * (x * x + y * y)
        xy += a * one[0] * two[0] + b * one[1] * two[1] + c * one[2] * two[2] - part * x * y
        xz += a * one[0] * three[0] + b * one[1] * three[1] + c * one[2] * three[2] - part * x * z
        yz += a * two[0] * three[0] + b * two[1] * three[1] + c * two[2] * three[2] - part * y * z
    return mass, np.array(com), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def equivalent_box(mass: float, inertia: Array) -> tuple[Array, Array]:
    """Return edge lengths (3,) and orientation (3, 3) of the box with this mass and inertia tensor about its center.

    An edge that no box can have (negative square) is zero.

    Raises:
        FormatError: it is not finite.
    """
    moments, turn = np.linalg.eigh(inertia)
    if np.linalg.det(turn) < 0:
        turn[:, 2] = -turn[:, 2]
    with np.errstate(all="ignore"):
        squares = 6.0 / np.float64(mass) * (moments.sum() - 2.0 * moments)
    if not np.isfinite(squares).all():
        raise FormatError(
            f"moments of inertia {moments} do not fit the mass {mass:g}",
            remedy="Change the mass of the body, or its moments of inertia.",
        )
    return np.sqrt(np.maximum(squares, 0.0)), turn


def _cos_sin(degrees: float) -> tuple[float, float]:
    if degrees % 90.0 == 0.0:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[int(degrees // 90.0) % 4]
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


#: Attributes of each element, as sets.
_KNOWN_ATTRIBUTES = {tag: frozenset(names) for tag, names in ATTRIBUTES.items()}
#: Largest number that fifteen digits can hold: larger ones would be rounded to infinity.
_MAX_FLOAT = 1.79769313486231e308
_SEPARATORS = re.compile(r"[\s,;]+", re.ASCII)


def format_x_xy_number(value: float) -> str:
    """Format a number as short as possible within 15 digits; in full where these overflow."""
    if abs(value) > _MAX_FLOAT:
        return repr(float(value))
    return f"{float(value) + 0.0:.15g}"  # + 0.0 removes the sign of a zero


def format_x_xy_numbers(values: Sequence[float] | Array) -> str:
    """Format numbers with one blank between them, the only separator that the loader reads."""
    return " ".join(format_x_xy_number(value) for value in values)


@dataclass
class ReportCollector:
    """Collector of report entries, reported once per kind with their first line and count."""

    report: Report
    _found: dict[tuple[str, str, str], list[int | None]] = field(default_factory=dict)

    def add(self, severity: str, code: str, message: str, element: etree._Element | None = None) -> None:
        """Add an entry about an element."""
        self._found.setdefault((severity, code, message), []).append(None if element is None else source_line(element))

    def warn(self, code: str, message: str, element: etree._Element | None = None) -> None:
        """Warn of a repair or of something that the program would reject."""
        self.add("warning", code, message, element)

    def take(self, other: ReportCollector) -> None:
        """Add the entries of another collector."""
        for what, lines in other._found.items():
            self._found.setdefault(what, []).extend(lines)

    def report_all(self) -> None:
        """Report all entries."""
        for (severity, code, message), lines in self._found.items():
            times = f" ({len(lines)} times, here first)" if len(lines) > 1 else ""
            self.report.add(severity, code, message + times, lines[0])  # type: ignore[arg-type]


@dataclass
class Reader:
    """Reader of attributes.

    Raises:
        FormatError: with file, line and element, where a number is invalid.
    """

    path: str
    remarks: ReportCollector
    defaults: dict[str, dict[str, str]] = field(default_factory=dict)

    def attributes(self, element: etree._Element) -> dict[str, str]:
        """Return an element's attributes under the program's names, completed by the document's defaults."""
        tag = str(element.tag)
        own = self.own(element)
        if tag not in self.defaults:
            return own
        mixed = {name: text for name, text in self.defaults[tag].items() if name not in own}
        for name, rival in (("quat", "euler"), ("euler", "quat")):
            if name in mixed and rival in own:
                del mixed[name]
                message = Message(
                    "a {} has {} and the defaults have {}, which ring rejects; {} is used", tag, rival, name, rival
                )
                self.remarks.warn("two-rotations", message, element)
        return own | mixed

    def own(self, element: etree._Element) -> dict[str, str]:
        """Return an element's own attributes under the program's names."""
        tag = str(element.tag)
        known, old = ATTRIBUTES.get(tag, ()), OLD_ATTRIBUTES.get(tag, {})
        given = found = element_attributes(element)
        if found.keys() <= _KNOWN_ATTRIBUTES.get(tag, frozenset()) and not ("quat" in found and "euler" in found):
            return found
        found = {}
        for name, text in given.items():
            right = old.get(name, name)
            if right not in known and tag != "defaults":
                self.remarks.warn(
                    "unknown-attribute", Message("{} has no attribute {}; ring rejects it", tag, name), element
                )
            elif right != name and right in given:
                self.remarks.warn(
                    "unknown-attribute", Message("{} has both {} and {}; {} is used", tag, name, right, right), element
                )
            else:
                if right != name:
                    message = Message("{} has {}, which ring rejects; it was read as {}", tag, name, right)
                    self.remarks.warn("other-spelling", message, element)
                found[right] = text
        if "quat" in found and "euler" in found:
            self.remarks.warn("two-rotations", Message("a {} has both quat and euler; quat is used", tag), element)
            del found["euler"]
        return found

    def numbers(self, element: etree._Element, name: str, text: str) -> list[float]:
        """Return all numbers of an attribute, with any separators.

        Raises:
            FormatError: one is not finite or no number.
        """
        plain = _plain_numbers(text)
        if plain is not None:
            return plain
        pieces = [piece for piece in _SEPARATORS.split(text) if piece]
        try:
            values = [_parse_number(piece) for piece in pieces]
        except ValueError:
            shown = text if len(text) <= 40 else text[:40] + "..."
            raise FormatError(
                f'{name}="{shown}" has values that are not finite numbers',
                path=self.path,
                line=source_line(element),
                where=element_path(element),
                remedy='Write numbers separated by one space, such as "0.5 0 -1.25".',
            ) from None
        if len(values) != len(text.split(" ")):
            message = Message("the numbers of {} are not separated by one space each, which ring needs", name)
            self.remarks.warn("separators", message, element)
        return values

    def vector(
        self, element: etree._Element, name: str, found: dict[str, str], default: Sequence[float]
    ) -> tuple[float, ...]:
        """Return an attribute with as many numbers as its default, filled from it or truncated."""
        if name not in found:
            return tuple(default)
        values = self.numbers(element, name, found[name])
        if len(values) != len(default):
            what = f"{name} of a {element.tag} has {len(values)} numbers instead of {len(default)}"
            rest = format_x_xy_numbers(default[len(values) :])
            repair = "the rest is ignored" if len(values) > len(default) else f"the rest is {rest}"
            self.remarks.warn("repaired-count", Message("{}; {}", what, repair), element)
        return (*values[: len(default)], *default[len(values) :])

    def color(self, element: etree._Element, text: str | None) -> GeomColor | None:
        """Return a color given by numbers or name; None if absent, and for a name unknown to the program."""
        color = parse_color(text or "")
        if text is None or color is not None:
            return color
        self.remarks.warn("unknown-color", Message("color '{}' is unknown in ring; none is used", text), element)
        return None


def parse_color(text: str) -> GeomColor | None:
    """Return a color given by three or four numbers or its name; None for anything else."""
    if not text:
        return None
    if text.strip() in COLORS:
        return COLORS[text.strip()]
    try:
        values = [_parse_number(piece) for piece in _SEPARATORS.split(text) if piece]
    except ValueError:
        return None
    if len(values) not in {3, 4}:
        return None
    red, green, blue, alpha = (*values, 1.0)[:4]
    return red, green, blue, alpha


def _plain_numbers(text: str) -> list[float] | None:
    """Return the numbers of a text of finite ones with one blank between them; None for any other text."""
    try:
        values = list(map(float, text.split(" ")))
    except ValueError:
        return None
    plain = math.isfinite(sum(values)) and text.isascii() and "_" not in text
    return values if plain else None


def _parse_number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or "_" in text or not text.isascii():
        raise ValueError(text)
    return value


_NUMERIC_NAME_PREFIX = "_"


def is_numeric(name: str) -> bool:
    """Return whether the program takes a name for numbers."""
    if name[:1].isalpha() and name[0] not in "iInN":  # as in "inf" and "nan"
        return False
    try:
        return bool([float(piece) for piece in name.split(" ")])
    except ValueError:
        return False


def safe_name(name: str) -> str:
    """Return a name as it is written: numeric ones, and marked numeric ones, get a mark."""
    return _NUMERIC_NAME_PREFIX + name if is_numeric(name.lstrip(_NUMERIC_NAME_PREFIX)) else name


def restore_name(name: str) -> str:
    """Return the name before ``safe_name``; other names unchanged."""
    return name.removeprefix(_NUMERIC_NAME_PREFIX) if is_numeric(name.lstrip(_NUMERIC_NAME_PREFIX)) else name


def unique_element_names() -> UniqueNamer:
    """Return a namer of unique names: a repeated one gets a number in brackets."""
    return UniqueNamer(lambda name, number: f"{name} ({number})", 2)


def shape_from_row(row: GeomRow) -> Shape:
    """Return the shape of a geom; a fully transparent one is neither visual nor collision."""
    kind = GEOMS[row.kind]
    color = parse_color(row.color)
    hidden = color is not None and color[3] == 0.0
    extra: dict[str, Any] = {} if row.kind == "xyz" else {"mass": row.mass}
    if row.color and (color is None or row.color in COLORS):
        extra["color"] = row.color
    if row.edge_color:
        extra["edge_color"] = row.edge_color
    return Shape(
        kind.shape,
        dict(zip(kind.sizes, row.dim, strict=True)),
        row.pose,
        visual=not hidden,
        collision=not hidden and row.kind != "xyz",
        color=color,
        extra=extra,
    )


def rest_numbers(block: Block, values: Sequence[float]) -> tuple[float, ...]:
    """Return the file's numbers for the rest position of a spring: the inverse of ``_spring_rest``."""
    if DOF_SIZE[block.kind] == 1:
        return tuple(values)
    return (*quat_from_rotation(rotation_matrix(np.array(values[:3]))), *values[3:])
