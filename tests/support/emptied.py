"""Helper for all tests in Blender: an empty file to begin with."""

from __future__ import annotations

import bpy


def empty_file() -> None:
    """Open Blender's own empty scene. The factory settings would bring the same and, which takes five times as long,
    switch every add-on of Blender's off and on again: they are loaded only where a test has changed preferences."""
    preferences = bpy.context.preferences
    if preferences.is_dirty:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        preferences.is_dirty = False  # Blender holds those just loaded for changed
    else:
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
