"""The Mechanism menu of the 3D View's header, Add > Mechanism and the context menus: what they offer and create."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.panels_helpers import Layout


def drawn(menu: Any) -> list[tuple[str, Any]]:
    import bpy

    out: list[tuple[str, Any]] = []
    menu.draw(type("Menu", (), {"layout": Layout(out)})(), bpy.context)
    return out


@pytest.mark.parametrize(
    ("kind", "options", "bodies", "joints"),
    [
        ("pendulum", {"links": 2}, 2, 2),
        ("four_bar", {}, 3, 4),
        ("slider_crank", {"crank": 0.2}, 3, 4),
        ("walker", {"legs": 4}, 9, 8),
    ],
)
def test_a_mechanism_to_begin_with_poses_simulates_and_goes_out(
    blank: Any, tmp_path: Path, kind: str, options: dict[str, Any], bodies: int, joints: int
) -> None:
    import bpy

    from addon import formats
    from addon.blender.data.queries import parts
    from addon.blender.physics.world.membership import is_simulated

    bpy.context.scene.cursor.location = (1.0, 2.0, 0.0)
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.knuckle.add_mechanism(kind=kind, **options) == {"FINISHED"}
    rig = bpy.context.object
    assert (len(parts(rig, "BODY")), len(parts(rig, "JOINT"))) == (bodies, joints)
    assert rig.matrix_world.translation[:] == pytest.approx((1.0, 2.0, 0.0))
    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    assert [row.message for row in rig.data.knuckle.findings if row.severity != "info"] == []
    for row in formats.FORMATS.values():
        path = tmp_path / f"{row.id}{row.extensions[0]}"
        assert bpy.ops.export_scene.mechanism(filepath=str(path), format=row.id) == {"FINISHED"}
        assert len(formats.load(path).bodies) == bodies
    bpy.ops.knuckle.build_physics()
    assert is_simulated(rig)
    rig.data.knuckle.drive = "LIMP"
    before = {obj.name: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}
    for frame in range(bpy.context.scene.frame_start, bpy.context.scene.frame_start + 8):
        bpy.context.scene.frame_set(frame)
    moved = max(np.abs(np.array(obj.matrix_world) - before[obj.name]).max() for obj in parts(rig, "BODY"))
    assert moved < 0.5, "it does not burst"
    assert moved > 1e-3 or kind == "walker", "it moves; a walker stands"


def test_adding_is_undone_in_one_step(blank: Any) -> None:
    import bpy

    bpy.ops.ed.undo_push(message="before")
    bpy.ops.knuckle.add_mechanism(kind="walker")
    bpy.ops.ed.undo_push(message="walker")
    assert len(bpy.data.objects) > 10
    bpy.ops.ed.undo()
    assert len(bpy.data.objects) == 0


def test_a_mechanism_that_cannot_be_added_is_rejected_with_the_reason(blank: Any) -> None:
    import bpy

    with pytest.raises(RuntimeError, match="the longest bar is longer than the others together"):
        bpy.ops.knuckle.add_mechanism(kind="four_bar", ground=9.0)
    with pytest.raises(RuntimeError, match="even number"):
        bpy.ops.knuckle.add_mechanism(kind="walker", legs=3)
    bpy.ops.knuckle.new_model()
    bpy.ops.object.mode_set(mode="POSE")
    with pytest.raises(RuntimeError, match="object mode"):
        bpy.ops.knuckle.add_mechanism()


def test_the_add_menu_offers_all_kinds_and_the_samples(blank: Any) -> None:
    from addon.blender.ui.mechanism.menus import KNUCKLE_MT_add
    from addon.installation import sample_files

    entries = [name for kind, name in drawn(KNUCKLE_MT_add) if kind == "operator"]
    assert entries.count("knuckle.new_model") == 1 and entries.count("knuckle.add_mechanism") == 4
    samples = sample_files({".jm", ".skel", ".json", ".xml"})
    assert entries.count("import_scene.mechanism") == len(samples) >= 6
    assert {"hexapod.jm", "humanoid.skel", "pumpjack.json", "sensor_leg.xml"} <= {path.name for path in samples}


def test_context_menus_offer_what_applies(rig: Any) -> None:
    import bpy

    from addon.blender.data.queries import parts
    from addon.blender.ui.mechanism.menus import KNUCKLE_MT_context

    def select(*objects: Any) -> None:
        for obj in list(bpy.context.view_layer.objects.selected):
            obj.select_set(False)
        for obj in objects:
            obj.select_set(True)
            bpy.context.view_layer.objects.active = obj

    def offered() -> set[str]:
        return {name.removeprefix("knuckle.") for kind, name in drawn(KNUCKLE_MT_context) if kind == "operator"}

    select(parts(rig, "BODY")[1])
    both = {"duplicate_limb", "create_twin", "mirror_to_twin", "set_joint_type", "move_joint", "swap_joint"}
    assert offered() == both | {"add_joint", "split_model", "delete_parts"}
    select(rig)
    bpy.ops.object.mode_set(mode="POSE")
    rig.data.bones.active = rig.data.bones["Left Joint"]
    assert offered() == both
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.mesh.primitive_cube_add()
    cube = bpy.context.object
    select(cube, rig)
    assert "make_body" in offered()
    bpy.ops.knuckle.add_mechanism(kind="pendulum")
    select(rig, bpy.context.object)
    assert "merge_models" in offered()


#: Operators that act on the row of a list or table in which their button stands, or on another operator's result.
ROWS = {
    "add_servo_name": "the list of servo names",
    "copy_check": "the result of the self-check",
    "copy_install_command": "the preferences",
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


def drawn_menu(name: str) -> list[tuple[str, Any]]:
    import bpy

    out: list[tuple[str, Any]] = []
    getattr(bpy.types, name).draw(type("Menu", (), {"layout": Layout(out)})(), bpy.context)
    return out


def listed(name: str = "KNUCKLE_MT_mechanism") -> list[str]:
    """The operators of a menu and of its submenus."""
    out: list[str] = []
    for kind, what in drawn_menu(name):
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
