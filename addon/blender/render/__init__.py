"""Film: from any scene with a model to a poster or a video, at once or in parts."""

from .delivery import wants_poster
from .farm import open_stage, prepare
from .filming import film, film_steps
from .folder import frames_left
from .options import FilmOptions
from .pictures import save_sheet
from .playing import may_move
from .presets import BURNS, CAMERAS, FORMATS, PICTURES, STAGES, VIDEOS
from .preview import frames_of, preview_steps
from .reel import Reel, reel_of
from .shooting import render_frames, shoot_poster
from .video import encode

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
