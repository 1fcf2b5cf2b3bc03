"""The shapes of a body as they are now: from its record, the scale of its object, and its collision children."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ....core.model import Array, Body, Shape
from ....core.report import Report
from ....formats.skel.to_model_shapes import DERIVED_MOMENT, moment_of_shapes
from ...data.access import record_of
from ...data.conversion import DEFAULT_SHAPE_SIZE, read_shape
from ...data.properties.model import KnuckleObject
from ...data.queries import file_name, is_numbered_copy
from ...data.rigid_bodies import displayed_mass, is_mass_typed
from ..bodies import unit_tensors
from .design_poses import DesignPoses
from .edit_detection import edited_number, edited_pose, is_same_value, shortest_float, was_moved

#: Collision children by body and the number of the shape, each with its design on the body.
CollisionChildren = dict[tuple[bpy.types.Object, int], tuple[bpy.types.Object, Matrix]]


def read_collision_children(
    objects: Iterable[bpy.types.Object], bodies: Mapping[str, bpy.types.Object], designs: DesignPoses, report: Report
) -> CollisionChildren:
    """The collision children of bodies, whatever they hang on by now; ``bodies`` are by id.

    Copies of children stand for nothing, and the report says so.
    """
    shapes = [obj for obj in objects if record_of(obj).role == "SHAPE" and record_of(obj).shape >= 0]
    holders = {obj: _body_of_child(obj, bodies) for obj in shapes}
    out: CollisionChildren = {}
    for obj in sorted(shapes, key=lambda obj: (obj.parent != holders[obj], obj.name != record_of(obj).built_name)):
        holder, number = holders[obj], record_of(obj).shape
        if holder is not None and (holder, number) not in out:
            out[holder, number] = obj, designs.on(obj, holder)
        elif obj.parent is not None or holder is not None:
            told = f"{obj.name!r} is a copy, or another body's collision shape, and was left out"
            report.warn("stranger", told, where=obj.name)
    return out


def _body_of_child(obj: bpy.types.Object, bodies: Mapping[str, bpy.types.Object]) -> bpy.types.Object | None:
    """The body that a collision child is of: the one that it is a child of where that has its id, as copies of the body
    have, else the one of this id."""
    own = record_of(obj).source_id.rpartition("/")[0]
    return obj.parent if obj.parent is not None and record_of(obj.parent).source_id == own else bodies.get(own)


def read_body_shapes(
    obj: bpy.types.Object, own: str, before: list[Shape], com: Array, children: CollisionChildren, report: Report
) -> list[Shape]:
    """The shapes of a body's object, whose id is ``own``; ``before`` are the document's.

    A collision child that was moved or scaled takes its shape along, and one that was deleted takes it away. (A copy of
    a body need not have copies of its children.)
    """
    now = edited_shapes([read_shape(shape) for shape in record_of(obj).shapes], before)
    is_copy = _may_lack_children(obj, own)
    out = []
    for number, (shape, kept) in enumerate(zip(now, record_of(obj).shapes, strict=True)):
        if (obj, number) in children:
            out.append(_follow_child(shape, *children[obj, number], com))
            continue
        if not kept.has_child or is_copy:
            out.append(shape)
            continue
        report.info("deleted", f"A collision shape of {obj.name!r} was deleted ({shape.type})", where=obj.name)
        if shape.visual:
            out.append(replace(shape, collision=False))
    return out


def _may_lack_children(obj: bpy.types.Object, own: str) -> bool:
    """Return whether a body is a copy that may lack collision children which nobody deleted: one that has no id of its
    own yet, or came without them, or has taken the place of its original, whose id it has; only its name tells that."""
    record = record_of(obj)
    return own != record.source_id or record.without_children or is_numbered_copy(obj.name, record.built_name)


def _follow_child(shape: Shape, child: bpy.types.Object, design: Matrix, com: Array) -> Shape:
    if not was_moved(child, design):
        return shape
    exact = shape.pose.copy()
    exact[:3, 3] -= com
    pose, scale = edited_pose(child, exact, design)
    pose[:3, 3] += com
    kept = np.abs(pose[:3, 3] - shape.pose[:3, 3]) < 1e-12
    pose[:3, 3] = np.where(kept, shape.pose[:3, 3], [shortest_float(x) for x in pose[:3, 3]])
    return _resize_shape(replace(shape, pose=pose), scale)


def edited_shapes(now: list[Shape], before: list[Shape]) -> list[Shape]:
    """Shapes as they are now, with the document's numbers where they are the same."""
    if [shape.type for shape in now] != [shape.type for shape in before]:
        return [replace(shape, size={key: shortest_float(value) for key, value in shape.size.items()}) for shape in now]
    for mine, old in zip(now, before, strict=True):
        given = {key: value for key, value in mine.size.items() if key in old.size or value != DEFAULT_SHAPE_SIZE}
        sizes = {key: edited_number(value, old.size.get(key, value)) for key, value in given.items()}
        mine.size = old.size | sizes
        if (np.float32(mine.pose) == np.float32(old.pose)).all():
            mine.pose = old.pose
        if mine.color is not None and old.color is not None and np.allclose(mine.color, old.color, atol=1e-6):
            mine.color = old.color
        mine.extra, mine.soft, mine.name = old.extra, old.soft, old.name
        mine.spheres = mine.spheres or old.spheres
    return now


