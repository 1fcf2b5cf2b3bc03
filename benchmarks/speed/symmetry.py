"""What a change of the scene costs while a model is edited symmetrically, beside the same change while it is not."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import bpy

from addon.blender.animation import renamed_bones
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts
from addon.blender.editing.symmetry import live_mirror
from addon.blender.editing.symmetry.twins import link_twins
from benchmarks.measuring import again, fresh_model
from benchmarks.mechanisms import star
from benchmarks.table import Row

SIZES, FULL, QUICK = (100, 300, 1000), (100, 1000, 5000), (10, 20, 40)


def spent_in(handlers: Sequence[Callable[..., None]], act: Callable[[], None], times: int = 20) -> float:
    """Processor seconds that handlers of Blender's take of an act, at the median."""
    spent = [0.0]

    def watched(handler: Callable[..., None]) -> Callable[..., None]:
        def run(*args: Any) -> None:
            begin = time.thread_time()
            handler(*args)
            spent[-1] += time.thread_time() - begin

        return run

    calls = bpy.app.handlers.depsgraph_update_post
    before = list(calls)
    calls[:] = [watched(each) if each in handlers else each for each in before]
    try:
        for _ in range(times):
            act()
            spent.append(0.0)
    finally:
        calls[:] = before
    return statistics.median(spent[:-1])


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Seconds of a bone that is posed, with nothing and with half of the bodies selected; and of a body moved."""
    for count in sizes:
        yield from _of(count)


def _of(count: int) -> Iterator[Row]:
    rig = fresh_model(star(count + 1), physics=False)
    bodies = [obj for obj in parts(rig, "BODY") if not record_of(obj).twin]
    for first, second in zip(bodies[1::2], bodies[2::2], strict=False):
        link_twins((first, second))
    pose, obj = rig.pose.bones[count // 2], bodies[1]

    def posed() -> None:
        pose.rotation_euler[2] += 0.01
        bpy.context.view_layer.update()

    def moved() -> None:
        obj.location.z += 0.01
        bpy.context.view_layer.update()

    def renamed_() -> None:
        other = obj.name.replace("x", "") if "x" in obj.name else f"{obj.name}x"
        obj.name = other
        bpy.context.view_layer.update()

    materials = [bpy.data.materials.new(f"own {number}") for number in range(2)]
    for other, material in zip((obj, bodies[2]), materials, strict=True):
        other.data = other.data.copy()
        other.data.materials.clear()
        other.data.materials.append(material)

    def painted() -> None:
        materials[0].diffuse_color[0] = 0.9 - 0.5 * materials[0].diffuse_color[0]
        bpy.context.view_layer.update()

    def painted_shared() -> None:
        shared = bodies[-1].active_material
        shared.diffuse_color[0] = 0.9 - 0.5 * shared.diffuse_color[0]
        bpy.context.view_layer.update()

    def each() -> list[float]:
        for other in bodies:
            other.select_set(False)
        times = [again(moved), again(posed)]
        for other in bodies[: len(bodies) // 2]:
            other.select_set(True)
        return [*times, again(posed)]

    def alone() -> list[float]:
        """What our handlers take of that, by themselves."""
        return [
            spent_in((live_mirror.after_update, renamed_bones.after_update), act)
            for act in (moved, posed, renamed_, painted, painted_shared)
        ]

    off, off_alone = each(), alone()
    settings(rig).symmetric = True
    on, on_alone = each(), alone()
    settings(rig).symmetric = False
    names = ("a body moved", "a bone posed", "a bone posed, half of the bodies selected")
    told = ("a body moved", "a bone posed", "a body renamed", "a body painted", "a shared material painted")
    for what, with_, without in zip(told, on_alone, off_alone, strict=True):
        bar = 0.002 if count == 1000 else None
        yield Row(f"Knuckle's handlers: {what}, symmetric editing on", count, "bodies", with_, bar=bar)
        yield Row(f"Knuckle's handlers: {what}, symmetric editing off", count, "bodies", without, bar=bar and bar / 2.0)
    for what, with_, without in zip(names, on, off, strict=True):
        yield Row(f"symmetric editing: {what}", count, "bodies", with_, without, "symmetric editing off")
    yield _twins_made(count)


def _twins_made(count: int) -> Row:
    """Half of a model, all of it selected, and the operator that makes the other half."""
    rig = fresh_model(star(count // 2 + 1), physics=False)
    bodies = parts(rig, "BODY")
    for obj in bodies[1:]:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = bodies[1]
    start = time.process_time()
    assert bpy.ops.knuckle.create_twin(plane="Y") == {"FINISHED"}
    took = time.process_time() - start
    assert len(parts(rig, "BODY")) == 2 * len(bodies) - 1
    return Row("other side created", count, "bodies", took, growth_bar=1.35)
