"""Rigid-body worlds that scripts or other scenes take away, in the middle of a frame or between. Each in a Blender of
its own: Blender crashes when it frees constraints of a world that was removed, at the latest as it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.scenes import OWN

_ROOT = Path(__file__).resolve().parents[3]
_BEGIN = """
import os, sys
import bpy
import addon
addon.register()
bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
bpy.context.scene.knuckle_simulate_here = True
assert bpy.ops.import_scene.mechanism(filepath=sys.argv[1]) == {"FINISHED"}
rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
scene = bpy.context.scene
def play(scene, *frames):
    for frame in frames:
        scene.frame_set(frame)
def report():
    return [line.message for line in rig.data.knuckle.report]
"""
_REMOVED = """
name, place, at = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
def remove(scene, *_):
    if scene.frame_current == at and scene.rigidbody_world is not None:
        with bpy.context.temp_override(scene=scene):
            bpy.ops.rigidbody.world_remove()
handlers = getattr(bpy.app.handlers, name)
rig.data.knuckle.drive = "SERVO"
handlers.insert(place, remove)
play(scene, 1, 2, 3, 4, 1, 2)
handlers.remove(remove)
assert scene.rigidbody_world is None
names = sorted(obj.name for obj in rig.data.knuckle.collection.all_objects if obj.knuckle.role == "JOINT")
assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
joints = [obj for obj in rig.data.knuckle.collection.all_objects if obj.knuckle.role == "JOINT"]
assert sorted(obj.name for obj in joints) == names
assert any(obj.rigid_body_constraint for obj in joints)
play(scene, 1, 2, 3, 4)
"""
_COPIED = """
drive, played, removed = sys.argv[2], sys.argv[3] == "True", sys.argv[4] == "True"
if played:
    play(scene, 1, 2)
assert bpy.ops.scene.new(type="LINK_COPY") == {"FINISHED"}
copy = bpy.context.scene
rig.data.knuckle.drive = drive
play(copy, 1, 2, 3)
copy.name = "A"  # scenes come in the order of their names
play(copy, 1, 2, 3)
if removed:
    with bpy.context.temp_override(scene=copy):
        bpy.ops.rigidbody.world_remove()
    play(copy, 1, 2)
    rig.data.knuckle.drive = "KEYS"
    rig.data.knuckle.drive = drive
    play(copy, 1, 2, 3)
assert len(report()) == len(set(report())), "each is told once"
"""


def run(script: str, *words: object) -> str:
    """What a Blender of its own says, which has to come to the end of the script."""
    end = "\nprint('came to the end', flush=True)\nos._exit(0)\n"
    command = [sys.executable, "-c", _BEGIN + script + end, *map(str, words)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False, env=os.environ)
    assert "came to the end" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    assert "Traceback" not in done.stdout + done.stderr, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("place", [0, 9])
@pytest.mark.parametrize("handlers", ["frame_change_pre", "frame_change_post"])
@pytest.mark.parametrize("at", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_a_world_that_a_script_removes_as_a_frame_changes(handlers: str, place: int, at: int) -> None:
    """Physics is built anew afterwards, and played: Blender by itself crashes there (see ``removed_world``)."""
    run(_REMOVED, OWN / "rover" / "rover.jm", handlers, place, at)


@pytest.mark.parametrize("played", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("drive", ["SERVO", "LIMP"])
def test_a_linked_copy_of_a_scene_has_no_physics_of_its_own(drive: str, played: bool, removed: bool) -> None:
    run(_COPIED, OWN / "desk_lamp" / "desk_lamp.skel", drive, played, removed)
