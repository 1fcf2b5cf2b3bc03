"""The shapes of a body as they are now: from its record, the scale of its object, and its collision children."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix

from ...model.extents import half_extent
from ...model.records import Array, Shape
from ...model.report import Report
from ...model.surfaces import is_measured, is_surface_of
from ..access import record_of
from ..model_parts import was_numbered
from ..records import UNIT_SIZE, read_shape, surface_figures
from .designs import Designs
from .numbers import edited, edited_pose, plain, was_moved

#: Shares of a mesh's spread by which it may seem another in 32 bits.
_SAME_SURFACE = 1e-5

#: Collision children by body and the number of the shape, each with its design on the body.
Children = dict[tuple[bpy.types.Object, int], tuple[bpy.types.Object, Matrix]]


def shape_children(
    objects: Iterable[bpy.types.Object], bodies: Mapping[str, bpy.types.Object], designs: Designs, report: Report
) -> Children:
    """The collision children of bodies, whatever they hang on by now; ``bodies`` are by id. Copies of children stand
    for nothing, and the report says so."""
    shapes = [obj for obj in objects if record_of(obj).role == "SHAPE" and record_of(obj).shape >= 0]
    holders = {obj: _holder(obj, bodies) for obj in shapes}
    out: Children = {}
    for obj in sorted(shapes, key=lambda obj: (obj.parent != holders[obj], obj.name != record_of(obj).built_name)):
        holder, number = holders[obj], record_of(obj).shape
        if holder is not None and (holder, number) not in out:
            out[holder, number] = obj, designs.on(obj, holder)
        elif obj.parent is not None or holder is not None:
            told = f"{obj.name!r} is a copy, or another body's collision shape, and was left out"
            report.warn("stranger", told, where=obj.name)
    return out


def _holder(obj: bpy.types.Object, bodies: Mapping[str, bpy.types.Object]) -> bpy.types.Object | None:
    """The body that a collision child is of: the one that it is a child of where that has its id, as copies of the body
    have, else the one of this id."""
    own = record_of(obj).source_id.rpartition("/")[0]
    return obj.parent if obj.parent is not None and record_of(obj.parent).source_id == own else bodies.get(own)


def body_shapes(
    obj: bpy.types.Object, own: str, before: list[Shape], com: Array, children: Children, report: Report
) -> list[Shape]:
    """The shapes of a body's object, whose id is ``own``; ``before`` are the document's. A collision child that was
    moved or scaled takes its shape along, and one that was deleted takes it away. (A copy of a body need not have
    copies of its children.)"""
    now = edited_shapes([read_shape(shape) for shape in record_of(obj).shapes], before)
    is_copy = _is_copy(obj, own)
    out = []
    for number, (shape, kept) in enumerate(zip(now, record_of(obj).shapes, strict=True)):
        if (obj, number) in children:
            out.append(_followed(shape, *children[obj, number], com))
            continue
        if not kept.has_child or is_copy:
            out.append(shape)
            continue
        report.info("deleted", f"A collision shape of {obj.name!r} was deleted ({shape.type})", where=obj.name)
        if shape.visual:
            out.append(replace(shape, collision=False))
    return out


def _is_copy(obj: bpy.types.Object, own: str) -> bool:
    """Whether a body is a copy that may lack collision children which nobody deleted: one that has no id of its own
    yet, or came without them, or has taken the place of its original, whose id it has; only its name tells that."""
    record = record_of(obj)
    return own != record.source_id or record.without_children or was_numbered(obj.name, record.built_name)


def _followed(shape: Shape, child: bpy.types.Object, design: Matrix, com: Array) -> Shape:
    if not was_moved(child, design):
        return shape
    exact = shape.pose.copy()
    exact[:3, 3] -= com
    pose, scale = edited_pose(child, exact, design)
    pose[:3, 3] += com
    kept = np.abs(pose[:3, 3] - shape.pose[:3, 3]) < 1e-12
    pose[:3, 3] = np.where(kept, shape.pose[:3, 3], [plain(x) for x in pose[:3, 3]])
    return _resized(replace(shape, pose=pose), scale)


def is_own_mesh(obj: bpy.types.Object) -> bool:
    """Whether files get a body's mesh as it is seen, modifiers and all: it came from none."""
    return any(shape.visual and shape.type == "mesh" and not shape.mesh for shape in record_of(obj).shapes)


#: What is known of meshes already: bodies that are alike share theirs.
Judged = dict[tuple[object, ...], bool]


def mesh_was_edited(obj: bpy.types.Object, judged: Judged | None = None) -> bool:
    """Whether the mesh no longer is the surface of the shapes that it was made for. ``judged`` keeps the answers."""
    shapes = [read_shape(shape) for shape in record_of(obj).shapes if shape.visual]
    if not shapes or is_own_mesh(obj):
        return False
    if not all(map(is_measured, shapes)):
        return _is_other_mesh(obj)
    if not len(obj.data.polygons):  # type: ignore[union-attr]
        return True
    com = np.array(record_of(obj).com)
    for shape in shapes:
        shape.pose[:3, 3] -= com
    judged = {} if judged is None else judged
    alike = tuple((shape.type, *shape.size.items(), *shape.spheres, shape.pose.tobytes()) for shape in shapes)
    box = obj.bound_box  # its corners come in the order of the axes: the first and the seventh are the ends
    key = (obj.data.session_uid, *box[0], *box[6], *alike)
    if key not in judged:
        judged[key] = _was_edited(obj, shapes)
    return judged[key]


