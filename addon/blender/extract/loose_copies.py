"""Copies of bodies that the user made (Shift+D) and that no joint holds to the rest: they are designed where they are
seen, and not where what they are copies of is designed."""

from __future__ import annotations

from collections.abc import Mapping

import bpy
import numpy as np

from ...model.kinematics import spanning_tree
from ...model.records import Array, Mechanism
from ...model.rotations import inverse
from ..access import record_of

#: Bones that are moved by less stand as they were made.
_UNPOSED = 1e-6


def stand_as_seen(rig: bpy.types.Object, mechanism: Mechanism, bodies: Mapping[bpy.types.Object, str]) -> None:
    """Move copies that hang on bones of a posed model, and what hangs on these by joints, to where they are seen.
    ``bodies``: the ids that objects have in the mechanism; those of new copies are not in their records yet."""
    copies = {own: obj for obj, own in bodies.items() if own != record_of(obj).source_id}
    if not copies or rig.pose is None:
        return
    tree = spanning_tree(mechanism, {body.id for body in mechanism.bodies} - copies.keys())
    moves = {root.id: _move(rig, copies[root.id]) for root in tree.roots if root.id in copies}
    for link in tree.links:
        if link.carrier in moves:
            moves[link.body] = moves[link.carrier]
    for body in mechanism.bodies:
        if body.id in moves:
            body.pose = moves[body.id] @ body.pose


def _move(rig: bpy.types.Object, obj: bpy.types.Object) -> Array:
    """What the bone that an object hangs on does to it, (4, 4)."""
    hung = obj.parent == rig and obj.parent_type == "BONE"
    pose: bpy.types.PoseBone | None = rig.pose.bones.get(obj.parent_bone) if hung else None
    if pose is None:
        return np.eye(4)
    move = np.array(pose.matrix, dtype=np.float64) @ inverse(np.array(pose.bone.matrix_local, dtype=np.float64))
    return np.eye(4) if np.abs(move - np.eye(4)).max() < _UNPOSED else move
