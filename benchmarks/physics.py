"""``build.py bench physics``: every figure that Knuckle's physics has to show, in one table: what, value, bar.

The parts are those of the benches beside this one whose names begin with ``physics_``. Each runs in a process of its
own, so that one that fails, or takes Blender with it, is a line in the table and not its end.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
#: Seconds that a part may take.
_PATIENCE = 1800.0


class Figure(NamedTuple):
    """What was measured, how much it is, in which unit, the bar that it has (None: it is told, and nothing more), and
    whether it keeps to that."""

    what: str
    value: float
    unit: str
    bar: float | None
    holds: bool

    def line(self) -> str:
        bar, told = ("", "") if self.bar is None else (f"{self.bar:g}", "holds" if self.holds else "NOT HELD")
        return f"{self.what:92} {self.value:11.5g} {self.unit:3} {bar:>8}  {told}".rstrip()


def figure_of(row: Any) -> Figure:
    """A row of any of the benches: with a judgement of its own, or with a bar that it has to stay within."""
    if hasattr(row, "holds"):
        return Figure(row.what, float(row.value), getattr(row, "unit", ""), row.bar, bool(row.holds))
    what, value, bar = row[:3]
    holds = bool(row[3]) if len(row) > 3 else bar is None or value <= bar
    return Figure(what, float(value), "", None if bar is None else float(bar), holds)


def modules() -> list[str]:
    """The benches of physics that there are."""
    return sorted(path.stem for path in HERE.glob("physics_*.py"))


def parts_of(name: str) -> dict[str, Callable[[], Iterator[Any]]]:
    """The parts of a bench by name, in its order. Some are told for how many seconds they run."""
    module = import_module(f"benchmarks.{name}")
    named = module.PARTS if isinstance(module.PARTS, dict) else {part: getattr(module, part) for part in module.PARTS}
    seconds = getattr(module, "SECONDS", {})
    return {part: _ready(rows, seconds.get(part)) for part, rows in named.items()}


def _ready(rows: Callable[..., Iterator[Any]], seconds: float | None) -> Callable[[], Iterator[Any]]:
    asks = any(word.default is word.empty for word in inspect.signature(rows).parameters.values())
    return (lambda: rows(seconds)) if asks else rows


def measured(name: str, part: str, kept: Path | None = None) -> list[Figure]:
    """The figures of a part, printed as they come; written to a file, a line of JSON each, where one is given."""
    out = []
    for row in parts_of(name)[part]():
        out.append(figure_of(row))
        print(out[-1].line(), flush=True)
        if kept is not None:
            with kept.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(out[-1]) + "\n")
    return out


def apart(name: str, part: str, folder: Path) -> list[Figure]:
    """The same from a process of its own; that it came to its end is a figure more where it did not."""
    kept = folder / f"{name}-{part}.jsonl"
    words = [sys.executable, str(HERE / "run.py"), "physics", "--part", name, part, "--rows", str(kept)]
    try:
        ended = subprocess.run(words, timeout=_PATIENCE, check=False).returncode
    except subprocess.TimeoutExpired:
        ended = -1
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.is_file() else []
    found = [Figure(*json.loads(line)) for line in lines]
    if ended:
        found.append(Figure(f"{name} {part} came to its end, its code being", ended, "", 0.0, False))
        print(found[-1].line(), flush=True)
    return found


def heading() -> str:
    """What was measured with."""
    import bpy

    return (
        f"Blender {bpy.app.version_string}, Python {sys.version.split()[0]}, {os.cpu_count()} cores\n"
        f"{'what':92} {'value':>11} {'':3} {'bar':>8}"
    )


def closing(found: list[Figure]) -> str:
    """How many figures hold, and which do not."""
    judged = [figure for figure in found if figure.bar is not None]
    missed = [figure for figure in judged if not figure.holds]
    lines = [f"not held: {figure.what}: {figure.value:.5g} {figure.unit} (bar {figure.bar:g})" for figure in missed]
    unknown = [figure for figure in found if figure.bar is None and math.isnan(figure.value)]
    lines += [f"not measured: {figure.what}" for figure in unknown]
    told = len(found) - len(judged) - len(unknown)
    last = f"{len(judged) - len(missed)} of {len(judged)} hold; {told} more figures have no bar"
    return "\n".join([*lines, last + (f"; {len(unknown)} were not measured" if unknown else "")])


def _use_one_cpu() -> None:
    """Use one CPU from now on, where the system can: MuJoCo has one thread, and CPU time of idle threads counts.

    Blender's and numpy's threads wait actively for work for a while, in which a step is taken by one of them.
    """
    if hasattr(os, "sched_setaffinity"):
        usable = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {usable[os.getpid() % len(usable)]})


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a figure does not hold."""
    if "--part" in arguments:
        _use_one_cpu()  # before Blender is imported
    known = {(name, part) for name in modules() for part in parts_of(name)}
    parser = argparse.ArgumentParser(prog="build.py bench physics", description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=sorted({word for pair in known for word in pair}), nargs="+", metavar="PART")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table here as well, for the manual")
    parser.add_argument("--part", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.part:
        sys.stdout = os.fdopen(os.dup(1), "w")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Blender tells of every mesh that it reads
        measured(*options.part, options.rows)
        return 0
    start, found = time.monotonic(), []
    print(heading(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in modules():
            for part in parts_of(name):
                if not options.only or {name, part} & set(options.only):
                    found += apart(name, part, Path(folder))
    print(f"{closing(found)} ({time.monotonic() - start:.0f} s)")
    if options.json is not None:
        kept = {"with": heading().splitlines()[0], "date": date.today().isoformat()}
        told = {**kept, "figures": [figure._asdict() for figure in found]}
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return int(not all(figure.holds for figure in found))
