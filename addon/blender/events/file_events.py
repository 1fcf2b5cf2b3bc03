"""The file that is open while the add-on is switched on.

Blender hides all data meanwhile, and tells of no file after it, as it does where it opens one: who looks at files that
are opened is told of this one as soon as it is seen.
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
    """Tell them, once."""
    if _state["looked"] or not hasattr(bpy.data, "scenes"):
        return
    _state["looked"] = True
    ours = (__package__ or "").rpartition(".")[0]  # all of what is beside this package
    every: list[Any] = bpy.app.handlers.load_post
    for act in every:  # some add what is to be called last
        if act is not told and act.__module__.startswith(ours):
            act(bpy.data.filepath)


@persistent
def told(*_args: Any) -> None:
    """Blender itself tells them of a file."""
    _state["looked"] = True


#: In a window a timer is called first; without one there are none, and the next change it is.
_HANDLERS: Handlers = (("depsgraph_update_post", look), ("load_post", told))


def register() -> None:
    """Look at the open file, now or soon."""
    _state["looked"] = False
    hang(_HANDLERS)
    look()
    if not _state["looked"]:
        bpy.app.timers.register(_soon, first_interval=0.0)


def unregister() -> None:
    """Look no more."""
    take_down(_HANDLERS)
    if bpy.app.timers.is_registered(_soon):
        bpy.app.timers.unregister(_soon)


def _soon() -> None:
    look()


@persistent
def forget(*_: Any) -> None:
    """Keep nothing: another file is open."""
    lately.forget()


_CACHE_HANDLERS: Handlers = (("load_post", forget), ("load_factory_startup_post", forget))


def register_cache_reset() -> None:
    """Hang in what forgets."""
    hang(_CACHE_HANDLERS)


def unregister_cache_reset() -> None:
    """Take it out again."""
    take_down(_CACHE_HANDLERS)
    forget()
