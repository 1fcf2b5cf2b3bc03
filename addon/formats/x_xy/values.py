"""Attributes of x_xy elements to values, and values to text.

The loader splits at single blanks and takes whatever is all numbers for numbers, even a name. What it cannot take is
read here where its meaning is plain, and reported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lxml import etree

from ...core.model import Array
from ...core.naming import Unique
from ...core.report import FormatError, Report
from ..text.xml_reader import attributes_of, line_of, where_is
from .schema import ATTRIBUTES, COLORS, OLD, Color

#: The attributes of each element, for those that have no others.
_KNOWN = {tag: frozenset(names) for tag, names in ATTRIBUTES.items()}
#: The largest number that fifteen digits hold: those above are rounded to none.
_LARGEST = 1.79769313486231e308
_GAPS = re.compile(r"[\s,;]+", re.ASCII)


def spell(value: float) -> str:
    """A number, as short as it can be within 15 digits; in full where these are beyond the largest number."""
    if abs(value) > _LARGEST:
        return repr(float(value))
    return f"{float(value) + 0.0:.15g}"  # + 0.0 takes the sign off a zero


def spell_all(values: Sequence[float] | Array) -> str:
    """Numbers with one blank between them, the only way in which the loader reads them."""
    return " ".join(spell(value) for value in values)


@dataclass
class Remarks:
    """What is worth saying of a document, once per kind with the first line and how often."""

    report: Report
    _found: dict[tuple[str, str, str], list[int | None]] = field(default_factory=dict)

    def add(self, severity: str, code: str, message: str, element: etree._Element | None = None) -> None:
        """Something about an element."""
        self._found.setdefault((severity, code, message), []).append(None if element is None else line_of(element))

    def warn(self, code: str, message: str, element: etree._Element | None = None) -> None:
        """Something repaired or that the program would not take."""
        self.add("warning", code, message, element)

    def take(self, other: Remarks) -> None:
        """Add what others are worth saying."""
        for what, lines in other._found.items():
            self._found.setdefault(what, []).extend(lines)

    def tell(self) -> None:
        """Say everything."""
        for (severity, code, message), lines in self._found.items():
            times = f" ({len(lines)} times, here first)" if len(lines) > 1 else ""
            self.report.add(severity, code, message + times, lines[0])  # type: ignore[arg-type]


@dataclass
class Reader:
    """Reads attributes. FormatError names the file, line and element of a number that is none."""

    path: str
    remarks: Remarks
    defaults: dict[str, dict[str, str]] = field(default_factory=dict)

    def attributes(self, element: etree._Element) -> dict[str, str]:
        """An element's attributes under the program's names, with the document's defaults where it has none."""
        tag = str(element.tag)
        own = self.own(element)
        if tag not in self.defaults:
            return own
        mixed = {name: text for name, text in self.defaults[tag].items() if name not in own}
        for name, rival in (("quat", "euler"), ("euler", "quat")):
            if name in mixed and rival in own:
                del mixed[name]
                message = (
                    f"a {tag} has {rival} where the defaults have {name}, which the program refuses; its own counts"
                )
                self.remarks.warn("two-rotations", message, element)
        return own | mixed

    def own(self, element: etree._Element) -> dict[str, str]:
        """An element's own attributes under the program's names."""
        tag = str(element.tag)
        known, old = ATTRIBUTES.get(tag, ()), OLD.get(tag, {})
        given = found = attributes_of(element)
        if found.keys() <= _KNOWN.get(tag, frozenset()) and not ("quat" in found and "euler" in found):
            return found
        found = {}
        for name, text in given.items():
            right = old.get(name, name)
            if right not in known and tag != "defaults":
                self.remarks.warn(
                    "unknown-attribute", f"{tag} has no attribute {name}; the program refuses it", element
                )
            elif right != name and right in given:
                self.remarks.warn("unknown-attribute", f"{tag} has both {name} and {right}; {right} counts", element)
            else:
                if right != name:
                    message = f"{tag} has {name}, which the program calls {right} and refuses; it was read as {right}"
                    self.remarks.warn("other-spelling", message, element)
                found[right] = text
        if "quat" in found and "euler" in found:
            self.remarks.warn("two-rotations", f"a {tag} has both quat and euler; quat counts", element)
            del found["euler"]
        return found

    def numbers(self, element: etree._Element, name: str, text: str) -> list[float]:
        """All numbers of an attribute, however they are separated."""
        plain = _plain_numbers(text)
        if plain is not None:
            return plain
        pieces = [piece for piece in _GAPS.split(text) if piece]
        try:
            values = [_number(piece) for piece in pieces]
        except ValueError:
            shown = text if len(text) <= 40 else text[:40] + "..."
            raise FormatError(
                f'{name}="{shown}" is not made of finite numbers',
                path=self.path,
                line=line_of(element),
                where=where_is(element),
                remedy='Write numbers with one blank between them, such as "0.5 0 -1.25".',
            ) from None
        if len(values) != len(text.split(" ")):
            message = f"the numbers of {name} are separated otherwise than by one blank, which the program needs"
            self.remarks.warn("separators", message, element)
        return values

    def vector(
        self, element: etree._Element, name: str, found: dict[str, str], default: Sequence[float]
    ) -> tuple[float, ...]:
        """An attribute of as many numbers as its default; what lacks is taken from there, what is too much is left."""
        if name not in found:
            return tuple(default)
        values = self.numbers(element, name, found[name])
        if len(values) != len(default):
            what = f"{name} of a {element.tag} has {len(values)} numbers instead of {len(default)}"
            rest = spell_all(default[len(values) :])
            repair = "the rest is left out" if len(values) > len(default) else f"the rest is {rest}"
            self.remarks.warn("repaired-count", f"{what}; {repair}", element)
        return (*values[: len(default)], *default[len(values) :])

    def color(self, element: etree._Element, text: str | None) -> Color | None:
        """A colour by its three or four numbers or its name; None for none, and for a name that the program lacks."""
        color = color_of(text or "")
        if text is None or color is not None:
            return color
        self.remarks.warn("unknown-color", f"the program knows no colour '{text}'; none is taken", element)
        return None


