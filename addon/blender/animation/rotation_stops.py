"""Stops that Blender's rotation limit cannot keep: of angles half a turn and more from 0, and of several angles on one
bone.

The limit sees a rotation matrix: whole turns are lost in it, and angles beyond 90° on a bone of several may be read as
others. After each evaluation the channels are compared with what the limits make of them (``rotation_limits``). Where
that differs, the bone's limit is set to the one pose that its stops allow, and Blender evaluates once more: it does so
after ``frame_change_post`` and ``depsgraph_update_post`` where these changed something (4.2 to 5.2), also in renders.
All other bones have plain limits, which cost nothing here.

Measured in 5.0 with 100 hinges, per frame: a driver on a helper bone and *Copy Rotation* in place of the limit 0.37 ms
(0.27 ms without), drivers on the limit itself are a dependency cycle with the bone's own channels, empties 0.5 ms and
more; this comparison 0.02 ms.
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
from ...core.stops import clamp_angles, is_limit_exact, wrap_angles
from ..data.access import record_of
from ..data.change_counter import SceneModels, models_between_changes
from ..data.properties.joint import KnuckleDof
from ..data.queries import rigs_of
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

#: A lone angle of a bone is read off its matrix for certain up to here (rad), and several angles of one.
_EXACT_RANGE, _EXACT_RANGE_MULTI = np.pi - 1e-3, 0.5 * np.pi - 1e-2
_AXES = "XYZ"
#: Angles (rad) that are nearer after they went through a quaternion are the same.
_ANGLE_TOLERANCE = 1e-4


#: Stops, and where a file begins beyond them, where there are none.
_NO_STOP = (-np.inf, np.inf, np.nan)
#: A channel is where its file begins up to this (rad, length units, as a share of it): what 32 bits keep.
_START_TOLERANCE = 1e-6


def clamp_bone_values(told: Array, lower: Array | float, upper: Array | float, begins: Array | float) -> Array:
    """Where bones stand whose channels say ``told``: at the stop that they are beyond, except where their file has them
    begin. Infinite stops are none; ``begins`` is nan where files begin within them."""
    with np.errstate(invalid="ignore"):
        begun = np.abs(told - begins) <= _START_TOLERANCE * (1.0 + np.abs(begins))
    return np.where(begun, told, clamp_angles(told, lower, upper))


def stop_range(stop: ChannelStops | None) -> tuple[float, float, float]:
    """The lower and upper stop of a channel and where its file begins beyond them, as ``clamp_bone_values`` takes
    them."""
    ends = (None, None, None) if stop is None else (stop.lower, stop.upper, stop.begins)
    low, high, begin = (none if end is None else end for none, end in zip(_NO_STOP, ends, strict=True))
    return low, high, begin


@dataclass
class BoneStops:
    """The stops of a rig's bones in one property, ``rotation_euler`` or ``location``.

    Attributes:
        rows: (n,), the bones that have any, in the order of all.
        lower, upper: (n, 3), their stops, infinite where there are none.
        begins: (n, 3), where files begin beyond them, else nan.
        middle: (n,), the middle axis of each bone's order of rotations.
        sure: (n, 1), up to where a plain limit does in any case.
        follows: (n,), the bones that follow loops.
        plain: what the bones' limits are set to where that does.
        held: (n, 3), what they are set to otherwise, else nan.
        others: those of the n that are not turned by Euler angles, each with the order of rotations in which its
            limit is to see it, and the one axis that its joint turns it about, None where these are several.
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
        """Put the stops of a rig's bones in order, and limits plain that are set otherwise."""
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
        """Set the limits of bones for what an evaluated rig's channels say."""
        if not len(self.rows):
            return
        values = bone_values(evaluated, self.prop)[self.rows]
        if self.follows.any():  # what follows loops was posed just now, and is not evaluated yet
            values = np.where(self.follows[:, None], bone_values(rig, self.prop)[self.rows], values)
        for number, (order, axis) in self.others.items():
            values[number] = _euler_angles(evaluated.pose.bones[int(self.rows[number])], order, axis)
        if bool((np.abs(values) <= self.sure).all()) and bool(np.isnan(self.held).all()):
            return
        told = values.astype(np.float64)
        wanted = clamp_bone_values(told, self.lower, self.upper, self.begins)
        exact = self._fit_plain_limits(told, wanted)
        if self.prop == "rotation_euler":
            wanted = wrap_angles(wanted)
        wanted = np.where(exact[:, None], np.nan, wanted).astype(np.float32)
        same = (wanted == self.held) | (np.isnan(wanted) & np.isnan(self.held))
        for number in np.flatnonzero(~same.all(axis=1)).tolist():
            self._put(rig, number, wanted[number])

    @property
    def has_plain_limits(self) -> bool:
        """Return whether all limits are plain, and may be while no bone turns far."""
        return bool(np.isnan(self.held).all() and (self.sure > 0.0).all())

    def all_stops(self, rig: bpy.types.Object) -> Array:
        """The stops of all bones of the rig and where files begin beyond them: (3, bones, 3)."""
        out = np.full((3, len(rig.pose.bones), 3), np.array(_NO_STOP)[:, None, None])
        out[:, self.rows] = self.lower, self.upper, self.begins
        return out

    def _fit_plain_limits(self, told: Array, wanted: Array) -> NDArray[np.bool_]:
        """Which bones (n,) stand there by their plain limits."""
        clamped: NDArray[np.bool_] = (wanted == clamp_angles(told, self.lower, self.upper)).all(axis=1)
        if self.prop == "rotation_euler":
            clamped &= is_limit_exact(told, self.lower, self.upper, self.middle)
        return clamped

    def let_go(self, rig: bpy.types.Object) -> None:
        """Set all limits plain again."""
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
    """Return the Euler angles (rad) of a bone that is turned by a quaternion, or by an axis and an angle.

    Those of the one ``axis`` of a hinge count whole turns: as the bone's Euler angles do, which Blender leaves where
    they were when the mode is changed, while these mean the same, else as the quaternion or the angle does.
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
    """A bone with stops: its place among all bones, its stops in one property, whether its joint poses several numbers
    of that, whether it follows a loop, and the order of rotations in which its joint turns it."""

    row: int
    stops: list[ChannelStops]
    has_several_values: bool
    follows: bool
    order: str


def _stopped_bones(rig: bpy.types.Object) -> dict[str, list[_StoppedBone]]:
    """The bones of a rig with stops, from the records of its joints, by property.

    Limits of slides do by themselves, but for those of files that begin beyond them.
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
                        _StoppedBone(place[bone], alike, posed > 1, joint.follows, _rotation_order(dofs, step))
                    )
    return out


