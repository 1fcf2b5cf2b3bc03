"""Input presets: buttons that set the inputs of a gait, and the one that an import begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.props import EnumProperty

from .... import formats
from ....core.gait.presets import FORWARD, PRESETS, input_presets
from ....core.report import FormatError
from ...animation.gait import settings_curves
from ...animation.input_presets import input_names, presets_of, set_inputs
from ...data.access import settings
from ...data.properties.model import control_property
from ...data.queries import is_foreign
from ...scene.samples import is_sample
from ..base.operators import NeedsModel, Result, say
from ..base.panels import paragraph

ITEMS: list[Any] = [
    ("STAND", "Stand", "Inputs at which the mechanism stays where it is", "PAUSE", 0),
    ("FORWARD", "Forward", "Inputs at which the mechanism goes forward", "TRIA_UP", 1),
    ("BACKWARD", "Backward", "Inputs at which the mechanism goes backward", "TRIA_DOWN", 2),
    ("TURN_LEFT", "Turn Left", "Inputs at which the mechanism turns to the left", "LOOP_BACK", 3),
    ("TURN_RIGHT", "Turn Right", "Inputs at which the mechanism turns to the right", "LOOP_FORWARDS", 4),
]
_LABELS = {item[0]: item[1] for item in ITEMS}


class KNUCKLE_OT_set_inputs(NeedsModel):
    bl_idname = "knuckle.set_inputs"
    bl_label = "Set Inputs"
    bl_description = "Set the inputs of the gait by a preset. An unedited Action of the gait is baked anew with them"
    bl_options = {"REGISTER", "UNDO"}

    preset: EnumProperty(name="Preset", description="Inputs to set", items=ITEMS)

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        return "" if input_names(rig) else "The gait of the mechanism reads no input"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        inputs = presets_of(rig).get(self.preset)
        if inputs is None:
            raise ValueError(f"No input lets the mechanism do this: {_LABELS[self.preset]}")
        set_inputs(context.scene, rig, inputs)
        curves = settings_curves(rig)
        keyed = [name for name in input_names(rig) if (f"knuckle.controls.{control_property(name)}", 0) in curves]
        if keyed:
            say(self, {"WARNING"}, f"The keyframes of {', '.join(keyed)} override the preset. Remove them to use it")
        return {"FINISHED"}


def draw_presets(context: bpy.types.Context, layout: bpy.types.UILayout, rig: bpy.types.Object) -> None:
    """The presets of a mechanism's gait as buttons: standing and both ways in one row, turning in the next.

    A document that cannot be read, as while somebody edits its text, has its error in their place.
    """
    if is_foreign(rig):
        return
    try:
        found = presets_of(rig)
    except FormatError as error:
        paragraph(context, layout, str(error), "ERROR")
        return
    column = layout.column(align=True)
    for names in (PRESETS[:3], PRESETS[3:]):
        row = column.row(align=True)
        for item in ITEMS:
            if item[0] in names and item[0] in found:
                row.operator("knuckle.set_inputs", text=item[1], icon=item[3]).preset = item[0]


def start_inputs(scene: bpy.types.Scene, rig: bpy.types.Object, path: str, chosen: str) -> None:
    """Set the inputs that an import begins with.

    Args:
        scene: The scene that it was imported into.
        rig: The mechanism.
        path: The file that it came from.
        chosen: A preset, or ``AUTO``: forward for samples of ours. A preset that the gait has not is passed over.
    """
    if chosen == "AUTO":
        chosen = FORWARD if is_sample(Path(path)) else ""
    inputs = presets_of(rig).get(chosen)
    if inputs is not None and settings(rig).listens_to:
        set_inputs(scene, rig, inputs)


def goes_forward(path: str) -> bool:
    """Return whether a file is a sample of ours with a gait that inputs let go forward."""
    return is_sample(Path(path)) and FORWARD in input_presets(formats.load(path))


CLASSES = (KNUCKLE_OT_set_inputs,)
