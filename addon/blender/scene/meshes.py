"""Meshes of shapes: surfaces of the primitives as plain numbers, and the meshes that bodies with equal shapes share.

Meshes are created once per list of shapes with their sizes and colors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import bmesh
import bpy
import numpy as np
from mathutils import Matrix

from ...core.model import Array, Body, Shape
from .materials import MaterialColor, plain_material

_SEGMENTS = 32
_RINGS = 8  # per half of a ball
#: Thickness of the bars of an ``axes`` shape as a share of their length.
_BAR_THICKNESS = 1.0 / 14.0
#: Width of a plane as a collision shape, as a multiple of its width as drawn.
_BLOCK_SIZE = 50.0
_AXIS_COLORS = ((0.8, 0.1, 0.1, 1.0), (0.1, 0.65, 0.15, 1.0), (0.15, 0.3, 0.9, 1.0))

Polygons = Sequence[tuple[int, ...]]


@dataclass
class PrimitiveMesh:
    """Surface of a primitive shape: vertices (n, 3) in the shape's frame, polygons and their smooth shading flags.

    ``colors`` are given per polygon where the kind of shape has its own.
    """

    vertices: Array
    polygons: Polygons
    smooth: list[bool]
    colors: list[MaterialColor] | None = None


def primitive_mesh(shape: Shape, plane: float = 1.0) -> PrimitiveMesh:
    """Create the surface of a shape; empty for one that has no surface or has it in a file.

    Args:
        shape: The shape.
        plane: Edge of the square that stands for an infinite plane; a plane that only collides becomes a block.
    """
    make = _MESH_BUILDERS.get(shape.type)
    if make is not None:
        return make(shape.size)
    if shape.type == "plane":
        return _plane_mesh(plane) if shape.visual else _block_mesh(_BLOCK_SIZE * plane)
    if shape.type == "multi_sphere" and shape.spheres:
        return _hull_of_balls(shape.spheres)
    return _flat_shaded(np.zeros((0, 3)), [])


def _flat_shaded(vertices: Array, polygons: Polygons) -> PrimitiveMesh:
    return PrimitiveMesh(vertices, polygons, [False] * len(polygons))


def _plane_mesh(edge: float) -> PrimitiveMesh:
    half = edge / 2.0
    corners = np.array([(-half, -half, 0.0), (half, -half, 0.0), (half, half, 0.0), (-half, half, 0.0)])
    return _flat_shaded(corners, [(0, 1, 2, 3)])


def _block_mesh(edge: float) -> PrimitiveMesh:
    """Create the collision block of an infinite plane: its top is the plane, so large that nothing misses it."""
    corners, faces = box(edge, edge, edge / 10.0)
    return _flat_shaded(corners - (0.0, 0.0, edge / 20.0), faces)


def _smooth_lathe(
    profile: list[tuple[float, float]], scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
) -> PrimitiveMesh:
    vertices, polygons = _lathe(profile)
    return PrimitiveMesh(vertices * scale, polygons, [True] * len(polygons))


def _ellipsoid(size: dict[str, float]) -> PrimitiveMesh:
    return _smooth_lathe(_half_circle(0.5, 0.0), (size["x"], size["y"], size["z"]))


def _capped_lathe(profile: list[tuple[float, float]], round_side: bool = True) -> PrimitiveMesh:
    """Create a solid of revolution, closed by flat caps where its profile does not begin or end on the axis."""
    vertices, polygons = _lathe(profile, caps=True)
    return PrimitiveMesh(vertices, polygons, [round_side and len(polygon) <= 4 for polygon in polygons])


def _cylinder(size: dict[str, float]) -> PrimitiveMesh:
    half, radius = size["length"] / 2, size["radius"]
    return _capped_lathe([(radius, -half), (radius, half)])


def _cone(size: dict[str, float]) -> PrimitiveMesh:
    half = size["length"] / 2
    return _capped_lathe([(size["radius"], -half), (0.0, half)])


def _hemisphere(size: dict[str, float]) -> PrimitiveMesh:
    """Create the upper half of a ball, its flat side on the shape's own XY plane."""
    ball = _half_circle(size["radius"], 0.0)
    return _capped_lathe(ball[_RINGS:])


def _pyramid(size: dict[str, float]) -> PrimitiveMesh:
    x, y, half = size["x"] / 2, size["y"] / 2, size["length"] / 2
    corners = [(-x, -y, -half), (x, -y, -half), (x, y, -half), (-x, y, -half), (0.0, 0.0, half)]
    return _flat_shaded(np.array(corners), [(3, 2, 1, 0), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)])


