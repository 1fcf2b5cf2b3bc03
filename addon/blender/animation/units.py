"""What numbers in a file of motion are in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ...core.model import MotionUnit
from ..data.channels import Channel

#: How many radians or length units one is.
SIZES: dict[MotionUnit, float] = {"rad": 1.0, "deg": math.pi / 180.0, "m": 1.0, "mm": 0.001}
_NAMES: dict[str, MotionUnit] = {"RAD": "rad", "DEG": "deg", "M": "m", "MM": "mm"}


@dataclass(frozen=True)
class Units:
    """Units of a file, by the names of ``motion_properties``."""

    angle: Literal["RAD", "DEG"] = "RAD"
    length: Literal["M", "MM"] = "M"

    def size(self, channel: Channel, unit: MotionUnit = "") -> float:
        """Return how many radians or length units the number 1 is for a servo: by the unit that the file names, else
        ours."""
        return SIZES[unit or self.name(channel)]

    def name(self, channel: Channel) -> MotionUnit:
        """The unit of a servo's numbers, as headers of tables have it."""
        return self.of(channel.is_angle)

    def of(self, is_angle: bool) -> MotionUnit:
        """The unit of angles, or of lengths."""
        return _NAMES[self.angle if is_angle else self.length]
