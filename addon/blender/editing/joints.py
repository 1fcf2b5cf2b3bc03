"""Editing of joints: changing type, swapping parent and child, moving, placing and deleting.

A joint of another type keeps its bodies where they are seen. The joint values of the new type reproduce the old motion
as far as possible (a hinge at 0.5 rad becomes a ball joint rotated by 0.5 rad); the rest goes into the design (a hinge
that becomes fixed is fixed as it is seen).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, cast

import bmesh
import bpy
import numpy as np
from mathutils import Matrix, Vector
from mathutils.bvhtree import BVHTree

from ...core.editing.twins import mirror_stops
from ...core.joint_types import convert_dofs
from ...core.kinematics import joint_motion, joint_values_from_transform
from ...core.loops.linkage_solver import find_linkages
from ...core.model import DOF_SIZE, Array, Dof, Joint
from ...core.report import Message, Report
from ...core.transforms import inverse, rotation_matrix, rotation_with_z
from ..animation.loops.live_solver import loops_mechanism
from ..data.access import record_of
from ..data.conversion import flatten_pose, initial_dof_coordinates, read_dofs, unflatten_pose, write_dofs
from ..data.properties.joint import KnuckleJoint
from ..data.queries import parts, record_deletion
from ..events.signals import signals_blocked
from ..reconcile.foreign_objects import attached_objects, preserve_world_poses
from ..reconcile.motion_change import KeyframePoses, joints_sharing_loops, key_held_joints
from ..reconcile.rig_state import JointEdit, joint_in_design, rigid_matrix, set_design_pose
from ..reconcile.rig_update import assign_ids, begin_edit, physics_suspended, update_armature
from ..rig.joint_frames import constraint_rotation

#: Tolerance of entries of equal motions.
_TOLERANCE = 1e-9


def retype_edit(old: Sequence[Dof], seen: Array, new: Sequence[Dof], kept: Sequence[Dof] = ()) -> JointEdit:
    """Return the edit that gives a joint other degrees of freedom, and set the initial values of the new ones.

    These reproduce the initial pose of the bodies as far as possible.

    Args:
        old: The degrees of freedom as they were.
        seen: Their joint values (size,) as seen.
        new: The new degrees of freedom.
        kept: The old ones as objects: those that continue are in ``new`` themselves.
    """
    start = _concatenate(dof.initial for dof in old)
    now = _convert_values(old, kept, new, seen)
    if start.any() or any(dof.initial.any() for dof in new):
        for dof, begins in zip(new, _split_by_dof(new, _convert_values(old, kept, new, start)), strict=True):
            if DOF_SIZE[dof.kind] == 1:
                dof.position = float(begins[0])
            else:
                dof.start = tuple(begins.tolist()) if begins.any() else ()
    return JointEdit(now, now, _match_dofs(old, kept, new))


def _match_dofs(old: Sequence[Dof], kept: Sequence[Dof], new: Sequence[Dof]) -> dict[int, tuple[int, float]]:
    """Return new index and factor of each old joint value that continues: of degrees of freedom about the same axis."""
    first, second = _first_indices(old), _first_indices(new)
    out: dict[int, tuple[int, float]] = {}
    for number, (dof, was) in enumerate(zip(kept, old, strict=False)):
        at = next((place for place, each in enumerate(new) if each is dof), None)
        if at is None or (DOF_SIZE[was.kind] == 1 and not np.allclose(was.axis, dof.axis, atol=1e-6)):
            continue
        out |= {first[number] + k: (second[at] + k, 1.0) for k in range(DOF_SIZE[was.kind])}
    return out


def _convert_values(old: Sequence[Dof], kept: Sequence[Dof], new: Sequence[Dof], value: Array) -> Array:
    """Return the new joint values nearest to old ones.

    Degrees of freedom that continue keep their values, as their keyframes do.
    """
    numbers = dict(zip(map(id, kept), _split_by_dof(old, value), strict=False))
    same = _concatenate(numbers.get(id(dof), np.zeros(DOF_SIZE[dof.kind])) for dof in new)
    motion = _motion(old, value)
    if _match_dofs(old, kept, new) or np.abs(_motion(new, same) - motion).max() < _TOLERANCE:
        return same
    near = joint_values_from_transform(_joint_with(new), motion[None])[0]
    return np.where(np.abs(near) < _TOLERANCE, 0.0, near)


def _first_indices(dofs: Sequence[Dof]) -> list[int]:
    return np.cumsum([0, *(DOF_SIZE[dof.kind] for dof in dofs)]).tolist()


def _concatenate(coordinates: Iterable[Array]) -> Array:
    return np.concatenate([np.zeros(0), *coordinates])


def _split_by_dof(dofs: Sequence[Dof], coordinates: Array) -> list[Array]:
    """Split joint values into those of each degree of freedom."""
    return np.split(coordinates, np.cumsum([DOF_SIZE[dof.kind] for dof in dofs])[:-1]) if dofs else []


def _joint_with(dofs: Sequence[Dof]) -> Joint:
    return Joint("", "", "", None, None, dofs=list(dofs))


def _motion(dofs: Sequence[Dof], coordinates: Array) -> Array:
    return joint_motion(_joint_with(dofs), coordinates[None])[0]


def reversal_edit(dofs: Sequence[Dof], pose: Array | None) -> JointEdit:
    """Return the edit of a joint whose parent and child are swapped.

    Its motion is inverted, with the degrees of freedom in reverse order.

    Args:
        dofs: Its degrees of freedom before.
        pose: Its channel values (size,), or None.
    """
    sizes = [DOF_SIZE[dof.kind] for dof in dofs]
    firsts, ends = np.cumsum([0, *sizes]).tolist(), np.cumsum([0, *sizes[::-1]]).tolist()
    numbers: dict[int, tuple[int, float]] = {}
    values = [np.zeros(0)]
    for place, (dof, size) in enumerate(zip(dofs[::-1], sizes[::-1], strict=True)):
        first = firsts[len(dofs) - 1 - place]
        numbers |= {first + k: (ends[place] + k, -1.0) for k in range(size)}
        if pose is not None:
            values.append(_reversed_values(pose[first : first + size], dof.kind))
    return JointEdit(None, None if pose is None else np.concatenate(values), numbers)


def _reversed_values(values: Array, kind: str) -> Array:
    """Return the values of one degree of freedom of the inverse motion."""
    out = -values + 0.0
    if kind == "free":
        out[3:] = -rotation_matrix(values[:3]).T @ values[3:] + 0.0
    return out


def joint_frame_matrix(empty: bpy.types.Object) -> Array:
    """Return the frame (4, 4) of a joint in the mechanism's design, from its empty."""
    turn = constraint_rotation(record_of(empty).joint)
    basis = rigid_matrix(empty.matrix_basis)
    return basis if turn is None else basis @ inverse(turn)


