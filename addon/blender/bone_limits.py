"""A joint's stops on its bone: a limit constraint for posing and limits for IK, derived from the record."""

from __future__ import annotations

import math
from collections.abc import Sequence

import bpy

from ..model.records import Dof
from .model_parts import servo_bones
from .records import stops


def limit_bone_of(empty: bpy.types.Object) -> None:
    """Derive the limits of the bone that a joint's empty belongs to, if it has one."""
    rig = empty.knuckle.model
    bone = servo_bones(rig).get(empty.knuckle.source_id) if rig is not None else None
    if bone is not None:
        limit_bone(rig.pose.bones[bone], empty.knuckle.joint.dofs)


def limit_bone(pose: bpy.types.PoseBone, dofs: Sequence[Dof | bpy.types.PropertyGroup]) -> None:
    """Derive the bone's limit constraint and IK limits from the stops of its one axial degree of freedom.

    Some files draw a joint outside its stops. The bone can stand there all the same: the design pose is
    where the file says, and physics is what drives the joint into its stops."""
    if len(dofs) != 1 or dofs[0].kind not in {"rotation", "translation"}:
        return
    lower, upper = stops(dofs[0])
    lower, upper = None if lower is None else min(lower, 0.0), None if upper is None else max(upper, 0.0)
    turns = dofs[0].kind == "rotation"
    kind = "LIMIT_ROTATION" if turns else "LIMIT_LOCATION"
    limit = next((c for c in pose.constraints if c.type == kind and c.name == "Stops"), None)
    wanted = lower is not None or upper is not None
    if turns:
        # Blender's rotation limit takes both ends within half a turn: a stop beyond that cannot be shown
        low = -math.pi if lower is None else lower
        high = math.pi if upper is None else upper
        wanted = wanted and -math.pi <= low <= high <= math.pi
        pose.use_ik_limit_z = wanted
        pose.ik_min_z = low if wanted else -math.pi
        pose.ik_max_z = high if wanted else math.pi
    if not wanted:
        if limit is not None:
            pose.constraints.remove(limit)
        return
    if limit is None:
        limit = pose.constraints.new(kind)
        limit.name = "Stops"
        limit.owner_space = "LOCAL"
    if turns:
        limit.use_limit_z, limit.min_z, limit.max_z = True, low, high
    else:
        limit.use_min_z, limit.use_max_z = lower is not None, upper is not None
        limit.min_z, limit.max_z = lower or 0.0, upper or 0.0
