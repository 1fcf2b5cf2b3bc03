"""Helpers for tests of rendering: a walker to render, pictures in video files, and snapshots of the user's scene."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy", reason="Blender is not here")

bpy = pytest.importorskip("bpy", reason="Blender is not here")
RED, BLUE = (0.7, 0.02, 0.02, 1.0), (0.02, 0.05, 0.6, 1.0)
SPEED = 1.5  # m/s
SMALL: dict[str, Any] = {"size": (160, 90), "frame_start": 1, "frame_end": 24, "samples": 1}


def box(name: str, size: tuple[float, float, float], color: tuple[float, ...] = RED) -> Any:
    """A box with its origin in the middle, in the scene."""
    x, y, z = (0.5 * side for side in size)
    points = [(i * x, j * y, k * z) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    material = bpy.data.materials.new(name)
    material.diffuse_color = color
    mesh.materials.append(material)
    thing = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(thing)
    return thing


def walker(scene: Any) -> list[Any]:
    """A body and two legs that slide along +X at SPEED, 60 frames per second, keyed."""
    scene.render.fps, scene.render.fps_base = 60, 1.0
    scene.frame_end = 24
    body = box("body", (1.6, 0.8, 0.4))
    legs = [box(f"leg {side}", (0.2, 0.2, 0.8), BLUE) for side in "lr"]
    for frame in range(1, 121):
        body.location = position(frame)
        body.keyframe_insert("location", frame=frame)
    for leg, y in zip(legs, (-0.3, 0.3), strict=True):
        leg.parent, leg.location = body, (0.0, y, -0.6)
    return [body, *legs]


def position(frame: int) -> tuple[float, float, float]:
    """Where the walker's body is at a frame."""
    return SPEED * (frame - 1) / 60.0, 0.0, 1.0 + 0.05 * math.sin(0.7 * frame)


def pixels_of(path: Path) -> np.ndarray:
    """A picture as (height, width, 3), the top row first."""
    image = bpy.data.images.load(str(path), check_existing=False)
    width, height = image.size
    values = np.empty(width * height * 4, dtype=np.float32)
    image.pixels.foreach_get(values)
    bpy.data.images.remove(image)
    return values.reshape(height, width, 4)[::-1, :, :3]


def video_facts(path: Path) -> tuple[tuple[int, int], int, float]:
    """Size, frames and frames per second, as Blender's movie reader finds them."""
    clip = bpy.data.movieclips.load(str(path))
    facts = tuple(clip.size), clip.frame_duration, clip.fps
    bpy.data.movieclips.remove(clip)
    return facts


def decoded(path: Path, frames: int, size: tuple[int, int], folder: Path) -> list[np.ndarray]:
    """The pictures that are in a video file, through the sequencer of a fresh scene."""
    scene = bpy.data.scenes.new("decode")
    editor = scene.sequence_editor_create()
    (editor.strips if hasattr(editor, "strips") else editor.sequences).new_movie("film", str(path), 1, 1)
    scene.render.resolution_x, scene.render.resolution_y = size
    scene.render.resolution_percentage = 100
    scene.view_settings.view_transform = "Standard"
    scene.render.image_settings.file_format = "PNG"
    pictures = []
    for frame in range(1, frames + 1):
        scene.frame_set(frame)
        scene.render.filepath = str(folder / f"decoded{frame}.png")
        with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]):
            bpy.ops.render.render(write_still=True)
        pictures.append(pixels_of(folder / f"decoded{frame}.png"))
    bpy.data.scenes.remove(scene)
    return pictures


def values_of(data: Any) -> dict[str, Any]:
    """All plain RNA values of a struct, one level deep."""
    found = {}
    for prop in data.bl_rna.properties:
        if prop.type == "COLLECTION" or prop.identifier in ("rna_type", "use_nodes"):
            continue
        value = getattr(data, prop.identifier, None)
        if getattr(prop, "is_array", False) and value is not None:
            value = np.array(value).tolist()
        found[prop.identifier] = repr(value)
    return found


def snapshot(context: Any) -> dict[str, Any]:
    """Everything about the scene and the file that filming could have touched."""
    scene = context.scene
    parts = [
        scene,
        scene.render,
        scene.render.image_settings,
        scene.render.ffmpeg,
        scene.display,
        scene.display.shading,
        scene.view_settings,
        scene.display_settings,
        scene.sequencer_colorspace_settings,
        scene.eevee,
        scene.view_layers[0],
    ]
    if scene.rigidbody_world is not None:
        parts += [scene.rigidbody_world, scene.rigidbody_world.point_cache]
    parts += [thing for name in ("objects", "materials", "meshes", "worlds") for thing in getattr(bpy.data, name)]
    state: dict[str, Any] = {f"{i} {part!r}": values_of(part) for i, part in enumerate(parts)}
    for prop in bpy.data.bl_rna.properties:
        if prop.type == "COLLECTION":
            state[prop.identifier] = [(item.name, item.users) for item in getattr(bpy.data, prop.identifier)]
    state["context"] = (context.scene.name, context.view_layer.name, [item.name for item in context.selected_objects])
    for values in state.values():  # where memory lies and what the cache holds are no settings
        if isinstance(values, dict):
            for name in ("info", "is_outdated", "has_cycle"):
                values.pop(name, None)
    return state


def set_up_oddly(scene: Any) -> None:
    """Settings that filming would change if it worked in the user's scene."""
    scene.camera = bpy.data.objects.new("my camera", bpy.data.cameras.new("my camera"))
    scene.collection.objects.link(scene.camera)
    scene.world = bpy.data.worlds.new("my world")
    scene.render.resolution_x, scene.render.resolution_percentage = 333, 50
    scene.render.filepath = "//mine"
    scene.frame_set(7)
