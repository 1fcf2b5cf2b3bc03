"""Leak check, as a script: enable and disable an add-on many times, and print as JSON what remains."""

# Run in a process of its own: ``again.py knuckle|renewed|floor TIMES``. The floor is an add-on of as many classes that
# do nothing, created and registered again each time: what Blender itself loses.

from __future__ import annotations

import ctypes
import gc
import json
import sys
from collections import Counter
from typing import Any

import bpy

WARM = 5


class _Malloc(ctypes.Structure):
    """What the C library says of its memory."""

    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in _names.split()]  # noqa: RUF012


def in_use() -> tuple[int, int]:
    """Memory that somebody holds now (bytes), and Python's blocks of it. What the process has is no measure: rounds
    leave holes in it, 300 kB each, of which the C library says that they are free."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = _Malloc
    found = mallinfo()
    return found.uordblks + found.hblkhd, sys.getallocatedblocks()


def census() -> dict[str, Any]:
    """All that an add-on can hang into Blender and Python, counted."""
    import threading

    kinds = (bpy.types.Operator, bpy.types.Panel, bpy.types.Menu, bpy.types.UIList, bpy.types.PropertyGroup,
             bpy.types.AddonPreferences, bpy.types.FileHandler, bpy.types.Gizmo, bpy.types.GizmoGroup)  # fmt: skip
    gc.collect()
    handlers = {
        name: len(calls) for name in dir(bpy.app.handlers) if isinstance(calls := getattr(bpy.app.handlers, name), list)
    }
    menus = {
        name: len(cls._dyn_ui_initialize())
        for name in dir(bpy.types)
        if hasattr(cls := getattr(bpy.types, name), "_dyn_ui_initialize") and hasattr(cls, "draw")
    }
    properties = {
        name: sorted(prop.identifier for prop in getattr(bpy.types, name).bl_rna.properties)
        for name in ("Object", "Bone", "Material", "Armature", "Action", "Scene", "WindowManager")
    }
    objects = Counter(
        type(each).__name__
        for each in gc.get_objects()
        if str(getattr(type(each), "__module__", "")).startswith(("bpy", "addon", "bl_ext", "_bpy"))
    )
    return {
        "types": len(dir(bpy.types)),
        "classes": {kind.__name__: len(kind.__subclasses__()) for kind in kinds},
        "operators": sum(len(dir(getattr(bpy.ops, module))) for module in dir(bpy.ops)),
        "handlers": handlers,
        "menus": {name: count for name, count in menus.items() if count},
        "properties": properties,
        "objects": dict(objects),
        "threads": threading.active_count(),
        "modules": sorted(name for name in sys.modules if name.split(".")[0] in {"addon", "bl_ext"}),
    }


def knuckle() -> None:
    """Once on and off, as by the tick in the preferences."""
    import addon

    addon.register()
    addon.unregister()
    gc.collect()


def renewed() -> None:
    """The same, with its modules loaded anew, as when a newer version is installed."""
    knuckle()
    for name in [name for name in sys.modules if name == "addon" or name.startswith("addon.")]:
        del sys.modules[name]
    gc.collect()


def floor(count: int) -> None:
    """The same of an add-on of so many classes that do nothing."""
    made = []
    for number in range(count):
        body = {"bl_idname": f"floor.op_{number}", "bl_label": "Floor", "__annotations__": {}}
        body["__annotations__"] = {"value": bpy.props.FloatProperty(name="Value")}
        made.append(type(f"FLOOR_OT_op_{number}", (bpy.types.Operator,), body))
    for cls in made:
        bpy.utils.register_class(cls)
    for cls in made:
        bpy.utils.unregister_class(cls)
    made.clear()
    gc.collect()


def main(which: str, times: int) -> None:
    """Go round, and say what stayed."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    count = 0
    if which == "floor":
        import addon
        from addon.blender import ui
        from addon.blender.data.properties import model as properties

        addon.register()
        count = len(ui._CLASSES) + len(properties.CLASSES)
        addon.unregister()
    once = {"knuckle": knuckle, "renewed": renewed}.get(which) or (lambda: floor(count))
    for _ in range(WARM if which != "renewed" else 2):
        once()
    before, memory = census(), in_use()
    for _ in range(times):
        once()
    grown = [(now - then) / times for now, then in zip(in_use(), memory, strict=True)]
    after = census()  # which takes more itself than many rounds
    differing = {key: [before[key], after[key]] for key in before if before[key] != after[key]}
    print("FOUND " + json.dumps({"bytes": grown[0], "blocks": grown[1], "differing": differing, "classes": count}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
