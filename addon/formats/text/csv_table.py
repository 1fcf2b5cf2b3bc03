"""Tables in plain text (CSV): their lines and cells with their places in the text, headings and units.

Cells are parted by commas, semicolons or tabs, whichever makes the most of the first line. A cell may stand between
double quotes, a quote in it written twice. Blank lines, and lines that begin with ``#``, are passed over.
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
#: Letters in which lines are looked for at once.
_BATCH_SIZE = 20_000
TIME_HEADINGS = {"time", "times", "t", "timestamp"}
#: More columns than any table of motion has; each costs a thousand bytes.
MAX_COLUMNS = 20_000

LINE_END = re.compile(r"\r\n|\r|\n|\Z")
_QUOTED = re.compile(r' *"([^"]*(?:""[^"]*)*+)" *')
_UNQUOTED = {delimiter: re.compile(rf"[^{delimiter}\r\n]*") for delimiter in DELIMITERS}
_QUOTES = re.compile(r'"[^"]*(?:""[^"]*)*+"')
_WHOLE_LINE = re.compile(r'(?:"[^"]*(?:""[^"]*)*+"|[^"\r\n]+)*+')
_UNIT = re.compile(r"(?P<name>.*?) ?(?:\[(?P<square>[^\[\]]*)\]|\((?P<round>[^()]*)\))", re.DOTALL)


@dataclass(frozen=True)
class Unit:
    """What a column counts in: a number times ``factor`` over ``divisor`` is seconds, rad or m."""

    base: str
    factor: float = 1.0
    divisor: float = 1.0

    def read(self, number: float) -> float:
        """A number of the file in seconds, rad or m."""
        return number * self.factor / self.divisor

    def write(self, value: float) -> float:
        """About what the file would say for a value."""
        return value * self.divisor / self.factor

    def spelled(self, value: float) -> str:
        """The shortest number that is read as a value.

        Where the unit changes nothing it is not to be searched for: that takes twenty times as long, and a motion has a
        million.
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
    """A cell: where it stands in the document, quotes included, and what it says."""

    start: int
    end: int
    text: str
    quoted: bool = False


@dataclass(slots=True)
class TableLine:
    """A line of cells of a text. ``end`` is behind its last cell, before the line's end."""

    number: int
    start: int
    end: int
    text: str
    delimiter: str

    @property
    def cells(self) -> list[Cell]:
        """Its cells, found anew each time."""
        return list(self.each())

    def each(self) -> Iterator[Cell]:
        """Its cells one by one."""
        return _cells(self.text, self.delimiter, self.start, self.end) if self.delimiter else iter(())

    @property
    def words(self) -> list[str]:
        """Return what its cells say."""
        if self.text.find('"', self.start, self.end) >= 0:
            return [cell.text for cell in self.each()]
        return [words.strip(WHITESPACE) for words in self.text[self.start : self.end].split(self.delimiter)]


class TableLines(Sequence[TableLine]):
    """Lines by where they stand, each made when it is asked for: a long table has a million."""

    def __init__(self, text: str, delimiter: str, found: Iterable[TableLine], at: np.ndarray | None = None) -> None:
        """``at`` (n, 3) instead of ``found``: number, start and end of each."""
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
        """The very text of some lines."""
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
    """Return whether a text is a table at all: the line after its header holds a number for some of its cells, and
    nothing but numbers."""
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
    """The first line that is neither blank nor a comment, and what parts its cells: of the delimiters that which stands
    in it most often outside of quotes; "" where none does."""
    best, by, most = TableLine(1, 0, 0, text, ""), "", 0
    for delimiter in DELIMITERS:
        line = next(iter_lines(text, delimiter), None)
        whole = _WHOLE_LINE.match(text, line.start)[0] if line is not None else ""
        count = _QUOTES.sub("", whole).count(delimiter)
        if count > most:
            best, by, most = line, delimiter, count
    return best, by


def iter_lines_below(text: str, delimiter: str, first: TableLine) -> Iterator[TableLine]:
    """The lines below the header."""
    number = first.number + len(LINE_END.findall(text, first.start, first.end)) - 1  # one is its own end
    return iter_lines(text, delimiter, first.end, number)


def read_lines_below(text: str, delimiter: str, first: TableLine) -> TableLines:
    """Return the lines below the header, at hand.

    Where no line can be of several, they are found without being looked at one by one.
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
    """Return what stands in a cell for a text, between quotes where it would be read as another without."""
    parts = set(words) & {'"', "\r", "\n", *DELIMITERS}
    misleads = words.startswith(("#", "<", "[", "{", "/"))  # a comment, or in the first cell other formats
    plain = words == words.strip() and not parts and not misleads
    return words if plain else '"' + words.replace('"', '""') + '"'


def iter_lines(text: str, delimiter: str, position: int = 0, number: int = 1) -> Iterator[TableLine]:
    """The lines from a place on, blank ones and comments left out. Where the place is a line's end, those after it."""
    while position < len(text):
        end = LINE_END.search(text, position)
        if _holds_cells(text[position : end.start()], delimiter):
            if text.find('"', position, end.start()) < 0:
                yield TableLine(number, position, end.start(), text, delimiter)
            else:
                last = deque(_cells(text, delimiter, position, end.start()), 1).pop()
                yield TableLine(number, position, last.end, text, delimiter)
                end = LINE_END.search(text, last.end)
                number += len(LINE_END.findall(text, position, last.end)) - 1  # inside quotes; one is the end itself
        position, number = end.end(), number + 1


def _cells(text: str, delimiter: str, position: int, end: int) -> Iterator[Cell]:
    """The cells of a line that ends, unless that is inside of quotes, at ``end``."""
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
        words = match[1].replace('""', '"') if quoted else match[0].strip(WHITESPACE)
        yield Cell(match.start(), match.end(), words, quoted)
        if not text.startswith(delimiter, match.end()):
            return
        position = match.end() + 1


def time_column(first: TableLine) -> int | None:
    """Return which column is that of the times."""
    names = (name_and_unit(cell)[0].strip().lower() for cell in islice(first.each(), MAX_COLUMNS))
    return next((index for index, name in enumerate(names) if name in TIME_HEADINGS), None)


def name_and_unit(cell: Cell) -> tuple[str, str]:
    """A heading's name and unit. In round brackets only what is a unit is taken for one."""
    text = cell.text if cell.quoted else cell.text.strip()
    match = _UNIT.fullmatch(text)
    if match is None:
        return text, ""
    unit = (match["square"] if match["square"] is not None else match["round"]).strip()
    if match["square"] is None and unit not in UNITS:
        return text, ""
    return match["name"], unit
