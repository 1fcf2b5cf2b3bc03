"""Where a camera stands so that a moving model stays well in the picture. Numbers only, no Blender."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.model import Array
from .options import Camera

LENS = 50.0  # mm
SENSOR = 36.0  # mm, along the longer side of the picture
FILL_WIDTH = 0.78  # of the picture's width that the model may take
FILL_HEIGHT = 0.68  # of its height, over the whole take
TALLEST = 0.5  # of its height in any one frame
CLEARANCE = 1.5  # times as far away as the nearest that the model comes to the camera from where that looks
SMOOTHING_TIME = 1.2  # s, standard deviation of the camera's smoothing: longer than a step of a walker
FIT_ITERATIONS = 5  # of centering and measuring, which depend on each other: the last changes less than a pixel
TRAVEL_RATIO = 1.0  # a model that gets further than so many times its size is gone along with


class Margins(NamedTuple):
    """What is kept free of the model: a share of the picture's width at its right, and of its height at its foot."""

    right: float = 0.0
    foot: float = 0.0


NO_MARGINS = Margins()


class ViewAngles(NamedTuple):
    """From where a camera looks: ``turn`` (rad) from the model's heading to the camera, ``pitch`` (rad) down."""

    turn: float
    pitch: float


#: Three quarters, rather from the side, and looking down enough to keep the horizon out of a landscape picture.
_THREE_QUARTER = ViewAngles(float(np.radians(48.0)), float(np.radians(17.0)))
VIEWS: dict[Camera, ViewAngles] = {
    "FOLLOW": _THREE_QUARTER,
    "FIXED": _THREE_QUARTER,
    "THREE_QUARTER": _THREE_QUARTER,
    "TURNTABLE": _THREE_QUARTER,
    "SIDE": ViewAngles(float(np.radians(90.0)), float(np.radians(7.0))),
    "FRONT": ViewAngles(0.0, float(np.radians(9.0))),
}


@dataclass
class CameraShot:
    """A camera that looks in ``rotations`` (n, 3, 3; columns: right, up, back) from ``positions`` (n, 3) per filmed
    frame; ``aims`` (n, 3) is what it looks at, ``distance`` what lies between the two. ``shift`` moves its lens, in
    shares of the picture's longer side: to the right and up, where the model is seen further to the left and lower."""

    rotations: Array
    positions: Array
    aims: Array
    distance: float
    shift: tuple[float, float] = (0.0, 0.0)

    @property
    def rotation(self) -> Array:
        """Return how it looks in the first frame, (3, 3): what lights are set up for."""
        first: Array = self.rotations[0]
        return first


def travel_heading(centres: Array, size: float, front: float = -0.5 * np.pi) -> float:
    """Angle (rad) about +Z of the travel from the first to the last of ``centres`` (n, 3); ``front``, which is that
    of Blender's scenes, -Y, for a model that stays within half its size."""
    travel = centres[-1, :2] - centres[0, :2]
    if np.hypot(*travel) < 0.5 * size:
        return front
    return float(np.arctan2(travel[1], travel[0]))


