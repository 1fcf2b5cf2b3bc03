"""How fast model files are read: against the programs whose formats they are, and against a plain walk of the file.

A peer runs in a process of its own (``peer.py``) and is asked for one load at a time, in turn with ours, so that both
are measured in the same minute. Its first load, which may load and compile things, is not counted.
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from addon import formats
from addon.model.report import FormatError
from tests.references import CORPUS, DARTPY, NO_DARTPY, NO_RING, RING

Row = dict[str, float | str]
ROUNDS = 5
#: A load of more seconds is repeated once only.
LONG = 5.0
#: How many of the largest real files of a format are read.
LARGEST = 3
PEERS = {
    "skel": ("dartpy", DARTPY, NO_DARTPY),
    "x_xy": ("imt-ring", RING, NO_RING),
}
#: Our bars: times the peer's load, for files with at least so many bodies, and times the plain walk.
PEER_BARS, WALK_BARS = {"skel": (0.5, 1000), "x_xy": (0.02, 0)}, {"skel": 3.0}


def walk(path: Path) -> int:
    """The least that any reader does: parse the file, and make numbers of all that are numbers. How many there are."""
    data = path.read_bytes()
    if path.suffix == ".json":
        json.loads(data)
        return 0
    count = 0
    for element in ET.fromstring(data).iter():
        for text in (element.text or "", *element.attrib.values()):
            for word in text.split():
                try:
                    float(word)
                except ValueError:
                    continue
                count += 1
    return count


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one run."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


@contextmanager
def peer(program: str, python: str) -> Iterator[Callable[[Path], float]]:
    """Asks another program for the CPU seconds of one load. ValueError with its words where it cannot load a file."""
    script = str(Path(__file__).with_name("peer.py"))
    with subprocess.Popen(
        [python, script, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin and process.stdout
        asked, told = process.stdin, process.stdout

        def load(path: Path) -> float:
            print(path.absolute(), file=asked, flush=True)
            return float(told.readline())

        try:
            yield load
        finally:
            asked.close()


def against_peer(format: str, files: Iterable[Path]) -> Iterator[Row]:
    """Our reading of files beside that of the format's own program. Files that this cannot load are left out."""
    program, python, missing = PEERS[format]
    if not python:
        print(f"reading {format} is not compared: {missing}")
        return
    with peer(program, python) as load:
        for path in files:
            try:
                first = load(path)
            except ValueError as error:
                print(f"{program} does not load {path.name}: {error}")
                continue
            rounds = ROUNDS if first < LONG else 1
            pairs = [(seconds(lambda path=path: formats.load(path)), load(path)) for _ in range(rounds)]
            row = _row(f"{format} as {program}: {path.stem}", path, pairs)
            bar, bodies = PEER_BARS[format]
            yield {**row, "bar": bar} if float(row["bodies"]) >= bodies else row


def against_walk(files: Mapping[str, Path]) -> Iterator[Row]:
    """Our reading of one file of each format beside a plain walk of it."""
    for format, path in files.items():
        pairs = [
            (seconds(lambda path=path: formats.load(path)), seconds(lambda path=path: walk(path)))
            for _ in range(ROUNDS + 2)
        ]
        row = _row(f"{format} as a plain walk", path, pairs)
        yield {**row, "bar": WALK_BARS[format]} if format in WALK_BARS else row


def _row(what: str, path: Path, pairs: list[tuple[float, float]]) -> Row:
    """A row of the table from the seconds of rounds, ours and the other's."""
    ours, floor = (statistics.median(column) for column in zip(*pairs, strict=True))
    bodies = len(formats.load(path).bodies)
    return {"what": f"reading {what}", "bodies": bodies, "seconds": ours, "floor": floor, "ratio": ours / floor}


def largest(format: str) -> list[Path]:
    """The real files with the most bodies, one of a name."""
    found: dict[str, tuple[int, Path]] = {}
    for path in sorted((CORPUS / format).rglob("*.skel" if format == "skel" else "*.xml")):
        try:
            found[path.name] = (len(formats.load(path).bodies), path)
        except FormatError:
            continue
    return [path for _, path in sorted(found.values(), reverse=True)[:LARGEST]]


def rows(files: Mapping[str, Path]) -> Iterator[Row]:
    """Everything. ``files`` are the same mechanism of a thousand bodies in every format."""
    for format in PEERS:
        yield from against_peer(format, [*largest(format), files[format]])
    yield from against_walk(files)
