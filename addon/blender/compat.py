"""What differs between the Blender versions that Knuckle supports (4.2 LTS to 5.2), each in one place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

VERSION = bpy.app.version


def action_curves(id_block: Any, action: Any, create: bool = True) -> Any:
    """The F-curve collection of ``action`` for ``id_block``, or None when there is none and ``create`` is off.

    Actions got layers and slots in 4.4 and lost ``Action.fcurves`` in 5.0. The id must already use
    the action when its slot is wanted back."""
    if VERSION < (4, 4):
        return action.fcurves
    slot = _slot(id_block, action, create)
    if slot is None:
        return None
    if not action.layers:
        if not create:
            return None
        action.layers.new("Layer").strips.new(type="KEYFRAME")
    bag = action.layers[0].strips[0].channelbag(slot, ensure=create)
    return bag.fcurves if bag is not None else None


def all_curves(action: Any) -> Iterator[Any]:
    """The F-curves of an Action, of whatever they are."""
    for bag in _bags(action):
        yield from bag.fcurves


def curve_groups(action: Any) -> Iterator[Any]:
    """The groups of an Action's F-curves, of whatever they are."""
    for bag in _bags(action):
        yield from bag.groups


def _bags(action: Any) -> Iterator[Any]:
    """What holds an Action's F-curves and groups: before 4.4 the Action itself."""
    if VERSION < (4, 4):
        yield action
        return
    for layer in action.layers:
        for strip in layer.strips:
            yield from strip.channelbags


def _slot(id_block: Any, action: Any, create: bool) -> Any:
    data = id_block.animation_data
    if data is not None and data.action == action and data.action_slot is not None:
        return data.action_slot
    for slot in action.slots:
        if slot.target_id_type in {id_block.id_type, "UNSPECIFIED"}:
            return slot
    return action.slots.new(id_type=id_block.id_type, name=id_block.name) if create else None


def use_action(id_block: Any, action: bpy.types.Action | None) -> None:
    """Make ``action`` the active one of ``id_block``, with its slot where actions have slots."""
    data = id_block.animation_data_create()
    data.action = action
    if action is not None and VERSION >= (4, 4):
        data.action_slot = _slot(id_block, action, create=True)


def new_curve(curves: Any, path: str, index: int, group: str) -> bpy.types.FCurve:
    """A new F-curve in its group. (4.5's channel bags cannot group at creation.)"""
    if VERSION >= (5, 0):
        return curves.new(path, index=index, group_name=group)
    if VERSION < (4, 4):
        return curves.new(path, index=index, action_group=group)
    return curves.new(path, index=index)


def give_name(id_block: Any, name: str) -> None:
    """Rename a datablock; one that has the name already keeps it, and this one gets a number. (Since 4.3, setting a
    name may number the other one instead.)"""
    if VERSION >= (4, 3):
        id_block.rename(name, mode="NEVER")
    else:
        id_block.name = name


def select_bone(pose: bpy.types.PoseBone, chosen: bool) -> None:
    """Select a bone in pose mode, or not. (Bones' selection moved to the pose in 5.0.)"""
    holder: Any = pose if VERSION >= (5, 0) else pose.bone
    holder.select = chosen


def bone_is_selected(pose: bpy.types.PoseBone) -> bool:
    """Whether a bone is selected in pose mode."""
    holder: Any = pose if VERSION >= (5, 0) else pose.bone
    return bool(holder.select)


def ready_gpu() -> None:
    """Have the ``gpu`` module work also without a window. ValueError where nothing can be drawn on this machine.

    Up to 5.1 it does after the first picture that Workbench rendered; since, when it is told to."""
    import gpu

    try:
        if bpy.app.background and hasattr(gpu, "init"):
            gpu.init()
        gpu.shader.from_builtin("FLAT_COLOR")
    except SystemError:
        _render_a_pixel()
        try:
            gpu.shader.from_builtin("FLAT_COLOR")
        except SystemError as error:
            raise ValueError(f"Nothing can be drawn here: {error}") from error


def _render_a_pixel() -> None:
    scene: Any = bpy.data.scenes.new("knuckle gpu")
    lens = bpy.data.cameras.new("knuckle gpu")
    try:
        camera = bpy.data.objects.new("knuckle gpu", lens)
        scene.collection.objects.link(camera)
        scene.camera = camera
        scene.render.engine = "BLENDER_WORKBENCH"
        scene.render.resolution_x = scene.render.resolution_y = 4
        bpy.ops.render.render(scene=scene.name)
    finally:
        bpy.data.cameras.remove(lens)  # and with it its object
        bpy.data.scenes.remove(scene)


def render_path(path: str) -> str:
    """A path as ``RenderSettings.filepath`` takes it literally: from 5.0 on words in braces stand for something."""
    return path if bpy.app.version < (5, 0, 0) else path.replace("{", "{{").replace("}", "}}")
