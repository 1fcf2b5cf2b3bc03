"""Rigid-body constraints of joints, from their records: types, bodies, stops, softness, springs, motors.

Note:
    Signs as measured in Blender: hinges and motors count the motion of the child when the child is the *first* object,
    sliders when the parent is. Limits count from the pose in which the simulation starts, and hinge limits of half a
    turn and beyond mean none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import bpy

from ...data.access import record_of, settings
from ...data.caching import joint_of
from ...data.conversion import has_stops, is_springy, stops
from ...data.properties.joint import KnuckleJoint
from ...data.properties.model import KnuckleModel
from ..world.anchor import Ends, joint_ends
from ..world.scale import Fresh, size_of
from ..world.solver_settings import SOFT_ABOVE
from .generic6dof import FAR, HALF_TURN, freedom, is_countable, limited, put_limit, put_several_stops, springs

#: Constraint types whose limits and targets hold for the child when the child is ``object1``.
CHILD_FIRST = {"HINGE", "MOTOR", "POINT", "FIXED"}
#: CFM below which the two other rotations of a hinge are locked: springs that stiff only oscillate.
LOCK_TILT_BELOW = 0.008
#: Largest distance (rad) of a hinge's stops, a little less than a turn, at which they are distinguishable.
_ALL_ROUND = 2.0 * math.pi - 0.05
#: Least angle (rad) before a stop from which its constraint must detect it: a frame's motion may be that far.
_ROOM = 0.7
#: Target velocity (m/s or rad/s) that a motor with a limited force never reaches.
NEVER_REACHED = 1e4


def constraint_type(joint: KnuckleJoint, cfm: float) -> Any:
    """Return the rigid-body constraint type for a joint's record.

    Joints with stops or springs are generic.

    Note:
        A generic constraint stops without overshoot; Blender's hinge goes as far as its velocity takes it in a step
        (0.05 rad at 30 rad/s) and is thrown back.
    """
    kinds = [dof.kind for dof in joint.dofs]
    if is_springy(joint) or _is_soft(joint, cfm) or _puts_stops(joint):
        return "GENERIC_SPRING"
    if len(kinds) == 1 and kinds[0] in _TYPES:
        return _TYPES[kinds[0]]
    return "GENERIC" if kinds else "FIXED"


_TYPES: dict[str, Any] = {"rotation": "HINGE", "translation": "SLIDER", "ball": "POINT"}


def _puts_stops(joint: KnuckleJoint) -> bool:
    """Return whether Blender's constraint represents any of a joint's stops."""
    lone = len(joint.dofs) == 1
    return has_stops(joint) and (joint.dofs[0].kind in {"rotation", "translation"} if lone else is_countable(joint))


def _is_soft(joint: KnuckleJoint, cfm: float) -> bool:
    return cfm > SOFT_ABOVE and [dof.kind for dof in joint.dofs] in (["rotation"], ["ball"])


def put_constraint(empty: bpy.types.Object, model: KnuckleModel, fresh: Fresh | None = None) -> None:
    """Set the empty's rigid-body constraint from its record and the mechanism's softness.

    Args:
        empty: The joint's empty.
        model: Settings of the mechanism.
        fresh: Defaults of new constraints, if the constraint is new.
    """
    joint = joint_of(empty)
    constraint = empty.rigid_body_constraint
    kind = constraint_type(joint, model.cfm)
    one, other = _sides(kind, joint, model.anchor)
    values: dict[str, Any] = {"type": kind, "object1": one, "object2": other, "disable_collisions": True}
    soft = _is_soft(joint, model.cfm)
    if soft:
        values |= _softness(model.erp, model.cfm, model.time_step, joint.dofs[0].kind == "rotation")
    elif kind.startswith("GENERIC"):
        values |= freedom(joint)
    if kind == "GENERIC_SPRING":
        values["spring_type"] = "SPRING2"
        values |= springs(joint, keep=soft)
    if fresh is not None and len(joint.dofs) == 1 and joint.dofs[0].kind == "rotation":
        other_kind, window = _hinge_stops(joint, soft, 0.0)
        fresh.put(constraint, values | {"type": other_kind or kind} | limited("ang_z", window), True)
        return  # type and stops are set already
    (fresh or Fresh()).put(constraint, values, fresh is not None)
    put_stops(empty)


def put_sides(constraint: bpy.types.RigidBodyConstraint, joint: KnuckleJoint, anchor: bpy.types.Object | None) -> None:
    """Set the two bodies of the constraint in the order in which it counts the child's motion."""
    constraint.object1, constraint.object2 = _sides(constraint.type, joint, anchor)


