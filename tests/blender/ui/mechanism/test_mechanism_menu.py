"""The Mechanism menu in the header of the 3D View: it lists every command that needs no row of a panel."""

from __future__ import annotations

from typing import Any

from tests.support.panels_helpers import Layout

#: Operators that act on the row of a list or table in which their button stands, or on another operator's result.
ROWS = {
    "add_servo_name": "the list of servo names",
    "copy_check": "the result of the self-check",
    "copy_joint": "a row of the table of joints",
    "delete_pose": "a row of the poses",
    "fix_finding": "a row of the findings",
    "key_left_over": "the list of servo names",
    "key_servo": "a row of the servos",
    "link_found_twins": "a row of the twins that were found",
    "list_left_over": "the list of servo names",
    "mesh_folder_add": "the preferences",
    "mesh_folder_remove": "the preferences",
    "recall_pose": "a row of the poses",
    "remove_servo_name": "the list of servo names",
    "select_part": "a row of a report",
    "show_servo": "a row of a motion",
    "switch_assembly": "a row of the assemblies",
    "tick_joints": "a row of the table of joints",
    "unmap_live_servo": "a row of Live Input Keys",
    "use_motion": "a row of the motions",
    "new_model": "Add > Mechanism",
    "add_mechanism": "Add > Mechanism",
}


def drawn(name: str) -> list[tuple[str, Any]]:
    import bpy

    out: list[tuple[str, Any]] = []
    getattr(bpy.types, name).draw(type("Menu", (), {"layout": Layout(out)})(), bpy.context)
    return out


def listed(name: str = "KNUCKLE_MT_mechanism") -> list[str]:
    """The operators of a menu and of its submenus."""
    out: list[str] = []
    for kind, what in drawn(name):
        out += [what] if kind == "operator" else listed(what) if kind == "menu" else []
    return out


def test_menu_lists_every_operator_that_needs_no_row(blank: Any) -> None:
    import bpy

    found = listed()
    assert {"import_scene.mechanism", "export_scene.mechanism", "import_anim.servo_motion"} <= set(found)
    ours = {name for name in dir(bpy.ops.knuckle) if not name.startswith("_")}
    assert {f"knuckle.{name}" for name in ours - ROWS.keys()} <= set(found)
    assert not ROWS.keys() - ours, "a name in the list of rows is no operator any more"


def test_header_shows_the_menu_in_object_and_pose_mode_alone(blank: Any) -> None:
    import bpy

    from addon.blender.ui.mechanism.menus import menu

    for mode, expected in (("OBJECT", 1), ("POSE", 1), ("EDIT_ARMATURE", 0)):
        out: list[tuple[str, Any]] = []
        menu(type("Menu", (), {"layout": Layout(out)})(), type("Context", (), {"mode": mode})())
        assert len(out) == expected
    assert menu in bpy.types.VIEW3D_MT_editor_menus.draw._draw_funcs
