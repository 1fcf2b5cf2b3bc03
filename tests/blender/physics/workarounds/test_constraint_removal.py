"""Building physics and clearing it are inverse: afterwards the file is what it was, to the last property."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.clear_helpers import (
    ARM,
    FORCES,
    a_users_rigid_body,
    differences,
    everything,
    in_world,
    left_after,
    values,
)
from tests.support.mechanisms import key, objects_of, play, put, spinner, world_of


@pytest.mark.parametrize("drive", ["KEYS", "SERVO", "LIMP"])
@pytest.mark.parametrize("users", [False, True], ids=["no world before", "the user's own world"])
def test_clearing_physics_restores_the_scene_before_building(blank: Any, drive: str, users: bool) -> None:
    from addon.blender.physics.simulation.setup import build_physics, clear_physics

    scene = blank.scene
    ball = a_users_rigid_body(scene) if users else None
    rig = put(ARM, physics=False)
    key(rig, 3, [(1, 0.0), (30, 0.4)])
    scene.frame_set(1)
    before = everything(scene)
    build_physics(scene, rig)
    assert objects_of(rig, "BODY")["1"].rigid_body is not None
    rig.data.knuckle.drive = drive
    play(scene, 40, lambda: None)
    clear_physics(scene, rig)
    scene.frame_set(1)
    assert differences(before, everything(scene)) == {}
    if ball is not None:
        assert ball.rigid_body.mass == 3.5
        heights = play(scene, 40, lambda: world_of(ball)[2, 3])
        assert 30 - heights[-1] == pytest.approx(2 * (39 / 60) ** 2 / 2, rel=0.05)


def test_a_real_model_is_cleared_as_cleanly(blank: Any, corpus: Path) -> None:
    from addon.blender.physics.simulation.setup import build_physics, clear_physics

    rig = put(corpus / "juice" / "models" / "bird1.jm", physics=False)
    before = everything(blank.scene)
    build_physics(blank.scene, rig)
    rig.data.knuckle.drive = "SERVO"
    play(blank.scene, 20, lambda: None)
    clear_physics(blank.scene, rig)
    blank.scene.frame_set(1)
    assert differences(before, everything(blank.scene)) == {}


@pytest.mark.parametrize("drive", ["SERVO", "LIMP"])
@pytest.mark.parametrize("name", list(FORCES))
def test_the_motors_of_all_forces_are_cleared(blank: Any, name: str, drive: str) -> None:
    left, motors = left_after(blank.scene, FORCES[name](), drive)
    assert left == {}
    assert motors > 0


def test_building_twice_changes_nothing_the_second_time(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import build_physics

    rig = put(ARM)
    before = everything(blank.scene)
    build_physics(blank.scene, rig)
    assert differences(before, everything(blank.scene)) == {}


def test_after_clearing_it_can_be_built_and_run_again(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import clear_physics

    rig = put(ARM)
    arm = objects_of(rig, "BODY")["2"]
    ends = []
    for drive in ("LIMP", "SERVO", "LIMP"):
        rig.data.knuckle.drive = drive
        ends.append(play(blank.scene, 60, lambda: world_of(arm)[2, 3])[-1])
        clear_physics(blank.scene, rig)
        assert blank.scene.rigidbody_world is None
    assert ends[0] == pytest.approx(ends[2], abs=1e-3)
    assert ends[0] < 5.7 < ends[1]


def test_clearing_twice_and_clearing_what_never_was_do_nothing(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import clear_physics

    rig = put(ARM, physics=False)
    before = everything(blank.scene)
    clear_physics(blank.scene, rig)
    clear_physics(blank.scene, rig)
    assert differences(before, everything(blank.scene)) == {}


def test_of_two_models_the_other_goes_on(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import clear_physics

    first = put(ARM)
    second = put(ARM.replace("<X>0</X><Y>0</Y><Z>4</Z>", "<X>0</X><Y>0</Y><Z>4.0</Z>"))
    for obj in objects_of(second, "BODY").values():
        assert obj.rigid_body is not None
    clear_physics(blank.scene, first)
    assert blank.scene.rigidbody_world is not None
    assert not any(in_world(blank.scene, obj) for obj in first.data.knuckle.collection.all_objects)
    second.data.knuckle.drive = "LIMP"
    heights = play(blank.scene, 60, lambda: world_of(objects_of(second, "BODY")["2"])[2, 3])
    assert heights[-1] < heights[0] - 0.3
    tower = [world_of(objects_of(second, "BODY")["1"])[2, 3] for _ in range(1)]
    assert tower[0] == pytest.approx(4, abs=0.05), "and there is still ground under it"
    clear_physics(blank.scene, second)
    assert blank.scene.rigidbody_world is None
    assert tuple(blank.scene.gravity) == pytest.approx((0, 0, -9.81))


def test_the_other_way_round_too(blank: Any) -> None:
    """The model that made the world may be cleared last or first: the scene's gravity comes back at the end."""
    from addon.blender.physics.simulation.setup import clear_physics

    blank.scene.gravity = (0, 0, -1.5)
    first, second = put(ARM), put(ARM)
    clear_physics(blank.scene, second)
    assert tuple(blank.scene.gravity) == pytest.approx((0, 0, -3.7))
    clear_physics(blank.scene, first)
    assert blank.scene.rigidbody_world is None
    assert tuple(blank.scene.gravity) == pytest.approx((0, 0, -1.5))


