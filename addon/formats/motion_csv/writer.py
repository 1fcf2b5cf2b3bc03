"""Writer of motion tables: minimal edits of the document from which a motion was read, or a new document."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ...core.model import Motion, Trajectory
from ...core.motion.keyframes import finite_keyframes
from ...core.report import FormatError, Message, Report
from ..text import numbers
from ..text.csv_table import LINE_END, UNITS, Cell, TableLine, Unit, quote_cell
from ..text.numbers import TextChange, apply_changes, format_shortest
from ..webots.writer import report_attributes
from .reader import Document, document_trajectories

NO_KEYS = (np.empty(0), np.empty(0))


def patch_document(document: Document, motion: Motion, report: Report) -> str:
    """Return the document's text with a motion's edits; the exact text where there are none."""
    return _Patch(document, motion, report).text()


class _OutputLine:
    """Line of the table to be written.

    Args:
        time: its time in s.
        row: the document's row, None for a new line.
        was: time of that row.
        old: values of that row, nan where a cell is empty.

    ``changes`` holds new values by the servo's index, None where a cell becomes empty.
    """

    def __init__(self, time: float, row: TableLine | None = None, was: float = 0.0, old: Sequence[float] = ()) -> None:
        self.time, self.row, self.was, self.old = time, row, was, old
        self.changes: dict[int, float | None] = {}

    def holds(self, column: int | None) -> bool:
        """Return whether there was a value in a column."""
        return column is not None and self.row is not None and not math.isnan(self.old[column])


class _Patch:
    """Assignment of every value to a cell, and the resulting changes of the text."""

    def __init__(self, document: Document, motion: Motion, report: Report) -> None:
        self.document, self.motion = document, motion
        check_servos(motion, report)
        self.before = document_trajectories(document)
        self.width = len(document.header.cells)
        names = [column.name for column in document.columns]
        places = numbers.match_servo_names(names, [trajectory.name for trajectory in motion.trajectories])
        #: column of every servo in the document, None where it has none yet
        self.columns = [
            place if place is not None and self._fits(place, trajectory) else None
            for place, trajectory in zip(places, motion.trajectories, strict=True)
        ]

    def _fits(self, place: int, trajectory: Trajectory) -> bool:
        """Return whether a column's unit fits that of a servo's values."""
        return not trajectory.unit or self.document.columns[place].unit.base in {"", trajectory.unit}

    def text(self) -> str:
        """Return the document's text with all edits."""
        same = self.columns == list(range(len(self.document.columns)))
        if same and all(map(_equal, self.before, self.motion.trajectories)):
            return self.document.text
        check_keys(self.motion)
        lines = self._lines()
        for servo, column in enumerate(self.columns):
            self._fill(lines, servo, column)
        changes = self._headings(same)
        end = self.document.header.end
        for time in sorted(lines):
            for line in lines[time]:
                if same and line.row is not None and not line.changes and line.time == line.was:
                    end = line.row.end
                elif line.row is None:
                    changes.append((end, end, self.document.newline + self._joined(line)))
                elif self._is_emptied(line):
                    changes.append((line.row.start, self._next(line.row.end), ""))
                else:
                    end = line.row.end
                    changes += self._cells(line) if same else [(line.row.start, end, self._joined(line))]
        return apply_changes(self.document.text, changes)

    # -------------------------------------------------------------- rows of keyframes

    def _lines(self) -> dict[float, list[_OutputLine]]:
        """Return the document's rows by time, with new times where all keyframes of a row moved together."""
        moved = self._moved()
        self.stays = not moved  # True if all rows keep their times
        lines: dict[float, list[_OutputLine]] = {}
        document = self.document
        for row, was, old in zip(document.rows, document.times.tolist(), document.table.tolist(), strict=True):
            line = _OutputLine(moved.get(was, was), row, was, old)
            lines.setdefault(line.time, []).append(line)
        return lines

    def _moved(self) -> dict[float, float]:
        """Return new times, by old ones, of rows at whose old time no servo has a keyframe any more."""
        if all(map(self._has_original_times, range(len(self.columns)))):
            return {}
        shared = [(servo, column) for servo, column in enumerate(self.columns) if column is not None]
        weights = np.random.default_rng(0).uniform(1.0, 2.0, len(self.columns))
        old = _time_signatures((self.before[column], weights[servo]) for servo, column in shared)
        new = _time_signatures((self.motion.trajectories[servo], weights[servo]) for servo, _ in shared)
        for trajectory in self.motion.trajectories:
            for time in _keys(trajectory)[0]:
                new.setdefault(time, 0.0)
        times = [np.array(sorted(each), np.float64) for each in (old, new)]
        signs = [np.array([each[time] for time in sorted(each)], np.float64) for each in (old, new)]
        places = numbers.match_key_times(times[0], signs[0], times[1], signs[1])
        pairs = ((times[0][place], time) for place, time in zip(places, times[1], strict=True) if place >= 0)
        found = {float(was): float(now) for was, now in pairs if was != now}
        return found if self._in_order(found) else {}

    def _has_original_times(self, servo: int) -> bool:
        """Return whether the times of a servo's keyframes are unchanged."""
        column = self.columns[servo]
        return column is not None and np.array_equal(self.before[column].times, self.motion.trajectories[servo].times)

    def _in_order(self, moved: dict[float, float]) -> bool:
        """Return whether all rows, those without keyframes too, stay ordered by time."""
        times = [moved.get(time, time) for time in self.document.times.tolist()]
        return all(one <= two for one, two in zip(times[:-1], times[1:], strict=True))

    def _fill(self, lines: dict[float, list[_OutputLine]], servo: int, column: int | None) -> None:
        """Assign a servo's values to cells, of new rows where there are none."""
        if column is not None and self._has_original_times(servo) and self._fill_in_place(lines, servo, column):
            return
        wanted: dict[float, list[float]] = {}
        for (time, _), value in sorted(cell_values(self.motion.trajectories[servo]).items()):
            wanted.setdefault(time, []).append(value)
        for time in [*lines, *(time for time in wanted if time not in lines)]:
            there, values = lines.setdefault(time, []), wanted.get(time, [])
            filled = [line for line in there if line.holds(column)]
            extra = max(len(filled) - len(values), 0)
            for line in filled[:extra]:
                line.changes[servo] = None
            chosen = filled[extra:] if len(filled) >= len(values) else _free_lines(there, filled, time, len(values))
            for line, value in zip(chosen, values, strict=True):
                if column is None or not line.holds(column) or line.old[column] != value:
                    line.changes[servo] = value

    def _fill_in_place(self, lines: dict[float, list[_OutputLine]], servo: int, column: int) -> bool:
        """Assign a servo's values to the cells that were filled, if the rows and its keyframes allow it.

        They do if all rows keep their times, no two share a time and nothing is held. Returns whether they do.
        """
        document, wanted = self.document, self.motion.trajectories[servo]
        filled = np.flatnonzero(~np.isnan(document.table[:, column]))
        if not self.stays or len(lines) != len(document.rows) or wanted.holds()[:-1].any():
            return False
        times, values = document.times[filled], np.asarray(wanted.values, np.float64)
        if not np.array_equal(times, wanted.times):
            return False
        for number in np.flatnonzero(values != document.table[filled, column]).tolist():
            (line,) = lines[float(times[number])]
            line.changes[servo] = float(values[number])
        return True

    # -------------------------------------------------------------- text of rows

    def _is_emptied(self, line: _OutputLine) -> bool:
        """Return whether a row that had a value has none any more."""
        left = (servo for servo, column in enumerate(self.columns) if servo not in line.changes and line.holds(column))
        had = any(line.holds(column) for column in range(len(self.document.columns)))
        return had and all(value is None for value in line.changes.values()) and next(left, None) is None

    def _next(self, position: int) -> int:
        """Return the start of the next line."""
        end = LINE_END.search(self.document.text, position)
        return end.end() if end else len(self.document.text)

    def _headings(self, same: bool) -> list[TextChange]:
        """Return the changes of the header."""
        document, text = self.document, self.document.text
        cells = document.header.cells
        renamed: dict[int, str] = {}
        for column, trajectory in zip(self.columns, self.motion.trajectories, strict=True):
            if column is not None and document.columns[column].name != trajectory.name:
                old = document.columns[column]
                suffix = cells[old.index].text[len(old.name) :]
                name = trajectory.name + suffix if suffix else format_heading(Trajectory(trajectory.name, *NO_KEYS))
                renamed[old.index] = quote_cell(name)
        if same:
            return [(*_content_span(text, cells[index]), name) for index, name in sorted(renamed.items())]
        gone = {each.index for place, each in enumerate(document.columns) if place not in self.columns}
        words = [
            renamed.get(index, text[cell.start : cell.end]) for index, cell in enumerate(cells) if index not in gone
        ]
        added = [each for each, column in zip(self.motion.trajectories, self.columns, strict=True) if column is None]
        words += [quote_cell(format_heading(trajectory)) for trajectory in added]
        return [(document.header.start, document.header.end, document.delimiter.join(words))]

    def _cells(self, line: _OutputLine) -> list[TextChange]:
        """Return the changes of a row when the columns are unchanged."""
        text = self.document.text
        words = {self._index(servo): self._spelt(value, servo) for servo, value in line.changes.items()}
        if line.time != line.was:
            words[self.document.time.index] = self._when(line.time)
        cells = line.row.cells if line.row is not None and words else []
        return [(*_content_span(text, cells[index]), word) for index, word in sorted(words.items())]

    def _joined(self, line: _OutputLine) -> str:
        """Return the text of a row with changed columns; cells that stay keep their exact text."""
        document = self.document
        old = line.row.cells if line.row is not None else []
        words = [document.text[cell.start : cell.end] for cell in old] or [""] * self.width
        if line.row is None or line.time != line.was:
            words[document.time.index] = self._when(line.time)
        added = []
        for servo, column in enumerate(self.columns):
            word = self._spelt(line.changes.get(servo), servo)
            if column is None:
                added.append(word)
            elif servo in line.changes:
                words[self._index(servo)] = word
        gone = {each.index for place, each in enumerate(document.columns) if place not in self.columns}
        return document.delimiter.join([word for index, word in enumerate(words) if index not in gone] + added)

    def _index(self, servo: int) -> int:
        """Return the index of a servo's cell in a row."""
        column = self.columns[servo]
        assert column is not None
        return self.document.columns[column].index

    def _when(self, time: float) -> str:
        return self._number(time, self.document.time.unit)

    def _spelt(self, value: float | None, servo: int) -> str:
        column = self.columns[servo]
        unit = UNITS[""] if column is None else self.document.columns[column].unit
        return "" if value is None else self._number(value, unit)

    def _number(self, value: float, unit: Unit) -> str:
        word = unit.spelled(value)
        return word.replace(".", ",") if self.document.comma else word


