"""Helpers for tests of mirror images: export, reopening, linking of twins, and distances of points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils.kdtree import KDTree

from addon.blender.data.access import settings
from tests.support.scenes import the_rig


def furthest(points: np.ndarray, others: np.ndarray) -> float:
    tree = KDTree(len(others))
    for number, point in enumerate(others.tolist()):
        tree.insert(point, number)
    tree.balance()
    return max(tree.find(point)[2] for point in points.tolist())


def exported(rig: Any, folder: Path) -> Path:
    kind = settings(rig).format
    path = folder / f"out{dict(juice='.jm', skel='.skel', x_xy='.xml', shift='.json')[kind]}"
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format=kind) == {"FINISHED"}
    return path


def reopened(folder: Path) -> Any:
    path = str(folder / "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    return the_rig()


def find_and_link(rig: Any) -> None:
    bpy.context.view_layer.objects.active = rig
    bpy.ops.knuckle.find_twins()
    bpy.ops.knuckle.link_found_twins()
