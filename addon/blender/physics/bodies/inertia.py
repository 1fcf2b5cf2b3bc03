"""What Blender makes of a body's inertia, and how far that is from the file's.

Blender has no inertia tensor to be set: Bullet takes one from the collision shape and the mass, about the object's
origin and along its axes. Its formulas (``calculateLocalInertia`` of its shapes) are exact for boxes, spheres and
cylinders; capsules, cones, hulls and compounds count as the box that holds them. All were measured.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import bpy
import numpy as np

from ....core.mass_properties import least_moments
from ....core.model import Array, Mechanism
from ....core.report import Report
from ...data.access import record_of
from ...data.queries import parts
from .collision_shapes import collision_children

#: Differences that are worth a word, and a warning.
_TOLD, _WARNED = 0.01, 1.0
#: What Blender takes for a shape that it has no mesh for: a cube of this edge.
_NO_EXTENT = 1.0


def report_inertia(rig: bpy.types.Object, mechanism: Mechanism) -> Report:
    """One entry on the bodies whose inertia under physics is not what the file has."""
    report = Report()
    tensors = {body.id: body.inertia for body in reversed(mechanism.bodies) if body.inertia is not None}
    bodies = [obj for obj in parts(rig, "BODY") if obj.rigid_body is not None and not record_of(obj).immobile]
    told = [(obj, np.asarray(tensors[key])) for obj in bodies if (key := record_of(obj).source_id) in tensors]
    least = least_moments(np.array([tensor for _, tensor in told]).reshape(-1, 3, 3))
    told = [each for each, moment in zip(told, least, strict=True) if moment > 0.0]
    pieces = collision_children(rig) if any(obj.rigid_body.collision_shape == "COMPOUND" for obj, _ in told) else {}
    turned = [(obj, tensor) for obj, tensor in told if record_of(obj).flywheel_share]
    if turned:
        left = {obj: _left(obj, tensor, pieces.get(obj, ())) for obj, tensor in turned}
        last = max(left, key=lambda obj: left[obj])
        report.info(
            "inertia-matched",
            f"Blender takes inertia from collision shapes: {len(turned)} of {len(told)} bodies carry a hidden flywheel "
            "under physics that gives them the file's. "
            f"What is left is {_share(left[last])} of the largest moment at most",
            where=last.name,
        )
        told = [(obj, tensor) for obj, tensor in told if obj not in left]
    if not told:
        return report
    here = every_moments([obj for obj, _ in told], pieces)
    moments, products = differences(np.array([tensor for _, tensor in told]), here)
    either = np.maximum(moments, products)
    off, worst = either > _TOLD, int(either.argmax())
    if not off.any():
        return report
    obj = told[worst][0]
    tell = report.warn if either[worst] > _WARNED else report.info
    tell(
        "inertia-differs",
        f"Blender takes inertia from collision shapes: {off.sum()} of {len(told)} bodies with moments in the file have "
        f"others under physics. The worst is {record_of(obj).source_name or obj.name!r}, whose principal moments "
        f"differ by up to {moments[worst]:.0%}; products of inertia, which are left out, are up to "
        f"{products[off].max():.0%} of the moments",
        where=obj.name,
    )
    return report


def _share(left: float) -> str:
    return f"{left:.1%}" if left >= 5e-4 else "< 0.1%"


def _left(obj: bpy.types.Object, tensor: Array, pieces: Iterable[bpy.types.Object]) -> float:
    """By which share of the largest moment a body and its flywheel together turn otherwise than its tensor (3, 3)."""
    return float(np.abs(turning_tensor(obj, pieces) - tensor).max() / np.linalg.eigvalsh(tensor).max())


def turning_tensor(obj: bpy.types.Object, pieces: Iterable[bpy.types.Object] = ()) -> Array:
    """The inertia (3, 3), in a body's axes, of what physics has turn as one: the body and its flywheel."""
    own, wheel = np.diag(blender_moments(obj, pieces)), record_of(obj).flywheel
    if wheel is None or not record_of(obj).flywheel_share:
        return own
    turn = np.array((obj.matrix_basis.normalized().inverted_safe() @ wheel.matrix_basis).to_3x3(), dtype=np.float64)
    return own + turn @ np.diag(blender_moments(wheel)) @ turn.T


