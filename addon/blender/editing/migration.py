"""Migration of mechanisms from earlier releases, step by step, when a .blend is opened, appended or linked.

Properties get their present names first. Then each step of ``_MIGRATIONS`` leads from one version of a mechanism to the
next and only fills in what that version lacked. The file of a linked mechanism, and mechanisms of newer releases, stay
as they are.
"""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ...core.editing.sides import find_mirror_plane
from ...core.model import Plane, body_by_id
from ...core.report import FormatError, Report
from ..animation.loops.input_joints import lock_rigid_loops
from ..compat import all_curves, stored_property_group
from ..data.access import armature_of, armature_settings, bone_record, record_of, settings
from ..data.baseline import record_rest_pose, store_rest_poses
from ..data.conversion import add_to_report, dof_kinds_key, mirror_plane_of, set_mirror_plane
from ..data.documents import read_document
from ..data.properties.model import CLASSES, DATA_VERSION
from ..data.queries import is_foreign, is_from_newer_release, parts, rigs_of
from ..events.handlers import Handlers, connect, disconnect
from ..events.runtime_state import RuntimeState, state_of
from ..events.signals import writing_records
from ..physics.simulation.setup import store_friction
from ..reconcile.rig_update import record_joints
from ..rig.bone_limits import update_all_bone_limits
from ..scene.materials import record_missing_color
from ..scene.parts import create_missing
from ..scene.placement import make_plan, report_rigid_joints
from ..scene.read.mechanism import extract
from .symmetry.twins import document_plane


def migrate_model(rig: bpy.types.Object) -> list[int]:
    """Migrate a mechanism, with its library overrides.

    A linked mechanism is changed in memory, until its library is loaded again. A library has no room for new objects,
    so that one from before ``_MIN_LIBRARY_VERSION`` stays as it is.

    Returns:
        The versions that it went through; empty if it was up to date or cannot be changed.
    """
    model = settings(rig)
    passed: list[int] = []
    if model.version < _RENAMED_SINCE:
        with writing_records():
            rename_stored_properties()
    if is_foreign(rig) and model.version < _MIN_LIBRARY_VERSION:
        return passed
    every = list(rigs_of(armature_of(rig)))
    with writing_records():
        while model.version < DATA_VERSION:
            for each in every:  # an override stores no difference to its library as it is in memory
                if model.version in _MIGRATIONS:
                    _MIGRATIONS[model.version](each)
            model.version += 1
            passed.append(model.version)
    return passed


# ---------------------------------------------------------------- the steps


def _create_frame_objects(rig: bpy.types.Object) -> None:
    """Migrate to version 2: create objects for reference frames and lights, which were in the document alone.

    Some exist if a previous attempt failed.
    """
    decided = make_plan(extract(rig), closed=False)
    counts = {"FRAME": len(decided.mechanism.frames), "LIGHT": len(decided.mechanism.lights)}
    wanted = {
        role: {str(number) for number in range(count)} - {record_of(obj).source_id for obj in parts(rig, role)}
        for role, count in counts.items()
    }
    create_missing(rig, decided, wanted, Report())


def _record_colors(rig: bpy.types.Object) -> None:
    """Migrate to version 3: store the color with which materials were made. Older edits of color are not exported."""
    for obj in (*parts(rig, "BODY"), *parts(rig, "SHAPE")):
        for slot in obj.material_slots:
            if slot.material is not None and slot.material.library is None:
                record_missing_color(slot.material)


def _record_bones(rig: bpy.types.Object) -> None:
    """Migrate to version 4: store channels of joints, built names of bones, the upright rotation and the ground's flag.

    Joints get the channels of their degrees of freedom and the kinds for which their bones were made.
    """
    joints = [record_of(empty).joint for empty in parts(rig, "JOINT")]
    if any(dof.step < 0 for joint in joints if not joint.loop for dof in joint.dofs):
        record_joints(rig, make_plan(extract(rig), closed=False))
    for joint in joints:
        joint.bone_kinds = joint.bone_kinds or (dof_kinds_key(joint) if joint.active else "")
    for bone in armature_of(rig).bones:
        known = bone_record(bone)
        if known.joint or known.root:
            known.baseline_name = known.baseline_name or bone.name
    if not any(settings(rig).upright):
        settings(rig).upright = rig.matrix_basis.to_quaternion()
    for obj in parts(rig, "SHAPE"):
        record = record_of(obj)
        if obj.name.startswith(_GROUND_NAME) and not record.source_id and record.shape < 0 and obj.parent is None:
            record.is_ground = True


