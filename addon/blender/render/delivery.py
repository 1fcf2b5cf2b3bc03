"""Where finished files go, and which endings they have."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress

from ...formats.files import cannot_write
from ...model.report import FormatError
from .pictures import is_whole
from .presets import PICTURES, VIDEOS


def ending_of(path: str) -> str:
    """The ending of a film's or a picture's path. FormatError for one that cannot be written."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in VIDEOS + PICTURES:
        raise FormatError(
            f"a film cannot be written as {ending or 'a file without ending'}",
            path=path,
            remedy="Name it .mp4, .webm or .gif for a video or .png for one picture.",
        )
    return ending


def wants_poster(path: str) -> bool:
    """Whether the path asks for one picture."""
    return ending_of(path) in PICTURES


def deliver(result: str, path: str) -> None:
    """Move the finished file to its place, making the folder if needed: half a film is never seen there."""
    if not os.path.isfile(result) or os.path.getsize(result) == 0:
        raise FormatError("Blender wrote no picture", path=path, remedy="Look at its messages on the terminal.")
    if result.endswith(".png") and not is_whole(result):  # on a full disk Blender says nothing of it
        raise cannot_write(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), path)
    target = os.path.realpath(path)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(result, target + ".part")
        os.replace(target + ".part", target)
    except OSError as error:
        raise cannot_write(error, path) from error
    finally:
        with suppress(OSError):  # what a full disk had room for
            os.remove(target + ".part")
