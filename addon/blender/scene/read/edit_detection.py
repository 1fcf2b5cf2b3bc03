"""Detection of edits: values and meshes compared with what the mechanism was built with.

Blender's numbers are 32-bit. Those that were not edited keep the document's own 64-bit value, and edited ones become
the shortest number that Blender shows them as.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix, Quaternion

from ....core.bounds import half_extent
from ....core.loops.designs import adopt_assembled_values
from ....core.model import Array, Joint, Mechanism, Shape
from ....core.primitive_fit import has_analytic_surface, is_mesh_of_shapes
from ....core.report import Message, Report
from ....core.transforms import make_pose
from ...data.access import record_of
from ...data.baseline import baseline_pose, mesh_fingerprint
from ...data.conversion import flatten_pose, read_shape
from ...data.datablocks import mesh_points
from ...data.facts import ROTATION_ENTRY_TOLERANCE, shortest_float

#: Tolerance of coordinates, in units in the last place of the largest of them: Blender's tools transform them to the
#: world and back.
_POSITION_TOLERANCE_ULP = 4.0
_DIGITS = 9  # distinguish all 32-bit numbers
#: Error (rad) of a rotation's angle after conversion by Blender's matrices and quaternions.
_ANGLE_TOLERANCE = 1e-6
#: Cosine and sine of 0, 1, 2 and 3 quarter turns.
_QUARTER_TURNS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


def was_moved(obj: bpy.types.Object, design: Matrix | None = None) -> bool:
    """Return whether an object's design was moved, rotated or scaled since it was built.

    ``design``: its design matrix, if that is not its local matrix.
    """
    return flatten_pose(obj.matrix_basis if design is None else design) != list(record_of(obj).baseline_pose)


def edited_pose(obj: bpy.types.Object, exact: Array | None, design: Matrix | None = None) -> tuple[Array, Array]:
    """Return an object's design pose (4, 4) without its scale, and that scale (3,).

    The scale is all negative for a mirrored object, which Blender decomposes into a point reflection and a rotation.

    Args:
        obj: The object.
        exact: The 64-bit pose that it was built at; None where it is unknown.
        design: Its present design matrix; its local matrix if None.
    """
    design = obj.matrix_basis if design is None else design
    place, turn, size = design.decompose()
    now = _rotation_matrix(turn)
    pose = make_pose(now, [shortest_float(x) for x in place[:]])
    scale = np.array([shortest_float(x) for x in size[:]])
    if exact is None:
        pose[:3, :3] = _edited_rotation(np.eye(3), now)
    else:
        place, turn, _size = Matrix(baseline_pose(obj).tolist()).decompose()
        is_same = np.abs(now - _rotation_matrix(turn)).max() <= ROTATION_ENTRY_TOLERANCE
        pose[:3, :3] = exact[:3, :3] if is_same else _edited_rotation(exact[:3, :3], now)
        here, there = np.array(design.translation), np.array(place)
        kept = np.abs(here - there) <= _POSITION_TOLERANCE_ULP * np.spacing(np.float32(np.abs(there).max()))
        pose[:3, 3] = np.where(kept, exact[:3, 3], pose[:3, 3])
    return pose, scale


def _edited_rotation(before: Array, now: Array) -> Array:
    """Return an edited rotation (3, 3) in 64 bits, if it is ``before`` rotated about a single axis.

    That is an axis of the mechanism or of the object, as users rotate objects. The angle is the one with the fewest
    digits. Other rotations are returned as they are.
    """
    for turn, is_own in ((now @ before.T, False), (before.T @ now, True)):
        axis = int(np.diag(turn).argmax())
        i, j = (axis + 1) % 3, (axis + 2) % 3
        if (
            max(np.abs(turn[axis, [i, j]]).max(), np.abs(turn[[i, j], axis]).max()) > 2.0 * ROTATION_ENTRY_TOLERANCE
        ):  # both are inexact
            continue
        angle = _shortest_rotation_angle(math.atan2(turn[j, i] - turn[i, j], turn[i, i] + turn[j, j]))
        quarters = angle / (0.5 * math.pi)
        whole = round(quarters) if abs(quarters - round(quarters)) < 1e-15 else None
        cos, sin = (math.cos(angle), math.sin(angle)) if whole is None else _QUARTER_TURNS[whole % 4]
        exact = np.eye(3)
        exact[i, i], exact[i, j], exact[j, i], exact[j, j] = cos, -sin, sin, cos
        return before @ exact if is_own else exact @ before
    return now


def _shortest_rotation_angle(angle: float) -> float:
    """Return the angle (rad) with the fewest digits, in degrees or radians, that 32-bit rotations take for this one.

    Of two that are about as long, it is the nearer.
    """
    candidates = []
    for unit in (math.radians(1.0), 1.0):
        texts = (f"{angle / unit:.{digits}g}" for digits in range(1, _DIGITS + 1))
        short = next((text for text in texts if abs(float(text) * unit - angle) <= _ANGLE_TOLERANCE), None)
        if short is not None:
            candidates.append((len(short), float(short) * unit))
    least = min((length for length, _turn in candidates), default=0)
    return min(
        (turn for length, turn in candidates if length < least + 2), key=lambda turn: abs(turn - angle), default=angle
    )


def _rotation_matrix(turn: Quaternion) -> Array:
    """Return the matrix (3, 3) of a quaternion, orthonormal in 64 bits; Blender's own are so in 32 bits only."""
    numbers = np.array(turn, dtype=np.float64)
    w, x, y, z = numbers / np.linalg.norm(numbers)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


