"""Whether a video was written to its end: on a full disk Blender makes a shorter one and says nothing."""

from __future__ import annotations

import os
from typing import BinaryIO

from .faststart import boxes_of

#: The elements that a .webm is made of: its head, and all the rest.
_HEAD, _SEGMENT = 0x1A45DFA3, 0x18538067


def is_whole_mp4(path: str) -> bool:
    """Return whether there are pictures and their index, and the file ends where its last box does."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        boxes = list(boxes_of(file, size))
    return {"moov", "mdat"} <= {kind for kind, _start, _end in boxes} and boxes[-1][2] == size


def is_whole_webm(path: str) -> bool:
    """Return whether the file ends where its segment says that it does, which is written there last of all (RFC 8794,
    6)."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        while file.tell() < size:
            kind, length = _number(file, keep=True), _number(file)
            if length is None or kind not in {_HEAD, _SEGMENT}:
                return False
            if kind == _SEGMENT:
                return file.tell() + length == size
            file.seek(length, os.SEEK_CUR)
    return False


def is_whole_gif(path: str) -> bool:
    """Return whether the last byte is the one that ends a .gif."""
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b";"


def is_whole_webp(path: str) -> bool:
    """Return whether the file is as long as its RIFF header says, padded to an even number of bytes."""
    with open(path, "rb") as file:
        head = file.read(12)
    if len(head) < 12 or head[:4] != b"RIFF" or head[8:] != b"WEBP":
        return False
    length = int.from_bytes(head[4:8], "little")
    return os.path.getsize(path) == 8 + length + length % 2


def _number(file: BinaryIO, keep: bool = False) -> int | None:
    """A number of 1 to 8 bytes, of which the first tells by its leading zeros how many; with that mark where it is to
    be kept. None where there is none, or all its bits say that nobody knows."""
    first = file.read(1)
    if not first or not first[0]:
        return None
    width = 9 - first[0].bit_length()
    data = first + file.read(width - 1)
    value, mark = int.from_bytes(data, "big"), 1 << (7 * width)
    if len(data) < width or (value == 2 * mark - 1 and not keep):
        return None
    return value if keep else value - mark
