"""The second pass of filming: frames of a stage as pictures in a folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator

import bpy

from .burning import finish_picture
from .delivery import deliver
from .engines import set_samples
from .reel import readings_of, reel_of, stages_of
from .studio import render_still

#: Is told how many frames are done, of how many.
Progress = Callable[[int, int], None]


def render_frames(
    scene: bpy.types.Scene, first: int, last: int, folder: str, progress: Progress | None = None
) -> list[str]:
    """Render the frames ``first`` to ``last`` of a stage (it counts from 1) into ``folder``: their pictures' paths.

    Whatever is there of the same name is replaced, each picture at once: half a picture is never seen.
    ValueError where the scene is no stage or has no such frames."""
    pictures = []
    for picture in shoot(scene, range(first, last + 1), folder):
        pictures.append(picture)
        if progress is not None:
            progress(len(pictures), last - first + 1)
    return pictures


def shoot(scene: bpy.types.Scene, frames: range, folder: str) -> Generator[str, None, None]:
    """Render frames of a stage into ``folder`` and yield the paths of their pictures one by one, as
    ``render_frames``."""
    reel = reel_of(scene)
    if not frames or frames[0] < 1 or frames[-1] > reel.frames:
        raise ValueError(f"The video has frames 1 to {reel.frames}, none from {frames.start} to {frames.stop - 1}")
    os.makedirs(folder, exist_ok=True)
    stages = [(stage, reel_of(stage), readings_of(stage)) for stage in stages_of(scene)]
    for frame in frames:
        picture = os.path.join(folder, frame_name(frame))
        halves = []
        for number, (stage, _, _) in enumerate(stages):
            stage.frame_set(frame)
            halves.append(f"{picture}.{number}.part")
            render_still(stage, halves[-1])
        finish_picture(halves, stages, frame, picture)
        yield picture


def frame_name(frame: int) -> str:
    """The picture of a frame."""
    return f"{frame:06d}.png"


def shoot_poster(scene: bpy.types.Scene, path: str) -> None:
    """Render the frame that stands for the film to ``path``, as fine as posters are."""
    reel, stages = reel_of(scene), stages_of(scene)
    was = [set_samples(stage, reel.poster_samples) for stage in stages]
    try:
        with tempfile.TemporaryDirectory(prefix="knuckle-film-") as folder:
            for picture in shoot(scene, range(reel.poster, reel.poster + 1), folder):
                deliver(picture, path)
    finally:
        for stage, samples in zip(stages, was, strict=True):
            set_samples(stage, samples)
