"""F-curves as numpy arrays and back: keyframes, Cycles modifiers and the bones' coordinates that curves encode.

Also decides whether curves alone pose a channel (``PoseSources``), and evaluates curves at given frames.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.model import Array
from ...core.motion.keyframes import Keyframes
from ...core.report import Message, Report
from ..compat import action_curves, is_muted, new_curve
from ..data.access import armature_of, bone_record, record_of
from ..data.channels import Channel, block_rotation, bone_path, pose_curves, servo_channels
from ..data.queries import RigParts, joint_bones
from ..rig.ball_channels import coordinates_from_keys
from ..rig.bone_limits import is_stop_constraint
from .actions import active_action, has_mixed_actions
from .keying import CONSTANT, LINEAR, MIN_KEY_SPACING, channel_blocks
from .loops.bone_loops import LiveLoop
from .loops.live_solver import rigid_loop_joints

#: Keys nearer than this (frames) count as simultaneous: Blender would merge them.
KEY_SPACING = MIN_KEY_SPACING
#: Attributes of a key besides its point, handles and interpolation: our name, Blender's name, data type.
_KEY_ATTRIBUTES: tuple[tuple[str, str, Any], ...] = (
    ("left_type", "handle_left_type", np.int32),
    ("right_type", "handle_right_type", np.int32),
    ("type", "type", np.int32),
    ("easing", "easing", np.int32),
    ("back", "back", np.float32),
    ("amplitude", "amplitude", np.float32),
    ("period", "period", np.float32),
)
_CONTROL_POINTS = ("handle_left", "co", "handle_right")
_CURVE_SETTINGS = ("extrapolation", "mute", "lock", "hide", "color_mode", "color", "auto_smoothing")
#: Properties of a Cycles modifier that concern its display only.
_UI_ATTRIBUTES = {"active", "show_expanded"}

#: Identifier of a curve: data path from the armature object, index.
CurveId = tuple[str, int]


def curve_id(curve: bpy.types.FCurve) -> CurveId:
    """Return the identifier of a curve or driver."""
    return curve.data_path, curve.array_index


def curve_ids(channels: Iterable[Channel]) -> set[CurveId]:
    """Return the identifiers of all curves that pose joint values."""
    return {each for channel in channels for each in channel.curves()}


@dataclass(frozen=True)
class CurveData:
    """Content of a curve: keys (frames, values), extrapolation, and the settings of its Cycles modifier by name."""

    keys: Keyframes
    extrapolation: str = "CONSTANT"
    cycles: Mapping[str, Any] | None = None

    def with_keys(self, keys: Keyframes) -> CurveData:
        """Return the curve data with other keys."""
        return replace(self, keys=keys)


def editable_action(rig: bpy.types.Object) -> bpy.types.Action:
    """Return the mechanism's Action.

    Raises:
        ValueError: It has none, or one that is linked and cannot be edited.
    """
    action = active_action(rig)
    if action is None:
        raise ValueError(Message("{}: no motion. Import one, bake its gait or choose an Action", repr(rig.name)))
    if not action.is_editable:
        raise ValueError(Message("Action {}: linked from another file. Make it local to edit it", repr(action.name)))
    return action


def servo_curve_ids(
    rig: bpy.types.Object, bones: Collection[str] | None = None, roots: bool = False
) -> dict[CurveId, str]:
    """Return the identifiers of all curves that servos can have, with the names of their bones.

    Args:
        rig: Armature of the mechanism.
        bones: Names of the bones to consider; None: all.
        roots: Include the curves of root motion.
    """
    out = {place: channel.bone for own in servo_channels(rig).values() for channel in own for place in channel.curves()}
    for bone in armature_of(rig).bones if roots else ():
        if bone_record(bone).root:
            out |= {(bone_path(bone.name, "location"), index): bone.name for index in range(3)}
            out |= {(bone_path(bone.name, "rotation_quaternion"), index): bone.name for index in range(4)}
    return {place: bone for place, bone in out.items() if bones is None or bone in bones}


def curves_by_id(
    rig: bpy.types.Object, action: bpy.types.Action, places: Collection[CurveId]
) -> dict[CurveId, bpy.types.FCurve]:
    """Return the Action's non-empty curves among ``places``, muted or not."""
    found = ((curve, curve_id(curve)) for curve in action_curves(rig, action, create=False) or ())
    return {place: curve for curve, place in found if place in places and len(curve.keyframe_points)}


