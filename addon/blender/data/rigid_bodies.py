"""Masses and collision shapes of bodies.

An inertia proxy has a share of its body's mass; Blender's Physics tab shows the rest. A body collides with its own
visible mesh, or with children that have its collision shapes.

Note:
    Blender takes the children of a body with a compound collision shape as its parts, hidden or not (measured in 4.2,
    5.0 and 5.2: they rest, and tip, where they should).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import bpy
import numpy as np

from ...core.model import Array, Shape
from ...core.transforms import bitwise_equal
from ..events.signals import writing_records
from .access import record_of, rigid_body_of
from .properties.joint import KnuckleShape
from .properties.model import KnuckleObject
from .queries import parts


def expected_mass(obj: bpy.types.Object) -> float:
    """Return the mass (kg) of a body's rigid body, without that of its inertia proxy."""
    record = record_of(obj)
    return max(record.mass * (1.0 - _proxy_mass_share(obj)), MIN_MASS)


def total_mass(obj: bpy.types.Object, own: float) -> float:
    """Return the mass (kg) of a body with its inertia proxy, from that of its rigid body."""
    return own / (1.0 - _proxy_mass_share(obj))


def displayed_mass(obj: bpy.types.Object) -> float | None:
    """Return the mass (kg) that Blender shows where an inertia proxy has the rest; None where it shows all of it."""
    return expected_mass(obj) if obj.rigid_body is not None and _proxy_mass_share(obj) else None


def _proxy_mass_share(obj: bpy.types.Object) -> float:
    record = record_of(obj)
    return (
        record.inertia_proxy_share
        if record.inertia_proxy is not None and record.inertia_proxy.rigid_body is not None
        else 0.0
    )


def store_typed_mass(obj: bpy.types.Object) -> None:
    """Store a mass that the user typed on the rigid body in the record, as that of the body with its inertia proxy.

    It is not split here: ``apply_masses`` does that.
    """
    record, body = record_of(obj), obj.rigid_body
    if body is not None and is_mass_typed(obj):
        with writing_records():
            record.mass = body.mass


def is_mass_typed(obj: bpy.types.Object) -> bool:
    """Return whether the mass of a body's rigid body differs from the one that was set: the user typed it."""
    return bool(np.float32(rigid_body_of(obj).mass) != np.float32(expected_mass(obj)))


def apply_masses(obj: bpy.types.Object) -> None:
    """Set the masses of a body's rigid body and its inertia proxy from the record."""
    rigid_body_of(obj).mass = expected_mass(obj)
    if _proxy_mass_share(obj):
        rigid_body_of(record_of(obj).inertia_proxy).mass = max(record_of(obj).mass * _proxy_mass_share(obj), MIN_MASS)


#: Least mass (kg) of a rigid body in Blender.
MIN_MASS = 0.001


#: Blender's primitive collision shapes. They are centered on the object's origin, along its axes, with the extent of
#: its mesh; all other shapes become convex hulls, which follow the mesh itself.
_PRIMITIVES = {"box": "BOX", "sphere": "SPHERE", "capsule": "CAPSULE", "cylinder": "CYLINDER", "cone": "CONE"}
_SHAPES_WITHOUT_VOLUME = {"axes", "none"}
#: Poses whose entries differ by less (length units, or entries of rotation matrices) are equal.
_TOLERANCE = 1e-6
_IDENTITY = tuple(float(x) for x in np.eye(4).ravel())


def collides(shape: Shape | KnuckleShape) -> bool:
    """Return whether a shape can be touched: it is an enabled collision shape and has an inside."""
    can = shape.collidable if isinstance(shape, KnuckleShape) else shape.extra.get("collidable", True)
    return bool(shape.collision and can and shape.type not in _SHAPES_WITHOUT_VOLUME)


def own_mesh_collides(shapes: Sequence[Shape]) -> bool:
    """Return whether a body collides with its own visible mesh.

    That is so where its one visible and its one colliding shape are the same or equal, and where nothing collides.
    """
    solid = [shape for shape in shapes if collides(shape)]
    if not solid:
        return True
    seen = [shape for shape in shapes if shape.visual and shape.type != "none"]
    return len(solid) == len(seen) == 1 and solid[0].type != "plane" and _is_same_geometry(solid[0], seen[0])


def _is_same_geometry(a: Shape, b: Shape) -> bool:
    if a is b:
        return True
    same = a.type == b.type and a.size == b.size and a.mesh == b.mesh and a.spheres == b.spheres
    return same and (bitwise_equal(a.pose, b.pose) or bool(np.abs(a.pose - b.pose).max() < _TOLERANCE))


def is_collision_child(obj: bpy.types.Object) -> bool:
    """Return whether an object is a collision shape of a body, which is its parent unless the user moved it."""
    record = record_of(obj)
    return record.role == "SHAPE" and record.shape >= 0


def collision_children(rig: bpy.types.Object) -> dict[bpy.types.Object, list[bpy.types.Object]]:
    """Return the collision shapes of a mechanism that are children of their bodies, by body."""
    out: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for obj in parts(rig, "SHAPE"):
        if obj.parent is not None and is_collision_child(obj):
            out.setdefault(obj.parent, []).append(obj)
    return out


def collision_children_by_index(children: Iterable[bpy.types.Object]) -> dict[int, bpy.types.Object]:
    """Return those of a body's children that are its collision shapes, by the index of the shape."""
    return {record_of(child).shape: child for child in children if is_collision_child(child)}


def own_collision_type(record: KnuckleObject) -> Any:
    """Return Blender's collision shape for a body that collides with its own mesh; None where nothing collides."""
    # a shape whose child was deleted does not collide
    solid = next((shape for shape in record.shapes if collides(shape) and not shape.has_child), None)
    if solid is None:
        return None
    pose = tuple(solid.pose[:])  # slices: all numbers in one read
    if pose != _IDENTITY or any(record.com[:]):
        centred = np.array(pose).reshape(4, 4)
        centred[:3, 3] -= record.com
        if not _is_aligned_with_z(centred, solid.type):
            return "CONVEX_HULL"
    return primitive_type(solid.type)


def primitive_type(type_: str) -> Any:
    """Return Blender's collision shape for a shape at its object's origin along its object's axes."""
    return _PRIMITIVES.get(type_, "CONVEX_HULL")


def _is_aligned_with_z(pose: Array, type_: str) -> bool:
    if np.abs(pose[:3, 3]).max() > _TOLERANCE:
        return False
    return type_ == "sphere" or bool(np.abs(pose[:3, :3] - np.eye(3)).max() < _TOLERANCE)
