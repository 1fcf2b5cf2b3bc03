"""What stands for the world where joints hold bodies to it.

To Blender a constraint with one object is switched off. A model with joints at the world therefore gets an anchor: a
passive, hidden body that touches nothing and goes where the armature goes.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ...data.access import record_of, settings
from ...data.conversion import is_springy
from ...data.properties.joint import KnuckleJoint
from ...data.queries import helper_collection

_SUFFIX = " World"
_SIZE = 0.1
#: A joint's parent and child.
Ends = tuple[bpy.types.Object | None, bpy.types.Object | None]


def is_held(joint: KnuckleJoint) -> bool:
    """Return whether a joint holds two bodies together, or one to the world.

    A body that was deleted is not the world.
    """
    missing = (joint.parent is None) + (joint.child is None)
    return joint.active and missing <= int(joint.at_world)


def floats(joint: KnuckleJoint) -> bool:
    """Return whether a joint at the world leaves its body free: Blender needs no constraint for it."""
    return joint.at_world and any(dof.kind == "free" for dof in joint.dofs) and not is_springy(joint)


def joint_ends(joint: KnuckleJoint, anchor: bpy.types.Object | None) -> Ends:
    """A held joint's parent and child as physics has them: the anchor is the world."""
    if not joint.at_world:  # an end that is missing then is a body that was deleted
        return joint.parent, joint.child
    return joint.parent or anchor, joint.child or anchor


def welded_to_world(joints: Iterable[KnuckleJoint]) -> set[bpy.types.Object]:
    """The bodies that joints without a degree of freedom hold to the world, one on another.

    Physics has them stand: a light one under heavy ones would come off its weld.
    """
    welds = [joint for joint in joints if is_held(joint) and not len(joint.dofs)]
    beside: dict[bpy.types.Object | None, list[bpy.types.Object | None]] = {}
    for weld in welds:
        beside.setdefault(weld.parent, []).append(weld.child)
        beside.setdefault(weld.child, []).append(weld.parent)
    found: set[bpy.types.Object] = set()
    reached: list[bpy.types.Object | None] = [None]
    while reached:
        for obj in beside.get(reached.pop(), ()):
            if obj is not None and obj not in found:
                found.add(obj)
                reached.append(obj)
    return found


def stands(obj: bpy.types.Object) -> bool:
    """Return whether an object of a model's goes with its armature whatever the drive: the anchor and what is welded to
    it."""
    record = record_of(obj)
    welded = record.role == "BODY" and obj.rigid_body is not None and obj.rigid_body.type == "PASSIVE"
    return is_anchor(obj) or (welded and not record.immobile)


def is_anchor(obj: bpy.types.Object) -> bool:
    """Return whether an object is the anchor of the model that it belongs to."""
    rig = record_of(obj).model
    return rig is not None and rig.data is not None and settings(rig).anchor == obj


def own_anchor(rig: bpy.types.Object) -> bpy.types.Object | None:
    """The model's anchor, None where it has none.

    A copy of a model points at its original's: nobody can select that and copy it along.
    """
    anchor = settings(rig).anchor
    return anchor if anchor is not None and record_of(anchor).model == rig else None


def ensure_anchor(rig: bpy.types.Object, world: bpy.types.RigidBodyWorld) -> bpy.types.Object:
    """The model's anchor, made or put back where it is missing."""
    anchor = own_anchor(rig)
    if anchor is None or not anchor.users_collection:
        anchor = settings(rig).anchor = bpy.data.objects.new(rig.name + _SUFFIX, _cross(rig.name + _SUFFIX))
        anchor.parent = rig
        record_of(anchor).role = "SHAPE"
        record_of(anchor).model = rig
        anchor.display_type = "WIRE"
        anchor.hide_render = anchor.hide_select = True
    if anchor.name not in settings(rig).collection.all_objects:
        helper_collection(rig).objects.link(anchor)
    anchor.hide_viewport = True
    if anchor.name not in world.collection.objects:
        world.collection.objects.link(anchor)
    body = anchor.rigid_body
    body.type, body.kinematic = "PASSIVE", True  # as if animated: it follows the armature
    body.collision_shape = "SPHERE"
    body.collision_collections = [False] * 20
    return anchor


def _cross(name: str) -> bpy.types.Mesh:
    """Three lines, since Blender takes nothing but meshes for bodies."""
    mesh = bpy.data.meshes.new(name)
    ends = [tuple(way * _SIZE if axis == k else 0.0 for k in range(3)) for axis in range(3) for way in (-1, 1)]
    mesh.from_pydata(ends, [(0, 1), (2, 3), (4, 5)], [])
    return mesh