def _simplify_bone_limits(rig: bpy.types.Object) -> None:
    """Migrate to version 5: store the rest poses of bones and set limits again.

    Limits clamped angles to the nearer stop around the circle, and stops beyond half a turn had none.
    """
    store_rest_poses(rig)
    update_all_bone_limits(rig)


def _record_mirror_plane(rig: bpy.types.Object) -> None:
    """Migrate to version 5: store the mirror plane, gravity and collision flags of bodies, and the spheres of shapes.

    All of it was in the document alone.
    """
    base = read_document(rig)
    if mirror_plane_of(rig) is None:
        made_here = base is None  # the plane is X = 0 where it has no twins
        set_mirror_plane(
            rig, (find_mirror_plane(extract(rig)) or Plane(np.eye(3)[0])) if made_here else document_plane(rig)
        )
    known = body_by_id(base) if base is not None else {}
    for obj in parts(rig, "BODY"):
        record = record_of(obj)
        body = known.get(record.source_id) or known.get(record.copy_of)
        if body is None:
            continue
        record.gravity, record.collidable = body.gravity, body.collidable
        for kept, shape in zip(record.shapes, body.shapes, strict=False):
            if kept.type == shape.type and shape.spheres:
                kept.spheres = json.dumps(shape.spheres)


def _record_contact_friction(rig: bpy.types.Object) -> None:
    """Migrate to version 5: store the friction that physics gave bodies, by which typed values are recognized."""
    if any(obj.rigid_body is not None for obj in parts(rig, "BODY")):
        store_friction(rig)


def _lock_rigid_loops(rig: bpy.types.Object) -> None:
    """Migrate to version 5: lock the bones of loops without a degree of freedom, which were free."""
    report = Report()
    for linkage in lock_rigid_loops(rig):
        report_rigid_joints(linkage, report)
    add_to_report(rig, report)


def _migrate_to_5(rig: bpy.types.Object) -> None:
    _simplify_bone_limits(rig)
    _lock_rigid_loops(rig)
    _record_mirror_plane(rig)
    _record_contact_friction(rig)


def _record_rest_heads(rig: bpy.types.Object) -> None:
    """Migrate to version 6: store the heads of bones, of those that have the rotation with which they were created."""
    for bone in armature_of(rig).bones:
        rest = np.reshape(bone_record(bone).rest[:], (3, 3))
        if np.abs(np.array(bone.matrix_local.to_3x3()) - rest).max() < _REST_TOLERANCE:
            record_rest_pose(bone)


#: Tolerance of the entries of equal rest rotations.
_REST_TOLERANCE = 1e-4
#: Name of a scene's ground before its record identified it.
_GROUND_NAME = "Knuckle Ground"
#: Step from each version of a mechanism to the next. Version 6 has other names of properties as well.
_MIGRATIONS: dict[int, Callable[[bpy.types.Object], None]] = {
    1: _create_frame_objects,
    2: _record_colors,
    3: _record_bones,
    4: _migrate_to_5,
    5: _record_rest_heads,
}
#: Version whose properties have the present names.
_RENAMED_SINCE = 6
#: Version from which on no step creates objects.
_MIN_LIBRARY_VERSION = 4


# ---------------------------------------------------------------- renamed properties

