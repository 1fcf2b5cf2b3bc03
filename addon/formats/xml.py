"""XML read safely and changed gently.

Reading never resolves an entity, loads a DTD or touches the network, and refuses what is nested deeper than any
mechanism. Changing works on the text itself: what no edit names keeps its very characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from lxml import etree

from ..model.report import FormatError, Report

#: Levels of elements beyond which a file is no mechanism but a mistake or an attack: where libxml2 by itself stops.
DEEPEST = 256
#: Formats whose bodies stand inside of each other go deeper: a rope has as many levels as links, or twice as many.
DEEPEST_OF = {"x_xy": 10_000}
#: The same for the lines of a name.
LONGEST_TEXT = 20

_TAG = re.compile(r"<(/?)([^\s<>/!?=\"'&]+)((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*?)(/?)>")
_ATTRIBUTE = re.compile(r"(\s+([^\s=\"']+)\s*=\s*)(?:\"[^\"]*\"|'[^']*')")
_BAD_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);)")
_OPAQUE = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Span:
    """Where an element stands in the text: ``text[start:end]`` is all of it, ``text[inner:close]`` what is
    between its tags. A self-closed element has ``inner == close == end``."""

    tag: str
    start: int
    inner: int
    close: int
    end: int


def parse(text: str, path: str, report: Report, texts: Sequence[str] = ()) -> tuple[etree._Element, str]:
    """The root element, and the text that it was parsed from: the same, or repaired.

    ``texts`` names elements that hold nothing but text, so that a ``<`` inside can only be a letter. Tags lose
    their namespaces. FormatError where the text is not XML, is truncated, nested too deep or defines entities."""
    _refuse_definitions(text, path)
    text = _escape_ampersands(text, report)
    first = next((match[2] for match, _ in scan(text)), "")
    deepest = DEEPEST_OF.get(first, DEEPEST)
    try:
        root = _parse(text, deepest)
        if texts and any(len(element) for element in root.iter(*texts)):
            text = _escape_brackets(text, texts, report)
            root = _parse(text, deepest)
    except etree.XMLSyntaxError as error:
        repaired = _escape_brackets(text, texts, report)
        try:
            root, text = _parse(repaired, deepest), repaired
        except etree.XMLSyntaxError:
            raise _syntax_error(error, text, path, deepest) from None
    if "xmlns" in text:
        for element in root.iter():
            element.tag = etree.QName(element).localname
    return root, text


def line_of(element: etree._Element) -> int | None:
    """The line on which an element's tag stands; 1 is the first."""
    return element.sourceline


def where_is(element: etree._Element) -> str:
    """An element's path for messages, ``Model/Bodies/Body[3]/Mass``."""
    return element.getroottree().getpath(element).lstrip("/")


