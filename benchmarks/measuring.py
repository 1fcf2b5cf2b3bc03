"""How the benches take their times: processor seconds, medians, what is compared in turn and from an empty file."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import bpy

import addon
from addon import formats
from addon.blender.data.queries import rig_in
from addon.blender.reconcile.build import BuildOptions, build

Work = Callable[[], object]


def fresh() -> None:
    """An empty file with Knuckle registered."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not addon.is_registered():
        addon.register()
    gc.collect()


def fresh_model(text: str, **options: Any) -> bpy.types.Object:
    """A file with nothing but a model in it, without its gait: its armature, active. ``options`` are those of its
    build."""
    fresh()
    made = build(formats.loads(text.encode(), "model"), bpy.context, replace(BuildOptions(gait=False), **options))
    rig = rig_in(made)
    assert rig is not None
    bpy.context.view_layer.objects.active = rig
    bpy.context.view_layer.update()
    return rig


def nothing() -> None:
    """For work that needs nothing done before it."""


def seconds(work: Work, before: Work = gc.collect) -> float:
    """Processor seconds of one run."""
    before()
    start = time.process_time()
    work()
    return time.process_time() - start


def timed(work: Work, before: Work = fresh, times: int = 3) -> float:
    """Median processor seconds of some runs, each from an empty file."""
    return statistics.median(seconds(work, before) for _ in range(times))


def again(work: Work, times: int = 7) -> float:
    """Median processor seconds of some runs after a first one, as what happens over and over costs."""
    work()
    return timed(work, nothing, times)


def in_turn(*works: Work, before: Work = fresh, times: int = 3) -> list[float]:
    """Median processor seconds of several works, taken in turn, so that a slow minute of the machine is shared."""
    took = [[seconds(work, before) for work in works] for _ in range(times)]
    return [statistics.median(column) for column in zip(*took, strict=True)]


def rounds(size: int) -> int:
    """How often what takes long with its size is repeated."""
    return 5 if size <= 200 else 3 if size <= 2000 else 1