def scale_shape(shape: Shape, scale: Array, about: Array) -> Shape:
    """A shape under the scale (3,) of its body's object, whose origin is the point ``about`` of the body."""
    pose = shape.pose.copy()
    pose[:3, 3] = about + scale * (pose[:3, 3] - about)
    along = _scale_along_axes(shape, scale)
    return _resize_shape(replace(shape, pose=pose), along if scale[0] > 0.0 else -along)


def _scale_along_axes(shape: Shape, scale: Array) -> Array:
    """By how much (3,) a scale of the body stretches a shape along its own axes, however it is turned in the body."""
    stretched: Array = np.linalg.norm(scale[:, None] * shape.pose[:3, :3], axis=0)
    return stretched


def is_uneven(shape: Shape, scale: Array) -> bool:
    """Return whether a scale would make a round shape one that has no name here."""
    along = _scale_along_axes(shape, scale)
    round_ = along if shape.type in _ROUND_SHAPES else along[:2]
    return shape.type in {*_ROUND_SHAPES, "capsule", "cylinder", "cone"} and float(np.ptp(round_)) > 1e-6 * float(
        along.max()
    )


def _resize_shape(shape: Shape, along: Array) -> Shape:
    """A shape under a scale along its own axes, all negative where it is turned inside out; round ones take the larger
    of what applies."""
    size, factors = dict(shape.size), np.abs(along)
    by_name = {"x": factors[0], "y": factors[1], "z": factors[2], "length": factors[2], "radius": max(factors[:2])}
    for name, factor in by_name.items():
        if name in size:
            size[name] *= float(max(factors) if shape.type in _ROUND_SHAPES else factor)
    spheres = [(radius * float(max(factors)), *(float(x) for x in along * place)) for radius, *place in shape.spheres]
    out = replace(shape, size=size, spheres=[(r, x, y, z) for r, x, y, z in spheres])
    if along[0] < 0.0 and shape.type == "mesh":
        out.size = {name: -value for name, value in size.items()}
    elif along[0] < 0.0 and shape.type in _DIRECTED_SHAPES:
        out.pose = shape.pose @ np.diag([1.0, -1.0, -1.0, 1.0])
    return out


_ROUND_SHAPES = {"sphere", "hemisphere"}
#: What is not the same upside down.
_DIRECTED_SHAPES = {"cone", "pyramid", "hemisphere"}


#: What a shape has besides that it is: its share of the mass of its body, in formats that know one.
_MASS_KEY = "mass"
#: Moments of inertia that differ by no more than this share of the largest are the same in 32 bits.
_MOMENT_TOLERANCE = 3e-7


def derived_masses(bodies: Iterable[Body]) -> dict[str, float]:
    """The masses, by id, of the bodies of a document whose moments of inertia follow from their shapes."""
    return {body.id: body.mass for body in bodies if body.extra.get(DERIVED_MOMENT)}


def shape_masses(bodies: Iterable[Body]) -> dict[str, list[Any]]:
    """The masses that a document states for shapes, None where it states none, by the ids of their bodies."""
    masses = {body.id: [shape.extra.get(_MASS_KEY) for shape in body.shapes] for body in bodies}
    return {body: each for body, each in masses.items() if any(mass is not None for mass in each)}


