"""The surfaces of the primitive shapes, as plain numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import bmesh
import numpy as np

from ...core.model import Array, Shape
from ..scene.boxes import box
from ..scene.materials import Color

_SEGMENTS = 32
_RINGS = 8  # of each half of a ball
#: How thick the three bars of an ``axes`` shape are, of their length.
_BAR = 1.0 / 14.0
#: How much wider than drawn a plane is to what falls on it.
_WIDE = 50.0
_AXIS_COLORS = ((0.8, 0.1, 0.1, 1.0), (0.1, 0.65, 0.15, 1.0), (0.15, 0.3, 0.9, 1.0))

Polygons = Sequence[tuple[int, ...]]


@dataclass
class Surface:
    """Vertices (n, 3) in the shape's own frame, polygons, and which of them are shaded smooth. ``colors`` are given
    polygon by polygon where the kind of shape has its own."""

    vertices: Array
    polygons: Polygons
    smooth: list[bool]
    colors: list[Color] | None = None


def primitive(shape: Shape, plane: float = 1.0) -> Surface:
    """The surface of a shape; empty for what has none or has it in a file. ``plane`` is the edge of the square that
    stands for an endless plane."""
    make = _MAKERS.get(shape.type)
    if make is not None:
        return make(shape.size)
    if shape.type == "plane":
        return _plane(plane) if shape.visual else _block(_WIDE * plane)
    if shape.type == "multi_sphere" and shape.spheres:
        return _hull_of_balls(shape.spheres)
    return _flat(np.zeros((0, 3)), [])


def _flat(vertices: Array, polygons: Polygons) -> Surface:
    return Surface(vertices, polygons, [False] * len(polygons))


def _plane(edge: float) -> Surface:
    half = edge / 2.0
    corners = np.array([(-half, -half, 0.0), (half, -half, 0.0), (half, half, 0.0), (-half, half, 0.0)])
    return _flat(corners, [(0, 1, 2, 3)])


def _block(edge: float) -> Surface:
    """Return what a plane that only collides is solid as: a block beneath it, wide and deep enough that nothing misses
    it."""
    corners, faces = box(edge, edge, edge / 10.0)
    return _flat(corners - (0.0, 0.0, edge / 20.0), faces)


def _round(profile: list[tuple[float, float]], scale: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Surface:
    vertices, polygons = _lathe(profile)
    return Surface(vertices * scale, polygons, [True] * len(polygons))


def _ellipsoid(size: dict[str, float]) -> Surface:
    return _round(_half_circle(0.5, 0.0), (size["x"], size["y"], size["z"]))


def _turned(profile: list[tuple[float, float]], round_side: bool = True) -> Surface:
    """A lathed solid closed by flat ends where its profile does not begin or end on the axis."""
    vertices, polygons = _lathe(profile, caps=True)
    return Surface(vertices, polygons, [round_side and len(polygon) <= 4 for polygon in polygons])


def _cylinder(size: dict[str, float]) -> Surface:
    half, radius = size["length"] / 2, size["radius"]
    return _turned([(radius, -half), (radius, half)])


def _cone(size: dict[str, float]) -> Surface:
    half = size["length"] / 2
    return _turned([(size["radius"], -half), (0.0, half)])


def _hemisphere(size: dict[str, float]) -> Surface:
    """The upper half of a ball, its flat side on the shape's own XY plane."""
    ball = _half_circle(size["radius"], 0.0)
    return _turned(ball[_RINGS:])


def _pyramid(size: dict[str, float]) -> Surface:
    x, y, half = size["x"] / 2, size["y"] / 2, size["length"] / 2
    corners = [(-x, -y, -half), (x, -y, -half), (x, y, -half), (-x, y, -half), (0.0, 0.0, half)]
    return _flat(np.array(corners), [(3, 2, 1, 0), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)])


def _axes(size: dict[str, float]) -> Surface:
    """A bar along each axis, red, green and blue for X, Y and Z."""
    length = size.get("length", 1.0)
    points: list[Array] = []
    polygons: list[tuple[int, ...]] = []
    for axis in range(3):
        edges = np.full(3, _BAR * length)
        edges[axis] = length
        corners, faces = box(*edges)
        corners[:, axis] += length / 2.0
        polygons += [tuple(8 * axis + corner for corner in face) for face in faces]
        points.append(corners)
    surface = _flat(np.concatenate(points), polygons)
    surface.colors = [color for color in _AXIS_COLORS for _ in range(6)]
    return surface


def _hull_of_balls(spheres: Sequence[tuple[float, float, float, float]]) -> Surface:
    """The convex hull of balls, each (radius, x, y, z)."""
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
    return Surface(vertices, polygons, [True] * len(polygons))


def _half_circle(radius: float, length: float) -> list[tuple[float, float]]:
    """(distance from the axis, height) from pole to pole, the equator stretched by ``length``."""
    angles = np.linspace(-math.pi / 2, 0.0, _RINGS + 1)
    lower = [(radius * math.cos(a), radius * math.sin(a) - length / 2) for a in angles]
    upper = [(r, -z) for r, z in reversed(lower)]
    return lower + (upper if length else upper[1:])


def _lathe(profile: list[tuple[float, float]], caps: bool = False) -> tuple[Array, Polygons]:
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
        faces += [tuple(ring) for ring in (rings[0][::-1], rings[-1]) if len(ring) > 1]
    return np.concatenate(vertices), faces


_MAKERS: dict[str, Callable[[dict[str, float]], Surface]] = {
    "box": lambda size: _flat(*box(size["x"], size["y"], size["z"])),
    "sphere": lambda size: _round(_half_circle(size["radius"], 0.0)),
    "capsule": lambda size: _round(_half_circle(size["radius"], size["length"])),
    "ellipsoid": _ellipsoid,
    "cylinder": _cylinder,
    "cone": _cone,
    "hemisphere": _hemisphere,
    "pyramid": _pyramid,
    "axes": _axes,
}
