"""A joint's stops on its bones: limit constraints for posing and limits for IK, derived from the record."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..model.records import Dof
from .access import record_of
from .joint_properties import KnuckleDof
from .model_parts import bones_of
from .records import stops

_NAME = "Stops"
_TYPES: dict[str, Any] = {"rotation_euler": "LIMIT_ROTATION", "location": "LIMIT_LOCATION"}
_AXES = "xyz"


@dataclass(frozen=True)
class Stop:
    """The stops of one channel of a bone; one of them may be None."""

    prop: str
    index: int
    lower: float | None
    upper: float | None


def stop_of(dof: Dof | KnuckleDof, prop: str, index: int) -> Stop | None:
    """The stops that a bone can show of a degree of freedom, None where there are none.

    Some files begin with a joint outside its stops. The bone can stand there all the same: it is where the file says,
    and physics is what drives the joint into its stops."""
    lower, upper = stops(dof)
    if prop not in _TYPES or (lower is None and upper is None):
        return None
    lower = None if lower is None else min(lower, dof.position)
    upper = None if upper is None else max(upper, dof.position)
    if prop == "rotation_euler":
        # Blender's rotation limit takes both ends within half a turn: a stop beyond that cannot be shown
        lower, upper = -math.pi if lower is None else lower, math.pi if upper is None else upper
        if lower < -math.pi or upper > math.pi:
            return None
    return Stop(prop, index, lower, upper)


def limit_bone_of(empty: bpy.types.Object, bones: Sequence[str] | None = None) -> None:
    """Derive the limits of the bones that a joint's empty belongs to, if it has any; ``bones`` are their names where
    those are known."""
    rig = record_of(empty).model
    dofs = record_of(empty).joint.dofs
    for step, bone in enumerate(bones_of(empty) if bones is None else bones):
        here = (stop_of(dof, dof.channel, dof.channel_index) for dof in dofs if dof.step == step)
        limit_bone(rig.pose.bones[bone], [stop for stop in here if stop is not None])


def is_stop(constraint: bpy.types.Constraint) -> bool:
    """Whether a bone's constraint is one of those that are made here."""
    return constraint.name.split(".")[0] == _NAME and constraint.type in _TYPES.values()


def limit_bone(pose: bpy.types.PoseBone, here: Sequence[Stop]) -> None:
    """Derive a bone's limit constraints and IK limits anew from the stops of its channels."""
    unlimit_bone(pose)
    limit = Limiter()
    limit(pose, here)
    limit.put_ik(pose)


def unlimit_bone(pose: bpy.types.PoseBone) -> None:
    """Take away the limits of a bone that are made here."""
    for limit in [c for c in pose.constraints if is_stop(c)]:
        pose.constraints.remove(limit)
    for axis in _AXES:
        if getattr(pose, f"use_ik_limit_{axis}"):
            setattr(pose, f"use_ik_limit_{axis}", False)


class Limiter:
    """Puts stops on many bones. A limit like one that was made before is copied from it: every setting of a bone
    constraint makes Blender look through all bones."""

    def __init__(self) -> None:
        self._made: dict[tuple[Stop, ...], bpy.types.Constraint] = {}
        self._ik: list[tuple[str, Stop]] = []

    def __call__(self, pose: bpy.types.PoseBone, here: Iterable[Stop]) -> None:
        """Derive the limits of a bone that has none yet; for IK they are put later."""
        every = tuple(here)
        for prop in _TYPES:
            alike = tuple(stop for stop in every if stop.prop == prop)
            if not alike:
                continue
            if prop == "rotation_euler":
                self._ik += [(pose.name, stop) for stop in alike]
            like = self._made.get(alike)
            if like is not None:
                pose.constraints.copy(like)
            else:
                self._made[alike] = _limit_pose(pose, alike)

    def put_ik(self, pose: bpy.types.PoseBone) -> None:
        """Give one bone its limits for IK."""
        for _name, stop in self._ik:
            axis = _AXES[stop.index]
            setattr(pose, f"use_ik_limit_{axis}", True)
            setattr(pose, f"ik_min_{axis}", stop.lower)
            setattr(pose, f"ik_max_{axis}", stop.upper)

    def put_every_ik(self, rig: bpy.types.Object) -> None:
        """Give the bones of a rig, of which none has any yet, their limits for IK."""
        bones = rig.pose.bones
        order = {name: number for number, name in enumerate(bones.keys())}
        for index, axis in enumerate(_AXES):
            mine = [(order[name], stop) for name, stop in self._ik if stop.index == index]
            if not mine:
                continue
            rows = [number for number, _ in mine]
            for name, values in (
                (f"use_ik_limit_{axis}", [True] * len(mine)),
                (f"ik_min_{axis}", [stop.lower for _, stop in mine]),
                (f"ik_max_{axis}", [stop.upper for _, stop in mine]),
            ):
                every = np.empty(len(bones), dtype=bool if name.startswith("use") else np.float32)
                bones.foreach_get(name, every)
                every[rows] = values
                bones.foreach_set(name, every)


def _limit_pose(pose: bpy.types.PoseBone, here: Sequence[Stop]) -> bpy.types.Constraint:
    limit: Any = pose.constraints.new(_TYPES[here[0].prop])
    limit.name = _NAME
    limit.owner_space = "LOCAL"
    for stop in here:
        axis = _AXES[stop.index]
        if stop.prop == "rotation_euler":
            setattr(limit, f"use_limit_{axis}", True)
        else:
            setattr(limit, f"use_min_{axis}", stop.lower is not None)
            setattr(limit, f"use_max_{axis}", stop.upper is not None)
        setattr(limit, f"min_{axis}", stop.lower or 0.0)
        setattr(limit, f"max_{axis}", stop.upper or 0.0)
    return limit
