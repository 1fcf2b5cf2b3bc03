"""Hanging a room's handlers and listeners in, and taking them out again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import bpy

#: Names of lists in ``bpy.app.handlers`` with what is to be called.
Handlers = Sequence[tuple[str, Callable[..., None]]]
#: Lists of ``listeners`` with what is to be told.
Listeners = Sequence[tuple[list[Any], Callable[..., None]]]


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
