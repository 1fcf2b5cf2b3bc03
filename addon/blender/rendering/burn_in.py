"""Burned-in text and marks: name, time, servo values, axes and stops over a picture, and pictures side by side.

Pillow draws them, in the fonts that come with Blender.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import bpy
import numpy as np

from ...core.model import Array
from ...core.overlay_geometry import DofGlyphs, OverlayDrawing, VertexBuffer, draw_axes, draw_ball_joints, draw_stops
from ...core.report import Message, format_number
from ...core.transforms import affine_inverse
from .images import import_pillow
from .playback import DofRecording
from .video_state import VideoState

INK, PALE, ACCENT, ALERT = (255, 255, 255, 255), (255, 255, 255, 150), (255, 184, 40, 255), (255, 70, 60, 255)
_PANEL_COLOR = (16, 20, 28, 150)
_MIN_LETTER_HEIGHT = 9  # pixels
_LINE_SPACING = 1.55  # letters
_MAX_NAME_LENGTH = 22
#: Share of the picture's width, or height if in portrait, that the table of servos may take.
TABLE_SHARE = 0.28
_TABLE_HEIGHT = 0.66  # share of the height of a wide picture


def has_room_beside(size: tuple[int, int]) -> bool:
    """Return whether there is room for a table beside the mechanism rather than beneath it."""
    return size[0] > 1.2 * size[1]


class _Table(NamedTuple):
    """Layout of a table: dof indices and names of its rows; letter height, bar width (0: none), width (pixels)."""

    rows: list[int]
    names: list[str]
    letter: int
    bar: float
    wide: float


class TextLayer:
    """Transparent layer with text, to be laid over a picture of its size."""

    def __init__(self, width: int, height: int) -> None:
        from PIL import Image, ImageDraw

        self.layer: Any = Image.new("RGBA", (width, height), (0, 0, 0, 0))
        self._draw: Any = ImageDraw.Draw(self.layer)
        self.size = width, height
        self.letter = max(_MIN_LETTER_HEIGHT, round(0.030 * min(width, height)))
        self.margin = round(0.9 * self.letter)

    def write(
        self, text: str, corner: str, scale: float = 1.0, left: int = 0, right: int | None = None, row: int = 0
    ) -> None:
        """Write a line into a corner of the part from ``left`` to ``right`` (pixels), ``row`` rows further down.

        ``corner`` is "top left" and so on, or "top" for the middle.
        """
        font = _font(round(scale * self.letter))
        right = self.size[0] if right is None else right
        text = self._fitting(text, font, right - left - 4 * self.margin)
        wide, high = self._draw.textlength(text, font=font), round(1.25 * scale * self.letter)
        pad = round(0.45 * self.letter)
        room = right - left - wide
        x = left + (
            self.margin + pad if "left" in corner else room - self.margin - pad if "right" in corner else room / 2
        )
        y = self.margin + pad if "top" in corner else self.size[1] - self.margin - pad - high
        y += round(2.5 * self.letter) * row
        self._panel(x - pad, y - pad, x + wide + pad, y + high + pad)
        self._draw.text((x, y + high / 2), text, font=font, fill=INK, anchor="lm")

    def tabulate(
        self, readings: DofRecording, now: DofGlyphs, left: int, right: int, most: DofRecording | None = None
    ) -> None:
        """Write a table of servo values, each with a bar from stop to stop.

        It is at the right of the part from ``left`` to ``right`` (pixels), or at its foot in a portrait part. Where
        there is no room for all, it has those that move most, in ``most``.
        """
        beside = has_room_beside((right - left, self.size[1]))
        room = (TABLE_SHARE if beside else 0.9) * (right - left) - 2 * self.margin
        table = self._plan(most or readings, now, room, (_TABLE_HEIGHT if beside else TABLE_SHARE) * self.size[1])
        if not table.rows:
            return
        letter, line = table.letter, _LINE_SPACING * table.letter
        font, mono, gap = _font(letter), _font(letter, mono=True), 0.6 * letter
        left_out = len(readings.names) - len(table.rows)
        high = line * (len(table.rows) + bool(left_out))
        x = right - self.margin - gap - table.wide
        y = round(0.5 * (self.size[1] - high)) if beside else self.size[1] - high - self.margin - gap
        self._panel(x - gap, y - gap, x + table.wide + gap, y + high + gap)
        beyond = now.outside != 0.0
        end = x + table.wide - (table.bar + gap if table.bar else 0.0)
        for number, (row, name) in enumerate(zip(table.rows, table.names, strict=True)):
            middle = y + (number + 0.5) * line
            self._draw.text((x, middle), name, font=font, fill=INK, anchor="lm")
            colour = ALERT if beyond[row] else INK
            self._draw.text((end, middle), value_text(now, row), font=mono, fill=colour, anchor="rm")
            if table.bar:
                self._bar(end + gap, middle, table.bar, 0.22 * letter, now, row, bool(beyond[row]))
        if left_out:
            middle = y + (len(table.rows) + 0.5) * line
            self._draw.text((x, middle), f"and {left_out} more", font=font, fill=PALE, anchor="lm")

    def _plan(self, readings: DofRecording, now: DofGlyphs, room: float, high: float) -> _Table:
        """Plan a table for an area in pixels: smaller letters first, then no bars, then shorter names."""
        stopped = bool(np.isfinite(now.lower + now.upper).any())
        letter = max(_MIN_LETTER_HEIGHT, round(0.72 * self.letter))
        while True:
            rows = select_rows(readings, max(1, int(high / (_LINE_SPACING * letter))))
            names = [shorten_name(readings.names[row]) for row in rows]
            font, gap, bar = _font(letter), 0.6 * letter, 4.0 * letter if stopped else 0.0
            value = self._draw.textlength("-000.0°", font=_font(letter, mono=True))
            widest = max((self._draw.textlength(name, font=font) for name in names), default=0.0)
            wide = widest + gap + value + (bar + gap if bar else 0.0) + 2 * gap
            if wide <= room:
                break
            if letter > _MIN_LETTER_HEIGHT:
                letter -= 1
                continue
            if bar:
                wide, bar = wide - bar - gap, 0.0
            if wide > room:
                names = [self._fitting(name, font, max(room - value - 3 * gap, 3.0 * letter)) for name in names]
                wide = max(self._draw.textlength(name, font=font) for name in names) + value + 3 * gap
            break
        return _Table(rows, names, letter, bar, wide - 2 * gap)

    def _bar(self, x: float, y: float, wide: float, half: float, now: DofGlyphs, row: int, beyond: bool) -> None:
        """Draw a line from stop to stop with the present value on it."""
        lower, upper, value = now.lower[row], now.upper[row], now.value[row]
        if not np.isfinite([lower, upper, value]).all() or upper <= lower:
            return
        self._draw.rectangle((x, y - half / 3, x + wide, y + half / 3), fill=PALE)
        at = x + wide * float(np.clip((value - lower) / (upper - lower), 0.0, 1.0))
        self._draw.rectangle((at - half, y - 2 * half, at + half, y + 2 * half), fill=ALERT if beyond else ACCENT)

    def _panel(self, left: float, top: float, right: float, bottom: float) -> None:
        self._draw.rounded_rectangle((left, top, right, bottom), radius=0.35 * self.letter, fill=_PANEL_COLOR)

    def _fitting(self, text: str, font: Any, wide: float) -> str:
        """Truncate a text to a width (pixels)."""
        while len(text) > 2 and self._draw.textlength(text, font=font) > wide:
            text = text[:-2].rstrip() + "…"
        return text


def select_rows(readings: DofRecording, most: int) -> list[int]:
    """Select the dofs for a table of ``most`` rows, in their order.

    Where there are more, those that move most are selected, and one row is left for the number of the others.
    """
    values = np.nan_to_num(readings.moving["value"])
    count = values.shape[1] if values.ndim == 2 else 0
    if count <= most:
        return list(range(count))
    reach = np.ptp(values, axis=0)
    return sorted(np.argsort(-reach, kind="stable")[: max(1, most - 1)].tolist())


def value_text(now: DofGlyphs, row: int) -> str:
    """Format the value of a dof: degrees for a rotation, else the mechanism's length unit."""
    value = float(now.value[row])
    if not np.isfinite(value):
        return "–"
    if now.turns[row]:
        return f"{format_number(round(float(np.degrees(value)), 1) + 0.0, 1)}°"
    return format_number(round(value, 3) + 0.0, 3)


