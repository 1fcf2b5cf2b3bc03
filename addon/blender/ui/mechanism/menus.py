"""The Mechanism menu in the header of the 3D View, in Object and Pose mode: every command, by subject.

Blender's search (F3), shortcuts and Quick Favorites reach an operator only through a menu.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty
from mathutils import Matrix

from ....core.templates import STARTERS
from ...data.access import record_of
from ...data.queries import require_rig, rig_of
from ...reconcile.build import BuildOptions, build
from ...scene.samples import samples
from ..base.operators import ERRORS, AddsModel, Result, census, model_in, refuse, say, seen_in_local_views
from ..base.selection import active_joint, chosen_parts, select_only
from ..editing.create import KNUCKLE_OT_new_model


class Entry(NamedTuple):
    """One operator of a menu: its id, the text where its own label needs the context of a panel, and the property
    whose choices are listed each."""

    operator: str
    text: str = ""
    choices: str = ""


class Subject(NamedTuple):
    """A submenu."""

    label: str
    entries: tuple[Entry, ...]

    @property
    def menu(self) -> str:
        """The id of its menu."""
        return f"KNUCKLE_MT_{self.label.lower().replace(' ', '_')}"


#: What stands between two groups of entries.
_LINE = Entry("")

#: The submenus in their order.
SUBJECTS = (
    Subject(
        "Simulation",
        (
            Entry("knuckle.set_drive", "Drive", "drive"),
            Entry("knuckle.set_inputs", "Set Inputs", "preset"),
            Entry("knuckle.follow_in_view"),
            Entry("knuckle.live_input"),
            Entry("knuckle.map_live_servo"),
            _LINE,
            Entry("knuckle.build_physics"),
            Entry("knuckle.fit_world"),
            Entry("knuckle.bake_physics"),
            Entry("knuckle.select_worst"),
            _LINE,
            Entry("knuckle.remove_body_keys"),
            Entry("knuckle.clear_physics"),
        ),
    ),
    Subject(
        "Motion",
        (
            Entry("import_anim.servo_motion", "Import Servo Motion…"),
            Entry("export_anim.servo_motion", "Export Servo Motion…"),
            _LINE,
            Entry("knuckle.bake_gait"),
            Entry("knuckle.loop_motion"),
            Entry("knuckle.stop_looping"),
            Entry("knuckle.mirror_motion"),
            Entry("knuckle.offset_motion"),
            Entry("knuckle.scale_motion"),
            _LINE,
            Entry("knuckle.store_pose"),
        ),
    ),
    Subject(
        "Joints and Stops",
        (
            Entry("knuckle.key_servos"),
            Entry("knuckle.zero_servos"),
            Entry("knuckle.joint_table", "Table of Joints…"),
            Entry("knuckle.drive_loop"),
            _LINE,
            Entry("knuckle.set_stops", "Set Stops", "to"),
            Entry("knuckle.switch_stops"),
            Entry("knuckle.sweep"),
        ),
    ),
    Subject(
        "Twins",
        (
            Entry("knuckle.mirror_to_twin"),
            Entry("knuckle.create_twin"),
            _LINE,
            Entry("knuckle.find_twins"),
            Entry("knuckle.link_twins"),
            Entry("knuckle.unlink_twins"),
            Entry("knuckle.check_symmetry"),
        ),
    ),
    Subject(
        "Edit",
        (
            Entry("knuckle.make_body"),
            Entry("knuckle.add_joint"),
            _LINE,
            Entry("knuckle.set_joint_type", "Set Joint Type", "type"),
            Entry("knuckle.move_joint", "Move Joint", "where"),
            Entry("knuckle.swap_joint"),
            Entry("knuckle.refit"),
            _LINE,
            Entry("knuckle.duplicate_limb"),
            Entry("knuckle.split_model"),
            Entry("knuckle.merge_models"),
            Entry("knuckle.delete_parts"),
        ),
    ),
    Subject(
        "Check",
        (
            Entry("knuckle.check_model"),
            Entry("knuckle.rebuild"),
            Entry("knuckle.clean_up"),
            Entry("knuckle.self_check"),
        ),
    ),
    Subject(
        "Video",
        (
            Entry("knuckle.preview_film"),
            Entry("knuckle.render_film"),
            Entry("knuckle.overlay_picture"),
        ),
    ),
)


def _submenu(subject: Subject) -> type[bpy.types.Menu]:
    """Make the class of a submenu, which lists the entries of a subject."""

    def draw(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
        for entry in subject.entries:
            if entry == _LINE:
                self.layout.separator()
            elif entry.choices:
                self.layout.operator_menu_enum(entry.operator, entry.choices, text=entry.text)
            elif entry.text:
                self.layout.operator(entry.operator, text=entry.text)
            else:
                self.layout.operator(entry.operator)

    content: dict[str, Any] = {"bl_idname": subject.menu, "bl_label": subject.label, "draw": draw}
    return type(subject.menu, (bpy.types.Menu,), {**content, "__module__": __name__})


class KNUCKLE_MT_mechanism(bpy.types.Menu):
    bl_idname = "KNUCKLE_MT_mechanism"
    bl_label = "Mechanism"

    def draw(self, _context: bpy.types.Context) -> None:
        layout = self.layout
        layout.operator_context = "INVOKE_REGION_WIN"
        layout.menu(KNUCKLE_MT_add.bl_idname, text="Add Mechanism", icon="ADD")
        layout.operator("import_scene.mechanism", text="Import Mechanism…", icon="IMPORT")
        layout.operator("export_scene.mechanism", text="Export Mechanism…", icon="EXPORT")
        layout.separator()
        for subject in SUBJECTS:
            layout.menu(subject.menu)


def menu(self: bpy.types.Menu, context: bpy.types.Context) -> None:
    """The entry in the header of the 3D View."""
    if context.mode in {"OBJECT", "POSE"}:
        self.layout.menu(KNUCKLE_MT_mechanism.bl_idname)


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


def add_menu_entries(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """The entry of Blender's Add menu."""
    self.layout.menu(KNUCKLE_MT_add.bl_idname, icon="CON_ARMATURE")


