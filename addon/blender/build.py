"""Mechanisms built into Blender: the public name of ``reconcile.build``."""

from .reconcile.build import BuildOptions, build

__all__ = ["BuildOptions", "build"]
