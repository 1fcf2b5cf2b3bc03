"""Recordings of simulations, and keyframes for every body from them.

On request a bake plays exactly as simulated, joint separation included, while bones play a mechanism that stays
together and within its stops. An armature of its own has a bone for each body, and a constraint moves each body to its
bone. Bodies, joints and the mechanism's own bones stay as they are, and Blender plays it without the add-on. While
another Action plays, or physics, the constraints are muted: see ``update_body_key_constraints``.
"""

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
from ...data.access import action_record, armature_of, has_base_name, model_uid, record_of, settings
from ...data.queries import child_collection, parts, rigs_in
from ...scene.temporary_scene import operator_context, scratch_scene
from ..actuators.joint_state import JointStateArrays
from ..world.scale import scale_of_pose

#: Difference of the scale from 1 below which a body counts as unscaled.
_SCALE_TOLERANCE = 1e-5


class SimulationError(FormatError):
    """Simulation without a usable result; reported like an error in a file, also on the command line."""


@dataclass
class Recording:
    """Recorded simulation.

    Frames (n,), poses (n, bodies + 1, 4, 4) of all bodies and of the armature, servo values (n, joints) unwrapped, with
    their initial whole turns. Poses are rigid, in the world's axes and the mechanism's own lengths; those of a scaled
    mechanism are ``size`` times as long in the world.
    """

    joint_state: JointStateArrays
    frames: Array
    poses: Array
    values: Array
    lifts: Array  # (n,): height by which physics had raised the mechanism
    servo_targets: Array  # (n, joints): targets of servos, nan without one
    drives: list[str]  # (n,): KEYS, SERVO or LIMP
    size: float = 1.0  # scale of the mechanism in the world
    scales: Array | None = None  # (bodies + 1, 3): additional scale of bodies; None: none
    multi_dof_commands: Mapping[str, Array] = field(default_factory=dict)  # targets (n, size) of other joints by id
    begun: Mapping[str, Array] = field(default_factory=dict)  # initial joint values (size,) of these joints' bones
    steps: Array | None = None  # (m, bodies + 1, 4, 4): poses at all control steps, if more than the frames
    rate: float = 0.0  # of these, or of the frames: per second of the mechanism's time

    def without_ground_offset(self) -> Array:
        """Return the poses with the armature at the user's height, from which keyframes must lead to the bodies."""
        poses = self.poses.copy()
        poses[:, -1, 2, 3] -= self.lifts
        return poses

    @property
    def frame_rate(self) -> float:
        """Frames per second of the mechanism's time."""
        course = self.poses if self.steps is None else self.steps
        return self.rate * (len(self.poses) - 1) / max(len(course) - 1, 1)

    def with_body_scale(self, poses: Array) -> Array:
        """Return poses of the recording with the bodies' own scale."""
        out = poses.copy()
        if self.scales is not None:
            out[..., :3, :3] *= self.scales[:, None, :]
        return out

    def max_joint_separation(self) -> float:
        """Return the largest joint separation (length units)."""
        return max((float(self.joint_state.separations(pose).max(initial=0.0)) for pose in self.poses), default=0.0)

    worst_gap = max_joint_separation  # its name in release 1.0


def to_recording_units(poses: Array) -> tuple[Array, float, Array]:
    """Convert world poses (n, bodies + 1, 4, 4), the armature's the last, to those of a recording.

    Returns:
        The poses, the mechanism's scale in the world, and the bodies' additional scale (bodies + 1, 3).
    """
    scales = np.linalg.norm(poses[..., :3, :3], axis=-2)
    scales = np.where(scales > 0.0, scales, 1.0)
    size = scale_of_pose(poses[0, -1])
    out = poses.copy()
    out[..., :3, :3] /= scales[..., None, :]
    out[..., :3, 3] /= size
    own = scales.mean(axis=0) / size
    return out, size, np.where(np.abs(own - 1.0) < _SCALE_TOLERANCE, 1.0, own)


def continuous_quaternions(turns: Array) -> Array:
    """Return quaternions (n, 4) of rotations (n, 3, 3) without sign jumps."""
    out = np.array([Matrix(turn.tolist()).to_quaternion() for turn in turns])
    flips = np.cumprod(np.where(np.einsum("ni,ni->n", out[1:], out[:-1]) < 0.0, -1.0, 1.0))
    out[1:] *= flips[:, None]
    return out


_NAME = "Knuckle Body Keys"
_SUFFIX = " Bodies"


