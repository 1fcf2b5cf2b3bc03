"""The default cube: an import replaces it in an untouched startup scene alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.scenes import OWN

LAMP = str(OWN / "desk_lamp/desk_lamp.skel")


def cube() -> Any:
    import bpy

    return bpy.data.objects["Cube"]


def _moved() -> None:
    cube().location.x = 0.01


def _edited() -> None:
    cube().data.vertices[0].co.x = -1.1


def _painted() -> None:
    shader = next(n for n in cube().data.materials[0].node_tree.nodes if n.bl_idname == "ShaderNodeBsdfPrincipled")
    shader.inputs["Base Color"].default_value = (1.0, 0.0, 0.0, 1.0)


def _modified() -> None:
    cube().modifiers.new("Bevel", "BEVEL")


def _animated() -> None:
    cube().keyframe_insert("location", frame=1)


def _camera_moved() -> None:
    import bpy

    bpy.data.objects["Camera"].rotation_euler.x += 0.1


def _light_deleted() -> None:
    import bpy

    bpy.data.objects.remove(bpy.data.objects["Light"])


def _another_added() -> None:
    import bpy

    bpy.ops.mesh.primitive_cube_add()


def test_cube_of_an_untouched_scene_is_replaced_and_undo_brings_it_back(startup: Any) -> None:
    import bpy

    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.import_scene.mechanism("EXEC_DEFAULT", True, filepath=LAMP, replace_cube=True) == {"FINISHED"}
    assert "Cube" not in bpy.data.objects
    assert {"Camera", "Light"} <= set(bpy.data.objects.keys())
    bpy.ops.ed.undo()
    assert set(bpy.data.objects.keys()) == {"Cube", "Camera", "Light"}


@pytest.mark.parametrize(
    "change", [_moved, _edited, _painted, _modified, _animated, _camera_moved, _light_deleted, _another_added]
)
def test_cube_of_a_changed_scene_stays(startup: Any, change: Callable[[], None]) -> None:
    import bpy

    change()
    assert bpy.ops.import_scene.mechanism(filepath=LAMP, replace_cube=True) == {"FINISHED"}
    assert "Cube" in bpy.data.objects


def test_cube_of_a_saved_file_stays(startup: Any, tmp_path: Path) -> None:
    import bpy

    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "mine.blend"))
    assert bpy.ops.import_scene.mechanism(filepath=LAMP, replace_cube=True) == {"FINISHED"}
    assert "Cube" in bpy.data.objects


def test_script_keeps_the_cube(startup: Any) -> None:
    import bpy

    assert bpy.ops.import_scene.mechanism(filepath=LAMP) == {"FINISHED"}
    assert "Cube" in bpy.data.objects


def test_bad_file_leaves_the_cube(startup: Any, tmp_path: Path) -> None:
    import bpy

    (tmp_path / "bad.jm").write_text("<JuiceModel")
    with pytest.raises(RuntimeError):
        bpy.ops.import_scene.mechanism(filepath=str(tmp_path / "bad.jm"), replace_cube=True)
    assert "Cube" in bpy.data.objects
