"""Baked simulations: the mechanism plays them again without physics, with keyframes for its bones or for every body,
and nothing of the user's is touched."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.bake_helpers import CRAWLER, G, by_hand, stand, state
from tests.support.emptied import empty_file
from tests.support.mechanisms import (
    XmlModel,
    body,
    bone_of,
    coordinate,
    curves_of,
    four_bar,
    joint,
    key,
    model,
    objects_of,
    play,
    put,
    spinner,
    world_of,
)
from tests.support.truth_helpers import SOFT

#: Two floating bodies that a motor turns against each other, for ever.
PAIR = model(
    body(1, (0, 0, 9), (1, 1, 1)),
    body(2, (0, 0, 11), (1, 1, 1)),
    joint(3, 1, 2, (0, 0, 10), (0, 30, 0), force=500),
    behaviours=spinner(3, 8.0),
    cfm=1e-6,
)


def bake(rig: Any, last: int, **options: Any) -> tuple[Any, Any]:
    import bpy

    from addon.blender.physics.recording.bake import bake

    by_hand(rig)
    return bake(bpy.context.scene, rig, last, **options)


def root_of(rig: Any) -> Any:
    """The body that the model's one root bone carries."""
    (root,) = [bone.knuckle.root for bone in rig.data.bones if bone.knuckle.root]
    return objects_of(rig, "BODY")[root]


