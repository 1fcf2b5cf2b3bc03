"""What is written and drawn over rendered pictures, and the halves of a picture put together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np

from ...core.model import Array
from ...core.overlay_geometry import Drawing, Strokes, draw_axes, draw_balls, draw_stops
from ...core.transforms import affine_inverse
from .lettering import Lettering, is_wide
from .pictures import pillow
from .readings import Readings
from .reel import Reel

_FINER = 2  # marks are drawn so many times as large and then made small
_FINE, _BOLD = 1.6, 3.2  # widths of lines in a picture of 720 lines
_NEAR = 1e-3  # of the way to the model: nothing nearer is drawn


class Half(NamedTuple):
    """One stage's part of a frame: where it begins in the picture, its scene and what that knows."""

    left: int
    scene: bpy.types.Scene
    reel: Reel
    readings: Readings | None


def finish_picture(
    parts: Sequence[str], stages: Sequence[tuple[bpy.types.Scene, Reel, Readings | None]], frame: int, picture: str
) -> None:
    """Make one picture of those of the stages, with what is burnt in. Where that is nothing the picture is the very
    file that Blender wrote."""
    reel = stages[0][1]
    title = reel.look.get("title", "")
    if len(parts) == 1 and not reel.burn and not title:
        os.replace(parts[0], picture)
        return
    image = pillow()
    whole = image.new("RGB", reel.size)
    step = reel.size[0] // len(parts)
    for number, (part, stage) in enumerate(zip(parts, stages, strict=True)):
        with image.open(part) as seen:
            marked = draw_marks(seen.convert("RGBA"), Half(number * step, *stage), frame)
        whole.paste(marked.convert("RGB"), (number * step, 0))
        os.remove(part)
    halves = [Half(number * step, *stage) for number, stage in enumerate(stages)]
    layer = letter(reel, title, halves, frame, step)
    whole.paste(layer, (0, 0), layer)
    finished = f"{picture}.part"
    whole.save(finished, format="PNG", compress_level=3)
    os.replace(finished, picture)


def letter(reel: Reel, title: str, halves: Sequence[Half], frame: int, step: int) -> Any:
    """All words of a frame as a transparent layer."""
    page = Lettering(*reel.size)
    most = halves[-1].readings  # both halves tell of the same servos
    name = heading(title, reel.name if "NAME" in reel.burn else "")
    if name:
        page.write(name, "top left", 1.25 if len(halves) == 1 else 1.0)
    if "TIME" in reel.burn:
        time = f"{reel.start + (frame - 1) / reel.fps:.2f} s"
        if "SERVOS" in reel.burn and not is_wide((step, reel.size[1])):  # the foot is the table's
            page.write(time, "top left", row=1)
        else:
            page.write(time, "bottom left")
    for half in halves:
        if half.reel.label:
            page.write(half.reel.label, "top right", left=half.left, right=half.left + step)
        if "SERVOS" in reel.burn and half.readings is not None:
            page.tabulate(half.readings, half.readings.at(frame - 1), half.left, half.left + step, most)
    return page.layer


def heading(title: str, name: str) -> str:
    """The title and the mechanism's name, which is not repeated where the title has it."""
    return " – ".join(filter(None, [title, "" if name.casefold() in title.casefold() else name]))


def draw_marks(seen: Any, half: Half, frame: int) -> Any:
    """Axes and stops over the picture of one stage."""
    kinds = {"AXES", "STOPS"} & set(half.reel.burn)
    if not kinds or half.readings is None:
        return seen
    drawing = Drawing()
    now = half.readings.at(frame - 1)
    if "AXES" in kinds:
        draw_axes(drawing, now)
        draw_balls(drawing, half.readings.balls[frame - 1], 0.5 * half.readings.reach[frame - 1])
    if "STOPS" in kinds:
        draw_stops(drawing, now)
    image = pillow()
    size = seen.size
    layer = image.new("RGBA", (size[0] * _FINER, size[1] * _FINER), (0, 0, 0, 0))
    paint(layer, drawing, half.scene, size)
    return image.alpha_composite(seen, layer.convert("RGBa").reduce(_FINER).convert("RGBA"))


def paint(layer: Any, drawing: Drawing, scene: bpy.types.Scene, size: tuple[int, int]) -> None:
    """Draw strokes of the world, as a scene's camera sees them in a picture of ``size``, into a finer layer."""
    from PIL import ImageDraw

    pen = ImageDraw.Draw(layer)
    width = _FINER * min(size) / 720.0
    for strokes, line in ((drawing.faces, 0.0), (drawing.fine, _FINE), (drawing.bold, _BOLD), (drawing.solids, 0.0)):
        corners = 2 if line else 3
        places, colours = seen_by(scene, strokes, corners, layer.size)
        for points, colour in zip(places, colours, strict=True):
            flat = [tuple(point) for point in points]
            if line:
                pen.line(flat, fill=tuple(colour), width=max(1, round(line * width)))
            else:
                pen.polygon(flat, fill=tuple(colour))


def seen_by(
    scene: bpy.types.Scene, strokes: Strokes, corners: int, size: tuple[int, int]
) -> tuple[list[Array], list[Array]]:
    """Return where the pieces of strokes, of so many corners each, are in a picture, (n, corners, 2) in pixels from the
    upper left, and their colours (n, 4) from 0 to 255: the farthest first, without those behind the camera."""
    points, colours = strokes.arrays()
    if not len(points):
        return [], []
    camera: Any = scene.camera
    lens = camera.data
    view = affine_inverse(np.array(camera.matrix_world, dtype=np.float64))
    local = points.astype(np.float64) @ view[:3, :3].T + view[:3, 3]
    depth = (-local[:, 2]).reshape(-1, corners)
    whole = depth.min(axis=1) > _NEAR * max(float(np.abs(depth).max()), 1e-12)
    scale = lens.lens / lens.sensor_width * max(size)
    middle = 0.5 * size[0] - lens.shift_x * max(size), 0.5 * size[1] + lens.shift_y * max(size)
    with np.errstate(divide="ignore", invalid="ignore"):
        flat = local[:, :2] / -local[:, 2:] * (scale, -scale) + middle
    order = np.flatnonzero(whole)[np.argsort(-depth[whole].mean(axis=1), kind="stable")]
    shades = np.round(255.0 * np.clip(colours.reshape(-1, corners, 4)[:, 0], 0.0, 1.0)).astype(int)
    return list(flat.reshape(-1, corners, 2)[order]), list(shades[order])
