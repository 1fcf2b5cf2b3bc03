"""Trial simulations select substeps and iterations: enough for a longer simulation, stored, and the user's own stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon.core.model import Body, Mechanism, Shape, World
from tests.support.mechanisms import bone_of, key
from tests.support.scenes import OWN
from tests.support.swings import chain, put_world


def select(scene: Any, rig: Any, quality: str, **options: Any) -> int:
    """Run all trials; return how many frames they took."""
    from addon.blender.physics.recording.bake import record_steps
    from addon.blender.physics.recording.step_trials import select_steps

    return sum(1 for _ in select_steps(scene, [rig], quality, record_steps, **options))


def share(scene: Any, rig: Any, frames: int) -> float:
    """The largest joint separation of a simulation, as a share of the link."""
    from addon.blender.physics.recording.accuracy import accuracy_of_recording
    from addon.blender.physics.recording.bake import record

    return max(joint.share for joint in accuracy_of_recording(scene, record(scene, rig, frames)).joints)


@pytest.mark.parametrize(("quality", "limit"), [("PREVIEW", 1e-2), ("BAKE", 2e-3)])
def test_a_longer_simulation_holds_what_the_trials_promised(blank: Any, quality: str, limit: float) -> None:
    """Within twice of it, for a chain that whips. A bake simulates again where its own separation is too large."""
    from addon.blender.physics.world.rigidbody_world import steps_applied
    from addon.blender.physics.world.solver_settings import required_solver_settings, selected_steps

    rig = put_world(chain(0.05, 30.0), "LIMP", 2.0)
    world = blank.scene.rigidbody_world
    before = world.substeps_per_frame, world.solver_iterations
    assert select(blank.scene, rig, quality) > 0
    assert (world.substeps_per_frame, world.solver_iterations) == before
    assert rig.data.knuckle.drive == "LIMP"
    found, bound = selected_steps(rig, quality), required_solver_settings(rig)
    assert found is not None
    assert found.steps * (10 + found.iterations) < 0.5 * bound.steps * (10 + bound.iterations)
    with steps_applied(blank.scene, [rig], quality):
        assert share(blank.scene, rig, 91) < limit


def test_trials_are_made_once_until_the_mechanism_changes(blank: Any, tmp_path: Path) -> None:
    import bpy

    rig = put_world(chain(0.05, 30.0), "LIMP", 2.0)
    assert select(blank.scene, rig, "PREVIEW") > 0
    assert select(blank.scene, rig, "PREVIEW") == 0
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    scene = bpy.context.scene
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    assert select(scene, rig, "PREVIEW") == 0
    next(obj for obj in bpy.data.objects if obj.knuckle.role == "BODY").knuckle.mass *= 2.0
    assert select(scene, rig, "PREVIEW") > 0


def test_a_mechanism_that_is_edited_during_its_trials_is_measured_again(blank: Any) -> None:
    from addon.blender.physics.recording.bake import record_steps
    from addon.blender.physics.recording.step_trials import select_steps
    from tests.support.mechanisms import objects_of

    rig = put_world(chain(0.05, 30.0), "LIMP", 2.0)
    trials = select_steps(blank.scene, [rig], "PREVIEW", record_steps)
    for _ in range(5):
        next(trials)
    next(iter(objects_of(rig, "BODY").values())).knuckle.mass *= 2.0
    for _ in trials:
        pass
    assert select(blank.scene, rig, "PREVIEW") > 0


def test_mechanisms_of_a_scene_share_the_time_of_their_trials(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from addon.blender.physics.recording import step_trials
    from addon.blender.physics.recording.bake import record_steps

    rigs, budgets = [put_world(chain(0.05, 30.0), "LIMP", 2.0) for _ in range(2)], []
    climb = step_trials.climb

    def noted(rungs: Any, most: Any, quality: Any, budget: float) -> Any:
        budgets.append(budget)
        return climb(rungs, most, quality, budget)

    monkeypatch.setattr(step_trials, "climb", noted)
    for _ in step_trials.select_steps(blank.scene, rigs, "PREVIEW", record_steps):
        pass
    assert len(budgets) == 2 and sum(budgets) == pytest.approx(2.0)


def test_mechanisms_for_which_the_least_is_enough_are_not_tried(blank: Any) -> None:
    from addon import formats
    from addon.blender.build import build

    build(formats.load(OWN / "hexapod/hexapod.jm"))
    rig = next(obj for obj in blank.scene.objects if obj.knuckle.role == "MODEL")
    assert select(blank.scene, rig, "PREVIEW") == select(blank.scene, rig, "BAKE", again=True) == 0


def test_trials_stopped_half_way_leave_all_as_it_was(blank: Any) -> None:
    from addon.blender.physics.recording.bake import record_steps
    from addon.blender.physics.recording.step_trials import select_steps

    rig = put_world(chain(0.05, 30.0), "KEYS", 2.0)
    scene, world = blank.scene, blank.scene.rigidbody_world
    scene.frame_set(7)
    before = world.substeps_per_frame, world.solver_iterations, scene.frame_current, rig.data.knuckle.drive
    poses = {obj.name: np.array(obj.matrix_world) for obj in scene.objects}
    trials = select_steps(scene, [rig], "PREVIEW", record_steps)
    for _ in range(20):
        next(trials)
    assert rig.data.knuckle.drive != "KEYS"
    trials.close()
    assert (world.substeps_per_frame, world.solver_iterations, scene.frame_current, rig.data.knuckle.drive) == before
    assert len(rig.data.knuckle.selected_steps) == 0
    assert all(np.abs(np.array(obj.matrix_world) - poses[obj.name]).max() < 1e-5 for obj in scene.objects)


def test_the_operator_measures_and_sets_what_is_played(blank: Any) -> None:
    import bpy

    rig = put_world(chain(0.05, 30.0), "LIMP", 2.0)
    world = blank.scene.rigidbody_world
    bound = world.substeps_per_frame
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.knuckle.fit_world() == {"FINISHED"}
    (kept,) = rig.data.knuckle.selected_steps
    assert kept.quality == "PREVIEW"
    assert world.substeps_per_frame == round(kept.steps / 60.0) < bound
    assert world.solver_iterations == kept.iterations


def test_each_drive_is_played_with_its_own_steps(blank: Any) -> None:
    """A heavy tip is held still by servos with more steps than it falls with; a keyed drive has the more of both."""
    import bpy

    from addon.blender.physics.world.solver_settings import selected_steps

    rig = put_world(chain(0.05, 30.0), "LIMP", 2.0)
    scene, model = blank.scene, rig.data.knuckle
    played = {}
    for drive in ("LIMP", "SERVO"):
        model.drive = drive
        bpy.context.view_layer.objects.active = rig
        assert bpy.ops.knuckle.fit_world() == {"FINISHED"}
        played[drive] = scene.rigidbody_world.substeps_per_frame, scene.rigidbody_world.solver_iterations
    assert sorted((kept.quality, kept.drive) for kept in model.selected_steps) == [
        ("PREVIEW", "LIMP"),
        ("PREVIEW", "SERVO"),
    ]
    assert played["SERVO"][0] > played["LIMP"][0]
    for drive in ("LIMP", "SERVO", "KEYS", "LIMP"):
        model.drive = drive
        assert select(scene, rig, "PREVIEW") == 0, "known"
        found = scene.rigidbody_world.substeps_per_frame, scene.rigidbody_world.solver_iterations
        assert found == played["SERVO" if drive == "KEYS" else drive]
    scene.rigidbody_world.substeps_per_frame = 77
    model.drive = "SERVO"
    assert scene.rigidbody_world.substeps_per_frame == 77, "the user's own"
    rig.data.keyframe_insert("knuckle.drive", frame=1)
    model.drive = "LIMP"
    found = selected_steps(rig, "PREVIEW")
    assert found is not None and found.drive == "SERVO"


def test_a_bake_measures_and_leaves_the_settings_for_playing(blank: Any) -> None:
    from addon.blender.physics.recording.accuracy import stored_accuracy
    from addon.blender.physics.recording.bake import bake

    rig = put_world(chain(0.05, 30.0), "LIMP", 1.0)
    world = blank.scene.rigidbody_world
    before = world.substeps_per_frame, world.solver_iterations
    bake(blank.scene, rig, 91)
    assert [kept.quality for kept in rig.data.knuckle.selected_steps] == ["BAKE"]
    assert (world.substeps_per_frame, world.solver_iterations) == before
    accuracy = stored_accuracy(rig)
    assert accuracy is not None and max(joint.share for joint in accuracy.joints) < 1e-3


def test_the_users_own_settings_are_never_changed(blank: Any) -> None:
    from addon.blender.physics.recording.bake import bake

    rig = put_world(chain(0.05, 30.0), "LIMP", 1.0)
    world = blank.scene.rigidbody_world
    world.substeps_per_frame, world.solver_iterations = 37, 41
    seen = []

    def look(_scene: Any, _depsgraph: Any) -> None:
        seen.append((world.substeps_per_frame, world.solver_iterations))

    import bpy

    bpy.app.handlers.frame_change_post.append(look)
    try:
        bake(blank.scene, rig, 11)
    finally:
        bpy.app.handlers.frame_change_post.remove(look)
    assert set(seen) == {(37, 41)}
    assert len(rig.data.knuckle.selected_steps) == 0


def test_a_trial_that_diverges_leads_to_more_steps(blank: Any) -> None:
    """As a world with too few substeps does: the mechanism is simulated with more, and nothing is raised."""
    from addon.blender.physics.recording.bake import record_steps
    from addon.blender.physics.recording.step_trials import select_steps
    from addon.blender.physics.simulation.recording import SimulationError
    from addon.blender.physics.world.solver_settings import required_solver_settings, selected_steps

    rig = put_world(chain(0.05, 30.0), "LIMP", 2.0)
    world, tried = blank.scene.rigidbody_world, []

    def record(scene: Any, model: Any, last: int) -> Any:
        tried.append(world.substeps_per_frame)
        yield from record_steps(scene, model, scene.frame_start + 1)
        raise SimulationError("it diverged", remedy="More substeps")

    for _ in select_steps(blank.scene, [rig], "PREVIEW", record):
        pass
    found, bound = selected_steps(rig, "PREVIEW"), required_solver_settings(rig)
    assert tried == [10]
    assert found is not None and (found.steps, found.iterations) == (bound.steps, bound.iterations)
    assert rig.data.knuckle.drive == "LIMP"


@pytest.mark.parametrize("link", [0.05, 0.031, 0.0123])
def test_a_bake_that_nothing_makes_better_ends(blank: Any, link: float) -> None:
    """Whatever the count of steps is, as a fraction or in 32 bits: each repetition has more, up to the bound."""
    from addon.blender.physics.recording.step_trials import raise_steps
    from addon.blender.physics.world.solver_settings import required_solver_settings, selected_steps

    rig = put_world(chain(link, 30.0), "LIMP", 2.0)
    assert select(blank.scene, rig, "BAKE") > 0
    costs = []
    while raise_steps(rig, "BAKE", 1.001e-3):
        found = selected_steps(rig, "BAKE")
        assert found is not None
        costs.append(found.steps * (10 + found.iterations))
        assert costs == sorted(set(costs)), "each costs more than the one before"
    bound = required_solver_settings(rig)
    assert costs[-1] == bound.steps * (10 + bound.iterations)


@pytest.mark.parametrize("quality", ["PREVIEW", "BAKE"])
def test_beside_a_world_of_the_user_the_simulation_has_steps_of_its_own(blank: Any, quality: str) -> None:
    """Trials, bakes and the check of convergence step the simulation scene with their settings; the world's stay."""
    import bpy

    from addon.blender.data.queries import simulation_scene_of
    from addon.blender.physics.recording.bake import bake, record_steps
    from addon.blender.physics.recording.step_trials import convergence_steps, select_steps
    from addon.blender.physics.world.solver_settings import selected_steps

    scene = blank.scene
    scene.knuckle_simulate_here = False
    scene.render.fps = scene.knuckle_control_rate = 60
    bpy.ops.mesh.primitive_cube_add(location=(0.0, 0.0, 50.0))
    bpy.ops.rigidbody.object_add()
    world = scene.rigidbody_world
    world.substeps_per_frame, world.solver_iterations = 7, 13
    rig = put_world(chain(0.05, 30.0), "LIMP", 2.0)
    used: list[int] = []

    def noted(scene: Any, model: Any, last: int) -> Any:
        result = yield from record_steps(scene, model, last)
        used.append(simulation_scene_of(scene).rigidbody_world.substeps_per_frame)
        return result

    for _ in select_steps(scene, [rig], quality, noted):
        pass
    found = selected_steps(rig, quality)
    assert found is not None and used == sorted(used) and len(set(used)) > 1
    assert used[-1] == int(np.ceil(found.steps / 60.0))
    if quality == "BAKE":
        bake(scene, rig, 20)
        used.clear()
        for _ in convergence_steps(scene, rig, noted):
            pass
        assert used[0] >= np.ceil(found.steps / 60.0) and used[1] == 2 * used[0]
    assert (world.substeps_per_frame, world.solver_iterations) == (7, 13)


