"""Helpers for tests of joint friction, damping and motors: deleting objects as the user does."""

from __future__ import annotations

from typing import Any


def delete(objects: list[Any]) -> None:
    """As the user does: select, and X."""
    import bpy

    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.ops.object.delete()
