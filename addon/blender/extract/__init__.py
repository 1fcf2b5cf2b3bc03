"""Blender -> model: what stands in the scene as a mechanism again, edits included.

The document that travels with the model is the base: a number that is still what was built keeps the
document's own 64-bit value; one that was edited is taken from Blender.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import bpy
import numpy as np

from ...formats import loads
from ...model.behaviours import Behaviours, Engine
from ...model.kinematics import inverse
from ...model.records import Array, Body, Joint, Mechanism, Shape
from ...model.report import Report
from ..build.joints import constraint_turn
from ..document import document_bytes
from ..model_parts import parts, rig_in
from ..physics.simulation import LEAST_MASS
from ..records import DOF_FIELDS, flat, read_dof, read_shape

__all__ = ["extract"]

T = TypeVar("T", Body, Joint)


def extract(collection: bpy.types.Collection) -> Mechanism:
    """The mechanism of a model's collection, in the file's own axes and with its document.

    Poses, physics and animation do not matter: it is the design that is read. ``report`` says what was
    edited, added and deleted. ValueError where the collection holds no model."""
    rig = rig_in(collection)
    if rig is None:
        raise ValueError(f"Collection {collection.name!r} holds no mechanism: its armature is missing")
    report = Report()
    base = _base(rig)
    mechanism = Mechanism(rig.knuckle.source_name, base.world, source=base.source, report=report)
    present = set(collection.all_objects)
    body_objects = [obj for obj in parts(rig, "BODY") if obj in present]
    joint_objects = [obj for obj in parts(rig, "JOINT") if obj in present]
    ids = {obj: obj.knuckle.source_id for obj in body_objects}
    moved: set[str] = set()
    mechanism.bodies = _merge(base.bodies, body_objects, lambda obj, body: _body(obj, body, moved, report))
    poses = {body.id: body.pose for body in mechanism.bodies}
    mechanism.joints = _merge(
        base.joints, joint_objects, lambda obj, joint: _joint(obj, joint, ids, poses, moved, report)
    )
    for kind, before, after in (("body", base.bodies, mechanism.bodies), ("joint", base.joints, mechanism.joints)):
        gone = {part.id: part.name for part in before}.items() - {part.id: part.name for part in after}.items()
        left = {part.id for part in after}
        for part_id, name in gone:
            if part_id not in left:
                report.info("deleted", f"{kind.capitalize()} {name!r} was deleted", where=part_id)
    _world(rig, mechanism)
    mechanism.behaviours = _behaviours(rig, base)
    mechanism.motions = base.motions
    return mechanism


def _base(rig: bpy.types.Object) -> Mechanism:
    """The mechanism as its document has it; an empty one where there is none."""
    data = document_bytes(rig)
    return Mechanism(rig.knuckle.source_name) if data is None else loads(data, rig.data.knuckle.path)


def _merge(base: Iterable[T], objects: list[bpy.types.Object], read: Callable[[bpy.types.Object, T | None], T]) -> list[T]:
    """Parts in the document's order, then the new ones as they were made."""
    by_id = {obj.knuckle.source_id: obj for obj in objects}
    out: list[T] = []
    seen: set[str] = set()
    for part in base:
        obj = by_id.get(part.id)
        if obj is not None and part.id not in seen:
            seen.add(part.id)
            out.append(read(obj, part))
    return out + [read(obj, None) for obj in objects if obj.knuckle.source_id not in seen]


def _name(obj: bpy.types.Object, old: str | None) -> str:
    """The name for the file: the object's when the user renamed it, else the file's own."""
    record = obj.knuckle
    if obj.name != record.built_name:
        return obj.name
    return record.source_name if old is None else old if record.source_name == old else record.source_name


def _was_moved(obj: bpy.types.Object) -> bool:
    return flat(obj.matrix_basis) != list(obj.knuckle.built)


def _body(obj: bpy.types.Object, old: Body | None, moved: set[str], report: Report) -> Body:
    record = obj.knuckle
    body = old if old is not None else Body(record.source_id, record.source_name, mass=record.mass)
    if old is None:
        report.info("added", f"Body {record.source_name!r} is new", where=body.id)
    body.name = _name(obj, old.name if old is not None else None)
    shapes = [read_shape(shape) for shape in record.shapes]
    if old is None or not _same_shapes(shapes, old.shapes):
        body.shapes = shapes
    if old is None or _was_moved(obj):
        moved.add(body.id)
        scale = obj.matrix_basis.to_scale()
        body.pose = np.array(obj.matrix_basis.normalized(), dtype=np.float64)
        body.pose[:3, 3] -= body.pose[:3, :3] @ body.com
        if max(abs(part - 1.0) for part in scale) > 1e-6:
            body.shapes = [_scaled(shape, np.array(scale)) for shape in body.shapes]
    body.mass = _edited_mass(obj, body.mass)
    body.twin = _kept(record.twin, body.twin)
    body.immobile = record.immobile
    return body


