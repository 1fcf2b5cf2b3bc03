"""The heads of PLY files, looked at before Blender reads them: of some that lie about their size it dies."""

from __future__ import annotations

import re
from pathlib import Path

from .files import read_bytes
from .mesh_files import MeshTrouble


def check_ply(path: Path) -> None:
    """MeshTrouble where a file cannot hold what its head says."""
    data = read_bytes(path)
    end = re.search(rb"(?:^|\n)end_header[ \t]*\r?\n", data[: 1 << 20])
    if not data.startswith(b"ply") or end is None:
        raise MeshTrouble("this is no PLY file: its head is missing", path=str(path))
    size = len(data) - end.end()
    for line in data[: end.start() + 1].splitlines():
        words = line.split()
        if words[:1] != [b"element"]:
            continue
        if len(words) != 3 or not re.fullmatch(rb"[0-9]{1,9}", words[2]):
            raise MeshTrouble(f"its head has a count that is no number: {line.decode('latin-1')}", path=str(path))
        if int(words[2]) > size:
            raise MeshTrouble(f"it is too short for what its head says: {line.decode('latin-1')}", path=str(path))
