"""Safe and lenient XML reader, with the spans of elements in the text (for ``xml_editor``).

No entity is resolved, no DTD loaded, no network touched, and too deep nesting is rejected. Unescaped ``&`` and ``<``,
which some programs write in names, are escaped before parsing; ``RepairMap`` gives the unedited parts as they were.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NoReturn
from xml.parsers import expat

from lxml import etree

from ...core.report import FormatError, Message, Report, Severity
from . import file_io

#: Elements that hold only text, so that a ``<`` inside can only be a character: the names of Juice.
TEXT_TAGS = ("Name",)
#: Lines of a name; beyond them its closing tag is taken for missing.
MAX_TEXT_LENGTH = 20

_BAD_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);)")
_OPAQUE = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
_ESCAPES = re.compile("&(?:amp|lt);")
_LETTERS = {"&amp;": "&", "&lt;": "<"}


class RepairMap:
    """Mapping from a repaired text to the text as it was read, found by comparing the two."""

    def __init__(self, sound: str, as_read: str) -> None:
        self._as_read = as_read
        self._places: list[int] = []  # in the repaired text, behind each repair
        self._added: list[int] = [0]  # characters that the first, the first two, ... repairs added
        if sound == as_read:
            return
        for match in _ESCAPES.finditer(sound):
            if not as_read.startswith(match[0], match.start() - self._added[-1]):
                self._places.append(match.end())
                self._added.append(self._added[-1] + len(match[0]) - 1)

    def before(self, start: int, end: int) -> str:
        """Return a part of the repaired text as it was read."""
        return self._as_read[self._place(start) : self._place(end)]

    def _place(self, position: int) -> int:
        return position - self._added[bisect_right(self._places, position)]


def end_of_opaque(text: str, position: int) -> int | None:
    """Return the end of the comment, CDATA section or processing instruction that begins at a position.

    -1 where it is not closed, None where something else begins.
    """
    for opener, closer in _OPAQUE:
        if text.startswith(opener, position):
            end = text.find(closer, position + len(opener))
            return end + len(closer) if end >= 0 else -1
    return None


def _plain_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the text outside of comments, CDATA sections and processing instructions."""
    start = position = 0
    opener = re.compile(r"<!--|<!\[CDATA\[|<\?")
    while match := opener.search(text, position):
        end = end_of_opaque(text, match.start())
        if end is None or end < 0:
            break
        yield start, match.start()
        start = position = end
    yield start, len(text)


def escape_ampersands(text: str, report: Report) -> str:
    """Write ``&`` as ``&amp;`` where it begins none of XML's predefined entities or character references."""
    if not _BAD_AMPERSAND.search(text):
        return text
    places = [
        match.start() for start, end in _plain_ranges(text) for match in _BAD_AMPERSAND.finditer(text, start, end)
    ]
    _report_lines(text, places, "&", report)
    return _replace_at(text, places, "&amp;")


def escape_brackets(text: str, report: Report) -> str:
    """Write ``<`` as ``&lt;`` inside elements that hold only text."""
    places: list[int] = []
    for tag in TEXT_TAGS:
        opener, closer = f"<{tag}>", f"</{tag}>"
        start = text.find(opener)
        while start >= 0:
            inner = start + len(opener)
            following = text.find(opener, inner)
            end = text.find(closer, inner, following if following >= 0 else len(text))
            content = text[inner:end] if end >= 0 else ""
            if "<" in content and not content.startswith("<!") and content.count("\n") <= MAX_TEXT_LENGTH:
                places += [inner + match.start() for match in re.finditer("<", content)]
            start = following
    if not places:
        return text
    places.sort()
    _report_lines(text, places, "<", report)
    return _replace_at(text, places, "&lt;")


def _replace_at(text: str, places: list[int], what: str) -> str:
    """Replace the one character at each of the positions, which ascend, by ``what``."""
    starts = [0, *(place + 1 for place in places)]
    return what.join(text[start:end] for start, end in zip(starts, [*places, len(text)], strict=True))


