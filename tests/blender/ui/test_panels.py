"""The sidebar, drawn onto a layout that checks what it is given: nothing here has a window.

The layout knows Blender's icons, properties and operators, so that a misspelt one fails in each version."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.panels_helpers import Layout, draw_all, panels_of_tab


def draw_rows(columns: str = "STOPS") -> list[str]:
    """The texts of the joints' rows."""
    import bpy

    from addon.blender.ui.joints.joint_list import KNUCKLE_UL_joints

    drawn: list[tuple[str, Any]] = []
    bpy.context.window_manager.knuckle_joint_list.columns = columns
    for obj in bpy.data.objects:
        if obj.knuckle.role == "JOINT":
            KNUCKLE_UL_joints.draw_item(None, bpy.context, Layout(drawn), None, obj, 0, None)
    return [text for kind, text in drawn if kind == "label" and text]


def test_a_second_model_shows_the_files_names_too(rig: Any, model_file: Any) -> None:
    import bpy

    bpy.ops.import_scene.mechanism(filepath=str(model_file))
    assert "Left Joint.001" in bpy.data.objects
    bpy.data.objects["Right Joint.001"].name = "Drawer"
    assert sorted(draw_rows()) == ["Drawer", "Left Joint", "Left Joint", "Right Joint"]


#: The panels, and those inside them.
ORDER = [
    "Mechanism", "Simulation", "Simulation Accuracy", "Live Input Keys", "Settings", "Motion", "Motions", "Servo Names",
    "Joints and Stops", "Poses", "Twins", "Edit", "Video", "Titles and Extras", "Report", "Checks",
]  # fmt: skip
#: Those besides that show the active joint.
OF_JOINT = ["Active Joint", "Servo", "Spring, Damping, Friction", "Initial State"]


def test_the_tab_has_eight_panels_in_the_order_of_work(blank: Any) -> None:
    outer = [cls.bl_label for cls in panels_of_tab() if not hasattr(cls, "bl_parent_id")]
    assert outer == ["Mechanism", "Simulation", "Motion", "Joints and Stops", "Twins", "Edit", "Video", "Report"]


def test_two_panels_are_open_at_first(blank: Any) -> None:
    outer = [cls for cls in panels_of_tab() if not hasattr(cls, "bl_parent_id")]
    closed = [cls for cls in outer if "DEFAULT_CLOSED" in getattr(cls, "bl_options", ())]
    assert [cls.bl_label for cls in outer if cls not in closed] == ["Mechanism", "Simulation"]


def test_the_tab_without_a_mechanism_shows_how_to_get_one(blank: Any) -> None:
    drawn = draw_all()
    assert list(drawn) == ["Mechanism"]
    assert ("operator", "import_scene.mechanism") in drawn["Mechanism"]


def test_with_a_model_the_panels_follow_the_order_of_work(rig: Any) -> None:
    drawn = draw_all()
    assert list(drawn) == ORDER
    facts = [text for kind, text in drawn["Mechanism"] if kind == "label"]
    assert facts == ["Bodies", "3", "Joints", "2", "Format", "Juice (jm)", "File", "flapper.jm"]
    assert drawn["Simulation"][:2] == [("label", "Drive"), ("prop", "drive")]
    assert drawn["Settings"][-1] == ("operator", "knuckle.clear_physics"), "Remove Rigid Bodies is the last"
    assert drawn["Motion"][0] == ("prop", "action")
    assert draw_rows() == ["Left Joint", "Right Joint"]
    assert draw_rows("RANGE") == ["Left Joint", "0°", "-30…45°", "Right Joint", "not keyed"]


def test_menus_that_nothing_can_run_in_are_greyed_out(rig: Any) -> None:
    import bpy

    menus = ["knuckle.set_joint_type", "knuckle.move_joint"]
    bpy.context.view_layer.objects.active = rig
    rig.data.bones.active = None
    assert not bpy.ops.knuckle.move_joint.poll()
    assert [name for kind, name in draw_all()["Edit"] if kind == "disabled"] == menus
    bpy.ops.knuckle.select_part(part="Left Joint")
    assert bpy.ops.knuckle.move_joint.poll()
    assert [name for kind, name in draw_all()["Edit"] if kind == "disabled"] == []


def test_the_mass_of_a_body_is_among_its_parts(rig: Any) -> None:
    import bpy

    bpy.context.view_layer.objects.active = bpy.data.objects["Left Flap"]
    assert ("prop", "mass") in draw_all()["Edit"]
    bpy.context.view_layer.objects.active = rig
    assert ("prop", "mass") not in draw_all()["Edit"]


