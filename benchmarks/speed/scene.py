"""What a model costs in the file that it stands in: imported again beside itself, undone, saved and opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy

from addon import formats
from addon.blender.reconcile.build import BuildOptions, build
from benchmarks.floors import floor_import
from benchmarks.measuring import again, fresh, seconds
from benchmarks.mechanisms import written
from benchmarks.table import Row

SIZES, FULL, QUICK = (100, 300, 1000), (100, 1000, 5000), (10, 20, 40)
THIRD = 3.5


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Three imports into one scene; then one model's undo step, save and opening beside the floor's."""
    for size in sizes:
        path = written(folder, size, only=["juice"])["juice"]

        def imported(path: Path = path) -> None:
            build(formats.load(path), bpy.context, BuildOptions())

        fresh()
        first, _second, third = (seconds(imported) for _ in range(3))
        yield Row("the third import of a model", size, "bodies", third, first, "the first", THIRD)
        ours = _kept(imported, folder / "ours.blend")
        floor = _kept(lambda size=size: floor_import(size, 0), folder / "floor.blend")
        for what in ours:
            yield Row(what, size, "bodies", ours[what], floor[what], "the baseline's scene")


def _kept(make: object, path: Path) -> dict[str, float]:
    """Seconds of what is done with a scene as a whole."""
    fresh()
    assert callable(make)
    make()
    bpy.context.preferences.edit.undo_steps = 32
    return {
        "undo step": again(lambda: bpy.ops.ed.undo_push(message="bench"), 3),
        "save .blend": again(lambda: bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False), 3),
        "open .blend": again(lambda: bpy.ops.wm.open_mainfile(filepath=str(path)), 3),
    }
