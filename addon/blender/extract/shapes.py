"""The shapes of a body as they are now: from its record, the scale of its object, and its collision children."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import bpy
import numpy as np

from ...model.extents import half_extent
from ...model.records import Array, Shape
from ..access import record_of
from ..records import UNIT_SIZE, read_shape
from .numbers import edited, edited_pose, plain, was_moved

Children = dict[tuple[bpy.types.Object, int], bpy.types.Object]


def shape_children(objects: Iterable[bpy.types.Object]) -> Children:
    """The collision children of bodies, by body and the number of the shape."""
    return {
        (obj.parent, record_of(obj).shape): obj
        for obj in objects
        if record_of(obj).role == "SHAPE" and obj.parent is not None and record_of(obj).shape >= 0
    }


def body_shapes(
    obj: bpy.types.Object, before: list[Shape], com: Array, children: Children, copied: bool
) -> list[Shape]:
    """The shapes of a body's object; ``before`` are the document's. A collision child that was moved or scaled takes
    its shape along, and one that was deleted takes it away. (A copy of a body need not have copies of its children.)"""
    now = edited_shapes([read_shape(shape) for shape in record_of(obj).shapes], before)
    out = []
    for number, (shape, kept) in enumerate(zip(now, record_of(obj).shapes, strict=True)):
        child = children.get((obj, number))
        if child is not None:
            out.append(_followed(shape, child, com))
        elif copied or not kept.has_child:
            out.append(shape)
        elif shape.visual:
            out.append(replace(shape, collision=False))
    return out


def _followed(shape: Shape, child: bpy.types.Object, com: Array) -> Shape:
    if not was_moved(child):
        return shape
    exact = shape.pose.copy()
    exact[:3, 3] -= com
    pose, scale = edited_pose(child, exact)
    pose[:3, 3] += com
    kept = np.abs(pose[:3, 3] - shape.pose[:3, 3]) < 1e-12
    pose[:3, 3] = np.where(kept, shape.pose[:3, 3], [plain(x) for x in pose[:3, 3]])
    return replace(shape, pose=pose, size=_sized(shape, scale))


def mesh_was_edited(obj: bpy.types.Object) -> bool:
    """Whether the mesh no longer has the extent of the shapes that it was made for."""
    shapes = [read_shape(shape) for shape in record_of(obj).shapes if shape.visual]
    if not shapes or any(shape.type in {"mesh", "plane", "axes", "multi_sphere"} for shape in shapes):
        return False
    halves = [(shape.pose[:3, 3], half_extent(shape, shape.pose[:3, :3])) for shape in shapes]
    low = np.min([at - half for at, half in halves], axis=0)
    high = np.max([at + half for at, half in halves], axis=0)
    corners = np.array(obj.bound_box)
    size = float(np.linalg.norm(high - low)) or 1.0
    return bool(np.abs(np.ptp(corners, axis=0) - (high - low)).max() > 0.02 * size)


def edited_shapes(now: list[Shape], before: list[Shape]) -> list[Shape]:
    """Shapes as they are now, with the document's numbers where they are the same."""
    if [shape.type for shape in now] != [shape.type for shape in before]:
        return now
    for mine, old in zip(now, before, strict=True):
        given = {key: value for key, value in mine.size.items() if key in old.size or value != UNIT_SIZE}
        sizes = {key: edited(value, old.size.get(key, value)) for key, value in given.items()}
        mine.size = old.size | sizes
        if (np.float32(mine.pose) == np.float32(old.pose)).all():
            mine.pose = old.pose
        if mine.color is not None and old.color is not None and np.allclose(mine.color, old.color, atol=1e-6):
            mine.color = old.color
        mine.extra, mine.spheres, mine.soft, mine.name = old.extra, old.spheres, old.soft, old.name
    return now


def scaled(shape: Shape, scale: Array) -> Shape:
    """A shape under the scale of its body's object."""
    pose = shape.pose.copy()
    pose[:3, 3] *= scale
    along = np.abs(shape.pose[:3, :3].T) @ scale  # the scale as the shape's own axes feel it
    return replace(shape, size=_sized(shape, along), pose=pose)


def _sized(shape: Shape, along: Array) -> dict[str, float]:
    """A shape's size under a scale along its own axes; round ones take the larger of what applies."""
    size = dict(shape.size)
    across = float(max(along[0], along[1]))
    for name, factor in {"x": along[0], "y": along[1], "z": along[2], "length": along[2], "radius": across}.items():
        if name in size:
            size[name] *= float(max(along) if shape.type == "sphere" else factor)
    return size
