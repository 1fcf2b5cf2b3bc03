"""Helpers for tests of operators: all operators of the extension, and the messages of their refusals."""

from __future__ import annotations

from typing import Any

import pytest

_MODULES = ("knuckle", "import_scene", "export_scene", "import_anim", "export_anim")


def operators() -> dict[str, Any]:
    """All operators of ours that Blender knows, by the names that scripts call them by."""
    import bpy

    found = {}
    for module in _MODULES:
        for short in dir(getattr(bpy.ops, module)):
            known = getattr(getattr(bpy.ops, module), short)
            cls = getattr(bpy.types, known.idname(), None)
            if cls is not None and cls.__module__.partition(".")[0] == "addon":
                found[f"{module}.{short}"] = known
    return found


def refusal(run: Any) -> str:
    """What an operator says that cannot run."""
    assert not run.poll()
    with pytest.raises(RuntimeError) as caught:
        run("EXEC_DEFAULT")
    return str(caught.value)
