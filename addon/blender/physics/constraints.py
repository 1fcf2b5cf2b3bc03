"""From a joint's record to Blender's rigid-body constraint: types, sides, stops, softness, motors.

The signs are Blender's as measured: hinges, generic rotations and motors count the way the child moves
when the child is the *first* object, slides when the parent is. Limits count from the pose in which the
simulation starts, and hinge limits of half a turn and beyond mean none.
"""

from __future__ import annotations

import math
from typing import Any

import bpy
import numpy as np

from ...model.records import Array
from ..access import record_of
from ..joint_axes import constraint_turn
from ..properties import KnuckleJoint, KnuckleModel
from ..records import stops
from .anchor import ends_of

#: Constraint types whose limits and targets hold for the child when the child is ``object1``.
CHILD_FIRST = {"HINGE", "GENERIC_SPRING", "MOTOR", "POINT", "FIXED"}
#: Above this CFM a joint of ODE gives visibly under load and is built from springs.
SOFT_ABOVE = 5e-5
#: Below this CFM the two other rotations of a hinge are locked: springs that stiff only shake.
LOCK_TILT_BELOW = 0.008
_HALF_TURN = math.pi - 1e-3
#: An axis that leans this far (sine) towards one of the constraint's needs that one free.
_ALONG = 1e-3


def constraint_type(joint: KnuckleJoint, cfm: float) -> Any:
    """The rigid-body constraint type for a joint's record."""
    kinds = [dof.kind for dof in joint.dofs]
    soft = cfm > SOFT_ABOVE
    if kinds == ["rotation"]:
        return "GENERIC_SPRING" if soft else "HINGE"
    if kinds == ["translation"]:
        return "SLIDER"
    if kinds == ["ball"]:
        return "GENERIC_SPRING" if soft else "POINT"
    return "GENERIC" if kinds else "FIXED"


def put_constraint(empty: bpy.types.Object, model: KnuckleModel) -> None:
    """Set the empty's rigid-body constraint from its record and the model's softness."""
    joint = record_of(empty).joint
    constraint = empty.rigid_body_constraint
    kind = constraint_type(joint, model.cfm)
    constraint.type = kind
    put_sides(constraint, joint, model.anchor)
    constraint.disable_collisions = True
    if kind == "GENERIC_SPRING":
        put_softness(constraint, model, hinge=joint.dofs[0].kind == "rotation")
    elif kind == "GENERIC":
        put_freedom(constraint, joint)
    put_stops(empty)


def put_sides(constraint: bpy.types.RigidBodyConstraint, joint: KnuckleJoint, anchor: bpy.types.Object | None) -> None:
    """Give the constraint its two bodies in the order that makes coordinates count the child's way."""
    parent, child = ends_of(joint, anchor)
    first, second = (child, parent) if constraint.type in CHILD_FIRST else (parent, child)
    constraint.object1, constraint.object2 = first, second


def put_freedom(constraint: bpy.types.RigidBodyConstraint, joint: KnuckleJoint) -> None:
    """Lock every axis of a joint of several degrees that none of them moves along or about. Its stops are not set:
    Blender would count them from wherever the joint stands when the run begins.

    Blender's generic constraint turns about Z, then Y, then X of its second body in its first, as measured: a joint's
    first turn, which stands on Z, comes first where the parent is the first object."""
    turn = constraint_turn(joint)
    free: dict[str, Array] = {"lin": np.zeros(3, dtype=bool), "ang": np.zeros(3, dtype=bool)}
    for dof in joint.dofs:
        if dof.kind in {"ball", "free"}:
            free["ang"][:] = True
            free["lin"] |= dof.kind == "free"
            continue
        axis = np.array(dof.axis, dtype=np.float64)
        along = np.abs(axis if turn is None else axis @ turn[:3, :3]) > _ALONG * np.linalg.norm(axis)
        if dof.kind in {"rotation", "screw"}:
            free["ang"] |= along
        if dof.kind in {"translation", "screw"}:
            free["lin"] |= along
    for kind, open_axes in free.items():
        for axis_name, is_open in zip("xyz", open_axes, strict=True):
            setattr(constraint, f"use_limit_{kind}_{axis_name}", not is_open)
            setattr(constraint, f"limit_{kind}_{axis_name}_lower", 0.0)
            setattr(constraint, f"limit_{kind}_{axis_name}_upper", 0.0)


