"""Renamed properties: data that a .blend stores under a name of release 1.0 get the present name.

Blender keeps values of unknown names in a property group, so that they can be renamed after loading. F-curves and
drivers that lead to a renamed property get the new data path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import bpy

from ..compat import all_curves, stored_property_group
from ..data.properties.model import CLASSES

#: Names of release 1.0 and their present names, by property group.
RENAMED_PROPERTIES: dict[str, dict[str, str]] = {
    "KnuckleObject": {
        "flywheel": "inertia_proxy",
        "flywheel_of": "inertia_proxy_of",
        "flywheel_share": "inertia_proxy_share",
        "is_apart": "is_collision_filter",
        "is_flywheel": "is_inertia_proxy",
        "weld": "inertia_proxy_constraint",
    },
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
    "KnuckleBone": {"turn": "joint_rotation"},
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
        for owner_type in (bpy.types.Object, bpy.types.Armature, bpy.types.Bone, bpy.types.Action):
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
