"""Import beside the shortest script that makes the same scene: bodies sharing a mesh per colour, hinge constraints, an
armature that carries them, keys on every bone, and nothing that makes them a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy

from addon import formats
from addon.blender.reconcile.build import BuildOptions, build
from benchmarks.floors import floor_import
from benchmarks.measuring import in_turn, rounds
from benchmarks.mechanisms import star, written
from benchmarks.table import Row

SIZES, QUICK = (100, 1000, 5000), (10, 20, 40)
KEYS = 20
#: Times the floor with the parsing of the same mechanism from a Juice file.
BARS = {"juice": 1.5, "skel": 1.7, "x_xy": 1.7, "shift": 1.7}
GROWTH = 1.25
#: Bodies from which on that is judged; with few of them what every import does weighs more.
JUDGED = 1000


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Import with a gait, and from each format."""
    for size in sizes:
        yield _with_gait(size, folder)
        yield from _of_formats(size, folder)


def _with_gait(size: int, folder: Path) -> Row:
    """What a user's import does: parse, build, and bake the gait to an Action of some keys per joint."""
    path = folder / f"walking{size}.jm"
    path.write_text(star(size), encoding="utf-8")
    options = BuildOptions(gait_seconds=(KEYS - 1) / 60.0)
    ours, floor, parse = in_turn(
        lambda: build(formats.load(path), bpy.context, options),
        lambda: floor_import(size, KEYS),
        lambda: formats.load(path),
        times=rounds(size),
    )
    return Row("import with a gait", size, "bodies", ours, floor + parse, "baseline with parsing")


def _of_formats(size: int, folder: Path) -> Iterator[Row]:
    """Each beside a floor with as many frames on its bodies as its file has, and the parsing of the Juice file."""
    files = written(folder, size)
    frames = {name: len(formats.load(path).frames) for name, path in files.items()}
    counts = sorted(set(frames.values()))
    works = [lambda path=path: build(formats.load(path), bpy.context, BuildOptions()) for path in files.values()]
    floors = [lambda count=count: floor_import(size, 0, count) for count in counts]
    took = in_turn(*works, *floors, lambda: formats.load(files["juice"]), times=rounds(size))
    floor = dict(zip(counts, took[len(works) :], strict=False))
    for name, ours in zip(files, took, strict=False):
        what = f"import from {name}"
        bar = BARS[name] if size >= JUDGED else None
        known = "baseline with parsing" if not frames[name] else "baseline with frames and parsing"
        yield Row(what, size, "bodies", ours, floor[frames[name]] + took[-1], known, bar, growth_bar=GROWTH)
