"""Transfer of joint channels after bones were planned again: pose, keyframes and drivers continue where they can.

Channels that no longer exist are reset, and their curves and drivers removed, as are those of deleted bones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.editing.edits import JointEdit
from ...core.loops.designs import shift_value_zero
from ...core.model import Array, Dof, DofKind, Joint, Mechanism, joint_by_id
from ...core.motion.keyframes import simplified_key_indices
from ...core.report import Message, Report
from ..animation.actions import action_users, active_action
from ..animation.fcurves import CurveData, CurveId, curve_id, curve_ids, read_curve, write_curve
from ..animation.keying import MIN_KEY_SPACING, Tracks, curve_tracks, fill_curve
from ..compat import action_curves, all_curves, new_curve
from ..data.access import armature_of, record_of
from ..data.channels import Channel, block_rotation, bone_of_path, bone_path, is_screw_driver_curve, servo_channels
from ..data.conversion import initial_dof_coordinates, read_stops
from ..data.queries import joint_bones, parts
from ..events.signals import writing_records
from ..rig.ball_channels import block_bone_channels, unwrap_rotation_vectors
from ..rig.pose_channels import write_pose
from .bone_references import MovedChannel, report_removed_drivers
from .rig_state import RigState

#: Properties that pose a bone, and their sizes.
_PROPERTIES = {"location": 3, "rotation_euler": 3, "rotation_quaternion": 4}
#: Error (rad, length units) of converted keyframes by which a straight line may pass one that is left out.
CONVERSION_TOLERANCE = 1e-5


def transfer_channels(
    rig: bpy.types.Object,
    present: RigState,
    edits: Mapping[str, JointEdit],
    renewed: Collection[str],
    zeros: Mapping[str, Array],
) -> Report:
    """Pose and key the joints of a mechanism as before; return what is lost of joints that remain.

    Args:
        rig: The armature, whose bones were rebuilt.
        present: Its state before.
        edits: Changes of joints, by id.
        renewed: Names of new bones that deleted bones had before.
        zeros: New zero positions (size,) of joints, in their previous values, by id.
    """
    _restore_pose(rig, present, renewed)
    after = servo_channels(rig)
    moved, gone = _map_curves(rig, present, edits, after)
    for name in renewed:
        gone |= set(_bone_curve_ids(name))
    channels = [channel for own in after.values() for channel in own]
    _reset_channels(rig, (gone | moved.keys()) - curve_ids(channels))
    for joint, own in after.items():
        edit, old = edits.get(joint, _UNCHANGED), present.channels.get(joint, [])
        values = edit.values
        if values is None and len(old) == len(own) and not _are_same_channels(rig, present, old, own):
            values = present.pose[joint]
        if joint in zeros:
            values = present.pose.get(joint) if values is None else values
            values = None if values is None else _relative_to_zero(own[0].kind, values, zeros[joint])
        if values is not None and len(values) == len(own):
            write_pose(rig, own, values)
    remaining = [old for joint, old in present.channels.items() if joint in after or joint in edits]
    report = report_removed_drivers(rig, renewed, gone, remaining)
    if gone:
        report.extend(_remove_curves(rig, present, lambda at: at in gone or _is_on(at, renewed) and at not in moved))
    if any(old != new or factor != 1.0 for old, (new, factor) in moved.items()):
        _move_curves(rig, present, moved)
    previous = curve_ids(channel for own in present.channels.values() for channel in own)
    present.references.convert(moved, gone & previous, channels)
    _rotate_block_curves(rig, present, edits, after)
    for joint, zero in zeros.items():
        _shift_curves(rig, present, after.get(joint, []), zero)
    for joint in present.keyed.intersection(edits):
        _key_current_pose(rig, after.get(joint, []))
    return report


def remove_bone_animation(rig: bpy.types.Object, present: RigState, deleted: Collection[str]) -> Report:
    """Remove what moved deleted bones (names): drivers, and curves in every motion and stored pose.

    An Action that another armature shares keeps the curves of bones that exist there.
    """
    report = report_removed_drivers(rig, deleted)
    report.extend(_remove_curves(rig, present, lambda at: _is_on(at, deleted)) if deleted else None)
    return report


def _is_on(identifier: CurveId, bones: Collection[str]) -> bool:
    """Return whether a curve or driver is one of bones (names)."""
    return bone_of_path(identifier[0]) in bones


def _remove_curves(rig: bpy.types.Object, present: RigState, is_lost: Callable[[CurveId], bool]) -> Report:
    """Remove curves and drivers of a mechanism, except curves of bones that another armature has and plays."""
    report, drivers = Report(), rig.animation_data_create().drivers
    for curve in [each for each in drivers if is_lost(curve_id(each))]:
        if not is_screw_driver_curve(curve) or bone_of_path(curve.data_path) not in armature_of(rig).bones:
            drivers.remove(curve)
    for action in present.actions:
        curves: Any = action_curves(rig, action, create=False) or ()
        going = [curve for curve in curves if is_lost(curve_id(curve))]
        sharing = dict[str, bpy.types.Object]()
        for other in action_users(rig, action) if going else ():
            shared = {bone_of_path(curve.data_path) for curve in going} & {*armature_of(other).bones.keys()}
            sharing |= dict.fromkeys(shared, other)
        for curve in going:
            if bone_of_path(curve.data_path) not in sharing:
                curves.remove(curve)
        for name in sorted({other.name for other in sharing.values()}):
            report.info(
                "shared-keyframes-kept",
                Message(
                    "Keyframes of {}: those of removed channels are kept, {} has these bones and shares the Action",
                    repr(action.name),
                    repr(name),
                ),
                where=action.name,
            )
    return report


def remove_empty_actions(actions: Iterable[bpy.types.Action]) -> Report:
    """Remove Actions that have no curve left and that nothing plays or keeps; return their names as a report.

    Those with a fake user are the user's to delete.
    """
    report = Report()
    for action in actions:
        if action.users or any(all_curves(action)):
            continue
        report.info(
            "empty-action-removed", Message("Action {}: removed, it moved deleted parts only", repr(action.name))
        )
        bpy.data.actions.remove(action)
    return report


def shift_zeros(rig: bpy.types.Object, mechanism: Mechanism, zeros: Mapping[str, Array]) -> None:
    """Update the records of joints with a new zero position (``zeros``, as for ``transfer_channels``).

    Their stops stay where they are.
    """
    joints = joint_by_id(mechanism)
    for empty in parts(rig, "JOINT") if zeros else ():
        own = record_of(empty).source_id
        if own not in zeros:
            continue
        (kept,), (dof,) = record_of(empty).joint.dofs, joints[own].dofs
        with writing_records():
            if kept.assembled:
                begins = shift_value_zero(joints[own], np.array(initial_dof_coordinates(kept)), zeros[own])
                kept.assembled_start = [*begins, *list(kept.assembled_start)[len(begins) :]]
            for name in ("position", "rest"):
                setattr(kept, name, getattr(dof, name))
            for name, value in zip(("lower", "upper"), read_stops(dof), strict=True):
                if value is not None:
                    setattr(kept, name, value)
            if dof.start:
                kept.start = [*dof.start, *list(kept.start)[len(dof.start) :]]


_UNCHANGED = JointEdit()


def _key_current_pose(rig: bpy.types.Object, own: Sequence[Channel]) -> None:
    """Key a joint that lost its keyframes at its present values.

    Otherwise the rest of its loop, which keyframes pose, would be followed by it.
    """
    action = active_action(rig)
    curves = action_curves(rig, action, create=False) if action is not None else None
    channels = dict.fromkeys((channel.bone, *each) for channel in own for each in channel.curves())
    if curves is None or any(curves.find(path, index=index) for _bone, path, index in channels):
        return
    for bone, path, index in channels:
        value = getattr(rig.pose.bones[bone], path.rpartition(".")[2])[index]
        new_curve(curves, path, index, bone).keyframe_points.insert(bpy.context.scene.frame_current_final, value)


def _relative_to_zero(kind: DofKind, values: Array, zero: Array) -> Array:
    """Return the values (size,) of a joint with one degree of freedom relative to a new ``zero``."""
    return shift_value_zero(Joint("", "", "", None, None, dofs=[Dof(kind)]), values, zero)


def _restore_pose(rig: bpy.types.Object, present: RigState, renewed: Collection[str]) -> None:
    """Restore the channels of remaining bones.

    Note:
        In edit mode Blender evaluates their curves at another frame.
    """
    for number, name in enumerate(present.names):
        pose: bpy.types.PoseBone | None = rig.pose.bones.get(name)
        for prop, values in present.numbers.items() if pose is not None and name not in renewed else ():
            if prop != "scale" and not np.array_equal(getattr(pose, prop), values[number]):
                setattr(pose, prop, values[number])


def _map_curves(
    rig: bpy.types.Object,
    present: RigState,
    edits: Mapping[str, JointEdit],
    after: Mapping[str, list[Channel]],
) -> tuple[dict[CurveId, MovedChannel], set[CurveId]]:
    """Return the new identifier and factor of each curve that continues, and the curves that do not."""
    chains, moved, before = joint_bones(rig), dict[CurveId, MovedChannel](), set[CurveId]()
    for joint, old in present.channels.items():
        if joint in after or joint in edits:
            before |= curve_ids(old)
            moved.update(_map_joint_curves(old, after.get(joint, []), edits.get(joint, _UNCHANGED)))
    for joint, edit in edits.items():
        if edit.held is not None:
            before.update(each for bone in chains.get(joint, ()) for each in _bone_curve_ids(bone))
    return moved, before - moved.keys()


def _map_joint_curves(
    old: list[Channel], new: list[Channel], edit: JointEdit
) -> Iterator[tuple[CurveId, MovedChannel]]:
    numbers = edit.numbers
    if numbers is None:
        numbers = {channel.dof_index: (channel.dof_index, 1.0) for channel in old} if len(old) == len(new) else {}
    for channel in old:
        number, factor = numbers.get(channel.dof_index, (-1, 1.0))
        if not 0 <= number < len(new) or new[number].is_single != channel.is_single:
            continue
        if channel.is_single:
            yield channel.curves()[0], (new[number].curves()[0], factor)
        elif channel.index == 0:
            yield from ((was, (now, 1.0)) for was, now in zip(channel.curves(), new[number].curves(), strict=False))


def _bone_curve_ids(bone: str) -> Iterator[CurveId]:
    """Yield the identifiers of all channels of a bone."""
    for name, count in _PROPERTIES.items():
        for index in range(count):
            yield bone_path(bone, name), index


def _are_same_channels(rig: bpy.types.Object, present: RigState, old: list[Channel], new: list[Channel]) -> bool:
    """Return whether channels are the same as before and have the same meaning."""
    if [c.curves() for c in old] != [c.curves() for c in new] or [c.is_reversed for c in old] != [
        c.is_reversed for c in new
    ]:
        return False
    return all(present.has_same_axes(rig, channel) for channel in new)


def _reset_channels(rig: bpy.types.Object, channels: Collection[CurveId]) -> None:
    """Set channels to their values at rest."""
    for path, index in channels:
        prop = path.rpartition(".")[2]
        pose: bpy.types.PoseBone | None = rig.pose.bones.get(bone_of_path(path))
        usual = 1.0 if (prop, index) == ("rotation_quaternion", 0) else 0.0
        if pose is not None and getattr(pose, prop)[index] != usual:
            getattr(pose, prop)[index] = usual


def _move_curves(rig: bpy.types.Object, present: RigState, moved: Mapping[CurveId, MovedChannel]) -> None:
    """Move curves and drivers of a mechanism to the new channels of their joint values."""
    for curves in _curve_owners(rig, present):
        found = [curve for curve in curves if curve_id(curve) in moved and not is_screw_driver_curve(curve)]
        for curve, (new, factor) in [(curve, moved[curve_id(curve)]) for curve in found]:
            if curve_id(curve) != new:
                curve.data_path, curve.array_index = new
            if factor < 0.0:
                _negate_curve(curve)


def _rotate_block_curves(
    rig: bpy.types.Object, present: RigState, edits: Mapping[str, JointEdit], after: Mapping[str, list[Channel]]
) -> None:
    """Transform the keys of ball joints and free blocks whose bones have other axes or another direction.

    The rotation between the axes applies to locations, and to the imaginary parts of quaternions. These are negated
    where the bone has the inverse of its previous motion; ``KeyConversion`` writes the locations of such a bone.
    """
    for joint, own in after.items():
        numbers = edits.get(joint, _UNCHANGED).numbers or {}
        for channel, old in zip(own, present.channels.get(joint, []), strict=False):
            if channel.is_single or channel.index or old.is_single:
                continue
            has_inverse_values = numbers.get(old.dof_index, (0, 1.0))[1] < 0.0
            factor = -1.0 if (old.is_reversed != channel.is_reversed) != has_inverse_values else 1.0
            if factor > 0.0 and present.has_same_axes(rig, channel):
                continue
            turn = block_rotation(rig, channel.bone).T @ present.turns[old.bone]
            _mix_curves(rig, present, channel.bone, "rotation_quaternion", {1: 0.0, 2: 0.0, 3: 0.0}, factor * turn)
            if channel.kind == "free":
                _mix_curves(rig, present, channel.bone, "location", {0: 0.0, 1: 0.0, 2: 0.0}, turn)


def _shift_curves(rig: bpy.types.Object, present: RigState, own: Sequence[Channel], zero: Array) -> None:
    """Transform the curves and drivers of a joint with a new zero position (size,) so that its motion is unchanged."""
    if not own:
        return
    first = own[0]
    if first.is_single:
        for curves in _curve_owners(rig, present):
            curve = curves.find(first.path, index=first.index)
            if curve is not None:
                _offset_curve(curve, -float(zero[0]))
        return
    # the bone's rotation becomes old * zero⁻¹, or zero * old if the joint points against the tree
    _places, turns = block_bone_channels(zero[None, :3], block_rotation(rig, first.bone), first.is_reversed)
    w, x, y, z = turns[0] * (1.0, -1.0, -1.0, -1.0)
    side = -1.0 if first.is_reversed else 1.0
    product = np.array(
        [[w, -x, -y, -z], [x, w, side * z, -side * y], [y, -side * z, w, side * x], [z, side * y, -side * x, w]]
    )
    _mix_curves(rig, present, first.bone, "rotation_quaternion", {0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0}, product)


def _curve_owners(rig: bpy.types.Object, present: RigState) -> list[Any]:
    """Return the curves of each motion and stored pose, and the drivers."""
    owners = [curves for action in present.actions if (curves := action_curves(rig, action, create=False)) is not None]
    return owners if rig.animation_data is None else [*owners, rig.animation_data.drivers]


def _mix_curves(
    rig: bpy.types.Object, present: RigState, bone: str, prop: str, usual: Mapping[int, float], mix: Array
) -> None:
    """Transform the keys of several components of a bone's property by a matrix.

    Args:
        rig: The armature.
        present: State with the Actions.
        bone: Name of the bone.
        prop: The property.
        usual: Value of a component without keys, by index.
        mix: Matrix (n, n).
    """
    path = bone_path(bone, prop)
    for action in present.actions:
        curves = action_curves(rig, action, create=False)
        found = [curves.find(path, index=index) for index in usual] if curves is not None else []
        if not any(found):
            continue
        frames = sorted({point.co[0] for curve in found if curve is not None for point in curve.keyframe_points})
        every = [curve or new_curve(curves, path, index, bone) for curve, index in zip(found, usual, strict=True)]
        for curve, index in zip(every, usual, strict=True):
            values = {frame: curve.evaluate(frame) if len(curve.keyframe_points) else usual[index] for frame in frames}
            for frame in frames:
                if not any(abs(point.co[0] - frame) < MIN_KEY_SPACING for point in curve.keyframe_points):
                    curve.keyframe_points.insert(frame, values[frame])
        for name in ("co", "handle_left", "handle_right"):
            numbers = np.empty((len(every), 2 * len(frames)), dtype=np.float32)
            for row, curve in zip(numbers, every, strict=True):
                curve.keyframe_points.foreach_get(name, row)
            numbers[:, 1::2] = mix @ numbers[:, 1::2]
            for row, curve in zip(numbers, every, strict=True):
                curve.keyframe_points.foreach_set(name, row)
        for curve in every:
            curve.update()


def _negate_curve(curve: bpy.types.FCurve) -> None:
    """Negate a curve, or the mapping of a driver."""
    _map_values(curve, -1.0, 0.0)
    for modifier in curve.modifiers:
        _negate_modifier(modifier)
    curve.update()


def _offset_curve(curve: bpy.types.FCurve, by: float) -> None:
    """Add an offset to a curve, or to the mapping of a driver."""
    _map_values(curve, 1.0, by)
    for modifier in curve.modifiers:
        _offset_modifier(modifier, by)
    curve.update()


def _map_values(curve: bpy.types.FCurve, factor: float, offset: float) -> None:
    """Map each value of a curve, or of a driver's mapping, to ``factor * value + offset``, but not its modifiers."""
    points = curve.keyframe_points
    if curve.driver is not None and not len(points):  # without keys the mapping is the identity
        curve.extrapolation = "LINEAR"
        for at in (0.0, 1.0):
            points.insert(at, at).interpolation = "LINEAR"
    for name in ("co", "handle_left", "handle_right"):
        numbers = np.empty(2 * len(points), dtype=np.float32)
        points.foreach_get(name, numbers)
        numbers[1::2] = factor * numbers[1::2] + offset
        points.foreach_set(name, numbers)