def run(rig: Any, frames: int, document: XmlModel, joints: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Play from the start: poses of the root, and joint values as they are measured on the bodies."""
    import bpy

    seen = play(
        bpy.context.scene,
        frames,
        lambda: (world_of(root_of(rig)), [coordinate(rig, number, document) for number in joints]),
        bpy.context.scene.frame_start,
    )
    return np.array([pose for pose, _ in seen]), np.unwrap([values for _, values in seen], axis=0)


def test_a_mechanism_whose_armature_is_in_no_scene_is_not_baked(blank: Any) -> None:
    """Its bodies still are: the armature was deleted, or a collection without it was appended."""
    rig = put(PAIR)
    for folder in rig.users_collection:
        folder.objects.unlink(rig)
    with pytest.raises(ValueError, match="was deleted: restore it with Rebuild Missing Parts"):
        bake(rig, 5)


@pytest.mark.parametrize("how", ["as designed", "elsewhere", "in the ground"])
@pytest.mark.parametrize("drive", ["SERVO", "LIMP"])
def test_on_keys_the_model_does_what_it_did_under_physics(blank: Any, how: str, drive: str) -> None:
    document, joints = XmlModel(CRAWLER), (21, 22, 23)
    rig = put(CRAWLER)
    stand(rig, how)
    rig.data.knuckle.drive = drive
    poses, values = run(rig, 90, document, joints)
    assert np.ptp(poses[:, 2, 3]) > 0.3, "it moves at all"
    assert np.ptp(values, axis=0).min() > 0.1
    _action, recording = bake(rig, 90)
    assert rig.data.knuckle.drive == "KEYS"
    assert recording.frames.tolist() == list(range(1, 91))
    place = list(objects_of(rig, "BODY").values()).index(root_of(rig))
    assert np.abs(recording.poses[:, place] - poses).max() < 1e-4, "the run that was recorded is the one that is played"
    baked_poses, baked_values = run(rig, 90, document, joints)
    assert np.abs(baked_poses - poses).max() < 1e-4
    assert np.abs(baked_values - values).max() < 1e-4
    by_joint = dict(zip(recording.joint_state.joints, recording.values.T, strict=True))
    for column, number in enumerate(joints):
        assert by_joint[str(number)] == pytest.approx(baked_values[:, column], abs=1e-4)
    clear_of_physics(rig)
    assert np.abs(run(rig, 90, document, joints)[0] - poses).max() < 1e-4


def clear_of_physics(rig: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import clear_physics

    clear_physics(bpy.context.scene, rig)
    assert bpy.context.scene.rigidbody_world is None


def test_bodies_on_a_baked_ball_joint_rotate_as_they_did(blank: Any) -> None:
    rig = put(CRAWLER)
    rig.data.knuckle.drive = "SERVO"
    head = objects_of(rig, "BODY")["5"]
    before = np.array(play(blank.scene, 60, lambda: world_of(head)))
    bake(rig, 60)
    after = np.array(play(blank.scene, 60, lambda: world_of(head)))
    assert np.abs(before[:, :3, :3] - after[:, :3, :3]).max() < 1e-4
    assert np.abs(before[:, :3, 3] - after[:, :3, 3]).max() < 0.05, "but for the softness of the joint"


def test_a_loop_that_physics_kept_closed_is_closed_on_keys(blank: Any) -> None:
    from tests.support.mechanisms import gap

    text = four_bar()
    rig, document = put(text), XmlModel(text)
    key(rig, 11, [(1, 0.0), (60, 0.8)])
    rig.data.knuckle.drive = "SERVO"
    bake(rig, 60)
    gaps = play(blank.scene, 60, lambda: max(gap(rig, number, document) for number in (11, 12, 13, 14)))
    assert max(gaps) < 0.01


# ---------------------------------------------------------------- the keys


def quaternions(rig: Any, bone: str) -> np.ndarray:
    """The quaternion keys (n, 4) of a bone."""
    path = f'pose.bones["{bone}"].rotation_quaternion'
    curves = sorted((curve for curve in curves_of(rig) if curve.data_path == path), key=lambda curve: curve.array_index)
    return np.array([[point.co[1] for point in curve.keyframe_points] for curve in curves]).T


def test_turning_round_and_round_has_no_jumps(blank: Any) -> None:
    """Two and a half turns in four seconds: a quaternion's sign changes with every turn, a key's must not."""
    rig, document = put(PAIR), XmlModel(PAIR)
    rig.data.knuckle.drive = "SERVO"
    poses, values = run(rig, 240, document, (3,))
    bake(rig, 240)
    root = root_of(rig).parent_bone
    found = quaternions(rig, root)
    assert len(found) == 240
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(240), abs=1e-5)
    dots = np.einsum("ni,ni->n", found[1:], found[:-1])
    assert dots.min() > 0.99
    turned = 2 * np.arccos(np.clip(dots, -1, 1)).sum()
    assert turned > 4 * math.pi
    assert abs(values[-1, 0]) > 4 * math.pi
    (keys,) = [curve for curve in curves_of(rig) if curve.data_path.endswith("rotation_euler")]
    assert [point.co[1] for point in keys.keyframe_points] == pytest.approx(values[:, 0], abs=1e-4), "wound up, not cut"
    for frame in (30, 117, 200):
        blank.scene.frame_set(frame, subframe=0.5)
        halfway = world_of(root_of(rig))
        expected = (poses[frame - 1] + poses[frame]) / 2
        assert np.abs(halfway - expected).max() < 0.01


def test_a_bake_has_a_key_per_frame_of_every_servo_and_root(blank: Any) -> None:
    rig = put(CRAWLER)
    rig.data.knuckle.drive = "SERVO"
    action, _recording = bake(rig, 20, name="Run")
    assert (action.name, action.knuckle.kind) == ("Run", "BAKE")
    frames = {curve.data_path: [point.co[0] for point in curve.keyframe_points] for curve in curves_of(rig)}
    assert set(map(tuple, frames.values())) == {tuple(map(float, range(1, 21)))}
    root = f'pose.bones["{root_of(rig).parent_bone}"]'
    servos = {f'pose.bones["{bone_of(rig, n).name}"].rotation_euler' for n in (21, 22)}
    slide = f'pose.bones["{bone_of(rig, 23).name}"].location'
    ball = f'pose.bones["{bone_of(rig, 24).name}"].rotation_quaternion'
    assert set(frames) == servos | {slide, ball, f"{root}.location", f"{root}.rotation_quaternion"}


def test_the_users_action_stays_as_it_was(blank: Any) -> None:
    import bpy

    rig = put(CRAWLER, gait=False)
    key(rig, 21, [(1, 0.0), (20, 0.6), (40, -0.3)])
    mine = rig.animation_data.action
    mine.use_fake_user = False

    def keys() -> list:
        data = rig.animation_data
        data.action = mine
        if hasattr(data, "action_slot"):
            data.action_slot = mine.slots[0]
        return [(c.data_path, c.array_index, [tuple(p.co) for p in c.keyframe_points]) for c in curves_of(rig)]

    before = keys()
    rig.data.knuckle.drive = "SERVO"
    first, _ = bake(rig, 30)
    rig.data.knuckle.drive = "SERVO"
    second, _ = bake(rig, 30)
    assert rig.animation_data.action == second
    assert len({mine.name, first.name, second.name}) == 3
    assert mine.name in bpy.data.actions
    assert keys() == before


def test_baking_puts_the_frame_back_and_takes_the_scenes_range(blank: Any) -> None:
    blank.scene.frame_start, blank.scene.frame_end = 11, 35
    rig = put(CRAWLER, gait_seconds=0.1, adapt_scene=False)
    rig.data.knuckle.drive = "LIMP"
    blank.scene.frame_set(17, subframe=0.25)
    _action, recording = bake(rig, None)  # type: ignore[arg-type]
    assert recording.frames.tolist() == list(range(11, 36))
    assert (blank.scene.frame_current, blank.scene.frame_subframe) == (17, 0.25)
    assert (blank.scene.frame_start, blank.scene.frame_end) == (11, 35)


def test_a_switch_that_was_keyed_rests_once_what_it_did_is_baked(blank: Any) -> None:
    """On keys for a while, then limp: baked, the model is on keys throughout, and the switch's own keys are kept."""
    document = XmlModel(CRAWLER)
    rig = put(CRAWLER)
    for frame, drive in ((1, "KEYS"), (20, "LIMP")):
        rig.data.knuckle.drive = drive
        rig.data.keyframe_insert("knuckle.drive", frame=frame)
    (switch,) = curves_of(rig.data)
    for point in switch.keyframe_points:
        point.interpolation = "CONSTANT"
    poses, values = run(rig, 60, document, (21, 22))
    assert np.ptp(poses[:18, 2, 3]) < 1e-5 < np.ptp(poses[:, 2, 3])
    _action, recording = bake(rig, 60)
    again, baked = run(rig, 60, document, (21, 22))
    assert {obj.rigid_body.kinematic for obj in objects_of(rig, "BODY").values()} == {True}
    place = list(objects_of(rig, "BODY").values()).index(root_of(rig))
    assert np.abs(again - recording.poses[:, place]).max() < 1e-5
    assert np.abs(recording.poses[:, place] - poses).max() < 1e-3, "impacts enlarge a rounding error a thousandfold"
    assert np.abs(baked - values).max() < 1e-3, "a leg that strikes its stop goes a little beyond it, its bone does not"
    (switch,) = curves_of(rig.data)
    assert [point.co[0] for point in switch.keyframe_points] == [1, 20]


def test_the_motion_of_a_run_is_read_off_on_a_grid(blank: Any) -> None:
    from addon.blender.physics.recording.bake import record, recorded_motion

    rig = put(CRAWLER)
    rig.data.knuckle.drive = "SERVO"
    recording = record(blank.scene, rig, 61)
    motion = recorded_motion(blank.scene, recording, "Run", 0.032)
    assert [track.name for track in motion.trajectories] == ["Joint 21", "Joint 22", "Joint 23"]
    for number, track in enumerate(motion.trajectories):
        assert track.times == pytest.approx(0.032 * np.arange(32), abs=1e-9)
        assert track.values == pytest.approx(
            np.interp(track.times, np.arange(61) / 60, recording.values[:, number]), abs=1e-12
        )
    plain = recorded_motion(blank.scene, recording, "Run")
    assert plain.trajectories[0].times == pytest.approx(np.arange(61) / 60)


# ---------------------------------------------------------------- stopped half way


@pytest.mark.parametrize("fps", [24, 60])
@pytest.mark.parametrize("at", [1, 2, 3, 25])
def test_an_error_on_the_way_leaves_everything_as_it_was(blank: Any, fps: int, at: int) -> None:
    blank.scene.render.fps, blank.scene.frame_end = fps, 40
    rig = put(CRAWLER, adapt_scene=False)
    rig.data.knuckle.drive = "SERVO"
    play(blank.scene, 3, lambda: None)
    blank.scene.frame_set(1)
    before = state(rig)

    def stop(done: int, total: int) -> None:
        assert total == 400
        if done == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bake(rig, 400, progress=stop)
    assert state(rig) == before
    poses = run(rig, 30, XmlModel(CRAWLER), (21,))[0]
    assert np.ptp(poses[:, 2, 3]) > 0.1, "it still runs"


def test_closed_half_way_it_leaves_everything_as_it_was(blank: Any) -> None:
    from addon.blender.physics.recording.bake import bake_steps

    blank.scene.frame_end = 40
    rig = put(CRAWLER)
    rig.data.knuckle.drive = "LIMP"
    blank.scene.frame_set(7)
    before = state(rig)
    by_hand(rig)
    steps = bake_steps(blank.scene, rig, 300)
    assert [next(steps) for _ in range(3)] == [(1, 300), (2, 300), (3, 300)]
    steps.close()
    assert state(rig) == before


def test_progress_counts_to_the_end(blank: Any) -> None:
    told = []
    rig = put(CRAWLER)
    rig.data.knuckle.drive = "SERVO"
    bake(rig, 25, progress=lambda *numbers: told.append(numbers))
    assert told == [(number, 25) for number in range(1, 26)]


# ---------------------------------------------------------------- slow scenes

ARM = model(
    body(1, (0, 0, 4), (2, 2, 8), mass=1e5),
    body(2, (3, 0, 6), (2, 0.2, 0.3), mass=1.5),
    joint(3, 1, 2, (2, 0, 6), (0, 90, 0), force=200),
    gravity=G,
    cfm=1e-6,
)


def tracked(scene: Any, fps: int, base: float = 1.0) -> tuple[np.ndarray, np.ndarray, Any]:
    """A hinge that follows a sine of 1.25 Hz for two seconds: wanted and baked values, and its model."""
    scene.render.fps, scene.render.fps_base = fps, base
    rig = put(ARM, adapt_scene=False)
    frames = np.arange(1, round(2 * fps / base) + 2)
    wanted = 0.6 * np.sin(2 * math.pi * 1.25 * (frames - 1) * base / fps)
    key(rig, 3, list(zip(frames.tolist(), wanted.tolist(), strict=True)))
    rig.data.knuckle.drive = "SERVO"
    _action, recording = bake(rig, int(frames[-1]))
    return wanted, recording.values[:, 0], rig


@cache
def error_of_a_quick_scene() -> float:
    """The mean error at 60 frames a second. It takes the place of what is in the file."""
    import bpy

    empty_file()
    wanted, found, _rig = tracked(bpy.context.scene, 60)
    return float(np.abs(found - wanted).mean())


@pytest.mark.parametrize(("fps", "base"), [(24, 1.0), (25, 1.0), (12, 1.0), (30, 1.001)])
def test_a_slow_scene_is_tracked_as_well_as_a_quick_one(blank: Any, fps: int, base: float) -> None:
    """Servos are controlled 60 times a second whatever the scene's rate."""
    wanted, found, rig = tracked(blank.scene, fps, base)
    slow = np.abs(found - wanted).mean()
    assert np.ptp(found) == pytest.approx(1.2, abs=0.1)
    assert blank.scene.render.fps == fps
    played = run(rig, len(wanted), XmlModel(ARM), (3,))[1][:, 0]
    assert played == pytest.approx(found, abs=1e-4)
    quick = error_of_a_quick_scene()
    print(f"{fps / base:.4g} frames/s: mean error {slow:.4f} rad, at 60: {quick:.4f}")
    assert slow < 1.5 * quick + 0.002


#: Reads where bodies are at every frame in a Blender that has never heard of us.
ALONE = """
import json, sys
import bpy

bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
scene, seen = bpy.context.scene, []
assert not hasattr(bpy.types.Object, "knuckle") and scene.rigidbody_world is None
for frame in json.loads(sys.argv[3]):
    scene.frame_set(frame)
    seen.append([[list(row) for row in bpy.data.objects[name].matrix_world] for name in json.loads(sys.argv[4])])
open(sys.argv[2], "w").write(json.dumps(seen))
"""


def world_poses(rig: Any, frames: int) -> np.ndarray:
    """World poses (frames, bodies, 4, 4) of a run from the start."""
    import bpy

    bodies = objects_of(rig, "BODY").values()
    return np.array(play(bpy.context.scene, frames, lambda: [world_of(obj) for obj in bodies]))


def bake_all_bodies(rig: Any, last: int, **options: Any) -> Any:
    import bpy

    from addon.blender.physics.recording.bake import bake

    by_hand(rig)
    return bake(bpy.context.scene, rig, last, all_bodies=True, **options)[0]


@pytest.mark.parametrize("how", ["as designed", "elsewhere", "in the ground"])
def test_every_body_is_where_it_was_at_every_frame(blank: Any, how: str) -> None:
    rig = put(CRAWLER.replace("<CFM>1e-06</CFM>", "<CFM>0.01</CFM>"))
    stand(rig, how)
    rig.data.knuckle.drive = "SERVO"
    seen = world_poses(rig, 80)
    bake_all_bodies(rig, 80)
    assert np.abs(world_poses(rig, 80) - seen).max() < 1e-4
    with_bodies = rig.data.knuckle.body_keys
    rig.animation_data.action.knuckle.bodies = None
    assert np.abs(world_poses(rig, 80) - seen).max() > 1e-3, "bones alone would not have it so"
    assert with_bodies.hide_viewport


def test_without_the_extension_and_the_world_it_plays_the_same(blank: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import clear_physics

    rig = put(SOFT)
    key(rig, 11, [(1, 0.0), (40, 0.7)])
    rig.data.knuckle.drive = "SERVO"
    seen = world_poses(rig, 40)
    bake_all_bodies(rig, 40)
    clear_physics(blank.scene, rig)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "plays.blend"))
    names = [obj.name for obj in objects_of(rig, "BODY").values()]
    frames = [40, 1, 17, *range(2, 40)]  # in any order
    words = [str(tmp_path / "plays.blend"), str(tmp_path / "seen.json"), json.dumps(frames), json.dumps(names)]
    subprocess.run([sys.executable, "-c", ALONE, *words], check=True, cwd=tmp_path, env={}, capture_output=True)
    alone = np.array(json.loads((tmp_path / "seen.json").read_text()))
    assert np.abs(alone - seen[np.array(frames) - 1]).max() < 1e-4


