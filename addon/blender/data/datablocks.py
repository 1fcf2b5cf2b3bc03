"""Which datablocks came since a moment, so that what was begun can be taken back. Blender numbers them as they come."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent
from numpy.typing import NDArray

from .access import armature_settings

#: What Blender puts behind a name that is taken.
NUMBER = re.compile(r"\.\d{3,}$")


def latest(kinds: Sequence[str]) -> int:
    """The moment now: the number of the newest datablock of these kinds, which are names in ``bpy.data``."""
    return max((int(_numbers(kind).max(initial=0)) for kind in kinds), default=0)


def made_since(moment: int, kinds: Sequence[str]) -> list[Any]:
    """The datablocks of these kinds, those of the moment's or fewer, that came after it."""
    found: list[Any] = []
    for kind in kinds:
        blocks = getattr(bpy.data, kind)
        found += [blocks[int(index)] for index in np.flatnonzero(_numbers(kind) > moment)]
    return found


def is_there(block: bpy.types.ID) -> bool:
    """Return whether a datablock was not deleted since somebody kept it."""
    try:
        return bool(block.session_uid)
    except ReferenceError:
        return False


def linked_objects() -> set[bpy.types.Object]:
    """Every object that is in a collection, of the file's or a scene's own.

    To ask an object, or a collection by its name, is to look through all of them each time.
    """
    found: set[bpy.types.Object] = set()
    for collection in (*bpy.data.collections, *(scene.collection for scene in bpy.data.scenes)):
        found.update(collection.objects[:])
    return found


def remove_since(moment: int, kinds: Sequence[str]) -> None:
    """Leave nothing half made: remove what came after the moment."""
    bpy.data.batch_remove(made_since(moment, kinds))


def _numbers(kind: str) -> NDArray[np.int32]:
    blocks = getattr(bpy.data, kind)
    found = np.empty(len(blocks), dtype=np.int32)
    blocks.foreach_get("session_uid", found)
    return found


@persistent
def refresh(*_arguments: Any) -> None:
    """Have Blender make these lists anew, for the collections of all models."""
    for data in bpy.data.armatures:
        top = armature_settings(data).collection
        for collection in (top, *top.children_recursive) if top is not None else ():
            if collection.library is None:
                collection.hide_render = collection.hide_render  # its update drops the list, and those around it