#: Names of release 1.0 and their present names, by property group.
RENAMED_PROPERTIES: dict[str, dict[str, str]] = {
    "KnuckleObject": {
        "built": "baseline_pose",
        "built_name": "baseline_name",
        "corners": "baseline_corners",
        "fitted": "baseline_bone_pose",
        "flywheel": "inertia_proxy",
        "flywheel_of": "inertia_proxy_of",
        "flywheel_share": "inertia_proxy_share",
        "is_apart": "is_collision_filter",
        "is_flywheel": "is_inertia_proxy",
        "seen": "mirrored_pose",
        "seen_count": "mirrored_count",
        "seen_name": "mirrored_name",
        "seen_twin": "mirrored_twin_pose",
        "seen_twin_name": "mirrored_twin_name",
        "settled": "session_tag",
        "surface": "baseline_mesh",
        "weld": "inertia_proxy_constraint",
    },
    "KnuckleMaterial": {"built": "baseline_color"},
    "KnuckleJoint": {
        "against": "is_reversed",
        "boned": "bone_kinds",
        "far_stops": "limit_constraints",
        "follows": "is_dependent",
        "losses": "loss_motors",
        "preload": "spring_preload",
        "pushes": "spring_motors",
    },
    "KnuckleDof": {"begins": "assembled_start", "ticked": "is_marked"},
    "KnuckleMotor": {"number": "dof_index"},
    "KnuckleRestraint": {
        "at_one": "frame_a",
        "at_other": "frame_b",
        "one": "body_a",
        "one_stays": "a_at_world",
        "other": "body_b",
        "other_stays": "b_at_world",
    },
    "KnuckleBone": {
        "built_name": "baseline_name",
        "known_name": "followed_name",
        "turn": "joint_rotation",
    },
    "KnuckleModel": {
        "before": "world_backup",
        "let_go": "forgotten_ids",
        "lift": "ground_offset",
        "listens_to": "gait_inputs",
        "throws": "velocity_motors",
        "truth": "accuracy",
    },
    "KnuckleAccuracy": {
        "deep": "deepest_pair",
        "deep_at": "deepest_frame",
        "deep_names": "deepest_names",
        "depth": "penetration",
    },
    "KnuckleJointAccuracy": {
        "beyond": "stop_overrun",
        "error": "tracking_error",
        "gap": "separation",
        "mean_error": "mean_tracking_error",
        "mean_gap": "mean_separation",
        "turns": "is_revolute",
    },
    "KnuckleWorldBackup": {"span": "frame_range", "why": "requirements"},
    "KnuckleOriginServo": {"number": "dof_index", "place": "trajectory_index"},
    "KnuckleServoName": {"number": "dof_index"},
}

_GROUPS = {cls.__name__ for cls in CLASSES}
_NAME = re.compile(r"\w+")
_STEP_INTO_GROUP = re.compile(r"(\[[^\]]*\])?\.")


def rename_stored_properties() -> None:
    """Give all data of the open .blend the present names, linked data in memory. A second call changes nothing."""
    for obj in bpy.data.objects:
        _rename_within(obj, bpy.types.Object)
    for data in bpy.data.armatures:
        _rename_within(data, bpy.types.Armature)
        for bone in data.bones:
            _rename_within(bone, bpy.types.Bone)
    for material in bpy.data.materials:
        _rename_within(material, bpy.types.Material)
    for action in bpy.data.actions:
        _rename_within(action, bpy.types.Action)
    for holder in _path_holders():
        path = renamed_path(holder.data_path)
        if path != holder.data_path:
            holder.data_path = path


def _rename_within(owner: Any, owner_type: Any) -> None:
    group = stored_property_group(owner, "knuckle")
    if group is not None:
        _rename_in_group(group, owner_type.bl_rna.properties["knuckle"].fixed_type)


def _rename_in_group(group: Any, kind: Any) -> None:
    """Rename values in a stored property group of a registered type, and in those within it."""
    for old, new in RENAMED_PROPERTIES.get(kind.identifier, {}).items():
        if old in group:
            group[new] = group[old]
            del group[old]
    for name, each in _inner_groups(kind):
        inner = group.get(name)
        for item in () if inner is None else inner if isinstance(inner, list) else (inner,):
            _rename_in_group(item, each)


