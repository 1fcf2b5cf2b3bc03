"""What is drawn over a model, gathered anew and drawn again, and what a change of
the scene costs while it is on, and while it is off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import bpy
import gpu

from addon import formats
from addon.blender import compat
from addon.blender.build import BuildOptions, build
from addon.blender.edit import marks
from addon.blender.model_parts import rig_in
from addon.blender.ui import overlay
from tests.bench.measuring import again, fresh
from tests.bench.mechanisms import star
from tests.bench.table import Row

SIZES, QUICK = (100, 1000, 5000), (10, 20, 40)
SIZE = (1280, 800)


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Seconds per rebuild and per draw of all kinds at once; and per pose, beside the same pose with nothing on."""
    for joints in sizes:
        yield from _of(joints)


def _of(joints: int) -> Iterator[Row]:
    fresh()
    text = star(joints + 1).encode()
    rig = rig_in(build(formats.loads(text, "star.jm"), bpy.context, BuildOptions(gait=False)))
    bpy.context.view_layer.update()
    compat.ready_gpu()
    scene, wish = bpy.context.scene, overlay.overlay_of(bpy.context.scene)
    pose = rig.pose.bones[joints // 2]

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

    yield Row("overlays, gathered anew", joints, "joints", gathered, batched, "making their batches")
    yield Row("overlays, rebuilt", joints, "joints", rebuilt, off, "a pose without overlays")
    yield Row("overlays, drawn again", joints, "joints", drawn, bar=0.002 if joints == 1000 else None)
    yield Row("a pose with overlays on", joints, "joints", on, off, "a pose without overlays")


def on_canvas(batches: overlay.Batches) -> None:
    """Draw into a picture that nobody keeps, and wait for it."""
    blender: Any = gpu
    canvas = blender.types.GPUOffScreen(*SIZE)
    with canvas.bind():
        overlay.draw_batches(batches, SIZE)
        blender.state.active_framebuffer_get().read_color(0, 0, 1, 1, 4, 0, "UBYTE")
    canvas.free()
