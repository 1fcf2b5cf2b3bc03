"""From numbered pictures to a video file."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from fractions import Fraction

import bpy

from ...core.report import FormatError
from ...formats.text.file_io import cannot_write
from ..compat import render_path, strips_of
from .delivery import deliver, ending_of
from .engines import plain_colours, set_up_video
from .faststart import put_index_first
from .pictures import LOOPS, picture_size, save_loop
from .presets import VIDEOS
from .studio import Studio


def encode(folder: str, out: str, fps: float, frames: int | None = None) -> int:
    """Make a video of ``fps`` frames per second of the pictures in ``folder`` (000001.png and so on, as
    ``render_frames`` names them): H.264 in .mp4, VP9 in .webm, or a .webp or .gif that repeats; how many frames it has.
    ``frames``: so many of them, whatever else an earlier film left behind; all without it.

    FormatError where there are none or some between are missing, and for another ending."""
    pictures = pictures_in(folder, frames)
    ending = ending_of(out)
    if ending not in VIDEOS:
        raise FormatError(
            "a video cannot be written as one picture", path=out, remedy="Name it .mp4, .webm, .webp or .gif."
        )
    with tempfile.TemporaryDirectory(prefix="knuckle-film-") as room:
        result = os.path.join(room, f"film{ending}")
        try:
            if ending in LOOPS:
                save_loop(pictures, result, fps)
            else:
                splice(pictures, result, fps)
            if ending == ".mp4":
                put_index_first(result)
        except OSError as error:
            raise cannot_write(error, out) from error
        deliver(result, out)
    return len(pictures)


def pictures_in(folder: str, frames: int | None = None) -> list[str]:
    """The frames in a folder, in order, without gaps: the first so many, or all."""
    names = sorted(name for name in os.listdir(folder) if re.fullmatch(r"\d{6}\.png", name))
    names = [name for name in names if frames is None or int(name[:6]) <= frames]
    if not names:
        raise FormatError("there are no frames", path=folder, remedy="Render some first.")
    missing = sorted(set(range(1, (frames or int(names[-1][:6])) + 1)) - {int(name[:6]) for name in names})
    if missing:
        raise FormatError(f"frame {missing[0]} is missing", path=folder, remedy="Render it, then encode again.")
    return [os.path.join(folder, name) for name in names]


def splice(pictures: Sequence[str], path: str, fps: float) -> None:
    """Write ``pictures``, all of one size, as a video to ``path``."""
    with Studio("Knuckle Cutting Room") as room:
        scene = room.scene
        scene.render.resolution_x, scene.render.resolution_y = picture_size(pictures[0])
        scene.render.resolution_percentage = 100
        scene.render.pixel_aspect_x = scene.render.pixel_aspect_y = 1.0
        scene.render.use_sequencer = True
        scene.render.use_compositing = False
        scene.render.use_file_extension = False
        scene.render.use_overwrite = True
        scene.frame_start, scene.frame_end = 1, len(pictures)
        set_rate(scene, fps)
        plain_colours(scene)
        set_up_video(scene, ending_of(path))
        strip = strips_of(scene.sequence_editor_create()).new_image("Pictures", pictures[0], 1, 1)
        for picture in pictures[1:]:
            strip.elements.append(os.path.basename(picture))
        scene.render.filepath = render_path(path)
        room.render_animation()
        scene.sequence_editor_clear()


def set_rate(scene: bpy.types.Scene, fps: float) -> None:
    """Frames per second as Blender keeps them: a whole number over a base."""
    ratio = Fraction(fps).limit_denominator(1001)
    whole = max(1, round(float(ratio)))
    scene.render.fps = whole
    scene.render.fps_base = whole / float(ratio)
