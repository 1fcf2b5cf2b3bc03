"""Design poses of a mechanism's parts, whatever their parents are now, and the joints and roots that place its bodies.

Bones outlast what they were created for: a joint removed with Blender's own *Delete* leaves them, and what they carry
is seen where they have it until the armature is updated to what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import bpy
import numpy as np
from mathutils import Matrix

from ....core.editing.seen_poses import PosedState, preserve_seen_poses
from ....core.kinematics import CLOSES_LOOP, Tree, spanning_tree
from ....core.model import Array, Mechanism
from ....core.report import Message
from ....core.transforms import inverse
from ...compat import action_curves, nla_strips, strip_curves
from ...data.access import armature_of, record_of, rest_parent_inverse
from ...data.baseline import baseline_pose, bone_baseline
from ...data.channels import bone_of_path
from ...data.conversion import flatten_pose, unflatten_pose
from ...data.queries import joint_bones, parts, parts_by_id, root_bones, servo_bones
from .applied_transforms import applied_mesh_transform, applied_upright
from .edit_detection import MeshEditCache, can_detect_mesh_edit, mesh_was_edited


def body_motions(designs: DesignPoses, ids: Mapping[bpy.types.Object, str]) -> dict[str, Array]:
    """Return the motion (4, 4) of each body from its design to where it is seen, by body id: the motion of its bone.

    Motions are in the mechanism's frame. ``ids`` are those of the bodies' objects.
    """
    done, out = dict[str, Array](), dict[str, Array]()
    for obj, own in ids.items():
        bone = designs.holder(obj)
        if bone is not None:
            if bone.name not in done:
                done[bone.name] = designs.move(bone)
            out[own] = done[bone.name]
    return out


def placing_joint_ids(rig: bpy.types.Object) -> set[str]:
    """Return the ids of the joints that place bodies: those with bones; without any bones, those that close no loop."""
    boned = set(joint_bones(rig))
    if boned:
        return boned
    records = [record_of(empty) for empty in parts(rig, "JOINT")]
    return {record.source_id for record in records if not record.joint.loop}


def root_ranks(rig: bpy.types.Object, placing: Iterable[str]) -> dict[str, float]:
    """Return the rank of each root body by its id: those with keyframes first, then by the number of bodies carried."""
    objects = parts_by_id(rig, "BODY")
    carried: dict[str, list[str]] = {}
    moved = set()
    known = set(placing)
    for empty in parts(rig, "JOINT"):
        record = record_of(empty)
        if record.source_id in known:
            ends = [record.joint.parent, record.joint.child]
            near, far = (
                None if end is None else record_of(end).source_id
                for end in (ends[::-1] if record.joint.is_reversed else ends)
            )
            if far is not None:
                moved.add(far)
                carried.setdefault(near or "", []).append(far)
    bones = root_bones(rig)
    is_boned = bool(bones) or bool(joint_bones(rig))
    roots = set(bones) & objects.keys() if is_boned else objects.keys() - moved if known else set()
    keyed = keyed_bones(rig)
    out = {}
    for root in roots:
        size, todo = 0, [root]
        while todo and size <= len(objects):
            todo += carried.get(todo.pop(), ())
            size += 1
        out[root] = size + (len(objects) + 1.0) * (bones.get(root, "") in keyed)
    return out


def keyed_bones(rig: bpy.types.Object) -> set[str]:
    """Return the names of the bones that the active Action or NLA strips have F-curves for."""
    data = rig.animation_data
    if data is None:
        return set()
    active = (action_curves(rig, data.action, create=False) or ()) if data.action is not None else ()
    strips = (curve for strip in nla_strips(data) for curve in strip_curves(strip))
    return {bone_of_path(curve.data_path) for curve in (*active, *strips)} - {""}


def design_tree(mechanism: Mechanism, placing: Iterable[str], roots: Mapping[str, float]) -> Tree:
    """Return the spanning tree in which the joints ``placing`` bodies go on to, and ``roots`` stay roots.

    Args:
        mechanism: The mechanism.
        placing: Ids of joints.
        roots: Ranks of root bodies by id.
    """
    known = set(placing)
    if not known:
        return spanning_tree(mechanism, roots)
    joints = [replace(joint, extra={**joint.extra, CLOSES_LOOP: joint.id not in known}) for joint in mechanism.joints]
    return spanning_tree(replace(mechanism, joints=joints), roots)


def design_as_seen(designs: DesignPoses, mechanism: Mechanism, ids: Mapping[bpy.types.Object, str]) -> None:
    """Set the design of bodies to where they are seen, if what placed them is gone.

    These are bodies whose bones place them by joints that are gone, and copies that have no bones yet. A mechanism that
    fits its bones stays as it is.

    Args:
        designs: Design poses of its parts.
        mechanism: The mechanism as its objects have it; it is changed.
        ids: Ids of the bodies' objects in it; those of new copies are not in their records yet.
    """
    rig = designs.rig
    placing = placing_joint_ids(rig)
    fits = placing <= {joint.id for joint in mechanism.joints if joint.active}
    if fits and all(own == record_of(obj).source_id for obj, own in ids.items()):
        return
    roots = root_ranks(rig, placing)
    tree = design_tree(mechanism, placing, roots)
    preserve_seen_poses(tree, PosedState(body_motions(designs, ids), roots, placing))
    for joint, held in zip(mechanism.joints, tree.mechanism.joints, strict=True):
        joint.frame_child = held.frame_child


def moved_joints(rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the joints whose empties were moved since their bones were made.

    These bones still rotate about the old place.
    """
    return [empty for empty in parts(rig, "JOINT") if is_moved_from_bones(empty)]


