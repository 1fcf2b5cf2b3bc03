"""What a film costs over Blender's own rendering of the same frames: the whole of it, with its stage, and the frames
alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy

from addon.blender.animation.gait import bake_gait
from addon.blender.data.access import settings
from addon.blender.render import FilmOptions, open_stage, prepare, render_frames
from addon.blender.rendering.temporary_studio import stdout_silenced
from benchmarks.measuring import fresh_model, nothing, seconds
from benchmarks.mechanisms import star
from benchmarks.table import Row

SIZES, QUICK = (6, 24, 96), (2, 4)
SIZE = (320, 180)
RATE = 24.0


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Seconds of films of so many frames of a model of 31 bodies that swings."""
    for frames in sizes:
        yield from _of(frames, folder)


def _of(frames: int, folder: Path) -> Iterator[Row]:
    rig = fresh_model(star(31))
    scene = bpy.context.scene
    scene.render.fps, scene.frame_end = int(RATE), frames
    bake_gait(scene, rig, 1, frames)
    options = FilmOptions(engine="WORKBENCH", size=SIZE, fps=RATE)
    stage, reels = str(folder / "stage.blend"), []
    made = seconds(lambda: reels.append(prepare(settings(rig).collection, bpy.context, options, stage)))
    (reel,) = reels
    scene = open_stage(stage)
    render_frames(scene, 1, 1, str(folder / "first"))  # it loads what draws
    ours = seconds(lambda: render_frames(scene, 1, reel.frames, str(folder / "ours")), nothing)
    scene.render.filepath, scene.render.use_file_extension = str(folder / "blender") + "/", True
    blenders = seconds(lambda: _render(scene), nothing)
    yield Row("video: its frames", reel.frames, "frames", ours, blenders, "Blender's own animation render", 1.3)
    yield Row("video: its stage created", reel.frames, "frames", made, blenders, "Blender's own animation render")


def _render(scene: bpy.types.Scene) -> None:
    with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]), stdout_silenced():
        bpy.ops.render.render(animation=True)
