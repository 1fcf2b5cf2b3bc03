"""Compatibility layer: the differences between the Blender versions that Knuckle supports (4.2 LTS to 5.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

from ..core.report import Message

BLENDER_VERSION = bpy.app.version
#: Since 4.4, Actions have layers, and a slot for each data-block that they animate.
HAS_SLOTS = BLENDER_VERSION >= (4, 4)


#: Whether a whole property group can be set at once: in the versions in which that was tested. Blender's documentation
#: warns that later ones may lack this access.
TAKES_GROUP_DICTS = BLENDER_VERSION < (5, 3)


def set_property_group(owner: Any, name: str, group: dict[str, Any]) -> None:
    """Set all values of an add-on's property group at once, in Blender's storage form, with numbers for enums.

    Note:
        They are stored among custom properties, and since 5.0 among system properties, apart from them.
    """
    kept = owner.bl_system_properties_get(do_create=True) if BLENDER_VERSION >= (5, 0) else owner
    kept[name] = group


def stored_property_group(owner: Any, name: str) -> Any:
    """Return an add-on's property group as Blender stores it, a mapping also of unknown names; None if all is unset."""
    kept = owner.bl_system_properties_get() if BLENDER_VERSION >= (5, 0) else owner
    return None if kept is None else kept.get(name)


def action_curves(id_block: Any, action: Any, create: bool = True) -> Any:
    """Return the F-curve collection of ``action`` for ``id_block``, or None if there is none and ``create`` is off.

    Note:
        Actions got layers and slots in 4.4 and lost ``Action.fcurves`` in 5.0. The id must already use the action for
        its slot to be found.
    """
    if not HAS_SLOTS:
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


def strip_curves(strip: Any) -> Iterator[Any]:
    """Yield the F-curves that an NLA strip plays: before 4.4 all of its Action's, since then those of its slot."""
    if strip.action is None:
        return
    if not HAS_SLOTS:
        yield from strip.action.fcurves
        return
    for bag in _channel_bags(strip.action):
        if strip.action_slot is not None and bag.slot == strip.action_slot:
            yield from bag.fcurves


def nla_strips(data: bpy.types.AnimData) -> Iterator[Any]:
    """Yield all NLA strips of a datablock, each before those inside of it (meta strips)."""
    for track in data.nla_tracks:
        for strip in track.strips:
            yield from _with_inner_strips(strip)


def _with_inner_strips(strip: Any) -> Iterator[Any]:
    yield strip
    for inner in strip.strips:
        yield from _with_inner_strips(inner)


def set_action_copy(player: Any, action: bpy.types.Action) -> None:
    """Let an NLA strip, or animation data, play a copy of its Action, with the same slot where Actions have slots."""
    slot = player.action_slot.identifier if HAS_SLOTS and player.action_slot is not None else None
    player.action = action
    if slot is not None:
        player.action_slot = next((each for each in action.slots if each.identifier == slot), player.action_slot)


def copy_strip_slot(strip: Any, to: Any) -> None:
    """Let an NLA strip play the slot of its Action that another strip of that Action plays."""
    if HAS_SLOTS:
        to.action_slot = strip.action_slot


def all_curves(action: Any) -> Iterator[Any]:
    """Yield all F-curves of an Action."""
    for bag in _channel_bags(action):
        yield from bag.fcurves


def curve_groups(action: Any) -> Iterator[Any]:
    """Yield all groups of an Action's F-curves."""
    for bag in _channel_bags(action):
        yield from bag.groups


def _channel_bags(action: Any) -> Iterator[Any]:
    """Yield the containers of an Action's F-curves and groups: before 4.4 the Action itself."""
    if not HAS_SLOTS:
        yield action
        return
    for layer in action.layers:
        for strip in layer.strips:
            yield from strip.channelbags


def _slot(id_block: Any, action: Any, create: bool) -> Any:
    data = id_block.animation_data
    if data is not None and data.action == action and data.action_slot is not None:
        return data.action_slot
    for strip in nla_strips(data) if data is not None else ():
        if strip.action == action and strip.action_slot is not None:
            return strip.action_slot
    for slot in action.slots:
        if slot.target_id_type in {id_block.id_type, "UNSPECIFIED"}:
            return slot
    return action.slots.new(id_type=id_block.id_type, name=id_block.name) if create else None


def use_action(id_block: Any, action: bpy.types.Action | None) -> None:
    """Assign ``action`` to ``id_block``, with a slot where Actions have slots."""
    data = id_block.animation_data_create()
    data.action = action
    if action is not None and HAS_SLOTS:
        data.action_slot = _slot(id_block, action, create=True)


def action_slot(data: bpy.types.AnimData) -> Any:
    """Return the slot of the Action that is assigned; None without one, and before 4.4."""
    return data.action_slot if HAS_SLOTS else None


def played_action(data: bpy.types.AnimData) -> bpy.types.Action | None:
    """Return the assigned Action, if it plays: since slots came with 4.4 it does not without one."""
    return data.action if not HAS_SLOTS or data.action_slot is not None else None


def restore_action(data: bpy.types.AnimData, action: bpy.types.Action | None, slot: Any) -> None:
    """Assign an Action, or None, and the slot from ``action_slot``.

    Note:
        Since slots came with 4.4, an Action that is assigned plays by itself where a slot fits.
    """
    data.action = action
    if HAS_SLOTS and action is not None:
        data.action_slot = slot