def set_joint_frame(empty: bpy.types.Object, frame: Array) -> None:
    """Place a joint's empty at a frame (4, 4) in the design, rotated as its degrees of freedom require."""
    turn = constraint_rotation(record_of(empty).joint)
    set_design_pose(empty, frame if turn is None else frame @ turn)


#: Fields of degrees of freedom that exist only in Blender.
_BLENDER_FIELDS = ("servo_stiffness", "servo_damping", "is_marked")


def set_dofs(empty: bpy.types.Object, dofs: Sequence[Dof], before: Sequence[Dof] = ()) -> None:
    """Set the degrees of freedom of a joint, in the same frame.

    Those among ``before``, the previous ones as they were read, keep their fields that exist only in Blender.
    """
    frame, record = joint_frame_matrix(empty), record_of(empty).joint
    opening = side_offset(record)
    own = [[getattr(kept, name) for name in _BLENDER_FIELDS] for kept in record.dofs]
    record.dofs.clear()
    record.parts.clear()
    write_dofs(record, dofs)
    for kept, dof in zip(record.dofs, dofs, strict=True):
        at = next((number for number, old in enumerate(before) if old is dof), None)
        for name, value in zip(_BLENDER_FIELDS, own[at] if at is not None else (), strict=False):
            setattr(kept, name, value)
    set_joint_frame(empty, frame)
    set_side_offset(record, opening)


def set_joint_type(empty: bpy.types.Object, type_: str) -> Report:
    """Change the type of a joint, about its present axis.

    Degrees of freedom that continue keep stops, motor, springs and keyframes, and the bodies stay where they are seen.
    A joint of the type already is left unchanged.

    Raises:
        ValueError: The type is unknown.
    """
    record = record_of(empty).joint
    before = read_dofs(record)
    dofs = convert_dofs(before, type_)
    if record.type == type_ and [dof.kind for dof in dofs] == [dof.kind for dof in before]:
        return Report()
    return change_joint_type(empty, dofs, type_, before)


