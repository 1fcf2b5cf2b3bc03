"""Validation of PLY headers before Blender reads the file: Blender may crash on invalid ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..text.file_io import read_bytes
from .locate import MeshError, convert_to_mesh_error

_TYPE = rb"(?:char|uchar|short|ushort|int|uint|float|double|int8|uint8|int16|uint16|int32|uint32|float32|float64)"
_NAME = rb"[\x21-\x7e]+"
_FORMAT = re.compile(rb"format\s+(ascii|binary_little_endian|binary_big_endian)\s+1\.0\s*")
_COMMENT = re.compile(rb"(?:comment|obj_info)(?:\s.*)?")
_ELEMENT = re.compile(rb"element\s+(" + _NAME + rb")\s+([0-9]{1,9})\s*")
_PROPERTY = re.compile(
    rb"property\s+(?:(" + _TYPE + rb")|list\s+(" + _TYPE + rb")\s+(" + _TYPE + rb"))\s+(" + _NAME + rb")\s*"
)
_MAX_HEADER_LENGTH = 1 << 20


#: numpy's codes of the types, without byte order.
_TYPE_CODES = {
    b"char": "i1",
    b"uchar": "u1",
    b"short": "i2",
    b"ushort": "u2",
    b"int": "i4",
    b"uint": "u4",
    b"float": "f4",
}
_TYPE_CODES |= {b"int8": "i1", b"uint8": "u1", b"int16": "i2", b"uint16": "u2", b"int32": "i4", b"uint32": "u4"}
_TYPE_CODES |= {b"float32": "f4", b"double": "f8", b"float64": "f8"}
_BYTE_ORDERS = {b"ascii": None, b"binary_little_endian": "<", b"binary_big_endian": ">"}


@dataclass
class ListProperty:
    """Types of a list property's length and items."""

    count: str
    item: str


@dataclass
class PlyHeader:
    """Header of a PLY file.

    Attributes:
        end: where the header ends.
        order: byte order of the data, None for plain text.
        elements: name, count, and properties (name and type or list) of each.
    """

    end: int
    order: str | None
    elements: list[tuple[bytes, int, list[tuple[bytes, str | ListProperty]]]]


def check_ply(path: Path) -> None:
    """Raise a MeshError where a file's header is invalid or declares more than the file can hold."""
    with convert_to_mesh_error():
        read_ply_header(read_bytes(path), path)


def read_ply_header(data: bytes, path: Path) -> PlyHeader:
    """Parse the header in a file's bytes.

    Raises:
        MeshError: it is missing, invalid, or declares more than the file can hold.
    """
    end = re.search(rb"\nend_header[ \t]*\r?\n", data[:_MAX_HEADER_LENGTH])
    lines = data[: end.start()].splitlines() if end is not None else []
    if end is None or not lines or lines[0].strip() != b"ply" or len(lines) < 2:
        raise MeshError("not a PLY file: its header is missing", path=str(path))
    size = len(data) - end.end()
    head, seen = PlyHeader(end.end(), None, []), dict[bytes, set[bytes]]()
    for number, line in enumerate(lines[1:], 2):
        element, prop = _ELEMENT.fullmatch(line), _PROPERTY.fullmatch(line)
        form = _FORMAT.fullmatch(line) if number == 2 else None
        if element is not None and element[1] not in seen and int(element[2]) <= size:
            head.elements.append((element[1], int(element[2]), []))
            seen[element[1]] = set()
        elif prop is not None and head.elements:
            kind = _TYPE_CODES[prop[1]] if prop[1] else ListProperty(_TYPE_CODES[prop[2]], _TYPE_CODES[prop[3]])
            head.elements[-1][2].append((prop[4], kind))
            seen[head.elements[-1][0]].add(prop[4])
        elif form is not None:
            head.order = _BYTE_ORDERS[form[1]]
        elif not _COMMENT.fullmatch(line):
            what = line.decode("latin-1").strip()
            raise MeshError(f"line {number} of the header is invalid or not supported: {what}", path=str(path))
    if not seen.get(b"vertex", set()) >= {b"x", b"y", b"z"}:
        raise MeshError("the PLY file has no vertices", path=str(path))
    return head
