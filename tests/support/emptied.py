"""Helper for all tests in Blender: an empty file to begin with."""

from __future__ import annotations

import os

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
    if hasattr(bpy.types.Scene, "knuckle_simulate_here"):
        simulate_in_own_world(bpy.context.scene)


def simulate_in_own_world(scene: bpy.types.Scene) -> None:
    """Let a scene simulate in its own world, as most tests look into that.

    With KNUCKLE_SIMULATION_SCENE in a hidden one, at the frame rate that an import sets otherwise.
    """
    if os.environ.get("KNUCKLE_SIMULATION_SCENE"):
        scene.knuckle_simulate_here, scene.render.fps = False, 60
    else:
        scene.knuckle_simulate_here = True
