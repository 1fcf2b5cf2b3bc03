"""Bounds: extents and bounding radii of shapes, bodies and mechanisms, and detection of scenery."""

from __future__ import annotations

import math

import numpy as np

from .model import Array, Body, Mechanism, Shape

#: Types that are infinite or have no extent.
_UNBOUNDED = ("plane", "none")
#: Ratio of size to the largest moving body beyond which a fixed body is scenery.
_SCENERY_RATIO = 3.0


def mechanism_bounds(mechanism: Mechanism) -> tuple[Array, Array] | None:
    """Compute the axis-aligned bounding box of all shapes at the design pose.

    A mesh counts as the point of its origin (its geometry is in its file); planes are infinite and do not count.

    Returns:
        Lowest and highest corner, (3,) each, in the world; None where there are no shapes.
    """
    boxes = [
        (pose[:3, 3] - half, pose[:3, 3] + half)
        for body in mechanism.bodies
        for shape in body.shapes
        if shape.type not in _UNBOUNDED
        for pose in [body.pose @ shape.pose]
        for half in [half_extent(shape, pose[:3, :3])]
    ]
    if not boxes:
        return None
    return np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)


def half_extent(shape: Shape, turn: Array) -> Array:
    """Compute half the size (3,) of the axis-aligned box about a shape's own origin that contains the shape.

    Args:
        shape: The shape.
        turn: Its rotation (3, 3) in the outer axes.
    """
    size, along = shape.size, np.abs(turn[:, 2])
    if shape.type == "box":
        return np.abs(turn) @ np.array([size["x"], size["y"], size["z"]]) / 2.0
    if shape.type == "ellipsoid":
        return np.linalg.norm(turn * np.array([size["x"], size["y"], size["z"]]) / 2.0, axis=1)
    if shape.type in ("sphere", "hemisphere"):
        return np.full(3, size["radius"])
    if shape.type == "capsule":
        return along * size["length"] / 2.0 + size["radius"]
    if shape.type in ("cylinder", "cone"):
        return along * size["length"] / 2.0 + size["radius"] * np.sqrt(np.maximum(1.0 - along**2, 0.0))
    if shape.type == "pyramid":
        return np.abs(turn) @ np.array([size["x"], size["y"], size["length"]]) / 2.0
    if shape.type == "multi_sphere" and shape.spheres:
        balls = np.array(shape.spheres)
        return np.max(np.abs(balls[:, 1:] @ turn.T) + balls[:, :1], axis=0)
    return np.zeros(3)


def shape_radius(shape: Shape) -> float:
    """Compute the radius of a sphere around a shape's own origin that contains it (length units)."""
    size = shape.size
    if shape.type in {"box", "ellipsoid"}:
        return 0.5 * math.hypot(size.get("x", 0.0), size.get("y", 0.0), size.get("z", 0.0))
    if shape.type == "capsule":
        return size.get("length", 0.0) / 2 + size.get("radius", 0.0)
    if shape.type == "multi_sphere":
        return max((math.hypot(x, y, z) + radius for radius, x, y, z in shape.spheres), default=0.0)
    if shape.type == "pyramid":
        return 0.5 * math.hypot(size["x"], size["y"], size["length"])
    return math.hypot(size.get("length", 0.0) / 2, size.get("radius", 0.0))


def body_radius(body: Body) -> float:
    """Compute the radius of a sphere around a body's own origin that contains its shapes (length units)."""
    return max((math.hypot(*shape.pose[:3, 3].tolist()) + shape_radius(shape) for shape in body.shapes), default=0.0)


def scenery_bodies(mechanism: Mechanism) -> set[str]:
    """Find the bodies (ids) that are scenery, such as floors and walls, rather than moving parts.

    They are fixed to the world, and infinite or much larger than whatever moves. Empty where nothing moves.
    """
    welded = {joint.child for joint in mechanism.joints if joint.active and joint.parent is None and not joint.dofs}
    fixed = [body for body in mechanism.bodies if body.immobile or body.id in welded]
    if not fixed or len(fixed) == len(mechanism.bodies):
        return set()
    still = {body.id for body in fixed}
    largest = max(body_radius(body) for body in mechanism.bodies if body.id not in still)
    endless = {body.id for body in fixed if any(shape.type == "plane" for shape in body.shapes)}
    return endless | {body.id for body in fixed if body_radius(body) > _SCENERY_RATIO * largest > 0.0}
