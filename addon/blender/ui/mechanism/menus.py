"""Menus: Mechanism in the header of the 3D View, Add > Mechanism, and entries of the context menus.

The Mechanism menu, in Object and Pose mode, has every command by subject: Blender's search (F3), shortcuts and Quick
Favorites reach an operator only through a menu.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty
from mathutils import Matrix

from .... import formats
from ....core.report import Message
from ....core.templates import TEMPLATES
from ....installation import sample_files
from ...data.access import record_of
from ...data.queries import require_rig, rig_of
from ...reconcile.build import BuildOptions, build
from ..base.operators import (
    ERRORS,
    AddModelOperator,
    Result,
    active_model,
    cancel_with_error,
    model_summary,
    report_message,
    shown_in_local_views,
)
from ..base.selection import active_joint, select_only, selected_parts
from ..editing.create import KNUCKLE_OT_new_model


class MenuEntry(NamedTuple):
    """Operator in a menu.

    Attributes:
        operator: Identifier of the operator; empty for a separator.
        text: Label, if the operator's own needs the context of a panel; else empty.
        choices: Enum property whose items are listed in a submenu; else empty.
    """

    operator: str
    text: str = ""
    choices: str = ""


class MenuSubject(NamedTuple):
    """Submenu of the Mechanism menu."""

    label: str
    entries: tuple[MenuEntry, ...]

    @property
    def menu(self) -> str:
        """Identifier of the submenu's class."""
        return f"KNUCKLE_MT_{self.label.lower().replace(' ', '_')}"


#: Separator between two groups of entries.
_SEPARATOR = MenuEntry("")

#: Submenus, in order.
MENU_SUBJECTS = (
    MenuSubject(
        "Simulation",
        (
            MenuEntry("knuckle.set_drive", "Drive", "drive"),
            MenuEntry("knuckle.set_inputs", "Set Inputs", "preset"),
            MenuEntry("knuckle.follow_in_view"),
            MenuEntry("knuckle.live_input"),
            MenuEntry("knuckle.map_live_servo"),
            _SEPARATOR,
            MenuEntry("knuckle.build_physics"),
            MenuEntry("knuckle.fit_world"),
            MenuEntry("knuckle.bake_physics"),
            MenuEntry("knuckle.check_convergence"),
            MenuEntry("knuckle.compare_mujoco"),
            MenuEntry("knuckle.select_worst"),
            _SEPARATOR,
            MenuEntry("knuckle.remove_body_keys"),
            MenuEntry("knuckle.clear_physics"),
        ),
    ),
    MenuSubject(
        "Motion",
        (
            MenuEntry("import_anim.servo_motion", "Import Servo Motion…"),
            MenuEntry("export_anim.servo_motion", "Export Servo Motion…"),
            _SEPARATOR,
            MenuEntry("knuckle.bake_gait"),
            MenuEntry("knuckle.loop_motion"),
            MenuEntry("knuckle.stop_looping"),
            MenuEntry("knuckle.mirror_motion"),
            MenuEntry("knuckle.offset_motion"),
            MenuEntry("knuckle.scale_motion"),
            _SEPARATOR,
            MenuEntry("knuckle.store_pose"),
        ),
    ),
    MenuSubject(
        "Joints and Stops",
        (
            MenuEntry("knuckle.key_servos"),
            MenuEntry("knuckle.zero_servos"),
            MenuEntry("knuckle.joint_table", "Table of Joints…"),
            MenuEntry("knuckle.drive_loop"),
            _SEPARATOR,
            MenuEntry("knuckle.set_stops", "Set Stops", "to"),
            MenuEntry("knuckle.switch_stops"),
            MenuEntry("knuckle.sweep"),
        ),
    ),
    MenuSubject(
        "Twins",
        (
            MenuEntry("knuckle.mirror_to_twin"),
            MenuEntry("knuckle.create_twin"),
            _SEPARATOR,
            MenuEntry("knuckle.find_twins"),
            MenuEntry("knuckle.link_twins"),
            MenuEntry("knuckle.unlink_twins"),
            MenuEntry("knuckle.check_symmetry"),
        ),
    ),
    MenuSubject(
        "Edit",
        (
            MenuEntry("knuckle.make_body"),
            MenuEntry("knuckle.add_joint"),
            _SEPARATOR,
            MenuEntry("knuckle.set_joint_type", "Set Joint Type", "type"),
            MenuEntry("knuckle.move_joint", "Move Joint", "where"),
            MenuEntry("knuckle.swap_joint"),
            MenuEntry("knuckle.refit"),
            _SEPARATOR,
            MenuEntry("knuckle.duplicate_limb"),
            MenuEntry("knuckle.split_model"),
            MenuEntry("knuckle.merge_models"),
            MenuEntry("knuckle.delete_parts"),
        ),
    ),
    MenuSubject(
        "Check",
        (
            MenuEntry("knuckle.check_model"),
            MenuEntry("knuckle.rebuild"),
            MenuEntry("knuckle.clean_up"),
            MenuEntry("knuckle.self_check"),
        ),
    ),
    MenuSubject(
        "Video",
        (
            MenuEntry("knuckle.preview_film"),
            MenuEntry("knuckle.render_film"),
            MenuEntry("knuckle.overlay_picture"),
        ),
    ),
)


