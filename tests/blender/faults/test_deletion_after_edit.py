"""The edit of a model leaves no other in a simulation: whatever is deleted and taken back after, Blender lives. Without
that, 5.0 crashed in the first round."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.mechanisms import put
from tests.support.small import FLAPPER

bpy = pytest.importorskip("bpy", reason="Blender is not here")
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("drive", ["KEYS", "LIMP", "SERVO"])
def test_bodies_deleted_after_an_edit_crash_nothing(tmp_path: Path, drive: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/support/rested.py"), str(tmp_path), drive, "6"],
        capture_output=True, text=True, env=env, timeout=300, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    assert done.stderr.rstrip().endswith("DONE"), done.stderr[-3000:]


@pytest.mark.parametrize("drive", ["LIMP", "SERVO"])
def test_constraints_hold_nothing_while_a_model_loses_its_physics_and_all_after(blank: Any, drive: str) -> None:
    first, second = put(FLAPPER), put(FLAPPER)
    for rig in (first, second):
        rig.data.knuckle.drive = drive
    for frame in (1, 2, 3, 4):
        blank.scene.frame_set(frame)
    from addon.blender.physics.simulation.setup import clear_physics

    ends = holding(blank.scene)
    seen: list[int] = []

    def look(scene: Any, _depsgraph: Any = None) -> None:
        seen.append(sum(one is not None for one, _two in holding(scene).values()))

    bpy.app.handlers.frame_change_post.append(look)
    try:
        clear_physics(blank.scene, first)
    finally:
        bpy.app.handlers.frame_change_post.remove(look)
    assert seen and not any(seen)
    after = holding(blank.scene)
    assert after and all(ends[name] == pair for name, pair in after.items())
    assert any(one is not None for one, _two in after.values())


def test_ends_come_back_though_a_script_removes_what_it_likes(blank: Any) -> None:
    first, _second = put(FLAPPER), put(FLAPPER)
    from addon.blender.physics.simulation.setup import clear_physics

    ends = holding(blank.scene)
    gone: list[str] = []

    def remove(_scene: Any, _depsgraph: Any = None) -> None:
        if not gone:
            gone.append("Left Joint.001")
            bpy.data.objects.remove(bpy.data.objects[gone[0]])

    bpy.app.handlers.frame_change_post.append(remove)
    try:
        clear_physics(blank.scene, first)
    finally:
        bpy.app.handlers.frame_change_post.remove(remove)
    after = holding(blank.scene)
    assert gone and gone[0] in ends and gone[0] not in after
    assert after and all(ends[name] == pair for name, pair in after.items())


def holding(scene: Any) -> dict[str, tuple[Any, Any]]:
    return {
        empty.name: (empty.rigid_body_constraint.object1, empty.rigid_body_constraint.object2)
        for empty in scene.rigidbody_world.constraints.objects
    }
