"""Tasks of the command line: each begins with an empty scene of its own and ends with a file.

Knuckle has to be registered.
"""

from ..animation import Units
from ..diagnostics import check_all
from .runs import RunJob, simulate_to_file
from .scenes import Ticker, animate_to_blend, import_to_blend
from .videos import RenderJob, demo, encode_frames, film_length, frames_left, prepare_film, render_stage, render_to_file

__all__ = [
    "RenderJob",
    "RunJob",
    "Ticker",
    "Units",
    "animate_to_blend",
    "check_all",
    "demo",
    "encode_frames",
    "film_length",
    "frames_left",
    "import_to_blend",
    "prepare_film",
    "render_stage",
    "render_to_file",
    "simulate_to_file",
]
