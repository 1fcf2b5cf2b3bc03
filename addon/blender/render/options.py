"""What a picture or a video shall be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...model.report import FormatError

if TYPE_CHECKING:
    import bpy

Engine = Literal["WORKBENCH", "EEVEE", "CYCLES"]
CameraMode = Literal["FOLLOW", "FIXED"]
Progress = Callable[[int, int], None]

#: Samples per pixel where none are asked for, of a video's frame and of a poster: the fewest that looked
#: clean. On two cores without a GPU a video frame of 960x540 costs 0.4 s in Workbench, 5 s in EEVEE and
#: about 10 s in Cycles.
VIDEO_SAMPLES: dict[Engine, int] = {"WORKBENCH": 5, "EEVEE": 8, "CYCLES": 16}
POSTER_SAMPLES: dict[Engine, int] = {"WORKBENCH": 16, "EEVEE": 32, "CYCLES": 64}


@dataclass
class FilmOptions:
    """How to film.

    ``size`` is width and height in pixels. ``fps`` is the rate wished for: the scene's own frames are
    what physics stepped, so every n-th of them is shown and the video runs at ``scene rate / n``.
    ``frame_start`` and ``frame_end`` default to the scene's; ``poster_frame`` (of a .png) to the middle
    of the range. ``scenery`` is shown but does not steer the camera. ``ground`` is the height of the
    floor, found from what the model does where it is None. ``heading`` (rad, about +Z, 0 is +X) is where
    the model faces: by default where it travels, else -Y. ``progress(done, total)`` is called after
    every step of work; whatever it raises ends the filming and leaves everything as it was."""

    engine: Engine = "WORKBENCH"
    size: tuple[int, int] = (960, 540)
    fps: float = 30.0
    frame_start: int | None = None
    frame_end: int | None = None
    samples: int | None = None
    poster_frame: int | None = None
    camera: CameraMode = "FOLLOW"
    stage: Literal["studio"] = "studio"
    ground: float | None = None
    heading: float | None = None
    scenery: Sequence[bpy.types.Object] = ()
    progress: Progress | None = None

    def samples_for(self, poster: bool) -> int:
        """Samples per pixel, the engine's default where none are given."""
        if self.samples is not None:
            return self.samples
        return (POSTER_SAMPLES if poster else VIDEO_SAMPLES)[self.engine]

    def check(self) -> None:
        """Raise FormatError for a wish that cannot be met."""
        if self.engine not in VIDEO_SAMPLES:
            raise FormatError(f"there is no engine {self.engine!r}", remedy="Choose WORKBENCH, EEVEE or CYCLES.")
        if self.camera not in ("FOLLOW", "FIXED"):
            raise FormatError(f"there is no camera {self.camera!r}", remedy="Choose FOLLOW or FIXED.")
        if self.stage != "studio":
            raise FormatError(f"there is no stage {self.stage!r}", remedy="Choose studio.")
        if not all(16 <= side <= 8192 for side in self.size):
            raise FormatError(
                f"a picture of {self.size[0]}x{self.size[1]} cannot be made", remedy="Use 16 to 8192 pixels."
            )
        if not self.fps > 0.0:
            raise FormatError(f"{self.fps} frames per second cannot be played", remedy="Use a rate above 0.")
        if self.samples is not None and self.samples < 1:
            raise FormatError(f"{self.samples} samples draw nothing", remedy="Use 1 or more.")
