"""Settings of joints: copying values, setting stops from pose or motion, and sweeping joint ranges."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import bpy
import numpy as np

from ...core.editing import joints as edits
from ...core.editing import symmetry
from ...core.editing.joints import COPIED_FIELDS, StopEnd, ValueKey
from ...core.model import Array
from ...core.report import Message, Report
from ...core.stops import StopPair, stop_holders, wanted_value
from ..animation.actions import bone_properties, set_bone_properties
from ..animation.fcurves import editable_action
from ..animation.motion_checks import check_action
from ..animation.pose_reader import PoseReader
from ..data.access import record_of
from ..data.channels import Channel, servo_channels, servo_names_by_joint
from ..data.conversion import assembled_values, dof_records, dofs_with_parts, is_angle, read_stops, set_dof_fields
from ..data.properties.joint import KnuckleDof
from ..data.queries import parts, parts_by_id, twin_of
from ..reconcile.update import update_part_records, update_records
from ..rig.joint_frames import read_joint_dofs
from ..rig.pose_channels import read_pose, write_pose
from .symmetry.twins import read_records, require_plane

#: Fields of the record of a degree of freedom that the table of joints edits.
_ALL_FIELDS = ["use_lower", "use_upper", *(name for fields in COPIED_FIELDS.values() for name in fields)]
#: Values of ``_ALL_FIELDS`` of each degree of freedom, by the names of the joints' objects.
JointValues = dict[str, list[dict[str, float]]]


def joint_values(rig: bpy.types.Object) -> JointValues:
    """Return the values of stops, servos and springs of all joints of a mechanism."""
    return {
        empty.name: [{name: getattr(dof, name) for name in _ALL_FIELDS} for dof in dof_records(empty)]
        for empty in parts(rig, "JOINT")
    }


def set_joint_values(rig: bpy.types.Object, values: JointValues) -> None:
    """Restore the values from ``joint_values``."""
    set_dof_fields(
        (empty, dof, own)
        for empty in parts(rig, "JOINT")
        for dof, own in zip(dof_records(empty), values.get(empty.name, ()), strict=False)
    )


def copy_values(
    source: bpy.types.Object, targets: Iterable[bpy.types.Object], what: Collection[str]
) -> tuple[int, int]:
    """Copy groups of ``COPIED_FIELDS`` from a joint to others, between degrees of freedom of the same kind.

    Returns:
        Number of changed joints, and number of those without a matching degree of freedom.
    """
    mechanism, objects = read_joint_dofs([source, *targets])
    own, *others = objects
    edit, unlike = edits.copy_dof_values(mechanism, own, others, what)
    return update_part_records({}, objects, edit), unlike


def copy_to_twins(empties: Iterable[bpy.types.Object]) -> int:
    """Copy stops, springs, motors and initial values of joints to their twins, mirrored; nothing moves.

    Returns:
        Number of twins.

    Raises:
        ValueError: None of the joints has a twin.
    """
    chosen = [record_of(empty).source_id for empty in empties if twin_of(empty) is not None]
    rig = next((record_of(empty).model for empty in empties if twin_of(empty) is not None), None)
    if rig is None:
        raise ValueError("No selected joint has a twin: use Find Twins or Create Twin")
    begun = assembled_values(parts_by_id(rig, "JOINT"))
    edit = symmetry.copy_values_to_twins(read_records(rig), chosen, require_plane(rig), begun)
    update_records(rig, edit)
    return len(chosen)


#: Default stops to either side of 0: angle (rad), and share of the bone's length for translations.
_DEFAULT_ANGLE_STOP, _DEFAULT_LENGTH_STOP = math.radians(45.0), 0.5
#: Range (rad or length units) up to which a motion does not move a joint: stops there would lock it.
_STILL_TOLERANCE = 1e-4


@dataclass(frozen=True)
class JointDof:
    """One value of a joint.

    Attributes:
        name: Its name in motions.
        empty: The joint's empty.
        number: Index among the joint's values.
        kept: Record of its stops; None for a ball joint's value without.
        channel: Channel that poses it; None if the joint has no bone.
    """

    name: str
    empty: bpy.types.Object
    number: int
    kept: KnuckleDof | None
    channel: Channel | None

    @property
    def key(self) -> ValueKey:
        """Return its key in a mechanism of ``read_joint_dofs``."""
        return self.empty.name, self.number

    @property
    def is_posed(self) -> bool:
        """Return whether its bone is posed by hand or keyframes, and follows no closed loop."""
        return self.channel is not None and not record_of(self.empty).joint.is_dependent

    @property
    def stops(self) -> StopPair:
        """Return lower and upper stop, None where there is none."""
        return (None, None) if self.kept is None else read_stops(self.kept)


def joint_dofs(rig: bpy.types.Object, empties: Iterable[bpy.types.Object] | None = None) -> list[JointDof]:
    """Return the values of joints of a mechanism (None: of all), in the order of the joints."""
    channels, names = servo_channels(rig), servo_names_by_joint(rig)
    out = []
    for empty in parts(rig, "JOINT") if empties is None else empties:
        key = record_of(empty).source_id
        own, holders = channels.get(key, []), stop_holders(dofs_with_parts(record_of(empty).joint))
        for number, (name, kept) in enumerate(zip(names[key], holders, strict=False)):
            out.append(JointDof(name, empty, number, kept, own[number] if own else None))
    return out


def stops_from_pose(rig: bpy.types.Object, empties: Iterable[bpy.types.Object], end: StopEnd) -> tuple[int, Report]:
    """Set the lower or the upper stops of joints to their present values.

    A value that only its stop limits counts with the channel's value, so that a pose can also widen a range.

    Returns:
        Number of stops that were set, and a report of the others.
    """
    chosen = [each for each in joint_dofs(rig, empties) if each.channel is not None]
    values = zip(chosen, _posed_values(rig, chosen), strict=True)
    return _set_stops({each: (value, None) if end == "lower" else (None, value) for each, value in values})


def stops_from_motion(
    rig: bpy.types.Object, empties: Iterable[bpy.types.Object], scene: bpy.types.Scene
) -> tuple[int, Report]:
    """Set both stops of joints to the range of the motion that plays.

    Returns:
        Number of joint values whose stops were set, and a report of the others.

    Raises:
        ValueError: No motion plays.
    """
    rows = {row.found.name: row.found for row in check_action(rig, editable_action(rig), scene)}
    report, wanted = Report(), dict[JointDof, StopPair]()
    for each in joint_dofs(rig, empties):
        found = rows.get(each.name)
        if found is None:
            report.warn("no-keys", Message("{}: not set, it has no keyframes", each.name), where=each.name)
        elif found.high - found.low <= _STILL_TOLERANCE:
            report.warn("still", Message("{}: not set, the motion does not move it", each.name), where=each.name)
        else:
            wanted[each] = found.low, found.high
    count, others = _set_stops(wanted)
    report.extend(others)
    return count, report


def _set_stops(wanted: Mapping[JointDof, StopPair]) -> tuple[int, Report]:
    """Set stops (None: unchanged); return the number of values whose stops were set, and a report of the others."""
    mechanism, objects = read_joint_dofs(each.empty for each in wanted)
    limits = {each.key: pair for each, pair in wanted.items()}
    edit, report = edits.set_stops(mechanism, limits, {each.key: each.name for each in wanted})
    update_part_records({}, objects, edit)
    return len(wanted) - len(report.entries), report


def switch_stops(
    rig: bpy.types.Object, empties: Iterable[bpy.types.Object], on: bool, ends: Collection[StopEnd]
) -> int:
    """Switch stops of joints on or off. Stops that were never set get a default range about 0.

    Returns:
        Number of joint values that changed.
    """
    chosen = [
        (each, each.kept)
        for each in joint_dofs(rig, empties)
        if each.kept is not None and any(getattr(each.kept, f"use_{end}") != on for end in ends)
    ]
    mechanism, objects = read_joint_dofs(each.empty for each, _ in chosen)
    previous = {each.key: (kept.lower, kept.upper) for each, kept in chosen}
    reaches = {each.key: _default_reach(rig, each) for each, _ in chosen}
    update_part_records({}, objects, edits.switch_joint_stops(mechanism, previous, reaches, ends, on))
    return len(chosen)


def _default_reach(rig: bpy.types.Object, each: JointDof) -> float:
    if is_angular(each):
        return _DEFAULT_ANGLE_STOP
    return _DEFAULT_LENGTH_STOP * (rig.pose.bones[each.channel.bone].length if each.channel is not None else 1.0)


def is_angular(each: JointDof) -> bool:
    """Return whether a joint value is in radians, not in length units."""
    if each.channel is not None:
        return each.channel.is_angle
    return each.kept is not None and is_angle(each.kept)


def _posed_values(rig: bpy.types.Object, chosen: list[JointDof]) -> list[float]:
    """Return joint values as evaluated, or those of their channels where nothing but a stop limits them."""
    channels = [each.channel for each in chosen if each.channel is not None]
    seen = PoseReader(rig, channels).read()
    values = _channel_values(rig, channels)
    return [
        wanted_value(value, float(values[each.empty.name][each.number]), each.stops)
        for each, value in zip(chosen, seen.tolist(), strict=True)
    ]


def _channel_values(rig: bpy.types.Object, channels: list[Channel]) -> Mapping[str, Array]:
    """Return the channel values of joints, by the names of their objects."""
    every, chosen = servo_channels(rig), {channel.joint for channel in channels}
    return {
        empty.name: read_pose(rig, every[key])
        for empty in parts(rig, "JOINT")
        if (key := record_of(empty).source_id) in chosen
    }


#: Sweep range of joint values without a stop: angle (rad), and share of the bone's length for translations.
_FREE_ANGLE_RANGE, _FREE_LENGTH_RANGE = math.pi, 0.5


#: Lowest and highest value.
ValueRange = tuple[float, float]


class JointSweep:
    """Animation of joints one by one through their ranges: to the upper stop, to the lower and back.

    ``end`` has to be called; it restores the pose. Raises ValueError if no joint can be posed.
    """

    def __init__(self, rig: bpy.types.Object, empties: Iterable[bpy.types.Object], seconds: float = 3.0) -> None:
        self.rig, self.seconds = rig, seconds
        self._parts = [each for each in joint_dofs(rig, empties) if each.is_posed]
        if not self._parts:
            raise ValueError("Joints: none can be moved, dependent joints follow the input joints of their closed loop")
        self._before = bone_properties(rig)
        every = servo_channels(rig)
        self._channels: dict[str, list[Channel]] = {
            each.channel.joint: every[each.channel.joint] for each in self._parts if each.channel is not None
        }
        self._stood = {joint: read_pose(rig, own) for joint, own in self._channels.items()}
        # all data of records is read here: these may be deleted meanwhile, and Blender would read freed memory
        self._ranges = [self._range_of(each) for each in self._parts]

    @property
    def duration(self) -> float:
        """Return the total duration (s)."""
        return self.seconds * len(self._parts)

    def at(self, time: float) -> tuple[JointDof, float, ValueRange] | None:
        """Pose the joints for a time (s) of the sweep.

        Returns:
            The joint value that moves, its present value and its range; None after the end.

        Raises:
            ReferenceError: The armature was deleted.
            KeyError: A bone was deleted.
        """
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

    def _range_of(self, each: JointDof) -> ValueRange:
        """Return the range through which a joint value is swept: its stops, or a default distance from its value."""
        assert each.channel is not None
        here = float(self._stood[each.channel.joint][each.number])
        free = (
            _FREE_ANGLE_RANGE
            if is_angular(each)
            else _FREE_LENGTH_RANGE * self.rig.pose.bones[each.channel.bone].length
        )
        lower, upper = each.stops
        return (here - free if lower is None else lower), (here + free if upper is None else upper)

    def _value(self, each: JointDof, span: ValueRange, share: float) -> float:
        """Return a joint value after a share of its time: at constant speed with a smooth start and end."""
        assert each.channel is not None
        here = float(self._stood[each.channel.joint][each.number])
        lower, upper = span
        stations: Array = np.array([here, upper, lower, here])
        gone = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(stations)))])
        smooth_share = 0.5 - 0.5 * math.cos(math.pi * min(max(share, 0.0), 1.0))
        return float(np.interp(smooth_share * gone[-1], gone, stations))

    def end(self) -> None:
        """Restore the pose of every bone exactly."""
        set_bone_properties(self.rig, self._before)
        if bpy.context.view_layer.objects.get(self.rig.name) == self.rig:
            bpy.context.view_layer.update()  # dependent joints are solved again, nearly to the same values
            set_bone_properties(self.rig, self._before)
