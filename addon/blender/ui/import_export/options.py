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
        name="Up",
        description="What of the file points up in Blender. Remembered, and turned back on export",
        items=[
            ("AUTO", "Automatic", "Against the file's gravity"),
            ("Z", "Z", "The file's Z"),
            ("Y", "Y", "The file's Y"),
            ("-Z", "-Z", "The file's Z points down"),
            ("-Y", "-Y", "The file's Y points down"),
            ("X", "X", "The file's X"),
            ("-X", "-X", "The file's X points down"),
        ],
        default=_DEFAULTS.up_axis,
    )
    assemble: BoolProperty(
        name="Close Loops",
        description="Where the file's joint positions leave a loop open, begin at the nearest ones that close it. "
        "The file keeps its own",
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
        description="Make rigid bodies and constraints. They can be made, and cleared, later too",
        default=_DEFAULTS.physics,
    )
    ground: BoolProperty(
        name="Ground", description="A floor at height 0 where the file has one", default=_DEFAULTS.ground
    )
    gait: BoolProperty(
        name="Gait", description="Make an Action of the gait that the file carries", default=_DEFAULTS.gait
    )
    gait_seconds: FloatProperty(
        name="Seconds",
        description="Length of the gait's Action",
        default=_DEFAULTS.gait_seconds,
        min=0.1,
        soft_max=120.0,
        max=3600.0,
    )
    sine_without_type: BoolProperty(
        name="Sine without Motion Type",
        description="Play a sine on motors whose file, older than the motion types, states none. "
        "Without, such a gait does not move",
        default=_DEFAULTS.sine_without_type,
    )
    inputs: EnumProperty(
        name="Inputs",
        description="Inputs of the gait to begin with",
        items=[
            ("AUTO", "Automatic", "Forward for the samples of the extension, else all at 0"),
            *(item[:3] for item in INPUT_ITEMS),
        ],
        default="AUTO",
    )
    adapt_scene: BoolProperty(
        name="Set Up Scene",
        description="Run the scene at 60 frames per second, as servos are controlled once per frame, "
        "and lengthen its range to hold the gait",
        default=_DEFAULTS.adapt_scene,
    )


def apply_preferences(chosen: Any) -> None:
    """Set the options that are not set yet to the preferences."""
    for name, value in import_defaults(ImportOptions.__annotations__).items():
        if not chosen.properties.is_property_set(name):
            setattr(chosen, name, value)


def draw_options(layout: bpy.types.UILayout, chosen: Any, folding: bool = True) -> None:
    """Draw the options in collapsible groups or, without folding, one below the other."""
    model = _group(layout, "KNUCKLE_import_model", "Model", folding)
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
