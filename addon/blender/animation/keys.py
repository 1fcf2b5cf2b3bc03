"""Servo trajectories as ordinary keys on bones, and back.

A servo is the Z channel of its bone: ``rotation_euler[2]`` for a hinge, ``location[2]`` for a slide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import bpy
import numpy as np

from ...model.gait import unique_names
from ...model.records import Array, Motion, Trajectory
from ...model.report import FormatError, Report
from ..access import action_record, armature_of, record_of
from ..compat import action_curves, new_curve, use_action
from ..model_parts import file_name, parts, renamed_bones, rig_in, servo_bones

CONSTANT, LINEAR = 0, 1  # Blender's numbers for the interpolation of a key


def servo_names(rig: bpy.types.Object) -> dict[str, str]:
    """The name of every servo by joint id, as motions use them."""
    bones = renamed_bones(rig)
    return unique_names((record_of(empty).source_id, file_name(empty, bones)) for empty in parts(rig, "JOINT"))


def servo_channels(rig: bpy.types.Object) -> dict[str, tuple[str, str]]:
    """Data path and kind (``rotation`` or ``translation``) of each one-degree servo that has a bone, by joint id."""
    bones = servo_bones(rig)
    out: dict[str, tuple[str, str]] = {}
    for empty in parts(rig, "JOINT"):
        record = record_of(empty)
        dofs = record.joint.dofs
        bone = bones.get(record.source_id)
        if bone is not None and len(dofs) == 1 and dofs[0].kind in {"rotation", "translation"}:
            channel = "rotation_euler" if dofs[0].kind == "rotation" else "location"
            out[record.source_id] = (f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{channel}', dofs[0].kind)
    return out


def frame_of(scene: bpy.types.Scene, seconds: Array | float, start: float | None = None) -> Array:
    """Scene frames of times in seconds, time 0 at ``start`` (default: the scene's first frame)."""
    rate = scene.render.fps / scene.render.fps_base
    return (scene.frame_start if start is None else start) + np.asarray(seconds, dtype=np.float64) * rate


def key_servos(
    rig: bpy.types.Object, name: str, tracks: Mapping[str, tuple[Array, Array, int]], use: bool = True
) -> bpy.types.Action:
    """A new Action with the tracks of servos: joint id -> (frames, values, interpolation).

    Makes it the rig's Action when ``use``. Joints without a one-degree bone are passed over."""
    action = bpy.data.actions.new(name)
    action.use_fake_user = True
    before = rig.animation_data.action if rig.animation_data is not None else None
    use_action(rig, action)
    curves = action_curves(rig, action)
    channels = servo_channels(rig)
    for joint, (frames, values, interpolation) in tracks.items():
        if joint in channels:
            path = channels[joint][0]
            put_keys(new_curve(curves, path, 2, path.split('"')[1]), frames, values, interpolation)
    if not use:
        use_action(rig, before)
    return action


def put_keys(curve: bpy.types.FCurve, frames: Array, values: Array, interpolation: int = LINEAR) -> None:
    """Fill an empty curve with keys; frames and values of shape (n,)."""
    count = len(frames)
    points = curve.keyframe_points
    points.add(count)
    pairs = np.empty((count, 2), dtype=np.float32)
    pairs[:, 0], pairs[:, 1] = frames, values
    points.foreach_set("co", pairs.ravel())
    points.foreach_set("interpolation", np.full(count, interpolation, dtype=np.int32))
    curve.update()


def key_bone_paths(
    rig: bpy.types.Object,
    action: bpy.types.Action,
    frames: Array,
    paths: Mapping[str, tuple[Array | None, Array]],
) -> None:
    """Add location (n, 3) and quaternion (n, 4) keys to bones of an Action that the rig uses: bone name -> path."""
    curves = action_curves(rig, action)
    for bone, (places, turns) in paths.items():
        path = f'pose.bones["{bpy.utils.escape_identifier(bone)}"]'
        for index in range(3 if places is not None else 0):
            put_keys(new_curve(curves, f"{path}.location", index, bone), frames, places[:, index])
        for index in range(4):
            put_keys(new_curve(curves, f"{path}.rotation_quaternion", index, bone), frames, turns[:, index])


def apply(
    motion: Motion,
    collection: bpy.types.Collection,
    scene: bpy.types.Scene | None = None,
    start: float | None = None,
    extend: bool = True,
) -> tuple[bpy.types.Action, Report]:
    """Key a motion on a model: a new Action of the motion's name becomes the model's Action.

    Time 0 comes at frame ``start`` (default: the scene's first). ``extend`` lengthens the scene's range
    to hold the motion and never shortens it. Servos are matched by name; the report lists those that no
    joint answers to. FormatError, before anything is made, where there is no other. The Action that was there
    stays in the file."""
    scene = scene or bpy.context.scene
    rig = require_rig(collection)
    report = Report()
    joint_of = {name: joint for joint, name in servo_names(rig).items()}
    channels = servo_channels(rig)
    tracks = {}
    for trajectory in motion.trajectories:
        joint = joint_of.get(trajectory.name)
        if joint is None or joint not in channels:
            why = "no joint has this name" if joint is None else "its joint has no single channel"
            report.warn("servo-unmatched", f"Servo {trajectory.name!r} was left out: {why}", where=trajectory.name)
            continue
        step = CONSTANT if trajectory.interpolation == "constant" else LINEAR
        tracks[joint] = (frame_of(scene, trajectory.times, start), trajectory.values, step)
    if motion.trajectories and not tracks:
        examples = ", ".join(repr(trajectory.name) for trajectory in motion.trajectories[:3])
        raise FormatError(
            f"{rig.name!r} has none of the servos of motion {motion.name!r} ({examples})",
            remedy="Choose the mechanism that it was made for.",
        )
    action = key_servos(rig, motion.name, tracks)
    action_record(action).kind = "MOTION"
    action_record(action).motion = motion.name
    if extend:
        scene.frame_end = max(scene.frame_end, int(np.ceil(frame_of(scene, motion.duration, start) - 1e-6)))
    report.info("servos-keyed", f"{len(tracks)} of {len(motion.trajectories)} servos keyed in Action {action.name!r}")
    return action, report


def require_rig(collection: bpy.types.Collection) -> bpy.types.Object:
    """The armature of a model's collection; ValueError where it has none."""
    rig = rig_in(collection)
    if rig is None:
        raise ValueError(f"Collection {collection.name!r} holds no mechanism: its armature is missing")
    return rig


def keyed_servos(rig: bpy.types.Object) -> list[str]:
    """Ids of the joints that the rig's Action keys, in the order of its joints."""
    data = rig.animation_data
    if data is None or data.action is None:
        return []
    curves = action_curves(rig, data.action, create=False) or ()
    keyed = {curve.data_path for curve in curves}
    return [joint for joint, (path, _kind) in servo_channels(rig).items() if path in keyed]


def sample(
    collection: bpy.types.Collection,
    scene: bpy.types.Scene | None = None,
    frames: Sequence[float] | None = None,
    joints: Iterable[str] | None = None,
    name: str | None = None,
) -> Motion:
    """The servo values of the evaluated pose at scene frames, as a Motion with times from the first frame.

    ``frames`` default to the scene's range, every frame; they may be fractional. ``joints`` (ids) default
    to those that the Action keys, or all. IK, drivers and limits are in the values. The scene's frame is put back."""
    scene = scene or bpy.context.scene
    rig = require_rig(collection)
    frames = list(range(scene.frame_start, scene.frame_end + 1)) if frames is None else list(frames)
    channels = servo_channels(rig)
    wanted = [j for j in (joints if joints is not None else keyed_servos(rig) or channels) if j in channels]
    reader = PoseReader(rig, wanted)
    values = np.empty((len(frames), len(wanted)))
    before = scene.frame_current, scene.frame_subframe
    try:
        for number, frame in enumerate(frames):
            whole = int(np.floor(frame))
            scene.frame_set(whole, subframe=float(frame - whole))
            values[number] = reader.read()
    finally:
        scene.frame_set(before[0], subframe=before[1])
    rate = scene.render.fps / scene.render.fps_base
    times = (np.asarray(frames, dtype=np.float64) - (frames[0] if frames else 0)) / rate
    names = servo_names(rig)
    unsure = ~reader.counted
    tracks = [
        Trajectory(names[joint], times.copy(), np.unwrap(values[:, k]) if unsure[k] else values[:, k].copy())
        for k, joint in enumerate(wanted)
    ]
    action = rig.animation_data.action if rig.animation_data is not None else None
    return Motion(name or (action.name if action is not None else rig.name), tracks)


class PoseReader:
    """Reads the servo values of an evaluated pose, all bones in one go."""

    def __init__(self, rig: bpy.types.Object, joints: Sequence[str]) -> None:
        self._rig = rig
        bones = servo_bones(rig)
        names = [bone.name for bone in rig.pose.bones]
        place = {name: number for number, name in enumerate(names)}
        kinds = servo_channels(rig)
        self._at = np.array([place[bones[joint]] for joint in joints], dtype=np.intp)
        carriers = [armature_of(rig).bones[bones[joint]].parent for joint in joints]
        self._carrier = np.array([place[b.name] if b is not None else -1 for b in carriers], dtype=np.intp)
        rest = np.array([np.array(pose.bone.matrix_local) for pose in rig.pose.bones]).reshape(-1, 4, 4)
        rest = np.concatenate([rest, np.eye(4)[None]])  # -1: no carrier
        self._from_rest = np.linalg.inv(rest[self._at]) @ rest[self._carrier]
        self._turns = np.array([kinds[joint][1] == "rotation" for joint in joints], dtype=bool)
        self._buffer = np.empty(len(names) * 16, dtype=np.float32)
        self._channels = np.empty(len(names) * 3, dtype=np.float32)
        self.counted = np.ones(len(joints), dtype=bool)  # (joints,): whole turns were known at every read

    def read(self) -> Array:
        """Servo values of the current pose, shape (joints,). Whole turns are the channel's where that is what the
        pose shows; where IK or a constraint has its say, angles are in (-pi, pi]."""
        if not len(self._at):
            return np.zeros(0)
        self._rig.pose.bones.foreach_get("matrix", self._buffer)
        pose = self._buffer.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)
        pose = np.concatenate([pose, np.eye(4)[None]])
        local = self._from_rest @ np.linalg.inv(pose[self._carrier]) @ pose[self._at]
        angle = np.arctan2(local[:, 1, 0], local[:, 0, 0])
        self._rig.pose.bones.foreach_get("rotation_euler", self._channels)
        channel = self._channels.reshape(-1, 3)[self._at, 2].astype(np.float64)
        turns = np.round((channel - angle) / (2.0 * np.pi)) * 2.0 * np.pi
        shown = np.abs(channel - angle - turns) < 1e-4
        self.counted &= shown | ~self._turns
        return np.where(self._turns, angle + np.where(shown, turns, 0.0), local[:, 2, 3])
