"""What a picture or a video shall be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, get_args

from ...core.report import FormatError
from .presets import POSTER_SAMPLES, VIDEO_SAMPLES, Burn, Camera, Engine, Stage

if TYPE_CHECKING:
    import bpy

Progress = Callable[[int, int], None]

#: What says how a film is made or who is told, but not what is seen in it.
_APART = ("scenery", "progress", "sheet", "poster", "resume", "keep_frames")


@dataclass
class FilmOptions:
    """How to film.

    ``size`` is width and height in pixels. ``fps`` is the rate wished for: the scene's own frames are
    what physics stepped, so every n-th of them is shown and the video runs at ``scene rate / n``.
    ``frame_start`` and ``frame_end`` default to the scene's; ``seconds`` counts from the start and goes before
    ``frame_end``; ``poster_frame`` (of a .png) is the middle of the range unless it is given.

    ``camera``: FOLLOW goes along with the model and FIXED stands, both at three quarters; THREE_QUARTER, SIDE, FRONT
    and TURNTABLE (once round it) go along with what travels further than it is large. ``heading`` (rad, about +Z, 0 is
    +X) is where the model faces: by default where it travels, else -Y. ``ground`` is the height of the floor, found
    from what the model does where it is None. ``scenery`` is shown but does not steer the camera.

    ``burn`` is written over the pictures, beneath ``title``. ``side_by_side`` shows the models on their keys at the
    left and under physics at the right.

    ``sheet`` and ``poster`` are .png files that are made beside the film: an overview of its frames, and one frame as
    fine as a poster. ``resume`` goes on with the frames that an interrupted film left; ``keep_frames`` leaves them
    when it is done. ``progress(done, total)`` is called after every step of work; whatever it raises ends the
    filming and leaves the scene as it was, and the frames that are done for ``resume``."""

    engine: Engine = "WORKBENCH"
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
        """Samples per pixel, the engine's default where none are given."""
        if self.samples is not None:
            return self.samples
        return (POSTER_SAMPLES if poster else VIDEO_SAMPLES)[self.engine]

    def look(self) -> dict[str, Any]:
        """All that changes what is seen, as plain numbers and words: what frames of a film are known by."""
        out = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _APART}
        return out | {"size": list(self.size), "burn": sorted(self.burn)}

    def check(self) -> None:
        """Raise FormatError for a wish that cannot be met."""
        for what, value, known in (
            ("engine", self.engine, get_args(Engine)),
            ("camera", self.camera, get_args(Camera)),
            ("stage", self.stage, get_args(Stage)),
            *(("overlay", burn, get_args(Burn)) for burn in self.burn),
        ):
            if value not in known:
                raise FormatError(f"there is no {what} {value!r}", remedy=f"Choose one of {', '.join(known)}.")
        if not all(16 <= side <= 8192 for side in self.size):
            raise FormatError(
                f"a picture of {self.size[0]}x{self.size[1]} cannot be made", remedy="Use 16 to 8192 pixels."
            )
        if not self.fps > 0.0:
            raise FormatError(f"{self.fps} frames per second cannot be played", remedy="Use a rate above 0.")
        if self.seconds is not None and not self.seconds > 0.0:
            raise FormatError(f"{self.seconds} seconds show nothing", remedy="Render more than 0 s.")
        if self.samples is not None and self.samples < 1:
            raise FormatError(f"{self.samples} samples draw nothing", remedy="Use 1 or more.")
        for path in (self.sheet, self.poster):
            if path and not path.lower().endswith(".png"):
                raise FormatError("this picture is written as .png only", path=path, remedy="Give it that ending.")
