"""Present shapes and mass properties of a body: from its record, object scale, collision children and rigid body.

Masses are edited in our record or on the rigid body; mirroring edits centers of mass and moments of inertia.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ....core.model import Array, Body, Shape
from ....core.report import Message, Report
from ....formats.skel.to_model_shapes import DERIVED_MOMENT, moment_of_shapes
from ...data.access import is_renamed, record_of, rigid_body_of
from ...data.conversion import read_shape
from ...data.facts import MOMENT_TOLERANCE, SHAPE_PROPERTIES, is_same_value, pull, shortest_float
from ...data.properties.joint import KnuckleShape
from ...data.properties.model import KnuckleObject
from ...data.queries import file_name, is_numbered_copy
from ...data.rigid_bodies import displayed_mass, is_collision_child, is_mass_typed
from ..bodies import unit_tensors
from .design_poses import DesignPoses
from .edit_detection import edited_pose, was_moved

#: Collision children with their design matrices on the body, by body and shape index.
CollisionChildren = dict[tuple[bpy.types.Object, int], tuple[bpy.types.Object, Matrix]]


def read_collision_children(
    objects: Iterable[bpy.types.Object], bodies: Mapping[str, bpy.types.Object], designs: DesignPoses, report: Report
) -> CollisionChildren:
    """Find the collision children of bodies, whatever their parents are now; ``bodies`` are by id.

    Copies of children are left out and reported.
    """
    shapes = [obj for obj in objects if is_collision_child(obj)]
    holders = {obj: _body_of_child(obj, bodies) for obj in shapes}
    out: CollisionChildren = {}
    for obj in sorted(shapes, key=lambda obj: (obj.parent != holders[obj], is_renamed(obj))):
        holder, number = holders[obj], record_of(obj).shape
        if holder is not None and (holder, number) not in out:
            out[holder, number] = obj, designs.on(obj, holder)
        elif obj.parent is not None or holder is not None:
            message = Message("{}: not exported, it is a copy or a collision shape of another body", repr(obj.name))
            report.warn("stranger", message, where=obj.name)
    return out


def _body_of_child(obj: bpy.types.Object, bodies: Mapping[str, bpy.types.Object]) -> bpy.types.Object | None:
    """Return the body of a collision child.

    It is the parent if that has the body's id, as copies of the body have, else the body of this id.
    """
    own = record_of(obj).source_id.rpartition("/")[0]
    return obj.parent if obj.parent is not None and record_of(obj.parent).source_id == own else bodies.get(own)


def read_body_shapes(
    obj: bpy.types.Object, own: str, before: list[Shape], com: Array, children: CollisionChildren, report: Report
) -> list[Shape]:
    """Read the shapes of a body's object.

    A collision child that was moved or scaled changes its shape, and one that was deleted removes it. A copy of a body
    need not have copies of the children.

    Args:
        obj: The object.
        own: Its id.
        before: The document's shapes.
        com: Center of mass of the body, (3,).
        children: Collision children.
        report: Gets an entry for each deleted child.
    """
    now = edited_shapes(record_of(obj).shapes, before)
    is_copy = _may_lack_children(obj, own)
    out = []
    for number, (shape, kept) in enumerate(zip(now, record_of(obj).shapes, strict=True)):
        if (obj, number) in children:
            out.append(_follow_child(shape, *children[obj, number], com))
            continue
        if not kept.has_child or is_copy:
            out.append(shape)
            continue
        report.info(
            "deleted",
            Message("{} {} was deleted{}", "Collision shape of", repr(obj.name), f" ({shape.type})"),
            where=obj.name,
        )
        if shape.visual:
            out.append(replace(shape, collision=False))
    return out


def _may_lack_children(obj: bpy.types.Object, own: str) -> bool:
    """Return whether a body is a copy that may lack collision children which nobody deleted.

    Such a copy has no id of its own yet, or was created without children, or has replaced its original and has its id:
    only its name shows that.
    """
    record = record_of(obj)
    return own != record.source_id or record.without_children or is_numbered_copy(obj.name, record.baseline_name)


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


def edited_shapes(records: Sequence[KnuckleShape], before: Sequence[Shape]) -> list[Shape]:
    """Return the shapes in records, with the document's numbers where they are the same in 32 bits."""
    if [kept.type for kept in records] != [shape.type for shape in before]:
        now = map(read_shape, records)
        return [replace(shape, size={key: shortest_float(value) for key, value in shape.size.items()}) for shape in now]
    out = []
    for kept, old in zip(records, before, strict=True):
        out.append(replace(old))
        pull(kept, SHAPE_PROPERTIES, out[-1])
    return out