def _report_lines(text: str, places: list[int], what: str, report: Report) -> None:
    """Report a repair once: the number of positions, which ascend, and the line of the first."""
    if places:
        times = f", {len(places)} times" if len(places) > 1 else ""
        line = text.count("\n", 0, places[0]) + 1
        report.warn("repaired-text", Message("an unescaped {} was read as the character {}{}", what, what, times), line)


#: Nesting limit: a deeper file is a mistake or an attack. libxml2 has the same limit by default.
MAX_XML_DEPTH = 256
#: Limits of formats with nested bodies, by root element: a rope has as many levels as links, or twice as many.
MAX_DEPTH_OF_FORMAT = {"x_xy": 10_000}
#: Number of attributes of an element from which XPath reads them faster than ``items``.
_MANY = 50

_TAG = re.compile(r"<(/?)([^\s<>/!?=\"'&]++)((?:[^<>\"'/]++|\"[^\"<]*+\"|'[^'<]*+'|/(?!>))*+)(/?)>")
#: A tag, or opaque markup; ``open`` where that is not closed. All alternatives begin with the same character, which
#: makes the search of long texts many times as fast.
_MARKUP = re.compile(
    _TAG.pattern + r"|<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<(?P<open>!--|!\[CDATA\[|\?)", re.DOTALL
)
#: ``_MARKUP``, preceded by an alternative for a whole element that holds only text, as most do.
_ELEMENTS = re.compile(
    r"<([^\s<>/!?=\"'&]++)(?:[^<>\"'/]++|\"[^\"<]*+\"|'[^'<]*+'|/(?!>))*+>(?P<inside>[^<]*+)</\1\s*+>|"
    + _MARKUP.pattern,
    re.DOTALL,
)
#: Beginning of a document type with an internal subset; quoted names before it may hold any character.
_SUBSET = re.compile(r"<!DOCTYPE(?:[^<>\[\"']++|\"[^\"]*+\"|'[^']*+')*+\[")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class ElementSpan:
    """Span of an element: ``text[start:end]`` is all of it, ``text[inner:close]`` the content between its tags.

    A self-closed element has ``inner == close == end``.
    """

    tag: str
    start: int
    inner: int
    close: int
    end: int


def parse(text: str, path: str, report: Report) -> tuple[etree._Element, str]:
    """Parse a text; returns the root element, and the text that was parsed, repaired if needed.

    Tags lose their namespaces.

    Raises:
        FormatError: the text is not XML, is truncated, too large, nested too deep or defines entities.
    """
    file_io.check_count(text.count("<") - text.count("</"), file_io.MAX_ELEMENTS, "elements", path)
    file_io.check_count(sum(map(text.count, file_io.RECORD_TAGS)), file_io.MAX_RECORDS, "bodies and shapes", path)
    _reject_definitions(text, path)
    text = escape_ampersands(text, report)
    first = next((match[2] for match, _ in scan_tags(text)), "")
    deepest = MAX_DEPTH_OF_FORMAT.get(first, MAX_XML_DEPTH)
    try:
        root = _parse(text, deepest)
        if any(len(element) for element in root.iter(*TEXT_TAGS)):
            text = escape_brackets(text, report)
            root = _parse(text, deepest)
    except etree.XMLSyntaxError as error:
        repaired = escape_brackets(text, report)
        try:
            root, text = _parse(repaired, deepest), repaired
        except etree.XMLSyntaxError:
            raise _syntax_error(error, text, path, deepest) from None
    if "xmlns" in text:
        for element in root.iter():
            element.tag = etree.QName(element).localname
    return root, text


class HasSourceLine:
    """Base of records that are read from an element of a document."""

    __slots__ = ()
    element: etree._Element

    @property
    def line(self) -> int | None:
        """Line of the element's tag."""
        return source_line(self.element)

    @property
    def where(self) -> str:
        """Path of the element in the document."""
        return element_path(self.element)


