"""Single-color materials from the colors of files, and detection of colors edited since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy
import numpy as np

from ..compat import ensure_node_tree, rename_datablock
from ..data.baseline import has_color_baseline, is_baseline_color, principled_shader, record_color_baseline
from ..data.facts import MATERIAL_COLOR_TOLERANCE

MaterialColor = tuple[float, float, float, float]
_ROUGHNESS = 0.55


def plain_material(name: str, color: MaterialColor, like: bpy.types.Material | None = None) -> bpy.types.Material:
    """Create a material of one color, RGBA as in files and the interface (sRGB).

    Note:
        Copying ``like``, a material created here before, takes Blender less than half the time of setting up another.
    """
    made = bpy.data.materials.new(name) if like is None else like.copy()
    if like is not None:
        rename_datablock(made, name)
    linear = [*(to_linear(part) for part in color[:3]), color[3]]
    record_color_baseline(made, linear)
    made.diffuse_color = linear
    tree: Any = made.node_tree if like is not None else ensure_node_tree(made)
    shader: Any = tree.nodes.get("Principled BSDF")
    if like is None:
        made.roughness = _ROUGHNESS
    if shader is not None:
        shader.inputs["Base Color"].default_value = linear
        if like is None:
            shader.inputs["Roughness"].default_value = _ROUGHNESS
        if shader.inputs["Alpha"].default_value != color[3]:
            shader.inputs["Alpha"].default_value = color[3]
    return made


def record_missing_color(material: bpy.types.Material) -> None:
    """Record a material's present color as its baseline if it has none, as in mechanisms of earlier releases."""
    if not has_color_baseline(material) and (color := _material_color(material)) is not None:
        material.diffuse_color = color
        record_color_baseline(material, color)


#: Changed colors by material; None: unchanged.
PaintedColors = dict[bpy.types.Material, MaterialColor | None]


def painted_colors(obj: bpy.types.Object, known: PaintedColors) -> list[tuple[bpy.types.Material, MaterialColor]]:
    """Return the materials of an object's mesh whose color was changed since it was built, with the new one (sRGB).

    A texture is no color. ``known`` caches the results of materials, which many objects share.
    """
    out: list[tuple[bpy.types.Material, MaterialColor]] = []
    for material in used_materials(obj):
        if material not in known:
            known[material] = _changed_color(material)
        color = known[material]
        if color is not None:
            out.append((material, color))
    return out


def used_materials(obj: bpy.types.Object) -> list[bpy.types.Material]:
    """Return the materials that faces of an object's mesh have."""
    every = [slot.material for slot in obj.material_slots]
    if len(set(every)) > 1:
        polygons = cast(bpy.types.Mesh, obj.data).polygons
        slots = np.zeros(len(polygons), dtype=np.int32)
        polygons.foreach_get("material_index", slots)  # type: ignore[arg-type]
        every = [every[min(number, len(every) - 1)] for number in np.unique(slots).tolist()]
    return [material for material in dict.fromkeys(every) if material is not None]


def was_built_with(material: bpy.types.Material, color: MaterialColor) -> bool:
    """Return whether a material was created with a color (sRGB)."""
    return is_baseline_color(material, [*(to_linear(part) for part in color[:3]), color[3]])


def _changed_color(material: bpy.types.Material) -> MaterialColor | None:
    linear = _material_color(material)
    if linear is None or is_baseline_color(material, linear):
        return None
    red, green, blue, alpha = (round(part, 4) for part in (*map(to_srgb, linear[:3]), linear[3]))
    return red, green, blue, alpha


def _material_color(material: bpy.types.Material) -> Sequence[float] | None:
    """Return the color (linear) of a material's shader, or its viewport color where that is unchanged or missing.

    It is None where the shader's color is linked to a node.
    """
    shader = principled_shader(material)
    shown = material.diffuse_color[:]
    if shader is None:
        return shown
    base = shader.inputs["Base Color"]
    if base.is_linked:
        return None
    color = [*base.default_value[:3], shader.inputs["Alpha"].default_value]
    return shown if is_baseline_color(material, color) else color


def have_same_color(one: bpy.types.Material | None, other: bpy.types.Material | None) -> bool:
    """Return whether two materials are identical, or both of one color and the same one."""
    if one == other or one is None or other is None:
        return one == other
    mine, its = _material_color(one), _material_color(other)
    if mine is None or its is None:
        return False
    shown = [*mine, *one.diffuse_color], [*its, *other.diffuse_color]
    return bool(np.abs(np.subtract(*shown)).max() < MATERIAL_COLOR_TOLERANCE)


def to_srgb(part: float) -> float:
    """Convert a linear color component to sRGB, 0 to 1 (IEC 61966-2-1)."""
    part = min(max(part, 0.0), 1.0)
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def to_linear(part: float) -> float:
    """Convert a color component from sRGB, as in files, to Blender's linear values (IEC 61966-2-1)."""
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
