"""Signals emitted when our properties change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import bpy

#: Called with a joint's empty after its record changed; those below with the armature data, or the body, that changed.
#: Other packages add their listeners when they register, so that this module imports none of them.
on_joint_change: list[Callable[[bpy.types.Object], None]] = []
on_drive_change: list[Callable[[bpy.types.Armature], None]] = []
on_world_change: list[Callable[[bpy.types.Armature], None]] = []
on_ground_change: list[Callable[[bpy.types.Armature], None]] = []
#: Called with a scene after its choice between its own rigid-body world and a simulation scene changed.
on_world_choice: list[Callable[[bpy.types.Scene], None]] = []
on_body_change: list[Callable[[bpy.types.Object], None]] = []
#: Called with a joint's empty after any value of its record was edited, also one that nothing derives from.
on_value_change: list[Callable[[bpy.types.Object], None]] = []
#: Called with a degree of freedom that is ticked in the table of joints, a field of it and the value to set.
on_ticked_value: list[Callable[[Any, str, Any], None]] = []
#: Called with the record of a servo name in motion files after the user chose the servo that it means.
on_servo_chosen: list[Callable[[Any], None]] = []
#: Called with a mechanism's armature object; returns the names of its servos by joint id.
servo_name_providers: list[Callable[[bpy.types.Object], Mapping[str, Sequence[str]]]] = []
on_twin_change: list[Callable[[bpy.types.Object], None]] = []
#: Called with a mechanism's armature after its rig was rebuilt: parts were added, removed or connected differently.
on_rig_update: list[Callable[[bpy.types.Object], None]] = []
#: Called with a mechanism's armature and new bone names by old ones, after motions and drivers were updated.
on_bones_renamed: list[Callable[[bpy.types.Object, Mapping[str, str]], None]] = []
on_symmetry_change: list[Callable[[bpy.types.Armature], None]] = []


#: Number of contexts that suppress signals.
_blocked: ContextVar[int] = ContextVar("blocked", default=0)


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Suppress the signals of our properties within the context."""
    token = _blocked.set(_blocked.get() + 1)
    try:
        yield
    finally:
        _blocked.reset(token)


def update_callback(*listeners: list[Callable[..., None]]) -> Callable[..., None]:
    """Return an update function for a property that calls the listeners with the changed datablock."""

    def update(self: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
        if not _blocked.get():
            for act in (act for each in listeners for act in each):
                act(self.id_data)

    return update


def notify_joints(empties: Iterable[bpy.types.Object], derived: bool = True) -> None:
    """Emit the change signals of joints whose records were edited within ``signals_blocked``, once for each joint.

    Args:
        empties: The joints' empties; repetitions are ignored.
        derived: Whether limits and constraints derive from the edited values.
    """
    for empty in dict.fromkeys(empties):
        for act in (*(on_joint_change if derived else ()), *on_value_change):
            act(empty)


joint_changed = update_callback(on_joint_change, on_value_change)
value_changed = update_callback(on_value_change)
twin_changed = update_callback(on_twin_change)
symmetry_changed = update_callback(on_symmetry_change)
drive_changed = update_callback(on_drive_change)
world_changed = update_callback(on_world_change)
world_choice_changed = update_callback(on_world_choice)
ground_changed = update_callback(on_ground_change)
body_changed = update_callback(on_body_change)