def posing_curves(
    rig: bpy.types.Object, action: bpy.types.Action, places: Collection[CurveId] | None = None
) -> dict[CurveId, bpy.types.FCurve]:
    """Return the Action's non-empty, unmuted curves that pose servos: among ``places``, or (None) of every servo."""
    found = curves_by_id(rig, action, servo_curve_ids(rig) if places is None else places)
    return {place: curve for place, curve in found.items() if not is_muted(curve)}


def joints_of_bones(rig: bpy.types.Object, bones: Collection[str]) -> set[str]:
    """Return the ids of the joints that at least one of ``bones`` poses."""
    return {joint for joint, chain in joint_bones(rig).items() if not set(chain).isdisjoint(bones)}


def channel_curve_id(channel: Channel) -> CurveId:
    """Return the identifier of the curve of a channel with one value."""
    return channel.path, channel.index


def read_keys(curve: bpy.types.FCurve) -> Keyframes:
    """Return the keys of a curve: frames and values with handles, and all attributes."""
    points = curve.keyframe_points
    count = len(points)
    pairs = np.empty((3, count, 2), dtype=np.float32)
    for each, name in zip(pairs, _CONTROL_POINTS, strict=True):
        flat = np.empty(2 * count, dtype=np.float32)
        points.foreach_get(name, flat)
        each[:] = flat.reshape(-1, 2)
    kinds = np.empty(count, dtype=np.int32)
    points.foreach_get("interpolation", kinds)
    more = {}
    for own, name, kind in _KEY_ATTRIBUTES:
        more[own] = np.empty(count, dtype=kind)
        points.foreach_get(name, more[own])
    wide = pairs.astype(np.float64)
    return Keyframes(wide[:, :, 0].T.copy(), wide[:, :, 1].T.copy(), kinds, more, near=KEY_SPACING)


def write_keys(curve: bpy.types.FCurve, keys: Keyframes) -> None:
    """Replace the keys of a curve. Blender recomputes its automatic handles."""
    points = curve.keyframe_points
    if len(points) != len(keys):
        points.clear()
        points.add(len(keys))
    for column, name in enumerate(_CONTROL_POINTS):
        pairs = np.stack([keys.times[:, column], keys.values[:, column]], axis=1)
        points.foreach_set(name, pairs.astype(np.float32).ravel())
    points.foreach_set("interpolation", keys.kinds.astype(np.int32))
    for own, name, kind in _KEY_ATTRIBUTES:
        if own in keys.more:
            points.foreach_set(name, keys.more[own].astype(kind))
    curve.update()


def require_key_spacing(keys: Iterable[Keyframes], remedy: str) -> None:
    """Raise ValueError, with the remedy, if keys are so near to each other that Blender would merge them."""
    # in float32, as Blender stores them: late frames are coarse
    apart = [np.diff(each.keyframe_times.astype(np.float32)).min() for each in keys if len(each) > 1]
    least = min(apart, default=np.inf)
    if least < MIN_KEY_SPACING:
        raise ValueError(
            Message(
                "Keyframes: distance of {} frames, below Blender's minimum of 0.01: {}",
                f"{max(least, 0.0):.2g}",
                remedy,
            )
        )


def read_curve(curve: bpy.types.FCurve) -> CurveData:
    """Return the content of a curve."""
    cycles = cycles_modifier(curve)
    return CurveData(read_keys(curve), curve.extrapolation, None if cycles is None else _cycles_settings(cycles))


def _cycles_settings(cycles: Any) -> dict[str, Any]:
    """Return all writable settings of a Cycles modifier, in an order in which they can be set again."""
    names = (prop.identifier for prop in cycles.bl_rna.properties if not prop.is_readonly)
    return {name: getattr(cycles, name) for name in names if name not in _UI_ATTRIBUTES}


