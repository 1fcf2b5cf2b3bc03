"""A large model that is no tree: a factory of robots in nested assemblies, with loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import factory
from benchmarks.at_work import worked_with
from benchmarks.table import Row

SIZES, QUICK = (20, 80, 200), (2, 4, 6)


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Work with factories of so many robots."""
    for robots in sizes:
        yield from worked_with(factory.written(folder, robots), "factory", robots, "robots")
