"""Distances of points from the surfaces of primitives, to test whether a mesh still is the shape it was made for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .model import Array, Shape
from .primitive_fit import SURFACE_TOLERANCE
from .transforms import inverse

#: Depth, as a share of the radius, that the center of a coarse polygon may lie within a round shape.
_CHORD_RATIO = 0.2


def surface_distance(shape: Shape, points: Array) -> Array:
    """Compute the distances (n,) of points (n, 3) from a shape's surface, in the axes that the shape is posed in.

    For a point outside a pyramid's edges it is a lower bound, for an ellipsoid an upper one.

    Raises:
        ValueError: The surface of this type is not defined by its size.
    """
    measure = _DISTANCES.get(shape.type)
    if measure is None:
        raise ValueError(f"Surface of a {shape.type} cannot be computed from its size")
    back = inverse(shape.pose)
    return measure(shape.size, np.asarray(points) @ back[:3, :3].T + back[:3, 3])


def has_analytic_surface(shape: Shape) -> bool:
    """Return whether a shape's surface is defined by its size."""
    return shape.type in _DISTANCES


def is_mesh_of_shapes(shapes: Sequence[Shape], points: Array, middles: Array) -> bool:
    """Return whether a mesh is the surface of one or several measured shapes.

    Args:
        shapes: The shapes.
        points: Vertices (n, 3) of the mesh; each must be on the surface of one of the shapes.
        middles: Centers (m, 3) of its polygons, which must be so too within the tolerance for coarse polygons.
    """
    if not len(points) or not len(middles):
        return False
    low, high = points.min(axis=0), points.max(axis=0)
    near = 2.0 * SURFACE_TOLERANCE * float(np.linalg.norm(high - low))
    slack = [near + (_CHORD_RATIO * _curvature_radius(shape) if _curvature_radius(shape) else 0.0) for shape in shapes]
    on = np.min([surface_distance(shape, points) for shape in shapes], axis=0)
    within = np.min(
        [surface_distance(shape, middles) - room for shape, room in zip(shapes, slack, strict=True)], axis=0
    )
    return bool(on.max() <= near and within.max() <= 0.0)


def _curvature_radius(shape: Shape) -> float:
    """Return the radius of a shape, for an ellipsoid its least half axis; 0 for polyhedra."""
    if shape.type == "ellipsoid":
        return 0.5 * min(shape.size.values())
    return shape.size.get("radius", 0.0)


def _box_distances(size: dict[str, float], points: Array) -> Array:
    beyond = np.abs(points) - np.array([size["x"], size["y"], size["z"]]) / 2.0
    return np.where((beyond > 0.0).any(axis=1), np.linalg.norm(np.maximum(beyond, 0.0), axis=1), -beyond.max(axis=1))


def _sphere_distances(size: dict[str, float], points: Array) -> Array:
    return np.abs(np.linalg.norm(points, axis=1) - size["radius"])


def _ellipsoid_distances(size: dict[str, float], points: Array) -> Array:
    """Compute the distance along the ray to the center, which is at least the true distance."""
    half = np.array([size["x"], size["y"], size["z"]]) / 2.0
    share = np.linalg.norm(points / half, axis=1)
    away = np.linalg.norm(points, axis=1)
    return np.where(share > 1e-9, away * np.abs(1.0 - 1.0 / np.maximum(share, 1e-9)), half.min())


def _capsule_distances(size: dict[str, float], points: Array) -> Array:
    along = np.maximum(np.abs(points[:, 2]) - size["length"] / 2.0, 0.0)
    return np.abs(np.hypot(np.hypot(points[:, 0], points[:, 1]), along) - size["radius"])


def _cylinder_distances(size: dict[str, float], points: Array) -> Array:
    half, radius = size["length"] / 2.0, size["radius"]
    return _revolved_distances(points, [(0.0, -half), (radius, -half), (radius, half), (0.0, half)])


def _cone_distances(size: dict[str, float], points: Array) -> Array:
    half = size["length"] / 2.0
    return _revolved_distances(points, [(0.0, -half), (size["radius"], -half), (0.0, half)])


def _revolved_distances(points: Array, profile: list[tuple[float, float]]) -> Array:
    """Compute distances from the surface that a profile, vertices (distance from Z, height), sweeps about Z."""
    flat = np.column_stack([np.hypot(points[:, 0], points[:, 1]), points[:, 2]])
    return _segment_distances(flat, np.array(profile[:-1]), np.array(profile[1:]))


def _segment_distances(points: Array, starts: Array, ends: Array) -> Array:
    """Compute the distances (n,) of points from the nearest of several segments, in any dimension."""
    along = ends - starts
    length = np.maximum((along**2).sum(axis=1), 1e-300)
    share = np.clip(((points[:, None] - starts) * along).sum(axis=2) / length, 0.0, 1.0)
    gaps: Array = np.linalg.norm(points[:, None] - starts - share[:, :, None] * along, axis=2).min(axis=1)
    return gaps


def _pyramid_distances(size: dict[str, float], points: Array) -> Array:
    """Compute the distance from the nearest plane of the sides: beyond an edge somewhat less than the true distance."""
    x, y, height = size["x"] / 2.0, size["y"] / 2.0, size["length"]
    slopes = [(height, 0.0, x), (0.0, height, y)]
    normals = [np.array(slope) * (sign, sign, 1.0) for slope in slopes for sign in (1.0, -1.0)]
    tip = np.array([0.0, 0.0, height / 2.0])
    sides = [(points - tip) @ (normal / np.linalg.norm(normal)) for normal in normals]
    return np.abs(np.max([*sides, -points[:, 2] - height / 2.0], axis=0))


_DISTANCES: dict[str, Callable[[dict[str, float], Array], Array]] = {
    "box": _box_distances,
    "sphere": _sphere_distances,
    "ellipsoid": _ellipsoid_distances,
    "cylinder": _cylinder_distances,
    "capsule": _capsule_distances,
    "cone": _cone_distances,
    "pyramid": _pyramid_distances,
}
