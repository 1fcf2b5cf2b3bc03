"""Conversion between the seconds of a motion and Blender's frames, and units of the values in motion files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import bpy
import numpy as np
from numpy.typing import ArrayLike

from ...core.model import Array, MotionUnit
from ..data.channels import Channel

_MAX_FPS = 32767


@dataclass(frozen=True)
class Clock:
    """Mapping from a motion's times (s) to frames.

    Attributes:
        start: Scene frame of time 0.
        fps: Frames per second, times ``fps_base``.
        fps_base: Divisor of ``fps``.
        old: Number of frames of an Action that time remapping shows in ``new`` frames of the scene.
        new: See ``old``.

    Note:
        With time remapping, Blender evaluates Actions at other frames than the scene's. Keyframes are then not at the
        scene's frames.
    """

    start: float
    fps: int
    fps_base: float = 1.0
    old: int = 100
    new: int = 100

    @classmethod
    def of(cls, scene: bpy.types.Scene, start: float | None = None) -> Clock:
        """Return the clock of a scene with time 0 at ``start`` (default: the scene's first frame)."""
        render = scene.render
        begin = np.float32(scene.frame_start if start is None else start)  # as stored with an Action
        return cls(float(begin), render.fps, render.fps_base, render.frame_map_old, render.frame_map_new)

    @property
    def rate(self) -> float:
        """Return the scene's frames per second."""
        return self.fps / self.fps_base

    def frames(self, times: ArrayLike) -> Array:
        """Return the scene frames of times (s)."""
        return self.start + np.asarray(times, dtype=np.float64) * self.fps / self.fps_base

    def times(self, frames: ArrayLike) -> Array:
        """Return the times (s) of scene frames."""
        return (np.asarray(frames, dtype=np.float64) - self.start) * self.fps_base / self.fps

    def keys(self, times: ArrayLike) -> Array:
        """Return the frames in an Action at which keys of times (s) are."""
        return self.frames(times) * self.old / self.new

    def key_times(self, keys: ArrayLike) -> Array:
        """Return the times (s) of frames in an Action."""
        return self.times(np.asarray(keys, dtype=np.float64) * self.new / self.old)


def set_frame_rate(scene: bpy.types.Scene, rate: Fraction) -> None:
    """Set a scene's frame rate (1/s), exactly where Blender allows it: 31.25 as 125 / 4."""
    if rate.numerator <= _MAX_FPS:
        scene.render.fps, scene.render.fps_base = rate.numerator, rate.denominator
    else:
        scene.render.fps = round(rate)
        scene.render.fps_base = float(round(rate) / rate)


#: Size of each unit in radians or length units.
UNIT_SIZES: dict[MotionUnit, float] = {"rad": 1.0, "deg": math.pi / 180.0, "m": 1.0, "mm": 0.001}
_UNIT_NAMES: dict[str, MotionUnit] = {"RAD": "rad", "DEG": "deg", "M": "m", "MM": "mm"}


@dataclass(frozen=True)
class Units:
    """Units of a motion file, as enum identifiers of the motion properties."""

    angle: Literal["RAD", "DEG"] = "RAD"
    length: Literal["M", "MM"] = "M"

    def size(self, channel: Channel, unit: MotionUnit = "") -> float:
        """Return the size in radians or length units of a servo's unit: ``unit`` if the file names one, else ours."""
        return UNIT_SIZES[unit or self.name(channel)]

    def name(self, channel: Channel) -> MotionUnit:
        """Return the unit of a servo's values, as table headers have it."""
        return self.of(channel.is_angle)

    def of(self, is_angle: bool) -> MotionUnit:
        """Return the unit of angles, or of lengths."""
        return _UNIT_NAMES[self.angle if is_angle else self.length]
