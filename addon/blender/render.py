"""Public names for rendering: from any scene with a mechanism to a poster or a video, at once or in parts."""

from .rendering.encoding import wants_poster
from .rendering.farm_jobs import open_stage, prepare
from .rendering.frames import frames_left, render_frames, shoot_poster
from .rendering.images import save_sheet
from .rendering.options import BURNS, CAMERAS, FORMATS, PICTURES, STAGES, VIDEOS, FilmOptions
from .rendering.playback import may_move
from .rendering.video import encode, film, film_steps, frames_of, preview_steps
from .rendering.video_state import Reel, reel_of

__all__ = [
    "BURNS",
    "CAMERAS",
    "FORMATS",
    "PICTURES",
    "STAGES",
    "VIDEOS",
    "FilmOptions",
    "Reel",
    "encode",
    "film",
    "film_steps",
    "frames_left",
    "frames_of",
    "may_move",
    "open_stage",
    "prepare",
    "preview_steps",
    "reel_of",
    "render_frames",
    "save_sheet",
    "shoot_poster",
    "wants_poster",
]
