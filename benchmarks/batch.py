"""``build.py bench batch``: every real file to every format with one command, in one process and in two.

Says minutes and files per second, that both make the very same files, and which files could not be converted."""

from __future__ import annotations

import argparse
import filecmp
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support.references import CORPUS

ROOT = Path(__file__).resolve().parents[1]


def converted(folder: Path, out: Path, processes: int) -> tuple[dict[str, Any], float]:
    """What the command said, and the seconds that it took with all that starting Python takes."""
    words = ["convert", str(folder), "--to", "all", "--out-dir", str(out), "--parallel", str(processes), "--json"]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "addon", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return json.loads(done.stdout), time.perf_counter() - started


def same(first: Path, second: Path) -> bool:
    """Whether two folders hold the same files."""
    names = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    others = sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())
    return names == others and all(filecmp.cmp(first / name, second / name, shallow=False) for name in names)


def main(arguments: list[str]) -> int:
    """Print the figures; 1 where a file went missing without a word, or the two runs differ."""
    parser = argparse.ArgumentParser(prog="build.py bench batch", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=CORPUS, help="instead of the real files")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        print(f"real files are not here: {options.folder}", file=sys.stderr)
        return 1
    wrong = 0
    with tempfile.TemporaryDirectory() as room:
        for processes in (1, 2):
            out = Path(room, str(processes))
            told, seconds = converted(options.folder, out, processes)
            made = [row for row in told["files"] if row["result"] == "done"]
            files = {row["file"] for row in told["files"]}
            print(
                f"{processes} {'process' if processes == 1 else 'processes'}: {len(files)} files, {len(made)} made, "
                f"{told['failed']} failed, {seconds / 60:.2f} min, {len(files) / seconds:.1f} files/s read, "
                f"{len(made) / seconds:.1f} files/s written"
            )
            wrong += sum(not Path(row["out"]).is_file() for row in made)
        for row in told["files"]:
            if row["result"] != "done":
                print(f"  {row['result']}: {row['message']}")
        if not same(Path(room, "1"), Path(room, "2")):
            print("WRONG: one process and two make different files")
            wrong += 1
    return 1 if wrong else 0
