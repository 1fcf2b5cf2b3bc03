"""Reader of Webots .motion files: poses with their positions in the text."""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import overload

import numpy as np

from ...core.model import Array, Trajectory
from ...core.report import FormatError, Message, Report, count_with_noun
from ..text.detection import WEBOTS_MOTION
from ..text.numbers import NUMBER_PATTERN, parse_numbers

HEADER, VERSION = WEBOTS_MOTION, "V1.0"
MAX_LINE_LENGTH = 4095  # bytes, including the line end: Webots reads into a buffer of 4096
MAX_TIME_MS = 2**31 - 1  # Webots counts milliseconds in an int
UNDEFINED = -9999999.9  # Webots' internal value for a *

#: Words per batch of the parsing.
_BATCH_SIZE = 4000

_FIELD = re.compile(r"[^,\r\n]+")
_NUMBER = re.compile(
    r"[ \t\v\f]*(?P<number>[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?"
    rf"|{NUMBER_PATTERN})",
    re.ASCII,
)
#: Comma-separated times in the full form that programs write.
_TIMES = re.compile(r"\d{1,6}:\d{1,6}:\d{1,6}(?:,\d{1,6}:\d{1,6}:\d{1,6})*+", re.ASCII)
_TIME = re.compile(r"(?:(?:(\d+):)?(\d+):)?(\d+)", re.ASCII)


@dataclass(slots=True)
class LineField:
    """Field of a line: its text and span in the document."""

    text: str
    start: int
    end: int


@dataclass(slots=True)
class PoseRow:
    """Pose: the number and span of its line, and its time (ms)."""

    line: int
    start: int
    end: int
    milliseconds: int


class PoseRows(Sequence[PoseRow]):
    """Poses by the spans of their lines; each is created on access, as a long motion has a million.

    Args:
        first: line number of the first pose.
    """

    def __init__(self, first: int) -> None:
        self._first, self._places = first, array("q")

    def add(self, start: int, end: int, milliseconds: int) -> None:
        """Append the pose of the next line."""
        self._places.extend((start, end, milliseconds))

    @property
    def milliseconds(self) -> np.ndarray:
        """All times (n,) in ms."""
        return np.array(self._places[2::3], np.int64)

    def __len__(self) -> int:
        return len(self._places) // 3

    @overload
    def __getitem__(self, place: int) -> PoseRow: ...
    @overload
    def __getitem__(self, place: slice) -> list[PoseRow]: ...
    def __getitem__(self, place: int | slice) -> PoseRow | list[PoseRow]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        return PoseRow(self._first + at, *self._places[3 * at : 3 * at + 3])


@dataclass
class Document:
    """Parsed .motion file; ``table`` (rows, servos) holds its values, nan for ``*``."""

    text: str
    names: list[LineField]
    rows: PoseRows
    table: Array
    newline: str

    def fields(self, row: PoseRow) -> list[LineField]:
        """Return the fields of a row: time, name and values."""
        return _fields(self.text, row.start, row.end)


def document_trajectories(document: Document) -> list[Trajectory]:
    """Return a trajectory for every column: a keyframe where a value is commanded, held where a ``*`` follows."""
    times = document.rows.milliseconds / 1000.0
    found = []
    for name, values in zip(document.names, document.table.T, strict=True):
        keys = np.flatnonzero(~np.isnan(values))
        stars = np.isnan(np.append(values[1:], 0.0))
        held = stars[keys]
        found.append(Trajectory(name.text, times[keys], values[keys], held=held if held.any() else None))
    return found


def parse(text: str, path: str, report: Report) -> Document:
    """Parse a text.

    Raises:
        FormatError: with its line, where Webots would reject it.
    """
    places = _lines(text)
    begin = next(places, (0, 0))
    _check_length(text, *begin, 1, path)
    first = _fields(text, *begin)
    if not first or first[0].text != HEADER:
        raise FormatError(f"the file does not begin with {HEADER}", path=path, line=1, remedy=_HEADER_REMEDY)
    if len(first) < 2 or first[1].text != VERSION:
        version = first[1].text if len(first) > 1 else "no version"
        raise FormatError(f"the version is {version!r}, not {VERSION!r}", path=path, line=1, remedy=_HEADER_REMEDY)
    names, at = first[2:], 1
    below = [] if names else [*islice(places, 1)]
    if below:
        _check_length(text, *below[0], 2, path)
        names, at = _names_below(text, below[0]), 2
        if names:
            report.warn("names-below", "the servos are named on the second line; Webots needs them on the first", 2)
    if not names:
        raise FormatError("the header has no servo", path=path, line=1, remedy=_HEADER_REMEDY)
    rows, table = _read_poses(text, places, at + 1, names, path, report)
    if not rows:
        raise FormatError("the file has no poses", path=path, line=at + 1, remedy="Write at least one line of values.")
    counts = Counter(name.text for name in names)
    for name in sorted(name for name, count in counts.items() if count > 1):
        report.warn("repeated-servo", Message("servo {} has more than one column; all are kept", repr(name)), at)
    return Document(text, names, rows, table, "\r\n" if text[: begin[1]].endswith("\r\n") else "\n")


