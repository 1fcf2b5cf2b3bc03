"""A table of motion read: its columns and rows, and where in its text everything stands."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model.records import Array, Trajectory
from ...model.report import FormatError, Report
from .. import tables
from ..numbers import DECIMAL, read_many
from ..tables import UNITS, Cell, Line, Unit


@dataclass
class Column:
    """A servo's column."""

    index: int
    name: str
    unit: Unit


@dataclass
class Document:
    """A table as it stands in its text: its rows with their times (s), and ``table`` (rows, servos) with the values
    (rad or m), NaN where a cell is empty."""

    text: str
    delimiter: str
    header: Line
    time: Column
    columns: list[Column]
    rows: list[Line]
    times: Array
    table: Array
    comma: bool  # whether numbers have a decimal comma

    @property
    def newline(self) -> str:
        """How its lines end."""
        return "\r\n" if self.text.startswith("\r\n", self.header.end) else "\n"


def parse(text: str, path: str, report: Report) -> Document:
    """The document of a text."""
    header, delimiter = tables.header(text)
    at = tables.time_column(header) if delimiter else None
    if at is None:
        raise FormatError(
            "the table has no column of times", path=path, line=header.number,
            remedy="Its first line has to name the columns, one of them 'time [s]', the others the servos.",
        )  # fmt: skip
    columns = [_column(cell, index, header.number, path) for index, cell in enumerate(header.cells)]
    time = columns.pop(at)
    if time.unit.base not in {"", "s"}:
        raise FormatError(
            "the times are not in seconds", path=path, line=header.number, where=time.name, remedy="Use [s] or [ms]."
        )
    lines = list(tables.below(text, delimiter, header))
    columns = [column for column in columns if not _is_vacant(header.cells[column.index], column.index, lines)]
    if not columns:
        raise FormatError(
            "the table names no servo", path=path, line=header.number, remedy="Give every servo a column with its name."
        )
    for column in columns:
        if column.unit.base == "s":
            raise FormatError(
                "a position cannot be in seconds", path=path, line=header.number, where=column.name,
                remedy="Use [rad], [deg], [m] or [mm].",
            )  # fmt: skip
    names = [column.name for column in columns]
    for name in sorted({name for name in names if names.count(name) > 1}):
        report.warn("repeated-servo", f"servo {name!r} has more than one column; all are kept", header.number)
    if not lines:
        raise FormatError("the table has no rows", path=path, line=header.number, remedy="Write a row for every key.")
    for line in lines:
        _check_width(line, columns, len(header.cells), path)
    times, table, comma = _numbers(lines, [time, *columns], delimiter, path)
    back = np.flatnonzero(np.diff(times) < 0)
    if len(back):
        line = lines[back[0] + 1]
        raise FormatError(
            f"time {line.cells[time.index].text} comes after a later one", path=path, line=line.number,
            where=time.name, remedy="Sort the rows by their times.",
        )  # fmt: skip
    return Document(text, delimiter, header, time, columns, lines, times, table, comma)


def trajectories_of(document: Document, path: str = "") -> list[Trajectory]:
    """A trajectory for every servo's column: its cells that are not empty. A cell at the time of the next one which
    repeats the one before says that that one is held."""
    times, table = document.times, document.table
    found = []
    for number, column in enumerate(document.columns):
        rows = np.flatnonzero(~np.isnan(table[:, number]))
        keys = keys_of(times[rows], table[rows, number])
        if keys is None:
            raise _two_at_once(document, rows, times, column, path)
        kept, held = keys
        unit: Any = column.unit.base
        found.append(
            Trajectory(
                column.name, times[rows][kept], table[rows, number][kept], held=held if held.any() else None, unit=unit
            )
        )
    return found


