"""Picture files: sizes, repeating pictures and contact sheets. Pillow does the work and is imported only for that."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...core.report import FormatError, Message
from ...formats.text.file_io import make_folder, write_atomically

_PALETTE_SIZE = 255  # colors of a .gif's palette; one is left for unchanged pixels
_QUALITY = 82  # of a .webp: the lowest at which flat floors and soft shadows showed no blocks


class LoopFormat(NamedTuple):
    """Format of pictures that repeat: unit of time, and shortest time per picture that browsers respect (ms)."""

    unit: int
    shortest: int


#: By the extension of the file.
LOOP_FORMATS = {".gif": LoopFormat(10, 20), ".webp": LoopFormat(1, 11)}


def import_pillow() -> Any:
    """Import Pillow's ``Image`` module.

    Raises:
        FormatError: If it is missing.
    """
    try:
        from PIL import Image
    except ImportError:
        raise FormatError("this needs Pillow", remedy="Install it: pip install pillow.") from None
    return Image


def png_size(path: str) -> tuple[int, int]:
    """Return width and height of a .png from its header.

    Raises:
        FormatError: If it is no .png.
    """
    with open(path, "rb") as file:
        head = file.read(24)
    if head[:8] != b"\x89PNG\r\n\x1a\n" or len(head) < 24:
        raise FormatError("this is not a .png image", path=path, remedy="Render it again.")
    width, height = struct.unpack(">II", head[16:24])
    return width, height


def is_complete_png(path: str) -> bool:
    """Return whether a .png was written to its end, its chunk IEND."""
    with open(path, "rb") as file:
        file.seek(-min(12, file.seek(0, os.SEEK_END)), os.SEEK_END)
        return file.read()[4:8] == b"IEND"


def save_loop(pictures: Sequence[str], path: str, fps: float) -> None:
    """Write pictures as a .webp or .gif that repeats forever; each is shown until the format's next unit of time.

    Args:
        pictures: Paths of .png files of one size.
        path: Path to write to; its extension names the format.
        fps: Pictures per second.
    """
    image = import_pillow()
    require_loop_rate(path, fps)
    unit = LOOP_FORMATS[os.path.splitext(path)[1].lower()].unit
    ends = [round(1000.0 / unit * (number + 1) / fps) for number in range(len(pictures))]
    times = [unit * (end - start) for start, end in zip([0, *ends], ends, strict=False)]
    if unit == 1:
        first, *rest = map(_read_rgb, pictures)
        first.save(
            path, format="WEBP", save_all=True, append_images=rest, duration=times, loop=0, quality=_QUALITY, method=4
        )
        return
    palette = _common_palette(image, [_read_rgb(picture) for picture in pictures[:: max(1, len(pictures) // 12)]])
    flat = [_read_rgb(picture).quantize(palette=palette, dither=image.Dither.FLOYDSTEINBERG) for picture in pictures]
    flat[0].save(path, save_all=True, append_images=flat[1:], duration=times, loop=0, optimize=False, disposal=1)


def require_loop_rate(path: str, fps: float) -> None:
    """Raise FormatError for more pictures per second than a .webp or .gif can have."""
    ending = os.path.splitext(path)[1].lower()
    most = 1000 // LOOP_FORMATS[ending].shortest
    if fps > most:
        raise FormatError(
            f"a {ending} cannot have {fps:g} frames per second", path=path, remedy=Message("Choose {} or fewer.", most)
        )


def _read_rgb(path: str) -> Any:
    """Read a picture's colors, and close its file."""
    with import_pillow().open(path) as picture:
        return picture.convert("RGB")


def _common_palette(image: Any, some: Sequence[Any]) -> Any:
    """Return a palette image from sample frames of the whole video, pasted side by side."""
    strip = image.new("RGB", (160 * len(some), 160))
    for number, frame in enumerate(some):
        strip.paste(frame.resize((160, 160)), (160 * number, 0))
    return strip.quantize(colors=_PALETTE_SIZE, method=image.Quantize.MEDIANCUT)


def save_sheet(pictures: Sequence[str], path: str, columns: int = 4, rows: int = 4, width: int = 480) -> None:
    """Write a contact sheet of a video to a .png.

    It has up to ``columns`` x ``rows`` of the frames, evenly from the first to the last, each ``width`` pixels wide.
    """
    image = import_pillow()
    count = min(len(pictures), columns * rows)
    chosen = [pictures[round(number * (len(pictures) - 1) / max(count - 1, 1))] for number in range(count)]
    wide, high = png_size(chosen[0])
    cell = width, max(1, round(width * high / wide))
    columns = min(columns, count)
    gap = 4
    sheet = image.new(
        "RGB",
        (columns * (cell[0] + gap) + gap, -(-count // columns) * (cell[1] + gap) + gap),
        (255, 255, 255),
    )
    for number, picture in enumerate(chosen):
        row, column = divmod(number, columns)
        small = _read_rgb(picture).resize(cell, image.Resampling.LANCZOS)
        sheet.paste(small, (gap + column * (cell[0] + gap), gap + row * (cell[1] + gap)))
    data = io.BytesIO()
    sheet.save(data, format="PNG")
    make_folder(Path(path).parent)
    write_atomically(path, data.getvalue())
