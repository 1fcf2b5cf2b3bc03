"""XMDI read: the motions of a document, and where in it everything stands.

The published text of the specification lost its tags, so reading goes by structure: every element called ``motion``
counts, wherever it stands and in whatever namespace.
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
from ...core.report import FormatError, Report
from ..document.cache import attach_document
from ..text import xml_reader as xml
from ..text.numbers import DECIMAL, number_remedy, parse_numbers
from ..text.xml_editor import Layout

FRAME_SECONDS = 0.032
POSITION_TAGS = ("position", "positions")
FRAME_TAGS = ("frames", "frame")
#: The attribute of a motion that says how to go from key to key, and its values for holding a value until the next.
INTERPOLATION = "interpolation"
HOLD_INTERPOLATIONS = ("constant", "step", "hold")
MAX_LINE_NUMBER = 65535  # libxml2 counts no further
#: More motions than any file has; each becomes an Action.
MAX_MOTIONS = 10_000
#: So many warnings tell where behind the last line that is counted they are: each costs a walk over the text.
MAX_SEARCHED = 20

_WORD = re.compile(r"[^ \t\r\n]+")


@dataclass(slots=True)
class ServoElement:
    """A servo of a document.

    ``values`` and ``frames`` stand as they do there; ``kept`` are the places of those that count, in the order of their
    frames, or None where they stand so and all count.
    """

    element: Any
    positions: Any
    counts: Any
    values: Array
    frames: Array
    kept: np.ndarray | None

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.element.get("name"))

    @property
    def times(self) -> Array:
        """Its keys' times (s), ascending, (n,)."""
        return (self.frames if self.kept is None else self.frames[self.kept]) * FRAME_SECONDS

    @property
    def key_values(self) -> Array:
        """Its keys' values, (n,)."""
        return self.values.copy() if self.kept is None else self.values[self.kept]


@dataclass(slots=True)
class MotionElement:
    """A motion of a document."""

    element: Any
    servos: list[ServoElement]

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.element.get("name"))

    @property
    def attributes(self) -> dict[str, str]:
        """Return what its element says besides."""
        return {key: value for key, value in xml.element_attributes(self.element).items() if key != "name"}


@dataclass
class Document:
    """A document: its text, the same made sound (where it was not), and what is in it."""

    text: str
    sound: str
    root: etree._Element
    motions: list[MotionElement]


def is_holding(attributes: dict[str, str]) -> bool:
    """Return whether a motion with these attributes holds its values until the next key."""
    return attributes.get(INTERPOLATION, "").strip().lower() in HOLD_INTERPOLATIONS


def document_motions(document: Document, source: Source) -> list[Motion]:
    """The motions, numbered in their order, all of the one source."""
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
    """The places of the frames in ascending order, of equal ones only the last; None where they all are so already."""
    if (np.diff(frames) > 0).all():
        return None
    order = np.argsort(frames, kind="stable")
    last = np.ones(len(order), dtype=bool)
    last[:-1] = np.diff(frames[order]) > 0
    return order[last]


class Reader:
    """Reads a document.

    Raises FormatError with line and element for what is not XMDI, a motion or servo without a name, a servo without
    exactly one ``position`` and one ``frames``, lists of unequal length, and what is not a number.
    """

    def __init__(self, text: str, sound: str, root: etree._Element, path: str, report: Report) -> None:
        self.text, self.sound, self.root, self.path, self.report = text, sound, root, path, report
        self.searched = 0
        self.ignored: dict[tuple[str, str], list[Any]] = {}
        self.known: dict[str, Array] = {}  # servos often share their frames

    def document(self) -> Document:
        """The whole document."""
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
            elif child.tag != "motion":  # one inside another is read by itself
                self._ignore("ignored-element", f"a motion holds servos only; <{child.tag}> was left out", child)
        if not servos:
            self._warn("empty-motion", f"motion {name!r} holds no servos", element)
        names = Counter(servo.name for servo in servos)
        for repeated in sorted(each for each, count in names.items() if count > 1):
            message = f"motion {name!r} holds servo {repeated!r} more than once; all are kept"
            self._warn("repeated-servo", message, element)
        return MotionElement(element, servos)

    def _servo(self, element: Any) -> ServoElement:
        name = self._name_of(element)
        positions, counts = self._only(element, POSITION_TAGS), self._only(element, FRAME_TAGS)
        if element.index(counts) < element.index(positions):
            self._warn("order", "frames stand before the positions; they were read all the same", counts)
        for child in element:
            if child not in (positions, counts):
                self._ignore("ignored-element", f"<{child.tag}> in a servo was left out", child)
        for key in element.attrib:
            if key != "name":
                self._ignore("ignored-attribute", f"attribute {key!r} of a servo was left out", element)
        values, frames = self._numbers(positions), self._numbers(counts, shared=True)
        if len(values) != len(frames):
            message = f"servo {name!r} has {len(values)} positions but {len(frames)} frames"
            raise self._error(message, element, "Give every position its frame.")
        if not len(values):
            self._warn("empty-servo", f"servo {name!r} has no key frames", element)
        kept = ascending_order(frames * FRAME_SECONDS)  # two that differ may be one time
        if kept is not None:
            message = f"frames of servo {name!r} were put in order; of equal ones the last holds"
            self._warn("sorted-frames", message, counts)
        return ServoElement(element, positions, counts, values, frames, kept)

    def _name_of(self, element: Any) -> str:
        name = element.get("name")
        if name is None:
            raise self._error(f"this {element.tag} has no name", element, 'Give it one: name="...".')
        return str(name)

    def _only(self, element: Any, tags: tuple[str, ...]) -> Any:
        """The one child with one of these tags."""
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
            message = f"<{element.tag}> has no attributes in XMDI; they were left out"
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
            self.known = {text: found}  # the next servo's, if anybody's
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
            message, path=self.path, line=self._line_of(element), where=xml.element_path(element), remedy=remedy
        )

    def _ignore(self, code: str, message: str, element: Any) -> None:
        """Something that has no effect: told once per kind."""
        self.ignored.setdefault((code, message), []).append(element)

    def _warn(self, code: str, message: str, element: Any) -> None:
        line = xml.source_line(element)
        if line is not None and line >= MAX_LINE_NUMBER:
            self.searched += 1
            line = self._line_of(element) if self.searched <= MAX_SEARCHED else None
        self.report.warn(code, message, line, partial(xml.element_path, element))

    def _line_of(self, element: Any) -> int | None:
        line = xml.source_line(element)
        if line is None or line < MAX_LINE_NUMBER:
            return line
        return self.sound.count("\n", 0, self._layout.span(element).inner) + 1

    @cached_property
    def _layout(self) -> Layout:
        return Layout(self.sound, self.root)


def _shorten(word: str) -> str:
    return word if len(word) <= 40 else word[:40] + "..."
