"""Rendering of a stage's frames to a folder beside the video, from which an interrupted video can be resumed."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import bpy

from ...core.report import FormatError
from ...formats.text.file_io import make_folder, write_atomically
from .burn_in import compose_picture
from .encoding import move_into_place
from .engines import set_samples
from .images import is_complete_png, png_size
from .temporary_studio import render_still
from .video_state import linked_stages, read_recording, read_video_state

_RECORD_FILE = "film.json"
_FRAME_FILE = re.compile(r"\d{6}\.png(\.(\d\.)?part)?")


class FrameFolder:
    """Folder of the frames of a video at ``path``, named after it."""

    def __init__(self, path: str) -> None:
        out = Path(path).absolute()
        self.path = out.with_name(f"{out.stem}_frames")

    def begin(self, fingerprint: str, frames: int, size: tuple[int, int], fps: float, resume: bool) -> set[int]:
        """Prepare the folder for the video with a fingerprint; return its frames that exist already.

        Frames of another video, or of this one unless ``resume``, are deleted; nothing else in the folder is.

        Raises:
            FormatError: If it has pictures with such names, but no record that they are a video's: they are the user's.
        """
        record = {"film": fingerprint, "frames": frames, "size": list(size), "fps": fps}
        if self.record() is None and self._has_pictures():
            raise FormatError(
                "the folder of the frames has images of another video", path=str(self.path),
                remedy="Move them, or rename the video.",
            )  # fmt: skip
        if not resume or self.record() != record:
            self.empty()
        make_folder(self.path)
        write_atomically(self.path / _RECORD_FILE, json.dumps(record, indent=1).encode("utf-8"))
        return {frame for frame in range(1, frames + 1) if self._is_complete(frame, size)}

    def record(self) -> object:
        """Return the record of the video that the frames belong to; None where there is none."""
        try:
            return json.loads((self.path / _RECORD_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _has_pictures(self) -> bool:
        return self.path.is_dir() and any(_FRAME_FILE.fullmatch(thing.name) for thing in self.path.iterdir())

    def _is_complete(self, frame: int, size: tuple[int, int]) -> bool:
        try:
            picture = str(self.path / frame_name(frame))
            return png_size(picture) == size and is_complete_png(picture)
        except (OSError, FormatError):
            return False

    def empty(self) -> None:
        """Delete the frames and their record, and the folder if nothing else is in it."""
        if not self.path.is_dir():
            return
        for thing in self.path.iterdir():
            if thing.name == _RECORD_FILE or _FRAME_FILE.fullmatch(thing.name):
                thing.unlink()
        if not any(self.path.iterdir()):
            shutil.rmtree(self.path)


def resumable_frames(path: str) -> int:
    """Return the number of frames of an interrupted video that it can be resumed with."""
    folder = FrameFolder(path).path
    if not os.path.isfile(folder / _RECORD_FILE):
        return 0
    return sum(bool(re.fullmatch(r"\d{6}\.png", name)) for name in os.listdir(folder))


#: Called with the number of frames that are done, and of all.
FrameProgress = Callable[[int, int], None]


def render_frames(
    scene: bpy.types.Scene, first: int, last: int, folder: str, progress: FrameProgress | None = None
) -> list[str]:
    """Render frames ``first`` to ``last`` of a stage (counted from 1) into ``folder``; return their pictures' paths.

    Existing pictures of the same name are replaced atomically.

    Raises:
        ValueError: If the scene is no stage or has no such frames.
    """
    pictures = []
    for picture in iter_rendered_frames(scene, range(first, last + 1), folder):
        pictures.append(picture)
        if progress is not None:
            progress(len(pictures), last - first + 1)
    return pictures


def iter_rendered_frames(scene: bpy.types.Scene, frames: range, folder: str) -> Generator[str, None, None]:
    """Render frames of a stage as ``render_frames`` does, and yield the path of each picture."""
    video = read_video_state(scene)
    if not frames or frames[0] < 1 or frames[-1] > video.frames:
        raise ValueError(f"frames {frames.start} to {frames.stop - 1} do not exist, the video has 1 to {video.frames}")
    os.makedirs(folder, exist_ok=True)
    stages = [(stage, read_video_state(stage), read_recording(stage)) for stage in linked_stages(scene)]
    for frame in frames:
        picture = os.path.join(folder, frame_name(frame))
        halves = []
        for number, (stage, _, _) in enumerate(stages):
            stage.frame_set(frame)
            halves.append(f"{picture}.{number}.part")
            render_still(stage, halves[-1])
        compose_picture(halves, stages, frame, picture)
        yield picture


def frame_name(frame: int) -> str:
    """Return the file name of a frame's picture."""
    return f"{frame:06d}.png"


def render_poster(scene: bpy.types.Scene, path: str) -> None:
    """Render the frame of a video that is its poster to ``path``, with the samples of posters."""
    video, stages = read_video_state(scene), linked_stages(scene)
    was = [set_samples(stage, video.poster_samples) for stage in stages]
    try:
        with tempfile.TemporaryDirectory(prefix="knuckle-film-") as folder:
            for picture in iter_rendered_frames(scene, range(video.poster, video.poster + 1), folder):
                move_into_place(picture, path)
    finally:
        for stage, samples in zip(stages, was, strict=True):
            set_samples(stage, samples)
