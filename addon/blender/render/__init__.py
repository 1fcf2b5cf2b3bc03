"""Film: from any scene with a model to a poster or a video, at once or in parts."""

from .farm import open_stage, prepare
from .filming import film, film_steps
from .options import FilmOptions
from .pictures import save_sheet
from .reel import Reel, reel_of
from .shooting import render_frames, shoot_poster
from .video import encode

__all__ = [
    "FilmOptions",
    "Reel",
    "encode",
    "film",
    "film_steps",
    "open_stage",
    "prepare",
    "reel_of",
    "render_frames",
    "save_sheet",
    "shoot_poster",
]