def is_moved_from_bones(empty: bpy.types.Object) -> bool:
    """Return whether a joint's empty was moved since its bones were made. Called for all joints after every change."""
    now, before = flatten_pose(empty.matrix_basis), bone_baseline(empty)
    return now != before and not is_rounding(empty, now, before)


#: Tolerance of matrix entries; of translations relative to the part's distance from the origins.
_POSE_TOLERANCE = 1e-5
#: Tolerance of matrix entries for the rounding to 32 bits.
_ROUNDING_TOLERANCE = 5e-7
#: Limit of 32-bit arithmetic; Blender stores an infinite number as its largest.
_MAX_COORDINATE = 1e18
_IDENTITY = Matrix()


class DesignPoses:
    """Design poses of a mechanism's bodies and joints in its own frame.

    A part parented to the armature is designed where it is seen at rest: with its original parenting, at its local
    matrix. A part that the user parented elsewhere is designed such that the mechanism in its present pose has it where
    it is seen. A part that only lost its parent, or whose bone is gone, keeps its design.
    """

    def __init__(self, rig: bpy.types.Object) -> None:
        self.rig = rig
        turn = applied_upright(rig)
        self._back = None if turn is None else turn.inverted_safe()
        frame = rig.matrix_world.inverted_safe()
        self._frame = frame if self._back is None else self._back @ frame
        self._applied: dict[bpy.types.Object, Matrix | None] = {}
        self._edited: dict[bpy.types.Object, bool] = {}
        self._judged: MeshEditCache = {}

    @cached_property
    def _carriers(self) -> dict[bpy.types.Object, str]:
        """Return the bones that carry bodies, without those of the world and of copies that have none yet."""
        chains, roots = servo_bones(self.rig), root_bones(self.rig)
        out = {obj: roots[own] for obj in parts(self.rig, "BODY") if (own := record_of(obj).source_id) in roots}
        for empty in parts(self.rig, "JOINT"):
            joint = record_of(empty).joint
            body = joint.parent if joint.is_reversed else joint.child
            if body is not None and not joint.loop and record_of(empty).source_id in chains:
                out.setdefault(body, chains[record_of(empty).source_id])
        return out

    def carrier(self, obj: bpy.types.Object) -> str:
        """Return the bone that carries a body, or a joint's parent (else child) body; empty where none is known."""
        record = record_of(obj)
        body = obj if record.role == "BODY" else record.joint.parent or record.joint.child
        return self._carriers.get(body, "") if body is not None else ""

    def holder(self, obj: bpy.types.Object) -> bpy.types.PoseBone | None:
        """Return the bone that places a part: its carrier, or where none is known the bone that it is parented to."""
        is_on_bone = obj.parent == self.rig and obj.parent_type == "BONE"
        name = self.carrier(obj) or (obj.parent_bone if is_on_bone else "")
        return self.rig.pose.bones.get(name) if self.rig.pose is not None else None

    def move(self, bone: bpy.types.PoseBone) -> Array:
        """Return the motion (4, 4) from a bone's rest to its pose, in the mechanism's frame."""
        now, rest = (np.array(each, dtype=np.float64) for each in (bone.matrix, bone.bone.matrix_local))
        move = now @ inverse(rest)
        if self._back is None:
            return move
        back = np.array(self._back, dtype=np.float64)
        return back @ move @ inverse(back)

    def rest(self, bone: bpy.types.Bone) -> Array:
        """Return the rest pose (4, 4) of a bone, in the mechanism's frame."""
        return np.array(self._in_file(bone.matrix_local), dtype=np.float64)

    def of(self, obj: bpy.types.Object) -> Matrix:
        """Return a part's design matrix, scale included; with the original parenting its local matrix itself.

        Raises:
            ValueError: If it is not finite.
        """
        design = self._of(obj)
        if not all(-_MAX_COORDINATE < number < _MAX_COORDINATE for number in flatten_pose(design)):
            raise ValueError(
                Message("{}: its transform is not finite. Enter location, rotation and scale again", repr(obj.name))
            )
        applied = self.applied(obj, design)
        return design if applied is None else snap_to_built(obj, design @ applied)

    def applied(self, obj: bpy.types.Object, design: Matrix | None = None) -> Matrix | None:
        """Return the transform that was applied to a body's mesh (``applied_mesh_transform``), else None.

        It is looked for only if the body was moved or its mesh differs.
        """
        if record_of(obj).role != "BODY":
            return None
        if obj not in self._applied:
            here = self._of(obj) if design is None else design
            is_other = flatten_pose(here) != list(record_of(obj).baseline_pose) or not can_detect_mesh_edit(obj)
            is_other = is_other or self.is_mesh_edited(obj)
            is_other = is_other and bool(np.isfinite(flatten_pose(here)).all())
            self._applied[obj] = applied_mesh_transform(obj, here) if is_other else None
        return self._applied[obj]

    def is_mesh_edited(self, obj: bpy.types.Object) -> bool:
        """Return whether a body's mesh is no longer the surface of its shapes (``mesh_was_edited``)."""
        if obj not in self._edited:
            self._edited[obj] = mesh_was_edited(obj, self._judged)
        return self._edited[obj]

    def _of(self, obj: bpy.types.Object) -> Matrix:
        basis = obj.matrix_basis
        parent_space = self._parent_space(obj)
        if parent_space is not None:
            parent_space = self._in_file(parent_space)
            if not _is_identity(parent_space, obj):
                return snap_to_built(obj, parent_space @ basis)
            built = list(record_of(obj).baseline_pose)
            return Matrix(unflatten_pose(built).tolist()) if is_rounding(obj, flatten_pose(basis), built) else basis
        if _has_lost_bone(obj):
            return basis
        if obj.parent is None and is_pose_as_built(obj, basis):
            return snap_to_built(obj, basis)
        design = self._frame @ _unsimulated_world_matrix(obj)
        bone = self.carrier(obj)
        if bone:
            pose = self.rig.pose.bones[bone]
            rest, now = self._in_file(pose.bone.matrix_local), self._in_file(pose.matrix)
            design = rest @ now.inverted_safe() @ design
        return snap_to_built(obj, design)

    def carried_by(self, obj: bpy.types.Object) -> Matrix | None:
        """Return the motion of a part's parent bone since parenting, in the mechanism's frame; None without any."""
        parent_space = self._parent_space(obj)
        return None if parent_space is None or _is_identity(parent_space, obj) else parent_space

    def on(self, obj: bpy.types.Object, holder: bpy.types.Object | None) -> Matrix:
        """Return the matrix of a frame, light or collision shape on the object that it was created as a child of."""
        basis = obj.matrix_basis
        back = self._back if holder is None or holder == self.rig else self._unapplied(holder)
        if holder is None or (obj.parent == holder and obj.parent_type == "OBJECT"):
            parent_space = rest_parent_inverse(obj) if back is None else back @ rest_parent_inverse(obj)
            return (
                basis
                if parent_space == _IDENTITY or _is_identity(parent_space, obj)
                else snap_to_built(obj, parent_space @ basis)
            )
        if obj.parent is None and is_pose_as_built(obj, basis):
            return snap_to_built(obj, basis)  # it only lost its parent
        local = _world_matrix(holder).inverted_safe() @ _world_matrix(obj)
        return snap_to_built(obj, local if back is None else back @ local)

    def _unapplied(self, body: bpy.types.Object) -> Matrix | None:
        applied = self.applied(body)
        return None if applied is None else applied.inverted_safe()

    def _in_file(self, design: Matrix) -> Matrix:
        """Convert a design matrix from the armature's axes to those of the file."""
        return design if self._back is None else self._back @ design

    def _parent_space(self, obj: bpy.types.Object) -> Matrix | None:
        """Return the matrix from an object's parent space to the mechanism at rest; None if parented elsewhere."""
        if obj.parent != self.rig:
            return None
        if obj.parent_type != "BONE":
            return rest_parent_inverse(obj)
        bone: bpy.types.Bone | None = armature_of(self.rig).bones.get(obj.parent_bone)
        if bone is None:
            return None
        return bone.matrix_local @ Matrix.Translation((0.0, bone.length, 0.0)) @ rest_parent_inverse(obj)


