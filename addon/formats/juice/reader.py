"""Reader of Juice documents: one row of values per object, with the elements of its fields."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from lxml import etree

from ...core.report import FormatError, Message, Report
from ..document.schema import SparseRow
from ..text.numbers import WHITESPACE, number_remedy
from ..text.xml_reader import HasSourceLine, element_path, report_element, source_line
from .schema import CONTAINERS, FLAG, GROUPS, MODEL, TRANSPARENT, Field, Table, possible_ids

_OBJECTS = {table.tag: table for table in CONTAINERS.values()}

_REMEDIES = {
    "number": "Write a decimal number such as 0.25.",
    "whole number": "Write a whole number such as 1.",
    "ID": "Write a whole number that no other object has.",
}


@dataclass(slots=True)
class SourceElement(HasSourceLine):
    """Object of a document: its table, and its values by field."""

    table: Table
    element: etree._Element
    row: SparseRow
    serial: str = ""  # SerializationID, an alternative ID that some references use

    @property
    def label(self) -> str:
        """Description of the object: ``Body 'Left leg'``."""
        name = " ".join(str(self.row.get("Name", "")).split())
        return f"{self.table.tag} '{name}'" if name else self.table.tag

    def places(self) -> dict[str, etree._Element]:
        """Return the elements of the fields that the document has, by path.

        Computed on each call: to keep them takes several times the memory of the file, and few are needed.
        """
        found = elements_by_path(self.element)
        fields = ((item.path, _find_field_element(item, found)) for item in self.table.fields)
        return {path: element for path, element in fields if element is not None}


@dataclass
class Reader:
    """Reader of rows, which collects missing fields and ignored elements for the report."""

    path: str
    report: Report
    missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    ignored: dict[str, list[etree._Element]] = field(default_factory=dict)

    def place(self, element: etree._Element, table: Table, whole: bool = True) -> SourceElement:
        """Read one object.

        Args:
            element: its element.
            table: its table.
            whole: report elements that are not in the table as ignored.

        Raises:
            FormatError: a number is invalid.
        """
        again: list[etree._Element] = []
        found = elements_by_path(element, again)
        if whole and not found.keys() <= table.known:
            for path, child in found.items():
                if path not in table.known and child.tag not in TRANSPARENT:
                    self.ignore(f"nothing is known by the name {path} in <{table.tag}>", child)
        for child in again if whole else ():  # two solvers are reported separately
            if child.tag not in table.parts and not child.getparent().tag.startswith("ODE."):
                self.ignore(f"<{table.tag}> has more than one {child.tag}, of which the first counts", child)
        row = SparseRow(table.defaults)
        for item in table.fields:
            path = item.path
            source = found.get(path)
            if source is None:
                source = _find_field_element(item, found) if item.old else None
                if source is None:
                    if item.needed:
                        self.missing[table.tag, path] += 1
                    continue
            row[path] = self.value(item, source)
        serial = found.get("SerializationID")
        return SourceElement(table, element, row, (serial.text or "").strip() if serial is not None else "")

    def value(self, item: Field, element: etree._Element) -> object:
        """Parse an element's text; the default where it is empty.

        Raises:
            FormatError: it is invalid.
        """
        text = element.text
        if item.kind.name == "text":
            return text or ""
        text = text.strip(WHITESPACE) if text else ""
        if not text:
            self.missing[element.getparent().tag, item.path] += 1
            return item.default
        try:
            return item.kind.parse(text)
        except (ValueError, OverflowError):
            pass
        shown = text if len(text) <= 40 else text[:40] + "..."
        if item.kind is FLAG:
            self.warn(
                "not-a-flag",
                Message("{} is '{}', not 1 or 0; {} is used. Write 1 or 0.", item.path, shown, int(item.default)),
                element,
            )
            return item.default
        kind = item.kind.name
        remedy = _REMEDIES.get(kind, "")
        article = "an" if kind == "ID" else "a finite" if kind == "number" and _is_non_finite(text) else "a"
        raise FormatError(
            f"'{shown}' is not {article} {kind}",
            path=self.path,
            line=source_line(element),
            where=element_path(element),
            remedy=number_remedy(text, remedy) if kind == "number" else remedy,
        )

    def ignore(self, message: str, element: etree._Element) -> None:
        """Record an element that has no effect."""
        self.ignored.setdefault(message, []).append(element)

    def warn(self, code: str, message: str, element: etree._Element) -> None:
        """Warn of a repair or of something left out."""
        report_element(self.report, "warning", code, message, element)

    def report_ignored(self) -> None:
        """Report ignored elements, once per kind with the first line."""
        for message, elements in self.ignored.items():
            times = f" ({len(elements)} times, here first)" if len(elements) > 1 else ""
            report_element(self.report, "info", "ignored-element", f"{message}; it is kept{times}", elements[0])

    def report_defaults(self) -> None:
        """Report the defaults that were used, once per kind of element."""
        for (tag, path), count in self.missing.items():
            plural = "" if count == 1 else f" in {count} elements"
            self.report.info("default-used", Message("{} has no {}{}; Juice's default is used", tag, path, plural))


def _find_field_element(item: Field, found: dict[str, etree._Element]) -> etree._Element | None:
    """Return the element of a field, under its current or an older name."""
    return next((found[path] for path in (item.path, *item.old) if path in found), None)


def _is_non_finite(text: str) -> bool:
    """Return whether a text is an infinite number or nan."""
    try:
        return not math.isfinite(float(text))
    except ValueError:
        return False


def elements_by_path(element: etree._Element, again: list[etree._Element] | None = None) -> dict[str, etree._Element]:
    """Return an object's elements by path: groups with a slash, transparent containers left out.

    The first of a name counts; ``again`` receives the others.
    """
    found: dict[str, etree._Element] = {}
    waiting = [element]
    for parent in waiting:
        for child in parent:
            tag = child.tag
            if tag in GROUPS:
                for part in child:
                    first = found.setdefault(f"{tag}/{part.tag}", part)
                    if first is not part and again is not None:
                        again.append(part)
            elif tag in TRANSPARENT and len(child):
                waiting.append(child)
            else:
                first = found.setdefault(tag, child)
                if first is not child and again is not None:
                    again.append(child)
    return found


def model_element(root: etree._Element) -> etree._Element:
    """Return the Model element; in a .jm3 it is inside the root."""
    return root if root.tag == MODEL.tag else root.find(MODEL.tag)


def object_elements(model: etree._Element, reader: Reader) -> Iterable[tuple[etree._Element, Table]]:
    """Yield bodies and joints, in lists or, as in a .jpm, directly in the model."""
    for child in model:
        if child.tag in CONTAINERS:
            for element in child:
                table = _OBJECTS.get(element.tag)
                if table is not None:
                    yield element, table
                else:
                    reader.ignore(f"nothing is known by the name {element.tag} in <{child.tag}>", element)
        elif child.tag in _OBJECTS:
            yield child, _OBJECTS[child.tag]


class ReferenceResolver:
    """Resolver of references to the objects of one kind."""

    def __init__(self, placed: Iterable[SourceElement]) -> None:
        self.by_id: dict[str, SourceElement] = {}
        self.other_names: dict[str, str] = {}
        for item in placed:
            self.by_id[item.row["ID"]] = item
            if item.serial:
                with suppress(ValueError):
                    self.other_names.setdefault(possible_ids(item.serial)[-1], item.row["ID"])

    def __call__(self, raw: str | None) -> str | None:
        """Return the id that a reference's text means; None for an empty or dangling one."""
        try:
            choices = possible_ids(raw.strip()) if raw else ()
        except ValueError:
            return None
        for choice in choices:
            if choice in self.by_id:
                return choice
        return next((self.other_names[choice] for choice in choices if choice in self.other_names), None)

    @staticmethod
    def is_none(raw: str | None) -> bool:
        """Return whether a reference is empty."""
        return not raw or not raw.strip().strip("0")


def require_unique_ids(placed: list[SourceElement], kind: str, path: str) -> None:
    """Raise a FormatError unless every object has an ID that is unique for its kind."""
    seen: dict[str, SourceElement] = {}
    for item in placed:
        own = item.row["ID"]
        if own is None or own == "0":
            raise FormatError(
                f"{item.label} has no ID" if own is None else f"{item.label} has the ID 0, which means 'none'",
                path=path,
                line=item.line,
                where=item.where,
                remedy="Give it an <ID> that no other object has.",
            )
        first = seen.setdefault(own, item)
        if first is not item:
            raise FormatError(
                f"{item.label} has the ID {own} of {first.label} on line {first.line}",
                path=path,
                line=item.line,
                where=item.where,
                remedy=Message("Give one of the two {} (lines {} and {}) another ID.", kind, first.line, item.line),
            )
