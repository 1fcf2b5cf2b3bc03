"""Finishing of files that Blender wrote: MP4 index, checks for completeness, extensions, and the move to their place.

Note:
    On a full disk Blender writes a shorter video and reports nothing. It writes the index of an MP4 (the box ``moov``)
    last and offers no other way; before the pictures, it lets a browser play while the rest is being loaded. There it
    moves everything behind it by its own length, and so the chunk offsets in it (the boxes ``stco`` of 32 and ``co64``
    of 64 bits, ISO/IEC 14496-12, 8.7.5).
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from ...core.report import FormatError
from ...formats.text.file_io import disk_full_error, make_folder, replacement_file, write_error
from .images import is_complete_png
from .options import PICTURE_ENDINGS, VIDEO_ENDINGS

#: Boxes that contain others on the way to the chunk offsets.
_CONTAINER_BOXES = {b"moov", b"trak", b"mdia", b"minf", b"stbl"}
#: Boxes of chunk offsets, with the type of their numbers (big-endian).
_OFFSET_BOXES = {b"stco": ">u4", b"co64": ">u8"}


def move_index_to_front(path: str) -> bool:
    """Move the index of the MP4 at ``path`` to its front.

    Returns:
        False where it is there already, or the file is not as expected: it is unchanged then.
    """
    with open(path, "rb") as file:
        boxes = list(read_boxes(file, os.path.getsize(path)))
        kinds = [kind for kind, _start, _end in boxes]
        if "moov" not in kinds or "mdat" not in kinds or kinds.index("moov") < kinds.index("mdat"):
            return False
        _kind, start, end = boxes[kinds.index("moov")]
        file.seek(start)
        index = bytearray(file.read(end - start))
        front = boxes[kinds.index("mdat")][1]
        if not _shift_offsets(index, end - start):
            return False
        with open(path + ".fast", "wb") as out:
            file.seek(0)
            out.write(file.read(front))
            out.write(index)
            _copy_range(file, out, front, start)
            _copy_range(file, out, end, os.path.getsize(path))
    os.replace(path + ".fast", path)
    return True


def read_boxes(file: BinaryIO, size: int) -> Iterator[tuple[str, int, int]]:
    """Yield the outermost boxes of an MP4: kind, start and end."""
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


def _shift_offsets(index: bytearray, by: int) -> bool:
    """Add ``by`` to all chunk offsets in an index; return False where one would overflow."""
    for kind, start, end in _offset_boxes(index, 8, len(index)):
        count = struct.unpack(">I", index[start + 4 : start + 8])[0]
        numbers = np.frombuffer(index, _OFFSET_BOXES[kind], count, start + 8)
        if start + 8 + numbers.nbytes > end or (count and int(numbers.max()) + by > np.iinfo(numbers.dtype).max):
            return False
        moved = (numbers + numbers.dtype.type(by)).astype(numbers.dtype).tobytes()
        del numbers  # a view of the index, which cannot be changed while one exists
        index[start + 8 : start + 8 + len(moved)] = moved
    return True


def _offset_boxes(index: bytearray, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield the boxes of chunk offsets within an index: kind, and start and end of their contents."""
    while start + 8 <= end:
        length, kind = struct.unpack(">I4s", index[start : start + 8])
        if length < 8:
            return
        if kind in _OFFSET_BOXES:
            yield bytes(kind), start + 8, start + length
        elif kind in _CONTAINER_BOXES:
            yield from _offset_boxes(index, start + 8, start + length)
        start += length


def _copy_range(source: BinaryIO, target: BinaryIO, start: int, end: int) -> None:
    source.seek(start)
    while start < end:
        block = source.read(min(end - start, 1 << 20))
        if not block:
            raise OSError(f"the video ends at {start}, before {end}")
        target.write(block)
        start += len(block)


#: EBML ids of the elements of a .webm: its header, and all the rest.
_HEAD, _SEGMENT = 0x1A45DFA3, 0x18538067


