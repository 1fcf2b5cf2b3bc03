"""Harm check, as a script: harm a mechanism under physics, each time in a new file, and go on using it."""

# ``harmed.py FOLDER DRIVE HARM…``. Errors are on standard error; a line there names the next harm.

from __future__ import annotations

import sys
from pathlib import Path

import bpy

import addon
from tests.support.harms import HARMS, back_and_forth
from tests.support.small import models, put

FRAMES = 4


def go_on(folder: Path, number: int) -> None:
    """Play, undo, redo, save, reopen, export and clear: what a user does who has not noticed."""
    for frame in range(3, 3 + FRAMES):
        bpy.context.scene.frame_set(frame)
    back_and_forth()
    use(folder, number)
    path = str(folder / f"{number}.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    for frame in (1, 2, 3):
        bpy.context.scene.frame_set(frame)
    use(folder, number)


def use(folder: Path, number: int) -> None:
    """Every way out, where it may be gone: a refusal is an answer, and a traceback is none."""
    for call, values in (
        (bpy.ops.export_scene.mechanism, {"filepath": str(folder / f"{number}.jm"), "format": "juice"}),
        (bpy.ops.knuckle.clear_physics, {}),
    ):
        rigs = models()
        if rigs and rigs[0].name in bpy.context.view_layer.objects:
            bpy.context.view_layer.objects.active = rigs[0]
        try:
            if call.poll():
                call(**values)
        except RuntimeError as error:
            if "Traceback" in str(error):
                raise


def main(folder: Path, drive: str, names: list[str]) -> None:
    """Each harm in turn."""
    addon.register()
    model = put(folder / "flapper.jm")
    for number, name in enumerate(names):
        print(f"NEXT {name}", file=sys.stderr, flush=True)
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.import_scene.mechanism(filepath=str(model), gait_seconds=0.5, physics=True)
        models()[0].data.knuckle.drive = drive
        bpy.context.view_layer.update()
        for frame in (1, 2):
            bpy.context.scene.frame_set(frame)
        bpy.ops.ed.undo_push(message="before")
        HARMS[name]()
        bpy.ops.ed.undo_push(message="harm")
        go_on(folder, number)
    print("DONE", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