def write_curve(curve: bpy.types.FCurve, course: CurveData) -> None:
    """Write keys, extrapolation and Cycles modifier to a curve. Check with ``require_cycles_room`` beforehand."""
    write_keys(curve, course.keys)
    curve.extrapolation = course.extrapolation  # type: ignore[assignment]
    remove_cycles(curve)
    if course.cycles is not None:
        made = add_cycles(curve)
        for name, value in course.cycles.items():
            setattr(made, name, value)


def copy_curve(source: bpy.types.FCurve, curves: Any, path: str, index: int, group: str) -> None:
    """Copy a curve, with its modifiers and display, to another Action's curves under another data path."""
    made = new_curve(curves, path, index, group)
    write_keys(made, read_keys(source))
    for name in _CURVE_SETTINGS:
        setattr(made, name, getattr(source, name))
    for modifier in source.modifiers:
        copy: Any = made.modifiers.new(type=modifier.type)
        for prop in modifier.bl_rna.properties:
            if not prop.is_readonly and prop.type != "COLLECTION":
                setattr(copy, prop.identifier, getattr(modifier, prop.identifier))
        if isinstance(modifier, bpy.types.FModifierEnvelope):
            _copy_control_points(modifier.control_points, copy.control_points)
    made.update()


def _copy_control_points(source: Any, made: Any) -> None:
    """Copy an envelope's control points, all at once: Blender crashes at times where one limit is set by itself."""
    for point in source:
        made.add(point.frame)
    for name in ("frame", "min", "max"):
        numbers = np.empty(len(source), dtype=np.float32)
        source.foreach_get(name, numbers)
        made.foreach_set(name, numbers)


def cycles_modifier(curve: bpy.types.FCurve) -> Any:
    """Return a curve's Cycles modifier, muted or not, or None."""
    return next((each for each in curve.modifiers if each.type == "CYCLES"), None)


def has_active_cycles(curve: bpy.types.FCurve) -> bool:
    """Return whether a curve repeats: it has a Cycles modifier that is not muted."""
    return any(each.type == "CYCLES" and not each.mute for each in curve.modifiers)


def add_cycles(curve: bpy.types.FCurve) -> Any:
    """Add a Cycles modifier to a curve that has none.

    Raises:
        ValueError: The curve has other modifiers, see ``require_cycles_room``.
    """
    require_cycles_room(curve)
    return curve.modifiers.new(type="CYCLES")


def require_cycles_room(curve: bpy.types.FCurve) -> None:
    """Raise ValueError if a curve has modifiers other than Cycles: Cycles has to be the first modifier."""
    if any(each.type != "CYCLES" for each in curve.modifiers):
        raise ValueError(
            Message("F-Curve {}: it has modifiers, and Cycles must be the first. Remove them", curve.data_path)
        )


def remove_cycles(curve: bpy.types.FCurve) -> bool:
    """Remove a curve's Cycles modifiers; return whether it had any."""
    found = [each for each in curve.modifiers if each.type == "CYCLES"]
    for each in found:
        curve.modifiers.remove(each)
    if found:
        curve.update()  # automatic handles that Blender computed across the seam
    return bool(found)


def block_curves(
    block: Sequence[Channel], curves: Mapping[tuple[str, int], bpy.types.FCurve]
) -> tuple[list[bpy.types.FCurve], list[bpy.types.FCurve]] | None:
    """Return the location curves (none for a ball joint) and quaternion curves of a block; None if one is missing."""
    bone, free = block[0].bone, block[0].kind == "free"
    places = [(bone_path(bone, "location"), index) for index in range(3 if free else 0)]
    turns = [(bone_path(bone, "rotation_quaternion"), index) for index in range(4)]
    if not all(path in curves for path in places + turns):
        return None
    return [curves[path] for path in places], [curves[path] for path in turns]


