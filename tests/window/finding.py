"""What the drivers find their way by: buttons by what they do, panels shown alone, and the parts of models.

Blender does not tell where a button is, and its place differs between versions and with every panel above it. So the
pointer is moved down the sidebar until what lies under it is the button: Blender can say an operator's call, or a
property's path, for the button that the pointer is on. ``run.py`` lays this file into the home folder."""

import re
import sys

import bpy
from driving import area, move, point, region

TAB = "Knuckle"
_STEP = 9  # pixels; the lowest buttons are 20 high


def under():
    """What the button under the pointer does: its call, ``bpy.ops.knuckle.check_model()``, or its property's path."""
    manager = bpy.context.window_manager
    manager.clipboard = ""
    with bpy.context.temp_override(window=manager.windows[0], area=area(), region=region("UI")):
        if bpy.ops.ui.copy_python_command_button.poll():
            bpy.ops.ui.copy_python_command_button()
        elif bpy.ops.ui.copy_data_path_button.poll():
            bpy.ops.ui.copy_data_path_button(full_path=True)
    return manager.clipboard


def find(words, *columns):
    """``place = yield from find("knuckle.create_twin")``: a button of the sidebar, by a part of what it does,
    an expression of ``re``.

    ``columns`` are the shares of the width to look at. LookupError, with what there is, where there is none."""
    sidebar, seen = region("UI"), []
    for share in columns or (0.5, 0.25, 0.75):
        for down in range(34, min(sidebar.height - 4, 1400), _STEP):
            place = point(sidebar, round(share * (sidebar.width - 24)), down)
            move(*place)
            yield
            told = under()
            if re.search(words, told):
                return place
            seen.append(told)
    raise LookupError(f"no button {words!r} in the sidebar, only {sorted(set(filter(None, seen)))}")


def _registered():
    """All panels of the tab, in the order in which they were registered."""
    rooms = next(module for name, module in sys.modules.items() if name.endswith(".blender.ui"))
    return [cls for cls in rooms._CLASSES if issubclass(cls, bpy.types.Panel) and cls.bl_region_type == "UI"]


PANELS = _registered()
_CLOSED = {cls: cls.bl_options for cls in PANELS if hasattr(cls, "bl_options")}


def alone(*names, within=None):
    """Only these panels of the tab, ``"model"`` or ``"twins"``, with what lies ``within`` them (None: all that does),
    opened if they were never drawn before."""
    wanted = {f"VIEW3D_PT_knuckle_{name}" for name in names}
    inner = [cls for cls in PANELS if getattr(cls, "bl_parent_id", "") in wanted]
    if within is not None:
        inner = [cls for cls in inner if cls.__name__.removeprefix("VIEW3D_PT_knuckle_") in within]
    _show([cls for cls in PANELS if cls.__name__ in wanted or cls in inner], set())


def every():
    """All panels again, as users have them; the last that a driver does, as Blender takes them down when it closes."""
    _show(PANELS, None)


def _show(wanted, options):
    for cls in reversed(PANELS):
        if cls.is_registered:
            bpy.utils.unregister_class(cls)
    for cls in wanted:
        if cls in _CLOSED:
            cls.bl_options = _CLOSED[cls] if options is None else options
        bpy.utils.register_class(cls)
    if area().spaces.active.show_region_ui:
        region("UI").tag_redraw()


def rigs():
    """The models of the file."""
    return [obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL"]


def rig():
    """The first of them, or None."""
    return next(iter(rigs()), None)


def bodies(part=""):
    """The bodies that have this in their names."""
    return [obj for obj in bpy.data.objects if obj.knuckle.role == "BODY" and part in obj.name]


def pick(*objects):
    """Select these alone, the last one active."""
    for obj in list(bpy.context.view_layer.objects.selected):
        obj.select_set(False)
    for obj in objects:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = objects[-1]


def away_with_the_usual():
    """Remove what Blender begins with."""
    for name in ("Cube", "Light", "Camera"):
        bpy.data.objects.remove(bpy.data.objects[name])


def curves_of(action):
    """The F-curves of an Action, which got layers in 4.4."""
    if not hasattr(action, "layers"):
        return list(action.fcurves)
    return [
        curve for layer in action.layers for strip in layer.strips for bag in strip.channelbags for curve in bag.fcurves
    ]
