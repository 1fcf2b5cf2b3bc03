"""Registration of all packages with Blender in one explicit order, and unregistration in the reverse order."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import bpy

from .blender import locale
from .blender.animation import renamed_bones
from .blender.data import change_counter, copied_mechanisms
from .blender.data.properties import model as properties
from .blender.editing import migration
from .blender.editing.symmetry import live_mirror
from .blender.events import handlers
from .blender.events.runtime_state import Lifetime, RuntimeState, state_of
from .blender.physics.simulation import handler_table


@dataclass
class _Registration(RuntimeState):
    """Record of the registration, with the handle of our command."""

    lifetime: ClassVar = Lifetime.PROGRAM
    is_on: bool = False
    command: Any = None


def is_registered() -> bool:
    """Return whether ``register`` ran."""
    return state_of(_Registration).is_on


def register(command: Callable[[Sequence[str]], int] | None = None) -> None:
    """Register properties, handlers, the interface and ``blender --command knuckle``; do nothing if already registered.

    Args:
        command: Entry point of the command line: takes the arguments, returns the exit code. None to leave it out.

    Note:
        As a Python module, Blender 4.2 crashes at exit while anything of ours is registered, hence the ``atexit`` call.
    """
    if is_registered():
        return
    atexit.register(unregister)
    from .blender import ui  # 0.2 s that unregistered use does not need

    properties.register()
    handlers.register_states()
    change_counter.register()
    copied_mechanisms.register()  # before handlers that take a new name for the user's
    migration.register()  # before any handler reads a mechanism
    renamed_bones.register()  # before handlers that cache data by bone name
    handlers.register_cache_reset()
    handler_table.register()
    live_mirror.register()
    ui.register()
    locale.register()
    if command is not None:
        state_of(_Registration).command = bpy.utils.register_cli_command("knuckle", command)
    state_of(_Registration).is_on = True
    handlers.register()  # last: all file handlers are registered by now


def unregister() -> None:
    """Undo ``register``, in reverse order; do nothing if not registered."""
    if not is_registered():
        return
    atexit.unregister(unregister)
    from .blender import ui

    handlers.unregister()
    command = state_of(_Registration).command
    if command is not None:
        bpy.utils.unregister_cli_command(command)
    locale.unregister()
    ui.unregister()
    live_mirror.unregister()
    handler_table.unregister()
    handlers.unregister_cache_reset()
    renamed_bones.unregister()
    migration.unregister()
    copied_mechanisms.unregister()
    change_counter.unregister()
    properties.unregister()
    handlers.unregister_states()