def view_rotation(heading: float, view: ViewAngles = _THREE_QUARTER) -> Array:
    """3x3 rotation of a camera that sees a model heading there from ``view``."""
    azimuth, pitch = heading + view.turn, view.pitch
    back = np.array([np.cos(azimuth) * np.cos(pitch), np.sin(azimuth) * np.cos(pitch), np.sin(pitch)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    return np.column_stack([right, np.cross(back, right), back])


def smooth_track(track: Array, sigma: float) -> Array:
    """``track`` (n, 3) after a Gaussian of ``sigma`` samples, without delay.

    Ends are continued by point reflection, so a steady walk stays a steady walk up to the last frame.
    """
    reach = min(int(np.ceil(3.0 * sigma)), len(track) - 1)
    if reach < 1:
        return track.copy()
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    before = 2.0 * track[0] - track[reach:0:-1]
    after = 2.0 * track[-1] - track[-2 : -reach - 2 : -1]
    padded = np.vstack([before, track, after])
    weights /= weights.sum()
    return np.column_stack([np.convolve(column, weights, mode="valid") for column in padded.T])


def half_angle_tangents(size: tuple[int, int]) -> tuple[float, float]:
    """Tangents of half the picture's horizontal and vertical angle."""
    width, height = size
    along = 0.5 * SENSOR / LENS
    return along * width / max(size), along * height / max(size)


def distance_for(offsets: Array, rotations: Array, size: tuple[int, int], room: Margins = NO_MARGINS) -> float:
    """Least distance from which a model takes no more than its shares of the picture.

    Args:
        offsets: its points relative to the aim, (n, m, 3).
        rotations: how the camera looks, (n, 3, 3).
        size: of the picture, in pixels.
        room: what of the picture is kept free.
    """
    right, up, back = np.moveaxis(offsets @ rotations, -1, 0)
    wide, high = (slope * (1.0 - share) for slope, share in zip(half_angle_tangents(size), room, strict=True))
    needed = np.maximum(np.abs(right) / (wide * FILL_WIDTH), np.abs(up) / (high * FILL_HEIGHT)) + back
    least = distance = max(float(needed.max()), CLEARANCE * float(back.max()), 1e-3)
    for _ in range(FIT_ITERATIONS):  # heights are about inverse to the distance
        height = 0.5 * float(np.ptp(up / (distance - back), axis=1).max()) / high
        distance = max(least, distance * height / TALLEST)
    return distance


def plan_shot(
    lows: Array,
    highs: Array,
    corners: Array,
    size: tuple[int, int],
    fps: float,
    heading: float | None,
    camera: Camera = "FOLLOW",
    room: Margins = NO_MARGINS,
    front: float = -0.5 * np.pi,
    pitch: float | None = None,
) -> CameraShot:
    """The shot for a model whose box is ``lows``..``highs`` (n, 3) and whose points are ``corners``
    (n, m, 3) in the n filmed frames. No point leaves the picture in any of them, nor gets into ``room``. ``pitch``
    (rad) is how far a camera at three quarters looks down, where its stage wants another than the usual."""
    centres = 0.5 * (lows + highs)
    extent = float(np.linalg.norm((highs - lows).max(axis=0)))
    heading = travel_heading(centres, extent, front) if heading is None else heading
    view, count = VIEWS[camera], len(centres)
    if pitch is not None and view == _THREE_QUARTER:
        view = view._replace(pitch=pitch)
    round_ = 2.0 * np.pi * np.arange(count) / count if camera == "TURNTABLE" else np.zeros(count)
    rotations = np.array([view_rotation(heading + angle, view) for angle in round_])
    if follows_model(camera, centres, extent):
        aims = smooth_track(centres, SMOOTHING_TIME * fps)
    else:
        aims = np.repeat(0.5 * (lows.min(axis=0) + highs.max(axis=0))[None], count, axis=0)
    distance = np.inf
    for _ in range(FIT_ITERATIONS):
        aims = center_aims(aims, corners, rotations, distance)
        distance = distance_for(corners - aims[:, None], rotations, size, room)
    shift = 0.5 * room.right * size[0] / max(size), -0.5 * room.foot * size[1] / max(size)
    return make_shot(rotations, aims, distance, shift)


def make_shot(rotations: Array, aims: Array, distance: float, shift: tuple[float, float] = (0.0, 0.0)) -> CameraShot:
    """A shot of ``aims`` (n, 3) from one distance."""
    return CameraShot(rotations, aims + distance * rotations[:, :, 2], aims, distance, shift)


def follows_model(camera: Camera, centres: Array, extent: float) -> bool:
    """Return whether the camera moves with a model of a size whose middle goes through ``centres`` (n, 3)."""
    if camera in ("FOLLOW", "FIXED"):
        return camera == "FOLLOW"
    return bool(np.ptp(centres, axis=0).max() > TRAVEL_RATIO * extent)


def center_aims(aims: Array, corners: Array, rotations: Array, distance: float) -> Array:
    """``aims`` moved by one constant offset so that what is seen from ``distance`` over the whole take has equal room
    above and below and, for a camera that looks in one direction, left and right."""
    seen = (corners - aims[:, None]) @ rotations
    seen /= 1.0 - seen[..., 2:] / distance  # what is near is seen larger
    offset = 0.5 * (seen.min(axis=(0, 1)) + seen.max(axis=(0, 1)))
    if not np.allclose(rotations, rotations[:1]):
        return aims + np.array([0.0, 0.0, offset[1] / rotations[0, 2, 1]])
    offset[2] = 0.0
    return aims + rotations[0] @ offset