def test_a_users_world_keeps_its_settings_which_is_reported(blank: Any) -> None:
    a_users_rigid_body(blank.scene)
    rig = put(ARM)
    world = blank.scene.rigidbody_world
    assert (world.substeps_per_frame, world.solver_iterations) == (7, 13)
    assert tuple(blank.scene.gravity) == (0, 0, -2)
    assert "gravity-kept" in {line.code for line in rig.data.knuckle.report}


def test_what_is_deleted_first_are_the_joints(blank: Any) -> None:
    """Blender deletes objects in the order of the view layer, and follows a constraint's pointers into bodies that are
    gone: with two joints and more it crashed when a model was deleted in the middle of a run."""
    import bpy

    rig = put(ARM)
    rig.data.knuckle.drive = "SERVO"
    play(blank.scene, 5, lambda: None)
    order = [obj.rigid_body_constraint is None for obj in bpy.context.view_layer.objects if obj.parent == rig]
    assert order == sorted(order)
    assert False in order


def test_velocity_motors_are_cleared_too(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import build_physics, clear_physics

    rig = put(ARM.replace("<Behaviors>", "<Behaviors>" + spinner(3, 2.0)), physics=False)
    before = everything(blank.scene)
    build_physics(blank.scene, rig)
    rig.data.knuckle.drive = "SERVO"
    play(blank.scene, 10, lambda: None)
    clear_physics(blank.scene, rig)
    blank.scene.frame_set(1)
    assert differences(before, everything(blank.scene)) == {}


FLOATING = (
    '<?xml version="1.0"?><skel version="1.0"><world name="w"><skeleton name="s">'
    + "".join(
        f'<body name="{name}"><transformation>{x} 0 5 0 0 0</transformation><inertia><mass>1</mass></inertia>'
        "<collision_shape><geometry><sphere><radius>0.5</radius></sphere></geometry></collision_shape></body>"
        f'<joint type="free" name="j{name}"><parent>world</parent><child>{name}</child></joint>'
        for name, x in (("a", 10), ("b", 12))
    )
    + "</skeleton></world></skel>"
)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)], ids=str)
def test_several_models_leave_a_users_world_as_it_was(blank: Any, order: tuple[int, ...]) -> None:
    """The user's ball hangs on a constraint of the user's, from a peg; three models come, run, and go in any order."""
    import bpy

    from addon.blender.physics.simulation.setup import build_physics, clear_physics

    scene = blank.scene
    ball = a_users_rigid_body(scene)
    world = scene.rigidbody_world
    world.constraints = bpy.data.collections.new("My Constraints")
    peg = bpy.data.objects.new("Peg", ball.data)
    parenting = bpy.data.objects.new("Hook", None)
    for obj, held in ((peg, world.collection), (parenting, world.constraints)):
        scene.collection.objects.link(obj)
        held.objects.link(obj)
        obj.location = (20, 0, 32)
    peg.rigid_body.type = "PASSIVE"
    parenting.rigid_body_constraint.type = "POINT"
    parenting.rigid_body_constraint.object1, parenting.rigid_body_constraint.object2 = peg, ball
    world.effector_weights.gravity, world.use_split_impulse = 0.5, True
    rigs = [put(ARM, physics=False), put(ARM, physics=False), put(FLOATING, "floating.skel", physics=False)]
    play(scene, 5, lambda: None)
    scene.frame_set(1)
    before = everything(scene)
    kept = values(parenting.rigid_body_constraint)
    for rig, drive in zip(rigs, ("SERVO", "LIMP", "LIMP"), strict=True):
        build_physics(scene, rig)
        rig.data.knuckle.drive = drive
    play(scene, 30, lambda: None)
    for number in order:
        clear_physics(scene, rigs[number])
        play(scene, 5, lambda: None)
    scene.frame_set(1)
    assert differences(before, everything(scene)) == {}
    assert values(parenting.rigid_body_constraint) == kept
    assert [obj.name for obj in world.collection.objects] == ["Ball", "Peg"]
    swing = play(scene, 60, lambda: np.linalg.norm(world_of(ball)[:3, 3] - [20, 0, 32]))
    assert np.ptp(swing) < 0.05, "it still hangs"


def test_a_users_constraint_keeps_its_ends_whatever_happens(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds a body of the model; while the world is built anew without that, it holds nothing."""
    import bpy

    from addon.blender.physics.simulation.setup import clear_physics
    from addon.blender.physics.workarounds import constraint_removal as removal

    scene = blank.scene
    rig = put(FLOATING, "floating.skel")
    bodies = [*objects_of(rig, "BODY").values()]
    parenting = bpy.data.objects.new("Hook", None)
    scene.collection.objects.link(parenting)
    if scene.rigidbody_world.constraints is None:
        scene.rigidbody_world.constraints = bpy.data.collections.new("My Constraints")
    scene.rigidbody_world.constraints.objects.link(parenting)
    held = parenting.rigid_body_constraint
    held.object1, held.object2 = bodies

    def fails(_scene: Any) -> None:
        assert held.object1 is None
        raise RuntimeError("the world cannot be built")

    with monkeypatch.context() as patch:
        patch.setattr(removal, "rebuild_simulation", fails)
        with pytest.raises(RuntimeError, match="cannot be built"):
            clear_physics(scene, rig)
    assert [held.object1, held.object2] == bodies
    assert held.id_data == parenting
