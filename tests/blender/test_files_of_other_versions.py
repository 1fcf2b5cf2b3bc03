"""What another version of Blender saved opens in this one with everything working.

``build.py`` names the Pythons of the Blenders that are set up (KNUCKLE_BLENDER_42 and so on)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.saved_elsewhere import HEXAPOD, HUMANOID, ROOT, SQUAT, poses, rigs


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A file that Blender 4.2, the oldest that we support, saved, and what it has to do."""
    python = os.environ.get("KNUCKLE_BLENDER_42")
    if not python:
        pytest.skip("Blender 4.2 is not set up (KNUCKLE_BLENDER_42): `build.py test --blender 4.2` does it")
    folder = tmp_path_factory.mktemp("saved")
    path = folder / "old.blend"
    environ = {**os.environ, "BLENDER_USER_RESOURCES": str(folder), "PYTHONPATH": str(ROOT)}
    script = str(ROOT / "tests/support/saved_elsewhere.py")
    done = subprocess.run([python, script, str(path)], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("TOLD "))
    told = json.loads(line.removeprefix("TOLD "))
    assert told["blender"][:2] == [4, 2]
    return path, told


@pytest.fixture
def opened(blank: Any, saved: tuple[Path, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Its models by their formats, in this Blender."""
    import bpy

    bpy.ops.wm.open_mainfile(filepath=str(saved[0]))
    yield {rig.data.knuckle.format: rig for rig in rigs().values()}


def activate(rig: Any) -> None:
    import bpy

    bpy.context.view_layer.objects.active = rig


def test_a_mechanism_saved_by_another_version_plays_as_it_did(
    opened: dict[str, Any], saved: tuple[Path, dict[str, Any]]
) -> None:
    for name, rig in rigs().items():
        was = np.array(saved[1]["poses"][name])
        now = np.array(poses(rig, [1, 20, 40]))
        assert np.abs(was - was[0]).max() > 0.01, "it has to move, or this shows nothing"
        assert now == pytest.approx(was, abs=2e-5)


def test_models_go_out_as_the_very_bytes_of_their_files(opened: dict[str, Any], tmp_path: Path) -> None:
    import bpy

    for format_, source in (("juice", HEXAPOD), ("skel", HUMANOID)):
        activate(opened[format_])
        out = tmp_path / source.name
        assert bpy.ops.export_scene.mechanism(filepath=str(out), format=format_) == {"FINISHED"}
        assert out.read_bytes() == source.read_bytes()


def test_the_motion_goes_out_as_it_came(opened: dict[str, Any], tmp_path: Path) -> None:
    import bpy

    from addon import formats

    activate(opened["skel"])
    out = tmp_path / "squat.xmdi"
    assert bpy.ops.export_anim.servo_motion(filepath=str(out)) == {"FINISHED"}
    was, now = formats.load_motion(SQUAT), formats.load_motion(out)
    for before in was.trajectories:
        after = next(each for each in now.trajectories if each.name == before.name)
        span = np.asarray(before.times)
        assert np.interp(span, after.times, after.values) == pytest.approx(np.asarray(before.values), abs=1e-4)


def test_servos_track_the_gait_and_the_walk_is_baked(opened: dict[str, Any]) -> None:
    import bpy

    rig = opened["juice"]
    activate(rig)
    scene = bpy.context.scene
    scene.frame_set(scene.frame_start)
    rig.data.knuckle.drive = "SERVO"
    rig.data.knuckle.controls.joystick_1_y = -1.0
    scene.frame_end = scene.frame_start + 20
    assert bpy.ops.knuckle.bake_physics() == {"FINISHED"}
    first, last = (np.array(row).reshape(-1, 4, 4) for row in poses(rig, [scene.frame_start, scene.frame_end]))
    assert np.isfinite(last).all()
    assert np.abs(last[:, :3, 3] - first[:, :3, 3]).max() > 0.01, "nothing moved"


def test_halves_are_edited_together_and_undo_takes_both_back(opened: dict[str, Any]) -> None:
    import bpy

    rig = opened["juice"]
    activate(rig)
    assert rig.data.knuckle.symmetric, "it was saved with Symmetric Editing on"
    bodies = {o.knuckle.source_id: o for o in bpy.data.objects if o.knuckle.role == "BODY" and o.knuckle.model == rig}
    one, twin = next((o, bodies[o.knuckle.twin]) for o in bodies.values() if o.knuckle.twin in bodies)
    names = one.name, twin.name
    masses = one.knuckle.mass, twin.knuckle.mass
    bpy.ops.ed.undo_push(message="before")
    one.knuckle.mass = 7.5
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="mass")
    assert [bpy.data.objects[name].knuckle.mass for name in names] == [7.5, 7.5]
    bpy.ops.ed.undo()
    assert tuple(bpy.data.objects[name].knuckle.mass for name in names) == masses


def test_what_is_saved_again_opens_again(
    opened: dict[str, Any], saved: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    import bpy

    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "again.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "again.blend"))
    for name, rig in rigs().items():
        assert np.array(poses(rig, [20])) == pytest.approx(np.array(saved[1]["poses"][name][1:2]), abs=2e-5)
