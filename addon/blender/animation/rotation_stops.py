"""Stops that Blender's *Limit Rotation* cannot enforce: beyond half a turn from 0, and with several angles on one bone.

The constraint works on a rotation matrix: whole turns are lost in it, and angles beyond 90° on a bone of several may be
read as others. After each evaluation the channels are compared with what the limits make of them (``core.stops``).
Where that differs, the bone's limit is set to the one pose that its stops allow, and Blender evaluates again: it does
so after ``frame_change_post`` and ``depsgraph_update_post`` if these changed something (4.2 to 5.2), also in renders.
All other bones have plain limits, which cost nothing here.

Note:
    Measured in 5.0 with 100 hinges, per frame: a driver on a helper bone and *Copy Rotation* in place of the limit 0.37
    ms (0.27 ms without), drivers on the limit itself are a dependency cycle with the bone's own channels, empties 0.5
    ms and more; this comparison 0.02 ms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent
from mathutils import Quaternion
from numpy.typing import NDArray

from ...core.model import Array
from ...core.stops import clamp_angles, is_limit_exact
from ...core.transforms import wrap_angle
from ..data.access import record_of
from ..data.change_counter import SceneModels, models_between_changes
from ..data.properties.joint import KnuckleDof
from ..data.queries import rigs_of
from ..events.runtime_state import RuntimeState, state_of
from ..rig.bone_limits import (
    ChannelStops,
    Ranges,
    find_limit_constraint,
    limit_ranges,
    limits_version,
    read_ranges,
    stops_by_joint,
    write_ranges,
)
from .loops.live_solver import is_solver_suspended

#: Angles (rad) up to which a single angle of a bone, and several on one bone, are read off its matrix unambiguously.
_EXACT_RANGE, _EXACT_RANGE_MULTI = np.pi - 1e-3, 0.5 * np.pi - 1e-2
_AXES = "XYZ"
#: Tolerance (rad) for angles that were converted to a quaternion and back.
_ANGLE_TOLERANCE = 1e-4


#: Lower stop, upper stop and initial value beyond them of a channel without any.
_NO_STOP = (-np.inf, np.inf, np.nan)
#: Tolerance of initial values (rad, length units; as a share of larger values): float32 resolution.
_START_TOLERANCE = 1e-6


def clamp_bone_values(requested: Array, lower: Array | float, upper: Array | float, begins: Array | float) -> Array:
    """Return channel values clamped to stops, except where they are the initial values of the file.

    Args:
        requested: Channel values (rad or length units).
        lower: Lower stops, -inf for none.
        upper: Upper stops, inf for none.
        begins: Initial values beyond the stops, else nan.
    """
    with np.errstate(invalid="ignore"):
        begun = np.abs(requested - begins) <= _START_TOLERANCE * (1.0 + np.abs(begins))
    return np.where(begun, requested, clamp_angles(requested, lower, upper))


def stop_range(stop: ChannelStops | None) -> tuple[float, float, float]:
    """Return lower stop, upper stop and initial value beyond them of a channel, as ``clamp_bone_values`` takes them."""
    ends = (None, None, None) if stop is None else (stop.lower, stop.upper, stop.begins)
    low, high, begin = (none if end is None else end for none, end in zip(_NO_STOP, ends, strict=True))
    return low, high, begin


@dataclass
class BoneStops:
    """Stops of a rig's bones in one property, ``rotation_euler`` or ``location``.

    Attributes:
        prop: The property.
        rows: Indices (n,) of the bones that have stops, among all bones.
        lower: Lower stops (n, 3), infinite where there are none.
        upper: Upper stops (n, 3), infinite where there are none.
        begins: Initial values of files beyond the stops (n, 3), else nan.
        middle: Middle axis (n,) of each bone's order of rotations.
        sure: Absolute values (n, 1) up to which a plain limit is right in any case.
        follows: Mask (n,) of bones of dependent joints.
        plain: Ranges of the bones' limits where plain limits are right.
        held: Values (n, 3) to which limits are fixed otherwise, else nan.
        others: Bones, by index among the n, that are not rotated by Euler angles: the order of rotations for their
            limit, and the single axis about which their joint rotates them, None for several.
    """

    prop: str
    rows: NDArray[np.intp]
    lower: Array
    upper: Array
    begins: Array
    middle: NDArray[np.intp]
    sure: Array
    follows: NDArray[np.bool_]
    plain: list[Ranges]
    held: NDArray[np.float32]
    others: dict[int, tuple[str, int | None]]

    @classmethod
    def of(cls, rig: bpy.types.Object, prop: str, found: Sequence[_StoppedBone]) -> BoneStops:
        """Collect the stops of a rig's bones, and reset limits that are not plain."""
        poses, found = rig.pose.bones, [each for each in found if each.stops]
        ends = np.full((3, len(found), 3), np.array(_NO_STOP)[:, None, None])
        for number, each in enumerate(found):
            for stop in each.stops:
                ends[:, number, stop.index] = np.array(stop_range(stop), dtype=np.float32)
        lower, upper, begins = ends
        modes = [poses[each.row].rotation_mode for each in found]
        orders = [mode if mode in _EULER_ORDERS else each.order for mode, each in zip(modes, found, strict=True)]
        middle = np.array([_AXES.index(order[1]) for order in orders], dtype=np.intp)
        several = np.array([each.has_several_values for each in found], dtype=bool)
        sure = np.where(several, _EXACT_RANGE_MULTI, _EXACT_RANGE)[:, None]
        sure[~np.isnan(begins).all(axis=1)] = -np.inf
        others = {
            number: (each.order, None if each.has_several_values else each.stops[0].index)
            for number, (each, mode) in enumerate(zip(found, modes, strict=True))
            if prop == "rotation_euler" and mode not in _EULER_ORDERS
        }
        sure[list(others)] = -np.inf
        rows = np.array([each.row for each in found], dtype=np.intp)
        follows = np.array([each.follows for each in found], dtype=bool)
        plain = [limit_ranges(each.stops) for each in found]
        held = np.full((len(found), 3), np.nan, dtype=np.float32)
        out = cls(prop, rows, lower, upper, begins, middle, sure, follows, plain, held, others)
        for number in range(len(rows)):
            out._put(rig, number, held[number])
        return out

    def keep(self, rig: bpy.types.Object, evaluated: bpy.types.Object) -> None:
        """Set the limits of bones for the channel values of an evaluated rig."""
        if not len(self.rows):
            return
        values = bone_values(evaluated, self.prop)[self.rows]
        if self.follows.any():  # dependent joints were posed just now, and are not evaluated yet
            values = np.where(self.follows[:, None], bone_values(rig, self.prop)[self.rows], values)
        for number, (order, axis) in self.others.items():
            values[number] = _euler_angles(evaluated.pose.bones[int(self.rows[number])], order, axis)
        if bool((np.abs(values) <= self.sure).all()) and bool(np.isnan(self.held).all()):
            return
        requested = values.astype(np.float64)
        wanted = clamp_bone_values(requested, self.lower, self.upper, self.begins)
        exact = self._fit_plain_limits(requested, wanted)
        if self.prop == "rotation_euler":
            wanted = wrap_angle(wanted)
        wanted = np.where(exact[:, None], np.nan, wanted).astype(np.float32)
        same = (wanted == self.held) | (np.isnan(wanted) & np.isnan(self.held))
        for number in np.flatnonzero(~same.all(axis=1)).tolist():
            self._put(rig, number, wanted[number])

    @property
    def has_plain_limits(self) -> bool:
        """Return whether all limits are plain, and suffice as long as no bone rotates far."""
        return bool(np.isnan(self.held).all() and (self.sure > 0.0).all())

    def all_stops(self, rig: bpy.types.Object) -> Array:
        """Return lower stops, upper stops and initial values beyond them of all bones of the rig, (3, bones, 3)."""
        out = np.full((3, len(rig.pose.bones), 3), np.array(_NO_STOP)[:, None, None])
        out[:, self.rows] = self.lower, self.upper, self.begins
        return out

    def _fit_plain_limits(self, requested: Array, wanted: Array) -> NDArray[np.bool_]:
        """Return the mask (n,) of bones for which plain limits give the wanted values."""
        clamped: NDArray[np.bool_] = (wanted == clamp_angles(requested, self.lower, self.upper)).all(axis=1)
        if self.prop == "rotation_euler":
            clamped &= is_limit_exact(requested, self.lower, self.upper, self.middle)
        return clamped

    def release(self, rig: bpy.types.Object) -> None:
        """Reset all limits to plain ones."""
        for number in np.flatnonzero(~np.isnan(self.held).any(axis=1)).tolist():
            self._put(rig, number, np.full(3, np.nan, dtype=np.float32))

    def _put(self, rig: bpy.types.Object, number: int, wanted: NDArray[np.float32]) -> None:
        limit: Any = find_limit_constraint(rig.pose.bones[int(self.rows[number])], self.prop)
        self.held[number] = wanted
        is_plain = bool(np.isnan(wanted).any())
        ranges = self.plain[number] if is_plain else tuple((value, value) for value in wanted.tolist())
        if limit is not None and read_ranges(limit) != ranges:
            write_ranges(limit, ranges)
        order = self.others.get(number, ("AUTO", None))[0]
        if limit is not None and limit.type == "LIMIT_ROTATION" and limit.euler_order != order:
            limit.euler_order = order  # AUTO takes XYZ for quaternions


