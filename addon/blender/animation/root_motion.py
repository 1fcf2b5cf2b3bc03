"""The paths of a model's roots: where it goes as a whole, beside what its servos do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import bpy
import numpy as np

from ...core.motion.keyframes import Keyframes, MotionSpan
from ..data.channels import bone_path
from ..data.queries import root_bones
from .fcurves import KEY_SPACING, CurveId, editable_action, posing_curves, read_keys

#: From how far on (rad) a path that ends in another direction turns.
_DIRECTION_TOLERANCE = np.radians(5.0)


@dataclass(frozen=True)
class RepeatedPaths:
    """What becomes of the paths of roots in rounds: the ``curves`` that come along with those of the servos; where
    those are by which roots go ``on`` and on, each round from where the one before ended; and what is said of the
    paths that are ``left`` as they are, by the names of their bones."""

    curves: dict[CurveId, bpy.types.FCurve] = field(default_factory=dict)
    on: frozenset[CurveId] = frozenset()
    left: Mapping[str, str] = field(default_factory=dict)


def root_curve_ids(bone: str) -> list[CurveId]:
    """Return where the curves of a root's path may be."""
    return [(bone_path(bone, "location"), index) for index in range(3)] + [
        (bone_path(bone, "rotation_quaternion"), index) for index in range(4)
    ]


def repeated_paths(rig: bpy.types.Object, first: float, last: float) -> RepeatedPaths:
    """Return what becomes of the paths of the model's Action where its servos play rounds from one frame to another.

    Of roots that stand still nothing is said.
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
    """Return what is said of a path that does not come along."""
    if non_quaternion_rotation(rig, bone)[1]:
        return non_quaternion_reason(bone)
    moving = [each for each in keys.values() if each.moves]
    if (
        min(each.first for each in moving) < first - KEY_SPACING
        or max(each.last for each in moving) > last + KEY_SPACING
    ):
        return f"The path of {bone!r} has keys before or after those of the servos: it stays as it was"
    return _turn_reason(bone, keys)


def _turn_reason(bone: str, keys: Mapping[CurveId, Keyframes]) -> str:
    """Return what is said of a path whose direction at the end is not the one at the beginning, or is told by other
    numbers. Repeated curve by curve it would go on in the wrong one, or turn round where a round begins."""
    own = [keys.get((bone_path(bone, "rotation_quaternion"), index)) for index in range(4)]
    first, last = (
        np.array([usual if each is None else each.told[end] for each, usual in zip(own, (1, 0, 0, 0), strict=True)])
        for end in (0, -1)
    )
    lengths = float(np.linalg.norm(first) * np.linalg.norm(last))
    alike = float(first @ last) / lengths if lengths > 0.0 else 1.0
    if alike >= np.cos(0.5 * _DIRECTION_TOLERANCE):
        return ""
    if alike <= -np.cos(0.5 * _DIRECTION_TOLERANCE):
        return f"The path of {bone!r} turns all the way round: it stays as it was"
    return f"The path of {bone!r} ends in another direction than it begins: it stays as it was"


def non_quaternion_rotation(rig: bpy.types.Object, bone: str) -> tuple[bool, bool]:
    """Return whether a root is turned by other numbers than those of a quaternion, and whether keys do so."""
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
    """Return what is said of such a root, whose path is left."""
    return f"The path of {bone!r} stays as it was: its bone is not turned by quaternions"


def span_with_gap(span: MotionSpan) -> MotionSpan:
    """A round in which what goes on waits during the gap."""
    return MotionSpan(span.first, span.last + span.gap)
