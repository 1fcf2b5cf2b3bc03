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

from ....core.accuracy import STEPS_PER_RADIAN
from ....core.transforms import wrap_angle
from ...data.access import constraint_of, record_of, settings
from ...data.caching import joint_record
from ...data.conversion import has_spring_or_damper, joint_has_stops, read_stops
from ...data.properties.joint import KnuckleJoint
from ...data.properties.model import KnuckleModel
from ..world.anchor import SOFT_CFM, JointEnds, joint_ends, ode_time_step
from ..world.scale import NewObjectDefaults, model_scale
from .generic6dof import (
    HALF_TURN,
    UNLIMITED_DISTANCE,
    axis_limit_settings,
    axis_lock_settings,
    has_measurable_coordinates,
    spring_settings,
    write_axis_limit,
    write_multi_dof_stops,
)

#: Constraint types whose limits and targets hold for the child when the child is ``object1``.
CHILD_FIRST = {"HINGE", "MOTOR", "POINT", "FIXED"}
#: CFM below which the two other rotations of a hinge are locked, where steps are too few for springs that stiff.
MIN_TILT_CFM = 0.008
#: Softness of these rotations, as a multiple of the file's, up to which they are springs.
_EXACT_SOFTNESS = 1.25
#: Largest distance (rad) of a hinge's stops, a little less than a turn, at which they are distinguishable.
_MAX_HINGE_RANGE = 2.0 * math.pi - 0.05
#: Least angle (rad) before a stop from which its constraint must detect it: a frame's motion may be that far.
_MIN_STOP_RANGE = 0.7
#: Target velocity (m/s or rad/s) that a motor with a limited force never reaches.
UNREACHABLE_VELOCITY = 1e4


def constraint_type(joint: KnuckleJoint, cfm: float) -> Any:
    """Return the rigid-body constraint type for a joint's record.

    Joints with stops or springs are generic.

    Note:
        A generic constraint stops without overshoot; Blender's hinge goes as far as its velocity takes it in a step
        (0.05 rad at 30 rad/s) and is thrown back.
    """
    kinds = [dof.kind for dof in joint.dofs]
    if has_spring_or_damper(joint) or _is_soft(joint, cfm) or _has_constraint_stops(joint):
        return "GENERIC_SPRING"
    if len(kinds) == 1 and kinds[0] in _CONSTRAINT_TYPES:
        return _CONSTRAINT_TYPES[kinds[0]]
    return "GENERIC" if kinds else "FIXED"


_CONSTRAINT_TYPES: dict[str, Any] = {"rotation": "HINGE", "translation": "SLIDER", "ball": "POINT"}


def _has_constraint_stops(joint: KnuckleJoint) -> bool:
    """Return whether Blender's constraint represents any of a joint's stops."""
    lone = len(joint.dofs) == 1
    return joint_has_stops(joint) and (
        joint.dofs[0].kind in {"rotation", "translation"} if lone else has_measurable_coordinates(joint)
    )


def _is_soft(joint: KnuckleJoint, cfm: float) -> bool:
    return cfm > SOFT_CFM and [dof.kind for dof in joint.dofs] in (["rotation"], ["ball"])


def write_constraint(empty: bpy.types.Object, model: KnuckleModel, fresh: NewObjectDefaults | None = None) -> None:
    """Set the empty's rigid-body constraint from its record and the mechanism's softness.

    Args:
        empty: The joint's empty.
        model: Settings of the mechanism.
        fresh: Defaults of new constraints, if the constraint is new.
    """
    joint = joint_record(empty)
    constraint = empty.rigid_body_constraint
    kind = constraint_type(joint, model.cfm)
    one, other = _ordered_bodies(kind, joint, model.anchor)
    values: dict[str, Any] = {"type": kind, "object1": one, "object2": other, "disable_collisions": True}
    soft = _is_soft(joint, model.cfm)
    if soft:
        values |= _softness(model.erp, model.cfm, ode_time_step(model), joint.dofs[0].kind == "rotation")
    elif kind.startswith("GENERIC"):
        values |= axis_lock_settings(joint)
    if kind == "GENERIC_SPRING":
        values["spring_type"] = "SPRING2"
        values |= spring_settings(joint, keep=soft)
    if fresh is not None and len(joint.dofs) == 1 and joint.dofs[0].kind == "rotation":
        other_kind, window = _hinge_stops(joint, soft, 0.0)
        fresh.put(constraint, values | {"type": other_kind or kind} | axis_limit_settings("ang_z", window), True)
        return  # type and stops are set already
    (fresh or NewObjectDefaults()).put(constraint, values, fresh is not None)
    write_stops(empty)


