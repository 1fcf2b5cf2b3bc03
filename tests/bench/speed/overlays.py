"""What is drawn over a model, gathered anew and drawn again, and what a change of
the scene costs while it is on, and while it is off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import bpy
import gpu

from addon.blender import compat
from addon.blender.edit import marks
from addon.blender.ui import overlay
from tests.bench.measuring import again, fresh_model
from tests.bench.mechanisms import star
from tests.bench.table import Row

SIZES, FULL, QUICK = (100, 300, 1000), (100, 1000, 5000), (10, 20, 40)
SIZE = (1280, 800)


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Seconds per rebuild and per draw of all kinds at once; and per pose, beside the same pose with nothing on."""
    for joints in sizes:
        rig = fresh_model(star(joints + 1))
        yield from marked(rig.pose.bones[joints // 2], joints, "joints", "", 0.002 if joints == 1000 else None)


def marked(pose: bpy.types.PoseBone, size: int, unit: str, whose: str, bar: float | None = None) -> Iterator[Row]:
    """The rows of all the scene's models, of which ``pose`` is a bone."""
    compat.ready_gpu()
    scene, wish = bpy.context.scene, overlay.overlay_of(bpy.context.scene)

    def posed() -> None:
        pose.rotation_euler[2] += 0.01
        bpy.context.view_layer.update()

    off = again(posed)
    for kind in marks.KINDS:
        setattr(wish, kind, True)
    on = again(posed)
    gathered = again(lambda: marks.draw_models(scene, marks.KINDS))
    drawing = marks.draw_models(scene, marks.KINDS)
    batched = again(lambda: overlay.batches_of(drawing))
    rebuilt = again(lambda: overlay.batches_of(marks.draw_models(scene, marks.KINDS)))
    drawn = again(lambda: on_canvas(overlay.batches_of(drawing))) - batched
    for kind in marks.KINDS:
        setattr(wish, kind, False)

    yield Row(f"{whose}overlays, gathered anew", size, unit, gathered, batched, "making their batches")
    yield Row(f"{whose}overlays, rebuilt", size, unit, rebuilt, off, "a pose without overlays")
    yield Row(f"{whose}overlays, drawn again", size, unit, drawn, bar=bar)
    yield Row(f"{whose}a pose with overlays on", size, unit, on, off, "a pose without overlays")


def on_canvas(batches: overlay.Batches) -> None:
    """Draw into a picture that nobody keeps, and wait for it."""
    blender: Any = gpu
    canvas = blender.types.GPUOffScreen(*SIZE)
    with canvas.bind():
        overlay.draw_batches(batches, SIZE)
        blender.state.active_framebuffer_get().read_color(0, 0, 1, 1, 4, 0, "UBYTE")
    canvas.free()
