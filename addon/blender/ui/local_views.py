"""What comes into a scene is seen where the user looks: Blender shows nothing new in local view."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bpy

from ..data.datablocks import latest, made_since

_OBJECTS = ("objects",)


@contextmanager
def seen_in_local_views(context: bpy.types.Context) -> Iterator[None]:
    """Have the objects that come within it be in the local views of all windows that show their view layer."""
    views = list(_local_views(context))
    if not views:
        yield
        return
    before = latest(_OBJECTS)
    yield
    made = made_since(before, _OBJECTS)
    known = {layer: set(layer.objects) for layer, _space in views}  # to ask a layer for one is to look through all
    for layer, space in views:
        for obj in made:
            if obj in known[layer]:
                obj.local_view_set(space, True)


def _local_views(context: bpy.types.Context) -> Iterator[tuple[bpy.types.ViewLayer, Any]]:
    manager = context.window_manager
    for window in manager.windows if manager is not None else ():
        for area in window.screen.areas:
            space: Any = area.spaces.active
            if area.type == "VIEW_3D" and space.local_view is not None:
                yield window.view_layer, space
