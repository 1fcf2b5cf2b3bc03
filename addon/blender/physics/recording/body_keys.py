"""Keys for every body of a model, on request: what a bake plays then is what physics did, gaps and all.

Bones play a mechanism that does not come apart and keeps to its stops. So that bodies can go where physics had them,
an armature of their own has a bone for each, and a constraint puts each body where its bone is. Bodies, joints and the
model's own bones stay as they are, and Blender plays it without us. While another Action plays, or physics, the
constraints are muted: see ``follow_body_keys``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import bpy

from ....core.transforms import affine_inverse
from ...animation.keying import key_bone_paths
from ...compat import use_action
from ...data.access import action_record, armature_of, model_uid, record_of, settings
from ...data.queries import child_collection, parts, rigs_in
from ...scene.temporary_scene import at_work, workshop
from .recorder import Recording, quaternions

_NAME = "Knuckle Body Keys"
_SUFFIX = " Bodies"


def write_body_keys(rig: bpy.types.Object, recording: Recording, action: bpy.types.Action) -> bpy.types.Action:
    """A second Action beside that of a bake, with keys for every body; both play together from now on."""
    bodies = recording.plant.bodies
    holder = _holder(rig, bodies)
    keys = bpy.data.actions.new(action.name + _SUFFIX)
    keys.use_fake_user = True
    action_record(keys).model = model_uid(rig)
    use_action(holder, keys)
    to_model, scales = affine_inverse(recording.unlifted()[:, -1]), recording.scales
    paths = {}
    for number, obj in enumerate(bodies):
        moved = to_model @ recording.poses[:, number]
        bone = _bone_of(obj, holder)
        assert bone is not None
        paths[bone] = moved[:, :3, 3], quaternions(moved[:, :3, :3])
        holder.pose.bones[bone].scale = (1.0, 1.0, 1.0) if scales is None else scales[number].tolist()
    key_bone_paths(holder, keys, recording.frames, paths)
    action_record(action).bodies = keys
    follow_body_keys(rig)
    return keys


def _holder(rig: bpy.types.Object, bodies: list[bpy.types.Object]) -> bpy.types.Object:
    """The armature with a bone for each body, made where there is none or bodies have none there."""
    holder = settings(rig).body_keys
    if holder is None or not holder.users_collection or holder.data is None:
        name = rig.name + _SUFFIX
        holder = settings(rig).body_keys = bpy.data.objects.new(name, bpy.data.armatures.new(name))
        holder.parent = rig
        record_of(holder).model = rig
        holder.hide_select = holder.hide_render = True
        child_collection(rig, "Frames").objects.link(holder)
    lack = [obj for obj in bodies if _bone_of(obj, holder) is None]
    for obj, bone in zip(lack, _add_bones(holder, [obj.name for obj in lack]), strict=True):
        for spoilt in _constraints(obj, holder):
            obj.constraints.remove(spoilt)
        held = cast(bpy.types.CopyTransformsConstraint, obj.constraints.new("COPY_TRANSFORMS"))
        held.name, held.target, held.subtarget, held.mute = _NAME, holder, bone, True
    holder.hide_viewport = True
    return holder


def _add_bones(holder: bpy.types.Object, names: list[str]) -> list[str]:
    """New bones, at rest in the armature's own axes; the names that they got."""
    if not names:
        return []
    holder.hide_viewport = False  # or it cannot be edited
    with workshop([holder]) as scene, at_work(scene, [holder]):
        bpy.ops.object.mode_set(mode="EDIT")
        made = []
        for name in names:
            bone = armature_of(holder).edit_bones.new(name.encode()[:63].decode(errors="ignore"))
            bone.tail = (0.0, 1.0, 0.0)
            bone.use_deform = False
            made.append(bone)
        given = [bone.name for bone in made]
        bpy.ops.object.mode_set(mode="OBJECT")
    return given


def _constraints(obj: bpy.types.Object, holder: bpy.types.Object) -> list[bpy.types.CopyTransformsConstraint]:
    """The constraint of ours on a body, and such as have lost their target."""
    copies = [
        cast(bpy.types.CopyTransformsConstraint, held) for held in obj.constraints if held.type == "COPY_TRANSFORMS"
    ]
    return [held for held in copies if held.target == holder or (held.name == _NAME and held.target is None)]


def is_ours(held: bpy.types.Constraint) -> bool:
    """Return whether a constraint of a body is one that puts it where its own keys are."""
    return held.type == "COPY_TRANSFORMS" and held.name.split(".")[0] == _NAME


def _bone_of(obj: bpy.types.Object, holder: bpy.types.Object) -> str | None:
    """The bone that a body is put to."""
    bones = armature_of(holder).bones
    return next((held.subtarget for held in _constraints(obj, holder) if held.subtarget in bones), None)


def body_keyed(scene: bpy.types.Scene) -> Iterator[bpy.types.Object]:
    """The models of a scene whose bodies have keys of their own."""
    return (rig for rig in rigs_in(scene) if settings(rig).body_keys is not None)


def follow_body_keys(rig: bpy.types.Object) -> None:
    """Have a model's bodies follow their own keys where the Action that plays has some and no physics moves them, and
    nothing but bones or physics otherwise."""
    holder = settings(rig).body_keys
    if holder is None:
        return
    data = rig.animation_data
    playing = data.action if data is not None else None
    keys = action_record(playing).bodies if playing is not None else None
    wanted = keys if settings(rig).drive == "KEYS" else None
    if wanted is not None and (holder.animation_data is None or holder.animation_data.action != wanted):
        use_action(holder, wanted)
    for obj in parts(rig, "BODY"):
        for held in _constraints(obj, holder):
            if held.mute != (wanted is None):
                held.mute = wanted is None


def remove_body_keys(rig: bpy.types.Object) -> None:
    """Take the constraints and their armature away; Actions stay."""
    holder = settings(rig).body_keys
    if holder is None:
        return
    for obj in parts(rig, "BODY"):
        for held in _constraints(obj, holder):
            obj.constraints.remove(held)
    settings(rig).body_keys = None
    bpy.data.armatures.remove(armature_of(holder))  # the object goes with it
