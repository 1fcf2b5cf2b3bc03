"""What can be wrong with a frame of a film, measured: it is black or empty, or the model is not wholly in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector
from numpy.typing import NDArray

#: Below these a picture is black, or has nothing in it (sRGB from 0 to 1).
DARK, FLAT = 0.04, 0.01
#: A model takes at least so much of the picture.
SEEN = 0.002
#: Objects of the stage that are no model.
STAGE = ("Film floor", "Film label", "Film key", "Film fill", "Film camera", "Film scenery")

Picture = NDArray[np.float32]


def actors(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """What stands for the model on a stage."""
    return [thing for thing in scene.objects if thing.type == "MESH" and not thing.name.startswith(STAGE)]


def without_model(scene: bpy.types.Scene, render: Callable[[bpy.types.Scene, str], None], path: Path) -> Picture:
    """The present frame of a stage without the model."""
    hidden = actors(scene)
    for thing in hidden:
        thing.hide_render = True
    render(scene, str(path))
    for thing in hidden:
        thing.hide_render = False
    image: Any = bpy.data.images.load(str(path), check_existing=False)
    pixels = np.empty(image.size[0] * image.size[1] * 4, dtype=np.float32)
    image.pixels.foreach_get(pixels)
    shape = image.size[1], image.size[0], 4
    bpy.data.images.remove(image)
    return pixels.reshape(shape)[::-1, :, :3]


def faults(scene: bpy.types.Scene, picture: Picture, bare: Picture) -> list[str]:
    """What is wrong with a frame; empty where nothing is."""
    found = []
    if picture.mean() < DARK:
        found.append(f"black: mean {picture.mean():.3f}")
    if picture.std() < FLAT:
        found.append(f"flat: deviation {picture.std():.4f}")
    share = float((np.abs(picture - bare).max(axis=2) > 0.03).mean())
    if share < SEEN:
        found.append(f"empty: the model changes {share:.2%} of the picture")
    low, high = extent(scene)
    if low.min() < 0.0 or high.max() > 1.0:
        found.append(f"cut off: seen from {low.round(3).tolist()} to {high.round(3).tolist()}")
    return found


def extent(scene: bpy.types.Scene) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the model's vertices are in the picture, by Blender's own projection: lowest and highest, 0 to 1."""
    scene.view_layers[0].update()
    camera: Any = scene.camera
    seen = []
    for thing in actors(scene):
        box = [thing.matrix_world @ Vector(corner) for corner in thing.bound_box]
        seen += [tuple(world_to_camera_view(scene, camera, corner)) for corner in box]
    points = np.array(seen)
    assert (points[:, 2] > 0.0).all(), "behind the camera"
    return points[:, :2].min(axis=0), points[:, :2].max(axis=0)
