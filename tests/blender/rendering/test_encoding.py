"""The index of an MP4 stands before its pictures, and every picture is still found."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy", reason="needs Blender as a Python module")

from tests.support.filming_helpers import decoded, video_facts  # noqa: E402

FRAMES = 5


def kinds(path: Path) -> list[str]:
    """The outermost boxes, in their order."""
    text, at, found = path.read_bytes(), 0, []
    while at < len(text):
        length, kind = struct.unpack(">I4s", text[at : at + 8])
        found.append(kind.decode())
        at += length if length > 1 else struct.unpack(">Q", text[at + 8 : at + 16])[0] if length else len(text)
    return found


def pictures(folder: Path) -> None:
    """Frames of one grey each, every one another."""
    folder.mkdir()
    for number in range(1, FRAMES + 1):
        image = bpy.data.images.new("grey", 64, 48)
        image.pixels.foreach_set(np.tile(np.float32([0.15 * number] * 3 + [1.0]), 64 * 48))
        image.filepath_raw, image.file_format = str(folder / f"{number:06}.png"), "PNG"
        image.save()
        bpy.data.images.remove(image)


def test_the_index_stands_before_the_pictures(blank: Any, tmp_path: Path) -> None:
    from addon.blender.render import encode
    from addon.blender.rendering.encoding import move_index_to_front

    pictures(tmp_path / "frames")
    out = tmp_path / "film.mp4"
    assert encode(str(tmp_path / "frames"), str(out), 24.0) == FRAMES
    order = kinds(out)
    assert order.index("moov") < order.index("mdat")
    assert video_facts(out) == ((64, 48), FRAMES, 24.0)
    seen = [picture[..., :3].mean() for picture in decoded(out, FRAMES, (64, 48), tmp_path)]
    assert seen == pytest.approx([0.15 * number for number in range(1, FRAMES + 1)], abs=0.03)
    before = out.read_bytes()
    assert not move_index_to_front(str(out)), "it is there already"
    assert out.read_bytes() == before
