"""Who is told when the user changes one of our properties: what is derived from them is made anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import bpy

#: Called with a joint's empty after its record changed, and with the armature after the drive changed.
#: The physics room sets them when it registers: this module knows nobody.
on_joint_change: list[Callable[[bpy.types.Object], None]] = []
on_drive_change: list[Callable[[bpy.types.Armature], None]] = []
on_world_change: list[Callable[[bpy.types.Armature], None]] = []
on_ground_change: list[Callable[[bpy.types.Armature], None]] = []
on_body_change: list[Callable[[bpy.types.Object], None]] = []
#: Called with a joint's empty after any value of its record was edited, also one that nothing is derived from.
on_value_change: list[Callable[[bpy.types.Object], None]] = []
#: Called with a degree of freedom that is ticked in the table of joints, a field of it and the value to set.
on_ticked_value: list[Callable[[Any, str, Any], None]] = []
#: Called with the name of a servo in motion files after the user chose which servo it means.
on_servo_chosen: list[Callable[[Any], None]] = []
#: Called with a mechanism's armature object; returns the names of its servos by joint id.
servo_name_sources: list[Callable[[bpy.types.Object], Mapping[str, Sequence[str]]]] = []
on_twin_change: list[Callable[[bpy.types.Object], None]] = []
#: Called with a model's armature after that was made anew: parts came, went, or hang together in another way.
on_refit: list[Callable[[bpy.types.Object], None]] = []
#: Called with a model's armature and the old names of bones with their new ones, after motions and drivers followed.
on_bones_renamed: list[Callable[[bpy.types.Object, Mapping[str, str]], None]] = []
on_symmetry_change: list[Callable[[bpy.types.Armature], None]] = []


_quiet = {"depth": 0}


@contextmanager
def quiet() -> Iterator[None]:
    """Within it, setting our properties wakes nothing that is derived from them."""
    _quiet["depth"] += 1
    try:
        yield
    finally:
        _quiet["depth"] -= 1


def wakes(*listeners: list[Callable[..., None]]) -> Callable[..., None]:
    """An update function that tells the listeners which data changed."""

    def update(self: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
        if not _quiet["depth"]:
            for act in (act for each in listeners for act in each):
                act(self.id_data)

    return update


def tell(empties: Iterable[bpy.types.Object], derived: bool = True) -> None:
    """Tell of joints whose records were edited within ``quiet``, each once.

    ``derived``: among it is what limits and constraints are made from.
    """
    for empty in dict.fromkeys(empties):
        for act in (*(on_joint_change if derived else ()), *on_value_change):
            act(empty)


joint_changed = wakes(on_joint_change, on_value_change)
value_changed = wakes(on_value_change)
twin_changed = wakes(on_twin_change)
symmetry_changed = wakes(on_symmetry_change)
drive_changed = wakes(on_drive_change)
world_changed = wakes(on_world_change)
ground_changed = wakes(on_ground_change)
body_changed = wakes(on_body_change)


#: Names of lists in ``bpy.app.handlers`` with what is to be called.
Handlers = Sequence[tuple[str, Callable[..., None]]]
#: Lists of ``listeners`` with what is to be told.
Listeners = Sequence[tuple[Any, Callable[..., Any]]]


def hang(handlers: Handlers, listeners: Listeners = ()) -> None:
    """Hang them in; does nothing the second time."""
    for calls, act in _places(handlers, listeners):
        if act not in calls:
            calls.append(act)


def take_down(handlers: Handlers, listeners: Listeners = ()) -> None:
    """Take them out again."""
    for calls, act in _places(handlers, listeners):
        if act in calls:
            calls.remove(act)


def _places(handlers: Handlers, listeners: Listeners) -> list[tuple[Any, Callable[..., None]]]:
    return [(getattr(bpy.app.handlers, name), act) for name, act in handlers] + [*listeners]
