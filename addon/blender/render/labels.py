"""What the lines of a grid are at: numbers on the floor, along the two sides of the motion that are nearest to the
camera."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from .cast import coat
from .framing import Array, Shot, slopes
from .looks import Look, linear
from .studio import Studio

_MOST = 60  # numbers along a side
_HEIGHT = 0.042  # of a letter, in shares of the picture's height where the camera aims
_WIDEST = 5.0  # letters that a number with its space is wide
_BOLD, _HALO = 0.018, 0.085  # letters by which strokes are thickened, and those of the halo behind them
_LIFT = 2e-3  # above the floor, in camera distances: as far as the floor itself lies above the far one


def add_labels(studio: Studio, look: Look, shot: Shot, size: float, tile: float, ground: float) -> None:
    """Write along the lines of a grid of ``tile`` what they are at, in the scene's unit.

    The numbers face the camera, as high in pictures of every size, with a halo that no line of the grid crosses. Those
    of a camera that goes round lie on the floor."""
    ink, halo = coat(studio, "Film ink", look.ink), coat(studio, "Film halo", [linear(part) for part in look.shades[0]])
    stands = bool(np.allclose(shot.rotations, shot.rotations[:1]))
    letter = letter_height(studio.scene, shot)
    across, towards = snapped(shot.rotation[:2, 0]), snapped(shot.rotation[:2, 2])
    low, high = edges(shot, size, tile)
    for axis in (0, 1):
        runs_across = abs(across[axis]) > 0.5
        # on the side that looks at the camera; the other side's numbers are at the right of the picture
        side = towards if runs_across else across
        other = 1 - axis
        edge = high[other] if side[other] > 0.0 else low[other]
        apart = _WIDEST * letter if runs_across else 1.6 * letter / max(float(shot.rotation[2, 2]), 0.1)
        for step in steps(int(low[axis]), int(high[axis]), apart / tile):
            place = np.zeros(2)
            place[axis], place[other] = step * tile, (edge + 0.15 * side[other]) * tile
            turn = np.eye(4)
            if stands:
                turn[:3, :3] = shot.rotation
                rise = letter * (0.3 + float(shot.rotation[2, 1]))
            else:
                turn[:2, 0], turn[:2, 1] = across, (-across[1], across[0])
                rise = _LIFT * 0.5 * shot.distance
            turn[:3, 3] = *place, ground + rise
            for material, offset, behind in ((ink, _BOLD, 0.0), (halo, _HALO, 0.02)):
                text = add_text(studio, number(step * tile, tile), material)
                text.data.size, text.data.offset = letter, offset * letter
                text.data.align_x = "CENTER" if runs_across else "LEFT"
                text.data.align_y = "TOP" if runs_across else "CENTER"
                text.matrix_world = Matrix(turn.tolist()) @ Matrix.Translation((0.0, 0.0, -behind * letter))
                text.display.show_shadows = text.visible_shadow = False


def letter_height(scene: bpy.types.Scene, shot: Shot) -> float:
    """Height of a letter, in the scene's unit."""
    size = scene.render.resolution_x, scene.render.resolution_y
    return _HEIGHT * 2.0 * slopes(size)[1] * shot.distance * max(1.0, size[0] / size[1] / 2.0)


def edges(shot: Shot, size: float, tile: float) -> tuple[Array, Array]:
    """The lines about all that the camera aims at, with room for the model: the lowest and the highest, (2,) each."""
    room = 0.42 * size
    low = np.floor((shot.aims[:, :2].min(axis=0) - room) / tile)
    return low, np.ceil((shot.aims[:, :2].max(axis=0) + room) / tile)


def steps(low: int, high: int, apart: float = 0.0) -> range:
    """Return which lines from ``low`` to ``high`` have numbers: every one, or every fifth, tenth and so on where they
    are many or would be fewer than ``apart`` lines from each other."""
    strides = (1, 2, 5, 10, 20, 50, 100, 10**9)
    stride = next(stride for stride in strides if (high - low) / stride <= _MOST and stride >= apart)
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
