"""Import options, which the preferences store as defaults."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty

from ...data.preferences import import_defaults
from ...reconcile.build import BuildOptions
from ..simulation.operators import INPUT_PRESET_ITEMS as INPUT_ITEMS

_DEFAULTS = BuildOptions()


class ImportOptions:
    """Import options: mixin of the importer and of the preferences."""

    up_axis: EnumProperty(
        name="Up Axis",
        description="Axis of the file that points up in Blender; reversed on export",
        items=[
            ("AUTO", "Automatic", "Opposite to the file's gravity"),
            ("Z", "Z", "Z axis of the file"),
            ("Y", "Y", "Y axis of the file"),
            ("-Z", "-Z", "Negative Z axis of the file"),
            ("-Y", "-Y", "Negative Y axis of the file"),
            ("X", "X", "X axis of the file"),
            ("-X", "-X", "Negative X axis of the file"),
        ],
        default=_DEFAULTS.up_axis,
    )
    assemble: BoolProperty(
        name="Close Loops",
        description="Change the initial pose where a loop of the file is open. The file keeps its joint values",
        default=_DEFAULTS.assemble,
    )
    frame_view: BoolProperty(
        name="Frame in View", description="Move the 3D views so that the bodies fill them", default=True
    )
    replace_cube: BoolProperty(
        name="Replace Default Cube",
        description="Delete the cube of Blender's startup scene, if nothing of that scene was changed yet",
        default=True,
    )
    physics: BoolProperty(
        name="Physics",
        description="Add rigid bodies and constraints. This is possible later too",
        default=_DEFAULTS.physics,
    )
    ground: BoolProperty(name="Ground", description="Ground at height 0, if the file has one", default=_DEFAULTS.ground)
    gait: BoolProperty(name="Gait", description="Bake the file's gait to an Action", default=_DEFAULTS.gait)
    gait_seconds: FloatProperty(
        name="Seconds",
        description="Length of the gait's Action (s)",
        default=_DEFAULTS.gait_seconds,
        min=0.1,
        soft_max=120.0,
        max=3600.0,
    )
    sine_without_type: BoolProperty(
        name="Sine without Motion Type",
        description="Play a sine on motors of old files without a motion type, which else do not move",
        default=_DEFAULTS.sine_without_type,
    )
    inputs: EnumProperty(
        name="Inputs",
        description="Initial inputs of the gait",
        items=[
            ("AUTO", "Automatic", "Forward for the samples of the extension, else all at 0"),
            *(item[:3] for item in INPUT_ITEMS),
        ],
        default="AUTO",
    )
    adapt_scene: BoolProperty(
        name="Set Up Scene",
        description="Extend the range to hold the gait; with Simulate in This Scene also set 60 frames per second",
        default=_DEFAULTS.adapt_scene,
    )


def apply_preferences(chosen: Any) -> None:
    """Set the options that are not set yet to the preferences."""
    for name, value in import_defaults(ImportOptions.__annotations__).items():
        if not chosen.properties.is_property_set(name):
            setattr(chosen, name, value)


def draw_options(layout: bpy.types.UILayout, chosen: Any, folding: bool = True) -> None:
    """Draw the options in collapsible groups or, without folding, one below the other."""
    model = _group(layout, "KNUCKLE_import_model", "Mechanism", folding)
    if model is not None:
        model.prop(chosen, "up_axis")
        model.prop(chosen, "assemble")
        model.prop(chosen, "frame_view")
        model.prop(chosen, "replace_cube")
    physics = _group(layout, "KNUCKLE_import_physics", "Physics", folding)
    if physics is not None:
        physics.prop(chosen, "physics", text="Rigid Bodies")
        physics.prop(chosen, "ground")
    motion = _group(layout, "KNUCKLE_import_motion", "Animation", folding)
    if motion is not None:
        motion.prop(chosen, "gait")
        row = motion.row()
        row.active = chosen.gait
        row.prop(chosen, "gait_seconds")
        row = motion.row()
        row.active = chosen.gait
        row.prop(chosen, "sine_without_type")
        row = motion.row()
        row.active = chosen.gait
        row.prop(chosen, "inputs")
        motion.prop(chosen, "adapt_scene")


def _group(layout: bpy.types.UILayout, idname: str, label: str, folding: bool) -> Any:
    """Return the layout of a group of options; None while it is collapsed."""
    if not folding:
        return layout.column()
    header, body = layout.panel(idname, default_closed=False)
    header.label(text=label)
    return body