def _rotation_order(dofs: Sequence[KnuckleDof], step: int) -> str:
    """Return the order of rotations of a bone of a joint, as ``Degrees.rotation_mode`` has it: the innermost first."""
    turning = [dof.channel_index for dof in dofs if dof.step == step and dof.channel == "rotation_euler"]
    return "".join(_AXES[column] for column in reversed([*turning, *(c for c in (2, 1, 0) if c not in turning)]))


_EULER_ORDERS = {"XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"}
#: How often a rig's limits were derived, what its bones are called, in their order, and how each is turned.
_State = tuple[int, tuple[str, ...], bytes]
#: Stops of rigs by the ``session_uid`` that they keep until another file is opened, and of which state these are.
_cache: dict[int, tuple[_State, dict[str, BoneStops]]] = {}
#: Rigs of which it is known that their limits are plain, and may be while no bone turns far, by how often the limits
#: had been derived then, and how bones were turned.
_plain_states: dict[int, tuple[int, bytes]] = {}


def mark_limits_plain(rig: bpy.types.Object) -> None:
    """Know of a rig that was made just now that its limits are plain, and may be."""
    _plain_states[rig.session_uid] = limits_version(rig), _rotation_modes(rig)


def _rig_state(rig: bpy.types.Object) -> _State:
    """What the gathered stops of a rig go by. Asked in every frame: 0.012 ms for 100 bones."""
    return limits_version(rig), tuple(rig.pose.bones.keys()), _rotation_modes(rig)


