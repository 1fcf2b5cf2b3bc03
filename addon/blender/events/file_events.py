"""Call of our ``load_post`` handlers for the file already open when the add-on is enabled; reset of document caches.

Note:
    During ``register()`` ``bpy.data`` is restricted and no ``load_post`` follows, so the handlers are called once from
    the first timer or depsgraph update.
"""

from __future__ import annotations

from typing import Any

import bpy
from bpy.app.handlers import persistent

from ...formats.document import cache
from .handlers import Handlers, connect, disconnect

_state = {"looked": True}


@persistent
def notify_open_file(*_args: Any) -> None:
    """Call our ``load_post`` handlers once for the open file, as soon as ``bpy.data`` is accessible."""
    if _state["looked"] or not hasattr(bpy.data, "scenes"):
        return
    _state["looked"] = True
    ours = (__package__ or "").rpartition(".")[0]  # all packages beside this one
    every: list[Any] = bpy.app.handlers.load_post
    for act in every:  # a copy: some handlers append others
        if act is not note_file_loaded and act.__module__.startswith(ours):
            act(bpy.data.filepath)


@persistent
def note_file_loaded(*_args: Any) -> None:
    """Note that Blender itself calls the ``load_post`` handlers."""
    _state["looked"] = True


#: With a window a timer comes first; in background mode there are no timers, so the next depsgraph update serves.
_HANDLERS: Handlers = (("depsgraph_update_post", notify_open_file), ("load_post", note_file_loaded))


def register() -> None:
    """Call the handlers for the open file, now or as soon as possible."""
    _state["looked"] = False
    connect(_HANDLERS)
    notify_open_file()
    if not _state["looked"]:
        bpy.app.timers.register(_notify_from_timer, first_interval=0.0)


def unregister() -> None:
    """Remove the handlers and the timer."""
    disconnect(_HANDLERS)
    if bpy.app.timers.is_registered(_notify_from_timer):
        bpy.app.timers.unregister(_notify_from_timer)


def _notify_from_timer() -> None:
    notify_open_file()


@persistent
def clear_document_cache(*_: Any) -> None:
    """Clear the caches of parsed documents when another file is opened."""
    cache.clear_content_caches()


_CACHE_HANDLERS: Handlers = (("load_post", clear_document_cache), ("load_factory_startup_post", clear_document_cache))


def register_cache_reset() -> None:
    """Add the handlers that clear the document caches."""
    connect(_CACHE_HANDLERS)


def unregister_cache_reset() -> None:
    """Remove the handlers and clear the document caches."""
    disconnect(_CACHE_HANDLERS)
    clear_document_cache()
