"""Motors of a mechanism: empties with motor constraints, each on the list of its purpose.

Whenever the joint state of a mechanism is collected, all forces are set to zero and motors without use are taken off
their lists. A motor on no list leaves the world when a simulation begins (``simulation.setup``), or at the latest
when physics is cleared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ....core.model import Array
from ....core.transforms import make_pose
from ...data.access import constraints_of, record_of, settings, world_of
from ...data.properties.joint import KnuckleJoint, KnuckleMotor
from ...data.queries import helper_collection, parts, proxy_welds


def create_motor(rig: bpy.types.Object, name: str, like: bpy.types.Object | None = None) -> bpy.types.Object:
    """Create an undrawn empty for a motor.

    Args:
        rig: The armature object.
        name: Name of the empty.
        like: Empty whose parent and pose it gets; without one its parent is the armature.
    """
    motor = bpy.data.objects.new(name, None)
    record_of(motor).model = rig
    motor.empty_display_size = 0.0
    motor.rotation_mode = "QUATERNION"
    motor.parent = rig if like is None else like.parent
    if like is not None:
        motor.parent_type, motor.parent_bone = like.parent_type, like.parent_bone
        motor.matrix_parent_inverse, motor.matrix_basis = like.matrix_parent_inverse, like.matrix_basis
    # visible and selectable, so that it is deleted with the mechanism, before its bodies: Blender crashes otherwise
    helper_collection(rig).objects.link(motor)
    return motor


def is_motor_missing(scene: bpy.types.Scene, motor: bpy.types.Object | None) -> bool:
    """Return whether a motor is missing or deleted by the user; a deleted one is released from the mechanism."""
    if motor is not None and scene not in motor.users_scene:
        record_of(motor).model = None
        return True
    return motor is None


def add_constraint_to_world(scene: bpy.types.Scene, empty: bpy.types.Object) -> None:
    """Add an empty to the constraints of the scene's rigid-body world, which it leaves when it loses a body."""
    held = constraints_of(world_of(scene)).objects
    if empty.name not in held:
        held.link(empty)


def ensure_thruster(
    scene: bpy.types.Scene,
    rig: bpy.types.Object,
    motor: KnuckleMotor,
    body: bpy.types.Object,
    name: str,
    turns: bool = False,
) -> None:
    """Create the motor that applies a force, and with ``turns`` a torque, to a body against the anchor, if missing."""
    if is_motor_missing(scene, motor.empty):
        motor.empty = create_motor(rig, name)
    add_constraint_to_world(scene, motor.empty)
    constraint = motor.empty.rigid_body_constraint
    constraint.type, constraint.enabled, constraint.disable_collisions = "MOTOR", True, False
    constraint.object1, constraint.object2 = settings(rig).anchor, body
    constraint.use_motor_ang, constraint.use_motor_lin = turns, True
    constraint.motor_lin_max_impulse = constraint.motor_ang_max_impulse = 0.0


def thruster_pose(poses: Array, axis: int, point: Array) -> Matrix:
    """Return the pose of a motor that applies a force at a point (3,) along an axis (0 to 2) of the armature."""
    return Matrix(make_pose(np.roll(armature_axes(poses), -axis, axis=1), point).tolist())


def armature_axes(poses: Array) -> Array:
    """Return the armature's axes (3, 3) in the world, as columns."""
    turn = poses[-1][:3, :3]
    return turn / np.linalg.norm(turn, axis=0)


# ------------------------------------------------------------------------------------ their lists


def force_lists(rig: bpy.types.Object) -> Iterator[Any]:
    """Yield the lists of motors that apply or brake forces other than those of servos."""
    for empty in parts(rig, "JOINT"):
        yield record_of(empty).joint.loss_motors
        yield record_of(empty).joint.spring_motors
    for restraint in settings(rig).restraints:
        yield restraint.motors
    yield settings(rig).velocity_motors


def motor_lists(rig: bpy.types.Object) -> Iterator[Any]:
    """Yield all lists of a mechanism's motors, and of stops with constraints of their own."""
    yield from force_lists(rig)
    for empty in parts(rig, "JOINT"):
        yield record_of(empty).joint.motors
        yield record_of(empty).joint.limit_constraints


