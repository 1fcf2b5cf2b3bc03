"""What numbers in a file of motion are in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ..channels import Channel

_ANGLES = {"RAD": 1.0, "DEG": math.pi / 180.0}
_LENGTHS = {"M": 1.0, "MM": 0.001}


@dataclass(frozen=True)
class Units:
    """Units of a file, by the names of ``motion_properties``."""

    angle: Literal["RAD", "DEG"] = "RAD"
    length: Literal["M", "MM"] = "M"

    def size(self, channel: Channel) -> float:
        """How many radians or length units the file's number 1 is for a servo."""
        return _ANGLES[self.angle] if channel.is_angle else _LENGTHS[self.length]

    def name(self, channel: Channel) -> str:
        """The unit of a servo's numbers, as headers of tables have it."""
        return self.angle.lower() if channel.is_angle else self.length.lower()
