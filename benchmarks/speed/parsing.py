"""How fast model files are read: against the programs whose formats they are, and against a plain walk of the file.

A peer runs in a process of its own (``peer.py``) and is asked for one load at a time, in turn with ours, so that both
are measured in the same minute. Its first load, which may load and compile things, is not counted.
"""

from __future__ import annotations

import json
import statistics
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from addon import formats
from addon.core.report import FormatError
from benchmarks.measuring import seconds
from benchmarks.mechanisms import written
from benchmarks.peers import asking
from benchmarks.table import NOTE, Row
from tests.support.references import CORPUS, DARTPY, NO_DARTPY, NO_RING, RING

SIZES, FULL, QUICK = (100, 300, 1000), (100, 1000, 5000), (10, 20, 40)
ROUNDS = 5
#: A load of more seconds is repeated once only.
LONG = 5.0
#: How real files of each format are called.
NAMES = {"juice": "*.j*m*", "skel": "*.skel", "x_xy": "*.xml", "shift": "*.json"}
#: How many of the largest real files of a format are read.
LARGEST = 3
PEERS = {
    "skel": ("dartpy", DARTPY, NO_DARTPY),
    "x_xy": ("imt-ring", RING, NO_RING),
}
#: Our bars: times the peer's load, for files with at least so many bodies, and times the plain walk.
PEER_BARS, WALK_BARS = {"skel": (0.5, 1000), "x_xy": (0.02, 0)}, {"skel": 3.0}
GROWTH = 1.25
#: The largest mechanisms that a peer is asked to load: DART takes N^3 for its first, imt-ring a minute at 1,000.
PEER_LIMIT = {"skel": 1000, "x_xy": 300}


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


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Our reading of the same mechanism from each format, beside a plain walk and the format's own program, and that of
    the largest real files."""
    files = {size: written(folder, size) for size in sizes}
    for size in sizes:
        yield from against_walk(files[size], size)
    for format in PEERS:
        made = [(f"reading {format}", size, files[size][format]) for size in sizes if size <= PEER_LIMIT[format]]
        real = [(f"reading {path.name}", bodies, path) for bodies, path in largest(format)]
        yield from against_peer(format, [*made, *real])


def against_peer(format: str, files: Iterable[tuple[str, int, Path]]) -> Iterator[Row]:
    """Our reading of files beside that of the format's own program. Files that this cannot load are left out."""
    program, python, missing = PEERS[format]
    if not python:
        print(f"{NOTE}reading {format}, {missing}")
        return
    with asking(python, "peer.py", program) as ask:

        def load(path: Path) -> float:
            return ask(str(path.absolute()))

        for what, bodies, path in files:
            try:
                first = load(path)
            except ValueError as error:
                print(f"{NOTE}{program} does not load {path.name}: {error}")
                continue
            rounds = ROUNDS if first < LONG else 1
            pairs = [(seconds(lambda path=path: formats.load(path)), load(path)) for _ in range(rounds)]
            ours, theirs = _medians(pairs)
            bar, least = PEER_BARS[format]
            yield Row(what, bodies, "bodies", ours, theirs, program, bar if bodies >= least else None)


def against_walk(files: dict[str, Path], size: int) -> Iterator[Row]:
    """Our reading of one file of each format beside a plain walk of it."""
    for format, path in files.items():
        pairs = [
            (seconds(lambda path=path: formats.load(path)), seconds(lambda path=path: walk(path)))
            for _ in range(ROUNDS)
        ]
        ours, least = _medians(pairs)
        bar = WALK_BARS.get(format)
        yield Row(f"{format} into the model", size, "bodies", ours, least, "plain walk", bar, growth_bar=GROWTH)


def _medians(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    first, second = (statistics.median(column) for column in zip(*pairs, strict=True))
    return first, second


def largest(format: str) -> list[tuple[int, Path]]:
    """The real files with the most bodies, one of a name, with how many they have."""
    found: dict[str, tuple[int, Path]] = {}
    for path in sorted((CORPUS / format).rglob(NAMES[format])):
        try:
            found[path.name] = (len(formats.load(path).bodies), path)
        except FormatError:
            continue
    return sorted(found.values(), reverse=True)[:LARGEST]