def _euler_angles(pose: bpy.types.PoseBone, order: Any, axis: int | None) -> list[float]:
    """Return the Euler angles (rad) of a bone that is rotated by a quaternion, or by axis and angle.

    The angle about the single ``axis`` of a hinge counts whole turns: those of the bone's Euler angle, which Blender
    leaves unchanged when the rotation mode changes, as long as it means the same rotation, else those of the quaternion
    or angle.
    """
    if pose.rotation_mode == "QUATERNION":
        turn = pose.rotation_quaternion.normalized()
        angle = 0.0 if axis is None else 2.0 * math.atan2(turn[1 + axis], turn.w)
    else:
        around, *about = pose.rotation_axis_angle
        turn = Quaternion(about, around)
        angle = 0.0 if axis is None else around * about[axis]
    out = [*turn.to_euler(order)]
    if axis is not None:
        before = pose.rotation_euler[axis]
        counted = before if abs(math.remainder(before - out[axis], 2.0 * math.pi)) < _ANGLE_TOLERANCE else angle
        out[axis] = counted - math.remainder(counted - out[axis], 2.0 * math.pi)
    return out


@dataclass
class _StoppedBone:
    """Bone with stops.

    Attributes:
        row: Index among all bones.
        stops: Its stops in one property.
        has_several_values: Whether its joint poses several values of that property.
        follows: Whether its joint is dependent.
        order: Order of rotations of its joint on this bone.
    """

    row: int
    stops: list[ChannelStops]
    has_several_values: bool
    follows: bool
    order: str


