"""Detection of *Apply* (Ctrl+A): Blender moves an object's transform into its data, and nothing is seen to move.

If that were ignored, the design would include the rotation that stands a mechanism upright, and bodies would be
separated from their shapes.
"""

from __future__ import annotations

import math
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix, Quaternion

from ....core.model import Array, Shape
from ....core.report import Message, Report
from ...data.access import armature_of, bone_record, record_of, settings
from ...data.baseline import baseline_pose, bone_baseline
from ...data.conversion import read_shape, unflatten_pose
from ...data.datablocks import mesh_points
from ..meshes import primitive_mesh

#: Tolerance of entries of rotation matrices.
_ROTATION_TOLERANCE = 1e-3
#: Lengths and angles (rad) up to which there was nothing to clear.
_CLEARED_TOLERANCE = 1e-6
#: Distance within which points are the same, as a share of the mesh's size.
_POINT_TOLERANCE = 2e-5


def applied_upright(rig: bpy.types.Object) -> Matrix | None:
    """Return the upright rotation (4, 4) of the import where the armature's rotation was applied since, else None.

    It is then in the rest matrices of the bones and in everything that is parented to them.
    """
    turn = Quaternion(settings(rig).upright)
    if turn.magnitude < 0.5 or abs(turn.w) > 1.0 - 1e-9:
        return None
    if abs(rig.matrix_basis.to_quaternion().dot(turn)) > 1.0 - 1e-6:
        return None
    turns = []
    for bone in armature_of(rig).bones:
        rest = np.array(bone_record(bone).rest[:]).reshape(3, 3)
        if rest.any():
            turns.append(np.array(bone.matrix_local.to_3x3()) @ rest.T)
    if (
        not turns
        or np.ptp(turns, axis=0).max() > _ROTATION_TOLERANCE
        or np.abs(turns[0] - np.eye(3)).max() < _ROTATION_TOLERANCE
    ):
        return None  # bones rotated individually were edited, or got their pose applied as rest pose
    return turn.to_matrix().to_4x4()


def report_cleared_transform(obj: bpy.types.Object, design: Matrix, report: Report) -> None:
    """Warn of an object that was placed elsewhere and now is exactly at the origin or axes of its parent.

    Apply and Clear leave empties and lights so, which have no mesh that could take over the transform. An intended
    placement by hand looks the same.

    Args:
        obj: The object.
        design: Its present design matrix. Its local matrix is another where a transform of its parent was applied.
        report: The report.
    """
    is_joint = record_of(obj).role == "JOINT"  # an edit may have placed it elsewhere than its document
    before = unflatten_pose(bone_baseline(obj)) if is_joint else baseline_pose(obj)
    place, turn, _size = design.decompose()
    was_place, was_turn, _size = Matrix(before.tolist()).decompose()
    what = []
    if not any(place[:]) and was_place.length > _CLEARED_TOLERANCE:
        what.append(f"{was_place.length:.3g} m")
    if abs(turn.w) == 1.0 and was_turn.angle > _CLEARED_TOLERANCE:
        what.append(f"{math.degrees(was_turn.angle):.3g}°")
    if what:
        report.warn(
            "transform-cleared",
            Message(
                "{} {}: moved by {} to the origin or axes of its parent, as Apply (Ctrl+A) and Clear do. Undo "
                "that if it is not intended",
                record_of(obj).role.capitalize(),
                repr(obj.name),
                " and ".join(what),
            ),
            where=obj.name,
        )


def applied_mesh_transform(obj: bpy.types.Object, design: Matrix) -> Matrix | None:
    """Return the affine map (4, 4) from a body's mesh as it was created to its present mesh.

    It is None where the mesh is unchanged, or vertices were edited by hand.

    Args:
        obj: The body's object.
        design: Its present design pose.
    """
    if obj.type != "MESH":
        return None
    shapes = [read_shape(shape) for shape in record_of(obj).shapes if shape.visual]
    points = mesh_points(cast(bpy.types.Mesh, obj.data))
    if not shapes or not len(points) or any(shape.type == "mesh" and not shape.mesh for shape in shapes):
        return None
    if any(shape.type in {"mesh", "plane"} for shape in shapes):
        found = _transform_from_fingerprint(obj, points, design)
    else:
        made = _shape_points(shapes, np.array(record_of(obj).com))
        found = _choose_mesh_transform(
            _transform_from_points(made, points), _transform_from_reference_points(obj, points), made
        )
    if found is None or np.abs(found - np.eye(4)).max() < _POINT_TOLERANCE or abs(np.linalg.det(found)) < 1e-12:
        return None
    return Matrix(found.tolist())


