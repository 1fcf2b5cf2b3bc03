"""Knuckle: mechanisms in Blender. Importable without Blender; ``register`` needs it."""

from __future__ import annotations


def register() -> None:
    """Register everything with Blender: properties, handlers, operators, panels, commands.

    Raises:
        ImportError: A module without which nothing works is missing; the message is written for users.
    """
    from .installation import missing_dependency

    reason = missing_dependency()
    if reason:
        raise ImportError(reason)
    from . import cli, registration  # they need Blender

    registration.register(cli.run_in_blender)


def unregister() -> None:
    """Undo ``register``."""
    from . import registration

    registration.unregister()


def is_registered() -> bool:
    """Return whether Knuckle is registered with Blender."""
    from . import registration

    return registration.is_registered()
