"""Whole tasks for the command line: each begins with an empty scene of its own and ends with a file.

Knuckle has to be registered."""

from ..animation import Units
from .demo import demo
from .films import RenderJob, frames_left, render_to_file
from .runs import simulate_to_file
from .scenes import animate_to_blend, import_to_blend

__all__ = [
    "RenderJob",
    "Units",
    "animate_to_blend",
    "demo",
    "frames_left",
    "import_to_blend",
    "render_to_file",
    "simulate_to_file",
]
