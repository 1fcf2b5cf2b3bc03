"""Renaming of bones: updates what refers to them by name.

Note:
    Blender itself updates what plays on the armature, bone parents and constraints. It does not update what does not
    play at the moment, which is every other motion and every stored pose, nor the data paths that drivers read. These
    are updated here, after any change of the scene in which a bone was renamed: by hand, by Blender's batch rename, or
    by us.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import bpy
from bpy.app.handlers import persistent

from ..compat import action_curves, all_curves, curve_groups
from ..data.access import action_record, armature_of, armature_settings, bone_record, settings
from ..data.channels import Channel, bone_of_path, path_with_renamed_bone, servo_names_by_joint
from ..data.queries import is_foreign
from ..events.handlers import Handlers, connect, disconnect
from ..events.runtime_state import Lifetime, RuntimeState, state_of
from ..events.signals import Signal, emit, writing_records
from .actions import played_actions
from .loops import live_solver

#: Role of a bone: joint id, root body id, step of the joint's chain.
BoneRole = tuple[str, str, int]


@dataclass
class _BoneNames(RuntimeState):
    """Names of an armature's bones.

    Attributes:
        known: Names of all bones at the last check: one comparison decides whether there is anything to do.
        past: Role of the bone by each of its present and past names. Undo restores a bone's name, but not always what
            was updated with it (Blender stores the undo step before it calls the handlers).
    """

    lifetime: ClassVar = Lifetime.FILE
    known: list[str] | None = None
    past: dict[str, BoneRole] = field(default_factory=dict)


@persistent
def after_step(*_args: Any) -> None:
    """Check names after undo and redo.

    Note:
        Immediately, because where Blender recreated all data it does not call the handler of the next update.
    """
    _check_names()


@persistent
def after_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Check, after every change of the scene, whether bones of mechanisms were renamed.

    Note:
        Blender's updates do not distinguish names from poses. While something is dragged in the viewport it is poses,
        and the change that ends dragging is reported as well.
    """
    if depsgraph.id_type_updated("ARMATURE") and not _is_dragging():
        _check_names()


def _is_dragging() -> bool:
    """Return whether a transform operator is running."""
    window = bpy.context.window
    return window is not None and any(_is_transform(each) for each in window.modal_operators)


def _is_transform(operator: bpy.types.Operator) -> bool:
    try:
        return operator.bl_idname.startswith("TRANSFORM_OT_")
    except (AttributeError, ValueError):  # its class was just unregistered, which in 4.2 is a ValueError
        return False


def _check_names() -> None:
    for data in bpy.data.armatures:
        if data.is_editmode or state_of(_BoneNames, data).known == data.bones.keys():
            continue
        rig = armature_settings(data).rig
        if rig is not None and rig.data == data and not is_foreign(rig):
            follow_renamed_bones(rig)


def record_bone_names(rig: bpy.types.Object, tasks: Mapping[str, BoneRole]) -> None:
    """Record the bones of a newly built rig: roles by name."""
    data = armature_of(rig)
    names = state_of(_BoneNames, data)
    names.past, names.known = dict(tasks), data.bones.keys()


def follow_renamed_bones(rig: bpy.types.Object, notify: bool = True) -> dict[str, str]:
    """Update motions, poses, drivers and the list of servo names of a mechanism after bones were renamed.

    Args:
        rig: Armature of the mechanism.
        notify: Emit ``BONES_RENAMED``.

    Returns:
        New names by old names.
    """
    data = armature_of(rig)
    names = state_of(_BoneNames, data)
    if names.known is None:
        _link_servo_names(rig)
    went = _renamed_bones(data)
    stale = _stale_names(data)
    if went or stale:
        with writing_records():
            _follow_actions(rig, went, stale)
            _follow_drivers(rig, {**stale, **went})
            _update_servo_names(rig)
    past, before = names.past, {new: old for old, new in went.items()}
    for bone in data.bones:
        record = bone_record(bone)
        if (record.followed_name or record.baseline_name) != bone.name:
            record.followed_name = bone.name
        if record.joint or record.root:
            past[before.get(bone.name, bone.name)] = past[bone.name] = record.joint, record.root, record.step
    if went or stale:
        live_solver.invalidate_loops(rig)
    names.known = data.bones.keys()
    if went and notify:
        emit(Signal.BONES_RENAMED, rig, went)
        if names.known != data.bones.keys():  # listeners renamed the bones of twins
            went |= follow_renamed_bones(rig, notify=False)
    return went


def _renamed_bones(data: bpy.types.Armature) -> dict[str, str]:
    """Return new names of renamed bones by old names.

    A duplicated bone has the record of its original: it counts as renamed only if the original is gone.
    """
    names = {bone.name: bone_record(bone).followed_name or bone_record(bone).baseline_name for bone in data.bones}
    out: dict[str, str] = {}
    for name, before in names.items():
        if before and names.get(before) != before:
            out.setdefault(before, name)
    return out


def _stale_names(data: bpy.types.Armature) -> dict[str, str]:
    """Return the present names of bones by past names that no bone has any more."""
    past = state_of(_BoneNames, data).past
    gone = {name: task for name, task in past.items() if name not in data.bones}
    if not gone:
        return {}
    now: dict[BoneRole, str] = {}
    for bone in data.bones:
        record = bone_record(bone)
        now.setdefault((record.joint, record.root, record.step), bone.name)
    return {name: now[task] for name, task in gone.items() if task in now}


