"""Datablocks created since a given moment, for rollback, and a workaround for stale collection lists after undo.

Note:
    Blender numbers datablocks in order of creation (``session_uid``). A collection keeps its list of all objects,
    nested ones included, also where undo recreated some of them; reading it then reads freed memory (4.2 to 5.2: a
    crash).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent
from numpy.typing import NDArray

from .access import armature_settings


def newest_session_uid(kinds: Sequence[str]) -> int:
    """Return the ``session_uid`` of the newest datablock.

    Args:
        kinds: Names of lists in ``bpy.data``.
    """
    return max((int(_session_uids(kind).max(initial=0)) for kind in kinds), default=0)


def datablocks_since(moment: int, kinds: Sequence[str]) -> list[Any]:
    """Return the datablocks created after a moment.

    Args:
        moment: A ``session_uid``, as ``newest_session_uid`` returns it.
        kinds: Names of lists in ``bpy.data``: those of ``newest_session_uid`` or fewer.
    """
    found: list[Any] = []
    for kind in kinds:
        blocks = getattr(bpy.data, kind)
        found += [blocks[int(index)] for index in np.flatnonzero(_session_uids(kind) > moment)]
    return found


def still_exists(block: bpy.types.ID) -> bool:
    """Return whether a datablock that a reference points at still exists."""
    try:
        return bool(block.session_uid)
    except ReferenceError:
        return False


def objects_in_collections() -> set[bpy.types.Object]:
    """Return every object that is in a collection, of the file or a scene's own.

    Note:
        A query of one object, or of a collection by name, searches through all of them each time.
    """
    found: set[bpy.types.Object] = set()
    for collection in (*bpy.data.collections, *(scene.collection for scene in bpy.data.scenes)):
        found.update(collection.objects[:])
    return found


def remove_datablocks_since(moment: int, kinds: Sequence[str]) -> None:
    """Remove the datablocks created after a moment."""
    bpy.data.batch_remove(datablocks_since(moment, kinds))


def _session_uids(kind: str) -> NDArray[np.int32]:
    blocks = getattr(bpy.data, kind)
    found = np.empty(len(blocks), dtype=np.int32)
    blocks.foreach_get("session_uid", found)
    return found


@persistent
def rebuild_object_lists(*_arguments: Any) -> None:
    """Make Blender rebuild the lists of all objects of the mechanisms' collections."""
    for data in bpy.data.armatures:
        top = armature_settings(data).collection
        for collection in (top, *top.children_recursive) if top is not None else ():
            if collection.library is None:
                collection.hide_render = collection.hide_render  # its update drops the list, and those around it
