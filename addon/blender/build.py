"""Public name of ``reconcile.build``: builds mechanisms in Blender."""

from .reconcile.build import BuildOptions, build

__all__ = ["BuildOptions", "build"]
