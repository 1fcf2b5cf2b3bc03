"""Shapes of a SKEL document, and the moment of inertia that DART gives a body whose file states only its mass.

DART 6.20 distributes the mass by volume over all visual and collision shapes; a shape without volume counts as one
unit. Each share is a moment about its shape's frame, moved to the center of mass in the file. Earlier versions used
only the first shape, which is why documents that we write always state the moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from lxml import etree

from ...core.mass_properties import parallel_axis, shape_volume, unit_inertia
from ...core.model import Array, Body, Shape, identity
from ..document.schema import SparseRow
from .reader import Reader, SourceElement
from .schema import (
    COLLISION,
    EXTENSION_TAG,
    GEOMETRIES,
    GEOMETRY_FIELDS,
    SHAPES,
    SOFT,
    SPHERE_ITEM,
    VISUAL,
    Row,
    pose_along_z,
    pose_from_transformation,
)

#: Key in the ``extra`` of a hemisphere that the document itself has, although DART has none: it is kept.
HEMISPHERE_IN_FILE = "hemisphere_in_file"
#: Our names of DART's lengths.
_LENGTH_FIELDS = {"radius": "radius", "height": "length", "base_width": "x", "base_depth": "y"}
_VECTOR_FIELDS = {"box": "size", "ellipsoid": "size", "mesh": "scale"}


def _paths(type_: str, names: Iterable[str]) -> dict[str, str]:
    """Return the paths of a geometry's fields by name, for the given names that it has."""
    there = {field.path for field in GEOMETRY_FIELDS[type_]}
    return {name: path for name in names if (path := f"geometry/{type_}/{name}") in there}


#: Paths of each geometry's lengths by our names, and of all sizes that have to be positive.
_LENGTH_PATHS = {
    type_: {_LENGTH_FIELDS[name]: path for name, path in _paths(type_, _LENGTH_FIELDS).items()} for type_ in GEOMETRIES
}
_REPAIRED_PATHS = {type_: tuple(_paths(type_, ("size", *_LENGTH_FIELDS)).values()) for type_ in GEOMETRIES}


def read_shape_row(element: etree._Element, reader: Reader) -> SourceElement:
    """Read a shape's row.

    ``type`` in it is its geometry, None if unknown; ``spheres`` are those of a multi-sphere, each (radius, x, y, z).
    """
    table = SHAPES[element.tag]
    type_ = geometry_type(element)
    group = f"geometry/{type_}"
    placed = reader.place(element, table, group)
    row = placed.row
    row["type"] = type_
    if type_ is None:
        what = "has no known geometry; it is invisible"
        reader.note("warning", "unknown-shape", f"<{element.tag}> {what}", element)
        return placed
    row["as_dart"] = {}
    for path in _REPAIRED_PATHS[type_]:
        _repair_size(path, row, reader, element)
    if type_ == "multi_sphere":
        balls = [
            reader.place(ball, SPHERE_ITEM).row for ball in element.find("geometry/multi_sphere").findall("sphere")
        ]
        row["spheres"] = tuple((abs(ball["radius"]), *ball["position"]) for ball in balls)
        if not balls:
            reader.note("warning", "unknown-shape", "<multi_sphere> contains no sphere", element)
    if type_ == "plane" and not any(row["geometry/plane/normal"]):
        reader.note("warning", "zero-axis", "the normal of a plane is 0 0 0; 0 0 1 is used", element)
        row["geometry/plane/normal"] = (0.0, 0.0, 1.0)
    if type_ == "hemisphere":
        reader.note(
            "warning", "not-in-dart", "hemispheres are not supported by DART, which stops at this file", element
        )
    if table is SOFT and type_ == "box" and row["geometry/box/frags"] is None:
        reader.note("warning", "missing-frags", "a soft box has no <frags>; DART 6.20 rejects the file", element)
    color = row.get("color")
    if color is not None and len(color) not in (3, 4):
        reader.note("warning", "wrong-count", f"a color has {len(color)} numbers, not 3 or 4; it is ignored", element)
    return placed


def geometry_type(element: etree._Element) -> str | None:
    """Return the geometry of a shape: the first that it has, in DART's order."""
    geometry = next((child for child in element if child.tag == "geometry"), ())
    there = {child.tag for child in geometry}
    return next((type_ for type_ in GEOMETRIES if type_ in there), None)


def shape_from_row(row: Row, table_tag: str) -> Shape:
    """Return the shape of a row; ``extra`` keeps values without another field."""
    soft = table_tag == SOFT.tag
    visual, collision = soft or table_tag == VISUAL.tag, soft or table_tag == COLLISION.tag
    type_ = row["type"]
    if type_ is None:
        return Shape("none", visual=visual, collision=collision)
    shape = Shape(
        type_, _size(type_, row), shape_pose(row, soft), visual, collision, _color(row.get("color")), soft=soft
    )
    if type_ == "mesh":
        shape.mesh = row["geometry/mesh/file_name"]
    if type_ == "multi_sphere":
        shape.spheres = [*row["spheres"]]
    if type_ == "hemisphere":
        shape.extra[HEMISPHERE_IN_FILE] = True
    if row.get("collidable") is False:
        shape.extra["collidable"] = False
    if row.get(f"{EXTENSION_TAG}/@type") in ("hemisphere",) and type_ == "sphere":
        shape.type = "hemisphere"
    if soft:
        softness = {item.path: row[item.path] for item in SOFT if _is_softness(item.path, type_)}
        shape.extra["soft"] = {path: value for path, value in softness.items() if value is not None}
    return shape


