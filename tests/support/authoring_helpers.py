"""Helpers for tests of mechanisms built by hand: cylinder meshes in the scene."""

from __future__ import annotations

from typing import Any

import bpy


def cylinder(name: str, radius: float, depth: float, place: tuple[float, float, float]) -> Any:
    bpy.ops.mesh.primitive_cylinder_add(radius=radius, depth=depth, location=place)
    bpy.context.object.name = name
    return bpy.context.object
