"""Meshes of the primitive shapes, made once per (shape, size, colour) and shared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np

from ...model.records import Array, Shape
from ..compat import VERSION

_SEGMENTS = 32
_RINGS = 8  # of each half of a ball

Polygons = tuple[Array, Sequence[tuple[int, ...]]]


def primitive(shape: Shape) -> Polygons:
    """Vertices (n, 3) in the shape's own frame and polygons of a shape; none for what has no surface."""
    size = shape.size
    if shape.type == "box":
        return _box(size["x"], size["y"], size["z"])
    if shape.type == "sphere":
        return _lathe(_half_circle(size["radius"], 0.0))
    if shape.type == "capsule":
        return _lathe(_half_circle(size["radius"], size["length"]))
    if shape.type == "cylinder":
        half, radius = size["length"] / 2, size["radius"]
        return _lathe([(radius, -half), (radius, half)], caps=True)
    return np.zeros((0, 3)), []


def is_smooth(shape: Shape) -> bool:
    """Whether a shape's surface is round all over."""
    return shape.type in {"sphere", "capsule", "ellipsoid"}


def _box(x: float, y: float, z: float) -> Polygons:
    corners = np.array([(i, j, k) for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)])
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners * (x, y, z), faces


def _half_circle(radius: float, length: float) -> list[tuple[float, float]]:
    """(distance from the axis, height) from pole to pole, the equator stretched by ``length``."""
    angles = np.linspace(-math.pi / 2, 0.0, _RINGS + 1)
    lower = [(radius * math.cos(a), radius * math.sin(a) - length / 2) for a in angles]
    upper = [(r, -z) for r, z in reversed(lower)]
    return lower + (upper if length else upper[1:])


def _lathe(profile: list[tuple[float, float]], caps: bool = False) -> Polygons:
    """Turn a profile about Z. Points on the axis become one pole each."""
    around = np.linspace(0.0, 2.0 * math.pi, _SEGMENTS, endpoint=False)
    circle = np.stack([np.cos(around), np.sin(around)], axis=1)
    vertices: list[Array] = []
    rings: list[list[int]] = []
    count = 0
    for radius, height in profile:
        if radius < 1e-9 * max(abs(height), 1e-30) or radius <= 0.0:
            vertices.append(np.array([[0.0, 0.0, height]]))
            rings.append([count])
            count += 1
        else:
            vertices.append(np.column_stack([circle * radius, np.full(_SEGMENTS, height)]))
            rings.append(list(range(count, count + _SEGMENTS)))
            count += _SEGMENTS
    faces: list[tuple[int, ...]] = []
    for low, high in zip(rings, rings[1:], strict=False):
        for k in range(_SEGMENTS):
            n = (k + 1) % _SEGMENTS
            if len(low) == 1:
                faces.append((low[0], high[n], high[k]))
            elif len(high) == 1:
                faces.append((low[k], low[n], high[0]))
            else:
                faces.append((low[k], low[n], high[n], high[k]))
    if caps:
        faces += [tuple(reversed(rings[0])), tuple(rings[-1])]
    return np.concatenate(vertices), faces


class MeshShelf:
    """Hands out meshes for lists of shapes, each distinct list made once."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._meshes: dict[tuple[object, ...], bpy.types.Mesh] = {}
        self._materials: dict[tuple[float, ...], bpy.types.Material] = {}

    def mesh(self, shapes: list[Shape], color: tuple[float, float, float, float]) -> bpy.types.Mesh:
        """The mesh of a body's visible shapes; ``color`` is for shapes without their own."""
        key = tuple((s.type, tuple(sorted(s.size.items())), s.pose.tobytes(), s.color or color, s.mesh) for s in shapes)
        made = self._meshes.get(key)
        if made is None:
            made = self._meshes[key] = self._make(shapes, color)
        return made

    def _make(self, shapes: list[Shape], color: tuple[float, float, float, float]) -> bpy.types.Mesh:
        points: list[Array] = []
        polygons: list[tuple[int, ...]] = []
        slots: list[int] = []
        smooth: list[bool] = []
        colors: list[tuple[float, float, float, float]] = []
        count = 0
        for shape in shapes:
            vertices, faces = primitive(shape)
            own = shape.color or color
            if own not in colors:
                colors.append(own)
            points.append(vertices @ shape.pose[:3, :3].T + shape.pose[:3, 3])
            polygons += [tuple(count + v for v in face) for face in faces]
            slots += [colors.index(own)] * len(faces)
            round_all = is_smooth(shape)
            smooth += [round_all or (shape.type in {"cylinder", "cone"} and len(face) == 4) for face in faces]
            count += len(vertices)
        mesh = bpy.data.meshes.new(f"{self._prefix} {shapes[0].type if shapes else 'none'}")
        if polygons:
            mesh.from_pydata(np.concatenate(points).tolist(), [], polygons)
            mesh.polygons.foreach_set("material_index", slots)
            mesh.polygons.foreach_set("use_smooth", smooth)
        for own in colors:
            mesh.materials.append(self._material(own))
        return mesh

    def _material(self, color: tuple[float, float, float, float]) -> bpy.types.Material:
        made = self._materials.get(color)
        if made is None:
            made = bpy.data.materials.new(f"{self._prefix} {_hex(color)}")
            linear = [*(_to_linear(part) for part in color[:3]), color[3]]
            made.diffuse_color = linear
            made.roughness = 0.55
            if VERSION < (5, 0):  # since then every material has nodes
                made.use_nodes = True
            shader: Any = made.node_tree.nodes.get("Principled BSDF")
            if shader is not None:
                shader.inputs["Base Color"].default_value = linear
                shader.inputs["Roughness"].default_value = 0.55
                shader.inputs["Alpha"].default_value = color[3]
            self._materials[color] = made
        return made


def _hex(color: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in color[:3])


def _to_linear(part: float) -> float:
    """sRGB, as files and people give colours, to the linear values that Blender keeps."""
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