def source_line(element: etree._Element) -> int | None:
    """Return the line of an element's tag, from 1."""
    return element.sourceline


def element_path(element: etree._Element) -> str:
    """Return an element's path for messages, ``Model/Bodies/Body[3]/Mass``."""
    return element.getroottree().getpath(element).lstrip("/")


def report_element(report: Report, severity: Severity, code: str, message: str, element: etree._Element) -> None:
    """Add an entry to a report with the line and the path of an element."""
    report.add(severity, code, message, source_line(element), partial(element_path, element))


def element_attributes(element: etree._Element) -> dict[str, str]:
    """Return an element's attributes in order; lxml's ``items`` searches for each by name, which is slow for many."""
    if len(element.keys()) < _MANY:
        return dict(element.items())
    return {str(value.attrname): str(value) for value in element.xpath("@*")}


def escape_text(text: str) -> str:
    """Escape a text as XML content; characters that XML cannot hold become question marks."""
    text = _NOT_IN_XML.sub("?", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def escape_attribute(text: str) -> str:
    """Escape a text as the value of an attribute in double quotes."""
    return escape_text(text).replace('"', "&quot;").replace("\t", "&#9;").replace("\n", "&#10;")


def scan_tags(text: str) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield every tag of the text in order, and whether it closes an element.

    Comments, CDATA sections and processing instructions are skipped; the scan stops at one that is not closed.
    """
    for match in _MARKUP.finditer(text):
        if match[2]:
            yield match, bool(match[1])
        elif match["open"]:
            return


class ElementSpans:
    """Spans of all elements of a well-formed text in document order, kept as arrays of integers: few are asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.starts, self._inner, self._close, self.ends, self._parents = (array("q") for _ in range(5))
        is_open: list[int] = []
        starts, inner, close, ends, parents = self.starts, self._inner, self._close, self.ends, self._parents
        for match in _ELEMENTS.finditer(text):
            if match["inside"] is not None:
                start, end = match.span()
                parents.append(is_open[-1] if is_open else -1)
                starts.append(start)
                inner.append(match.start(2))
                close.append(match.end(2))
                ends.append(end)
                continue
            closes, tag, closed, opens = match.group(3, 4, 6, "open")
            if tag is None:
                if opens:
                    break
                continue
            start, end = match.span()
            if closes:
                own = is_open.pop()
                close[own], ends[own] = start, end
                continue
            own = len(starts)
            parents.append(is_open[-1] if is_open else -1)
            starts.append(start)
            inner.append(end)
            close.append(end)
            ends.append(end)
            if not closed:
                is_open.append(own)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, number: int) -> ElementSpan:
        start = self.starts[number]
        match = _TAG.match(self._text, start)
        assert match is not None
        return ElementSpan(match[2], start, self._inner[number], self._close[number], self.ends[number])

    def enclosing_element(self, place: int) -> int:
        """Return the index of the innermost element that contains a position, -1 for none."""
        number = bisect_right(self.starts, place) - 1
        while number >= 0 and self.ends[number] <= place:
            number = self._parents[number]
        return number


def _parse(text: str, deepest: int) -> etree._Element:
    try:
        return _parse_flat(text, deepest)
    except etree.XMLSyntaxError as error:
        if "text node" in str(error.msg).lower():  # one of more than ten million characters: a servo of a long motion
            return _parse_long(text, deepest)
        if deepest <= MAX_XML_DEPTH or "depth" not in str(error.msg):
            raise
        deep = _parse_deep(text, deepest)
        if deep is None:
            raise
        return deep