def pose_block_coordinates(rig: bpy.types.Object, block: Sequence[Channel], places: Array, turns: Array) -> Array:
    """Return the joint values (n, size), continuous, of bone locations (n, 3) and quaternions (n, 4)."""
    free = block[0].kind == "free"
    return coordinates_from_keys(places, turns, block_rotation(rig, block[0].bone), block[0].is_reversed, free)


def read_block(
    rig: bpy.types.Object, block: Sequence[Channel], curves: Mapping[tuple[str, int], bpy.types.FCurve]
) -> tuple[Array, Array] | None:
    """Return the frames (n,) of a block's keys and its joint values (n, size) there.

    None if a curve is missing or their keys are not at the same frames.
    """
    found = block_curves(block, curves)
    if found is None:
        return None
    keys = [CurveKeys.of(curve) for part in found for curve in part]
    at = keys[0].places
    if not len(at) or not all(len(k.places) == len(at) and (k.places == at).all() for k in keys):
        return None
    columns = np.stack([k.values for k in keys], axis=1).astype(np.float64)
    places = columns[:, :3] if len(found[0]) else np.zeros((len(at), 3))
    return at.astype(np.float64), pose_block_coordinates(rig, block, places, columns[:, -4:])


_Key32 = NDArray[np.float32]


@dataclass
class CurveKeys:
    """Keys of a curve in order: frames (n,), values (n,) and Blender's interpolation numbers (n,)."""

    places: _Key32
    values: _Key32
    how: NDArray[np.int32]

    @classmethod
    def of(cls, curve: bpy.types.FCurve) -> CurveKeys:
        """Read the keys of a curve."""
        points = curve.keyframe_points
        pairs = np.empty(2 * len(points), dtype=np.float32)
        points.foreach_get("co", pairs)
        how = np.empty(len(points), dtype=np.int32)
        points.foreach_get("interpolation", how)
        return cls(pairs[0::2], pairs[1::2], how)

    @property
    def is_straight(self) -> bool:
        """Return whether all segments are linear or constant."""
        return bool(np.isin(self.how[:-1], (CONSTANT, LINEAR)).all())

    @property
    def held(self) -> NDArray[np.bool_]:
        """Return the mask (n,) of keys whose value is constant until the next key."""
        return self.how == CONSTANT

    def held_at(self, frames: Array) -> NDArray[np.bool_]:
        """Return the mask (n,) of frames from which the value is constant until the next key."""
        before = np.searchsorted(self.places, frames.astype(np.float32), side="right") - 1
        return np.where(before < 0, True, self.held[np.maximum(before, 0)])


def is_plain_curve(curve: bpy.types.FCurve) -> bool:
    """Return whether a curve shows its keys: not muted, not baked to samples, no active modifier other than Cycles."""
    bent = (each for each in curve.modifiers if not each.mute and each.type != "CYCLES")
    return not (curve.mute or len(curve.sampled_points) or any(bent))


class PoseSources:
    """Predicate for channels that are posed by one curve, or by their own value, alone.

    Excluded are blended Actions, drivers, constraints, inverse kinematics, dependent joints of closed loops and
    physics, and channels that their bone's rotation mode ignores. Constraints that enforce stops do not count: values
    are compared with the stops separately.
    """

    def __init__(self, found: RigParts, by_keys: bool) -> None:
        rig = found.rig
        data = rig.animation_data
        self._none = not by_keys or has_mixed_actions(rig)
        self._driven = {curve.data_path for curve in data.drivers if not curve.mute} if data is not None else set()
        self._turned_by = {pose.name: pose.rotation_mode for pose in rig.pose.bones}
        self._constrained = _constrained_bones(rig, self._driven)
        self._held = self._constrained | _dependent_bones(found)
        self._own = found.own_bones

    def __call__(self, channel: Channel) -> bool:
        """Return whether only its own curves pose a channel."""
        return not self._none and not self.is_moved(channel) and self._is_considered(channel)

    def _is_considered(self, channel: Channel) -> bool:
        by = self._turned_by[channel.bone]
        if not channel.is_single:
            return by == "QUATERNION"
        return channel.prop == "location" or by not in {"QUATERNION", "AXIS_ANGLE"}

    @property
    def is_mixed(self) -> bool:
        """Return whether the pose comes from more than one Action, from part of one, or from physics."""
        return self._none

    def may_pose_stray(self) -> bool:
        """Return whether constraints or inverse kinematics pose bones, possibly against their joints."""
        return not self._own.isdisjoint(self._constrained)

    def is_moved(self, channel: Channel) -> bool:
        """Return whether a driver or a constraint poses a channel."""
        return channel.bone in self._held or any(path in self._driven for path, _index in channel.curves())


