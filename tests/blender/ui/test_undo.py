"""Long histories: undo goes all the way back and redo all the way forth, and each stop is exactly what it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.blender.ui.operator_cases import DUO, one_file, pick, rig
from tests.blender.ui.snapshot import differences, snapshot


def now() -> dict[str, Any]:
    import bpy

    bpy.context.view_layer.update()
    return snapshot()


def history(folder: Path) -> Iterator[Any]:
    """What a user does, step by step: what runs, and with what. What is selected between is a step of its own."""
    import bpy

    ops = bpy.ops.knuckle
    yield bpy.ops.import_scene.mechanism, one_file(folder)
    bpy.context.scene.frame_end = 8
    pick("Right Hip", "Left Hip")
    yield ops.link_twins, {}
    yield ops.mirror_to_twin, {"keys": True}
    pick("Tool")
    bpy.data.objects["Tool"].location.x = 2.0
    yield ops.create_twin, {}
    yield ops.clear_physics, {}
    yield ops.build_physics, {}
    yield ops.set_drive, {"drive": "LIMP"}
    yield ops.bake_physics, {"all_bodies": True}
    yield bpy.ops.import_scene.mechanism, one_file(folder)
    pick(rig().name)
    yield ops.set_drive, {"drive": "SERVO"}
    yield ops.remove_body_keys, {}
    pick("Left Leg")
    yield ops.duplicate_limb, {}
    yield ops.delete_parts, {}
    yield ops.switch_stops, {"on": False} if pick("Left Hip") is None else {}


def walk(folder: Path) -> list[dict[str, Any]]:
    """Do it all, and look at each step."""
    import bpy

    stops = []
    for run, options in history(folder):
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="between")
        stops.append(now())
        assert run("EXEC_DEFAULT", True, **options) == {"FINISHED"}
        stops.append(now())
    return stops


def test_all_the_way_back_and_forth(blank: Any, tmp_path: Path) -> None:
    import bpy

    assert DUO
    stops = walk(tmp_path)
    for _round in range(2):
        for number in range(len(stops) - 2, -1, -1):
            bpy.ops.ed.undo()
            assert differences(stops[number], now()) == [], f"back to {number}"
        for number in range(1, len(stops)):
            bpy.ops.ed.redo()
            assert differences(stops[number], now()) == [], f"forth to {number}"


def test_undo_after_frames_were_played_and_after_saving(blank: Any, tmp_path: Path) -> None:
    """Frames that were played leave caches and poses behind; saving leaves the history as it is."""
    import bpy

    stops = walk(tmp_path)
    scene = blank.scene
    saved = tmp_path / "saved.blend"
    for number in range(len(stops) - 2, -1, -1):
        for frame in (1, 2, 3, 1):
            bpy.context.scene.frame_set(frame)
        if number == 7:
            bpy.ops.wm.save_as_mainfile(filepath=str(saved))
        bpy.ops.ed.undo()
        assert differences(stops[number], now()) == [], f"back to {number}"
    for number in range(1, len(stops)):
        bpy.ops.ed.redo()
        assert differences(stops[number], now()) == [], f"forth to {number}"
    assert scene is not None
    bpy.ops.wm.open_mainfile(filepath=str(saved))
    assert differences(stops[8], now()) == []
    bpy.ops.ed.undo_push(message="opened")
    pick("Left Leg")
    before = stops[8] | {"selected": ["Left Leg"], "active": "Left Leg"}
    bpy.ops.ed.undo_push(message="picked")
    assert bpy.ops.knuckle.delete_parts("EXEC_DEFAULT", True) == {"FINISHED"}
    bpy.ops.ed.undo()
    assert [line for line in differences(before, now()) if not line.startswith("objects/")] == []
