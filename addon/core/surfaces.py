"""How far points are from the surfaces of primitives: what tells whether a mesh still is the shape it was made for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .model import Array, Shape
from .primitive_fit import NEAR
from .transforms import inverse

#: How deep, as a share of its radius, the middle of a polygon with few corners may lie in something round.
_CHORD = 0.2


def surface_distance(shape: Shape, points: Array) -> Array:
    """Distances (n,) of points (n, 3), in the axes that the shape is posed in, from its surface.

    ValueError for shapes whose surface is not known by their size.
    """
    measure = _DISTANCES.get(shape.type)
    if measure is None:
        raise ValueError(f"the surface of {shape.type} is not known by its size")
    back = inverse(shape.pose)
    return measure(shape.size, np.asarray(points) @ back[:3, :3].T + back[:3, 3])


def is_measured(shape: Shape) -> bool:
    """Return whether a shape's surface is known by its size."""
    return shape.type in _DISTANCES


def is_surface_of(shapes: Sequence[Shape], points: Array, middles: Array) -> bool:
    """Return whether a mesh is the surface of measured shapes, one or several: each of its corners (n, 3) on one of
    them, the middles (m, 3) of its polygons too as far as few corners leave them, and each shape's whole extent
    reached."""
    if not len(points) or not len(middles):
        return False
    low, high = points.min(axis=0), points.max(axis=0)
    near = 2.0 * NEAR * float(np.linalg.norm(high - low))
    slack = [near + (_CHORD * _radius(shape) if _radius(shape) else 0.0) for shape in shapes]
    on = np.min([surface_distance(shape, points) for shape in shapes], axis=0)
    within = np.min(
        [surface_distance(shape, middles) - room for shape, room in zip(shapes, slack, strict=True)], axis=0
    )
    return bool(on.max() <= near and within.max() <= 0.0)


def _radius(shape: Shape) -> float:
    """Return how round a shape is: its radius, the least of an ellipsoid's; 0 where it is flat all over."""
    if shape.type == "ellipsoid":
        return 0.5 * min(shape.size.values())
    return shape.size.get("radius", 0.0)


def _box(size: dict[str, float], points: Array) -> Array:
    beyond = np.abs(points) - np.array([size["x"], size["y"], size["z"]]) / 2.0
    return np.where((beyond > 0.0).any(axis=1), np.linalg.norm(np.maximum(beyond, 0.0), axis=1), -beyond.max(axis=1))


def _sphere(size: dict[str, float], points: Array) -> Array:
    return np.abs(np.linalg.norm(points, axis=1) - size["radius"])


def _ellipsoid(size: dict[str, float], points: Array) -> Array:
    """Along the way to its middle, which is no less than the least distance."""
    half = np.array([size["x"], size["y"], size["z"]]) / 2.0
    share = np.linalg.norm(points / half, axis=1)
    away = np.linalg.norm(points, axis=1)
    return np.where(share > 1e-9, away * np.abs(1.0 - 1.0 / np.maximum(share, 1e-9)), half.min())


def _capsule(size: dict[str, float], points: Array) -> Array:
    along = np.maximum(np.abs(points[:, 2]) - size["length"] / 2.0, 0.0)
    return np.abs(np.hypot(np.hypot(points[:, 0], points[:, 1]), along) - size["radius"])


def _cylinder(size: dict[str, float], points: Array) -> Array:
    half, radius = size["length"] / 2.0, size["radius"]
    return _lathed(points, [(0.0, -half), (radius, -half), (radius, half), (0.0, half)])


def _cone(size: dict[str, float], points: Array) -> Array:
    half = size["length"] / 2.0
    return _lathed(points, [(0.0, -half), (size["radius"], -half), (0.0, half)])


def _lathed(points: Array, profile: list[tuple[float, float]]) -> Array:
    """From what a line (distance from Z, height) sweeps about Z."""
    flat = np.column_stack([np.hypot(points[:, 0], points[:, 1]), points[:, 2]])
    return _from_segments(flat, np.array(profile[:-1]), np.array(profile[1:]))


def _from_segments(points: Array, starts: Array, ends: Array) -> Array:
    """Distances (n,) of points from the nearest of some segments, all of as many dimensions."""
    along = ends - starts
    length = np.maximum((along**2).sum(axis=1), 1e-300)
    share = np.clip(((points[:, None] - starts) * along).sum(axis=2) / length, 0.0, 1.0)
    gaps: Array = np.linalg.norm(points[:, None] - starts - share[:, :, None] * along, axis=2).min(axis=1)
    return gaps


def _pyramid(size: dict[str, float], points: Array) -> Array:
    """From the nearest of the planes of its sides: beyond an edge somewhat less than the distance."""
    x, y, height = size["x"] / 2.0, size["y"] / 2.0, size["length"]
    slopes = [(height, 0.0, x), (0.0, height, y)]
    normals = [np.array(slope) * (sign, sign, 1.0) for slope in slopes for sign in (1.0, -1.0)]
    tip = np.array([0.0, 0.0, height / 2.0])
    sides = [(points - tip) @ (normal / np.linalg.norm(normal)) for normal in normals]
    return np.abs(np.max([*sides, -points[:, 2] - height / 2.0], axis=0))


_DISTANCES: dict[str, Callable[[dict[str, float], Array], Array]] = {
    "box": _box,
    "sphere": _sphere,
    "ellipsoid": _ellipsoid,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "cone": _cone,
    "pyramid": _pyramid,
}
