"""A scene to work in.

Blender's operators take what is active and selected in the scene that they find, evaluate all of it, and leave it
changed: none of that shall be the user's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import bpy

ObjectSequence = Sequence[bpy.types.Object]


@contextmanager
def scratch_scene(objects: ObjectSequence = ()) -> Iterator[bpy.types.Scene]:
    """A scene with nothing in it but these objects, the first active. It goes at the end, the objects stay."""
    scene = bpy.data.scenes.new("Knuckle Workshop")
    try:
        for obj in objects:
            scene.collection.objects.link(obj)
        if objects:
            scene.view_layers[0].objects.active = objects[0]
        yield scene
    finally:
        bpy.data.scenes.remove(scene)


def operator_context(scene: bpy.types.Scene, objects: ObjectSequence = ()) -> AbstractContextManager[Any]:
    """Within it operators work in the scene, on these objects of it, the first of them active."""
    layer = scene.view_layers[0]
    chosen: dict[str, Any] = {}
    if objects:
        chosen = {"object": objects[0], "active_object": objects[0]}
        chosen |= {"selected_objects": objects, "selected_editable_objects": objects}
    return bpy.context.temp_override(
        scene=scene,
        view_layer=layer,
        collection=scene.collection,
        layer_collection=layer.layer_collection,
        **chosen,
    )


@contextmanager
def shown_in_viewport(obj: bpy.types.Object) -> Iterator[None]:
    """Within it an object is not switched off in viewports: Blender changes the mode of none that is."""
    hidden = obj.hide_viewport
    obj.hide_viewport = False
    try:
        yield
    finally:
        obj.hide_viewport = hidden
