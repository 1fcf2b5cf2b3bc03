"""Stops of joints on their bones: limit constraints for posing and IK limits, derived from the joints' records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import bpy
import numpy as np

from ...core.model import Dof
from ...core.stops import StopPair
from ..data.access import has_base_name, record_of
from ..data.conversion import PosedDofs, dofs_of_bones, read_stops
from ..data.datablocks import set_bone_property
from ..data.properties.joint import KnuckleDof
from ..data.queries import chain_bones, joint_bones, parts
from ..events.runtime_state import Lifetime, RuntimeState, state_of
from .dials import update_dial

_NAME = "Stops"
_TYPES: dict[str, Any] = {"rotation_euler": "LIMIT_ROTATION", "location": "LIMIT_LOCATION"}
_AXES = "xyz"


#: Half a turn: the largest IK limit in Blender.
_HALF_TURN = float(np.float32(math.pi))
#: Rotation limit without effect: angles decomposed from a matrix are within half a turn.
_NO_LIMIT = 2.0 * math.pi
#: Largest angle (rad) that a rotation limit accepts.
_MAX_LIMIT_ANGLE = 1000.0


@dataclass(frozen=True)
class ChannelStops:
    """Stops of one channel of a bone (rad or length units); one of them may be None.

    ``begins``: initial value of the joint if that is outside its stops, else None.
    """

    prop: str
    index: int
    lower: float | None
    upper: float | None
    begins: float | None = None

    @property
    def ik_limits(self) -> StopPair:
        """IK limits (rad) nearest to an angle's stops; (None, None) if they allow any angle, and for translations.

        Note:
            Blender's IK limits are within half a turn, and 0 is always between them.
        """
        if self.prop != "rotation_euler":
            return None, None
        low = -_HALF_TURN if self.lower is None else min(max(self.lower, -_HALF_TURN), 0.0)
        high = _HALF_TURN if self.upper is None else max(min(self.upper, _HALF_TURN), 0.0)
        return (None, None) if high - low > 2.0 * _HALF_TURN - 1e-5 else (low, high)

    @property
    def is_exact_for_ik(self) -> bool:
        """True if inverse kinematics respects an angle's stops exactly. Those of translations it never does."""
        low, high = (0.0 if end is None else end for end in (self.lower, self.upper))
        return self.prop != "rotation_euler" or -_HALF_TURN <= low <= 0.0 <= high <= _HALF_TURN


def channel_stops(dof: Dof | KnuckleDof, prop: str, index: int) -> ChannelStops | None:
    """Return the stops of a degree of freedom that its bone can show; None where there are none.

    Some files give a joint an initial value outside its stops. Its bone is posed there all the same (see
    ``animation.rotation_stops``); a simulation drives the joint into its stops.
    """
    lower, upper = read_stops(dof)
    if prop not in _TYPES or (lower is None and upper is None):
        return None
    begin = dof.position
    inside = (lower is None or begin >= lower) and (upper is None or begin <= upper)
    return ChannelStops(prop, index, lower, upper, None if inside else begin)


def stops_of_dofs(dofs: PosedDofs) -> list[ChannelStops]:
    """Return the stops of the channels of a bone."""
    return [stop for each in dofs if (stop := channel_stops(*each)) is not None]


def update_joint_bone_limits(empty: bpy.types.Object, bones: Sequence[str] | None = None) -> None:
    """Update the limits and dials of a joint's bones.

    Args:
        empty: The joint's empty.
        bones: Names of its bones, where known.
    """
    rig = record_of(empty).model
    found = stops_by_bone(empty, bones)
    set_bone_limits(rig, found)
    update_dial(empty, list(found))


def stops_by_bone(empty: bpy.types.Object, bones: Sequence[str] | None = None) -> dict[str, list[ChannelStops]]:
    """Return the stops of the channels of a joint's bones, by bone name.

    Args:
        empty: The joint's empty.
        bones: Names of its bones, where known.
    """
    dofs = dofs_of_bones(empty, chain_bones(empty) if bones is None else bones)
    return {bone: stops_of_dofs(own) for bone, own in dofs.items()}


def stops_by_joint(rig: bpy.types.Object) -> Iterator[tuple[bpy.types.Object, dict[str, list[ChannelStops]]]]:
    """Yield the joints' empties of a mechanism, each with the stops of its bones by name.

    Of several empties with one joint id (copies) the first has the bones.
    """
    chains = joint_bones(rig)
    for empty in parts(rig, "JOINT"):
        yield empty, stops_by_bone(empty, chains.pop(record_of(empty).source_id, ()))


def update_all_bone_limits(rig: bpy.types.Object) -> None:
    """Update the limits of the bones of all joints."""
    set_bone_limits(rig, {bone: here for _, found in stops_by_joint(rig) for bone, here in found.items()})


def is_stop_constraint(constraint: bpy.types.Constraint) -> bool:
    """Return whether a bone's constraint is one of our limit constraints."""
    return has_base_name(constraint, _NAME) and constraint.type in _TYPES.values()


