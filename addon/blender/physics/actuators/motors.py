"""The motors of a model: empties that push its bodies, each on the list of what it pushes for.

Whenever a model is gathered anew, all are told to push with nothing, and what nobody needs any more is struck off its
list. That it is on no list is what tells it from the others: it leaves the world where a run begins (``stripping``),
and at the latest when physics is cleared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import bpy

from ...data.access import record_of, settings
from ...data.properties.joint import KnuckleJoint, KnuckleMotor
from ...data.queries import helper_collection, parts
from ..bodies.inertia import welds


def new_motor(rig: bpy.types.Object, name: str, like: bpy.types.Object | None = None) -> bpy.types.Object:
    """Make an empty for a motor, which nothing is drawn of.

    It goes with the rig, or with what another empty (``like``) goes with, and is where that is.
    """
    motor = bpy.data.objects.new(name, None)
    record_of(motor).model = rig
    motor.empty_display_size = 0.0
    motor.rotation_mode = "QUATERNION"
    motor.parent = rig if like is None else like.parent
    if like is not None:
        motor.parent_type, motor.parent_bone = like.parent_type, like.parent_bone
        motor.matrix_parent_inverse, motor.matrix_basis = like.matrix_parent_inverse, like.matrix_basis
    # not hidden, and selectable: deleted with the model and before its bodies, or Blender crashes at what it leaves
    helper_collection(rig).objects.link(motor)
    return motor


def is_lost(scene: bpy.types.Scene, motor: bpy.types.Object | None) -> bool:
    """Return whether there is none, or the user deleted it: then it is nobody's from now on."""
    if motor is not None and scene not in motor.users_scene:
        record_of(motor).model = None
        return True
    return motor is None


# ------------------------------------------------------------------------------------ their lists


def force_lists(rig: bpy.types.Object) -> Iterator[Any]:
    """The lists of motors that push or brake by themselves, and not as servos."""
    for empty in parts(rig, "JOINT"):
        yield record_of(empty).joint.losses
        yield record_of(empty).joint.pushes
    for restraint in settings(rig).restraints:
        yield restraint.motors
    yield settings(rig).throws


def motor_lists(rig: bpy.types.Object) -> Iterator[Any]:
    """All lists of a model that have motors, and stops with constraints of their own."""
    yield from force_lists(rig)
    for empty in parts(rig, "JOINT"):
        yield record_of(empty).joint.motors
        yield record_of(empty).joint.far_stops


def motors_of(joint: KnuckleJoint) -> list[bpy.types.Object]:
    """The empties of all motors of a joint, and of stops that have their own."""
    several = [*joint.motors, *joint.losses, *joint.pushes, *joint.far_stops]
    found = (joint.motor, joint.preload, *(motor.empty for motor in several))
    return [empty for empty in found if empty is not None]


def listed(rig: bpy.types.Object) -> list[bpy.types.Object]:
    """The empties of all motors of a model that anything needs."""
    found = [motor for empty in parts(rig, "JOINT") for motor in motors_of(record_of(empty).joint)]
    other = [*settings(rig).throws, *(motor for each in settings(rig).restraints for motor in each.motors)]
    return found + [motor.empty for motor in other if motor.empty is not None]


def unlisted(scene: bpy.types.Scene, rig: bpy.types.Object) -> list[bpy.types.Object]:
    """The empties of a model in a scene's world that nothing needs any more."""
    held = scene.rigidbody_world.constraints
    known = {*listed(rig), *welds(rig)}
    objects = () if held is None else held.objects
    return [obj for obj in objects if _is_helper(obj, rig) and not record_of(obj).is_apart and obj not in known]


def _is_helper(obj: bpy.types.Object, rig: bpy.types.Object) -> bool:
    record = record_of(obj)
    return record.model == rig and record.role == "NONE" and record.flywheel_of is None


def strike_off(kept: Any, which: Collection[int]) -> None:
    """Take the motors at some places off their list."""
    for place in sorted(which, reverse=True):
        kept.remove(place)


def have_numbers(kept: Any, wanted: Iterable[int]) -> None:
    """Have a list hold one motor of each number: those it has stay, others are struck off, and what is missing has no
    empty yet."""
    missing, others = list(wanted), []
    for place, motor in enumerate(kept):
        if motor.number in missing:
            missing.remove(motor.number)
        else:
            others.append(place)
    strike_off(kept, others)
    for number in missing:
        kept.add().number = number


def keep_only(kept: Any, used: Collection[bpy.types.Object]) -> None:
    """Strike off a list what is not in use."""
    strike_off(kept, [place for place, motor in enumerate(kept) if motor.empty not in used])


def forget_motors(rig: bpy.types.Object) -> None:
    """Have all lists of a model be empty."""
    for kept in motor_lists(rig):
        kept.clear()


# ------------------------------------------------------------------------------------ what they do


def still(motors: Iterable[bpy.types.Object | None]) -> None:
    """Have motors push with nothing. Each write costs: those that do are let be."""
    for motor in motors:
        constraint: Any = None if motor is None else motor.rigid_body_constraint
        for name in ("motor_lin_max_impulse", "motor_ang_max_impulse") if constraint is not None else ():
            if getattr(constraint, name):
                setattr(constraint, name, 0.0)


def still_all(rig: bpy.types.Object) -> None:
    """When a model is gathered anew: nothing pushes by what it was told before.

    Not those of springs at rest elsewhere, which are told where a run begins and not again.
    """
    lists = [record_of(empty).joint.motors for empty in parts(rig, "JOINT")]
    still(motor.empty for kept in (*force_lists(rig), *lists) for motor in kept)


def switch_motors(motors: Iterable[KnuckleMotor], on: bool) -> None:
    """Have the world look at motors, or not: one that is off costs next to nothing.

    Unlike limits, this may be changed within a run.
    """
    for motor in motors:
        constraint = None if motor.empty is None else motor.empty.rigid_body_constraint
        if constraint is not None and constraint.enabled != on:
            constraint.enabled = on
