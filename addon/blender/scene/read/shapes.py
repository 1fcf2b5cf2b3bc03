"""The shapes of a body as they are now: from its record, the scale of its object, and its collision children."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import bpy
import numpy as np
from mathutils import Matrix

from ....core.model import Array, Shape
from ....core.report import Report
from ...data.access import record_of
from ...data.conversion import UNIT_SIZE, read_shape
from ...data.queries import was_numbered
from .design_poses import Designs
from .float_restore import edited, edited_pose, plain, was_moved

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
    """Return whether a body is a copy that may lack collision children which nobody deleted: one that has no id of its
    own yet, or came without them, or has taken the place of its original, whose id it has; only its name tells that."""
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
    """Return whether a scale would make a round shape one that has no name here."""
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