def set_bone_limits(rig: bpy.types.Object, stops: Mapping[str, Sequence[ChannelStops]]) -> None:
    """Set the limit constraints and IK limits of bones to the stops of their channels, by bone name.

    An existing constraint is reused: its mute state and its position in the stack stay.

    Note:
        A new constraint equal to a previous one is copied from it, since Blender searches all bones at every property
        of a bone constraint that is set.
    """
    made = dict[tuple[ChannelStops, ...], bpy.types.Constraint]()
    for name, here in stops.items():
        constraints = rig.pose.bones[name].constraints
        for prop, kind in _TYPES.items():
            alike = tuple(stop for stop in here if stop.prop == prop)
            found = [c for c in constraints if is_stop_constraint(c) and c.type == kind]
            for limit in found[1 if alike else 0 :]:
                constraints.remove(limit)
            if alike and not found and alike in made:
                constraints.copy(made[alike])
            elif alike:
                limit = found[0] if found else made.setdefault(alike, constraints.new(kind))
                _write_limit_constraint(limit, alike)
    for index, axis in enumerate(_AXES):
        limits = {
            name: stop.ik_limits
            for name, here in stops.items()
            for stop in here
            if stop.index == index and stop.ik_limits != (None, None)
        }
        set_bone_property(rig, f"use_ik_limit_{axis}", {name: name in limits for name in stops})
        set_bone_property(rig, f"ik_min_{axis}", {name: low for name, (low, _) in limits.items()})
        set_bone_property(rig, f"ik_max_{axis}", {name: high for name, (_, high) in limits.items()})
    state_of(_LimitUpdates, rig).number += 1


@dataclass
class _LimitUpdates(RuntimeState):
    """Number of updates of the limits of a mechanism, for caches."""

    lifetime: ClassVar = Lifetime.FILE
    number: int = 0


def limits_version(rig: bpy.types.Object) -> int:
    """Return a number that differs after the limits of a mechanism were updated."""
    return state_of(_LimitUpdates, rig).number


def _write_limit_constraint(limit: Any, here: Sequence[ChannelStops]) -> None:
    limit.name = _NAME
    limit.owner_space = "LOCAL"
    if limit.type == "LIMIT_ROTATION":
        limit.use_legacy_behavior = True  # else Blender clamps to the nearer stop around the circle
    write_ranges(limit, limit_ranges(here))


#: Lowest and highest value that a limit constraint allows each of its three channels, None where unlimited. Rotation
#: limits have both or neither.
Ranges = tuple[tuple[float | None, float | None], ...]
_UNLIMITED = (None, None)


def limit_ranges(here: Sequence[ChannelStops]) -> Ranges:
    """Return the ranges of a limit constraint for stops of one property; angles within what the constraint accepts."""
    out: list[tuple[float | None, float | None]] = [_UNLIMITED] * 3
    for stop in here:
        ends = stop.lower, stop.upper
        if stop.prop == "rotation_euler":
            ends = (
                -_NO_LIMIT if stop.lower is None else _reduce_angle(stop.lower),
                _NO_LIMIT if stop.upper is None else _reduce_angle(stop.upper),
            )
        low, high = (None if end is None else float(np.float32(end)) for end in ends)
        out[stop.index] = low, high
    return tuple(out)


def _reduce_angle(angle: float) -> float:
    """Return an angle (rad) as a rotation limit accepts it: beyond 1000 rad it is moved towards 0 by whole turns."""
    turns = math.ceil(max(abs(angle) - _MAX_LIMIT_ANGLE, 0.0) / (2.0 * math.pi))
    return angle - math.copysign(2.0 * math.pi * turns, angle)


def _use_limit_properties(limit: bpy.types.Constraint, axis: str) -> tuple[str, str]:
    """Return the names of the properties that enable the lower and the upper end of a limit constraint."""
    if limit.type == "LIMIT_ROTATION":
        return f"use_limit_{axis}", f"use_limit_{axis}"
    return f"use_min_{axis}", f"use_max_{axis}"


def read_ranges(limit: bpy.types.Constraint) -> Ranges:
    """Return the present ranges of a limit constraint."""
    out = []
    for axis in _AXES:
        (low, high) = (
            getattr(limit, f"{end}_{axis}") if getattr(limit, switch) else None
            for end, switch in zip(("min", "max"), _use_limit_properties(limit, axis), strict=True)
        )
        out.append((low, high))
    return tuple(out)


def write_ranges(limit: bpy.types.Constraint, ranges: Ranges) -> None:
    """Set the ranges of a limit constraint where they differ, since Blender searches all bones at each property set."""
    for axis, span, old in zip(_AXES, ranges, read_ranges(limit), strict=True):
        for end, switch, value, before in zip(
            ("min", "max"), _use_limit_properties(limit, axis), span, old, strict=True
        ):
            if value == before:
                continue
            if getattr(limit, switch) != (value is not None):
                setattr(limit, switch, value is not None)
            setattr(limit, f"{end}_{axis}", value or 0.0)


def find_limit_constraint(pose: bpy.types.PoseBone, prop: str) -> bpy.types.Constraint | None:
    """Return our limit constraint for a property of a bone; None where it has none."""
    return next((c for c in pose.constraints if c.type == _TYPES[prop] and is_stop_constraint(c)), None)
