"""Anchor: the body that represents the world where joints connect bodies to it; kinematic bodies, which bones move.

It is passive, hidden, touches nothing and follows the armature.

Note:
    A rigid-body constraint with one object is ignored by Blender.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy
from mathutils import Matrix

from ...data.access import bodies_of, record_of, rest_parent_inverse, rigid_body_of, settings
from ...data.caching import joint_record
from ...data.conversion import flatten_pose, has_initial_velocity, has_spring_or_damper
from ...data.properties.joint import KnuckleJoint
from ...data.properties.model import KnuckleModel
from ...data.queries import helper_collection, inertia_proxies, parts

#: CFM above which a joint of ODE yields visibly under load and is built from springs.
SOFT_CFM = 5e-5
#: Time step (s) of ODE in Juice, for softness in mechanisms whose file has no time step.
_ODE_TIME_STEP = 0.01
_SUFFIX = " World"
_ANCHOR_SIZE = 0.1
#: Parent and child of a joint.
JointEnds = tuple[bpy.types.Object | None, bpy.types.Object | None]


def ode_time_step(model: KnuckleModel) -> float:
    """Return the time step (s) that the softness of a mechanism's joints is given for; that of Juice if it has none."""
    return model.time_step or _ODE_TIME_STEP


def connects_bodies(joint: KnuckleJoint) -> bool:
    """Return whether a joint connects two bodies, or one to the world. A deleted body is not the world."""
    missing = (joint.parent is None) + (joint.child is None)
    return joint.active and missing <= int(joint.at_world)


def is_floating(joint: KnuckleJoint) -> bool:
    """Return whether a joint at the world leaves its body free, so that Blender needs no constraint for it."""
    return joint.at_world and any(dof.kind == "free" for dof in joint.dofs) and not has_spring_or_damper(joint)


def joint_ends(joint: KnuckleJoint, anchor: bpy.types.Object | None) -> JointEnds:
    """Return parent and child of a joint as physics has them: the anchor is the world."""
    if not joint.at_world:  # a missing end is then a deleted body
        return joint.parent, joint.child
    return joint.parent or anchor, joint.child or anchor


def welded_to_world(joints: Iterable[KnuckleJoint]) -> set[bpy.types.Object]:
    """Return the bodies that fixed joints connect to the world, directly or through others.

    They are simulated as fixed: a light one under heavy ones would separate from its joint.
    """
    welds = [joint for joint in joints if connects_bodies(joint) and not len(joint.dofs)]
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


def is_static(obj: bpy.types.Object) -> bool:
    """Return whether an object follows its armature under every drive: the anchor and bodies fixed to it."""
    record = record_of(obj)
    welded = record.role == "BODY" and obj.rigid_body is not None and obj.rigid_body.type == "PASSIVE"
    return is_anchor(obj) or (welded and not record.immobile)


def is_anchor(obj: bpy.types.Object) -> bool:
    """Return whether an object is the anchor of its mechanism."""
    rig = record_of(obj).model
    return rig is not None and rig.data is not None and settings(rig).anchor == obj


def own_anchor(rig: bpy.types.Object) -> bpy.types.Object | None:
    """Return the mechanism's anchor, or None.

    A copy of a mechanism points at its original's, which is hidden and cannot be selected to be copied along.
    """
    anchor = settings(rig).anchor
    return anchor if anchor is not None and record_of(anchor).model == rig else None


def ensure_anchor(rig: bpy.types.Object, world: bpy.types.RigidBodyWorld) -> bpy.types.Object:
    """Return the mechanism's anchor; create it, or link it again, where it is missing."""
    anchor = own_anchor(rig)
    if anchor is None or not anchor.users_collection:
        anchor = settings(rig).anchor = bpy.data.objects.new(rig.name + _SUFFIX, _cross_mesh(rig.name + _SUFFIX))
        anchor.parent = rig
        record_of(anchor).role = "SHAPE"
        record_of(anchor).model = rig
        anchor.display_type = "WIRE"
        anchor.hide_render = anchor.hide_select = True
    if anchor.name not in settings(rig).collection.all_objects:
        helper_collection(rig).objects.link(anchor)
    anchor.hide_viewport = True
    members = bodies_of(world).objects
    if anchor.name not in members:
        members.link(anchor)
    body = rigid_body_of(anchor)
    body.type, body.kinematic = "PASSIVE", True  # kinematic: it follows the armature
    body.collision_shape = "SPHERE"
    body.collision_collections = [False] * 20
    return anchor


def _cross_mesh(name: str) -> bpy.types.Mesh:
    """Return a mesh of three lines, since Blender accepts only meshes as rigid bodies."""
    mesh = bpy.data.meshes.new(name)
    ends = [tuple(way * _ANCHOR_SIZE if axis == k else 0.0 for k in range(3)) for axis in range(3) for way in (-1, 1)]
    mesh.from_pydata(ends, [(0, 1), (2, 3), (4, 5)], [])
    return mesh


def moving_bodies(rig: bpy.types.Object) -> list[bpy.types.RigidBodyObject]:
    """Return the rigid bodies of a mechanism that either bones or physics moves, with their inertia proxies."""
    bodies = [obj.rigid_body for obj in parts(rig, "BODY") if obj.rigid_body is not None and not is_static(obj)]
    return bodies + [proxy.rigid_body for proxy in inertia_proxies(rig) if proxy.rigid_body is not None]


def set_kinematic(bodies: Iterable[bpy.types.RigidBodyObject], follow: bool) -> None:
    """Make bodies follow their bones, or physics."""
    for body in bodies:
        if body.kinematic != follow:
            body.kinematic = follow


def place_simulated(obj: bpy.types.Object, pose: Matrix, parent: Matrix) -> None:
    """Show a body at its simulated world pose, given the present world pose of its parent.

    The parent inverse matrix takes the difference, so that the body's own transform, in which edits are, stays.
    """
    record = record_of(obj)
    if not record.is_at_simulated_pose:
        record.rest_parent_inverse, record.is_at_simulated_pose = flatten_pose(obj.matrix_parent_inverse), True
    obj.matrix_parent_inverse = parent.inverted_safe() @ pose @ obj.matrix_basis.inverted_safe()


def restore_rest_poses(scene: bpy.types.Scene, rig: bpy.types.Object | None = None) -> None:
    """Show the bodies of a scene on their bones again: those of a mechanism, or all, whatever became of theirs."""
    for obj in scene.objects if rig is None else parts(rig, "BODY"):
        record = record_of(obj)
        if record.is_at_simulated_pose:
            obj.matrix_parent_inverse = rest_parent_inverse(obj)
            record.property_unset("rest_parent_inverse")
            record.property_unset("is_at_simulated_pose")


def raise_model(rig: bpy.types.Object, height: float) -> None:
    """Raise a mechanism by ``height`` above its position, by its delta location; 0 restores it."""
    record = settings(rig)
    if record.ground_offset != height:
        rig.delta_location[2] += height - record.ground_offset
        record.ground_offset = height


def begins_with_velocity(rig: bpy.types.Object) -> bool:
    """Return whether joints of a mechanism have initial velocities."""
    return any(has_initial_velocity(joint_record(empty)) for empty in parts(rig, "JOINT"))
