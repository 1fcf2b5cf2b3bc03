"""Playing through the ranges of joints to see them, and leaving the pose as it was."""

from __future__ import annotations

import math
from collections.abc import Iterable

import bpy
import numpy as np

from ...core.model import Array
from ..animation.actions import bone_numbers, put_bone_numbers
from ..data.channels import Channel, servo_channels
from ..rig.pose_channels import read_pose, write_pose
from .joint_settings import Coordinate, coordinates, counts_angles

#: How far coordinates without a stop are taken: turns (rad), and slides as a share of their bone's length.
_FREE_TURN, _FREE_SLIDE = math.pi, 0.5


#: Lowest and highest value.
Range = tuple[float, float]


class Sweep:
    """Takes the coordinates of joints, one after the other, from where they stand to the upper stop, to the lower and
    back. ``end`` has to be called: it leaves the pose as it was. ValueError where no joint can be posed."""

    def __init__(self, rig: bpy.types.Object, empties: Iterable[bpy.types.Object], seconds: float = 3.0) -> None:
        self.rig, self.seconds = rig, seconds
        self._parts = [each for each in coordinates(rig, empties) if each.is_posed]
        if not self._parts:
            raise ValueError("None of the joints has a bone of its own to move: a loop's joints follow what drives it")
        self._before = bone_numbers(rig)
        every = servo_channels(rig)
        self._channels: dict[str, list[Channel]] = {
            each.channel.joint: every[each.channel.joint] for each in self._parts if each.channel is not None
        }
        self._stood = {joint: read_pose(rig, own) for joint, own in self._channels.items()}
        # all that is read of records: these may go meanwhile, and Blender would read freed memory
        self._ranges = [self._range_of(each) for each in self._parts]

    @property
    def duration(self) -> float:
        """Return how long all of it takes (s)."""
        return self.seconds * len(self._parts)

    def at(self, time: float) -> tuple[Coordinate, float, Range] | None:
        """Pose the joints as they are at a time (s): which coordinate is on its way, where it is, and from where to
        where it goes; None after the end. ReferenceError, or KeyError, where the armature or a bone is gone."""
        number = int(time // self.seconds)
        if not 0 <= number < len(self._parts):
            return None
        each, span = self._parts[number], self._ranges[number]
        value = self._value(each, span, time / self.seconds - number)
        for joint, own in self._channels.items():
            values = self._stood[joint].copy()
            if each.channel is not None and each.channel.joint == joint:
                values[each.number] = value
            write_pose(self.rig, own, values)
        self.rig.update_tag()
        return each, value, span

    def _range_of(self, each: Coordinate) -> Range:
        """Return from where to where a coordinate is taken: its stops, where it has none as far as there is something
        to see."""
        assert each.channel is not None
        here = float(self._stood[each.channel.joint][each.number])
        free = _FREE_TURN if counts_angles(each) else _FREE_SLIDE * self.rig.pose.bones[each.channel.bone].length
        lower, upper = each.stops
        return (here - free if lower is None else lower), (here + free if upper is None else upper)

    def _value(self, each: Coordinate, span: Range, share: float) -> float:
        """Return where a coordinate is after a share of its time: at an even pace, but for a soft start and end."""
        assert each.channel is not None
        here = float(self._stood[each.channel.joint][each.number])
        lower, upper = span
        stations: Array = np.array([here, upper, lower, here])
        gone = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(stations)))])
        eased = 0.5 - 0.5 * math.cos(math.pi * min(max(share, 0.0), 1.0))
        return float(np.interp(eased * gone[-1], gone, stations))

    def end(self) -> None:
        """Leave every bone posed as it was, to the last digit."""
        put_bone_numbers(self.rig, self._before)
        if bpy.context.view_layer.objects.get(self.rig.name) == self.rig:
            bpy.context.view_layer.update()  # what follows loops is posed anew, nearly as before
            put_bone_numbers(self.rig, self._before)
