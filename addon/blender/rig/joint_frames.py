"""Frames of joints on their empties and bodies, and reading of bodies and joints from Blender's objects.

Blender's rigid-body constraints expect axes on certain letters. A lone rotation is on Z, a lone translation on X. Of
several perpendicular axes the first rotation is on Z; of three rotations the second is on Y and the third on X (or
against it), in the order of Blender's generic constraint; all others take the free letters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import bpy
import numpy as np

from ...core.model import Array, Body, DofKind, Joint, Mechanism
from ...core.transforms import inverse, make_pose, restore_zero_axes, rotation_with_z
from ..data.access import record_of
from ..data.caching import joint_record
from ..data.conversion import read_dofs, read_shape, unflatten_pose
from ..data.facts import BODY_PROPERTIES, read_properties
from ..data.properties.joint import KnuckleJoint
from ..data.queries import file_name

#: Axes that deviate from a right angle by up to this cosine count as perpendicular: the precision of 32-bit numbers.
ORTHOGONAL_TOLERANCE = 1e-7
_NO_NAMES: Mapping[str, str] = {}


class DofLike(Protocol):
    """Degree of freedom of a mechanism or of a joint's record, as used here."""

    @property
    def kind(self) -> DofKind:
        """Kind of the degree of freedom."""
        ...

    @property
    def axis(self) -> Array:
        """Axis (3,) in the joint's frame."""
        ...


class JointLike(Protocol):
    """Joint of a mechanism or a joint's record, as used here."""

    @property
    def dofs(self) -> Any:
        """Degrees of freedom, in order."""
        ...


def main_axis(dofs: Sequence[DofLike]) -> Array:
    """Return the unit axis (3,), in the joint's frame, of the first degree of freedom with one; Z if none has one."""
    for dof in dofs:
        if dof.kind in {"rotation", "translation", "screw"}:
            x, y, z = map(float, dof.axis)  # plain numbers: numpy takes five times as long for three
            return np.array((x, y, z)) / math.sqrt(x * x + y * y + z * z)
    return np.array([0.0, 0.0, 1.0])


def constraint_rotation(joint: JointLike) -> Array | None:
    """Return the pose (4, 4) of a joint's empty in the joint's frame, as Blender's constraints need it.

    Its Z is on the axis (X for a translation); several perpendicular axes are each on one of the empty's. None where
    the two frames are the same.
    """
    if len(joint.dofs) == 1 and joint.dofs[0].kind == "rotation":
        x, y, z = joint.dofs[0].axis
        if z == 1.0 and x == y == 0.0:
            return None  # most are so
    several = axes_in_joint(joint.dofs)
    if several is not None:
        return None if np.array_equal(several, np.eye(3)) else make_pose(several)
    x, y, z = axis = main_axis(joint.dofs)
    slides = len(joint.dofs) == 1 and joint.dofs[0].kind == "translation"
    if (x, y, z) == (0.0, 0.0, 1.0) and not slides:
        return None
    turn = rotation_with_z(axis)
    return make_pose(turn @ np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]) if slides else turn)


def axes_in_joint(dofs: Sequence[DofLike]) -> Array | None:
    """Return the axes (3, 3) of the empty of a joint with several directions, as columns in the joint's frame.

    None where there are fewer than two directions, or where they are not perpendicular.
    """
    if len(dofs) < 2:
        return None
    turns = _directions(dofs, {"rotation", "screw"}, [])
    lines = None if turns is None else _directions(dofs, {"translation"}, turns)
    if turns is None or lines is None or len(lines) < 2:
        return None
    first, second = lines[0], lines[1]
    across = np.cross(first, second)
    across /= np.linalg.norm(across)
    second = np.cross(across, first)
    if len(turns) == 3:
        return np.stack([-across, second, first], axis=1)
    return np.stack([second, across, first], axis=1)


def _directions(dofs: Sequence[DofLike], kinds: set[str], known: list[Array]) -> list[Array] | None:
    """Return the known directions and those of degrees of freedom of some kinds.

    None where two of them are neither parallel nor perpendicular.
    """
    lines = list(known)
    for dof in (dof for dof in dofs if dof.kind in kinds):
        axis = np.array(dof.axis, dtype=np.float64)
        axis = axis / np.linalg.norm(axis)
        along = [abs(float(axis @ line)) for line in lines]
        if any(x > 1.0 - ORTHOGONAL_TOLERANCE for x in along):
            continue
        if any(x > ORTHOGONAL_TOLERANCE for x in along):
            return None
        lines.append(axis)
    return lines


def design_pose(obj: bpy.types.Object | None) -> Array:
    """Return the design pose (4, 4) of an object in the armature's frame: its local matrix, unscaled.

    None is the world.
    """
    if obj is None:
        return np.eye(4)
    return restore_zero_axes(np.array(obj.matrix_basis.normalized(), dtype=np.float64)[None])[0]


def joint_frame_matrix(empty: bpy.types.Object) -> Array:
    """Return the frame (4, 4) of a joint on its parent's side in the mechanism's design, from its empty."""
    turn = constraint_rotation(record_of(empty).joint)
    return design_pose(empty) if turn is None else design_pose(empty) @ inverse(turn)


