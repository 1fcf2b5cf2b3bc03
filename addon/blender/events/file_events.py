"""Call of our ``load_post`` handlers for the file already open when the add-on is enabled; reset of document caches.

Note:
    During ``register()`` ``bpy.data`` is restricted and no ``load_post`` follows, so the handlers are called once from
    the first timer or depsgraph update.
"""

from __future__ import annotations

from typing import Any

import bpy
from bpy.app.handlers import persistent

from ...formats.document import cache as lately
from .signals import Handlers, hang, take_down

_state = {"looked": True}


@persistent
def look(*_args: Any) -> None:
    """Call our ``load_post`` handlers once for the open file, as soon as ``bpy.data`` is accessible."""
    if _state["looked"] or not hasattr(bpy.data, "scenes"):
        return
    _state["looked"] = True
    ours = (__package__ or "").rpartition(".")[0]  # all packages beside this one
    every: list[Any] = bpy.app.handlers.load_post
    for act in every:  # a copy: some handlers append others
        if act is not told and act.__module__.startswith(ours):
            act(bpy.data.filepath)


@persistent
def told(*_args: Any) -> None:
    """Note that Blender itself calls the ``load_post`` handlers."""
    _state["looked"] = True


#: With a window a timer comes first; in background mode there are no timers, so the next depsgraph update serves.
_HANDLERS: Handlers = (("depsgraph_update_post", look), ("load_post", told))


def register() -> None:
    """Call the handlers for the open file, now or as soon as possible."""
    _state["looked"] = False
    hang(_HANDLERS)
    look()
    if not _state["looked"]:
        bpy.app.timers.register(_soon, first_interval=0.0)


def unregister() -> None:
    """Remove the handlers and the timer."""
    take_down(_HANDLERS)
    if bpy.app.timers.is_registered(_soon):
        bpy.app.timers.unregister(_soon)


def _soon() -> None:
    look()


@persistent
def forget(*_: Any) -> None:
    """Clear the caches of parsed documents when another file is opened."""
    lately.forget()


_CACHE_HANDLERS: Handlers = (("load_post", forget), ("load_factory_startup_post", forget))


def register_cache_reset() -> None:
    """Add the handlers that clear the document caches."""
    hang(_CACHE_HANDLERS)


def unregister_cache_reset() -> None:
    """Remove the handlers and clear the document caches."""
    take_down(_CACHE_HANDLERS)
    forget()
