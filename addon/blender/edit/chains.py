"""What hangs together by joints, and its design moved as one."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

from ..access import record_of
from ..model_parts import parts
from .places import posed_in_design, to_design

#: Shifts that differ by no more from none, as shares of how far away things are, are the rounding of 32-bit places.
_SAME = 2e-6


def chain_of(
    rig: bpy.types.Object, body: bpy.types.Object, without: bpy.types.Object | None = None
) -> set[bpy.types.Object]:
    """All bodies that hang together with a body by joints; of the world not, which holds all. ``without`` is a joint
    that does not count."""
    near: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for empty in parts(rig, "JOINT"):
        joint = record_of(empty).joint
        if empty != without and joint.active and joint.parent is not None and joint.child is not None:
            near.setdefault(joint.parent, []).append(joint.child)
            near.setdefault(joint.child, []).append(joint.parent)
    found, todo = {body}, [body]
    while todo:
        fresh = [other for other in near.get(todo.pop(), ()) if other not in found]
        found.update(fresh)
        todo += fresh
    return found


def design_here(
    rig: bpy.types.Object,
    parent: bpy.types.Object | None,
    child: bpy.types.Object,
    by: bpy.types.Object | None = None,
    back: Matrix | None = None,
) -> None:
    """Move the design of all that hangs together with a body so that it is designed, seen from the parent, where it
    stands now. ``by`` is the joint between the two, if there is one already; ``back`` leads in the design from where
    it moves the child to where it does not."""
    # a joint says how far apart they are posed: a run of physics, or keys of it, may have them a little elsewhere
    at = to_design(rig, parent, child.matrix_world) if by is None else posed_in_design(rig, parent, child)
    here = Matrix(at.tolist())
    if back is not None:
        here = back @ here
    shift = here @ child.matrix_basis.normalized().inverted_safe()
    reach = max(1.0, here.translation.length, child.matrix_world.translation.length)
    if np.abs(np.array(shift) - np.eye(4)).max() < _SAME * reach:
        return
    moved = chain_of(rig, child, by)
    for obj in moved:
        obj.matrix_basis = shift @ obj.matrix_basis
    for empty in parts(rig, "JOINT"):
        joint = record_of(empty).joint
        carried = joint.parent in moved or (joint.parent is None and joint.child in moved and not joint.at_world)
        if carried and empty != by:
            empty.matrix_basis = shift @ empty.matrix_basis