def keys_of(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Which of a column's cells are keys, and whether each of these is held; None where two are at one time that do
    not say so."""
    steps = np.flatnonzero(np.diff(times) == 0)  # the first cell of two at one time
    if not len(steps):
        return np.arange(len(times)), np.zeros(len(times), bool)
    if steps[0] == 0 or (np.diff(steps) == 1).any() or (values[steps] != values[steps - 1]).any():
        return None
    held = np.zeros(len(times), bool)
    held[steps - 1] = True
    kept = np.setdiff1d(np.arange(len(times)), steps)
    return kept, held[kept]


def _two_at_once(document: Document, rows: np.ndarray, times: np.ndarray, column: Column, path: str) -> FormatError:
    number = document.columns.index(column)
    values = document.table[rows, number]
    count = next(count for count in range(1, len(rows) + 1) if keys_of(times[rows[:count]], values[:count]) is None)
    line = document.rows[rows[count - 1]].number
    return FormatError(
        f"servo {column.name!r} has two values at {times[rows[count - 1]]:g} s", path=path, line=line,
        where=column.name, remedy="Keep one; before a step, the first of the two repeats the value before it.",
    )  # fmt: skip


def _column(cell: Cell, index: int, line: int, path: str) -> Column:
    name, unit = tables.name_and_unit(cell)
    if unit not in UNITS:
        raise FormatError(
            f"{unit!r} is no unit of a position", path=path, line=line, where=name,
            remedy="Use [rad], [deg], [m] or [mm], or take the column out.",
        )  # fmt: skip
    return Column(index, name, UNITS[unit])


def _is_vacant(heading: Cell, index: int, lines: list[Line]) -> bool:
    """Whether a column has neither a heading nor anything below it: the lines end with a delimiter."""
    below = (line.cells[index].text.strip() for line in lines if index < len(line.cells))
    return not heading.text and not heading.quoted and not any(below)


def _check_width(line: Line, columns: list[Column], width: int, path: str) -> None:
    if len(line.cells) != width:
        missing = [column.name for column in columns if column.index >= len(line.cells)]
        raise FormatError(
            f"the row has {len(line.cells)} cells for {width} columns", path=path, line=line.number,
            where=missing[0] if missing else columns[-1].name,
            remedy="Give every column a cell, empty where there is no key.",
        )  # fmt: skip


def _numbers(lines: list[Line], columns: list[Column], delimiter: str, path: str) -> tuple[Array, Array, bool]:
    """The first column, of times, and the others (rows, columns), in s, rad and m; and whether there are decimal
    commas."""
    words = [line.cells[column.index].text for line in lines for column in columns]
    text = " ".join(filter(None, words))
    comma = delimiter != "," and "," in text
    numbers = read_many(text.replace(",", ".") if comma else text)
    filled = np.array([bool(word) for word in words])
    if numbers is not None and len(numbers) == np.count_nonzero(filled):
        table = np.full(len(words), np.nan)
        table[filled] = numbers
        table = table.reshape(len(lines), len(columns))
        for place, column in enumerate(columns):
            table[:, place] = table[:, place] * column.unit.factor / column.unit.divisor
        if not np.isinf(table).any() and not np.isnan(table[:, 0]).any():
            return table[:, 0], table[:, 1:], comma
    table = np.array([[_number(line, column, comma, path) for column in columns] for line in lines])
    without = np.flatnonzero(np.isnan(table[:, 0]))
    if len(without):
        raise FormatError(
            "the row has no time", path=path, line=lines[without[0]].number, where=columns[0].name,
            remedy="Write the time of its keys.",
        )  # fmt: skip
    return table[:, 0], table[:, 1:], comma


def _number(line: Line, column: Column, comma: bool, path: str) -> float:
    """A cell in seconds, rad or m; NaN where it is empty."""
    word = line.cells[column.index].text.strip()
    if not word:
        return math.nan
    decimal = word.replace(",", ".") if comma else word
    value = column.unit.read(float(decimal)) if DECIMAL.fullmatch(decimal) else math.nan
    if not math.isfinite(value):
        raise FormatError(
            f"{word!r} is no number", path=path, line=line.number, where=column.name,
            remedy="Write a number like -0.7, or leave the cell empty where there is no key.",
        )  # fmt: skip
    return value