def _stopped_bones(rig: bpy.types.Object) -> dict[str, list[_StoppedBone]]:
    """Return the bones of a rig with stops by property, from the records of its joints.

    For locations plain limits suffice, except for initial values beyond them.
    """
    place = {pose.name: number for number, pose in enumerate(rig.pose.bones)}
    out: dict[str, list[_StoppedBone]] = {"rotation_euler": [], "location": []}
    for empty, bones in stops_by_joint(rig):
        joint = record_of(empty).joint
        dofs = list(joint.dofs)
        if not any(dof.use_lower or dof.use_upper for dof in dofs):
            continue
        for step, (bone, here) in enumerate(bones.items()):
            for prop, found in out.items():
                alike = [stop for stop in here if stop.prop == prop]
                if bone in place and (prop != "location" or any(stop.begins is not None for stop in alike)):
                    posed = sum(dof.step == step and dof.channel == prop for dof in dofs)
                    found.append(
                        _StoppedBone(place[bone], alike, posed > 1, joint.is_dependent, _rotation_order(dofs, step))
                    )
    return out


def _rotation_order(dofs: Sequence[KnuckleDof], step: int) -> str:
    """Return the rotation order of a joint's bone as Blender names it, the innermost axis first."""
    turning = [dof.channel_index for dof in dofs if dof.step == step and dof.channel == "rotation_euler"]
    return "".join(_AXES[column] for column in reversed([*turning, *(c for c in (2, 1, 0) if c not in turning)]))


_EULER_ORDERS = {"XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"}
#: Version of a rig's limits, names of its bones in order, and their rotation modes.
_State = tuple[int, tuple[str, ...], bytes]