def _constrained_bones(rig: bpy.types.Object, driven: set[str]) -> set[str]:
    """Return the bones that constraints pose, including constraints that are off now but keyed or driven."""
    data = rig.animation_data
    action = data.action if data is not None else None
    curves = action_curves(rig, action, create=False) if action is not None else None
    switched = driven | {curve.data_path for curve in curves or () if ".constraints[" in curve.data_path}
    switched = {path.rpartition(".")[0] for path in switched if ".constraints[" in path}
    out: set[str] = set()
    for pose in rig.pose.bones:
        for constraint in pose.constraints:
            off = constraint.mute or constraint.influence <= 0.0
            if is_stop_constraint(constraint) or (off and constraint.path_from_id() not in switched):
                continue
            if constraint.type in {"IK", "SPLINE_IK"}:
                out.update(_ik_chain(pose, constraint))
            else:
                out.add(pose.name)
    return out


def _dependent_bones(found: RigParts) -> set[str]:
    """Return the bones without keyframes that follow their closed loops; none if nothing of the rig is keyed."""
    follow = {record_of(empty).source_id for empty in found.joints if record_of(empty).joint.is_dependent}
    keyed = {path.rpartition(".")[0] for path, _index in pose_curves(found.rig)} if follow else set()
    if not keyed:
        return set()
    follow -= rigid_loop_joints(found.rig)
    bones = {bone for joint in follow for bone in found.chains.get(joint, ())}
    return {bone for bone in bones if found.rig.pose.bones[bone].path_from_id() not in keyed}


def _ik_chain(pose: bpy.types.PoseBone, constraint: Any) -> Iterable[str]:
    """Yield the names of the bones that an inverse kinematics constraint may rotate."""
    bone: bpy.types.PoseBone | None = pose if getattr(constraint, "use_tail", True) else pose.parent
    count = constraint.chain_count or math.inf
    while bone is not None and count > 0:
        yield bone.name
        bone, count = bone.parent, count - 1


#: A root that moves less than this (length units, rad) stands still.
STILL_TOLERANCE = 1e-5
_ERROR_SUBSAMPLES = 4  # points between two samples of a curve at which its distance from the line is measured


def evaluate_curve(curve: bpy.types.FCurve, places: Array) -> Array:
    """Return the values (n,) of a curve at frames (n,) of its Action."""
    return np.array([curve.evaluate(place) for place in places.tolist()], dtype=np.float64)


def curve_coordinates(
    rig: bpy.types.Object, own: Sequence[Channel], curves: Mapping[CurveId, bpy.types.FCurve], frames: Array
) -> Array:
    """Return the joint values (n, size) of a joint's channels at frames (n,), from its curves, else from its pose."""

    def numbers(bone: str, place: CurveId) -> Array:
        curve = curves.get(place)
        if curve is None:
            return np.full(len(frames), getattr(rig.pose.bones[bone], place[0].rpartition(".")[2])[place[1]])
        return evaluate_curve(curve, frames)

    columns: list[Array] = []
    for channel in own:
        if channel.is_single:
            columns.append(numbers(channel.bone, channel_curve_id(channel)))
        elif channel.index == 0:
            found = np.array([numbers(channel.bone, place) for place in channel.curves()]).T
            columns += list(pose_block_coordinates(rig, [channel], found[:, 4:], found[:, :4]).T)
    return np.array(columns).T.reshape(len(frames), len(own))


