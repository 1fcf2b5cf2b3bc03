"""What Blender's calls cost others: our part of every change and of every frame, beside plain objects that are none of
ours, with no model in the file and with one that nobody touches."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import bpy

from benchmarks.measuring import fresh, fresh_model
from benchmarks.mechanisms import star
from benchmarks.table import Row

SIZES, FULL, QUICK = (100, 400, 1600), (100, 1000, 10_000), (10, 20, 40)
#: Of the model that stands beside the objects.
BODIES = 101
#: The most of what Blender itself takes for the same, or of a 60th of a second where it takes less than that.
SHARE, LEAST = 0.05, 1.0 / 60.0
FLOOR = "Blender's part, at least 1/60 s"
CALLS = ("depsgraph_update_pre", "depsgraph_update_post", "frame_change_pre", "frame_change_post")


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Our handlers' seconds when one object is moved, when all are, and when the frame changes; and when a bone is
    posed of a model that has as many bodies as there were objects."""
    for count in sizes:
        for model in ("none", "idle"):
            yield from _beside(count, model)
    for count in sizes:
        yield _posed(min(count, 5000))


def _beside(count: int, model: str) -> Iterator[Row]:
    if model == "none":
        fresh()
    else:
        fresh_model(star(BODIES))
    mesh, scene = bpy.data.meshes.new("plain"), bpy.context.scene
    objects = [bpy.data.objects.new(f"plain {number}", mesh) for number in range(count)]
    for obj in objects:
        scene.collection.objects.link(obj)
    bpy.context.view_layer.update()

    def moved(some: Sequence[bpy.types.Object]) -> Callable[[], None]:
        def act() -> None:
            for obj in some:
                obj.location.x += 0.1
            bpy.context.view_layer.update()

        return act

    def next_frame() -> None:
        scene.frame_set(scene.frame_current + 1)

    acts = {"one object moved": moved(objects[:1]), "all objects moved": moved(objects), "a frame": next_frame}
    for what, act in acts.items():
        ours, whole = spent(act)
        idle = "no mechanism" if model == "none" else f"a mechanism of {BODIES} bodies idle"
        yield Row(f"Knuckle's part: {what}, {idle}", count, "objects", ours, max(whole - ours, LEAST), FLOOR, SHARE)


def _posed(count: int) -> Row:
    rig = fresh_model(star(count + 1), physics=False)
    pose = rig.pose.bones[count // 2]

    def act() -> None:
        pose.rotation_euler[2] += 0.01
        bpy.context.view_layer.update()

    ours, whole = spent(act)
    told = "Knuckle's part: a bone posed, symmetric editing off"
    return Row(told, count, "bodies", ours, max(whole - ours, LEAST), FLOOR, SHARE)


def spent(act: Callable[[], None], times: int = 15) -> tuple[float, float]:
    """Processor seconds that our handlers take of an act, and that all of it takes, medians."""
    taken = [0.0]

    def watched(handler: Callable[..., None]) -> Callable[..., None]:
        def run(*args: Any) -> None:
            begin = time.thread_time()
            handler(*args)
            taken[-1] += time.thread_time() - begin

        return run

    lists = [getattr(bpy.app.handlers, name) for name in CALLS]
    before = [list(calls) for calls in lists]
    for calls in lists:
        calls[:] = [watched(each) if each.__module__.startswith("addon.") else each for each in calls]
    whole = []
    try:
        act()
        taken.append(0.0)
        for _ in range(times):
            begin = time.thread_time()
            act()
            whole.append(time.thread_time() - begin)
            taken.append(0.0)
    finally:
        for calls, kept in zip(lists, before, strict=True):
            calls[:] = kept
    return statistics.median(taken[1:-1]), statistics.median(whole)