def test_the_panel_shows_the_simulation_accuracy_after_a_bake(rig: Any) -> None:
    import bpy

    assert {kind for kind, _ in draw_all()["Simulation Accuracy"]} == {"label"}, "nothing is known yet"
    rig.data.knuckle.drive = "SERVO"
    assert bpy.ops.knuckle.bake_physics(frame_end=6) == {"FINISHED"}
    drawn = draw_all()["Simulation Accuracy"]
    assert ("label", "Servos, frames 1 to 6") in drawn
    labels = [text for kind, text in drawn if kind == "label"]
    assert {"Joint separation", "Tracking error", "Stop overrun", "Penetration"} <= set(labels)
    shown = [what for kind, what in drawn if kind == "operator"]
    assert shown.count("knuckle.select_part") == 2
    assert {*shown} == {
        "knuckle.select_part", "knuckle.select_worst", "knuckle.check_convergence", "knuckle.compare_mujoco",
    }  # fmt: skip


def test_inputs_are_those_that_the_gait_reads(rig: Any) -> None:
    drawn = draw_all()["Simulation"]
    inputs = [row for row in drawn[drawn.index(("label", "Inputs")) :] if row != ("operator", "knuckle.set_inputs")]
    assert inputs[1:3] == [("prop", "joystick_1_y"), ("prop", "speed_factor")]


@pytest.mark.parametrize(
    ("joint", "channel", "stop"),
    [("Left Joint", "rotation_euler", "lower_angle"), ("Right Joint", "location", "lower")],
)
def test_the_active_joint_shows_its_value_and_stops(rig: Any, joint: str, channel: str, stop: str) -> None:
    import bpy

    bpy.ops.knuckle.select_part(part=joint)
    angle = "_angle" if stop == "lower_angle" else ""

    def names(panel: str) -> list[str]:
        return [name for kind, name in draw_all()[panel] if kind == "prop"]

    assert names("Active Joint")[:3] == [channel, "use_lower", stop]
    assert names("Servo") == ["gain", "max_force"]
    rig.data.knuckle.law = "PD"
    assert names("Servo") == ["gain", "servo_stiffness", "servo_damping", "max_force"]
    spring = ["stiffness", f"rest{angle}", "damping", "friction", "armature"]
    assert names("Spring, Damping, Friction") == spring
    assert names("Initial State") == [f"position{angle}", f"velocity{angle}"]


def test_initial_values_are_edited_as_angles(rig: Any) -> None:
    import bpy

    dof = bpy.data.objects["Left Joint"].knuckle.joint.dofs[0]
    for name in ("position", "velocity", "rest"):
        setattr(dof, f"{name}_angle", 0.25)
        assert getattr(dof, name) == 0.25
        assert dof.bl_rna.properties[f"{name}_angle"].subtype == "ANGLE"


def test_the_report_shows_its_lines(rig: Any) -> None:
    line = rig.data.knuckle.report.add()
    line.severity, line.message, line.line, line.where = "warning", "a stop was turned round", 12, "Model/Joint"
    rig.data.knuckle.report_index = len(rig.data.knuckle.report) - 1
    texts = " ".join(text for kind, text in draw_all()["Report"] if kind == "label")
    assert "line 12: a stop was turned round [Model/Joint]" in texts


@pytest.mark.parametrize("part", ["Trunk", "Left Joint", "Left Flap"])
def test_the_tab_is_the_models_from_any_part(rig: Any, part: str) -> None:
    import bpy

    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = bpy.data.objects[part]
    at = ORDER.index("Poses")
    assert list(draw_all()) == (ORDER if part == "Trunk" else [*ORDER[:at], *OF_JOINT, *ORDER[at:]])


def remove_object(name: str) -> None:
    import bpy

    bpy.data.objects.remove(bpy.data.objects[name])


def remove_collection(name: str) -> None:
    import bpy

    bpy.data.collections.remove(bpy.data.collections[name])


def remove_armature(_name: str) -> None:
    import bpy

    bpy.data.armatures.remove(bpy.data.armatures["flapper"])


def remove_text(_name: str) -> None:
    import bpy

    bpy.data.texts.remove(bpy.data.texts[0])


def break_text(_name: str) -> None:
    import bpy

    bpy.data.texts[0].from_string("<" + bpy.data.texts[0].as_string())


