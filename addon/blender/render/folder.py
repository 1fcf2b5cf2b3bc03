"""The folder of a film's frames, beside the film until it is done: with it an interrupted film can be gone on with."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

from ...core.report import FormatError
from ...formats.text.file_io import make_folder, write_whole
from .pictures import is_whole, picture_size
from .shooting import frame_name

_RECORD = "film.json"
_OURS = re.compile(r"\d{6}\.png(\.(\d\.)?part)?")


class FrameFolder:
    """The frames of a film that goes to ``path``: in a folder named after it."""

    def __init__(self, path: str) -> None:
        out = Path(path).absolute()
        self.path = out.with_name(f"{out.stem}_frames")

    def begin(self, print_: str, frames: int, size: tuple[int, int], fps: float, resume: bool) -> set[int]:
        """Make the folder ready for a film that is known by its print: which of its frames are there already.

        Those of another film, or of this one unless ``resume``, are deleted; nothing else in the folder is. FormatError
        where pictures of that name are in it, but nothing says that they are a film's: they are somebody's."""
        record = {"film": print_, "frames": frames, "size": list(size), "fps": fps}
        if self.record() is None and self._has_pictures():
            raise FormatError(
                "pictures that are none of this video's are in the folder of its frames", path=str(self.path),
                remedy="Move them, or name the video otherwise.",
            )  # fmt: skip
        if not resume or self.record() != record:
            self.empty()
        make_folder(self.path)
        write_whole(self.path / _RECORD, json.dumps(record, indent=1).encode("utf-8"))
        return {frame for frame in range(1, frames + 1) if self._is_whole(frame, size)}

    def record(self) -> object:
        """Return what the frames belong to; None where nothing says."""
        try:
            return json.loads((self.path / _RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _has_pictures(self) -> bool:
        return self.path.is_dir() and any(_OURS.fullmatch(thing.name) for thing in self.path.iterdir())

    def _is_whole(self, frame: int, size: tuple[int, int]) -> bool:
        try:
            picture = str(self.path / frame_name(frame))
            return picture_size(picture) == size and is_whole(picture)
        except (OSError, FormatError):
            return False

    def empty(self) -> None:
        """Delete the frames and what is known of them, and the folder if nothing else is in it."""
        if not self.path.is_dir():
            return
        for thing in self.path.iterdir():
            if thing.name == _RECORD or _OURS.fullmatch(thing.name):
                thing.unlink()
        if not any(self.path.iterdir()):
            shutil.rmtree(self.path)


def frames_left(path: str) -> int:
    """Return how many frames of an interrupted film are there to go on with."""
    folder = FrameFolder(path).path
    if not os.path.isfile(folder / _RECORD):
        return 0
    return sum(bool(re.fullmatch(r"\d{6}\.png", name)) for name in os.listdir(folder))