def assign_strip_slot(id_block: Any, strip: bpy.types.NlaStrip, action: bpy.types.Action) -> None:
    """Set the slot of an NLA strip to the one of its Action that fits ``id_block``."""
    if not HAS_SLOTS:
        return
    for slot in action.slots:
        if slot.target_id_type in {id_block.id_type, "UNSPECIFIED"}:
            strip.action_slot = slot
            return


def is_muted(curve: bpy.types.FCurve) -> bool:
    """Return whether playback ignores a curve: because of the curve itself, or of its group.

    Note:
        Blender ignores muted groups since Actions have layers, from 4.4 on (measured: 4.2 does not, 5.0 and 5.2 do).
    """
    return curve.mute or (not HAS_SLOTS and curve.group is not None and curve.group.mute)


def new_curve(curves: Any, path: str, index: int, group: str) -> bpy.types.FCurve:
    """Create an F-curve in a group.

    Note:
        The channel bags of 4.4 and 4.5 cannot assign a group at creation: there the curve has none.
    """
    if BLENDER_VERSION >= (5, 0):
        return curves.new(path, index=index, group_name=group)
    if not HAS_SLOTS:
        return curves.new(path, index=index, action_group=group)
    return curves.new(path, index=index)


def rename_datablock(id_block: Any, name: str) -> None:
    """Rename a data-block; one that has the name already keeps it, and this one gets a number.

    Note:
        Since 4.3, setting ``name`` may number the other one instead.
    """
    if BLENDER_VERSION >= (4, 3):
        id_block.rename(name, mode="NEVER")
    else:
        id_block.name = name


def select_bone(pose: bpy.types.PoseBone, chosen: bool) -> None:
    """Select or deselect a bone in pose mode.

    Note:
        The selection of bones moved to the pose bone in 5.0.
    """
    holder: Any = pose if BLENDER_VERSION >= (5, 0) else pose.bone
    holder.select = chosen


def is_bone_selected(pose: bpy.types.PoseBone) -> bool:
    """Return whether a bone is selected in pose mode."""
    holder: Any = pose if BLENDER_VERSION >= (5, 0) else pose.bone
    return bool(holder.select)


#: Parts of the names of software renderers.
_SOFTWARE_RENDERERS = ("llvmpipe", "softpipe", "swrast", "swiftshader", "lavapipe", "software", "basic render")


def is_software_rendering() -> bool:
    """Return whether drawing is done by the processor, without a graphics card: ten to a hundred times slower."""
    import gpu

    try:
        init_gpu()
        name = gpu.platform.renderer_get()
    except (ValueError, SystemError):
        return True
    return any(part in name.lower() for part in _SOFTWARE_RENDERERS)


def init_gpu() -> None:
    """Make the ``gpu`` module work also without a window.

    Note:
        Up to 5.1 it works after the first Workbench render; since then, after ``gpu.init()``.

    Raises:
        ValueError: Nothing can be drawn on this machine.
    """
    import gpu

    try:
        if bpy.app.background and hasattr(gpu, "init"):
            gpu.init()
        gpu.shader.from_builtin("FLAT_COLOR")
    except SystemError:
        _render_pixel()
        try:
            gpu.shader.from_builtin("FLAT_COLOR")
        except SystemError as error:
            raise ValueError(Message("Graphics: drawing is not possible: {}", error)) from error


def _render_pixel() -> None:
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
        bpy.data.cameras.remove(lens)  # removes its object too
        bpy.data.scenes.remove(scene)


def render_path(path: str) -> str:
    """Escape a path so that ``RenderSettings.filepath`` takes it literally.

    Note:
        Since 4.5, words in braces are template variables.
    """
    return path if BLENDER_VERSION < (4, 5) else path.replace("{", "{{").replace("}", "}}")


#: Blender's identifier of EEVEE: with "NEXT" from 4.2, where the new engine began, to 4.5.
EEVEE = "BLENDER_EEVEE_NEXT" if BLENDER_VERSION < (5, 0) else "BLENDER_EEVEE"


def set_video_output(image_settings: Any) -> None:
    """Set a scene's output to video. Since 5.0 the media type is a setting of its own, which must be set first."""
    if BLENDER_VERSION >= (5, 0):
        image_settings.media_type = "VIDEO"
    image_settings.file_format = "FFMPEG"


def sequencer_strips(editor: Any) -> Any:
    """Return the sequencer's strips, which were called sequences before 4.4."""
    return editor.sequences if BLENDER_VERSION < (4, 4) else editor.strips


def ensure_node_tree(owner: bpy.types.Material | bpy.types.World) -> Any:
    """Return the node tree of a new material or world, which since 5.0 has one from the start."""
    if BLENDER_VERSION < (5, 0):
        owner.use_nodes = True
    return owner.node_tree


def active_nodes(material: bpy.types.Material) -> list[Any]:
    """Return the nodes that shade a material; none where it has only its viewport color.

    Note:
        Since 5.0, nodes are always in use where there are any.
    """
    tree: Any = material.node_tree
    return list(tree.nodes) if tree is not None and (BLENDER_VERSION >= (5, 0) or material.use_nodes) else []


#: Whether ``foreach_set`` on an armature's pose bones tags the pose for re-evaluation: since 4.5.
POSE_SETTING_TAGS = BLENDER_VERSION >= (4, 5)