def _free_lines(there: list[_OutputLine], filled: list[_OutputLine], time: float, count: int) -> list[_OutputLine]:
    """Return the lines for ``count`` values at a time when too few are filled: others of that time, or new ones."""
    last = there.index(filled[-1]) + 1 if filled else len(there)
    found = there[max(last - count, 0) : last]
    new = [_OutputLine(time) for _ in range(count - len(found))]
    there[:0] = new
    return new + found


def _time_signatures(tracks: Iterable[tuple[Trajectory, float]]) -> dict[float, float]:
    """Return a number for every keyframe time that identifies its values."""
    found: dict[float, float] = {}
    for trajectory, weight in tracks:
        for time, value in zip(*_keys(trajectory), strict=True):
            found[time] = found.get(time, 0.0) + weight * value
    return found


def _keys(trajectory: Trajectory) -> tuple[list[float], list[float]]:
    """Return a trajectory's times and values."""
    times, values = np.asarray(trajectory.times, np.float64), np.asarray(trajectory.values, np.float64)
    return times.tolist(), values.tolist()


def _equal(one: Trajectory, other: Trajectory) -> bool:
    """Return whether two trajectories have the same representation in a table."""
    return (
        one.name == other.name
        and other.unit in ("", one.unit)
        and np.array_equal(one.times, other.times)
        and np.array_equal(one.values, other.values)
        and np.array_equal(one.holds()[:-1], other.holds()[:-1])
    )