def gets_other_type(empty: bpy.types.Object, model: KnuckleModel) -> bool:
    """Return whether ``write_constraint`` would change the type of an empty's constraint."""
    joint, constraint = joint_record(empty), empty.rigid_body_constraint
    if constraint is None:
        return False
    kind: str = constraint_type(joint, model.cfm)
    if [dof.kind for dof in joint.dofs] == ["rotation"]:
        kind = _hinge_stops(joint, _is_soft(joint, model.cfm), 0.0)[0] or kind
    return constraint.type != kind


def write_constraint_bodies(
    constraint: bpy.types.RigidBodyConstraint, joint: KnuckleJoint, anchor: bpy.types.Object | None
) -> None:
    """Set the two bodies of the constraint in the order in which it counts the child's motion."""
    constraint.object1, constraint.object2 = _ordered_bodies(constraint.type, joint, anchor)


def _ordered_bodies(kind: str, joint: KnuckleJoint, anchor: bpy.types.Object | None) -> JointEnds:
    parent, child = joint_ends(joint, anchor)
    lone_turn = len(joint.dofs) == 1 and joint.dofs[0].kind in {"rotation", "ball"}
    child_first = kind in CHILD_FIRST or (kind == "GENERIC_SPRING" and lone_turn)
    return (child, parent) if child_first else (parent, child)


@lru_cache(maxsize=16)
def _softness(erp: float, cfm: float, time_step: float, hinge: bool) -> Mapping[str, Any]:
    """Return the properties for ODE's ERP and CFM as springs: stiffness ERP / (step * CFM), damping 1 / CFM."""
    stiffness, damping = erp / (time_step * cfm), 1.0 / cfm
    values: dict[str, Any] = {}
    for axis in "xyz":
        values |= {f"use_limit_lin_{axis}": False, f"use_spring_{axis}": True}
        values |= {f"spring_stiffness_{axis}": stiffness, f"spring_damping_{axis}": damping}
        values |= {f"use_spring_ang_{axis}": False} | axis_limit_settings(f"ang_{axis}", None)
    if hinge:
        values |= _tilt_softness(erp, cfm, time_step, cfm >= MIN_TILT_CFM)
    return values


@lru_cache(maxsize=16)
def _tilt_softness(erp: float, cfm: float, time_step: float, springy: bool) -> Mapping[str, Any]:
    """Return the properties of a hinge's two other rotations: springs, or locked."""
    values: dict[str, Any] = {}
    for axis in "xy":
        values[f"use_spring_ang_{axis}"] = springy
        values |= axis_limit_settings(f"ang_{axis}", None if springy else (0.0, 0.0))
        if springy:
            values |= {f"spring_stiffness_ang_{axis}": erp / (time_step * cfm), f"spring_damping_ang_{axis}": 1.0 / cfm}
    return values


