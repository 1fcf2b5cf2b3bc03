"""A joint's stops on its bone: a limit constraint for posing and limits for IK, derived from the record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import bpy

from ..model.records import Dof
from .access import record_of
from .model_parts import servo_bones
from .properties import KnuckleDof
from .records import stops

_NAME = "Stops"
_TYPES: dict[str, Any] = {"rotation": "LIMIT_ROTATION", "translation": "LIMIT_LOCATION"}


def limit_bone_of(empty: bpy.types.Object) -> None:
    """Derive the limits of the bone that a joint's empty belongs to, if it has one."""
    rig = record_of(empty).model
    bone = servo_bones(rig).get(record_of(empty).source_id) if rig is not None else None
    if bone is not None:
        limit_bone(rig.pose.bones[bone], record_of(empty).joint.dofs)


class Limiter:
    """Puts stops on many bones. A limit like one that was made before is copied from it: every setting of a bone
    constraint makes Blender look through all bones."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, Limits], bpy.types.Constraint] = {}

    def __call__(self, pose: bpy.types.PoseBone, dofs: Sequence[Dof | KnuckleDof]) -> None:
        """Derive the limits of a bone that has none yet."""
        limits = _limits(dofs)
        if limits is None:
            return
        kind = dofs[0].kind
        if kind == "rotation":
            _limit_ik(pose, limits)
        like = self._made.get((kind, limits))
        if like is not None:
            pose.constraints.copy(like)
        else:
            self._made[kind, limits] = _limit_pose(pose, kind, limits)


Limits = tuple[float | None, float | None]


def limit_bone(pose: bpy.types.PoseBone, dofs: Sequence[Dof | KnuckleDof]) -> None:
    """Derive the bone's limit constraint and IK limits anew from the stops of its one axial degree of freedom."""
    for limit in [c for c in pose.constraints if c.name == _NAME and c.type in _TYPES.values()]:
        pose.constraints.remove(limit)
    pose.use_ik_limit_z = False
    Limiter()(pose, dofs)


def _limits(dofs: Sequence[Dof | KnuckleDof]) -> Limits | None:
    """The stops that a bone can show, None where it has none.

    Some files draw a joint outside its stops. The bone can stand there all the same: the design pose is
    where the file says, and physics is what drives the joint into its stops."""
    if len(dofs) != 1 or dofs[0].kind not in _TYPES:
        return None
    lower, upper = stops(dofs[0])
    lower, upper = None if lower is None else min(lower, 0.0), None if upper is None else max(upper, 0.0)
    if lower is None and upper is None:
        return None
    if dofs[0].kind == "rotation":
        # Blender's rotation limit takes both ends within half a turn: a stop beyond that cannot be shown
        lower, upper = -math.pi if lower is None else lower, math.pi if upper is None else upper
        if lower < -math.pi or upper > math.pi:
            return None
    return lower, upper


def _limit_ik(pose: bpy.types.PoseBone, limits: Limits) -> None:
    pose.use_ik_limit_z = True
    pose.ik_min_z, pose.ik_max_z = limits


def _limit_pose(pose: bpy.types.PoseBone, kind: str, limits: Limits) -> bpy.types.Constraint:
    limit: Any = pose.constraints.new(_TYPES[kind])
    limit.name = _NAME
    limit.owner_space = "LOCAL"
    lower, upper = limits
    if kind == "rotation":
        limit.use_limit_z, limit.min_z, limit.max_z = True, lower, upper
    else:
        limit.use_min_z, limit.use_max_z = lower is not None, upper is not None
        limit.min_z, limit.max_z = lower or 0.0, upper or 0.0
    return limit