def _was_edited(obj: bpy.types.Object, shapes: list[Shape]) -> bool:
    """The same for shapes in the axes of the mesh."""
    halves = [(shape.pose[:3, 3], half_extent(shape, shape.pose[:3, :3])) for shape in shapes]
    low = np.min([at - half for at, half in halves], axis=0)
    high = np.max([at + half for at, half in halves], axis=0)
    corners = np.array(obj.bound_box)
    size = float(np.linalg.norm(high - low)) or 1.0
    if np.abs(np.ptp(corners, axis=0) - (high - low)).max() > 0.02 * size:
        return True
    return not is_surface_of(shapes, *_corners_and_middles(cast(bpy.types.Mesh, obj.data)))


def _is_other_mesh(obj: bpy.types.Object) -> bool:
    """Whether a mesh that was read from a file is not as it was read. (Models of earlier releases do not know.)"""
    before = np.array(record_of(obj).surface)
    now = np.array(surface_figures(cast(bpy.types.Mesh, obj.data)))
    spread = max(float(before[1:].sum()), 1e-30)
    return bool(before.any()) and float(np.abs(now - before).max()) > _SAME_SURFACE * spread


def _corners_and_middles(mesh: bpy.types.Mesh) -> tuple[Array, Array]:
    """The points (n, 3) of a mesh, and the middles (m, 3) of its polygons."""
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)  # type: ignore[arg-type]
    middles = np.empty(3 * len(mesh.polygons), dtype=np.float32)
    mesh.polygons.foreach_get("center", middles)  # type: ignore[arg-type]
    return points.reshape(-1, 3).astype(np.float64), middles.reshape(-1, 3).astype(np.float64)


def edited_shapes(now: list[Shape], before: list[Shape]) -> list[Shape]:
    """Shapes as they are now, with the document's numbers where they are the same."""
    if [shape.type for shape in now] != [shape.type for shape in before]:
        return [replace(shape, size={key: plain(value) for key, value in shape.size.items()}) for shape in now]
    for mine, old in zip(now, before, strict=True):
        given = {key: value for key, value in mine.size.items() if key in old.size or value != UNIT_SIZE}
        sizes = {key: edited(value, old.size.get(key, value)) for key, value in given.items()}
        mine.size = old.size | sizes
        if (np.float32(mine.pose) == np.float32(old.pose)).all():
            mine.pose = old.pose
        if mine.color is not None and old.color is not None and np.allclose(mine.color, old.color, atol=1e-6):
            mine.color = old.color
        mine.extra, mine.soft, mine.name = old.extra, old.soft, old.name
        mine.spheres = mine.spheres or old.spheres
    return now


def scaled(shape: Shape, scale: Array, about: Array) -> Shape:
    """A shape under the scale (3,) of its body's object, whose origin is the point ``about`` of the body."""
    pose = shape.pose.copy()
    pose[:3, 3] = about + scale * (pose[:3, 3] - about)
    along = _along_axes(shape, scale)
    return _resized(replace(shape, pose=pose), along if scale[0] > 0.0 else -along)


def _along_axes(shape: Shape, scale: Array) -> Array:
    """By how much (3,) a scale of the body stretches a shape along its own axes, however it is turned in the body."""
    stretched: Array = np.linalg.norm(scale[:, None] * shape.pose[:3, :3], axis=0)
    return stretched


def is_uneven(shape: Shape, scale: Array) -> bool:
    """Whether a scale would make a round shape one that has no name here."""
    along = _along_axes(shape, scale)
    round_ = along if shape.type in _BALLS else along[:2]
    return shape.type in {*_BALLS, "capsule", "cylinder", "cone"} and float(np.ptp(round_)) > 1e-6 * float(along.max())


def _resized(shape: Shape, along: Array) -> Shape:
    """A shape under a scale along its own axes, all negative where it is turned inside out; round ones take the larger
    of what applies."""
    size, factors = dict(shape.size), np.abs(along)
    by_name = {"x": factors[0], "y": factors[1], "z": factors[2], "length": factors[2], "radius": max(factors[:2])}
    for name, factor in by_name.items():
        if name in size:
            size[name] *= float(max(factors) if shape.type in _BALLS else factor)
    spheres = [(radius * float(max(factors)), *(float(x) for x in along * place)) for radius, *place in shape.spheres]
    out = replace(shape, size=size, spheres=[(r, x, y, z) for r, x, y, z in spheres])
    if along[0] < 0.0 and shape.type == "mesh":
        out.size = {name: -value for name, value in size.items()}
    elif along[0] < 0.0 and shape.type in _TIPPED:
        out.pose = shape.pose @ np.diag([1.0, -1.0, -1.0, 1.0])
    return out


_BALLS = {"sphere", "hemisphere"}
#: What is not the same upside down.
_TIPPED = {"cone", "pyramid", "hemisphere"}
