"""The table of ``build.py bench``: its rows, how they are judged, how they grow with what they work on, and how they
are printed and kept."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """What was measured: ``value``, in ``measure`` (seconds of the processor, where nothing else is said), for
    ``size`` things of a ``unit``.

    ``floor`` is what the same takes by the shortest way, or by another program (``floor_name``), in the same run; None:
    there is nothing to compare with, and the value itself is judged. ``bar``: the most that the ratio to the floor may
    be; with ``at_least`` the ratio says how many times as good as the floor we are, and the bar is the least.
    ``growth_bar``: the most that the exponent may be with which the value grows between the largest two sizes.

    >>> Row("import", 1000, "bodies", 0.3, 0.2, "shortest way", bar=2).verdict
    'holds'
    >>> Row("kinematics", 31, "joints", 0.3, 0.6, "another program", bar=4, at_least=True).ratio
    2.0
    """

    what: str
    size: int
    unit: str
    value: float
    floor: float | None = None
    floor_name: str = ""
    bar: float | None = None
    at_least: bool = False
    growth_bar: float | None = None
    measure: str = "s"

    @property
    def ratio(self) -> float | None:
        """How many times the floor (or, with ``at_least``, how many times as good)."""
        if self.floor is None:
            return None
        above, below = (self.floor, self.value) if self.at_least else (self.value, self.floor)
        return above / below if below else math.inf

    @property
    def verdict(self) -> str:
        """``holds``, ``misses``, or nothing where there is no bar."""
        judged = self.value if self.floor is None else self.ratio
        return _verdict(judged, self.bar, self.at_least)

    def unjudged(self) -> Row:
        """The row without its bars."""
        return replace(self, bar=None, growth_bar=None)

    @property
    def line(self) -> str:
        """The row as it is printed, without what it is of."""
        floor = "" if self.floor is None else f"{self.floor:.4g}"
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}"
        bar = "" if self.bar is None else f"{'>=' if self.at_least else '<='} {self.bar:.3g}"
        sized = f"{self.size:9,} {self.unit}"
        return f"{sized:20} {self.value:10.4g} {self.measure:3} {floor:>9} {ratio:>8} {bar:>9}  {self.verdict}".rstrip()


def _verdict(judged: float | None, bar: float | None, at_least: bool = False) -> str:
    if bar is None or judged is None:
        return ""
    return "holds" if (judged >= bar if at_least else judged <= bar) else "misses"


@dataclass(frozen=True)
class Growth:
    """The exponents with which a row's value grows with its size: fitted over all sizes, and between the ``last`` two,
    which is the one that is judged: small sizes hide what is quadratic behind what is constant."""

    what: str
    unit: str
    exponent: float
    last: float
    bar: float | None = None

    @property
    def verdict(self) -> str:
        """``holds``, ``misses``, or nothing where there is no bar."""
        return _verdict(self.last, self.bar)

    @property
    def line(self) -> str:
        """The growth as it is printed beneath the sizes of its row."""
        bar = "" if self.bar is None else f"<= {self.bar:.3g}"
        told = f"grows N^{self.exponent:.2f}, between the last two N^{self.last:.2f}"
        return f"{told:64}{bar:>9}  {self.verdict}".rstrip()


def growth(rows: Iterable[Row]) -> list[Growth]:
    """How each row grows that has several sizes, in the rows' order."""
    out = []
    for (what, unit), found in grouped(rows).items():
        sized = sorted({row.size: row for row in found}.items())
        if len(sized) < 2 or any(row.value <= 0.0 for _, row in sized):
            continue
        sizes, values = (np.log([pick(each) for each in sized]) for pick in (lambda it: it[0], lambda it: it[1].value))
        last = (values[-1] - values[-2]) / (sizes[-1] - sizes[-2])
        bar = next((row.growth_bar for _, row in reversed(sized) if row.growth_bar is not None), None)
        out.append(Growth(what, unit, float(np.polyfit(sizes, values, 1)[0]), float(last), bar))
    return out


def grouped(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """The rows of each name, with what they count."""
    out: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        out.setdefault((row.what, row.unit), []).append(row)
    return out


#: How a line begins that a part prints of what it cannot compare with.
NOTE = "not compared: "
HEADING = f"{'':4}{'size':20} {'value':>10}     {'floor':>9} {'ratio':>8} {'bar':>9}"


def printed(rows: Sequence[Row]) -> str:
    """Rows by name with their sizes beneath, and how they grow."""
    grows = {(each.what, each.unit): each for each in growth(rows)}
    lines = []
    for key, found in grouped(rows).items():
        floors = dict.fromkeys(row.floor_name for row in found if row.floor_name)
        lines.append(f"{key[0]}{' (to ' + ', '.join(floors) + ')' if floors else ''}")
        lines += [f"    {row.line}" for row in found]
        if key in grows:
            lines.append(f"    {grows[key].line}")
    return "\n".join(lines)


def missed(rows: Sequence[Row]) -> list[str]:
    """A line for each bar that is not kept."""
    lines = []
    for row in rows:
        if row.verdict == "misses":
            judged = row.value if row.ratio is None else row.ratio
            lines.append(f"{row.what}, {row.size:,} {row.unit}: {judged:.3g} (bar {row.bar:.3g})")
    for each in growth(rows):
        if each.verdict == "misses":
            lines.append(f"{each.what}: grows N^{each.last:.2f} (bar N^{each.bar:.3g})")
    return lines


def judged(rows: Sequence[Row]) -> int:
    """How many bars there are."""
    return sum(row.bar is not None for row in rows) + sum(each.bar is not None for each in growth(rows))


@dataclass(frozen=True)
class Run:
    """How a part was measured: of which sizes, in how many seconds by the clock, and what went wrong."""

    sizes: list[int]
    seconds: float
    wrong: str = ""


def as_json(rows: Mapping[str, Sequence[Row]], told: Mapping[str, Any], ran: Mapping[str, Run]) -> str:
    """The whole table: what it was measured with, and how, the rows and the growths of each part; a row a line."""
    parts = {
        part: {
            **asdict(ran[part]),
            "rows": [{**asdict(row), "ratio": row.ratio, "verdict": row.verdict} for row in found],
            "growth": [{**asdict(each), "verdict": each.verdict} for each in growth(found)],
        }
        for part, found in rows.items()
    }
    text = json.dumps({**told, "parts": parts}, indent=1, allow_nan=False)
    return re.sub(r"\n {5,}(?=[^ ])|\n {4}(?=\})", " ", text) + "\n"


def written(row: Row) -> str:
    """A row as a line of JSON, which ``read`` takes back."""
    return json.dumps(asdict(row)) + "\n"


def read(line: str) -> Row:
    """The row of a line."""
    return Row(**json.loads(line))
