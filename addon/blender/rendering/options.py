"""Options of videos and posters: engine, stage, camera, size, length, burned-in marks; and the styles of stages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from ...core.report import FormatError, Message

if TYPE_CHECKING:
    import bpy

RenderEngine = Literal["WORKBENCH", "EEVEE", "CYCLES"]
Stage = Literal["STUDIO", "OUTDOOR", "BLUEPRINT", "SCIENTIFIC"]
Camera = Literal["FOLLOW", "FIXED", "THREE_QUARTER", "SIDE", "FRONT", "TURNTABLE"]
Burn = Literal["NAME", "TIME", "SERVOS", "AXES", "STOPS"]

STAGES: tuple[Stage, ...] = ("STUDIO", "OUTDOOR", "BLUEPRINT", "SCIENTIFIC")
CAMERAS: tuple[Camera, ...] = ("FOLLOW", "FIXED", "THREE_QUARTER", "SIDE", "FRONT", "TURNTABLE")
BURNS: tuple[Burn, ...] = ("NAME", "TIME", "SERVOS", "AXES", "STOPS")

#: Samples per pixel where none are asked for, of a video's frame and of a poster: the fewest that looked
#: clean. On two cores without a GPU a video frame of 960x540 costs 0.4 s in Workbench, 5 s in EEVEE and
#: about 10 s in Cycles.
VIDEO_SAMPLES: dict[RenderEngine, int] = {"WORKBENCH": 5, "EEVEE": 8, "CYCLES": 16}
POSTER_SAMPLES: dict[RenderEngine, int] = {"WORKBENCH": 16, "EEVEE": 32, "CYCLES": 64}


class VideoFormat(NamedTuple):
    """Preset of a video: size in pixels, rate in frames per second, and file extension (``ending``)."""

    size: tuple[int, int]
    fps: float
    ending: str


#: By their name in the panel and on the command line.
VIDEO_FORMATS: dict[str, VideoFormat] = {
    "SMALL": VideoFormat((960, 540), 30.0, ".mp4"),
    "HD": VideoFormat((1280, 720), 30.0, ".mp4"),
    "FULL_HD": VideoFormat((1920, 1080), 30.0, ".mp4"),
    "SQUARE": VideoFormat((1080, 1080), 30.0, ".mp4"),
    "VERTICAL": VideoFormat((1080, 1920), 30.0, ".mp4"),
    "LOOP": VideoFormat((480, 480), 15.0, ".gif"),
}

#: File extensions of videos, and of single pictures.
VIDEO_ENDINGS = (".mp4", ".webm", ".webp", ".gif")
PICTURE_ENDINGS = (".png",)


Progress = Callable[[int, int], None]

#: Options that affect how a video is made, but not what is seen in it.
_INVISIBLE_OPTIONS = ("scenery", "progress", "sheet", "poster", "resume", "keep_frames")


@dataclass
class FilmOptions:
    """Options of a video or poster.

    ``size`` is width and height in pixels. ``fps`` is the requested rate. Physics computes the scene's frames, so
    the video shows every n-th of them and runs at ``scene rate / n``. ``frame_start`` and ``frame_end``
    default to the scene's; ``seconds`` counts from the start and overrides ``frame_end``; ``poster_frame`` (of a .png)
    is the middle of the range unless it is given.

    ``camera``: FOLLOW moves with the mechanism and FIXED does not, both at three quarters; THREE_QUARTER, SIDE, FRONT
    and TURNTABLE (once around it) move with a mechanism that travels further than its size. ``heading`` (rad, about +Z,
    0 is +X) is where the mechanism faces: by default where it travels; without travel the front of its format, else -Y.
    ``ground`` is the height of the floor, found from the playback where it is None. ``scenery`` is shown but does not
    steer the camera.

    ``burn`` is written over the pictures, beneath ``title``. ``side_by_side`` shows the mechanisms with keyframes at
    the left and with physics at the right.

    ``sheet`` and ``poster`` are .png files to write beside the video: a contact sheet of its frames, and one frame with
    the samples of a poster. ``resume`` continues with the frames that an interrupted video left; ``keep_frames`` keeps
    them when it is done. ``progress(done, total)`` is called after every step of work; whatever it raises ends the
    rendering and leaves the scene as it was, and the frames that are done for ``resume``.
    """

    engine: RenderEngine = "WORKBENCH"
    size: tuple[int, int] = (960, 540)
    fps: float = 30.0
    frame_start: int | None = None
    frame_end: int | None = None
    seconds: float | None = None
    samples: int | None = None
    poster_frame: int | None = None
    camera: Camera = "FOLLOW"
    stage: Stage = "STUDIO"
    ground: float | None = None
    heading: float | None = None
    title: str = ""
    burn: Collection[Burn] = ()
    side_by_side: bool = False
    sheet: str = ""
    poster: str = ""
    resume: bool = False
    keep_frames: bool = False
    scenery: Sequence[bpy.types.Object] = ()
    progress: Progress | None = None

    def samples_for(self, poster: bool) -> int:
        """Return the samples per pixel, the engine's default where none are given."""
        if self.samples is not None:
            return self.samples
        return (POSTER_SAMPLES if poster else VIDEO_SAMPLES)[self.engine]

    def look(self) -> dict[str, Any]:
        """Return all options that change what is seen, as plain values, to identify the frames of a video."""
        out = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _INVISIBLE_OPTIONS}
        return out | {"size": list(self.size), "burn": sorted(self.burn)}

    def check(self) -> None:
        """Raise FormatError for an option that is not supported."""
        for what, value, known in (
            ("engine", self.engine, get_args(RenderEngine)),
            ("camera", self.camera, get_args(Camera)),
            ("stage", self.stage, get_args(Stage)),
            *(("overlay", burn, get_args(Burn)) for burn in self.burn),
        ):
            if value not in known:
                raise FormatError(
                    f"{what} {value!r} does not exist", remedy=Message("Choose one of {}.", ", ".join(known))
                )
        if not all(16 <= side <= 8192 for side in self.size):
            raise FormatError(
                f"image size {self.size[0]}x{self.size[1]} is out of range", remedy="Use 16 to 8192 pixels per side."
            )
        if not self.fps > 0.0:
            raise FormatError(f"frame rate {self.fps} fps is not above 0", remedy="Use a rate above 0.")
        if self.seconds is not None and not self.seconds > 0.0:
            raise FormatError(f"duration {self.seconds} s is not above 0", remedy="Render more than 0 s.")
        if self.samples is not None and self.samples < 1:
            raise FormatError(f"{self.samples} samples are too few", remedy="Use 1 or more.")
        for path in (self.sheet, self.poster):
            if path and not path.lower().endswith(".png"):
                raise FormatError("the image can only be written as .png", path=path, remedy="Use the extension .png.")