def _submenu(subject: MenuSubject) -> type[bpy.types.Menu]:
    """Create the class of a submenu, which lists the entries of a subject."""

    def draw(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
        for entry in subject.entries:
            if entry == _SEPARATOR:
                self.layout.separator()
            elif entry.choices:
                self.layout.operator_menu_enum(entry.operator, entry.choices, text=entry.text)
            elif entry.text:
                self.layout.operator(entry.operator, text=entry.text)
            else:
                self.layout.operator(entry.operator)

    content: dict[str, Any] = {"bl_idname": subject.menu, "bl_label": subject.label, "draw": draw}
    return type(subject.menu, (bpy.types.Menu,), {**content, "__module__": __name__})


class KNUCKLE_MT_mechanism(bpy.types.Menu):  # noqa: D101 - Blender shows a menu's docstring as tooltip
    bl_idname = "KNUCKLE_MT_mechanism"
    bl_label = "Mechanism"

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the menu."""
        layout = self.layout
        layout.operator_context = "INVOKE_REGION_WIN"
        layout.menu(KNUCKLE_MT_add.bl_idname, text="Add Mechanism", icon="ADD")
        layout.operator("import_scene.mechanism", text="Import Mechanism…", icon="IMPORT")
        layout.operator("export_scene.mechanism", text="Export Mechanism…", icon="EXPORT")
        layout.separator()
        for subject in MENU_SUBJECTS:
            layout.menu(subject.menu)


def menu(self: bpy.types.Menu, context: bpy.types.Context) -> None:
    """Draw the Mechanism menu in the header of the 3D View."""
    if context.mode in {"OBJECT", "POSE"}:
        self.layout.menu(KNUCKLE_MT_mechanism.bl_idname)


_KIND_ITEMS: list[Any] = [
    ("pendulum", "Pendulum", "Links that swing below a hinge on the world", "CON_TRACKTO", 0),
    ("four_bar", "Four-Bar Linkage", "A crank, a coupler and a rocker between two hinges on the world", "LINKED", 1),
    ("slider_crank", "Slider-Crank", "A crank that moves a slider with a rod, as in an engine", "DRIVER", 2),
    ("walker", "Walker", "A trunk on pairs of legs with two hinges each, which are twins", "ARMATURE_DATA", 3),
]
#: Options of each kind.
_FIELDS = {
    "pendulum": ("length", "links"),
    "four_bar": ("crank", "coupler", "rocker", "ground"),
    "slider_crank": ("crank", "rod"),
    "walker": ("legs", "height"),
}


def _length_property(name: str, description: str, default: float) -> Any:
    return FloatProperty(name=name, description=description, default=default, min=0.001, subtype="DISTANCE")


class KNUCKLE_OT_add_mechanism(AddModelOperator):
    """Operator: add a template mechanism at the 3D cursor."""

    bl_idname = "knuckle.add_mechanism"
    bl_label = "Add Mechanism"
    bl_description = "Add a template mechanism at the 3D cursor"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    kind: EnumProperty(name="Kind", description="Template of the mechanism", items=_KIND_ITEMS)
    length: _length_property("Length", "Length of each link", 1.0)
    links: IntProperty(name="Links", description="Number of links", default=1, min=1, max=100)
    crank: _length_property("Crank", "Length of the crank", 0.4)
    coupler: _length_property("Coupler", "Length of the bar between crank and rocker", 1.0)
    rocker: _length_property("Rocker", "Length of the rocker", 0.8)
    ground: _length_property("Ground", "Distance between the two hinges on the world", 1.0)
    rod: _length_property("Rod", "Length of the rod between crank and slider", 1.2)
    legs: IntProperty(name="Legs", description="Number of legs, in pairs", default=4, min=2, max=40, step=2)
    height: _length_property("Hip Height", "Height of the hips above the ground", 1.0)

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the kind and its options."""
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "kind")
        for name in _FIELDS[self.kind]:
            layout.prop(self, name)

    def execute(self, context: bpy.types.Context) -> Result:
        """Build the mechanism, move it to the 3D cursor and select it."""
        try:
            mechanism = TEMPLATES[self.kind](**{name: getattr(self, name) for name in _FIELDS[self.kind]})
            with shown_in_local_views(context):
                rig = require_rig(build(mechanism, context, BuildOptions(physics=False, gait=False, adapt_scene=False)))
        except ERRORS as error:
            return cancel_with_error(self, error)
        rig.matrix_world = Matrix.Translation(context.scene.cursor.location) @ rig.matrix_world
        select_only(context, [rig])
        report_message(self, {"INFO"}, Message("{} added: {}", repr(record_of(rig).source_name), model_summary(rig)))
        return {"FINISHED"}


