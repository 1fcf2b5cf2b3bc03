"""Reading joint values off the evaluated pose, however it was made: keyframes, IK, drivers, limits.

Angles are unwrapped, and ambiguous rotations resolved, by what the bones' channels say. Also samples of the servos at
chosen frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.model import DOF_SIZE, Array, Motion, Trajectory
from ...core.transforms import affine_inverse, wrap_angle
from ..compat import action_curves
from ..data.access import armature_of
from ..data.channels import Channel, block_rotation, motion_channels, servo_channels
from ..data.queries import require_rig
from ..rig.ball_channels import block_coordinates, nearest_rotation_vectors, rotation_vectors_as_written
from .frame_time import Clock
from .rotation_stops import bone_stops, clamp_bone_values

#: Distance (rad) from the evaluated rotation up to which channels count as its source.
_VECTOR_TOLERANCE = 1e-3
#: Cosine of the middle angle below which the outer two cannot be distinguished in float32 (gimbal lock).
_GIMBAL_TOLERANCE = 1e-3

#: Number of bone matrices that are processed at once.
_MAX_MATRICES = 16_384

Indices = NDArray[np.intp]
_Float32Array = NDArray[np.float32]


class LocalPoses:
    """Local motions of bones: poses relative to their parents', from rest.

    Attributes:
        at: Indices (n,) of the bones among all of the rig.
        most: Number of poses that should be processed together at most.
    """

    def __init__(self, rig: bpy.types.Object, names: Sequence[str]) -> None:
        bones = armature_of(rig).bones
        place = {pose.name: number for number, pose in enumerate(rig.pose.bones)}
        self.at = np.array([place[name] for name in names], dtype=np.intp)
        carriers = [bones[name].parent for name in names]
        self._carrier = np.array([place[b.name] if b is not None else -1 for b in carriers], dtype=np.intp)
        rest = np.array([np.array(pose.bone.matrix_local) for pose in rig.pose.bones]).reshape(-1, 4, 4)
        rest = np.concatenate([rest, np.eye(4)[None]])  # -1: no carrier
        self._from_rest = affine_inverse(rest[self.at]) @ rest[self._carrier]
        self.most = max(_MAX_MATRICES // max(len(bones), 1), 1)

    def of(self, matrices: _Float32Array) -> Array:
        """Return the local motions (poses, n, 4, 4) for the matrices of all bones, (poses, 16 per bone) by columns."""
        poses = len(matrices)
        pose = matrices.reshape(poses, -1, 4, 4).swapaxes(2, 3).astype(np.float64)
        pose = np.concatenate([pose, np.broadcast_to(np.eye(4), (poses, 1, 4, 4))], axis=1)
        return self._from_rest @ affine_inverse(pose[:, self._carrier]) @ pose[:, self.at]


class PoseReader:
    """Reader of the values of channels off evaluated poses, for all bones and many poses at once.

    Where several sets of values mean one rotation (angles modulo 2π, three angles on a bone, a ball joint), it returns
    what the channels say, as limited by stops, if they are the source of the pose, else the set nearest to the one read
    before.
    """

    def __init__(
        self,
        rig: bpy.types.Object,
        wanted: Sequence[Channel],
        known: Mapping[str, Sequence[Channel]] | None = None,
    ) -> None:
        """Prepare to read.

        Args:
            rig: The armature.
            wanted: The channels to read.
            known: All channels of their joints by joint id, where they are at hand.
        """
        self._rig = rig
        every = known or (motion_channels(rig) if any(channel.is_root for channel in wanted) else servo_channels(rig))
        channels = [channel for joint in dict.fromkeys(c.joint for c in wanted) for channel in every[joint]]
        place = {(channel.joint, channel.dof_index): k for k, channel in enumerate(channels)}
        self._wanted = np.array([place[channel.joint, channel.dof_index] for channel in wanted], dtype=np.intp)
        self._count = len(channels)
        names = list(dict.fromkeys(channel.bone for channel in channels))
        self._bones = LocalPoses(rig, names)
        self.most = self._bones.most
        self._seen: list[tuple[_Float32Array, _Float32Array, _Float32Array]] = []
        row = {name: number for number, name in enumerate(names)}
        slides = [(k, row[c.bone], c.index) for k, c in enumerate(channels) if c.prop == "location"]
        self._slides = np.array(slides, dtype=np.intp).reshape(-1, 3).T
        self._turns = euler_groups(channels, row)
        stops = bone_stops(rig)["rotation_euler"].all_stops(rig)
        self._lower, self._upper, self._begins = stops[:, self._bones.at]
        self._blocks = _block_groups(rig, channels, row)

    def read(self) -> Array:
        """Return the values (channels,) of the current pose."""
        self.look()
        return self.taken()[0]

    def look(self) -> None:
        """Store the current pose, to be processed by ``taken`` together with others: up to ``most``."""
        count = len(self._rig.pose.bones)
        numbers = [np.empty(size * count, dtype=np.float32) for size in (16, 3, 4)]
        wanted = {"matrix": True, "rotation_euler": True, "rotation_quaternion": bool(self._blocks)}
        for (name, is_wanted), into in zip(wanted.items(), numbers, strict=True):
            if is_wanted and len(self._wanted):
                self._rig.pose.bones.foreach_get(name, into)
        self._seen.append((numbers[0], numbers[1], numbers[2]))

    def taken(self) -> Array:
        """Return the values (poses, channels) of the poses stored since the last call."""
        matrices, angles, quaternions = (np.array(each) for each in zip(*self._seen, strict=True))
        poses = len(self._seen)
        self._seen.clear()
        values = np.zeros((poses, self._count))
        if not len(self._wanted):
            return values[:, self._wanted]
        euler_angles = angles.reshape(poses, -1, 3)[:, self._bones.at].astype(np.float64)
        local = self._bones.of(matrices)
        channels, rows, index = self._slides
        values[:, channels] = local[:, rows, index, 3]
        for turns in self._turns:
            rows = turns.rows
            held = clamp_bone_values(euler_angles[:, rows], self._lower[rows], self._upper[rows], self._begins[rows])
            values[:, turns.channels] = turns.read(local[:, rows, :3, :3], euler_angles[:, rows], held)
        for blocks in self._blocks:
            written = quaternions.reshape(poses, -1, 4)[:, self._bones.at[blocks.rows]].astype(np.float64)
            for number in range(poses):
                values[number, blocks.channels] = blocks.read(local[number, blocks.rows], written[number])
        return values[:, self._wanted]


@dataclass
class _BlockGroup:
    """All ball joints, or all free blocks, of one direction along the tree; ``channels`` has shape (blocks, size)."""

    rows: Indices
    channels: Indices
    turns: Array
    is_reversed: bool
    before: Array | None = None

    def read(self, local: Array, written: Array) -> Array:
        """Return the values (n, size) for local motions (n, 4, 4) and quaternions (n, 4) as they are set.

        At first these are what the quaternions say, if they are the source of the pose, and then the nearest to what
        was read before.
        """
        found = block_coordinates(local, self.turns, self.is_reversed, free=self.channels.shape[1] > 3)
        vectors = found[:, :3]
        if self.before is None:
            channels = rotation_vectors_as_written(written, self.turns, self.is_reversed)
            same = np.linalg.norm(nearest_rotation_vectors(vectors, channels) - channels, axis=1) < _VECTOR_TOLERANCE
            self.before = np.where(same[:, None], channels, vectors)
        found[:, :3] = self.before = nearest_rotation_vectors(vectors, self.before)
        return found


@dataclass
class EulerGroup:
    """All bones that rotate about the same axes in the same order.

    Attributes:
        columns: The bones' axes (0 to 2) from the outermost rotation to the innermost, then the unused ones.
        rows: Indices (bones,) of the bones.
        channels: Indices (bones, turns) of the channels.
        before: Angles (bones, turns) that were read last.
    """

    columns: tuple[int, int, int]
    rows: Indices
    channels: Indices
    before: Array | None = None

    @property
    def sign(self) -> float:
        """Return 1 if the three axes, in their order, are right-handed, else -1."""
        first, second, _third = self.columns
        return 1.0 if (second - first) % 3 == 1 else -1.0

    def read(self, rotation: Array, channels: Array, held: Array) -> Array:
        """Return the angles (poses, n, turns) of rotations (poses, n, 3, 3).

        Of equivalent sets of angles these are the Euler channels as limited by stops (``held``), else the channels
        themselves (a bone's stops may be switched off), if they are the source of the pose; else the nearest to what
        was read before.

        Args:
            rotation: (poses, n, 3, 3).
            channels: Euler channels (poses, n, 3).
            held: Euler channels as limited by stops (poses, n, 3).
        """
        count = self.channels.shape[1]
        found = self.angles(rotation.reshape(-1, 3, 3))
        channels, held = channels[..., self.columns[:count]], held[..., self.columns[:count]]
        own, strange = self._nearest_equivalents(found, held)
        if strange.any():
            unheld, still = self._nearest_equivalents(found, channels)
            own, strange = np.where((strange & ~still)[..., None], unheld, own), strange & still
        found, before = found.reshape(channels.shape), self.before
        for number in np.flatnonzero(strange.any(axis=1)).tolist():  # one after the other: each is near to the last
            rows = strange[number]
            last = own[number - 1] if number else before
            own[number, rows] = self.nearest(found[number, rows], np.zeros(count) if last is None else last[rows])
        self.before = own[-1]
        return own

    def _nearest_equivalents(self, found: Array, channels: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return the equivalents of ``found`` nearest to ``channels``, and the mask of bones with another source.

        Args:
            found: Angles (poses * n, turns).
            channels: Angles (poses, n, turns).

        Returns:
            Angles (poses, n, turns), and mask (poses, n) of bones that something else poses.
        """
        own = self.nearest(found, channels.reshape(-1, channels.shape[2])).reshape(channels.shape)
        return own, np.abs(own - channels).max(axis=2) > _VECTOR_TOLERANCE

    def angles(self, rotation: Array) -> Array:
        """Return the Euler angles (n, turns) of rotations (n, 3, 3) in the bones' axes.

        In gimbal lock the innermost angle is 0.
        """
        # the axes as X Y Z: in a left-handed set rotations have the opposite sign
        seen = rotation[:, self.columns][:, :, self.columns]
        count = self.channels.shape[1]
        if count == 1:
            found = [np.arctan2(seen[:, 2, 1] - seen[:, 1, 2], seen[:, 1, 1] + seen[:, 2, 2])]
        elif count == 2:
            found = [np.arctan2(seen[:, 2, 1], seen[:, 1, 1]), np.arctan2(seen[:, 0, 2], seen[:, 0, 0])]
        else:
            cosine = np.hypot(seen[:, 0, 0], seen[:, 0, 1])
            locked = (
                cosine < _GIMBAL_TOLERANCE
            )  # only the sum or difference of the outer two shows: all of it is the first's
            both = np.arctan2(np.sign(seen[:, 0, 2]) * seen[:, 1, 0], seen[:, 1, 1])
            found = [
                np.where(locked, both, np.arctan2(-seen[:, 1, 2], seen[:, 2, 2])),
                np.arctan2(seen[:, 0, 2], cosine),
                np.where(locked, 0.0, np.arctan2(-seen[:, 0, 1], seen[:, 0, 0])),
            ]
        return self.sign * np.stack(found, axis=1)

    def nearest(self, angles: Array, to: Array) -> Array:
        """Return the angles (n, turns) equivalent to ``angles`` that are nearest to other sets ``to``."""
        if angles.shape[1] < 3:
            return to + wrap_angle(angles - to)
        outer, middle, inner = angles.T
        given = np.broadcast_to(to, angles.shape)[:, 2]
        locked = np.abs(np.cos(middle)) < 2.0 * _GIMBAL_TOLERANCE
        outer = np.where(locked, outer + (inner - given) * np.sign(np.sin(middle) * self.sign), outer)
        inner = np.where(locked, given, inner)
        ways = np.array([[outer, middle, inner], [outer + np.pi, np.pi - middle, inner + np.pi]]).transpose(0, 2, 1)
        ways = to + wrap_angle(ways - to)
        second = np.abs(ways[1] - to).max(axis=1) < np.abs(ways[0] - to).max(axis=1)
        return np.where(second[:, None], ways[1], ways[0])


def euler_groups(channels: Sequence[Channel], row: dict[str, int]) -> list[EulerGroup]:
    """Group the rotation channels of bones by the order of their axes; ``row``: index of each bone."""
    own: dict[str, list[int]] = {}
    for number, channel in enumerate(channels):
        if channel.prop == "rotation_euler":
            own.setdefault(channel.bone, []).append(number)
    alike: dict[tuple[int, ...], list[list[int]]] = {}
    for numbers in own.values():
        numbers.sort(key=lambda k: channels[k].dof_index, reverse=channels[numbers[0]].is_reversed)
        alike.setdefault(tuple(channels[k].index for k in numbers), []).append(numbers)
    out = []
    for columns, groups in alike.items():
        rest = [column for column in (2, 1, 0) if column not in columns]
        rows = np.array([row[channels[numbers[0]].bone] for numbers in groups], dtype=np.intp)
        first, second, third = (*columns, *rest)
        out.append(EulerGroup((first, second, third), rows, np.array(groups, dtype=np.intp)))
    return out


def _block_groups(rig: bpy.types.Object, channels: Sequence[Channel], row: dict[str, int]) -> list[_BlockGroup]:
    """Group the channels of ball joints and free blocks by size and by their direction along the tree."""
    alike: dict[tuple[int, bool], list[int]] = {}
    for number, channel in enumerate(channels):
        if channel.prop == "rotation_quaternion" and channel.index == 0:
            alike.setdefault((DOF_SIZE[channel.kind], channel.is_reversed), []).append(number)
    return [
        _BlockGroup(
            np.array([row[channels[k].bone] for k in first], dtype=np.intp),
            np.array(first, dtype=np.intp)[:, None] + np.arange(size),
            np.array([block_rotation(rig, channels[k].bone) for k in first]),
            is_reversed,
        )
        for (size, is_reversed), first in alike.items()
    ]


def sample(
    model: bpy.types.Collection | bpy.types.Object,
    scene: bpy.types.Scene | None = None,
    frames: Sequence[float] | None = None,
    joints: Iterable[str] | None = None,
    name: str | None = None,
) -> Motion:
    """Sample the servos of the evaluated pose at scene frames; IK, drivers and limits are in the values.

    Args:
        model: Collection or armature of the mechanism.
        scene: The scene, whose frame is restored; default: the context's.
        frames: Frames, which may be fractional; default: every frame of the scene's range.
        joints: Ids of joints; default: those that the Action keys, or all.
        name: Name of the motion; default: the Action's or the rig's.

    Returns:
        The motion, with times from the first frame.

    >>> from addon import formats
    >>> from addon.blender.build import build
    >>> collection = build(formats.load("sample_models/desk_lamp/desk_lamp.skel"))
    >>> rig = next(obj for obj in collection.all_objects if obj.type == "ARMATURE")
    >>> rig.pose.bones["elbow"].rotation_euler.z = 0.5  # beyond its stop
    >>> posed = sample(collection, frames=[1])
    >>> {track.name: round(float(track.values[0]), 3) for track in posed.trajectories}
    {'shoulder': 0.5, 'elbow': 0.2, 'neck/neck_1': -1.4, 'neck/neck_2': 0.0}
    """
    scene = scene or bpy.context.scene
    rig = require_rig(model)
    frames = list(range(scene.frame_start, scene.frame_end + 1)) if frames is None else list(frames)
    every = servo_channels(rig)
    wanted = [channel for joint in joints for channel in every.get(joint, ())] if joints is not None else []
    if joints is None:
        wanted = keyed_channels(rig) or [channel for own in every.values() for channel in own]
    values = sample_channels(rig, scene, wanted, frames)
    times = Clock.of(scene, frames[0] if frames else None).times(frames)
    tracks = [Trajectory(channel.name, times.copy(), values[:, k].copy()) for k, channel in enumerate(wanted)]
    action = rig.animation_data.action if rig.animation_data is not None else None
    return Motion(name or (action.name if action is not None else rig.name), tracks)


def keyed_channels(rig: bpy.types.Object) -> list[Channel]:
    """Return the channels that the rig's Action keys, in the order of its joints."""
    data = rig.animation_data
    if data is None or data.action is None:
        return []
    keyed = {(curve.data_path, curve.array_index) for curve in action_curves(rig, data.action, create=False) or ()}
    return [channel for own in servo_channels(rig).values() for channel in own if keyed.intersection(channel.curves())]


def sample_channels(
    rig: bpy.types.Object,
    scene: bpy.types.Scene,
    channels: Sequence[Channel],
    frames: Sequence[float],
    look: Callable[[float], None] | None = None,
) -> Array:
    """Return the values (frames, channels) of the evaluated pose at scene frames; the scene's frame is restored.

    ``look`` is called with each frame while it is current.
    """
    values = np.empty((len(frames), len(channels)))
    before = scene.frame_current, scene.frame_subframe
    with _pose_shown(rig):
        reader = PoseReader(rig, channels)
        try:
            for first in range(0, len(frames), reader.most):
                part = frames[first : first + reader.most]
                for frame in part:
                    whole = int(np.floor(frame))
                    scene.frame_set(whole, subframe=float(frame - whole))
                    reader.look()
                    if look is not None:
                        look(frame)
                values[first : first + len(part)] = reader.taken()
        finally:
            scene.frame_set(before[0], subframe=before[1])
    return values


@contextmanager
def _pose_shown(rig: bpy.types.Object) -> Iterator[None]:
    """Context manager in which a rig is posed: not in edit mode, and not shown in its rest position."""
    armature = armature_of(rig)
    shown, editing = armature.pose_position, armature.is_editmode
    if editing:
        bpy.ops.object.mode_set(mode="OBJECT")
    if shown != "POSE":
        armature.pose_position = "POSE"
    try:
        yield
    finally:
        if shown != "POSE":
            armature.pose_position = shown
        if editing:
            bpy.ops.object.mode_set(mode="EDIT")
