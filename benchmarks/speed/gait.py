"""A Juice model's gait to an Action, over writing the same keys by the shortest way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy
import numpy as np

from addon.blender import compat
from addon.blender.animation.gait import bake_gait
from benchmarks.measuring import fresh_model, in_turn, nothing
from benchmarks.mechanisms import star
from benchmarks.table import Row

SIZES, QUICK = (500, 5000, 50_000), (20, 40, 80)
SERVOS = 30


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Seconds per bake of so many frames: the gait is worked out, and has a key in each that is not on a line."""
    rig = fresh_model(star(SERVOS + 1))
    scene = bpy.context.scene
    for frames in sizes:
        action = bake_gait(scene, rig, 1, frames)
        curves = list(compat.action_curves(rig, action, create=False) or ())
        keys = {(curve.data_path, curve.array_index): _read(curve) for curve in curves}
        held = sum(len(each) // 2 for each in keys.values())
        assert held >= SERVOS * min(frames, 20), "every servo swings"
        floor, ours = in_turn(
            lambda keys=keys: _key(rig, keys),
            lambda frames=frames: bake_gait(scene, rig, 1, frames),
            before=nothing,
        )
        for each in list(bpy.data.actions):
            if each != rig.animation_data.action:
                bpy.data.actions.remove(each)
        yield Row(f"gait baked, {SERVOS} servos", frames, "frames", ours, floor, "the same keys by foreach_set", 4.0,
                  growth_bar=1.1)  # fmt: skip


def _read(curve: bpy.types.FCurve) -> np.ndarray:
    out = np.empty(2 * len(curve.keyframe_points), dtype=np.float32)
    curve.keyframe_points.foreach_get("co", out)
    return out


def _key(rig: bpy.types.Object, keys: dict[tuple[str, int], np.ndarray]) -> None:
    action = bpy.data.actions.new("floor")
    compat.use_action(rig, action)
    curves = compat.action_curves(rig, action)
    for (path, index), pairs in keys.items():
        curve = curves.new(path, index=index)
        curve.keyframe_points.add(len(pairs) // 2)
        curve.keyframe_points.foreach_set("co", pairs)
        curve.keyframe_points.foreach_set("interpolation", np.full(len(pairs) // 2, 1, dtype=np.int32))
        curve.update()
