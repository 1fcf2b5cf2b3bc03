"""What a run under physics did, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix

from ....core.model import Array
from ....core.report import FormatError
from ....core.transforms import affine_inverse
from ...animation.keying import key_bone_paths
from ...compat import use_action
from ...data.access import action_record, armature_of, model_uid, record_of, settings
from ...data.queries import child_collection, parts, rigs_in
from ...scene.temporary_scene import at_work, workshop
from ..actuators.joint_state import Plant
from ..world.scale import size_in

#: Bodies whose scale differs less from 1 are not scaled.
_UNSCALED = 1e-5


class RunError(FormatError):
    """A run that came to nothing that can be kept; told like what is wrong in a file, also on the command line."""


@dataclass
class Recording:
    """A run: frames (n,), poses of all bodies and of the armature (n, bodies + 1, 4, 4), servo values (n, joints)
    unwrapped, with the whole turns that they began with.

    Poses are rigid, in the world's axes, and in the model's own lengths: those of a model that is scaled as an object
    are its size times as long in the world."""

    plant: Plant
    frames: Array
    poses: Array
    values: Array
    lifts: Array  # (n,): by how much physics had raised the model
    told: Array  # (n, joints): what servos were told to be at, nan where they were told nothing
    drives: list[str]  # (n,): KEYS, SERVO or LIMP
    size: float = 1.0  # how large the model is in the world
    scales: Array | None = None  # (bodies + 1, 3): how bodies are scaled besides; None: not at all
    told_several: Mapping[str, Array] = field(default_factory=dict)  # the same as told (n, size), of other joints by id
    begun: Mapping[str, Array] = field(default_factory=dict)  # the coordinates (size,) that their bones had at first
    steps: Array | None = None  # (m, bodies + 1, 4, 4): poses at all steps of the control, where there are more
    rate: float = 0.0  # of these, or of the frames: per second of the model's time

    def unlifted(self) -> Array:
        """Return the poses with the armature where the user has it: keys have to lead to the bodies from there."""
        poses = self.poses.copy()
        poses[:, -1, 2, 3] -= self.lifts
        return poses

    def as_scaled(self, poses: Array) -> Array:
        """Poses of the recording with the bodies' own scale."""
        out = poses.copy()
        if self.scales is not None:
            out[..., :3, :3] *= self.scales[:, None, :]
        return out

    def worst_gap(self) -> float:
        """The largest distance by which any joint's two sides came apart (length units)."""
        return max((float(self.plant.gaps(pose).max(initial=0.0)) for pose in self.poses), default=0.0)


def in_own_lengths(poses: Array) -> tuple[Array, float, Array]:
    """World poses (n, bodies + 1, 4, 4), the armature's the last, as a recording has them; the model's size in the
    world, and how bodies are scaled besides (bodies + 1, 3)."""
    scales = np.linalg.norm(poses[..., :3, :3], axis=-2)
    scales = np.where(scales > 0.0, scales, 1.0)
    size = size_in(poses[0, -1])
    out = poses.copy()
    out[..., :3, :3] /= scales[..., None, :]
    out[..., :3, 3] /= size
    own = scales.mean(axis=0) / size
    return out, size, np.where(np.abs(own - 1.0) < _UNSCALED, 1.0, own)


def quaternions(turns: Array) -> Array:
    """Quaternions (n, 4) of rotations (n, 3, 3), without jumps: of its two, each is the nearer to the one before."""
    out = np.array([Matrix(turn.tolist()).to_quaternion() for turn in turns])
    flips = np.cumprod(np.where(np.einsum("ni,ni->n", out[1:], out[:-1]) < 0.0, -1.0, 1.0))
    out[1:] *= flips[:, None]
    return out


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
