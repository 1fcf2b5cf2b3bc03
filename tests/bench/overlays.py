"""``build.py bench --only overlays``: what is drawn over a model of 1,000 joints, gathered anew and drawn again, and
what a change of the scene costs while it is on, and while it is off."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import bpy
import gpu

import addon
from addon import formats
from addon.blender import compat
from addon.blender.build import BuildOptions, build
from addon.blender.edit import marks
from addon.blender.model_parts import rig_in
from addon.blender.ui import overlay

SIZE = (1280, 800)


def rows(star: str, count: int) -> list[dict[str, float | str]]:
    """CPU seconds per rebuild and per draw of all kinds at once; and per pose, beside the same pose with nothing on."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not addon.is_registered():
        addon.register()
    rig = rig_in(build(formats.loads(star.encode(), "star.jm"), bpy.context, BuildOptions(gait=False)))
    bpy.context.view_layer.update()
    compat.ready_gpu()
    scene, wish = bpy.context.scene, overlay.overlay_of(bpy.context.scene)
    pose = rig.pose.bones[count // 2]

    def posed() -> None:
        pose.rotation_euler[2] += 0.01
        bpy.context.view_layer.update()

    off = timed(posed)
    for kind in marks.KINDS:
        setattr(wish, kind, True)
    on = timed(posed)
    gathered = timed(lambda: marks.draw_models(scene, marks.KINDS))
    drawing = marks.draw_models(scene, marks.KINDS)
    batched = timed(lambda: overlay.batches_of(drawing))
    rebuilt = timed(lambda: overlay.batches_of(marks.draw_models(scene, marks.KINDS)))
    drawn = timed(lambda: on_canvas(overlay.batches_of(drawing))) - batched
    for kind in marks.KINDS:
        setattr(wish, kind, False)

    def row(what: str, seconds: float, floor: float) -> dict[str, float | str]:
        return {"what": what, "bodies": count, "seconds": seconds, "floor": floor, "ratio": seconds / floor}

    return [
        row("overlays, gathered anew (to their batches)", gathered, batched),
        row("overlays, rebuilt (to a pose without)", rebuilt, off),
        row("overlays, drawn again (to a pose without)", drawn, off),
        row("pose with overlays on (to off)", on, off),
    ]


def on_canvas(batches: overlay.Batches) -> None:
    """Draw into a picture that nobody keeps, and wait for it."""
    blender: Any = gpu
    canvas = blender.types.GPUOffScreen(*SIZE)
    with canvas.bind():
        overlay.draw_batches(batches, SIZE)
        blender.state.active_framebuffer_get().read_color(0, 0, 1, 1, 4, 0, "UBYTE")
    canvas.free()


def timed(work: Callable[[], object], times: int = 7) -> float:
    """Median CPU seconds of some runs after a first one."""
    work()
    took = []
    for _ in range(times):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return statistics.median(took)