def test_bodies_leave_their_keys_for_another_action_and_for_physics(blank: Any) -> None:
    rig = put(CRAWLER, gait=False)
    key(rig, 21, [(1, 0.0), (40, 0.6)])
    mine = rig.animation_data.action
    on_keys = world_poses(rig, 40)
    rig.data.knuckle.drive = "LIMP"
    limp = world_poses(rig, 40)
    baked = bake_all_bodies(rig, 40)
    assert np.abs(world_poses(rig, 40) - limp).max() < 1e-4
    use(rig, mine)
    for bone in rig.pose.bones:  # what that Action does not key is where the other left it
        if bone.name != objects_of(rig, "BODY")["2"].parent_bone:
            bone.matrix_basis.identity()
    assert np.abs(world_poses(rig, 40) - on_keys).max() < 1e-4
    rig.data.knuckle.drive = "LIMP"
    assert np.abs(world_poses(rig, 40) - limp).max() < 1e-3, "physics begins where the bones are"
    rig.data.knuckle.drive = "KEYS"
    use(rig, baked)
    assert np.abs(world_poses(rig, 40) - limp).max() < 1e-4


def use(rig: Any, action: Any) -> None:
    from addon.blender.compat import use_action

    use_action(rig, action)


def test_a_second_bake_has_its_own_keys_and_the_first_keeps_its(blank: Any) -> None:
    import bpy

    rig = put(CRAWLER)
    runs, actions = [], []
    for drive in ("LIMP", "SERVO"):
        rig.data.knuckle.drive = drive
        runs.append(world_poses(rig, 30))
        actions.append(bake_all_bodies(rig, 30))
    assert len(bpy.data.armatures) == 2
    for action, seen in zip(actions, runs, strict=True):
        use(rig, action)
        assert np.abs(world_poses(rig, 30) - seen).max() < 1e-4


