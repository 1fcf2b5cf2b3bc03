"""Plain-text tables (CSV): lines and cells with their positions in the text, headings and units.

Cells are separated by commas, semicolons or tabs, whichever is the most frequent in the first line. A cell may be in
double quotes, a quote in it doubled. Blank lines and lines that begin with ``#`` are skipped.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import overload

import numpy as np

from .numbers import DECIMAL, WHITESPACE, format_shortest, shortest_decimal

DELIMITERS = (";", "\t", ",")
#: Characters per batch of the search for lines.
_BATCH_SIZE = 20_000
TIME_HEADINGS = {"time", "times", "t", "timestamp"}
#: More columns than any motion table has; each costs a thousand bytes.
MAX_COLUMNS = 20_000

LINE_END = re.compile(r"\r\n|\r|\n|\Z")
_QUOTED = re.compile(r' *"([^"]*(?:""[^"]*)*+)" *')
_UNQUOTED = {delimiter: re.compile(rf"[^{delimiter}\r\n]*") for delimiter in DELIMITERS}
_QUOTES = re.compile(r'"[^"]*(?:""[^"]*)*+"')
_WHOLE_LINE = re.compile(r'(?:"[^"]*(?:""[^"]*)*+"|[^"\r\n]+)*+')
_UNIT = re.compile(r"(?P<name>.*?) ?(?:\[(?P<square>[^\[\]]*)\]|\((?P<round>[^()]*)\))", re.DOTALL)


@dataclass(frozen=True)
class Unit:
    """Unit of a column: a number times ``factor`` over ``divisor`` is in seconds, rad or m."""

    base: str
    factor: float = 1.0
    divisor: float = 1.0

    def read(self, number: float) -> float:
        """Convert a number of the file to seconds, rad or m."""
        return number * self.factor / self.divisor

    def write(self, value: float) -> float:
        """Convert a value to the file's unit, up to rounding."""
        return value * self.divisor / self.factor

    def spelled(self, value: float) -> str:
        """Return the shortest number that is read as ``value``.

        A unit that changes nothing skips the search, which takes twenty times as long: a motion has a million values.
        """
        return (
            format_shortest(value)
            if self.factor == self.divisor
            else shortest_decimal(value, self.write(value), self.read)
        )


UNITS = {
    "": Unit(""),
    "s": Unit("s"),
    "sec": Unit("s"),
    "ms": Unit("s", divisor=1000.0),
    "rad": Unit("rad"),
    "deg": Unit("rad", factor=math.pi, divisor=180.0),
    "°": Unit("rad", factor=math.pi, divisor=180.0),
    "m": Unit("m"),
    "mm": Unit("m", divisor=1000.0),
}


@dataclass(slots=True)
class Cell:
    """Cell of a table: its span in the document, quotes included, and its text."""

    start: int
    end: int
    text: str
    quoted: bool = False


@dataclass(slots=True)
class TableLine:
    """Line of cells in a text; ``end`` is behind its last cell, before the end of the line."""

    number: int
    start: int
    end: int
    text: str
    delimiter: str

    @property
    def cells(self) -> list[Cell]:
        """List of its cells, parsed on each access."""
        return list(self.each())

    def each(self) -> Iterator[Cell]:
        """Yield its cells one by one."""
        return _cells(self.text, self.delimiter, self.start, self.end) if self.delimiter else iter(())

    @property
    def words(self) -> list[str]:
        """Texts of its cells."""
        if self.text.find('"', self.start, self.end) >= 0:
            return [cell.text for cell in self.each()]
        return [words.strip(WHITESPACE) for words in self.text[self.start : self.end].split(self.delimiter)]


class TableLines(Sequence[TableLine]):
    """Lines of a table by their spans; each is created on access, as a long table has a million."""

    def __init__(self, text: str, delimiter: str, found: Iterable[TableLine], at: np.ndarray | None = None) -> None:
        """Store the spans of lines.

        Args:
            text: the text of the table.
            delimiter: what separates its cells.
            found: the lines.
            at: instead of ``found``: (n, 3), line number, start and end of each.
        """
        self.text, self.delimiter = text, delimiter
        if at is not None:
            self._places = at
            return
        places = array("q")
        for line in found:
            places.extend((line.number, line.start, line.end))
        self._places = np.array(places, np.int64).reshape(-1, 3)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> TableLine: ...
    @overload
    def __getitem__(self, place: slice) -> list[TableLine]: ...
    def __getitem__(self, place: int | slice) -> TableLine | list[TableLine]:
        if isinstance(place, slice):
            return [self._line(*each) for each in self._places[place].tolist()]
        return self._line(*self._places[place].tolist())

    def texts(self, some: slice) -> list[str]:
        """Return the exact text of a slice of the lines."""
        return [self.text[start:end] for _number, start, end in self._places[some].tolist()]

    def _line(self, number: int, start: int, end: int) -> TableLine:
        return TableLine(number, start, end, self.text, self.delimiter)

    def __iter__(self) -> Iterator[TableLine]:
        for start in range(0, len(self), 1000):
            yield from self[start : start + 1000]


def is_motion_table(text: str) -> bool:
    """Return whether a text is a table of motion: its first line is a header with a time column."""
    first, delimiter = read_header(text)
    return delimiter != "" and time_column(first) is not None


def is_table(text: str) -> bool:
    """Return whether a text is a table: the line below the header holds numbers, at least one, and nothing else."""
    first, delimiter = read_header(text)
    if not delimiter:
        return False
    second = next(iter_lines_below(text, delimiter, first), None)
    words = [word for word in map(str.strip, second.words) if word] if second else []
    return bool(words) and all(DECIMAL.fullmatch(word.replace(",", ".")) for word in words)


