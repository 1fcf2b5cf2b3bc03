"""Plain materials from the colours of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy
import numpy as np

from ..compat import active_nodes, ensure_node_tree, rename_datablock

MaterialColor = tuple[float, float, float, float]
#: Colours that differ by less are the same: half of what 8 bits can tell.
_COLOR_TOLERANCE = 0.5 / 255
_ROUGHNESS = 0.55


def plain_material(name: str, color: MaterialColor, like: bpy.types.Material | None = None) -> bpy.types.Material:
    """A new material of one colour, RGBA as files and people give it (sRGB).

    ``like`` is one that was made here before: Blender copies it in less than half the time in which it sets up another.
    """
    made = bpy.data.materials.new(name) if like is None else like.copy()
    if like is not None:
        rename_datablock(made, name)
    linear = [*(to_linear(part) for part in color[:3]), color[3]]
    material_record(made).is_built, material_record(made).built = True, linear
    made.diffuse_color = linear
    nodes = made.node_tree.nodes if like is not None else ensure_node_tree(made).nodes
    shader: Any = nodes.get("Principled BSDF")
    if like is None:
        made.roughness = _ROUGHNESS
    if shader is not None:
        shader.inputs["Base Color"].default_value = linear
        if like is None:
            shader.inputs["Roughness"].default_value = _ROUGHNESS
        if shader.inputs["Alpha"].default_value != color[3]:
            shader.inputs["Alpha"].default_value = color[3]
    return made


def store_built_color(material: bpy.types.Material) -> None:
    """Have a material of before it was kept know its present colour as the one that it was made with."""
    record = material_record(material)
    if not record.is_built and (color := _material_color(material)) is not None:
        record.is_built, record.built, material.diffuse_color = True, color, color


#: What materials are painted with, as ``painted_color`` says it.
PaintedColors = dict[bpy.types.Material, MaterialColor | None]


def painted_color(obj: bpy.types.Object, known: PaintedColors) -> MaterialColor | None:
    """The one colour (sRGB) that somebody painted all of an object's mesh with: None where there are several, or a
    picture, or where it still has the colour that it was made with. ``known`` keeps what was found of materials, which
    many objects share."""
    mesh = cast(bpy.types.Mesh, obj.data)
    used = {slot.material for slot in obj.material_slots}
    if len(used) > 1:
        slots = np.zeros(len(mesh.polygons), dtype=np.int32)
        mesh.polygons.foreach_get("material_index", slots)  # type: ignore[arg-type]
        used = {obj.material_slots[min(int(number), len(obj.material_slots) - 1)].material for number in set(slots)}
    material = used.pop() if len(used) == 1 else None
    if material is None:
        return None
    if material not in known:
        known[material] = _changed_color(material)
    return known[material]


def _changed_color(material: bpy.types.Material) -> MaterialColor | None:
    linear = _material_color(material)
    if linear is None:
        return None
    record = material_record(material)
    if (
        record.is_built
        and max(abs(now - old) for now, old in zip(linear, record.built, strict=True)) < _COLOR_TOLERANCE
    ):
        return None
    red, green, blue, alpha = (round(part, 4) for part in (*map(to_srgb, linear[:3]), linear[3]))
    return red, green, blue, alpha


def _material_color(material: bpy.types.Material) -> Sequence[float] | None:
    """Return what a material is painted with: in its shader, or, where that has not changed or is none, in the
    viewport."""
    shader: Any = next((node for node in active_nodes(material) if node.type == "BSDF_PRINCIPLED"), None)
    shown = material.diffuse_color[:]
    if shader is None:
        return shown
    base = shader.inputs["Base Color"]
    if base.is_linked:
        return None
    color = [*base.default_value[:3], shader.inputs["Alpha"].default_value]
    built = material_record(material)
    kept = (
        built.is_built and max(abs(now - old) for now, old in zip(color, built.built, strict=True)) < _COLOR_TOLERANCE
    )
    return shown if kept else color


def have_same_color(one: bpy.types.Material | None, other: bpy.types.Material | None) -> bool:
    """Return whether two materials are the same, or both of one colour and of the same one."""
    if one == other or one is None or other is None:
        return one == other
    mine, its = _material_color(one), _material_color(other)
    if mine is None or its is None:
        return False
    shown = [*mine, *one.diffuse_color], [*its, *other.diffuse_color]
    return bool(np.abs(np.subtract(*shown)).max() < _COLOR_TOLERANCE)


def material_record(material: bpy.types.Material) -> Any:
    """Return what we keep with a material."""
    return material.knuckle  # type: ignore[attr-defined]


def to_srgb(part: float) -> float:
    """A linear value as files and people give it, from 0 to 1."""
    part = min(max(part, 0.0), 1.0)
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def to_linear(part: float) -> float:
    """sRGB, as files and people give colours, to the linear values that Blender keeps."""
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
