"""How fast motions come in and go out in every format, over the shortest scripts that do the same with the same files,
in turn with them; and the reading by key, over Blender's own of BVH.

The model has one hinge more than there are servos; the motion moves each in many keys. Whatever is timed is checked
too: a script that reads wrongly is no floor."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy

from benchmarks.bvh import import_seconds
from benchmarks.measuring import fresh_model, seconds
from benchmarks.mechanisms import star
from benchmarks.motion_files import KINDS, SERVOS, Array, Kind, angles, curves_of, key_floor
from benchmarks.table import Row

SIZES, QUICK = (1000, 10_000, 100_000), (20, 40, 80)
#: Runs of each, and of files with more keys to a servo than that.
ROUNDS, LARGE, LARGE_ROUNDS = 3, 20_000, 2
#: Blender's own reader of motions is slow: it gets so many frames of the same data, and is compared by key.
BVH_FRAMES = 5000
#: Times the floor, and times the reading; and how many times as fast by key as Blender's reading.
IN, OUT, BY_KEY = 2.0, 1.0, 8.0
#: Keys of a servo from which on that is judged; with few of them what every import does weighs more.
JUDGED = 100_000


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Motion in and out, unedited and with a key edited."""
    for keys in sizes:
        values = angles(keys)
        for name, kind in KINDS.items():
            yield from _of(name, kind, values, folder)


def _of(name: str, kind: Kind, values: Array, folder: Path) -> Iterator[Row]:
    source, target = (folder / f"{stem}{kind.suffix}" for stem in ("motion", "out"))
    source.write_text(kind.text(values), encoding="utf-8")
    keys, model = values.shape[1], star(SERVOS + 1)
    judged = keys >= JUDGED
    took: dict[str, list[float]] = {each: [] for each in ("floor", "in", "out", "edited")}
    for _ in range(ROUNDS if keys <= LARGE else LARGE_ROUNDS):
        took["floor"].append(_floor_in(source, kind, values))
        for what, each in _ours(model, source, target, kind, values).items():
            took[what].append(each)
    median = {what: statistics.median(found) for what, found in took.items()}

    def row(what: str, floor: str, floor_name: str, bar: float) -> Row:
        told, ours = f"motion {what}, {SERVOS} servos", median[what.rsplit(maxsplit=1)[-1]]
        return Row(told, keys, "keys", ours, median[floor], floor_name, bar if judged else None, growth_bar=1.25)

    yield row(f"{name} in", "floor", "baseline with parsing", IN)
    if name == "XMDI":
        spans = [import_seconds(folder / "motion.bvh", values[:, :BVH_FRAMES]) for _ in range(ROUNDS)]
        per_key = median["in"] / values.size
        yield Row("motion in, by key", keys, "keys", 1e6 * per_key, 1e6 * statistics.median(spans), "Blender's BVH",
                  BY_KEY if judged else None, at_least=True, measure="us")  # fmt: skip
    yield row(f"{name} out", "in", "its reading", OUT)
    yield row(f"{name} out, a key edited", "in", "its reading", OUT)


def _ours(model: str, source: Path, target: Path, kind: Kind, values: Array) -> dict[str, float]:
    """A user's import, an export at once, and one after a key was moved."""
    rig = fresh_model(model)
    took = {"in": seconds(lambda: bpy.ops.import_anim.servo_motion(filepath=str(source)))}
    curves = curves_of(rig)
    assert len(curves) == SERVOS
    assert all(len(curve.keyframe_points) == values.shape[1] for curve in curves)
    first = next(curve for curve in curves if '"Hinge 1"' in curve.data_path)
    assert abs(first.keyframe_points[-1].co[1] - values[0, -1]) < 1e-5
    took["out"] = seconds(lambda: bpy.ops.export_anim.servo_motion(filepath=str(target)))
    assert target.read_bytes() == source.read_bytes(), "what is not edited is written as it was"
    middle = values.shape[1] // 2
    first.keyframe_points[middle].co[1] += 0.125
    first.update()
    took["edited"] = seconds(lambda: bpy.ops.export_anim.servo_motion(filepath=str(target)))
    written = next(row for name, _times, row in kind.read(target) if name == "Hinge 1")
    assert written.shape == values[0].shape, "every key is written"
    assert abs(written[middle] - values[0, middle] - 0.125) < 1e-5, "the edit is written"
    return took


def _floor_in(source: Path, kind: Kind, values: Array) -> float:
    """Parse the same file and key as many curves, by the shortest way."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    rig = bpy.data.objects.new("floor", bpy.data.armatures.new("floor"))
    bpy.context.scene.collection.objects.link(rig)
    took = seconds(lambda: key_floor(rig, source, kind, bpy.context.scene))
    first = curves_of(rig)[0]
    assert abs(first.keyframe_points[-1].co[1] - values[0, -1]) < 1e-5
    return took
