"""Temporary scene for rendering videos, which leaves nothing behind.

The user's scene, cameras, worlds and settings are never touched: the scene shows stand-ins, which share the mechanisms'
materials, and exists only while it is rendered.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.report import FormatError
from ..compat import render_path
from ..data.datablocks import still_exists

Data = TypeVar("Data", bound=bpy.types.ID)


@contextmanager
def stdout_silenced() -> Iterator[None]:
    """Keep Blender's messages about every frame off the standard output of a background run.

    They are written below Python, so the file descriptor itself is redirected.
    """
    if not bpy.app.background:
        yield
        return
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def render_still(scene: bpy.types.Scene, path: str) -> None:
    """Render the current frame of a scene to ``path``.

    The scene is that of the context, so frame handlers of add-ons are called for this scene only.
    """
    scene.render.filepath = render_path(path)
    _render(scene, path, write_still=True)


def _render(scene: bpy.types.Scene, path: str, **how: Any) -> None:
    """Render a scene with Blender's operator; ``how`` are its options.

    Raises:
        FormatError: If Blender reports an error, such as a full disk.
    """
    try:
        with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]), stdout_silenced():
            bpy.ops.render.render(**how)
    except RuntimeError as error:
        raise FormatError(f"Blender could not render it: {error}".strip(), path=path) from error


class Studio:
    """Temporary scene, as a context manager: on leaving, everything created or owned through it is removed."""

    def __init__(self, name: str = "Knuckle Film") -> None:
        self.known_images = set(bpy.data.images)
        self.owned: list[bpy.types.ID] = []
        self.scene: bpy.types.Scene = bpy.data.scenes.new(name)

    def __enter__(self) -> Studio:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispose()

    def own(self, data: Data) -> Data:
        """Have ``data`` removed with the studio."""
        self.owned.append(data)
        return data

    def place(self, name: str, data: bpy.types.ID | None) -> bpy.types.Object:
        """Create an object in the scene."""
        thing = self.own(bpy.data.objects.new(name, data))
        self.scene.collection.objects.link(thing)
        return thing

    def render(self, path: str) -> None:
        """Render the current frame of the scene to ``path``."""
        render_still(self.scene, path)

    def look(self) -> NDArray[np.float32]:
        """Render the current frame; return its pixels (height, width, 4), sRGB from 0 to 1, the lowest row first."""
        with tempfile.TemporaryDirectory(prefix="knuckle-film-") as folder:
            path = os.path.join(folder, "look.png")
            self.render(path)
            image: Any = bpy.data.images.load(path)
            try:
                width, height = image.size
                pixels = np.empty(width * height * 4, dtype=np.float32)
                image.pixels.foreach_get(pixels)
            finally:
                bpy.data.images.remove(image)
        return pixels.reshape(height, width, 4)

    def render_animation(self) -> None:
        """Render the scene's frame range to its file path."""
        _render(self.scene, self.scene.render.filepath, animation=True)

    def dispose(self) -> None:
        """Remove the scene, all that is owned, and the render result if there was none before.

        An undo in another window may have removed some of it already.
        """
        if still_exists(self.scene):
            bpy.data.scenes.remove(self.scene)
        bpy.data.batch_remove([data for data in self.owned if still_exists(data)])
        results = [image for image in bpy.data.images if image.type == "RENDER_RESULT"]
        bpy.data.batch_remove([image for image in results if image not in self.known_images])
