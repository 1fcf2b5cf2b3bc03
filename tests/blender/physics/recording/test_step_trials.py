"""Trial simulations select substeps and iterations: enough for a longer simulation, stored, and the user's own stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
    from addon.blender.physics.recording.step_trials import steps_applied
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
    assert found is not None and (found.steps, found.iterations) == (pytest.approx(bound.steps), bound.iterations)
    assert rig.data.knuckle.drive == "LIMP"
