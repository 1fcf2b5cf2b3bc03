"""A number that grows with every change of the file that Blender tells of: what was worked out at one number holds
until there is another. Panels are drawn far more often than anything changes."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.app.handlers import persistent

from .access import armature_of, record_of
from .hooks import Handlers, hang, take_down
from .model_parts import parts

#: Of each joint its name and whether it follows its loop; and the names of the bones.
Names = tuple[tuple[tuple[str, bool], ...], tuple[str, ...]]

_now = {"number": 0}
#: Names by the rig's ``session_uid``, with the number at which they were read and what the rig had then.
_names: dict[int, tuple[tuple[int, ...], Names]] = {}


def names_of(rig: bpy.types.Object) -> Names:
    """What a model's joints and bones are called, read once between two changes."""
    data = armature_of(rig)
    state = _now["number"], len(bpy.data.objects), data.session_uid, len(data.bones)
    kept = _names.get(rig.session_uid)
    if kept is None or kept[0] != state:
        joints = tuple((empty.name, record_of(empty).joint.follows) for empty in parts(rig, "JOINT"))
        kept = _names[rig.session_uid] = state, (joints, tuple(data.bones.keys()))
    return kept[1]


@persistent
def after_change(*_args: Any) -> None:
    """Something is another now."""
    _now["number"] += 1


@persistent
def forget(*_args: Any) -> None:
    """All of it, or another file."""
    after_change()
    _names.clear()


_HANDLERS: Handlers = (
    ("depsgraph_update_post", after_change),
    ("undo_post", forget),
    ("redo_post", forget),
    ("load_post", forget),
    ("load_factory_startup_post", forget),
)


def register() -> None:
    """Hang in what counts."""
    hang(_HANDLERS)


def unregister() -> None:
    """Take it out again."""
    take_down(_HANDLERS)
    forget()
