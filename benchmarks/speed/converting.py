"""Files turned into files of other formats, beside the reading of what they are made from."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from pathlib import Path

from addon import formats
from benchmarks.conversions import EXTENSIONS
from benchmarks.measuring import nothing, seconds
from benchmarks.mechanisms import written
from benchmarks.motion_files import KINDS, SERVOS, angles
from benchmarks.table import Row

SIZES, QUICK = (100, 400, 1600), (5, 10)
#: Keys of each servo for each body.
KEYS, ROUNDS = 10, 3
GROWTH = 1.25


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Models from each format to each other, and motions of ten times as many keys to a servo."""
    for size in sizes:
        yield from _models(size, folder)
        yield from _motions(KEYS * size, folder)


def _models(size: int, folder: Path) -> Iterator[Row]:
    files = written(folder, size)
    for source, target in permutations(files, 2):
        path, out = files[source], folder / f"converted{EXTENSIONS[target]}"
        ours, read = _timed(
            lambda path=path, out=out, target=target: formats.save(formats.load(path), out, target),
            lambda path=path: formats.load(path),
        )
        assert len(formats.load(out).bodies) == size, "every body is written"
        yield Row(f"{source} to {target}", size, "bodies", ours, read, "its reading", growth_bar=GROWTH)


def _motions(keys: int, folder: Path) -> Iterator[Row]:
    values = angles(keys)
    for source, target in permutations(KINDS, 2):
        path, out = folder / f"motion{KINDS[source].suffix}", folder / f"converted{KINDS[target].suffix}"
        path.write_text(KINDS[source].text(values), encoding="utf-8")
        ours, read = _timed(
            lambda path=path, out=out: formats.save_motion(formats.load_motion(path), out),
            lambda path=path: formats.load_motion(path),
        )
        assert all(len(row) == keys for _name, _times, row in KINDS[target].read(out)), "every key is written"
        what = f"{source} to {target}, {SERVOS} servos"
        yield Row(what, keys, "keys", ours, read, "its reading", growth_bar=GROWTH)


def _timed(ours: Callable[[], object], read: Callable[[], object]) -> tuple[float, float]:
    took = [(seconds(ours, nothing), seconds(read, nothing)) for _ in range(ROUNDS)]
    whole, least = (statistics.median(column) for column in zip(*took, strict=True))
    return whole, least
