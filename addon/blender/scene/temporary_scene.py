"""Temporary scenes for Blender's operators.

Operators use what is active and selected in the scene of the context, evaluate all of it and leave it changed: that
must not be the user's scene.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import bpy

ObjectSequence = Sequence[bpy.types.Object]


@contextmanager
def scratch_scene(objects: ObjectSequence = ()) -> Iterator[bpy.types.Scene]:
    """Provide a temporary scene with these objects only, the first active; it is removed, the objects stay.

    It is at the frame of the scene in the context: Blender evaluates the keyframes of its objects.
    """
    shown = bpy.context.scene
    scene = bpy.data.scenes.new("Knuckle Workshop")
    for name in ("frame_map_old", "frame_map_new"):
        setattr(scene.render, name, getattr(shown.render, name))
    scene.frame_current, scene.frame_subframe = shown.frame_current, shown.frame_subframe
    try:
        for obj in objects:
            scene.collection.objects.link(obj)
        if objects:
            scene.view_layers[0].objects.active = objects[0]
        yield scene
    finally:
        bpy.data.scenes.remove(scene)


def operator_context(scene: bpy.types.Scene, objects: ObjectSequence = ()) -> AbstractContextManager[Any]:
    """Override the context so that operators work in a scene, on these objects of it, the first of them active."""
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
    """Enable an object in viewports meanwhile: Blender changes the mode of none that is disabled there."""
    hidden = obj.hide_viewport
    obj.hide_viewport = False
    try:
        yield
    finally:
        obj.hide_viewport = hidden
