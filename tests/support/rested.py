"""Undo check, as a script: edit mechanisms, delete a body by hand, undo and open another file, many times."""

# ``rested.py FOLDER DRIVE ROUNDS``. Blender crashes where its simulation has what was deleted.

from __future__ import annotations

import sys
from pathlib import Path

import bpy

import addon
from tests.support.harms import delete
from tests.support.small import models, put


def press(operator: str, name: str) -> None:
    """An operator of ours, with one object selected."""
    bpy.ops.object.select_all(action="DESELECT")
    bpy.data.objects[name].select_set(True)
    bpy.context.view_layer.objects.active = bpy.data.objects[name]
    getattr(bpy.ops.knuckle, operator)()
    bpy.ops.ed.undo_push(message=operator)


def once(model: Path, drive: str) -> None:
    """Two models that were never played: the edit of the one must not leave the other in a simulation."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    for _ in range(2):
        bpy.ops.import_scene.mechanism(filepath=str(model), physics=True)
    for rig in models():
        rig.data.knuckle.drive = drive
    bpy.ops.ed.undo_push(message="imported")
    press("move_joint", "Left Joint")
    delete("Left Flap.001")()
    bpy.ops.ed.undo_push(message="deleted")
    press("create_twin", "Right Slide.001")
    press("move_joint", "Right Joint.001")
    bpy.ops.export_scene.mechanism(filepath=str(model.with_name("out.jm")), format="juice")
    for _ in range(3):
        bpy.ops.ed.undo()


def main(folder: Path, drive: str, rounds: int) -> None:
    """As often as is said."""
    addon.register()
    model = put(folder / "flapper.jm")
    for _ in range(rounds):
        once(model, drive)
    print("DONE", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
