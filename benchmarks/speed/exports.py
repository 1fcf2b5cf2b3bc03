"""Export of what was imported, unedited and with one body moved, for the first time since the file was opened and once
more, beside its import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy

from addon import formats
from addon.blender.data.access import record_of
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.scene.read.mechanism import extract
from addon.formats.document import cache as recent_force
from benchmarks.measuring import again, fresh, rounds, seconds, timed
from benchmarks.mechanisms import written
from benchmarks.table import Row

SIZES, FULL, QUICK = (100, 300, 1000), (100, 1000, 5000), (10, 20, 40)
BAR, GROWTH, JUDGED = 1.0, 1.25, 1000


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """From each format into the same; and to be sure, what was not edited is the very file."""
    for size in sizes:
        for name, path in written(folder, size).items():
            yield from _of(name, path, size)


def _of(name: str, path: Path, size: int) -> Iterator[Row]:
    fresh()
    made: list[bpy.types.Collection] = []
    imported = seconds(lambda: made.append(build(formats.load(path), bpy.context, BuildOptions())))
    out = path.with_name("out" + path.suffix)

    def exported() -> None:
        formats.save(extract(made[0]), out)

    unedited = timed(exported, recent_force.clear_content_caches, rounds(size))
    assert out.read_bytes() == path.read_bytes(), "what was not edited is written as it was"
    next(obj for obj in made[0].all_objects if record_of(obj).role == "BODY").location.x += 0.125
    edited = timed(exported, recent_force.clear_content_caches, rounds(size))
    once_more = again(exported, rounds(size))
    assert out.read_bytes() != path.read_bytes(), "the edit is written"
    bar = BAR if size >= JUDGED else None
    yield Row(f"export to {name}, unedited", size, "bodies", unedited, imported, "its import", growth_bar=GROWTH)
    yield Row(f"export to {name}, a body moved", size, "bodies", edited, imported, "its import", bar, growth_bar=GROWTH)
    yield Row(f"export to {name}, once more", size, "bodies", once_more, imported, "its import", growth_bar=GROWTH)