#: Returns the design pose (4, 4) of an object; that of the world for None.
PoseGetter = Callable[[bpy.types.Object | None], Array]


def joint_sides(
    empty: bpy.types.Object, turn: Array | None = None, pose_of: PoseGetter = design_pose
) -> tuple[Array, Array]:
    """Return the frames (4, 4) of a joint on its parent and on its child, which differ in the world for an open loop.

    Args:
        empty: The joint's empty.
        turn: Pose (4, 4) of the wanted axes in the empty's frame; by default the file's axes.
        pose_of: Returns the pose (4, 4) of an object, or of the world for None.
    """
    joint = joint_record(empty)
    if turn is None:
        back = constraint_rotation(joint)
        turn = np.eye(4) if back is None else inverse(back)
    near = pose_of(empty)
    far = near @ unflatten_pose(joint.opening) if joint.is_open else near
    return inverse(pose_of(joint.parent)) @ near @ turn, inverse(pose_of(joint.child)) @ far @ turn


def read_joint(empty: bpy.types.Object, pose_of: PoseGetter = design_pose) -> Joint:
    """Return a joint from its empty and record, with its frames on its bodies' objects."""
    record = record_of(empty).joint
    parent, child = (None if end is None else record_of(end).source_id for end in (record.parent, record.child))
    sides = joint_sides(empty, pose_of=pose_of)
    made = Joint(record_of(empty).source_id, file_name(empty), record.type, parent, child, *sides)
    made.dofs, made.active = read_dofs(record), record.active
    return made


def read_joint_dofs(empties: Iterable[bpy.types.Object]) -> tuple[Mechanism, dict[str, bpy.types.Object]]:
    """Return types and degrees of freedom of joints alone, without frames and bodies, and the empties by id.

    The ids are the names of the empties, which copies too have for themselves.
    """
    objects = {empty.name: empty for empty in empties}
    joints = [Joint(own, own, record_of(empty).joint.type, None, None) for own, empty in objects.items()]
    for joint in joints:
        joint.dofs = read_dofs(record_of(objects[joint.id]).joint)
    return Mechanism(joints=joints), objects


def read_parts(
    bodies: Iterable[bpy.types.Object],
    joints: Iterable[bpy.types.Object],
    pose_of: PoseGetter = design_pose,
    bones: Mapping[str, str] = _NO_NAMES,
) -> Mechanism:
    """Return the mechanism of some bodies and joints as their objects and records have them, regardless of a document.

    Shapes are without the scale of objects, and inertia tensors for mass 1 (``read_body``).

    Args:
        bodies: The bodies.
        joints: The joints; their bodies are added.
        pose_of: Returns the pose (4, 4) of an object, or of the world for None.
        bones: Renamed bones by the id of the joint that they move.
    """
    joints = list(joints)
    ends = (end for each in joints for end in (record_of(each).joint.parent, record_of(each).joint.child))
    read = {obj: read_body(obj, pose_of) for obj in dict.fromkeys((*bodies, *ends)) if obj is not None}

    def place(obj: bpy.types.Object | None) -> Array:
        return read[obj].pose if obj in read else pose_of(obj)

    out = Mechanism(bodies=list(read.values()), joints=[read_joint(empty, place) for empty in joints])
    for joint, empty in zip(out.joints, joints, strict=True):
        joint.name, joint.twin = file_name(empty, bones), record_of(empty).twin or None
    return out


def read_body(obj: bpy.types.Object, pose_of: PoseGetter = design_pose) -> Body:
    """Return a body from its object and record, without the object's scale; its inertia tensor is for mass 1."""
    record = record_of(obj)
    pose, com = pose_of(obj), np.array(record.com, dtype=np.float64)
    pose[:3, 3] -= pose[:3, :3] @ com
    shapes = [read_shape(shape) for shape in record.shapes]
    for shape, kept in zip(shapes, record.shapes, strict=True):
        shape.extra = {"collidable": kept.collidable}
    tensor = np.array(record.tensor, dtype=np.float64).reshape(3, 3) if any(record.tensor) else None
    stored = read_properties(record, BODY_PROPERTIES)
    return Body(record.source_id, file_name(obj), pose, inertia=tensor, shapes=shapes, **stored)


#: Ids of parent and child of a joint; None is the world.
JointBodyIds = tuple[str | None, str | None]


def lost_ends(empty: bpy.types.Object, ends: JointBodyIds, bodies: Collection[bpy.types.Object]) -> dict[str, str]:
    """Return the ends at which a joint lost its body, with the ids of these bodies.

    Args:
        empty: The joint's empty.
        ends: Ids of the bodies that the joint had.
        bodies: All bodies that exist.
    """
    record, lost = record_of(empty).joint, dict[str, str]()
    for end, held, own in (("parent", record.parent, ends[0]), ("child", record.child, ends[1])):
        if held is not None and held not in bodies:
            lost[end] = record_of(held).source_id or own or ""
        elif held is None and own is not None and has_lost_body(record):
            lost[end] = own
    return lost


def has_lost_body(joint: KnuckleJoint) -> bool:
    """Return whether a joint lacks a body; the world may be one of its ends."""
    return (joint.parent, joint.child).count(None) > joint.at_world