class KNUCKLE_MT_add(bpy.types.Menu):  # noqa: D101 - Blender shows a menu's docstring as tooltip
    bl_idname = "KNUCKLE_MT_add"
    bl_label = "Mechanism"

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the menu."""
        layout = self.layout
        layout.operator_context = "EXEC_REGION_WIN"
        layout.operator(KNUCKLE_OT_new_model.bl_idname, text="Empty", icon="ARMATURE_DATA")
        layout.separator()
        for kind, label, _description, icon, _number in _KIND_ITEMS:
            entry = layout.operator(KNUCKLE_OT_add_mechanism.bl_idname, text=label, icon=icon)
            entry.kind = kind
        found = sample_files({ending for row in formats.FORMATS.values() for ending in row.extensions})
        if found:
            layout.separator()
        for path in found:
            title = path.stem.replace("_", " ").title()
            entry = layout.operator("import_scene.mechanism", text=title, icon="FILE")
            entry.filepath, entry.frame_view, entry.replace_cube, entry.inputs = str(path), True, True, "AUTO"


def add_menu_entries(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """Draw the entry of Blender's Add menu."""
    self.layout.menu(KNUCKLE_MT_add.bl_idname, icon="CON_ARMATURE")


class KNUCKLE_MT_context(bpy.types.Menu):  # noqa: D101 - Blender shows a menu's docstring as tooltip
    bl_idname = "KNUCKLE_MT_context"
    bl_label = "Mechanism"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the menu."""
        layout = self.layout
        rig = active_model(context)
        selected = context.view_layer.objects.selected
        if rig is not None and any(obj.type == "MESH" and rig_of(obj) is None for obj in selected):
            layout.operator("knuckle.make_body", icon="MESH_CUBE")
        chosen = selected_parts(context, rig) if rig is not None else []
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
    """Draw the entry of Blender's context menus if a part of a mechanism is selected."""
    if any(rig_of(obj) is not None for obj in context.view_layer.objects.selected):
        self.layout.separator()
        self.layout.menu(KNUCKLE_MT_context.bl_idname, icon="CON_ARMATURE")


CLASSES = (
    KNUCKLE_OT_add_mechanism,
    KNUCKLE_MT_add,
    KNUCKLE_MT_context,
    *map(_submenu, MENU_SUBJECTS),
    KNUCKLE_MT_mechanism,
)
