"""Add > Mechanism: an empty one, mechanisms to begin with, and the samples that come with the extension."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty
from mathutils import Matrix

from ....core.templates import STARTERS
from ...data.access import record_of
from ...data.queries import require_rig
from ...reconcile.build import BuildOptions, build
from ...scene.samples import samples
from ..base.operators import ERRORS, AddsModel, Result, census, refuse, say, seen_in_local_views
from ..base.selection import select_only
from ..editing.create import KNUCKLE_OT_new_model

_KINDS: list[Any] = [
    ("pendulum", "Pendulum", "Links that hang from the world and swing", "CON_TRACKTO", 0),
    ("four_bar", "Four-Bar Linkage", "A crank, a coupler and a rocker between two hinges on the world", "LINKED", 1),
    ("slider_crank", "Slider-Crank", "A crank that moves a slider with a rod, as in an engine", "DRIVER", 2),
    ("walker", "Walker", "A trunk on pairs of legs with two hinges each, twins of one another", "ARMATURE_DATA", 3),
]
#: Which lengths each kind has.
_FIELDS = {
    "pendulum": ("length", "links"),
    "four_bar": ("crank", "coupler", "rocker", "ground"),
    "slider_crank": ("crank", "rod"),
    "walker": ("legs", "height"),
}


def _length(name: str, description: str, default: float) -> Any:
    return FloatProperty(name=name, description=description, default=default, min=0.001, subtype="DISTANCE")


class KNUCKLE_OT_add_mechanism(AddsModel):
    bl_idname = "knuckle.add_mechanism"
    bl_label = "Add Mechanism"
    bl_description = "Add a mechanism to begin with, at the 3D cursor"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    kind: EnumProperty(name="Kind", description="Which mechanism to begin with", items=_KINDS)
    length: _length("Length", "Length of each link", 1.0)
    links: IntProperty(name="Links", description="How many links hang from one another", default=1, min=1, max=100)
    crank: _length("Crank", "Length of the crank", 0.4)
    coupler: _length("Coupler", "Length of the bar between crank and rocker", 1.0)
    rocker: _length("Rocker", "Length of the rocker", 0.8)
    ground: _length("Ground", "Between the two hinges on the world", 1.0)
    rod: _length("Rod", "Length of the rod between crank and slider", 1.2)
    legs: IntProperty(name="Legs", description="How many legs, in pairs", default=4, min=2, max=40, step=2)
    height: _length("Hip Height", "From the ground to the hips", 1.0)

    def draw(self, _context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "kind")
        for name in _FIELDS[self.kind]:
            layout.prop(self, name)

    def execute(self, context: bpy.types.Context) -> Result:
        try:
            mechanism = STARTERS[self.kind](**{name: getattr(self, name) for name in _FIELDS[self.kind]})
            with seen_in_local_views(context):
                rig = require_rig(build(mechanism, context, BuildOptions(physics=False, gait=False, adapt_scene=False)))
        except ERRORS as error:
            return refuse(self, error)
        rig.matrix_world = Matrix.Translation(context.scene.cursor.location) @ rig.matrix_world
        select_only(context, [rig])
        say(self, {"INFO"}, f"{record_of(rig).source_name!r} added: {census(rig)}")
        return {"FINISHED"}


class KNUCKLE_MT_add(bpy.types.Menu):
    bl_idname = "KNUCKLE_MT_add"
    bl_label = "Mechanism"

    def draw(self, _context: bpy.types.Context) -> None:
        layout = self.layout
        layout.operator_context = "EXEC_REGION_WIN"
        layout.operator(KNUCKLE_OT_new_model.bl_idname, text="Empty", icon="ARMATURE_DATA")
        layout.separator()
        for kind, label, _description, icon, _number in _KINDS:
            entry = layout.operator(KNUCKLE_OT_add_mechanism.bl_idname, text=label, icon=icon)
            entry.kind = kind
        found = samples()
        if found:
            layout.separator()
        for path in found:
            title = path.stem.replace("_", " ").title()
            entry = layout.operator("import_scene.mechanism", text=title, icon="FILE")
            entry.filepath, entry.frame_view, entry.replace_cube, entry.inputs = str(path), True, True, "AUTO"


def menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """The entry of Blender's Add menu."""
    self.layout.menu(KNUCKLE_MT_add.bl_idname, icon="CON_ARMATURE")


CLASSES = (KNUCKLE_OT_add_mechanism, KNUCKLE_MT_add)