def duplicate(name: str) -> None:
    import bpy

    copy = bpy.data.objects[name].copy()
    bpy.context.scene.collection.objects.link(copy)
    bpy.context.view_layer.objects.active = copy


def edit_bones(_name: str) -> None:
    import bpy

    bpy.context.view_layer.objects.active = bpy.data.objects["flapper"]
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.context.object.data.edit_bones.remove(bpy.context.object.data.edit_bones["Left Joint"])


def drop_dofs(_name: str) -> None:
    import bpy

    bpy.data.objects["Left Joint"].knuckle.joint.dofs.clear()


@pytest.mark.parametrize("active", ["flapper", "Left Flap", "Left Joint", None])
@pytest.mark.parametrize(
    ("damage", "name"),
    [
        (remove_object, "flapper"),
        (remove_object, "Left Joint"),
        (remove_object, "Left Flap"),
        (remove_collection, "flapper"),
        (remove_collection, "Joints"),
        (remove_collection, "Bodies"),
        (remove_armature, ""),
        (remove_text, ""),
        (break_text, ""),
        (duplicate, "flapper"),
        (duplicate, "Left Joint"),
        (edit_bones, ""),
        (drop_dofs, ""),
    ],
    ids=lambda value: value.__name__ if callable(value) else value,
)
def test_no_panel_raises_for_a_model_in_pieces(rig: Any, damage: Any, name: str, active: str | None) -> None:
    import bpy

    bpy.context.view_layer.objects.active = bpy.data.objects[active] if active else None
    damage(name)
    draw_all()
    for columns in ("VALUES", "STOPS", "RANGE", "SPEED"):
        draw_rows(columns)
    for operator in ("set_drive", "build_physics", "clear_physics", "bake_gait", "bake_physics", "render_film"):
        getattr(bpy.ops.knuckle, operator).poll()
    bpy.ops.export_scene.mechanism.poll()
    if bpy.context.mode == "EDIT_ARMATURE":
        bpy.ops.object.mode_set(mode="OBJECT")
        draw_all()


def labels(panel: str) -> str:
    return " ".join(text for kind, text in draw_all()[panel] if kind == "label")


def test_the_panel_names_what_the_servos_track_and_when_inputs_do_nothing(rig: Any) -> None:
    import bpy

    rig.data.knuckle.drive = "SERVO"
    assert "Tracks the gait" in labels("Simulation") and "Set Target" not in labels("Simulation")
    assert bpy.ops.knuckle.bake_physics(frame_end=4) == {"FINISHED"}
    rig.data.knuckle.drive = "SERVO"
    assert "Tracks 'flapper Bake'" in labels("Simulation")
    assert "The servos track 'flapper Bake'. Set Target to Gait" in labels("Simulation")
    rig.data.knuckle.target = "GAIT"
    assert "Tracks the gait" in labels("Simulation") and "Set Target" not in labels("Simulation")
    rig.data.knuckle.drive = "LIMP"
    assert "servos are off" in labels("Simulation")


def test_a_servo_without_a_force_limit_shows_what_zero_means(rig: Any) -> None:
    import bpy

    bpy.ops.knuckle.select_part(part="Left Joint")
    assert "0 =" not in labels("Servo")
    bpy.data.objects["Left Joint"].knuckle.joint.dofs[0].max_force = 0.0
    assert "0 = no force" in labels("Servo")
    rig.data.knuckle.format = "skel"
    assert "0 = no limit" in labels("Servo")


def test_a_linked_copy_is_rejected_with_the_remedy(rig: Any) -> None:
    import bpy

    bpy.ops.object.select_all(action="SELECT")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.duplicate(linked=True)
    copy = bpy.context.view_layer.objects.active
    assert copy != rig and copy.data == rig.data
    assert list(draw_all()) == ["Mechanism"] and "Shift+D" in labels("Mechanism").replace("  ", " ")
    with pytest.raises(RuntimeError, match="linked copy"):
        bpy.ops.knuckle.set_drive(drive="LIMP")
    assert rig.data.knuckle.drive == "KEYS"


def test_the_world_panel_shows_whose_gravity_applies_and_places_the_ground(rig: Any, model_file: Any) -> None:
    import bpy

    bpy.ops.import_scene.mechanism(filepath=str(model_file))
    second = bpy.context.view_layer.objects.active
    assert ("prop", "has_ground") in draw_all()["Settings"] and "the scene's gravity" not in labels("Settings")
    second.data.knuckle.gravity = (0.0, 0.0, -1.0)
    assert "the scene's gravity" in labels("Settings")


