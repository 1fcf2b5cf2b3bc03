"""What Blender forgets after an undo: a collection keeps its list of all objects, nested ones included, also where the
undo made some of these anew. What reads the list then reads freed memory (4.2 to 5.2: a crash)."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.app.handlers import persistent

from .access import armature_settings


@persistent
def refresh(*_arguments: Any) -> None:
    """Have Blender make these lists anew, for the collections of all models."""
    for data in bpy.data.armatures:
        top = armature_settings(data).collection
        for collection in (top, *top.children_recursive) if top is not None else ():
            if collection.library is None:
                collection.hide_render = collection.hide_render  # its update drops the list, and those around it
