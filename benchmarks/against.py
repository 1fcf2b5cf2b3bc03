"""``build.py bench --against TREE``: this tree beside another one, such as a checkout of an earlier release.

Each tree has a process of its own with its own package; the parts of ``one_tree`` run in both in turn, so that a slow
minute of the machine is shared. A row is the ratio of the medians, new to old; rows above ``BAR`` are measured anew,
and marked where they are above it again."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from benchmarks import one_tree

HERE = Path(__file__).parent
ROOT = HERE.parent
#: Times that each part runs in each tree; the least that a row may take, new to old, to be measured anew.
TIMES, BAR = 5, 1.15
#: Bodies of the models and of the one that is edited, and keys of each servo of the motion.
BODIES, EDITED, KEYS = 300, 1000, 250


@dataclass(frozen=True)
class Row:
    """What was timed: processor seconds of this tree and of the other, medians; ``again``: of a second measurement."""

    what: str
    new: float
    old: float
    again: tuple[float, float] | None = None

    @property
    def ratio(self) -> float:
        """New to old; of the second measurement where there is one."""
        new, old = self.again or (self.new, self.old)
        return new / old

    @property
    def is_slower(self) -> bool:
        """Whether it was above the bar, and again."""
        return self.ratio > BAR

    @property
    def line(self) -> str:
        """The row as it is printed."""
        first = f"{self.what:40} {1e3 * self.new:9.1f} {1e3 * self.old:9.1f} {self.new / self.old:7.2f}"
        return first if self.again is None else f"{first} {self.ratio:7.2f}{'  slower' if self.is_slower else ''}"


HEADING = f"{'':40} {'new ms':>9} {'old ms':>9} {'ratio':>7} {'again':>7}"


class Tree:
    """A process that measures with the package of a tree."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - see __exit__
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [sys.executable, "-P", str(HERE / "one_tree.py"), str(tree), str(folder)]
        self._process = subprocess.Popen(
            command, cwd=tree, env=environ, text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip
        self._tree = tree

    def measure(self, part: str) -> dict[str, float]:
        """Seconds of each row of a part. RuntimeError where the process ends over it."""
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(f"{part}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended: so has its output
        answer = self._process.stdout.readline()
        if not answer:
            self._errors.seek(0)
            raise RuntimeError(f"{self._tree}: {part} failed\n{''.join(self._errors.readlines()[-15:])}")
        return dict(json.loads(answer))

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.communicate()
        self._errors.close()


def in_turn(new: Tree, old: Tree, part: str, times: int) -> dict[str, tuple[float, float]]:
    """Medians of each row, in both trees, the one and the other first."""
    took: dict[str, tuple[list[float], list[float]]] = {}
    for number in range(times):
        for which in ((0, 1), (1, 0))[number % 2]:
            for what, value in (new, old)[which].measure(part).items():
                took.setdefault(what, ([], []))[which].append(value)
    return {
        what: (statistics.median(ours), statistics.median(theirs)) for what, (ours, theirs) in took.items() if theirs
    }


def compared(new: Tree, old: Tree, part: str, times: int) -> list[Row]:
    """The rows of a part; those above the bar are measured anew, after one run that warms both trees up."""
    for tree in (new, old):
        tree.measure(part)
    rows = [Row(what, *both) for what, both in in_turn(new, old, part, times).items()]
    if not any(row.is_slower for row in rows):
        return rows
    again = in_turn(new, old, part, times)
    return [Row(row.what, row.new, row.old, again[row.what]) if row.is_slower else row for row in rows]


def write_input(folder: Path) -> None:
    """The files that both trees read: a star of chains in every format, its motion, and our own models."""
    from benchmarks.mechanisms import star, written
    from benchmarks.motion_files import KINDS, angles

    for name, path in written(folder, BODIES).items():
        path.replace(folder / f"star{one_tree.EXTENSIONS[name]}")
    (folder / "star.jm").write_text(star(BODIES), encoding="utf-8")
    (folder / "twins.jm").write_text(star(EDITED, twins=True), encoding="utf-8")
    (folder / "motion.csv").write_text(KINDS["CSV"].text(angles(KEYS)), encoding="utf-8")
    shutil.copytree(ROOT / "sample_models", folder / "samples")


def main(tree: Path, only: Collection[str] = (), times: int = TIMES, kept: Path | None = None) -> int:
    """Print the table, and keep it as JSON. 1 where a row is slower, twice."""
    if not (tree / "addon/__init__.py").is_file():
        print(f"{tree} is no checkout of Knuckle: it has no addon/__init__.py", file=sys.stderr)
        return 2
    rows: list[Row] = []
    print(
        f"this tree beside {tree}, {BODIES} bodies ({EDITED} edited), processor time, median of {times}\n{HEADING}",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        write_input(Path(folder))
        with Tree(ROOT, Path(folder)) as new, Tree(tree.resolve(), Path(folder)) as old:
            for part in only or one_tree.PARTS:
                found = compared(new, old, part, times)
                print("\n".join(row.line for row in found), flush=True)
                rows += found
    if kept is not None:
        kept.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    print(summary(rows))
    return int(any(row.is_slower for row in rows))


def summary(rows: Sequence[Row]) -> str:
    """How this tree compares as a whole."""
    slower = [row.what for row in rows if row.is_slower]
    ratios: Mapping[str, list[float]] = {
        verb: [row.ratio for row in rows if row.what.startswith(verb)]
        for verb in ("import", "export", "play", "pose", "edit")
    }
    told = ", ".join(f"{verb} {statistics.geometric_mean(found):.2f}" for verb, found in ratios.items() if found)
    return f"{len(rows)} rows, {len(slower)} slower than {BAR:g} times; geometric means: {told}"