def test_ranges_about_nothing_have_no_minus_zero(rig: Any) -> None:
    from addon.blender.ui.joints.joint_list import _short_text

    row: Any = type("Row", (), {"turns": True})()
    assert [_short_text(row, value) for value in (-0.001, 0.0, -0.02, 0.5)] == ["0", "0", "-1", "29"]


def test_a_bake_controlled_at_a_finer_rate_is_shown_as_such(rig: Any, capfd: Any) -> None:
    import bpy

    bpy.context.scene.render.fps = 24
    rig.data.knuckle.drive = "SERVO"
    bpy.ops.knuckle.bake_physics(frame_end=3)
    assert "controlled 3 times per frame" in capfd.readouterr().out


def test_a_bake_refuses_another_one_meanwhile(rig: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import bpy

    from addon.blender.ui.base import modal_tasks

    monkeypatch.setattr(modal_tasks, "is_interactive", lambda _context: True)
    monkeypatch.setattr(modal_tasks, "_TIME_SLICE", 0.0)
    rig.data.knuckle.drive = "SERVO"
    bpy.context.scene.frame_end = 8
    held: list[Any] = []
    cls = getattr(bpy.types, bpy.ops.knuckle.bake_physics.idname())
    with monkeypatch.context() as patched:
        patched.setattr(
            cls, "execute", lambda self, context: (held.append(self), cls.invoke(self, context, None))[1], raising=False
        )
        assert bpy.ops.knuckle.bake_physics() == {"RUNNING_MODAL"}
    try:
        for name in ("bake_physics", "render_film", "preview_film"):
            with pytest.raises(RuntimeError, match="A simulation is being baked: Esc stops it"):
                getattr(bpy.ops.knuckle, name)()
    finally:
        held[0]._leave()
    assert bpy.ops.knuckle.bake_physics.poll()


def test_notices_are_below_the_buttons_which_stay_in_place(rig: Any) -> None:
    """Buttons of a panel are drawn first, in the same order and number of lines, whatever there is to note."""
    import bpy

    def lines(panel: str) -> list[tuple[str, Any]]:
        return draw_all()[panel]

    before = lines("Mechanism")
    bpy.data.objects["Left Joint"].location.x += 0.1
    bpy.context.view_layer.update()
    moved = lines("Mechanism")
    assert moved[: len(before)] == before and ("operator", "knuckle.refit") in moved[len(before) :]
    bpy.data.objects["Left Joint"].location.x -= 0.1
    bpy.data.objects.remove(bpy.data.objects["Left Flap"])
    buttons = [row for row in lines("Mechanism") if row[0] == "operator"]
    assert buttons.index(("operator", "knuckle.rebuild")) > buttons.index(("operator", "export_scene.mechanism"))


def test_notices_of_a_simulation_are_the_last_of_its_panel(rig: Any) -> None:
    import bpy

    bpy.context.scene.render.fps = 60
    rig.data.knuckle.drive = "SERVO"
    before = draw_all()["Simulation"]
    bpy.context.scene.render.fps = 24
    after = draw_all()["Simulation"]
    assert after[: len(before)] == before and "24 times per second" in " ".join(
        text for _, text in after[len(before) :]
    )
    rig.data.knuckle.drive = "LIMP"
    last = draw_all()["Simulation"]
    noted = [text for _, text in last].index("Ragdoll: the servos are off")
    assert {kind for kind, _ in last[noted:]} == {"label"}


def test_notices_of_a_motion_are_below_the_list_of_joints(rig: Any) -> None:
    import bpy

    bpy.context.window_manager.knuckle_joint_list.columns = "RANGE"
    rig.data.bones.active = None
    bpy.context.view_layer.objects.active = rig
    drawn = draw_all()["Joints and Stops"]
    bpy.context.window_manager.knuckle_joint_list.columns = "VALUES"
    last = max(at for at, (kind, _) in enumerate(drawn) if kind in {"operator", "list"})
    noted = [text for kind, text in drawn[last:] if kind == "label"]
    assert any("stops" in text for text in noted)


def test_without_a_joint_the_list_says_what_to_select(rig: Any) -> None:
    import bpy

    bpy.context.view_layer.objects.active = rig
    rig.data.bones.active = None
    assert "Select a joint, its bone, or the body" in labels("Joints and Stops")
    bpy.ops.knuckle.select_part(part="Left Joint")
    assert "Select a joint" not in labels("Joints and Stops")