def _axes_mesh(size: dict[str, float]) -> PrimitiveMesh:
    """Create a bar along each axis: red, green and blue for X, Y and Z."""
    length = size.get("length", 1.0)
    points: list[Array] = []
    polygons: list[tuple[int, ...]] = []
    for axis in range(3):
        edges = np.full(3, _BAR_THICKNESS * length)
        edges[axis] = length
        corners, faces = box(*edges)
        corners[:, axis] += length / 2.0
        polygons += [tuple(8 * axis + corner for corner in face) for face in faces]
        points.append(corners)
    surface = _flat_shaded(np.concatenate(points), polygons)
    surface.colors = [color for color in _AXIS_COLORS for _ in range(6)]
    return surface


def _hull_of_balls(spheres: Sequence[tuple[float, float, float, float]]) -> PrimitiveMesh:
    """Create the convex hull of balls, each (radius, x, y, z)."""
    mesh = bmesh.new()
    try:
        for radius, *center in spheres:
            for point in _lathe(_half_circle(radius, 0.0))[0] + center:
                mesh.verts.new(point)
        made = bmesh.ops.convex_hull(mesh, input=mesh.verts[:], use_existing_faces=False)
        inside = {item for item in (*made["geom_interior"], *made["geom_unused"]) if item in mesh.verts}
        bmesh.ops.delete(mesh, geom=list(inside), context="VERTS")
        mesh.verts.index_update()
        vertices = np.array([vertex.co[:] for vertex in mesh.verts], dtype=np.float64).reshape(-1, 3)
        polygons = [tuple(vertex.index for vertex in face.verts) for face in mesh.faces]
    finally:
        mesh.free()
    return PrimitiveMesh(vertices, polygons, [True] * len(polygons))


def _half_circle(radius: float, length: float) -> list[tuple[float, float]]:
    """Return points (distance from the axis, height) from pole to pole, the equator stretched by ``length``."""
    angles = np.linspace(-math.pi / 2, 0.0, _RINGS + 1)
    lower = [(radius * math.cos(a), radius * math.sin(a) - length / 2) for a in angles]
    upper = [(r, -z) for r, z in reversed(lower)]
    return lower + (upper if length else upper[1:])


def _lathe(profile: list[tuple[float, float]], caps: bool = False) -> tuple[Array, Polygons]:
    """Revolve a profile (distance from the axis, height) about Z; points on the axis become one pole each."""
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
        faces += [tuple(ring) for ring in (rings[0][::-1], rings[-1]) if len(ring) > 1]
    return np.concatenate(vertices), faces


_MESH_BUILDERS: dict[str, Callable[[dict[str, float]], PrimitiveMesh]] = {
    "box": lambda size: _flat_shaded(*box(size["x"], size["y"], size["z"])),
    "sphere": lambda size: _smooth_lathe(_half_circle(size["radius"], 0.0)),
    "capsule": lambda size: _smooth_lathe(_half_circle(size["radius"], size["length"])),
    "ellipsoid": _ellipsoid,
    "cylinder": _cylinder,
    "cone": _cone,
    "hemisphere": _hemisphere,
    "pyramid": _pyramid,
    "axes": _axes_mesh,
}


#: Returns the mesh of a shape's file in the file's own coordinates; None where it is missing or unreadable.
MeshFileLookup = Callable[[Shape, Body], bpy.types.Mesh | None]
#: Color of the box in place of a missing mesh.
MISSING_COLOR = (0.95, 0.35, 0.1, 1.0)
#: Edges, as shares of the mechanism's size, of that box and of the square for an infinite plane.
_PROXY_SIZE, _PLANE_SIZE = 0.06, 2.0