def is_complete_mp4(path: str) -> bool:
    """Return whether an MP4 has pictures and their index, and ends where its last box does."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        boxes = list(read_boxes(file, size))
    return {"moov", "mdat"} <= {kind for kind, _start, _end in boxes} and boxes[-1][2] == size


def is_complete_webm(path: str) -> bool:
    """Return whether a .webm ends where its segment's size has its end, which is written last (RFC 8794, 6)."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        while file.tell() < size:
            kind, length = _read_vint(file, keep=True), _read_vint(file)
            if length is None or kind not in {_HEAD, _SEGMENT}:
                return False
            if kind == _SEGMENT:
                return file.tell() + length == size
            file.seek(length, os.SEEK_CUR)
    return False


def is_complete_gif(path: str) -> bool:
    """Return whether a .gif ends with its trailer byte."""
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b";"


def is_complete_webp(path: str) -> bool:
    """Return whether a .webp has the length in its RIFF header, padded to an even number of bytes."""
    with open(path, "rb") as file:
        head = file.read(12)
    if len(head) < 12 or head[:4] != b"RIFF" or head[8:] != b"WEBP":
        return False
    length = int.from_bytes(head[4:8], "little")
    return os.path.getsize(path) == 8 + length + length % 2


def _read_vint(file: BinaryIO, keep: bool = False) -> int | None:
    """Read a variable-size integer of 1 to 8 bytes (RFC 8794, 4).

    The leading zeros of the first byte give the number of bytes. The result is None at the end of the file, or where
    all bits are set, which means unknown. ``keep`` keeps the length marker.
    """
    first = file.read(1)
    if not first or not first[0]:
        return None
    width = 9 - first[0].bit_length()
    data = first + file.read(width - 1)
    value, mark = int.from_bytes(data, "big"), 1 << (7 * width)
    if len(data) < width or (value == 2 * mark - 1 and not keep):
        return None
    return value if keep else value - mark


def file_ending(path: str) -> str:
    """Return the extension of a video's or picture's path, in lower case.

    Raises:
        FormatError: If it cannot be written.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending not in VIDEO_ENDINGS + PICTURE_ENDINGS:
        raise FormatError(
            f"a video cannot be written as {ending or 'a file without an extension'}",
            path=path,
            remedy="Name it .mp4, .webm, .webp or .gif for a video or .png for one picture.",
        )
    return ending


def is_poster_path(path: str) -> bool:
    """Return whether a path asks for a single picture."""
    return file_ending(path) in PICTURE_ENDINGS


#: Markers in the last bytes of a .blend: the end of its blocks, or of the seek table of a compressed one.
_END_MARKERS = (b"ENDB", b"\xb1\xea\x92\x8f")
_TAIL_SIZE = 64


def is_complete_blend(path: str | os.PathLike[str]) -> bool:
    """Return whether a .blend is complete to its end.

    Note:
        On a full disk Blender reports success, and leaves half a file in place of the old one.
    """
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_SIZE))
        tail = file.read()
    return any(end in tail for end in _END_MARKERS)


def move_into_place(result: str, path: str) -> None:
    """Move a finished file to its place, creating the folder if needed: half a video is never seen there.

    Raises:
        FormatError: If it is missing, empty or incomplete.
    """
    if not os.path.isfile(result) or os.path.getsize(result) == 0:
        raise FormatError("Blender wrote no picture", path=path, remedy="See its messages in the terminal.")
    whole = _COMPLETENESS_CHECKS.get(os.path.splitext(result)[1])
    if whole is not None and not whole(result):  # Blender does not report a full disk
        raise write_error(disk_full_error(), path)
    make_folder(os.path.dirname(os.path.realpath(path)))
    with replacement_file(path) as beside:
        shutil.copyfile(result, beside)


#: Checks for completeness by extension.
_COMPLETENESS_CHECKS = {
    ".png": is_complete_png,
    ".mp4": is_complete_mp4,
    ".webm": is_complete_webm,
    ".webp": is_complete_webp,
    ".gif": is_complete_gif,
}
