"""From numbered pictures to a video file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction

import bpy

from .engines import plain_colours, set_up_video, strips_of
from .studio import Studio


def encode(pictures: Sequence[str], size: tuple[int, int], fps: float, path: str) -> None:
    """Write ``pictures`` (PNG files of ``size``) as an H.264 .mp4 of ``fps`` frames per second to ``path``."""
    with Studio("Knuckle Cutting Room") as room:
        scene = room.scene
        scene.render.resolution_x, scene.render.resolution_y = size
        scene.render.resolution_percentage = 100
        scene.render.pixel_aspect_x = scene.render.pixel_aspect_y = 1.0
        scene.render.use_sequencer = True
        scene.render.use_compositing = False
        scene.render.use_file_extension = False
        scene.render.use_overwrite = True
        scene.frame_start, scene.frame_end = 1, len(pictures)
        set_rate(scene, fps)
        plain_colours(scene)
        set_up_video(scene)
        strip = strips_of(scene.sequence_editor_create()).new_image("Pictures", pictures[0], 1, 1)
        for picture in pictures[1:]:
            strip.elements.append(os.path.basename(picture))
        scene.render.filepath = path
        room.render_animation()
        scene.sequence_editor_clear()


def set_rate(scene: bpy.types.Scene, fps: float) -> None:
    """Frames per second as Blender keeps them: a whole number over a base."""
    ratio = Fraction(fps).limit_denominator(1001)
    whole = max(1, round(float(ratio)))
    scene.render.fps = whole
    scene.render.fps_base = whole / float(ratio)
