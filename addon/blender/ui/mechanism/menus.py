"""The Mechanism menu in the header of the 3D View, in Object and Pose mode: every command, by subject.

Blender's search (F3), shortcuts and Quick Favorites reach an operator only through a menu.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import bpy

from .add_menu import KNUCKLE_MT_add


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


CLASSES = (*map(_submenu, SUBJECTS), KNUCKLE_MT_mechanism)