def scale_shape(shape: Shape, scale: Array, about: Array) -> Shape:
    """Scale a shape by the ``scale`` (3,) of its body's object, whose origin is the point ``about`` of the body."""
    pose = shape.pose.copy()
    pose[:3, 3] = about + scale * (pose[:3, 3] - about)
    along = _scale_along_axes(shape, scale)
    return _resize_shape(replace(shape, pose=pose), along if scale[0] > 0.0 else -along)


def _scale_along_axes(shape: Shape, scale: Array) -> Array:
    """Return the factors (3,) by which a scale of the body stretches a shape along the shape's own axes."""
    stretched: Array = np.linalg.norm(scale[:, None] * shape.pose[:3, :3], axis=0)
    return stretched


def is_uneven(shape: Shape, scale: Array) -> bool:
    """Return whether a scale would deform a round shape into one that is no primitive."""
    along = _scale_along_axes(shape, scale)
    round_ = along if shape.type in _ROUND_SHAPES else along[:2]
    return shape.type in {*_ROUND_SHAPES, "capsule", "cylinder", "cone"} and float(np.ptp(round_)) > 1e-6 * float(
        along.max()
    )


def _resize_shape(shape: Shape, along: Array) -> Shape:
    """Scale a shape along its own axes; all factors are negative where it is mirrored.

    Round shapes take the larger of the factors that apply.
    """
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
#: Shapes that differ when turned upside down.
_DIRECTED_SHAPES = {"cone", "pyramid", "hemisphere"}


#: Key in a shape's extension data of its share of the body's mass, in formats that have one.
_MASS_KEY = "mass"
#: Tolerance of moments of inertia that were derived from shapes, as a share of the largest.
_DERIVED_TOLERANCE = 1e-5


def derived_masses(bodies: Iterable[Body]) -> dict[str, float]:
    """Return the masses, by id, of a document's bodies whose moments of inertia are derived from their shapes."""
    return {body.id: body.mass for body in bodies if body.extra.get(DERIVED_MOMENT)}


def shape_masses(bodies: Iterable[Body]) -> dict[str, list[Any]]:
    """Return the masses that a document states for shapes, None where it states none, by body id."""
    masses = {body.id: [shape.extra.get(_MASS_KEY) for shape in body.shapes] for body in bodies}
    return {body: each for body, each in masses.items() if any(mass is not None for mass in each)}


def with_shape_masses(shapes: list[Shape], masses: list[Any] | None) -> list[Shape]:
    """Return the shapes of a mirror image with the masses of the mirrored shapes; None: with their own."""
    if masses is None:
        return shapes
    return [
        shape if mass is None else replace(shape, extra=shape.extra | {_MASS_KEY: mass})
        for shape, mass in zip_longest(shapes, masses[: len(shapes)])
    ]


def read_mass_edit(obj: bpy.types.Object, body: Body, derived: Mapping[str, float], report: Report) -> None:
    """Apply an edited mass; stated moments of inertia are scaled with it.

    A mass typed into Blender's panel is that of the whole body. Where the panel showed less, because an inertia proxy
    has the rest, the report has what was replaced. ``derived``: the ``derived_masses`` of the document.
    """
    before, body.mass = body.mass, _edited_mass(obj, body.mass)
    shown = displayed_mass(obj)
    if shown is not None and is_mass_typed(obj) and body.mass == shortest_float(rigid_body_of(obj).mass):
        report.warn(
            "mass-typed",
            Message(
                "Mass: now {} kg as entered in Blender's Physics tab, which showed {} of {} kg. Its inertia "
                "proxy has the rest",
                f"{body.mass:.4g}",
                f"{shown:.4g}",
                f"{before:.4g}",
            ),
            where=file_name(obj),
        )
    if body.mass != before and body.inertia is not None and before > 0.0:
        body.inertia = body.inertia * (body.mass / before)
        report.info("inertia-scaled", "Moments of inertia: scaled with the mass", where=file_name(obj))
    origin = record_of(obj).moment_of
    if origin in derived and is_same_value(record_of(obj).mass, derived[origin]):
        derive_inertia(body)