def write_tilt_softness(empty: bpy.types.Object, model: KnuckleModel, inertia: float, rate: float) -> None:
    """Make the two other rotations of a soft hinge springs, as ODE's are, or lock them.

    Bullet limits such a spring to an angular frequency of a quarter of the steps per second. Where that makes it much
    softer than in the file, feet of walkers give way, and it is locked instead.

    Args:
        empty: The joint.
        model: Settings of the mechanism.
        inertia: Reduced moment of inertia (kg m2) of its bodies, as Bullet estimates it.
        rate: Steps per second.
    """
    constraint, joint = empty.rigid_body_constraint, joint_record(empty)
    if constraint is None or not _is_soft(joint, model.cfm) or joint.dofs[0].kind != "rotation":
        return
    time_step = ode_time_step(model)
    exact = model.erp / (time_step * model.cfm) <= _EXACT_SOFTNESS * inertia * (rate / STEPS_PER_RADIAN) ** 2
    values = _tilt_softness(model.erp, model.cfm, time_step, exact or model.cfm >= MIN_TILT_CFM)
    if constraint.use_spring_ang_x != values["use_spring_ang_x"]:
        NewObjectDefaults().put(constraint, values, False)


def write_stops(empty: bpy.types.Object, start: Sequence[float] | None = None) -> None:
    """Set a joint's stops relative to its initial joint values, zero where unknown."""
    joint = joint_record(empty)
    constraint = empty.rigid_body_constraint
    if constraint is None or constraint.type in {"POINT", "FIXED"}:
        return
    if len(joint.dofs) != 1:
        if joint.dofs and has_measurable_coordinates(joint):
            write_multi_dof_stops(constraint, joint, [0.0] * len(joint.dofs) if start is None else start)
        return
    kind = joint.dofs[0].kind
    if kind not in {"rotation", "translation"}:
        return
    at = 0.0 if start is None else start[0]
    low, high = (None if stop is None else stop - at for stop in read_stops(joint.dofs[0]))
    if kind == "rotation":
        other_kind, window = _hinge_stops(joint, _is_soft(joint, settings(record_of(empty).model).cfm), at)
        if other_kind is not None:
            _write_type(constraint, other_kind)
        write_axis_limit(constraint, "ang_z", window)
    elif low is None and high is None:
        write_axis_limit(
            constraint, "lin_x", None
        )  # a slider without limits is free along its axis, and never about it
    else:
        size = model_scale(record_of(empty).model)  # Blender counts in the world's lengths
        low, high = (
            -UNLIMITED_DISTANCE if low is None else low * size,
            UNLIMITED_DISTANCE if high is None else high * size,
        )
        write_axis_limit(constraint, "lin_x", (max(low, -UNLIMITED_DISTANCE), min(high, UNLIMITED_DISTANCE)))


def _hinge_stops(joint: KnuckleJoint, soft: bool, at: float) -> tuple[Any, tuple[float, float] | None]:
    """Return the constraint type (None where it is settled) and the limits (rad) for the stops of a lone hinge.

    Args:
        joint: The joint's record.
        soft: Whether it is built from springs.
        at: Initial joint value (rad).
    """
    low, high = (None if stop is None else stop - at for stop in read_stops(joint.dofs[0]))
    window = (
        None if len(joint.limit_constraints) and are_multi_turn_stops_enough(joint, at) else hinge_limits(low, high)
    )
    if not (soft or has_spring_or_damper(joint)):
        return "HINGE" if window is None or _exceeds_half_turn(window) else "GENERIC_SPRING", window
    return None, None if window is None else (max(window[0], -HALF_TURN), min(window[1], HALF_TURN))


def needs_multi_turn_stops(joint: KnuckleJoint, start: float) -> bool:
    """Return whether a lone hinge has stops beyond the range of its constraint, for an initial joint value (rad).

    They get constraints of their own (``multi_turn_stops``).
    """
    return (
        any(far > HALF_TURN for far in _stop_distances(joint, start)) and min(_stop_distances(joint, start)) < math.inf
    )


def are_multi_turn_stops_enough(joint: KnuckleJoint, start: float) -> bool:
    """Return whether those constraints hold all stops of a hinge, from far enough, without the hinge's own limits."""
    return needs_multi_turn_stops(joint, start) and all(
        far == math.inf or stop_detection_range(far) >= _MIN_STOP_RANGE for far in _stop_distances(joint, start)
    )


