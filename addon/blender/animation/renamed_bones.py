"""Bones that were renamed: what names them follows.

Blender itself takes along what plays on the armature, its parents and its constraints. It leaves behind what does not
play just now, which is every other motion and every stored pose, and the data paths that drivers read. What names the
bones of a model is made to follow here, after any change of the scene in which a bone got another name: by hand, by
Blender's batch rename, or by us.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import bpy
from bpy.app.handlers import persistent

from ..compat import all_curves, curve_groups
from ..data.access import action_record, armature_of, armature_settings, bone_record, settings
from ..data.channels import bone_of_path, path_with_renamed_bone, servo_names_by_joint
from ..data.queries import is_foreign
from ..events.signals import Handlers, connect, disconnect, on_bones_renamed, signals_blocked
from .loops import live_solver

#: What a bone is for: joint, root, step.
BoneRole = tuple[str, str, int]
#: The names of all bones by their armature's ``session_uid``, as they were seen last: one comparison tells whether
#: there is anything to do.
_known_names: dict[int, list[str]] = {}
#: Which bone had a name, also one that it has no more. An undo takes back a bone's name and not always what followed it
#: (Blender keeps a step before it tells of the change).
_past_names: dict[int, dict[str, BoneRole]] = {}


@persistent
def after_step(*_args: Any) -> None:
    """After undo and redo. At once: where Blender made all anew it does not tell of the next update."""
    _check_names()


@persistent
def after_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """After every change of the scene: see whether bones of models have other names.

    Blender tells alike of names and of poses; while something is dragged in the view it is poses, and the change that
    ends it is told as well.
    """
    if depsgraph.id_type_updated("ARMATURE") and not _is_dragging():
        _check_names()


def _is_dragging() -> bool:
    """Return whether the user moves, turns or scales something at this moment."""
    window = bpy.context.window
    return window is not None and any(_is_transform(each) for each in window.modal_operators)


def _is_transform(operator: bpy.types.Operator) -> bool:
    try:
        return operator.bl_idname.startswith("TRANSFORM_OT_")
    except (AttributeError, ValueError):  # its class was just unregistered; in 4.2 that is a ValueError
        return False


def _check_names() -> None:
    for data in bpy.data.armatures:
        if data.is_editmode or _known_names.get(data.session_uid) == data.bones.keys():
            continue
        rig = armature_settings(data).rig
        if rig is not None and rig.data == data and not is_foreign(rig):
            follow_renamed_bones(rig)


def record_bone_names(rig: bpy.types.Object, tasks: Mapping[str, BoneRole]) -> None:
    """Know the bones of a rig that was made just now, by name with what they are for."""
    data = armature_of(rig)
    _past_names[data.session_uid] = dict(tasks)
    _known_names[data.session_uid] = data.bones.keys()


def follow_renamed_bones(rig: bpy.types.Object, tell: bool = True) -> dict[str, str]:
    """Have motions, poses, drivers and the list of servo names follow the bones of a model that were renamed since, and
    ``tell`` of it who wants to know. Returns their old names and new ones."""
    data = armature_of(rig)
    if data.session_uid not in _known_names:
        _link_servo_names(rig)
    went = _renamed_bones(data)
    stale = _stale_names(data)
    if went or stale:
        with signals_blocked():
            _follow_actions(rig, went, stale)
            _follow_drivers(rig, {**stale, **went})
            _update_servo_names(rig)
    past, before = _past_names.setdefault(data.session_uid, {}), {new: old for old, new in went.items()}
    for bone in data.bones:
        record = bone_record(bone)
        if (record.known_name or record.built_name) != bone.name:
            record.known_name = bone.name
        if record.joint or record.root:
            past[before.get(bone.name, bone.name)] = past[bone.name] = record.joint, record.root, record.step
    if went or stale:
        live_solver.invalidate_loops(rig)
    _known_names[data.session_uid] = data.bones.keys()
    if went and tell:
        for act in on_bones_renamed:
            act(rig, went)
        if _known_names[data.session_uid] != data.bones.keys():  # twins were renamed with them
            went |= follow_renamed_bones(rig, tell=False)
    return went


def _renamed_bones(data: bpy.types.Armature) -> dict[str, str]:
    """The old names of bones that have new ones.

    A bone that the user duplicated says the name of its original: it was renamed only where that is gone.
    """
    names = {bone.name: bone_record(bone).known_name or bone_record(bone).built_name for bone in data.bones}
    out: dict[str, str] = {}
    for name, before in names.items():
        if before and names.get(before) != before:
            out.setdefault(before, name)
    return out


def _stale_names(data: bpy.types.Armature) -> dict[str, str]:
    """Names that bones had once and nothing has now, with those that the bones have."""
    past = _past_names.get(data.session_uid, {})
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
    playing = set(playing_actions(rig))
    names = {*armature_of(rig).bones.keys(), *went, *stale}
    for action in bpy.data.actions:
        if action.library is not None or action.override_library is not None:
            continue
        wanted = stale if action in playing else {**stale, **went}  # Blender itself saw to what plays
        named = {bone: None for curve in all_curves(action) if (bone := bone_of_path(curve.data_path))}
        if wanted.keys().isdisjoint(named) or not _is_motion_of(rig, action, named.keys() <= names):
            continue
        for curve in all_curves(action):
            curve.data_path = path_with_renamed_bone(curve.data_path, wanted)
        for group in curve_groups(action):
            if group.name in wanted:
                group.name = wanted[group.name]


def playing_actions(rig: bpy.types.Object) -> Iterator[bpy.types.Action]:
    """The Actions that an armature has, active or in tracks."""
    data = rig.animation_data
    if data is None:
        return
    if data.action is not None:
        yield data.action
    yield from (strip.action for track in data.nla_tracks for strip in track.strips if strip.action is not None)


def _is_motion_of(rig: bpy.types.Object, action: bpy.types.Action, matches_bones: bool) -> bool:
    """Return whether an Action that names bones is a model's: it was made for it, or it is the user's and names no bone
    that the model lacks, and no other armature has it."""
    model = action_record(action).model
    if model:
        return model == settings(rig).uid
    return matches_bones and not any(
        action in playing_actions(other) for other in bpy.data.objects if other != rig and other.type == "ARMATURE"
    )


# ---------------------------------------------------------------- what else names bones


def _follow_drivers(rig: bpy.types.Object, names: Mapping[str, str]) -> None:
    """Have the drivers of all the file read the bones by their new names, and drive them."""
    for owner in bpy.data.user_map():
        data = getattr(owner, "animation_data", None)
        for curve in data.drivers if data is not None and owner.library is None else ():
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
    """Have the rows of the list of servo names know their joints, in files from before they did."""
    for row in settings(rig).servo_names:
        if row.servo and not row.joint:
            row.servo = row.servo  # looks for it


def _update_servo_names(rig: bpy.types.Object) -> None:
    """Have the list of servo names say what its servos are called now."""
    for row, name in listed_servos(rig):
        if row.servo != name:
            row.servo = name


def listed_servos(rig: bpy.types.Object) -> list[tuple[Any, str]]:
    """The rows of a model's list of servo names, each with what its servo is called now."""
    rows = list(settings(rig).servo_names)
    names = servo_names_by_joint(rig) if any(row.joint for row in rows) else {}
    return [(row, own[row.number] if row.number < len(own := names.get(row.joint, ())) else row.servo) for row in rows]


# ---------------------------------------------------------------- what Blender calls


@persistent
def forget_bone_names(*_args: Any) -> None:
    """Another file: what was seen is of no account."""
    _known_names.clear()
    _past_names.clear()


_HANDLERS: Handlers = (
    ("depsgraph_update_post", after_update),
    ("load_post", forget_bone_names),
    ("load_factory_startup_post", forget_bone_names),
    ("undo_post", after_step),
    ("redo_post", after_step),
)


def register() -> None:
    """Hang in what follows renamed bones."""
    connect(_HANDLERS)


def unregister() -> None:
    """Take it out again."""
    disconnect(_HANDLERS)
    forget_bone_names()
