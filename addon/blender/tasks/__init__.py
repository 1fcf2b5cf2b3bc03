"""Tasks of the command line: each begins with an empty scene of its own and ends with a file.

Knuckle has to be registered.
"""

from ..animation import Units
from ..diagnostics import run_self_check
from .runs import SimulateJob, simulate_to_file
from .scenes import ConsoleProgress, animate_to_blend, import_to_blend
from .videos import (
    RenderJob,
    count_video_frames,
    demo,
    encode_frames,
    prepare_video,
    render_stage,
    render_to_file,
    resumable_frames,
)

__all__ = [
    "RenderJob",
    "SimulateJob",
    "ConsoleProgress",
    "Units",
    "animate_to_blend",
    "run_self_check",
    "demo",
    "encode_frames",
    "count_video_frames",
    "resumable_frames",
    "import_to_blend",
    "prepare_video",
    "render_stage",
    "render_to_file",
    "simulate_to_file",
]