def _choose_mesh_transform(found: Array | None, known: Array | None, made: Array) -> Array | None:
    """Choose the affine map (4, 4) of a mesh; None where its record was edited and the mesh was not.

    Note:
        Mechanisms of release 1.0 have no reference points: only a rigid motion then differs from an edit of the record.

    Args:
        found: Map from the points ``made`` to those of the mesh; a mirrored mesh has them in another order.
        known: Map of the reference points; None where there are none.
        made: Points (n, 3) that the shapes are created with.
    """
    if found is None or (known is not None and abs(np.linalg.det(known)) < 1e-12):
        return None
    if known is None:
        turn = found[:3, :3]
        is_motion = np.linalg.det(turn) > 0.0 and np.abs(turn @ turn.T - np.eye(3)).max() < _ROTATION_TOLERANCE
        return found if is_motion else None
    wide = np.column_stack([made, np.ones(len(made))])
    back = wide @ np.linalg.solve(known, found).T
    figures, others = wide.T @ wide, back.T @ back
    return known if np.abs(figures - others).max() <= _ROTATION_TOLERANCE * np.abs(figures[:3, :3]).max() else None


def _transform_from_reference_points(obj: bpy.types.Object, points: Array) -> Array | None:
    """Return the affine map (4, 4) of a mesh's four reference points; None where none are stored."""
    corners = np.array(record_of(obj).baseline_corners, dtype=np.float64).reshape(4, 4)
    numbers = corners[:, 0].astype(int)
    if not corners.any() or numbers.max() >= len(points):
        return None
    one = np.ones((4, 1))
    before, after = np.hstack([corners[:, 1:], one]), np.hstack([points[numbers], one])
    return cast(Array, np.linalg.solve(before, after).T)


def _shape_points(shapes: list[Shape], com: Array) -> Array:
    """Return the points (n, 3) that the mesh of shapes was created with, relative to the center of mass."""
    made = [primitive_mesh(shape).vertices @ shape.pose[:3, :3].T + shape.pose[:3, 3] - com for shape in shapes]
    return np.concatenate(made)


def _transform_from_points(made: Array, points: Array) -> Array | None:
    """Fit the affine map (4, 4) between two point sets (n, 3) of equal order; None where there is none."""
    if made.shape != points.shape or len(made) < 4:
        return None
    size = float(np.ptp(points, axis=0).max()) or 1.0
    wide = np.column_stack([made, np.ones(len(made))])
    if np.linalg.matrix_rank(wide, tol=1e-9 * size) < 4:
        return None  # undetermined for a flat mesh
    solved = np.linalg.lstsq(wide, points, rcond=None)[0]
    if np.abs(wide @ solved - points).max() > _POINT_TOLERANCE * size:
        return None
    out = np.eye(4)
    out[:3] = solved.T
    return out


def _transform_from_fingerprint(obj: bpy.types.Object, points: Array, design: Matrix) -> Array | None:
    """Return the affine map (4, 4) of a mesh from a file, None where there is none.

    It is the map of the four reference points if the mesh has the stored number of vertices and mean squares.

    Note:
        Mechanisms of release 1.0 have no reference points: only the body's own transform, or a uniform scale, is
        detected.
    """
    count, *spread = record_of(obj).baseline_mesh
    if len(points) != count or not any(spread):
        return None
    now = (points**2).mean(axis=0)
    scale = float(np.sqrt(now.sum() / sum(spread)))
    ways = [
        np.linalg.pinv(np.array(design)) @ baseline_pose(obj),
        np.diag([scale, scale, scale, 1.0]),
    ]
    known = _transform_from_reference_points(obj, points)
    ways = ways if known is None else [known]
    for way in ways:
        if abs(np.linalg.det(way)) < 1e-12:
            continue
        back = np.linalg.inv(way)
        was = points @ back[:3, :3].T + back[:3, 3]
        if np.abs((was**2).mean(axis=0) - spread).max() <= 10.0 * _POINT_TOLERANCE * max(spread):
            return cast(Array, way)
    return None
