"""What bodies weigh under physics: what Blender has no room for is told, and what the user types is the whole mass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.emptied import empty_file
from tests.support.mechanisms import objects_of
from tests.support.swings import chain, put_world


def weight_of(obj: Any) -> float:
    """What a body and its flywheel weigh in Blender's world."""
    wheel = obj.knuckle.inertia_proxy
    return float(obj.rigid_body.mass + (0.0 if wheel is None else wheel.rigid_body.mass))


def flying(mass: float = 1.0) -> Any:
    """A chain of three links, the first with a tensor that its box has not."""
    mechanism = chain(links=3)
    for body in mechanism.bodies:
        body.mass = mass
    mechanism.bodies[0].inertia = np.diag([0.05, 0.9, 0.9]) * mass
    return mechanism


def test_a_mass_typed_on_a_body_with_an_inertia_proxy_is_the_whole_mass(blank: Any, tmp_path: Path) -> None:
    from addon import formats
    from addon.blender.physics.simulation.setup import build_physics, clear_physics
    from addon.blender.scene.read.mechanism import extract

    rig = put_world(flying(2.0), "KEYS", 1)
    link = objects_of(rig, "BODY")["link 0"]
    assert link.rigid_body.mass < weight_of(link) == pytest.approx(2.0), "it is split"
    shown = link.rigid_body.mass
    assert "mass-typed" not in {entry.code for entry in extract(rig.data.knuckle.collection).report.entries}
    link.rigid_body.mass = 9.0
    extracted = extract(rig.data.knuckle.collection)
    (entry,) = [entry for entry in extracted.report.entries if entry.code == "mass-typed"]
    assert entry.severity == "warning" and f"which showed {shown:.4g} of 2 kg" in entry.message
    assert {body.id: body.mass for body in extracted.bodies}["link 0"] == 9.0
    formats.save(extracted, tmp_path / "typed.skel")
    assert [body.mass for body in formats.load(tmp_path / "typed.skel").bodies][:2] == [9.0, 2.0]
    build_physics(blank.scene, rig)
    assert weight_of(link) == pytest.approx(9.0)
    link.rigid_body.mass = 5.0
    clear_physics(blank.scene, rig)
    assert link.knuckle.mass == 5.0


def test_a_mass_typed_before_a_run_is_the_whole_mass_in_it(blank: Any) -> None:
    from addon.blender.physics.recording.accuracy import recorded_run
    from addon.blender.physics.recording.bake import record

    rig = put_world(flying(), "LIMP", 1)
    link = objects_of(rig, "BODY")["link 0"]
    link.rigid_body.mass = 9.0
    recording = record(blank.scene, rig, 3)
    assert weight_of(link) == pytest.approx(9.0)
    assert recorded_run(blank.scene, recording).masses == pytest.approx([9.0, 1.0, 1.0])