def are_reshaped(before: Sequence[Shape], now: Sequence[Shape]) -> bool:
    """Return whether shapes were moved, resized, added or removed."""
    return len(before) != len(now) or any(
        not np.array_equal(one.pose, other.pose) or one.size != other.size
        for one, other in zip(before, now, strict=True)
    )


def has_inertia_of_shapes(body: Body, shapes: Sequence[Shape]) -> bool:
    """Return whether the moments of inertia of a body are those of given shapes.

    In SKEL a body without any ``<inertia>`` has the unit tensor, whatever its shapes.
    """
    tensor = moment_of_shapes(shapes, body.mass, body.com)
    return (
        tensor is not None
        and body.inertia is not None
        and bool(np.abs(tensor - body.inertia).max() <= _DERIVED_TOLERANCE * np.abs(tensor).max())
    )


def derive_inertia(body: Body) -> None:
    """Derive the moments of inertia of a body from its shapes, where its file states none."""
    tensor = moment_of_shapes(body.shapes, body.mass, body.com)
    if tensor is not None:  # with meshes it is derived where these are read
        body.inertia, body.extra = tensor, body.extra | {DERIVED_MOMENT: tensor.tolist()}


def _edited_mass(obj: bpy.types.Object, mass: float) -> float:
    """Return the mass as edited in our record or on the rigid body, else ``mass``."""
    if not is_same_value(record_of(obj).mass, mass):
        return shortest_float(record_of(obj).mass)
    if obj.rigid_body is not None and is_mass_typed(obj):
        return shortest_float(obj.rigid_body.mass)
    return mass


def read_inertia(record: KnuckleObject, body: Body) -> Array | None:
    """Return a body's inertia (3, 3) from its record, which has it for a mass of 1; None where none is stated.

    The document's own tensor is returned where they are the same in 32 bits.
    """
    numbers = record.tensor[:]
    if not any(numbers):
        dropped = body.inertia is not None and bool(unit_tensors([body]))
        return None if dropped else body.inertia
    if body.inertia is not None:
        known = body.inertia.ravel().tolist()
        near = MOMENT_TOLERANCE * max(map(abs, known))
        if all(abs(now * body.mass - before) <= near for now, before in zip(numbers, known, strict=True)):
            return body.inertia
    tensor = np.array(numbers, dtype=np.float64).reshape(3, 3) * body.mass
    if body.inertia is None:
        return None if body.extra.get("derived_moment") else tensor
    turned = np.abs(np.abs(tensor) - np.abs(body.inertia)) <= near  # mirrored numbers keep the document's digits
    exact = np.where(np.sign(tensor) * np.sign(body.inertia) < 0.0, -body.inertia, body.inertia)
    return np.where(turned, exact, np.vectorize(shortest_float)(tensor))


def without_rounding(body: Body, before: Array) -> Array:
    """Return the pose of a body whose center of mass was changed, without digits beyond 32 bits.

    It is the pose ``before`` where the two are equal in 32 bits.
    """
    reach = max(1e-3, float(np.abs(before[:3, 3]).max()), float(np.abs(body.com).max()))
    off = np.abs(body.pose - before)
    if off[:3, :3].max() <= 1e-6 and off[:3, 3].max() <= 1e-6 * reach:
        return before
    pose = body.pose.copy()
    pose[:3, 3] = [0.0 if abs(x) <= 1e-7 * reach else shortest_float(x) for x in pose[:3, 3].tolist()]
    return pose