def shape_for_mass(row: SparseRow, table_tag: str) -> Shape:
    """Return the shape as DART uses it for mass.

    It has DART's default for sizes that DART rejects, and a plane is at its frame.
    """
    shape = shape_from_row({**row.whole(), **row["as_dart"]} if row.get("as_dart") else row, table_tag)
    if shape.type == "plane":
        shape.pose = pose_from_transformation(row["transformation"])
    return shape


def shape_pose(row: Row, soft: bool) -> Array:
    """Return a shape's pose in its body; DART applies no transformation to soft shapes other than boxes."""
    outer = identity() if soft and row["type"] != "box" else pose_from_transformation(row["transformation"])
    return outer @ inner_pose(row) if row["type"] == "plane" else outer


def inner_pose(row: Row) -> Array:
    """Return a plane's pose within its shape, from its normal and offset; the identity for all other shapes."""
    if row["type"] != "plane":
        return identity()
    normal = np.array(row["geometry/plane/normal"])
    normal = normal / np.linalg.norm(normal)
    offset, point = row["geometry/plane/offset"], row["geometry/plane/point"]
    if offset is None:
        offset = float(normal @ point) if point is not None else 0.0
    return pose_along_z(normal, offset)


def _is_softness(path: str, type_: str) -> bool:
    name = path.rpartition("/")[2]
    if path.startswith("geometry/"):
        return path.startswith(f"geometry/{type_}/") and (name == "frags" or name.startswith("num_"))
    return path != "transformation"


def _size(type_: str, row: Row) -> dict[str, float]:
    size = {key: row[path] for key, path in _LENGTH_PATHS[type_].items()}
    if type_ in _VECTOR_FIELDS:
        size |= dict(zip("xyz", row[f"geometry/{type_}/{_VECTOR_FIELDS[type_]}"], strict=True))
    return size if type_ != "multi_sphere" else {}


def _color(color: tuple[float, ...] | None) -> tuple[float, float, float, float] | None:
    if color is None or len(color) not in (3, 4):
        return None
    return (color[0], color[1], color[2], color[3] if len(color) == 4 else 1.0)


def _repair_size(path: str, row: Row, reader: Reader, element: etree._Element) -> None:
    """Replace a negative length by its absolute value.

    DART rejects lengths that are not positive and uses its default of 1, kept as ``as_dart`` in the row for the body's
    mass distribution.
    """
    value = row[path]
    numbers = value if isinstance(value, tuple) else (value,)
    if min(numbers) > 0.0:
        return
    row[path] = tuple(abs(number) for number in value) if isinstance(value, tuple) else abs(value)
    row["as_dart"][path] = (1.0, 1.0, 1.0) if isinstance(value, tuple) else 1.0
    what = "negative; its absolute value is used" if any(number < 0.0 for number in numbers) else "0"
    reader.note("warning", "refused-size", f"{path} is {what}; DART uses 1", element)


#: Key in a body's ``extra`` if its moment of inertia is not in the file: True, or the tensor as lists if it was
#: computed later, from its meshes.
DERIVED_MOMENT = "derived_moment"
#: Function that gives the edges (3,) of a mesh's bounding box in the units of its file; None where it is unknown.
MeshBox = Callable[[str], Array | None]


def moment_of_shapes(
    shapes: Sequence[Shape], mass: float, com: Array, mesh_box: MeshBox = lambda path: None
) -> Array | None:
    """Return the moment of inertia (3, 3) about the center of mass ``com`` (3,), along the body's axes.

    DART's rule: the unit tensor without a shape or without mass.

    Returns:
        The tensor; None where it depends on a mesh whose box is unknown.
    """
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


def complete_moments(bodies: Iterable[Body], mesh_box: MeshBox) -> list[Body]:
    """Compute the moments of inertia that depend on meshes; returns the completed bodies.

    Saving the document that they came from still leaves the moment out, as the document does.
    """
    done = []
    for body in bodies:
        if body.inertia is None and body.extra.get(DERIVED_MOMENT):
            tensor = moment_of_shapes(body.shapes, body.mass, body.com, mesh_box)
            if tensor is not None:
                body.inertia = tensor
                body.extra = body.extra | {DERIVED_MOMENT: tensor.tolist()}
                done.append(body)
    return done


def _volume(shape: Shape, box: Array | None) -> float:
    if shape.type == "mesh" and box is not None:
        return float(box.prod())
    if shape.type == "pyramid":
        return shape.size["x"] * shape.size["y"] * shape.size["length"] / 3.0
    return shape_volume(shape)


def _moment(shape: Shape, box: Array | None, mass: float) -> Array:
    """Return the moment about the shape's frame, as DART computes it.

    Those of a cone and a pyramid are physically wrong: a pyramid of any size and mass has the unit tensor.
    """
    if shape.type == "mesh" and box is not None:
        return mass * _box_moment(box)
    if shape.type == "multi_sphere":
        return mass * _box_moment(_spheres_extent(shape))
    if shape.type == "cone":
        radius, height = np.float64(shape.size["radius"]), np.float64(shape.size["length"])  # powers do not raise
        across = 3.0 / 20.0 * (radius**2 + 2.0 / 3.0 * height**2)
        return mass * np.diag([across, across, 0.3 * radius**2])
    return np.eye(3) if shape.type == "pyramid" else mass * unit_inertia(shape)


def _box_moment(edges: Array) -> Array:
    square = edges**2
    return np.diag(square.sum() - square) / 12.0


def _spheres_extent(shape: Shape) -> Array:
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