def _offset_modifier(modifier: Any, by: float) -> None:
    """Adapt a modifier of a curve to an offset, so that its effect is unchanged.

    A modifier that replaces the curve is offset itself. Factorized polynomials and multiplied noise cannot be adapted.
    """
    if modifier.type == "GENERATOR" and not modifier.use_additive and modifier.mode == "POLYNOMIAL":
        first, *others = modifier.coefficients
        modifier.coefficients = [first + by, *others]
    elif modifier.type == "FNGENERATOR" and not modifier.use_additive:
        modifier.value_offset += by
    elif modifier.type == "LIMITS":
        modifier.min_y, modifier.max_y = modifier.min_y + by, modifier.max_y + by
    elif modifier.type == "ENVELOPE":
        modifier.reference_value += by


def _negate_modifier(modifier: Any) -> None:
    """Adapt a modifier of a curve that is negated, so that its effect is negated too.

    Cycles, stepped interpolation and multiplied noise need no change.
    """
    if modifier.type == "GENERATOR":
        factored = modifier.mode == "POLYNOMIAL_FACTORISED"
        numbers = list(modifier.coefficients)
        count = 2 if factored else len(numbers)  # of factors (a + b x) the first
        modifier.coefficients = [*(-number for number in numbers[:count]), *numbers[count:]]
    elif modifier.type == "FNGENERATOR":
        modifier.amplitude, modifier.value_offset = -modifier.amplitude, -modifier.value_offset
    elif modifier.type == "NOISE" and modifier.blend_type != "MULTIPLY":
        modifier.strength = -modifier.strength
    elif modifier.type == "LIMITS":
        lowest, highest = modifier.min_y, modifier.max_y
        modifier.use_min_y, modifier.use_max_y = modifier.use_max_y, modifier.use_min_y
        modifier.min_y, modifier.max_y = -highest, -lowest
    elif modifier.type == "ENVELOPE":
        modifier.reference_value = -modifier.reference_value
        modifier.default_min, modifier.default_max = -modifier.default_max, -modifier.default_min
        _negate_control_points(modifier.control_points)


