"""Helpers for tests of missing parts: messages of what a mechanism lacks, and objects to select."""

from __future__ import annotations

from typing import Any

from tests.support.scenes import the_rig


def lacks() -> list[str]:
    from addon.blender.editing.repair.missing_parts import missing_messages

    return missing_messages(the_rig())


def named(*names: str) -> list[Any]:
    import bpy

    return [obj for obj in bpy.context.scene.objects if obj.name in names]


def activate(obj: Any = None) -> None:
    import bpy

    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = obj or the_rig()
