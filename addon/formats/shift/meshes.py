"""Where the mesh files of a model may lie: beside it and in its include directories, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

MATERIALS = {".mtl"}


def files_of(written: Any) -> list[list[str]]:
    """The groups of files of a ``definition`` (names of one mesh and its materials) or a ``geometry`` (an object
    ``{"type": "mesh", "filename": names}``, or a list of them). ValueError for what is neither."""
    if written is None:
        return []
    if isinstance(written, str):
        return [[written]]
    if isinstance(written, list) and all(isinstance(item, str) for item in written):
        return [written] if written else []
    groups = []
    for item in [written] if isinstance(written, dict) else written if isinstance(written, list) else [None]:
        if not isinstance(item, dict):
            raise ValueError("this is no geometry")
        if item.get("type", "mesh") != "mesh":
            continue
        names = item.get("filename")
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("filename is not a list of names")
        if names:
            groups.append(list(names))
    return groups


def mesh_of(files: list[str]) -> str:
    """The one of a group of files that has the mesh: the first that is not a material."""
    return next((name for name in files if os.path.splitext(name)[1].lower() not in MATERIALS), files[0])


def is_address(name: str) -> bool:
    """Whether a name leads out to a network: an address, or a share of another machine."""
    return "://" in name or name.startswith(("\\\\", "//"))


def candidates(model: str | os.PathLike[str], include: list[str], name: str) -> list[Path]:
    """The places to look for a file of a model, in order: its include directories as written, relative to the model's
    folder, then the folder itself. Nothing outside of these is among them, and no address of a network."""
    if is_address(name) or os.path.isabs(name) or ":" in name:
        return []
    folder = Path(model).resolve().parent
    places = []
    for directory in (*include, "."):
        if is_address(directory) or os.path.isabs(directory) or ":" in directory:
            continue
        base = (folder / directory.replace("\\", "/")).resolve()
        place = (base / name.replace("\\", "/")).resolve()
        if place.is_relative_to(base) and place not in places:
            places.append(place)
    return places
