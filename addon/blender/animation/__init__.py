"""Conversion of motions to keyframes on bones and back."""

from __future__ import annotations

from .apply_motion import apply
from .frame_time import Units
from .pose_reader import sample
from .sample_motion import SampleOptions, read_motion

__all__ = ["SampleOptions", "Units", "apply", "sample", "read_motion"]