def shorten_name(name: str) -> str:
    """Shorten a name that is too long for a table."""
    return name if len(name) <= _MAX_NAME_LENGTH else name[: _MAX_NAME_LENGTH - 1] + "…"


@lru_cache(maxsize=16)
def _font(size: int, mono: bool = False) -> Any:
    from PIL import ImageFont

    utils: Any = bpy.utils  # its stubs lack this
    folder = os.path.join(utils.system_resource("DATAFILES"), "fonts")
    path = os.path.join(folder, "DejaVuSansMono.woff2" if mono else "Inter.woff2")
    try:
        return ImageFont.truetype(path, size)
    except OSError:  # a Blender without its fonts, or a Pillow that cannot read them
        return ImageFont.load_default(size)


_SUPERSAMPLING = 2  # factor by which marks are drawn larger and then reduced
_THIN_LINE, _THICK_LINE = 1.6, 3.2  # widths of lines in a picture of 720 lines
_NEAR_CLIP = 1e-3  # share of the largest depth: nothing nearer is drawn


class FramePart(NamedTuple):
    """Part of a frame by one stage: its left edge in the picture (pixels), its scene, video state and recording."""

    left: int
    scene: bpy.types.Scene
    video: VideoState
    readings: DofRecording | None


def compose_picture(
    parts: Sequence[str],
    stages: Sequence[tuple[bpy.types.Scene, VideoState, DofRecording | None]],
    frame: int,
    picture: str,
) -> None:
    """Compose one picture of those of the stages, with what is burned in.

    Where that is nothing, the picture is the very file that Blender wrote.
    """
    video = stages[0][1]
    title = video.look.get("title", "")
    if len(parts) == 1 and not video.burn and not title:
        os.replace(parts[0], picture)
        return
    image = import_pillow()
    whole = image.new("RGB", video.size)
    step = video.size[0] // len(parts)
    for number, (part, stage) in enumerate(zip(parts, stages, strict=True)):
        with image.open(part) as seen:
            marked = draw_frame_overlay(seen.convert("RGBA"), FramePart(number * step, *stage), frame)
        whole.paste(marked.convert("RGB"), (number * step, 0))
        os.remove(part)
    halves = [FramePart(number * step, *stage) for number, stage in enumerate(stages)]
    layer = draw_text_layer(video, title, halves, frame, step)
    whole.paste(layer, (0, 0), layer)
    finished = f"{picture}.part"
    whole.save(finished, format="PNG", compress_level=3)
    os.replace(finished, picture)