def change_joint_type(
    empty: bpy.types.Object,
    dofs: Sequence[Dof],
    type_: str,
    before: Sequence[Dof] = (),
    then: Callable[[], None] | None = None,
) -> Report:
    """Set type and degrees of freedom of a joint; its bodies stay where they are seen.

    Args:
        empty: The joint's empty.
        dofs: The new degrees of freedom.
        type_: The new type.
        before: The previous ones as they were read: those among ``dofs`` continue.
        then: Called once the record is changed.
    """
    rig, record = record_of(empty).model, record_of(empty).joint
    assign_ids(rig)
    own = record_of(empty).source_id
    key_held_joints(rig, {own})
    present = begin_edit(rig)
    seen = present.coordinates(empty, joint_frame_matrix(empty), side_offset(record))
    with signals_blocked():
        _close_initial_pose(rig, own)
    edit, motion = (
        retype_edit(read_dofs(record), seen, dofs, before),
        KeyframePoses(rig, present, {own, *joints_sharing_loops(rig, {own})}),
    )
    with signals_blocked():
        set_dofs(empty, dofs, before)
        record.type = type_
        if then is not None:
            then()
    report = update_armature(rig, present, {own: edit})
    report.extend(motion.change())
    return report


def _close_initial_pose(rig: bpy.types.Object, joint: str) -> None:
    """Make the assembled initial values of a joint's closed loops the initial values of the file too.

    With other degrees of freedom the loops would close elsewhere, starting from the file's values.
    """
    empties = {record_of(each).source_id: each for each in parts(rig, "JOINT")}
    assembled = {own for own, each in empties.items() if any(dof.assembled for dof in record_of(each).joint.dofs)}
    for linkage in find_linkages(loops_mechanism(rig)) if assembled else ():
        for own in assembled.intersection(linkage.joints) if joint in linkage.joints else ():
            for dof in record_of(empties[own]).joint.dofs:
                begins = initial_dof_coordinates(dof)
                if len(begins) == 1:
                    (dof.position,) = begins
                else:
                    dof.start = [*begins, *[0.0] * (6 - len(begins))]
                dof.assembled = False


def require_swappable(empty: bpy.types.Object) -> None:
    """Raise ValueError if parent and child of a joint cannot be swapped."""
    record = record_of(empty).joint
    if record.parent is None or record.child is None:
        raise ValueError(Message("{}: not between two bodies", repr(empty.name)))
    if any(dof.kind == "free" and dof.initial.any() for dof in read_dofs(record)):
        raise ValueError(
            Message(
                "{}: a free joint with an initial value other than 0. Move its bodies together first", repr(empty.name)
            )
        )


def swap_ends(empty: bpy.types.Object) -> Report:
    """Swap parent and child of a joint.

    The mechanism remains the same: joint values change sign, and with them stops, initial and rest values, the pose and
    keyframes.

    Raises:
        ValueError: The joint lacks a body, or is free and its initial values are not zero.
    """
    require_swappable(empty)
    record = record_of(empty).joint
    dofs = read_dofs(record)
    rig, frame, opening = record_of(empty).model, joint_frame_matrix(empty), side_offset(record)
    present, own = begin_edit(rig), record_of(empty).source_id
    edit = reversal_edit(dofs, present.pose.get(own))
    with signals_blocked():
        record.parent, record.child = record.child, record.parent
        set_dofs(empty, [_reversed_dof(dof) for dof in reversed(dofs)], dofs)
        if opening is not None:
            set_joint_frame(empty, frame @ opening)
            set_side_offset(record, inverse(opening))
    return update_armature(rig, present, {own: edit})


def _reversed_dof(dof: Dof) -> Dof:
    dof.lower, dof.upper = mirror_stops(dof.lower, dof.upper, -1.0)
    dof.position, dof.velocity, dof.rest = -dof.position + 0.0, -dof.velocity + 0.0, -dof.rest + 0.0
    if DOF_SIZE[dof.kind] > 1:
        dof.start, dof.start_rates = (
            tuple(-number + 0.0 for number in numbers) for numbers in (dof.start, dof.start_rates)
        )
        dof.parts = [_reversed_dof(part) for part in dof.parts]
    return dof


def move_joint(empty: bpy.types.Object, place: Matrix, keep_axes: bool = False) -> Report:
    """Move a joint; its bodies stay where they are, also if they are posed.

    The design of what it carries changes to the pose that this would have at joint values 0.

    Args:
        empty: The joint's empty.
        place: New frame of the joint in the world; Z is a hinge's axis.
        keep_axes: Change only its origin.
    """
    record = record_of(empty).joint
    carrier = record.parent if record.parent is not None or record.at_world else record.child
    frame = joint_in_design(record_of(empty).model, carrier, place)
    if keep_axes:
        frame[:3, :3] = joint_frame_matrix(empty)[:3, :3]
    return move_joint_to(empty, frame)


