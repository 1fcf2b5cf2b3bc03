"""Going to any frame shows what physics did there, or says that it does not: never what it did before an edit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.bake_helpers import CRAWLER, by_hand
from tests.support.mechanisms import curves_of, objects_of, play, put, world_of

FRAMES = 50


def places(rig: Any) -> np.ndarray:
    return np.array([world_of(obj) for obj in objects_of(rig, "BODY").values()])


def run(rig: Any, first: int, last: int) -> dict[int, np.ndarray]:
    """What is shown when the scene is stepped from one frame to another."""
    import bpy

    seen = play(bpy.context.scene, last - first + 1, lambda: places(rig), first)
    return dict(zip(range(first, last + 1), seen, strict=True))


def shown(rig: Any, frame: int) -> np.ndarray:
    """What is shown when the scene goes to a frame at once."""
    import bpy

    bpy.context.scene.frame_set(frame)
    return places(rig)


def note() -> str:
    import bpy

    from addon.blender.physics.simulation import cached_frames as progress

    return progress.frame_note(bpy.context.scene)


def off(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(found - wanted).max())


def moving(drive: str = "SERVO") -> Any:
    rig = put(CRAWLER)
    rig.data.knuckle.drive = drive
    return rig


@pytest.mark.parametrize("drive", ["SERVO", "LIMP"])
def test_back_and_forth_every_frame_is_what_it_was(blank: Any, drive: str) -> None:
    rig = moving(drive)
    seen = run(rig, 1, FRAMES)
    for frame in (30, 10, FRAMES, 3, 2, 45, 1, 40, 41, 42, 39, FRAMES):
        assert off(shown(rig, frame), seen[frame]) < 1e-6, frame
        assert note() == ""


def test_played_on_from_a_frame_of_the_run_it_goes_on_as_it_would_have(blank: Any) -> None:
    rig = moving()
    whole = run(rig, 1, FRAMES)
    run(rig, 1, 30)
    shown(rig, 12)
    again = run(rig, 13, FRAMES)
    assert max(off(again[frame], whole[frame]) for frame in again) < 1e-6
    assert note() == ""


def test_a_frame_ahead_of_the_simulation_reports_what_to_do(blank: Any) -> None:
    rig = moving()
    seen = run(rig, 1, 20)
    shown(rig, 45)
    assert note() == "Physics: simulated up to frame 20 only. Bake, or play from the first frame"
    blank.scene.frame_set(46)
    assert note().startswith("Physics: simulated up to frame 20 only"), "going on by one from there is no run"
    assert off(shown(rig, 15), seen[15]) < 1e-6
    assert note() == ""
    shown(rig, 45)
    shown(rig, 20)
    more = run(rig, 21, 30)
    assert note() == ""
    assert off(more[30], run(rig, 1, 30)[30]) < 1e-6


def test_a_missing_simulation_is_reported_but_not_in_keyframes_drive(blank: Any) -> None:
    rig = moving()
    shown(rig, 30)
    assert note().startswith("Physics: this frame is not simulated")
    rig.data.knuckle.drive = "KEYS"
    assert note() == ""
    shown(rig, 35)
    assert note() == ""
    rig.data.knuckle.drive = "LIMP"
    assert note().startswith("Physics: this frame is not simulated"), (
        "at once: the bodies are not where they would have fallen"
    )
    shown(rig, 1)
    assert note() == ""


def test_a_frame_past_the_end_of_physics_reports_where_that_is(blank: Any) -> None:
    blank.scene.frame_end = 20
    rig = put(CRAWLER, gait=False, adapt_scene=False)
    rig.data.knuckle.drive = "LIMP"
    blank.scene.rigidbody_world.point_cache.frame_end = 20
    run(rig, 1, 20)
    assert note() == ""
    run(rig, 21, 24)
    assert note().startswith("Physics: it ends at frame 20")
    blank.scene.frame_end = 40
    run(rig, 1, 24)
    assert note() == ""


def dof(rig: Any, joint: str) -> Any:
    return objects_of(rig, "JOINT")[joint].knuckle.joint.dofs[0]


def set_stop(rig: Any) -> None:
    dof(rig, "21").upper = 0.1


def set_gain(rig: Any) -> None:
    dof(rig, "21").gain = 1.0


def set_force(rig: Any) -> None:
    dof(rig, "22").max_force = 3.0


def set_mass(rig: Any) -> None:
    objects_of(rig, "BODY")["2"].knuckle.mass = 30.0


def set_blenders_mass(rig: Any) -> None:
    objects_of(rig, "BODY")["2"].rigid_body.mass = 30.0


def set_speed(rig: Any) -> None:
    rig.data.knuckle.speed_factor = 3.0


def set_substeps(rig: Any) -> None:
    import bpy

    bpy.context.scene.rigidbody_world.substeps_per_frame = 3


def move(rig: Any) -> None:
    rig.location.x = 2.0


def move_a_key(rig: Any) -> None:
    next(curve for curve in curves_of(rig) if len(curve.keyframe_points) > 9).keyframe_points[9].co[1] += 0.4


def play_another(rig: Any) -> None:
    rig.animation_data.action = None


EDITS = (set_stop, set_gain, set_force, set_mass, set_blenders_mass, set_speed, set_substeps, move, play_another)


@pytest.mark.parametrize("edit", [*EDITS, move_a_key])
def test_after_an_edit_nothing_old_is_shown(blank: Any, edit: Callable[[Any], None]) -> None:
    rig = moving()
    if edit is move_a_key:
        rig.data.knuckle.target = "KEYS"
    before = run(rig, 1, 40)
    edit(rig)
    assert off(shown(rig, 25), before[25]) > 1e-3
    assert note().startswith("Physics: this frame is not simulated")
    shown(rig, 30)
    assert note().startswith("Physics: this frame is not simulated")
    after = run(rig, 1, 40)
    assert note() == ""
    assert off(after[40], before[40]) > 1e-3, "the edit mattered"
    assert off(shown(rig, 25), after[25]) < 1e-6


def test_what_only_looks_different_keeps_the_run(blank: Any) -> None:
    rig = moving()
    seen = run(rig, 1, 30)
    rig.data.knuckle.report_index = 1
    objects_of(rig, "BODY")["2"].color = (1, 0, 0, 1)
    rig.show_in_front = False
    assert off(shown(rig, 12), seen[12]) < 1e-6
    assert note() == ""


def test_a_recording_leaves_no_frames_behind_that_could_be_taken_for_the_scenes(blank: Any) -> None:
    from addon.blender.physics.recording.bake import record

    blank.scene.render.fps = 24  # recorded in steps of its own
    rig = put(CRAWLER, adapt_scene=False)
    rig.data.knuckle.drive = "SERVO"
    seen = run(rig, 1, 20)
    record(blank.scene, rig, 20)
    shown(rig, 15)
    assert note().startswith("Physics: this frame is not simulated")
    assert off(run(rig, 1, 20)[20], seen[20]) < 1e-6


@pytest.mark.parametrize("bodies", [False, True], ids=["bones", "all bodies"])
def test_drives_from_keyframes_to_servos_to_ragdoll_are_baked(blank: Any, bodies: bool) -> None:
    """It stands on keys, walks on servos, and falls: each from its frame on, from where it was, and baked the same."""
    import bpy

    from addon.blender.physics.recording.bake import bake

    rig = put(CRAWLER)
    for frame, drive in ((1, "KEYS"), (15, "SERVO"), (30, "LIMP")):
        rig.data.knuckle.drive = drive
        rig.data.keyframe_insert("knuckle.drive", frame=frame)
    for curve in curves_of(rig.data):
        for point in curve.keyframe_points:
            point.interpolation = "CONSTANT"
    kinematic = objects_of(rig, "BODY")["1"]
    flags = play(bpy.context.scene, FRAMES, lambda: kinematic.rigid_body.kinematic)
    assert [flags.index(False), flags.count(False)] == [14, FRAMES - 14]
    seen = run(rig, 1, FRAMES)
    trunk = np.array([seen[frame][0][:3, 3] for frame in seen])
    assert np.ptp(trunk[:13], axis=0).max() < 1e-5
    assert trunk[13, 2] - trunk[-1, 2] > 0.1, "it comes down"
    jumps = np.abs(np.diff(trunk, axis=0)).max()
    assert jumps < 0.15, "and leaps nowhere, neither when it is let go nor when its servos are"
    for frame in (40, 8, 20, FRAMES):
        assert off(shown(rig, frame), seen[frame]) < 1e-6
        assert note() == ""
    by_hand(rig)
    bake(blank.scene, rig, FRAMES, all_bodies=bodies)
    baked = run(rig, 1, FRAMES)
    assert max(off(baked[frame][0], seen[frame][0]) for frame in seen) < 1e-4
    if bodies:
        assert max(off(baked[frame], seen[frame]) for frame in seen) < 1e-4


def test_an_undo_takes_back_what_was_said_of_its_frame(blank: Any, sample_models: Path) -> None:
    import bpy

    from addon.blender.physics.simulation import cached_frames as progress

    bpy.ops.import_scene.mechanism(filepath=str(sample_models / "desk_lamp" / "desk_lamp.skel"))
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    bpy.ops.ed.undo_push(message="imported")
    bpy.context.scene.frame_set(30)
    rig.data.knuckle.drive = "LIMP"
    bpy.context.scene.frame_set(30)
    assert progress.frame_note(bpy.context.scene)
    bpy.ops.ed.undo_push(message="limp at a frame that no run came to")
    bpy.ops.ed.undo()
    assert bpy.context.scene.frame_current == 1 and not progress.frame_note(bpy.context.scene)
