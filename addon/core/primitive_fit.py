"""Primitive fitting and mass properties of plain meshes, and distances of points from the surfaces of primitives.

A mesh is recognized as a primitive where all its points lie on the primitive's surface and reach its whole extent, as
those of Blender's own primitives do, rotated, moved, subdivided or joined: a polygon mesh of a ball has its vertices on
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from .mass_properties import shape_centroid, shape_volume, unit_inertia
from .model import Array, Shape
from .transforms import inverse, make_pose, rotation_with_z

#: Largest distance of points from a primitive's surface, as a share of the mesh's size.
SURFACE_TOLERANCE = 2e-3
#: Least number of vertices around a round primitive: fewer make a prism.
_MIN_RIM_CORNERS = 8
#: Directions in which a sphere must have points near its surface, and their least distance as a share of the radius.
_SPHERE_DIRECTIONS = np.array([d for d in product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
_SPHERE_DIRECTIONS /= np.linalg.norm(_SPHERE_DIRECTIONS, axis=1)[:, None]
_MIN_COVERAGE = 0.8


def fit_primitive(points: Array, normals: Array, areas: Array) -> Shape | None:
    """Recognize the primitive that a mesh is: box, cylinder, cone, capsule, sphere or ellipsoid.

    Args:
        points: Vertices (n, 3).
        normals: Normals (m, 3) of the polygons, from which candidate axes are taken.
        areas: Areas (m,) of the polygons.

    Returns:
        The shape, posed in the mesh's axes; None where it is no primitive.
    """
    points = np.unique(np.round(np.asarray(points, dtype=np.float64), 9), axis=0)
    if len(points) < 4:
        return None
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    if size <= 0.0:
        return None
    near = SURFACE_TOLERANCE * size
    for frame in _candidate_axes(points, normals, areas):
        middle = frame @ (0.5 * (np.ptp(points @ frame, axis=0)) + (points @ frame).min(axis=0))
        local = (points - middle) @ frame
        for fit in (_fit_box, _fit_sphere, _fit_round, _fit_ellipsoid):
            found = fit(local, near)
            if found is not None:
                shape, along = found
                shape.pose = make_pose(frame @ along, middle)
                return shape
    return None


def _candidate_axes(points: Array, normals: Array, areas: Array) -> Iterator[Array]:
    """Yield candidate axes (3, 3), as columns: the mesh's own, those of its largest faces, and its principal axes."""
    yield np.eye(3)
    main = _main_face_normals(np.asarray(normals, dtype=np.float64), np.asarray(areas, dtype=np.float64))
    for first in main:
        across = next((d for d in main if abs(d @ first) < 1e-3), None)
        if across is None:
            yield rotation_with_z(first)
        else:
            x = across - first * (across @ first)
            x /= np.linalg.norm(x)
            yield np.column_stack([x, np.cross(first, x), first])
    spread = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
    yield spread.T * np.sign(np.linalg.det(spread))
    for axis in spread:
        yield rotation_with_z(axis)


def _main_face_normals(normals: Array, areas: Array, most: int = 4) -> list[Array]:
    """Return the normal directions with the largest total area; opposite ones count as one."""
    found: list[list[float | Array]] = []
    for number in np.argsort(-areas)[:64]:
        normal = normals[number]
        if np.linalg.norm(normal) < 0.5:
            continue
        near = next((row for row in found if abs(float(normal @ row[1])) > 1.0 - 1e-6), None)
        if near is None:
            found.append([float(areas[number]), normal])
        else:
            near[0] = float(near[0]) + float(areas[number])  # type: ignore[arg-type]
    found.sort(key=lambda row: -float(row[0]))  # type: ignore[arg-type]
    return [np.asarray(row[1]) for row in found[:most]]


PrimitiveFit = tuple[Shape, Array] | None


