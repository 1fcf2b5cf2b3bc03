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
from ...core.stops import clamp, folded, is_limited_exactly
from ..data.access import record_of
from ..data.change_counter import SceneModels, models_at_frames
from ..data.properties.joint import KnuckleDof
from ..data.queries import rigs_of
from ..rig.bone_limits import Ranges, Stop, changes, limit_of, plain_ranges, put_ranges, ranges_of, stops_of_joints
from .loops.live_solver import is_resting

#: A lone angle of a bone is read off its matrix for certain up to here (rad), and several angles of one.
_SURE, _SURE_OF_SEVERAL = np.pi - 1e-3, 0.5 * np.pi - 1e-2
_AXES = "XYZ"
#: Angles (rad) that are nearer after they went through a quaternion are the same.
_SAME_ANGLE = 1e-4


#: Stops, and where a file begins beyond them, where there are none.
_NONE = (-np.inf, np.inf, np.nan)
#: A channel is where its file begins up to this (rad, length units, as a share of it): what 32 bits keep.
_BEGUN = 1e-6


def shown(told: Array, lower: Array | float, upper: Array | float, begins: Array | float) -> Array:
    """Where bones stand whose channels say ``told``: at the stop that they are beyond, except where their file has them
    begin. Infinite stops are none; ``begins`` is nan where files begin within them."""
    with np.errstate(invalid="ignore"):
        begun = np.abs(told - begins) <= _BEGUN * (1.0 + np.abs(begins))
    return np.where(begun, told, clamp(told, lower, upper))


def ends_of(stop: Stop | None) -> tuple[float, float, float]:
    """The lower and upper stop of a channel and where its file begins beyond them, as ``shown`` takes them."""
    ends = (None, None, None) if stop is None else (stop.lower, stop.upper, stop.begins)
    low, high, begin = (none if end is None else end for none, end in zip(_NONE, ends, strict=True))
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
    def of(cls, rig: bpy.types.Object, prop: str, found: Sequence[_Found]) -> BoneStops:
        """Put the stops of a rig's bones in order, and limits plain that are set otherwise."""
        poses, found = rig.pose.bones, [each for each in found if each.stops]
        ends = np.full((3, len(found), 3), np.array(_NONE)[:, None, None])
        for number, each in enumerate(found):
            for stop in each.stops:
                ends[:, number, stop.index] = np.array(ends_of(stop), dtype=np.float32)
        lower, upper, begins = ends
        modes = [poses[each.row].rotation_mode for each in found]
        orders = [mode if mode in _ORDERS else each.order for mode, each in zip(modes, found, strict=True)]
        middle = np.array([_AXES.index(order[1]) for order in orders], dtype=np.intp)
        several = np.array([each.is_several for each in found], dtype=bool)
        sure = np.where(several, _SURE_OF_SEVERAL, _SURE)[:, None]
        sure[~np.isnan(begins).all(axis=1)] = -np.inf
        others = {
            number: (each.order, None if each.is_several else each.stops[0].index)
            for number, (each, mode) in enumerate(zip(found, modes, strict=True))
            if prop == "rotation_euler" and mode not in _ORDERS
        }
        sure[list(others)] = -np.inf
        rows = np.array([each.row for each in found], dtype=np.intp)
        follows = np.array([each.follows for each in found], dtype=bool)
        plain = [plain_ranges(each.stops) for each in found]
        held = np.full((len(found), 3), np.nan, dtype=np.float32)
        out = cls(prop, rows, lower, upper, begins, middle, sure, follows, plain, held, others)
        for number in range(len(rows)):
            out._put(rig, number, held[number])
        return out

    def keep(self, rig: bpy.types.Object, evaluated: bpy.types.Object) -> None:
        """Set the limits of bones for what an evaluated rig's channels say."""
        if not len(self.rows):
            return
        values = channel_values(evaluated, self.prop)[self.rows]
        if self.follows.any():  # what follows loops was posed just now, and is not evaluated yet
            values = np.where(self.follows[:, None], channel_values(rig, self.prop)[self.rows], values)
        for number, (order, axis) in self.others.items():
            values[number] = _angles_of(evaluated.pose.bones[int(self.rows[number])], order, axis)
        if bool((np.abs(values) <= self.sure).all()) and bool(np.isnan(self.held).all()):
            return
        told = values.astype(np.float64)
        wanted = shown(told, self.lower, self.upper, self.begins)
        exact = self._are_exact(told, wanted)
        if self.prop == "rotation_euler":
            wanted = folded(wanted)
        wanted = np.where(exact[:, None], np.nan, wanted).astype(np.float32)
        same = (wanted == self.held) | (np.isnan(wanted) & np.isnan(self.held))
        for number in np.flatnonzero(~same.all(axis=1)).tolist():
            self._put(rig, number, wanted[number])

    @property
    def are_plain(self) -> bool:
        """Return whether all limits are plain, and may be while no bone turns far."""
        return bool(np.isnan(self.held).all() and (self.sure > 0.0).all())

    def of_all(self, rig: bpy.types.Object) -> Array:
        """The stops of all bones of the rig and where files begin beyond them: (3, bones, 3)."""
        out = np.full((3, len(rig.pose.bones), 3), np.array(_NONE)[:, None, None])
        out[:, self.rows] = self.lower, self.upper, self.begins
        return out

    def _are_exact(self, told: Array, wanted: Array) -> NDArray[np.bool_]:
        """Which bones (n,) stand there by their plain limits."""
        clamped: NDArray[np.bool_] = (wanted == clamp(told, self.lower, self.upper)).all(axis=1)
        if self.prop == "rotation_euler":
            clamped &= is_limited_exactly(told, self.lower, self.upper, self.middle)
        return clamped

    def let_go(self, rig: bpy.types.Object) -> None:
        """Set all limits plain again."""
        for number in np.flatnonzero(~np.isnan(self.held).any(axis=1)).tolist():
            self._put(rig, number, np.full(3, np.nan, dtype=np.float32))

    def _put(self, rig: bpy.types.Object, number: int, wanted: NDArray[np.float32]) -> None:
        limit: Any = limit_of(rig.pose.bones[int(self.rows[number])], self.prop)
        self.held[number] = wanted
        is_plain = bool(np.isnan(wanted).any())
        ranges = self.plain[number] if is_plain else tuple((value, value) for value in wanted.tolist())
        if limit is not None and ranges_of(limit) != ranges:
            put_ranges(limit, ranges)
        order = self.others.get(number, ("AUTO", None))[0]
        if limit is not None and limit.type == "LIMIT_ROTATION" and limit.euler_order != order:
            limit.euler_order = order  # AUTO takes XYZ for quaternions


