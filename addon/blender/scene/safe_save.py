"""Files that Blender itself writes: on a full disk it says that all is well, and leaves half a file in the old one's
place. What it wrote is looked at before it may stand there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ...core.report import FormatError
from ...formats.text.file_io import disk_full_error, replacement_file

#: What the last bytes of a .blend have in them: the end of its blocks, or of the table of a compressed one.
_END_MARKERS = (b"ENDB", b"\xb1\xea\x92\x8f")
_TAIL_SIZE = 64


def is_complete_blend(path: str | os.PathLike[str]) -> bool:
    """Return whether a .blend goes on to its end."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_SIZE))
        tail = file.read()
    return any(end in tail for end in _END_MARKERS)


def write_blend(path: Path, write: Callable[[str], object]) -> None:
    """Have ``write`` write a .blend beside a path, and put it there once it is whole. FormatError where it is not."""
    try:
        with replacement_file(path, ".blend") as beside:
            os.remove(beside)  # of a file that is there already, Blender would keep a copy
            write(beside)
            if not is_complete_blend(beside):
                raise disk_full_error()
    except RuntimeError as error:  # Blender's own words
        raise FormatError(f"Blender could not save it: {error}".strip(), path=str(path)) from error
