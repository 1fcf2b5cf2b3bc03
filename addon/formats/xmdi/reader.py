"""Reader of XMDI: the motions of a document with their positions in the text.

The published text of the specification has lost its tags, so elements are found by structure: every element called
``motion`` counts, at any depth and in any namespace.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from lxml import etree

from ...core.model import Array, Motion, Source, Trajectory
from ...core.report import FormatError, Message, Report, count_with_noun
from ..document.cache import attach_document
from ..text import xml_reader
from ..text.numbers import DECIMAL, number_remedy, parse_numbers
from ..text.xml_editor import Layout

FRAME_SECONDS = 0.032
POSITION_TAGS = ("position", "positions")
FRAME_TAGS = ("frames", "frame")
#: Attribute of a motion for the interpolation between keyframes, and its values for constant interpolation.
INTERPOLATION = "interpolation"
HOLD_INTERPOLATIONS = ("constant", "step", "hold")
MAX_LINE_NUMBER = 65535  # libxml2's limit
#: Limit of motions in a file; each becomes an Action.
MAX_MOTIONS = 10_000
#: Limit of warnings whose line beyond ``MAX_LINE_NUMBER`` is found: each costs a scan of the text.
MAX_SEARCHED = 20

_WORD = re.compile(r"[^ \t\r\n]+")


@dataclass(slots=True)
class ServoElement:
    """Servo of a document.

    ``values`` and ``frames`` are in document order; ``kept`` are the indices of those that count, ordered by frame, or
    None where all count and are in order.
    """

    element: Any
    positions: Any
    counts: Any
    values: Array
    frames: Array
    kept: np.ndarray | None

    @property
    def name(self) -> str:
        """Name of the servo."""
        return str(self.element.get("name"))

    @property
    def times(self) -> Array:
        """Times (n,) of its keyframes in s, ascending."""
        return (self.frames if self.kept is None else self.frames[self.kept]) * FRAME_SECONDS

    @property
    def key_values(self) -> Array:
        """Values (n,) of its keyframes."""
        return self.values.copy() if self.kept is None else self.values[self.kept]


@dataclass(slots=True)
class MotionElement:
    """Motion of a document."""

    element: Any
    servos: list[ServoElement]

    @property
    def name(self) -> str:
        """Name of the motion."""
        return str(self.element.get("name"))

    @property
    def attributes(self) -> dict[str, str]:
        """Other attributes of its element."""
        return {key: value for key, value in xml_reader.element_attributes(self.element).items() if key != "name"}


@dataclass
class Document:
    """Parsed document: its text, the text after repairs, and its motions."""

    text: str
    sound: str
    root: etree._Element
    motions: list[MotionElement]


def is_holding(attributes: dict[str, str]) -> bool:
    """Return whether the attributes of a motion declare constant interpolation."""
    return attributes.get(INTERPOLATION, "").strip().lower() in HOLD_INTERPOLATIONS


def document_motions(document: Document, source: Source) -> list[Motion]:
    """Return the motions, with their indices in the document, all of one source."""
    attach_document(source, document)
    found = []
    for index, each in enumerate(document.motions):
        attributes = each.attributes
        trajectories = [
            Trajectory(servo.name, servo.times, servo.key_values, "constant" if is_holding(attributes) else "linear")
            for servo in each.servos
        ]
        found.append(Motion(each.name, trajectories, attributes, source, index))
    return found


def ascending_order(frames: Array) -> np.ndarray | None:
    """Return the indices that sort frames in ascending order, of equal ones only the last; None if already sorted."""
    if (np.diff(frames) > 0).all():
        return None
    order = np.argsort(frames, kind="stable")
    last = np.ones(len(order), dtype=bool)
    last[:-1] = np.diff(frames[order]) > 0
    return order[last]


class Reader:
    """Reader of one document.

    Raises:
        FormatError: with line and element, where it is not XMDI, a motion or servo has no name, a servo not exactly one
            ``position`` and one ``frames``, lists are of unequal length, or a number is invalid.
    """

    def __init__(self, text: str, sound: str, root: etree._Element, path: str, report: Report) -> None:
        self.text, self.sound, self.root, self.path, self.report = text, sound, root, path, report
        self.searched = 0
        self.ignored: dict[tuple[str, str], list[Any]] = {}
        self.known: dict[str, Array] = {}  # servos often have the same frames

    def document(self) -> Document:
        """Read the whole document."""
        elements = list(self.root.iter("motion"))
        if not elements:
            raise self._error(
                "the document holds no motion element, so it is not XMDI", self.root, "Choose a file of servo motion."
            )
        if len(elements) > MAX_MOTIONS:
            raise self._error(
                f"the document holds {len(elements)} motions, more than the {MAX_MOTIONS} that are read",
                elements[MAX_MOTIONS], "Split it into several files.",
            )  # fmt: skip
        motions = [self._motion(element) for element in elements]
        for (code, message), found in self.ignored.items():
            times = f" ({len(found)} times, here first)" if len(found) > 1 else ""
            self._warn(code, message + times, found[0])
        return Document(self.text, self.sound, self.root, motions)

    def _motion(self, element: Any) -> MotionElement:
        name = self._name_of(element)
        servos = []
        for child in element:
            if child.tag == "servo":
                servos.append(self._servo(child))
            elif child.tag != "motion":  # nested motions are read separately
                self._ignore("ignored-element", f"a motion holds servos only; <{child.tag}> was left out", child)
        if not servos:
            self._warn("empty-motion", f"motion {name!r} has no servos", element)
        names = Counter(servo.name for servo in servos)
        for repeated in sorted(each for each, count in names.items() if count > 1):
            message = Message("motion {} has servo {} more than once; all are kept", repr(name), repr(repeated))
            self._warn("repeated-servo", message, element)
        return MotionElement(element, servos)

    def _servo(self, element: Any) -> ServoElement:
        name = self._name_of(element)
        positions, counts = self._only(element, POSITION_TAGS), self._only(element, FRAME_TAGS)
        if element.index(counts) < element.index(positions):
            self._warn("order", "frames are before the positions; they were read", counts)
        for child in element:
            if child not in (positions, counts):
                self._ignore("ignored-element", f"<{child.tag}> in a servo was left out", child)
        for key in element.attrib:
            if key != "name":
                self._ignore("ignored-attribute", f"attribute {key!r} of a servo was left out", element)
        values, frames = self._numbers(positions), self._numbers(counts, shared=True)
        if len(values) != len(frames):
            message = Message(
                "servo {} has {} but {}",
                repr(name),
                count_with_noun(len(values), "position"),
                count_with_noun(len(frames), "frame"),
            )
            raise self._error(message, element, "Give every position its frame.")
        if not len(values):
            self._warn("empty-servo", f"servo {name!r} has no keyframes", element)
        kept = ascending_order(frames * FRAME_SECONDS)  # different frames may have one time
        if kept is not None:
            message = Message("frames of servo {} were sorted; of equal ones the last is used", repr(name))
            self._warn("sorted-frames", message, counts)
        return ServoElement(element, positions, counts, values, frames, kept)

    def _name_of(self, element: Any) -> str:
        name = element.get("name")
        if name is None:
            raise self._error(f"this {element.tag} has no name", element, 'Give it one: name="...".')
        return str(name)

    def _only(self, element: Any, tags: tuple[str, ...]) -> Any:
        """Return the one child with one of these tags."""
        found = [child for child in element if child.tag in tags]
        if len(found) != 1:
            raise self._error(
                f"servo {element.get('name')!r} has {'more than one' if found else 'no'} <{tags[0]}>",
                found[1] if found else element,
                "A servo holds one position list and one frames list.",
            )
        return found[0]

    def _numbers(self, element: Any, shared: bool = False) -> Array:
        if element.attrib:
            message = Message("<{}> has no attributes in XMDI; they were ignored", element.tag)
            self._ignore("ignored-attribute", message, element)
        if len(element):
            raise self._error(
                f"<{element.tag}> holds <{element[0].tag}> where only numbers may stand", element[0],
                "Write the numbers with spaces between them.",
            )  # fmt: skip
        text = element.text or ""
        if text in self.known:
            return self.known[text]
        found = parse_numbers(text)
        if found is None:
            found = self._numbers_one_by_one(element, text)
        if shared:
            self.known = {text: found}  # only the next servo is likely to share it
        return found

    def _numbers_one_by_one(self, element: Any, text: str) -> Array:
        found = []
        for match in _WORD.finditer(text):
            value = float(match[0]) if DECIMAL.fullmatch(match[0]) else math.nan
            if not math.isfinite(value):
                error = self._error(
                    f"{_shorten(match[0])!r} is not a number", element,
                    number_remedy(match[0], "Write numbers like -0.7 with spaces between them."),
                )  # fmt: skip
                error.line = (error.line or 1) + text.count("\n", 0, match.start())
                raise error
            found.append(value)
        return np.array(found, dtype=np.float64)

    def _error(self, message: str, element: Any, remedy: str) -> FormatError:
        return FormatError(
            message, path=self.path, line=self._line_of(element), where=xml_reader.element_path(element), remedy=remedy
        )

    def _ignore(self, code: str, message: str, element: Any) -> None:
        """Record an element that has no effect; reported once per kind."""
        self.ignored.setdefault((code, message), []).append(element)

    def _warn(self, code: str, message: str, element: Any) -> None:
        line = xml_reader.source_line(element)
        if line is not None and line >= MAX_LINE_NUMBER:
            self.searched += 1
            line = self._line_of(element) if self.searched <= MAX_SEARCHED else None
        self.report.warn(code, message, line, partial(xml_reader.element_path, element))

    def _line_of(self, element: Any) -> int | None:
        line = xml_reader.source_line(element)
        if line is None or line < MAX_LINE_NUMBER:
            return line
        return self.sound.count("\n", 0, self._layout.span(element).inner) + 1

    @cached_property
    def _layout(self) -> Layout:
        return Layout(self.sound, self.root)


def _shorten(word: str) -> str:
    return word if len(word) <= 40 else word[:40] + "..."