def _stop_distances(joint: KnuckleJoint, start: float) -> list[float]:
    """Return the distances (rad) of a lone hinge's stops from an initial joint value; infinite for an absent stop."""
    if [dof.kind for dof in joint.dofs] != ["rotation"]:
        return [0.0]
    lower, upper = read_stops(joint.dofs[0])
    return [math.inf if stop is None else way * (stop - start) for stop, way in ((lower, -1.0), (upper, 1.0))]


def stop_detection_range(ahead: float) -> float:
    """Return the angle (rad) before a stop from which a constraint detects it within half a turn of its start.

    Args:
        ahead: Distance (rad) of the stop from the start.
    """
    return wrap_angle(ahead) + HALF_TURN


def hinge_limits(low: float | None, high: float | None) -> tuple[float, float] | None:
    """Return the limits (rad) of a lone hinge for stops counted from the start; None for a free hinge.

    Note:
        Blender counts no turns: of the angles a turn apart its hinge takes the one nearer to its limits. Stops less
        than a turn apart hold wherever they are, and a single one gets another a turn away.
    """
    if low is None and high is None:
        return None
    if low is None or high is None:
        at = high if low is None else low
        if at is None or abs(at) > _MAX_HINGE_RANGE:
            return None
        low, high = (at - _MAX_HINGE_RANGE, at) if low is None else (at, at + _MAX_HINGE_RANGE)
    elif high - low > _MAX_HINGE_RANGE:
        return None
    return (low, high) if max(-low, high) <= 2.0 * math.pi else None


def _exceeds_half_turn(window: tuple[float, float]) -> bool:
    """Return whether limits are beyond half a turn, which only Blender's hinge accepts."""
    return max(-window[0], window[1]) > HALF_TURN


def _write_type(constraint: bpy.types.RigidBodyConstraint, kind: Any) -> None:
    if constraint.type != kind:
        constraint.type = kind


def has_ineffective_stops(joint: KnuckleJoint, start: float) -> bool:
    """Return whether a lone hinge has stops that do not hold in a simulation from an initial joint value (rad).

    Those are stops a turn or more apart, or a single one, without constraints of their own.
    """
    if [dof.kind for dof in joint.dofs] != ["rotation"] or are_multi_turn_stops_enough(joint, start):
        return False
    lower, upper = read_stops(joint.dofs[0])
    if lower is None or upper is None:
        return (lower is None) != (upper is None)
    return upper - lower > _MAX_HINGE_RANGE


def write_preload(joint: KnuckleJoint, start: float) -> None:
    """Set the preload of a joint's spring: Blender has its rest at ``start``, the record elsewhere.

    A motor with an unreachable target velocity applies its whole ``max_impulse``: the spring's force between the two.
    """
    constraint: Any = joint.spring_preload.rigid_body_constraint
    dof = joint.dofs[0]
    push = dof.stiffness * (dof.rest - start)
    kind = "ang" if dof.kind == "rotation" else "lin"
    setattr(constraint, f"motor_{kind}_target_velocity", math.copysign(UNREACHABLE_VELOCITY, push))
    setattr(constraint, f"motor_{kind}_max_impulse", abs(push))


def write_motor(empty: bpy.types.Object, joint: KnuckleJoint, anchor: bpy.types.Object | None) -> None:
    """Configure a motor's empty (X on the axis) as a motor without force."""
    constraint = constraint_of(empty)
    constraint.type, constraint.enabled = "MOTOR", True
    write_constraint_bodies(constraint, joint, anchor)
    constraint.disable_collisions = True
    turns = joint.dofs[0].kind == "rotation"
    constraint.use_motor_ang, constraint.use_motor_lin = turns, not turns
    kind = "ang" if turns else "lin"
    setattr(constraint, f"motor_{kind}_target_velocity", 0.0)
    setattr(constraint, f"motor_{kind}_max_impulse", 0.0)