def is_rounding(obj: bpy.types.Object, now: Sequence[float], before: Sequence[float]) -> bool:
    """Return whether two local matrices of an object (16 numbers by rows) differ, and only by 32-bit rounding.

    Note:
        *Apply* on an armature has Blender recompute the local matrices of its children.
    """
    if list(now) == list(before):
        return False
    off = np.abs(np.subtract(now, before)).reshape(4, 4)
    reach = _distance_scale(obj)
    return bool(
        reach < _MAX_COORDINATE
        and off[:3, :3].max() <= _ROUNDING_TOLERANCE
        and off[:3, 3].max() <= _ROUNDING_TOLERANCE * reach
    )


def is_pose_as_built(obj: bpy.types.Object, now: Matrix, built: Array | None = None) -> bool:
    """Return whether a pose is the one that a part was built with, within the rounding of a change of parents.

    ``built``: another pose (4, 4) to compare with.
    """
    off = np.abs(np.array(now) - (baseline_pose(obj) if built is None else built))
    return bool(off[:3, :3].max() <= _POSE_TOLERANCE and off[:3, 3].max() <= _POSE_TOLERANCE * _distance_scale(obj))


def snap_to_built(obj: bpy.types.Object, now: Matrix) -> Matrix:
    """Remove the rounding of a pose computed through the world: components as built get exactly the built values."""
    built = baseline_pose(obj)
    pose, reach = np.array(now, dtype=np.float64), _distance_scale(obj)
    if np.abs(pose - built)[:3, :3].max() <= _POSE_TOLERANCE:
        pose[:3, :3] = built[:3, :3]
    step = 10.0 ** np.floor(np.log10(_POSE_TOLERANCE * reach))
    same = np.abs(pose - built)[:3, 3] <= _POSE_TOLERANCE * reach
    pose[:3, 3] = np.where(same, built[:3, 3], np.round(pose[:3, 3] / step) * step)
    return Matrix(pose.tolist())


