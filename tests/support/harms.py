"""Helpers for tests of harmed mechanisms: what users do to one with Blender's own tools, as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Harm = Callable[[], None]


def back_and_forth() -> None:
    """Undo, redo and play from the first frame."""
    import bpy

    for step in (bpy.ops.ed.undo, bpy.ops.ed.redo):
        if step.poll():
            step()
    for frame in (1, 2, 3):
        bpy.context.scene.frame_set(frame)


def delete(*names: str) -> Harm:
    """Delete objects in the viewport."""

    def harm() -> None:
        import bpy

        bpy.ops.object.select_all(action="DESELECT")
        for name in names:
            bpy.data.objects[name].hide_viewport = False
            bpy.data.objects[name].select_set(True)
        bpy.context.view_layer.objects.active = bpy.data.objects[names[0]]
        bpy.ops.object.delete(confirm=False)

    return harm


def delete_with_data(name: str) -> Harm:
    """Delete an object from the list of all data, which takes it out of the file whoever points at it."""

    def harm() -> None:
        import bpy

        bpy.data.objects.remove(bpy.data.objects[name])

    return harm


def drop(kind: str, name: str) -> Harm:
    """Delete a datablock from the list of all data."""

    def harm() -> None:
        import bpy

        blocks: Any = getattr(bpy.data, kind)
        blocks.remove(next(block for block in blocks if block.name.split(".")[0] == name.split(".", maxsplit=1)[0]))

    return harm


def drop_all(kind: str) -> Harm:
    """Delete all datablocks of a kind."""

    def harm() -> None:
        import bpy

        bpy.data.batch_remove(list(getattr(bpy.data, kind)))

    return harm


def drop_hierarchy(name: str) -> Harm:
    """Delete a collection with all that is in it, as the outliner does."""

    def harm() -> None:
        import bpy

        collection = bpy.data.collections[name]
        bpy.data.batch_remove(list(collection.all_objects))
        bpy.data.collections.remove(collection)

    return harm


def remove_world() -> None:
    """Remove the scene's rigid-body world."""
    import bpy

    if bpy.context.scene.rigidbody_world is not None:
        bpy.ops.rigidbody.world_remove()


def empty_world(name: str) -> Harm:
    """Delete one of the collections of the scene's rigid-body world."""

    def harm() -> None:
        import bpy

        world = bpy.context.scene.rigidbody_world
        held = getattr(world, name) if world is not None else None
        if held is not None:
            bpy.data.collections.remove(held)

    return harm


def delete_bones(*names: str) -> Harm:
    """Delete bones in the armature's edit mode."""

    def harm() -> None:
        import bpy

        rig = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
        bpy.context.view_layer.objects.active = rig
        bpy.ops.object.mode_set(mode="EDIT")
        for name in names or [bone.name for bone in rig.data.edit_bones]:
            rig.data.edit_bones.remove(rig.data.edit_bones[name])
        bpy.ops.object.mode_set(mode="OBJECT")

    return harm


def clear_values(*names: str) -> Harm:
    """Take what we keep on objects, as clearing their properties does."""

    def harm() -> None:
        import bpy

        for name in names:
            bpy.data.objects[name].property_unset("knuckle")
            bpy.data.objects[name].id_properties_clear()

    return harm


def clear_settings() -> None:
    """The same on the armature's data."""
    import bpy

    for data in bpy.data.armatures:
        data.property_unset("knuckle")
        data.id_properties_clear()


def rewrite_text(text: str) -> Harm:
    """Type something else into the document."""

    def harm() -> None:
        import bpy

        for each in bpy.data.texts:
            each.from_string(text)

    return harm


def strip_rigid_bodies() -> None:
    """Take the rigid bodies and constraints off everything, with Blender's own operators."""
    import bpy

    for obj in list(bpy.context.view_layer.objects):
        obj.hide_viewport = False
        with bpy.context.temp_override(object=obj, active_object=obj, selected_objects=[obj]):
            bpy.context.view_layer.objects.active = obj
            if obj.rigid_body is not None:
                bpy.ops.rigidbody.object_remove()
            if obj.rigid_body_constraint is not None:
                bpy.ops.rigidbody.constraint_remove()


HARMS: dict[str, Harm] = {
    "armature": delete("flapper"),
    "armature for good": delete_with_data("flapper"),
    "armature's data": drop("armatures", "flapper"),
    "root body": delete("Trunk"),
    "body": delete("Left Flap"),
    "body for good": delete_with_data("Left Flap"),
    "joint": delete("Left Joint"),
    "joints": delete("Left Joint", "Right Joint"),
    "bodies": delete("Trunk", "Left Flap", "Right Slide"),
    "world": remove_world,
    "world's bodies": empty_world("collection"),
    "world's constraints": empty_world("constraints"),
    "rigid bodies": strip_rigid_bodies,
    "collection": drop("collections", "flapper"),
    "collection and all": drop_hierarchy("flapper"),
    "collection of joints": drop("collections", "Joints"),
    "collection of bodies": drop("collections", "Bodies"),
    "collection of bodies and all": drop_hierarchy("Bodies"),
    "actions": drop_all("actions"),
    "meshes": drop_all("meshes"),
    "materials": drop_all("materials"),
    "all bones": delete_bones(),
    "a bone": delete_bones("Left Joint"),
    "values of a body": clear_values("Left Flap"),
    "values of a joint": clear_values("Left Joint"),
    "values of the armature": clear_values("flapper"),
    "settings": clear_settings,
    "text": drop_all("texts"),
    "text to garbage": rewrite_text("<Model><Bodies><Body>"),
    "text to nothing": rewrite_text(""),
}