#: Error of mesh fingerprints in 32 bits, as a share of the mesh's spread.
_SURFACE_TOLERANCE = 1e-5


def has_own_mesh(obj: bpy.types.Object) -> bool:
    """Return whether files get a body's evaluated mesh, modifiers applied, because it came from no file."""
    return any(shape.visual and shape.type == "mesh" and not shape.mesh for shape in record_of(obj).shapes)


def can_detect_mesh_edit(obj: bpy.types.Object) -> bool:
    """Return whether ``mesh_was_edited`` is conclusive: a fingerprint is stored, or all surfaces are analytic."""
    record = record_of(obj)
    return any(record.baseline_mesh) or all(has_analytic_surface(shape.type) for shape in record.shapes if shape.visual)


#: Results of ``mesh_was_edited`` by mesh, bounds and shapes: equal bodies share theirs.
MeshEditCache = dict[tuple[object, ...], bool]


def mesh_was_edited(obj: bpy.types.Object, judged: MeshEditCache | None = None) -> bool:
    """Return whether a body's mesh is no longer the surface of the shapes that it was created for.

    ``judged`` caches the results.
    """
    record = record_of(obj)
    shapes = [shape for shape in record.shapes if shape.visual]
    if not shapes or has_own_mesh(obj):
        return False
    if not all(has_analytic_surface(shape.type) for shape in shapes):
        return _differs_from_file(obj)
    mesh = cast(bpy.types.Mesh, obj.data)
    if not len(mesh.polygons):
        return True
    judged = {} if judged is None else judged
    alike = tuple((shape.type, *shape.size, shape.spheres, *shape.pose) for shape in shapes)
    box = obj.bound_box  # corners 0 and 6 are its minimum and maximum
    key = (mesh.session_uid, *box[0], *box[6], *record.com, *alike)
    if key not in judged:
        judged[key] = _differs_from_shapes(obj, [read_shape(shape) for shape in shapes], np.array(record.com))
    return judged[key]


def _differs_from_shapes(obj: bpy.types.Object, shapes: list[Shape], com: Array) -> bool:
    """Return whether a mesh is no longer the surface of a body's shapes; its origin is the center of mass (3,)."""
    for shape in shapes:
        shape.pose[:3, 3] -= com
    halves = [(shape.pose[:3, 3], half_extent(shape, shape.pose[:3, :3])) for shape in shapes]
    low = np.min([at - half for at, half in halves], axis=0)
    high = np.max([at + half for at, half in halves], axis=0)
    corners = np.array(obj.bound_box)
    size = float(np.linalg.norm(high - low)) or 1.0
    if np.abs(np.ptp(corners, axis=0) - (high - low)).max() > 0.02 * size:
        return True
    return not is_mesh_of_shapes(shapes, *_vertices_and_face_centers(cast(bpy.types.Mesh, obj.data)))


