"""The interface comes and goes without leaving anything behind."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]

OURS = ("knuckle", "_mechanism", "_servo_motion")


def known() -> dict[str, Any]:
    """All of ours that Blender knows: types, operators, menu entries, properties, handlers."""
    import bpy

    handlers = {
        name: [act.__qualname__ for act in calls if "addon" in getattr(act, "__module__", "")]
        for name in dir(bpy.app.handlers)
        if isinstance(calls := getattr(bpy.app.handlers, name), list)
    }
    menus = {
        menu: [draw.__module__ for draw in getattr(bpy.types, menu)._dyn_ui_initialize() if "addon" in draw.__module__]
        for menu in ("TOPBAR_MT_file_import", "TOPBAR_MT_file_export")
    }
    return {
        "types": sorted(name for name in dir(bpy.types) if any(part in name.lower() for part in OURS)),
        "operators": sorted(dir(bpy.ops.knuckle)),
        "handlers": {name: acts for name, acts in handlers.items() if acts},
        "menus": menus,
        "properties": [
            hasattr(bpy.types.Scene, "knuckle_film"),
            hasattr(bpy.types.Armature, "knuckle_row"),
            hasattr(bpy.types.Object, "knuckle"),
        ],
    }


def test_registering_again_and_again_changes_nothing(blank: Any) -> None:
    import addon

    addon.unregister()  # other tests take parts out and hang them in again, in another order
    addon.register()
    registered = known()
    assert "VIEW3D_PT_knuckle_model" in registered["types"]
    assert "IO_FH_mechanism" in registered["types"]
    assert {"bake_gait", "render_film", "select_part"} <= set(registered["operators"])
    for _ in range(2):
        addon.unregister()
        gone = known()
        assert gone["types"] == []
        assert gone["operators"] == []
        assert gone["handlers"] == {}
        assert set(map(len, gone["menus"].values())) == {0}
        assert not any(gone["properties"])
        addon.register()
        addon.register()
        assert known() == registered


def test_only_generic_names_go_to_one_file_handler(blank: Any) -> None:
    """Blender asks which importer to use when two handlers claim an extension, so each has one."""
    from addon.blender.ui.import_export.import_motion import IO_FH_servo_motion
    from addon.blender.ui.import_export.model_files import IO_FH_mechanism

    models = set(IO_FH_mechanism.bl_file_extensions.split(";"))
    motions = set(IO_FH_servo_motion.bl_file_extensions.split(";"))
    assert {".jm", ".jm3", ".jpm", ".xml"} <= models
    assert ".xmdi" in motions
    assert not models & motions


def test_registering_asks_for_no_data(blank: Any) -> None:
    """While Blender enables an extension it hides all data: what asks for it cannot be installed."""
    import addon

    names = ("_bpy_restrict_state", "bpy_restrict_state")  # since 5.0, and before
    state = importlib.import_module(next(name for name in names if importlib.util.find_spec(name) is not None))
    addon.unregister()
    with state.RestrictBlend():
        addon.register()
    assert addon.is_registered()


#: Starts a video as its button does, goes on for some steps, and unregisters, or ends while it is under way.
QUITTING = """
import sys
from pathlib import Path
from types import SimpleNamespace
import bpy
import addon
bpy.ops.wm.read_factory_settings(use_empty=True)
addon.register()
from addon.blender.ui.base import modal_tasks
from tests.support.small import put
folder, steps, when = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
bpy.ops.import_scene.mechanism(filepath=str(put(folder / "flapper.jm")), gait_seconds=0.1)
bpy.context.scene.frame_end = 8
modal_tasks.is_interactive, modal_tasks._TIME_SLICE = lambda _context: True, 0.0
held = []
cls = getattr(bpy.types, bpy.ops.knuckle.render_film.idname())
def execute(self, context):
    held.append(self)
    return cls.invoke(self, context, None)
cls.execute = execute
bpy.ops.knuckle.render_film(filepath=str(folder / "f.mp4"), format="OWN", size=(64, 36), samples=1)
go_on = lambda: held[0].modal(bpy.context, SimpleNamespace(type="TIMER", value="NOTHING"))
for _ in range(steps):
    assert go_on() == {"RUNNING_MODAL"}
assert modal_tasks.running_task_count() == 1
scenes = len(bpy.data.scenes)
if when == "between steps":
    addon.unregister()
elif when == "within a step":
    def within(*_):
        bpy.app.handlers.frame_change_post.remove(within)
        addon.unregister()
    bpy.app.handlers.frame_change_post.append(within)
    assert go_on() == {"CANCELLED"}
if when != "at exit":
    assert modal_tasks.running_task_count() == 0 and not addon.is_registered() and len(bpy.data.scenes) == 1
held.clear()
print("through")
"""


@pytest.mark.parametrize("when", ["between steps", "within a step", "at exit"])
@pytest.mark.parametrize("steps", [2, 10])
def test_it_goes_while_a_video_renders(tmp_path: Path, when: str, steps: int) -> None:
    """Steps 1 to 8 play the motion, the others render. Blender as a module unregisters as the process ends."""
    pytest.importorskip("bpy", reason="Blender is not here")
    words = [sys.executable, "-c", QUITTING, str(tmp_path), str(steps), when]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert "through" in done.stdout and done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr and "Error in" not in done.stdout + done.stderr
