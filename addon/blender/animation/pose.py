"""Reading joint coordinates off a pose, whatever made it: keys, IK, drivers, limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...model.records import Array
from ..access import armature_of
from ..blocks import block_coordinates, nearest_vector, vector_of_quaternion
from ..channels import Channel, block_turn, servo_channels

#: Channels whose rotation is this near (rad) to the evaluated one are what made it.
_SAME = 1e-3
#: Cosine of a middle angle below which the outer two cannot be told apart in 32 bits.
_LOCKED = 1e-3

Places = NDArray[np.intp]


class PoseReader:
    """Reads the coordinates of channels off an evaluated pose, all bones in one go.

    Where several sets of numbers mean one rotation (three turns on a bone, a ball), it gives what the channels say if
    they are what poses the bone, else the nearest to what it read before."""

    def __init__(self, rig: bpy.types.Object, wanted: Sequence[Channel]) -> None:
        self._rig = rig
        every = servo_channels(rig)
        channels = [channel for joint in dict.fromkeys(c.joint for c in wanted) for channel in every[joint]]
        place = {(channel.joint, channel.number): k for k, channel in enumerate(channels)}
        self._wanted = np.array([place[channel.joint, channel.number] for channel in wanted], dtype=np.intp)
        self._values = np.zeros(len(channels))
        names = list(dict.fromkeys(channel.bone for channel in channels))
        self._place(names)
        row = {name: number for number, name in enumerate(names)}
        slides = [(k, row[c.bone], c.index) for k, c in enumerate(channels) if c.prop == "location"]
        self._slides = np.array(slides, dtype=np.intp).reshape(-1, 3).T
        self._turns = _turns(channels, row)
        self._blocks = [
            _Block(k, row[c.bone], c.bone, block_turn(rig, c.bone), c.against, c.kind == "free")
            for k, c in enumerate(channels)
            if c.prop == "rotation_quaternion" and c.index == 0
        ]

    def _place(self, names: Sequence[str]) -> None:
        """Where the bones and their carriers are among all bones of the rig."""
        bones = armature_of(self._rig).bones
        place = {bone.name: number for number, bone in enumerate(bones)}
        self._at = np.array([place[name] for name in names], dtype=np.intp)
        carriers = [bones[name].parent for name in names]
        self._carrier = np.array([place[b.name] if b is not None else -1 for b in carriers], dtype=np.intp)
        rest = np.array([np.array(bone.matrix_local) for bone in bones]).reshape(-1, 4, 4)
        rest = np.concatenate([rest, np.eye(4)[None]])  # -1: no carrier
        self._from_rest = np.linalg.inv(rest[self._at]) @ rest[self._carrier]
        self._buffer = np.empty(len(bones) * 16, dtype=np.float32)

    def read(self) -> Array:
        """Coordinates of the current pose, (channels,). Angles of bones with one or two turns are in (-pi, pi]."""
        if not len(self._wanted):
            return np.zeros(0)
        self._rig.pose.bones.foreach_get("matrix", self._buffer)
        pose = self._buffer.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)
        pose = np.concatenate([pose, np.eye(4)[None]])
        local = self._from_rest @ np.linalg.inv(pose[self._carrier]) @ pose[self._at]
        channels, rows, index = self._slides
        self._values[channels] = local[rows, index, 3]
        for turns in self._turns:
            found = turns.angles(local[turns.rows, :3, :3])
            if found.shape[1] > 2:
                found = np.array([self._meant(turns, k, angles) for k, angles in enumerate(found)])
            self._values[turns.channels] = found
        for block in self._blocks:
            found = block_coordinates(local[block.row][None], block.turn, block.against, block.free)[0]
            found[:3] = block.before = nearest_vector(found[:3], self._reference(block, found[:3]))
            self._values[block.first : block.first + len(found)] = found
        return self._values[self._wanted]

    def _meant(self, turns: _Turns, number: int, angles: Array) -> Array:
        """Of the sets of three angles with the same rotation, the one that is meant."""
        told = np.array(self._rig.pose.bones[turns.bones[number]].rotation_euler)[list(turns.columns)]
        own = turns.nearest(angles, told)
        if np.abs(own - told).max() > _SAME and turns.before is not None:
            own = turns.nearest(angles, turns.before[number])
        if turns.before is None:
            turns.before = np.zeros((len(turns.rows), 3))
        turns.before[number] = own
        return own

    def _reference(self, block: _Block, found: Array) -> Array:
        """Near which rotation vector a ball's is to be: at first what its quaternion says, if that is what poses it."""
        if block.before is not None:
            return block.before
        quaternion = np.array(self._rig.pose.bones[block.bone].rotation_quaternion, dtype=np.float64)
        told = block.turn @ vector_of_quaternion(quaternion) * (-1.0 if block.against else 1.0)
        return told if np.linalg.norm(nearest_vector(found, told) - told) < _SAME else found


