"""What a model says of its mesh files. Where these may lie is the rule of ``formats.mesh_files``."""

from __future__ import annotations

import os
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