def _fit_box(local: Array, near: float) -> PrimitiveFit:
    half = np.abs(local).max(axis=0)
    if half.min() <= near:
        return None
    if not (half - np.abs(local) <= near).any(axis=1).all():
        return None
    corners = np.array(np.meshgrid(*[(-h, h) for h in half])).reshape(3, -1).T
    gaps = np.linalg.norm(corners[:, None] - local[None], axis=2).min(axis=1) if len(local) < 5000 else np.zeros(1)
    if gaps.max() > near:
        return None
    x, y, z = (2.0 * half).tolist()
    return Shape("box", {"x": x, "y": y, "z": z}), np.eye(3)


def _fit_sphere(local: Array, near: float) -> PrimitiveFit:
    radius = float(np.linalg.norm(local, axis=1).max())
    if len(local) < 2 * _MIN_RIM_CORNERS or np.abs(np.linalg.norm(local, axis=1) - radius).max() > near:
        return None
    if (local @ _SPHERE_DIRECTIONS.T).max(axis=0).min() < _MIN_COVERAGE * radius:
        return None  # a ring and a tip lie on a sphere as well
    return Shape("sphere", {"radius": radius}), np.eye(3)


def _fit_ellipsoid(local: Array, near: float) -> PrimitiveFit:
    half = np.abs(local).max(axis=0)
    if half.min() <= near or len(local) < 2 * _MIN_RIM_CORNERS:
        return None
    if np.abs(np.linalg.norm(local / half, axis=1) - 1.0).max() * half.max() > near:
        return None
    if ((local / half) @ _SPHERE_DIRECTIONS.T).max(axis=0).min() < _MIN_COVERAGE:
        return None
    x, y, z = (2.0 * half).tolist()
    return Shape("ellipsoid", {"x": x, "y": y, "z": z}), np.eye(3)


def _fit_round(local: Array, near: float) -> PrimitiveFit:
    """Fit a solid of revolution about one of the axes: cylinder, cone or capsule."""
    for axis in (2, 0, 1):
        along = np.roll(np.eye(3), axis - 2, axis=1) if axis != 2 else np.eye(3)
        turned = local @ along
        found = _fit_about_z(turned, near)
        if found is not None:
            shape, flip = found
            return shape, along @ flip
    return None


def _fit_about_z(local: Array, near: float) -> PrimitiveFit:
    reach = np.hypot(local[:, 0], local[:, 1])
    radius, half = float(reach.max()), float(np.abs(local[:, 2]).max())
    if radius <= near or half <= near or _count_rim_angles(local, reach, radius, near) < _MIN_RIM_CORNERS:
        return None
    at_cap = half - np.abs(local[:, 2]) <= near
    if (radius - reach[~at_cap] <= near).all() and all(
        (radius - reach[side] <= near).any() for side in (at_cap & (local[:, 2] > 0), at_cap & (local[:, 2] < 0))
    ):
        return Shape("cylinder", {"length": 2.0 * half, "radius": radius}), np.eye(3)
    for up in (1.0, -1.0):
        height = half - up * local[:, 2]  # from the tip down
        slope = radius * height / (2.0 * half)
        at_base = 2.0 * half - height <= near
        if (np.abs(reach - slope)[~at_base] <= near).all() and (height <= near).any():
            return Shape("cone", {"length": 2.0 * half, "radius": radius}), np.diag([1.0, up, up])
    length = 2.0 * (half - radius)
    if length > near:
        beyond = np.maximum(np.abs(local[:, 2]) - length / 2.0, 0.0)
        if np.abs(np.hypot(reach, beyond) - radius).max() <= near:
            return Shape("capsule", {"length": length, "radius": radius}), np.eye(3)
    return None


def _count_rim_angles(local: Array, reach: Array, radius: float, near: float) -> int:
    """Return the number of different angles at which a mesh has points on its rim."""
    rim = local[radius - reach <= near]
    return len(np.unique(np.round(np.arctan2(rim[:, 1], rim[:, 0]), 3)))


