"""``build.py bench``: how fast Knuckle is, in one table, as ratios to floors and to other programs of the same run.

A floor is the shortest correct script that does the same. The parts are the modules of ``speed`` beside this file: each
has its ``SIZES`` (``QUICK`` ones, of a few seconds, and where there is more to see than a run of all parts has time for
``FULL`` ones) and its ``rows(sizes, folder)``, which come with the smallest size first. Each runs in a process of its
own, so that what one leaves behind is no burden to the next; of one that dies or takes too long there are the rows up
to there, and a line that says so.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks import against, one_tree, physics, table

HERE = Path(__file__).parent
ROOT = HERE.parent
KEPT = Path("out/bench.json")
#: Seconds that a part may take; and with ``--full``.
PATIENCE, ALL_PATIENCE = 180.0, 3600.0
#: Benches with words of their own.
OWN_WORDS = ("batch", "conversions", "contact_sheet", "farm", "films", "physics", *physics.modules())


def parts() -> list[str]:
    """The parts of the table that there are."""
    return sorted(path.stem for path in (HERE / "speed").glob("*.py"))


def module(part: str) -> ModuleType:
    """A part's module, which needs Blender."""
    return import_module(f"benchmarks.speed.{part}")


def chosen_sizes(part: str, extent: str) -> tuple[int, ...]:
    """The sizes of a part: its ``SIZES``, ``QUICK`` or ``FULL`` ones; those it has no others for."""
    made = module(part)
    return tuple(getattr(made, extent, made.SIZES))


def measure(part: str, sizes: Sequence[int], quick: bool, kept: Path) -> None:
    """Take the rows of a part, here, and write each to a file as it comes."""
    with tempfile.TemporaryDirectory() as folder, kept.open("w", encoding="utf-8") as lines:
        for row in module(part).rows(sizes, Path(folder)):
            lines.write(table.written(row.unjudged() if quick else row))
            lines.flush()


def apart(part: str, words: Sequence[str], folder: Path, patience: float = PATIENCE) -> tuple[list[table.Row], str]:
    """The rows of a part from a process of its own, and what went wrong."""
    kept = folder / f"{part}.jsonl"
    command = [sys.executable, str(HERE / "run.py"), "--part", part, "--rows", str(kept), *words]
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    try:
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, timeout=patience, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        for line in done.stdout.splitlines():
            if line.startswith(table.NOTE):
                print(line, flush=True)
        wrong = "\n".join(done.stdout.splitlines()[-15:]) if done.returncode else ""
        wrong = f"{part} ended with code {done.returncode}:\n{wrong}" if done.returncode else ""
    except subprocess.TimeoutExpired:
        wrong = f"{part} took more than {patience:.0f} s: what it had by then is in the table"
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.is_file() else []
    return [table.read(line) for line in lines], wrong


def heading() -> str:
    """What was measured with."""
    import bpy

    python = sys.version.split()[0]
    return f"Blender {bpy.app.version_string}, Python {python}, {os.cpu_count()} cores, processor seconds, medians"


def main(arguments: list[str]) -> int:
    """Print the table and keep it as JSON. 1 where a part dies or, with ``--strict``, a bar is missed."""
    if arguments and arguments[0] in OWN_WORDS:
        return int(import_module(f"benchmarks.{arguments[0]}").main(arguments[1:]))
    parser = argparse.ArgumentParser(prog="build.py bench", description="Ratios to floors measured in the same run.")
    parser.add_argument("--only", nargs="+", default=[], metavar="PART", help=f"of {', '.join(parts())}")
    parser.add_argument("--quick", action="store_true", help="small sizes, no bars: that it runs")
    parser.add_argument("--full", action="store_true", help="largest sizes of all parts, however long they take")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="N", help="instead of a part's own")
    parser.add_argument("--json", type=Path, metavar="FILE", help=f"default: {KEPT}")
    parser.add_argument("--strict", action="store_true", help="a bar that is missed is a failure")
    parser.add_argument(
        "--against", type=Path, metavar="TREE",
        help="instead: playing, posing, files and edits in this tree beside another one (--only: its parts)",
    )  # fmt: skip
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    known = one_tree.PARTS if options.against else parts()
    if unknown := [part for part in options.only if part not in known]:
        parser.error(f"argument --only: there is no {', '.join(unknown)}; choose from {', '.join(known)}")
    if options.against:
        return against.main(options.against, options.only, 1 if options.quick else against.TIMES, options.json)
    extent = "QUICK" if options.quick else "FULL" if options.full else "SIZES"
    options.json = options.json or KEPT
    if options.part:
        measure(options.part, options.sizes or chosen_sizes(options.part, extent), options.quick, options.rows)
        return 0
    patience = ALL_PATIENCE if options.full else PATIENCE
    start, found = time.monotonic(), {}
    ran: dict[str, table.Run] = {}
    told = {"with": heading(), "date": date.today().isoformat(), "extent": extent.lower()}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    print(f"{heading()}\n{table.HEADING}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for part in options.only or parts():
            begun, sizes = time.monotonic(), options.sizes or chosen_sizes(part, extent)
            words = [*(["--quick"] if options.quick else []), "--sizes", *map(str, sizes)]
            found[part], wrong = apart(part, words, Path(folder), patience)
            ran[part] = table.Run(list(sizes), round(time.monotonic() - begun, 1), wrong)
            sized = ", ".join(f"{size:,}" for size in sizes)
            print(f"\n-- {part}: {sized}; {ran[part].seconds:.0f} s\n{table.printed(found[part])}", flush=True)
            if wrong:
                print(wrong, flush=True)
            options.json.write_text(table.as_json(found, told, ran), encoding="utf-8")
    rows = [row for each in found.values() for row in each]
    missed, count = table.missed(rows), table.judged(rows)
    print("\n" + "\n".join([*(f"missed: {line}" for line in missed), f"{count - len(missed)} of {count} bars hold"]))
    print(f"{len(rows)} rows in {time.monotonic() - start:.0f} s, kept in {options.json}")
    died = any(each.wrong for each in ran.values())
    return int(died or (options.strict and bool(missed)))


if __name__ == "__main__":
    ended = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(ended)  # with MuJoCo in its process, Blender 4.5 waits for ever as it ends