def move_joint_to(empty: bpy.types.Object, frame: Array) -> Report:
    """Move a joint to a frame (4, 4) of the mechanism's design; its bodies stay where they are."""
    rig = record_of(empty).model
    present, own = begin_edit(rig), record_of(empty).source_id
    seen = present.coordinates(empty, joint_frame_matrix(empty), side_offset(record_of(empty).joint))
    with signals_blocked():
        set_joint_frame(empty, frame)
    return update_armature(rig, present, {own: JointEdit(seen)})


def side_offset(record: KnuckleJoint) -> Array | None:
    """Return the transform (4, 4) from a joint's parent side to its child side in its frame; None for the identity."""
    if not record.is_open:
        return None
    turn = constraint_rotation(record)
    opening = unflatten_pose(record.opening)
    return opening if turn is None else turn @ opening @ inverse(turn)


def set_side_offset(record: KnuckleJoint, opening: Array | None) -> None:
    """Set the transform (4, 4) from a joint's parent side to its child side in its frame; None: the identity."""
    record.is_open = opening is not None and bool(np.abs(opening - np.eye(4)).max() > 1e-9)
    if opening is not None:
        turn = constraint_rotation(record)
        record.opening = flatten_pose(opening if turn is None else inverse(turn) @ opening @ turn)


def delete_parts(rig: bpy.types.Object, objects: Iterable[bpy.types.Object]) -> tuple[int, int, Report]:
    """Delete bodies and joints of a mechanism, with the joints of deleted bodies.

    The user's objects that are parented to them stay where they are.

    Returns:
        Number of deleted bodies, number of deleted joints, and the report.

    Raises:
        ValueError: None of the objects is a body or joint of the mechanism.
    """
    chosen = [obj for obj in objects if record_of(obj).model == rig]
    bodies = {obj for obj in chosen if record_of(obj).role == "BODY"}
    joints = {obj for obj in chosen if record_of(obj).role == "JOINT"}
    if not (bodies or joints):
        raise ValueError("Select bodies or joints of the mechanism to delete them")
    for empty in parts(rig, "JOINT"):
        joint = record_of(empty).joint
        if joint.parent in bodies or joint.child in bodies:
            joints.add(empty)
    assign_ids(rig)
    gone = {record_of(empty).source_id for empty in joints}
    key_held_joints(rig, gone)
    report, present = Report(), begin_edit(rig)
    motion = KeyframePoses(rig, present, joints_sharing_loops(rig, gone))
    with physics_suspended(rig, report):
        hung, strangers = attached_objects([*bodies, *joints], rig)
        shapes = [obj for obj in hung if record_of(obj).role not in {"BODY", "JOINT"}]
        with preserve_world_poses(strangers):
            _unlink_deleted_twins(rig, bodies | joints)
            for obj in strangers:
                obj.parent = None
            record_deletion(rig, [record_of(obj).source_id for obj in (*bodies, *joints)])
            bpy.data.batch_remove([*joints, *shapes, *bodies])
            report.extend(update_armature(rig, present))
    report.extend(motion.change())
    return len(bodies), len(joints), report


def _unlink_deleted_twins(rig: bpy.types.Object, gone: set[bpy.types.Object]) -> None:
    """Clear the twin of parts that stay and whose twin is deleted.

    All at once, since finding the twin of each would search the mechanism every time.
    """
    for role in ("BODY", "JOINT"):
        objects = parts(rig, role)
        left = {record_of(obj).source_id for obj in objects if obj not in gone}
        lost = {record_of(obj).source_id for obj in objects if obj in gone} - left
        for obj in objects:
            if record_of(obj).twin in lost:
                record_of(obj).twin = ""


PlacementMode = Literal["CURSOR", "FACE", "RING", "NEAREST", "CHILD"]


