"""The keys of a curve, and whether a curve alone is what poses its channel."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..compat import action_curves
from ..data.access import record_of
from ..data.channels import Channel
from ..data.queries import RigParts
from ..rig.bone_limits import is_stop
from .actions import is_mixed
from .gait import pose_curves
from .keying import CONSTANT, LINEAR
from .loops.live_solver import rigid_joints

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
        """Return whether values go straight from key to key or are held."""
        return bool(np.isin(self.how[:-1], (CONSTANT, LINEAR)).all())

    @property
    def held(self) -> NDArray[np.bool_]:
        """Return whether each key's value is held until the next."""
        return self.how == CONSTANT


def is_plain(curve: bpy.types.FCurve) -> bool:
    """Return whether a curve shows its keys: it is on, has not become samples, and nothing bends it between them."""
    bent = (each for each in curve.modifiers if not each.mute and each.type != "CYCLES")
    return not (curve.mute or len(curve.sampled_points) or any(bent))


class Alone:
    """Tells of channels whether one curve, or where there is none its own value, is all that poses them: no mixture in
    the NLA, no driver, no constraint, no inverse kinematics, no loop that it follows, no physics; and whether its bone
    minds it, in the mode of rotation that the user gave it. The stops of the joints do not count: they are what a value
    is measured against."""

    def __init__(self, found: RigParts, by_keys: bool) -> None:
        rig = found.rig
        data = rig.animation_data
        self._none = not by_keys or is_mixed(rig)
        self._driven = {curve.data_path for curve in data.drivers if not curve.mute} if data is not None else set()
        self._turned_by = {pose.name: pose.rotation_mode for pose in rig.pose.bones}
        self._constrained = _constrained(rig, self._driven)
        self._held = self._constrained | _following(found)
        self._own = found.own_bones

    def __call__(self, channel: Channel) -> bool:
        """Return whether nothing but its curves poses a channel."""
        return not self._none and not self.is_moved(channel) and self._is_minded(channel)

    def _is_minded(self, channel: Channel) -> bool:
        by = self._turned_by[channel.bone]
        if not channel.is_single:
            return by == "QUATERNION"
        return channel.prop == "location" or by not in {"QUATERNION", "AXIS_ANGLE"}

    @property
    def is_mixed(self) -> bool:
        """Return whether more than one Action, or part of one, makes the pose; or physics does."""
        return self._none

    def may_pose_beside(self) -> bool:
        """Return whether constraints or inverse kinematics pose bones of the mechanism: these need not keep to
        joints."""
        return not self._own.isdisjoint(self._constrained)

    def is_moved(self, channel: Channel) -> bool:
        """Return whether a driver or a constraint poses a channel."""
        return channel.bone in self._held or any(path in self._driven for path, _index in channel.curves())


def _constrained(rig: bpy.types.Object, driven: set[str]) -> set[str]:
    """The bones that constraints pose. One that is off now may be on at another frame, if that is keyed or driven."""
    data = rig.animation_data
    action = data.action if data is not None else None
    curves = action_curves(rig, action, create=False) if action is not None else None
    switched = driven | {curve.data_path for curve in curves or () if ".constraints[" in curve.data_path}
    switched = {path.rpartition(".")[0] for path in switched if ".constraints[" in path}
    out: set[str] = set()
    for pose in rig.pose.bones:
        for constraint in pose.constraints:
            off = constraint.mute or constraint.influence <= 0.0
            if is_stop(constraint) or (off and constraint.path_from_id() not in switched):
                continue
            if constraint.type in {"IK", "SPLINE_IK"}:
                out.update(_chain(pose, constraint))
            else:
                out.add(pose.name)
    return out


def _following(found: RigParts) -> set[str]:
    """The bones without keys that follow their loops, where anything of the rig is keyed."""
    follow = {record_of(empty).source_id for empty in found.joints if record_of(empty).joint.follows}
    keyed = {path.rpartition(".")[0] for path, _index in pose_curves(found.rig)} if follow else set()
    if not keyed:
        return set()
    follow -= rigid_joints(found.rig)
    bones = {bone for joint in follow for bone in found.chains.get(joint, ())}
    return {bone for bone in bones if found.rig.pose.bones[bone].path_from_id() not in keyed}


def _chain(pose: bpy.types.PoseBone, constraint: Any) -> Iterable[str]:
    """The bones that an inverse kinematics constraint may turn."""
    if not getattr(constraint, "use_tail", True):
        pose = pose.parent
    count = constraint.chain_count or math.inf
    while pose is not None and count > 0:
        yield pose.name
        pose, count = pose.parent, count - 1
