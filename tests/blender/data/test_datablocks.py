"""After an undo, collections list the objects that there are."""

from __future__ import annotations

from typing import Any

from addon import formats


def test_after_an_undo_a_models_collections_list_what_they_hold(blank: Any, sample_models: Any) -> None:
    import bpy

    from addon.blender.data.access import settings
    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    rig = rig_in(build(formats.load(sample_models / "desk_lamp/desk_lamp.skel"), options=BuildOptions(gait=False)))
    bpy.context.view_layer.objects.active = rig
    bpy.ops.ed.undo_push(message="built")
    name = rig.name
    for _ in range(2):
        bpy.ops.knuckle.refit()  # physics is made anew, with other objects of the same names
        assert len(settings(rig).collection.all_objects) > 5
        bpy.ops.ed.undo_push(message="refitted")
        bpy.ops.ed.undo()
        rig = bpy.data.objects[name]
        top = settings(rig).collection
        held = {obj.as_pointer() for each in (top, *top.children_recursive) for obj in each.objects}
        assert {obj.as_pointer() for obj in top.all_objects} == held
