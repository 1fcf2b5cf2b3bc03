"""Mass properties: volume, center and inertia of solid primitives, alone and combined on one body.

Shapes are solid and of one density. Types without volume (planes, meshes, axes, none) carry no mass here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .model import Array, Body, Shape


def shape_volume(shape: Shape) -> float:
    """Compute the volume of a solid primitive in cubic length units; 0 for types without volume."""
    volume = _VOLUMES.get(shape.type)
    with np.errstate(all="ignore"):
        return float(volume(_float64_sizes(shape))) if volume else 0.0


def shape_centroid(shape: Shape) -> Array:
    """Compute the centroid of a shape in its body's frame, (3,).

    All primitives are centered on their own frame; a cone's frame is at half its height, its tip along +Z, so that its
    centroid lies a quarter of the height below.
    """
    local = np.array([0.0, 0.0, -shape.size["length"] / 4.0 if shape.type == "cone" else 0.0])
    return shape.pose[:3, :3] @ local + shape.pose[:3, 3]


def unit_inertia(shape: Shape) -> Array:
    """Compute the inertia tensor (3, 3) of a solid primitive of mass 1 about its centroid, along the shape's axes.

    All zero for a shape without volume.
    """
    moments = _MOMENTS.get(shape.type)
    with np.errstate(all="ignore"):
        sizes = _float64_sizes(shape)
        return np.diag(moments(sizes)) if moments and _VOLUMES[shape.type](sizes) > 0.0 else np.zeros((3, 3))


def _float64_sizes(shape: Shape) -> dict[str, float]:
    """Return sizes as numpy numbers: their powers overflow to infinity, where Python's raise OverflowError."""
    return {key: np.float64(value) for key, value in shape.size.items()}


def inertia_of_shapes(shapes: Sequence[Shape], mass: float) -> Array:
    """Compute the inertia tensor (3, 3) of a mass spread over shapes by their volume.

    It is along the body's axes, about the centroid of all shapes. All zero where no shape has a volume: a point mass.
    """
    volumes = np.array([shape_volume(shape) for shape in shapes])
    total = volumes.sum()
    if not total > 0.0:
        return np.zeros((3, 3))
    if len(shapes) == 1:  # the common case: its own centroid is that of all
        turn = shapes[0].pose[:3, :3]
        with np.errstate(over="ignore", invalid="ignore"):  # the caller handles results that are not finite
            return np.asarray(mass * total / total * (turn @ unit_inertia(shapes[0]) @ turn.T))
    shares = mass * volumes / total
    centres = np.array([shape_centroid(shape) for shape in shapes])
    away = centres - (shares @ centres / shares.sum() if shares.sum() else 0.0)
    tensor = np.zeros((3, 3))
    for shape, share, offset in zip(shapes, shares, away, strict=True):
        turn = shape.pose[:3, :3]
        tensor += share * (turn @ unit_inertia(shape) @ turn.T + parallel_axis(offset))
    return tensor


def parallel_axis(offset: Array) -> Array:
    """Return the parallel-axis (Steiner) term (3, 3) of a unit mass at an offset (3,) from the reference point."""
    return float(offset @ offset) * np.eye(3) - np.outer(offset, offset)


def min_principal_moment(tensor: Array) -> float:
    """Return the least principal moment of an inertia tensor (3, 3); -inf where it has non-finite numbers."""
    return float(np.linalg.eigvalsh(tensor).min()) if np.isfinite(tensor).all() else -math.inf


def min_principal_moments(tensors: Array) -> Array:
    """Return the least principal moments (n,) of inertia tensors (n, 3, 3); -inf where one has non-finite numbers."""
    finite = np.isfinite(tensors).all(axis=(1, 2))
    found: Array = np.where(
        finite, np.linalg.eigvalsh(np.where(finite[:, None, None], tensors, 0.0)).min(axis=1), -np.inf
    )
    return found


def body_center(body: Body) -> Array:
    """Return the design position (3,) of a body's center of mass in the world."""
    return body.pose[:3, :3] @ body.com + body.pose[:3, 3]


def body_inertia(body: Body) -> Array:
    """Compute the inertia tensor (3, 3) of a body about its center of mass, along its own axes.

    It is the file's, else computed from the collision shapes, else from the visual shapes. Where the file puts the
    center of mass elsewhere than the shapes' centroid, the tensor about their centroid is used unchanged: the file
    specifies where the mass is, only its spread is missing.
    """
    if body.inertia is not None:
        return np.asarray(body.inertia, dtype=np.float64)
    return inertia_of_shapes(solid_shapes(body.shapes), body.mass)


def solid_shapes(shapes: Iterable[Shape]) -> list[Shape]:
    """Return the shapes that a body's mass is spread over: collision shapes with volume, else visual ones."""
    solid = [shape for shape in shapes if shape_volume(shape) > 0.0]
    return [shape for shape in solid if shape.collision] or solid


def _box_moments(size: dict[str, float]) -> Array:
    x, y, z = size["x"] ** 2, size["y"] ** 2, size["z"] ** 2
    return np.array([y + z, x + z, x + y]) / 12.0


def _ellipsoid_moments(size: dict[str, float]) -> Array:
    return _box_moments(size) * 12.0 / 20.0  # (b^2 + c^2) / 5 in half lengths


def _sphere_moments(size: dict[str, float]) -> Array:
    return np.full(3, 0.4 * size["radius"] ** 2)


def _cylinder_moments(size: dict[str, float]) -> Array:
    radius, length = size["radius"], size["length"]
    across = radius**2 / 4.0 + length**2 / 12.0
    return np.array([across, across, radius**2 / 2.0])


def _cone_moments(size: dict[str, float]) -> Array:
    radius, length = size["radius"], size["length"]
    across = 3.0 / 20.0 * radius**2 + 3.0 / 80.0 * length**2
    return np.array([across, across, 0.3 * radius**2])


def _capsule_moments(size: dict[str, float]) -> Array:
    """Combine a cylinder and two hemispheres, each with its center of mass 3/8 of the radius beyond the end."""
    radius, length = size["radius"], size["length"]
    tube, ball = math.pi * radius**2 * length, 4.0 / 3.0 * math.pi * radius**3
    share = tube / (tube + ball)
    caps_across = 0.4 * radius**2 + length**2 / 4.0 + 3.0 / 8.0 * length * radius
    caps = np.array([caps_across, caps_across, 0.4 * radius**2])
    return share * _cylinder_moments(size) + (1.0 - share) * caps


_VOLUMES: dict[str, Callable[[dict[str, float]], float]] = {
    "box": lambda size: size["x"] * size["y"] * size["z"],
    "ellipsoid": lambda size: math.pi / 6.0 * size["x"] * size["y"] * size["z"],
    "sphere": lambda size: 4.0 / 3.0 * math.pi * size["radius"] ** 3,
    "cylinder": lambda size: math.pi * size["radius"] ** 2 * size["length"],
    "cone": lambda size: math.pi / 3.0 * size["radius"] ** 2 * size["length"],
    "capsule": lambda size: math.pi * size["radius"] ** 2 * (size["length"] + 4.0 / 3.0 * size["radius"]),
}
_MOMENTS: dict[str, Callable[[dict[str, float]], Array]] = {
    "box": _box_moments,
    "ellipsoid": _ellipsoid_moments,
    "sphere": _sphere_moments,
    "cylinder": _cylinder_moments,
    "cone": _cone_moments,
    "capsule": _capsule_moments,
}
