"""Meshes of bodies' shapes, made once per (shapes, sizes, colours) and shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import bmesh
import bpy
import numpy as np
from mathutils import Matrix

from ...core.model import Array, Body, Shape
from ..scene.materials import Color, plain_material
from .primitives import primitive

#: Gives the mesh of a file in the file's own coordinates, or None where it cannot be had.
MeshFile = Callable[[Shape, Body], bpy.types.Mesh | None]
#: What stands in for a mesh that is not there.
MISSING_COLOR = (0.95, 0.35, 0.1, 1.0)


class MeshShelf:
    """Hands out meshes for lists of shapes, each distinct list made once.

    ``proxy`` is the edge of the box that stands for a missing mesh, ``plane`` that of the square for an endless plane.
    """

    def __init__(
        self, prefix: str, mesh_file: MeshFile = lambda shape, body: None, proxy: float = 1.0, plane: float = 1.0
    ) -> None:
        self.proxy = proxy
        self._prefix, self._mesh_file, self._plane = prefix, mesh_file, plane
        self._meshes: dict[tuple[object, ...], bpy.types.Mesh] = {}
        self._materials: dict[tuple[object, ...], bpy.types.Material] = {}

    def mesh(self, shapes: list[Shape], color: Color, body: Body) -> bpy.types.Mesh:
        """The mesh of a body's shapes, each where it stands; ``color`` is for those without their own."""
        key = tuple(map(_key, shapes)) + (color if any(shape.color is None for shape in shapes) else None,)
        made = self._meshes.get(key)
        if made is None:
            made = self._meshes[key] = self._make(shapes, color, body)
        return made

    def is_missing(self, shape: Shape, body: Body) -> bool:
        """Return whether a shape's surface is in a file that cannot be had."""
        return shape.type == "mesh" and self._mesh_file(shape, body) is None

    def _make(self, shapes: list[Shape], color: Color, body: Body) -> bpy.types.Mesh:
        mesh = bpy.data.meshes.new(f"{self._prefix} {shapes[0].type if shapes else 'none'}")
        self._fill(mesh, [shape for shape in shapes if shape.type != "mesh" or self.is_missing(shape, body)], color)
        filed = [shape for shape in shapes if shape.type == "mesh" and not self.is_missing(shape, body)]
        if filed:
            self._join(mesh, filed, color, body)
        return mesh

    def _fill(self, mesh: bpy.types.Mesh, shapes: list[Shape], color: Color) -> None:
        """Make an empty mesh that of primitives, and of proxies for missing files."""
        points: list[Array] = []
        polygons: list[tuple[int, ...]] = []
        slots: list[int] = []
        smooth: list[bool] = []
        materials: list[bpy.types.Material] = []
        count = 0
        for shape in shapes:
            surface = primitive(self._proxy_of(shape), self._plane)
            own = [self._material_of(shape, each) for each in surface.colors or [shape.color or color]]
            materials += [material for material in dict.fromkeys(own) if material not in materials]
            points.append(surface.vertices @ shape.pose[:3, :3].T + shape.pose[:3, 3])
            polygons += [tuple(count + v for v in face) for face in surface.polygons]
            slots += map(materials.index, own if surface.colors else own * len(surface.polygons))
            smooth += surface.smooth
            count += len(surface.vertices)
        if polygons:
            mesh.from_pydata(np.concatenate(points).tolist(), [], polygons)
            mesh.polygons.foreach_set("material_index", slots)
            mesh.polygons.foreach_set("use_smooth", smooth)
        for material in materials:
            mesh.materials.append(material)

    def _proxy_of(self, shape: Shape) -> Shape:
        return shape if shape.type != "mesh" else Shape("box", dict.fromkeys("xyz", self.proxy))

    def _join(self, mesh: bpy.types.Mesh, shapes: Iterable[Shape], color: Color, body: Body) -> None:
        """Add the meshes of files to a mesh, with their materials and whatever else they carry."""
        work = bmesh.new()
        try:
            work.from_mesh(mesh)
            for shape in shapes:
                part = self._mesh_file(shape, body).copy()
                part.transform(Matrix((shape.pose @ np.diag([*_scale(shape), 1.0])).tolist()))
                if np.prod(_scale(shape)) < 0.0:
                    part.flip_normals()
                self._put_materials(part, mesh, shape.color or color)
                work.from_mesh(part)
                bpy.data.meshes.remove(part)
            work.to_mesh(mesh)
        finally:
            work.free()

    def _put_materials(self, part: bpy.types.Mesh, whole: bpy.types.Mesh, color: Color) -> None:
        """Have a part's polygons count in the materials of the whole. The file's own go before the model's colour, as
        in the programs that draw these models."""
        first = len(whole.materials)
        slots = np.zeros(len(part.polygons), dtype=np.int32)
        if len(part.materials):
            part.polygons.foreach_get("material_index", slots)
        for material in part.materials or [None]:
            whole.materials.append(material or self._material(color))
        part.polygons.foreach_set("material_index", slots + first)

    def _material_of(self, shape: Shape, color: Color) -> bpy.types.Material:
        if shape.type != "mesh":
            return self._material(color)
        return self._material(MISSING_COLOR, f"Missing {file_of(shape)}")

    def _material(self, color: Color, name: str = "") -> bpy.types.Material:
        made = self._materials.get((color, name))
        if made is None:
            like = next(iter(self._materials.values()), None)
            made = plain_material(name or f"{self._prefix} {_hex(color)}", color, like)
            self._materials[color, name] = made
        return made


def file_of(shape: Shape) -> str:
    """The bare name of the file that a shape's surface is in."""
    return (shape.mesh or "mesh").replace("\\", "/").rsplit("/", 1)[-1]


def _key(shape: Shape) -> tuple[object, ...]:
    """Return what makes two shapes look the same."""
    size = tuple(sorted(shape.size.items()))
    unseen = shape.type == "plane" and not shape.visual
    return shape.type, size, shape.pose.tobytes(), shape.color, shape.mesh, tuple(shape.spheres), unseen


def _scale(shape: Shape) -> list[float]:
    return [shape.size.get(axis, 1.0) for axis in "xyz"]


def _hex(color: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in color[:3])
