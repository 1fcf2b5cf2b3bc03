"""Runs and scenes in every state: what is done between the first frame and the second, at frames that were jumped to,
in scenes that share a model, in worlds that are switched off or baked."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts
from addon.blender.physics.recording.bake import record
from addon.blender.physics.simulation import cached_frames as progress
from addon.blender.physics.world.solver_settings import required_solver_settings
from tests.support.mechanisms import XmlModel, body, coordinate, joint, key, model, objects_of, play, put, world_of
from tests.support.swings import chain, put_world

ARM = model(
    body(1, (0, 0, 6), (1, 1, 12), mass=1e5),
    body(2, (2, 0, 6), (3, 0.2, 0.2), mass=2),
    joint(3, 1, 2, (0.5, 0, 6), (0, 90, 0), force=1000),
    gravity=9.81,
)
DOCUMENT = XmlModel(ARM)
BOX = model(body(1, (0, 0, 0.5), (1, 1, 1), mass=5), gravity=9.81)


def arm(drive: str = "SERVO") -> Any:
    rig = put(ARM)
    settings(rig).target = "KEYS"
    settings(rig).drive = drive
    bpy.context.view_layer.objects.active = rig
    return rig


def angle(rig: Any) -> float:
    return coordinate(rig, 3, DOCUMENT)


def places(rig: Any) -> np.ndarray:
    return np.array([world_of(obj)[:3, 3] for obj in parts(rig, "BODY")])


def run_then_rewind(scene: Any) -> None:
    for frame in (1, 2, 3, 4, 1):
        scene.frame_set(frame)


def on(scene: Any, rig: Any, last: int) -> float:
    """Play on from the first frame, at which the scene is."""
    for frame in range(2, last + 1):
        scene.frame_set(frame)
    return angle(rig)


# ---------------------------------------------------------------- what is done at the first frame


def test_physics_cleared_and_rebuilt_at_the_first_frame_plays_as_ever(blank: Any) -> None:
    """A run that held on to the rigid bodies of before crashed Blender here."""
    rig = arm("LIMP")
    fresh = play(blank.scene, 12, lambda: angle(rig))[-1]
    run_then_rewind(blank.scene)
    bpy.ops.knuckle.clear_physics()
    settings(rig).drive = "LIMP"
    assert on(blank.scene, rig, 12) == pytest.approx(fresh, abs=1e-5)
    assert abs(fresh) > 0.05


def test_a_force_and_keys_that_are_set_at_the_first_frame_hold_at_once(blank: Any) -> None:
    rig = arm()
    run_then_rewind(blank.scene)
    record_of(objects_of(rig, "JOINT")["3"]).joint.dofs[0].max_force = 0.0
    assert abs(on(blank.scene, rig, 20)) > 0.1, "nothing holds it"
    record_of(objects_of(rig, "JOINT")["3"]).joint.dofs[0].max_force = 1000.0
    run_then_rewind(blank.scene)
    key(rig, 3, [(1, 0.0), (30, 0.8)])
    blank.scene.frame_set(1)
    assert on(blank.scene, rig, 30) == pytest.approx(0.8, abs=2e-3)


def test_a_model_imported_again_under_its_name_is_another(blank: Any) -> None:
    rig = arm()
    run_then_rewind(blank.scene)
    name = rig.name
    bpy.data.batch_remove(list(settings(rig).collection.all_objects))
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    rig = arm()
    assert rig.name == name
    assert on(blank.scene, rig, 10) == pytest.approx(0.0, abs=1e-3)


def test_a_renamed_scene_and_a_renamed_model_keep_their_run(blank: Any) -> None:
    rig = arm("LIMP")
    seen = play(blank.scene, 20, lambda: angle(rig))
    blank.scene.name, rig.name = "Renamed", "Also renamed"
    blank.scene.frame_set(21)
    assert progress.frame_note(blank.scene) == ""
    blank.scene.frame_set(10)
    assert progress.frame_note(blank.scene) == "" and angle(rig) == pytest.approx(seen[9], abs=1e-6)


# ---------------------------------------------------------------- frames that no run came to


@pytest.mark.parametrize("drive", ["LIMP", "SERVO"])
@pytest.mark.parametrize("before", ["fresh", "after a run", "imported there"])
def test_bodies_stay_with_their_bones_where_no_run_came_to(blank: Any, drive: str, before: str) -> None:
    scene = blank.scene
    if before == "imported there":
        scene.frame_set(50)
    rig = put(ARM)
    key(rig, 3, [(1, 0.0), (50, 0.5)])
    if before == "after a run":
        settings(rig).drive = "LIMP"
        play(scene, 52, lambda: None)
        settings(rig).drive = "KEYS"
        scene.frame_set(1)
    scene.frame_set(50)
    there = places(rig)
    settings(rig).drive = drive
    assert places(rig) == pytest.approx(there, abs=1e-6)
    scene.frame_set(51)
    assert places(rig) == pytest.approx(there, abs=1e-6)
    assert progress.frame_note(scene).startswith("Physics: this frame is not simulated")
    bones = play(scene, 30, lambda: places(rig))
    assert progress.frame_note(scene) == "" and (drive == "SERVO" or np.abs(bones[-1] - there).max() > 0.5)


def test_after_an_edit_a_jump_shows_the_keys_and_no_old_place(blank: Any) -> None:
    rig = arm("LIMP")
    seen = play(blank.scene, 30, lambda: places(rig))
    settings(rig).gravity = (0.0, 0.0, -3.0)
    for frame in (20, 45):
        blank.scene.frame_set(frame)
        assert places(rig) == pytest.approx(seen[0], abs=1e-6), frame
        assert progress.frame_note(blank.scene).startswith("Physics: this frame is not simulated")
    blank.scene.frame_set(1)
    slower = play(blank.scene, 30, lambda: places(rig))
    assert slower[10][1, 2] - seen[10][1, 2] > 0.05 and progress.frame_note(blank.scene) == ""


def test_bodies_that_were_played_to_on_keys_are_let_go_where_they_are(blank: Any) -> None:
    """The switch thrown in mid-play: physics takes over from that frame."""
    rig = arm("KEYS")
    blank.scene.frame_set(1)
    on(blank.scene, rig, 10)
    settings(rig).drive = "LIMP"
    for frame in range(11, 30):
        blank.scene.frame_set(frame)
    assert abs(angle(rig)) > 0.2


@pytest.mark.parametrize("drive", ["LIMP", "SERVO"])
@pytest.mark.parametrize("what", ["cleared and made anew", "without ground"])
def test_physics_rebuilt_during_a_run_waits_for_its_first_frame(blank: Any, drive: str, what: str) -> None:
    scene, rig = blank.scene, arm(drive)
    bones = play(scene, 11, lambda: places(rig))[0]
    if what == "without ground":
        settings(rig).has_ground = False
    else:
        bpy.ops.knuckle.clear_physics()
        settings(rig).drive = drive
    for frame in (11, 12, 5):
        scene.frame_set(frame)
        assert places(rig) == pytest.approx(bones, abs=1e-6)
        assert progress.frame_note(scene).startswith("Physics: this frame is not simulated")
    fallen = play(scene, 11, lambda: places(rig))[-1]
    assert progress.frame_note(scene) == ""
    assert (bones - fallen)[1, 2] > 0.05 or (drive == "SERVO" and what != "without ground")


# ---------------------------------------------------------------- two scenes, several models


def second_scene(rig: Any) -> Any:
    scene = bpy.data.scenes.new("Shot 2")
    scene.collection.children.link(settings(rig).collection)
    return scene


def test_physics_is_in_one_scene_and_the_other_keeps_what_it_has(blank: Any) -> None:
    scene, rig = blank.scene, put(ARM)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.knuckle.clear_physics()
    scene.gravity = (0.0, 0.0, -3.0)
    other = second_scene(rig)
    other.gravity, other.use_gravity = (0.0, 0.0, -1.5), False
    bpy.context.view_layer.update()
    settings(rig).drive = "SERVO"
    assert scene.rigidbody_world is not None and other.rigidbody_world is None
    bpy.ops.knuckle.clear_physics()
    found = [(each.gravity[2], each.use_gravity, each.rigidbody_world) for each in (scene, other)]
    assert found == [(-3.0, True, None), (-1.5, False, None)]


def test_operators_in_another_scene_say_where_the_physics_is(blank: Any) -> None:
    rig = arm("LIMP")
    other = second_scene(rig)
    held = len(blank.scene.rigidbody_world.collection.objects)
    with bpy.context.temp_override(scene=other, view_layer=other.view_layers[0], object=rig, active_object=rig):
        for name in ("fit_world", "bake_physics", "clear_physics", "build_physics"):
            with pytest.raises(RuntimeError, match="is in scene 'Scene'"):
                getattr(bpy.ops.knuckle, name)()
    assert settings(rig).drive == "LIMP" and len(blank.scene.rigidbody_world.collection.objects) == held


def test_frames_of_another_scene_with_a_world_leave_the_run_alone(blank: Any) -> None:
    scene, rig = blank.scene, arm("LIMP")
    other = second_scene(rig)
    with bpy.context.temp_override(scene=other):
        bpy.ops.rigidbody.world_add()
    other.rigidbody_world.collection = bpy.data.collections.new("Others")
    wanted = play(scene, 20, lambda: angle(rig))[-1]
    play(scene, 10, lambda: None)
    for frame in (1, 2, 40, 41):
        other.frame_set(frame)
    for frame in range(11, 21):
        scene.frame_set(frame)
    assert angle(rig) == pytest.approx(wanted, abs=1e-5) and progress.frame_note(scene) == ""


def test_models_that_stay_wait_for_their_first_frame_when_one_is_cleared_in_mid_run(blank: Any) -> None:
    first, last = put(ARM, "a.jm"), put(ARM, "b.jm")
    last.location.y = 50
    for rig in (first, last):
        settings(rig).drive = "LIMP"
    seen = play(blank.scene, 11, lambda: places(last))
    bpy.context.view_layer.objects.active = first
    bpy.ops.knuckle.clear_physics()
    assert places(last) == pytest.approx(seen[0], abs=1e-6)
    assert play(blank.scene, 11, lambda: places(last))[-1] == pytest.approx(seen[-1], abs=1e-3)


def stands(rig: Any) -> bool:
    return bool(abs(play(bpy.context.scene, 40, lambda: places(rig))[-1][0, 2] - 0.5) < 0.01)


def test_the_ground_goes_to_a_model_that_stands_on_it(blank: Any) -> None:
    """Of three, the first owns it and the second has none."""
    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    first = put(BOX, "a.jm")
    between = rig_in(build(chain(links=1), bpy.context, BuildOptions(gait=False)))
    last = put(BOX, "c.jm")
    last.location.x = 10
    for rig in (first, between, last):
        settings(rig).drive = "LIMP"
    bpy.context.view_layer.objects.active = first
    bpy.ops.knuckle.clear_physics()
    assert stands(last)
    settings(last).has_ground = False
    assert not stands(last), "the ground's switch takes it away"
    settings(last).has_ground = True
    assert stands(last)


def test_cleaning_up_hands_ground_and_world_down(blank: Any) -> None:
    scene = blank.scene
    scene.gravity = (0.0, 0.0, -1.0)
    first, last = put(BOX, "a.jm"), put(BOX, "b.jm")
    last.location.x = 5
    settings(last).drive = "LIMP"
    bpy.ops.object.select_all(action="DESELECT")
    for obj in settings(first).collection.all_objects:
        if not obj.hide_select and not obj.hide_viewport:
            obj.select_set(True)
    scene.frame_set(1)
    bpy.ops.object.delete()
    bpy.ops.knuckle.clean_up()
    assert stands(last)
    bpy.context.view_layer.objects.active = last
    bpy.ops.knuckle.clear_physics()
    assert scene.rigidbody_world is None and scene.gravity[2] == pytest.approx(-1.0)


def test_gravity_that_a_model_cannot_set_is_said(blank: Any) -> None:
    put(BOX, "a.jm")
    second = put(BOX, "b.jm")
    settings(second).gravity = (0.0, 0.0, -3.0)
    assert blank.scene.gravity[2] == pytest.approx(-9.81)
    assert [line.code for line in settings(second).report].count("gravity-kept") == 1
    settings(second).gravity = (0.0, 0.0, -9.81)
    assert "gravity-kept" not in [line.code for line in settings(second).report]


def test_friction_weighs_active_bodies_as_building_does(blank: Any) -> None:
    document = model(body(1, (0, 0, 6), mass=50), body(2, (2, 0, 6), mass=200), gravity=9.81, friction=300)
    rig = put(document)
    bodies = objects_of(rig, "BODY")
    record_of(bodies["2"]).active = False
    bpy.context.view_layer.objects.active = rig
    bpy.ops.knuckle.build_physics()
    built = bodies["1"].rigid_body.friction
    settings(rig).friction = 100.0
    settings(rig).friction = 300.0
    assert bodies["1"].rigid_body.friction == pytest.approx(built)
    settings(rig).friction = 100.0
    assert bodies["1"].rigid_body.friction == pytest.approx(2.5 * 100 / (50 * 9.81), rel=1e-3)


# ---------------------------------------------------------------- worlds that do not run as they were made


def test_a_world_that_was_fitted_is_fitted_to_another_frame_rate(blank: Any) -> None:
    scene = blank.scene
    rig = put_world(chain(links=2, long=0.1, ratio=10), "LIMP", 1, rate=60)
    wanted = required_solver_settings(rig).steps
    for rate in (24, 60):
        scene.render.fps = rate
        scene.frame_set(1)
        assert scene.rigidbody_world.substeps_per_frame == int(np.ceil(wanted / rate - 1e-6))
    scene.rigidbody_world.substeps_per_frame = 7
    scene.render.fps = 24
    scene.frame_set(1)
    assert scene.rigidbody_world.substeps_per_frame == 7, "the user has set it"


def bake_cache(scene: Any) -> None:
    cache = scene.rigidbody_world.point_cache
    cache.frame_end = 5
    with bpy.context.temp_override(scene=scene, point_cache=cache):
        bpy.ops.ptcache.bake(bake=True)


@pytest.mark.parametrize(("state", "said"), [("off", "Rigid-body world: disabled"), ("baked", "its cache is baked")])
def test_a_world_that_takes_no_steps_is_not_recorded_and_cleared_whole(blank: Any, state: str, said: str) -> None:
    rig = arm("LIMP")
    run_then_rewind(blank.scene)
    if state == "off":
        blank.scene.rigidbody_world.enabled = False
    else:
        bake_cache(blank.scene)
    with pytest.raises(RuntimeError, match=said):
        bpy.ops.knuckle.bake_physics()
    with pytest.raises(ValueError, match=said):
        record(blank.scene, rig, 5)
    bpy.ops.knuckle.clear_physics()
    assert not any(obj.rigid_body for obj in bpy.data.objects)
    settings(rig).drive = "LIMP"
    assert play(blank.scene, 12, lambda: angle(rig))[-1] < -0.05
