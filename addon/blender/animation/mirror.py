"""Mirroring of motions from left to right on F-curves, as ``core.editing.mirroring`` mirrors trajectories."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal

import bpy
import numpy as np

from ...core.editing.mirroring import DofMap, JointMirror, MotionMirror, is_signed_permutation, motion_mirror
from ...core.model import Array, Plane
from ...core.motion.keyframes import LINEAR_KEY, Keyframes, shift_keyframes_cyclic
from ...core.motion.retiming import keyframe_span
from ...core.report import Message, Report
from ..compat import action_curves, is_muted, new_curve
from ..data.access import armature_of
from ..data.channels import Channel, block_rotation, bone_path, servo_channels
from ..data.queries import root_bones
from ..scene.read.mechanism import extract
from .actions import active_action, fit_strips
from .fcurves import (
    KEY_SPACING,
    CurveData,
    CurveId,
    channel_curve_id,
    curves_by_id,
    editable_action,
    joints_of_bones,
    read_curve,
    require_cycles_room,
    require_key_spacing,
    servo_curve_ids,
    write_curve,
)
from .keying import group_starts
from .root_motion import non_quaternion_reason, non_quaternion_rotation, repeated_paths, root_curve_ids, span_with_gap

#: Root motion is mirrored about a plane through the root if that is no farther from the mirror plane than this share
#: of the bones' extent: the shift of the whole mechanism is negligible.
_PLANE_TOLERANCE = 0.05

#: Joints whose motion goes to their counterparts: all, or those on the negative or positive side of the plane's normal
#: (as a rule -X and +X).
Side = Literal["both", "negative", "positive"]


def mirror_keys(
    rig: bpy.types.Object,
    side: Side = "both",
    phase: float = 0.0,
    period: float | None = None,
    bones: Collection[str] | None = None,
    normal: Array | None = None,
    plane: Plane | None = None,
    action: bpy.types.Action | None = None,
) -> Report:
    """Mirror the motion of the mechanism's Action: each servo does what its counterpart did.

    A servo without keyframes, or whose curve is muted, passes on its present value. If all servos are mirrored both
    ways, root motion is mirrored too.

    Args:
        rig: Armature of the mechanism.
        side: Side whose motion goes to the counterparts; everything else stays.
        phase: Delay of what is mirrored, as a share of a cycle; it wraps at the end of the motion.
        period: Length of a cycle in frames; None: that of the motion.
        bones: Names of bones whose joints are mirrored; None: all.
        normal: Direction (3,) of the mirror plane, in the axes of the file; None: the mechanism's.
        plane: Mirror plane in place of the mechanism's own.
        action: Motion in place of the one that plays.

    Returns:
        Report on how counterparts were found and what was left out.

    Raises:
        ValueError: Nothing can be mirrored; raised before anything is changed.
    """
    played = active_action(rig)
    action = action or editable_action(rig)
    mechanism = extract(rig)
    mechanism.mirror_plane = plane or mechanism.mirror_plane
    mirror = motion_mirror(mechanism, normal)
    chosen = _source_joints(rig, mirror, side, bones)
    places = servo_curve_ids(rig, None, roots=side == "both" and bones is None)
    every = curves_by_id(rig, action, places)
    curves = {place: curve for place, curve in every.items() if not is_muted(curve)}
    if curves.keys().isdisjoint(servo_curve_ids(rig)):
        raise ValueError(Message("Action {}: no keyframes of servos of {}", repr(action.name), repr(rig.name)))
    given = {place: read_curve(curve) for place, curve in curves.items()}
    work = _CurveMirror(rig, given, every.keys() - curves.keys(), mirror.report)
    channels = servo_channels(rig)
    for joint in chosen:
        work.mirror(mirror.joints[joint], channels)
    if not work.made:
        raise ValueError(
            Message("{}: none of the chosen servos has a twin with the same degrees of freedom", repr(rig.name))
        )
    if side == "both" and bones is None:
        work.mirror_paths(mirror, phase)
    if phase:
        work.delay(phase, period)
    made = {place: course for place, course in work.made.items() if course is not None}
    require_key_spacing((course.keys for course in made.values()), "choose another phase")
    for place in made.keys() & every.keys():
        if made[place].cycles is not None:
            require_cycles_room(every[place])
    target_curves = action_curves(rig, action)
    for place in work.made.keys() & curves.keys() - made.keys():
        target_curves.remove(curves[place])
    for place, course in made.items():
        curve = every[place] if place in every else new_curve(target_curves, *place, places[place])
        curve.mute = False
        write_curve(curve, course)
    if action == played:
        work.pose()
    fit_strips(rig, action)
    action.update_tag()
    moved, count = len(made), len({*chosen} & channels.keys())
    turned = "1 joint" if count == 1 else Message("{} joints", count)
    drawn = "1 F-Curve" if moved == 1 else Message("{} F-Curves", moved)
    message = Message("{} mirrored, {} written", turned, drawn)
    mirror.report.info("mirrored", message)
    return mirror.report


def _source_joints(rig: bpy.types.Object, mirror: MotionMirror, side: Side, bones: Collection[str] | None) -> list[str]:
    """Return the ids of the joints whose motion goes to their counterparts."""
    joints = list(mirror.joints) if side == "both" else mirror.joints_on_side(positive=side == "positive")
    if bones is None:
        return joints
    meant = joints_of_bones(rig, bones)
    return [joint for joint in joints if joint in meant]


@dataclass
class _CurveMirror:
    """Working state of mirroring the curves of a mechanism.

    Attributes:
        rig: The armature.
        given: Curves as they are.
        muted: Identifiers of muted curves.
        report: Gets what was left out.
        made: Mirrored curves; None where a curve has to be removed.
        on: Identifiers of the curves by which roots continue from cycle to cycle.
        values: Bone, property and value to set for channels without keyframes.
    """

    rig: bpy.types.Object
    given: dict[CurveId, CurveData]
    muted: Set[CurveId]
    report: Report
    made: dict[CurveId, CurveData | None] = field(default_factory=dict)
    on: set[CurveId] = field(default_factory=set)
    values: dict[CurveId, tuple[str, str, float]] = field(default_factory=dict)

    def mirror(self, each: JointMirror, channels: dict[str, list[Channel]]) -> None:
        """Give a joint's counterpart the mirrored motion of the joint."""
        own, other = channels.get(each.source), channels.get(each.target)
        if own is None or other is None:
            return  # it closes a loop, and is determined by the others
        for part in each.parts:
            sources, targets = [own[k] for k in part.of], [other[k] for k in part.to]
            if sources[0].is_single:
                self._single(sources[0], targets[0], float(part.matrix[0, 0]))
            else:
                self._block(sources[0], targets[0], part)

    def _single(self, source: Channel, target: Channel, sign: float) -> None:
        course, place = self.given.get(channel_curve_id(source)), channel_curve_id(target)
        self.made[place] = None if course is None else course.with_keys(course.keys.scaled_values(sign))
        if course is None:
            here = getattr(self.rig.pose.bones[source.bone], source.prop)[source.index]
            self.values[place] = target.bone, target.prop, sign * here

    def _block(self, source: Channel, target: Channel, part: DofMap) -> None:
        """Mirror a ball joint or free block: quaternion and location of its bone, which are in the bone's axes."""
        free = part.kind == "free"
        if free and source.is_reversed != target.is_reversed:
            self.report.warn(
                "mirror-reversed",
                Message("Servo {}: unchanged, parent and child of its twin are reversed", repr(source.name)),
            )
            return
        if self._is_mixed(source.bone, target.bone):
            self.report.warn(
                "mirror-muted", Message("Servo {}: unchanged, some of its F-Curves are muted", repr(source.name))
            )
            return
        into, out_of = block_rotation(self.rig, source.bone), block_rotation(self.rig, target.bone).T
        sense = 1.0 if source.is_reversed == target.is_reversed else -1.0
        self._vector(source.bone, target.bone, "rotation_quaternion", sense * out_of @ part.matrix[:3, :3] @ into)
        if free:
            self._vector(source.bone, target.bone, "location", out_of @ part.matrix[3:, 3:] @ into)

    def mirror_paths(self, mirror: MotionMirror, phase: float) -> None:
        """Exchange the root motion of roots with their twins, or mirror it within a root that has none.

        A root without keyframes passes on its present pose.
        """
        plane, roots, bones = mirror.sides.plane, root_bones(self.rig), armature_of(self.rig).bones
        rests = {body: np.array(bones[bone].matrix_local, dtype=np.float64) for body, bone in roots.items()}
        heads = np.array([bone.head_local for bone in bones], dtype=np.float64)
        near = _PLANE_TOLERANCE * float(np.ptp(heads, axis=0).max())
        late = repeated_paths(self.rig, *self._range()).left if phase else {}
        for body, bone in roots.items():
            twin = mirror.sides.bodies.get(body, body)
            other = roots.get(twin, bone)
            if not (self._moves_from_rest(bone) or self._moves_from_rest(other)):
                continue
            if twin not in roots or abs(plane.height(rests[body][:3, 3]) + plane.height(rests[twin][:3, 3])) > near:
                self.report.warn(
                    "mirror-path",
                    Message("Root motion of {}: unchanged, its root body has no mirror image", repr(bone)),
                )
            elif why := self._unmirrored_reason(bone, other, late):
                self.report.warn("mirror-path", why)
            elif self._unmirrored_reason(other, bone, late):
                stays = Message("Root motion of {}: unchanged, as that of {}", repr(bone), repr(other))
                self.report.warn("mirror-path-of-twin", stays)
            else:
                turn = rests[twin][:3, :3].T @ plane.reflection[:3, :3] @ rests[body][:3, :3]
                self._vector(bone, other, "rotation_quaternion", -turn)
                self._vector(bone, other, "location", turn)
                self.on |= {(bone_path(other, "location"), index) for index in range(3)}

    def _unmirrored_reason(self, bone: str, other: str, late: Mapping[str, str]) -> str:
        """Return the reason why a root's motion cannot be exchanged with that of ``other``; empty if it can.

        ``late`` are the reasons of roots whose motion cannot be delayed.
        """
        if non_quaternion_rotation(self.rig, bone)[0]:
            return non_quaternion_reason(bone)
        if self._is_mixed(bone, other):
            return Message("Root motion of {}: unchanged, some of its F-Curves are muted", repr(bone))
        return late.get(bone, "")

    def _is_mixed(self, *bones: str) -> bool:
        """Return whether bones have both muted and unmuted curves of location, or of rotation.

        The mirrored result would overwrite the muted ones.
        """
        places = [place for bone in bones for place in root_curve_ids(bone)]
        return any(
            not (self.muted.isdisjoint(own) or self.given.keys().isdisjoint(own))
            for own in (
                {place for place in places if place[0].endswith(prop)} for prop in ("location", "rotation_quaternion")
            )
        )

    def _moves_from_rest(self, bone: str) -> bool:
        """Return whether keyframes move or rotate a root away from its rest pose, where root motion usually begins."""
        moves = {(bone_path(bone, "location"), index) for index in range(3)}
        turns = {(bone_path(bone, "rotation_quaternion"), index) for index in range(1, 4)}
        keyed = any(self.given[place].keys.values.any() for place in moves | turns if place in self.given)
        return keyed or non_quaternion_rotation(self.rig, bone)[1]

    def _range(self) -> tuple[float, float]:
        """Return the first and the last frame at which servos have keys."""
        servos = [self.given[place].keys for place in self.given.keys() & servo_curve_ids(self.rig).keys()]
        return min(keys.first for keys in servos), max(keys.last for keys in servos)

    def _vector(self, source: str, target: str, prop: str, matrix: Array) -> None:
        """Mirror a bone's location or quaternion by ``matrix`` (3, 3).

        The real part of a quaternion is unchanged by a reflection; the other three transform as a vector.
        """
        count = 4 if prop == "rotation_quaternion" else 3
        here = np.array(getattr(self.rig.pose.bones[source], prop))
        places = [(bone_path(target, prop), index) for index in range(count)]
        if any((bone_path(source, prop), index) in self.given for index in range(count)):
            courses = [self._course(source, prop, index) for index in range(count)]
            made: Sequence[CurveData | None] = [*courses[:-3], *_mix_curves(courses[-3:], matrix)]
        else:
            made = [None] * count
            image = [*here[:-3], *(matrix @ here[-3:])]
            self.values |= {place: (target, prop, float(value)) for place, value in zip(places, image, strict=True)}
        self.made |= dict(zip(places, made, strict=True))

    def _course(self, bone: str, prop: str, index: int) -> CurveData:
        """Return the curve of a bone's channel; without keys, one key with its present value."""
        course = self.given.get((bone_path(bone, prop), index))
        if course is None:
            value = getattr(self.rig.pose.bones[bone], prop)[index]
            first = min(each.keys.first for each in self.given.values())
            course = CurveData(_straight_keys(np.array([first]), np.array([value])))
        return course

    def delay(self, phase: float, period: float | None) -> None:
        """Delay the mirrored curves by a share of a cycle."""
        made = {place: course for place, course in self.made.items() if course is not None}
        span = keyframe_span(np.array(self._range()), [made[place].keys for place in made.keys() - self.on], 1.0)
        later = phase * (span.period if period is None else period)
        for place, course in made.items():
            if place in self.on:
                keys = shift_keyframes_cyclic(course.keys, span_with_gap(span), later, climbs=True)
            else:
                keys = shift_keyframes_cyclic(course.keys, span, later)
            self.made[place] = course.with_keys(keys)

    def pose(self) -> None:
        """Set the channels that have no keyframes."""
        for (_path, index), (bone, prop, value) in self.values.items():
            getattr(self.rig.pose.bones[bone], prop)[index] = value


