"""A joint's coordinates counted the other way: its pose and its keys, so that all stands and moves as it did."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...model.records import DOF_SIZE, Array
from ...model.rotations import rotation_matrix
from ..animation.actions import motions_of
from ..animation.posed import poses_of
from ..channels import Channel, servo_channels
from ..compat import action_curves
from ..posing import read_pose, write_pose


class Counted:
    """What poses and keys a joint before its ends are exchanged; ``reverse`` makes it that of the joint afterwards."""

    def __init__(self, rig: bpy.types.Object, joint: str) -> None:
        self.rig, self.joint = rig, joint
        self.channels: Sequence[Channel] = servo_channels(rig).get(joint, ())
        self.pose = read_pose(rig, self.channels)
        self.actions = list(dict.fromkeys((*motions_of(rig), *poses_of(rig)))) if self.channels else []

    def reverse(self) -> None:
        """Pose the joint where it was, and turn its keys round. The keys of balls and free blocks pose their bones as
        a whole, which move as they did."""
        now = servo_channels(self.rig).get(self.joint, ())
        if not now or len(now) != len(self.channels):
            return  # it closes a loop, or has no bones
        before = _by_degree(self.channels)[::-1]
        after = _by_degree(now)
        values = [_reversed(self.pose[[channel.number for channel in own]], own[0].kind) for own in before]
        write_pose(self.rig, now, np.concatenate(values))
        went = {
            old[0].curves()[0]: new[0].curves()[0]
            for old, new in zip(before, after, strict=True)
            if old[0].is_single and new[0].is_single
        }
        for action in self.actions:
            found = [
                (curve, went[curve.data_path, curve.array_index])
                for curve in action_curves(self.rig, action, create=False) or ()
                if (curve.data_path, curve.array_index) in went
            ]
            for curve, place in found:
                curve.data_path, curve.array_index = place
                _negate(curve)


def _by_degree(channels: Sequence[Channel]) -> list[list[Channel]]:
    """The channels of each degree of freedom, in their order."""
    out: list[list[Channel]] = []
    for channel in channels:
        if not out or len(out[-1]) == DOF_SIZE[out[-1][0].kind]:
            out.append([])
        out[-1].append(channel)
    return out


def _reversed(values: Array, kind: str) -> Array:
    """The coordinates of one degree of freedom of the inverse motion."""
    out = -values + 0.0
    if kind == "free":
        out[3:] = -rotation_matrix(values[:3]).T @ values[3:] + 0.0
    return out


def _negate(curve: bpy.types.FCurve) -> None:
    points = curve.keyframe_points
    for name in ("co", "handle_left", "handle_right"):
        numbers = np.empty(2 * len(points), dtype=np.float32)
        points.foreach_get(name, numbers)
        numbers[1::2] *= -1.0
        points.foreach_set(name, numbers)
    curve.update()
