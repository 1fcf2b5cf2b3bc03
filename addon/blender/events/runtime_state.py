"""State outside the .blend: one store with one rule when its entries end.

Whatever a module has to remember between two calls, and must not store in the file, is a ``RuntimeState``: caches of
what was read from Blender, simulation sessions, the handle of a drawing function. ``state_of`` returns the entry of a
datablock, or the only one of its kind, and creates it when first asked for. Entries end by themselves (``Lifetime``),
before our other handlers of the event run (``events.handlers``).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar, TypeVar

import bpy


class Lifetime(IntEnum):
    """End of a state."""

    HISTORY = 0  # undo, redo, or another file: references to datablocks become invalid
    FILE = 1  # another file
    PROGRAM = 2  # the extension is disabled


class RuntimeState:
    """State of one kind; a subclass needs no arguments to be created."""

    lifetime: ClassVar[Lifetime] = Lifetime.HISTORY


State = TypeVar("State", bound=RuntimeState)

#: States by kind and the ``session_uid`` of their datablock, which renaming and undo do not change; 0 without one.
_store: dict[type[RuntimeState], dict[int, Any]] = {}


def state_of(kind: type[State], owner: bpy.types.ID | int = 0) -> State:
    """Return the state of a kind that belongs to a datablock (or its ``session_uid``), or to none."""
    uid = owner if isinstance(owner, int) else owner.session_uid
    states = _store.setdefault(kind, {})
    found: State | None = states.get(uid)
    if found is None:
        found = states[uid] = kind()
    return found


def all_states(kind: type[State]) -> list[State]:
    """Return the states of a kind of all datablocks."""
    return list(_store.get(kind, {}).values())


def end_state(kind: type[RuntimeState], owner: bpy.types.ID | int | None = None) -> None:
    """End the state of a kind: that of a datablock (or its ``session_uid``), or all."""
    if owner is None:
        _store.pop(kind, None)
    else:
        _store.get(kind, {}).pop(owner if isinstance(owner, int) else owner.session_uid, None)


def end_states_of(owner: bpy.types.ID) -> None:
    """End all states of a datablock, before it is removed."""
    for states in _store.values():
        states.pop(owner.session_uid, None)


def end_states(lifetime: Lifetime) -> None:
    """End the states whose lifetime is at most this one."""
    for kind in [kind for kind in _store if kind.lifetime <= lifetime]:
        del _store[kind]