def draw_text_layer(video: VideoState, title: str, halves: Sequence[FramePart], frame: int, step: int) -> Any:
    """Draw all text of a frame as a transparent layer."""
    page = TextLayer(*video.size)
    most = halves[-1].readings  # both halves show the same servos
    name = title_text(title, video.name if "NAME" in video.burn else "")
    if name:
        page.write(name, "top left", 1.25 if len(halves) == 1 else 1.0)
    if "TIME" in video.burn:
        time = Message("{} s", f"{video.start + (frame - 1) / video.fps:.2f}")
        if "SERVOS" in video.burn and not has_room_beside((step, video.size[1])):  # the foot is the table's
            page.write(time, "top left", row=1)
        else:
            page.write(time, "bottom left")
    for half in halves:
        if half.video.label:
            page.write(half.video.label, "top right", left=half.left, right=half.left + step)
        if "SERVOS" in video.burn and half.readings is not None:
            page.tabulate(half.readings, half.readings.at(frame - 1), half.left, half.left + step, most)
    return page.layer


def title_text(title: str, name: str) -> str:
    """Return the title and the mechanism's name, which is not repeated where the title has it."""
    return " – ".join(filter(None, [title, "" if name.casefold() in title.casefold() else name]))


def draw_frame_overlay(seen: Any, half: FramePart, frame: int) -> Any:
    """Draw axes and stops over the picture of one stage."""
    kinds = {"AXES", "STOPS"} & set(half.video.burn)
    if not kinds or half.readings is None:
        return seen
    drawing = OverlayDrawing()
    now = half.readings.at(frame - 1)
    if "AXES" in kinds:
        draw_axes(drawing, now)
        draw_ball_joints(drawing, half.readings.balls[frame - 1], 0.5 * half.readings.reach[frame - 1])
    if "STOPS" in kinds:
        draw_stops(drawing, now)
    image = import_pillow()
    size = seen.size
    layer = image.new("RGBA", (size[0] * _SUPERSAMPLING, size[1] * _SUPERSAMPLING), (0, 0, 0, 0))
    rasterize(layer, drawing, half.scene, size)
    return image.alpha_composite(seen, layer.convert("RGBa").reduce(_SUPERSAMPLING).convert("RGBA"))