# ---------------------------------------------------------------- motions and poses


def _follow_actions(rig: bpy.types.Object, went: Mapping[str, str], stale: Mapping[str, str]) -> None:
    playing = set(played_actions(rig))
    names = {*armature_of(rig).bones.keys(), *went, *stale}
    for action in bpy.data.actions:
        if action.library is not None or action.override_library is not None:
            continue
        wanted = stale if action in playing else {**stale, **went}  # Blender itself updated what plays
        named = {bone: None for curve in all_curves(action) if (bone := bone_of_path(curve.data_path))}
        if wanted.keys().isdisjoint(named) or not _is_motion_of(rig, action, named.keys() <= names):
            continue
        for curve in all_curves(action):
            curve.data_path = path_with_renamed_bone(curve.data_path, wanted)
        for group in curve_groups(action):
            if group.name in wanted:
                group.name = wanted[group.name]


def _is_motion_of(rig: bpy.types.Object, action: bpy.types.Action, matches_bones: bool) -> bool:
    """Return whether an Action that refers to bones belongs to a mechanism.

    It was made for it, or it is the user's, refers to no bone that the mechanism lacks, and no other armature plays it.
    """
    model = action_record(action).model
    if model:
        return model == settings(rig).uid
    return matches_bones and not any(
        action in played_actions(other) for other in bpy.data.objects if other != rig and other.type == "ARMATURE"
    )


# ---------------------------------------------------------------- other references to bones


def _follow_drivers(rig: bpy.types.Object, names: Mapping[str, str]) -> None:
    """Update the bone names in all drivers of the .blend: in what they read and what they drive."""
    for owner in bpy.data.user_map():
        data = getattr(owner, "animation_data", None)
        drivers: Iterable[Any] = data.drivers if data is not None and owner.library is None else ()
        for curve in drivers:
            if owner == rig and bone_of_path(curve.data_path) in names:
                curve.data_path = path_with_renamed_bone(curve.data_path, names)
            for target in (each for variable in curve.driver.variables for each in variable.targets):
                if target.id != rig:
                    continue
                if path_with_renamed_bone(target.data_path, names) != target.data_path:
                    target.data_path = path_with_renamed_bone(target.data_path, names)
                if target.bone_target in names:
                    target.bone_target = names[target.bone_target]


def _link_servo_names(rig: bpy.types.Object) -> None:
    """Link the rows of the list of servo names to joints, for files from before they were."""
    for row in settings(rig).servo_names:
        if row.servo and not row.joint:
            row.servo = row.servo  # the update callback looks for its joint


def _update_servo_names(rig: bpy.types.Object) -> None:
    """Update the list of servo names to the present names of its servos."""
    for row, name in listed_servos(rig):
        if row.servo != name:
            row.servo = name


def listed_servos(rig: bpy.types.Object) -> list[tuple[Any, str]]:
    """Return the rows of a mechanism's list of servo names, each with the present name of its servo."""
    rows = list(settings(rig).servo_names)
    names = servo_names_by_joint(rig) if any(row.joint for row in rows) else {}
    return [
        (row, own[row.dof_index] if row.dof_index < len(own := names.get(row.joint, ())) else row.servo) for row in rows
    ]


# ---------------------------------------------------------------- handlers


_HANDLERS: Handlers = (
    ("depsgraph_update_post", after_update),
    ("undo_post", after_step),
    ("redo_post", after_step),
)


def register() -> None:
    """Register the handlers."""
    connect(_HANDLERS)


def unregister() -> None:
    """Remove the handlers."""
    disconnect(_HANDLERS)


# ---------------------------------------------------------------- motions of another mechanism

#: New data paths and indices of curves by previous ones.
CurveMap = dict[tuple[str, int], tuple[str, int]]


def map_joint_curves(before: Mapping[str, Sequence[Channel]], after: Mapping[str, Sequence[Channel]]) -> CurveMap:
    """Return the new identifiers of the curves of joints' bones by previous ones, for joints with the same ids."""
    pairs = ((old, new) for joint, own in before.items() for old, new in zip(own, after.get(joint, ()), strict=False))
    return {was: now for old, new in pairs for was, now in zip(old.curves(), new.curves(), strict=False)}


def transfer_motions(
    other: bpy.types.Object, actions: Iterable[bpy.types.Action], places: CurveMap, model: str
) -> None:
    """Assign motions and stored poses to another mechanism, to whose bones the parts are parented now.

    Curves without an entry in ``places``, and those of other slots, are left as they are.

    Args:
        other: Armature of the mechanism that had them.
        actions: The motions and stored poses.
        places: New identifiers of curves by previous ones.
        model: ``model_uid`` of the other mechanism.
    """
    names = {bone_of_path(old): bone_of_path(new) for (old, _index), (new, _number) in places.items()}
    for action in actions:
        curves = [*(action_curves(other, action, create=False) or ())]
        for curve in curves:
            place = places.get((curve.data_path, curve.array_index))
            if place is not None and place != (curve.data_path, curve.array_index):
                curve.data_path, curve.array_index = place
        for group in dict.fromkeys(curve.group for curve in curves if curve.group is not None):
            group.name = names.get(group.name, group.name)
        action_record(action).model = model
