"""Overlay of the 3D View during Live Input: keys, what they move, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import blf
import bpy
import gpu
from gpu_extras.batch import batch_for_shader

_SIZE, _PAD, _GAP = 13.0, 12.0, 8.0  # pixels at a scale of 1
_BACK, _TRACK = (0.05, 0.05, 0.05, 0.75), (1.0, 1.0, 1.0, 0.18)
_TEXT, _FAINT, _FILL, _RED = (0.95, 0.95, 0.95), (0.7, 0.7, 0.7), (0.33, 0.66, 1.0, 1.0), (1.0, 0.35, 0.3)
_BAR = 90.0


class Row(NamedTuple):
    """A pair of keys: its name, what it moves, and where it is from -1 to 1."""

    keys: str
    moves: str
    value: float


class LiveOverlay:
    """The overlay, from its making until ``hide``.

    Attributes:
        title: First line.
        alert: Whether it is red.
        rows: One per pair of keys.
        hint: Last line.
    """

    def __init__(self) -> None:
        self.title, self.hint, self.alert = "", "", False
        self.rows: Sequence[Row] = ()
        self._handle: Any = bpy.types.SpaceView3D.draw_handler_add(self._draw, (), "WINDOW", "POST_PIXEL")

    def hide(self) -> None:
        """Draw nothing any more; does nothing the second time."""
        if self._handle is not None:
            bpy.types.SpaceView3D.draw_handler_remove(self._handle, "WINDOW")
            self._handle = None

    def _draw(self) -> None:
        scale = bpy.context.preferences.system.ui_scale or 1.0
        size, pad, gap, bar = (value * scale for value in (_SIZE, _PAD, _GAP, _BAR))
        blf.size(0, size)
        keys = max((blf.dimensions(0, row.keys)[0] for row in self.rows), default=0.0)
        moves = max((blf.dimensions(0, row.moves)[0] for row in self.rows), default=0.0)
        texts = max(blf.dimensions(0, text)[0] for text in (self.title, self.hint))
        width = max(keys + moves + bar + 2.0 * pad, texts)
        line = size + gap
        height = line * (len(self.rows) + 2)
        left, bottom = 20.0 * scale, 50.0 * scale  # above the panel of the last operator
        _fill(left, bottom, width + 2.0 * pad, height + 2.0 * pad - gap, _BACK)
        x, y = left + pad, bottom + pad
        _write(self.hint, x, y, _FAINT)
        for row in reversed(self.rows):
            y += line
            _write(row.keys, x, y, _TEXT)
            _write(row.moves, x + keys + pad, y, _FAINT)
            start, middle = x + keys + moves + 2.0 * pad, x + keys + moves + 2.0 * pad + bar / 2.0
            _fill(start, y, bar, size * 0.7, _TRACK)
            share = max(-1.0, min(row.value, 1.0)) * bar / 2.0
            _fill(min(middle, middle + share), y, abs(share), size * 0.7, _FILL)
            _fill(middle - 0.5 * scale, y, scale, size * 0.7, (1.0, 1.0, 1.0, 0.6))
        _write(self.title, x, y + line, _RED if self.alert else _TEXT)


def _fill(x: float, y: float, width: float, height: float, color: Sequence[float]) -> None:
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    batch = batch_for_shader(shader, "TRIS", {"pos": corners}, indices=[(0, 1, 2), (0, 2, 3)])
    shader.uniform_float("color", color)
    gpu.state.blend_set("ALPHA")  # text switches it off
    batch.draw(shader)
    gpu.state.blend_set("NONE")


def _write(text: str, x: float, y: float, color: tuple[float, float, float]) -> None:
    blf.color(0, color[0], color[1], color[2], 1.0)
    blf.position(0, x, y, 0.0)
    blf.draw(0, text)
