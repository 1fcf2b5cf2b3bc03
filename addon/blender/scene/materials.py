"""Plain materials from the colours of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy
import numpy as np

from ..compat import give_name, give_nodes, nodes_in_use

Color = tuple[float, float, float, float]
#: Colours that differ by less are the same: half of what 8 bits can tell.
_SAME = 0.5 / 255
_ROUGH = 0.55


def plain_material(name: str, color: Color, like: bpy.types.Material | None = None) -> bpy.types.Material:
    """A new material of one colour, RGBA as files and people give it (sRGB).

    ``like`` is one that was made here before: Blender copies it in less than half the time in which it sets up another.
    """
    made = bpy.data.materials.new(name) if like is None else like.copy()
    if like is not None:
        give_name(made, name)
    linear = [*(to_linear(part) for part in color[:3]), color[3]]
    material_record(made).is_built, material_record(made).built = True, linear
    made.diffuse_color = linear
    nodes = made.node_tree.nodes if like is not None else give_nodes(made).nodes
    shader: Any = nodes.get("Principled BSDF")
    if like is None:
        made.roughness = _ROUGH
    if shader is not None:
        shader.inputs["Base Color"].default_value = linear
        if like is None:
            shader.inputs["Roughness"].default_value = _ROUGH
        if shader.inputs["Alpha"].default_value != color[3]:
            shader.inputs["Alpha"].default_value = color[3]
    return made


def keep_color(material: bpy.types.Material) -> None:
    """Have a material of before it was kept know its present colour as the one that it was made with."""
    record = material_record(material)
    if not record.is_built and (color := _color_of(material)) is not None:
        record.is_built, record.built, material.diffuse_color = True, color, color


#: What materials are painted with, as ``painted`` says it.
Painted = dict[bpy.types.Material, Color | None]


def painted(obj: bpy.types.Object, known: Painted) -> Color | None:
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
        known[material] = _painted(material)
    return known[material]


def _painted(material: bpy.types.Material) -> Color | None:
    linear = _color_of(material)
    if linear is None:
        return None
    record = material_record(material)
    if record.is_built and max(abs(now - old) for now, old in zip(linear, record.built, strict=True)) < _SAME:
        return None
    red, green, blue, alpha = (round(part, 4) for part in (*map(to_srgb, linear[:3]), linear[3]))
    return red, green, blue, alpha


def _color_of(material: bpy.types.Material) -> Sequence[float] | None:
    """Return what a material is painted with: in its shader, or, where that has not changed or is none, in the
    viewport."""
    shader: Any = next((node for node in nodes_in_use(material) if node.type == "BSDF_PRINCIPLED"), None)
    shown = material.diffuse_color[:]
    if shader is None:
        return shown
    base = shader.inputs["Base Color"]
    if base.is_linked:
        return None
    color = [*base.default_value[:3], shader.inputs["Alpha"].default_value]
    built = material_record(material)
    kept = built.is_built and max(abs(now - old) for now, old in zip(color, built.built, strict=True)) < _SAME
    return shown if kept else color


def looks_alike(one: bpy.types.Material | None, other: bpy.types.Material | None) -> bool:
    """Return whether two materials are the same, or both of one colour and of the same one."""
    if one == other or one is None or other is None:
        return one == other
    mine, its = _color_of(one), _color_of(other)
    if mine is None or its is None:
        return False
    shown = [*mine, *one.diffuse_color], [*its, *other.diffuse_color]
    return bool(np.abs(np.subtract(*shown)).max() < _SAME)


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