def _mix_curves(courses: Sequence[CurveData], matrix: Array) -> list[CurveData]:
    """Return three curves multiplied by ``matrix`` (3, 3).

    If their keys are at the same times, handles and interpolation are kept, else there are linear keys at the times of
    all.
    """
    matrix = np.where(np.abs(matrix) < 1e-6, 0.0, matrix)
    if is_signed_permutation(matrix):
        columns = np.abs(matrix).argmax(axis=1)
        signs = np.sign(matrix[np.arange(3), columns])
        return [
            courses[column].with_keys(courses[column].keys.scaled_values(float(sign)))
            for column, sign in zip(columns, signs, strict=True)
        ]
    keys = [course.keys for course in courses]
    alike = all(
        np.array_equal(each.times[:, 1], keys[0].times[:, 1]) and np.array_equal(each.kinds, keys[0].kinds)
        for each in keys
    )
    if alike:
        values = np.einsum("ij,jnk->ink", matrix, np.stack([each.values for each in keys]))
        return [
            course.with_keys(Keyframes(course.keys.times, mixed, course.keys.kinds, course.keys.more, KEY_SPACING))
            for course, mixed in zip(courses, values, strict=True)
        ]
    times = np.unique(np.concatenate([each.times[:, 1] for each in keys]))
    times = times[group_starts(times)]
    values = matrix @ np.stack([each.at(times) for each in keys])
    return [course.with_keys(_straight_keys(times, mixed)) for course, mixed in zip(courses, values, strict=True)]


def _straight_keys(times: Array, values: Array) -> Keyframes:
    """Return linear keys."""
    kinds = np.full(len(times), LINEAR_KEY, dtype=np.int32)
    return Keyframes(
        np.repeat(times[:, None], 3, axis=1), np.repeat(values[:, None], 3, axis=1), kinds, near=KEY_SPACING
    )
