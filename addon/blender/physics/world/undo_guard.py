"""Undo where physics ran.

Blender makes only those datablocks anew that differ between two steps, and its rigid-body world belongs to the scene:
where a body differs and the scene does not, the world keeps a body that is freed, and Blender 4.2 to 5.2 crashes at one
of the next frames. So in files with such a world all is made anew, as Blender itself did until 2.83 and still can. That
holds from the first step with physics until another file is opened: the step that brings a world back begins without
one. It costs half as much time again, and nothing in files without physics.
"""

from __future__ import annotations

from typing import Any

import bpy
from bpy.app.handlers import persistent

#: What the user has in the preferences, while it is another; empty when nothing is changed.
_kept: list[tuple[bool, bool, bool]] = []
#: The 3D cursors by scene: undo leaves them where they are, and in 5.0 turns them when it makes all anew.
_cursors: dict[int, dict[str, Any]] = {}
#: Whether a step of this file may have a rigid-body world, although the present state has none.
_expected: list[bool] = []
_OF_CURSORS = ("rotation_mode", "location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle")


def expect() -> None:
    """Physics is made: from now on steps of this file may have a rigid-body world."""
    _expected[:] = [True]


@persistent
def after_load(*_args: Any) -> None:
    """A file was opened: its steps begin anew."""
    _expected.clear()


@persistent
def before_step(*_args: Any) -> None:
    """Before a step is undone or redone: have all datablocks be made anew where a scene has physics."""
    if any(scene.rigidbody_world is not None for scene in bpy.data.scenes):
        expect()
    if _kept or not _expected:
        return
    preferences = bpy.context.preferences
    view, experimental = preferences.view, preferences.experimental
    if view.show_developer_ui and experimental.use_undo_legacy:
        return
    _kept.append((view.show_developer_ui, experimental.use_undo_legacy, preferences.is_dirty))
    for scene in bpy.data.scenes:
        cursor = scene.cursor
        _cursors[scene.session_uid] = {name: _plain(getattr(cursor, name)) for name in _OF_CURSORS}
    view.show_developer_ui = True  # without it no experimental setting counts
    experimental.use_undo_legacy = True


@persistent
def after_step(*_args: Any) -> None:
    """After it: the preferences are the user's again, and not to be saved for this."""
    if not _kept:
        return
    preferences = bpy.context.preferences
    shown, legacy, dirty = _kept.pop()
    preferences.experimental.use_undo_legacy = legacy
    preferences.view.show_developer_ui = shown
    preferences.is_dirty = dirty
    for scene in bpy.data.scenes:
        for name, value in _cursors.get(scene.session_uid, {}).items():
            setattr(scene.cursor, name, value)
    _cursors.clear()


def _plain(value: Any) -> Any:
    """A value that stays when what it was read from is gone."""
    return value if isinstance(value, str) else tuple(value)
