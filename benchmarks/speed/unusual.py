"""How the time of reading grows with the file, for every shape of ``tests/fuzz/grown.py`` and ``unusual.py``: digits,
attributes, names, comments, warnings, chains, stars, lists and lines of which few files have many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.growth import MOST, TIMES, growth, shapes
from benchmarks.table import Row

#: Bytes of the smaller of the two files.
SIZES, FULL, QUICK = (5_000, 10_000, 20_000), (20_000, 50_000, 100_000), (5_000,)


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """The time of four times the file beside that of the file itself."""
    for reader, made in shapes().items():
        for shape in made:
            for size in sizes:
                small, large = growth(reader, shape, size, folder, times=2)
                what = f"unusual {reader}: {shape}"
                yield Row(what, TIMES * size, "bytes", large, small, "a quarter of the file", MOST)