def differences(tensors: Array, moments: Array) -> tuple[Array, Array]:
    """By which share of the file's (n, 3, 3) the principal moments of Blender's (n, 3) differ at most, each compared
    with that of the nearest axis; and the file's largest products of inertia as shares of their two moments' mean."""
    principal, axes = np.linalg.eigh(tensors)
    nearness = np.abs(axes)  # of a body's axes (rows) to the principal ones
    ways = np.array(list(itertools.permutations(range(3))))
    order = ways[nearness[:, np.arange(3), ways].sum(axis=2).argmax(axis=1)]
    diagonal = np.sqrt(np.diagonal(tensors, axis1=1, axis2=2))
    products = np.abs(tensors / (diagonal[:, :, None] * diagonal[:, None, :]))[:, ~np.eye(3, dtype=bool)]
    apart = np.abs(moments / np.take_along_axis(principal, order, axis=1) - 1.0)
    return apart.max(axis=1), products.max(axis=1)


def every_moments(
    bodies: Sequence[bpy.types.Object], pieces: Mapping[bpy.types.Object, Iterable[bpy.types.Object]]
) -> Array:
    """The moments of inertia (n, 3) that Bullet gives bodies, as they are set up. ``pieces``: those of compounds."""
    alike: dict[tuple[str, bpy.types.ID | None], Array] = {}  # bodies share meshes
    out = np.empty((len(bodies), 3))
    for number, obj in enumerate(bodies):
        body = obj.rigid_body
        shape = body.collision_shape
        if shape == "COMPOUND":
            out[number] = blender_moments(obj, pieces.get(obj, ()))
            continue
        if (shape, obj.data) not in alike:
            alike[shape, obj.data] = unit_moments(shape, _extent(obj))
        out[number] = body.mass * alike[shape, obj.data]
    return out


def blender_moments(obj: bpy.types.Object, pieces: Iterable[bpy.types.Object] = ()) -> Array:
    """The moments of inertia (3,) that Bullet gives a body, as it is set up. ``pieces`` are a compound's children."""
    shape, mass = obj.rigid_body.collision_shape, obj.rigid_body.mass
    if shape == "COMPOUND":
        low, high = _box_of_pieces(pieces)
        return mass * _box(high - low)
    return mass * unit_moments(shape, _extent(obj))


def unit_moments(shape: str, extent: Array) -> Array:
    """Moments of inertia (3,) of a collision shape of Blender's of mass 1 whose mesh has an extent (3,)."""
    size = _size(shape, extent)
    if shape == "SPHERE":
        return np.full(3, 0.1 * size[0] ** 2)
    if shape == "CYLINDER":
        across = size[0] ** 2 / 16.0 + size[2] ** 2 / 12.0
        return np.array([across, across, size[0] ** 2 / 8.0])
    return _box(size)


def _box(size: Array) -> Array:
    square = size**2
    return np.array([square[1] + square[2], square[0] + square[2], square[0] + square[1]]) / 12.0


def _size(shape: str, extent: Array) -> Array:
    """The size (3,) that a shape gets from the extent of a mesh: round ones are as wide as its wider side."""
    if shape == "SPHERE":
        return np.full(3, extent.max())
    if shape in {"CYLINDER", "CONE", "CAPSULE"}:
        wide = max(extent[0], extent[1])
        return np.array([wide, wide, max(extent[2], wide) if shape == "CAPSULE" else extent[2]])
    return extent


def _vertices(obj: bpy.types.Object) -> Array:
    points = cast(bpy.types.Mesh, obj.data).vertices
    out = np.empty(3 * len(points), dtype=np.float32)
    points.foreach_get("co", cast(Any, out))
    return out.reshape(-1, 3).astype(np.float64)


def _extent(obj: bpy.types.Object) -> Array:
    points = _vertices(obj)
    return np.ptp(points, axis=0) if len(points) else np.full(3, _NO_EXTENT)


def _box_of_pieces(pieces: Iterable[bpy.types.Object]) -> tuple[Array, Array]:
    """The corners of the box along a compound's axes that holds its children's own boxes."""
    boxes = list(_boxes(pieces)) or [(np.zeros(3), np.zeros(3))]
    return np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)


def _boxes(pieces: Iterable[bpy.types.Object]) -> Iterator[tuple[Array, Array]]:
    for piece in pieces:
        pose = np.array(piece.matrix_parent_inverse @ piece.matrix_basis, dtype=np.float64)
        scale = np.linalg.norm(pose[:3, :3], axis=0)
        shape, middle = piece.rigid_body.collision_shape, pose[:3, 3]
        size = _size(shape, _extent(piece) * scale)
        if shape == "CONVEX_HULL" and len(points := _vertices(piece)):
            middle = (pose @ np.append((points.min(axis=0) + points.max(axis=0)) / 2.0, 1.0))[:3]
        half = np.abs(pose[:3, :3] / scale) @ size / 2.0
        yield middle - half, middle + half
