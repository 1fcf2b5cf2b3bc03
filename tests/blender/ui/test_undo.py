"""Long histories: undo goes all the way back and redo all the way forth, and each stop is exactly what it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.operator_cases import one_file, pick, rig
from tests.support.snapshot import changed, differences, snapshot


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
    pick("Left Hip")
    yield ops.switch_stops, {"on": False}


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

    stops = walk(tmp_path)
    for number in range(len(stops) - 2, -1, -1):
        bpy.ops.ed.undo()
        assert differences(stops[number], now()) == [], f"back to {number}"
    for number in range(1, len(stops)):
        bpy.ops.ed.redo()
        assert differences(stops[number], now()) == [], f"forth to {number}"


#: Limits count from where a run begins: what frames that were played leave there, the next run sets anew.
_OF_RUNS = "/rigid_body_constraint/limit_"


def play() -> None:
    import bpy

    for frame in (1, 2, 3, 1):
        bpy.context.scene.frame_set(frame)


def unlike(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """What differs besides what runs leave behind."""
    return [path for path in changed(first, second) if _OF_RUNS not in path]


def test_where_physics_ran_between_the_steps_and_the_file_was_saved(blank: Any, tmp_path: Path) -> None:
    """Blender by itself crashes here: its rigid-body world keeps bodies that undo has freed."""
    import bpy

    stops = walk(tmp_path)
    saved = tmp_path / "saved.blend"
    for number in range(len(stops) - 2, -1, -1):
        play()
        if number == _SAVED:
            bpy.ops.wm.save_as_mainfile(filepath=str(saved))
        bpy.ops.ed.undo()
        assert unlike(stops[number], now()) == [], f"back to {number}"
    for number in range(1, len(stops)):
        play()
        bpy.ops.ed.redo()
        assert unlike(stops[number], now()) == [], f"forth to {number}"
    bpy.ops.wm.open_mainfile(filepath=str(saved))
    opened = now()
    assert unlike(stops[_SAVED + 1], opened) == []
    bpy.ops.ed.undo_push(message="opened")
    for _round in range(3):
        play()
        assert bpy.ops.knuckle.set_drive("EXEC_DEFAULT", True, drive="LIMP") == {"FINISHED"}
        play()
        bpy.ops.ed.undo()
        assert unlike(opened, now()) == []


_SAVED = 12


def test_undo_leaves_the_preferences_as_they_were(blank: Any, tmp_path: Path) -> None:
    import bpy

    preferences = bpy.context.preferences
    seen: list[tuple[bool, bool]] = []

    def look(*_args: Any) -> None:
        seen.append((preferences.view.show_developer_ui, preferences.experimental.use_undo_legacy))

    bpy.app.handlers.undo_pre.append(look)  # after ours
    try:
        for physics in (False, True):
            bpy.ops.ed.undo_push(message="before")
            bpy.ops.import_scene.mechanism("EXEC_DEFAULT", True, **one_file(tmp_path), physics=physics)
            before = preferences.view.show_developer_ui, preferences.experimental.use_undo_legacy, preferences.is_dirty
            bpy.ops.ed.undo()
            after = preferences.view.show_developer_ui, preferences.experimental.use_undo_legacy, preferences.is_dirty
            assert after == before == (False, False, before[2])
    finally:
        bpy.app.handlers.undo_pre.remove(look)
    assert seen == [(False, False), (True, True)]