def mesh_mass_properties(points: Array, triangles: NDArray[np.int32]) -> tuple[float, Array, Array]:
    """Compute the mass properties of the solid enclosed by triangles, of density 1.

    They are sums over tetrahedra from the mean of the points (Mirtich's integrals in closed form). Surfaces with holes
    have what they would enclose if each hole were closed towards that point.

    Args:
        points: Vertices (n, 3).
        triangles: Indices of vertices (m, 3).

    Returns:
        Volume, centroid (3,) and inertia tensor (3, 3) about it.
    """
    middle = points.mean(axis=0)
    a, b, c = (points[triangles[:, k]] - middle for k in range(3))
    volumes = np.einsum("ni,ni->n", a, np.cross(b, c)) / 6.0
    volume = float(volumes.sum())
    if abs(volume) <= 0.0:
        return 0.0, middle, np.zeros((3, 3))
    centre = (volumes[:, None] * (a + b + c)).sum(axis=0) / (4.0 * volume)
    total = a + b + c
    second = np.einsum("n,ni,nj->ij", volumes, total, total)
    for corner in (a, b, c):
        second += np.einsum("n,ni,nj->ij", volumes, corner, corner)
    second /= 20.0
    second -= volume * np.outer(centre, centre)
    sign = 1.0 if volume > 0.0 else -1.0  # -1: normals point inwards
    return sign * volume, middle + centre, sign * (np.trace(second) * np.eye(3) - second)


@dataclass
class FittedSolid:
    """Body fitted to a mesh.

    Attributes:
        shape: Its shape.
        frame: Frame (4, 4) of the body in the mesh's axes, at the center of mass.
        volume: Volume.
        tensor: Inertia tensor (3, 3) at density 1, in that frame.
    """

    shape: Shape
    frame: Array
    volume: float
    tensor: Array


def fit_surface(points: Array, triangles: NDArray[np.int32], as_mesh: bool = False) -> FittedSolid:
    """Fit a body to a closed surface: a primitive if it is one and ``as_mesh`` is off, else the surface itself.

    Args:
        points: Vertices (n, 3).
        triangles: Indices of vertices (m, 3).
        as_mesh: Never fit a primitive.
    """
    if not as_mesh:
        a, b, c = (points[triangles[:, k]] for k in range(3))
        across = np.cross(b - a, c - a)
        double = np.linalg.norm(across, axis=1)
        normals = across / np.where(double > 0.0, double, 1.0)[:, None]
        found = fit_primitive(points, normals, 0.5 * double)
        if found is not None:
            frame = found.pose.copy()
            frame[:3, 3] = shape_centroid(found)
            shape = Shape(found.type, found.size, inverse(frame) @ found.pose)
            volume = shape_volume(shape)
            return FittedSolid(shape, frame, volume, volume * unit_inertia(shape))
    volume, center, tensor = mesh_mass_properties(points, triangles)
    return FittedSolid(Shape("mesh", dict.fromkeys("xyz", 1.0)), make_pose(position=center), volume, tensor)


# ---------------------------------------------------------------- whether a mesh still is the shape it was made for

#: Depth, as a share of the radius, that the center of a coarse polygon may lie within a round shape.
_CHORD_RATIO = 0.2


def surface_distance(shape: Shape, points: Array) -> Array:
    """Compute the distances (n,) of points (n, 3) from a shape's surface, in the axes that the shape is posed in.

    For a point outside a pyramid's edges it is a lower bound, for an ellipsoid an upper one.

    Raises:
        LookupError: The surface of this type is not defined by its size.
    """
    measure = _DISTANCES.get(shape.type)
    if measure is None:
        raise LookupError(f"Surface of a {shape.type} cannot be computed from its size")
    back = inverse(shape.pose)
    return measure(shape.size, np.asarray(points) @ back[:3, :3].T + back[:3, 3])


def has_analytic_surface(type_: str) -> bool:
    """Return whether the surface of a type of shape is defined by its size."""
    return type_ in _DISTANCES


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
