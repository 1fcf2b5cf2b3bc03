"""Public names of release 1.0 for ``data.queries``."""

from .data.queries import parts, rig_in

__all__ = ["parts", "rig_in"]