def rasterize(layer: Any, drawing: OverlayDrawing, scene: bpy.types.Scene, size: tuple[int, int]) -> None:
    """Draw strokes of the world, as a scene's camera sees them in a picture of ``size``, into a finer layer."""
    from PIL import ImageDraw

    pen = ImageDraw.Draw(layer)
    width = _SUPERSAMPLING * min(size) / 720.0
    for strokes, line in (
        (drawing.faces, 0.0),
        (drawing.fine, _THIN_LINE),
        (drawing.bold, _THICK_LINE),
        (drawing.solids, 0.0),
    ):
        corners = 2 if line else 3
        places, colours = project_strokes(scene, strokes, corners, layer.size)
        for points, colour in zip(places, colours, strict=True):
            flat = [tuple(point) for point in points]
            if line:
                pen.line(flat, fill=tuple(colour), width=max(1, round(line * width)))
            else:
                pen.polygon(flat, fill=tuple(colour))


def project_strokes(
    scene: bpy.types.Scene, strokes: VertexBuffer, corners: int, size: tuple[int, int]
) -> tuple[list[Array], list[Array]]:
    """Project strokes into a picture, the farthest first, without those behind the camera.

    Args:
        scene: The scene, with its camera.
        strokes: The strokes, in pieces.
        corners: Number of corners per piece.
        size: Of the picture, in pixels.

    Returns:
        Corners of the n pieces, (n, corners, 2) in pixels from the upper left, and their colors (n, 4) from 0 to 255.
    """
    points, colours = strokes.arrays()
    if not len(points):
        return [], []
    camera: Any = scene.camera
    lens = camera.data
    view = affine_inverse(np.array(camera.matrix_world, dtype=np.float64))
    local = points.astype(np.float64) @ view[:3, :3].T + view[:3, 3]
    depth = (-local[:, 2]).reshape(-1, corners)
    whole = depth.min(axis=1) > _NEAR_CLIP * max(float(np.abs(depth).max()), 1e-12)
    scale = lens.lens / lens.sensor_width * max(size)
    middle = 0.5 * size[0] - lens.shift_x * max(size), 0.5 * size[1] + lens.shift_y * max(size)
    with np.errstate(divide="ignore", invalid="ignore"):
        flat = local[:, :2] / -local[:, 2:] * (scale, -scale) + middle
    order = np.flatnonzero(whole)[np.argsort(-depth[whole].mean(axis=1), kind="stable")]
    shades = np.round(255.0 * np.clip(colours.reshape(-1, corners, 4)[:, 0], 0.0, 1.0)).astype(int)
    return list(flat.reshape(-1, corners, 2)[order]), list(shades[order])
