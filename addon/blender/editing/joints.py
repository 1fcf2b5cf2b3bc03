"""Editing of joints and limbs: changing type, swapping parent and child, moving, placing, deleting, duplicating.

The edits themselves are ``core.editing.joints`` and ``core.editing.limbs``; here they get what is selected and seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, cast

import bmesh
import bpy
import numpy as np
from mathutils import Matrix, Vector
from mathutils.bvhtree import BVHTree

from ...core.editing import joints as edits
from ...core.editing import limbs
from ...core.editing.edits import Edit, with_joints
from ...core.editing.limbs import Limb
from ...core.editing.mirroring import mirror_values
from ...core.editing.sides import pairs_by_twin
from ...core.editing.twins import flip_between, mirror_pose, retype_twin, twin_dof_maps
from ...core.kinematics import joint_frame_world
from ...core.model import Array, Mechanism, Plane, body_by_id, joint_by_id
from ...core.report import Message, Report
from ...core.transforms import make_pose, rotation_with_z
from ..animation.actions import motion_actions
from ..animation.fcurves import CurveId, copy_curve, curves_by_id
from ..compat import action_curves
from ..data.access import record_of
from ..data.channels import servo_channels
from ..data.datablocks import mesh_points
from ..data.queries import file_name, ids_among, parts, parts_by_id
from ..reconcile.rig_state import RigState, current_tree, joint_in_design
from ..reconcile.rig_update import assign_ids, begin_edit
from ..reconcile.update import EditObjects, update
from ..rig.joint_frames import has_lost_body, read_joint
from ..scene.read.mechanism import extract, extract_design
from .symmetry.twins import require_plane

#: Difference (rad, length units) of joint values up to which twins are posed as mirror images.
_POSE_TOLERANCE = 1e-4


def set_joint_type(empty: bpy.types.Object, type_: str, twin: bpy.types.Object | None = None) -> Report:
    """Change the type of a joint, about its present axis, and that of its twin, which becomes the mirror image.

    Degrees of freedom that continue keep stops, motor, springs and keyframes, and the bodies stay where they are seen.
    A joint of the type already is left unchanged.

    Raises:
        ValueError: The type is unknown, or a joint lost a body.
    """
    rig, (own, its) = record_of(empty).model, _ids(empty, twin)
    plane = require_plane(rig) if its else None
    if edits.is_of_type(read_joint(empty), type_):
        return Report()
    present = begin_edit(rig, {own, its} - {""})
    mechanism = extract_design(rig)
    edit, report = edits.change_type(mechanism, own, type_, _seen(present, mechanism, own)), Report()
    if plane is not None and twin is not None:
        try:
            edit = edit.then(_retype_twin(edit.after, own, its, plane, present))
        except ValueError as error:  # the joint itself is changed nevertheless
            report.warn("twin-differs", str(error), where=twin.name)
    report.extend(update(rig, edit, present))
    return report


def _retype_twin(mechanism: Mechanism, own: str, its: str, plane: Plane, present: RigState) -> Edit:
    """Give the twin of a joint the mirrored degrees of freedom of the joint; those that continue keep their values."""
    joints, bodies = joint_by_id(mechanism), body_by_id(mechanism)
    body_twins = pairs_by_twin(mechanism.bodies)
    image = retype_twin(joints[own], plane, body_twins, bodies, joints[its])
    edit = edits.change_dofs(mechanism, its, image.type, image.dofs, _seen(present, mechanism, its))
    kept = edits.keep_continuing_values(joints[its], joint_by_id(edit.after)[its], edit.joints[its])
    return Edit(mechanism, with_joints(edit.after, [kept]), edit.joints)


def swap_joint_ends(empty: bpy.types.Object, twin: bpy.types.Object | None = None) -> Report:
    """Swap parent and child of a joint, and of its twin.

    The mechanism remains the same: joint values change sign, and with them stops, initial and rest values, the pose and
    keyframes.

    Raises:
        ValueError: A joint lacks a body, or is free and its initial values are not zero; nothing was changed.
    """
    rig, ids = record_of(empty).model, [own for own in _ids(empty, twin) if own]
    present = begin_edit(rig)
    mechanism = extract_design(rig)
    edit = Edit(mechanism, mechanism)
    for own in ids:
        edit = edit.then(edits.swap_ends(edit.after, own, present.pose.get(own)))
    return update(rig, edit, present)


def place_joint(
    empty: bpy.types.Object, place: Matrix, keep_axes: bool = False, twin: bpy.types.Object | None = None
) -> Report:
    """Move a joint, and its twin to the mirror image; their bodies stay where they are, also if they are posed.

    The design of what a joint carries changes to the pose that this would have at joint values 0.

    Args:
        empty: The joint's empty.
        place: New frame of the joint in the world; Z is a hinge's axis.
        keep_axes: Change only its origin.
        twin: The empty of its twin.
    """
    record, rig, (own, its) = record_of(empty).joint, record_of(empty).model, _ids(empty, twin)
    plane = require_plane(rig) if its else None
    carrier = record.parent if record.parent is not None or record.at_world else record.child
    frame = joint_in_design(rig, carrier, place)
    present = begin_edit(rig)
    mechanism = extract_design(rig)
    joints, bodies = joint_by_id(mechanism), body_by_id(mechanism)
    if keep_axes:
        frame[:3, :3] = joint_frame_world(joints[own], bodies)[:3, :3]
    edit, report = edits.move_joint(mechanism, own, frame, _seen(present, mechanism, own)), Report()
    if plane is not None:
        here, there = (joint_frame_world(joints[key], bodies) for key in (own, its))
        flip = flip_between(here, there, plane)
        image = mirror_pose(frame, plane, flip)
        edit = edit.then(edits.move_joint(edit.after, its, image, _seen(present, mechanism, its)))
        report = _report_unlike_pose(mechanism, own, its, plane, present)
    report.extend(update(rig, edit, present))
    return report


def _report_unlike_pose(mechanism: Mechanism, own: str, its: str, plane: Plane, present: RigState) -> Report:
    """Report a joint that is not posed as its twin's mirror image: where both stay in place, their designs differ."""
    joints, bodies, report = joint_by_id(mechanism), body_by_id(mechanism), Report()
    seen, twin = (_seen(present, mechanism, key) for key in (own, its))
    parts = twin_dof_maps(joints[own], joints[its], plane, pairs_by_twin(mechanism.bodies), bodies)
    if not parts or np.abs(mirror_values(seen, parts, len(twin)) - twin).max() < _POSE_TOLERANCE:
        return report
    report.warn(
        "twins-posed-unlike",
        Message(
            "Twins {} and {}: not posed as mirror images, so their designs differ now. Pose both at 0 first",
            repr(joints[own].name),
            repr(joints[its].name),
        ),
        where=joints[its].name,
    )
    return report


