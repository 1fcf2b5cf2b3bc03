"""The heads of PLY files, looked at before Blender reads them: of those that break the rules it may die."""

from __future__ import annotations

import re
from pathlib import Path

from .files import read_bytes
from .mesh_files import MeshTrouble, as_trouble

_TYPE = rb"(?:char|uchar|short|ushort|int|uint|float|double|int8|uint8|int16|uint16|int32|uint32|float32|float64)"
_NAME = rb"[\x21-\x7e]+"
_FORMAT = re.compile(rb"format\s+(?:ascii|binary_little_endian|binary_big_endian)\s+1\.0\s*")
_REMARK = re.compile(rb"(?:comment|obj_info)(?:\s.*)?")
_ELEMENT = re.compile(rb"element\s+(" + _NAME + rb")\s+([0-9]{1,9})\s*")
_PROPERTY = re.compile(
    rb"property\s+(?:" + _TYPE + rb"|list\s+" + _TYPE + rb"\s+" + _TYPE + rb")\s+(" + _NAME + rb")\s*"
)
_LONGEST_HEAD = 1 << 20


def check_ply(path: Path) -> None:
    """MeshTrouble where a file's head is none, or says what the file cannot hold."""
    with as_trouble():
        data = read_bytes(path)
    end = re.search(rb"\nend_header[ \t]*\r?\n", data[:_LONGEST_HEAD])
    lines = data[: end.start()].splitlines() if end is not None else []
    if end is None or not lines or lines[0].strip() != b"ply" or len(lines) < 2:
        raise MeshTrouble("this is no PLY file: its head is missing", path=str(path))
    size = len(data) - end.end()
    elements: dict[bytes, set[bytes]] = {}
    last = b""
    for number, line in enumerate(lines[1:], 2):
        element, prop = _ELEMENT.fullmatch(line), _PROPERTY.fullmatch(line)
        if element is not None and element[1] not in elements and int(element[2]) <= size:
            last = element[1]
            elements[last] = set()
        elif prop is not None and last:
            elements[last].add(prop[1])
        elif not _REMARK.fullmatch(line) and not (number == 2 and _FORMAT.fullmatch(line)):
            what = line.decode("latin-1").strip()
            raise MeshTrouble(f"line {number} of its head is wrong or says what it cannot hold: {what}", path=str(path))
    if not elements.get(b"vertex", set()) >= {b"x", b"y", b"z"}:
        raise MeshTrouble("this PLY file has no points", path=str(path))