def _sides(kind: str, joint: KnuckleJoint, anchor: bpy.types.Object | None) -> Ends:
    parent, child = joint_ends(joint, anchor)
    lone_turn = len(joint.dofs) == 1 and joint.dofs[0].kind in {"rotation", "ball"}
    child_first = kind in CHILD_FIRST or (kind == "GENERIC_SPRING" and lone_turn)
    return (child, parent) if child_first else (parent, child)


@lru_cache(maxsize=16)
def _softness(erp: float, cfm: float, time_step: float, hinge: bool) -> Mapping[str, Any]:
    """Return the properties for ODE's ERP and CFM as springs: stiffness ERP / (step * CFM), damping 1 / CFM."""
    stiffness, damping = erp / (time_step * cfm), 1.0 / cfm
    tilt = hinge and cfm >= LOCK_TILT_BELOW
    values: dict[str, Any] = {}
    for axis in "xyz":
        values |= {f"use_limit_lin_{axis}": False, f"use_spring_{axis}": True}
        values |= {f"spring_stiffness_{axis}": stiffness, f"spring_damping_{axis}": damping}
        springy = tilt and axis != "z"
        values[f"use_spring_ang_{axis}"] = springy
        if springy:
            values |= {f"spring_stiffness_ang_{axis}": stiffness, f"spring_damping_ang_{axis}": damping}
        values |= limited(f"ang_{axis}", (0.0, 0.0) if hinge and axis != "z" and not springy else None)
    return values


def put_stops(empty: bpy.types.Object, start: Sequence[float] | None = None) -> None:
    """Set a joint's stops relative to its initial joint values, zero where unknown."""
    joint = joint_of(empty)
    constraint = empty.rigid_body_constraint
    if constraint is None or constraint.type in {"POINT", "FIXED"}:
        return
    if len(joint.dofs) != 1:
        if joint.dofs and is_countable(joint):
            put_several_stops(constraint, joint, [0.0] * len(joint.dofs) if start is None else start)
        return
    kind = joint.dofs[0].kind
    if kind not in {"rotation", "translation"}:
        return
    at = 0.0 if start is None else start[0]
    low, high = (None if stop is None else stop - at for stop in stops(joint.dofs[0]))
    if kind == "rotation":
        other_kind, window = _hinge_stops(joint, _is_soft(joint, settings(record_of(empty).model).cfm), at)
        if other_kind is not None:
            _put_type(constraint, other_kind)
        put_limit(constraint, "ang_z", window)
    elif low is None and high is None:
        put_limit(constraint, "lin_x", None)  # a slider without limits is free along its axis, and never about it
    else:
        size = size_of(record_of(empty).model)  # Blender counts in the world's lengths
        low, high = -FAR if low is None else low * size, FAR if high is None else high * size
        put_limit(constraint, "lin_x", (max(low, -FAR), min(high, FAR)))


def _hinge_stops(joint: KnuckleJoint, soft: bool, at: float) -> tuple[Any, tuple[float, float] | None]:
    """Return the constraint type (None where it is settled) and the limits (rad) for the stops of a lone hinge.

    Args:
        joint: The joint's record.
        soft: Whether it is built from springs.
        at: Initial joint value (rad).
    """
    low, high = (None if stop is None else stop - at for stop in stops(joint.dofs[0]))
    window = None if len(joint.far_stops) and is_counted(joint, at) else hinge_window(low, high)
    if not (soft or is_springy(joint)):
        return "HINGE" if window is None or _is_wide(window) else "GENERIC_SPRING", window
    return None, None if window is None else (max(window[0], -HALF_TURN), min(window[1], HALF_TURN))


def is_far_round(joint: KnuckleJoint, start: float) -> bool:
    """Return whether a lone hinge has stops beyond the range of its constraint, for an initial joint value (rad).

    They get constraints of their own (``counted_stops``).
    """
    return any(far > HALF_TURN for far in _ahead(joint, start)) and min(_ahead(joint, start)) < math.inf