def write_body_keys(rig: bpy.types.Object, recording: Recording, action: bpy.types.Action) -> bpy.types.Action:
    """Create a second Action for a bake's, with keyframes for every body; both then play together."""
    bodies = recording.joint_state.bodies
    holder = _body_key_armature(rig, bodies)
    keys = bpy.data.actions.new(action.name + _SUFFIX)
    keys.use_fake_user = True
    action_record(keys).model = model_uid(rig)
    use_action(holder, keys)
    to_model, scales = affine_inverse(recording.without_ground_offset()[:, -1]), recording.scales
    paths = {}
    for number, obj in enumerate(bodies):
        moved = to_model @ recording.poses[:, number]
        bone = _body_key_bone(obj, holder)
        assert bone is not None
        paths[bone] = moved[:, :3, 3], continuous_quaternions(moved[:, :3, :3])
        holder.pose.bones[bone].scale = (1.0, 1.0, 1.0) if scales is None else scales[number].tolist()
    key_bone_paths(holder, keys, recording.frames, paths)
    action_record(action).bodies = keys
    update_body_key_constraints(rig)
    return keys


def _body_key_armature(rig: bpy.types.Object, bodies: list[bpy.types.Object]) -> bpy.types.Object:
    """Return the armature with a bone for each body; create what is missing."""
    holder = settings(rig).body_keys
    if holder is None or not holder.users_collection or holder.data is None:
        name = rig.name + _SUFFIX
        holder = settings(rig).body_keys = bpy.data.objects.new(name, bpy.data.armatures.new(name))
        holder.parent = rig
        record_of(holder).model = rig
        holder.hide_select = holder.hide_render = True
        child_collection(rig, "Frames").objects.link(holder)
    lack = [obj for obj in bodies if _body_key_bone(obj, holder) is None]
    for obj, bone in zip(lack, _add_bones(holder, [obj.name for obj in lack]), strict=True):
        for outdated in _body_key_constraints(obj, holder):
            obj.constraints.remove(outdated)
        held = cast(bpy.types.CopyTransformsConstraint, obj.constraints.new("COPY_TRANSFORMS"))
        held.name, held.target, held.subtarget, held.mute = _NAME, holder, bone, True
    holder.hide_viewport = True
    return holder


def _add_bones(holder: bpy.types.Object, names: list[str]) -> list[str]:
    """Create bones, at rest in the armature's own axes, and return the names that they got."""
    if not names:
        return []
    holder.hide_viewport = False  # hidden objects cannot be edited
    with scratch_scene([holder]) as scene, operator_context(scene, [holder]):
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


def _body_key_constraints(obj: bpy.types.Object, holder: bpy.types.Object) -> list[bpy.types.CopyTransformsConstraint]:
    """Return our constraint on a body, and those that have lost their target."""
    copies = [
        cast(bpy.types.CopyTransformsConstraint, held) for held in obj.constraints if held.type == "COPY_TRANSFORMS"
    ]
    return [held for held in copies if held.target == holder or (held.name == _NAME and held.target is None)]


def is_body_key_constraint(held: bpy.types.Constraint) -> bool:
    """Return whether a constraint of a body is one that moves it to its own keyframes."""
    return held.type == "COPY_TRANSFORMS" and has_base_name(held, _NAME)


def _body_key_bone(obj: bpy.types.Object, holder: bpy.types.Object) -> str | None:
    """Return the bone that a body is moved to, or None."""
    bones = armature_of(holder).bones
    return next((held.subtarget for held in _body_key_constraints(obj, holder) if held.subtarget in bones), None)


def rigs_with_body_keys(scene: bpy.types.Scene) -> Iterator[bpy.types.Object]:
    """Yield the mechanisms of a scene whose bodies have keyframes of their own."""
    return (rig for rig in rigs_in(scene) if settings(rig).body_keys is not None)


def update_body_key_constraints(rig: bpy.types.Object) -> None:
    """Enable or mute the constraints by which a mechanism's bodies follow their own keyframes.

    Enabled where the assigned Action has some and physics does not move the bodies.
    """
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
        for held in _body_key_constraints(obj, holder):
            if held.mute != (wanted is None):
                held.mute = wanted is None


def remove_body_keys(rig: bpy.types.Object) -> None:
    """Remove the constraints and their armature; Actions stay."""
    holder = settings(rig).body_keys
    if holder is None:
        return
    for obj in parts(rig, "BODY"):
        for held in _body_key_constraints(obj, holder):
            obj.constraints.remove(held)
    settings(rig).body_keys = None
    bpy.data.armatures.remove(armature_of(holder))  # the object goes with it