def delete_objects(rig: bpy.types.Object, objects: Iterable[bpy.types.Object]) -> tuple[int, int, Report]:
    """Delete bodies and joints of a mechanism, with the joints of deleted bodies.

    The user's objects that are parented to them stay where they are.

    Returns:
        Number of deleted bodies, number of deleted joints, and the report.

    Raises:
        ValueError: None of the objects is a body or joint of the mechanism.
    """
    assign_ids(rig)
    bodies, joints = ids_among(rig, objects)
    mechanism = extract_design(rig)
    known = {joint.id for joint in mechanism.joints}
    lost = [empty for empty in _joints_of(rig, bodies, joints) if record_of(empty).source_id not in known]
    if lost and not bodies and not joints & known:
        edit = Edit(mechanism, mechanism)  # joints that lost a body are not read
    else:
        edit = edits.delete_parts(mechanism, bodies, joints)
    present = begin_edit(rig, edit.deleted_joints)
    report = update(rig, edit, present, EditObjects(lost))
    return len(edit.deleted_bodies), len(edit.deleted_joints) + len(lost), report


def _joints_of(rig: bpy.types.Object, bodies: Collection[str], joints: Collection[str]) -> list[bpy.types.Object]:
    """Return the empties of joints with these ids, or on bodies with these ids."""
    out = []
    for empty in parts(rig, "JOINT"):
        ends = (record_of(empty).joint.parent, record_of(empty).joint.child)
        on_body = any(end is not None and record_of(end).source_id in bodies for end in ends)
        if on_body or record_of(empty).source_id in joints:
            out.append(empty)
    return out


def _ids(empty: bpy.types.Object, twin: bpy.types.Object | None) -> tuple[str, str]:
    """Return the ids of a joint and of its twin, which is empty if there is none.

    Raises:
        ValueError: One of them lost a body, so that it has no place in the mechanism.
    """
    rig = record_of(empty).model
    assign_ids(rig)
    bodies = set(parts(rig, "BODY"))
    for each in (empty, twin) if twin is not None else (empty,):
        joint = record_of(each).joint
        if not {joint.parent, joint.child} <= {None, *bodies} or (joint.active and has_lost_body(joint)):
            raise ValueError(
                Message(
                    "Joint {}: it lost a body. Restore it with Rebuild Missing Parts, or delete the joint",
                    repr(file_name(each)),
                )
            )
    return record_of(empty).source_id, "" if twin is None else record_of(twin).source_id


def _seen(present: RigState, mechanism: Mechanism, own: str) -> Array:
    return present.seen_values(joint_by_id(mechanism)[own], body_by_id(mechanism))


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
    world = np.array(obj.matrix_world, dtype=np.float64)
    return mesh_points(cast(bpy.types.Mesh, obj.data)) @ world[:3, :3].T + world[:3, 3]


def _pose_with_axis(place: Array, axis: Array) -> Matrix:
    return Matrix(make_pose(rotation_with_z(axis), place).tolist())


