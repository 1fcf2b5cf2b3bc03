"""The moment of inertia that DART gives a body whose file states only its mass.

DART 6.20 shares the mass out by volume over everything that the body shows and collides with; what has no volume counts
as one unit of it. Each share turns about its shape's own frame and is moved to the centre of mass that the file gives.
Earlier versions took the first shape alone, which is why a document that we write always states the moment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ...core.mass_properties import parallel_axis, shape_volume, unit_inertia
from ...core.model import Array, Body, Shape

#: What is noted in a body's ``extra`` where its moment of inertia is not the file's own: True, or the tensor as lists
#: where it was worked out only when its meshes were at hand.
DERIVED = "derived_moment"
#: The edges (3,) of the box around a mesh, in the units of its file; None where it cannot be known.
MeshBox = Callable[[str], Array | None]


def moment_of_shapes(
    shapes: Sequence[Shape], mass: float, com: Array, mesh_box: MeshBox = lambda path: None
) -> Array | None:
    """Moment of inertia (3, 3) about the centre of mass ``com`` (3,), along the body's axes; None where it depends on
    a mesh whose box is not known. DART's rule: the unit tensor without a shape, or without mass."""
    solid = [shape for shape in shapes if not shape.soft and shape.type != "none"]
    if not solid or mass <= 0.0:
        return np.eye(3)
    boxes = [_mesh_extent(shape, mesh_box) for shape in solid]
    if any(shape.type == "mesh" and box is None for shape, box in zip(solid, boxes, strict=True)):
        return None
    volumes = np.array([_volume(shape, box) for shape, box in zip(solid, boxes, strict=True)])
    volumes[volumes <= 0.0] = 1.0
    tensor = np.zeros((3, 3))
    for shape, box, share in zip(solid, boxes, mass * volumes / volumes.sum(), strict=True):
        turn = shape.pose[:3, :3]
        tensor += turn @ _moment(shape, box, share) @ turn.T + share * parallel_axis(shape.pose[:3, 3] - com)
    return tensor


def complete(bodies: Iterable[Body], mesh_box: MeshBox) -> list[Body]:
    """Give the bodies whose moment of inertia hangs on a mesh that moment, and return them. Saving the document that
    they came from still leaves it out, as the document does."""
    done = []
    for body in bodies:
        if body.inertia is None and body.extra.get(DERIVED):
            tensor = moment_of_shapes(body.shapes, body.mass, body.com, mesh_box)
            if tensor is not None:
                body.inertia = tensor
                body.extra = body.extra | {DERIVED: tensor.tolist()}
                done.append(body)
    return done


def _volume(shape: Shape, box: Array | None) -> float:
    if shape.type == "mesh" and box is not None:
        return float(box.prod())
    if shape.type == "pyramid":
        return shape.size["x"] * shape.size["y"] * shape.size["length"] / 3.0
    return shape_volume(shape)


def _moment(shape: Shape, box: Array | None, mass: float) -> Array:
    """About the shape's frame. Of a cone and a pyramid it is what DART computes, not what is true: a pyramid of
    whatever size and mass has the unit tensor."""
    if shape.type == "mesh" and box is not None:
        return mass * _box_moment(box)
    if shape.type == "multi_sphere":
        return mass * _box_moment(_balls_extent(shape))
    if shape.type == "cone":
        radius, height = np.float64(shape.size["radius"]), np.float64(shape.size["length"])  # powers do not raise
        across = 3.0 / 20.0 * (radius**2 + 2.0 / 3.0 * height**2)
        return mass * np.diag([across, across, 0.3 * radius**2])
    return np.eye(3) if shape.type == "pyramid" else mass * unit_inertia(shape)


def _box_moment(edges: Array) -> Array:
    square = edges**2
    return np.diag(square.sum() - square) / 12.0


def _balls_extent(shape: Shape) -> Array:
    balls = np.array(shape.spheres, dtype=np.float64).reshape(-1, 4)
    if not len(balls):
        return np.zeros(3)
    return (balls[:, 1:] + balls[:, :1]).max(axis=0) - (balls[:, 1:] - balls[:, :1]).min(axis=0)


def _mesh_extent(shape: Shape, mesh_box: MeshBox) -> Array | None:
    if shape.type != "mesh" or not shape.mesh:
        return None
    box = mesh_box(shape.mesh)
    if box is None or not math.isfinite(float(np.sum(box))):
        return None
    return np.asarray(box, dtype=np.float64) * np.abs([shape.size[axis] for axis in "xyz"])