def joint_placement(
    context: bpy.types.Context, where: PlacementMode, parent: bpy.types.Object | None, child: bpy.types.Object
) -> Matrix:
    """Return the frame for a new joint in the world; Z is a hinge's axis.

    Args:
        context: The context, with the selection.
        where: 3D cursor, active face, selected ring of edges, nearest points of the bodies, or the child's origin.
        parent: The parent body, or None for the world.
        child: The child body.

    Raises:
        ValueError: The selection does not determine it; the message says what to select.
    """
    if where == "CURSOR":
        return context.scene.cursor.matrix.copy()
    if where == "CHILD":
        return child.matrix_world.normalized()
    if where == "NEAREST":
        if parent is None:
            raise ValueError("Nearest points: they are between two bodies. Select both")
        return nearest_points_pose(parent, child)
    bodies = [obj for obj in (context.view_layer.objects.active, child, parent) if obj is not None]
    find = _face_pose if where == "FACE" else _ring_pose
    for obj in dict.fromkeys(bodies):
        found = find(obj) if obj.type == "MESH" else None
        if found is not None:
            return found
    if where == "FACE":
        raise ValueError("Face: none is active. Select one in Edit Mode on either body")
    raise ValueError(
        "Ring: none is selected. Select an edge loop, or the vertices of a circle, in Edit Mode on either body"
    )


def _world_points(obj: bpy.types.Object) -> Array:
    mesh = cast(bpy.types.Mesh, obj.data)
    numbers = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", numbers)  # type: ignore[arg-type]
    world = np.array(obj.matrix_world, dtype=np.float64)
    return numbers.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]


def _pose_with_axis(place: Array, axis: Array) -> Matrix:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation_with_z(axis / np.linalg.norm(axis)), place
    return Matrix(pose.tolist())


def _face_pose(obj: bpy.types.Object) -> Matrix | None:
    """Return the frame at the center of a mesh's active face, Z along its normal; None without an active face."""
    mesh = cast(bpy.types.Mesh, obj.data)
    if obj.mode == "EDIT":
        active = bmesh.from_edit_mesh(mesh).faces.active
        corners = [vertex.co for vertex in active.verts] if active is not None else []
    else:
        number = mesh.polygons.active
        chosen = 0 <= number < len(mesh.polygons) and mesh.polygons[number].select
        corners = [mesh.vertices[index].co for index in mesh.polygons[number].vertices] if chosen else []
    if not corners:
        return None
    points = np.array([obj.matrix_world @ corner for corner in corners])
    middle = points.mean(axis=0)
    normal = np.zeros(3)
    for here, there in zip(points - middle, np.roll(points, -1, axis=0) - middle, strict=True):
        normal += np.cross(here, there)
    return _pose_with_axis(middle, normal) if np.linalg.norm(normal) > 0.0 else None


def _ring_pose(obj: bpy.types.Object) -> Matrix | None:
    """Return the frame at the center of a mesh's selected vertices, Z normal to their plane; None without a ring."""
    mesh = cast(bpy.types.Mesh, obj.data)
    if obj.mode == "EDIT":
        chosen = [vertex.co[:] for vertex in bmesh.from_edit_mesh(mesh).verts if vertex.select]
    else:
        chosen = [vertex.co[:] for vertex in mesh.vertices if vertex.select]
    if len(chosen) < 3 or len(chosen) == len(mesh.vertices):
        return None
    points = np.array([obj.matrix_world @ Vector(place) for place in chosen])
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    _u, sizes, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    if sizes[1] < 1e-6 * sizes[0]:
        return None  # collinear
    return _pose_with_axis(middle, axes[2])


def nearest_points_pose(parent: bpy.types.Object, child: bpy.types.Object) -> Matrix:
    """Return the frame midway between the nearest points of two meshes, with the child's axes.

    Vertices of either mesh, fewer than 4,000 of them, are compared with the other's faces.
    """
    best: tuple[float, Vector] | None = None
    for one, other in ((parent, child), (child, parent)):
        tree = _bvh_tree(other)
        points = _world_points(one)
        for point in points[:: max(1, len(points) // 2000)]:
            place, _normal, _face_number, distance = tree.find_nearest(Vector(point.tolist()))
            if place is not None and (best is None or distance < best[0]):
                best = distance, (place + Vector(point.tolist())) / 2.0
    if best is None:
        raise ValueError(Message("{} or {}: the mesh has no faces", repr(parent.name), repr(child.name)))
    turn = child.matrix_world.to_quaternion().to_matrix().to_4x4()
    return Matrix.Translation(best[1]) @ turn


def _bvh_tree(obj: bpy.types.Object) -> BVHTree:
    mesh = cast(bpy.types.Mesh, obj.data)
    points: list[list[float]] = _world_points(obj).tolist()
    return BVHTree.FromPolygons(points, [list(polygon.vertices) for polygon in mesh.polygons])