def test_taken_away_nothing_is_left_but_actions(blank: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.recording import remove_body_keys

    rig = put(CRAWLER)
    rig.data.knuckle.drive = "LIMP"
    before = sorted(obj.name for obj in bpy.data.objects)
    bake_all_bodies(rig, 10)
    assert sorted(obj.name for obj in bpy.data.objects) != before
    remove_body_keys(rig)
    assert sorted(obj.name for obj in bpy.data.objects) == before
    assert not any(len(obj.constraints) for obj in objects_of(rig, "BODY").values())
    assert len(bpy.data.armatures) == 1


def test_stopped_half_way_it_leaves_everything_as_it_was(blank: Any) -> None:
    from addon.blender.physics.recording.bake import bake_steps

    blank.scene.frame_end = 40
    rig = put(CRAWLER)
    rig.data.knuckle.drive = "LIMP"
    blank.scene.frame_set(7)
    before = state(rig)
    steps = bake_steps(blank.scene, rig, 300, all_bodies=True)
    for _ in range(5):
        next(steps)
    steps.close()
    assert state(rig) == before
    assert rig.data.knuckle.body_keys is None
    assert not any(len(obj.constraints) for obj in objects_of(rig, "BODY").values())


@pytest.mark.parametrize("here", [True, False])
@pytest.mark.parametrize("deleted", [True, False])
@pytest.mark.parametrize("drive", ["KEYS", "SERVO", "LIMP"])
def test_without_bodies_there_is_nothing_to_bake(blank: Any, drive: str, deleted: bool, here: bool) -> None:
    import bpy

    blank.scene.knuckle_simulate_here = here
    rig = put(CRAWLER if deleted else model())
    rig.data.knuckle.drive = drive
    blank.scene.frame_set(3)
    for obj in list(objects_of(rig, "BODY").values()):
        bpy.data.objects.remove(obj)
    for frame in (4, 1, 2):
        blank.scene.frame_set(frame)
    with pytest.raises(ValueError, match="no bodies"):
        bake(rig, 10)


def test_the_model_goes_out_of_blender_as_it_came(blank: Any) -> None:
    from addon.blender.scene.read.mechanism import extract

    rig = put(CRAWLER)
    rig.data.knuckle.drive = "SERVO"
    before = [body.pose.tolist() for body in extract(rig.data.knuckle.collection).bodies]
    bake_all_bodies(rig, 30)
    blank.scene.frame_set(30)
    assert [body.pose.tolist() for body in extract(rig.data.knuckle.collection).bodies] == before


@pytest.mark.parametrize("rate", [24, 25, 30])
def test_bakes_solve_as_many_substeps_per_second_at_every_frame_rate(blank: Any, rate: int) -> None:
    """Counted in Blender's frame handler: substeps of all world steps of one simulated second."""
    import bpy

    from addon.blender.physics.recording.bake import record

    counts = {}
    for fps in (60, rate):
        rig = put(CRAWLER)
        bpy.context.scene.render.fps = fps
        rig.data.knuckle.drive = "LIMP"
        solved: list[int] = []

        def count(scene: Any, _depsgraph: Any, solved: list[int] = solved) -> None:
            world = scene.rigidbody_world
            if world is not None and scene.frame_current > world.point_cache.frame_start:
                solved.append(world.substeps_per_frame)

        bpy.app.handlers.frame_change_post.append(count)
        try:
            record(bpy.context.scene, rig, 1 + fps)
        finally:
            bpy.app.handlers.frame_change_post.remove(count)
        counts[fps] = sum(solved)
        empty_file()
    assert counts[60] >= 600
    assert 0.98 <= counts[rate] / counts[60] <= 1.1