# ---------------------------------------------------------------- path shift


def shift(scene: Any, rig: Any) -> Any:
    """The path shift of a mechanism with the world's present substeps."""
    from addon.blender.physics.recording.bake import record_steps
    from addon.blender.physics.recording.step_trials import path_shift_steps

    steps = path_shift_steps(scene, rig, record_steps)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def test_a_falling_body_is_off_by_the_error_of_semi_implicit_euler(blank: Any) -> None:
    """Its fall is g t dt / 2 too long, so that half the step moves it by g t dt / 4."""
    cube = Body("cube", "cube", np.diag([1.0, 1.0, 1.0, 1.0]), shapes=[Shape("box", {"x": 1.0, "y": 2.0, "z": 2.0})])
    rig = put_world(Mechanism("cube", bodies=[cube]), "LIMP", 1.0)
    rig.data.knuckle.has_ground = False
    blank.scene.rigidbody_world.substeps_per_frame = 10
    found = shift(blank.scene, rig)
    assert found.share * 3.0 == pytest.approx(9.81 * 1.0 / 600.0 / 4.0, rel=2e-3)
    assert (found.seconds, found.contacts) == (pytest.approx(1.0), False)
    assert blank.scene.rigidbody_world.substeps_per_frame == 10


def test_a_fall_to_the_ground_counts_until_it_touches(blank: Any) -> None:
    pose = np.eye(4)
    pose[2, 3] = 2.0
    cube = Body("cube", "cube", pose, shapes=[Shape("box", {"x": 1.0, "y": 1.0, "z": 1.0})])
    mechanism = Mechanism("cube", World(ground=0.0), bodies=[cube])
    rig = put_world(mechanism, "LIMP", 1.0)
    found = shift(blank.scene, rig)
    assert not found.contacts
    assert found.seconds == pytest.approx((2.0 * 1.5 / 9.81) ** 0.5, abs=1.5 / 60.0)
    rig.location.z = -1.5
    blank.scene.frame_set(blank.scene.frame_start)
    resting = shift(blank.scene, rig)
    assert resting.contacts and resting.seconds == pytest.approx(1.0)


