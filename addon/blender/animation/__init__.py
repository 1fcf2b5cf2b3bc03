"""Motion <-> keyframes: servo trajectories on the bones' own channels."""

from __future__ import annotations

from .off_rig import TakeOptions, take
from .onto_rig import apply
from .sampling import sample
from .units import Units

__all__ = ["TakeOptions", "Units", "apply", "sample", "take"]