def escape(text: str) -> str:
    """Text as XML content; what XML cannot hold becomes a question mark."""
    text = _NOT_IN_XML.sub("?", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def escape_attribute(text: str) -> str:
    """Text as the value of an attribute between double quotes."""
    return escape(text).replace('"', "&quot;").replace("\t", "&#9;").replace("\n", "&#10;")


def scan(text: str) -> Iterator[tuple[re.Match[str], bool]]:
    """Every tag of the text in order, with whether it closes an element. Comments, CDATA sections and processing
    instructions are passed over; the scan ends where one of them does not."""
    position = text.find("<")
    while position >= 0:
        end = _end_of_opaque(text, position)
        if end == -1:
            return
        if end is None:
            match = _TAG.match(text, position)
            end = match.end() if match else position + 1
            if match:
                yield match, bool(match[1])
        position = text.find("<", end)


def spans(text: str) -> list[Span]:
    """The spans of all elements of a well-formed text, in document order."""
    found: list[Span] = []
    is_open: list[Span] = []
    for match, closes in scan(text):
        if closes:
            span = is_open.pop()
            span.close, span.end = match.start(), match.end()
            continue
        span = Span(match[2], match.start(), match.end(), match.end(), match.end())
        found.append(span)
        if not match[4]:
            is_open.append(span)
    return found


@dataclass
class Edits:
    """Changes to a document, collected and then made in one pass. They must not overlap."""

    text: str
    root: etree._Element
    changes: list[tuple[int, int, str]] = field(default_factory=list)
    _opened: dict[etree._Element, list[str]] = field(default_factory=dict)  # self-closed, with what goes inside
    _filled: dict[etree._Element, str] = field(default_factory=dict)  # self-closed, with the text that goes inside
    _attributes: dict[etree._Element, dict[str, str | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.elements = list(self.root.iter())  # held, so that their identity holds
        found = spans(self.text)
        if len(found) != len(self.elements):
            raise FormatError("the document's tags cannot be followed", where=self.root.tag)
        self._spans = dict(zip(self.elements, found, strict=True))
        self.newline = "\r\n" if "\r\n" in self.text else "\n"

    def span(self, element: etree._Element) -> Span:
        """Where an element stands."""
        return self._spans[element]

    def set_text(self, element: etree._Element, value: str) -> None:
        """Replace what stands between an element's tags; ``value`` is already escaped."""
        span = self.span(element)
        value = value.replace("\n", self.newline)
        if span.inner == span.end:
            self._filled[element] = value
        else:
            self.changes.append((span.inner, span.close, value))

    def set_attribute(self, element: etree._Element, name: str, value: str | None) -> None:
        """Give an attribute another value (escaped already, see ``escape_attribute``); one that is not there comes
        behind the others, and None takes it away."""
        self._attributes.setdefault(element, {})[name] = value

    def replace(self, element: etree._Element, markup: str) -> None:
        """Put other markup in an element's place."""
        span = self.span(element)
        self.changes.append((span.start, span.end, markup))

    def delete(self, element: etree._Element) -> None:
        """Remove an element and the white space before it."""
        span = self.span(element)
        self.changes.append((span.start - len(self.space_before(element)), span.end, ""))

    def insert_after(self, element: etree._Element, markup: str) -> None:
        """Put markup (with its own leading white space) behind an element."""
        self.insert(self.span(element).end, markup)

    def insert_first(self, parent: etree._Element, markup: str) -> None:
        """Put markup behind a parent's opening tag."""
        self._insert_inside(parent, self.span(parent).inner, markup)

    def insert_last(self, parent: etree._Element, markup: str) -> None:
        """Put markup behind a parent's last child."""
        children = list(parent)
        self._insert_inside(parent, self.span(children[-1]).end if children else self.span(parent).inner, markup)

    def insert(self, position: int, markup: str) -> None:
        """Put markup at a place in the text."""
        self.changes.append((position, position, markup))

    def space_before(self, element: etree._Element) -> str:
        """The white space between an element and what precedes it."""
        start = end = self.span(element).start
        while start and self.text[start - 1].isspace():
            start -= 1
        return self.text[start:end]

    def indent(self, element: etree._Element) -> str:
        """The white space before an element on its line."""
        return self.space_before(element).rpartition("\n")[2]

    def result(self) -> str:
        """The text with all changes made."""
        pieces: list[str] = []
        position = 0
        opened = [self._open(parent, markup) for parent, markup in self._opened.items()]
        filled = [self._fill(element, value) for element, value in self._filled.items()]
        renamed = [
            self._reword(element)
            for element in self._attributes
            if element not in self._opened and element not in self._filled
        ]
        for start, end, markup in sorted(self.changes + opened + filled + renamed, key=lambda change: change[:2]):
            pieces += (self.text[position:start], markup)
            position = end
        return "".join((*pieces, self.text[position:]))

    def _insert_inside(self, parent: etree._Element, position: int, markup: str) -> None:
        span = self.span(parent)
        if span.inner != span.end:
            self.insert(position, markup)
            return
        self._opened.setdefault(parent, []).append(markup)

    def _open(self, parent: etree._Element, markup: list[str]) -> tuple[int, int, str]:
        """A self-closed parent with what was put inside, between two tags."""
        span = self.span(parent)
        inside = "".join(markup)
        return span.start, span.end, f"{self._opening(parent)}{inside}{self.newline}{self.indent(parent)}</{span.tag}>"

    def _fill(self, element: etree._Element, value: str) -> tuple[int, int, str]:
        """A self-closed element with a text between two tags."""
        span = self.span(element)
        return span.start, span.end, f"{self._opening(element)}{value}</{span.tag}>"

    def _reword(self, element: etree._Element) -> tuple[int, int, str]:
        """An element's first tag with its attributes changed, closed as it was."""
        span = self.span(element)
        end = "/>" if self.text[span.inner - 2] == "/" else ">"
        return span.start, span.inner, self._opening(element).removesuffix(">") + end

    def _opening(self, element: etree._Element) -> str:
        """An element's first tag with its attributes changed, not closed in itself."""
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


def _parse(text: str, deepest: int) -> etree._Element:
    try:
        return _parse_flat(text, deepest)
    except etree.XMLSyntaxError as error:
        if deepest <= DEEPEST or "depth" not in str(error.msg):
            raise
        deep = _parse_deep(text, deepest)
        if deep is None:
            raise
        return deep


def _parse_deep(text: str, deepest: int) -> etree._Element | None:
    """What ``_parse_flat`` gives of elements and attributes, for what is nested deeper than libxml2 takes at all, 2048
    levels; None for what is no XML or too deep here as well. Expat resolves nothing from outside by itself, and there
    are no definitions left in the text."""
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

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, tree.data
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except (expat.ExpatError, ValueError):
        return None
    return tree.close()


def _parse_flat(text: str, deepest: int) -> etree._Element:
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=deepest > DEEPEST,
        remove_comments=True,
        remove_pis=True,
    )
    return etree.fromstring(text.encode("utf-8", "replace"), parser)


def _refuse_definitions(text: str, path: str) -> None:
    """A document type with an internal subset may define entities, which can grow without bound."""
    position = text.find("<")
    while position >= 0:
        end = _end_of_opaque(text, position)
        if end is None:
            subset = re.compile(r"<!DOCTYPE[^>\[]*\[").match(text, position)
            if subset:
                raise FormatError(
                    "the document type defines entities, which are never read",
                    path=path,
                    line=text.count("\n", 0, position) + 1,
                    where="!DOCTYPE",
                    remedy="Remove the <!DOCTYPE ...> declaration.",
                )
            if not text.startswith("<!DOCTYPE", position):
                return
            end = position + 1
        position = text.find("<", end) if end >= 0 else -1


def _end_of_opaque(text: str, position: int) -> int | None:
    """Where the comment, CDATA section or instruction that begins here ends: -1 where it never does, None where
    something else begins."""
    for opener, closer in _OPAQUE:
        if text.startswith(opener, position):
            end = text.find(closer, position + len(opener))
            return end + len(closer) if end >= 0 else -1
    return None


def _plain_ranges(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of the text outside of comments, CDATA sections and processing instructions."""
    start = position = 0
    opener = re.compile(r"<!--|<!\[CDATA\[|<\?")
    while match := opener.search(text, position):
        end = _end_of_opaque(text, match.start())
        if end is None or end < 0:
            break
        yield start, match.start()
        start = position = end
    yield start, len(text)


def _escape_ampersands(text: str, report: Report) -> str:
    """Write ``&`` as ``&amp;`` where it begins no entity that XML itself knows."""
    if not _BAD_AMPERSAND.search(text):
        return text
    places = [
        match.start() for start, end in _plain_ranges(text) for match in _BAD_AMPERSAND.finditer(text, start, end)
    ]
    _report_lines(text, places, "&", report)
    return _replace_at(text, places, "&amp;")


def _escape_brackets(text: str, texts: Sequence[str], report: Report) -> str:
    """Write ``<`` as ``&lt;`` inside elements that hold only text."""
    places: list[int] = []
    for tag in texts:
        opener, closer = f"<{tag}>", f"</{tag}>"
        start = text.find(opener)
        while start >= 0:
            inner = start + len(opener)
            following = text.find(opener, inner)
            end = text.find(closer, inner, following if following >= 0 else len(text))
            content = text[inner:end] if end >= 0 else ""
            if "<" in content and not content.startswith("<!") and content.count("\n") <= LONGEST_TEXT:
                places += [inner + match.start() for match in re.finditer("<", content)]
            start = following
    if not places:
        return text
    places.sort()
    _report_lines(text, places, "<", report)
    return _replace_at(text, places, "&lt;")


def _replace_at(text: str, places: list[int], what: str) -> str:
    """The text with ``what`` for the one letter at each of the places, which ascend."""
    starts = [0, *(place + 1 for place in places)]
    return what.join(text[start:end] for start, end in zip(starts, [*places, len(text)], strict=True))


def _report_lines(text: str, places: list[int], what: str, report: Report) -> None:
    line, position, reported = 1, 0, 0
    for place in places:
        line += text.count("\n", position, place)
        position = place
        if line != reported:
            report.warn("repaired-text", f"a bare {what} was read as the letter {what}", line)
            reported = line


def _syntax_error(error: etree.XMLSyntaxError, text: str, path: str, deepest: int) -> FormatError:
    """What lxml says, in the words of somebody who has the file in an editor."""
    line = error.position[0] or 1
    said = str(error.msg or "").split(", line ")[0]
    open_tags = _open_at(text, line, error.position[1])
    if "Start tag expected" in said or "Document is empty" in said:
        return FormatError("this is not XML", path=path, line=1, remedy="Choose a model file.")
    if "depth" in said:
        return FormatError(
            f"elements are nested deeper than {deepest} levels", path=path, line=line, where="/".join(open_tags[:4])
        )
    truncated = "Premature end" in said or "EndTag" in said or "Couldn't find end" in said
    broken = f"the XML is broken: {said} at '{_line(text, line)}'"
    return FormatError(
        "the file ends in the middle of an element; it is truncated" if truncated else broken,
        path=path,
        line=line,
        where="/".join(open_tags[-6:]),
        remedy="Save it again, or mend this line in a text editor.",
    )


def _open_at(text: str, line: int, column: int) -> list[str]:
    """The tags that are open at a place."""
    place = _start_of(text, line)
    open_tags: list[str] = []
    for match, closes in scan(text[: place + column]):
        if closes:
            if open_tags[-1:] != [match[2]]:
                break  # here is the fault
            open_tags.pop()
        elif not match[4]:
            open_tags.append(match[2])
    return open_tags


def _line(text: str, line: int) -> str:
    """A line of the text, shortened for a message."""
    found = text[_start_of(text, line) :].partition("\n")[0].strip()
    return found if len(found) <= 60 else found[:60] + "..."


def _start_of(text: str, line: int) -> int:
    place = 0
    for _ in range(line - 1):
        place = text.find("\n", place) + 1
    return place
