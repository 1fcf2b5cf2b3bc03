"""Cost of the overlay: collecting and drawing it, and a change of the scene while it is on and off."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import bpy
import gpu

from addon.blender import compat, overlay
from addon.blender.ui import overlay as draw
from benchmarks.measuring import again, fresh_model
from benchmarks.mechanisms import star
from benchmarks.table import Row

SIZES, FULL, QUICK = (100, 300, 1000), (100, 1000, 5000), (10, 20, 40)
SIZE = (1280, 800)


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Seconds per rebuild and per draw of all kinds at once; and per pose, beside the same pose with nothing on."""
    for joints in sizes:
        rig = fresh_model(star(joints + 1))
        yield from marked(rig.pose.bones[joints // 2], joints, "joints", "", 0.002 if joints == 1000 else None)


def marked(pose: bpy.types.PoseBone, size: int, unit: str, whose: str, bar: float | None = None) -> Iterator[Row]:
    """The rows of all the scene's models, of which ``pose`` is a bone."""
    compat.init_gpu()
    scene, choices = bpy.context.scene, draw.overlay_settings(bpy.context.scene)

    def posed() -> None:
        pose.rotation_euler[2] += 0.01
        bpy.context.view_layer.update()

    off = again(posed)
    for kind in overlay.OVERLAY_KINDS:
        setattr(choices, kind, True)
    on = again(posed)
    gathered = again(lambda: overlay.draw_models(scene, overlay.OVERLAY_KINDS))
    drawing = overlay.draw_models(scene, overlay.OVERLAY_KINDS)
    batched = again(lambda: draw.make_batches(drawing))
    rebuilt = again(lambda: draw.make_batches(overlay.draw_models(scene, overlay.OVERLAY_KINDS)))
    handed, drawn = on_canvas(draw.make_batches(drawing))
    for kind in overlay.OVERLAY_KINDS:
        setattr(choices, kind, False)

    yield Row(f"{whose}overlays, collected", size, unit, gathered, batched, "making their batches")
    yield Row(f"{whose}overlays, rebuilt", size, unit, rebuilt, off, "a pose without overlays")
    yield Row(f"{whose}overlays, drawn again", size, unit, handed, bar=bar)
    yield Row(f"{whose}overlays, drawn again, with what draws them", size, unit, drawn)
    yield Row(f"{whose}a pose with overlays on", size, unit, on, off, "a pose without overlays")


class _Undrawn:
    """Stands in for a batch."""

    def draw(self, shader: Any) -> None:
        """Draw nothing."""


def on_canvas(batches: draw.Batches, times: int = 7) -> tuple[float, float]:
    """Draw into a picture that nobody keeps: processor seconds, medians, of all but Blender's own drawing, and with
    that until the picture is there. Without a graphics card the processor draws it."""
    blender: Any = gpu
    canvas = blender.types.GPUOffScreen(*SIZE)
    handed, drawn = [], []
    undrawn: draw.Batches = [(shader, _Undrawn(), line) for shader, _batch, line in batches]
    with canvas.bind():
        for _ in range(times + 1):
            start = time.process_time()
            draw.draw_batches(undrawn, SIZE)
            handed.append(time.process_time() - start)
            start = time.process_time()
            draw.draw_batches(batches, SIZE)
            blender.state.active_framebuffer_get().read_color(0, 0, 1, 1, 4, 0, "UBYTE")
            drawn.append(time.process_time() - start)
    canvas.free()
    return statistics.median(handed[1:]), statistics.median(drawn[1:])
