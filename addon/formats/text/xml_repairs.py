"""Repairs of texts that are nearly XML, and how these texts were before.

A program that does not escape names writes ``&`` and ``<`` as they are. They are written ``&amp;`` and ``&lt;`` before
the text is parsed; where nothing is edited they are written back as they were.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from ...core.report import Report

#: Elements that hold nothing but text, so that a ``<`` inside can only be a letter: the names of Juice.
TEXTS = ("Name",)
#: Lines of a name beyond which its end is missing.
LONGEST_TEXT = 20

_BAD_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);)")
_OPAQUE = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
_ESCAPES = re.compile("&(?:amp|lt);")
_LETTERS = {"&amp;": "&", "&lt;": "<"}


class Repairs:
    """Where a text was repaired, by comparing it with how it was read."""

    def __init__(self, sound: str, as_read: str) -> None:
        self._as_read = as_read
        self._places: list[int] = []  # in the repaired text, behind each repair
        self._added: list[int] = [0]  # letters that the first, the first two, ... repairs added
        if sound == as_read:
            return
        for match in _ESCAPES.finditer(sound):
            if not as_read.startswith(match[0], match.start() - self._added[-1]):
                self._places.append(match.end())
                self._added.append(self._added[-1] + len(match[0]) - 1)

    def before(self, start: int, end: int) -> str:
        """A part of the repaired text as it was read."""
        return self._as_read[self._place(start) : self._place(end)]

    def _place(self, position: int) -> int:
        return position - self._added[bisect_right(self._places, position)]


def end_of_opaque(text: str, position: int) -> int | None:
    """Return where the comment, CDATA section or instruction that begins here ends: -1 where it never does, None where
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
        end = end_of_opaque(text, match.start())
        if end is None or end < 0:
            break
        yield start, match.start()
        start = position = end
    yield start, len(text)


def escape_ampersands(text: str, report: Report) -> str:
    """Write ``&`` as ``&amp;`` where it begins no entity that XML itself knows."""
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
    for tag in TEXTS:
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
    """Report a repair once: how often it was made at places, which ascend, and the first line."""
    if places:
        times = f", {len(places)} times" if len(places) > 1 else ""
        line = text.count("\n", 0, places[0]) + 1
        report.warn("repaired-text", f"a bare {what} was read as the letter {what}{times}", line)
