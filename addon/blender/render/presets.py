"""What a film can be chosen from: engines, stages, cameras, sizes, lengths, endings and what is burnt in."""

from __future__ import annotations

from typing import Literal, NamedTuple

Engine = Literal["WORKBENCH", "EEVEE", "CYCLES"]
Stage = Literal["STUDIO", "OUTDOOR", "BLUEPRINT", "SCIENTIFIC"]
Camera = Literal["FOLLOW", "FIXED", "THREE_QUARTER", "SIDE", "FRONT", "TURNTABLE"]
Burn = Literal["NAME", "TIME", "SERVOS", "AXES", "STOPS"]

STAGES: tuple[Stage, ...] = ("STUDIO", "OUTDOOR", "BLUEPRINT", "SCIENTIFIC")
CAMERAS: tuple[Camera, ...] = ("FOLLOW", "FIXED", "THREE_QUARTER", "SIDE", "FRONT", "TURNTABLE")
BURNS: tuple[Burn, ...] = ("NAME", "TIME", "SERVOS", "AXES", "STOPS")

#: Samples per pixel where none are asked for, of a video's frame and of a poster: the fewest that looked
#: clean. On two cores without a GPU a video frame of 960x540 costs 0.4 s in Workbench, 5 s in EEVEE and
#: about 10 s in Cycles.
VIDEO_SAMPLES: dict[Engine, int] = {"WORKBENCH": 5, "EEVEE": 8, "CYCLES": 16}
POSTER_SAMPLES: dict[Engine, int] = {"WORKBENCH": 16, "EEVEE": 32, "CYCLES": 64}


class Format(NamedTuple):
    """A size in pixels and a rate in frames per second that go together. ``ending`` is its file's."""

    size: tuple[int, int]
    fps: float
    ending: str


#: By the name that the panel and the command line give them.
FORMATS: dict[str, Format] = {
    "SMALL": Format((960, 540), 30.0, ".mp4"),
    "HD": Format((1280, 720), 30.0, ".mp4"),
    "FULL_HD": Format((1920, 1080), 30.0, ".mp4"),
    "SQUARE": Format((1080, 1080), 30.0, ".mp4"),
    "VERTICAL": Format((1080, 1920), 30.0, ".mp4"),
    "LOOP": Format((480, 480), 15.0, ".gif"),
}

#: Endings of films, and of single pictures.
VIDEOS = (".mp4", ".webm", ".webp", ".gif")
PICTURES = (".png",)
