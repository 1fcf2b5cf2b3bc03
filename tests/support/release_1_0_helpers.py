"""Helpers for tests of migration: .blend files of release 1.0, and opening them."""

from __future__ import annotations

import re
from pathlib import Path

BLENDS = Path(__file__).resolve().parents[1] / "data/blends"


def why_unreadable(path: Path, saved_by: str) -> str:
    """Open a file; why this Blender cannot read what a newer one saved, as it turns out."""
    import bpy

    newer = tuple(int(number) for number in re.findall(r"\d+", saved_by)[:2]) > bpy.app.version[:2]
    try:
        open_file(path)
    except RuntimeError as error:
        if newer and "not a blend file" in str(error):
            return f"to this Blender a file of Blender {saved_by} is not a blend file"
        raise
    records = [bone.knuckle for data in bpy.data.armatures for bone in data.bones]
    if newer and not all(record.joint or record.root for record in records):
        return f"this Blender loses add-ons' properties of bones in a file of Blender {saved_by}"
    return ""


def open_file(path: Path) -> None:
    import bpy

    assert bpy.ops.wm.open_mainfile(filepath=str(path)) == {"FINISHED"}
