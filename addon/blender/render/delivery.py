"""Where finished files go, and which endings they have."""

from __future__ import annotations

import os
import shutil

from ...core.report import FormatError
from ...formats.text.file_io import cannot_write, in_place_of, make_folder, no_room
from .pictures import is_whole
from .presets import PICTURES, VIDEOS
from .wholeness import is_whole_gif, is_whole_mp4, is_whole_webm, is_whole_webp


def ending_of(path: str) -> str:
    """The ending of a film's or a picture's path. FormatError for one that cannot be written."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in VIDEOS + PICTURES:
        raise FormatError(
            f"a video cannot be written as {ending or 'a file without ending'}",
            path=path,
            remedy="Name it .mp4, .webm, .webp or .gif for a video or .png for one picture.",
        )
    return ending


def wants_poster(path: str) -> bool:
    """Return whether the path asks for one picture."""
    return ending_of(path) in PICTURES


def deliver(result: str, path: str) -> None:
    """Move the finished file to its place, making the folder if needed: half a film is never seen there."""
    if not os.path.isfile(result) or os.path.getsize(result) == 0:
        raise FormatError("Blender wrote no picture", path=path, remedy="Look at its messages on the terminal.")
    whole = _WHOLE.get(os.path.splitext(result)[1])
    if whole is not None and not whole(result):  # on a full disk Blender says nothing of it
        raise cannot_write(no_room(), path)
    make_folder(os.path.dirname(os.path.realpath(path)))
    with in_place_of(path) as beside:
        shutil.copyfile(result, beside)


#: What tells of a file of each ending whether it was written to its end.
_WHOLE = {
    ".png": is_whole,
    ".mp4": is_whole_mp4,
    ".webm": is_whole_webm,
    ".webp": is_whole_webp,
    ".gif": is_whole_gif,
}