def _negate_control_points(points: Any) -> None:
    """Negate the lower and upper limits of an envelope's control points.

    Note:
        Blender crashes at times where one of them is set by itself (seen in 4.5 and 5.0), without Knuckle too.
    """
    lower, upper = np.empty(len(points), dtype=np.float32), np.empty(len(points), dtype=np.float32)
    points.foreach_get("min", lower)
    points.foreach_get("max", upper)
    points.foreach_set("min", -upper)
    points.foreach_set("max", -lower)


# ---------------------------------------------------------------- keyframes with other values


@dataclass
class ConvertedKeys:
    """Keyframes of a joint in an Action: of one with other values after an edit, or of one that follows a closed loop.

    Attributes:
        action: The Action.
        joint: Id of the joint.
        frames: Frames (n,).
        values: Values (n, size).
        how: Interpolation (n,).
        given: Mask (n,) of the keyframes that were there, of the joint or of the inputs of its loop; the others are
            between them.
        course: A curve of the joint, or of an input, for what holds beyond the keyframes.
        is_constant: The joint did not move.
        is_muted: Its curves were muted.
    """

    action: bpy.types.Action
    joint: str
    frames: Array
    values: Array
    how: NDArray[np.int32]
    given: NDArray[np.bool_]
    course: CurveData
    is_constant: bool = False
    is_muted: bool = False