def is_single_column(text: str) -> bool:
    """Return whether a text is a table of one column: its second line is a number."""
    lines = text[:_BATCH_SIZE].strip().splitlines()
    return len(lines) > 1 and not lines[0].startswith("<") and bool(DECIMAL.fullmatch(lines[1].strip()))


def read_header(text: str) -> tuple[TableLine, str]:
    """Return the first line that is neither blank nor a comment, and its delimiter ("" if there is none).

    The delimiter is the candidate that occurs most often outside of quotes.
    """
    best, by, most = TableLine(1, 0, 0, text, ""), "", 0
    for delimiter in DELIMITERS:
        line = next(iter_lines(text, delimiter), None)
        whole = _WHOLE_LINE.match(text, line.start) if line is not None else None
        count = _QUOTES.sub("", whole[0]).count(delimiter) if whole is not None else 0
        if line is not None and count > most:
            best, by, most = line, delimiter, count
    return best, by


def iter_lines_below(text: str, delimiter: str, first: TableLine) -> Iterator[TableLine]:
    """Yield the lines below the header."""
    number = first.number + len(LINE_END.findall(text, first.start, first.end)) - 1  # one is the line's own end
    return iter_lines(text, delimiter, first.end, number)


def read_lines_below(text: str, delimiter: str, first: TableLine) -> TableLines:
    """Return the lines below the header as a sequence.

    Where no record can span several lines (no quotes, no carriage returns), they are found in batches.
    """
    if "\r" in text or '"' in text:
        return TableLines(text, delimiter, iter_lines_below(text, delimiter, first))
    places = []
    number, position = first.number, first.end
    while position < len(text):
        until = text.find("\n", min(position + _BATCH_SIZE, len(text))) + 1 or len(text) + 1
        words = text[position : until - 1].split("\n")
        ends = position + np.cumsum([len(each) + 1 for each in words]) - 1
        starts = np.concatenate(([position], ends[:-1] + 1))
        found = np.stack([np.arange(number, number + len(words)), starts, ends], axis=1)
        kept = [each[:1].isdigit() or _holds_cells(each, delimiter) for each in words]
        places.append(found[kept])
        number, position = number + len(words), until
    return TableLines(text, delimiter, (), np.concatenate(places) if places else None)


def _holds_cells(line: str, delimiter: str) -> bool:
    """Return whether a line is neither blank nor a comment."""
    return bool(line.strip().strip(delimiter + " \t")) and not line.lstrip().startswith("#")


def quote_cell(words: str) -> str:
    """Return the text of a cell, quoted where it would be read differently without quotes."""
    parts = set(words) & {'"', "\r", "\n", *DELIMITERS}
    misleads = words.startswith(("#", "<", "[", "{", "/"))  # a comment, or in the first cell another format
    plain = words == words.strip() and not parts and not misleads
    return words if plain else '"' + words.replace('"', '""') + '"'


def iter_lines(text: str, delimiter: str, position: int = 0, number: int = 1) -> Iterator[TableLine]:
    """Yield the lines from a position on, without blank ones and comments; from the end of a line, those after it."""
    while position < len(text):
        end = _find_line_end(text, position)
        if _holds_cells(text[position : end.start()], delimiter):
            if text.find('"', position, end.start()) < 0:
                yield TableLine(number, position, end.start(), text, delimiter)
            else:
                last = deque(_cells(text, delimiter, position, end.start()), 1).pop()
                yield TableLine(number, position, last.end, text, delimiter)
                end = _find_line_end(text, last.end)
                number += len(LINE_END.findall(text, position, last.end)) - 1  # inside quotes; one is its own end
        position, number = end.end(), number + 1


def _find_line_end(text: str, position: int) -> re.Match[str]:
    end = LINE_END.search(text, position)
    assert end is not None  # the end of the text is one too
    return end


def _cells(text: str, delimiter: str, position: int, end: int) -> Iterator[Cell]:
    """Yield the cells of a line that ends at ``end``, or later where that is inside quotes."""
    if text.find('"', position, end) < 0:
        for words in text[position:end].split(delimiter):
            yield Cell(position, position + len(words), words.strip(WHITESPACE))
            position += len(words) + 1
        return
    while True:
        match = _QUOTED.match(text, position)
        quoted = match is not None and (match.end() == len(text) or text[match.end()] in delimiter + "\r\n")
        if match is None or not quoted:
            match = _UNQUOTED[delimiter].match(text, position)
            assert match is not None  # an empty cell at least
        words = match[1].replace('""', '"') if quoted else match[0].strip(WHITESPACE)
        yield Cell(match.start(), match.end(), words, quoted)
        if not text.startswith(delimiter, match.end()):
            return
        position = match.end() + 1


def time_column(first: TableLine) -> int | None:
    """Return the index of the time column; None if there is none."""
    names = (name_and_unit(cell)[0].strip().lower() for cell in islice(first.each(), MAX_COLUMNS))
    return next((index for index, name in enumerate(names) if name in TIME_HEADINGS), None)


def name_and_unit(cell: Cell) -> tuple[str, str]:
    """Return the name and unit of a heading; round brackets count as a unit only if they hold a known one."""
    text = cell.text if cell.quoted else cell.text.strip()
    match = _UNIT.fullmatch(text)
    if match is None:
        return text, ""
    unit = (match["square"] if match["square"] is not None else match["round"]).strip()
    if match["square"] is None and unit not in UNITS:
        return text, ""
    return match["name"], unit