def joint_motors(joint: KnuckleJoint) -> list[bpy.types.Object]:
    """Return the empties of all motors of a joint, and of stops with constraints of their own."""
    several = [*joint.motors, *joint.loss_motors, *joint.spring_motors, *joint.limit_constraints]
    found = (joint.motor, joint.spring_preload, *(motor.empty for motor in several))
    return [empty for empty in found if empty is not None]


def listed_motors(rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the empties of all motors of a mechanism that are in use."""
    found = [motor for empty in parts(rig, "JOINT") for motor in joint_motors(record_of(empty).joint)]
    other = [*settings(rig).velocity_motors, *(motor for each in settings(rig).restraints for motor in each.motors)]
    return found + [motor.empty for motor in other if motor.empty is not None]


def unlisted_motors(scene: bpy.types.Scene, rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the empties of a mechanism in a scene's rigid-body world that are no longer in use."""
    held = world_of(scene).constraints
    known = {*listed_motors(rig), *proxy_welds(rig)}
    objects = () if held is None else held.objects
    return [
        obj for obj in objects if _is_helper(obj, rig) and not record_of(obj).is_collision_filter and obj not in known
    ]


def _is_helper(obj: bpy.types.Object, rig: bpy.types.Object) -> bool:
    record = record_of(obj)
    return record.model == rig and record.role == "NONE" and record.inertia_proxy_of is None


def remove_from_motor_list(kept: Any, which: Collection[int]) -> None:
    """Remove the motors with these indices from their list."""
    for place in sorted(which, reverse=True):
        kept.remove(place)


def ensure_motor_numbers(kept: Any, wanted: Iterable[int]) -> None:
    """Make a list hold exactly one motor of each number.

    Motors with one of the numbers stay, others are removed, and missing ones are added without an empty.
    """
    missing, others = list(wanted), []
    for place, motor in enumerate(kept):
        if motor.dof_index in missing:
            missing.remove(motor.dof_index)
        else:
            others.append(place)
    remove_from_motor_list(kept, others)
    for number in missing:
        kept.add().dof_index = number


def keep_used_motors(kept: Any, used: Collection[bpy.types.Object]) -> None:
    """Remove the motors from a list whose empties are not in use."""
    remove_from_motor_list(kept, [place for place, motor in enumerate(kept) if motor.empty not in used])


def clear_motor_lists(rig: bpy.types.Object) -> None:
    """Clear all lists of a mechanism."""
    for kept in motor_lists(rig):
        kept.clear()


# ------------------------------------------------------------------------------------ their forces


def stop_motors(motors: Iterable[bpy.types.Object | None]) -> None:
    """Set the forces of motors to zero and disable them; writes only where they differ, since each write costs time."""
    for motor in motors:
        constraint: Any = None if motor is None else motor.rigid_body_constraint
        if constraint is None:
            continue
        for name in ("motor_lin_max_impulse", "motor_ang_max_impulse"):
            if getattr(constraint, name):
                setattr(constraint, name, 0.0)
        enable_constraint(constraint, False)


def stop_all_motors(rig: bpy.types.Object) -> None:
    """Set the forces of a mechanism's motors to zero, when its joint state is collected again.

    Preloads of springs are left out, since they are set only when a simulation begins.
    """
    lists = [record_of(empty).joint.motors for empty in parts(rig, "JOINT")]
    stop_motors(motor.empty for kept in (*force_lists(rig), *lists) for motor in kept)


def enable_constraint(constraint: bpy.types.RigidBodyConstraint, on: bool) -> None:
    """Enable a constraint, or disable an idle one, which then costs next to nothing.

    Unlike limits, this may be changed during a simulation.
    """
    if constraint.enabled != on:
        constraint.enabled = on


def enable_motors(motors: Iterable[KnuckleMotor], on: bool) -> None:
    """Enable or disable the constraints of motors."""
    for motor in motors:
        constraint = None if motor.empty is None else motor.empty.rigid_body_constraint
        if constraint is not None:
            enable_constraint(constraint, on)