def _read_poses(
    text: str, places: Iterator[tuple[int, int]], number: int, names: list[LineField], path: str, report: Report
) -> tuple[PoseRows, Array]:
    """Read the poses, of which the first is on line ``number``, and their values.

    Works in batches of lines: all words at once would take ten times the memory of the file.
    """
    rows, table, latest = PoseRows(number), PoseTable(names, path, report), -1
    step = max(_BATCH_SIZE // len(names), 1)
    while some := list(islice(places, step)):
        plain = _plain_poses(text, some, len(names))
        if plain is not None and latest < plain[0][0] and (np.diff(plain[0]) > 0).all():
            for (start, end), moment in zip(some, plain[0].tolist(), strict=True):
                rows.add(start, end, moment)
            table.add_many(plain[1])
            latest, number = int(plain[0][-1]), number + len(some)
            continue
        for start, end in some:
            _check_length(text, start, end, number, path)
            fields = _FIELD.findall(text, start, end)
            if not fields:
                _report_ignored_rest(text, end, number, report)
                return rows, table.whole()
            _check_width(fields, names, number, path)
            moment = _parse_time(fields[0], number, path)
            if moment <= latest:
                raise FormatError(
                    f"time {fields[0]} is not after that of the previous pose", path=path, line=number,
                    where="time", remedy="Sort the poses by time, and use each time once.",
                )  # fmt: skip
            latest = moment
            rows.add(start, end, moment)
            table.add(fields[2:], number)
            number += 1
    return rows, table.whole()


def _plain_poses(text: str, places: list[tuple[int, int]], width: int) -> tuple[np.ndarray, Array] | None:
    """Parse lines in the usual form with numbers only, in a third of the time.

    Returns:
        Times (ms) and values (rows, servos); None where a line is not in that form, valid or not.
    """
    if any((end - start) * 4 > MAX_LINE_LENGTH for start, end in places):
        return None
    lines = [text[start:end] for start, end in places]
    parts = [line.rstrip("\r\n").split(",", 2) for line in lines]
    if any(len(part) < 3 or part[2].count(",") != width - 1 for part in parts):
        return None
    times, titles, values = zip(*parts, strict=True)
    clocks, cells = ",".join(times), ",".join(values)
    whole = len(cells.split(None, 1)) == 1 and ",," not in f",{cells}," and "\r" not in "".join(titles)
    if not (whole and all(titles) and _TIMES.fullmatch(clocks)):
        return None
    numbers = parse_numbers(cells.replace(",", " "))
    if numbers is None or len(numbers) != width * len(lines) or (numbers == UNDEFINED).any():
        return None
    moments = np.fromstring(clocks.replace(":", ","), np.int64, sep=",").reshape(-1, 3) @ (60_000, 1000, 1)
    return (moments, numbers.reshape(-1, width)) if moments[-1] <= MAX_TIME_MS else None


_HEADER_REMEDY = f"Write the first line as {HEADER},{VERSION},servo,servo,..."


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of every line, its line end included."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield start, end
        start = end


def _fields(text: str, start: int, end: int) -> list[LineField]:
    return [LineField(match[0], match.start(), match.end()) for match in _FIELD.finditer(text, start, end)]


def _check_length(text: str, start: int, end: int, line: int, path: str) -> None:
    if (end - start) * 4 > MAX_LINE_LENGTH and len(text[start:end].encode("utf-8", "replace")) > MAX_LINE_LENGTH:
        raise FormatError(
            f"the line exceeds {MAX_LINE_LENGTH} bytes, and Webots would split it", path=path, line=line,
            remedy="Use fewer digits or shorter servo names, or split the servos over two files.",
        )  # fmt: skip


def _names_below(text: str, line: tuple[int, int]) -> list[LineField]:
    """Return the servos that a variant of the format names on the second line; empty if it begins with a time."""
    fields = _fields(text, *line)
    return fields if fields and _TIME.fullmatch(fields[0].text) is None else []


def _check_width(fields: list[str], names: list[LineField], line: int, path: str) -> None:
    if len(fields) < 2:
        raise FormatError("the pose has no name", path=path, line=line, remedy="Write time,pose name,values.")
    values = fields[2:]
    if len(values) != len(names):
        raise FormatError(
            f"the pose has {len(values)} values for {len(names)} servos", path=path, line=line,
            where=names[len(values)].text if len(values) < len(names) else values[len(names)],
            remedy="Write a value for each servo, or * for none.",
        )  # fmt: skip


def _parse_time(text: str, line: int, path: str) -> int:
    match = _TIME.fullmatch(text)
    # longer numbers are rejected here: Python limits the digits that it converts
    parts = [int(part or 0) if len(part or "") < 20 else MAX_TIME_MS + 1 for part in match.groups()] if match else []
    if not match:
        raise FormatError(
            f"{text!r} is not a time", path=path, line=line, where="time",
            remedy="Write minutes:seconds:milliseconds, digits only.",
        )  # fmt: skip
    milliseconds = parts[0] * 60000 + parts[1] * 1000 + parts[2]
    if milliseconds > MAX_TIME_MS:
        raise FormatError(
            f"time {text} exceeds {MAX_TIME_MS} ms, the maximum of Webots",
            path=path, line=line, where="time", remedy="Reduce the minutes.",
        )  # fmt: skip
    return milliseconds


class PoseTable:
    """Values of poses (rows, servos), parsed in batches.

    All words at once would take ten times the memory of the file.
    """

    def __init__(self, names: list[LineField], path: str, report: Report) -> None:
        self.names, self.path, self.report = names, path, report
        self._words: list[str] = []
        self._lines: list[int] = []
        self._made: list[Array] = []

    def add(self, words: list[str], line: int) -> None:
        """Add the words of a pose."""
        self._words += words
        self._lines.append(line)
        if len(self._words) > _BATCH_SIZE:
            self._made.append(self._values())

    def add_many(self, values: Array) -> None:
        """Add values of poses (rows, servos)."""
        self._made += (self._values(), values)

    def whole(self) -> Array:
        """Return the values of all poses."""
        return np.concatenate([*self._made, self._values()])

    def _values(self) -> Array:
        words, lines = self._words, self._lines
        self._words, self._lines = [], []
        shape = len(lines), len(self.names)
        stars = np.array([word == "*" for word in words], bool)
        numbers = parse_numbers(" ".join("0" if word == "*" else word for word in words))
        if numbers is not None and len(numbers) == len(words) and not (numbers == UNDEFINED).any():
            return np.where(stars, np.nan, numbers).reshape(shape)
        places = ((word, *divmod(place, shape[1])) for place, word in enumerate(words))
        found = [
            _parse_value(word, self.names[servo].text, lines[row], self.path, self.report)
            for word, row, servo in places
        ]
        return np.array(found, np.float64).reshape(shape)


def _parse_value(text: str, servo: str, line: int, path: str, report: Report) -> float:
    """Parse a field as C does, reading the longest numeric prefix; nan for ``*``."""
    if text == "*":
        return math.nan
    match = _NUMBER.match(text)
    value = _parse_double(match["number"]) if match else math.nan
    if match is None or not math.isfinite(value):
        raise FormatError(
            f"{text!r} is not a number", path=path, line=line, where=servo, remedy="Write a number like -0.7, or *."
        )
    if match.end() != len(text):
        report.warn(
            "half-a-number", Message("only {} of {} was read, as in Webots", match["number"], repr(text)), line, servo
        )
    if value == UNDEFINED:
        report.warn("undefined", Message("{} was read as *, as in Webots", text), line, servo)
        return math.nan
    return value


def _parse_double(text: str) -> float:
    try:
        return float.fromhex(text) if "x" in text.lower() else float(text)
    except OverflowError:
        return math.inf


def _report_ignored_rest(text: str, end: int, line: int, report: Report) -> None:
    rest = sum(bool(each.strip()) for each in text[end:].splitlines())
    if rest:
        report.warn(
            "after-the-end",
            Message(
                "the motion ends at this empty line, as in Webots; {} after it ignored", count_with_noun(rest, "line")
            ),
            line,
        )
