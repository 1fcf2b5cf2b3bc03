"""The index of an MP4 moved before its pictures, so that a browser begins to play while the rest still comes.

Blender writes the index (the box ``moov``) last and offers no other way. In front it moves everything behind it by its
own length, and so do the places of the pictures that it holds (the boxes ``stco`` of 32 and ``co64`` of 64 bits,
ISO/IEC 14496-12, 8.7.5)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

#: Boxes that hold others on the way to the places.
_HOLDERS = {b"moov", b"trak", b"mdia", b"minf", b"stbl"}
#: How long the numbers of the boxes of places are, big end first.
_PLACES = {b"stco": ">u4", b"co64": ">u8"}


def put_index_first(path: str) -> bool:
    """Move the index of the MP4 at ``path`` to its front; False where it stands there already, or where the file is not
    as this expects: it then stays as it is."""
    with open(path, "rb") as file:
        boxes = list(boxes_of(file, os.path.getsize(path)))
        kinds = [kind for kind, _start, _end in boxes]
        if "moov" not in kinds or "mdat" not in kinds or kinds.index("moov") < kinds.index("mdat"):
            return False
        _kind, start, end = boxes[kinds.index("moov")]
        file.seek(start)
        index = bytearray(file.read(end - start))
        front = boxes[kinds.index("mdat")][1]
        if not _shift(index, end - start):
            return False
        with open(path + ".fast", "wb") as out:
            file.seek(0)
            out.write(file.read(front))
            out.write(index)
            _copy(file, out, front, start)
            _copy(file, out, end, os.path.getsize(path))
    os.replace(path + ".fast", path)
    return True


def boxes_of(file: BinaryIO, size: int) -> Iterator[tuple[str, int, int]]:
    """The outermost boxes of a file: their kinds, where each begins and ends."""
    at = 0
    while at + 8 <= size:
        file.seek(at)
        length, kind = struct.unpack(">I4s", file.read(8))
        if length == 1:
            (length,) = struct.unpack(">Q", file.read(8))
        end = size if length == 0 else at + length
        if end <= at or end > size:
            return
        yield kind.decode("latin-1"), at, end
        at = end


def _shift(index: bytearray, by: int) -> bool:
    """Add to all places in an index; False where one would not fit its number."""
    for kind, start, end in _inner(index, 8, len(index)):
        count = struct.unpack(">I", index[start + 4 : start + 8])[0]
        numbers = np.frombuffer(index, _PLACES[kind], count, start + 8)
        if start + 8 + numbers.nbytes > end or (count and int(numbers.max()) + by > np.iinfo(numbers.dtype).max):
            return False
        moved = (numbers + numbers.dtype.type(by)).astype(numbers.dtype).tobytes()
        del numbers  # a view of the index, which cannot change while there are any
        index[start + 8 : start + 8 + len(moved)] = moved
    return True


def _inner(index: bytearray, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """The boxes of places within an index: their kinds, and where what they hold begins and ends."""
    while start + 8 <= end:
        length, kind = struct.unpack(">I4s", index[start : start + 8])
        if length < 8:
            return
        if kind in _PLACES:
            yield bytes(kind), start + 8, start + length
        elif kind in _HOLDERS:
            yield from _inner(index, start + 8, start + length)
        start += length


def _copy(source: BinaryIO, target: BinaryIO, start: int, end: int) -> None:
    source.seek(start)
    while start < end:
        block = source.read(min(end - start, 1 << 20))
        if not block:
            raise OSError(f"the film ends at {start}, before {end}")
        target.write(block)
        start += len(block)