def _inner_groups(kind: Any) -> Iterable[tuple[str, Any]]:
    """Return name and type of the property groups that one contains, single or in collections."""
    inner = [prop for prop in kind.properties if prop.type in {"POINTER", "COLLECTION"}]
    return [(prop.identifier, prop.fixed_type) for prop in inner if prop.fixed_type.identifier in _GROUPS]


def renamed_path(path: str) -> str:
    """Return a data path with the present names of the properties of ours that it leads through."""
    before, found, own = path.rpartition("knuckle.")
    if found:
        for owner_type in (bpy.types.Object, bpy.types.Armature, bpy.types.Bone, bpy.types.Material, bpy.types.Action):
            pointer: Any = owner_type.bl_rna.properties["knuckle"]
            renamed = _renamed_from(own, pointer.fixed_type)
            if renamed != own:
                return before + found + renamed
    return path


def _renamed_from(path: str, kind: Any) -> str:
    """Return the rest of a data path, which begins at a property of a group, with present names."""
    name = _NAME.match(path)
    if name is None:
        return path
    new, rest = RENAMED_PROPERTIES.get(kind.identifier, {}).get(name[0], name[0]), path[name.end() :]
    inner, step = dict(_inner_groups(kind)).get(new), _STEP_INTO_GROUP.match(rest)
    if inner is None or step is None:
        return new + rest
    return new + step[0] + _renamed_from(rest[step.end() :], inner)


def _path_holders() -> Iterator[Any]:
    """Yield what holds a data path in the file: F-curves of Actions and of drivers, and targets of drivers."""
    for action in bpy.data.actions:
        yield from all_curves(action)
    kinds = [prop.identifier for prop in bpy.data.bl_rna.properties if prop.type == "COLLECTION"]
    for block in (block for kind in kinds for block in getattr(bpy.data, kind)):
        animation = getattr(block, "animation_data", None)
        for curve in () if animation is None else animation.drivers:
            yield curve
            yield from (target for variable in curve.driver.variables for target in variable.targets)


# ---------------------------------------------------------------- handlers


@dataclass
class _CheckedArmatures(RuntimeState):
    """``session_uid`` of the armature data of mechanisms that were checked; undo may restore an old mechanism."""

    uids: set[int] = field(default_factory=set)


@persistent
def after_load(*_args: Any) -> None:
    """Migrate mechanisms after a .blend was opened, and after undo and redo."""
    _migrate_new_models()


@persistent
def after_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Migrate mechanisms that were appended or linked, after every change of the scene."""
    if depsgraph.id_type_updated("ARMATURE"):
        _migrate_new_models()


def _migrate_new_models() -> None:
    checked = state_of(_CheckedArmatures).uids
    for data in bpy.data.armatures:
        if data.session_uid in checked or data.is_editmode:
            continue
        checked.add(data.session_uid)
        rig = armature_settings(data).rig
        if rig is None or rig.data != data:
            continue
        if is_from_newer_release(rig):
            print(f"Knuckle: {rig.name!r} was saved by a newer release of Knuckle and is not changed")
            continue
        try:
            passed = migrate_model(rig)
        except Exception as error:  # an error in one mechanism must not prevent the migration of others
            if not isinstance(error, (FormatError, ValueError, OSError)):
                traceback.print_exc()
            print(f"Knuckle: {rig.name!r} was saved by an earlier release and cannot be updated: {error}")
            continue
        if passed:
            kept = " in memory, its own file is unchanged" if is_foreign(rig) else ""
            print(f"Knuckle: {rig.name!r} was saved by an earlier release and is updated{kept}")


_HANDLERS: Handlers = (
    ("load_post", after_load),
    ("undo_post", after_load),
    ("redo_post", after_load),
    ("depsgraph_update_post", after_update),
)


def register() -> None:
    """Register the handlers."""
    connect(_HANDLERS)


def unregister() -> None:
    """Remove the handlers."""
    disconnect(_HANDLERS)
