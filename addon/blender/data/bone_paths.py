"""Bone names in data paths of F-curves and drivers."""

from __future__ import annotations

from collections.abc import Mapping

import bpy

_PREFIX = 'pose.bones["'


def bone_in(path: str) -> str:
    """The name of the bone that a data path begins with; empty for another path."""
    end = _end_of_name(path)
    return bpy.utils.unescape_identifier(path[len(_PREFIX) : end]) if end else ""


def renamed_path(path: str, names: Mapping[str, str]) -> str:
    """A data path with the new name of its bone, if that is among the old ones."""
    end = _end_of_name(path)
    new = names.get(bone_in(path)) if end else None
    return path if new is None else f"{_PREFIX}{bpy.utils.escape_identifier(new)}{path[end:]}"


def _end_of_name(path: str) -> int:
    """Return where the quotes around a bone's name end; 0 where a path is no bone's."""
    if not path.startswith(_PREFIX):
        return 0
    at = len(_PREFIX)
    while at < len(path) and path[at] != '"':
        at += 2 if path[at] == "\\" else 1
    return at if at < len(path) else 0
