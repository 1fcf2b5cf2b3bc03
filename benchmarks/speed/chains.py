"""A chain as deep as it is long, in all formats: what is recursive breaks here, or grows with the square."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy

from addon import formats
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.scene.read.mechanism import extract
from benchmarks.floors import floor_import
from benchmarks.measuring import fresh, seconds, timed
from benchmarks.mechanisms import written
from benchmarks.table import Row

SIZES, QUICK = (500, 1000, 2000), (10, 20, 40)
GROWTH = 1.25


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Reading, import and export of each."""
    for size in sizes:
        floor = timed(lambda size=size: floor_import(size, 0), times=1)
        for name, path in written(folder, size, depth=size).items():
            yield from _of(name, path, size, floor)


def _of(name: str, path: Path, size: int, floor: float) -> Iterator[Row]:
    fresh()
    made: list[bpy.types.Collection] = []
    out = path.with_name("out" + path.suffix)
    read = seconds(lambda: formats.load(path))
    took = seconds(lambda: made.append(build(formats.load(path), bpy.context, BuildOptions())))
    saved = seconds(lambda: formats.save(extract(made[0]), out))
    assert out.read_bytes() == path.read_bytes(), "what was not edited is written as it was"
    yield Row(f"chain in {name}, read", size, "links", read, growth_bar=GROWTH)
    yield Row(f"chain in {name}, import", size, "links", took, floor, "baseline without parsing", growth_bar=GROWTH)
    yield Row(f"chain in {name}, export", size, "links", saved, took, "its import", growth_bar=GROWTH)