def color_of(text: str) -> Color | None:
    """A colour by its three or four numbers or its name; None for what is neither."""
    if not text:
        return None
    if text.strip() in COLORS:
        return COLORS[text.strip()]
    try:
        values = [_number(piece) for piece in _GAPS.split(text) if piece]
    except ValueError:
        return None
    if len(values) not in {3, 4}:
        return None
    red, green, blue, alpha = (*values, 1.0)[:4]
    return red, green, blue, alpha


def _plain_numbers(text: str) -> list[float] | None:
    """The numbers of a text that has nothing but finite ones with one blank between them; None for any other."""
    try:
        values = list(map(float, text.split(" ")))
    except ValueError:
        return None
    plain = math.isfinite(sum(values)) and text.isascii() and "_" not in text
    return values if plain else None


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or "_" in text or not text.isascii():
        raise ValueError(text)
    return value


_MARK = "_"


def is_numeric(name: str) -> bool:
    """Return whether the program takes a name for numbers."""
    if name[:1].isalpha() and name[0] not in "iInN":  # as in "inf" and "nan"
        return False
    try:
        return bool([float(piece) for piece in name.split(" ")])
    except ValueError:
        return False


def safe_name(name: str) -> str:
    """The name as it can stand in a file: a numeric one, and one that looks like such a one made safe, gets a mark."""
    return _MARK + name if is_numeric(name.lstrip(_MARK)) else name


def read_name(name: str) -> str:
    """Return what ``safe_name`` was given; other names as they are."""
    return name.removeprefix(_MARK) if is_numeric(name.lstrip(_MARK)) else name


def unique_names() -> Unique:
    """Gives every name once: one that is taken gets a number in brackets behind it."""
    return Unique(lambda name, number: f"{name} ({number})", 2)