def _angles_of(pose: bpy.types.PoseBone, order: Any, axis: int | None) -> list[float]:
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
        counted = before if abs(math.remainder(before - out[axis], 2.0 * math.pi)) < _SAME_ANGLE else angle
        out[axis] = counted - math.remainder(counted - out[axis], 2.0 * math.pi)
    return out


@dataclass
class _Found:
    """A bone with stops: its place among all bones, its stops in one property, whether its joint poses several numbers
    of that, whether it follows a loop, and the order of rotations in which its joint turns it."""

    row: int
    stops: list[Stop]
    is_several: bool
    follows: bool
    order: str


def _found(rig: bpy.types.Object) -> dict[str, list[_Found]]:
    """The bones of a rig with stops, from the records of its joints, by property.

    Limits of slides do by themselves, but for those of files that begin beyond them.
    """
    place = {pose.name: number for number, pose in enumerate(rig.pose.bones)}
    out: dict[str, list[_Found]] = {"rotation_euler": [], "location": []}
    for empty, bones in stops_of_joints(rig):
        joint = record_of(empty).joint
        dofs = list(joint.dofs)
        if not any(dof.use_lower or dof.use_upper for dof in dofs):
            continue
        for step, (bone, here) in enumerate(bones.items()):
            for prop, found in out.items():
                alike = [stop for stop in here if stop.prop == prop]
                if bone in place and (prop != "location" or any(stop.begins is not None for stop in alike)):
                    posed = sum(dof.step == step and dof.channel == prop for dof in dofs)
                    found.append(_Found(place[bone], alike, posed > 1, joint.follows, _order_of(dofs, step)))
    return out


def _order_of(dofs: Sequence[KnuckleDof], step: int) -> str:
    """Return the order of rotations of a bone of a joint, as ``Degrees.rotation_mode`` has it: the innermost first."""
    turning = [dof.channel_index for dof in dofs if dof.step == step and dof.channel == "rotation_euler"]
    return "".join(_AXES[column] for column in reversed([*turning, *(c for c in (2, 1, 0) if c not in turning)]))


