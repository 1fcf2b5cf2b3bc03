"""The interface comes and goes without leaving anything behind."""

from __future__ import annotations

import importlib.util
from typing import Any

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
    from addon.blender.ui.import_export.import_model import IO_FH_mechanism
    from addon.blender.ui.import_export.import_motion import IO_FH_servo_motion

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
