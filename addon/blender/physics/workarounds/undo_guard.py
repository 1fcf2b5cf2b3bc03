"""Guard against crashes of undo in files with a rigid-body world.

Blender recreates only those datablocks that differ between two undo steps, and its rigid-body world belongs to the
scene: where a body differs and the scene does not, the world keeps a freed body, and Blender 4.2 to 5.2 crashes at one
of the next frames. So in files with such a world all datablocks are recreated, as Blender itself did until 2.83 and
still can (``use_undo_legacy``). That holds from the first step with physics until another file is opened, since the
step that restores a world begins without one. It costs half as much time again, and nothing in files without physics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import bpy
from bpy.app.handlers import persistent

from ...events.runtime_state import Lifetime, RuntimeState, end_state, state_of


@dataclass
class _Saved(RuntimeState):
    """User settings that a step of undo or redo must not change.

    Attributes:
        preferences: The user's preferences while they are changed, else None.
        cursors: The 3D cursors by scene: undo leaves them in place, but 5.0 rotates them when it recreates all
            datablocks.
    """

    lifetime: ClassVar = Lifetime.PROGRAM
    preferences: tuple[bool, bool, bool] | None = None
    cursors: dict[int, dict[str, Any]] = field(default_factory=dict)


@dataclass
class _ExpectedPhysics(RuntimeState):
    """Expectation that a step of this file has a rigid-body world, although the present state has none."""

    lifetime: ClassVar = Lifetime.FILE
    is_expected: bool = False


_CURSOR_PROPERTIES = ("rotation_mode", "location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle")


def expect_physics() -> None:
    """Note that undo steps of this file may have a rigid-body world from now on."""
    state_of(_ExpectedPhysics).is_expected = True


@persistent
def before_history_step(*_args: Any) -> None:
    """Enable legacy undo before an undo or redo step, where a scene has physics."""
    if any(scene.rigidbody_world is not None for scene in bpy.data.scenes):
        expect_physics()
    saved = state_of(_Saved)
    if saved.preferences is not None or not state_of(_ExpectedPhysics).is_expected:
        return
    preferences = bpy.context.preferences
    view, experimental = preferences.view, preferences.experimental
    if view.show_developer_ui and experimental.use_undo_legacy:
        return
    saved.preferences = view.show_developer_ui, experimental.use_undo_legacy, preferences.is_dirty
    for scene in bpy.data.scenes:
        cursor = scene.cursor
        saved.cursors[scene.session_uid] = {name: _plain_copy(getattr(cursor, name)) for name in _CURSOR_PROPERTIES}
    view.show_developer_ui = True  # without it experimental settings have no effect
    experimental.use_undo_legacy = True


@persistent
def after_history_step(*_args: Any) -> None:
    """Restore the preferences, unmodified, and the 3D cursors after an undo or redo step."""
    saved = state_of(_Saved)
    if saved.preferences is None:
        return
    preferences = bpy.context.preferences
    shown, legacy, dirty = saved.preferences
    preferences.experimental.use_undo_legacy = legacy
    preferences.view.show_developer_ui = shown
    preferences.is_dirty = dirty
    for scene in bpy.data.scenes:
        for name, value in saved.cursors.get(scene.session_uid, {}).items():
            setattr(scene.cursor, name, value)
    end_state(_Saved)


def _plain_copy(value: Any) -> Any:
    """Return a value that stays valid when its owner is freed."""
    return value if isinstance(value, str) else tuple(value)
