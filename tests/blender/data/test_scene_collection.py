"""A mechanism whose collection was deleted: its objects are in the Scene Collection, which no property can refer to."""

from __future__ import annotations

from typing import Any

import bpy

from addon.blender.data.access import record_of, settings
from addon.blender.data.copied_mechanisms import adopt_copied_model
from tests.support.scenes import made


def test_a_copy_of_a_mechanism_in_the_scene_collection_is_adopted(blank: Any, capfd: Any) -> None:
    rig = made("rover.jm")
    scene, top = bpy.context.scene, settings(rig).collection
    for obj in top.all_objects:
        scene.collection.objects.link(obj)
    for collection in [*top.children_recursive, top]:
        bpy.data.collections.remove(collection)
    adopt_copied_model(rig)
    bpy.context.view_layer.update()
    bpy.ops.object.select_all(action="SELECT")
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    bpy.context.view_layer.update()
    assert len([obj for obj in bpy.data.objects if record_of(obj).role == "MODEL"]) == 2
    assert "Traceback" not in "".join(capfd.readouterr())