def _parse_deep(text: str, deepest: int) -> etree._Element | None:
    """Parse with expat what is nested deeper than libxml2 allows at all (2048 levels), like ``_parse_flat``.

    None for malformed XML and for nesting deeper than ``deepest``. Definitions of entities and external ones are
    rejected, though none should be left in the text: expat would expand them.
    """
    parser = expat.ParserCreate("utf-8")
    tree = etree.TreeBuilder()
    level = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal level
        level += 1
        if level > deepest:
            raise ValueError(level)
        tree.start(tag, attributes).sourceline = parser.CurrentLineNumber

    def end(tag: str) -> None:
        nonlocal level
        level -= 1
        tree.end(tag)

    def refuse(*_entity: object) -> NoReturn:
        raise ValueError("an entity")

    parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, tree.data
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except (expat.ExpatError, ValueError):
        return None
    return tree.close()


def _parse_long(text: str, deepest: int) -> etree._Element:
    """Parse like ``_parse_flat``, with no limit on the length of a text between two tags."""
    root = _parse_flat(text, deepest, huge=True)
    level = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        level += 1 if event == "start" else -1
        if level > deepest:
            raise etree.XMLSyntaxError("Excessive depth", 0, source_line(element) or 1, 1)
    return root


def _parse_flat(text: str, deepest: int, huge: bool = False) -> etree._Element:
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=huge or deepest > MAX_XML_DEPTH,
        remove_comments=True,
        remove_pis=True,
        remove_blank_text=True,  # indentation takes as much memory as the elements; no format gives it a meaning
    )
    return etree.fromstring(text.encode("utf-8", "replace"), parser)


def _reject_definitions(text: str, path: str) -> None:
    """Raise a FormatError for a document type with an internal subset: its entities could grow without bound."""
    position = text.find("<")
    while position >= 0:
        end = end_of_opaque(text, position)
        if end is None:
            if _SUBSET.match(text, position):
                raise FormatError(
                    "the document type defines entities, which are not supported",
                    path=path,
                    line=text.count("\n", 0, position) + 1,
                    where="!DOCTYPE",
                    remedy="Remove the <!DOCTYPE ...> declaration.",
                )
            if not text.startswith("<!DOCTYPE", position):
                return
            end = position + 1
        position = text.find("<", end) if end >= 0 else -1


def _syntax_error(error: etree.XMLSyntaxError, text: str, path: str, deepest: int) -> FormatError:
    """Build the error for malformed XML from lxml's message, worded for a user with the file in an editor."""
    line = error.position[0] or 1
    said = str(error.msg or "").split(", line ")[0]
    open_tags = _open_tags_at(text, line, error.position[1])
    if "Start tag expected" in said or "Document is empty" in said:
        return FormatError("this is not XML", path=path, line=1, remedy="Choose a model or a motion file.")
    if "depth" in said:
        return FormatError(
            f"elements are nested deeper than {deepest} levels", path=path, line=line, where="/".join(open_tags[:4])
        )
    truncated = "Premature end" in said or "EndTag" in said or "Couldn't find end" in said
    broken = f"invalid XML: {said} at '{_line(text, line)}'"
    return FormatError(
        "the file is truncated: it ends within an element" if truncated else broken,
        path=path,
        line=line,
        where="/".join(open_tags[-6:]),
        remedy="Save it again, or correct this line in a text editor.",
    )


def _open_tags_at(text: str, line: int, column: int) -> list[str]:
    """Return the tags that are open at a position."""
    place = _line_start(text, line)
    open_tags: list[str] = []
    for match, closes in scan_tags(text[: place + column]):
        if closes:
            if open_tags[-1:] != [match[2]]:
                break  # the fault is here
            open_tags.pop()
        elif not match[4]:
            open_tags.append(match[2])
    return open_tags


def _line(text: str, line: int) -> str:
    """Return a line of the text, shortened for a message."""
    found = text[_line_start(text, line) :].partition("\n")[0].strip()
    return found if len(found) <= 60 else found[:60] + "..."


def _line_start(text: str, line: int) -> int:
    place = 0
    for _ in range(line - 1):
        place = text.find("\n", place) + 1
    return place
