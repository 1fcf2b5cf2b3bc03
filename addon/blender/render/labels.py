"""What the lines of a grid are at: numbers on the floor, along the two sides of the motion that are nearest to the
camera."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from .cast import coat
from .framing import Array, Shot
from .looks import Look
from .studio import Studio

_MOST = 60  # numbers along a side
_HEIGHT = 0.26  # of a letter, in tiles
_LIFT = 2e-3  # above the floor, in camera distances: as far as the floor itself lies above the far one


def add_labels(studio: Studio, look: Look, shot: Shot, size: float, tile: float, ground: float) -> None:
    """Write along the lines of a grid of ``tile`` what they are at, in the scene's unit."""
    material = coat(studio, "Film ink", look.ink)
    across, towards = snapped(shot.rotation[:2, 0]), snapped(shot.rotation[:2, 2])
    low, high = edges(shot, size, tile)
    for axis in (0, 1):
        runs_across = abs(across[axis]) > 0.5
        # on the side that looks at the camera; the other side's numbers are at the right of the picture
        side = towards if runs_across else across
        other = 1 - axis
        edge = high[other] if side[other] > 0.0 else low[other]
        for step in steps(int(low[axis]), int(high[axis])):
            place = np.zeros(2)
            place[axis], place[other] = step * tile, (edge + 0.15 * side[other]) * tile
            text = add_text(studio, number(step * tile, tile), material)
            text.data.size = _HEIGHT * tile
            text.data.align_x = "CENTER" if runs_across else "LEFT"
            text.data.align_y = "TOP" if runs_across else "CENTER"
            turn = np.eye(4)
            turn[:2, 0], turn[:2, 1] = across, (-across[1], across[0])
            turn[:3, 3] = *place, ground + _LIFT * 0.5 * shot.distance
            text.matrix_world = Matrix(turn.tolist())


def edges(shot: Shot, size: float, tile: float) -> tuple[Array, Array]:
    """The lines about all that the camera aims at, with room for the model: the lowest and the highest, (2,) each."""
    room = 0.42 * size
    low = np.floor((shot.aims[:, :2].min(axis=0) - room) / tile)
    return low, np.ceil((shot.aims[:, :2].max(axis=0) + room) / tile)


def steps(low: int, high: int) -> range:
    """Which lines from ``low`` to ``high`` have numbers: every one, or every fifth, tenth and so on of many."""
    stride = next(stride for stride in (1, 5, 10, 50, 100, 10**9) if (high - low) / stride <= _MOST)
    return range(-(-low // stride) * stride, high + 1, stride)


def number(value: float, tile: float) -> str:
    """A length with as many places as the grid has."""
    places = max(0, -int(np.floor(np.log10(tile) + 1e-9)))
    return f"{value + 0.0:.{places}f} m"


def snapped(direction: Array) -> Array:
    """The axis, (2,), that is nearest to a direction (2,) of the floor."""
    out = np.zeros(2)
    largest = int(np.abs(direction).argmax())
    out[largest] = np.sign(direction[largest]) or 1.0
    return out


def add_text(studio: Studio, words: str, material: bpy.types.Material) -> Any:
    """A text object."""
    data: Any = studio.own(bpy.data.curves.new("Film label", "FONT"))
    data.body = words
    data.materials.append(material)
    return studio.place("Film label", data)
