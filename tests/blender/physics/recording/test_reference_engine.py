"""MuJoCo as a reference: what touches nothing moves there as in Blender, with the same servos and initial speeds."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.support.mechanisms import key
from tests.support.references import mujoco_missing
from tests.support.scenes import OWN, found
from tests.support.swings import chain, put_world

needs_mujoco = pytest.mark.skipif(bool(mujoco_missing()), reason=mujoco_missing())


def built(name: str) -> Any:
    """The armature of a model, of ours or of the real ones, whose bodies touch nothing."""
    import bpy

    from addon import formats
    from addon.blender.build import build

    mechanism = formats.load(found(name))
    for body in mechanism.bodies:
        body.collidable = False
    build(mechanism)
    return next(obj for obj in bpy.context.scene.objects if obj.knuckle.role == "MODEL")


def done(steps: Any) -> Any:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def both(scene: Any, rig: Any, last: int) -> tuple[Any, Any]:
    """Recordings of Blender, with the steps of a bake, and of MuJoCo."""
    from addon.blender.physics.recording.bake import record, record_steps
    from addon.blender.physics.recording.reference_engine import mujoco_steps
    from addon.blender.physics.recording.step_trials import select_steps
    from addon.blender.physics.world.rigidbody_world import steps_applied

    reference = done(mujoco_steps(scene, rig, last))
    done(select_steps(scene, [rig], "BAKE", record_steps))
    with steps_applied(scene, [rig], "BAKE"):
        return record(scene, rig, last), reference


def largest_distance(one: Any, other: Any) -> float:
    return float(np.linalg.norm(one.poses[:, :-1, :3, 3] - other.poses[:, :-1, :3, 3], axis=-1).max())


@needs_mujoco
@pytest.mark.parametrize("drive", ["LIMP", "SERVO"])
@pytest.mark.parametrize(
    ("name", "limit"),
    [("humanoid.skel", 2e-3), ("hexapod.jm", 20e-3), ("rover.jm", 20e-3),
     ("pumpjack.json", 2e-3)],
)  # fmt: skip
def test_models_without_contact_move_as_in_blender(blank: Any, name: str, drive: str, limit: float) -> None:
    """Within what a semi-implicit integrator with steps of 2 ms is off in a fall of a second, 10 mm, less Blender's own
    8 mm: a closed loop with an initial velocity, gaits with limited torques, and servos without a limit. Juice's
    mechanisms fall at 20 m/s², so twice as much, and their bakes have more steps for their springs."""
    blank.scene.knuckle_simulate_here, blank.scene.render.fps = name != "pumpjack.json", 60
    rig = built(name)
    rig.data.knuckle.drive = drive
    recording, reference = both(blank.scene, rig, blank.scene.frame_start + 60)
    assert np.array_equal(recording.frames, reference.frames)
    assert largest_distance(recording, reference) < limit


@needs_mujoco
@pytest.mark.parametrize("law", ["TRACK", "PD", "JUICE"])
def test_servos_have_the_same_control_law(blank: Any, law: str) -> None:
    """Two links on a wall whose first servo tracks keyframes under gravity: the tracking error is the same."""
    rig = put_world(chain(0.5, links=2), "SERVO", 1.0)
    rig.data.knuckle.law = law
    key(rig, "hinge 0", [(1, 0.0), (20, 0.6), (61, -0.4)])
    recording, reference = both(blank.scene, rig, 61)
    np.testing.assert_allclose(reference.servo_targets[1:], recording.servo_targets[1:], atol=1e-6)
    assert np.abs(recording.values - reference.values).max() < 0.03  # rad; the light tip trembles under PD


@needs_mujoco
def test_comparing_writes_a_table_and_keeps_the_bake(blank: Any) -> None:
    import bpy

    rig = built("pumpjack.json")
    rig.data.knuckle.drive = "LIMP"
    bpy.context.view_layer.objects.active = rig
    assert not bpy.ops.knuckle.compare_mujoco.poll()
    assert bpy.ops.knuckle.bake_physics(frame_end=31) == {"FINISHED"}
    baked = rig.animation_data.action
    bpy.context.scene.frame_set(5)
    bpy.ops.ed.undo_push(message="baked")
    assert bpy.ops.knuckle.compare_mujoco() == {"FINISHED"}
    assert (rig.animation_data.action, rig.data.knuckle.drive, bpy.context.scene.frame_current) == (baked, "KEYS", 5)
    rows = rig.data.knuckle.accuracy.differences
    assert {row.name for row in rows} == {"crank", "pitman", "beam"}
    assert [row.largest for row in rows] == sorted((row.largest for row in rows), reverse=True)
    assert rows[0].times[:] == pytest.approx([0.125, 0.25, 0.375, 0.5], abs=0.01)
    assert all(0.0 < distance <= row.largest < 2e-3 for row in rows for distance in row.distances)
    bpy.ops.ed.undo_push(message="compared")
    bpy.ops.ed.undo()
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    assert len(rig.data.knuckle.accuracy.differences) == 0
    bpy.ops.ed.redo()


@needs_mujoco
def test_the_command_line_simulates_in_mujoco(tmp_path: Path) -> None:
    from addon.cli import main

    table, out = tmp_path / "table.csv", tmp_path / "swing.csv"
    words = ["simulate", str(OWN / "pumpjack/pumpjack.json"), "--drive", "limp", "--seconds", "0.5"]
    assert main([*words, "--engine", "mujoco", "--compare", str(table), "--out", str(out)]) == 0
    rows = list(csv.DictReader(table.open()))
    assert {row["body"] for row in rows} == {"crank", "pitman", "beam"}
    assert len(rows) == 3 * 31
    assert max(float(row["distance"]) for row in rows) < 2e-3
    assert out.stat().st_size > 0


@needs_mujoco
def test_a_process_with_mujoco_ends_without_an_error(tmp_path: Path) -> None:
    """Blender 4.2 crashed at the end of such a process, and 4.5 waited for ever."""
    code = (
        "import runpy, sys\nfrom tests.support.references import mujoco_missing\nmujoco_missing()\n"
        "sys.argv = ['addon', *sys.argv[1:]]\nrunpy.run_module('addon', run_name='__main__')"
    )
    words = ["simulate", str(OWN / "pumpjack/pumpjack.json"), "--seconds", "0.1", "--engine", "mujoco"]
    words += ["--out", str(tmp_path / "moved.csv")]
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=ROOT, capture_output=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "moved.csv").stat().st_size


@needs_mujoco
def test_what_only_blender_simulates_is_refused_with_the_reason(blank: Any) -> None:
    from addon.blender.physics.recording.reference_engine import mujoco_steps

    rig = put_world(chain(0.5, links=2), "LIMP", 0.5)
    rig.scale = (2.0, 2.0, 2.0)
    blank.view_layer.update()
    with pytest.raises(ValueError, match="The mechanism or a body is scaled"):
        next(mujoco_steps(blank.scene, rig, 11))
    rig.scale = (1.0, 1.0, 1.0)
    blank.view_layer.update()
    rig.data.knuckle.drive = "KEYS"
    with pytest.raises(ValueError, match="Its drive is Keyframes, or keyed"):
        next(mujoco_steps(blank.scene, rig, 11))


def test_without_mujoco_it_says_where_to_look(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from addon.blender.physics.recording import reference_engine

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(reference_engine, "import_module", missing)
    rig = put_world(chain(0.5, links=2), "LIMP", 0.5)
    with pytest.raises(ValueError, match="MuJoCo is not installed: see Reference Engine in the preferences of Knuckle"):
        next(reference_engine.mujoco_steps(blank.scene, rig, 11))


@needs_mujoco
@pytest.mark.parametrize("name", ["excavator_no_base.json", "Backhoe.jm"])
def test_loops_with_sliders_move_as_in_blender(blank: Any, name: str) -> None:
    """MuJoCo has no constraint for a slider that closes a loop: a hinge closes it."""
    rig = built(name)
    rig.data.knuckle.drive = "LIMP"
    recording, reference = both(blank.scene, rig, blank.scene.frame_start + 60)
    size = np.linalg.norm(np.ptp(recording.poses[0, :-1, :3, 3], axis=0))
    assert largest_distance(recording, reference) < 2e-3 * size
