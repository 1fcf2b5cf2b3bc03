"""Motion <-> keyframes: servo trajectories on the bones' own channels."""

from __future__ import annotations

from .keys import apply, sample

__all__ = ["apply", "sample"]