def _content_span(text: str, cell: Cell) -> tuple[int, int]:
    """Return the span of a cell without the space around it."""
    words = text[cell.start : cell.end]
    start = cell.start + len(words) - len(words.lstrip())
    return (start, start + len(words.strip())) if words.strip() else (cell.start, cell.end)


#: Key of a cell: its time, and True for the keyframe itself, False for the value held until then, which precedes it.
CellKey = tuple[float, bool]


def new_document(motion: Motion, report: Report) -> str:
    """Return a motion as a new table."""
    columns = column_values(motion, report)
    check_keys(motion)
    lines = [["time [s]", *(quote_cell(format_heading(trajectory)) for trajectory in motion.trajectories)]]
    for place in sorted(set().union(*columns)):
        cells = (column.get(place) for column in columns)
        lines.append([format_shortest(place[0]), *("" if value is None else format_shortest(value) for value in cells)])
    return "".join(",".join(line) + "\n" for line in lines)


def format_heading(trajectory: Trajectory) -> str:
    """Return a servo's name with its unit; an empty ``[]`` marks what looks like a unit as part of the name."""
    if trajectory.unit:
        return f"{trajectory.name} [{trajectory.unit}]"
    return f"{trajectory.name} []" if trajectory.name[-1:] in ("", "]", ")") else trajectory.name