def with_shape_masses(shapes: list[Shape], masses: list[Any] | None) -> list[Shape]:
    """The shapes of a mirror image, which have the masses of those that they mirror; None: they keep their own."""
    if masses is None:
        return shapes
    return [
        shape if mass is None else replace(shape, extra=shape.extra | {_MASS_KEY: mass})
        for shape, mass in zip_longest(shapes, masses[: len(shapes)])
    ]


def read_mass_edit(obj: bpy.types.Object, body: Body, derived: Mapping[str, float], report: Report) -> None:
    """Take over an edited mass; the moments that the file states go with it.

    What one that was typed into Blender's panel replaced is told where that panel showed less. ``derived``: the
    ``derived_masses`` of the document.
    """
    before, body.mass = body.mass, _edited_mass(obj, body.mass)
    shown = displayed_mass(obj)
    if shown is not None and is_mass_typed(obj) and body.mass == shortest_float(obj.rigid_body.mass):
        report.warn(
            "mass-typed",
            f"It weighs {body.mass:.4g} now, as typed into Blender's Physics tab; there {shown:.4g} stood for "
            f"{before:.4g}, since its flywheel has the rest. What is typed there is the whole",
            where=file_name(obj),
        )
    if body.mass != before and body.inertia is not None and before > 0.0:
        body.inertia = body.inertia * (body.mass / before)
        report.info("inertia-scaled", "Its moments of inertia go with its mass", where=file_name(obj))
    origin = record_of(obj).moment_of
    if origin in derived and is_same_value(record_of(obj).mass, derived[origin]):
        _derive_inertia(body)


def _derive_inertia(body: Body) -> None:
    """Have the moments of inertia of a mirror image follow from its shapes, as those of the body that it mirrors do."""
    tensor = moment_of_shapes(body.shapes, body.mass, body.com)
    if tensor is not None:  # what depends on a mesh is known where meshes are read
        body.inertia, body.extra = tensor, body.extra | {DERIVED_MOMENT: tensor.tolist()}


def _edited_mass(obj: bpy.types.Object, mass: float) -> float:
    """The mass, unless it was edited in our record or on the rigid body itself."""
    if not is_same_value(record_of(obj).mass, mass):
        return shortest_float(record_of(obj).mass)
    if obj.rigid_body is not None and is_mass_typed(obj):
        return shortest_float(obj.rigid_body.mass)
    return mass


def read_com(record: KnuckleObject, body: Body) -> Array:
    """The center of mass of a body, as its record has it; the document's own where that is the same."""
    if all(map(is_same_value, map(float, record.com), body.com.tolist())):
        return body.com
    return np.array([shortest_float(x) for x in record.com])


def read_inertia(record: KnuckleObject, body: Body) -> Array | None:
    """The inertia of a body, as its record has it for a mass of 1; the document's own where that is the same."""
    numbers = record.tensor[:]
    if not any(numbers):
        dropped = body.inertia is not None and bool(unit_tensors([body]))
        return None if dropped else body.inertia
    if body.inertia is not None:
        known = body.inertia.ravel().tolist()
        near = _MOMENT_TOLERANCE * max(map(abs, known))
        if all(abs(now * body.mass - before) <= near for now, before in zip(numbers, known, strict=True)):
            return body.inertia
    tensor = np.array(numbers, dtype=np.float64).reshape(3, 3) * body.mass
    if body.inertia is None:
        return None if body.extra.get("derived_moment") else tensor
    turned = np.abs(np.abs(tensor) - np.abs(body.inertia)) <= near  # mirrored numbers are the document's own
    exact = np.where(np.sign(tensor) * np.sign(body.inertia) < 0.0, -body.inertia, body.inertia)
    return np.where(turned, exact, np.vectorize(shortest_float)(tensor))


def without_rounding(body: Body, before: Array) -> Array:
    """The pose of a body whose center of mass is another: that of ``before`` where 32 bits cannot tell the two apart,
    else without the digits that these do not have."""
    reach = max(1e-3, float(np.abs(before[:3, 3]).max()), float(np.abs(body.com).max()))
    off = np.abs(body.pose - before)
    if off[:3, :3].max() <= 1e-6 and off[:3, 3].max() <= 1e-6 * reach:
        return before
    pose = body.pose.copy()
    pose[:3, 3] = [0.0 if abs(x) <= 1e-7 * reach else shortest_float(x) for x in pose[:3, 3].tolist()]
    return pose
