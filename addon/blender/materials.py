"""Plain materials from the colours of files."""

from __future__ import annotations

from typing import Any

import bpy

from .compat import VERSION

Color = tuple[float, float, float, float]


def plain_material(name: str, color: Color) -> bpy.types.Material:
    """A new material of one colour, RGBA as files and people give it (sRGB)."""
    made = bpy.data.materials.new(name)
    linear = [*(to_linear(part) for part in color[:3]), color[3]]
    made.diffuse_color = linear
    made.roughness = 0.55
    if VERSION < (5, 0):  # since then every material has nodes
        made.use_nodes = True
    shader: Any = made.node_tree.nodes.get("Principled BSDF")
    if shader is not None:
        shader.inputs["Base Color"].default_value = linear
        shader.inputs["Roughness"].default_value = 0.55
        shader.inputs["Alpha"].default_value = color[3]
    return made


def to_linear(part: float) -> float:
    """sRGB, as files and people give colours, to the linear values that Blender keeps."""
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