_ORDERS = {"XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"}
#: How often a rig's limits were derived, what its bones are called, in their order, and how each is turned.
_State = tuple[int, tuple[str, ...], bytes]
#: Stops of rigs by the ``session_uid`` that they keep until another file is opened, and of which state these are.
_gathered: dict[int, tuple[_State, dict[str, BoneStops]]] = {}
#: Rigs of which it is known that their limits are plain, and may be while no bone turns far, by how often the limits
#: had been derived then, and how bones were turned.
_plain: dict[int, tuple[int, bytes]] = {}


def is_plain(rig: bpy.types.Object) -> None:
    """Know of a rig that was made just now that its limits are plain, and may be."""
    _plain[rig.session_uid] = changes(rig), _modes_of(rig)


def _state_of(rig: bpy.types.Object) -> _State:
    """What the gathered stops of a rig go by. Asked in every frame: 0.012 ms for 100 bones."""
    return changes(rig), tuple(rig.pose.bones.keys()), _modes_of(rig)


def _modes_of(rig: bpy.types.Object) -> bytes:
    """Return the rotation mode of each bone of a rig."""
    bones = rig.pose.bones
    modes = np.empty(len(bones), dtype=np.int32)
    bones.foreach_get("rotation_mode", modes)  # type: ignore[arg-type]
    return modes.tobytes()


def bone_stops(rig: bpy.types.Object) -> dict[str, BoneStops]:
    """The stops of a rig's bones by property, gathered once for each state of it."""
    _plain.pop(rig.session_uid, None)
    state, kept = _state_of(rig), _gathered.get(rig.session_uid)
    if kept is None or kept[0] != state:
        found = {prop: BoneStops.of(rig, prop, found) for prop, found in _found(rig).items()}
        kept = _gathered[rig.session_uid] = state, found
    return kept[1]


def channel_values(rig: bpy.types.Object, prop: str) -> NDArray[np.float32]:
    """The numbers (bones, 3) that a property of a rig's bones has."""
    bones = rig.pose.bones
    values = np.empty(3 * len(bones), dtype=np.float32)
    bones.foreach_get(prop, values)  # type: ignore[arg-type]
    return values.reshape(-1, 3)


# ---------------------------------------------------------------- what Blender calls


def after_evaluation(depsgraph: bpy.types.Depsgraph, models: SceneModels) -> None:
    """Keep bones at their stops after a frame or a change of poses was evaluated. Blender then evaluates once more."""
    for rig in _posed(models):
        evaluated = rig.evaluated_get(depsgraph)
        if _plain.get(rig.session_uid) == (changes(rig), _modes_of(rig)) and _is_near(evaluated):
            continue
        every = bone_stops(rig).values()
        for stops in every:
            stops.keep(rig, evaluated)
        if all(stops.are_plain for stops in every):
            is_plain(rig)


def _posed(models: SceneModels) -> Iterator[bpy.types.Object]:
    """The models of a scene whose bones can be looked at."""
    for rig in () if is_resting() else models.every:
        if rig.mode != "EDIT" and rig.pose is not None:
            yield rig


def _is_near(rig: bpy.types.Object) -> bool:
    """Whether no bone is turned so far that its limit may not tell."""
    bones = rig.pose.bones
    # numpy's largest takes four times as long at a frame, of some ten bones: its code is not at hand then
    values = [0.0] * (3 * len(bones))
    bones.foreach_get("rotation_euler", values)
    return max(values, default=0.0) <= _SURE_OF_SEVERAL and min(values, default=0.0) >= -_SURE_OF_SEVERAL


@persistent
def before_save(*_args: Any) -> None:
    """Files have plain limits."""
    let_go()


def let_go() -> None:
    """Set all limits plain: a bone that is held would be stuck where nobody looks after it."""
    for rig in (rig for armature in bpy.data.armatures for rig in rigs_of(armature)):
        if rig.session_uid in _gathered:
            for stops in bone_stops(rig).values():
                stops.let_go(rig)


@persistent
def after_load(*_args: Any) -> None:
    """Put bones of a file that was opened at their stops: Blender tells of no change."""
    forget()
    for rig in {rig for scene in bpy.data.scenes for rig in _posed(models_at_frames(scene))}:
        for stops in bone_stops(rig).values():
            stops.keep(rig, rig)


@persistent
def forget(*_args: Any) -> None:
    """Whatever was gathered is of another file, or of another state of this one."""
    _gathered.clear()
    _plain.clear()
