"""Safe saving of .blend files: a file replaces the old one only after a check that it is complete.

Note:
    On a full disk Blender reports success, and leaves half a file in place of the old one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ...core.report import FormatError
from ...formats.text.file_io import disk_full_error, replacement_file

#: Markers in the last bytes of a .blend: the end of its blocks, or of the seek table of a compressed one.
_END_MARKERS = (b"ENDB", b"\xb1\xea\x92\x8f")
_TAIL_SIZE = 64


def is_complete_blend(path: str | os.PathLike[str]) -> bool:
    """Return whether a .blend is complete to its end."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_SIZE))
        tail = file.read()
    return any(end in tail for end in _END_MARKERS)


def write_blend(path: Path, write: Callable[[str], object]) -> None:
    """Have ``write`` write a .blend beside a path, and move it there once it is complete.

    Raises:
        FormatError: If Blender cannot save it, or it is incomplete.
    """
    try:
        with replacement_file(path, ".blend") as beside:
            os.remove(beside)  # Blender would keep a backup of an existing file
            write(beside)
            if not is_complete_blend(beside):
                raise disk_full_error()
    except RuntimeError as error:  # Blender's own message
        raise FormatError(f"Blender could not save it: {error}".strip(), path=str(path)) from error
