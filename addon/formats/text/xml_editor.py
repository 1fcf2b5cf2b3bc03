"""XML edits on the text itself, so that everything that is not edited keeps its exact characters."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Protocol

from lxml import etree

from ...core.report import FormatError
from .detection import AnyDocument, get_prepared
from .xml_reader import ElementSpan, ElementSpans, RepairMap

_ATTRIBUTE = re.compile(r"(\s+([^\s=\"']+)\s*=\s*)(?:\"[^\"]*\"|'[^']*')")


class Layout:
    """Spans of the elements of a document in its text.

    Raises:
        FormatError: the tags found in the text do not match the elements.
    """

    def __init__(self, text: str, root: etree._Element) -> None:
        self.elements = list(root.iter())  # held, so that lxml keeps their identity
        self._spans = ElementSpans(text)
        if len(self._spans) != len(self.elements):
            raise FormatError("the document's tags do not match", where=root.tag)
        self._number = {element: number for number, element in enumerate(self.elements)}

    def span(self, element: etree._Element) -> ElementSpan:
        """Return the span of an element."""
        return self._spans[self._number[element]]


class XmlDocument(AnyDocument, Protocol):
    """Protocol of a document of an XML format; ``sound`` is its text as it was parsed, after repairs."""

    sound: str
    root: etree._Element


def start_edits(document: XmlDocument) -> XmlEdits:
    """Return an empty set of edits of a document.

    Raises:
        FormatError: its tags cannot be followed.
    """
    layout = get_prepared(document, "layout", lambda: Layout(document.sound, document.root))
    return XmlEdits(document.sound, document.root, layout, document.text)


@dataclass
class XmlEdits:
    """Edits of an XML document, collected and then applied in one pass; they must not overlap.

    ``as_read`` is the text before repairs, where there were any: unchanged parts are written so.
    """

    text: str
    root: etree._Element
    layout: Layout = field(default=None, repr=False)  # type: ignore[assignment]  # made if not given
    as_read: str = ""
    changes: list[tuple[int, int, str]] = field(default_factory=list)
    _opened: dict[etree._Element, list[str]] = field(default_factory=dict)  # self-closed, with the markup to insert
    _filled: dict[etree._Element, str] = field(default_factory=dict)  # self-closed, with the text to insert
    _attributes: dict[etree._Element, dict[str, str | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.layout = self.layout or Layout(self.text, self.root)
        self.newline = "\r\n" if "\r\n" in self.text else "\n"

    def span(self, element: etree._Element) -> ElementSpan:
        """Return the span of an element."""
        return self.layout.span(element)

    def set_text(self, element: etree._Element, value: str) -> None:
        """Replace the content between an element's tags; ``value`` is already escaped."""
        span = self.span(element)
        value = value.replace("\n", self.newline)
        if span.inner == span.end:
            self._filled[element] = value
        else:
            self.changes.append((span.inner, span.close, value))

    def set_attribute(self, element: etree._Element, name: str, value: str | None) -> None:
        """Set an attribute to an escaped value (see ``escape_attribute``), appending a missing one; None removes it."""
        self._attributes.setdefault(element, {})[name] = value

    def replace(self, element: etree._Element, markup: str) -> None:
        """Replace an element by other markup."""
        span = self.span(element)
        self.changes.append((span.start, span.end, markup))

    def delete(self, element: etree._Element) -> None:
        """Remove an element and the white space before it."""
        span = self.span(element)
        self.changes.append((span.start - len(self.space_before(element)), span.end, ""))

    def insert_after(self, element: etree._Element, markup: str) -> None:
        """Insert markup (with its own leading white space) behind an element."""
        self.insert(self.span(element).end, markup)

    def insert_first(self, parent: etree._Element, markup: str) -> None:
        """Insert markup behind a parent's opening tag."""
        self._insert_inside(parent, self.span(parent).inner, markup)

    def insert_last(self, parent: etree._Element, markup: str) -> None:
        """Insert markup behind a parent's last child."""
        children = list(parent)
        self._insert_inside(parent, self.span(children[-1]).end if children else self.span(parent).inner, markup)

    def insert(self, position: int, markup: str) -> None:
        """Insert markup at a position in the text."""
        self.changes.append((position, position, markup))

    def space_before(self, element: etree._Element) -> str:
        """Return the white space between an element and whatever precedes it."""
        start = end = self.span(element).start
        while start and self.text[start - 1].isspace():
            start -= 1
        return self.text[start:end]

    def indent(self, element: etree._Element) -> str:
        """Return the white space before an element on its line."""
        return self.space_before(element).rpartition("\n")[2]

    def result(self) -> str:
        """Return the text with all edits applied."""
        pieces: list[str] = []
        position = 0
        repairs = RepairMap(self.text, self.as_read or self.text)
        opened = [self._open(parent, markup) for parent, markup in self._opened.items()]
        filled = [self._fill(element, value) for element, value in self._filled.items()]
        renamed = [
            self._reword(element)
            for element in self._attributes
            if element not in self._opened and element not in self._filled
        ]
        for start, end, markup in sorted(self.changes + opened + filled + renamed, key=lambda change: change[:2]):
            pieces += (repairs.before(position, start), markup)
            position = end
        return "".join((*pieces, repairs.before(position, len(self.text))))

    def _insert_inside(self, parent: etree._Element, position: int, markup: str) -> None:
        span = self.span(parent)
        if span.inner != span.end:
            self.insert(position, markup)
            return
        self._opened.setdefault(parent, []).append(markup)

    def _open(self, parent: etree._Element, markup: list[str]) -> tuple[int, int, str]:
        """Return the change that opens a self-closed parent around inserted markup."""
        span = self.span(parent)
        inside = "".join(markup)
        return span.start, span.end, f"{self._opening(parent)}{inside}{self.newline}{self.indent(parent)}</{span.tag}>"

    def _fill(self, element: etree._Element, value: str) -> tuple[int, int, str]:
        """Return the change that opens a self-closed element around a text."""
        span = self.span(element)
        return span.start, span.end, f"{self._opening(element)}{value}</{span.tag}>"

    def _reword(self, element: etree._Element) -> tuple[int, int, str]:
        """Return the change of an element's first tag with edited attributes, closed as it was."""
        span = self.span(element)
        end = "/>" if self.text[span.inner - 2] == "/" else ">"
        return span.start, span.inner, self._opening(element).removesuffix(">") + end

    def _opening(self, element: etree._Element) -> str:
        """Return an element's opening tag with edited attributes, not self-closed."""
        span = self.span(element)
        tag = self.text[span.start : span.inner - 1].rstrip().removesuffix("/").rstrip()
        for name, value in self._attributes.get(element, {}).items():
            there = next((match for match in _ATTRIBUTE.finditer(tag) if match[2] == name), None)
            if there is None:
                tag += f' {name}="{value}"' if value is not None else ""
            else:
                new = f'{there[1]}"{value}"' if value is not None else ""
                tag = tag[: there.start()] + new + tag[there.end() :]
        return tag + ">"