def test_the_path_shift_of_a_pendulum_is_of_first_order(blank: Any) -> None:
    """Twice the substeps halve it."""
    rig = put_world(chain(1.0, links=1), "LIMP", 1.0)
    found = []
    for substeps in (10, 20, 40):
        blank.scene.rigidbody_world.substeps_per_frame = substeps
        found.append(shift(blank.scene, rig).share)
    assert found[0] / found[1] == pytest.approx(2.0, rel=0.05)
    assert found[1] / found[2] == pytest.approx(2.0, rel=0.05)


def test_checking_convergence_simulates_what_was_baked(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the Action that was assigned before the bake, whose keyframes the servos track, and in its drive; also where
    the drive is keyed. The figure joins the others, undo takes it away, and a new bake forgets it."""
    import bpy

    from addon.blender.physics.recording import step_trials
    from addon.blender.physics.recording.accuracy import accuracy_lines, stored_accuracy

    rig = put_world(chain(0.5, links=2), "SERVO", 0.5)
    rig.data.knuckle.law = "PD"
    key(rig, "hinge 0", [(1, 0.0), (10, 0.6), (31, -0.4)])
    source, seen = rig.animation_data.action, []
    plain = step_trials.measure_path_shift
    monkeypatch.setattr(step_trials, "measure_path_shift", lambda *args: (seen.append(args[1].values), plain(*args))[1])
    bpy.context.view_layer.objects.active = rig
    for keyed in (False, True):
        if keyed:
            rig.animation_data.action = source
            for frame, drive in ((1, 1), (15, 2)):
                rig.data.knuckle["drive"] = drive
                rig.data.keyframe_insert("knuckle.drive", frame=frame)
        assert bpy.ops.knuckle.bake_physics() == {"FINISHED"}
        assert stored_accuracy(rig).path_shift is None
        baked = rig.animation_data.action
        assert baked != source
        values = [bone_value(rig, frame) for frame in range(1, 31)]
        bpy.context.scene.frame_set(7)
        bpy.ops.ed.undo_push(message="baked")
        assert bpy.ops.knuckle.check_convergence() == {"FINISHED"}
        assert (rig.animation_data.action, rig.data.knuckle.drive, bpy.context.scene.frame_current) == (
            baked,
            "KEYS",
            7,
        )
        np.testing.assert_allclose(seen[-1][:30, 0], values, atol=1e-5)
        assert 0.0 < stored_accuracy(rig).path_shift.share < 0.01
        assert accuracy_lines(rig)[-1].what == "Path shift" and accuracy_lines(rig)[-1].good
    bpy.ops.ed.undo_push(message="checked")
    bpy.ops.ed.undo()
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    assert stored_accuracy(rig).path_shift is None
    bpy.ops.ed.redo()


def bone_value(rig: Any, frame: int) -> float:
    """The first servo's angle at a frame."""
    import bpy

    bpy.context.scene.frame_set(frame)
    return float(bone_of(rig, "hinge 0").rotation_euler.z)
