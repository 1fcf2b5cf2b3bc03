"""Signals emitted when our properties change.

``events.handlers.SIGNAL_HANDLERS`` has the functions that are called, in their order. Packages add theirs when they
register, so that this module imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, cast

import bpy

from .runtime_state import Lifetime, RuntimeState, state_of


class Signal(Enum):
    """Signals, with what their handlers are called with."""

    JOINT = "joint"  # the empty of a joint after an edit of what limits and constraints derive from
    VALUE = "joint value"  # the empty of a joint, and the edited values of its record as RNA paths from the object
    BODY = "body"  # a body, and its edited values likewise
    DRIVE = "drive"  # the armature data; so for the next two
    WORLD = "world"
    GROUND = "ground"
    WORLD_CHOICE = "world choice"  # the scene that chose whether to simulate in its own rigid-body world
    SYMMETRY = "symmetry"  # the armature data whose symmetric editing was switched
    TWIN = "twin"  # the object, or the armature data with the mirror plane
    MARKED_VALUE = "marked value"  # a degree of freedom that is marked in the table of joints, a field and its value
    SERVO_CHOSEN = "servo chosen"  # the record of a servo name in motion files, after the user chose the servo
    SERVO_NAMES = "servo names"  # a mechanism's armature; returns the names of its servos by joint id
    RIG_UPDATE = "rig update"  # a mechanism's armature after parts were added, removed or connected differently
    BONES_RENAMED = "bones renamed"  # a mechanism's armature and new bone names by old ones, after motions were updated


@dataclass
class _SignalHandlers(RuntimeState):
    """Functions that are called, by signal."""

    lifetime: ClassVar = Lifetime.PROGRAM
    calls: dict[Signal, list[Callable[..., Any]]] = field(default_factory=dict)


def signal_handlers(signal: Signal) -> list[Callable[..., Any]]:
    """Return the functions that a signal calls, to which others can be added (``events.handlers.connect``)."""
    return state_of(_SignalHandlers).calls.setdefault(signal, [])


def emit(signal: Signal, *values: Any) -> list[Any]:
    """Call the handlers of a signal and return their results."""
    return [act(*values) for act in tuple(signal_handlers(signal))]


#: Whether records are written by us and not by the user.
_writing: ContextVar[bool] = ContextVar("writing", default=False)


@contextmanager
def writing_records() -> Iterator[None]:
    """Context manager for writing records: changes of our properties emit no signals, and their twins do not follow."""
    token = _writing.set(True)
    try:
        yield
    finally:
        _writing.reset(token)


def is_writing() -> bool:
    """Return whether records are written by us: changes are no edits of the user."""
    return _writing.get()


def update_callback(*signals: Signal) -> Callable[..., None]:
    """Return an update function for a property that emits signals with the changed datablock."""

    def update(self: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
        for signal in () if is_writing() else signals:
            emit(signal, self.id_data)

    return update


def notify_joint(empty: bpy.types.Object, values: Collection[str], derived: bool) -> None:
    """Emit the change signals of a joint whose record was edited within ``writing_records``.

    Args:
        empty: The joint's empty.
        values: RNA paths of the edited values from the empty.
        derived: Whether limits and constraints derive from them.
    """
    if derived:
        emit(Signal.JOINT, empty)
    emit(Signal.VALUE, empty, values)


def value_callback(field: str, derived: bool = False) -> Callable[..., None]:
    """Return an update function for the property ``field`` of a degree of freedom (``notify_joint``)."""

    def update(self: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
        if not is_writing():
            notify_joint(cast(bpy.types.Object, self.id_data), {self.path_from_id(field)}, derived)

    return update


def body_callback(field: str) -> Callable[..., None]:
    """Return an update function for the property ``field`` of a body's record."""

    def update(self: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
        if not is_writing():
            emit(Signal.BODY, self.id_data, {self.path_from_id(field)})

    return update