@dataclass
class _RigStops(RuntimeState):
    """Stops of a rig.

    Attributes:
        stops: Stops by property; None before they are collected.
        valid_for: State for which they are valid.
        plain_for: Version of the limits, and rotation modes, if the limits are plain and suffice as long as no bone
            rotates far.
    """

    stops: dict[str, BoneStops] | None = None
    valid_for: _State | None = None
    plain_for: tuple[int, bytes] | None = None


def mark_limits_plain(rig: bpy.types.Object) -> None:
    """Record that the limits of a rig are plain and suffice as long as no bone rotates far."""
    state_of(_RigStops, rig).plain_for = limits_version(rig), _rotation_modes(rig)


def _rig_state(rig: bpy.types.Object) -> _State:
    """Return the state that the stops of a rig depend on.

    Computed in every frame: 0.012 ms for 100 bones.
    """
    return limits_version(rig), tuple(rig.pose.bones.keys()), _rotation_modes(rig)


def _rotation_modes(rig: bpy.types.Object) -> bytes:
    """Return the rotation modes of a rig's bones as bytes."""
    bones = rig.pose.bones
    modes = np.empty(len(bones), dtype=np.int32)
    bones.foreach_get("rotation_mode", modes)  # type: ignore[arg-type]
    return modes.tobytes()


def bone_stops(rig: bpy.types.Object) -> dict[str, BoneStops]:
    """Return the stops of a rig's bones by property, collected once per state of the rig."""
    state, kept = _rig_state(rig), state_of(_RigStops, rig)
    kept.plain_for = None
    if kept.stops is None or kept.valid_for != state:
        kept.stops = {prop: BoneStops.of(rig, prop, found) for prop, found in _stopped_bones(rig).items()}
        kept.valid_for = state
    return kept.stops


def bone_values(rig: bpy.types.Object, prop: str) -> NDArray[np.float32]:
    """Return the values (bones, 3) of a property of a rig's bones."""
    bones = rig.pose.bones
    values = np.empty(3 * len(bones), dtype=np.float32)
    bones.foreach_get(prop, values)  # type: ignore[arg-type]
    return values.reshape(-1, 3)


# ---------------------------------------------------------------- handlers


def after_evaluation(depsgraph: bpy.types.Depsgraph, models: SceneModels) -> None:
    """Keep bones at their stops after a frame or a change of poses was evaluated. Blender then evaluates again."""
    for rig in _posed_models(models):
        evaluated = rig.evaluated_get(depsgraph)
        plain_for = state_of(_RigStops, rig).plain_for
        if plain_for == (limits_version(rig), _rotation_modes(rig)) and _is_in_exact_range(evaluated):
            continue
        every = bone_stops(rig).values()
        for stops in every:
            stops.keep(rig, evaluated)
        if all(stops.has_plain_limits for stops in every):
            mark_limits_plain(rig)


def _posed_models(models: SceneModels) -> Iterator[bpy.types.Object]:
    """Yield the mechanisms of a scene that are posed: not in edit mode, and not while an armature is rebuilt."""
    for rig in () if is_solver_suspended() else models.every:
        if rig.mode != "EDIT" and rig.pose is not None:
            yield rig


def _is_in_exact_range(rig: bpy.types.Object) -> bool:
    """Return whether no bone is rotated so far that plain limits could be ambiguous."""
    values = bone_values(rig, "rotation_euler")
    return bool(np.abs(values).max(initial=0.0) <= _EXACT_RANGE_MULTI)


@persistent
def before_save(*_args: Any) -> None:
    """Reset limits before saving: files have plain limits."""
    reset_limits()


def reset_limits() -> None:
    """Reset all limits to plain ones: a fixed bone would be stuck where no handler updates it."""
    for rig in (rig for armature in bpy.data.armatures for rig in rigs_of(armature)):
        if state_of(_RigStops, rig).stops is not None:
            for stops in bone_stops(rig).values():
                stops.release(rig)


@persistent
def after_load(*_args: Any) -> None:
    """Keep bones of an opened .blend at their stops: Blender reports no change."""
    for rig in {rig for scene in bpy.data.scenes for rig in _posed_models(models_between_changes(scene))}:
        for stops in bone_stops(rig).values():
            stops.keep(rig, rig)
