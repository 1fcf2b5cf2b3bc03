"""Camera placement that keeps a moving mechanism well in the picture. Plain numbers, no bpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.model import Array
from .options import Camera

LENS = 50.0  # mm
SENSOR = 36.0  # mm, along the longer side of the picture
FILL_WIDTH = 0.78  # share of the picture's width that the mechanism may take
FILL_HEIGHT = 0.68  # share of its height, over the whole take
TALLEST = 0.5  # share of its height in any one frame
CLEARANCE = 1.5  # least distance, as a multiple of the mechanism's largest reach from the aim towards the camera
SMOOTHING_TIME = 1.2  # s, standard deviation of the camera's smoothing: longer than a step of a walker
FIT_ITERATIONS = 5  # of centering and measuring, which depend on each other: the last changes less than a pixel
TRAVEL_RATIO = 1.0  # travel, in sizes of the mechanism, beyond which the camera follows it


class Margins(NamedTuple):
    """Margins to keep free of the mechanism: shares of the picture's width at its right and height at its foot."""

    right: float = 0.0
    foot: float = 0.0


NO_MARGINS = Margins()


class ViewAngles(NamedTuple):
    """Direction of view: ``turn`` (rad) from the mechanism's heading to the camera, ``pitch`` (rad) downwards."""

    turn: float
    pitch: float


#: Three-quarter view, more from the side, with enough pitch to keep the horizon out of a landscape picture.
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
    """Camera motion over n rendered frames: ``rotations`` (n, 3, 3; columns: right, up, back), ``positions`` (n, 3).

    ``aims`` (n, 3) are the points looked at, ``distance`` the camera's distance from them. ``shift`` is the lens shift
    in shares of the picture's longer side, to the right and up: the mechanism is then seen further to the left and
    lower.
    """

    rotations: Array
    positions: Array
    aims: Array
    distance: float
    shift: tuple[float, float] = (0.0, 0.0)

    @property
    def rotation(self) -> Array:
        """Return the rotation (3, 3) in the first frame, for which lights are set up."""
        first: Array = self.rotations[0]
        return first


def travel_heading(centres: Array, size: float, front: float = -0.5 * np.pi) -> float:
    """Return the heading (rad about +Z) of the travel from the first to the last of ``centres`` (n, 3).

    For a mechanism that stays within half its size it is ``front``, by default -Y as in Blender's scenes.
    """
    travel = centres[-1, :2] - centres[0, :2]
    if np.hypot(*travel) < 0.5 * size:
        return front
    return float(np.arctan2(travel[1], travel[0]))


def view_rotation(heading: float, view: ViewAngles = _THREE_QUARTER) -> Array:
    """Return the rotation (3, 3) of a camera that sees a mechanism with a heading (rad) from ``view``."""
    azimuth, pitch = heading + view.turn, view.pitch
    back = np.array([np.cos(azimuth) * np.cos(pitch), np.sin(azimuth) * np.cos(pitch), np.sin(pitch)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    return np.column_stack([right, np.cross(back, right), back])


def smooth_track(track: Array, sigma: float) -> Array:
    """Smooth ``track`` (n, 3) by a Gaussian of ``sigma`` samples, without delay.

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
    """Return the tangents of half the horizontal and vertical angles of view of a picture (pixels)."""
    width, height = size
    along = 0.5 * SENSOR / LENS
    return along * width / max(size), along * height / max(size)


def distance_for(offsets: Array, rotations: Array, size: tuple[int, int], room: Margins = NO_MARGINS) -> float:
    """Return the least distance from which a mechanism takes no more than its shares of the picture.

    Args:
        offsets: Its points relative to the aim, (n, m, 3).
        rotations: Of the camera, (n, 3, 3).
        size: Of the picture, in pixels.
        room: Margins of the picture to keep free.
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
    """Plan the shot of a mechanism in n rendered frames: no point leaves the picture or gets into its margins.

    Args:
        lows: Lower corner of the mechanism's box, (n, 3).
        highs: Upper corner, (n, 3).
        corners: Its points, (n, m, 3).
        size: Of the picture, in pixels.
        fps: Rendered frames per second.
        heading: Of the mechanism (rad about +Z); None: where it travels.
        camera: Kind of camera.
        room: Margins of the picture to keep free.
        front: Heading (rad) of a mechanism that does not travel.
        pitch: Downward angle (rad) of three-quarter cameras, where the stage wants another than the usual.
    """
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
        aims = centres + np.clip(aims - centres, -0.5 * extent, 0.5 * extent)  # what falls is not left behind
    else:
        aims = np.repeat(0.5 * (lows.min(axis=0) + highs.max(axis=0))[None], count, axis=0)
    distance = np.inf
    for _ in range(FIT_ITERATIONS):
        aims = center_aims(aims, corners, rotations, distance)
        distance = distance_for(corners - aims[:, None], rotations, size, room)
    shift = 0.5 * room.right * size[0] / max(size), -0.5 * room.foot * size[1] / max(size)
    return make_shot(rotations, aims, distance, shift)


def make_shot(rotations: Array, aims: Array, distance: float, shift: tuple[float, float] = (0.0, 0.0)) -> CameraShot:
    """Create a shot of ``aims`` (n, 3) from a constant distance."""
    return CameraShot(rotations, aims + distance * rotations[:, :, 2], aims, distance, shift)


def follows_model(camera: Camera, centres: Array, extent: float) -> bool:
    """Return whether the camera moves with a mechanism of size ``extent`` with its center at ``centres`` (n, 3)."""
    if camera in ("FOLLOW", "FIXED"):
        return camera == "FOLLOW"
    return bool(np.ptp(centres, axis=0).max() > TRAVEL_RATIO * extent)


def center_aims(aims: Array, corners: Array, rotations: Array, distance: float) -> Array:
    """Move ``aims`` by a constant offset that centers what is seen from ``distance`` over the whole take.

    There is equal room above and below and, for a camera that looks in one direction, left and right.
    """
    seen = (corners - aims[:, None]) @ rotations
    seen /= 1.0 - seen[..., 2:] / distance  # perspective: what is near is seen larger
    offset = 0.5 * (seen.min(axis=(0, 1)) + seen.max(axis=(0, 1)))
    if not np.allclose(rotations, rotations[:1]):
        return aims + np.array([0.0, 0.0, offset[1] / rotations[0, 2, 1]])
    offset[2] = 0.0
    return aims + rotations[0] @ offset
