"""The keys of a curve, and whether a curve alone is what poses its channel."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..access import armature_of, settings
from ..bone_limits import is_stop
from ..channels import Channel
from .keys import CONSTANT, LINEAR

_Key32 = NDArray[np.float32]


@dataclass
class CurveKeys:
    """The keys of a curve, in their order: where (n,), values (n,), Blender's numbers of interpolation (n,)."""

    places: _Key32
    values: _Key32
    how: NDArray[np.int32]

    @classmethod
    def of(cls, curve: bpy.types.FCurve) -> CurveKeys:
        """Those of a curve of Blender's."""
        points = curve.keyframe_points
        pairs = np.empty(2 * len(points), dtype=np.float32)
        points.foreach_get("co", pairs)
        how = np.empty(len(points), dtype=np.int32)
        points.foreach_get("interpolation", how)
        return cls(pairs[0::2], pairs[1::2], how)

    @property
    def is_straight(self) -> bool:
        """Whether values go straight from key to key or are held."""
        return bool(np.isin(self.how[:-1], (CONSTANT, LINEAR)).all())

    @property
    def held(self) -> NDArray[np.bool_]:
        """Whether each key's value is held until the next."""
        return self.how == CONSTANT


def is_plain(curve: bpy.types.FCurve) -> bool:
    """Whether a curve shows its keys: it is on, and nothing bends it between them."""
    return not curve.mute and all(modifier.mute or modifier.type == "CYCLES" for modifier in curve.modifiers)


class Alone:
    """Tells of channels whether their curve in the rig's Action is all that poses them: no other layer of the NLA, no
    driver, no constraint, no inverse kinematics. The stops of the joints do not count: they are what a value is
    measured against."""

    def __init__(self, rig: bpy.types.Object) -> None:
        data = rig.animation_data
        self._none = settings(rig).drive != "KEYS" or (data is not None and _is_mixed(data))
        self._driven = {curve.data_path for curve in data.drivers if not curve.mute} if data is not None else set()
        self._held = _constrained(rig)

    def __call__(self, channel: Channel) -> bool:
        """Whether nothing but its curve, or where there is none its own value, poses a channel."""
        return not self._none and channel.bone not in self._held and channel.path not in self._driven


def _is_mixed(data: bpy.types.AnimData) -> bool:
    """Whether anything but the Action itself is in what an ID's animation comes to."""
    if data.action is not None and (data.action_influence < 1.0 or data.action_blend_type != "REPLACE"):
        return True
    if not data.use_nla:
        return False
    solo = any(track.is_solo for track in data.nla_tracks)
    return solo or any(not track.mute and any(not s.mute for s in track.strips) for track in data.nla_tracks)


def _constrained(rig: bpy.types.Object) -> set[str]:
    """The bones that constraints pose."""
    out: set[str] = set()
    for pose in rig.pose.bones:
        for constraint in pose.constraints:
            if constraint.mute or constraint.influence <= 0.0 or is_stop(constraint):
                continue
            if constraint.type in {"IK", "SPLINE_IK"}:
                out.update(_chain(pose, constraint))
            else:
                out.add(pose.name)
    bones = armature_of(rig).bones
    return {name for name in out if name in bones}


def _chain(pose: bpy.types.PoseBone, constraint: Any) -> Iterable[str]:
    """The bones that an inverse kinematics constraint may turn."""
    if not getattr(constraint, "use_tail", True):
        pose = pose.parent
    count = constraint.chain_count or math.inf
    while pose is not None and count > 0:
        yield pose.name
        pose, count = pose.parent, count - 1