def _distance_scale(obj: bpy.types.Object) -> float:
    """Return a part's distance from the origins of world and mechanism, which scales its 32-bit rounding."""
    here, parent = obj.matrix_world.translation.length, rest_parent_inverse(obj).translation.length
    return max(here, parent, float(np.linalg.norm(baseline_pose(obj)[:3, 3])), 1e-3)


def _is_identity(parent_space: Matrix, obj: bpy.types.Object) -> bool:
    """Return whether the matrix between an object and its parent is only the rounding of a bone's position."""
    a, b, c, x, d, e, f, y, g, h, i, z = flatten_pose(parent_space)[:12]
    near = _POSE_TOLERANCE * max(1.0, rest_parent_inverse(obj).translation.length)
    off = (a - 1.0, b, c, d, e - 1.0, f, g, h, i - 1.0)
    return all(-_POSE_TOLERANCE <= part <= _POSE_TOLERANCE for part in off) and all(
        -near <= part <= near for part in (x, y, z)
    )


def _has_lost_bone(obj: bpy.types.Object) -> bool:
    parent = obj.parent
    on_rig = parent is not None and parent.type == "ARMATURE" and obj.parent_type == "BONE"
    return on_rig and obj.parent_bone not in armature_of(parent).bones  # type: ignore[arg-type]


def _unsimulated_world_matrix(obj: bpy.types.Object) -> Matrix:
    """Return an object's world matrix without the effect of a simulation."""
    if obj.rigid_body is None or obj.rigid_body.kinematic or obj.rigid_body.type != "ACTIVE":
        return obj.matrix_world
    return local_to_parent_matrix(obj, _unsimulated_world_matrix)


def _world_matrix(obj: bpy.types.Object) -> Matrix:
    """Return an object's world matrix, also where it is hidden and Blender does not evaluate it."""
    return local_to_parent_matrix(obj, _world_matrix) if obj.hide_viewport else obj.matrix_world


def local_to_parent_matrix(obj: bpy.types.Object, place: Callable[[bpy.types.Object], Matrix]) -> Matrix:
    """Return an object's world matrix as its local matrix has it; ``place`` returns that of its parent."""
    parent = obj.parent
    if parent is None:
        return obj.matrix_basis
    if obj.parent_type == "OBJECT":
        return place(parent) @ rest_parent_inverse(obj) @ obj.matrix_basis
    if obj.parent_type == "BONE" and parent.type == "ARMATURE" and obj.parent_bone in parent.pose.bones:
        bone = parent.pose.bones[obj.parent_bone]
        tail = bone.matrix @ Matrix.Translation((0.0, bone.bone.length, 0.0))
        return parent.matrix_world @ tail @ rest_parent_inverse(obj) @ obj.matrix_basis
    return obj.matrix_world


def posed_matrix(body: bpy.types.Object) -> Matrix:
    """Return the world matrix of a body by its mechanism's pose, without physics and the body's own keyframes."""
    on_bone = body.parent == record_of(body).model and body.parent_type == "BONE"
    return local_to_parent_matrix(body, _world_matrix) if on_bone else body.matrix_world
