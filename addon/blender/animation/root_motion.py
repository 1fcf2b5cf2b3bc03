"""Root motion: the paths of a mechanism's root bodies, and their repetition in cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import bpy
import numpy as np

from ...core.motion.keyframes import Keyframes, MotionSpan
from ...core.report import Message
from ..data.channels import bone_path
from ..data.queries import root_bones
from .fcurves import KEY_SPACING, CurveId, editable_action, posing_curves, read_keys

#: Change of direction (rad) from start to end above which a path counts as turning.
_DIRECTION_TOLERANCE = np.radians(5.0)


@dataclass(frozen=True)
class RepeatedPaths:
    """Root paths in a repeated motion.

    Attributes:
        curves: Curves that repeat with those of the servos.
        on: Of these, the curves by which each cycle continues from the end of the previous one.
        left: Reasons why paths are left unchanged, by the names of their bones.
    """

    curves: dict[CurveId, bpy.types.FCurve] = field(default_factory=dict)
    on: frozenset[CurveId] = frozenset()
    left: Mapping[str, str] = field(default_factory=dict)


def root_curve_ids(bone: str) -> list[CurveId]:
    """Return the identifiers of the curves that a root's path can have."""
    return [(bone_path(bone, "location"), index) for index in range(3)] + [
        (bone_path(bone, "rotation_quaternion"), index) for index in range(4)
    ]


def repeated_paths(rig: bpy.types.Object, first: float, last: float) -> RepeatedPaths:
    """Return how the root paths of the mechanism's Action repeat if its servos cycle between two frames.

    Roots that do not move are not mentioned.
    """
    action = editable_action(rig)
    curves: dict[CurveId, bpy.types.FCurve] = {}
    left: dict[str, str] = {}
    for bone in root_bones(rig).values():
        own = posing_curves(rig, action, root_curve_ids(bone))
        keys = {place: read_keys(curve) for place, curve in own.items()}
        moving = {place: each for place, each in keys.items() if each.moves}
        if not (moving or non_quaternion_rotation(rig, bone)[1]):
            continue
        if why := _left_reason(rig, bone, keys, first, last):
            left[bone] = why
        else:
            curves |= {place: own[place] for place in moving}
    on = frozenset(place for place in curves if place[0].endswith("location"))
    return RepeatedPaths(curves, on, left)


def _left_reason(rig: bpy.types.Object, bone: str, keys: Mapping[CurveId, Keyframes], first: float, last: float) -> str:
    """Return the reason why a path cannot repeat; empty if it can."""
    if non_quaternion_rotation(rig, bone)[1]:
        return non_quaternion_reason(bone)
    moving = [each for each in keys.values() if each.moves]
    if (
        min(each.first for each in moving) < first - KEY_SPACING
        or max(each.last for each in moving) > last + KEY_SPACING
    ):
        return Message("Root motion of {}: unchanged, it has keyframes before or after those of the servos", repr(bone))
    return _turn_reason(bone, keys)


def _turn_reason(bone: str, keys: Mapping[CurveId, Keyframes]) -> str:
    """Return the reason why a path cannot repeat by its direction; empty if it can.

    A path that ends in another direction, or in the same one with the quaternion's opposite sign, would continue in the
    wrong direction or rotate back at the start of a cycle if its curves were repeated one by one.
    """
    own = [keys.get((bone_path(bone, "rotation_quaternion"), index)) for index in range(4)]
    first, last = (
        np.array(
            [
                usual if each is None else each.keyframe_values[end]
                for each, usual in zip(own, (1, 0, 0, 0), strict=True)
            ]
        )
        for end in (0, -1)
    )
    lengths = float(np.linalg.norm(first) * np.linalg.norm(last))
    alike = float(first @ last) / lengths if lengths > 0.0 else 1.0
    if alike >= np.cos(0.5 * _DIRECTION_TOLERANCE):
        return ""
    if alike <= -np.cos(0.5 * _DIRECTION_TOLERANCE):
        return Message("Root motion of {}: unchanged, it makes a full revolution", repr(bone))
    return Message("Root motion of {}: unchanged, its direction differs at start and end", repr(bone))


def non_quaternion_rotation(rig: bpy.types.Object, bone: str) -> tuple[bool, bool]:
    """Return whether a root is rotated by Euler angles or axis and angle, and whether keyframes do so."""
    pose = rig.pose.bones[bone]
    if pose.rotation_mode == "QUATERNION":
        return False, False
    if pose.rotation_mode == "AXIS_ANGLE":
        prop, count, is_turned = "rotation_axis_angle", 4, bool(pose.rotation_axis_angle[0])
    else:
        prop, count, is_turned = "rotation_euler", 3, any(pose.rotation_euler[:])
    curves = posing_curves(rig, editable_action(rig), [(bone_path(bone, prop), index) for index in range(count)])
    moves = any(read_keys(curve).moves for curve in curves.values())
    return is_turned or moves, moves


def non_quaternion_reason(bone: str) -> str:
    """Return the reason why the path of a root that is not rotated by quaternions is left unchanged."""
    return Message("Root motion of {}: unchanged, its bone does not use quaternions", repr(bone))


def span_with_gap(span: MotionSpan) -> MotionSpan:
    """Return the span of a cycle for continuing curves, which pause during the gap."""
    return MotionSpan(span.first, span.last + span.gap)
