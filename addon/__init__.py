"""Knuckle: mechanisms in Blender. Importable without Blender; ``register`` needs it."""

from __future__ import annotations


def register() -> None:
    """Register everything with Blender: properties, handlers, operators, panels, commands.

    ImportError, in words for users, where a module is missing without which nothing works.
    """
    from .installation import why_not

    reason = why_not()
    if reason:
        raise ImportError(reason)
    from . import cli, registration  # they need Blender

    registration.register(cli.main)


def unregister() -> None:
    """Undo ``register``."""
    from . import registration

    registration.unregister()


def is_registered() -> bool:
    """Return whether Blender knows Knuckle."""
    from . import registration

    return registration.is_registered()