def put_softness(constraint: bpy.types.RigidBodyConstraint, model: KnuckleModel, hinge: bool) -> None:
    """ODE's ERP and CFM as springs: stiffness ERP / (step * CFM), damping 1 / CFM."""
    stiffness = model.erp / (model.time_step * model.cfm)
    damping = 1.0 / model.cfm
    constraint.spring_type = "SPRING2"
    tilt = hinge and model.cfm >= LOCK_TILT_BELOW
    for axis in "xyz":
        setattr(constraint, f"use_limit_lin_{axis}", False)
        setattr(constraint, f"use_spring_{axis}", True)
        setattr(constraint, f"spring_stiffness_{axis}", stiffness)
        setattr(constraint, f"spring_damping_{axis}", damping)
        springy = tilt and axis != "z"
        setattr(constraint, f"use_spring_ang_{axis}", springy)
        if springy:
            setattr(constraint, f"spring_stiffness_ang_{axis}", stiffness)
            setattr(constraint, f"spring_damping_ang_{axis}", damping)
        locked = hinge and axis != "z" and not springy
        setattr(constraint, f"use_limit_ang_{axis}", locked)
        if locked:
            setattr(constraint, f"limit_ang_{axis}_lower", 0.0)
            setattr(constraint, f"limit_ang_{axis}_upper", 0.0)


def put_stops(empty: bpy.types.Object, start: float = 0.0) -> None:
    """Set the stops of a one-degree joint, counted from its coordinate ``start`` when the run begins.

    Writes only what differs: a write makes Blender forget its simulation."""
    joint = record_of(empty).joint
    constraint = empty.rigid_body_constraint
    if len(joint.dofs) != 1 or constraint is None or constraint.type in {"POINT", "FIXED"}:
        return
    lower, upper = stops(joint.dofs[0])
    kind = joint.dofs[0].kind
    if kind == "rotation":
        low = -_HALF_TURN if lower is None else max(lower - start, -_HALF_TURN)
        high = _HALF_TURN if upper is None else min(upper - start, _HALF_TURN)
        name, wanted = "ang_z", lower is not None or upper is not None
    elif kind == "translation":
        low = -1e6 if lower is None else lower - start
        high = 1e6 if upper is None else upper - start
        name, wanted = "lin_x", lower is not None or upper is not None
    else:
        return
    values: dict[str, float] = {f"use_limit_{name}": wanted}
    if wanted:
        values |= {f"limit_{name}_lower": low, f"limit_{name}_upper": high}
    if constraint.type == "SLIDER" and not wanted:
        # a slider without limits is free along its axis, and never about it
        values |= {"use_limit_lin_x": False}
    for key, value in values.items():
        now = getattr(constraint, key)
        if now != value and abs(now - value) > 1e-6:
            setattr(constraint, key, value)


def put_motor(empty: bpy.types.Object, joint: KnuckleJoint, anchor: bpy.types.Object | None) -> None:
    """Set up a motor's empty (X on the axis) as a motor that does nothing yet."""
    constraint = empty.rigid_body_constraint
    constraint.type = "MOTOR"
    put_sides(constraint, joint, anchor)
    constraint.disable_collisions = True
    turns = joint.dofs[0].kind == "rotation"
    constraint.use_motor_ang, constraint.use_motor_lin = turns, not turns
    kind = "ang" if turns else "lin"
    setattr(constraint, f"motor_{kind}_target_velocity", 0.0)
    setattr(constraint, f"motor_{kind}_max_impulse", 0.0)