@dataclass
class _Block:
    """A ball or free block: the first of its channels, its bone, and what was read last."""

    first: int
    row: int
    bone: str
    turn: Array
    against: bool
    free: bool
    before: Array | None = None


@dataclass
class _Turns:
    """All bones that turn about the same axes in the same order. ``channels`` is of shape (bones, turns); ``columns``
    are the bones' axes (0 to 2) from the outermost turn to the innermost, those without a turn at the end."""

    columns: tuple[int, int, int]
    rows: Places
    channels: Places
    bones: list[str]
    before: Array | None = None

    @property
    def sign(self) -> float:
        """Whether the three axes, in their order, are right-handed (1) or left-handed (-1)."""
        first, second, _third = self.columns
        return 1.0 if (second - first) % 3 == 1 else -1.0

    def angles(self, rotation: Array) -> Array:
        """The angles (n, turns) of rotations (n, 3, 3) in the bones' axes."""
        # the axes as X Y Z: a left-handed set sees turns the other way round
        seen = rotation[:, self.columns][:, :, self.columns]
        count = self.channels.shape[1]
        if count == 1:
            found = [np.arctan2(seen[:, 2, 1] - seen[:, 1, 2], seen[:, 1, 1] + seen[:, 2, 2])]
        elif count == 2:
            found = [np.arctan2(seen[:, 2, 1], seen[:, 1, 1]), np.arctan2(seen[:, 0, 2], seen[:, 0, 0])]
        else:
            found = [
                np.arctan2(-seen[:, 1, 2], seen[:, 2, 2]),
                np.arctan2(seen[:, 0, 2], np.hypot(seen[:, 0, 0], seen[:, 0, 1])),
                np.arctan2(-seen[:, 0, 1], seen[:, 0, 0]),
            ]
        return self.sign * np.stack(found, axis=1)

    def nearest(self, angles: Array, to: Array) -> Array:
        """Of the sets of three angles that mean the same rotation, the nearest to another set."""
        outer, middle, inner = angles
        if abs(np.cos(middle)) < _LOCKED:  # only the sum or difference of the other two counts
            outer += (inner - to[2]) * np.sign(np.sin(middle) * self.sign)
            inner = to[2]
        ways = np.array([[outer, middle, inner], [outer + np.pi, np.pi - middle, inner + np.pi]])
        ways = to + np.angle(np.exp(1j * (ways - to)))
        return ways[np.argmin(np.abs(ways - to).max(axis=1))]


def _turns(channels: Sequence[Channel], row: dict[str, int]) -> list[_Turns]:
    """The turning channels of bones, gathered by the order of their axes."""
    own: dict[str, list[int]] = {}
    for number, channel in enumerate(channels):
        if channel.prop == "rotation_euler":
            own.setdefault(channel.bone, []).append(number)
    alike: dict[tuple[int, ...], list[list[int]]] = {}
    for numbers in own.values():
        numbers.sort(key=lambda k: channels[k].number, reverse=channels[numbers[0]].against)
        alike.setdefault(tuple(channels[k].index for k in numbers), []).append(numbers)
    out = []
    for columns, groups in alike.items():
        rest = [column for column in (2, 1, 0) if column not in columns]
        bones = [channels[numbers[0]].bone for numbers in groups]
        rows = np.array([row[bone] for bone in bones], dtype=np.intp)
        first, second, third = (*columns, *rest)
        out.append(_Turns((first, second, third), rows, np.array(groups, dtype=np.intp), bones))
    return out