def _edited_mass(obj: bpy.types.Object, mass: float) -> float:
    """The mass, unless it was edited in our record or on the rigid body itself."""
    if np.float32(obj.knuckle.mass) != np.float32(mass):
        return obj.knuckle.mass
    if obj.rigid_body is not None and np.float32(obj.rigid_body.mass) != np.float32(max(mass, LEAST_MASS)):
        return obj.rigid_body.mass
    return mass


def _kept(now: str, before: str | None) -> str | None:
    return before if now == (before or "") else now or None


def _same_shapes(now: list[Shape], before: list[Shape]) -> bool:
    def key(shape: Shape) -> tuple[object, ...]:
        color = None if shape.color is None else tuple(np.float32(shape.color))
        size = {name: np.float32(value) for name, value in shape.size.items()}
        return shape.type, size, shape.visual, shape.collision, color, shape.mesh, tuple(np.float32(shape.pose).ravel())

    return [key(shape) for shape in now] == [key(shape) for shape in before]


def _scaled(shape: Shape, scale: Array) -> Shape:
    """A shape under an object's scale; round ones take the larger of what applies."""
    size = dict(shape.size)
    along = np.abs(shape.pose[:3, :3].T) @ scale  # the scale as the shape's own axes feel it
    across = float(max(along[0], along[1]))
    for name, factor in {"x": along[0], "y": along[1], "z": along[2], "length": along[2], "radius": across}.items():
        if name in size:
            size[name] *= float(max(along) if shape.type == "sphere" else factor)
    pose = shape.pose.copy()
    pose[:3, 3] *= scale
    return Shape(shape.type, size, pose, shape.visual, shape.collision, shape.color, shape.mesh)


def _joint(
    obj: bpy.types.Object,
    old: Joint | None,
    ids: dict[bpy.types.Object, str],
    poses: dict[str, Array],
    moved: set[str],
    report: Report,
) -> Joint:
    record = obj.knuckle
    part = record.joint
    parent, child = ids.get(part.parent), ids.get(part.child)
    joint = old if old is not None else Joint(record.source_id, record.source_name, part.type, parent, child)
    if old is None:
        report.info("added", f"Joint {record.source_name!r} is new", where=joint.id)
    joint.name = _name(obj, old.name if old is not None else None)
    rewired = (parent, child) != (joint.parent, joint.child)
    if old is None or rewired or _was_moved(obj) or {joint.parent, joint.child} & moved:
        joint.parent, joint.child = parent, child
        joint.active = parent is not None and child is not None and parent != child and part.active
        frame, turn = np.array(obj.matrix_basis.normalized(), dtype=np.float64), constraint_turn(part)
        frame = frame if turn is None else frame @ inverse(turn)
        joint.frame_parent = inverse(poses[parent]) @ frame if parent is not None else frame
        joint.frame_child = inverse(poses[child]) @ frame if child is not None else frame
    if old is None:
        joint.dofs = [read_dof(dof) for dof in part.dofs]
    else:
        for mine, theirs in zip(joint.dofs, part.dofs, strict=False):
            now = read_dof(theirs)
            for name in (*DOF_FIELDS, "lower", "upper"):
                if not _equal32(getattr(now, name), getattr(mine, name)):
                    setattr(mine, name, getattr(now, name))
    joint.twin = _kept(record.twin, joint.twin)
    return joint


def _equal32(now: object, before: object) -> bool:
    if isinstance(now, float) and isinstance(before, (int, float)):
        return bool(np.float32(now) == np.float32(before))
    return now == before


def _world(rig: bpy.types.Object, mechanism: Mechanism) -> None:
    model, world = rig.data.knuckle, mechanism.world
    if not np.array_equal(np.float32(model.gravity), np.float32(world.gravity)):
        world.gravity = np.array(model.gravity, dtype=np.float64)
    for name in ("friction", "erp", "cfm"):
        if not _equal32(getattr(model, name), getattr(world, name) or 0.0):
            setattr(world, name, getattr(model, name))


def _behaviours(rig: bpy.types.Object, base: Mechanism) -> Behaviours | None:
    behaviours: Behaviours | None = base.behaviours
    if behaviours is None:
        return None
    engine: Engine = behaviours.engine
    model = rig.data.knuckle
    for name in ("standard_speed", "speed_factor", "pose_delay", "pose_phase"):
        if not _equal32(getattr(model, name), getattr(engine, name)):
            setattr(engine, name, getattr(model, name))
    return behaviours
