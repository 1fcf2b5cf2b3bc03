"""Helpers for tests of rebuilding deleted parts: import, export, and places of parts to compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.support.scenes import the_rig


def imported(path: Path, physics: bool = True) -> Any:
    import bpy

    assert bpy.ops.import_scene.mechanism(filepath=str(path), gait_seconds=0.5, physics=physics) == {"FINISHED"}
    bpy.context.view_layer.update()
    return the_rig()


def places() -> dict[str, np.ndarray]:
    """Where all parts of the model stand, by their roles and the file's ids."""
    import bpy

    bpy.context.view_layer.update()
    return {
        f"{obj.knuckle.role} {obj.knuckle.source_id}": np.array(obj.matrix_world)
        for obj in bpy.context.scene.objects
        if obj.knuckle.role in {"MODEL", "BODY", "JOINT", "FRAME", "SHAPE", "LIGHT"} and not obj.knuckle.is_ground
    }


def exported(path: Path) -> bytes:
    import bpy

    rig = the_rig()
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format=rig.data.knuckle.format) == {"FINISHED"}
    return path.read_bytes()


def same(now: dict[str, np.ndarray], before: dict[str, np.ndarray]) -> None:
    assert now.keys() == before.keys()
    assert max(float(np.abs(now[each] - before[each]).max()) for each in before) < 1e-6