RgbColor = tuple[float, float, float]


@dataclass(frozen=True)
class StageStyle:
    """Style of a stage. Colors are sRGB, but ``warmth`` and ``ink`` are linear.

    ``shades`` are those of the floor: alternating on its tiles (CHECKER), blended as on open ground (GROUND), or its
    ground, its lines and every fifth of them (GRID). The floor fades into ``horizon`` and the sky from there to
    ``zenith``; where these are equal there is no sky to see. ``key``, ``fill`` and ``sky`` are the strengths of the
    lights, ``warmth`` is the key light's color and ``softness`` (degrees) its angular size. ``shadow`` is the darkness
    of Workbench's shadows. ``tile`` is a tile's share of the mechanism's size, ``labels`` whether the grid has numbers
    and ``ink`` their color. ``pitch`` (degrees) is the downward angle of three-quarter cameras: small where there is a
    sky to see.
    """

    pattern: Literal["CHECKER", "GROUND", "GRID"]
    shades: tuple[RgbColor, ...]
    horizon: RgbColor
    zenith: RgbColor
    key: float = 4.1
    fill: float = 0.25
    sky: float = 0.34
    warmth: RgbColor = (1.0, 0.95, 0.89)
    softness: float = 2.6
    shadow: float = 0.45
    tile: float = 0.22
    labels: bool = False
    ink: RgbColor = (0.12, 0.14, 0.18)
    pitch: float = 17.0


STAGE_STYLES: dict[Stage, StageStyle] = {
    "STUDIO": StageStyle(
        pattern="CHECKER",
        shades=((0.75, 0.78, 0.82), (0.85, 0.87, 0.89)),
        horizon=(0.88, 0.91, 0.94),
        zenith=(0.62, 0.73, 0.85),
    ),
    "OUTDOOR": StageStyle(
        pattern="GROUND",
        shades=((0.50, 0.44, 0.33), (0.59, 0.52, 0.39), (0.65, 0.59, 0.45), (0.72, 0.66, 0.52)),
        horizon=(0.84, 0.88, 0.90),
        zenith=(0.30, 0.53, 0.84),
        key=5.0,
        sky=0.42,
        warmth=(1.0, 0.91, 0.76),
        softness=1.0,
        shadow=0.55,
        tile=0.05,
        pitch=9.0,
    ),
    "BLUEPRINT": StageStyle(
        pattern="GRID",
        shades=((0.09, 0.23, 0.47), (0.27, 0.43, 0.68), (0.48, 0.64, 0.86)),
        horizon=(0.07, 0.18, 0.38),
        zenith=(0.07, 0.18, 0.38),
        key=3.0,
        fill=1.0,
        sky=1.6,
        warmth=(1.0, 1.0, 1.0),
        shadow=0.35,
    ),
    "SCIENTIFIC": StageStyle(
        pattern="GRID",
        shades=((0.96, 0.96, 0.96), (0.74, 0.76, 0.79), (0.45, 0.48, 0.53)),
        horizon=(0.98, 0.98, 0.98),
        zenith=(0.98, 0.98, 0.98),
        key=2.6,
        fill=0.4,
        sky=0.55,
        warmth=(1.0, 1.0, 1.0),
        softness=4.0,
        shadow=0.3,
        labels=True,
    ),
}


def srgb_to_linear(value: float) -> float:
    """Convert a color component from sRGB to linear (IEC 61966-2-1)."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