def _face_pose(obj: bpy.types.Object) -> Matrix | None:
    """Return the frame at the center of a mesh's active face, Z along its normal; None without an active face."""
    mesh = cast(bpy.types.Mesh, obj.data)
    if obj.mode == "EDIT":
        active = bmesh.from_edit_mesh(mesh).faces.active
        corners = [vertex.co for vertex in active.verts] if active is not None else []
    else:
        number = mesh.polygons.active
        face = mesh.polygons[number] if number is not None and 0 <= number < len(mesh.polygons) else None
        corners = [mesh.vertices[i].co for i in face.vertices] if face is not None and face.select else []
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
            if place is not None and distance is not None and (best is None or distance < best[0]):
                best = distance, (place + Vector(point.tolist())) / 2.0
    if best is None:
        raise ValueError(Message("{} or {}: the mesh has no faces", repr(parent.name), repr(child.name)))
    turn = child.matrix_world.to_quaternion().to_matrix().to_4x4()
    return Matrix.Translation(best[1]) @ turn


def _bvh_tree(obj: bpy.types.Object) -> BVHTree:
    mesh = cast(bpy.types.Mesh, obj.data)
    points: list[list[float]] = _world_points(obj).tolist()
    tree: Any = BVHTree.FromPolygons(points, [list(polygon.vertices) for polygon in mesh.polygons])
    return tree


# ---------------------------------------------------------------- limbs


def limb_of(rig: bpy.types.Object, objects: Iterable[bpy.types.Object], whole: bool = True) -> Limb:
    """Return the limb of a selection: its bodies, and those that its joints move.

    Args:
        rig: Armature of the mechanism.
        objects: The selected bodies and joints.
        whole: Include everything beyond these bodies.

    Raises:
        ValueError: The selection has no bodies and moves none.
    """
    assign_ids(rig)
    mechanism = extract(rig)
    return limbs.find_limb(mechanism, current_tree(rig, mechanism), *ids_among(rig, objects), whole=whole)


def limb_objects(rig: bpy.types.Object, limb: Limb) -> list[bpy.types.Object]:
    """Return the bodies, then the joints of a limb."""
    bodies, joints = parts_by_id(rig, "BODY"), parts_by_id(rig, "JOINT")
    return [*(bodies[own] for own in limb.bodies), *(joints[own] for own in limb.joints)]


def free_offset(bodies: Iterable[bpy.types.Object]) -> Array:
    """Return an offset (3,) from bodies to free space for their copies: along -Y, as legs stand in a row."""
    corners = [(obj.matrix_basis @ Vector(corner)).y for obj in bodies for corner in obj.bound_box]
    return np.array([0.0, -1.25 * (max(corners) - min(corners)), 0.0])


def copy_limb(
    rig: bpy.types.Object, limb: Limb, offset: Array, selected_parts: Collection[bpy.types.Object] | None = None
) -> tuple[list[bpy.types.Object], Report]:
    """Duplicate a limb, connected where the original is, with its own ids and the same pose and keyframes.

    Joints that close loops with other bodies are left out and reported.

    Args:
        rig: Armature of the mechanism.
        limb: The limb.
        offset: Offset (3,) in the mechanism's axes.
        selected_parts: While editing is symmetric, the parts that the user selected: those on the other side move by
            the mirror image of the offset, and copies of twins are twins. None: all move alike, and copies have no
            twins.

    Returns:
        The created objects and the report.
    """
    present = begin_edit(rig)
    mechanism = extract_design(rig)
    joints, report = joint_by_id(mechanism), Report()
    for own in limb.across:
        report.warn(
            "loop-left-out",
            Message("Joint {}: not copied, it connects the limb to another part", repr(joints[own].name)),
        )
    left_out = limbs.uncopied_parts(mechanism, limb)
    if left_out:
        report.warn(
            "attachments-left-out",
            Message("Reference frames, lights and restraints: {} of the limb are not copied", left_out),
        )
    if selected_parts is None:
        offsets = limbs.equal_offsets(limb, offset)
    else:
        offsets = limbs.mirrored_offsets(mechanism, limb, ids_among(rig, selected_parts), offset, require_plane(rig))
    edit = limbs.duplicate_limb(mechanism, limb, offsets, present.pose, keep_twins=selected_parts is not None)
    report.extend(update(rig, edit, present))
    _copy_keyframes(rig, edit.copies)
    known = parts_by_id(rig, "BODY") | parts_by_id(rig, "JOINT")
    return [known[own] for own in edit.copies], report


def _copy_keyframes(rig: bpy.types.Object, copies: Mapping[str, str]) -> None:
    """Copy the keyframes of joints to their copies (``copies``: ids of originals by id), in every motion."""
    channels, names = servo_channels(rig), dict[CurveId, tuple[CurveId, str]]()
    for own, original in copies.items():
        for now, was in zip(channels.get(own, ()), channels.get(original, ()), strict=False):
            names |= {before: (after, now.bone) for before, after in zip(was.curves(), now.curves(), strict=True)}
    for action in motion_actions(rig) if names else ():
        curves = action_curves(rig, action)
        for before, curve in curves_by_id(rig, action, names).items():
            (path, index), bone = names[before]
            copy_curve(curve, curves, path, index, bone)
