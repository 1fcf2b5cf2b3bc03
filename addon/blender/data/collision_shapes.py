"""What of a body collides: its own visible mesh, or children that stand for its collision shapes.

Blender takes the children of a body whose collision shape is a compound for its parts, hidden or not (measured in 4.2,
5.0 and 5.2: they rest, and tip, where they should)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.model import Array, Shape
from ...core.transforms import identical
from .properties.joint import KnuckleShape
from .properties.model import KnuckleObject

#: Blender's collision shapes that are what they are called. They stand about the object's origin, along its axes, with
#: the extent of its mesh; everything else is taken as its convex hull, which follows the mesh itself.
_PRIMITIVES = {"box": "BOX", "sphere": "SPHERE", "capsule": "CAPSULE", "cylinder": "CYLINDER", "cone": "CONE"}
_HOLLOW = {"axes", "none"}
#: Entries of two poses that differ by less, in lengths or as rotations, are the same.
_SAME = 1e-6
_IDENTITY = tuple(float(x) for x in np.eye(4).ravel())


def collides(shape: Shape | KnuckleShape) -> bool:
    """Return whether anything can touch a shape: it is there to collide with, and has an inside."""
    can = shape.collidable if isinstance(shape, KnuckleShape) else shape.extra.get("collidable", True)
    return bool(shape.collision and can and shape.type not in _HOLLOW)


def own_mesh_collides(shapes: Sequence[Shape]) -> bool:
    """Return whether the mesh of a body's visible shapes is what it collides with: where one shape is both, or two are
    one, or where nothing collides."""
    solid = [shape for shape in shapes if collides(shape)]
    if not solid:
        return True
    seen = [shape for shape in shapes if shape.visual and shape.type != "none"]
    return len(solid) == len(seen) == 1 and solid[0].type != "plane" and _alike(solid[0], seen[0])


def _alike(a: Shape, b: Shape) -> bool:
    if a is b:
        return True
    same = a.type == b.type and a.size == b.size and a.mesh == b.mesh and a.spheres == b.spheres
    return same and (identical(a.pose, b.pose) or bool(np.abs(a.pose - b.pose).max() < _SAME))


def own_collision_type(record: KnuckleObject) -> Any:
    """Blender's collision shape for a body that collides with its own mesh; None where nothing collides."""
    # what had a child of its own and has it no more does not collide
    solid = next((shape for shape in record.shapes if collides(shape) and not shape.has_child), None)
    if solid is None:
        return None
    pose = tuple(solid.pose[:])  # slices: all numbers in one question
    if pose != _IDENTITY or any(record.com[:]):
        centred = np.array(pose).reshape(4, 4)
        centred[:3, 3] -= record.com
        if not _stands_upright(centred, solid.type):
            return "CONVEX_HULL"
    return primitive_type(solid.type)


def primitive_type(type_: str) -> Any:
    """Blender's collision shape for a shape that stands at its object's origin along its object's axes."""
    return _PRIMITIVES.get(type_, "CONVEX_HULL")


def _stands_upright(pose: Array, type_: str) -> bool:
    if np.abs(pose[:3, 3]).max() > _SAME:
        return False
    return type_ == "sphere" or bool(np.abs(pose[:3, :3] - np.eye(3)).max() < _SAME)