def is_counted(joint: KnuckleJoint, start: float) -> bool:
    """Return whether those constraints hold all stops of a hinge, from far enough, without the hinge's own limits."""
    return is_far_round(joint, start) and all(
        far == math.inf or room_before(far) >= _ROOM for far in _ahead(joint, start)
    )


def _ahead(joint: KnuckleJoint, start: float) -> list[float]:
    """Return how far the stops of a lone hinge are from where a run begins; infinite where there is none."""
    if [dof.kind for dof in joint.dofs] != ["rotation"]:
        return [0.0]
    lower, upper = stops(joint.dofs[0])
    return [math.inf if stop is None else way * (stop - start) for stop, way in ((lower, -1.0), (upper, 1.0))]


def room_before(ahead: float) -> float:
    """Return the angle (rad) before a stop from which a constraint detects it within half a turn of its start.

    Args:
        ahead: Distance (rad) of the stop from the start.
    """
    return wrapped(ahead) + HALF_TURN


def wrapped(angle: float) -> float:
    """Return an angle (rad) within half a turn."""
    return (angle + math.pi) % (2.0 * math.pi) - math.pi


def hinge_window(low: float | None, high: float | None) -> tuple[float, float] | None:
    """Return the limits (rad) of a lone hinge for stops counted from the start; None for a free hinge.

    Note:
        Blender counts no turns: of the angles a turn apart its hinge takes the one nearer to its limits. Stops less
        than a turn apart hold wherever they are, and a single one gets another a turn away.
    """
    if low is None and high is None:
        return None
    if low is None or high is None:
        at = high if low is None else low
        if at is None or abs(at) > _ALL_ROUND:
            return None
        low, high = (at - _ALL_ROUND, at) if low is None else (at, at + _ALL_ROUND)
    elif high - low > _ALL_ROUND:
        return None
    return (low, high) if max(-low, high) <= 2.0 * math.pi else None


def _is_wide(window: tuple[float, float]) -> bool:
    """Return whether limits are beyond half a turn, which only Blender's hinge accepts."""
    return max(-window[0], window[1]) > HALF_TURN


def _put_type(constraint: bpy.types.RigidBodyConstraint, kind: Any) -> None:
    if constraint.type != kind:
        constraint.type = kind


def turns_too_far(joint: KnuckleJoint, start: float) -> bool:
    """Return whether a lone hinge has stops that do not hold in a simulation from an initial joint value (rad).

    Those are stops a turn or more apart, or a single one, without constraints of their own.
    """
    if [dof.kind for dof in joint.dofs] != ["rotation"] or is_counted(joint, start):
        return False
    lower, upper = stops(joint.dofs[0])
    if lower is None or upper is None:
        return (lower is None) != (upper is None)
    return upper - lower > _ALL_ROUND


def put_preload(joint: KnuckleJoint, start: float) -> None:
    """Have a joint's spring rest where its record says in a run that begins at ``start``, where Blender has it at rest.

    A motor that never gets to its speed pushes with its whole force: that of the spring between the two.
    """
    constraint: Any = joint.preload.rigid_body_constraint
    dof = joint.dofs[0]
    push = dof.stiffness * (dof.rest - start)
    kind = "ang" if dof.kind == "rotation" else "lin"
    setattr(constraint, f"motor_{kind}_target_velocity", math.copysign(NEVER_REACHED, push))
    setattr(constraint, f"motor_{kind}_max_impulse", abs(push))


def put_motor(empty: bpy.types.Object, joint: KnuckleJoint, anchor: bpy.types.Object | None) -> None:
    """Configure a motor's empty (X on the axis) as a motor without force."""
    constraint = empty.rigid_body_constraint
    constraint.type = "MOTOR"
    put_sides(constraint, joint, anchor)
    constraint.disable_collisions = True
    turns = joint.dofs[0].kind == "rotation"
    constraint.use_motor_ang, constraint.use_motor_lin = turns, not turns
    kind = "ang" if turns else "lin"
    setattr(constraint, f"motor_{kind}_target_velocity", 0.0)
    setattr(constraint, f"motor_{kind}_max_impulse", 0.0)