def test_bodies_too_light_for_blender_are_reported_once(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import build_physics

    mechanism = flying(1e-4)
    mechanism.bodies[2].mass = 1.0
    rig = put_world(mechanism, "KEYS", 1)
    report = build_physics(blank.scene, rig)
    (entry,) = [entry for entry in report.entries if entry.code == "mass-too-small"]
    assert entry.severity == "warning"
    assert "'link 0', 'link 1'" in entry.message
    assert "'link 2'" not in entry.message
    assert "factor" in entry.message
    assert [weight_of(obj) for obj in objects_of(rig, "BODY").values()] == pytest.approx([1e-3, 1e-3, 1.0])


@pytest.mark.parametrize("mass", [0.0, -2.0])
def test_bodies_without_mass_are_reported_as_what_they_are(blank: Any, mass: float) -> None:
    """They need one; multiplying it by a factor would not help."""
    from addon.blender.physics.simulation.setup import build_physics

    mechanism = flying(1.0)
    mechanism.bodies[0].mass, mechanism.bodies[1].mass = mass, 1e-4
    rig = put_world(mechanism, "KEYS", 1)
    told = {entry.code: entry.message for entry in build_physics(blank.scene, rig).entries}
    assert "not above 0 for 'link 0', 0.001 kg" in told["mass-none"]
    assert (
        "below Blender's minimum of 0.001 kg for 'link 1'" in told["mass-too-small"]
        and "link 0" not in told["mass-too-small"]
    )


def test_a_light_body_is_not_made_heavier_by_an_inertia_proxy(blank: Any) -> None:
    """One and a half grams in two parts would be two grams."""
    from addon.blender.physics.simulation.setup import build_physics

    rig = put_world(flying(1.5e-3), "KEYS", 1)
    assert [weight_of(obj) for obj in objects_of(rig, "BODY").values()] == pytest.approx([1.5e-3] * 3)
    assert not [entry for entry in build_physics(blank.scene, rig).entries if entry.code == "mass-too-small"]


def test_masses_multiplied_as_in_the_warning_move_the_same(blank: Any) -> None:
    """The same pendulum of links of 1 kg and of 1 t, with springs and dampers a thousand times as strong."""
    import bpy

    from addon.blender.physics.recording.bake import record

    values = []
    for factor in (1.0, 1000.0):
        mechanism = flying(factor)
        for joint in mechanism.joints:
            joint.dofs[0].stiffness, joint.dofs[0].damping = 2.0 * factor, 0.5 * factor
        values.append(record(bpy.context.scene, put_world(mechanism, "LIMP", 1), 31).values)
        empty_file()
    assert np.ptp(values[0]) > 0.5
    assert values[1] == pytest.approx(values[0], abs=2e-3)


# ---------------------------------------------------------------- scaled as physics does not take it


def progress_text(rig: Any, scene: Any) -> list[str]:
    from addon.blender.physics.simulation.setup import build_physics

    return [entry.message for entry in build_physics(scene, rig).entries if entry.code == "scaled-unevenly"]


def test_a_model_that_is_scaled_unevenly_is_reported(blank: Any) -> None:
    import bpy

    from addon.blender.physics.recording.bake import record

    rig = put_world(chain(links=3, lean=0.4), "LIMP", 1)
    for scale, words in (((2, 2, 2), ""), ((1, 1, 2), "unevenly"), ((0.5, 0.5, 0.5), "")):
        rig.scale = scale
        bpy.context.view_layer.update()
        told = progress_text(rig, blank.scene)
        assert [words in message for message in told] == [True] * bool(words)
        record(blank.scene, rig, 3)
        kept = [line.message for line in rig.data.knuckle.report if line.code == "scaled-unevenly"]
        assert kept == told, "it is in the model's report as long as it is so"


def test_a_model_that_its_parent_shears_is_reported(blank: Any) -> None:
    import bpy

    rig = put_world(chain(links=3, lean=0.4), "LIMP", 1)
    parent = bpy.data.objects.new("parent", None)
    blank.scene.collection.objects.link(parent)
    rig.parent, rig.rotation_mode, rig.rotation_euler = parent, "XYZ", (0.0, np.pi / 4, 0.0)
    parent.scale = (1.0, 1.0, 2.0)
    bpy.context.view_layer.update()
    (told,) = progress_text(rig, blank.scene)
    assert "sheared" in told


def test_an_applied_scale_is_reported_also_by_a_bake(blank: Any, capsys: pytest.CaptureFixture[str]) -> None:
    import bpy

    rig = put_world(chain(links=3, lean=0.4), "LIMP", 1)
    rig.scale = (2, 2, 2)
    bpy.ops.object.select_all(action="DESELECT")
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    assert progress_text(rig, blank.scene) == []
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)
    (told,) = progress_text(rig, blank.scene)
    assert "applied" in told
    capsys.readouterr()
    assert bpy.ops.knuckle.bake_physics(frame_end=3) == {"FINISHED"}
    assert "scale was applied" in capsys.readouterr().out
    assert "Undo that" in told
    with pytest.raises(RuntimeError, match="scale"):
        bpy.ops.knuckle.refit()


@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_a_servo_between_two_free_links_moves_both(blank: Any, ratio: float) -> None:
    """By the formula for two bodies that turn against each other about their common end: neither of them stands."""
    from addon.blender.physics.actuators.effective_mass import ReflectedInertia
    from addon.blender.physics.actuators.joint_state import gather_joint_state

    mechanism = chain(links=2, ratio=ratio)
    del mechanism.joints[0]
    rig = put_world(mechanism, "KEYS", 1)
    blank.scene.frame_set(1)
    joint_state = gather_joint_state(rig)
    one = (1.0 + 0.01) / 12.0 + 0.25
    (moved,) = ReflectedInertia(joint_state, joint_state.poses()).of_single_dof_joints(joint_state)
    assert moved == pytest.approx(1.0 / (1.0 / one + 1.0 / (ratio * one)), rel=1e-4)


def test_the_rigid_body_panel_shows_the_whole_mass_of_a_body_with_an_inertia_proxy(blank: Any) -> None:
    """Atop Blender's own panel; of other bodies that shows it itself."""
    import bpy

    from addon.blender.ui.editing.parts import draw_whole_mass
    from tests.support.panels_helpers import Layout

    rig = put_world(flying(2.0), "KEYS", 1)

    def drawn(name: str) -> list[tuple[str, Any]]:
        out: list[tuple[str, Any]] = []
        with bpy.context.temp_override(object=objects_of(rig, "BODY")[name]):
            panel: Any = type("Panel", (), {"layout": Layout(out)})()
            draw_whole_mass(panel, bpy.context)
        return out

    link = objects_of(rig, "BODY")["link 0"]
    share = 1.0 - link.rigid_body.mass / 2.0
    assert drawn("link 0")[0] == ("prop", "mass")
    assert drawn("link 0")[-1] == ("label", f"{share:.0%}")
    assert drawn("link 1") == []
    link.knuckle.mass = 4.0
    assert link.rigid_body.mass == pytest.approx(4.0 * (1.0 - share)), "the field edits the whole"