def check_keys(motion: Motion) -> None:
    """Raise a FormatError where a table would have no rows."""
    if not any(len(trajectory.times) for trajectory in motion.trajectories):
        raise FormatError(
            "the motion has no keyframes", where=f"motion {motion.name!r}", remedy="Choose servos with keyframes."
        )


def column_values(motion: Motion, report: Report) -> list[dict[CellKey, float]]:
    """Return the values of every servo's column by ``CellKey``.

    Raises:
        FormatError: there are no servos, or invalid keyframes.
    """
    check_servos(motion, report)
    return [cell_values(trajectory) for trajectory in motion.trajectories]


def check_servos(motion: Motion, report: Report) -> None:
    """Check that a motion has servos with valid keyframes, and report attributes and held values.

    Raises:
        FormatError: there are no servos, or invalid keyframes.
    """
    where = f"motion {motion.name!r}"
    if not motion.trajectories:
        raise FormatError("the motion has no servos", where=where, remedy="Choose servos to save.")
    report_attributes(motion, "a table", report)
    for trajectory in motion.trajectories:
        _check(trajectory, where)
    steps = sum(int(np.count_nonzero(trajectory.holds()[:-1])) for trajectory in motion.trajectories)
    if steps:
        report.info("held-keys", Message("Held values: {} are written twice, as steps", steps), where=where)


def cell_values(trajectory: Trajectory) -> dict[CellKey, float]:
    """Return the values of a servo's column by ``CellKey``."""
    times, values = np.asarray(trajectory.times, np.float64), np.asarray(trajectory.values, np.float64)
    cells = {(time, True): value for time, value in zip(times.tolist(), values.tolist(), strict=True)}
    for key in np.flatnonzero(trajectory.holds()[:-1]):
        cells[float(times[key + 1]), False] = float(values[key])
    return cells


def _check(trajectory: Trajectory, where: str) -> None:
    times, _values = finite_keyframes(trajectory, where)
    if (np.diff(times) <= 0).any():
        raise FormatError(
            f"the keyframes of servo {trajectory.name!r} are not sorted by time, or two have the same", where=where,
            remedy="Sort them, and use each time once.",
        )  # fmt: skip
    if "\0" in trajectory.name:
        raise FormatError(f"a table cannot hold the name {trajectory.name!r}", where=where, remedy="Rename the servo.")
