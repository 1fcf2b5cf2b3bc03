"""Motion <-> keyframes: servo trajectories on the bones' own channels."""

from __future__ import annotations

from .apply_motion import apply
from .frame_time import Units
from .pose_reader import sample
from .sample_motion import TakeOptions, take

__all__ = ["TakeOptions", "Units", "apply", "sample", "take"]
