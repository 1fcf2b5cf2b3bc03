"""A scene of our own to film in, which leaves nothing behind.

The user's scene, cameras, worlds and settings are never touched: what is filmed are stand-ins that share the
models' meshes and materials, in a scene that exists only while it is filmed."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

import bpy

Data = TypeVar("Data", bound=bpy.types.ID)


class Studio:
    """Use as a context manager: on leaving, everything that was made or owned through it is gone."""

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
        """A new object in the scene."""
        thing = self.own(bpy.data.objects.new(name, data))
        self.scene.collection.objects.link(thing)
        return thing

    def render(self, path: str) -> None:
        """Render one frame of the scene to ``path``. Frame handlers of add-ons are told of this scene
        only, since the scene in context is this one."""
        self.scene.render.filepath = path
        with bpy.context.temp_override(scene=self.scene, view_layer=self.scene.view_layers[0]):
            bpy.ops.render.render(write_still=True)

    def render_animation(self) -> None:
        """Render the scene's range to its file path."""
        with bpy.context.temp_override(scene=self.scene, view_layer=self.scene.view_layers[0]):
            bpy.ops.render.render(animation=True)

    def dispose(self) -> None:
        """Remove the scene, all that is owned, and the render result if there was none before."""
        bpy.data.scenes.remove(self.scene)
        bpy.data.batch_remove(self.owned)
        results = [image for image in bpy.data.images if image.type == "RENDER_RESULT"]
        bpy.data.batch_remove([image for image in results if image not in self.known_images])
