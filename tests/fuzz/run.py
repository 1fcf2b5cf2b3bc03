"""``build.py fuzz [READER...] [--runs N] [--seconds S]``: fuzz the readers in turn, and tell what came of it.

Everything is kept in the folder that KNUCKLE_FUZZ names and used again the next time: of each reader the ``seeds``, the
``corpus`` that grew from them, ``findings`` (an input and its traceback each), ``counts.json`` and the ``log``. Two
processes on different readers may run beside each other.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READERS = ("juice", "shift", "skel", "x_xy", "any", "xmdi", "webots", "csv",
           "obj", "mtl", "stl", "ply", "collada", "names")  # fmt: skip
#: Bytes of an input and of a seed. Readers take a time that grows with both; small files have all that a format has.
LONGEST, SEED = 1500, 700
#: MB of memory, and seconds of one input, that libFuzzer itself ends.
MEMORY, ENDLESS = 2500, 60


def main() -> int:
    parser = argparse.ArgumentParser(prog="build.py fuzz", description=__doc__, allow_abbrev=False)
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"of {', '.join(READERS)} (default: all)")
    parser.add_argument("--runs", type=int, default=0, metavar="N", help="of each in all, those before counted")
    parser.add_argument("--seconds", type=int, default=60, metavar="S", help="of each at a time (default: 60)")
    options = parser.parse_args()
    wrong = [name for name in options.readers if name not in READERS]
    if wrong:
        parser.error(f"there is no reader {wrong[0]}; there are {', '.join(READERS)}")
    folder, readers = Path(os.environ["KNUCKLE_FUZZ"]), options.readers or READERS
    if not all((folder / reader / "seeds").is_dir() for reader in readers):
        subprocess.run([sys.executable, "-m", "tests.fuzz.seeds", str(folder), str(SEED)], cwd=ROOT, check=True)
    waiting = list(readers)
    while waiting:
        for reader in list(waiting):
            before = executions(folder / reader)
            fuzz(reader, folder / reader, options.seconds, options.runs - before)
            now = executions(folder / reader)
            print(row(reader, folder / reader), flush=True)
            if now >= options.runs or now == before:
                waiting.remove(reader)
    print(f"{sum(executions(folder / reader) for reader in READERS)} executions in all, kept in {folder}")
    return 1 if any(findings(folder / reader) for reader in readers) else 0


def fuzz(reader: str, place: Path, seconds: int, left: int) -> None:
    """One process on one reader."""
    words = [f"-max_len={LONGEST}", f"-max_total_time={seconds}", f"-timeout={ENDLESS}", f"-rss_limit_mb={MEMORY}"]
    words += [f"-artifact_prefix={place}/findings/", "-print_final_stats=1", *([f"-runs={left}"] if left > 0 else [])]
    with open(place / "log", "ab") as log:
        command = [sys.executable, "-m", "tests.fuzz.one", reader, str(place), *words]
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
        try:
            process.wait(seconds + 5 * ENDLESS)
        except BaseException:
            process.kill()
            process.wait()
            raise
    time.sleep(0.1)


@cache
def code() -> str:
    """A name for what the readers' code is now: counts are kept by it, since what was mended has yet to be tried."""
    found = hashlib.sha1()
    for path in sorted((ROOT / "addon/formats").rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def executions(place: Path, key: str = "executions") -> int:
    """How many inputs a reader was given in all, or while the code was ``key``."""
    try:
        return int(json.loads((place / "counts.json").read_text())[key])
    except (OSError, ValueError, KeyError):
        return 0


def findings(place: Path) -> list[str]:
    """What was found and not thrown away yet."""
    return sorted(path.name for path in (place / "findings").glob("*") if path.suffix != ".txt")


def row(reader: str, place: Path) -> str:
    """A line of the table."""
    log = (place / "log").read_text(errors="replace")[-200_000:]
    edges = [int(found) for found in re.findall(r"cov: (\d+)", log)]
    inputs = sum(1 for _ in (place / "corpus").iterdir())
    found, present = findings(place), executions(place, code())
    return (
        f"{reader:8} {executions(place):9} executions ({present:7} of this code) "
        f"{edges[-1] if edges else 0:6} edges {inputs:5} inputs "
        f"{len(found):3} findings {' '.join(found[:5])}"
    )


if __name__ == "__main__":
    sys.exit(main())