class KNUCKLE_MT_context(bpy.types.Menu):
    bl_idname = "KNUCKLE_MT_context"
    bl_label = "Mechanism"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        rig = model_in(context)
        selected = context.view_layer.objects.selected
        if rig is not None and any(obj.type == "MESH" and rig_of(obj) is None for obj in selected):
            layout.operator("knuckle.make_body", icon="MESH_CUBE")
        chosen = chosen_parts(context, rig) if rig is not None else []
        bodies = [obj for obj in chosen if record_of(obj).role == "BODY"]
        if bodies and context.mode == "OBJECT":
            layout.operator("knuckle.add_joint", icon="EMPTY_ARROWS")
        if chosen:
            layout.operator("knuckle.duplicate_limb", icon="DUPLICATE")
            layout.operator("knuckle.create_twin", icon="MOD_MIRROR")
            layout.operator("knuckle.mirror_to_twin", icon="MOD_MIRROR")
        if rig is not None and active_joint(context, rig) is not None:
            layout.separator()
            layout.operator_menu_enum("knuckle.set_joint_type", "type", icon="CON_ROTLIKE")
            layout.operator_menu_enum("knuckle.move_joint", "where", icon="OBJECT_ORIGIN")
            layout.operator("knuckle.swap_joint", icon="ARROW_LEFTRIGHT")
        if context.mode != "OBJECT":
            return
        layout.separator()
        if bodies:
            layout.operator("knuckle.split_model", icon="UNLINKED")
        if len({rig_of(obj) for obj in selected} - {None}) > 1:
            layout.operator("knuckle.merge_models", icon="LINKED")
        if chosen:
            layout.operator("knuckle.delete_parts", icon="X")


def context_menu_entries(self: bpy.types.Menu, context: bpy.types.Context) -> None:
    """The entry of Blender's context menus, where something of a mechanism is selected."""
    if any(rig_of(obj) is not None for obj in context.view_layer.objects.selected):
        self.layout.separator()
        self.layout.menu(KNUCKLE_MT_context.bl_idname, icon="CON_ARMATURE")


CLASSES = (
    KNUCKLE_OT_add_mechanism,
    KNUCKLE_MT_add,
    KNUCKLE_MT_context,
    *map(_submenu, SUBJECTS),
    KNUCKLE_MT_mechanism,
)