class MeshCache:
    """Cache of meshes by list of shapes: each distinct list is built once.

    ``size`` is that of the mechanism; ``proxy`` is the edge of the box in place of a missing mesh.
    """

    def __init__(self, prefix: str, mesh_file: MeshFileLookup, size: float) -> None:
        self.proxy = _PROXY_SIZE * size
        self._prefix, self._mesh_file, self._plane = prefix, mesh_file, _PLANE_SIZE * size
        self._meshes: dict[tuple[object, ...], bpy.types.Mesh] = {}
        self._materials: dict[tuple[object, ...], bpy.types.Material] = {}

    def mesh(self, shapes: list[Shape], color: MaterialColor, body: Body) -> bpy.types.Mesh:
        """Return the mesh of a body's shapes, each at its pose; ``color`` is for shapes without their own."""
        key = tuple(map(_shape_key, shapes)) + (color if any(shape.color is None for shape in shapes) else None,)
        made = self._meshes.get(key)
        if made is None:
            made = self._meshes[key] = self._make(shapes, color, body)
        return made

    def is_missing(self, shape: Shape, body: Body) -> bool:
        """Return whether a shape's surface is in a file that is missing or unreadable."""
        return shape.type == "mesh" and self._mesh_file(shape, body) is None

    def _make(self, shapes: list[Shape], color: MaterialColor, body: Body) -> bpy.types.Mesh:
        mesh = bpy.data.meshes.new(f"{self._prefix} {shapes[0].type if shapes else 'none'}")
        self._fill(mesh, [shape for shape in shapes if shape.type != "mesh" or self.is_missing(shape, body)], color)
        files = ((shape, self._mesh_file(shape, body)) for shape in shapes if shape.type == "mesh")
        filed = [(shape, part) for shape, part in files if part is not None]
        if filed:
            self._join(mesh, filed, color)
        return mesh

    def _fill(self, mesh: bpy.types.Mesh, shapes: list[Shape], color: MaterialColor) -> None:
        """Fill an empty mesh with primitives, and with boxes in place of missing files."""
        points: list[Array] = []
        polygons: list[tuple[int, ...]] = []
        slots: list[int] = []
        smooth: list[bool] = []
        materials: list[bpy.types.Material] = []
        count = 0
        for shape in shapes:
            surface = primitive_mesh(self._proxy_of(shape), self._plane)
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

    def _join(self, mesh: bpy.types.Mesh, files: Iterable[tuple[Shape, bpy.types.Mesh]], color: MaterialColor) -> None:
        """Append the meshes of files to a mesh, with their materials and other data."""
        work = bmesh.new()
        try:
            work.from_mesh(mesh)
            for shape, file in files:
                part = file.copy()
                part.transform(Matrix((shape.pose @ np.diag([*_scale(shape), 1.0])).tolist()))
                if np.prod(_scale(shape)) < 0.0:
                    part.flip_normals()
                self._put_materials(part, mesh, shape.color or color)
                work.from_mesh(part)
                bpy.data.meshes.remove(part)
            work.to_mesh(mesh)
        finally:
            work.free()

    def _put_materials(self, part: bpy.types.Mesh, whole: bpy.types.Mesh, color: MaterialColor) -> None:
        """Append a part's materials to those of the whole mesh, and shift its material indices accordingly.

        The file's own materials go before the mechanism's color, as in the programs that draw these models.
        """
        first = len(whole.materials)
        slots = np.zeros(len(part.polygons), dtype=np.int32)
        if len(part.materials):
            part.polygons.foreach_get("material_index", slots)
        for material in part.materials or [None]:
            whole.materials.append(material or self._material(color))
        part.polygons.foreach_set("material_index", slots + first)

    def _material_of(self, shape: Shape, color: MaterialColor) -> bpy.types.Material:
        if shape.type != "mesh":
            return self._material(color)
        return self._material(MISSING_COLOR, f"Missing {mesh_file_name(shape)}")

    def _material(self, color: MaterialColor, name: str = "") -> bpy.types.Material:
        made = self._materials.get((color, name))
        if made is None:
            like = next(iter(self._materials.values()), None)
            made = plain_material(name or f"{self._prefix} {_hex_color(color)}", color, like)
            self._materials[color, name] = made
        return made


def mesh_file_name(shape: Shape) -> str:
    """Return the name, without folders, of the file that has a shape's surface."""
    return (shape.mesh or "mesh").replace("\\", "/").rsplit("/", 1)[-1]


def _shape_key(shape: Shape) -> tuple[object, ...]:
    """Return the key of a shape's appearance: equal for shapes that look the same."""
    size = tuple(sorted(shape.size.items()))
    unseen = shape.type == "plane" and not shape.visual
    return shape.type, size, shape.pose.tobytes(), shape.color, shape.mesh, tuple(shape.spheres), unseen


def _scale(shape: Shape) -> list[float]:
    return [shape.size.get(axis, 1.0) for axis in "xyz"]


def _hex_color(color: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in color[:3])


_CORNERS = [(i, j, k) for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)]
_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def box(x: float, y: float, z: float) -> tuple[Array, list[tuple[int, ...]]]:
    """Return corners (8, 3) and faces of a box with these edges, centered at the origin."""
    return np.array(_CORNERS) * (x, y, z), list(_FACES)