def loop_values(
    rig: bpy.types.Object,
    loop: LiveLoop,
    inputs: Sequence[str],
    curves: Mapping[CurveId, bpy.types.FCurve],
    frames: Array,
) -> dict[str, Array]:
    """Return the values (frames, size) of a loop's joints, by id; empty where the ``inputs`` (ids) are all of them."""
    given = {joint: curve_coordinates(rig, loop.channels[joint], curves, frames) for joint in inputs}
    with loop.follower.trial():
        states = [state.found for state in loop.states_for(given)] if given else []
    found = [state.positions for state in states if state is not None]
    if not found or len(found) < len(states):
        return {}
    return {joint: np.array([positions[joint] for positions in found]) for joint in found[0]}


def continues_past_keys(curve: bpy.types.FCurve) -> bool:
    """Return whether a curve departs from the values of its keyframes outside them otherwise than by repeating them."""
    modifiers = [modifier for modifier in curve.modifiers if not modifier.mute and not _repeats(modifier)]
    return bool(modifiers) or curve.extrapolation == "LINEAR"


def _repeats(modifier: Any) -> bool:
    return modifier.type == "CYCLES" and "REPEAT_OFFSET" not in {modifier.mode_before, modifier.mode_after}


def curve_leaves_value(curve: bpy.types.FCurve, value: float) -> bool:
    """Return whether a curve departs from a value."""
    values = CurveKeys.of(curve).values
    return not is_plain_curve(curve) or bool((np.abs(values - value) > STILL_TOLERANCE).any())


def rest_value(place: CurveId) -> float:
    """Return the value of a bone at rest on a curve of location or rotation."""
    return float(place[1] == 0 and place[0].endswith("rotation_quaternion"))


def sample_blocks(
    rig: bpy.types.Object,
    channels: Sequence[Channel],
    curves: Mapping[CurveId, bpy.types.FCurve],
    places: Array,
) -> dict[Channel, Array]:
    """Return the joint values (n,) of ball joints, free blocks and roots at frames (n,), from their curves.

    Only for channels that curves alone pose. Bones with stops are left out: they have to be read off the evaluated
    pose.
    """
    bones = rig.pose.bones
    found: dict[Channel, Array] = {}
    for block in channel_blocks(rig, dict.fromkeys(channels)):
        bone = block[0].bone
        if any(is_stop_constraint(each) for each in bones[bone].constraints):
            continue
        columns = np.empty((len(places), 7))
        for number in range(7):
            prop, index = ("location", number) if number < 3 else ("rotation_quaternion", number - 3)
            curve = curves.get((bone_path(bone, prop), index))
            still = getattr(bones[bone], prop)[index]
            columns[:, number] = still if curve is None or curve.is_empty else evaluate_curve(curve, places)
        values = pose_block_coordinates(rig, block, columns[:, :3], columns[:, 3:])
        found |= {channel: column.copy() for channel, column in zip(block, values.T, strict=True)}
    return {channel: found[channel] for channel in channels if channel in found}


def report_sampling_error(
    channel: Channel, curve: bpy.types.FCurve, places: Array, values: Array, step: float, report: Report
) -> None:
    """Report the largest distance between a curve and the lines through its samples.

    Args:
        channel: The channel.
        curve: Its curve.
        places: Sampled frames (n,) of the Action.
        values: The samples (n,).
        step: Time between samples (s).
        report: Gets the entry.
    """
    if len(places) < 2 or (is_plain_curve(curve) and CurveKeys.of(curve).is_straight and not has_active_cycles(curve)):
        return
    shares = (np.arange(_ERROR_SUBSAMPLES) + 0.5) / _ERROR_SUBSAMPLES
    between = (places[:-1, None] + np.diff(places)[:, None] * shares).ravel()
    worst = float(np.abs(evaluate_curve(curve, between) - np.interp(between, places, values)).max())
    unit = "rad" if channel.is_angle else "m"
    report.info(
        "curve-sampled",
        Message(
            "Servo {}: its curve was sampled every {} ms, with an error of at most {} {}",
            repr(channel.name),
            f"{1000 * step:g}",
            f"{worst:.2g}",
            unit,
        ),
        where=channel.name,
    )
