"""Reader of motion tables: columns and rows with their positions in the text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.model import Array, Trajectory
from ...core.report import FormatError, Message, Report
from ..text import csv_table
from ..text.csv_table import UNITS, Cell, TableLine, TableLines, Unit
from ..text.numbers import DECIMAL, WHITESPACE, parse_numbers

#: Words per batch of the parsing.
_BATCH_SIZE = 4000


@dataclass
class Column:
    """Column of a servo, or of the times."""

    index: int
    name: str
    unit: Unit


@dataclass
class Document:
    """Parsed table.

    Attributes:
        text: the text of the file.
        delimiter: what separates its cells.
        header: its first line.
        time: the column of times.
        columns: the columns of servos.
        rows: the lines below the header.
        times: (rows,) in s.
        table: (rows, servos) in rad or m, nan where a cell is empty.
        comma: True where numbers have a decimal comma.
    """

    text: str
    delimiter: str
    header: TableLine
    time: Column
    columns: list[Column]
    rows: Sequence[TableLine]
    times: Array
    table: Array
    comma: bool  # whether numbers have a decimal comma

    @property
    def newline(self) -> str:
        """Line end of the document."""
        return "\r\n" if self.text.startswith("\r\n", self.header.end) else "\n"


def parse(text: str, path: str, report: Report) -> Document:
    """Parse a text.

    Raises:
        FormatError: with the line, where it is no valid table of motion.
    """
    header, delimiter = csv_table.read_header(text)
    at = csv_table.time_column(header) if delimiter else None
    if at is None:
        raise FormatError(
            "the table has no time column", path=path, line=header.number,
            remedy="Name the columns in the first line: 'time [s]' and the servos.",
        )  # fmt: skip
    width = sum(1 for _ in header.each())
    if width > csv_table.MAX_COLUMNS:
        raise FormatError(
            f"the table has {width} columns; at most {csv_table.MAX_COLUMNS} are supported", path=path,
            line=header.number, remedy="Split it into several tables, each with the time column.",
        )  # fmt: skip
    cells = header.cells
    columns = [_read_column(cell, index, header.number, path) for index, cell in enumerate(cells)]
    time = columns.pop(at)
    if time.unit.base not in {"", "s"}:
        raise FormatError(
            "the times are not in seconds", path=path, line=header.number, where=time.name, remedy="Use [s] or [ms]."
        )
    lines = csv_table.read_lines_below(text, delimiter, header)
    vacant = _empty_columns(cells, lines)
    columns = [column for column in columns if column.index not in vacant]
    if not columns:
        raise FormatError(
            "the table has no servo", path=path, line=header.number, remedy="Add a column with the name of each servo."
        )
    for column in columns:
        if column.unit.base == "s":
            raise FormatError(
                "the unit of a position cannot be seconds", path=path, line=header.number, where=column.name,
                remedy="Use [rad], [deg], [m] or [mm].",
            )  # fmt: skip
    names = Counter(column.name for column in columns)
    for name in sorted(name for name, count in names.items() if count > 1):
        report.warn(
            "repeated-servo", Message("servo {} has more than one column; all are kept", repr(name)), header.number
        )
    if not lines:
        raise FormatError("the table has no rows", path=path, line=header.number, remedy="Add a row for each keyframe.")
    times, table, comma = _numbers(lines, width, [time, *columns], path)
    back = np.flatnonzero(np.diff(times) < 0)
    if len(back):
        line = lines[back[0] + 1]
        raise FormatError(
            f"time {line.words[time.index]} comes after a later one", path=path, line=line.number,
            where=time.name, remedy="Sort the rows by time.",
        )  # fmt: skip
    return Document(text, delimiter, header, time, columns, lines, times, table, comma)


def document_trajectories(document: Document, path: str = "") -> list[Trajectory]:
    """Return a trajectory for every servo's column, from its non-empty cells.

    A cell at the time of the next one that repeats the previous value marks the previous keyframe as held.
    """
    times, table = document.times, document.table
    found = []
    for number, column in enumerate(document.columns):
        rows = np.flatnonzero(~np.isnan(table[:, number]))
        moments, values = times[rows], table[rows, number]
        keys = find_keys(moments, values)
        if keys is None:
            raise _duplicate_time_error(document, rows, moments, values, column, path)
        kept, held = keys
        unit: Any = column.unit.base
        found.append(Trajectory(column.name, moments[kept], values[kept], held=held if held.any() else None, unit=unit))
    return found


def find_keys(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the indices of a column's cells that are keyframes, and whether each of these is held.

    None where two cells at one time do not form a step.
    """
    steps, unclear = _find_steps(times, values)
    if not len(steps):
        return np.arange(len(times)), np.zeros(len(times), bool)
    if unclear.any():
        return None
    held = np.zeros(len(times), bool)
    held[steps - 1] = True
    kept = np.setdiff1d(np.arange(len(times)), steps)
    return kept, held[kept]


