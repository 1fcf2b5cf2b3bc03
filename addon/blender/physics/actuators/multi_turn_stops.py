"""Stops of hinges beyond half a turn, and single stops, which Blender's constraints cannot represent.

Each such stop gets a constraint of its own that limits nothing else and is enabled only while the hinge, whose whole
turns are counted here from frame to frame, is near enough for its angle to be unambiguous. Limits cannot be changed
during a simulation, ``enabled`` can.

Note:
    Blender's constraints measure an angle within half a turn and count no turns. Its hinge goes farther, but passes a
    stop by what its velocity moves it in a step; a single stop was passed altogether at 30 rad/s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

from ....core.model import Array
from ....core.transforms import wrap_angle
from ...data.access import record_of, settings
from ...data.conversion import read_stops
from ..constraints.constraints import needs_multi_turn_stops, stop_detection_range, write_constraint_bodies
from ..constraints.generic6dof import HALF_TURN, write_axis_limit
from .actuator import Actuator, EmptyPoses, SimulationState
from .joint_state import JointStateArrays, has_both_bodies
from .motors import add_constraint_to_world, create_motor, is_motor_missing

_SUFFIX = " Stop"
#: Angle (rad) before the one at which its constraint would measure the hinge beyond the stop, from which it is off.
_MARGIN = 0.1
_LIMIT_AXES = [f"{kind}_{letter}" for kind in ("lin", "ang") for letter in "xyz"]


class MultiTurnStops(Actuator):
    """Stops of one hinge during a simulation. ``number`` is the joint's index in the joint state."""

    def __init__(self, joint_state: JointStateArrays, number: int, is_needed: bool) -> None:
        self.joint_state, self.number, self.is_needed = joint_state, number, is_needed
        self.joint = record_of(joint_state.empties[number]).joint
        self._start = self._turned = 0.0
        self._counts: bool | None = None  # unknown before a simulation begins

    def prepare(self, scene: bpy.types.Scene) -> None:
        """Create the missing constraints, if the simulation needs them."""
        if self.is_needed:
            _ensure_constraints(scene, self.joint_state, self.joint_state.empties[self.number])

    def start(self, state: SimulationState) -> EmptyPoses:
        """Set the limits for a simulation that begins at the joint's value, whole turns included."""
        start = self._start = self._turned = float(state.values[self.joint_state.joints[self.number]][0])
        self._counts = needs_multi_turn_stops(self.joint, start)
        for constraint, stop, way in self._held():
            if stop is not None:
                at = wrap_angle(way * (stop - start))
                write_axis_limit(constraint, "ang_z", (-HALF_TURN, at) if way > 0 else (-at, HALF_TURN))
        return {}

    def update(self, state: SimulationState) -> None:
        """Count turns before each step, and enable the stops that are near."""
        gone = wrap_angle(float(state.coordinates[self.number]) - self._turned)
        self._turned += gone
        for constraint, stop, way in self._held():
            wanted = False
            if self._counts is None:
                continue  # an undo during a simulation: the enabled ones stay
            if self._counts and stop is not None:
                ahead = way * (stop - self._turned)
                known = stop_detection_range(way * (stop - self._start)) - _MARGIN
                wanted = max(ahead, ahead - way * gone) < known
            if constraint.enabled != wanted:
                constraint.enabled = wanted

    def _held(self) -> Iterator[tuple[Any, float | None, float]]:
        """Yield constraints with their stop and direction (1 for upper stops, -1 for lower).

        A stop (rad) is None if the user removed it.
        """
        for kept in self.joint.limit_constraints:
            stop = read_stops(self.joint.dofs[0])[kept.dof_index]
            constraint = None if kept.empty is None else kept.empty.rigid_body_constraint
            if constraint is not None:
                yield constraint, stop, 1.0 if kept.dof_index else -1.0


def multi_turn_stops(joint_state: JointStateArrays, starts: Array) -> list[MultiTurnStops]:
    """Return the hinges whose stops have constraints of their own, or need them.

    Args:
        joint_state: The joints.
        starts: Initial joint values (n,).
    """
    out = []
    for number, empty in enumerate(joint_state.empties):
        joint = record_of(empty).joint
        is_needed = needs_multi_turn_stops(joint, float(starts[number])) and has_both_bodies(joint_state, joint)
        if is_needed or len(joint.limit_constraints):
            out.append(MultiTurnStops(joint_state, number, is_needed))
    return out


def _ensure_constraints(scene: bpy.types.Scene, joint_state: JointStateArrays, empty: bpy.types.Object) -> None:
    """Create the missing constraints of a hinge's stops."""
    joint: Any = record_of(empty).joint
    there = {kept.dof_index for kept in joint.limit_constraints}
    for number, stop in enumerate(read_stops(joint.dofs[0])):
        if stop is not None and number not in there:
            joint.limit_constraints.add().dof_index = number
    for kept in joint.limit_constraints:
        if is_motor_missing(scene, kept.empty):
            kept.empty = create_motor(joint_state.rig, empty.name + _SUFFIX, empty)
        add_constraint_to_world(scene, kept.empty)
        constraint = kept.empty.rigid_body_constraint
        constraint.type, constraint.spring_type = "GENERIC_SPRING", "SPRING2"
        constraint.disable_collisions = True
        write_constraint_bodies(constraint, joint, settings(joint_state.rig).anchor)
        for name in _LIMIT_AXES:
            if name != "ang_z":
                write_axis_limit(constraint, name, None)
