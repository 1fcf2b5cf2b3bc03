"""Public names for rendering: from any scene with a mechanism to a poster or a video, at once or in parts."""

from .rendering.encoding import is_poster_path
from .rendering.farm_jobs import open_stage, prepare
from .rendering.frames import render_frames, render_poster, resumable_frames
from .rendering.images import save_sheet
from .rendering.options import BURNS, CAMERAS, PICTURE_ENDINGS, STAGES, VIDEO_ENDINGS, VIDEO_FORMATS, FilmOptions
from .rendering.playback import may_move
from .rendering.video import encode, film, planned_frame_count, preview_steps, video_steps
from .rendering.video_state import VideoState, read_video_state

__all__ = [
    "BURNS",
    "CAMERAS",
    "VIDEO_FORMATS",
    "PICTURE_ENDINGS",
    "STAGES",
    "VIDEO_ENDINGS",
    "FilmOptions",
    "VideoState",
    "encode",
    "film",
    "video_steps",
    "resumable_frames",
    "planned_frame_count",
    "may_move",
    "open_stage",
    "prepare",
    "preview_steps",
    "read_video_state",
    "render_frames",
    "save_sheet",
    "render_poster",
    "is_poster_path",
]
