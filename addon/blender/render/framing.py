"""Where a camera stands so that a moving model stays well in the picture. Numbers only, no Blender."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LENS = 50.0  # mm
SENSOR = 36.0  # mm, along the longer side of the picture
TURN = np.radians(48.0)  # from the model's heading to the camera: three quarters, rather from the side
PITCH = np.radians(17.0)  # looking down: enough to keep the horizon out of a landscape picture
FILL_WIDTH = 0.74  # of the picture's width that the model may take
FILL_HEIGHT = 0.62  # of its height
STEADINESS = 0.5  # s, standard deviation of the camera's smoothing


@dataclass
class Shot:
    """A camera that looks in one direction and moves. ``rotation`` is 3x3 (columns: right, up, back),
    ``positions`` (n, 3) per filmed frame, ``aims`` (n, 3) what it looks at, ``distance`` between the two."""

    rotation: Array
    positions: Array
    aims: Array
    distance: float


def heading_of(centres: Array, size: float) -> float:
    """Angle (rad) about +Z of the travel from the first to the last of ``centres`` (n, 3); the front of
    Blender's scenes, -Y, for a model that stays within half its size."""
    travel = centres[-1, :2] - centres[0, :2]
    if np.hypot(*travel) < 0.5 * size:
        return -0.5 * float(np.pi)
    return float(np.arctan2(travel[1], travel[0]))


def view_rotation(heading: float) -> Array:
    """3x3 rotation of a camera that sees a model heading there from three quarters in front and above."""
    azimuth = heading + TURN
    back = np.array([np.cos(azimuth) * np.cos(PITCH), np.sin(azimuth) * np.cos(PITCH), np.sin(PITCH)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    return np.column_stack([right, np.cross(back, right), back])


def smooth(track: Array, sigma: float) -> Array:
    """``track`` (n, 3) after a Gaussian of ``sigma`` samples, without delay. Ends are continued by point
    reflection, so a steady walk stays a steady walk up to the last frame."""
    reach = min(int(np.ceil(3.0 * sigma)), len(track) - 1)
    if reach < 1:
        return track.copy()
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    before = 2.0 * track[0] - track[reach:0:-1]
    after = 2.0 * track[-1] - track[-2 : -reach - 2 : -1]
    padded = np.vstack([before, track, after])
    weights /= weights.sum()
    return np.column_stack([np.convolve(column, weights, mode="valid") for column in padded.T])


def slopes(size: tuple[int, int]) -> tuple[float, float]:
    """Tangents of half the picture's horizontal and vertical angle."""
    width, height = size
    along = 0.5 * SENSOR / LENS
    return along * width / max(size), along * height / max(size)


def distance_for(offsets: Array, rotation: Array, size: tuple[int, int]) -> float:
    """The least distance from which every point of ``offsets`` (..., 3; relative to the aim) falls within
    the shares of the picture that a model may take."""
    right, up, back = (offsets @ rotation).reshape(-1, 3).T
    wide, high = slopes(size)
    needed = np.maximum(np.abs(right) / (wide * FILL_WIDTH), np.abs(up) / (high * FILL_HEIGHT)) + back
    return float(needed.max())


def plan_shot(
    lows: Array, highs: Array, corners: Array, size: tuple[int, int], fps: float, heading: float | None, follow: bool
) -> Shot:
    """The shot for a model whose box is ``lows``..``highs`` (n, 3) and whose points are ``corners``
    (n, m, 3) in the n filmed frames. No point leaves the picture in any of them."""
    centres = 0.5 * (lows + highs)
    extent = float(np.linalg.norm((highs - lows).max(axis=0)))
    rotation = view_rotation(heading_of(centres, extent) if heading is None else heading)
    if follow:
        aims = smooth(centres, STEADINESS * fps)
    else:
        aims = np.repeat(0.5 * (lows.min(axis=0) + highs.max(axis=0))[None], len(centres), axis=0)
    aims = balance(aims, corners, rotation)
    distance = max(distance_for(corners - aims[:, None], rotation, size), 1e-3)
    return Shot(rotation, aims + distance * rotation[:, 2], aims, distance)


def balance(aims: Array, corners: Array, rotation: Array) -> Array:
    """``aims`` moved by one constant offset across the view, so that what is seen over the whole take
    has equal room left and right, above and below."""
    seen = ((corners - aims[:, None]) @ rotation).reshape(-1, 3)
    offset = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
    offset[2] = 0.0
    return aims + rotation @ offset
