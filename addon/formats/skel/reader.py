"""Reader of SKEL documents: one row of values per object, with the elements of its fields."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from lxml import etree

from ...core.report import FormatError, Message, Report, Severity
from ..document.schema import SparseRow
from ..text.numbers import DECIMAL, NUMBER_PATTERN, WHITESPACE
from ..text.xml_reader import HasSourceLine, element_path, report_element, source_line
from .schema import FLAG, NUMERIC_FLAG, TEXT, WORD, Field, Kind, Table

_SEPARATORS = re.compile(r"[\s,;]+", re.ASCII)
_NUMBER = re.compile(NUMBER_PATTERN + r"(?![a-zA-Z]*[0-9])")
_INFINITY = re.compile(r"([+-]?)(?:inf(?:inity)?)\Z", re.IGNORECASE)
_TRUE, _FALSE = frozenset({"1", "true"}), frozenset({"0", "false"})


@dataclass(slots=True)
class SourceElement(HasSourceLine):
    """Object of a document: its table, and its values by field.

    ``id`` is its id in the mechanism, ``parts`` are the objects inside it.
    """

    table: Table
    element: etree._Element
    row: SparseRow
    id: str = ""
    parts: Sequence[SourceElement] = ()

    @property
    def label(self) -> str:
        """Description of the object: ``body 'torso'``."""
        name = " ".join(str(self.row.get("@name") or "").split())
        return f"{self.table.tag} '{name}'" if name else str(self.element.tag)

    def places(self) -> dict[str, etree._Element]:
        """Return the elements of the fields that the document has, by path; for an attribute, the element that has it.

        Computed on each call: to keep them takes several times the memory of the file, and few are needed.
        """
        found = values_by_path(self.element, self.table)
        spellings = self.table.spellings
        fields = ((path, spellings[path][0].path) for path in found if path in spellings)
        return {right: found[path] for path, right in fields if path == right or right not in found}

    def has(self, path: str) -> bool:
        """Return whether the document has a value at a path or in the group at it."""
        return self.row.is_set(path) or any(each.startswith(f"{path}/") for each in self.row)


@dataclass
class Reader:
    """Reader of rows, which collects report entries so that those that many elements share are reported once."""

    path: str
    report: Report
    notes: dict[tuple[Severity, str, str], list[etree._Element]] = field(default_factory=dict)

    def place(self, element: etree._Element, table: Table, group: str | None = None) -> SourceElement:
        """Read one object.

        Args:
            element: its element.
            table: its table.
            group: the only group in which needed fields are required; by default every group that the object has.
                Needed fields outside of groups are always required.

        Raises:
            FormatError: a number is invalid.
        """
        found = values_by_path(element, table)
        row = SparseRow(table.defaults)
        spellings, known = table.spellings, table.known
        for path, place in found.items():
            spelling = spellings.get(path)
            if spelling is None:
                if path not in known:
                    self._ignored(path, found, table)
                continue
            item, attribute = spelling
            if path == item.path or item.path not in found:
                text = (place.get(attribute) if attribute else place.text) or ""
                count = item.kind.count
                plain = _plain_numbers(text) if count > 0 else ()  # true for nearly all values
                if plain and len(plain) == count:
                    row[item.path] = plain[0] if count == 1 else plain
                else:
                    row[item.path] = self.value(item, text, place)
                if path != item.path:
                    what = f"{path} is read as {item.path}"
                    self.note("info", "old-spelling", f"{what}; DART needs this spelling", place)
        for own, items in table.needed.items():
            if own and own not in (found if group is None else (group,)):
                continue
            for item in items:
                if not row.is_set(item.path):
                    missing = f"<{element.tag}> has no {item.path.replace('@', '')}"
                    self.note("warning", "default-used", f"{missing}; {_default_text(item)} is used", element)
        return SourceElement(table, element, row)

    def value(self, item: Field, text: str, element: etree._Element) -> object:
        """Parse a text; the field's default, reported, where it is empty or invalid.

        Raises:
            FormatError: a word is no number.
        """
        kind = item.kind
        if kind is TEXT:
            return text
        if kind is WORD:
            return text.strip()
        text = text.strip(WHITESPACE)
        if kind is FLAG or kind is NUMERIC_FLAG:
            return self._flag(item, text, element)
        numbers = self._numbers(item, text, element)
        if numbers is None:
            return item.default
        if kind.count > 0 and len(numbers) != kind.count:
            if not numbers:
                self.note("warning", "default-used", f"{item.path} is empty; {_default_text(item)} is used", element)
                return item.default
            numbers = self.counted(numbers, kind.count, item.path, element)
        return numbers[0] if kind.count == 1 else tuple(numbers)

    def counted(
        self, numbers: list[float] | tuple[float, ...], count: int, path: str, element: etree._Element
    ) -> list[float]:
        """Return exactly ``count`` numbers, filled with zeros or truncated, and report the difference."""
        if len(numbers) == count:
            return list(numbers)
        has = f"{path} has {len(numbers)} number{'' if len(numbers) == 1 else 's'} instead of {count}"
        rest = "the missing ones are 0" if len(numbers) < count else "the rest is ignored"
        self.note("warning", "wrong-count", f"{has}; {rest}", element)
        return [*numbers, *[0.0] * count][:count]

    def note(self, severity: Severity, code: str, message: str, element: etree._Element) -> None:
        """Record a report entry about an element."""
        self.notes.setdefault((severity, code, message), []).append(element)

    def report_all(self) -> None:
        """Report all entries, once per message, with the first element."""
        for (severity, code, message), elements in self.notes.items():
            more = f" (here and in {len(elements) - 1} more)" if len(elements) > 1 else ""
            report_element(self.report, severity, code, message + more, elements[0])
        self.notes.clear()

    def _ignored(self, path: str, found: dict[str, etree._Element], table: Table) -> None:
        """Report an unknown element or attribute, unless its parent is unknown as well."""
        steps = re.split("/|(?=@)", path)
        group = "/".join(steps[:-1])
        inside = group and group not in table.known
        if not inside and group not in table.parts:
            self.note("info", "ignored-element", f"{path} in <{table.tag}> is unknown; it is ignored", found[path])

    def _flag(self, item: Field, text: str, element: etree._Element) -> bool:
        low = text.lower()
        if low in _TRUE or low in _FALSE:
            return low in _TRUE
        if item.kind is NUMERIC_FLAG and DECIMAL.fullmatch(text) and math.isfinite(float(text)):
            return float(text) != 0.0
        taken = item.kind is NUMERIC_FLAG and bool(item.default)  # DART takes the others as false
        what = f"not 1 or 0; {int(taken)} is used. Write 1 or 0."
        self.note("warning", "not-a-flag", f"{item.path} is '{_shorten(text)}', {what}", element)
        return taken

    def _numbers(self, item: Field, text: str, element: etree._Element) -> list[float] | None:
        """Parse the numbers of a text; None, reported, where one is not finite and has to be."""
        if "," in text or ";" in text:
            self.note(
                "warning",
                "repaired-numbers",
                f"the numbers of {item.path} are separated by commas. Use spaces",
                element,
            )
        plain = _plain_numbers(text)
        if plain:
            return list(plain)
        numbers = [self._number(item.kind, word, item.path, element) for word in _SEPARATORS.split(text) if word]
        if all(map(math.isfinite, numbers)) or (item.kind.endless and not any(map(math.isnan, numbers))):
            return numbers
        self.note("warning", "not-finite", f"{item.path} is not finite; {_default_text(item)} is used", element)
        return None

    def _number(self, kind: Kind, word: str, path: str, element: etree._Element) -> float:
        endless = _INFINITY.match(word)
        if endless:
            return -math.inf if endless[1] == "-" else math.inf
        if word.lower() in ("nan", "-nan"):
            return math.nan
        match = _NUMBER.match(word)
        if match is None:
            raise FormatError(
                f"'{_shorten(word)}' is not a number",
                path=self.path,
                line=source_line(element),
                where=element_path(element),
                remedy=Message(
                    "Write {} decimal number{}, such as 0.25, separated by spaces.",
                    kind.count if kind.count > 1 else "a",
                    "s" if kind.count > 1 else "",
                ),
            )
        if match.end() < len(word):
            self.note("warning", "repaired-numbers", f"'{_shorten(word)}' in {path} is read as {match[0]}", element)
        return float(match[0])


def _plain_numbers(text: str) -> tuple[float, ...]:
    """Return the numbers of a text of finite ones and white space only; empty for any other text.

    Cached: documents repeat a few texts very often.
    """
    return _few_numbers(text) if len(text) < _FEW_NUMBERS_LENGTH else _many_numbers(text)


#: Texts with fewer characters are cached.
_FEW_NUMBERS_LENGTH = 40


@lru_cache(maxsize=500)
def _few_numbers(text: str) -> tuple[float, ...]:
    return _many_numbers(text)


def _many_numbers(text: str) -> tuple[float, ...]:
    """Parse numbers, without the underscores and non-ASCII digits that ``float`` accepts; empty if invalid."""
    try:
        numbers = tuple(map(float, text.split()))
    except ValueError:
        return ()
    return numbers if math.isfinite(sum(numbers)) and text.isascii() and "_" not in text else ()


def values_by_path(element: etree._Element, table: Table) -> dict[str, etree._Element]:
    """Return an object's elements and attributes by path, without the objects inside it.

    The first of a name counts, as for DART.
    """
    found: dict[str, etree._Element] = {}
    waiting = [(element, "")]
    for parent, prefix in waiting:
        for name in parent.keys():  # noqa: SIM118 - of its attributes; to ask for .attrib would cost as much again
            found[f"{prefix}@{name}"] = parent
        for child in parent:
            path = prefix + child.tag
            if path in found:
                continue
            found[path] = child
            if (len(child) or child.keys()) and path not in table.parts:
                waiting.append((child, path + "/"))
    return found


def _default_text(item: Field) -> str:
    if item.default is None or item.default == "":
        return "nothing"
    return item.kind.spell(item.default)


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "..."


@dataclass(slots=True)
class Skeleton:
    """Skeleton of a document with the bodies and joints that are read.

    ``implied`` are joints that only make a body free, as it is without them.
    """

    placed: SourceElement
    bodies: list[SourceElement]
    joints: list[SourceElement]
    implied: list[SourceElement] = field(default_factory=list)