def _find_steps(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first cell of each pair at one time, and whether the pair is ambiguous.

    A pair is ambiguous if its first cell does not repeat the value before it, or is itself the second of a pair.
    """
    steps = np.flatnonzero(np.diff(times) == 0)
    unclear = (steps == 0) | (values[steps] != values[steps - 1])
    unclear[1:] |= np.diff(steps) == 1
    return steps, unclear


def _duplicate_time_error(
    document: Document, rows: np.ndarray, times: np.ndarray, values: np.ndarray, column: Column, path: str
) -> FormatError:
    steps, unclear = _find_steps(times, values)
    second = int(steps[unclear][0]) + 1
    return FormatError(
        f"servo {column.name!r} has two values at {times[second]:g} s", path=path,
        line=document.rows[int(rows[second])].number, where=column.name,
        remedy="Delete one. A step needs two rows, of which the first repeats the previous value.",
    )  # fmt: skip


def _read_column(cell: Cell, index: int, line: int, path: str) -> Column:
    name, unit = csv_table.name_and_unit(cell)
    if unit not in UNITS:
        raise FormatError(
            f"{unit!r} is not a unit of a position", path=path, line=line, where=name,
            remedy="Use [rad], [deg], [m] or [mm], or delete the column.",
        )  # fmt: skip
    return Column(index, name, UNITS[unit])


def _empty_columns(headings: list[Cell], lines: Iterable[TableLine]) -> set[int]:
    """Return the columns with neither a heading nor values: their lines end with delimiters."""
    left = {index for index, heading in enumerate(headings) if not heading.text.strip() and not heading.quoted}
    for line in lines:
        if not left:
            break
        words = line.words
        left = {index for index in left if index >= len(words) or not words[index].strip()}
    return left


def _column_count_error(line: TableLine, columns: list[Column], width: int, path: str) -> FormatError:
    count = len(line.words)
    missing = [column.name for column in columns if column.index >= count]
    return FormatError(
        f"the row has {count} cells for {width} columns", path=path, line=line.number,
        where=missing[0] if missing else columns[-1].name,
        remedy="Add a cell for each column, empty without a keyframe.",
    )  # fmt: skip


def _numbers(lines: TableLines, width: int, columns: list[Column], path: str) -> tuple[Array, Array, bool]:
    """Parse the cells of all columns.

    Works in batches of rows, as all words at once would take ten times the memory of the file.

    Returns:
        Times (rows,) in s, values (rows, columns) in rad or m, and whether there are decimal commas.
    """
    table = np.empty((len(lines), len(columns)))
    comma = False
    step = max(_BATCH_SIZE // len(columns), 1)
    whole = [column.index for column in columns] if len(columns) == width else []
    for start in range(0, len(lines), step):
        plain = _plain_numbers(lines, slice(start, start + step), width) if whole else None
        if plain is not None:
            comma |= plain[1]
            table[start : start + step] = _to_base_units(plain[0][:, whole], columns)
            if np.isfinite(table[start : start + step]).all():
                continue
        part = lines[start : start + step]
        rows = [line.words for line in part]
        short = next((line for line, row in zip(part, rows, strict=True) if len(row) != width), None)
        if short is not None:
            raise _column_count_error(short, columns[1:], width, path)
        words = [row[column.index] for row in rows for column in columns]
        text = " ".join(filter(None, words))
        if lines.delimiter != "," and "," in text:
            comma, text = True, text.replace(",", ".")
        table[start : start + step] = _parse_words(words, text, columns, part, lines.delimiter != ",", path)
    without = np.flatnonzero(np.isnan(table[:, 0]))
    if len(without):
        raise FormatError(
            "the row has no time", path=path, line=lines[int(without[0])].number, where=columns[0].name,
            remedy="Enter the time of its keyframes.",
        )  # fmt: skip
    return table[:, 0].copy(), table[:, 1:], comma


def _plain_numbers(lines: TableLines, some: slice, width: int) -> tuple[Array, bool] | None:
    """Parse lines in which every cell is a plain number, in a fifth of the time.

    Returns:
        The numbers (rows, columns) and whether they have decimal commas; None where a line is not plain, valid or not.
    """
    delimiter = lines.delimiter
    rows = lines.texts(some)
    if any(row.count(delimiter) != width - 1 for row in rows):
        return None
    text = f";{delimiter.join(rows).replace(delimiter, ';')};"
    if " " in text:
        text = text.replace("; ", ";").replace(" ;", ";")
    if ";;" in text or len(text.split(None, 1)) > 1:
        return None  # an empty cell, or one with several words
    text, comma = text.replace(";", " "), "," in text
    numbers = parse_numbers(text.replace(",", ".") if comma else text)
    if numbers is None or len(numbers) != width * len(rows):
        return None
    return numbers.reshape(-1, width), comma


def _to_base_units(table: Array, columns: list[Column]) -> Array:
    """Convert numbers (rows, columns) to s, rad and m; infinite on overflow."""
    with np.errstate(over="ignore"):
        return table * [each.unit.factor for each in columns] / [each.unit.divisor for each in columns]


def _parse_words(
    words: list[str], text: str, columns: list[Column], lines: list[TableLine], comma: bool, path: str
) -> Array:
    """Parse the words of some rows to (rows, columns) in s, rad and m; ``text`` is the non-empty words joined."""
    numbers = parse_numbers(text)
    filled = np.array([bool(word) for word in words])
    if numbers is not None and len(numbers) == np.count_nonzero(filled):
        table = np.full(len(words), np.nan)
        table[filled] = numbers
        table = _to_base_units(table.reshape(len(lines), len(columns)), columns)
        if not np.isinf(table).any():
            return table
    rows = zip(lines, (words[at : at + len(columns)] for at in range(0, len(words), len(columns))), strict=True)
    return np.array(
        [[_parse_number(word, line, column, comma, path) for word, column in zip(row, columns, strict=True)]
         for line, row in rows]
    )  # fmt: skip


def _parse_number(word: str, line: TableLine, column: Column, comma: bool, path: str) -> float:
    """Parse a cell, in seconds, rad or m; nan where it is empty."""
    if not word.strip():
        return math.nan
    word = word.strip(WHITESPACE)
    decimal = word.replace(",", ".") if comma else word
    value = column.unit.read(float(decimal)) if DECIMAL.fullmatch(decimal) else math.nan
    if not math.isfinite(value):
        raise FormatError(
            f"{word!r} is not a number", path=path, line=line.number, where=column.name,
            remedy="Write a number like -0.7, or leave the cell empty without a keyframe.",
        )  # fmt: skip
    return value