def _differs_from_file(obj: bpy.types.Object) -> bool:
    """Return whether a mesh from a file differs from its fingerprint at import.

    It is False where no fingerprint is stored, as in mechanisms of earlier releases.
    """
    before = np.array(record_of(obj).baseline_mesh)
    now = np.array(mesh_fingerprint(cast(bpy.types.Mesh, obj.data)))
    spread = max(float(before[1:].sum()), 1e-30)
    return bool(before.any()) and float(np.abs(now - before).max()) > _SURFACE_TOLERANCE * spread


def _vertices_and_face_centers(mesh: bpy.types.Mesh) -> tuple[Array, Array]:
    """Return the vertices (n, 3) of a mesh and the centers (m, 3) of its polygons."""
    middles = np.empty(3 * len(mesh.polygons), dtype=np.float32)
    mesh.polygons.foreach_get("center", middles)  # type: ignore[arg-type]
    return mesh_points(mesh), middles.reshape(-1, 3).astype(np.float64)


@dataclass
class DocumentFacts:
    """Facts of a document, kept before its parts are changed.

    Attributes:
        names: Names of bodies, by id.
        ends: Ids of the bodies of joints, by id.
        joints: Names of joints, by id.
        assembled: Initial values (size,) at which loops were assembled, by joint id, of those that differ from these
            in the document.
        mechanism: The mechanism, if there are such values: poses and masses of its bodies, and its joints.
    """

    names: dict[str, str]
    ends: dict[str, tuple[str | None, str | None]]
    joints: dict[str, str]
    assembled: Mapping[str, Array]
    mechanism: Mechanism | None

    @classmethod
    def of(cls, base: Mechanism, assembled: Mapping[str, Array]) -> DocumentFacts:
        """Collect the facts of a document's mechanism."""
        kept = Mechanism(base.name, bodies=[replace(body) for body in base.bodies]) if assembled else None
        if kept is not None:
            kept.joints = [replace(joint, dofs=[replace(dof) for dof in joint.dofs]) for joint in base.joints]
        return cls(
            {body.id: body.name for body in base.bodies},
            {joint.id: (joint.parent, joint.child) for joint in base.joints},
            {joint.id: joint.name for joint in base.joints},
            assembled,
            kept,
        )

    def adopt_assembled(self, mechanism: Mechanism) -> None:
        """Make assembled values the initial values of a mechanism, if its joints are others than in the document."""
        if self.mechanism is not None:
            shown = {own: np.array([shortest_float(x) for x in values]) for own, values in self.assembled.items()}
            adopt_assembled_values(mechanism, self.mechanism, shown)

    def settle(self, mechanism: Mechanism) -> None:
        """Remove the joints of deleted bodies, and report the deleted and the removed parts."""
        report: Report = mechanism.report
        lost = self.names.keys() - {body.id for body in mechanism.bodies}
        present = {joint.id for joint in mechanism.joints}
        for kind, names, gone in (("Body", self.names, lost), ("Joint", self.joints, self.joints.keys() - present)):
            for part_id in sorted(gone):
                report.info("deleted", Message("{} {} was deleted{}", kind, repr(names[part_id]), ""), where=part_id)
        if mechanism.source.format != "juice":  # Juice keeps joints that lack a body, as inactive
            mechanism.joints = [joint for joint in mechanism.joints if not self._is_loose(joint, lost, report)]

    def _is_loose(self, joint: Joint, lost: set[str], report: Report) -> bool:
        """Return whether a joint lost a body that nothing replaced, be it the world; such a joint is reported."""
        if joint.active or not lost & {*self.ends.get(joint.id, ())}:
            return False
        report.info(
            "deleted", Message("{} {} was deleted{}", "Joint", repr(joint.name), " with its body"), where=joint.id
        )
        return True

    def remove_orphans(self, mechanism: Mechanism) -> None:
        """Remove and report the restraints of deleted parts; frames and lights were left out when they were read."""
        bodies = self.names.keys() - {body.id for body in mechanism.bodies}
        joints = self.joints.keys() - {joint.id for joint in mechanism.joints}
        kept = []
        for item in mechanism.restraints:
            if item.joint in joints or bodies & {*(item.bodies or ())}:
                mechanism.report.info(
                    "deleted",
                    Message("{} {} was deleted{}", "Restraint", repr(item.name), " with its body or joint"),
                    where=item.name,
                )
            else:
                kept.append(item)
        mechanism.restraints = kept