def _rotation_modes(rig: bpy.types.Object) -> bytes:
    """Return the rotation mode of each bone of a rig."""
    bones = rig.pose.bones
    modes = np.empty(len(bones), dtype=np.int32)
    bones.foreach_get("rotation_mode", modes)  # type: ignore[arg-type]
    return modes.tobytes()


def bone_stops(rig: bpy.types.Object) -> dict[str, BoneStops]:
    """The stops of a rig's bones by property, gathered once for each state of it."""
    _plain_states.pop(rig.session_uid, None)
    state, kept = _rig_state(rig), _cache.get(rig.session_uid)
    if kept is None or kept[0] != state:
        found = {prop: BoneStops.of(rig, prop, found) for prop, found in _stopped_bones(rig).items()}
        kept = _cache[rig.session_uid] = state, found
    return kept[1]


def bone_values(rig: bpy.types.Object, prop: str) -> NDArray[np.float32]:
    """The numbers (bones, 3) that a property of a rig's bones has."""
    bones = rig.pose.bones
    values = np.empty(3 * len(bones), dtype=np.float32)
    bones.foreach_get(prop, values)  # type: ignore[arg-type]
    return values.reshape(-1, 3)


# ---------------------------------------------------------------- what Blender calls


def after_evaluation(depsgraph: bpy.types.Depsgraph, models: SceneModels) -> None:
    """Keep bones at their stops after a frame or a change of poses was evaluated. Blender then evaluates once more."""
    for rig in _posed_models(models):
        evaluated = rig.evaluated_get(depsgraph)
        if _plain_states.get(rig.session_uid) == (limits_version(rig), _rotation_modes(rig)) and _is_in_exact_range(
            evaluated
        ):
            continue
        every = bone_stops(rig).values()
        for stops in every:
            stops.keep(rig, evaluated)
        if all(stops.has_plain_limits for stops in every):
            mark_limits_plain(rig)


def _posed_models(models: SceneModels) -> Iterator[bpy.types.Object]:
    """The models of a scene whose bones can be looked at."""
    for rig in () if is_solver_suspended() else models.every:
        if rig.mode != "EDIT" and rig.pose is not None:
            yield rig


def _is_in_exact_range(rig: bpy.types.Object) -> bool:
    """Whether no bone is turned so far that its limit may not tell."""
    bones = rig.pose.bones
    # numpy's largest takes four times as long at a frame, of some ten bones: its code is not at hand then
    values = [0.0] * (3 * len(bones))
    bones.foreach_get("rotation_euler", values)
    return max(values, default=0.0) <= _EXACT_RANGE_MULTI and min(values, default=0.0) >= -_EXACT_RANGE_MULTI


@persistent
def before_save(*_args: Any) -> None:
    """Files have plain limits."""
    reset_limits()


def reset_limits() -> None:
    """Set all limits plain: a bone that is held would be stuck where nobody looks after it."""
    for rig in (rig for armature in bpy.data.armatures for rig in rigs_of(armature)):
        if rig.session_uid in _cache:
            for stops in bone_stops(rig).values():
                stops.let_go(rig)


@persistent
def after_load(*_args: Any) -> None:
    """Put bones of a file that was opened at their stops: Blender tells of no change."""
    invalidate_bone_stops()
    for rig in {rig for scene in bpy.data.scenes for rig in _posed_models(models_between_changes(scene))}:
        for stops in bone_stops(rig).values():
            stops.keep(rig, rig)


@persistent
def invalidate_bone_stops(*_args: Any) -> None:
    """Whatever was gathered is of another file, or of another state of this one."""
    _cache.clear()
    _plain_states.clear()