def write_converted_keys(rig: bpy.types.Object, keys: ConvertedKeys, own: Sequence[Channel]) -> None:
    """Write the keyframes of a joint to its channels."""
    if not own or len(own) != keys.values.shape[1]:
        return
    values = _continuous(own, keys.values)
    if not keys.is_constant and np.ptp(values, axis=0).max() < CONVERSION_TOLERANCE:
        return  # the new type cannot do anything of the motion
    needed = [simplified_key_indices(keys.frames, column, CONVERSION_TOLERANCE) for column in values.T]
    kept = np.union1d(np.flatnonzero(keys.given), np.concatenate(needed))
    tracks: Tracks = {
        channel: (keys.frames[kept], column[kept], keys.how[kept])
        for channel, column in zip(own, values.T, strict=True)
    }
    curves = action_curves(rig, keys.action)
    for track in curve_tracks(rig, tracks):
        curve = curves.find(track.path, index=track.array_index)
        if curve is not None:
            curves.remove(curve)
        curve = new_curve(curves, track.path, track.array_index, track.bone)
        fill_curve(curve, track.frames, track.values, track.how)
        write_curve(curve, replace(keys.course, keys=read_curve(curve).keys))
        curve.mute = keys.is_muted


def _continuous(own: Sequence[Channel], values: Array) -> Array:
    """Return joint values (n, size) without jumps by whole turns."""
    out = values.copy()
    for column, channel in enumerate(own):
        if not channel.is_single and channel.index == 0:
            out[:, column : column + 3] = unwrap_rotation_vectors(values[:, column : column + 3])
        elif channel.is_single and channel.is_angle:
            out[:, column] = np.unwrap(values[:, column])
    return out
