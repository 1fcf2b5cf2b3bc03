"""What was read lately is forgotten when another file is opened, and with the add-on."""

from __future__ import annotations

from typing import Any

from bpy.app.handlers import persistent

from ...formats.document import cache as lately
from .signals import Handlers, hang, take_down


@persistent
def forget(*_: Any) -> None:
    """Keep nothing: another file is open."""
    lately.forget()


_HANDLERS: Handlers = (("load_post", forget), ("load_factory_startup_post", forget))


def register() -> None:
    """Hang in what forgets."""
    hang(_HANDLERS)


def unregister() -> None:
    """Take it out again."""
    take_down(_HANDLERS)
    forget()
